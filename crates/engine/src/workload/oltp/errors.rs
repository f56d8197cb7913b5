//! The option that says which errors an event outlives, and what is said of one that ended a load.

use crate::recorder::{EventError, EventErrorKind};

/// The option.
pub(super) const OPTION: &str = "mysql-ignore-errors";

/// Why a load ended that an error ended: its number, its text, its statement.
pub(super) fn describe_failure(error: EventError, text: &str, sql: &str) -> String {
    match error.kind {
        EventErrorKind::Server | EventErrorKind::Check => {
            format!("error {} ({text}) for query '{sql}'", error.code)
        }
        EventErrorKind::Lost => {
            format!("error 2013 (Lost connection to server during query) for query '{sql}'")
        }
        EventErrorKind::Protocol => format!("error 2027 (Malformed packet) for query '{sql}'"),
    }
}
