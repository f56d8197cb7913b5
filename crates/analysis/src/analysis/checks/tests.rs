use super::super::fixture_runs;
use super::super::{analyse_run, findings::*};
use super::*;
use crate::recorder::new_histogram;

fn checked(run: &RunRecord, text: &str) -> CheckFinding {
    against(run, text, None)
}

fn against(run: &RunRecord, text: &str, base: Option<&RunRecord>) -> CheckFinding {
    let base = base.map(|base| (base, analyse_run(base)));
    let base = base.as_ref().map(|(run, findings)| (*run, findings));
    let check = Check::parse(text).unwrap();
    judge_checks(&[check], (run, &analyse_run(run)), base).remove(0)
}

#[test]
fn clear_bounds_pass_and_fail_and_close_ones_are_unsure() {
    let run = fixture_runs::bench_run();
    // p50 40.0 µs, p99 404 µs, 15 200 events/s in eight intervals of which one stalls.
    for (text, verdict) in [
        ("p99 < 20ms", Pass),
        ("p99 < 100us", Fail),
        ("p99 < 404.1us", Unsure),
        ("p50 > 1ms", Fail),
        ("tps > 1000", Pass),
        ("tps > 100000", Fail),
        ("tps > 15000", Unsure),
        ("mean < 1s", Pass),
        ("max < 1s", Pass),
        ("max < 500ms", Fail),
        ("errors < 1%", Pass),
        ("errors == 0", Fail),
        ("errors < 0.0058%", Unsure),
        ("p99 lookup < 1s", Fail),
        ("p99 point_select < 20ms", Pass),
        ("p99 < 20ms for 80% of seconds", Pass),
        ("p95 < 1us for 5% of seconds", Fail),
        ("tps > 10000 for 95% of seconds", Fail),
        ("tps >= 97% of base", Fail),
    ] {
        let found = checked(&run, text);
        assert_eq!(found.verdict, verdict, "{text}: {} ({})", found.value, found.why);
        assert_eq!(found.text, text);
    }
}

#[test]
fn times_of_what_never_began_are_known_from_below_only() {
    let mut run = fixture_runs::bench_run();
    let events: u64 = run.trials[0].response.iter().map(|h| h.len()).sum();
    // A twentieth waited for two seconds and never began: the median is known, p99 is two seconds or more.
    run.trials[0].unbegun.record_n(2_000_000_000, events / 20).unwrap();
    for (text, verdict) in [
        ("p50 < 20ms", Pass),
        ("p99 < 100ms", Fail),
        ("p99 < 5s", Unsure),
        ("max < 1s", Fail),
        ("max < 5s", Unsure),
        ("mean < 50ms", Fail),
        ("mean < 5s", Unsure),
        ("tps > 1000", Pass),
        ("p99 point_select < 5s", Pass),
    ] {
        let found = checked(&run, text);
        assert_eq!(found.verdict, verdict, "{text}: {} ({})", found.value, found.why);
    }
}

#[test]
fn the_worst_load_decides_and_is_named() {
    let found = checked(&fixture_runs::demo_run(), "p50 < 100us");
    assert_eq!(found.verdict, Fail);
    assert!(found.value.ends_with(" in none, run 1"), "{}", found.value);
    let nothing = checked(&RunRecord::default(), "p99 < 1s");
    assert_eq!((nothing.verdict, nothing.why.as_str()), (Fail, "no load was measured"));
}

#[test]
fn a_base_of_equal_speed_holds_a_share_and_is_unsure_about_all_of_it() {
    let run = fixture_runs::hour_run();
    let found = against(&run, "tps >= 90% of base", Some(&run));
    assert_eq!(found.verdict, Pass, "{} {}", found.value, found.why);
    assert!(found.value.starts_with("100 % of base"), "{}", found.value);
    assert_eq!(against(&run, "tps >= 100% of base", Some(&run)).verdict, Unsure);
    assert_eq!(against(&run, "tps >= 150% of base", Some(&run)).verdict, Fail);
    assert_eq!(against(&run, "p99 <= 150% of base", Some(&run)).verdict, Pass);
}

#[test]
fn stalls_and_steadiness_come_from_the_findings() {
    let run = fixture_runs::bench_run();
    let mut findings = analyse_run(&run);
    let verdict = |findings: &RunFindings, text: &str| {
        judge_checks(&[Check::parse(text).unwrap()], (&run, findings), None).remove(0).verdict
    };
    findings.results.trials[0].stalls = None;
    findings.results.trials[0].steady = None;
    assert_eq!(verdict(&findings, "stalls == 0"), Unsure);
    assert_eq!(verdict(&findings, "steady"), Unsure);
    findings.results.trials[0].stalls =
        Some(StallFindings { full_stop_s: Some(0.3), ..StallFindings::default() });
    assert_eq!(verdict(&findings, "stalls == 0"), Unsure, "slow spells can't be told");
    findings.results.trials[0].stalls = Some(StallFindings::default());
    assert_eq!(verdict(&findings, "stalls == 0"), Unsure, "nothing can be told");
    findings.results.trials[0].stalls =
        Some(StallFindings { resolution_s: Some(0.1), ..StallFindings::default() });
    assert_eq!(verdict(&findings, "stalls == 0"), Pass);
    let stall = Stall {
        kind: StallKind::FullStop,
        began_s: 1.0,
        seconds: 1.0,
        depth: 1.0,
        lost_events: 100.0,
        max_s: None,
    };
    findings.results.trials[0].stalls.as_mut().unwrap().events = vec![stall];
    assert_eq!(verdict(&findings, "stalls == 0"), Fail);
    assert_eq!(verdict(&findings, "stalls <= 1"), Pass);
    for (said, expected) in [
        (SteadyVerdict::Steady, Pass),
        (SteadyVerdict::SteadyWithStalls, Pass),
        (SteadyVerdict::Warming, Fail),
        (SteadyVerdict::TooShort, Unsure),
    ] {
        findings.results.trials[0].steady =
            Some(SteadyState { verdict: said, t0_s: Some(1.0), ..SteadyState::default() });
        assert_eq!(verdict(&findings, "steady"), expected, "{}", said.as_str());
    }
}

/// Loads of independent exponential response times: an interval of 95 % must hold the true value about as often.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((random >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let truth = 0.01 * 100f64.ln();
    let (mut inside, loads) = (0, 100);
    let mut response = new_histogram();
    for _ in 0..loads {
        let mut trial = Trial { response: vec![new_histogram()], ..Trial::default() };
        for second in 0..20u64 {
            response.reset();
            for _ in 0..150 {
                let value = (-next().ln() * 1e7) as u64;
                response.record(value).unwrap();
                trial.response[0].record(value).unwrap();
            }
            trial.intervals.push(crate::archive::IntervalRecord {
                began_ns: second * 1_000_000_000,
                ended_ns: (second + 1) * 1_000_000_000,
                events: vec![150],
                response: (&response).into(),
                ..Default::default()
            });
        }
        trial.ended_ns = 20_000_000_000;
        let measured = measure::measure_metric(
            Metric::Quantile(0.99),
            &CheckScope { record: &trial, class: None },
        );
        let (low, high) = measured.unwrap().interval.unwrap();
        inside += u32::from(low <= truth && truth <= high);
    }
    let share = f64::from(inside) / f64::from(loads);
    assert!((0.9..=1.0).contains(&share), "{share}");
}
