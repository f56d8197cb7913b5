//! Loads that really run, on toy workloads without a server.

use std::time::Duration;

use super::*;
use crate::plan::ArrivalPlan;
use crate::workload::null::Null;

fn run_null(plan: &LoadPlan) -> (Recording, Vec<Interval>) {
    let clock = RealClock::start();
    let mut intervals = Vec::new();
    let recording =
        run(plan, 1, &Null, clock, &Stop::new(), &mut |i| intervals.push(i.clone())).unwrap();
    (recording, intervals)
}

#[test]
fn a_load_by_events_runs_exactly_so_many() {
    let plan = LoadPlan { workers: 3, events: Some(10_000), ..LoadPlan::default() };
    let (recording, intervals) = run_null(&plan);
    assert_eq!(recording.total.events(), 10_000);
    assert_eq!(recording.reason, StopReason::Done);
    assert_eq!(intervals.iter().map(Interval::events).sum::<u64>(), 10_000);
    assert_eq!(recording.abandoned, 0);
}

#[test]
fn a_load_by_time_lasts_so_long_and_gives_its_intervals() {
    let plan = LoadPlan {
        workers: 2,
        time: Some(Duration::from_millis(300)),
        interval: Duration::from_millis(100),
        arrival: ArrivalPlan::Closed { think: Duration::from_millis(1) },
        ..LoadPlan::default()
    };
    let (recording, intervals) = run_null(&plan);
    assert_eq!(intervals.len(), 3);
    assert!((0.3..0.6).contains(&recording.total.seconds()), "{}", recording.total.seconds());
    assert!(recording.total.events() > 100);
    assert_eq!(intervals.iter().map(Interval::events).sum::<u64>(), recording.total.events());
    assert_eq!(intervals[0].began, recording.total.began);
    assert_eq!(intervals[2].ended, recording.total.ended);
}
