//! What `sweat warm status --format json` prints.

use serde_json::json;

use crate::warm::{PoolInventory, PoolStatus};

/// How warm the pool is, and what is in it, as an object.
pub(super) fn status_json(warmth: &PoolStatus, found: &PoolInventory) -> String {
    let line = |l: &crate::warm::CachedIndex| {
        json!({
            "database": l.database,
            "table": l.table,
            "partition": l.partition,
            "index": l.index,
            "pages_cached": l.pages_cached,
            "pages_total": l.pages_total,
        })
    };
    let value = json!({
        "pages_total": warmth.pages_total,
        "pages_data": warmth.pages_data,
        "pages_free": warmth.pages_free,
        "pages_dirty": warmth.pages_dirty,
        "page_bytes": warmth.page_bytes,
        "share": warmth.data_share(),
        "pages_of_data": found.pages_of_data,
        "indexes": found.lines.iter().map(line).collect::<Vec<_>>(),
        "dearer_seconds": found.dearer_seconds,
        "notes": found.notes,
    });
    format!("{value:#}\n")
}
