//! What workloads that send recorded traffic again have beside the others.

use crate::base::{Nanos, Stop};
use crate::plan::{Mistake, Options};
use crate::recorder::{Histogram, ReplayTotals};

/// A kind that sends recorded traffic again. It has a command of its own, and is none of the loads that `bench` knows.
pub trait RecordedKind: Sync {
    /// How many workers its options ask for: as many as there were sessions at once.
    ///
    /// # Errors
    /// When the options don't fit, or what they name can't be read.
    fn worker_count(&self, options: &Options, stop: &Stop) -> anyhow::Result<usize>;
}

/// What a load of recorded traffic has to tell once it is over.
pub trait RecordedLoad {
    /// What it tells beyond its events; `None` where nothing was sent.
    fn replay_totals(&self) -> Option<ReplayTotals>;
    /// What was wrong with what it was given, where that could not be known before.
    fn input_mistake(&self) -> Option<Mistake>;
    /// How long events had waited, nanoseconds, that were due when no event began any more, at `ended` of the load's
    /// clock, and never began. Asked once, behind the end of all workers.
    fn unbegun_ages(&self, ended: Nanos) -> Histogram;
}
