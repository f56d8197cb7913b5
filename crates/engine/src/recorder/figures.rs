//! What a workload measures beside events and their times, as data: samples under names, from which whoever reads the run makes
//! figures with intervals.

use serde::{Deserialize, Serialize};

/// What one load measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFigures {
    /// What the figures are, and how they were measured.
    pub header: String,
    /// Samples, each list under its name.
    pub series: Vec<FigureSeries>,
    /// What things cost that were measured one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<MeasuredCost>,
    /// What a reader must know of them: each a tag in brackets and a sentence.
    pub notes: Vec<String>,
}

/// Samples of one quantity, in the order they were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureSeries {
    /// What was measured, in a few words.
    pub name: String,
    /// Unit of the samples: `ns`, `x`.
    pub unit: String,
    /// The samples.
    pub samples: Vec<f64>,
    /// The value that stands for no difference, 0 of a difference and 1 of a ratio; `None` where there is no such value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neutral: Option<f64>,
    /// Whether a summary can do without it.
    #[serde(default)]
    pub is_detail: bool,
}

/// What one of a thing took, in rounds over all things in turn: the n-th samples of all belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCost {
    /// What was done.
    pub name: String,
    /// With which others it belongs.
    pub group: String,
    /// How often it was done in a round.
    pub count: u64,
    /// What one took by the clock, round by round, nanoseconds; nothing where that was not measured to its end.
    pub wall_ns: Vec<f64>,
    /// CPU time that the server's thread spent on one, nanoseconds; nothing where that is not known.
    #[serde(default)]
    pub cpu_ns: Vec<f64>,
    /// Rows that one gave or changed.
    pub rows: u64,
    /// Why there is no figure, in a few words.
    #[serde(default)]
    pub remark: String,
}
