//! What a log says about its statements.

use serde::Serialize;

/// One class of statements: those that are the same without their literals. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatementClass {
    /// What they have in common.
    pub digest: String,
    /// The slowest of them.
    pub example: String,
    /// The database that the slowest one ran in.
    pub database: Option<String>,
    /// How many.
    pub count: u64,
    /// How many ended in an error, where the log tells.
    pub errors: u64,
    /// All their times together.
    pub total_s: Option<f64>,
    /// Their share of the time of all statements, 0 to 1.
    pub share: Option<f64>,
    /// Median time.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Longest time.
    pub max_s: Option<f64>,
    /// Rows given, all together.
    pub rows_sent: Option<u64>,
    /// Rows looked at, all together.
    pub rows_examined: Option<u64>,
    /// Rows changed, all together.
    pub rows_affected: Option<u64>,
    /// When the first one began, seconds since 1970.
    #[serde(skip)]
    pub first_unix_s: Option<f64>,
    /// When the last one began, seconds since 1970.
    #[serde(skip)]
    pub last_unix_s: Option<f64>,
}

/// What logs say about their statements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatementFindings {
    /// Version of sweat that read.
    pub tool_version: String,
    /// What was read.
    pub sources: Vec<String>,
    /// Bytes read, unpacked.
    pub bytes: u64,
    /// Records of any kind.
    pub records: u64,
    /// Statements among them, those inside stored programs left out.
    pub statements: u64,
    /// Those of them that may be none, but text in a literal of another.
    pub possible: u64,
    /// Time of all statements, seconds.
    pub total_s: Option<f64>,
    /// Classes in all.
    pub classes_in_all: usize,
    /// The classes to show, those that took most time first.
    pub classes: Vec<StatementClass>,
    /// What was left out or is doubtful, in words, with line numbers.
    pub notes: Vec<String>,
}
