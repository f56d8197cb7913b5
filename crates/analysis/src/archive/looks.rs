//! What a load cost the server, raw: `looks.jsonl`, counters as intervals of the load ended, and `digests.json`, the
//! statements that the server saw meanwhile.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::types::Counters;
use crate::probe::digests::DigestCounts;

/// Name of the file of counters in a load's folder.
pub(super) const LOOKS_FILE: &str = "looks.jsonl";
/// Name of the file of statements in a load's folder.
pub(super) const DIGESTS_FILE: &str = "digests.json";

/// The server's counters as an interval of the load ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterLook {
    /// When the interval ended: its events and those before are what the counters tell of.
    pub interval_ended_ns: u64,
    /// When the look began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Raw counters.
    pub numbers: Counters,
}

/// Statements of a load by digest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DigestsRecord {
    /// The server's table that they come from.
    pub source: String,
    /// Why there are none, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// What rose over the load, the most frequent first.
    pub statements: Vec<DigestCounts>,
}

/// The looks of a load, where there were any.
pub(super) fn read_looks(dir: &Path, note: &mut impl FnMut(String)) -> Vec<CounterLook> {
    let Ok(text) = std::fs::read(dir.join(LOOKS_FILE)) else { return Vec::new() };
    let (looks, why) = super::reader::parse_json_lines(&text);
    why.into_iter().for_each(|why| note(format!("{LOOKS_FILE} {why}")));
    looks
}

/// The statements of a load, where they were asked for.
pub(super) fn read_digests(dir: &Path, note: &mut impl FnMut(String)) -> Option<DigestsRecord> {
    let text = std::fs::read(dir.join(DIGESTS_FILE)).ok()?;
    let read = serde_json::from_slice(&text);
    read.inspect_err(|e| note(format!("{DIGESTS_FILE}: {e}"))).ok()
}
