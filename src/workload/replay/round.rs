//! One load of a replay: the hall, the reader on its thread, the turn, and what the seats count together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{Builder, JoinHandle};

use super::book::Left;
use super::feed::{Account, Feed, Sink};
use super::hall::{Bounds, Hall, Taken};
use super::item::Item;
use super::setup::{Setup, When};
use super::source;
use super::survey::Ends;
use super::turn::Turn;
use crate::base::{Nanos, StopReason};
use crate::plan::Mistake;
use crate::recorder::{Histogram, LeftOut, Record, Replayed, new_histogram};

/// Seconds of a load for which the longest lag is kept.
const MOST_SECONDS: usize = 100_000;

/// How far behind its schedule a replay was.
struct Lag {
    all: Histogram,
    by_second: Vec<u64>,
}

/// When the log's begin lies on the load's clock.
#[derive(Default)]
struct Origin {
    at: Option<Nanos>,
    /// Whether somebody is finding it out.
    is_claimed: bool,
    waiting: Vec<Waker>,
}

/// One load.
pub(super) struct Round {
    pub(super) setup: Arc<Setup>,
    pub(super) hall: Arc<Hall>,
    pub(super) turn: Turn,
    /// When the load began.
    start: OnceLock<Nanos>,
    origin: Mutex<Origin>,
    is_stream: bool,
    reader: Mutex<Option<JoinHandle<Account>>>,
    account: Mutex<Option<Account>>,
    /// Seats given out.
    pub(super) seats: AtomicUsize,
    sent: AtomicU64,
    first_us: AtomicU64,
    last_us: AtomicU64,
    lag: Mutex<Lag>,
    left: Mutex<Left>,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reader's side of the hall.
struct Into<'a>(&'a Hall);

impl Sink for Into<'_> {
    fn begin(&mut self, taken: Taken) {
        self.0.begin(taken);
    }
    fn item(&mut self, session: u64, item: Item) {
        self.0.put(session, item);
    }
    fn end(&mut self, session: u64) {
        self.0.end(session);
    }
    fn is_full(&self) -> bool {
        self.0.stop.is_set()
    }
}

/// Closes the hall when the reader ends, however that happens.
struct Close<'a>(&'a Hall);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Round {
    /// A load of so many seats; its reader begins at once.
    ///
    /// # Errors
    /// When there is no thread for the reader.
    pub(super) fn begin(
        setup: &Arc<Setup>,
        ends: Option<Arc<Ends>>,
        seats: usize,
    ) -> std::io::Result<Round> {
        let hall = Arc::new(Hall::new(seats, ends.is_some(), Bounds::default()));
        let (reads, into) = (setup.clone(), hall.clone());
        let is_stream = ends.is_none();
        let read = move || {
            let _close = Close(&into);
            Feed::new(&reads, ends.as_deref()).run(&mut Into(&into))
        };
        let reader = Builder::new().name("reader of the log".to_owned()).spawn(read)?;
        Ok(Round {
            setup: setup.clone(),
            hall,
            turn: Turn::default(),
            start: OnceLock::new(),
            origin: Mutex::default(),
            is_stream,
            reader: Mutex::new(Some(reader)),
            account: Mutex::new(None),
            seats: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            first_us: AtomicU64::new(u64::MAX),
            last_us: AtomicU64::new(0),
            lag: Mutex::new(Lag { all: new_histogram(), by_second: Vec::new() }),
            left: Mutex::default(),
        })
    }

    /// The load has begun then, as every seat knows from its first look at the time.
    pub(super) fn started(&self, now: Nanos) {
        let start = *self.start.get_or_init(|| now);
        if !self.is_stream {
            lock(&self.origin).at.get_or_insert(start);
        }
    }

    /// When the begin of the log lies on the load's clock. Of a stream, that is when its first statement could be sent:
    /// the one seat that is told `None` begins at once and says when that was.
    pub(super) fn poll_origin(&self, waker: &Waker) -> Poll<Option<Nanos>> {
        let mut origin = lock(&self.origin);
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
    pub(super) fn found_origin(&self, at_us: u64, began: Nanos) {
        let mut origin = lock(&self.origin);
        origin.at = Some(began - self.distance(at_us));
        origin.waiting.drain(..).for_each(Waker::wake);
    }

    /// The seat that was to find the origin is gone without it: another shall.
    pub(super) fn unclaim_origin(&self) {
        let mut origin = lock(&self.origin);
        if origin.at.is_none() {
            origin.is_claimed = false;
            origin.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// From the begin of the log to something, as fast as it is replayed.
    pub(super) fn distance(&self, at_us: u64) -> Nanos {
        match self.setup.when {
            When::Recorded { speed } => Nanos((at_us as f64 * 1000.0 / speed) as u64),
            When::Fast | When::Arrival => Nanos(0),
        }
    }

    /// Counts a statement that was sent.
    pub(super) fn sent(&self, at_us: u64, record: &Record) {
        self.sent.fetch_add(1, Relaxed);
        self.first_us.fetch_min(at_us, Relaxed);
        self.last_us.fetch_max(at_us, Relaxed);
        if !matches!(self.setup.when, When::Recorded { .. }) {
            return;
        }
        let start = self.start.get().copied().unwrap_or_default();
        let late = record.started.since(record.intended).0;
        let second = (record.intended.since(start).0 / 1_000_000_000) as usize;
        let mut lag = lock(&self.lag);
        lag.all.saturating_record(late);
        if second < MOST_SECONDS {
            if lag.by_second.len() <= second {
                lag.by_second.resize(second + 1, 0);
            }
            lag.by_second[second] = lag.by_second[second].max(late);
        }
    }

    /// Leaves out statements that were read and can't be sent.
    pub(super) fn leave_out(&self, reason: &str, statement: &[u8], count: u64) {
        let mut left = lock(&self.left);
        (0..count).for_each(|_| left.add(reason, 0, statement));
    }

    /// What is wrong with what was named as a log, once it was read: of a stream that is not known before.
    pub(super) fn mistake(&self) -> Option<Mistake> {
        let account = lock(&self.account);
        let account = account.as_ref()?;
        source::mistake(&self.setup, account.replayed().records, &account.foreign)
    }

    /// What there is to tell after the load.
    pub(super) fn replayed(&self) -> Replayed {
        self.hall.stop.set(StopReason::Done);
        if let Some(reader) = lock(&self.reader).take() {
            // One that panicked has closed the hall, and has nothing to tell.
            *lock(&self.account) = reader.join().ok();
        }
        let account = lock(&self.account);
        let read = account.as_ref().map(Account::replayed).unwrap_or_default();
        let counts = self.hall.counts();
        let lag = lock(&self.lag);
        let mut notes = read.notes.clone();
        if account.is_none() {
            notes.push("the reader of the log broke: what it had counted is lost".to_owned());
        }
        if counts.given_up > 0 {
            let n = counts.given_up;
            notes.push(format!(
                "{n} idle sessions gave up their connection for others (--sessions)"
            ));
        }
        let first_us = self.first_us.load(Relaxed);
        let sent = self.sent.load(Relaxed);
        let mut left = lock(&self.left).clone();
        let known: u64 = left.sorted().iter().map(|left| left.count).sum();
        let missing = read.sent.saturating_sub(sent + known);
        left.add_many("the load was over before, or its connection lost", missing);
        Replayed {
            sent,
            sessions_at_once: read.sessions_at_once.max(counts.at_once),
            span_us: self.last_us.load(Relaxed).saturating_sub(first_us),
            lag_ns: (&lag.all).into(),
            lag_by_second_ns: lag.by_second.clone(),
            left_out: joined(read.left_out.clone(), &left),
            notes,
            ..read
        }
    }
}

/// What the reader left out with what the seats did, most first.
fn joined(mut all: Vec<LeftOut>, more: &Left) -> Vec<LeftOut> {
    for left in more.sorted() {
        match all.iter_mut().find(|known| known.reason == left.reason) {
            Some(known) => known.count += left.count,
            None => all.push(left),
        }
    }
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    all
}

impl Drop for Round {
    fn drop(&mut self) {
        self.hall.stop.set(StopReason::Done);
    }
}
