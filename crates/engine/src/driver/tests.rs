//! Loads that really run, on both engines, on toy workloads without a server; and what happens when something breaks.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use super::*;
use crate::base::reactor as loops;
use crate::plan::{ArrivalPlan, LoadShare};
use crate::recorder::{ClassId, EventError, EventErrorKind, EventOutcome, Tally};
use crate::workload::null::NullWorkload;
use crate::workload::{BoxedWorker, ErrorPolicy, OpenError, Worker, WorkerContext};

const ENGINES: &[EnginePlan] = if cfg!(target_os = "linux") {
    &[EnginePlan::Threads, EnginePlan::Reactor]
} else {
    &[EnginePlan::Threads]
};

/// What a toy worker does in each event, and when it is opened.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    /// Takes 1 ms.
    Work,
    /// Takes 1 ms; each third event fails with a server error.
    Err,
    /// The same, and runs the event again.
    Restart,
    /// The same, and ends the load with it.
    Fatal,
    /// Loses its connection in its fifth event, and can open it again.
    Lose,
    /// Loses its connection in its fifth event, for good.
    LoseForGood,
    /// Never ends its third event.
    Block,
    /// Panics in its third event.
    Panic,
    /// Can't be opened.
    Refused,
    /// Can't even be made.
    Unmade,
    /// Is never through with opening.
    OpenForEver,
}

/// A workload whose worker n does the n-th deed.
struct Toy {
    clock: RealClock,
    deeds: Vec<Deed>,
    open: AtomicUsize,
    most_open: AtomicUsize,
    closed: AtomicU64,
}

impl Toy {
    fn new(deeds: &[Deed]) -> Toy {
        Toy {
            clock: RealClock::start_now(),
            deeds: deeds.to_vec(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            closed: AtomicU64::new(0),
        }
    }
}

struct Hand<'a> {
    toy: &'a Toy,
    deed: Deed,
    part: WorkerContext,
    events: u64,
    opened: u64,
}

impl Workload for Toy {
    fn class_names(&self) -> Vec<String> {
        vec!["first".to_owned(), "other".to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let deed = self.deeds[part.worker];
        anyhow::ensure!(deed != Deed::Unmade, "no hands");
        Ok(Box::new(Hand { toy: self, deed, part, events: 0, opened: 0 }))
    }
}

impl Hand<'_> {
    /// Lets time pass as a session waits: blocking with an eye on `abandon`, or pending.
    async fn pass(&self, time: Nanos) -> Result<(), EventError> {
        let clock = self.toy.clock;
        let at = clock.now() + time;
        poll_fn(|_| {
            loop {
                if clock.now() >= at {
                    return Poll::Ready(Ok(()));
                }
                if loops::is_running() {
                    loops::wake_at(at);
                    return Poll::Pending;
                }
                if self.part.abandon.is_set() {
                    return Poll::Ready(Err(LOST));
                }
                clock.sleep_until(at.min(clock.now() + Nanos(5_000_000)));
            }
        })
        .await
    }
}

const LOST: EventError = EventError { kind: EventErrorKind::Lost, code: 104 };
const FOREVER: Nanos = Nanos(3_600_000_000_000);

impl Worker for Hand<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        let open = self.toy.open.fetch_add(1, Relaxed) + 1;
        self.toy.most_open.fetch_max(open, Relaxed);
        let time = if self.deed == Deed::OpenForEver { FOREVER } else { Nanos(1_000_000) };
        let passed = self.pass(time).await;
        self.toy.open.fetch_sub(1, Relaxed);
        self.opened += 1;
        let lost = |why: &str| {
            let text = format!("connection lost: {why}");
            Err(OpenError { kind: EventErrorKind::Lost, code: 111, text })
        };
        match self.deed {
            _ if passed.is_err() => lost("given up"),
            Deed::Refused => lost("refused"),
            Deed::Lose if self.opened == 2 => lost("not yet"),
            _ => Ok(()),
        }
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.events += 1;
        let class = ClassId(u16::from(self.events > 1));
        let time = match (self.deed, self.events) {
            (Deed::Block, 3) => FOREVER,
            (Deed::Panic, 3) => panic!("a toy broke"),
            _ => Nanos(1_000_000),
        };
        tally.counts[0] += 1;
        let error = match (self.deed, self.pass(time).await) {
            (_, Err(error)) => Some(error),
            (Deed::Lose | Deed::LoseForGood, _) if self.events == 5 => Some(LOST),
            (Deed::Err | Deed::Restart | Deed::Fatal, _) if self.events % 3 == 0 => {
                Some(EventError { kind: EventErrorKind::Server, code: 1213 })
            }
            _ => None,
        };
        EventOutcome { class, error }
    }

    fn error_policy(&self, _: EventError) -> ErrorPolicy {
        match self.deed {
            Deed::Restart => ErrorPolicy::RestartEvent,
            Deed::Fatal => ErrorPolicy::FailLoad,
            _ => ErrorPolicy::CountEvent,
        }
    }

    fn error_text(&self) -> &str {
        "Deadlock found"
    }

    async fn close(&mut self) {
        self.toy.closed.fetch_add(1, Relaxed);
    }
}

fn plan(deeds: &[Deed], engine: EnginePlan, ms: u64) -> LoadPlan {
    let time = Some(Duration::from_millis(ms));
    let interval = Duration::from_millis(20);
    let grace = Duration::from_millis(50);
    LoadPlan { workers: deeds.len(), engine, time, interval, grace, ..LoadPlan::default() }
}

/// Runs deeds; every interval must fit the next one, and all of them the total.
fn run_toy(toy: &Toy, plan: &LoadPlan, stop: &Stop) -> anyhow::Result<Recording> {
    let mut sums = (0, 0, 0);
    let mut ended = None;
    let recording = run_load(plan, 1, toy, toy.clock, stop, &mut |i| {
        sums = (sums.0 + i.event_count(), sums.1 + i.error_count(), sums.2 + i.tally.counts[0]);
        assert!(ended.is_none_or(|ended| ended == i.began));
        ended = Some(i.ended);
    })?;
    let total = &recording.total;
    assert_eq!(sums, (total.event_count(), total.error_count(), total.tally.counts[0]));
    assert_eq!(recording.errors.iter().map(|e| e.count).sum::<u64>(), total.error_count());
    Ok(recording)
}

/// Runs the test for each engine.
fn on_each_engine(test: impl Fn(EnginePlan)) {
    for &engine in ENGINES {
        test(engine);
    }
}

fn run_null(plan: &LoadPlan) -> (Recording, Vec<Interval>) {
    let mut intervals = Vec::new();
    let clock = RealClock::start_now();
    let recording =
        run_load(plan, 1, &NullWorkload, clock, &Stop::new(), &mut |i| intervals.push(i.clone()))
            .unwrap();
    (recording, intervals)
}

#[test]
fn a_load_by_events_runs_exactly_so_many() {
    on_each_engine(|engine| {
        for arrival in [
            ArrivalPlan::Closed { think: Duration::ZERO },
            ArrivalPlan::Constant { per_second: 1e6 },
            ArrivalPlan::Poisson { per_second: 1e6 },
        ] {
            let plan = LoadPlan {
                workers: 3,
                events: Some(10_000),
                arrival,
                engine,
                ..LoadPlan::default()
            };
            let (recording, intervals) = run_null(&plan);
            assert_eq!(recording.total.event_count(), 10_000);
            assert_eq!(recording.reason, StopReason::Done);
            assert_eq!(intervals.iter().map(Interval::event_count).sum::<u64>(), 10_000);
            assert_eq!((recording.abandoned, recording.total.backlog), (0, 0));
        }
    });
}

#[test]
fn a_load_by_time_lasts_so_long_and_gives_its_intervals() {
    on_each_engine(|engine| {
        let plan = LoadPlan {
            interval: Duration::from_millis(100),
            arrival: ArrivalPlan::Closed { think: Duration::from_millis(1) },
            ..plan(&[Deed::Work; 5], engine, 300)
        };
        let (recording, intervals) = run_null(&plan);
        // A busy machine may be late for an edge; none is left out between two intervals.
        let edges = intervals.windows(2).map(|pair| (pair[0].ended, pair[1].began));
        assert!(edges.into_iter().all(|(ended, began)| ended == began));
        assert!((0.3..3.0).contains(&recording.total.length_s()), "{}", recording.total.length_s());
        assert!(recording.total.event_count() > 0);
        assert_eq!(intervals[0].began, recording.total.began);
        assert_eq!(intervals.last().unwrap().ended, recording.total.ended);
    });
}

#[test]
fn an_open_loop_keeps_its_rate_and_tells_its_lateness() {
    on_each_engine(|engine| {
        for precise in [false, true] {
            let plan = LoadPlan {
                arrival: ArrivalPlan::Constant { per_second: 2000.0 },
                precise,
                ..plan(&[Deed::Work; 4], engine, 200)
            };
            let (recording, _) = run_null(&plan);
            let begun = recording.total.event_count() + recording.total.backlog;
            assert!((399..=401).contains(&begun), "{engine:?} {precise}: {begun}");
            assert!(!recording.total.lateness.is_empty());
        }
    });
}

#[test]
fn a_saturated_open_loop_tells_its_backlog() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work; 2];
        let arrival = ArrivalPlan::Constant { per_second: 20_000.0 };
        let plan = LoadPlan { arrival, ..plan(&deeds, engine, 100) };
        let total = run_toy(&Toy::new(&deeds), &plan, &Stop::new()).unwrap().total;
        assert!(total.backlog > 1500, "{}", total.backlog);
        assert_eq!(
            total.event_count() + total.backlog,
            2000,
            "what is due and not begun is not lost"
        );
        assert_eq!(total.unbegun.len(), total.backlog);
        // The oldest was due when about so many had begun, and waited from then to the end of the load.
        let waited = 100_000_000 - total.event_count() * 50_000;
        assert!(total.unbegun.max_ns().abs_diff(waited) < 1_000_000, "{}", total.unbegun.max_ns());
        let class = &total.classes[1];
        assert!(class.response.max_ns() > 2 * class.service.value_at_quantile(0.5));
    });
}

#[test]
fn errors_are_counted_by_class_and_code_and_the_first_text_is_kept() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Err];
        let recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 100), &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::Done);
        let [error] = &recording.errors[..] else { panic!("{:?}", recording.errors) };
        assert_eq!((error.class, error.error.code), (ClassId(1), 1213));
        assert_eq!(error.first_text, "Deadlock found");
        assert!(error.count > 0);
        assert_eq!(recording.total.classes[1].failed.len(), error.count);
        assert_eq!(recording.total.classes[0].response.len(), 2, "the first event of each worker");
    });
}

#[test]
fn an_event_that_runs_again_counts_once_and_its_error_too() {
    on_each_engine(|engine| {
        let deeds = [Deed::Restart];
        let plan = LoadPlan { events: Some(6), ..plan(&deeds, engine, 60_000) };
        let recording = run_toy(&Toy::new(&deeds), &plan, &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::Done);
        // Attempts 3 and 6 failed.
        let total = &recording.total;
        assert_eq!((total.event_count(), total.error_count(), total.tally.counts[0]), (6, 2, 8));
        assert_eq!(recording.restarts, 2);
        assert_eq!((recording.errors[0].error.code, recording.errors[0].count), (1213, 2));
        assert!(total.response_times().max_ns() >= 2_000_000, "its clock runs on");
        let [worker] = total.worker_totals[..] else { panic!("{:?}", total.worker_totals) };
        assert_eq!(worker.events, 6);
        assert!(worker.time >= Nanos(8_000_000), "{worker:?}");
    });
}

#[test]
fn an_error_may_end_the_load() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Fatal];
        let recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 60_000), &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::Failed);
        assert_eq!(recording.failure.as_deref(), Some("Deadlock found"));
        assert_eq!(recording.total.error_count(), 1);
    });
}

#[test]
fn nothing_runs_where_all_sessions_are_needed_and_one_is_missing() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Refused];
        let plan = LoadPlan { all_sessions: true, ..plan(&deeds, engine, 60_000) };
        let error = run_toy(&Toy::new(&deeds), &plan, &Stop::new()).unwrap_err();
        let none = error.downcast_ref::<NoSessionError>().expect("it says why");
        assert_eq!(none.why, "connection lost: refused");
    });
}

#[test]
fn a_load_whose_workers_all_lose_their_sessions_ends_at_once() {
    on_each_engine(|engine| {
        let deeds = [Deed::LoseForGood; 3];
        let toy = Toy::new(&deeds);
        let recording = run_toy(&toy, &plan(&deeds, engine, 60_000), &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::TargetLost);
        assert_eq!((recording.total.event_count(), recording.total.error_count()), (12, 3));
        assert_eq!(recording.errors[0].error, LOST);
        assert!(recording.total.length_s() < 5.0);
        assert_eq!(toy.closed.load(Relaxed), 3);
    });
}

#[test]
fn one_lost_session_does_not_end_the_load_of_the_others() {
    on_each_engine(|engine| {
        let deeds = [Deed::LoseForGood, Deed::Work];
        let recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 100), &Stop::new()).unwrap();
        assert_eq!((recording.reason, recording.total.error_count()), (StopReason::Done, 1));
        assert!(recording.total.length_s() >= 0.1);
    });
}

#[test]
fn a_lost_session_is_opened_again_if_so_asked() {
    on_each_engine(|engine| {
        let deeds = [Deed::Lose, Deed::Work];
        let plan = LoadPlan { reconnect: true, ..plan(&deeds, engine, 300) };
        let recording = run_toy(&Toy::new(&deeds), &plan, &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::Done);
        assert_eq!((recording.total.reconnects, recording.total.error_count()), (1, 1));
        assert!(recording.longest_outage_ns > 0);
    });
}

#[test]
fn an_event_that_never_ends_is_given_up_after_the_grace_and_counted() {
    on_each_engine(|engine| {
        let deeds = [Deed::Block, Deed::Work];
        let recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 60), &Stop::new()).unwrap();
        assert_eq!((recording.reason, recording.abandoned), (StopReason::Done, 1));
        assert_eq!((recording.total.error_count(), recording.total.in_flight), (0, 0));
        assert!((0.1..5.0).contains(&recording.total.length_s()), "{}", recording.total.length_s());
    });
}

#[test]
fn a_panic_ends_the_load_and_keeps_what_was_measured() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Work, Deed::Panic];
        let recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 60_000), &Stop::new()).unwrap();
        assert_eq!(recording.reason, StopReason::Failed);
        let failure = recording.failure.unwrap();
        assert!(failure.contains("a toy broke"), "{failure}");
        assert!(recording.total.event_count() >= 4);
        assert!(recording.total.length_s() < 5.0);
    });
}

#[test]
fn the_users_stop_ends_the_load_soon_even_if_a_worker_blocks() {
    on_each_engine(|engine| {
        let deeds = [Deed::Block, Deed::Work];
        let toy = Toy::new(&deeds);
        let stop = Stop::new();
        let plan = LoadPlan { grace: Duration::from_secs(10), ..plan(&deeds, engine, 60_000) };
        let recording = std::thread::scope(|scope| {
            scope.spawn(|| {
                toy.clock.sleep_until(toy.clock.now() + Nanos(50_000_000));
                stop.set(StopReason::Interrupted);
            });
            run_toy(&toy, &plan, &stop).unwrap()
        });
        assert_eq!(recording.reason, StopReason::Interrupted);
        assert!(recording.total.length_s() < 2.0, "{}", recording.total.length_s());
        assert!(recording.total.event_count() > 0);
    });
}

#[test]
fn who_looks_on_can_say_that_it_is_enough() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work; 2];
        let toy = Toy::new(&deeds);
        let whole = Stop::new();
        let stop = whole.child_stop();
        let plan = LoadPlan { time: None, ..plan(&deeds, engine, 0) };
        let mut seen = 0;
        let recording = run_load(&plan, 1, &toy, toy.clock, &stop, &mut |_| {
            seen += 1;
            if seen == 3 {
                stop.set(StopReason::Done);
            }
        })
        .unwrap();
        assert_eq!((recording.reason, recording.abandoned), (StopReason::Done, 0));
        assert!(seen >= 3 && recording.total.length_s() < 2.0, "{}", recording.total.length_s());
        assert!(!whole.is_set());
    });
}

#[test]
fn the_users_stop_is_heeded_while_sessions_are_being_opened_or_workers_wait() {
    on_each_engine(|engine| {
        for (deeds, arrival) in [
            ([Deed::Work, Deed::OpenForEver], ArrivalPlan::Closed { think: Duration::ZERO }),
            ([Deed::Work; 2], ArrivalPlan::Closed { think: Duration::from_secs(60) }),
            ([Deed::Work; 2], ArrivalPlan::Constant { per_second: 0.01 }),
        ] {
            let toy = Toy::new(&deeds);
            let stop = Stop::new();
            let plan = LoadPlan { arrival, ..plan(&deeds, engine, 60_000) };
            let recording = std::thread::scope(|scope| {
                scope.spawn(|| {
                    toy.clock.sleep_until(toy.clock.now() + Nanos(50_000_000));
                    stop.set(StopReason::Interrupted);
                });
                run_toy(&toy, &plan, &stop).unwrap()
            });
            assert_eq!(recording.reason, StopReason::Interrupted);
            assert!(
                toy.clock.now().to_seconds() < 2.0,
                "{engine:?}: {}",
                toy.clock.now().to_seconds()
            );
        }
    });
}

#[test]
fn workers_without_a_session_are_named_and_the_others_run() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Refused, Deed::Unmade];
        let mut recording =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 50), &Stop::new()).unwrap();
        recording.unopened.sort_by_key(|u| u.worker);
        let named: Vec<_> = recording.unopened.iter().map(|u| (u.worker, u.why.as_str())).collect();
        assert_eq!(named, [(1, "connection lost: refused"), (2, "no hands")]);
        assert_eq!((recording.reason, recording.workers), (StopReason::Done, 3));
        assert!(recording.total.event_count() > 0);
    });
}

#[test]
fn a_load_without_any_session_is_an_error_with_its_cause() {
    on_each_engine(|engine| {
        let deeds = [Deed::Refused; 2];
        let error =
            run_toy(&Toy::new(&deeds), &plan(&deeds, engine, 50), &Stop::new()).unwrap_err();
        let error = error.downcast_ref::<NoSessionError>().unwrap();
        assert_eq!((error.workers, error.why.as_str()), (2, "connection lost: refused"));
    });
}

#[test]
fn only_so_many_sessions_are_opened_at_once() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work; 200];
        let toy = Toy::new(&deeds);
        let recording = run_toy(&toy, &plan(&deeds, engine, 100), &Stop::new()).unwrap();
        assert_eq!(toy.closed.load(Relaxed), 200, "every worker got its session");
        let gates = if recording.engine == "threads" { 1 } else { reactor::thread_count(200) };
        let most = toy.most_open.load(Relaxed);
        assert!((2..=gates * load::OPENING).contains(&most), "{most}");
    });
}

#[test]
fn workers_that_never_wait_share_their_thread() {
    // Null's events never pend: without turns the first worker of a reactor's thread would run alone.
    let clock = RealClock::start_now();
    let toy = Fair { events: (0..8).map(|_| AtomicU64::new(0)).collect() };
    let plan = plan(&[Deed::Work; 8], EnginePlan::Auto, 200);
    for engine in ENGINES {
        let plan = LoadPlan { engine: *engine, ..plan.clone() };
        run_load(&plan, 1, &toy, clock, &Stop::new(), &mut |_| {}).unwrap();
        assert!(toy.events.iter().all(|events| events.swap(0, Relaxed) > 0), "{engine:?}");
    }
}

/// Counts the events of each worker, which take no time.
struct Fair {
    events: Vec<AtomicU64>,
}

struct Quick<'a>(&'a AtomicU64);

impl Workload for Fair {
    fn class_names(&self) -> Vec<String> {
        vec!["quick".to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(Quick(&self.events[part.worker])))
    }
}

impl Worker for Quick<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, _: &mut Tally) -> EventOutcome {
        self.0.fetch_add(1, Relaxed);
        EventOutcome { class: ClassId(0), error: None }
    }
}

#[test]
fn a_listener_that_panics_leaves_nobody_hanging() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Block];
        let toy = Toy::new(&deeds);
        let plan = plan(&deeds, engine, 60_000);
        let panic = std::panic::catch_unwind(|| {
            run_load(&plan, 1, &toy, toy.clock, &Stop::new(), &mut |_| panic!("listener"))
        });
        assert!(panic.is_err());
        assert!(toy.clock.now().to_seconds() < 5.0);
    });
}

#[test]
fn a_workload_that_computes_has_threads_however_many_workers() {
    let kind = crate::workload::find_kind("cpu").unwrap();
    let options = crate::workload::check_options(kind, &[]).unwrap();
    let workload = kind.build_workload(&options, crate::workload::Endpoint::None).unwrap();
    let many = LoadPlan { workers: 1_000, ..LoadPlan::default() };
    assert_eq!(Engine::from_plan(&many, &*workload), Engine::Threads);
    let reactor = LoadPlan { engine: EnginePlan::Reactor, ..many };
    assert!(check_engine(&reactor, &*workload).is_err());
}

#[test]
fn auto_picks_by_the_number_of_workers() {
    let few = LoadPlan { workers: 2 * kernel::core_count(), ..LoadPlan::default() };
    assert_eq!(Engine::from_plan(&few, &NullWorkload), Engine::Threads);
    let many = LoadPlan { workers: 2 * kernel::core_count() + 1, ..LoadPlan::default() };
    let expected = if cfg!(target_os = "linux") { Engine::Reactor } else { Engine::Threads };
    assert_eq!(Engine::from_plan(&many, &NullWorkload), expected);
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let none = LoadPlan { workers: 0, ..LoadPlan::default() };
    let no_interval = LoadPlan { interval: Duration::ZERO, ..LoadPlan::default() };
    let arrival = ArrivalPlan::Constant { per_second: 0.0 };
    let no_rate = LoadPlan { arrival, ..LoadPlan::default() };
    for plan in [none, no_interval, no_rate] {
        let error =
            run_load(&plan, 1, &NullWorkload, RealClock::start_now(), &Stop::new(), &mut |_| {})
                .unwrap_err();
        assert!(error.is::<Mistake>(), "{error}");
    }
}

#[test]
fn the_workers_of_a_share_have_the_numbers_of_the_whole_load() {
    on_each_engine(|engine| {
        let deeds = [Deed::Work, Deed::Work, Deed::Work, Deed::Refused, Deed::Work];
        let share = Some(LoadShare::parse("2/2").unwrap());
        let plan = LoadPlan { share, ..plan(&deeds, engine, 50) };
        let recording = run_toy(&Toy::new(&deeds), &plan, &Stop::new()).unwrap();
        assert_eq!(recording.workers, 2);
        let unopened: Vec<usize> = recording.unopened.iter().map(|u| u.worker).collect();
        assert_eq!(unopened, [3]);
    });
}

#[test]
fn a_share_without_workers_is_refused() {
    let share = Some(LoadShare::parse("3/3").unwrap());
    let plan = LoadPlan { share, ..plan(&[Deed::Work; 2], EnginePlan::Threads, 50) };
    let error = run_toy(&Toy::new(&[Deed::Work; 2]), &plan, &Stop::new()).unwrap_err();
    assert!(error.to_string().contains("share 3/3 of 2 workers has none"), "{error}");
}

#[test]
fn a_load_starts_at_the_wall_time_that_was_named() {
    let deeds = [Deed::Work];
    let toy = Toy::new(&deeds);
    let at = toy.clock.now() + Nanos(300_000_000);
    let start_at_unix_ns = Some(toy.clock.unix_ns(at));
    let plan = LoadPlan { start_at_unix_ns, ..plan(&deeds, EnginePlan::Threads, 20) };
    let recording = run_toy(&toy, &plan, &Stop::new()).unwrap();
    assert!(recording.total.began >= at - Nanos(1_000_000));
    let past = LoadPlan { start_at_unix_ns: Some(1), ..plan };
    assert!(run_toy(&toy, &past, &Stop::new()).unwrap().total.event_count() > 0);
}

/// Notes what each worker is told of itself.
#[derive(Default)]
struct Roll(std::sync::Mutex<Vec<(usize, usize, u64)>>);

impl Workload for Roll {
    fn class_names(&self) -> Vec<String> {
        vec!["null".to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        self.0.lock().unwrap().push((part.worker, part.workers, part.seed));
        NullWorkload.new_worker(part)
    }
}

#[test]
fn all_shares_together_have_the_workers_of_one_machine() {
    on_each_engine(|engine| {
        let whole = LoadPlan { workers: 17, events: Some(100), engine, ..LoadPlan::default() };
        let roll = Roll::default();
        let clock = RealClock::start_now();
        let run = |plan: &LoadPlan| {
            run_load(plan, 7, &roll, clock, &Stop::new(), &mut |_| ()).unwrap();
            let mut told = std::mem::take(&mut *roll.0.lock().unwrap());
            told.sort_unstable();
            told
        };
        let one = run(&whole);
        let share = |n| Some(LoadShare::new(n, vec![1, 3, 1]).unwrap());
        let shares = (1..=3).flat_map(|n| run(&LoadPlan { share: share(n), ..whole.clone() }));
        assert_eq!(shares.collect::<Vec<_>>(), one);
    });
}
