//! What all workers of one load share: the ticket counter, the gate, the start, the ways to end, who is through.
//! Never knows: engines, clocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::arrival::TicketShare;
use crate::base::{Nanos, Stop, StopReason};
use crate::plan::{LoadPlan, RateStages};
use crate::recorder::{UnopenedWorker, WorkerTotals};

/// When the load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadStart {
    /// Not known yet: sessions are being opened.
    NotYet,
    /// Never: stopped before.
    Never,
    /// Then.
    At(Nanos),
}

/// Shared by all workers of one load.
pub(super) struct SharedLoad {
    /// Events of all workers here, if limited.
    pub(super) events: Option<u64>,
    /// Length of the load, if limited.
    pub(super) time: Option<Nanos>,
    pub(super) reconnect: bool,
    /// Workers that run here.
    pub(super) workers: usize,
    /// Number of the first of them among those of the whole load, and how many that has.
    pub(super) first_worker: usize,
    pub(super) all_workers: usize,
    /// Which tickets of the load's schedule are taken here.
    pub(super) share: TicketShare,
    /// The class that runs alone, if one does.
    pub(super) only_class: Option<usize>,
    /// Set when no event shall begin any more.
    pub(super) halt: Stop,
    /// Set when events under way shall be given up.
    pub(super) abandon: Stop,
    tickets: TicketCounter,
    totals: Box<[WorkerCell]>,
    start: AtomicU64,
    state: Mutex<LoadState>,
    /// For the driver's own thread: somebody has opened, or is through, or broke.
    changed: Condvar,
    /// For workers that wait to open their session.
    gate: Condvar,
    /// For workers that wait for the start.
    started: Condvar,
}

/// Alone in its cache line: in an open loop every worker writes here.
#[repr(align(128))]
struct TicketCounter(AtomicU64);

/// What one worker did so far, written by nobody else. Alone in its cache line.
#[derive(Default)]
#[repr(align(64))]
struct WorkerCell {
    events: AtomicU64,
    time_ns: AtomicU64,
}

/// Who is where.
#[derive(Default)]
pub(super) struct LoadState {
    /// Workers with an open session, ever.
    pub(super) opened: usize,
    pub(super) unopened: Vec<UnopenedWorker>,
    /// Workers whose life is over.
    pub(super) through: usize,
    /// Of these, those that lost their session.
    pub(super) lost: usize,
    /// Of these, those whose workload had no event left for them.
    pub(super) exhausted: usize,
    /// When the last event of any worker that is through ended.
    pub(super) ended: Nanos,
    /// What broke in sweat itself.
    pub(super) failure: Option<String>,
    /// How often the same was said.
    pub(super) failure_count: usize,
    opening: usize,
}

/// Sessions that may be opened at once by the engine `threads`, and by each thread of the reactor.
pub(super) const OPENING: usize = 64;

const NOT_YET: u64 = 0;
const NEVER: u64 = u64::MAX;

impl SharedLoad {
    pub(super) fn new(plan: &LoadPlan) -> SharedLoad {
        let share = TicketShare::new(plan.share.as_ref());
        let workers = plan.own_workers();
        // What is due among the first so many arrivals is fixed; without a schedule they are shared out by number.
        let own_events = |events| match &plan.share {
            Some(_) if plan.is_open_loop() => share.count_own(events),
            Some(of) => of.event_quota(events),
            None => events,
        };
        SharedLoad {
            events: plan.events.map(own_events),
            time: plan.time.or(plan.arrival.stages().map(RateStages::total_time)).map(Nanos::from),
            reconnect: plan.reconnect,
            workers: workers.len(),
            first_worker: workers.start,
            all_workers: plan.workers,
            share,
            only_class: plan.only_class,
            halt: Stop::new(),
            abandon: Stop::new(),
            tickets: TicketCounter(AtomicU64::new(0)),
            totals: workers.map(|_| WorkerCell::default()).collect(),
            start: AtomicU64::new(NOT_YET),
            state: Mutex::default(),
            changed: Condvar::new(),
            gate: Condvar::new(),
            started: Condvar::new(),
        }
    }

    /// The next ticket of the whole load's schedule that is taken here; `None` when all events of the load are.
    #[inline]
    pub(super) fn take_ticket(&self) -> Option<u64> {
        let ticket = self.tickets.0.fetch_add(1, Ordering::Relaxed);
        if self.events.is_some_and(|events| ticket >= events) {
            return None;
        }
        Some(self.share.ticket(ticket))
    }

    /// Makes known what a worker did so far.
    #[inline]
    pub(super) fn set_totals(&self, worker: usize, totals: WorkerTotals) {
        if let Some(cell) = self.totals.get(worker) {
            cell.events.store(totals.events, Ordering::Relaxed);
            cell.time_ns.store(totals.time.0, Ordering::Relaxed);
        }
    }

    /// What each worker did so far.
    pub(super) fn read_totals(&self) -> Vec<WorkerTotals> {
        let read = |cell: &WorkerCell| WorkerTotals {
            events: cell.events.load(Ordering::Relaxed),
            time: Nanos(cell.time_ns.load(Ordering::Relaxed)),
        };
        self.totals.iter().map(read).collect()
    }

    pub(super) fn load_start(&self) -> LoadStart {
        match self.start.load(Ordering::Acquire) {
            NOT_YET => LoadStart::NotYet,
            NEVER => LoadStart::Never,
            at => LoadStart::At(Nanos(at - 1)),
        }
    }

    /// Makes the start known to all workers.
    pub(super) fn set_start(&self, at: Option<Nanos>) {
        let _state = self.lock_state();
        self.start.store(at.map_or(NEVER, |at| at.0 + 1), Ordering::Release);
        self.started.notify_all();
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes, or for so long.
    pub(super) fn wait_for_change<'a>(
        &'a self,
        state: MutexGuard<'a, LoadState>,
        at_most: Duration,
    ) -> MutexGuard<'a, LoadState> {
        wait_on(&self.changed, state, at_most)
    }

    /// Blocks until a session may be opened; `false` if the load was stopped meanwhile.
    pub(super) fn enter_gate(&self) -> bool {
        let mut state = self.lock_state();
        loop {
            if self.halt.is_set() {
                return false;
            }
            if state.opening < OPENING {
                state.opening += 1;
                return true;
            }
            state = wait_on(&self.gate, state, Duration::from_millis(50));
        }
    }

    /// The session is open, or not: the next may try.
    pub(super) fn leave_gate(&self) {
        self.lock_state().opening -= 1;
        self.gate.notify_one();
    }

    /// Blocks until the start is known.
    pub(super) fn wait_for_start(&self) {
        let mut state = self.lock_state();
        while self.load_start() == LoadStart::NotYet {
            state = wait_on(&self.started, state, Duration::from_secs(1));
        }
    }

    /// A worker has its session, or `why` not.
    pub(super) fn note_opened(&self, worker: usize, result: Result<(), String>) {
        let mut state = self.lock_state();
        match result {
            Ok(()) => state.opened += 1,
            Err(why) => state.unopened.push(UnopenedWorker { worker, why }),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A worker's life is over.
    pub(super) fn note_worker_end(&self, ended: Nanos, lost: bool, exhausted: bool) {
        let mut state = self.lock_state();
        state.through += 1;
        state.exhausted += usize::from(exhausted);
        state.lost += usize::from(lost);
        state.ended = state.ended.max(ended);
        drop(state);
        self.changed.notify_all();
    }

    /// Something broke before the load began: it does not, once the others have tried.
    pub(super) fn note_failure(&self, why: String) {
        let mut state = self.lock_state();
        let is_same = *state.failure.get_or_insert_with(|| why.clone()) == why;
        state.failure_count += usize::from(is_same);
    }

    /// Something of ours broke: the load ends, the first cause is kept.
    pub(super) fn fail_load(&self, why: String) {
        self.note_failure(why);
        self.halt.set(StopReason::Failed);
        self.changed.notify_all();
    }
}

fn wait_on<'a>(
    what: &Condvar,
    state: MutexGuard<'a, LoadState>,
    at_most: Duration,
) -> MutexGuard<'a, LoadState> {
    what.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
}
