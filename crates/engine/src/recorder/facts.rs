//! What findings must know of a workload and can't read from what it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::distribution::DistributionOptions;

/// What a workload declares of itself, from its options; kept with the load, so that nobody who reads a run has to know
/// the workload's name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadFacts {
    /// Every read finds exactly one row: rows that are missing were not there.
    pub one_row_per_read: bool,
    /// How keys are drawn; `None` where none are, or where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyChoice>,
    /// Rows that the load may ask for, all tables together; `None` where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How often the same statements are run; `None` where each event draws its own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<StatementRepeats>,
    /// How recorded traffic is sent again; `None` where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFacts>,
    /// Its events are due when it says, not when the one before has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_own_pace: bool,
    /// Amounts that were asked for, by the names under which the run's facts show them: `rows`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub amounts: BTreeMap<String, u64>,
}

/// How the keys of statements are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyChoice {
    /// All equally often.
    Even,
    /// Drawn from a distribution.
    Drawn {
        /// Its name, one of `Distribution::NAMES`.
        distribution: String,
        /// Its shape.
        shape: DistributionOptions,
        /// Keys of one table.
        rows: u64,
    },
}

/// How often the same statements are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRepeats {
    /// How often they are run through; `None` for without end.
    pub passes: Option<u64>,
    /// All workers share one pass, as opposed to one each.
    pub shared: bool,
}

/// How recorded traffic is sent again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayFacts {
    /// When statements begin.
    pub timing: ReplayTiming,
    /// What becomes of statements that write, as plans say it.
    pub writes: String,
}

/// When the statements of a replay begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayTiming {
    /// As far apart as recorded, so many times as fast.
    Recorded {
        /// 1 for as recorded, 2 for twice as fast.
        speed: f64,
    },
    /// Each session's statements one right after the other.
    Fast,
    /// When the load's arrival says.
    Arrival,
}
