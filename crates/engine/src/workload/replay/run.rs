//! One load of a replay: the hall, the reader on its thread, the turn, and what the seats count together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{Builder, JoinHandle};

use super::log_reader::{ReadStats, ReplayLogReader, StatementSink};
use super::prescan::LogPrescan;
use super::session_queues::{QueueBounds, SessionAssignment, SessionQueues};
use super::setup::ReplaySetup;
use super::source;
use super::start_order::StartOrder;
use super::statement::ReplayStatement;
use super::stats::LeftOutCounts;
use crate::base::{Nanos, StopReason};
use crate::plan::Mistake;
use crate::recorder::{EventRecord, Histogram, LeftOut, ReplayTiming, ReplayTotals, new_histogram};

/// Seconds of a load for which the longest lag is kept.
const MOST_SECONDS: usize = 100_000;

/// How far behind its schedule a replay was.
struct ReplayLag {
    all: Histogram,
    by_second: Vec<u64>,
}

/// When the log's begin lies on the load's clock.
#[derive(Default)]
struct LogOrigin {
    at: Option<Nanos>,
    /// Whether somebody is finding it out.
    is_claimed: bool,
    waiting: Vec<Waker>,
}

/// One load.
pub(super) struct ReplayRun {
    pub(super) setup: Arc<ReplaySetup>,
    pub(super) queues: Arc<SessionQueues>,
    pub(super) turn: StartOrder,
    /// When the load began.
    start: OnceLock<Nanos>,
    origin: Mutex<LogOrigin>,
    is_stream: bool,
    reader: Mutex<Option<JoinHandle<ReadStats>>>,
    account: Mutex<Option<ReadStats>>,
    /// Seats given out.
    pub(super) workers: AtomicUsize,
    sent: AtomicU64,
    first_us: AtomicU64,
    last_us: AtomicU64,
    lag: Mutex<ReplayLag>,
    left: Mutex<LeftOutCounts>,
    /// Statements that workers took and never began: when they began in the log, microseconds from its begin.
    unbegun_us: Mutex<Vec<u64>>,
}

fn lock_mutex<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reader's side of the hall.
struct QueueSink<'a>(&'a SessionQueues);

impl StatementSink for QueueSink<'_> {
    fn start_session(&mut self, taken: SessionAssignment) {
        self.0.start_session(taken);
    }
    fn push_statement(&mut self, session: u64, item: ReplayStatement) {
        self.0.push_statement(session, item);
    }
    fn end_session(&mut self, session: u64) {
        self.0.end_session(session);
    }
    fn is_full(&self) -> bool {
        self.0.stop.is_set()
    }
}

/// Closes the hall when the reader ends, however that happens.
struct CloseGuard<'a>(&'a SessionQueues);

impl Drop for CloseGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl ReplayRun {
    /// A load of so many seats; its reader begins at once.
    ///
    /// # Errors
    /// When there is no thread for the reader.
    pub(super) fn start_reader(
        setup: &Arc<ReplaySetup>,
        ends: Option<Arc<LogPrescan>>,
        workers: usize,
    ) -> std::io::Result<ReplayRun> {
        let queues = Arc::new(SessionQueues::new(workers, ends.is_some(), QueueBounds::default()));
        let (reads, into) = (setup.clone(), queues.clone());
        let is_stream = ends.is_none();
        let read = move || {
            let _close = CloseGuard(&into);
            ReplayLogReader::new(&reads, ends.as_deref()).read_logs(&mut QueueSink(&into))
        };
        let reader = Builder::new().name("reader of the log".to_owned()).spawn(read)?;
        Ok(ReplayRun {
            setup: setup.clone(),
            queues,
            turn: StartOrder::default(),
            start: OnceLock::new(),
            origin: Mutex::default(),
            is_stream,
            reader: Mutex::new(Some(reader)),
            account: Mutex::new(None),
            workers: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            first_us: AtomicU64::new(u64::MAX),
            last_us: AtomicU64::new(0),
            lag: Mutex::new(ReplayLag { all: new_histogram(), by_second: Vec::new() }),
            left: Mutex::default(),
            unbegun_us: Mutex::default(),
        })
    }

    /// The load has begun then, as every seat knows from its first look at the time.
    pub(super) fn note_start(&self, now: Nanos) {
        let start = *self.start.get_or_init(|| now);
        if !self.is_stream {
            lock_mutex(&self.origin).at.get_or_insert(start);
        }
    }

    /// When the begin of the log lies on the load's clock. Of a stream, that is when its first statement could be sent:
    /// the one seat that is told `None` begins at once and says when that was.
    pub(super) fn poll_origin(&self, waker: &Waker) -> Poll<Option<Nanos>> {
        let mut origin = lock_mutex(&self.origin);
        if let Some(at) = origin.at {
            return Poll::Ready(Some(at));
        }
        if !std::mem::replace(&mut origin.is_claimed, true) {
            return Poll::Ready(None);
        }
        origin.waiting.push(waker.clone());
        Poll::Pending
    }

    /// What was due so long after the begin of the log began then.
    pub(super) fn set_origin(&self, at_us: u64, began: Nanos) {
        let mut origin = lock_mutex(&self.origin);
        origin.at = Some(began - self.replay_offset(at_us));
        origin.waiting.drain(..).for_each(Waker::wake);
    }

    /// The seat that was to find the origin is gone without it: another shall.
    pub(super) fn unclaim_origin(&self) {
        let mut origin = lock_mutex(&self.origin);
        if origin.at.is_none() {
            origin.is_claimed = false;
            origin.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// From the begin of the log to something, as fast as it is replayed.
    pub(super) fn replay_offset(&self, at_us: u64) -> Nanos {
        match self.setup.when {
            ReplayTiming::Recorded { speed } => Nanos((at_us as f64 * 1000.0 / speed) as u64),
            ReplayTiming::Fast | ReplayTiming::Arrival => Nanos(0),
        }
    }

    /// Counts a statement that was sent.
    pub(super) fn note_sent(&self, at_us: u64, record: &EventRecord) {
        self.sent.fetch_add(1, Relaxed);
        self.first_us.fetch_min(at_us, Relaxed);
        self.last_us.fetch_max(at_us, Relaxed);
        if !matches!(self.setup.when, ReplayTiming::Recorded { .. }) {
            return;
        }
        let start = self.start.get().copied().unwrap_or_default();
        let late = record.started.since(record.intended).0;
        let second = (record.intended.since(start).0 / 1_000_000_000) as usize;
        let mut lag = lock_mutex(&self.lag);
        lag.all.saturating_record(late);
        if second < MOST_SECONDS {
            if lag.by_second.len() <= second {
                lag.by_second.resize(second + 1, 0);
            }
            lag.by_second[second] = lag.by_second[second].max(late);
        }
    }

    /// A worker that goes leaves statements that it has not begun.
    pub(super) fn note_unbegun(&self, at_us: impl IntoIterator<Item = u64>) {
        lock_mutex(&self.unbegun_us).extend(at_us);
    }

    /// How long statements had waited that were due at a moment of the load's clock and never began. Those that were not
    /// read from the log by then are not among them.
    pub(super) fn unbegun_ages(&self, ended: Nanos) -> Histogram {
        let mut ages = new_histogram();
        let origin = lock_mutex(&self.origin).at;
        if let (ReplayTiming::Recorded { .. }, Some(origin)) = (self.setup.when, origin) {
            let queued = self.queues.queued_times_us();
            for at_us in lock_mutex(&self.unbegun_us).iter().chain(&queued) {
                let due = origin + self.replay_offset(*at_us);
                if due < ended {
                    ages.saturating_record(ended.since(due).0);
                }
            }
        }
        ages
    }

    /// Leaves out statements that were read and can't be sent.
    pub(super) fn leave_out(&self, reason: &str, statement: &[u8], count: u64) {
        let mut left = lock_mutex(&self.left);
        (0..count).for_each(|_| left.add_statement(reason, 0, statement));
    }

    /// What is wrong with what was named as a log, once it was read: of a stream that is not known before.
    pub(super) fn input_mistake(&self) -> Option<Mistake> {
        let account = lock_mutex(&self.account);
        let account = account.as_ref()?;
        source::log_mistake(&self.setup, account.replay_totals().records, &account.foreign)
    }

    /// What there is to tell after the load.
    pub(super) fn replay_totals(&self) -> ReplayTotals {
        self.queues.stop.set(StopReason::Done);
        if let Some(reader) = lock_mutex(&self.reader).take() {
            // One that panicked has closed the hall, and has nothing to tell.
            *lock_mutex(&self.account) = reader.join().ok();
        }
        let account = lock_mutex(&self.account);
        let read = account.as_ref().map(ReadStats::replay_totals).unwrap_or_default();
        let counts = self.queues.queue_counts();
        let lag = lock_mutex(&self.lag);
        let mut notes = read.notes.clone();
        if account.is_none() {
            notes.push("the reader of the log failed: its counts are lost".to_owned());
        }
        if counts.given_up > 0 {
            let n = counts.given_up;
            notes.push(format!(
                "{n} idle sessions gave up their connection for others (--sessions)"
            ));
        }
        let first_us = self.first_us.load(Relaxed);
        let sent = self.sent.load(Relaxed);
        let mut left = lock_mutex(&self.left).clone();
        let known: u64 = left.sorted_by_count().iter().map(|left| left.count).sum();
        let missing = read.sent.saturating_sub(sent + known);
        left.add_count("the load ended first, or its connection was lost", missing);
        ReplayTotals {
            sent,
            sessions_at_once: read.sessions_at_once.max(counts.at_once),
            span_us: self.last_us.load(Relaxed).saturating_sub(first_us),
            lag_ns: (&lag.all).into(),
            lag_by_second_ns: lag.by_second.clone(),
            left_out: merge_left_out(read.left_out.clone(), &left),
            notes,
            ..read
        }
    }
}

/// What the reader left out with what the seats did, most first.
fn merge_left_out(mut all: Vec<LeftOut>, more: &LeftOutCounts) -> Vec<LeftOut> {
    for left in more.sorted_by_count() {
        match all.iter_mut().find(|known| known.reason == left.reason) {
            Some(known) => known.count += left.count,
            None => all.push(left),
        }
    }
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    all
}

impl Drop for ReplayRun {
    fn drop(&mut self) {
        self.queues.stop.set(StopReason::Done);
    }
}
