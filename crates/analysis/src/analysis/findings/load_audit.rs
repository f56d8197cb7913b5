//! What a workload's own rules say of a load.

use serde::Serialize;

use crate::recorder::DurationCounts;

/// What they say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditFinding {
    /// What every report of the load says first.
    pub header: String,
    /// Rates under the names that the workload's users know.
    pub rates: Vec<AuditRate>,
    /// Each rule with its verdict.
    pub rules: Vec<AuditRule>,
    /// Classes that have a limit, in the workload's order.
    pub classes: Vec<AuditClass>,
    /// How long what is no event took, how often.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub durations: Vec<DurationCounts>,
}

/// How events of a class ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditClass {
    /// Name of the class.
    pub name: String,
    /// How long its events may take, seconds.
    pub limit_s: f64,
    /// Good events within the limit.
    pub in_time: u64,
    /// Good events beyond it.
    pub late: u64,
    /// Attempts that failed and after which the event was begun again.
    pub restarted: u64,
    /// Events that failed for good.
    pub failed: u64,
    /// Mean response time of the good ones, seconds.
    pub mean_s: Option<f64>,
}

/// Response times of a class in an interval; there was at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTimes {
    /// Its place among the load's classes.
    pub class: usize,
    /// Good events.
    pub events: u64,
    /// 95th percentile, seconds; of however few events.
    pub p95_s: f64,
    /// 99th percentile, seconds; of however few events.
    pub p99_s: f64,
    /// Longest, seconds.
    pub max_s: f64,
}

/// A rate under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRate {
    /// Its name: `tpmC`.
    pub name: String,
    /// What it counts.
    pub help: String,
    /// The class whose good events are what it counts; absent where they are not all of a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// How many there were in the load.
    pub count: u64,
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

impl AuditClass {
    /// Good events.
    pub fn events(&self) -> u64 {
        self.in_time + self.late
    }
}

impl AuditFinding {
    /// The class of this name.
    pub fn class(&self, name: &str) -> Option<&AuditClass> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// How many there were of what this rate counts.
    pub fn rate_count(&self, name: &str) -> Option<u64> {
        self.rates.iter().find(|rate| rate.name == name).map(|rate| rate.count)
    }

    /// How many rules have this verdict.
    pub fn count(&self, verdict: AuditVerdict) -> usize {
        self.rules.iter().filter(|rule| rule.verdict == verdict).count()
    }
}
