//! For programs. Times are seconds, instants RFC 3339 UTC; what is not known is null.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::seen_times;
use crate::analysis::{StatementClass, StatementFindings};

pub(super) fn write_json(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    let value = json!({
        "schema": "sweat-statements-v1",
        "tool_version": found.tool_version,
        "sources": found.sources,
        "bytes": found.bytes,
        "records": found.records,
        "statements": found.statements,
        "possible": found.possible,
        "total_s": found.total_s,
        "classes_in_all": found.classes_in_all,
        "notes": found.notes,
        "classes": found.classes.iter().map(class_json).collect::<Vec<Value>>(),
    });
    writeln!(out, "{value:#}")
}

fn class_json(class: &StatementClass) -> Value {
    let (first, last) = seen_times(class);
    json!({
        "digest": class.digest,
        "example": class.example,
        "database": class.database,
        "count": class.count,
        "errors": class.errors,
        "total_s": class.total_s,
        "share": class.share,
        "p50_s": class.p50_s,
        "p95_s": class.p95_s,
        "p99_s": class.p99_s,
        "max_s": class.max_s,
        "rows_sent": class.rows_sent,
        "rows_examined": class.rows_examined,
        "rows_affected": class.rows_affected,
        "first": first,
        "last": last,
    })
}
