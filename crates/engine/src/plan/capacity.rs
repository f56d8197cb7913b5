//! What a search for capacity is asked to do.

use std::time::Duration;

use super::Objective;

/// A search for the highest rate that meets objectives.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityPlan {
    /// What rises, as the workload names it; `None` for the rate.
    pub quantity: Option<String>,
    /// What shall hold.
    pub objectives: Vec<Objective>,
    /// Time at the begin of each step that does not count.
    pub settle: Duration,
    /// Longest step; one that did not tell takes three times as long.
    pub step_time: Duration,
    /// How long the last step confirms.
    pub confirm: Duration,
}

impl Default for CapacityPlan {
    fn default() -> CapacityPlan {
        CapacityPlan {
            quantity: None,
            objectives: Vec::new(),
            settle: Duration::from_secs(3),
            step_time: Duration::from_secs(60),
            confirm: Duration::from_secs(300),
        }
    }
}
