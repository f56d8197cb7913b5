//! What an event costs on the driver's own path: `cargo bench --bench hot_path [-- SECONDS]`. Prints numbers, judges
//! none: how fast a machine is, is no test.
#![expect(clippy::print_stdout, reason = "printing is all it is for")]

use std::hint::black_box;
use std::time::Duration;

use sweat::base::distribution::{Distribution, DistributionOptions};
use sweat::base::random::Rng;
use sweat::base::{Clock, Nanos, RealClock, Stop};
use sweat::plan::{ArrivalPlan, EnginePlan, LoadPlan};
use sweat::recorder::{ClassId, EventOutcome, EventRecord, Recorder, Recording, Tally};
use sweat::workload::null::NullWorkload;

/// Best of seven: nanoseconds per call.
fn measure(what: &str, calls: u64, mut call: impl FnMut(u64)) -> f64 {
    let clock = RealClock::start_now();
    let once = |_| {
        let began = clock.now();
        (0..calls).for_each(&mut call);
        clock.now().since(began).0 as f64 / calls as f64
    };
    let best = (0..7).map(once).fold(f64::INFINITY, f64::min);
    println!("{what:44} {best:8.1} ns");
    best
}

fn primitives() -> (f64, f64) {
    let clock = RealClock::start_now();
    let read = measure("clock read", 2_000_000, |_| {
        black_box(clock.now());
    });
    let (_recorder, writers) =
        Recorder::new(vec!["null".to_owned()], sweat::workload::sql::COUNTERS, 1);
    let outcome = EventOutcome { class: ClassId(0), error: None };
    let record = measure("record: response, service, tally", 2_000_000, |n| {
        let ended = Nanos(1_000_000 + (n & 0xffff));
        writers[0].start_event();
        let record =
            EventRecord { outcome, intended: Nanos(900_000), started: Nanos(950_000), ended };
        writers[0].end_event(black_box(&record), black_box(&Tally::default()));
    });
    let mut rng = Rng::new(1, 0, 0);
    measure("random: 64 bits", 2_000_000, |_| {
        black_box(rng.next_u64());
    });
    for name in Distribution::NAMES {
        let distribution = Distribution::new(name, &DistributionOptions::default(), 1, 10_000_000)
            .expect("the default shape is valid");
        measure(&format!("random: {name}"), 500_000, |_| {
            black_box(distribution.next_key(&mut rng));
        });
    }
    (read, record)
}

fn load(plan: &LoadPlan) -> Recording {
    let clock = RealClock::start_now();
    sweat::driver::run_load(plan, 1, &NullWorkload, clock, &Stop::new(), &mut |_| {})
        .expect("null opens no session that could fail")
}

/// The whole loop, workload `null`: nanoseconds per event and core.
fn closed(engine: EnginePlan, workers: usize, threads: usize) -> f64 {
    let one = |_| {
        let time = Some(Duration::from_millis(300));
        let plan = LoadPlan { workers, engine, time, ..LoadPlan::default() };
        let recording = load(&plan);
        recording.total.length_s() * 1e9 * threads as f64 / recording.total.event_count() as f64
    };
    let best = (0..5).map(one).fold(f64::INFINITY, f64::min);
    let what = format!("null, closed, {engine:?}, {workers} workers");
    println!("{what:44} {best:8.1} ns  {:.2} million events/s per core", 1e3 / best);
    best
}

fn open(engine: EnginePlan, workers: usize, precise: bool, time: Duration) {
    let arrival = ArrivalPlan::Constant { per_second: 20_000.0 };
    let plan =
        LoadPlan { workers, engine, arrival, precise, time: Some(time), ..LoadPlan::default() };
    let recording = load(&plan);
    let total = &recording.total;
    let us = |quantile: f64| total.lateness.value_at_quantile(quantile) as f64 / 1e3;
    let cpu = recording.cpu_user_ns + recording.cpu_system_ns;
    println!(
        "null, 20,000/s, {engine:?}, {workers} workers{}: {} events in {:.2} s, lateness p50 {:.1} \
         p99 {:.1} p99.9 {:.1} us, {:.0} % of a core",
        if precise { ", precise" } else { "" },
        total.event_count(),
        total.length_s(),
        us(0.5),
        us(0.99),
        us(0.999),
        cpu as f64 / total.length_s() / 1e7,
    );
}

fn main() {
    // cargo passes --bench; a number is for how many seconds the open loops run.
    let seconds = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(2.0);
    let (read, record) = primitives();
    println!("bar for the loop: two clock reads and 30 ns = {:.1} ns", 2.0 * read + 30.0);
    closed(EnginePlan::Threads, 1, 1);
    closed(EnginePlan::Threads, 2, 2);
    if cfg!(target_os = "linux") {
        closed(EnginePlan::Reactor, 1, 1);
    }
    println!("of which the clock {read:.1} and the record {record:.1} ns");
    let time = Duration::from_secs_f64(seconds);
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        if engine == EnginePlan::Threads || cfg!(target_os = "linux") {
            for precise in [false, true] {
                for workers in [1, 8] {
                    open(engine, workers, precise, time);
                }
            }
        }
    }
}
