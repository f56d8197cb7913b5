//! What happened: counts, histograms and errors of events, gathered without locks on the workers' path.
//!
//! Each thread of the driver has a lane that only it writes ([`Writer`]); the [`Recorder`] reads all lanes at each
//! interval and takes differences. Histograms add: all have the same layout.
//! Never knows: SQL, workloads, files, printing.

mod cells;
mod collect;
mod lane;
mod replayed;
mod slots;
mod sparse;
#[cfg(test)]
mod tests;
mod types;

pub use collect::{Ending, Recorder};
pub use lane::Writer;
pub use replayed::{LeftOut, Replayed, ReplayedClass};
pub use sparse::SparseHistogram;
pub use types::{
    ClassId, ClassTotals, DIGITS, ErrorCount, ErrorKind, EventError, HIGHEST_NS, Histogram,
    Interval, LOWEST_NS, Outcome, Record, Recording, Tally, Unopened, new_histogram,
};
