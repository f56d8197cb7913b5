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
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Stop {
        Stop::default()
    }
    /// Sets the flag; the first reason given stands.
    pub fn set(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Done => 1,
            StopReason::Interrupted => 2,
            StopReason::TargetLost => 3,
            StopReason::Failed => 4,
        };
        let _ = self.0.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }
    /// Whether to stop. Cheap enough for every event.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
    /// Why, if set.
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some(StopReason::Done),
            2 => Some(StopReason::Interrupted),
            3 => Some(StopReason::TargetLost),
            4 => Some(StopReason::Failed),
            _ => None,
        }
    }
}
