//! Runs made by hand through the whole comparison.

use super::super::findings::{
    Caveat, CaveatLevel, ComparisonVerdict, FindingResults, MetricComparison,
};
use super::super::{
    ComparisonOptions, analyse_run, compare_runs, differences_of, fixture_runs, judge_interim,
};
use super::*;
use crate::analysis::DifferenceKind;
use crate::archive::{ArrivalRecord, IntervalRecord, RecordedEngine, Trial, TrialEnding};
use crate::recorder::SparseHistogram;
use crate::recorder::{Histogram, new_histogram};

const SECOND: u64 = 1_000_000_000;
const SETTING: &str = "innodb_flush_log_at_trx_commit";

/// Ten seconds of events at this rate, each a thousandth of a thousandth of it long.
fn load(variant: &str, block: u32, rate: u64, began_s: u64) -> Trial {
    let mut response: Histogram = new_histogram();
    let latency_ns = SECOND / rate;
    response.record_n(latency_ns, rate * 10).unwrap();
    let began_ns = began_s * SECOND;
    let second = |number: u64| {
        let mut histogram = new_histogram();
        histogram.record_n(latency_ns, rate).unwrap();
        IntervalRecord {
            began_ns: began_ns + number * SECOND,
            ended_ns: began_ns + (number + 1) * SECOND,
            events: vec![rate],
            errors: vec![0],
            response: SparseHistogram::from(&histogram),
            ..IntervalRecord::default()
        }
    };
    Trial {
        id: format!("{began_s}-{variant}-{block}"),
        variant: variant.to_owned(),
        block,
        workload: "oltp_update_non_index".to_owned(),
        arrival: ArrivalRecord::closed(0.0, "closed"),
        workers: 2,
        engine: RecordedEngine::Threads,
        began_ns,
        ended_ns: began_ns + 10 * SECOND,
        reason: TrialEnding::Done,
        classes: vec!["update".to_owned()],
        service: vec![response.clone()],
        failed: vec![new_histogram()],
        response: vec![response],
        intervals: (0..10).map(second).collect(),
        ..Trial::default()
    }
}

/// A run of these variants: rates block by block, in alternating order.
pub(in crate::analysis) fn experiment(variants: &[(&str, &[u64])]) -> RunRecord {
    let mut run = RunRecord { meta: fixture_runs::bench_run().meta, ..RunRecord::default() };
    run.meta.load = None;
    run.meta.asked = ExperimentRequest {
        variants: variants.iter().map(|(variant, _)| (*variant).to_owned()).collect(),
        metric: METRIC.to_owned(),
        margin: MARGIN,
        blocks: variants[0].1.len() as u32,
        ..ExperimentRequest::default()
    };
    let mut at = 1;
    for block in 0..variants[0].1.len() {
        let mut order: Vec<&(&str, &[u64])> = variants.iter().collect();
        if block % 2 == 1 {
            order.reverse();
        }
        for (variant, rates) in order {
            run.trials.push(load(variant, block as u32 + 1, rates[block], at));
            at += 20;
        }
    }
    run
}

fn deciding(findings: &FindingResults) -> &MetricComparison {
    findings.comparisons.iter().find(|c| c.decides).unwrap()
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 5e-4 * want.abs(), "{got} is not {want}");
}

#[test]
fn a_clear_difference_is_told_with_its_interval() {
    let run = experiment(&[
        ("flush=1", &[1000, 1010, 990, 1005, 995, 1000]),
        ("flush=2", &[1310, 1320, 1300, 1315, 1303, 1312]),
    ]);
    let findings = analyse_run(&run);
    let found = deciding(&findings.results);
    assert_eq!(
        (found.verdict, found.ratio.runs, found.paired),
        (ComparisonVerdict::Better, 6, true)
    );
    near(found.ratio.value.unwrap(), 1.31);
    let rank = found.signed_rank.unwrap();
    near(rank.p, 0.03125);
    assert!(rank.ci95.0 > 1.3 && found.p.unwrap() < 1e-6);
    assert_eq!(found.pairs.len(), 6);
    assert_eq!((found.pairs[1].base, found.pairs[1].variant), (1010.0, 1320.0));
    assert!(
        findings.results.answer[0]
            .starts_with("flush=2 does 31 % more events/s than flush=1, 95 % interval +30")
            && findings.results.answer[0].ends_with("6 blocks: better."),
        "{}",
        findings.results.answer[0]
    );
    // Latencies are one over the rate: lower, so better.
    let p99 = findings.results.comparisons.iter().find(|c| c.metric == "p99_s").unwrap();
    assert_eq!((p99.verdict, p99.decides), (ComparisonVerdict::Better, false));
    near(p99.ratio.value.unwrap(), 1.0 / 1.31);
    assert!(!findings.results.caveats.iter().any(|c| c.id == "ONE-RUN"));
}

#[test]
fn what_five_noisy_blocks_could_not_see_is_said() {
    let run =
        experiment(&[("a", &[1000, 1030, 980, 1010, 990]), ("b", &[1020, 1000, 1005, 985, 1010])]);
    let findings = analyse_run(&run);
    let found = deciding(&findings.results);
    assert_eq!(found.verdict, ComparisonVerdict::Unsure);
    assert!(found.signed_rank.is_none() && found.more_blocks.unwrap() > 5);
    let answer = &findings.results.answer[0];
    assert!(answer.starts_with("Unsure: b does 0."), "{answer}");
    assert!(answer.contains("the truth may lie between -"), "{answer}");
    let can_see = format!("5 blocks can show {:.1} %.", found.detectable.unwrap() * 100.0);
    assert!(answer.contains(&can_see) && answer.contains("more blocks may decide"), "{answer}");
}

#[test]
fn within_the_margin_is_the_same() {
    let run = experiment(&[
        ("a", &[1000, 1001, 999, 1002, 998, 1000]),
        ("b", &[1003, 1002, 1000, 1003, 1000, 1001]),
    ]);
    let findings = analyse_run(&run);
    assert_eq!(deciding(&findings.results).verdict, ComparisonVerdict::Same);
    assert!(
        findings.results.answer[0].starts_with("b and a are the same within 2 %"),
        "{:?}",
        findings.results.answer
    );
}

#[test]
fn one_block_has_no_comparison() {
    let run = experiment(&[("a", &[1000]), ("b", &[2000])]);
    let findings = analyse_run(&run);
    assert!(findings.results.comparisons.is_empty());
    assert!(findings.results.caveats.iter().any(|c| c.id == "ONE-RUN"));
}

#[test]
fn one_wild_block_makes_the_two_tests_disagree() {
    // Five blocks up by 3 %, one up by 60 %: Student's interval is wide, ranks say up; neither a claim.
    let run = experiment(&[
        ("a", &[1000, 1000, 1000, 1000, 1000, 1000]),
        ("b", &[1030, 1031, 1029, 1030, 1032, 1600]),
    ]);
    assert_eq!(deciding(&analyse_run(&run).results).verdict, ComparisonVerdict::Unsure);
    // Student's interval lies below the margin; with one of six the other way the ranks can't say so.
    let run = experiment(&[
        ("a", &[1000, 1000, 1000, 1000, 1000, 1000]),
        ("b", &[900, 905, 898, 902, 899, 1001]),
    ]);
    let findings = analyse_run(&run);
    let found = deciding(&findings.results);
    assert!(found.ratio.ci95.unwrap().1 < 0.98);
    assert_eq!(found.verdict, ComparisonVerdict::Unsure);
    assert!(found.notes.iter().any(|n| n.contains("signed ranks do not")), "{:?}", found.notes);
}

#[test]
fn blocks_are_left_out_only_by_named_rules() {
    let mut run = experiment(&[("a", &[1000, 1001, 999]), ("b", &[1100, 1101, 1099])]);
    let cut = run.trials.iter_mut().find(|t| t.variant == "b" && t.block == 2).unwrap();
    cut.reason = TrialEnding::Interrupted;
    let findings = analyse_run(&run);
    let found = deciding(&findings.results);
    assert_eq!(found.ratio.runs, 2);
    assert!(found.notes.iter().any(|n| n.starts_with("left out") && n.contains("[CUT]")));
    let mut run = experiment(&[("a", &[1000, 1001]), ("b", &[1100, 1101])]);
    for trial in run.trials.iter_mut().filter(|t| t.variant == "b") {
        trial.failed[0].record_n(1000, 500).unwrap();
    }
    let findings = analyse_run(&run);
    let found = deciding(&findings.results);
    assert_eq!((found.ratio.value, found.verdict), (None, ComparisonVerdict::Unsure));
    assert!(found.notes.iter().any(|n| n.contains("[ERRORS]")), "{:?}", found.notes);
}

#[test]
fn a_sweep_names_its_best_and_whether_it_is_told_from_the_second() {
    let run = experiment(&[
        ("8", &[1000, 1002, 998, 1001, 999]),
        ("16", &[1200, 1203, 1198, 1202, 1199]),
        ("32", &[1300, 1301, 1299, 1304, 1298]),
    ]);
    let findings = analyse_run(&run);
    let decided: Vec<&MetricComparison> =
        findings.results.comparisons.iter().filter(|c| c.decides).collect();
    assert_eq!(decided.len(), 2);
    assert!(decided.iter().all(|c| c.base == "8" && c.verdict == ComparisonVerdict::Better));
    let race = &findings.results.comparisons[2];
    assert_eq!((race.variant.as_str(), race.base.as_str(), race.decides), ("32", "16", false));
    assert_eq!(race.verdict, ComparisonVerdict::Better);
    assert!(
        findings.results.answer[0].starts_with("32 is best in events/s: +8."),
        "{:?}",
        findings.results.answer
    );
    assert!(
        findings.results.answer[1].starts_with("Against 8: 16 +20"),
        "{:?}",
        findings.results.answer
    );
    let close = experiment(&[
        ("8", &[1000, 1002, 998, 1001]),
        ("16", &[1290, 1320, 1298, 1305]),
        ("32", &[1300, 1301, 1299, 1304]),
    ]);
    let answer = analyse_run(&close).results.answer;
    assert!(answer[0].contains("not told from the second"), "{answer:?}");
}

#[test]
fn the_same_order_in_every_block_is_said() {
    let mut run = experiment(&[("a", &[1000, 1001, 999]), ("b", &[1100, 1101, 1099])]);
    let noted = |run: &RunRecord| {
        deciding(&analyse_run(run).results)
            .notes
            .iter()
            .any(|n| n.contains("every block ran a, b in this order"))
    };
    assert!(!noted(&run));
    run.trials.sort_by(|a, b| (a.block, &a.variant).cmp(&(b.block, &b.variant)));
    for (place, trial) in run.trials.iter_mut().enumerate() {
        trial.began_ns = place as u64 * 20 * SECOND;
        trial.ended_ns = trial.began_ns + 10 * SECOND;
    }
    assert!(noted(&run));
}

#[test]
fn growing_experiments_end_when_clear_and_look_only_when_planned() {
    let rates = |n: usize, step: u64| -> (Vec<u64>, Vec<u64>) {
        (0..n as u64).map(|b| (1000 + b % 3, 1000 + step + (b * 7) % 5)).unzip()
    };
    let after = |n: usize, step: u64| {
        let (a, b) = rates(n, step);
        let mut run = experiment(&[("a", &a), ("b", &b)]);
        run.meta.asked.blocks = 5;
        run.meta.asked.until_clear = Some(20);
        judge_interim(&run)
    };
    let early = after(3, 300);
    assert!(!early.ends && early.next == Some(5), "{early:?}");
    let clear_one = after(5, 300);
    assert!(clear_one.ends && clear_one.clear, "{clear_one:?}");
    let between = after(7, 300);
    assert!(!between.ends && between.next == Some(10), "{between:?}");
    // Two percent more is on the edge of the margin: never clear, and over after 20.
    let edge = after(10, 19);
    assert!(!edge.ends && edge.next == Some(20), "{edge:?}");
    let over = after(20, 19);
    assert!(over.ends && !over.clear, "{over:?}");
}

#[test]
fn what_will_be_seen_is_said_before() {
    let said = |blocks, most, cv| detectable_before(blocks, most, cv);
    assert_eq!(
        said(5, None, Some(0.02)),
        "5 blocks can resolve 4.7 % if runs vary by 2.0 % (as measured)"
    );
    assert_eq!(
        said(10, None, Some(0.01)),
        "10 blocks can resolve 1.4 % if runs vary by 1.0 % (as measured)"
    );
    assert!(
        said(5, Some(20), None).starts_with("5 blocks can resolve 6.0 %"),
        "{}",
        said(5, Some(20), None)
    );
    assert!(said(5, Some(20), None).contains("20 blocks can resolve"));
    assert!(said(1, None, None).contains("can't show a difference"));
}

/// A run of one load, with a setting.
pub(in crate::analysis) fn single(number: u64, rate: u64, flush: &str) -> RunRecord {
    let mut run = fixture_runs::bench_run();
    run.trials = vec![load("", 1, rate, 1)];
    run.meta.id = format!("run-{number}");
    let variable = run.variables.iter_mut().find(|v| v.name == SETTING).unwrap();
    variable.start = flush.to_owned();
    run
}

#[test]
fn sides_with_different_numbers_of_runs_say_how_many_each_has() {
    let base = [(1, 1000), (2, 1010), (3, 990)].map(|(n, rate)| single(n, rate, "1"));
    let other = [(4, 1500), (5, 1510)].map(|(n, rate)| single(n, rate, "2"));
    let said = |base: &[RunRecord], other: &[RunRecord]| {
        compare_runs(base, other, &sides(false)).results.answer[0].text.clone()
    };
    let text = said(&base, &other);
    assert!(text.contains(", 2 runs against 3: better."), "{text}");
    let text = said(&base[..2], &other[..1]);
    assert!(text.contains(", in 1 run against 2: how much runs vary is not known"), "{text}");
    let text = said(&base[..1], &other[..1]);
    assert!(text.contains(", in 1 run each: how much runs vary is not known"), "{text}");
    let text = said(&base[..2], &other);
    assert!(text.contains(", 2 runs each: better."), "{text}");
}

fn sides(paired: bool) -> ComparisonOptions {
    ComparisonOptions { paired, metric: METRIC.to_owned(), margin: MARGIN }
}

#[test]
fn finished_runs_say_what_differs() {
    let base: Vec<RunRecord> =
        [1000, 1010, 990].iter().zip(1..).map(|(r, n)| single(n, *r, "1")).collect();
    let other: Vec<RunRecord> =
        [1310, 1290, 1300].iter().zip(4..).map(|(r, n)| single(n, *r, "2")).collect();
    let findings = compare_runs(&base, &other, &sides(false));
    let found = deciding(&findings.results);
    assert_eq!(
        (found.verdict, found.paired, found.ratio.runs),
        (ComparisonVerdict::Better, false, 3)
    );
    assert_eq!(
        (found.variant.as_str(), found.base.as_str()),
        ("innodb_flush_log_at_trx_commit=2", "innodb_flush_log_at_trx_commit=1")
    );
    assert!(found.notes.iter().any(|n| n.contains("none below 0.100")), "{:?}", found.notes);
    assert_eq!(findings.results.differences.len(), 1);
    assert_eq!(findings.results.differences[0].base, "1 (config)");
    assert_eq!(findings.results.trials.len(), 6);
    assert!(
        !findings
            .results
            .caveats
            .iter()
            .any(|c| ["CONFOUNDED", "ONE-RUN", "MIXED"].contains(&c.id))
    );
    let paired = compare_runs(&base, &other, &sides(true));
    assert!(deciding(&paired.results).paired);
    let one = compare_runs(&base[..1], &other[..1], &sides(false));
    assert_eq!(deciding(&one.results).verdict, ComparisonVerdict::Unsure);
    assert!(one.results.caveats.iter().any(|c| c.id == "ONE-RUN" && c.level == CaveatLevel::Warn));
    assert!(one.results.answer[0].contains("this is not an answer"), "{:?}", one.results.answer);
}

#[test]
fn more_than_one_difference_confounds() {
    let base = [single(1, 1000, "1"), single(2, 1001, "1")];
    let mut other = [single(3, 1000, "2"), single(4, 1001, "2")];
    for run in &mut other {
        run.meta.server.as_mut().unwrap().version = "11.8.2-MariaDB".to_owned();
        // Where a server lies is no difference.
        run.meta.server.as_mut().unwrap().address = "unix /elsewhere".to_owned();
        run.meta.host.insert("name".to_owned(), "elsewhere".to_owned());
    }
    let findings = compare_runs(&base, &other, &sides(false));
    let confounded = findings.results.caveats.iter().find(|c| c.id == "CONFOUNDED").unwrap();
    assert_eq!(confounded.level, CaveatLevel::Warn);
    assert!(confounded.evidence.starts_with("2 things differ: the server's version, inno"));
    assert!(
        findings.results.answer.iter().any(|s| s.starts_with("2 things differ")),
        "{:?}",
        findings.results.answer
    );
    let mixed = compare_runs(&[base[0].clone(), other[0].clone()], &base, &sides(false));
    assert!(mixed.results.caveats.iter().any(|c| c.id == "MIXED"));
}

#[test]
fn each_side_tells_what_it_was_measured_on() {
    let mut base = single(1, 1000, "1");
    base.meta.allow = vec!["SAME-HOST".to_owned()];
    base.meta.seed = 7;
    base.plan = "name = 'old'".to_owned();
    let mut other = single(2, 1001, "1");
    other.meta.server.as_mut().unwrap().version = "11.8.2-MariaDB".to_owned();
    other.meta.seed = 8;
    other.plan = "name = 'new'".to_owned();
    other.meta.facts.insert("rows".to_owned(), 5.into());
    let found = compare_runs(&[base.clone()], &[other], &sides(false));
    let [ours, theirs] = found.sides.map(|mut side| side.runs.remove(0));
    assert_eq!(ours.head.server, base.meta.server);
    assert_eq!(theirs.head.server.unwrap().version, "11.8.2-MariaDB");
    assert_eq!((ours.head.seed, theirs.head.seed), (7, 8));
    assert_eq!((ours.data.rows, theirs.data.rows), (None, Some(5.0)));
    assert_eq!((ours.plan.as_str(), theirs.plan.as_str()), ("name = 'old'", "name = 'new'"));
    assert_eq!((ours.head.host, ours.settings.len()), (base.meta.host, theirs.settings.len()));
    let ids = |caveats: &[Caveat]| caveats.iter().map(|c| c.id).collect::<Vec<_>>();
    assert_eq!((ids(&ours.allowed), ids(&theirs.allowed)), (vec!["SAME-HOST"], vec![]));
    assert_eq!(ids(&found.results.allowed), ["SAME-HOST"]);
    assert!(found.results.allowed[0].evidence.starts_with("in 1 of 2 runs: "));
}

#[test]
fn other_workloads_loads_and_data_are_other_experiments() {
    let base = single(1, 1000, "1");
    let kinds = |other: &RunRecord| -> Vec<&str> {
        let differences = differences_of(std::slice::from_ref(&base), std::slice::from_ref(other));
        differences.iter().filter(|d| d.is_another_experiment()).map(|d| d.kind.as_str()).collect()
    };
    assert!(kinds(&single(2, 1000, "2")).is_empty());
    let mut other = single(2, 1000, "1");
    other.trials[0].workload = "oltp_read_only".to_owned();
    assert_eq!(kinds(&other), ["workload"]);
    let mut other = single(2, 1000, "1");
    other.trials[0].workers = 4;
    assert_eq!(kinds(&other), ["load"]);
    let mut other = single(2, 1000, "1");
    other.meta.facts.insert("data_bytes".to_owned(), 1e9.into());
    assert_eq!(kinds(&other), ["data"]);
    // The folder of a file is not what it holds.
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.trials[0].options.insert("file".to_owned(), "/a/lookups.sql".to_owned());
    theirs.trials[0].options.insert("file".to_owned(), "/b/lookups.sql".to_owned());
    let differences = differences_of(&[ours], &[theirs]);
    assert!(!differences.iter().any(|d| d.kind == DifferenceKind::Workload), "{differences:?}");
}

#[test]
fn variants_of_a_plan_say_what_they_change() {
    let mut run = experiment(&[("a", &[1000, 1001]), ("b", &[1100, 1101])]);
    for trial in run.trials.iter_mut().filter(|t| t.variant == "b") {
        trial.settings.insert(SETTING.to_owned(), "2".to_owned());
        trial.settings.insert("sync_binlog".to_owned(), "0".to_owned());
    }
    let findings = analyse_run(&run);
    assert!(
        findings
            .results
            .differences
            .iter()
            .all(|d| d.intended && d.variant == "b" && d.kind == DifferenceKind::Setting)
    );
    assert_eq!(findings.results.differences.len(), 2);
    let caveat = findings.results.caveats.iter().find(|c| c.id == "CONFOUNDED").unwrap();
    assert_eq!(caveat.level, CaveatLevel::Note);
}

#[test]
fn metrics_have_the_names_people_write() {
    assert_eq!(metric_name("p99"), Some("p99_s"));
    assert_eq!(metric_name(" tps "), Some("events_per_s"));
    assert_eq!(metric_name("p97"), None);
    assert!(metric_names().contains(&"server_cpu_us"));
}
