//! How far the numbers of a unique value are stored: the events that took them have ended, up to the last one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Numbers that workers take in turn, and put back as settled in any order.
#[derive(Debug)]
pub(super) struct SettledNumbers {
    /// The highest number up to which all are settled.
    last: AtomicI64,
    /// Whether those behind it are, one after the other.
    waiting: Mutex<VecDeque<bool>>,
}

impl SettledNumbers {
    /// All up to `last`.
    pub(super) fn new(last: i64) -> SettledNumbers {
        SettledNumbers { last: AtomicI64::new(last), waiting: Mutex::default() }
    }

    /// The highest number up to which all are settled.
    #[inline]
    pub(super) fn last(&self) -> i64 {
        self.last.load(Ordering::Relaxed)
    }

    /// The event that took a number has ended.
    pub(super) fn settle(&self, number: i64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = self.last();
        // A number comes back once; one that was settled before is no news.
        let place = number.checked_sub(last).and_then(|behind| behind.checked_sub(1));
        let Some(Ok(place)) = place.map(usize::try_from) else { return };
        if waiting.len() <= place {
            waiting.resize(place + 1, false);
        }
        waiting[place] = true;
        while waiting.front() == Some(&true) {
            waiting.pop_front();
            last += 1;
        }
        self.last.store(last, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_the_one_before_the_first_that_is_under_way() {
        let numbers = SettledNumbers::new(9);
        let mut seen = Vec::new();
        for number in [11, 10, 10, 14, 13, 12] {
            numbers.settle(number);
            seen.push(numbers.last());
        }
        assert_eq!(seen, [9, 11, 11, 11, 11, 14]);
    }
}
