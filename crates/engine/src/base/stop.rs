//! The stop flag that everything long-running looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time, the events or the plan are through.
    Done,
    /// The user pressed Ctrl-C, or a signal asked us to end: keep what was measured, exit 130.
    Interrupted,
    /// The target is gone: keep what was measured, exit 3.
    TargetLost,
    /// A part of sweat itself broke: keep what was measured, exit 3.
    Failed,
}

/// A flag shared by all threads of a run; the first reason stands.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    own: Arc<AtomicU8>,
    /// The flag of the whole that this one stops a part of.
    above: Option<Arc<AtomicU8>>,
}

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Stop {
        Stop::default()
    }
    /// A flag for a part of what `self` stops: set with it, and by itself without stopping the rest.
    pub fn child_stop(&self) -> Stop {
        Stop { own: Arc::default(), above: Some(self.own.clone()) }
    }
    /// Sets the flag; the first reason given stands.
    pub fn set(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Done => 1,
            StopReason::Interrupted => 2,
            StopReason::TargetLost => 3,
            StopReason::Failed => 4,
        };
        let _ = self.own.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }
    /// Whether to stop. Cheap enough for every event.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.reason_code() != 0
    }
    /// Why, if set.
    pub fn reason(&self) -> Option<StopReason> {
        match self.reason_code() {
            1 => Some(StopReason::Done),
            2 => Some(StopReason::Interrupted),
            3 => Some(StopReason::TargetLost),
            4 => Some(StopReason::Failed),
            _ => None,
        }
    }

    /// What stops the whole stands over what stops the part.
    #[inline]
    fn reason_code(&self) -> u8 {
        let above = self.above.as_ref().map_or(0, |above| above.load(Ordering::Relaxed));
        if above == 0 { self.own.load(Ordering::Relaxed) } else { above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stands() {
        let stop = Stop::new();
        assert_eq!((stop.is_set(), stop.reason()), (false, None));
        stop.set(StopReason::TargetLost);
        stop.clone().set(StopReason::Interrupted);
        assert_eq!(stop.reason(), Some(StopReason::TargetLost));
    }

    #[test]
    fn a_part_ends_alone_and_with_the_whole() {
        let whole = Stop::new();
        let part = whole.child_stop();
        part.set(StopReason::Done);
        assert!(part.is_set() && !whole.is_set());
        whole.set(StopReason::Interrupted);
        assert_eq!(part.reason(), Some(StopReason::Interrupted));
        assert!(whole.child_stop().is_set());
    }
}
