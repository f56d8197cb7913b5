//! Whose turn it is to begin, where a load's arrival says when: of the seats that are ready, the one whose statement
//! stands first in the log. One at a time waits for its begin, so that a seat which gets ready meanwhile is not passed
//! over for longer than that.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Default)]
struct OrderState {
    /// Ready, by place in the file, and who is to be woken.
    ready: BTreeMap<(u64, usize), Waker>,
    /// Who has the turn.
    holder: Option<(u64, usize)>,
}

/// The turn of one load.
#[derive(Default)]
pub(super) struct StartOrder(Mutex<OrderState>);

impl StartOrder {
    fn lock_state(&self) -> MutexGuard<'_, OrderState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when it is this seat's turn with the statement of this number.
    pub(super) fn poll_turn(&self, number: u64, worker: usize, waker: &Waker) -> Poll<()> {
        let mut state = self.lock_state();
        if state.holder == Some((number, worker)) {
            return Poll::Ready(());
        }
        state.ready.insert((number, worker), waker.clone());
        if state.holder.is_some() {
            return Poll::Pending;
        }
        let first = *state.ready.keys().next().expect("one was just put there");
        let waker = state.ready.remove(&first);
        state.holder = Some(first);
        if first == (number, worker) {
            return Poll::Ready(());
        }
        if let Some(waker) = waker {
            waker.wake();
        }
        Poll::Pending
    }

    /// A seat has begun, or is gone: it waits no more, and if it had the turn, the next one has it.
    pub(super) fn pass_turn(&self, number: u64, worker: usize) {
        let mut state = self.lock_state();
        state.ready.remove(&(number, worker));
        if state.holder != Some((number, worker)) {
            return;
        }
        state.holder = None;
        if let Some((next, waker)) = state.ready.pop_first() {
            state.holder = Some(next);
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_the_file_begins_first() {
        let turn = StartOrder::default();
        let waker = Waker::noop();
        assert!(turn.poll_turn(5, 0, waker).is_ready());
        assert!(turn.poll_turn(9, 1, waker).is_pending());
        assert!(turn.poll_turn(7, 2, waker).is_pending());
        turn.pass_turn(5, 0);
        assert!(turn.poll_turn(9, 1, waker).is_pending());
        assert!(turn.poll_turn(7, 2, waker).is_ready());
        // One that is ready meanwhile and stands before the others.
        assert!(turn.poll_turn(6, 0, waker).is_pending());
        turn.pass_turn(7, 2);
        assert!(turn.poll_turn(6, 0, waker).is_ready());
        // One that goes without having had the turn, and one that goes with it.
        turn.pass_turn(9, 1);
        turn.pass_turn(6, 0);
        assert!(turn.poll_turn(20, 3, waker).is_ready());
    }
}
