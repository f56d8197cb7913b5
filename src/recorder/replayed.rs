//! What a replay has to tell beyond its events: classes before and after, and what was left out.

use super::{Histogram, new_histogram};

/// What became of a log's statements. Plain sums, so those of several replays add.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Sessions of the log.
    pub sessions: u64,
    /// Most of them at once.
    pub sessions_at_once: u64,
    /// Records read.
    pub records: u64,
    /// Statements sent.
    pub sent: u64,
    /// Sessions whose end was inferred, as the log does not tell it.
    pub ends_inferred: u64,
    /// How uncertain the recorded times are, microseconds: 1,000,000 where the log has whole seconds.
    pub uncertainty_us: u64,
    /// From the first statement sent to the last one by the log's clock, microseconds; 0 where the log has no times.
    pub span_us: u64,
    /// How far behind its schedule each statement began, nanoseconds, whoever was to blame; empty where there is no
    /// schedule of the log's (fast, or at a rate).
    pub lag_ns: Histogram,
    /// The longest lag of the statements that were due in each second of the load, nanoseconds.
    pub lag_by_second_ns: Vec<u64>,
    /// Classes of statements, those that took most time first.
    pub classes: Vec<ReplayedClass>,
    /// What was left out, and why; most first.
    pub left_out: Vec<LeftOut>,
    /// Doubts, in words.
    pub notes: Vec<String>,
}

impl Default for Replayed {
    fn default() -> Replayed {
        Replayed {
            sessions: 0,
            sessions_at_once: 0,
            records: 0,
            sent: 0,
            ends_inferred: 0,
            uncertainty_us: 0,
            span_us: 0,
            lag_ns: new_histogram(),
            lag_by_second_ns: Vec::new(),
            classes: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// One class of statements, before (as recorded) and after (as replayed).
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedClass {
    /// What its statements have in common.
    pub digest: String,
    /// One of them, without secrets.
    pub example: String,
    /// How many were sent.
    pub count: u64,
    /// Those that ended in an error in both.
    pub errors_in_both: u64,
    /// Those that ended in an error only now, or for which the log does not tell, and none was ever seen before.
    pub errors_new: u64,
    /// Those that ended in an error only when recorded.
    pub errors_gone: u64,
    /// Number of the first new error, and what the server said.
    pub first_error: Option<(u16, String)>,
    /// Statements whose number of rows could be compared.
    pub rows_compared: u64,
    /// Those of them with another number of rows.
    pub rows_differing: u64,
    /// Times as recorded, nanoseconds; empty where the log has none.
    pub recorded_ns: Histogram,
    /// Service times now, nanoseconds.
    pub replayed_ns: Histogram,
    /// Batches of statements in the order sent: count, and the sum of ln(replayed / recorded).
    pub batches: Vec<(u64, f64)>,
}

impl Default for ReplayedClass {
    fn default() -> ReplayedClass {
        ReplayedClass {
            digest: String::new(),
            example: String::new(),
            count: 0,
            errors_in_both: 0,
            errors_new: 0,
            errors_gone: 0,
            first_error: None,
            rows_compared: 0,
            rows_differing: 0,
            recorded_ns: new_histogram(),
            replayed_ns: new_histogram(),
            batches: Vec::new(),
        }
    }
}

/// Statements left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// One of them: its line, and the statement without secrets, cut.
    pub example: Option<(u64, String)>,
}
