//! What the threads of a follow share: statements that wait, how many may run, what became of them.
//! Bounded in number and bytes; the oldest goes first.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::status::{FollowCounts, FollowPhase, StandbyWarmth};
use crate::base::{Nanos, Stop};

/// Most statements that wait.
const MOST: usize = 8_192;
/// Most bytes of them.
const MOST_BYTES: usize = 64 << 20;
/// Longest statement.
const LONGEST: usize = 8 << 20;
/// How often who waits looks at the stop flag.
const NAP: Duration = Duration::from_millis(200);

/// A statement that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedStatement {
    pub text: Box<[u8]>,
    /// Its session's database; empty for none.
    pub database: Box<[u8]>,
    /// When it came, on our clock.
    pub arrived: Nanos,
    /// How old it was then.
    pub age: Nanos,
}

impl QueuedStatement {
    fn age_at(&self, now: Nanos) -> Nanos {
        now.since(self.arrived) + self.age
    }
}

/// What is shared.
pub(super) struct SendQueue {
    state: Mutex<SendState>,
    wake: Condvar,
    /// Looked at just before each send.
    is_open: AtomicBool,
    /// By worker: the session in which a statement is under way, 0 for none.
    under_way: Vec<AtomicU64>,
    /// Something is wrong with the standby: look soon.
    is_suspect: AtomicBool,
    /// How often it was opened.
    openings: AtomicU64,
}

/// What is shared, under one lock.
pub(super) struct SendState {
    queue: VecDeque<QueuedStatement>,
    bytes: usize,
    /// What is older is not sent.
    limit: Nanos,
    pub allowed: u32,
    busy: u32,
    pub phase: FollowPhase,
    pub counts: FollowCounts,
    /// Why the source gives nothing.
    pub source_gone: Option<String>,
    /// What the source said last.
    pub source_note: Option<String>,
    /// How hot the standby is, by the last look.
    pub heat: Option<StandbyWarmth>,
    /// Why that is not known.
    pub no_heat: Option<String>,
    /// What the source can't tell faithfully.
    pub caveat: Option<String>,
    /// How far behind what was sent last is.
    pub behind: Nanos,
    /// Pages that explained statements read and asked for, how many they were, and of how many statements.
    pub explained: ExplainedReads,
    /// Ends the sessions' waiting when the standby is gone.
    cut: Stop,
}

/// What the server says of a sample of our own statements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ExplainedReads {
    pub statements: u64,
    pub pages_asked: u64,
    pub pages_read: u64,
}

impl SendQueue {
    pub(super) fn new(sessions: u32, limit: Nanos, counts: FollowCounts) -> SendQueue {
        let state = SendState {
            queue: VecDeque::new(),
            bytes: 0,
            limit,
            allowed: 1,
            busy: 0,
            phase: FollowPhase::Starting,
            counts,
            source_gone: None,
            source_note: None,
            heat: None,
            no_heat: None,
            caveat: None,
            behind: Nanos(0),
            explained: ExplainedReads::default(),
            cut: Stop::new(),
        };
        SendQueue {
            state: Mutex::new(state),
            wake: Condvar::new(),
            is_open: AtomicBool::new(false),
            under_way: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
            is_suspect: AtomicBool::new(false),
            openings: AtomicU64::new(0),
        }
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, SendState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts a statement to those that wait; drops the oldest of them where there is no room.
    pub(super) fn push_statement(&self, item: QueuedStatement) {
        let mut state = self.lock_state();
        if item.text.len() > LONGEST {
            state.counts.overrun += 1;
            return;
        }
        if state.phase != FollowPhase::Following {
            state.counts.unsent += 1;
            return;
        }
        state.bytes += item.text.len();
        state.queue.push_back(item);
        while state.queue.len() > MOST || state.bytes > MOST_BYTES {
            state.counts.overrun += u64::from(state.pop_oldest().is_some());
        }
        if state.busy < state.allowed {
            self.wake.notify_one();
        }
    }

    /// The next statement to send, once it may be; `None` at the stop. `finish_statement` must follow.
    pub(super) fn wait_for_statement(
        &self,
        stop: &Stop,
        now: &dyn Fn() -> Nanos,
    ) -> Option<QueuedStatement> {
        let mut state = self.lock_state();
        loop {
            if stop.is_set() {
                return None;
            }
            if self.may_send() && state.busy < state.allowed {
                if let Some(item) = state.pop_fresh(now()) {
                    state.busy += 1;
                    if state.busy < state.allowed && !state.queue.is_empty() {
                        self.wake.notify_one();
                    }
                    return Some(item);
                }
            }
            let waited = self.wake.wait_timeout(state, NAP);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    /// A statement that was taken is through.
    pub(super) fn finish_statement(&self, note: impl FnOnce(&mut SendState)) {
        let mut state = self.lock_state();
        state.busy -= 1;
        note(&mut state);
        if !state.queue.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Whether statements may be sent.
    pub(super) fn may_send(&self) -> bool {
        self.is_open.load(Ordering::SeqCst)
    }

    /// From now on statements may be sent.
    pub(super) fn start_sending(&self) {
        let mut state = self.lock_state();
        if state.cut.is_set() {
            state.cut = Stop::new();
        }
        state.phase = FollowPhase::Following;
        self.is_suspect.store(false, Ordering::SeqCst);
        self.openings.fetch_add(1, Ordering::SeqCst);
        self.is_open.store(true, Ordering::SeqCst);
        self.wake.notify_all();
    }

    /// How often it was opened: a standby that came back may have forgotten everything.
    pub(super) fn start_count(&self) -> u64 {
        self.openings.load(Ordering::SeqCst)
    }

    /// From now on nothing is sent; what waits is dropped.
    pub(super) fn stop_sending(&self, phase: FollowPhase) {
        self.is_open.store(false, Ordering::SeqCst);
        let mut state = self.lock_state();
        if matches!(phase, FollowPhase::StandbyGone(_)) {
            // It may come back cold.
            state.heat = None;
        }
        state.phase = phase;
        let dropped = state.queue.len() as u64;
        state.counts.unsent += dropped;
        state.queue.clear();
        state.bytes = 0;
    }

    /// Ends the waiting of all sessions: the standby does not answer.
    pub(super) fn abort_sessions(&self) {
        self.lock_state().cut.set(crate::base::StopReason::TargetLost);
    }

    /// The flag that `abort_sessions` sets, until the board is opened again.
    pub(super) fn abort_flag(&self) -> Stop {
        self.lock_state().cut.clone()
    }

    /// A worker's statement begins in this session, or is through (0).
    pub(super) fn set_active_session(&self, worker: usize, session: u64) {
        self.under_way[worker].store(session, Ordering::SeqCst);
    }

    /// Sessions in which statements are under way.
    pub(super) fn active_sessions(&self) -> Vec<u64> {
        let all = self.under_way.iter().map(|id| id.load(Ordering::SeqCst));
        all.filter(|id| *id != 0).collect()
    }

    /// A worker lost its session.
    pub(super) fn report_suspect(&self) {
        self.is_suspect.store(true, Ordering::SeqCst);
    }

    /// Whether one did since the last look.
    pub(super) fn take_suspect(&self) -> bool {
        self.is_suspect.swap(false, Ordering::SeqCst)
    }

    /// Statements at once from now on.
    pub(super) fn set_allowed(&self, allowed: u32) {
        self.lock_state().allowed = allowed;
        self.wake.notify_all();
    }
}

impl SendState {
    /// Statements that wait.
    pub(super) fn waiting_count(&self) -> usize {
        self.queue.len()
    }

    /// How far behind we are: what waits longest, or what was sent last.
    pub(super) fn send_delay(&self, now: Nanos) -> Nanos {
        self.queue.front().map_or(self.behind, |oldest| oldest.age_at(now))
    }

    fn pop_oldest(&mut self) -> Option<QueuedStatement> {
        let item = self.queue.pop_front()?;
        self.bytes -= item.text.len();
        Some(item)
    }

    /// The next statement that is not too old. Where one is, we go on near to now: half the limit.
    fn pop_fresh(&mut self, now: Nanos) -> Option<QueuedStatement> {
        let mut limit = self.limit;
        loop {
            let item = self.pop_oldest()?;
            let age = item.age_at(now);
            if age <= limit {
                self.behind = age;
                return Some(item);
            }
            limit = Nanos(self.limit.0 / 2);
            self.counts.skipped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StopReason;

    const S: u64 = 1_000_000_000;

    fn item(text: &str, at: u64) -> QueuedStatement {
        let text = text.as_bytes().into();
        QueuedStatement { text, database: Box::default(), arrived: Nanos(at * S), age: Nanos(0) }
    }

    fn open(allowed: u32) -> SendQueue {
        let queue = SendQueue::new(4, Nanos(10 * S), FollowCounts::default());
        queue.start_sending();
        queue.set_allowed(allowed);
        queue
    }

    fn take(queue: &SendQueue, at: u64) -> Option<String> {
        // A flag that is set ends a take that would wait.
        let stop = Stop::new();
        let ready = {
            let state = queue.lock_state();
            state.busy < state.allowed && state.waiting_count() > 0
        };
        if !ready || !queue.may_send() {
            stop.set(StopReason::Done);
        }
        let item = queue.wait_for_statement(&stop, &|| Nanos(at * S))?;
        Some(String::from_utf8(item.text.into()).unwrap())
    }

    #[test]
    fn only_so_many_at_once_and_in_order() {
        let queue = open(2);
        for text in ["a", "b", "c"] {
            queue.push_statement(item(text, 0));
        }
        assert_eq!(take(&queue, 0).as_deref(), Some("a"));
        assert_eq!(take(&queue, 0).as_deref(), Some("b"));
        assert_eq!(take(&queue, 0), None);
        queue.finish_statement(|state| state.counts.sent += 1);
        assert_eq!(take(&queue, 0).as_deref(), Some("c"));
        assert_eq!(queue.lock_state().counts.sent, 1);
    }

    #[test]
    fn behind_the_limit_we_go_on_near_to_now() {
        let queue = open(1);
        for at in 0..14 {
            queue.push_statement(item(&at.to_string(), at));
        }
        // 0 to 2 are older than ten seconds; then all up to five seconds are dropped.
        assert_eq!(take(&queue, 13).as_deref(), Some("8"));
        assert_eq!(queue.lock_state().counts.skipped, 8);
        assert_eq!(queue.lock_state().behind, Nanos(5 * S));
    }

    #[test]
    fn memory_is_bounded() {
        let queue = open(1);
        for number in 0..MOST + 10 {
            queue.push_statement(item(&number.to_string(), 0));
        }
        assert_eq!(queue.lock_state().waiting_count(), MOST);
        assert_eq!(take(&queue, 0).as_deref(), Some("10"));
        queue.push_statement(item(&"x".repeat(LONGEST + 1), 0));
        assert_eq!(queue.lock_state().counts.overrun, 11);
        for _ in 0..12 {
            queue.push_statement(item(&"x".repeat(LONGEST), 0));
        }
        assert_eq!(queue.lock_state().waiting_count(), MOST_BYTES / LONGEST);
        assert!(queue.lock_state().bytes <= MOST_BYTES);
    }

    #[test]
    fn a_closed_board_gives_and_keeps_nothing() {
        let queue = open(1);
        queue.push_statement(item("a", 0));
        queue.stop_sending(FollowPhase::Promoted);
        assert_eq!(take(&queue, 0), None);
        queue.push_statement(item("b", 0));
        assert_eq!(queue.lock_state().waiting_count(), 0);
        assert_eq!(queue.lock_state().counts.unsent, 2);
        queue.start_sending();
        assert_eq!(take(&queue, 0), None, "it goes on at now");
        queue.push_statement(item("c", 0));
        assert_eq!(take(&queue, 0).as_deref(), Some("c"));
    }

    #[test]
    fn how_hot_a_standby_was_is_forgotten_when_it_is_gone() {
        let queue = open(1);
        queue.lock_state().heat = Some(StandbyWarmth::default());
        queue.stop_sending(FollowPhase::Ended);
        assert!(queue.lock_state().heat.is_some(), "it is told at the end");
        queue.start_sending();
        queue.stop_sending(FollowPhase::StandbyGone("killed".to_owned()));
        assert!(queue.lock_state().heat.is_none());
    }

    #[test]
    fn a_cut_lasts_until_the_board_opens_again() {
        let queue = open(1);
        let flag = queue.abort_flag();
        queue.abort_sessions();
        assert!(flag.is_set());
        queue.start_sending();
        assert!(flag.is_set() && !queue.abort_flag().is_set());
    }

    #[test]
    fn who_is_under_way_is_known() {
        let queue = open(2);
        queue.set_active_session(1, 77);
        assert_eq!(queue.active_sessions(), [77]);
        queue.set_active_session(1, 0);
        assert!(queue.active_sessions().is_empty());
        queue.report_suspect();
        assert!(queue.take_suspect() && !queue.take_suspect());
    }
}
