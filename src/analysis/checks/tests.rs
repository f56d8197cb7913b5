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
    // p50 40.0 us, p99 404 us, 15 200 events/s in eight intervals of which one stalls.
    for (text, verdict) in [
        ("p99 < 20ms", PASS),
        ("p99 < 100us", FAIL),
        ("p99 < 404.1us", UNSURE),
        ("p50 > 1ms", FAIL),
        ("tps > 1000", PASS),
        ("tps > 100000", FAIL),
        ("tps > 15000", UNSURE),
        ("mean < 1s", PASS),
        ("max < 1s", PASS),
        ("max < 500ms", FAIL),
        ("errors < 1%", PASS),
        ("errors == 0", FAIL),
        ("errors < 0.0058%", UNSURE),
        ("p99 lookup < 1s", FAIL),
        ("p99 point_select < 20ms", PASS),
        ("p99 < 20ms for 80% of seconds", PASS),
        ("p95 < 1us for 5% of seconds", FAIL),
        ("tps > 10000 for 95% of seconds", FAIL),
        ("tps >= 97% of base", FAIL),
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
        ("p50 < 20ms", PASS),
        ("p99 < 100ms", FAIL),
        ("p99 < 5s", UNSURE),
        ("max < 1s", FAIL),
        ("max < 5s", UNSURE),
        ("mean < 50ms", FAIL),
        ("mean < 5s", UNSURE),
        ("tps > 1000", PASS),
        ("p99 point_select < 5s", PASS),
    ] {
        let found = checked(&run, text);
        assert_eq!(found.verdict, verdict, "{text}: {} ({})", found.value, found.why);
    }
}

#[test]
fn the_worst_load_decides_and_is_named() {
    let found = checked(&fixture_runs::demo_run(), "p50 < 100us");
    assert_eq!(found.verdict, FAIL);
    assert!(found.value.ends_with(" in 01-none-1"), "{}", found.value);
    let nothing = checked(&RunRecord::default(), "p99 < 1s");
    assert_eq!((nothing.verdict, nothing.why.as_str()), (FAIL, "no load was measured"));
}

#[test]
fn a_base_of_equal_speed_holds_a_share_and_is_unsure_about_all_of_it() {
    let run = fixture_runs::hour_run();
    let found = against(&run, "tps >= 90% of base", Some(&run));
    assert_eq!(found.verdict, PASS, "{} {}", found.value, found.why);
    assert!(found.value.starts_with("100 % of base"), "{}", found.value);
    assert_eq!(against(&run, "tps >= 100% of base", Some(&run)).verdict, UNSURE);
    assert_eq!(against(&run, "tps >= 150% of base", Some(&run)).verdict, FAIL);
    assert_eq!(against(&run, "p99 <= 150% of base", Some(&run)).verdict, PASS);
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
    assert_eq!(verdict(&findings, "stalls == 0"), UNSURE);
    assert_eq!(verdict(&findings, "steady"), UNSURE);
    findings.results.trials[0].stalls =
        Some(StallFindings { full_stop_s: Some(0.3), ..StallFindings::default() });
    assert_eq!(verdict(&findings, "stalls == 0"), UNSURE, "slow spells can't be told");
    findings.results.trials[0].stalls = Some(StallFindings::default());
    assert_eq!(verdict(&findings, "stalls == 0"), UNSURE, "nothing can be told");
    findings.results.trials[0].stalls =
        Some(StallFindings { resolution_s: Some(0.1), ..StallFindings::default() });
    assert_eq!(verdict(&findings, "stalls == 0"), PASS);
    let stall = Stall {
        kind: StallKind::FullStop,
        began_s: 1.0,
        seconds: 1.0,
        depth: 1.0,
        lost_events: 100.0,
        max_s: None,
    };
    findings.results.trials[0].stalls.as_mut().unwrap().events = vec![stall];
    assert_eq!(verdict(&findings, "stalls == 0"), FAIL);
    assert_eq!(verdict(&findings, "stalls <= 1"), PASS);
    for (said, expected) in [
        (SteadyVerdict::Steady, PASS),
        (SteadyVerdict::SteadyWithStalls, PASS),
        (SteadyVerdict::Warming, FAIL),
        (SteadyVerdict::TooShort, UNSURE),
    ] {
        findings.results.trials[0].steady = Some(SteadyState {
            verdict: said,
            t0_s: Some(1.0),
            length_s: None,
            level: None,
            rate: None,
            drift: None,
            phi: None,
            n_eff: None,
            precision: None,
            why: Vec::new(),
        });
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
