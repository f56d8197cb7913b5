//! How much of its data a load uses.

use std::time::Duration;

/// A quantity of a workload's data, in steps of one, with which its load grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadScale {
    /// What is counted, as users name it: `warehouses`.
    pub name: &'static str,
    /// How long a load takes until it is as large as its scale says.
    pub settle: Duration,
}

/// What of its tables a load reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct DataReach {
    /// The first table, in words.
    pub table: String,
    /// Rows of a table that the load may touch.
    pub rows: u64,
    /// Rows of the largest table.
    pub rows_there: u64,
    /// Share of the rows of all tables, 0 to 1.
    pub share: f64,
    /// Options that say as much, for those that nobody gave.
    pub options: Vec<(String, String)>,
}
