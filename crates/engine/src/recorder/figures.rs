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
