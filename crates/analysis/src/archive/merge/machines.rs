//! `machines.json`: which machines ran the shares of a merged load, and what each of them measured.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::hlog;
use super::super::share::ShareRecord;
use super::super::types::RunState;
use crate::recorder::SparseHistogram;

/// Name of the file.
pub(in super::super) const NAME: &str = "machines.json";

/// Which machines ran a merged load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRecord {
    /// One for each share that is there, by its number.
    pub machines: Vec<MachineRecord>,
    /// Shares that are not there, as typed: `3/3`, with the reason where it is known: `3/3 (agent c: ...)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// One machine of a merged load. Times are on the merged run's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// The host's name.
    pub name: String,
    /// What of the load it ran.
    pub share: ShareRecord,
    /// The load of a run of several, by its id; empty where the run is that one load.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Name of its run.
    pub run: String,
    /// Where its own run folder is kept, whole, below the merged one.
    pub folder: String,
    /// `kernel`, `cpus`, `memory_bytes`, `cpu`, ...
    pub host: BTreeMap<String, String>,
    /// How far its run came.
    pub state: RunState,
    /// Why it did not come further.
    pub why: Option<String>,
    /// What of its folder could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<String>,
    /// Why its run alone is void, when it was merged: caveats with their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub voids: Vec<String>,
    /// What was added to its times, by the wall time of its clock's origin, in whole hundredths of a second.
    pub shift_ns: u64,
    /// How far its clock may have been from that of the coordinator whose agent it was, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
    /// When its load began, to the nanosecond: `shift_ns` is rounded, and not in this.
    pub began_ns: u64,
    /// When its load ended, likewise.
    pub ended_ns: u64,
    /// Workers.
    pub workers: usize,
    /// Good events.
    pub events: u64,
    /// Failed events.
    pub failed: u64,
    /// Intervals that were read.
    pub intervals: usize,
    /// Its CPU time, user mode.
    pub cpu_user_ns: u64,
    /// Its CPU time, kernel mode.
    pub cpu_system_ns: u64,
    /// Response times of good events, all classes together.
    #[serde(serialize_with = "write_histogram", deserialize_with = "read_histogram")]
    pub response: SparseHistogram,
    /// Lateness of its own making.
    #[serde(serialize_with = "write_histogram", deserialize_with = "read_histogram")]
    pub lateness: SparseHistogram,
}

fn write_histogram<S: Serializer>(histogram: &SparseHistogram, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hlog::hdr_base64(histogram))
}

fn read_histogram<'de, D: Deserializer<'de>>(from: D) -> Result<SparseHistogram, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        return Ok(SparseHistogram::default());
    }
    hlog::parse_hdr_base64(&text).map_err(serde::de::Error::custom)
}

/// Which machines ran the load; `None` where one machine ran all of it.
pub(in super::super) fn read_machines(dir: &Path, damage: &mut Vec<String>) -> Option<MergeRecord> {
    // Only a merged run has them.
    let text = std::fs::read(dir.join(NAME)).ok()?;
    let read = serde_json::from_slice(&text);
    read.map_err(|e| damage.push(format!("{NAME}: {e}"))).ok()
}
