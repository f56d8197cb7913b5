//! What server and host felt: raw samples on clock-aligned ticks, with their own cost.
//! Never knows: load, deltas, what a value means.
//! To add one: a folder here and its line in `PROBES`.

use crate::base::Nanos;

/// One look of one probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name of the probe.
    pub probe: &'static str,
    /// When it should have been taken (on the grid of wall-clock ticks), on the run's clock.
    pub planned: Nanos,
    /// When it began.
    pub began: Nanos,
    /// When it ended: the difference is its own cost.
    pub ended: Nanos,
    /// What it saw, raw.
    pub values: Values,
}

/// Raw values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counters and gauges by the server's own names.
    Numbers(Vec<(String, f64)>),
    /// A raw text.
    Text(String),
    /// Rows of a table: column names, then rows.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Not sampled, and why: `needs PROCESS`.
    Gap(String),
}
