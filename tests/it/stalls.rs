//! Stalls of a real server: stopped for a moment, as seen by an open and by a closed loop at the same time.

use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sweat::analysis::{CaveatLevel, CheckOutcome, StallKind, TrialFinding, analyse_run};
use sweat::archive::{ArrivalKind, ArrivalRecord, IntervalRecord, RunRecord, ServerRecord, Trial};
use sweat::base::{Clock, Nanos, RealClock, Stop};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{AddressPlan, ArrivalPlan, LoadPlan, Options, ProbePlan};
use sweat::probe::Sampler;
use sweat::server::ServerControl;
use sweat::workload::{DataJob, Endpoint, KINDS, Workload};

use crate::fixture::{self, Fixture};

const LENGTH: Duration = Duration::from_secs(9);
const STOP: Duration = Duration::from_millis(800);
/// When the stops begin, after the first event.
const AT: [Duration; 2] = [Duration::from_millis(2100), Duration::from_millis(6100)];

fn point_select(server: &Fixture) -> Box<dyn Workload> {
    server.sql("CREATE DATABASE stalls");
    let plan =
        AddressPlan { database: Some("stalls".to_owned()), ..server.target().plan().clone() };
    let target = Target::new(&plan).unwrap();
    let kind = KINDS.iter().find(|k| k.name() == "oltp_point_select").unwrap();
    let given = [("tables", "1"), ("table-size", "1000")];
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).unwrap();
    let workload = kind.build_workload(&options, Endpoint::MySql(&target)).unwrap();
    let stop = Stop::new();
    workload
        .prepare_data(&mut DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} })
        .unwrap();
    workload
}

/// Stops the server for so long at each of these times after the start; gives when, seconds of the clock.
fn freeze(
    server: &Fixture,
    clock: RealClock,
    start: Nanos,
    stops: &[Duration],
    long: Duration,
) -> Vec<(f64, f64)> {
    let pid = i32::try_from(server.sandbox.pid().unwrap()).unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    let now = || clock.now().0 as f64 / 1e9;
    let stop_at = |at: &Duration| {
        clock.sleep_until(start + Nanos::from(*at));
        kill_process(pid, Signal::STOP).unwrap();
        let began = now();
        clock.sleep_until(clock.now() + Nanos::from(long));
        // Until here it was stopped for sure; this thread may have to wait for a processor at any time.
        let ended = now();
        kill_process(pid, Signal::CONT).unwrap();
        (began, ended)
    };
    stops.iter().map(stop_at).collect()
}

/// One load as a trial, its intervals with it.
fn load(
    workload: &dyn Workload,
    id: &str,
    arrival: ArrivalPlan,
    time: Duration,
    clock: RealClock,
) -> Trial {
    let plan = LoadPlan { workers: 4, time: Some(time), arrival, ..LoadPlan::default() };
    let mut intervals = Vec::new();
    let recording = driver::run_load(&plan, 1, workload, clock, &Stop::new(), &mut |i| {
        intervals.push(IntervalRecord::from(i));
    })
    .unwrap();
    let arrival = match plan.arrival {
        ArrivalPlan::Closed { .. } => ArrivalRecord::closed(0.0, "closed"),
        _ => ArrivalRecord::new(ArrivalKind::Poisson, "poisson"),
    };
    let mut trial = Trial { id: id.to_owned(), arrival, ..Trial::default() };
    trial.fill_totals(&recording);
    trial.intervals = intervals;
    trial
}

#[test]
fn a_stopped_server_is_felt_by_an_open_loop_and_seen_in_a_closed_one() {
    // Where others leave this machine so little that stops of its own are as long, a load says so, and is done again.
    let seen = (0..4).any(|_| stop_twice().is_ok());
    assert!(seen, "four loads could not tell a stop of {STOP:?} from the machine's own");
}

/// Loads a server that is stopped twice. `Err` where the load says that shorter stops than these can't be told.
fn stop_twice() -> Result<(), ()> {
    let server = fixture::mariadb();
    let workload = point_select(&server);
    let clock = RealClock::start_now();
    let (out, samples) = mpsc::channel();
    let names = vec!["process".to_owned()];
    let probes = ProbePlan { names, interval: Duration::from_millis(100) };
    let pid = server.sandbox.pid();
    let sampler = Sampler::start(&probes, Some(server.target()), pid, clock, &out).unwrap();
    let arrival = ArrivalPlan::Poisson { per_second: 500.0 };
    let (open, closed, stops) = std::thread::scope(|scope| {
        let open = scope.spawn(|| load(&*workload, "open", arrival, LENGTH, clock));
        let closed = scope.spawn(|| {
            let think = Duration::from_millis(1);
            load(&*workload, "closed", ArrivalPlan::Closed { think }, LENGTH, clock)
        });
        let stops = freeze(&server, clock, clock.now(), &AT, STOP);
        (open.join().unwrap(), closed.join().unwrap(), stops)
    });
    sampler.stop();
    drop(out);
    let mut run = RunRecord { trials: vec![open, closed], ..RunRecord::default() };
    run.samples = samples.iter().map(|s| (&s).into()).collect();
    run.meta.server = Some(ServerRecord::default());
    let found = analyse_run(&run);
    let [open, closed] = &found.results.trials[..] else { panic!("two loads") };

    let stop = STOP.as_secs_f64();
    let resolved = |trial: &TrialFinding| {
        let shortest = trial.stalls.as_ref().unwrap().full_stop_s;
        println!("{}: a stop is a silence of {shortest:?} s or more", trial.id);
        shortest.is_some_and(|shortest| shortest < 0.9 * stop)
    };
    if !(resolved(open) && resolved(closed)) {
        return Err(());
    }
    let p99 = |trial: &TrialFinding| trial.response.p99_s.unwrap();
    println!("p99 of the open loop {:.3} s, of the closed {:.4} s", p99(open), p99(closed));
    assert!(p99(open) >= 0.7 * stop, "{}", p99(open));
    assert!(p99(closed) < 0.3 * stop, "{}", p99(closed));

    for trial in [open, closed] {
        let stalls = trial.stalls.as_ref().unwrap();
        for (began, ended) in &stops {
            let seen = stalls.events.iter().any(|e| {
                e.kind == StallKind::FullStop
                    && e.began_s < began + 0.1
                    && e.began_s + e.seconds > ended - 0.1
            });
            assert!(seen, "{}: no full stop from {began} to {ended}: {stalls:?}", trial.id);
        }
        assert!(stalls.longest_silence_s.unwrap() > 0.9 * stop);
        println!("{}: {:?} {:?}", trial.id, stalls.causes, stalls.notes);
    }
    // Slots lose nothing: they count as many events as the histograms.
    for trial in &run.trials {
        let slots: u64 = trial.intervals.iter().flat_map(|i| &i.slots).map(|n| u64::from(*n)).sum();
        let events = trial.response.iter().chain(&trial.failed).map(|h| h.len()).sum::<u64>();
        assert_eq!(slots, events);
    }
    let caveat = found.results.caveats.iter().find(|c| c.id == "CLOSED-LOOP").unwrap();
    assert_eq!(caveat.level, CaveatLevel::Warn, "{caveat:?}");
    assert!(caveat.evidence.contains("full stop"), "{caveat:?}");
    assert!(caveat.remedy.contains("--rate"), "{caveat:?}");
    Ok(())
}

/// One stop of a server that takes more than half of a closed loop.
fn stand_still(length: Duration, long: Duration) {
    let server = fixture::mariadb();
    let workload = point_select(&server);
    let clock = RealClock::start_now();
    let at = length / 5;
    let arrival = ArrivalPlan::Closed { think: Duration::ZERO };
    let (trial, stops) = std::thread::scope(|scope| {
        let load = scope.spawn(|| load(&*workload, "closed", arrival, length, clock));
        let stops = freeze(&server, clock, clock.now(), &[at], long);
        (load.join().unwrap(), stops)
    });
    let mut run = RunRecord { trials: vec![trial], ..RunRecord::default() };
    run.meta.server = Some(ServerRecord::default());
    let found = analyse_run(&run);
    let stalls = found.results.trials[0].stalls.as_ref().unwrap();
    let (began, ended) = stops[0];
    let is_it = |e: &&sweat::analysis::Stall| {
        e.kind == StallKind::FullStop
            && e.began_s < began + 0.1
            && e.began_s + e.seconds > ended - 0.1
    };
    let stop = stalls.events.iter().find(is_it).unwrap_or_else(|| panic!("{stalls:?}"));
    let truth = stop.seconds / length.as_secs_f64();
    println!("{:.2} s of {length:?}, lost {:.3}", stop.seconds, stalls.lost_share);
    assert!((stalls.lost_share - truth).abs() < 0.1, "{} for {truth}", stalls.lost_share);
    assert!(stalls.longest_silence_s.unwrap() > 0.95 * long.as_secs_f64());
    let level = |id: &str| found.results.caveats.iter().find(|c| c.id == id).map(|c| c.level);
    assert_eq!(level("STALLS"), Some(CaveatLevel::Warn));
    assert_eq!(level("CLOSED-LOOP"), Some(CaveatLevel::Warn), "{:?}", found.results.caveats);
    let check = sweat::plan::Check::parse("stalls == 0").unwrap();
    assert_eq!(
        sweat::analysis::judge_checks(&[check], (&run, &found), None)[0].verdict,
        CheckOutcome::Fail
    );
}

#[test]
fn a_server_that_stands_for_nine_of_fifteen_seconds_is_not_without_stalls() {
    stand_still(Duration::from_secs(15), Duration::from_secs(9));
}

#[test]
#[ignore = "takes 40 s; bench/frozen.py --long does the same against a release build"]
fn a_server_that_stands_for_25_of_40_seconds_is_not_without_stalls() {
    stand_still(Duration::from_secs(40), Duration::from_secs(25));
}
