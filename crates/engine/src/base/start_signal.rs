//! A start that is named only once all is ready for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Two things that a load and whoever starts it tell each other: that it is ready, and when it starts.
#[derive(Clone, Debug, Default)]
pub struct StartSignal {
    ready: Arc<AtomicBool>,
    /// Wall time, nanoseconds since 1970; 0 until it is named.
    at_unix_ns: Arc<AtomicU64>,
}

impl StartSignal {
    /// Says that nothing but the start is missing.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }
    /// Whether nothing but the start is missing.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
    /// Names the wall time of the start, nanoseconds since 1970; the first that is named stands.
    pub fn name_start(&self, at_unix_ns: u64) {
        let at = at_unix_ns.max(1);
        let _ = self.at_unix_ns.compare_exchange(0, at, Ordering::AcqRel, Ordering::Relaxed);
    }
    /// The wall time of the start, if it has been named.
    pub fn named_start(&self) -> Option<u64> {
        Some(self.at_unix_ns.load(Ordering::Acquire)).filter(|at| *at != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_that_is_named_stands() {
        let (signal, other) = (StartSignal::default(), StartSignal::default());
        assert_eq!((signal.is_ready(), signal.named_start()), (false, None));
        signal.clone().set_ready();
        signal.clone().name_start(7);
        signal.name_start(9);
        assert_eq!((signal.is_ready(), signal.named_start()), (true, Some(7)));
        assert_eq!(other.named_start(), None);
    }
}
