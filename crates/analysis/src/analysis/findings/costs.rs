//! What things cost that a workload measured one by one, in one load and in one against another.

use serde::Serialize;

use super::MetricComparison;

/// What one of a thing cost, in the median of its rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostFinding {
    /// What was done.
    pub name: String,
    /// With which others it belongs.
    pub group: String,
    /// How often it was done in a round.
    pub count: u64,
    /// Rounds behind the figures.
    pub rounds: u64,
    /// What one took by the clock, seconds; `None` where it was not measured.
    pub time_s: Option<f64>,
    /// Lower end of the 95 % interval; `None` with fewer than six rounds.
    pub time_low_s: Option<f64>,
    /// Upper end.
    pub time_high_s: Option<f64>,
    /// CPU time of the server's thread for one, seconds.
    pub cpu_s: Option<f64>,
    /// Rows that one gave or changed, per second of `time_s`.
    pub rows_per_s: Option<f64>,
    /// Why there is no figure.
    pub remark: String,
}

/// What one of a thing took in one variant, or run, against the base.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostChange {
    /// What was done; of the mean over all, what it is the mean of.
    pub name: String,
    /// With which others it belongs.
    pub group: String,
    /// Whether this is the geometric mean over all that both measured.
    pub is_mean: bool,
    /// In the base, seconds; `None` where it was not measured there.
    pub base_s: Option<f64>,
    /// In the other.
    pub variant_s: Option<f64>,
    /// How they compare.
    pub change: MetricComparison,
}
