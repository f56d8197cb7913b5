//! What can go wrong between us and a server, told apart.

use crate::client::transport::TlsSetupError;
use crate::recorder::{EventError, EventErrorKind};

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
    #[error("log in to {address} as {user}: {}{text}", code_prefix(*code))]
    Login {
        /// Where.
        address: String,
        /// As whom.
        user: String,
        /// The server's number, 0 if the refusal is our own.
        code: u16,
        /// The server's words, or ours.
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
    /// No TLS with this server.
    #[error("TLS: {0}")]
    Tls(String),
    /// What was asked of TLS does not fit together, or a file for it can't be read: no server was asked.
    #[error("TLS: {0}")]
    TlsSetup(String),
}

impl From<TlsSetupError> for Error {
    fn from(error: TlsSetupError) -> Error {
        Error::TlsSetup(error.0)
    }
}

/// The server's number before its words; none stands for our own.
fn code_prefix(code: u16) -> String {
    if code == 0 { String::new() } else { format!("{code} ") }
}

/// Whether a server's error means that the same transaction may well succeed if it is run again: lock wait
/// time-out, deadlock, row changed under a snapshot (MariaDB), and conflicts in a cluster.
pub fn is_retryable(code: u16) -> bool {
    matches!(code, 1020 | 1205 | 1213 | 1614 | 3101 | 3572)
}

/// The operating system's number for a time that is over.
const TIMED_OUT: u16 = rustix::io::Errno::TIMEDOUT.raw_os_error() as u16;

impl Error {
    /// Whether we went away from a server that may still be at the statement.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(self, Error::Abandoned | Error::Lost { code: TIMED_OUT, .. })
    }
    /// The server's number, if the server said it.
    pub fn server_code(&self) -> Option<u16> {
        match self {
            Error::Login { code, .. } | Error::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Login { code: 1045, .. } => Some("check user and password (-u, -p)"),
            Error::Login { code: 1044, .. } => {
                Some("grant the account rights on this database, or name another (-D)")
            }
            Error::Login { code: 1049, .. } => Some("create the database, or name another (-D)"),
            Error::Login { code: 1698, .. } => Some(
                "this account logs in as the system's user: run sweat as that user, or connect \
                 through the socket",
            ),
            Error::Login { code: 1040 | 1203 | 1226, .. } => {
                Some("the server allows no more connections: max_connections, max_user_connections")
            }
            Error::Lost { code: TIMED_OUT, .. } => Some(
                "the server is frozen or overloaded, or the network to it is down; \
                 --control-timeout sets how long sweat waits for an answer",
            ),
            Error::Login { code: 1129 | 1130, .. } => Some("the server refuses this host"),
            Error::Server { code: 1227 | 1142 | 1044, .. } => {
                Some("grant it, or name another account (-u)")
            }
            Error::Server { code: 1461, .. } => {
                Some("raise max_prepared_stmt_count: each session needs one per statement")
            }
            Error::Server { code: 1153, .. } => Some("raise max_allowed_packet on the server"),
            Error::Server { code: 1148 | 3948 | 4166, .. } => {
                Some("set local_infile=ON on the server")
            }
            _ => None,
        }
    }
    /// As the hot path carries it.
    pub fn to_event_error(&self) -> EventError {
        let (kind, code) = match self {
            Error::Connect { code, .. } | Error::Lost { code, .. } => (EventErrorKind::Lost, *code),
            Error::Login { code, .. } | Error::Server { code, .. } => {
                (EventErrorKind::Server, *code)
            }
            Error::Abandoned => (EventErrorKind::Lost, 0),
            Error::Protocol(_) | Error::Tls(_) | Error::TlsSetup(_) => {
                (EventErrorKind::Protocol, 0)
            }
        };
        EventError { kind, code }
    }
}
