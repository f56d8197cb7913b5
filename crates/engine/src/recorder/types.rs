//! The words of the record.

use super::{LoadAudit, MeasuredFigures, SparseHistogram};
use crate::base::{Nanos, StopReason};

/// A latency histogram; all of them have the bounds and digits of [`new_histogram`], so that they add.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// Lowest latency told apart, in nanoseconds.
pub const LOWEST_NS: u64 = 1;
/// Highest latency kept: one hour, in nanoseconds. Longer ones count as this and are flagged.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;

/// An empty histogram with the bounds that all of ours share.
pub fn new_histogram() -> Histogram {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid")
}

/// An empty histogram of the same layout in a few KB, where others take a quarter of a MiB: for what stays empty. It grows when
/// another one is added to it, and takes no values itself.
pub fn empty_histogram() -> Histogram {
    Histogram::new(DIGITS).expect("constant digits are valid")
}

/// Index into the workload's list of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u16);

/// What went wrong in an event, as the hot path carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventError {
    /// Who said so.
    pub kind: EventErrorKind,
    /// The server's error number, or the operating system's for a lost connection; 0 where there is none.
    pub code: u16,
}

/// The ways to fail, kept apart everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventErrorKind {
    /// The server answered with an error; the session lives on.
    Server,
    /// The connection is gone.
    Lost,
    /// The bytes made no sense; the session is not usable any more.
    Protocol,
    /// The server answered, and the answer was not what it must be: a row is missing, or one too many was changed. The session
    /// lives on; the code is the workload's own.
    Check,
}

impl EventErrorKind {
    /// Whether the session is of no use any more.
    pub fn ends_session(self) -> bool {
        matches!(self, EventErrorKind::Lost | EventErrorKind::Protocol)
    }
}

/// How an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventOutcome {
    /// Its class.
    pub class: ClassId,
    /// What went wrong, if anything.
    pub error: Option<EventError>,
}

/// One event. Response time = ended - intended, service time = ended - started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Class and error.
    pub outcome: EventOutcome,
    /// When the arrival wanted it to begin.
    pub intended: Nanos,
    /// When it began.
    pub started: Nanos,
    /// When it ended.
    pub ended: Nanos,
}

/// Most counters that a workload may name.
pub const MOST_COUNTERS: usize = 6;

/// Something that a workload counts: its place in the workload's list is its index in [`Tally::counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterSpec {
    /// Name in run folders and reports.
    pub name: &'static str,
    /// What is counted: `statements`, `rows`.
    pub unit: &'static str,
}

/// What an event did besides taking time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By the workload's list of counters; what is beyond its end stays 0.
    pub counts: [u64; MOST_COUNTERS],
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        for (count, by) in self.counts.iter_mut().zip(other.counts) {
            *count += by;
        }
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
    }
}

/// Errors of one class and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    /// Class of the event.
    pub class: ClassId,
    /// What went wrong.
    pub error: EventError,
    /// How often.
    pub count: u64,
    /// The first text the server sent for it.
    pub first_text: String,
}

/// Histograms and counts of one class.
#[derive(Clone, Debug, Default)]
pub struct ClassTotals {
    /// Events that ended without an error.
    pub response: SparseHistogram,
    /// The same events, from their real start.
    pub service: SparseHistogram,
    /// Response times of events that failed: never mixed with the others.
    pub failed: SparseHistogram,
}

/// A step inside events (a statement, a connect, a first byte): an index into the names that the workload gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(pub u16);

/// How long one step inside an event took. It is no event: rates, totals and percentiles of events don't know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLatency {
    /// Which step.
    pub step: StepId,
    /// How long it took.
    pub time: Nanos,
    /// Whether it ended in an error.
    pub failed: bool,
}

/// Histograms of one step inside events.
#[derive(Clone, Debug, Default)]
pub struct StepTotals {
    /// Steps that ended without an error.
    pub latency: SparseHistogram,
    /// Steps that failed: never mixed with the others.
    pub failed: SparseHistogram,
}

/// What one worker did since its load began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTotals {
    /// Events that ended, with or without an error.
    pub events: u64,
    /// Sum of their response times.
    pub time: Nanos,
}

/// What happened between two looks of the collector; intervals add up to the recording.
#[derive(Clone, Debug)]
pub struct Interval {
    /// When the interval began, on the run's clock.
    pub began: Nanos,
    /// When it really ended: rates divide by the real length.
    pub ended: Nanos,
    /// One entry per class of the workload.
    pub classes: Vec<ClassTotals>,
    /// One entry per step inside events that the workload names.
    pub steps: Vec<StepTotals>,
    /// How late events began for reasons of our own: a session was free and the arrival was due.
    pub lateness: SparseHistogram,
    /// What the workload counts.
    pub counters: &'static [CounterSpec],
    /// How often, and bytes.
    pub tally: Tally,
    /// Sessions opened anew after a lost connection.
    pub reconnects: u64,
    /// Workers inside an event at the end of the interval.
    pub in_flight: u64,
    /// Open loop: arrivals due and not yet begun at the end of the interval.
    pub backlog: u64,
    /// Open loop, in the last interval and in the sum: how long the arrivals that were due and never began had waited,
    /// so how long their response times would have been at least.
    pub unbegun: SparseHistogram,
    /// Events that ended, with or without an error, in each hundredth of a second of the run's clock that the interval
    /// touches: the first is the one that holds `began`, neighbours share one. Empty in the sum of intervals.
    pub slots: Vec<u32>,
    /// What each worker did from the start of the load to the end of the interval. Run folders do not keep it.
    pub worker_totals: Vec<WorkerTotals>,
}

impl Interval {
    /// A stretch of time in which nothing happened.
    pub fn empty(began: Nanos, ended: Nanos) -> Interval {
        Interval {
            began,
            ended,
            classes: Vec::new(),
            steps: Vec::new(),
            lateness: SparseHistogram::default(),
            counters: &[],
            tally: Tally::default(),
            reconnects: 0,
            in_flight: 0,
            backlog: 0,
            unbegun: SparseHistogram::default(),
            slots: Vec::new(),
            worker_totals: Vec::new(),
        }
    }
    /// Events that ended without an error, over all classes.
    pub fn event_count(&self) -> u64 {
        self.classes.iter().map(|c| c.response.len()).sum()
    }
    /// Events that failed, over all classes.
    pub fn error_count(&self) -> u64 {
        self.classes.iter().map(|c| c.failed.len()).sum()
    }
    /// Response times of all classes together.
    pub fn response_times(&self) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        self.classes.iter().for_each(|class| all.add(&class.response));
        all
    }
    /// Length in seconds.
    pub fn length_s(&self) -> f64 {
        self.ended.since(self.began).to_seconds()
    }
}

/// A worker that could not open its session when the load began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnopenedWorker {
    /// Which worker, 0-based.
    pub worker: usize,
    /// The cause.
    pub why: String,
}

/// A whole load: the sum of its intervals, and how it ended.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Names of the classes; `ClassId` indexes them.
    pub class_names: Vec<String>,
    /// Names of the steps inside events; `StepId` indexes them.
    pub step_names: Vec<String>,
    /// What steps turned out to be, where that shows only in the load: `select c from sbtest1 where id=?`.
    pub step_labels: Vec<String>,
    /// Sum of all intervals, with the first start and the last end.
    pub total: Interval,
    /// Errors by class and code.
    pub errors: Vec<ErrorCount>,
    /// Why it ended.
    pub reason: StopReason,
    /// Attempts at events that failed and after which the same event was begun again: among those that failed.
    pub restarts: u64,
    /// Longest time that a worker was without a session that it had lost and then had again, nanoseconds.
    pub longest_outage_ns: u64,
    /// Events clipped at the histogram's upper bound.
    pub clipped: u64,
    /// Events still under way when the load was abandoned.
    pub abandoned: u64,
    /// Workers asked for.
    pub workers: usize,
    /// Workers that could not open their session and therefore ran nothing.
    pub unopened: Vec<UnopenedWorker>,
    /// What broke in sweat itself, if that ended the load: the message of a worker's panic.
    pub failure: Option<String>,
    /// How many workers said the same.
    pub failure_count: usize,
    /// Which engine ran them: `threads` or `reactor`.
    pub engine: &'static str,
    /// CPU time of this process during the load, user mode, nanoseconds.
    pub cpu_user_ns: u64,
    /// The same, kernel mode.
    pub cpu_system_ns: u64,
    /// What the workload's own rules ask of it; added by whoever knows the workload.
    pub audit: Option<LoadAudit>,
    /// What the workload itself measured; added by whoever knows the workload.
    pub figures: Option<MeasuredFigures>,
}
