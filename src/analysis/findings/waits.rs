//! What the server waited for, and how quiet the machine was.

/// Waits of one instrument in one load; times are seconds.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Longest, seconds.
    pub max_s: Option<f64>,
    /// Smallest step of the server's clock, seconds; no time is more exact.
    pub tick_s: Option<f64>,
    /// `rows` or `summary`.
    pub source: String,
    /// Share of the waits whose rows were read, 0 to 1.
    pub coverage: Option<f64>,
    /// Lock objects behind it.
    pub objects: Option<u64>,
    /// What limits it, in words.
    pub notes: Vec<String>,
}

/// How quiet the machine was.
#[derive(Clone, Debug, PartialEq)]
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
    /// `ok`, `note`, `warn`, `void`.
    pub level: &'static str,
    /// What it means and what to do, in words; empty if all is well.
    pub remedy: String,
}

/// One check of `--check`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckFinding {
    /// As given.
    pub text: String,
    /// What was measured, in words with its unit.
    pub value: String,
    /// `pass`, `fail`, `unsure`.
    pub verdict: &'static str,
    /// Why, in words.
    pub why: String,
}
