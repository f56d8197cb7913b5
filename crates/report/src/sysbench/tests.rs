//! Texts against golden files; `UPDATE=1 cargo test sysbench` rewrites them. That they are those of sysbench itself is
//! what the tests of `tests/it/sysbench` show, where it is installed.

use super::*;
use crate::analysis::{LogBucket, WorkerFairness};

fn figures(counts: Vec<(&'static str, u64)>) -> LoadFigures {
    LoadFigures {
        seconds: 2.0,
        events: 200,
        errors: 3,
        reconnects: 1,
        counts,
        class_events: vec![200],
        min_ms: 0.031,
        mean_ms: 5.5,
        max_ms: 1003.654,
        sum_ms: 1100.0,
        percentiles: vec![(95.0, 12.345)],
        queued: 4,
        in_flight: 2,
        fairness: WorkerFairness {
            events_mean: 100.0,
            events_deviation: 2.5,
            time_mean_s: 1.9984,
            time_deviation_s: 0.01,
        },
    }
}

fn sql() -> LoadFigures {
    figures(vec![("reads", 2_800), ("writes", 800), ("other", 400), ("rows", 9)])
}

#[track_caller]
fn golden(found: &str, file: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/golden/sysbench")
        .join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{file}; UPDATE=1 rewrites it");
}

#[test]
fn a_run_is_golden() {
    let preamble = RunPreamble {
        threads: 2,
        rate: 100,
        report_interval: "1".to_owned(),
        checkpoints: vec![1, 2],
        seed: 7,
        forced_shutdown_s: Some(11),
        ..RunPreamble::default()
    };
    let line = IntervalHeading { family: TestFamily::Sql, at_s: 1.0, threads: 2, has_rate: true };
    let report = FinalReport {
        family: TestFamily::Sql,
        style: SysbenchStyle::V1_0,
        total_s: 2.0004,
        unfinished: None,
    };
    let buckets =
        [LogBucket { value_ms: 0.027, count: 8 }, LogBucket { value_ms: 12.3, count: 836 }];
    let text = banner_text(SysbenchStyle::V1_0)
        + &preamble_text(&preamble)
        + &interval_text(&line, &sql())
        + &histogram_text(&buckets)
        + &final_report_text(&report, &sql());
    golden(&text, "run.txt");
    let report = FinalReport { style: SysbenchStyle::V1_1, ..report };
    golden(&final_report_text(&report, &sql()), "run-1.1.txt");
}

#[test]
fn tests_of_the_system_are_golden() {
    let bytes = 10 << 20;
    let families = [
        (TestFamily::Cpu, figures(Vec::new())),
        (TestFamily::Memory, figures(vec![("bytes", bytes)])),
        (
            TestFamily::Fileio,
            LoadFigures {
                class_events: vec![600, 400, 10],
                ..figures(vec![("bytes_read", bytes), ("bytes_written", bytes / 2)])
            },
        ),
        (TestFamily::Plain, figures(Vec::new())),
    ];
    let mut text = String::new();
    for (family, figures) in families {
        let line = IntervalHeading { family, at_s: 2.0, threads: 2, has_rate: true };
        text += &interval_text(&line, &figures);
        for style in [SysbenchStyle::V1_0, SysbenchStyle::V1_1] {
            let report = FinalReport { family, style, total_s: 2.0004, unfinished: Some(2) };
            text += &final_report_text(&report, &figures);
        }
    }
    golden(&text, "system.txt");
}

#[test]
fn percentiles_are_a_list_or_none() {
    let mut several = sql();
    several.percentiles = vec![(50.0, 1.0), (99.9, 20.0)];
    let line = IntervalHeading { family: TestFamily::Sql, at_s: 0.5, threads: 1, has_rate: false };
    let text = interval_text(&line, &several);
    assert!(text.starts_with("[ 0.5s ] thds: 1 "), "{text}");
    assert!(text.contains(" lat (ms,50/99.9%): 1.00/20.00 "), "{text}");
    let report = FinalReport {
        family: TestFamily::Sql,
        style: SysbenchStyle::V1_0,
        total_s: 2.0,
        unfinished: None,
    };
    let text = final_report_text(&report, &several);
    assert!(text.contains("         99.9th percentile:                     20.00\n"), "{text}");
    several.percentiles.clear();
    let text = final_report_text(&report, &several);
    assert!(text.contains("         percentile stats:               disabled\n"), "{text}");
    assert!(interval_text(&line, &several).contains(" lat (ms,0%): 0.00 "));
}

#[test]
fn programs_get_csv_or_json() {
    let interval = |at_s| IntervalFigures { at_s, wall_clock: None, figures: sql() };
    let header = csv_header(&interval(1.0));
    let line = csv_line(2, &interval(1.0));
    assert_eq!(header.split(',').count(), line.split(',').count());
    assert!(line.starts_with("1.000,2,200,100.00,1400.00,"), "{line}");
    let document = json_document(2, &[interval(1.0)], &interval(2.0));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["intervals"][0]["counts"]["reads"], 2_800);
    assert_eq!(document["summary"]["latency_ms"]["p95"], 12.345);
    assert_eq!(document["summary"].get("utc"), None);
    let stamped = IntervalFigures {
        wall_clock: Some("2026-01-02T03:04:05.678Z".to_owned()),
        ..interval(1.0)
    };
    assert!(csv_header(&stamped).starts_with("utc,time_s,"));
    assert!(csv_line(2, &stamped).starts_with("2026-01-02T03:04:05.678Z,1.000,"));
    let document = json_document(2, std::slice::from_ref(&stamped), &interval(2.0));
    assert!(document.contains("\"utc\": \"2026-01-02T03:04:05.678Z\""), "{document}");
    let page = html_document("a<b", 2, &[stamped.clone(), stamped], &interval(2.0), "\nreport\n");
    assert!(page.contains("<h1>a&lt;b</h1>") && page.contains("<pre>report</pre>"), "{page}");
    assert_eq!((page.matches("<polyline").count(), page.matches("<tr>").count()), (2, 3));
}
