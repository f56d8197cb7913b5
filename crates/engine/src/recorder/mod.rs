//! What happened: counts, histograms and errors of events, gathered without locks on the workers' path.
//!
//! Each thread of the driver has a lane that only it writes ([`ShardWriter`]); the [`Recorder`] reads all lanes at each
//! interval and takes differences. Histograms add: all have the same layout.
//! Never knows: SQL, workloads, files, printing.

mod atomic_histogram;
mod audit;
mod collect;
mod crash_rounds;
mod data_verdicts;
mod exchange;
mod facts;
mod figures;
mod replay_totals;
mod shard;
mod slots;
mod sparse;
#[cfg(test)]
mod tests;
mod types;

pub use audit::{AuditBand, AuditCount, DurationCounts, LatencyLimit, LoadAudit, NamedRate};
pub use collect::{LoadEnding, Recorder};
pub use crash_rounds::{CrashRound, LedgerBalance};
pub use data_verdicts::{BrokenRow, DataState, DataVerdict, DataVerdicts};
pub use exchange::{ExchangeFault, ExchangeSample, ExchangeSamples};
pub use facts::{KeyChoice, ReplayFacts, ReplayTiming, StatementRepeats, WorkloadFacts};
pub use figures::{FigureSeries, MeasuredCost, MeasuredFigures};
pub use replay_totals::{LeftOut, ReplayTotals, ReplayedClass};
pub use shard::ShardWriter;
pub use sparse::SparseHistogram;
pub use types::{
    ClassId, ClassTotals, CounterSpec, DIGITS, ErrorCount, EventError, EventErrorKind,
    EventOutcome, EventRecord, HIGHEST_NS, Histogram, Interval, LOWEST_NS, MOST_COUNTERS,
    Recording, StepId, StepLatency, StepTotals, Tally, UnopenedWorker, WorkerTotals,
    empty_histogram, new_histogram,
};
