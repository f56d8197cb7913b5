//! A watch of six samples in every format.

use super::*;
use crate::analysis::{WatchTable, analyse_watch};
use crate::archive::{SampleRecord, WatchEvent, WatchEventKind};

/// 2026-11-22 22:00 UTC.
const TEN: u64 = 1_795_384_800_000_000_000;

fn found() -> WatchFindings {
    let mut table = WatchTable::default();
    let queries = [0.0, 5000.0, 10_000.0, 15_000.0, 20_000.0, 20_100.0, 25_100.0, 30_100.0];
    for (n, queries) in queries.into_iter().enumerate() {
        let at = n as u64 * 5_000_000_000;
        let numbers = [("Queries", queries), ("Threads_running", 3.0)];
        let sample = SampleRecord {
            planned_ns: at,
            began_ns: at,
            ended_ns: at,
            numbers: numbers.map(|(name, value)| (name.to_owned(), value)).into(),
            ..SampleRecord::default()
        };
        table.add_sample(1, TEN, &sample);
    }
    WatchFindings {
        folder: "runs/x_watch".to_owned(),
        server: "MariaDB 10.11.14 <at> unix /s".to_owned(),
        utc_offset_s: 5 * 3600 + 1800,
        events: vec![WatchEvent {
            unix_ns: TEN + 21_000_000_000,
            kind: WatchEventKind::NoAnswer,
            text: "the server took 4.0 s to answer".to_owned(),
        }],
        ..analyse_watch(&table)
    }
}

fn shown(format: &str) -> String {
    let mut out = Vec::new();
    write_watch(&found(), format, ReportStyle::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_text_says_the_answer_first_and_fits_the_page() {
    let text = shown("text");
    let answer = "MariaDB 10.11.14 <at> unix /s: 1000 queries/s in the median of 35 s, 1 stall\n";
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0].replace("1 000", "1000") + "\n", answer, "{text}");
    assert!(lines[1].starts_with("2026-11-23 03:30:00 to 03:30:35 UTC+05:30: 8 samples"), "{text}");
    assert!(text.contains("2026-11-23 03:30:20  5.00 s  full stop"), "{text}");
    assert!(text.contains("2026-11-23 03:30:21  the server took 4.0 s to answer"), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn json_has_every_interval() {
    let json: serde_json::Value = serde_json::from_str(&shown("json")).unwrap();
    assert_eq!(json["intervals"].as_array().unwrap().len(), 7);
    assert_eq!(json["intervals"][0]["queries_per_s"], 1000.0);
    assert_eq!(json["intervals"][0]["ended"], "2026-11-22T22:00:05.000Z");
    assert_eq!(json["stalls"][0]["full_stop"], true);
    assert_eq!(json["figures"]["threads_running"]["highest"], 3.0);
    assert_eq!(json["events"][0]["kind"], "no_answer");
}

#[test]
fn json_is_as_its_schema_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/watch-v1.json");
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut none = Vec::new();
    write_watch(&WatchFindings::default(), "json", ReportStyle::default(), &mut none).unwrap();
    for text in [shown("json"), String::from_utf8(none).unwrap()] {
        let mut wrong = Vec::new();
        let found = serde_json::from_str(&text).unwrap();
        crate::tests::conform(&found, &schema, &schema, "watch", &mut wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    // Each column is in the schema, and no other.
    let intervals = &schema["properties"]["intervals"]["items"]["properties"];
    let mut known: Vec<&str> = crate::analysis::WATCH_COLUMNS.iter().map(|c| c.id).collect();
    known.extend(["ended", "seconds", "missing"]);
    known.sort_unstable();
    assert_eq!(intervals.as_object().unwrap().keys().collect::<Vec<_>>(), known);
}

#[test]
fn gnuplot_has_the_columns_of_the_old_analysis_first() {
    let text = shown("gnuplot");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines[0].starts_with("#ts date time load QPS selects_per_s"), "{text}");
    assert!(lines[1].starts_with("1795384805 2026-11-23 03:30:05 ? 1000.00 ? "), "{text}");
    assert_eq!(lines.len(), 8);
    let columns = |line: &str| line.split(' ').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{text}");
}

#[test]
fn the_page_has_a_plot_per_subject_and_escapes_what_it_is_told() {
    let page = shown("html");
    assert!(page.contains("id=\"plot-queries\"") && page.contains("id=\"plot-threads\""));
    assert!(!page.contains("plot-locks"), "an empty plot is drawn");
    assert!(page.contains("&lt;at&gt;") && !page.contains("<at>"));
    assert!(page.contains("the server took 4.0 s to answer"));
}

#[test]
fn a_span_without_samples_says_so() {
    let mut out = Vec::new();
    let none = WatchFindings::default();
    for format in ["json", "html", "gnuplot", "text"] {
        write_watch(&none, format, ReportStyle::default(), &mut out).unwrap();
    }
    assert!(String::from_utf8(out).unwrap().contains("no samples of the server's counters"));
}
