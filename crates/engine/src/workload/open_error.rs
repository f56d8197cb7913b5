//! Why a worker has no session.

use crate::client;
use crate::recorder::{EventError, EventErrorKind};

/// Why a worker could not open its session, whatever it talks to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct OpenError {
    /// Who said so.
    pub kind: EventErrorKind,
    /// The server's number, or the operating system's for a connection that could not be made; 0 where there is none.
    pub code: u16,
    /// In words.
    pub text: String,
}

impl From<client::Error> for OpenError {
    fn from(error: client::Error) -> OpenError {
        let EventError { kind, code } = error.to_event_error();
        OpenError { kind, code, text: error.to_string() }
    }
}
