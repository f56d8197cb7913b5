//! What a workload itself measured, as medians with intervals.

use serde::Serialize;

use super::{CostFinding, TrialFinding};

/// All figures of one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FiguresFinding {
    /// What the figures are, and how they were measured.
    pub header: String,
    /// The figures.
    pub figures: Vec<MedianFigure>,
    /// What things cost that were measured one by one.
    pub costs: Vec<CostFinding>,
    /// What a reader must know of them.
    pub notes: Vec<String>,
}

/// The median of samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MedianFigure {
    /// What was measured.
    pub name: String,
    /// Unit of value and bounds.
    pub unit: String,
    /// The median; `None` without samples.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval; `None` where the samples are too few.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How many samples.
    pub samples: u64,
    /// Whether the interval leaves out the value that stands for no difference; `None` where nothing can be said.
    pub is_told_apart: Option<bool>,
    /// Whether a summary can do without it.
    pub is_detail: bool,
}

impl TrialFinding {
    /// What things cost that its workload measured one by one; its events are rounds of them then.
    pub fn costs(&self) -> &[CostFinding] {
        self.figures.as_ref().map_or(&[], |figures| &figures.costs)
    }
}

impl MedianFigure {
    /// What stands beside it in a table.
    pub fn remark(&self) -> &'static str {
        match (self.value, self.low.zip(self.high), self.is_told_apart) {
            (None, ..) => "no samples",
            (_, None, _) => "too few samples",
            (.., Some(false)) => "not told apart",
            _ => "",
        }
    }
}
