//! What can go wrong between a request and the end of its reply, told apart.

use std::fmt;
use std::time::Duration;

use rustix::io::Errno;

use crate::base::units::show_time;
use crate::client::transport::TransportError;
use crate::recorder::{EventError, EventErrorKind};

/// Why an exchange did not come to its end. The connection is of no use afterwards.
#[derive(Debug)]
pub struct HttpFault(pub(super) FaultCause);

/// The causes.
#[derive(Debug)]
pub(super) enum FaultCause {
    /// No connection could be made.
    Connect(TransportError),
    /// Bytes don't come or go.
    Transport(TransportError),
    /// The server closed the connection before the reply's end; whether any of it had come.
    Closed { received: bool },
    /// The bytes are no reply.
    Malformed(&'static str),
    /// The host's name can't be one of a certificate.
    NoTlsName,
}

/// Codes of protocol errors.
const MALFORMED: u16 = 1;
const TLS: u16 = 2;

impl HttpFault {
    /// Whether the server may have ended a connection at rest just as it was used again: nothing of a reply came.
    pub fn is_stale_connection(&self) -> bool {
        match &self.0 {
            FaultCause::Closed { received } => !received,
            FaultCause::Transport(TransportError::Os(errno)) => {
                matches!(*errno, Errno::PIPE | Errno::CONNRESET)
            }
            _ => false,
        }
    }

    /// Whether no connection could be made.
    pub fn is_connect(&self) -> bool {
        matches!(self.0, FaultCause::Connect(_) | FaultCause::NoTlsName)
    }

    /// Whether the time allowed was over.
    pub fn is_timeout(&self) -> bool {
        let (FaultCause::Connect(fault) | FaultCause::Transport(fault)) = &self.0 else {
            return false;
        };
        matches!(fault, TransportError::TimedOut(_) | TransportError::Silent(_))
    }

    /// As the hot path carries it.
    pub fn to_event_error(&self) -> EventError {
        let lost = |code| EventError { kind: EventErrorKind::Lost, code };
        let protocol = |code| EventError { kind: EventErrorKind::Protocol, code };
        match &self.0 {
            FaultCause::Connect(fault) | FaultCause::Transport(fault) => match fault {
                TransportError::Closed | TransportError::Abandoned => lost(0),
                TransportError::Os(errno) => lost(errno.raw_os_error() as u16),
                TransportError::TimedOut(_) | TransportError::Silent(_) => {
                    lost(Errno::TIMEDOUT.raw_os_error() as u16)
                }
                TransportError::Tls(_) => protocol(TLS),
            },
            FaultCause::Closed { .. } => lost(0),
            FaultCause::Malformed(_) => protocol(MALFORMED),
            FaultCause::NoTlsName => protocol(TLS),
        }
    }
}

impl From<TransportError> for HttpFault {
    fn from(fault: TransportError) -> HttpFault {
        HttpFault(FaultCause::Transport(fault))
    }
}

fn silence_text(f: &mut fmt::Formatter<'_>, time: Duration) -> fmt::Result {
    write!(f, "no end of the reply within {}", show_time(time))
}

/// What TLS has against the server, in words where the library's own don't help.
fn tls_text(error: &rustls::Error) -> String {
    let text = error.to_string();
    if text.contains("UnknownIssuer") {
        return "the certificate comes from an authority that is not known here; --ca names a file \
                of authorities"
            .to_owned();
    }
    text
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            FaultCause::Connect(fault) => match fault {
                TransportError::Closed => write!(f, "connect: the server closed the connection"),
                TransportError::Os(Errno::CONNREFUSED) => {
                    write!(f, "connection refused: no server listens there")
                }
                TransportError::Os(Errno::NOENT) => write!(f, "connect: there is no such socket"),
                TransportError::Os(errno) => {
                    write!(f, "connect: {}", std::io::Error::from(*errno))
                }
                TransportError::TimedOut(time) | TransportError::Silent(time) => {
                    write!(f, "connect: no answer within {}", show_time(*time))
                }
                TransportError::Tls(error) => write!(f, "TLS: {}", tls_text(error)),
                TransportError::Abandoned => write!(f, "given up"),
            },
            FaultCause::Transport(fault) => match fault {
                TransportError::Closed => write!(f, "the server closed the connection"),
                TransportError::Os(errno) => write!(f, "{}", std::io::Error::from(*errno)),
                TransportError::TimedOut(time) | TransportError::Silent(time) => {
                    silence_text(f, *time)
                }
                TransportError::Tls(error) => write!(f, "TLS: {}", tls_text(error)),
                TransportError::Abandoned => write!(f, "given up"),
            },
            FaultCause::Closed { received: true } => {
                write!(f, "the server closed the connection in the middle of the reply")
            }
            FaultCause::Closed { received: false } => {
                write!(f, "the server closed the connection without a reply")
            }
            FaultCause::Malformed(why) => write!(f, "not a valid reply: {why}"),
            FaultCause::NoTlsName => {
                write!(f, "TLS: the host is not a name that a certificate can hold")
            }
        }
    }
}
