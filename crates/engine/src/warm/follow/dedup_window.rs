//! What was sent a moment ago need not be sent again. Pure; memory is bounded.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::base::Nanos;

/// Most statements that are remembered: about 20 MB.
const MOST: usize = 1 << 18;

/// Statements sent inside the last so many seconds, by a hash of 128 bits.
pub(super) struct DedupWindow {
    length: Nanos,
    most: usize,
    keys: [RandomState; 2],
    seen: HashMap<u128, ()>,
    order: VecDeque<(Nanos, u128)>,
}

impl DedupWindow {
    /// A window of this length; of none, nothing counts as seen.
    pub(super) fn new(length: Nanos) -> DedupWindow {
        DedupWindow {
            length,
            most: MOST,
            keys: [RandomState::new(), RandomState::new()],
            seen: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Whether this statement is new in the window; then it is remembered. A statement that comes again and again
    /// passes once per length of the window, so that its pages stay young.
    pub(super) fn is_new(&mut self, now: Nanos, database: &[u8], text: &[u8]) -> bool {
        if self.length == Nanos(0) {
            return true;
        }
        self.drop_expired(now);
        let hash = self.hash_statement(database, text);
        if self.seen.contains_key(&hash) {
            return false;
        }
        if self.order.len() >= self.most {
            self.drop_oldest();
        }
        self.seen.insert(hash, ());
        self.order.push_back((now, hash));
        true
    }

    /// Forgets everything: another server knows nothing of what was sent to the last one.
    pub(super) fn clear(&mut self) {
        self.seen.clear();
        self.order.clear();
    }

    fn drop_expired(&mut self, now: Nanos) {
        while self.order.front().is_some_and(|(at, _)| now.since(*at) >= self.length) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, hash)) = self.order.pop_front() {
            self.seen.remove(&hash);
        }
    }

    fn hash_statement(&self, database: &[u8], text: &[u8]) -> u128 {
        let half = |key: &RandomState| {
            let mut hasher = key.build_hasher();
            hasher.write_usize(database.len());
            hasher.write(database);
            hasher.write(text);
            u128::from(hasher.finish())
        };
        half(&self.keys[0]) << 64 | half(&self.keys[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_statement_passes_once_per_window() {
        let mut window = DedupWindow::new(Nanos(10 * S));
        let mut passes = |at: u64| window.is_new(Nanos(at * S), b"shop", b"SELECT 1");
        let found: Vec<bool> = [0, 1, 9, 10, 11, 19, 20].map(&mut passes).to_vec();
        assert_eq!(found, [true, false, false, true, false, false, true]);
    }

    #[test]
    fn text_and_database_both_tell_statements_apart() {
        let mut window = DedupWindow::new(Nanos(S));
        assert!(window.is_new(Nanos(0), b"a", b"SELECT 1"));
        assert!(window.is_new(Nanos(0), b"b", b"SELECT 1"));
        assert!(window.is_new(Nanos(0), b"a", b"SELECT 2"));
        assert!(window.is_new(Nanos(0), b"aS", b"ELECT 1"));
        assert!(!window.is_new(Nanos(0), b"b", b"SELECT 1"));
        window.clear();
        assert!(window.is_new(Nanos(0), b"b", b"SELECT 1"));
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let mut window = DedupWindow { most: 3, ..DedupWindow::new(Nanos(S)) };
        for text in [b"1", b"2", b"3", b"4"] {
            assert!(window.is_new(Nanos(0), b"", text));
        }
        assert_eq!((window.seen.len(), window.order.len()), (3, 3));
        assert!(!window.is_new(Nanos(0), b"", b"4"));
        assert!(window.is_new(Nanos(0), b"", b"1"), "the oldest was forgotten");
        assert!(window.is_new(Nanos(S), b"", b"4"), "all are forgotten in time");
        assert_eq!(window.order.len(), 1);
    }

    #[test]
    fn without_a_window_all_pass() {
        let mut window = DedupWindow::new(Nanos(0));
        assert!(window.is_new(Nanos(0), b"", b"x") && window.is_new(Nanos(0), b"", b"x"));
        assert!(window.order.is_empty());
    }
}
