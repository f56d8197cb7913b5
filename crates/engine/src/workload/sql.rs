//! What workloads that send SQL count: the list that a workload has unless it names another.

use crate::client::ROWS_COUNTER;
use crate::recorder::CounterSpec;

/// Statements that read.
pub const READS: usize = 0;
/// Statements that changed data.
pub const WRITES: usize = 1;
/// Other statements (BEGIN, COMMIT, SET).
pub const OTHER: usize = 2;
/// Rows received; sessions count them.
pub const ROWS: usize = ROWS_COUNTER;

/// The counters, each at its index.
pub const COUNTERS: &[CounterSpec] = &[
    CounterSpec { name: "reads", unit: "statements" },
    CounterSpec { name: "writes", unit: "statements" },
    CounterSpec { name: "other", unit: "statements" },
    CounterSpec { name: "rows", unit: "rows" },
];

const _: () = assert!(ROWS == 3 && COUNTERS.len() == 4, "indices and list belong together");
