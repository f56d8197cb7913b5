//! Filling the pool: strategies, and how warm it is.
//! Never knows: experiments, reports.
//! To add one: a folder here and its line in `STRATEGIES`.

use crate::base::{RealClock, Stop};
use crate::plan::{OptionSpec, Options};
use crate::server::Control;
use crate::target::Target;
use crate::workload::Progress;

/// All strategies, in the order of `sweat warm --help`.
pub const STRATEGIES: &[&dyn Strategy] = &[];

/// A way to fill the pool.
pub trait Strategy: Sync {
    /// Name on the command line, in plans and reports.
    fn name(&self) -> &'static str;
    /// One line for the help.
    fn about(&self) -> &'static str;
    /// What it can be told.
    fn options(&self) -> Vec<OptionSpec>;
    /// Warms until done, full, or told to stop.
    ///
    /// # Errors
    /// When the server refuses.
    fn warm(&self, options: &Options, scene: &mut Scene<'_>) -> anyhow::Result<Warmed>;
}

/// What a strategy works with.
pub struct Scene<'a> {
    /// The server to warm.
    pub target: &'a Target,
    /// The same server if we may change it; `None` on a server that is not ours.
    pub control: Option<&'a mut dyn Control>,
    /// The run's clock.
    pub clock: RealClock,
    /// Set on Ctrl-C.
    pub stop: &'a Stop,
    /// Told how far it is, from one thread at a time.
    pub progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// What warming did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warmed {
    /// How long it took.
    pub seconds: f64,
    /// Pages in the pool before.
    pub pages_before: u64,
    /// Pages in the pool after.
    pub pages_after: u64,
    /// Pages the server read from disk meanwhile.
    pub pages_read: u64,
    /// Bytes the server read from disk meanwhile.
    pub bytes_read: u64,
    /// What was left out or went wrong, in words.
    pub notes: Vec<String>,
    /// Whether it was stopped before its end.
    pub cut: bool,
}
