//! The pace of workers in simulated time: exact numbers, and hours of load in milliseconds.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::arrival::ArrivalMode;
use super::backlog::Backlog;
use super::load::SharedLoad;
use super::pace::{Pacer, Waiter};
use crate::base::reactor::WorkerTask;
use crate::base::{Clock, Nanos, SimClock, Stop, StopReason};
use crate::plan::{ArrivalPlan, ArrivalSpacing, LoadPlan, LoadShare, RateStages};
use crate::recorder::{
    ClassId, EventOutcome, LoadEnding, Recorder, Recording, SparseHistogram, StepId, StepLatency,
    Tally,
};
use crate::workload::{BoxedWorker, OpenError, Worker};

const MS: u64 = 1_000_000;
const START: Nanos = Nanos(5_000 * MS);

/// A world whose time passes when everybody waits.
#[derive(Default)]
struct SimulatedWorld {
    clock: SimClock,
    task: Cell<usize>,
    timers: RefCell<BinaryHeap<Reverse<(Nanos, u64, usize)>>>,
    order: Cell<u64>,
    /// How late every sleep ends.
    oversleep: Cell<Nanos>,
    /// How long a worker stands aside to give others a turn.
    aside: Cell<Nanos>,
    /// How often a pacer looked at the clock.
    clock_reads: Cell<u64>,
}

impl SimulatedWorld {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn wake_at(&self, at: Nanos) {
        self.order.set(self.order.get() + 1);
        self.timers.borrow_mut().push(Reverse((at, self.order.get(), self.task.get())));
    }

    /// Lets time pass for the task that asks.
    async fn sleep_for(&self, time: Nanos) {
        let at = self.now() + time;
        poll_fn(|_| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            self.wake_at(at);
            Poll::Pending
        })
        .await;
    }

    fn run_tasks(&self, mut tasks: Vec<Option<WorkerTask<'_>>>) {
        for index in 0..tasks.len() {
            self.poll_task(&mut tasks, index);
        }
        loop {
            let Some(Reverse((at, _, task))) = self.timers.borrow_mut().pop() else { break };
            self.clock.sleep_until(at);
            self.poll_task(&mut tasks, task);
        }
        assert!(tasks.iter().all(Option::is_none), "somebody waits for ever");
    }

    fn poll_task(&self, tasks: &mut [Option<WorkerTask<'_>>], index: usize) {
        self.task.set(index);
        let Some(task) = &mut tasks[index] else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            tasks[index] = None;
        }
    }
}

struct SimulatedWaiter<'a>(&'a SimulatedWorld);

impl Waiter for SimulatedWaiter<'_> {
    fn now(&self) -> Nanos {
        self.0.clock_reads.set(self.0.clock_reads.get() + 1);
        self.0.now()
    }
    fn poll_until(&mut self, at: Nanos) -> Poll<()> {
        self.0.wake_at(at + self.0.oversleep.get());
        Poll::Pending
    }
    fn watch_until(&mut self, end: Nanos) {
        if end < Nanos(u64::MAX) {
            self.0.wake_at(end);
        }
    }
    fn poll_enter_gate(&mut self) -> Poll<bool> {
        Poll::Ready(true)
    }
    fn leave_gate(&mut self) {}
    fn poll_start(&mut self) -> Poll<()> {
        unreachable!("the start is known from the beginning")
    }
    fn poll_yield(&mut self) -> Poll<()> {
        self.0.wake_at(self.0.now() + self.0.aside.get());
        Poll::Pending
    }
}

/// A worker whose events take as long as `service` says for the number of the event (over all workers).
struct ToyWorker<'a> {
    world: &'a SimulatedWorld,
    script: &'a ToyScript,
    steps: [StepLatency; 2],
}

/// How long the event of this number takes.
type ServiceTimes = Box<dyn Fn(u64) -> Nanos>;

struct ToyScript {
    service: RefCell<Option<ServiceTimes>>,
    due: RefCell<std::collections::VecDeque<Nanos>>,
    recorded: Cell<bool>,
    events: Cell<u64>,
    started: RefCell<Vec<Nanos>>,
    halt_at: Cell<Option<(u64, Stop)>>,
    /// The pause that the worker wants after an event of this number, if any.
    think: RefCell<Option<ServiceTimes>>,
    /// Whether each event is two steps: the first fifth of it, and the rest, which fails in each second event.
    timed: Cell<bool>,
    steps: Cell<[StepLatency; 2]>,
}

impl Default for ToyScript {
    fn default() -> ToyScript {
        let step = |n| StepLatency { step: StepId(n), time: Nanos(0), failed: false };
        ToyScript {
            service: RefCell::default(),
            due: RefCell::default(),
            recorded: Cell::default(),
            events: Cell::default(),
            started: RefCell::default(),
            halt_at: Cell::default(),
            think: RefCell::default(),
            timed: Cell::default(),
            steps: Cell::new([step(0), step(1)]),
        }
    }
}

impl Worker for ToyWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        if self.script.recorded.get() {
            self.script.due.borrow_mut().pop_front().map(|offset| START + offset)
        } else {
            Some(now)
        }
    }
    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let number = self.script.events.replace(self.script.events.get() + 1);
        self.script.started.borrow_mut().push(self.world.now() - START);
        let time =
            self.script.service.borrow().as_ref().map_or(Nanos(MS), |service| service(number));
        self.world.sleep_for(time).await;
        if let Some((at, stop)) = self.script.halt_at.take() {
            if at == number {
                stop.set(StopReason::Interrupted);
            }
            self.script.halt_at.set(Some((at, stop)));
        }
        tally.counts[0] += 1;
        self.steps = self.script.steps.get();
        self.steps[0].time = Nanos(time.0 / 5);
        self.steps[1].time = Nanos(time.0 / 5 * 4);
        self.steps[1].failed = number % 2 == 1;
        EventOutcome { class: ClassId(0), error: None }
    }
    fn step_latencies(&self) -> &[StepLatency] {
        if self.script.timed.get() { &self.steps } else { &[] }
    }
    fn think_time(&self) -> Option<Nanos> {
        let ended = self.script.events.get() - 1;
        self.script.think.borrow().as_ref().map(|think| think(ended))
    }
}

/// Runs a plan in the world with toy workers.
fn simulate_load(
    world: &SimulatedWorld,
    script: &ToyScript,
    plan: &LoadPlan,
    seed: u64,
) -> Recording {
    let load = SharedLoad::new(plan);
    load.set_start(Some(START));
    if let Some((at, _)) = script.halt_at.take() {
        script.halt_at.set(Some((at, load.halt.clone())));
    }
    let arrival = ArrivalMode::new(&plan.arrival, seed).unwrap();
    let (mut recorder, writers) = Recorder::with_steps(
        vec!["toy".to_owned()],
        vec!["begin".to_owned(), "rest".to_owned()],
        &[],
        1,
    );
    recorder.start_recording(START);
    let task = |worker| {
        let pacer = Pacer::new(&load, &writers[0], SimulatedWaiter(world), arrival.clone(), worker);
        let seat: Box<dyn BoxedWorker> =
            Box::new(ToyWorker { world, script, steps: script.steps.get() });
        Some(seat.run(Box::new(pacer)))
    };
    world.run_tasks((0..load.workers).map(task).collect());
    let ended = load.lock_state().ended;
    assert_eq!(load.lock_state().through, load.workers);
    let ending = LoadEnding {
        step_labels: Vec::new(),
        worker_totals: Vec::new(),
        ended,
        unbegun: arrival.open_schedule().map_or_else(SparseHistogram::default, |schedule| {
            let mut backlog = Backlog::new(schedule, &load);
            (&backlog.waiting_times(ended.since(START), recorder.started_events())).into()
        }),
        reason: StopReason::Done,
        workers: plan.workers,
        unopened: Vec::new(),
        failure: None,
        failure_count: 0,
        engine: "simulated",
        cpu_user_ns: 0,
        cpu_system_ns: 0,
    };
    recorder.finish_recording(ending).1
}

fn constant_plan(per_second: f64, seconds: u64) -> LoadPlan {
    LoadPlan {
        arrival: ArrivalPlan::Constant { per_second },
        time: Some(Duration::from_secs(seconds)),
        ..LoadPlan::default()
    }
}

/// Milliseconds, rounded as the histogram's three digits allow.
fn rounded_ms(ns: u64) -> u64 {
    (ns + MS / 2) / MS
}

fn stall_event(script: &ToyScript, event: u64) {
    let service = move |number| Nanos(if number == event { 1000 * MS } else { MS });
    *script.service.borrow_mut() = Some(Box::new(service));
}

#[test]
fn an_open_loop_sees_the_stall_that_a_closed_loop_omits() {
    // 500/s for 10 s, one worker, 1 ms each; the server stalls once for 1 s. The stalled event takes 1,000 ms, the
    // n-th after it waits until n - 1 others are through, 2n ms after it was due: 1,000 - n ms.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    stall_event(&script, 1000);
    let open = simulate_load(&world, &script, &constant_plan(500.0, 10), 0);
    let class = &open.total.classes[0];
    assert_eq!(open.total.event_count(), 5000);
    assert_eq!(rounded_ms(class.response.max_ns()), 1000);
    assert_eq!(rounded_ms(class.response.value_at_quantile(0.99)), 950);
    assert_eq!(rounded_ms(class.service.value_at_quantile(0.99)), 1);
    assert_eq!(5000 - class.response.count_above(MS + MS / 100), 5000 - 999);
    assert!(open.total.lateness.max_ns() == 0, "a busy server is not our lateness");

    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    stall_event(&script, 1000);
    let plan = LoadPlan { time: Some(Duration::from_secs(10)), ..LoadPlan::default() };
    let closed = simulate_load(&world, &script, &plan, 0);
    let class = &closed.total.classes[0];
    assert_eq!(closed.total.event_count(), 9001);
    assert_eq!(rounded_ms(class.response.value_at_quantile(0.99)), 1);
    assert_eq!(rounded_ms(class.response.max_ns()), 1000);
    assert_eq!(class.response, class.service);
}

#[test]
fn arrivals_that_never_began_are_kept_with_the_time_they_waited() {
    // 1,000/s are due for 2 s, one worker does 500/s of them: 1,000 are left, and the oldest, due at 1 s, waits for 1 s.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    *script.service.borrow_mut() = Some(Box::new(|_| Nanos(2 * MS)));
    let recording = simulate_load(&world, &script, &constant_plan(1000.0, 2), 0);
    let (done, left) = (recording.total.classes[0].response.clone(), &recording.total.unbegun);
    assert_eq!((done.len(), left.len(), recording.total.backlog), (1000, 1000, 1000));
    assert_eq!((rounded_ms(left.min_ns()), rounded_ms(left.max_ns())), (1, 1000));
    // Events and what was left are all that was due.
    assert_eq!(rounded_ms(done.max_ns()), 1001);
    // A server that keeps up leaves nothing.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    assert!(simulate_load(&world, &script, &constant_plan(900.0, 2), 0).total.unbegun.is_empty());
}

#[test]
fn a_constant_schedule_begins_every_event_at_its_time() {
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    let plan = LoadPlan { workers: 4, ..constant_plan(250.0, 2) };
    let recording = simulate_load(&world, &script, &plan, 0);
    let expected: Vec<Nanos> = (0..500).map(|n| Nanos(n * 4 * MS)).collect();
    assert_eq!(*script.started.borrow(), expected);
    assert_eq!(recording.total.lateness.len(), 499, "all but the first had to be waited for");
    assert_eq!(recording.total.ended, START + Nanos(2000 * MS), "the load lasts as long as asked");
    assert_eq!(recording.total.tally.counts[0], 500);
}

#[test]
fn think_time_lies_between_events() {
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    let plan = LoadPlan {
        arrival: ArrivalPlan::Closed { think: Duration::from_millis(9) },
        time: Some(Duration::from_millis(100)),
        ..LoadPlan::default()
    };
    let recording = simulate_load(&world, &script, &plan, 0);
    let expected: Vec<Nanos> = (0..10).map(|n| Nanos(n * 10 * MS)).collect();
    assert_eq!(*script.started.borrow(), expected);
    assert_eq!(
        rounded_ms(recording.total.classes[0].response.max_ns()),
        1,
        "thinking is no response time"
    );
}

#[test]
fn an_event_may_have_a_think_time_of_its_own() {
    // As in TPC-C: after even events the worker thinks for 19 ms, after odd ones for 4 ms; each takes 1 ms.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    *script.think.borrow_mut() =
        Some(Box::new(|number| Nanos(if number % 2 == 0 { 19 * MS } else { 4 * MS })));
    let plan = LoadPlan {
        arrival: ArrivalPlan::Closed { think: Duration::from_secs(3) },
        events: Some(6),
        ..LoadPlan::default()
    };
    let recording = simulate_load(&world, &script, &plan, 0);
    let expected = [0, 20, 25, 45, 50, 70].map(|ms| Nanos(ms * MS));
    assert_eq!(*script.started.borrow(), expected);
    assert_eq!(rounded_ms(recording.total.classes[0].response.max_ns()), 1);
    // In an open loop the schedule says when.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    *script.think.borrow_mut() = Some(Box::new(|_| Nanos(100 * MS)));
    assert_eq!(
        simulate_load(&world, &script, &constant_plan(100.0, 1), 0).total.event_count(),
        100
    );
}

#[test]
fn steps_inside_events_are_no_events() {
    let run = |timed: bool, plan: &LoadPlan| {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        script.timed.set(timed);
        *script.service.borrow_mut() = Some(Box::new(|_| Nanos(5 * MS)));
        simulate_load(&world, &script, plan, 0)
    };
    let closed = LoadPlan { workers: 2, events: Some(100), ..LoadPlan::default() };
    for plan in [closed, constant_plan(50.0, 2)] {
        let (plain, timed) = (run(false, &plan), run(true, &plan));
        assert_eq!(plain.total.event_count(), 100);
        assert_eq!(timed.total.event_count(), 100);
        assert_eq!(timed.total.error_count(), 0);
        assert_eq!(timed.total.response_times(), plain.total.response_times());
        assert_eq!(timed.total.ended, plain.total.ended);
        assert_eq!(timed.total.tally, plain.total.tally);
        let [begin, rest] = &timed.total.steps[..] else { panic!("two steps have names") };
        assert_eq!((begin.latency.len(), begin.failed.len()), (100, 0));
        assert_eq!((rest.latency.len(), rest.failed.len()), (50, 50));
        assert_eq!([begin.latency.max_ns(), rest.failed.max_ns()].map(rounded_ms), [1, 4]);
        assert!(plain.total.steps.iter().all(|step| step.latency.is_empty()));
    }
}

fn staged_plan(text: &str, spacing: ArrivalSpacing) -> LoadPlan {
    let stages = RateStages::parse(text).unwrap();
    LoadPlan { arrival: ArrivalPlan::Stages { stages, spacing }, ..LoadPlan::default() }
}

#[test]
fn stages_begin_every_event_at_the_time_that_the_integral_of_the_rate_says() {
    let text = "10s:0..500, 20s:500, 5s:0, 1s:200, 10s:500..0";
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    let plan = LoadPlan { workers: 4, ..staged_plan(text, ArrivalSpacing::Constant) };
    let recording = simulate_load(&world, &script, &plan, 0);
    let started = script.started.borrow();
    let begun = |from: u64, to: u64| {
        let inside = |at: &&Nanos| (from * 1000 * MS..to * 1000 * MS).contains(&at.0);
        started.iter().filter(inside).count()
    };
    let per_stage = [(0, 10), (10, 30), (30, 35), (35, 36), (36, 46)].map(|(a, b)| begun(a, b));
    assert_eq!(per_stage, [2500, 10_000, 0, 200, 2500]);
    assert_eq!(recording.total.event_count(), 15_200);
    // 25 t^2 have begun after t seconds of the first ramp.
    for second in 0..10u64 {
        assert_eq!(started[25 * (second * second) as usize], Nanos(second * 1000 * MS));
    }
    assert_eq!(started[2500 + 7], Nanos(10_014 * MS));
    assert!(recording.total.ended <= START + Nanos(46_000 * MS), "the load ends with its stages");
    assert!(recording.total.unbegun.is_empty() && recording.total.lateness.max_ns() == 0);
}

#[test]
fn poisson_stages_are_the_same_for_any_number_of_workers_and_leave_what_was_due() {
    let started = |workers, seed| {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        *script.service.borrow_mut() = Some(Box::new(|_| Nanos(0)));
        let plan = LoadPlan {
            workers,
            ..staged_plan("10s:0..500, 5s:0, 10s:500", ArrivalSpacing::Poisson)
        };
        simulate_load(&world, &script, &plan, seed);
        script.started.into_inner()
    };
    let one = started(1, 9);
    let begun = |from: u64, to: u64| {
        one.iter().filter(|at| (from * 1000 * MS..to * 1000 * MS).contains(&at.0)).count()
    };
    // Five times the root of what is due in the mean.
    assert!(begun(0, 10).abs_diff(2500) < 250 && begun(15, 25).abs_diff(5000) < 350);
    assert_eq!(begun(10, 15), 0);
    assert_eq!(one, started(100, 9));
    assert_ne!(one, started(1, 10));
    // One worker does 100 of 200 events per second; what never began is known at the end of the stages.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    *script.service.borrow_mut() = Some(Box::new(|_| Nanos(10 * MS)));
    let plan = staged_plan("2s:200, 1s:0", ArrivalSpacing::Constant);
    let recording = simulate_load(&world, &script, &plan, 0);
    assert_eq!((recording.total.event_count(), recording.total.backlog), (300, 100));
    // As a histogram knows it, to a thousandth.
    assert!((1500..=1502).contains(&rounded_ms(recording.total.unbegun.max_ns())));
}

#[test]
fn a_load_ends_at_its_time_and_lets_the_last_event_end() {
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    *script.service.borrow_mut() = Some(Box::new(|_| Nanos(30 * MS)));
    let plan = LoadPlan { time: Some(Duration::from_millis(100)), ..LoadPlan::default() };
    let recording = simulate_load(&world, &script, &plan, 0);
    assert_eq!(recording.total.event_count(), 4);
    assert_eq!(recording.total.ended, START + Nanos(120 * MS));
}

#[test]
fn a_load_by_events_ends_after_exactly_so_many() {
    for arrival in [
        ArrivalPlan::Closed { think: Duration::ZERO },
        ArrivalPlan::Constant { per_second: 1000.0 },
        ArrivalPlan::Poisson { per_second: 1000.0 },
    ] {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        let plan = LoadPlan { workers: 7, events: Some(1000), arrival, ..LoadPlan::default() };
        assert_eq!(simulate_load(&world, &script, &plan, 0).total.event_count(), 1000);
        assert_eq!(script.events.get(), 1000);
    }
}

#[test]
fn a_signal_ends_the_load_after_the_events_under_way() {
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    script.halt_at.set(Some((10, Stop::new())));
    let plan = LoadPlan { workers: 2, ..LoadPlan::default() };
    let recording = simulate_load(&world, &script, &plan, 0);
    assert_eq!(recording.total.event_count(), 12);
    assert_eq!(recording.total.ended, START + Nanos(6 * MS));
}

#[test]
fn a_poisson_schedule_is_the_same_for_any_number_of_workers() {
    let started = |workers, seed| {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        *script.service.borrow_mut() = Some(Box::new(|_| Nanos(0)));
        let arrival = ArrivalPlan::Poisson { per_second: 3000.0 };
        let plan = LoadPlan { workers, arrival, ..constant_plan(1.0, 3) };
        simulate_load(&world, &script, &plan, seed);
        script.started.into_inner()
    };
    let one = started(1, 9);
    assert!((8500..9500).contains(&one.len()), "{}", one.len());
    assert_eq!(one, started(3, 9));
    assert_eq!(one, started(100, 9));
    assert_ne!(one, started(1, 10));
}

#[test]
fn recorded_times_are_kept_and_late_ones_run_at_once() {
    // Three recorded times; the second event takes so long that the third begins late. That is in its response.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    script.recorded.set(true);
    script.due.borrow_mut().extend([2, 10, 15].map(|at| Nanos(at * MS)));
    let service = |number| Nanos(if number == 1 { 20 * MS } else { MS });
    *script.service.borrow_mut() = Some(Box::new(service));
    let recording = simulate_load(&world, &script, &LoadPlan::default(), 0);
    assert_eq!(*script.started.borrow(), [2, 10, 30].map(|at| Nanos(at * MS)));
    let class = &recording.total.classes[0];
    for (histogram, expected) in [(&class.response, [1, 16, 20]), (&class.service, [1, 1, 20])] {
        let values: Vec<u64> =
            [0.3, 0.6, 1.0].iter().map(|&q| rounded_ms(histogram.value_at_quantile(q))).collect();
        assert_eq!(values, expected);
    }
    assert_eq!(recording.total.lateness.len(), 2);
    assert_eq!(recording.total.ended, START + Nanos(31 * MS), "no more times, no more load");
}

#[test]
fn waking_late_is_our_own_lateness_and_lasts_until_it_is_made_up_for() {
    // Due each 2 ms, served in 1 ms; every sleep ends 5 ms late, also the one before the start. So the first event is
    // 5 ms late, the next ones, which nobody had to wait for, 4, 3, 2 and 1 ms, one is on time; then we sleep again.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    world.oversleep.set(Nanos(5 * MS));
    let recording = simulate_load(&world, &script, &constant_plan(500.0, 1), 0);
    let lateness = &recording.total.lateness;
    let started = [5, 6, 7, 8, 9, 10, 17, 18, 19, 20, 21, 22, 29].map(|at| Nanos(at * MS));
    assert_eq!(script.started.borrow()[..13], started);
    assert_eq!(rounded_ms(lateness.max_ns()), 5);
    let above = |ns: u64| lateness.count_above(ns);
    let share = |at: u64| above(at * MS - MS / 2) - above(at * MS + MS / 2);
    assert_eq!([5, 4, 3, 2, 1].map(share), [83; 5]);
    assert_eq!(lateness.len(), 5 * 83);
}

#[test]
fn giving_others_a_turn_is_no_response_time() {
    // A closed loop whose worker stands aside for 5 ms after each 256 events of 1 ms.
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    let plan = LoadPlan { events: Some(1000), ..LoadPlan::default() };
    world.aside.set(Nanos(5 * MS));
    *script.service.borrow_mut() = Some(Box::new(|_| Nanos(MS)));
    let recording = simulate_load(&world, &script, &plan, 0);
    assert_eq!(recording.total.event_count(), 1000);
    assert_eq!(rounded_ms(recording.total.classes[0].response.max_ns()), 1);
    assert_eq!(recording.total.lateness.len(), 0);
    assert_eq!(recording.total.ended, START + Nanos((1000 + 3 * 5) * MS));
}

#[test]
fn an_hour_of_load_takes_no_time() {
    let (world, script) = (SimulatedWorld::default(), ToyScript::default());
    let plan = LoadPlan { workers: 3, ..constant_plan(20.0, 3600) };
    assert_eq!(simulate_load(&world, &script, &plan, 0).total.event_count(), 72_000);
}

#[test]
fn an_event_reads_the_clock_within_its_budget() {
    let reads = |arrival: ArrivalPlan, events: u64| {
        let world = SimulatedWorld::default();
        let plan = LoadPlan { workers: 1, events: Some(events), arrival, ..LoadPlan::default() };
        simulate_load(&world, &ToyScript::default(), &plan, 1);
        world.clock_reads.get()
    };
    let closed = |think| ArrivalPlan::Closed { think };
    let open = ArrivalPlan::Constant { per_second: 100.0 };
    // Once at its end, which is the begin of the next; whoever waited before an event must look how late it is.
    for (arrival, per_event) in
        [(closed(Duration::ZERO), 1), (closed(Duration::from_millis(5)), 2), (open, 2)]
    {
        let more = reads(arrival.clone(), 2000) - reads(arrival.clone(), 1000);
        // One more each time that it stands aside for others.
        let most = 1000 * per_event + 1000 / 256 + 1;
        assert!((1000..=most).contains(&more), "{arrival:?}: {more} reads for 1,000 events");
    }
}

/// What three shares of a load come to: when events began, and the recordings.
fn simulate_shares(plan: &LoadPlan) -> (Vec<Nanos>, Vec<Recording>) {
    let (mut started, mut recordings) = (Vec::new(), Vec::new());
    for number in 1..=3 {
        let share = LoadShare::new(number, vec![3, 1, 2]).unwrap();
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        let part = LoadPlan { share: Some(share), ..plan.clone() };
        recordings.push(simulate_load(&world, &script, &part, 9));
        started.extend(script.started.take());
    }
    started.sort_unstable();
    (started, recordings)
}

#[test]
fn shares_of_an_open_loop_begin_the_events_of_one_machine() {
    let stages = "2s:0..500, 1s:0, 2s:300";
    let plans = [
        LoadPlan { workers: 24, ..constant_plan(700.0, 5) },
        LoadPlan {
            arrival: ArrivalPlan::Poisson { per_second: 300.0 },
            workers: 48,
            ..constant_plan(1.0, 5)
        },
        LoadPlan { workers: 24, ..staged_plan(stages, ArrivalSpacing::Constant) },
        LoadPlan { workers: 48, ..staged_plan(stages, ArrivalSpacing::Poisson) },
        LoadPlan { workers: 24, events: Some(1_001), ..constant_plan(700.0, 5) },
    ];
    for plan in plans {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        simulate_load(&world, &script, &plan, 9);
        let whole = script.started.take();
        assert_eq!(simulate_shares(&plan).0, whole, "{:?}", plan.arrival);
    }
}

#[test]
fn what_shares_leave_undone_adds_up() {
    // Each event takes a second: 6 workers do 6 in a second, of 100 that are due.
    let plan = LoadPlan { workers: 6, ..constant_plan(100.0, 4) };
    let run = |plan: &LoadPlan| {
        let (world, script) = (SimulatedWorld::default(), ToyScript::default());
        *script.service.borrow_mut() = Some(Box::new(|_| Nanos(1_000 * MS)));
        simulate_load(&world, &script, plan, 0)
    };
    let whole = run(&plan);
    let shares = (1..=3).map(|number| {
        let share = LoadShare::new(number, vec![3, 1, 2]).unwrap();
        run(&LoadPlan { share: Some(share), ..plan.clone() })
    });
    let sums = shares.fold((0, 0), |(begun, left), recording| {
        (begun + recording.total.event_count(), left + recording.total.unbegun.len())
    });
    assert_eq!(sums, (whole.total.event_count(), whole.total.unbegun.len()));
    assert_eq!(sums.0 + sums.1, 400);
}

#[test]
fn shares_of_a_closed_loop_run_its_events() {
    let plan = LoadPlan { workers: 6, events: Some(1_001), ..LoadPlan::default() };
    let (_, recordings) = simulate_shares(&plan);
    let events: Vec<u64> = recordings.iter().map(|r| r.total.event_count()).collect();
    assert_eq!(events, [500, 167, 334]);
}
