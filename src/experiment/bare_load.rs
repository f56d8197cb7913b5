//! A load by itself: no run folder, no probes, no look at the server before or after.

use crate::base::{RealClock, Stop};
pub use crate::driver::{LoadListener, NoSessionError};
use crate::plan::LoadPlan;
use crate::recorder::Recording;
use crate::workload::Workload;

/// Runs a load and gives its recording; nothing is written anywhere.
///
/// # Errors
/// When no session could be opened ([`NoSessionError`]), or the plan asks for what can't be done.
pub fn run_bare_load(
    load: &LoadPlan,
    seed: u64,
    workload: &dyn Workload,
    stop: &Stop,
    listener: LoadListener<'_>,
) -> anyhow::Result<Recording> {
    crate::driver::run_load_with(load, seed, workload, RealClock::start_now(), stop, listener)
}
