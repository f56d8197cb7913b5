//! For programs: every interval.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::analysis::number_format::format_utc;
use crate::analysis::{WATCH_COLUMNS, WatchFindings, WatchRow};

pub(super) fn write_json(found: &WatchFindings, out: &mut dyn Write) -> io::Result<()> {
    let utc = |seconds: f64| format_utc((seconds * 1e9) as u64);
    let row = |row: &WatchRow| {
        let mut all = Map::new();
        all.insert("ended".to_owned(), utc(row.ended_s).into());
        all.insert("seconds".to_owned(), row.seconds.into());
        all.insert("missing".to_owned(), row.missing.into());
        for (column, value) in WATCH_COLUMNS.iter().zip(&row.values) {
            all.insert(column.id.to_owned(), json!(value));
        }
        Value::Object(all)
    };
    let figures: Map<String, Value> = found
        .figures
        .iter()
        .map(|figure| {
            let of = json!({
                "median": figure.median,
                "lowest": figure.lowest,
                "highest": figure.highest,
            });
            (figure.column.id.to_owned(), of)
        })
        .collect();
    let stalls: Vec<Value> = found
        .stalls
        .iter()
        .map(|stall| {
            json!({
                "began": utc(stall.began_s),
                "seconds": stall.seconds,
                "full_stop": stall.is_full_stop,
                "queries_per_s": stall.queries_per_s,
                "usual_per_s": stall.usual_per_s,
            })
        })
        .collect();
    let events: Vec<Value> = found
        .events
        .iter()
        .map(|event| {
            json!({
                "at": format_utc(event.unix_ns),
                "kind": event.kind.as_str(),
                "text": event.text,
            })
        })
        .collect();
    let all = json!({
        "format": 1,
        "tool_version": found.tool_version,
        "folder": found.folder,
        "server": found.server,
        "answer": super::headline(found),
        "interval_s": found.interval_s,
        "samples": found.samples,
        "missing": found.missing(),
        "figures": figures,
        "stalls": stalls,
        "events": events,
        "incidents": found.incidents,
        "intervals": found.rows.iter().map(row).collect::<Vec<Value>>(),
        "damage": found.damage,
    });
    writeln!(out, "{all:#}")
}
