//! The hot set: what is hot in a server's pool, hottest first, in a form that outlives the server: lists of pages for
//! the same data files, ranges of keys for any server with the same rows.
//! Never knows: experiments, reports.
//!
//! Order: place 0 is the hottest page of the pool. Keys are literals of SQL that mean the same on every server,
//! in sessions whose time zone is `+00:00`; see [`KeyRange`] for what a range holds.

mod file;
pub mod ibd;
mod literal;
mod order;
mod range;
mod residency;
mod restore;
mod save;
mod warmth;

pub use file::{FORMAT_VERSION, check_writable, read_hot_set, write_hot_set};
pub use literal::{KeyLiteral, KeyLiteralError};
pub use order::rank_correlation;
pub use range::{all_conditions, range_condition};
pub use residency::{ResidencyOptions, read_residency};
pub use restore::HotSetStrategy;
pub use save::{SaveLimit, SaveOutcome, SavePlan, save_hot_set};
pub use warmth::{
    FailoverReadiness, HotWarmth, IndexPresence, IndexWarmth, PoolResidency, assess_readiness,
    compute_warmth,
};

use serde::{Deserialize, Serialize};

/// A hot set as saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotSet {
    /// Version of this form.
    pub format_version: u32,
    /// The server it was taken from.
    pub origin: HotSetOrigin,
    /// Indexes with hot pages, the hottest first.
    pub indexes: Vec<HotIndex>,
    /// What could not be taken, in words.
    pub notes: Vec<String>,
}

/// The server that a hot set was taken from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HotSetOrigin {
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
    /// Columns of its key, in order: those of a secondary index are followed by the primary key's.
    pub key: Vec<KeyColumn>,
    /// Whether this is the index that holds the rows.
    #[serde(default)]
    pub clustered: bool,
    /// Pages of the whole index, leaves and others, as far as known; 0 if not.
    #[serde(default)]
    pub index_pages: u64,
    /// Hot pages, the hottest first: number of the page, and its place in the order of heat of the whole pool, 0 for
    /// the hottest.
    #[serde(with = "file::pages")]
    pub pages: Vec<(u32, u64)>,
    /// Ranges of keys that cover the hot leaves, the hottest first; none where keys could not be read.
    pub ranges: Vec<KeyRange>,
    /// Why there are no ranges, if so: `load` then scans the whole index.
    pub whole: Option<String>,
}

/// A column of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// Its type as the origin says it: `int(11) unsigned`, `varchar(64)`.
    #[serde(rename = "type")]
    pub sql_type: String,
    /// The collation of text: the order of keys is that of the origin's collation.
    #[serde(default)]
    pub collation: Option<String>,
    /// Whether values may be NULL; NULL comes before everything else.
    #[serde(default)]
    pub nullable: bool,
    /// Whether the index runs from the largest to the smallest value of this column.
    #[serde(default)]
    pub descending: bool,
}

/// Keys from `low`, which is part of it, to `high`, which is the first key behind it, in the order of the index.
/// A bound may have fewer values than the key has columns: it then stands for all keys that begin with these values,
/// so a short `low` begins before the first of them and a short `high` ends behind the last of them. No values at
/// all: from the begin of the index, to its end. [`range_condition`] says it in SQL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyRange {
    /// First key, one value per column.
    #[serde(deserialize_with = "literal::bound")]
    pub low: Vec<KeyLiteral>,
    /// First key of the last leaf: where the leaves are the same, reading from `low` to this key touches all of them and
    /// none behind. The same as `low` if there is one leaf; empty if not known.
    #[serde(default, deserialize_with = "literal::bound")]
    pub last: Vec<KeyLiteral>,
    /// First key behind the range.
    #[serde(deserialize_with = "literal::bound")]
    pub high: Vec<KeyLiteral>,
    /// Leaves it covers: those that were hot, and a few between them.
    pub pages: u64,
    /// Mean place of its hot pages in the order of heat.
    pub heat: u64,
}
