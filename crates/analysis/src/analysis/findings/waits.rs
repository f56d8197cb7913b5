//! What the server waited for, and how quiet the machine was.

use serde::Serialize;

use super::Estimate;

/// Waits of one instrument in one load; times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitFinding {
    /// The load, as an index into the trials.
    pub trial: usize,
    /// Its value in a sweep, as text; empty without one.
    pub value: String,
    /// The instrument: `wait/synch/sxlock/innodb/hash_table_locks`.
    pub instrument: String,
    /// The operation, where rows tell: `shared_lock`; empty for all.
    pub operation: String,
    /// Waits counted over the whole load.
    pub count: u64,
    /// Their sum, seconds.
    pub total_s: f64,
    /// Mean, seconds.
    pub average_s: Option<f64>,
    /// Median, seconds; only from rows.
    pub p50_s: Option<f64>,
    /// 90th percentile, seconds; only from rows.
    pub p90_s: Option<f64>,
    /// 99th percentile, seconds; only from rows.
    pub p99_s: Option<f64>,
    /// Longest, seconds; where the server's maximum could not be told from earlier waits, the longest of the rows.
    pub max_s: Option<f64>,
    /// Share of all waiting that the longest 0.1 % of the waits carry, 0 to 1; only from rows.
    pub top_share: Option<f64>,
    /// Smallest step of the server's clock, seconds; no time is more exact.
    pub tick_s: Option<f64>,
    /// The server's seconds by ours, and how far off that may be: 1 if it tells picoseconds indeed.
    #[serde(skip)]
    pub clock: Option<(f64, f64)>,
    /// Where percentiles come from.
    pub source: WaitSource,
    /// Share of the waits whose rows were read, 0 to 1.
    pub coverage: Option<f64>,
    /// Lock objects behind it.
    pub objects: Option<u64>,
    /// Waits for the busiest object by the mean of all objects.
    pub busiest: Option<f64>,
    /// What limits it, in words.
    pub notes: Vec<String>,
}

/// Waits of one instrument in all loads of one variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitGroup {
    /// The variant; empty if there are none.
    pub variant: String,
    /// Its value in a sweep, as text; empty without one.
    pub value: String,
    /// The instrument.
    pub instrument: String,
    /// Loads behind it.
    pub loads: u32,
    /// Mean wait, seconds: the median over the loads, with their range.
    #[serde(rename = "average_s")]
    pub average: Option<(f64, f64, f64)>,
    /// Median wait, seconds: the median over the loads, with their range; only where all have rows.
    #[serde(rename = "p50_s")]
    pub p50: Option<(f64, f64, f64)>,
    /// 99th percentile, seconds: the median over the loads, with their range; only where all have rows.
    #[serde(rename = "p99_s")]
    pub p99: Option<(f64, f64, f64)>,
    /// Waits per second of load, the median over the loads.
    pub waits_per_s: Option<f64>,
    /// Events per second, the median over the loads.
    pub events_per_s: Option<f64>,
    /// Mean wait by that of the first variant, paired by block: 0.8 is a fifth less. `None` for the first variant itself.
    pub ratio: Option<Estimate>,
    /// What follows, in words: `no difference is seen`, ...
    pub words: String,
    /// What limits it, in words, of all loads together.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What gathering waits costs the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitTracingCost {
    /// Server CPU per statement while waits were gathered, by that while not, minus 1, with its interval; 0.05 is 5 % more.
    pub share: Estimate,
    /// Pairs of windows compared.
    pub pairs: usize,
    /// Server CPU per statement without gathering, seconds: median of the windows.
    pub bare_s: Option<f64>,
    /// Server CPU per statement with gathering, seconds: median of the windows.
    pub watched_s: Option<f64>,
    /// What was measured and what follows, in words.
    pub words: String,
}

/// How quiet the machine was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoiseItem {
    /// Its name: `lost_time`, `foreign_cpu`, `steal`.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// When: `before`, `during`, `after`, and of which load.
    pub when: String,
    /// The number.
    pub value: f64,
    /// Its unit: `%`, `ms`, ...
    pub unit: &'static str,
    /// How well it is.
    pub level: HealthLevel,
    /// What it means and what to do, in words; empty if all is well.
    pub remedy: String,
}

/// Where the percentiles of waits come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitSource {
    /// Rows, as good as of all waits.
    Rows,
    /// Rows of a part of them, from all over the load.
    Sample,
    /// No rows that suffice, so there are no percentiles.
    #[default]
    Summary,
}

impl WaitSource {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitSource::Rows => "rows",
            WaitSource::Sample => "sample",
            WaitSource::Summary => "summary",
        }
    }
}

/// How well something is, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthLevel {
    /// As it should be.
    #[default]
    Ok,
    /// Good to know.
    Note,
    /// Numbers may be off.
    Warn,
    /// Numbers mean nothing.
    Void,
}

impl HealthLevel {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            HealthLevel::Ok => "ok",
            HealthLevel::Note => "note",
            HealthLevel::Warn => "warn",
            HealthLevel::Void => "void",
        }
    }
}

/// What became of a check, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckOutcome {
    /// It holds.
    Pass,
    /// The run does not tell.
    Unsure,
    /// It does not hold.
    Fail,
}

impl CheckOutcome {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckOutcome::Pass => "pass",
            CheckOutcome::Unsure => "unsure",
            CheckOutcome::Fail => "fail",
        }
    }
}

/// One check of `--check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckFinding {
    /// As given.
    pub text: String,
    /// What was measured, in words with its unit.
    pub value: String,
    /// What became of it.
    pub verdict: CheckOutcome,
    /// Why, in words.
    pub why: String,
}
