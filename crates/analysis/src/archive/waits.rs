//! `waits.json` of a load: what the server waited for meanwhile, raw. Times are picoseconds, as the server gives them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::probe::waits::{ClockCalibration, GatheredWaits, WaitInstrument, WaitOperation};

/// Name of the file in a load's folder.
pub(super) const FILE: &str = "waits.json";

/// Waits gathered over one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitsRecord {
    /// When counting began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// By instrument.
    pub instruments: Vec<InstrumentRecord>,
    /// How often the ring of rows was read.
    pub drains: u32,
    /// How many of these reads found rows.
    pub drains_with_rows: u32,
    /// Time of all reads of the ring.
    pub drain_ns: u64,
    /// Rows that the ring holds.
    pub ring_rows: Option<u64>,
    /// The tick of the server's clock, as seen in the times.
    pub tick_ps: Option<u64>,
    /// The server's clock against ours: seconds by its times, seconds by ours, seconds that the difference may be off.
    pub calibration_s: Option<(f64, f64, f64)>,
    /// What limits it, in words.
    pub notes: Vec<String>,
}

/// Waits of one instrument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstrumentRecord {
    /// Full name.
    pub name: String,
    /// Waits counted by the server.
    pub count: u64,
    /// Their sum.
    pub sum_ps: u64,
    /// The longest; absent where it may be from before.
    pub max_ps: Option<u64>,
    /// Objects waited for.
    pub objects: u64,
    /// Waits for the busiest of them.
    pub busiest: u64,
    /// Single waits read from the ring, by operation.
    pub operations: Vec<OperationRecord>,
}

/// Single waits of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Its name.
    pub name: String,
    /// Rows read.
    pub rows: u64,
    /// Their sum.
    pub sum_ps: u64,
    /// The longest.
    pub max_ps: u64,
    /// Time and how many took about as long (within 0.1 %), the shortest first.
    pub cells: Vec<(u64, u64)>,
}

impl From<&GatheredWaits> for WaitsRecord {
    fn from(w: &GatheredWaits) -> WaitsRecord {
        let seconds = |c: ClockCalibration| (c.server_s, c.client_s, c.slack_s);
        WaitsRecord {
            began_ns: w.began.0,
            ended_ns: w.ended.0,
            instruments: w.instruments.iter().map(Into::into).collect(),
            drains: w.drains,
            drains_with_rows: w.drains_with_rows,
            drain_ns: w.drain_time.0,
            ring_rows: w.ring_rows,
            tick_ps: w.tick_ps,
            calibration_s: w.calibration.map(seconds),
            notes: w.notes.clone(),
        }
    }
}

impl From<&WaitInstrument> for InstrumentRecord {
    fn from(i: &WaitInstrument) -> InstrumentRecord {
        InstrumentRecord {
            name: i.name.clone(),
            count: i.count,
            sum_ps: i.sum_ps,
            max_ps: i.max_ps,
            objects: i.objects,
            busiest: i.busiest,
            operations: i.operations.iter().map(Into::into).collect(),
        }
    }
}

impl From<&WaitOperation> for OperationRecord {
    fn from(o: &WaitOperation) -> OperationRecord {
        OperationRecord {
            name: o.name.clone(),
            rows: o.rows,
            sum_ps: o.sum_ps,
            max_ps: o.max_ps,
            cells: o.cells.iter().map(|(ps, count)| (*ps, *count)).collect(),
        }
    }
}

impl InstrumentRecord {
    /// Rows read, of all operations.
    pub fn row_count(&self) -> u64 {
        self.operations.iter().map(|operation| operation.rows).sum()
    }

    /// Times of all operations together, as `merged_cells` of one.
    pub fn merged_cells(&self) -> Vec<(u64, u64)> {
        let mut sum = BTreeMap::new();
        for (ps, count) in self.operations.iter().flat_map(|o| &o.cells) {
            *sum.entry(*ps).or_insert(0) += count;
        }
        sum.into_iter().collect()
    }
}

/// The waits of a load, where any were gathered.
pub(super) fn read_waits(dir: &Path, note: &mut impl FnMut(String)) -> Option<WaitsRecord> {
    let text = std::fs::read(dir.join(FILE)).ok()?;
    match serde_json::from_slice(&text) {
        Ok(waits) => Some(waits),
        Err(e) => {
            note(format!("{FILE}: {e}"));
            None
        }
    }
}
