//! What can be done with the data of some workloads, beside making, loading and removing them; what of them a load reaches.

/// One such deed, as a workload offers it.
#[derive(Clone, Copy, Debug)]
pub struct DataAction {
    /// Its word on the command line.
    pub name: &'static str,
    /// One line for the help.
    pub help: &'static str,
    /// What is done.
    pub deed: DataDeed,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDeed {
    /// The data are held against their rules.
    Check,
    /// Stepped sessions show how far transactions are kept apart.
    Isolation,
    /// The server of a sandbox is killed in the middle of a load, and its data are looked at once it is back.
    Crash,
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
