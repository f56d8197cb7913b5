//! What can go wrong between a request and the end of its reply, told apart.

use std::fmt;
use std::time::Duration;

use rustix::io::Errno;

use super::http2::code_name;
use crate::base::units::show_time;
use crate::client::transport::TransportError;
use crate::recorder::{EventError, EventErrorKind};

/// Why an exchange did not come to its end. The connection is of no use afterwards.
#[derive(Clone, Debug)]
pub struct HttpFault(pub(super) FaultCause);

/// The causes.
#[derive(Clone, Debug)]
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
    /// The server does not speak HTTP/2; how that is known.
    NotHttp2(&'static str),
    /// The server reset the stream, with this code.
    Reset(u32),
    /// The server ended the connection, with this code, and has not looked at the request.
    Unseen(u32),
    /// The server ended the connection, with this code, in the middle of the reply.
    Ended(u32),
}

/// Codes of protocol errors.
const MALFORMED: u16 = 1;
const TLS: u16 = 2;
const NOT_HTTP2: u16 = 3;
/// Codes of HTTP/2 follow on these: of streams that were reset, and of connections that were ended.
const RESET: u16 = 100;
const GOAWAY: u16 = 200;

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

    /// Whether the server says that it has not looked at the request: it can be sent again, whatever it does.
    pub fn is_unseen(&self) -> bool {
        matches!(self.0, FaultCause::Unseen(0))
    }

    /// Whether no connection could be made.
    pub fn is_connect(&self) -> bool {
        matches!(self.0, FaultCause::Connect(_) | FaultCause::NoTlsName | FaultCause::NotHttp2(_))
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
            FaultCause::NotHttp2(_) => protocol(NOT_HTTP2),
            FaultCause::Reset(code) => protocol(RESET + short_code(*code)),
            FaultCause::Unseen(code) | FaultCause::Ended(code) => {
                protocol(GOAWAY + short_code(*code))
            }
        }
    }
}

/// A code of HTTP/2 as far as there is room for it.
fn short_code(code: u32) -> u16 {
    code.min(99) as u16
}

/// Its name, or the number where it has none.
fn code_text(code: u32) -> String {
    code_name(code).map_or_else(|| format!("code {code}"), str::to_owned)
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
            FaultCause::NotHttp2(how) => write!(f, "the server does not speak HTTP/2: {how}"),
            FaultCause::Reset(code) => {
                write!(f, "the server reset the stream: {}", code_text(*code))
            }
            FaultCause::Unseen(code) => {
                let code = code_text(*code);
                write!(f, "the server ended the connection before this request: {code}")
            }
            FaultCause::Ended(code) => {
                let code = code_text(*code);
                write!(f, "the server ended the connection in the middle of the reply: {code}")
            }
        }
    }
}
