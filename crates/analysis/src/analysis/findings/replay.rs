//! What came of a replay: its schedule, its classes before and after, and what was left out.

use serde::Serialize;

use super::{LatencySummary, MetricComparison};

/// The replays of one variant, added up. Times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayFinding {
    /// The variant; empty if there is only one.
    pub variant: String,
    /// Its loads, as indexes into the trials.
    pub trials: Vec<usize>,
    /// Sessions of the log.
    pub sessions: u64,
    /// Most of them at once.
    pub sessions_at_once: u64,
    /// Records read.
    pub records: u64,
    /// Statements sent.
    pub sent: u64,
    /// Sessions whose end was inferred.
    pub ends_inferred: u64,
    /// From the first statement sent to the last by the log's clock; `None` where it has no times.
    pub span_s: Option<f64>,
    /// How far off the log's times may be.
    pub uncertainty_s: f64,
    /// How times went by: `as recorded`, `as recorded, 2x`, or the arrival of the load.
    pub timing: String,
    /// What became of writes: `drop`, `where`, `probe`, `execute`.
    pub writes: String,
    /// How far behind its schedule statements began; without events where there is no schedule of the log's.
    pub lag: LatencySummary,
    /// The same as a histogram: statements up to this lag and beyond the one before; the last has no bound.
    pub lag_bins: Vec<(Option<f64>, u64)>,
    /// The longest lag of each second of the load.
    pub lag_by_second: Vec<f64>,
    /// When it was behind its schedule, if ever.
    pub behind: Option<ScheduleLag>,
    /// Errors: as recorded, new, gone.
    pub errors: [u64; 3],
    /// Statements whose number of rows could be compared.
    pub rows_compared: u64,
    /// Those of them with another number of rows.
    pub rows_differing: u64,
    /// Classes of statements, those that took most time first.
    pub classes: Vec<ReplayClassFinding>,
    /// Records that were left out, in all.
    pub left_out: u64,
    /// Why; most first.
    #[serde(skip)]
    pub reasons: Vec<LeftOutFinding>,
    /// The way to the server and back with next to nothing to do there, where it was measured.
    pub round_trip_s: Option<f64>,
    /// Caveats, in words.
    pub notes: Vec<String>,
}

/// When a replay was behind its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScheduleLag {
    /// First second of the load in which a statement began too late, seconds since its start.
    pub from_s: f64,
    /// Seconds of the load in which one did.
    pub seconds: u64,
    /// Seconds of the load in all.
    pub of_seconds: u64,
    /// Whether it was still behind in the last one.
    pub at_end: bool,
    /// The longest lag.
    pub longest_s: f64,
    /// Share of the statements that began too late.
    pub share: f64,
}

/// One class of statements, as recorded and as replayed. Times are service times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayClassFinding {
    /// What its statements have in common.
    pub digest: String,
    /// One of them, without secrets.
    pub example: String,
    /// How many were sent.
    #[serde(rename = "sent")]
    pub count: u64,
    /// Its share of the time of all, as replayed.
    pub share: Option<f64>,
    /// As recorded; without events where the log has no times.
    pub recorded: LatencySummary,
    /// As replayed.
    pub replayed: LatencySummary,
    /// Errors: as recorded, new, gone.
    pub errors: [u64; 3],
    /// Number and text of the first new error.
    #[serde(skip)]
    pub first_error: Option<(u16, String)>,
    /// Statements whose number of rows could be compared.
    pub rows_compared: u64,
    /// Those of them with another number of rows.
    pub rows_differing: u64,
    /// Replayed against recorded, statement by statement; its blocks are batches of them. `None` without recorded times.
    pub change: Option<MetricComparison>,
}

/// Records left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutFinding {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// Line of the log on which one of them stands, and its text without secrets, cut.
    pub example: Option<(u64, String)>,
}

/// One class of statements in two variants, or two replays, of the same log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayChange {
    /// What its statements have in common.
    pub digest: String,
    /// Service times in the base.
    pub base: LatencySummary,
    /// Service times in the other.
    pub variant: LatencySummary,
    /// New errors in the base and in the other: those that the recording did not have.
    #[serde(skip)]
    pub errors_new: (u64, u64),
    /// The other against the base.
    pub change: MetricComparison,
}
