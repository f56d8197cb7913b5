//! Recorded runs through each format, against golden files. `UPDATE=1 cargo test report` rewrites them.

use super::*;
use crate::analysis::{
    ExchangeTable, ExchangeTimes, ExchangeTotals, RunExchanges, RunFindings, analyse_run,
    fixture_runs,
};
use crate::archive::RunRecord;
use serde_json::Value;

fn written(name: &str, run: &RunRecord) -> String {
    shown(name, analyse_run(run))
}

fn shown(name: &str, mut findings: RunFindings) -> String {
    findings.folder = Some(format!("runs/{}", findings.head.id));
    render(name, &findings, ReportStyle::default())
}

fn render(name: &str, findings: &RunFindings, style: ReportStyle) -> String {
    String::from_utf8(find_format(name).expect("a known format").render(findings, style)).unwrap()
}

/// Compares with the golden file, or rewrites it if asked.
#[track_caller]
fn golden(mut found: String, file: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/golden/report")
        .join(file);
    // The style sheet and the script of the page stand in their own files.
    for part in [include_str!("html/style.css"), include_str!("html/script.js")] {
        found = found.replace(part, "...\n");
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {file}; UPDATE=1 rewrites it", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{file}; UPDATE=1 rewrites it");
}

#[test]
fn text_is_golden() {
    let own = [("demo", samples::demo_findings()), ("bench", samples::bench_findings())];
    for (name, mut findings) in own.into_iter().chain(samples()) {
        findings.folder = Some(format!("runs/{}", findings.head.id));
        let text = |detail| render("text", &findings, ReportStyle { colour: false, detail });
        let (full, screen) = (text(ReportDetail::Full), text(ReportDetail::Summary));
        for text in [&full, &screen] {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}: {text}");
        }
        assert!(screen.lines().count() <= 24, "{name} is more than a screen: {screen}");
        let short = text(ReportDetail::Short);
        let checks = if findings.checks.is_empty() { 0 } else { 3 };
        assert_eq!(short.lines().count(), 3 + checks, "{name}: {short}");
        golden(full, &format!("{name}.txt"));
        golden(screen, &format!("{name}-screen.txt"));
    }
}

#[test]
fn text_fits_the_page_and_steers_no_terminal() {
    let mut run = fixture_runs::bench_run();
    run.trials[0].errors[0].first_text = "\x1b[2Jgone\r\n".to_owned();
    for text in [shown("text", samples::demo_findings()), written("text", &run)] {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn colour_only_if_asked() {
    let findings = samples::bench_findings();
    let coloured =
        render("text", &findings, ReportStyle { colour: true, ..ReportStyle::default() });
    assert!(coloured.contains("\x1b["));
    // The words stay when the colours go.
    let mut bare = coloured;
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"] {
        bare = bare.replace(code, "");
    }
    assert_eq!(bare, render("text", &findings, ReportStyle::default()));
}

#[test]
fn a_void_run_says_so_first() {
    let mut run = fixture_runs::bench_run();
    run.meta.state = crate::archive::RunState::Failed;
    assert!(written("text", &run).starts_with("VOID ["));
}

#[test]
fn formats_of_other_programs_are_golden_and_refuse_other_loads() {
    for name in ["tpcc-mysql", "dbt2"] {
        let text = shown(name, samples::order_entry_sample());
        // The line of an interval is as long as scripts know it.
        let is_own = |line: &&str| !line.contains(", trx: ");
        assert!(text.lines().filter(is_own).all(|line| line.len() <= 80), "{text}");
        golden(text, &format!("{name}.txt"));
        let format = find_format(name).unwrap();
        assert_eq!(format.refusal(&samples::order_entry_sample()), None);
        let why = format.refusal(&samples::demo_findings()).expect("it is another workload");
        assert!(why.contains("workload tpcc") && why.contains("not queries"), "{why}");
    }
}

#[test]
fn the_lines_of_ycsb_have_both_series_and_what_failed() {
    let mut findings = samples::bench_findings();
    let class = &mut findings.results.trials[0].classes[0];
    "READ".clone_into(&mut class.name);
    class.response.max_s = Some(0.25);
    class.failed = class.service;
    class.failed.events = 2;
    class.failed.p95_s = None;
    let text = shown("ycsb", findings);
    golden(text.clone(), "ycsb.txt");
    let is_line = |line: &str| line.starts_with('#') || line.split(", ").count() == 3;
    assert!(text.lines().all(is_line), "{text}");
    let twice = shown("ycsb", samples::comparison_sample());
    assert!(twice.contains("\n# "), "each load has its name:\n{twice}");
    let format = find_format("ycsb").unwrap();
    let nothing = analyse_run(&RunRecord::default());
    assert_eq!(format.refusal(&nothing).as_deref(), Some("the run has no load"));
}

#[test]
fn the_block_of_ab_is_golden_and_refuses_other_loads() {
    let mut findings = samples::bench_findings();
    let row = |ms: f64| ExchangeTimes {
        least_ms: ms / 2.0,
        mean_ms: ms,
        deviation_ms: ms / 3.0,
        median_ms: ms,
        most_ms: ms * 4.0,
    };
    let format = find_format("ab").unwrap();
    let why = format.refusal(&findings).expect("it is another workload");
    assert!(why.contains("of which each event is one, not "), "{why}");
    findings.results.trials[0].classes.truncate(1);
    findings.results.trials[0].exchanges = Some(RunExchanges {
        host: "shop.lan".to_owned(),
        port: 8080,
        path: "/cart?id=1".to_owned(),
        urls: 1,
        keeps_alive: true,
        totals: ExchangeTotals {
            replied: 1000,
            seconds: 2.0,
            received: 612_000,
            body_bytes: 612_000,
            statuses: [(200, 990), (503, 10)].into(),
            kept_alive: 996,
            broken: 2,
            ..ExchangeTotals::default()
        },
        table: ExchangeTable {
            rows: [row(0.0), row(3.0), row(2.0), row(3.0)],
            totals_ms: (0..=100).map(|percent| f64::from(percent) / 8.0).collect(),
            exchanges: Vec::new(),
        },
    });
    assert_eq!(format.refusal(&findings), None);
    golden(shown("ab", findings), "ab.txt");
}

#[test]
fn json_is_golden_and_as_the_schema_says() {
    golden(shown("json", samples::demo_findings()), "demo.json");
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/report-v1.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut cut = fixture_runs::bench_run();
    cut.meta.server = None;
    cut.meta.ended_ns = None;
    let cut = [analyse_run(&cut), analyse_run(&RunRecord::default())];
    let runs = [samples::demo_findings(), samples::bench_findings()].into_iter().chain(cut);
    let mut texts: Vec<String> = runs.map(|findings| shown("json", findings)).collect();
    let mut samples = samples();
    samples[0].1.results.comparisons[0].margin = f64::NAN;
    texts.extend(samples.map(|(_, findings)| shown("json", findings)));
    texts.push(shown("json", samples::order_entry_sample()));
    for text in texts {
        let report: Value = serde_json::from_str(&text).unwrap();
        let mut wrong = Vec::new();
        conform(&report, &schema, &schema, "report", &mut wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn steps_inside_events_stand_under_the_events() {
    let mut run = fixture_runs::bench_run();
    let (trial, events) = (&mut run.trials[0], shown("json", samples::bench_findings()));
    let mut latency = fixture_runs::new_histogram();
    (1..=100).for_each(|ms| latency.saturating_record(ms * 1_000_000));
    trial.event_steps = vec!["COMMIT".to_owned()];
    trial.step_latency = vec![latency];
    trial.step_failed = vec![fixture_runs::new_histogram()];
    let full = ReportStyle { colour: false, detail: ReportDetail::Full };
    let text = render("text", &analyse_run(&run), full);
    let lines: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("steps inside")).collect();
    let row: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(row[..3], ["COMMIT", "100", "50.0"], "{text}");
    let mut with_steps: Value = serde_json::from_str(&written("json", &run)).unwrap();
    let load = with_steps["trials"][0].as_object_mut().unwrap();
    let steps = load.remove("event_steps").unwrap();
    assert_eq!((&steps[0]["name"], &steps[0]["latency"]["n"]), (&"COMMIT".into(), &100.into()));
    let without: Value = serde_json::from_str(&events).unwrap();
    assert_eq!(with_steps["trials"], without["trials"], "nothing about events changes");
}

#[test]
fn stages_stand_under_the_load() {
    let mut run = fixture_runs::bench_run();
    let stage = crate::archive::StageRecord { seconds: 3600.0, from_per_s: 0.0, to_per_s: 500.0 };
    run.trials[0].stages = vec![stage];
    let text = written("text", &run);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("stage, ")).collect();
    let row: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(row[..2], ["1h:0..500", "250"], "{text}");
    assert!(!text.contains("Steady "), "a rate that moves is not judged:\n{text}");
    let json: Value = serde_json::from_str(&written("json", &run)).unwrap();
    assert_eq!(json["trials"][0]["stages"][0]["offered_per_s"], 250.0);
    assert_eq!(json["trials"][0]["steady"], Value::Null);
}

#[test]
fn the_schema_check_can_fail() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "properties": { "a": { "type": ["number", "null"] } },
    });
    let wrong = |value: Value| {
        let mut wrong = Vec::new();
        conform(&value, &schema, &schema, "x", &mut wrong);
        wrong
    };
    assert!(wrong(serde_json::json!({ "a": null })).is_empty());
    assert_eq!(wrong(serde_json::json!({ "a": "1" })), ["x.a is not [\"number\",\"null\"]"]);
    assert_eq!(wrong(serde_json::json!({})), ["x.a is missing"]);
    assert_eq!(wrong(serde_json::json!({ "a": 1, "b": 1 })), ["x.b is not in the schema"]);
}

/// The part of JSON Schema that ours uses; keys that the schema doesn't name are wrong too.
pub(crate) fn conform(
    value: &Value,
    schema: &Value,
    root: &Value,
    at: &str,
    wrong: &mut Vec<String>,
) {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
        return conform(value, &root["$defs"][name], root, at, wrong);
    }
    if let Some(allowed) = schema["enum"].as_array() {
        if !allowed.contains(value) {
            wrong.push(format!("{at} is none of {}", schema["enum"]));
        }
        return;
    }
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let types = &schema["type"];
    if !types.as_array().map_or_else(|| is(types), |list| list.iter().any(is)) {
        wrong.push(format!("{at} is not {types}"));
        return;
    }
    if let (Some(object), Some(known)) = (value.as_object(), schema["properties"].as_object()) {
        for name in schema["required"].as_array().into_iter().flatten() {
            if object.get(name.as_str().unwrap()).is_none() {
                wrong.push(format!("{at}.{} is missing", name.as_str().unwrap()));
            }
        }
        for (name, part) in object {
            let other = schema.get("additionalProperties");
            match known.get(name).or(other) {
                Some(schema) => conform(part, schema, root, &format!("{at}.{name}"), wrong),
                None => wrong.push(format!("{at}.{name} is not in the schema")),
            }
        }
    }
    for (place, part) in value.as_array().into_iter().flatten().enumerate() {
        conform(part, &schema["items"], root, &format!("{at}[{place}]"), wrong);
    }
}

#[test]
fn csv_is_golden() {
    golden(shown("csv", samples::demo_findings()), "demo.csv");
    golden(shown("csv-summary", samples::demo_findings()), "demo-summary.csv");
}

#[test]
fn csv_rows_are_as_wide_as_their_head() {
    for (name, run) in
        [("csv", fixture_runs::demo_run()), ("csv-summary", fixture_runs::demo_run())]
    {
        let text = written(name, &run);
        let width = text.lines().next().unwrap().split(',').count();
        for line in text.lines() {
            assert_eq!(line.split(',').count(), width, "{line}");
        }
    }
    let text = shown("csv", samples::demo_findings());
    let events: u64 =
        text.lines().skip(1).filter_map(|l| l.split(',').nth(7)?.parse::<u64>().ok()).sum();
    assert_eq!(events, 8 * 20_000, "every event is in exactly one row");
}

#[test]
fn html_is_golden() {
    golden(shown("html", samples::demo_findings()), "demo.html");
    golden(shown("html", samples::sweep_sample()), "swept.html");
}

#[test]
fn junit_is_golden_and_well_formed() {
    golden(shown("junit", samples::comparison_sample()), "compared.junit.xml");
    let mut hostile = samples::comparison_sample();
    hostile.head.id = fixture_runs::HOSTILE.to_owned();
    hostile.checks[0].text = format!("</testcase>{}\u{1}", fixture_runs::HOSTILE);
    hostile.head.state = crate::archive::RunState::Failed;
    for findings in [samples::comparison_sample(), hostile, analyse_run(&RunRecord::default())] {
        let text = shown("junit", findings);
        let body = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
        balanced(body);
        assert!(!body.contains(char::is_control) || !body.contains('\u{1}'));
        let cases = body.matches("<testcase").count();
        assert!(body.contains(&format!("<testsuites name=\"sweat\" tests=\"{cases}\"")), "{body}");
        for (name, element) in
            [("failures", "<failure"), ("errors", "<error"), ("skipped", "<skipped")]
        {
            let count = body.matches(element).count();
            assert!(body.contains(&format!(" {name}=\"{count}\"")), "{name}: {body}");
        }
    }
}

#[test]
fn markdown_is_golden_and_inert() {
    golden(shown("markdown", samples::comparison_sample()), "compared.md");
    let text = shown("markdown", samples::bench_findings());
    assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
    // Each row of a table has as many cells as its head, also with a bar in a name.
    let mut findings = samples::comparison_sample();
    findings.checks[0].text = "p99 a|b < 1s".to_owned();
    let text = shown("markdown", findings);
    let row = text.lines().find(|l| l.contains("a\\|b")).unwrap();
    assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
}

#[test]
fn html_loads_nothing() {
    for findings in [samples::demo_findings(), samples::bench_findings()] {
        let page = shown("html", findings);
        for sign in ["src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
            for (at, _) in page.match_indices(sign) {
                let rest = &page[at..];
                // Escaped text of the hostile class, and a clip path inside the picture, load nothing.
                let inert = rest.starts_with("src=x onerror") || rest.starts_with("url(#");
                assert!(inert, "{}", rest.chars().take(80).collect::<String>());
            }
        }
        for (at, _) in page.match_indices("http") {
            assert!(page[at..].starts_with("http://www.w3.org/2000/svg"), "{}", &page[at..at + 60]);
        }
    }
}

#[test]
fn html_lets_no_text_become_an_element() {
    let mut run = fixture_runs::bench_run();
    let hostile = fixture_runs::HOSTILE;
    run.meta.name = format!("</title></script>{hostile}");
    run.meta.id = hostile.to_owned();
    run.meta.why = Some(hostile.to_owned());
    run.plan = format!("</pre>{hostile}");
    run.trials[0].id = format!("</script>{hostile}");
    run.trials[0].variant = format!("variant</script>{hostile}");
    run.steps[0].variant = run.trials[0].variant.clone();
    run.meta.server.as_mut().unwrap().version = hostile.to_owned();
    run.meta.host.insert(hostile.to_owned(), hostile.to_owned());
    let page = written("html", &run);
    assert!(page.contains("&lt;img src=x"), "the hostile text is shown");
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("<script").count(), 2, "the data and ours");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("onerror=alert(1)>"));
    balanced(&page);
}

fn both(format: &str) -> String {
    let mut out = Vec::new();
    let (mut first, mut second) = (fixture_runs::demo_run(), fixture_runs::bench_run());
    first.meta.name = fixture_runs::HOSTILE.to_owned();
    second.variables[1].start = "1".to_owned();
    second.meta.id = format!("{}-{}", second.meta.id, fixture_runs::HOSTILE);
    let runs = [first, second, RunRecord::default()];
    let settings = crate::analysis::differing_settings(&runs);
    write_side_by_side(&runs.map(|run| analyse_run(&run)), &settings, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn several_runs_stand_side_by_side() {
    let page = both("html");
    balanced(&page);
    assert!(!page.contains("<img") && page.matches("<script").count() == 2);
    assert!(page.contains("innodb_flush_log_at_trx_commit"), "settings that differ");
    // Both loads begin at the left edge.
    let svg = page.split("<svg id=\"plot-p50\"").nth(1).unwrap();
    let begins = svg.split("curve c").skip(1).take(2).map(|curve| {
        let path = curve.split(" d=\"M").nth(1).unwrap();
        path.split(' ').next().unwrap().parse::<f64>().unwrap()
    });
    begins.for_each(|x| assert!((66.0..140.0).contains(&x), "{x}"));
    let text = both("text");
    assert!(text.lines().all(|l| l.chars().count() <= 80 && !l.contains('\u{1b}')), "{text}");
    golden(text, "side-by-side.txt");
}

/// Everything that was made by hand.
fn samples() -> [(&'static str, RunFindings); 13] {
    [
        ("compared", samples::comparison_sample()),
        ("swept", samples::sweep_sample()),
        ("searched", samples::capacity_sample()),
        ("replayed", samples::replay_sample()),
        ("replayed-variants", samples::replay_variants_sample()),
        ("audited", samples::audit_sample()),
        ("measured", samples::figures_sample()),
        ("merged", analyse_run(&fixture_runs::merged_run())),
        ("operations", operation_samples::costs_sample()),
        ("operations-compared", operation_samples::cost_changes_sample()),
        ("isolated", analyse_run(&fixture_runs::cost_run(true))),
        ("observed", analyse_run(&fixture_runs::observed_run())),
        ("estimated", analyse_run(&fixture_runs::cost_run(false))),
    ]
}

/// Writes pages to look at: `PAGES=/tmp/pages cargo test -p sweat-report pages`; also those of the run folders in
/// `RUNS`, with colons between them.
#[test]
fn pages() {
    let Some(folder) = std::env::var_os("PAGES") else { return };
    std::fs::write(std::path::Path::new(&folder).join("both.html"), both("html")).unwrap();
    for (name, findings) in samples() {
        let path = std::path::Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(path, shown("html", findings)).unwrap();
    }
    for runs in std::env::var("RUNS").iter().flat_map(|runs| runs.split(':')) {
        let run = crate::archive::read_run(std::path::Path::new(runs)).unwrap();
        let name = format!("{}.html", runs.trim_end_matches('/').rsplit('/').next().unwrap());
        std::fs::write(std::path::Path::new(&folder).join(name), written("html", &run)).unwrap();
    }
    for (name, run) in [
        ("demo", fixture_runs::demo_run()),
        ("bench", fixture_runs::bench_run()),
        ("hour", fixture_runs::hour_run()),
    ] {
        let path = std::path::Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(path, written("html", &run)).unwrap();
    }
}

/// A comparison in every format: what was measured stands with each side, and the page and the schema hold.
#[test]
fn a_comparison_tells_of_both_sides_in_every_format() {
    let mut base = fixture_runs::bench_run();
    base.meta.seed = 710_017;
    base.meta.allow = vec!["SAME-HOST".to_owned()];
    base.plan = "name = \"before\"".to_owned();
    let mut other = fixture_runs::bench_run();
    other.meta.id = "2026-01-02T00-00-00Z_other".to_owned();
    other.meta.server.as_mut().unwrap().version = "11.8.2-MariaDB".to_owned();
    other.meta.seed = 720_027;
    other.meta.facts.insert("data_bytes".to_owned(), 100_000_000.into());
    other.meta.facts.insert("rows".to_owned(), 977.into());
    other.plan = "name = \"after\"".to_owned();
    let how = crate::analysis::ComparisonOptions {
        paired: false,
        metric: "events_per_s".to_owned(),
        margin: 0.02,
    };
    let found = crate::analysis::compare_runs(&[base.clone()], &[other.clone()], &how);
    let ours = base.meta.server.unwrap().version;
    for format in FORMATS.iter().filter(|format| format.refusal(&found).is_none()) {
        let style = ReportStyle { colour: false, detail: ReportDetail::Full };
        let text = String::from_utf8(format.render(&found, style)).unwrap();
        let name = format.name;
        // What the side's part begins with, and what stands in it only if it is the right run's.
        let parts = match name {
            "text" => ["\nBase   ", "\nOther  "],
            "markdown" => ["\n**Base** ", "\n**Other** "],
            "html" => ["<h3>Base: ", "<h3>Other: "],
            "json" => ["\"plan\": \"name = \\\"before", "\"plan\": \"name = \\\"after"],
            "junit" => ["name=\"base.run\"", "name=\"other.run\""],
            _ => {
                let both = text.contains(&ours) && text.contains("11.8.2-MariaDB");
                assert!(both || name.starts_with("csv"), "{name}: {text}");
                continue;
            }
        };
        let (first, second) = text.split_once(parts[1]).unwrap_or_else(|| panic!("{name}: {text}"));
        match name {
            "text" => assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}"),
            "html" => balanced(&text),
            "json" => {
                check_json_sides(&text, &ours);
                continue;
            }
            _ => {}
        }
        let (_, first) = first.split_once(parts[0]).unwrap_or_else(|| panic!("{name}: {text}"));
        // Plots behind this part name both.
        let second = second.split("</section>").next().unwrap();
        let of_both = [("before", "after"), ("710017", "720027"), (&ours, "11.8.2-MariaDB")];
        let of_both = if name == "junit" { &of_both[1..] } else { &of_both[..] };
        for (mine, yours) in of_both {
            assert!(first.contains(mine) && !first.contains(yours), "{name}, {mine}: {first}");
            assert!(second.contains(yours) && !second.contains(mine), "{name}, {yours}: {second}");
        }
        if name != "junit" {
            assert!(first.contains("SAME-HOST") && !second.contains("SAME-HOST"), "{name}: {text}");
            assert!(second.contains("977") && !first.contains("977"), "{name}: {text}");
        }
    }
}

/// The server of the base has this version, and the rest is as the test of all formats made it.
#[track_caller]
fn check_json_sides(text: &str, ours: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/report-v1.json");
    let schema = std::fs::read_to_string(path).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let report: Value = serde_json::from_str(text).unwrap();
    let mut wrong = Vec::new();
    conform(&report, &schema, &schema, "report", &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let run = |side: usize| &report["sides"][side]["runs"][0];
    assert_eq!((&run(0)["seed"], &run(1)["seed"]), (&710_017.into(), &720_027.into()));
    assert_eq!(run(0)["server"]["version"], ours);
    assert_eq!(run(1)["server"]["version"], "11.8.2-MariaDB");
    assert_eq!(run(1)["data"]["rows"], 977.0);
    assert_ne!(run(0)["data"]["rows"], run(1)["data"]["rows"]);
    assert!(!run(0)["server"]["variables"].as_array().unwrap().is_empty());
    assert_eq!(run(0)["allowed"][0]["id"], "SAME-HOST");
    assert_eq!(run(1)["allowed"].as_array().map(Vec::len), Some(0));
    assert_eq!(report["allowed"][0]["id"], "SAME-HOST");
}

/// What a run shares with the one before is not told again; what it has not is told.
#[test]
fn runs_of_a_side_tell_where_they_differ() {
    let mut base = fixture_runs::bench_run();
    base.meta.allow = vec!["SAME-HOST".to_owned()];
    let mut second = fixture_runs::bench_run();
    second.meta.id = "second".to_owned();
    let how = crate::analysis::ComparisonOptions {
        paired: false,
        metric: "events_per_s".to_owned(),
        margin: 0.02,
    };
    let found = crate::analysis::compare_runs(&[base.clone(), second], &[base], &how);
    let told = text::side_facts(&found.sides[0]);
    assert!(told[0].1.iter().any(|(name, _)| *name == "server"), "{told:?}");
    assert_eq!(told[1].1, [("allowed", "none".to_owned())]);
}

#[test]
fn html_is_well_formed() {
    let mut cut = fixture_runs::demo_run();
    cut.steps.last_mut().unwrap().ended_ns = None;
    cut.trials.truncate(3);
    let cut = [analyse_run(&cut), analyse_run(&RunRecord::default())];
    let runs = [samples::demo_findings(), samples::bench_findings()].into_iter().chain(cut);
    for findings in runs {
        balanced(&shown("html", findings));
    }
    for (name, findings) in samples() {
        let page = shown("html", findings);
        balanced(&page);
        assert!(!page.contains("NaN") && !page.contains("inf "), "{name}");
    }
}

/// Every element that begins ends, in order.
#[track_caller]
fn balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> before {}", &rest[..rest.len().min(80)]);
            continue;
        }
        let name = tag.split([' ', '\n', '/']).next().unwrap();
        if tag.starts_with('!') || tag.ends_with('/') || name == "meta" {
            continue;
        }
        open.push(name);
        if name == "script" || name == "style" {
            rest = &rest[rest.find(&format!("</{name}")).expect("it ends")..];
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn html_of_an_hour_is_small_and_keeps_its_stalls() {
    let run = fixture_runs::hour_run();
    let page = written("html", &run);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.len() > 500_000, "{} bytes: too easy", page.len());
    // The dot of a stalled second (2 events instead of about 40) is in the fixed picture.
    let svg = page.split("<svg id=\"plot-throughput\"").nth(1).unwrap();
    let path = svg.split("dots\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let heights: Vec<f64> =
        path.split('M').filter_map(|dot| dot.split([' ', 'h']).nth(1)?.parse().ok()).collect();
    let lowest = heights.iter().copied().fold(0.0, f64::max);
    let low = heights.iter().filter(|h| lowest - **h < 2.0).count();
    let usual = heights.iter().sum::<f64>() / heights.len() as f64;
    assert_eq!(low, run.trials[0].intervals.len() / 61, "every stall");
    assert!(lowest - usual > 50.0, "{usual} is far above {lowest}");
}

/// Writes `tests/data/runs/demo-v1`, the demo as a run folder: only when asked, as later versions of sweat must read
/// what this one wrote.
#[test]
fn the_recorded_folder_is_read_as_it_was_written() {
    let runs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/runs");
    let folder = runs.join("demo-v1");
    if std::env::var_os("UPDATE_RUNS").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::rename(fixture_runs::write_run(&fixture_runs::demo_run(), &runs), &folder)
            .unwrap();
    }
    let run = crate::archive::read_run(&folder).unwrap();
    assert_eq!(run.damage, Vec::<String>::new());
    for format in ["text", "csv", "csv-summary"] {
        assert_eq!(written(format, &run), shown(format, samples::demo_findings()), "{format}");
    }
}
