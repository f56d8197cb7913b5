//! A follow in one direction, from its begin to a swap of roles or its end: the threads, and the loop that looks after
//! them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::checkpoint::Checkpoint;
use super::dedup_window::DedupWindow;
use super::filter::StatementFilter;
use super::send_queue::SendQueue;
use super::senders::{Senders, guard_session, is_read_only};
use super::source::FollowSource;
use super::source_reader::SourceReader;
use super::standby_monitor::{CounterSample, StandbyMonitor, StandbyRates, StandbyStatus};
use super::status::{FollowCounts, FollowPhase, FollowStatus};
use super::throttle::{AgeFilter, BackOff, StandbyLoad, Throttle, ThrottleReason};
use super::warmth_probe::WarmthProbe;
use super::{FollowPlan, read_half};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::client::{Error, Target};
use crate::plan::RefusedError;
use crate::warm::SetOnDrop;

/// Time between two looks at the standby.
const LOOK: Nanos = Nanos(200_000_000);
/// Time between two looks at the former active server.
const LOOK_AT_OTHER: Nanos = Nanos(1_000_000_000);
/// A standby that does not answer a look for so long is gone.
const SILENT: Nanos = Nanos(5_000_000_000);
/// How long statements under way may take to end when we stop.
const LAST: Nanos = Nanos(1_000_000_000);

/// Who is who.
#[derive(Clone, Debug)]
pub(super) struct ServerRoles {
    pub source: FollowSource,
    pub mirror: Option<FollowSource>,
    pub active: Option<Target>,
    pub standby: Target,
}

impl ServerRoles {
    /// The standby is active now, and the other way round. Only with a mirror.
    pub(super) fn swap_roles(&mut self) {
        if let (Some(active), Some(mirror)) = (&mut self.active, &mut self.mirror) {
            std::mem::swap(active, &mut self.standby);
            std::mem::swap(mirror, &mut self.source);
        }
    }
}

/// What goes on from leg to leg.
#[derive(Default)]
pub(super) struct FollowHistory {
    pub swaps: u64,
    reconnects: u64,
    counts: FollowCounts,
    notes: Vec<String>,
}

/// Why a leg ended.
pub(super) enum SessionEnd {
    /// All is over.
    Through(Box<FollowStatus>),
    /// The roles are swapped.
    Swap,
}

/// Ends a look that takes too long.
struct Watchdog {
    /// When the look began, nanoseconds; 0 for none.
    since: AtomicU64,
    flag: Mutex<Stop>,
}

impl Watchdog {
    fn fresh_flag(&self) -> Stop {
        let flag = Stop::new();
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = flag.clone();
        flag
    }

    fn run_guarded<T>(&self, clock: RealClock, work: impl FnOnce() -> T) -> T {
        self.since.store(clock.now().0.max(1), Ordering::SeqCst);
        let done = work();
        self.since.store(0, Ordering::SeqCst);
        done
    }

    fn enforce_timeouts(&self, clock: RealClock, stop: &Stop, over: &Stop) {
        while !over.is_set() {
            let since = self.since.load(Ordering::SeqCst);
            let limit = if stop.is_set() { LAST } else { SILENT };
            if since != 0 && clock.now().since(Nanos(since)) > limit {
                let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
                flag.set(StopReason::TargetLost);
            }
            clock.sleep_until(clock.now() + Nanos(50_000_000));
        }
    }
}

/// One leg.
struct FollowSession<'a> {
    plan: &'a FollowPlan,
    sides: &'a ServerRoles,
    marks: &'a Checkpoint,
    clock: RealClock,
    stop: &'a Stop,
    queue: &'a SendQueue,
    watchdog: &'a Watchdog,
    history: &'a mut FollowHistory,
    rates: StandbyRates,
    pace: Throttle,
    load: StandbyLoad,
    throttle: Option<ThrottleReason>,
    eye: Option<StandbyMonitor>,
    back_off: BackOff,
    /// No attempt to connect before.
    not_before: Nanos,
    looked_at_other: Nanos,
    was_open: bool,
}

/// Runs one leg.
pub(super) fn run_session(
    plan: &FollowPlan,
    sides: &ServerRoles,
    marks: &Checkpoint,
    clock: RealClock,
    stop: &Stop,
    history: &mut FollowHistory,
    on: &mut dyn FnMut(&FollowStatus),
) -> anyhow::Result<SessionEnd> {
    let counts = std::mem::take(&mut history.counts);
    let queue = SendQueue::new(plan.limits.sessions.max(1), plan.behind, counts);
    let watchdog = Watchdog { since: AtomicU64::new(0), flag: Mutex::new(Stop::new()) };
    let (over, source_ended) = (Stop::new(), std::sync::atomic::AtomicBool::new(false));
    let mut filter = StatementFilter {
        writes: plan.writes,
        allowed: read_half::learn_allowed(plan, &sides.standby, stop, &mut history.notes),
        openings: 0,
        halves: read_half::build_read_half_fn(plan, &sides.standby, stop, &mut history.notes),
        window: DedupWindow::new(plan.window),
        behind: AgeFilter::new(plan.behind),
        database: plan.database.clone().into_bytes(),
    };
    let pool = Senders {
        target: &sides.standby,
        queue: &queue,
        clock,
        stop: &over,
        time_limit: plan.time_limit,
        writable_too: plan.writable_too,
    };
    let end = std::thread::scope(|scope| {
        let _over = StopOnDrop(&over);
        scope.spawn(|| watchdog.enforce_timeouts(clock, stop, &over));
        let mut session_run = FollowSession {
            plan,
            sides,
            marks,
            clock,
            stop,
            queue: &queue,
            watchdog: &watchdog,
            history: &mut *history,
            rates: StandbyRates::default(),
            pace: Throttle::new(plan.limits),
            load: StandbyLoad::default(),
            throttle: None,
            eye: None,
            back_off: BackOff::default(),
            not_before: Nanos(0),
            looked_at_other: Nanos(0),
            was_open: false,
        };
        session_run.check_first_status()?;
        scope.spawn(|| {
            let _through = SetOnDrop(&source_ended);
            let source = &sides.source;
            SourceReader { queue: &queue, clock, stop: &over, source, marks }
                .run_reader(&mut filter);
        });
        if let (Some(active), true) = (&sides.active, plan.gauge_each > Nanos(0)) {
            let standby = &sides.standby;
            let (queue, stop) = (&queue, &over);
            scope.spawn(move || {
                WarmthProbe { plan, active, standby, queue, clock, stop }.probe_until_stop();
            });
        }
        for worker in 0..plan.limits.sessions.max(1) as usize {
            let pool = &pool;
            scope.spawn(move || pool.run_sender(worker));
        }
        anyhow::Ok(session_run.run_until_end(&source_ended, &over, on))
    });
    history.counts = queue.lock_state().counts.clone();
    end
}

/// Ends the other threads, also in a panic.
struct StopOnDrop<'a>(&'a Stop);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(StopReason::Done);
    }
}

impl FollowSession<'_> {
    /// The first look: what is wrong now is told at once.
    fn check_first_status(&mut self) -> anyhow::Result<()> {
        let seen = match self.read_standby_status() {
            Ok(seen) => seen,
            // After a swap the standby was there a moment ago; it will be again.
            Err(_) if self.history.swaps > 0 => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let may_wait = self.sides.mirror.is_some() || self.plan.writable_too;
        if seen.is_read_only || may_wait {
            return Ok(());
        }
        Err(RefusedError(format!(
            "{} is not read-only, so it is not a standby\nhint: SET GLOBAL read_only = 1 there, \
             or add --allow writable",
            self.sides.standby.address_text()
        ))
        .into())
    }

    /// Looks after the others until the end.
    fn run_until_end(
        &mut self,
        source_ended: &std::sync::atomic::AtomicBool,
        over: &Stop,
        on: &mut dyn FnMut(&FollowStatus),
    ) -> SessionEnd {
        loop {
            let began = self.clock.now();
            if self.stop.is_set() {
                self.queue.stop_sending(FollowPhase::Ended);
                self.shut_down(over);
                return SessionEnd::Through(Box::new(self.build_status()));
            }
            self.poll_standby();
            if let Err(error) = self.marks.write_file() {
                self.add_note(format!("{error:#}"));
            }
            on(&self.build_status());
            if self.are_roles_swapped() {
                self.shut_down(over);
                return SessionEnd::Swap;
            }
            // Once the source has ended and all of it was sent.
            let is_idle = self.queue.lock_state().waiting_count() == 0
                && self.queue.active_sessions().is_empty();
            if source_ended.load(Ordering::SeqCst) && is_idle {
                self.queue.stop_sending(FollowPhase::Ended);
                return SessionEnd::Through(Box::new(self.build_status()));
            }
            let next = began + LOOK;
            while self.clock.now() < next && !self.stop.is_set() && !self.queue.take_suspect() {
                self.clock.sleep_until(self.clock.now() + Nanos(10_000_000));
            }
        }
    }

    /// One look at the standby, and what follows from it.
    fn poll_standby(&mut self) {
        if self.eye.is_none() && self.clock.now() < self.not_before {
            return;
        }
        match self.read_standby_status() {
            Ok(seen) => self.apply_status(&seen),
            Err(error) => {
                self.eye = None;
                self.rates.restart_counters();
                self.queue.stop_sending(FollowPhase::StandbyGone(error.to_string()));
                self.queue.abort_sessions();
                self.not_before = self.clock.now() + self.back_off.next_delay();
            }
        }
    }

    fn read_standby_status(&mut self) -> Result<StandbyStatus, Error> {
        let (clock, target) = (self.clock, &self.sides.standby);
        let own = self.queue.active_sessions().len() as u64;
        if self.eye.is_none() {
            let flag = self.watchdog.fresh_flag();
            self.eye = Some(
                self.watchdog
                    .run_guarded(clock, || StandbyMonitor::open_session(target, clock, &flag))?,
            );
        }
        let Some(eye) = &mut self.eye else { return Err(Error::Abandoned) };
        let seen = self.watchdog.run_guarded(clock, || eye.read_status(own))?;
        let notes = eye.take_notes();
        notes.into_iter().for_each(|note| self.add_note(note));
        Ok(seen)
    }

    fn apply_status(&mut self, seen: &StandbyStatus) {
        self.back_off.reset_delay();
        self.load = seen.load;
        let (sent, service_ns, waiting) = {
            let state = self.queue.lock_state();
            (state.counts.sent, state.counts.service_ns, state.waiting_count())
        };
        let point = CounterSample { misses: seen.misses, asked: seen.asked, sent, service_ns };
        self.rates.add_sample(self.clock.now(), point);
        self.load.latency_ns = self.rates.latency_ns();
        if !seen.is_read_only && !self.plan.writable_too {
            // At once: no statement begins any more, and those under way are ended.
            let is_swapping = self.sides.mirror.is_some() && self.sides.active.is_some();
            self.queue.stop_sending(if is_swapping {
                FollowPhase::Swapping
            } else {
                FollowPhase::Promoted
            });
            self.kill_statements();
            return;
        }
        if !self.queue.may_send() {
            self.history.reconnects += u64::from(self.was_open);
            self.was_open = true;
            self.pace = Throttle::new(self.plan.limits);
            self.queue.start_sending();
        }
        let (allowed, throttle) = self.pace.adjust_limit(&self.load, waiting);
        self.throttle = throttle;
        self.queue.set_allowed(allowed);
    }

    fn kill_statements(&self) {
        for session in self.queue.active_sessions() {
            // It may be through in the meantime; then there is nothing to end.
            let _ = self.sides.standby.kill_statement(session);
        }
    }

    /// Ends the crew: statements under way are ended on the server too.
    fn shut_down(&self, over: &Stop) {
        over.set(StopReason::Done);
        let last = self.clock.now() + LAST;
        if self.eye.is_some() {
            self.kill_statements();
        }
        while !self.queue.active_sessions().is_empty() && self.clock.now() < last {
            self.clock.sleep_until(self.clock.now() + Nanos(5_000_000));
        }
        self.queue.abort_sessions();
    }

    /// Whether the standby is active now, and the former active server its standby.
    fn are_roles_swapped(&mut self) -> bool {
        let now = self.clock.now();
        let due = now.since(self.looked_at_other) >= LOOK_AT_OTHER;
        let Some(other) = &self.sides.active else { return false };
        if self.queue.lock_state().phase != FollowPhase::Swapping || !due {
            return false;
        }
        self.looked_at_other = now;
        let flag = self.watchdog.fresh_flag();
        // The eye has its own flag still; it is opened anew where that is needed.
        self.eye = None;
        let looked = self.watchdog.run_guarded(self.clock, || {
            let mut session = other.connect(&flag)?;
            guard_session(&mut session, std::time::Duration::from_secs(5))?;
            is_read_only(&mut session)
        });
        looked.unwrap_or(false)
    }

    fn add_note(&mut self, note: String) {
        const MOST: usize = 20;
        if !self.history.notes.contains(&note) && self.history.notes.len() < MOST {
            self.history.notes.push(note);
        }
    }

    fn build_status(&self) -> FollowStatus {
        let now = self.clock.now();
        let state = self.queue.lock_state();
        let mut reads = self.rates.disk_reads();
        let explained = state.explained;
        if explained.pages_asked > 0 {
            let share = explained.pages_read as f64 / explained.pages_asked as f64;
            reads.own_misses_per_1000 = Some(share * 1_000.0);
            let per_statement = explained.pages_read as f64 / explained.statements as f64;
            reads.own_misses = Some(per_statement * state.counts.sent as f64);
        }
        FollowStatus {
            at_s: now.to_seconds(),
            phase: state.phase.clone(),
            source: self.sides.source.describe(),
            source_gone: state.source_gone.clone(),
            standby: self.sides.standby.address_text(),
            swaps: self.history.swaps,
            reconnects: self.history.reconnects,
            behind_s: state.send_delay(now).to_seconds(),
            waiting: state.waiting_count() as u64,
            sent_per_s: self.rates.sent_per_s(),
            allowed: state.allowed,
            sessions: self.plan.limits.sessions,
            throttle: self.throttle,
            load: self.load,
            counts: state.counts.clone(),
            reads,
            has_active: self.sides.active.is_some(),
            heat: state.heat.clone(),
            notes: {
                let more =
                    [&state.caveat, &state.no_heat, &state.source_note].into_iter().flatten();
                self.history.notes.iter().chain(more).cloned().collect()
            },
        }
    }
}
