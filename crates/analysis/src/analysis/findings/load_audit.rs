//! What a workload's own rules say of a load.

use serde::Serialize;

/// What they say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditFinding {
    /// What every report of the load says first.
    pub header: String,
    /// Rates under the names that the workload's users know.
    pub rates: Vec<AuditRate>,
    /// Each rule with its verdict.
    pub rules: Vec<AuditRule>,
}

/// A rate under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRate {
    /// Its name: `tpmC`.
    pub name: String,
    /// What it counts.
    pub help: String,
    /// The rate.
    pub value: f64,
    /// Of the most that the workload's pace allows, 0 to 1; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRule {
    /// Where it stands.
    pub clause: String,
    /// What it is about.
    pub label: String,
    /// Unit of value and bounds.
    pub unit: String,
    /// What was measured.
    pub value: Option<f64>,
    /// At least.
    pub low: Option<f64>,
    /// At most.
    pub high: Option<f64>,
    /// How many were counted.
    pub samples: u64,
    /// How many it takes.
    pub samples_needed: u64,
    /// The verdict.
    pub verdict: AuditVerdict,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    /// The value lies in its band.
    Holds,
    /// It does not.
    Broken,
    /// Nothing can be said.
    TooFew,
}

impl AuditFinding {
    /// How many rules have this verdict.
    pub fn count(&self, verdict: AuditVerdict) -> usize {
        self.rules.iter().filter(|rule| rule.verdict == verdict).count()
    }
}
