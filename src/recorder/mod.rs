//! What happened: counts, histograms and errors of events, gathered without locks on the workers' path.
//! Never knows: SQL, workloads, files, printing.

mod types;

pub use types::{
    ClassId, ClassTotals, ErrorCount, ErrorKind, EventError, Histogram, Interval, Outcome, Record,
    Recording, Tally, Unopened, new_histogram,
};
