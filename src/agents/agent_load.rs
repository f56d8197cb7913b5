//! One share of a load on a load machine: an ordinary run on a thread of its own, whose start is named from outside and which
//! ends when its lease is over.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use super::LONGEST_LEASE;
use super::folder_pack::OfferedFolder;
use super::progress::report_interval;
use super::wire::{AgentPhase, IntervalReport, ShareOrder};
use crate::archive::{RunCommand, RunState};
use crate::base::{Clock as _, Nanos, RealClock, StartSignal, Stop, StopReason};
use crate::experiment::{self, AgentOrigin, FinishedRun, RunListener, RunOrigin};
use crate::plan::Plan;
use crate::recorder::Interval;

/// What the thread of a load tells.
#[derive(Debug)]
pub(super) enum LoadNews {
    /// An interval is over.
    Progress(IntervalReport),
    /// It has ended; the folder, if there is one.
    Ended(Result<FinishedRun, String>),
}

/// A share under way, or ended and waiting to be fetched.
#[derive(Debug)]
pub(super) struct AgentLoad {
    /// Whose load.
    pub(super) run: String,
    /// Where it is.
    pub(super) phase: AgentPhase,
    /// Why it is there.
    pub(super) why: Option<String>,
    /// What can be fetched.
    pub(super) folder: Option<OfferedFolder>,
    /// How far the run came, once it has ended.
    pub(super) reached: Option<RunState>,
    /// Its run folder, once it has ended.
    pub(super) dir: Option<PathBuf>,
    /// Whether nobody waits for it any more.
    pub(super) is_released: bool,
    /// When the lease is over, wall time of this machine.
    until_unix_ns: u64,
    signal: StartSignal,
    stop: Stop,
    news: Receiver<LoadNews>,
}

impl AgentLoad {
    /// Begins to prepare a share. `clock` is this machine's.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        order: &ShareOrder,
        mut plan: Plan,
        name: &str,
        clock: RealClock,
        stop: &Stop,
    ) -> std::io::Result<AgentLoad> {
        let (sender, news) = channel();
        let (signal, stop) = (StartSignal::default(), stop.child_stop());
        plan.load.start_signal = Some(signal.clone());
        let origin = RunOrigin {
            command: RunCommand::Bench,
            agent: Some(AgentOrigin {
                name: name.to_owned(),
                load: order.run.clone(),
                clock: clock.steered(order.clock_offset_ns),
                clock_offset_ns: order.clock_offset_ns,
                clock_bound: Nanos(order.clock_bound_ns),
            }),
            ..RunOrigin::default()
        };
        let thread_stop = stop.clone();
        std::thread::Builder::new().name("load".to_owned()).spawn(move || {
            let mut listener = LoadReporter { sender: sender.clone(), start: None, number: 0 };
            let result = experiment::run_plan(&plan, origin, &thread_stop, &mut listener);
            let result = result.map_err(|error| format!("{error:#}"));
            drop(sender.send(LoadNews::Ended(result)));
        })?;
        let mut load = AgentLoad {
            run: order.run.clone(),
            phase: AgentPhase::Preparing,
            why: None,
            folder: None,
            reached: None,
            dir: None,
            is_released: false,
            until_unix_ns: 0,
            signal,
            stop,
            news,
        };
        load.renew_lease(order.until_unix_ns, wall_now(clock));
        Ok(load)
    }

    /// Moves the end of the lease, never further than a lease may reach.
    pub(super) fn renew_lease(&mut self, until_unix_ns: u64, now_unix_ns: u64) {
        let most = now_unix_ns.saturating_add(Nanos::from(LONGEST_LEASE).0);
        self.until_unix_ns = self.until_unix_ns.max(until_unix_ns.min(most));
    }

    /// Nanoseconds since the lease was over; `None` while it is not.
    pub(super) fn since_lease(&self, now_unix_ns: u64) -> Option<u64> {
        now_unix_ns.checked_sub(self.until_unix_ns)
    }

    /// Names the start, wall time of the coordinator.
    pub(super) fn name_start(&mut self, at_unix_ns: u64) {
        if self.phase == AgentPhase::Ready {
            self.signal.name_start(at_unix_ns);
            self.phase = AgentPhase::Running;
        }
    }

    /// Stops it; what was measured is kept.
    pub(super) fn stop_load(&mut self, why: &str) {
        if self.phase != AgentPhase::Ended && !self.stop.is_set() {
            self.stop.set(StopReason::Interrupted);
            self.why = Some(why.to_owned());
        }
    }

    /// What the thread has told since the last look; the end of the load is taken in here.
    pub(super) fn take_news(&mut self) -> Option<LoadNews> {
        if self.phase == AgentPhase::Preparing && self.signal.is_ready() {
            self.phase = AgentPhase::Ready;
        }
        let news = match self.news.try_recv() {
            Ok(news) => news,
            Err(TryRecvError::Disconnected) if self.phase != AgentPhase::Ended => {
                LoadNews::Ended(Err("sweat itself broke".to_owned()))
            }
            Err(_) => return None,
        };
        if let LoadNews::Ended(result) = &news {
            self.take_end(result);
        }
        Some(news)
    }

    fn take_end(&mut self, result: &Result<FinishedRun, String>) {
        self.phase = AgentPhase::Ended;
        let finished = match result {
            Ok(finished) => finished,
            Err(why) => return self.why = Some(why.clone()),
        };
        self.reached = Some(finished.state);
        if let Some(error) = &finished.error {
            self.why = Some(format!("{error:#}"));
        }
        // A folder without a load says nothing.
        if self.signal.named_start().is_none() {
            let _ = std::fs::remove_dir_all(&finished.dir);
            self.why.get_or_insert_with(|| "it was stopped before its start".to_owned());
            return;
        }
        self.dir = Some(finished.dir.clone());
        match OfferedFolder::pack(&finished.dir, "pack") {
            Ok(folder) => self.folder = Some(folder),
            Err(e) => self.why = Some(format!("its folder can't be packed: {e}")),
        }
    }
}

impl Drop for AgentLoad {
    /// Nobody waits for it any more.
    fn drop(&mut self) {
        self.stop.set(StopReason::Interrupted);
    }
}

/// The wall time of a clock, now.
pub(super) fn wall_now(clock: RealClock) -> u64 {
    clock.unix_ns(clock.now())
}

/// Tells what happens in a load.
struct LoadReporter {
    sender: Sender<LoadNews>,
    start: Option<Nanos>,
    number: u64,
}

impl RunListener for LoadReporter {
    fn interval_ended(&mut self, interval: &Interval) {
        let start = *self.start.get_or_insert(interval.began);
        let report = report_interval(self.number, start, interval);
        self.number += 1;
        drop(self.sender.send(LoadNews::Progress(report)));
    }
}
