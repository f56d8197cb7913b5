//! What stands on a page, and where.

use super::super::{ReportStyle, find_format, samples};
use crate::analysis::{ComparisonOptions, Findings, HealthLevel, compare_runs, fixture_runs};

fn page_of<'a>(findings: impl Into<Findings<'a>>) -> String {
    let page = find_format("html").unwrap().render(findings, ReportStyle::default());
    String::from_utf8(page).unwrap()
}

/// The page without what programs read, and without its files and its plan, which show names as they are.
fn visible_text(page: &str) -> String {
    let mut text = page.to_owned();
    let parts = [
        ("<style", "</style>"),
        ("<script", "</script>"),
        ("<section id=\"files\"", "</section>"),
        ("<section id=\"plan\"", "</section>"),
    ];
    for (begin, end) in parts {
        while let Some(at) = text.find(begin) {
            let length = text[at..].find(end).map_or(text.len() - at, |n| n + end.len());
            text.replace_range(at..at + length, "");
        }
    }
    text
}

/// Where each of these first stands, which has to be in this order.
#[track_caller]
fn in_order(page: &str, parts: &[&str]) {
    let places: Vec<usize> =
        parts.iter().map(|p| page.find(p).unwrap_or_else(|| panic!("no {p}"))).collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{parts:?}: {places:?}");
}

#[test]
fn the_first_screen_has_machine_answer_and_levels() {
    let one = page_of(&samples::bench_findings());
    let parts =
        ["MariaDB", " cores", "id=\"answer\"", "id=\"levels\"", "id=\"caveats\"", "Over time"];
    in_order(&one, &parts);
    assert!(one.contains("from its slowest to its fastest interval"));
    let how = ComparisonOptions { paired: true, metric: "events_per_s".to_owned(), margin: 0.02 };
    let runs = [fixture_runs::bench_run(), fixture_runs::bench_run()];
    let both = page_of(&compare_runs(&runs, &runs, &how));
    in_order(&both, &["id=\"answer\"", "id=\"levels\"", "id=\"comparisons\""]);
    assert!(both.contains("Bar: mean of 2 loads. Whisker: its 95 % interval."), "{both}");
    // A search and a sweep have a picture of their own.
    in_order(
        &page_of(&samples::capacity_sample()),
        &["id=\"answer\"", "id=\"capacity\"", "id=\"caveats\""],
    );
    let mut sweep = samples::sweep_sample();
    sweep.results.levels.clear();
    in_order(&page_of(&sweep), &["id=\"answer\"", "id=\"scaling\"", "id=\"caveats\""]);
}

#[test]
fn an_order_entry_shows_its_classes_its_rate_over_time_and_its_think_times() {
    let page = page_of(&samples::order_entry_sample());
    let plots = ["data-plot=\"named-rate\"", "data-plot=\"class-1\"", "data-plot=\"duration-1\""];
    in_order(&page, &plots);
    assert_eq!(page.matches("data-plot=\"class-").count(), 5);
    let rate = page.split(plots[0]).nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(rate.contains("tpmC, new orders/min, rolled back ones too"), "{rate}");
    assert!(page.contains("<h3>Think time, new order</h3>"));
    assert!(page.contains("<h3>new_order, p90 ") && page.contains("response time, ms"));
    // One class is what the whole load's histogram shows.
    let mut one = samples::order_entry_sample();
    one.results.trials[0].classes.truncate(1);
    assert!(!page_of(&one).contains("data-plot=\"class-1\""));
}

#[test]
fn waits_come_first_where_they_were_asked_for() {
    let mut findings = samples::sweep_sample();
    findings.head.command = crate::archive::RunCommand::Waits;
    in_order(&page_of(&findings), &["id=\"answer\"", "id=\"waits\"", "id=\"caveats\""]);
    assert_eq!(page_of(&findings).matches("id=\"waits\"").count(), 1);
}

#[test]
fn no_page_names_loads_by_their_folders() {
    let all = [
        samples::demo_findings(),
        samples::bench_findings(),
        samples::comparison_sample(),
        samples::capacity_sample(),
        samples::replay_variants_sample(),
    ];
    for findings in all {
        let text = visible_text(&page_of(&findings));
        for trial in &findings.results.trials {
            assert!(!text.contains(&trial.id), "{} in the page of {}", trial.id, findings.head.id);
        }
    }
}

#[test]
fn metrics_have_plain_names_and_values_with_units() {
    let text = visible_text(&page_of(&samples::comparison_sample()));
    for name in ["p99_s", "server_cpu_us", "kept_share"] {
        assert!(!text.contains(name), "{name}");
    }
    assert!(text.contains("p99 response time") && text.contains("server CPU per event"));
}

#[test]
fn quiet_checks_and_notes_are_folded() {
    let mut findings = samples::comparison_sample();
    let quiet = findings.noise.iter().filter(|n| n.level == HealthLevel::Ok).count();
    assert_eq!(quiet, 1);
    let page = page_of(&findings);
    assert!(page.contains("<details><summary>1 check was fine</summary>"));
    let caveats = page.split("id=\"caveats\"").nth(1).unwrap().split("</section>").next().unwrap();
    let (open, folded) = caveats.split_once("<details class=\"print\">").unwrap();
    assert!(!open.contains("class=\"note\"") && folded.contains("class=\"note\""), "{caveats}");
    findings.noise.clear();
    assert!(!page_of(&findings).contains("How quiet the machine was"));
}

#[test]
fn what_all_metrics_say_alike_stands_once() {
    let mut findings = samples::comparison_sample();
    for (place, one) in findings.results.comparisons.iter_mut().enumerate() {
        one.notes = vec![format!("ranks say p 0.{place} of 6 runs")];
    }
    let page = page_of(&findings);
    assert_eq!(page.matches("anks say p").count(), 1, "{page}");
    // Of one metric numbers tell notes apart.
    findings.results.comparisons.truncate(1);
    findings.results.comparisons[0].notes =
        vec!["block 3 is left out".into(), "block 4 is left out".into()];
    assert_eq!(page_of(&findings).matches("is left out").count(), 2);
}

#[test]
fn curves_of_several_variants_have_a_colour_each() {
    let page = page_of(&samples::demo_findings());
    let figure = page.split("data-plot=\"throughput\"").nth(1).unwrap();
    let legend = figure.split("</ul>").next().unwrap();
    let colours = |number: usize| legend.matches(&format!("curve c{number}\"")).count();
    assert_eq!([colours(0), colours(1), colours(2)], [1, 1, 1], "{legend}");
    assert!(figure.split("</svg></div>").next().unwrap().contains(">time, s</text>"));
}
