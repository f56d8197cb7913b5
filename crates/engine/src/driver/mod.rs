//! When to do it: turns a load plan into due times and runs workers on threads or a reactor.
//!
//! All sessions are opened before the load's clock starts. Workers then run by themselves, each at its own pace; this
//! room's own thread only looks: at the interval's end to collect, and whether it is time to end.
//! Never knows: servers, SQL, files, printing.

mod arrival;
mod backlog;
mod load;
mod pace;
mod reactor;
mod silence;
#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod tests;
mod threads;

pub use silence::SilenceWatch;

use arrival::ArrivalMode;
use backlog::Backlog;
use load::{LoadStart, LoadState, SharedLoad};
use threads::EngineContext;

use crate::base::{Clock, Nanos, RealClock, StartSignal, Stop, StopReason, kernel};
use crate::plan::{EnginePlan, LoadPlan, Mistake};
use crate::recorder::{Interval, LoadEnding, Recorder, Recording, SparseHistogram};
use crate::workload::Workload;

/// How often the driver's own thread looks whether the user wants to stop.
const LOOK: Nanos = Nanos(50_000_000);
/// How long events under way may take to end when the user wants to stop, or something broke.
const SHORT_GRACE: Nanos = Nanos(300_000_000);
/// How long events that were given up may take to end before they are interrupted.
const INTERRUPT: Nanos = Nanos(300_000_000);
/// How long nobody may have got a session, once some could not, before the others need not try: a server that refuses, or
/// does not answer, does so to all.
const NOBODY_OPENS: Nanos = Nanos(15_000_000_000);
/// How long the other workers may take to open their sessions once one has failed for good.
const STRAGGLERS: Nanos = Nanos(1_000_000_000);
/// From making the start known to the start: enough for all threads to hear of it.
const LEAD: Nanos = Nanos(2_000_000);

/// Workers per core up to which each has a thread. Measured on two cores with the server beside (bench/point_select.py, a unix
/// socket): the reactor does 0.8 of what threads do at 2 workers, as much at 4, 1.06 at 8 and 1.1 from 16 on.
const MOST_THREADS_PER_CORE: usize = 2;

/// Which engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Threads,
    Reactor,
}

impl Engine {
    fn from_plan(plan: &LoadPlan, workload: &dyn Workload) -> Engine {
        match plan.engine {
            EnginePlan::Threads => Engine::Threads,
            EnginePlan::Auto if workload.needs_own_threads() => Engine::Threads,
            EnginePlan::Reactor => Engine::Reactor,
            EnginePlan::Auto if workload.workers_per_connection() > 1 => Engine::Reactor,
            EnginePlan::Auto
                if plan.own_workers().len() <= MOST_THREADS_PER_CORE * kernel::core_count() =>
            {
                Engine::Threads
            }
            EnginePlan::Auto if cfg!(not(target_os = "linux")) => Engine::Threads,
            EnginePlan::Auto => Engine::Reactor,
        }
    }

    /// Threads that run workers, of which so many at a time share one.
    fn thread_count(self, workers: usize, together: usize) -> usize {
        match self {
            Engine::Threads => workers,
            Engine::Reactor => reactor::thread_count(workers.div_ceil(together)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Engine::Threads => "threads",
            Engine::Reactor => "reactor",
        }
    }
}

/// No worker could open its session.
#[derive(Debug, thiserror::Error)]
#[error("none of {workers} workers could open its session: {why}")]
pub struct NoSessionError {
    /// Workers that tried.
    pub workers: usize,
    /// What the first one was told.
    pub why: String,
}

/// Told what a load comes to while it runs, from the driver's own thread.
pub struct LoadListener<'a> {
    /// All sessions are open, the load begins.
    pub started: &'a mut dyn FnMut(),
    /// Sees every interval, in order.
    pub interval: &'a mut dyn FnMut(&Interval),
}

/// Whether the engine that the plan asks for can run the workload.
///
/// # Errors
/// Says why it can't.
pub fn check_engine(load: &LoadPlan, workload: &dyn Workload) -> Result<(), Mistake> {
    let mistake = |why: &str, hint: &str| Err(Mistake::new("load.engine", why).hint(hint));
    let shares_connections = workload.workers_per_connection() > 1;
    match Engine::from_plan(load, workload) {
        Engine::Threads if shares_connections => {
            return mistake("workers that share a connection need the reactor", "leave it out");
        }
        Engine::Threads => return Ok(()),
        Engine::Reactor => {}
    }
    if cfg!(not(target_os = "linux")) {
        return mistake("the reactor needs Linux", "the engine `threads` runs everywhere");
    }
    if workload.needs_own_threads() {
        return mistake("this workload runs on threads only", "leave out the engine");
    }
    Ok(())
}

/// Runs a load to its end and gives its recording. `on_interval` sees every interval, in order, from this thread.
///
/// # Errors
/// [`NoSessionError`] when no worker could open its session; a [`Mistake`] when the plan asks for what can't be done.
pub fn run_load(
    load: &LoadPlan,
    seed: u64,
    workload: &dyn Workload,
    clock: RealClock,
    stop: &Stop,
    on_interval: &mut dyn FnMut(&Interval),
) -> anyhow::Result<Recording> {
    let listener = LoadListener { started: &mut || (), interval: on_interval };
    run_load_with(load, seed, workload, clock, stop, listener)
}

/// The same, and also tells when all sessions are open.
///
/// # Errors
/// As [`run_load`].
pub fn run_load_with(
    load: &LoadPlan,
    seed: u64,
    workload: &dyn Workload,
    clock: RealClock,
    stop: &Stop,
    listener: LoadListener<'_>,
) -> anyhow::Result<Recording> {
    if load.workers == 0 {
        return Err(Mistake::new("load.workers", "a load needs at least one worker").into());
    }
    if let Some(share) = load.share.as_ref().filter(|_| load.own_workers().is_empty()) {
        let why = format!("share {share} of {} workers has none", load.workers);
        return Err(Mistake::new("load.share", why).hint("use fewer shares").into());
    }
    if load.interval.is_zero() {
        return Err(Mistake::new("load.interval", "an interval needs a length").into());
    }
    let arrival = ArrivalMode::of_load(load, seed)?;
    let engine = Engine::from_plan(load, workload);
    check_engine(load, workload)?;
    let shared = SharedLoad::new(load);
    let (recorder, writers) = Recorder::with_steps(
        workload.class_names(),
        workload.step_names(),
        workload.counters(),
        engine.thread_count(shared.workers, workload.workers_per_connection()),
    );
    let setting = EngineContext { load: &shared, workload, clock, seed, precise: load.precise };
    let mut watch = LoadMonitor {
        plan: load,
        load: &shared,
        clock,
        stop,
        backlog: arrival.open_schedule().map(|schedule| Backlog::new(schedule, &shared)),
        workload,
        over: None,
        abandoned: None,
        recorder,
        started: listener.started,
        interval: listener.interval,
    };
    let (ended, cpu) = std::thread::scope(|scope| {
        let _release = ReleaseGuard(&shared);
        match engine {
            Engine::Threads => threads::start_threads(scope, setting, &arrival, writers),
            Engine::Reactor => reactor::start_threads(scope, setting, &arrival, writers),
        }
        // Workers have their own copies; this one would keep a random schedule's past alive.
        drop(arrival);
        let Some(start) = watch.wait_for_sessions() else { return (Nanos(0), CpuUsage::default()) };
        let before = CpuUsage::of_process();
        let ended = watch.collect_intervals(start);
        (ended, CpuUsage::of_process().since(before))
    });
    watch.finish_recording(engine, ended, cpu)
}

/// CPU time of this process.
#[derive(Clone, Copy, Default)]
struct CpuUsage {
    user: Nanos,
    system: Nanos,
}

impl CpuUsage {
    fn of_process() -> CpuUsage {
        let (user, system) = kernel::cpu_time();
        CpuUsage { user, system }
    }

    fn since(self, before: CpuUsage) -> CpuUsage {
        CpuUsage { user: self.user.since(before.user), system: self.system.since(before.system) }
    }
}

/// Lets all workers go when the driver's own thread leaves, however that happens: nobody waits for a dead watch.
struct ReleaseGuard<'a>(&'a SharedLoad);

impl Drop for ReleaseGuard<'_> {
    fn drop(&mut self) {
        if self.0.load_start() == LoadStart::NotYet {
            self.0.set_start(None);
        }
        self.0.halt.set(StopReason::Failed);
        self.0.abandon.set(StopReason::Done);
    }
}

/// What the driver's own thread does while workers run.
struct LoadMonitor<'a> {
    plan: &'a LoadPlan,
    load: &'a SharedLoad,
    clock: RealClock,
    stop: &'a Stop,
    backlog: Option<Backlog>,
    /// One that has arrivals of its own tells itself which of them never began.
    workload: &'a dyn Workload,
    /// When no event could begin any more.
    over: Option<Nanos>,
    /// When events under way were given up.
    abandoned: Option<Nanos>,
    recorder: Recorder,
    started: &'a mut dyn FnMut(),
    interval: &'a mut dyn FnMut(&Interval),
}

impl LoadMonitor<'_> {
    /// Waits until every worker has its session or failed to get one, and makes the start known; `None` if there
    /// is nothing to start.
    fn wait_for_sessions(&mut self) -> Option<Nanos> {
        let began = self.clock.now();
        let mut state = self.load.lock_state();
        let mut failed_at = None;
        while state.opened + state.unopened.len() < self.load.workers
            && !self.load.halt.is_set()
            && !self.stop.is_set()
        {
            let nobody = state.opened == 0 && !state.unopened.is_empty();
            if nobody && self.clock.now().since(began) > NOBODY_OPENS {
                self.load.halt.set(StopReason::TargetLost);
                break;
            }
            if state.failure.is_some() {
                let now = self.clock.now();
                if now.since(*failed_at.get_or_insert(now)) > STRAGGLERS {
                    break;
                }
            }
            state = self.load.wait_for_change(state, LOOK.into());
        }
        let opened = state.opened;
        let incomplete = self.plan.all_sessions && !state.unopened.is_empty();
        if state.failure.is_some() {
            self.load.halt.set(StopReason::Failed);
        }
        drop(state);
        self.forward_stop();
        let at_unix_ns = match &self.plan.start_signal {
            Some(signal) if opened > 0 && !incomplete => self.wait_for_signal(signal),
            _ => self.plan.start_at_unix_ns,
        };
        if opened == 0 || incomplete || self.load.halt.is_set() {
            self.load.abandon.set(StopReason::Done);
            self.load.set_start(None);
            return None;
        }
        let planned = at_unix_ns.map(|at| self.clock.time_of_wall(at));
        let start = (self.clock.now() + LEAD).max(planned.unwrap_or_default());
        self.recorder.start_recording(start);
        self.load.set_start(Some(start));
        (self.started)();
        Some(start)
    }

    /// Says that all is ready and waits until the start is named, or the load is told to stop.
    fn wait_for_signal(&self, signal: &StartSignal) -> Option<u64> {
        signal.set_ready();
        while !self.load.halt.is_set() {
            if let Some(at) = signal.named_start() {
                return Some(at);
            }
            drop(self.load.wait_for_change(self.load.lock_state(), LOOK.into()));
            self.forward_stop();
        }
        None
    }

    /// Looks on until all workers are through; gives when the load really ended.
    fn collect_intervals(&mut self, start: Nanos) -> Nanos {
        let length = Nanos::from(self.plan.interval);
        let end = self.load.time.map_or(Nanos(u64::MAX), |time| start + time);
        let mut tick = start + length;
        while let Some(now) = self.wait_for_tick(tick) {
            self.forward_stop();
            self.recorder.collect_slots(now);
            // An interval that would begin at the end of the load is part of the last one.
            if now >= tick && tick != end {
                let begun = self.recorder.started_events();
                let waiting =
                    |backlog: &mut Backlog| backlog.count_waiting(now.since(start), begun);
                let backlog = self.backlog.as_mut().map_or(0, waiting);
                let mut interval = self.recorder.collect_interval(now, backlog);
                interval.worker_totals = self.load.read_totals();
                (self.interval)(&interval);
            }
            while tick <= now {
                tick = tick + length;
            }
            self.enforce_grace(now, now >= end);
        }
        let ended = self.load.lock_state().ended;
        if self.recorder.in_flight() > 0 { self.clock.now() } else { ended }
    }

    /// Waits until the tick, at most for a look's time; gives `None` when all workers are through.
    fn wait_for_tick(&self, tick: Nanos) -> Option<Nanos> {
        let now = self.clock.now();
        let state = self.load.lock_state();
        if state.through >= self.load.workers {
            return None;
        }
        drop(self.load.wait_for_change(state, tick.since(now).min(LOOK).into()));
        Some(self.clock.now())
    }

    /// Passes on that the user wants to stop.
    fn forward_stop(&self) {
        if let Some(reason) = self.stop.reason() {
            self.load.halt.set(reason);
        }
    }

    /// Gives up events under way when the load has been over for longer than they are granted.
    fn enforce_grace(&mut self, now: Nanos, timed_out: bool) {
        let halted = self.load.halt.is_set();
        let all_begun =
            self.load.events.is_some_and(|events| self.recorder.started_events() >= events);
        if halted || timed_out || all_begun {
            let since = *self.over.get_or_insert(now);
            let grace = Nanos::from(self.plan.grace);
            // A load that was told that it is done ends like one whose time is over.
            let cut = halted && self.load.halt.reason() != Some(StopReason::Done);
            let grace = if cut { grace.min(SHORT_GRACE) } else { grace };
            if now.since(since) >= grace {
                self.load.abandon.set(StopReason::Done);
                if now.since(*self.abandoned.get_or_insert(now)) >= INTERRUPT {
                    self.workload.interrupt_events();
                }
            }
        }
    }

    /// Sums up.
    fn finish_recording(
        mut self,
        engine: Engine,
        ended: Nanos,
        cpu: CpuUsage,
    ) -> anyhow::Result<Recording> {
        let began = match self.load.load_start() {
            LoadStart::At(start) => start,
            LoadStart::NotYet | LoadStart::Never => ended,
        };
        let state = std::mem::take(&mut *self.load.lock_state());
        let LoadState { opened, mut unopened, lost, exhausted, failure, failure_count, .. } = state;
        unopened.iter_mut().for_each(|one| one.worker += self.load.first_worker);
        let over = self.over.map_or(ended, |over| over.min(ended));
        let over = self.load.time.map_or(over, |time| over.min(began + time));
        let begun = self.recorder.started_events();
        let unbegun = match &mut self.backlog {
            // What would be due next is nothing if there is nothing left to do.
            Some(backlog) if exhausted < opened => {
                SparseHistogram::from(&backlog.waiting_times(over.since(began), begun))
            }
            Some(_) => SparseHistogram::default(),
            None => self
                .workload
                .as_recorded()
                .map(|recorded| SparseHistogram::from(&recorded.unbegun_ages(over)))
                .unwrap_or_default(),
        };
        let incomplete = self.plan.all_sessions && !unopened.is_empty();
        if (opened == 0 || incomplete) && !self.stop.is_set() && failure.is_none() {
            let why = unopened.first().map(|u| u.why.clone()).unwrap_or_default();
            return Err(NoSessionError { workers: self.load.workers, why }.into());
        }
        let lost = opened > 0 && lost == opened;
        let reason = if failure.is_some() {
            StopReason::Failed
        } else if let Some(reason) = self.stop.reason() {
            reason
        } else if lost {
            StopReason::TargetLost
        } else {
            StopReason::Done
        };
        let (last, recording) = self.recorder.finish_recording(LoadEnding {
            ended,
            unbegun,
            step_labels: self.workload.step_labels(),
            worker_totals: self.load.read_totals(),
            reason,
            workers: self.load.workers,
            unopened,
            failure,
            failure_count,
            engine: engine.name(),
            cpu_user_ns: cpu.user.0,
            cpu_system_ns: cpu.system.0,
        });
        if last.ended > last.began || last.event_count() + last.error_count() > 0 {
            (self.interval)(&last);
        }
        Ok(recording)
    }
}
