//! Where what was read waits for the seats that play it: a queue for each session, in bounded memory.
//!
//! The reader of the log puts statements in and waits when there are too many; a seat takes a session, then its
//! statements, and waits when there are none. No two can wait for each other: when the reader waits for room, every
//! statement that takes room is in the queue of a session that has a seat, or a session that waits for one. If all seats
//! are idle then, the one that has been so for longest gives up its session, which is taken up again if it speaks again.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::statement::ReplayStatement;
use crate::base::Stop;

/// Bytes of statements that wait at most, beside the one that goes beyond.
const MOST_BYTES: usize = 256 << 20;
/// Statements that wait at most.
const MOST_ITEMS: usize = 500_000;
/// How long the reader waits before it looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// What a seat gets of its session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionPoll {
    /// Statements.
    Items,
    /// The session has ended.
    Ended,
    /// The session is given up, as another needs the seat.
    GivenUp,
}

/// A session that a seat is to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionAssignment {
    /// Its number among the log's sessions.
    pub(super) session: u64,
    /// When it begins, microseconds from the begin of the log.
    pub(super) begins_us: u64,
    /// Its first statement's place in the file.
    pub(super) number: u64,
}

/// How full the hall may get.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueBounds {
    pub(super) bytes: usize,
    pub(super) items: usize,
}

impl Default for QueueBounds {
    fn default() -> QueueBounds {
        QueueBounds { bytes: MOST_BYTES, items: MOST_ITEMS }
    }
}

/// What happened in the hall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    /// Sessions.
    pub(super) sessions: u64,
    /// Most of them at once that had a seat.
    pub(super) at_once: u64,
    /// Sessions that were given up because another needed the seat.
    pub(super) given_up: u64,
    /// Statements that came for a session whose seat is gone.
    pub(super) dropped: u64,
}

/// A session of the log.
struct QueuedSession {
    queue: VecDeque<ReplayStatement>,
    taken: SessionAssignment,
    has_ended: bool,
    /// The seat that plays it.
    worker: Option<usize>,
    /// Its place among the idle, while its seat waits for more.
    idle: Option<u64>,
    is_given_up: bool,
    /// Its seat is gone for good: what comes is dropped.
    is_gone: bool,
}

#[derive(Default)]
struct QueueState {
    lines: HashMap<u64, QueuedSession>,
    /// Sessions without a seat, the earliest first.
    waiting: BTreeSet<(u64, u64)>,
    /// Seats without a session, with who is to be woken.
    free: BTreeMap<usize, Waker>,
    /// Seats whose sessions have said nothing more, longest first: session and who is to be woken.
    idle: BTreeMap<u64, (u64, Waker)>,
    ticks: u64,
    /// Seats that have not gone.
    workers: usize,
    has_seat: u64,
    is_over: bool,
    counts: QueueCounts,
}

/// The hall of one load.
pub(super) struct SessionQueues {
    state: Mutex<QueueState>,
    /// For the reader: there is room, or nobody to play.
    room: Condvar,
    bytes: AtomicUsize,
    items: AtomicUsize,
    is_full: AtomicBool,
    bounds: QueueBounds,
    /// The ends of sessions are known to the reader: none needs to be given up for want of a seat.
    knows_ends: bool,
    /// Set when nothing shall be read any more.
    pub(super) stop: Stop,
}

impl SessionQueues {
    pub(super) fn new(workers: usize, knows_ends: bool, bounds: QueueBounds) -> SessionQueues {
        SessionQueues {
            state: Mutex::new(QueueState { workers, ..QueueState::default() }),
            room: Condvar::new(),
            bytes: AtomicUsize::new(0),
            items: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            bounds,
            knows_ends,
            stop: Stop::new(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn queue_counts(&self) -> QueueCounts {
        self.lock_state().counts
    }

    /// A session begins; nothing happens if it is known.
    pub(super) fn start_session(&self, taken: SessionAssignment) {
        let mut state = self.lock_state();
        if !state.lines.contains_key(&taken.session) {
            self.add_session(&mut state, taken);
        }
    }

    fn add_session(&self, state: &mut QueueState, taken: SessionAssignment) {
        let line = QueuedSession {
            queue: VecDeque::new(),
            taken,
            has_ended: false,
            worker: None,
            idle: None,
            is_given_up: false,
            is_gone: false,
        };
        state.lines.insert(taken.session, line);
        state.waiting.insert((taken.number, taken.session));
        match state.free.pop_first() {
            Some((_, waker)) => waker.wake(),
            None => self.give_up_idle(state),
        }
    }

    /// Puts a statement at the end of its session's queue, and waits while there are too many; `false` if nothing shall
    /// be read any more.
    pub(super) fn push_statement(&self, session: u64, item: ReplayStatement) -> bool {
        let mut state = self.lock_state();
        if !state.lines.contains_key(&session) {
            let taken = SessionAssignment { session, begins_us: item.at_us, number: item.number };
            self.add_session(&mut state, taken);
        }
        let line = state.lines.get_mut(&session).expect("it was just put there");
        if line.is_gone {
            state.counts.dropped += 1;
            return !self.stop.is_set();
        }
        self.bytes.fetch_add(item.memory_bytes(), SeqCst);
        self.items.fetch_add(1, SeqCst);
        line.queue.push_back(item);
        if let Some(idle) = line.idle.take() {
            line.is_given_up = false;
            if let Some((_, waker)) = state.idle.remove(&idle) {
                waker.wake();
            }
        }
        self.wait_for_room(state)
    }

    /// A session has ended.
    pub(super) fn end_session(&self, session: u64) {
        let mut state = self.lock_state();
        let Some(line) = state.lines.get_mut(&session) else { return };
        if line.is_gone {
            state.lines.remove(&session);
            return;
        }
        line.has_ended = true;
        if let Some((_, waker)) = line.idle.take().and_then(|idle| state.idle.remove(&idle)) {
            waker.wake();
        }
    }

    /// Nothing more will come: all sessions have ended.
    pub(super) fn close(&self) {
        let mut state = self.lock_state();
        state.is_over = true;
        let QueueState { lines, idle, free, .. } = &mut *state;
        for line in lines.values_mut() {
            line.idle = None;
        }
        std::mem::take(idle).into_values().for_each(|(_, waker)| waker.wake());
        std::mem::take(free).into_values().for_each(Waker::wake);
    }

    fn is_too_full(&self) -> bool {
        self.bytes.load(SeqCst) > self.bounds.bytes || self.items.load(SeqCst) > self.bounds.items
    }

    fn wait_for_room(&self, mut state: MutexGuard<'_, QueueState>) -> bool {
        while self.is_too_full() && !self.stop.is_set() {
            self.is_full.store(true, SeqCst);
            self.give_up_idle(&mut state);
            // A seat may have made room before it could see that it is waited for.
            if self.is_too_full() {
                let waited = self.room.wait_timeout(state, LOOK);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        self.is_full.store(false, SeqCst);
        !self.stop.is_set()
    }

    /// Has the session given up that has been idle for longest, if another waits for a seat that no end will free.
    fn give_up_idle(&self, state: &mut QueueState) {
        let must = !self.knows_ends || self.is_full.load(SeqCst);
        // A seat without a session is on its way to take one.
        let has_free = state.has_seat < state.workers as u64;
        if !must || state.waiting.is_empty() || has_free {
            return;
        }
        if let Some((_, (session, waker))) = state.idle.pop_first() {
            if let Some(line) = state.lines.get_mut(&session) {
                line.idle = None;
                line.is_given_up = true;
            }
            waker.wake();
        }
    }

    /// The next session for a seat; `None` when there will be none.
    pub(super) fn poll_session(
        &self,
        worker: usize,
        waker: &Waker,
    ) -> Poll<Option<SessionAssignment>> {
        let mut state = self.lock_state();
        if let Some((_, session)) = state.waiting.pop_first() {
            state.free.remove(&worker);
            state.has_seat += 1;
            state.counts.sessions += 1;
            state.counts.at_once = state.counts.at_once.max(state.has_seat);
            let line = state.lines.get_mut(&session).expect("who waits is there");
            line.worker = Some(worker);
            return Poll::Ready(Some(line.taken));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        state.free.insert(worker, waker.clone());
        Poll::Pending
    }

    /// Statements of a seat's session.
    pub(super) fn poll_statements(
        &self,
        session: u64,
        waker: &Waker,
        items: &mut VecDeque<ReplayStatement>,
    ) -> Poll<SessionPoll> {
        let mut state = self.lock_state();
        let is_over = state.is_over;
        let Some(line) = state.lines.get_mut(&session) else {
            return Poll::Ready(SessionPoll::Ended);
        };
        if !line.queue.is_empty() {
            line.is_given_up = false;
            items.append(&mut line.queue);
            return Poll::Ready(SessionPoll::Items);
        }
        if line.has_ended || is_over || line.is_given_up {
            let got = match line.has_ended || is_over {
                true => SessionPoll::Ended,
                false => SessionPoll::GivenUp,
            };
            state.counts.given_up += u64::from(got == SessionPoll::GivenUp);
            state.lines.remove(&session);
            state.has_seat -= 1;
            return Poll::Ready(got);
        }
        let idle = line.idle;
        let idle = match idle {
            Some(idle) => idle,
            None => {
                state.ticks += 1;
                state.ticks
            }
        };
        state.idle.insert(idle, (session, waker.clone()));
        if let Some(line) = state.lines.get_mut(&session) {
            line.idle = Some(idle);
        }
        self.give_up_idle(&mut state);
        Poll::Pending
    }

    /// A statement was played, or is not to be.
    pub(super) fn finish_statement(&self, item: &ReplayStatement) {
        self.bytes.fetch_sub(item.memory_bytes(), SeqCst);
        self.items.fetch_sub(1, SeqCst);
        if self.is_full.load(SeqCst) && !self.is_too_full() {
            // Under the lock, so that a reader about to wait hears it.
            let _state = self.lock_state();
            self.room.notify_one();
        }
    }

    /// A session can't be played any more: what it still has is dropped; gives when each of those statements began,
    /// microseconds from the begin of the log.
    pub(super) fn drop_session(
        &self,
        session: u64,
        items: &mut VecDeque<ReplayStatement>,
    ) -> Vec<u64> {
        let mut state = self.lock_state();
        if let Some(line) = state.lines.get_mut(&session) {
            items.append(&mut line.queue);
            let idle = line.idle.take();
            let has_ended = line.has_ended;
            line.is_gone = true;
            if let Some(idle) = idle {
                state.idle.remove(&idle);
            }
            if has_ended {
                state.lines.remove(&session);
            }
            state.has_seat -= 1;
        }
        drop(state);
        let dropped = items.iter().map(|item| item.at_us).collect();
        items.drain(..).for_each(|item| self.finish_statement(&item));
        dropped
    }

    /// When each statement that no worker has taken began, microseconds from the begin of the log.
    pub(super) fn queued_times_us(&self) -> Vec<u64> {
        let state = self.lock_state();
        state.lines.values().flat_map(|line| line.queue.iter().map(|item| item.at_us)).collect()
    }

    /// A seat is gone. After the last one nothing more is read.
    pub(super) fn remove_worker(&self, worker: usize) {
        let mut state = self.lock_state();
        state.free.remove(&worker);
        state.workers -= 1;
        if state.workers == 0 {
            self.stop.set(crate::base::StopReason::Done);
        } else if !state.waiting.is_empty() {
            // It may have been woken for a session that it did not take.
            if let Some((_, waker)) = state.free.pop_first() {
                waker.wake();
            }
        }
        self.room.notify_all();
    }
}

#[cfg(test)]
#[path = "session_queues_tests.rs"]
mod tests;
