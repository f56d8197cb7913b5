//! Which failed events nobody expects.

use super::findings::TrialFinding;
use crate::archive::{ErrorRecord, RecordedErrorKind};

/// Unexpected errors above this share of all events make a run fail.
pub(super) const ERROR_SHARE: f64 = 0.001;
/// Server errors that contention brings about and that programs are built to try again: lock wait timeout,
/// deadlock, record changed since last read.
const EXPECTED_CODES: &[u16] = &[1205, 1213, 1020];

/// Failed events that nobody expects, and their share of all.
pub(super) fn unexpected_errors(trial: &TrialFinding) -> (u64, f64) {
    let expected: u64 = trial.errors.iter().filter(|e| is_expected(e)).map(|e| e.count).sum();
    let unexpected = trial.failed.saturating_sub(expected.max(trial.failed_as_recorded));
    let tried = trial.events + trial.failed;
    (unexpected, if tried == 0 { 0.0 } else { unexpected as f64 / tried as f64 })
}

/// Whether the error is one that programs expect under contention.
pub(super) fn is_expected(error: &ErrorRecord) -> bool {
    error.kind == RecordedErrorKind::Server && EXPECTED_CODES.contains(&error.code)
}
