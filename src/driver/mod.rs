//! When to do it: turns a load plan into due times and runs workers on threads or a reactor.
//! Never knows: servers, SQL, files, printing.

use crate::base::{RealClock, Stop};
use crate::plan::LoadPlan;
use crate::recorder::{Interval, Recording};
use crate::workload::Workload;

/// Runs a load to its end and gives its recording. `on_interval` sees every interval, in order, from this thread.
///
/// # Errors
/// When no worker could open its session.
pub fn run(
    _load: &LoadPlan,
    _seed: u64,
    _workload: &dyn Workload,
    _clock: RealClock,
    _stop: &Stop,
    _on_interval: &mut dyn FnMut(&Interval),
) -> anyhow::Result<Recording> {
    unimplemented!("driver")
}
