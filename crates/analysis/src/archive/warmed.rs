//! What warming did, as a step's record keeps it.

use serde::{Deserialize, Serialize};

/// What warming did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarmedRecord {
    /// Strategy.
    pub strategy: String,
    /// How long it took.
    pub seconds: f64,
    /// Pages in the pool before.
    pub pages_before: u64,
    /// Pages in the pool after.
    pub pages_after: u64,
    /// Pages read from disk meanwhile.
    pub pages_read: u64,
    /// Bytes read from disk meanwhile.
    pub bytes_read: u64,
    /// What was left out, in words.
    pub notes: Vec<String>,
}
