//! Waits of a few instruments over one load: counts from the server's summaries, single waits from its ring of rows,
//! read every second before it comes round.
//!
//! All times that performance_schema gives are picoseconds, whatever clock it reads; what it can tell apart is the
//! clock's tick, seen in the times themselves. Raw: nothing here says what a wait means.
//! Never knows: load, percentiles. Start reading at [`WaitGatherer`].

mod gather;
mod ring;

pub use gather::{GatherOptions, WaitGatherer};
pub use ring::{WaitCells, WaitOperation};

use crate::base::Nanos;

/// What was gathered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatheredWaits {
    /// When counting began, on the run's clock.
    pub began: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// By instrument.
    pub instruments: Vec<WaitInstrument>,
    /// How often the ring was read.
    pub drains: u32,
    /// How many of these found rows.
    pub drains_with_rows: u32,
    /// Time of all reads of the ring.
    pub drain_time: Nanos,
    /// Rows that the ring holds.
    pub ring_rows: Option<u64>,
    /// Smallest difference between two times seen, picoseconds.
    pub tick_ps: Option<u64>,
    /// The server's clock against ours.
    pub calibration: Option<ClockCalibration>,
    /// What went wrong, in words.
    pub notes: Vec<String>,
}

/// How far the server's times went between two reads of the ring, and how far our clock did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockCalibration {
    /// By the ends of the newest waits, seconds.
    pub server_s: f64,
    /// By our clock, seconds.
    pub client_s: f64,
    /// How much of the difference the reads themselves may be, seconds.
    pub slack_s: f64,
}

/// One instrument.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitInstrument {
    /// Full name.
    pub name: String,
    /// Waits counted meanwhile.
    pub count: u64,
    /// Their sum, picoseconds.
    pub sum_ps: u64,
    /// The longest, picoseconds; `None` where it may be from before.
    pub max_ps: Option<u64>,
    /// Objects (locks, files) that were waited for.
    pub objects: u64,
    /// Waits for the object with most of them.
    pub busiest: u64,
    /// Single waits read, by operation.
    pub operations: Vec<WaitOperation>,
}
