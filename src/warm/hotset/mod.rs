//! The hot set: what is hot in a server's pool, hottest first, in a form that outlives the server: lists of pages for
//! the same data files, ranges of keys for any server with the same rows.
//! Never knows: experiments, reports.

mod warmth;

pub use warmth::{HotWarmth, IndexWarmth, Presence, Readiness, Resident, readiness, warmth};

use serde::{Deserialize, Serialize};

/// A hot set as saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotSet {
    /// Version of this form.
    pub format_version: u32,
    /// The server it was taken from.
    pub origin: Origin,
    /// Indexes with hot pages, the hottest first.
    pub indexes: Vec<HotIndex>,
    /// What could not be taken, in words.
    pub notes: Vec<String>,
}

/// The server that a hot set was taken from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// `MariaDB` or `MySQL`.
    pub product: String,
    /// As the server says it.
    pub version: String,
    /// What tells this server from others: its UUID, or host name and port.
    pub server: String,
    /// Seconds since 1970.
    pub saved_unix_s: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of its pool.
    pub pool_pages: u64,
    /// Accesses to pages of its pool per second when saved (`Innodb_buffer_pool_read_requests`); `None` if it was not
    /// watched long enough to tell.
    #[serde(default)]
    pub accesses_per_s: Option<f64>,
}

/// The hot part of one index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotIndex {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The partition; empty if there is none.
    pub partition: String,
    /// The index.
    pub index: String,
    /// InnoDB's numbers of its tablespace and of the index in the origin.
    pub space: u32,
    /// See `space`.
    pub index_id: u64,
    /// Length of the tablespace's file in pages, when saved.
    pub file_pages: u64,
    /// Columns of its key, in order; those of the primary key behind those of a secondary index, if the ranges name them.
    pub key: Vec<String>,
    /// Hot pages, the hottest first: number of the page, and its place in the order of heat of the whole pool, 0 for
    /// the hottest.
    pub pages: Vec<(u32, u64)>,
    /// Ranges of keys that cover the hot leaves, the hottest first; none where keys could not be read.
    pub ranges: Vec<KeyRange>,
    /// Why there are no ranges, if so: `load` then scans the whole index.
    pub whole: Option<String>,
}

/// Keys of leaves that lie side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyRange {
    /// First key, as SQL literals, one per column; empty for "from the begin". `NULL` is a literal too.
    pub low: Vec<String>,
    /// First key of the last leaf: where the leaves are the same, reading from `low` to this key touches all of them and
    /// none behind. The same as `low` if there is one leaf; empty if not known.
    #[serde(default)]
    pub last: Vec<String>,
    /// First key behind the range; empty for "to the end".
    pub high: Vec<String>,
    /// Pages it covers.
    pub pages: u64,
    /// Mean place of its pages in the order of heat.
    pub heat: u64,
}
