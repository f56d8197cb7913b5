//! What can go wrong between us and a server, told apart.

use crate::recorder::{ErrorKind, EventError};

/// An error of a target.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be made.
    #[error("connect to {address}: {why}")]
    Connect {
        /// Where.
        address: String,
        /// Why, with what to do if known.
        why: String,
        /// The operating system's number, 0 if none.
        code: u16,
    },
    /// The server refused the login.
    #[error("log in to {address} as {user}: {code} {text}")]
    Login {
        /// Where.
        address: String,
        /// As whom.
        user: String,
        /// The server's number.
        code: u16,
        /// The server's words.
        text: String,
    },
    /// The server answered with an error.
    #[error("server error {code} ({state}): {text}")]
    Server {
        /// The server's number.
        code: u16,
        /// SQLSTATE.
        state: String,
        /// The server's words.
        text: String,
    },
    /// The connection is gone.
    #[error("connection lost: {why}")]
    Lost {
        /// Why.
        why: String,
        /// The operating system's number, 0 if none.
        code: u16,
    },
    /// The bytes made no sense.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// We gave up waiting because we were told to stop.
    #[error("stopped while waiting for the server")]
    Abandoned,
    /// TLS could not be set up as asked, or a file for it could not be read.
    #[error("TLS: {0}")]
    Tls(String),
}

impl Error {
    /// As the hot path carries it.
    pub fn event_error(&self) -> EventError {
        let (kind, code) = match self {
            Error::Connect { code, .. } | Error::Lost { code, .. } => (ErrorKind::Lost, *code),
            Error::Login { code, .. } | Error::Server { code, .. } => (ErrorKind::Server, *code),
            Error::Abandoned => (ErrorKind::Lost, 0),
            Error::Protocol(_) | Error::Tls(_) => (ErrorKind::Protocol, 0),
        };
        EventError { kind, code }
    }
}
