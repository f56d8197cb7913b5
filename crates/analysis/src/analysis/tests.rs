//! Whole runs through `analyse`.

use super::*;
use crate::archive::{ArrivalRecord, RunRecord, RunState, TrialEnding};

fn ids(findings: &RunFindings) -> Vec<&'static str> {
    findings.results.caveats.iter().map(|c| c.id).collect()
}

#[test]
fn the_demo_is_answered_in_a_sentence() {
    let findings = analyse_run(&fixture_runs::demo_run());
    let [first, others, times, payback] = &findings.results.answer[..] else {
        panic!("four sentences: {:?}", findings.results.answer)
    };
    assert!(first.starts_with("A warm buffer pool saves 9"), "{first}");
    assert!(first.contains("20 000 events read") && first.contains("after `load`"), "{first}");
    assert!(others.find("`scan` ") < others.find("`scan-classic` "), "{others}");
    assert!(times.starts_with("In time: 4.83 s cold"), "{times}");
    assert!(payback.contains("it pays at once"), "{payback}");
    assert_eq!(findings.results.void_caveat(), None);
}

#[test]
fn the_demo_compares_its_variants() {
    let findings = analyse_run(&fixture_runs::demo_run());
    let names: Vec<_> = findings.variants.iter().map(|w| w.variant.as_str()).collect();
    assert_eq!(names, ["none", "scan", "scan-classic", "load"]);
    let [none, scan, ..] = &findings.variants[..] else { panic!() };
    assert_eq!(none.times_faster.value, Some(1.0));
    assert_eq!((none.warm_s, none.warm_bytes), (None, None));
    assert_eq!((scan.warm_s, scan.warm_bytes), (Some(3.9), Some(16_000.0 * 16_384.0)));
    let first = &findings.results.trials[scan.first.unwrap()];
    let cold = &findings.results.trials[none.first.unwrap()];
    assert_eq!(cold.temperature, PoolTemperature::Cold);
    assert_eq!(first.temperature, PoolTemperature::Warm);
    assert_eq!(scan.times_faster.value, Some(cold.seconds / first.seconds));
    assert_eq!(scan.times_faster.ci95, None);
    assert_eq!(scan.until_first_done_s, Some(first.seconds + 3.9));
    assert!(cold.disk_reads.unwrap().value > first.disk_reads.unwrap().value);
    assert_eq!(cold.disk_bytes.unwrap().source, "process.read_bytes");
    assert_eq!(findings.data.ratio, Some(2.0));
    assert_eq!(findings.data.class, Some(SizeClass::IoBound));
}

#[test]
fn intervals_add_up_to_the_load() {
    let findings = analyse_run(&fixture_runs::demo_run());
    for (place, trial) in findings.results.trials.iter().enumerate() {
        let mine = || findings.timeline.intervals.iter().filter(|i| i.trial == place);
        assert_eq!(mine().map(|i| i.events).sum::<u64>(), trial.events);
        assert_eq!(trial.events, 20_000);
        let seconds: f64 = mine().map(|i| i.seconds).sum();
        assert!((seconds - trial.seconds).abs() < 1e-6);
    }
    let fill = findings.timeline.series.iter().find(|s| s.id == "pool_data_bytes").unwrap();
    let most = fill.points.iter().filter_map(|p| p.1).fold(0.0, f64::max);
    assert!(most <= 256.0 * 1024.0 * 1024.0 && most > 200.0 * 1024.0 * 1024.0);
    let reads = findings.timeline.series.iter().find(|s| s.id == "disk_reads_per_s").unwrap();
    assert!(reads.points.iter().all(|p| p.1.is_none_or(|v| (0.0..100_000.0).contains(&v))));
    assert!(reads.points.iter().any(|p| p.1.is_none()), "a restart is a gap");
}

#[test]
fn a_bench_is_answered_with_its_rate_and_costs() {
    let findings = analyse_run(&fixture_runs::bench_run());
    assert_eq!(findings.results.answer.len(), 1);
    let answer = &findings.results.answer[0];
    assert!(answer.contains(" events/s over ") && answer.contains("7 events failed"), "{answer}");
    let trial = &findings.results.trials[0];
    assert_eq!(trial.failed, 7);
    let cost = |id| trial.cost.iter().find(|c| c.id == id).unwrap().per_event;
    assert!((cost("client_user_us").unwrap() - 0.7).abs() < 1e-9);
    assert!((cost("server_cpu_us").unwrap() - 30.0).abs() < 0.01);
    assert!((cost("received_bytes").unwrap() - 330.0).abs() < 1e-9);
    assert_eq!(cost("context_switches"), None);
    let rates = trial.rates.unwrap();
    assert!(rates.min < 0.6 * rates.p50, "the stalls are in the spread: {rates:?}");
    assert_eq!(
        ids(&findings),
        [
            "ERRORS",
            "TOO-SHORT",
            "ONE-RUN",
            "PROBE-GAP",
            "SAME-HOST",
            "CLOSED-LOOP",
            "DURABILITY",
            "ONE-USER"
        ]
    );
}

#[test]
fn an_empty_run_says_so_and_divides_by_nothing() {
    let findings = analyse_run(&RunRecord::default());
    assert_eq!(findings.results.answer, ["Nothing was measured."]);
    assert_eq!(ids(&findings), ["CUT"]);
    let mut run = fixture_runs::bench_run();
    run.trials[0].response.iter_mut().for_each(crate::recorder::Histogram::reset);
    run.trials[0].ended_ns = run.trials[0].began_ns;
    let findings = analyse_run(&run);
    assert_eq!(findings.results.trials[0].events_per_s.value, None);
    assert_eq!(findings.results.trials[0].response, LatencySummary::default());
    assert!(findings.results.trials[0].cost.iter().all(|c| c.per_event.is_none()));
    assert_eq!(findings.results.answer, ["Not reliable: no event ended well, 7 failed in 0 s."]);
}

#[test]
fn a_failed_run_is_void() {
    let mut run = fixture_runs::bench_run();
    run.meta.state = RunState::Failed;
    run.meta.why = Some("the server went away".to_owned());
    run.trials[0].reason = TrialEnding::TargetLost;
    let findings = analyse_run(&run);
    let void = findings.results.void_caveat().unwrap();
    assert_eq!(void.id, "CUT");
    assert!(void.evidence.contains("the server went away"), "{}", void.evidence);
    assert!(void.evidence.contains("1 of 1 load cut"), "{}", void.evidence);
}

#[test]
fn a_run_under_way_is_not_void_for_that() {
    let mut run = fixture_runs::bench_run();
    run.meta.state = RunState::Running;
    run.damage = vec!["intervals.jsonl line 3: cut".to_owned()];
    run.trials[0].reason = TrialEnding::Cut;
    run.steps.last_mut().unwrap().ended_ns = None;
    let ids = |findings: &RunFindings| -> Vec<&str> {
        findings.results.caveats.iter().map(|caveat| caveat.id).collect()
    };
    let (whole, so_far) = (analyse_run(&run), analyse_so_far(run));
    assert!(ids(&whole).contains(&"CUT") && ids(&whole).contains(&"DAMAGE"));
    assert!(!ids(&so_far).contains(&"CUT") && !ids(&so_far).contains(&"DAMAGE"));
    assert_eq!(so_far.head.state, RunState::Running);
    assert!(so_far.timeline.phases.iter().all(|phase| !phase.cut));
    assert_eq!(so_far.timeline.intervals.len(), whole.timeline.intervals.len());
}

#[test]
fn a_run_of_a_newer_version_is_reported_as_far_as_it_is_understood() {
    let mut run = fixture_runs::demo_run();
    run.meta.command = "explore".into();
    run.steps.iter_mut().for_each(|step| step.kind = "clone".into());
    for trial in &mut run.trials {
        trial.arrival = ArrivalRecord::new("bursts".into(), "bursts of 5");
        (trial.engine, trial.reason) = ("fibres".into(), "paused".into());
    }
    let findings = analyse_run(&run);
    assert_eq!(findings.results.trials[0].arrival, "bursts of 5");
    assert_eq!(findings.timeline.phases[0].kind.as_str(), "clone");
    assert!(findings.results.caveats.iter().all(|caveat| caveat.id != "CLOSED-LOOP"));
}
