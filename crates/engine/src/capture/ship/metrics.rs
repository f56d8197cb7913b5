//! What a server of a log tells of itself: JSON and OpenMetrics.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::serve::LogServer;
use super::watcher::LogHandle;

/// Name, kind, help and value of each number.
fn metric_values(
    server: &LogServer,
    entrance: &LogHandle,
) -> Vec<(&'static str, &'static str, &'static str, u64)> {
    let (readers, shipped) = server.ship_totals();
    let (seen, counts) = (entrance.watch_stats(), server.counts());
    let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let behind =
        server.reader_statuses().iter().map(|reader| reader.behind_bytes).max().unwrap_or(0);
    vec![
        ("readers", "gauge", "Readers served now", readers as u64),
        (
            "behind_bytes",
            "gauge",
            "Bytes of the log that the slowest reader has not received",
            behind,
        ),
        ("log_size_bytes", "gauge", "Size of the log file in bytes", seen.size_bytes),
        ("held_bytes", "gauge", "Bytes of rotated files held open for readers", seen.held_bytes),
        ("connections", "counter", "Connections taken", of(&counts.readers)),
        ("refused", "counter", "Connections refused with an HTTP status", of(&counts.refused)),
        (
            "cut",
            "counter",
            "Readers disconnected because they read nothing for too long",
            of(&counts.cut),
        ),
        ("records", "counter", "Records shipped", shipped.records),
        ("shipped_bytes", "counter", "Bytes shipped, before compression", shipped.bytes),
        ("left_out", "counter", "Records of sessions outside the sample", shipped.left_out),
        ("dropped", "counter", "Records that were cut or doubtful", shipped.dropped),
        ("redacted", "counter", "Statements in which a secret was hidden", shipped.redacted),
        ("gaps", "counter", "Gaps reported to readers", shipped.gaps),
        ("rotations", "counter", "Times the log was rotated", seen.rotations),
        ("truncations", "counter", "Times the log was truncated in place", seen.truncations),
        ("copies_found", "counter", "Truncations whose rest was in a copy", seen.copies_found),
        (
            "given_up",
            "counter",
            "Rotated files dropped before they were read completely",
            seen.given_up,
        ),
    ]
}

pub(super) fn openmetrics_text(server: &LogServer, entrance: &LogHandle) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in metric_values(server, entrance) {
        let end = if kind == "counter" { "_total" } else { "" };
        let _ = writeln!(text, "# TYPE sweat_ship_{name} {kind}\n# HELP sweat_ship_{name} {help}.");
        let _ = writeln!(text, "sweat_ship_{name}{end} {value}");
    }
    text + "# EOF\n"
}

pub(super) fn status_json(server: &LogServer, entrance: &LogHandle) -> String {
    let mut all = serde_json::Map::new();
    all.insert("log".to_owned(), entrance.path().display().to_string().into());
    all.insert("up_s".to_owned(), server.uptime().to_seconds().into());
    for (name, _, _, value) in metric_values(server, entrance) {
        all.insert(name.to_owned(), value.into());
    }
    let readers = server.reader_statuses().into_iter().map(|reader| {
        serde_json::json!({
            "peer": reader.peer.to_string(),
            "connected_s": server.uptime().since(reader.since).to_seconds(),
            "records": reader.shipped.records,
            "bytes": reader.shipped.bytes,
            "left_out": reader.shipped.left_out,
            "gaps": reader.shipped.gaps,
            "behind_bytes": reader.behind_bytes,
        })
    });
    all.insert("each_reader".to_owned(), readers.collect());
    format!("{:#}\n", serde_json::Value::Object(all))
}
