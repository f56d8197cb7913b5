//! Heads of HTTP/1 requests, and answers without a stream: what `sweat ship`, `sweat warm follow` and the live page share.
//! Pure but for the socket that a head is read from.

use std::io::{self, Read};

use super::http_status::status_phrase;
use super::{Clock, Nanos, Secret, Stop};

/// Bytes of the longest head.
const MOST_HEAD: usize = 8 << 10;
/// Fields of the longest head.
const MOST_FIELDS: usize = 64;
/// How long a handshake and a head may take to come, however slowly their bytes do.
pub const HEAD_TIME: Nanos = Nanos(5_000_000_000);
/// How long a peer has to leave after an answer.
pub const DRAIN_TIME: Nanos = Nanos(1_000_000_000);

/// A head that was read.
#[derive(Clone, Debug)]
pub struct RequestHead<'h> {
    /// `GET` and the like.
    pub method: &'h str,
    /// What is asked for, without its query.
    pub path: &'h str,
    /// What stands behind the `?`; empty if there is none.
    pub query: &'h str,
    /// Whether it is HTTP/1.1, which has chunks.
    pub is_version_11: bool,
    fields: Vec<(&'h str, &'h [u8])>,
}

impl<'h> RequestHead<'h> {
    /// Reads a head.
    ///
    /// # Errors
    /// When it is none, or has too many fields.
    pub fn parse(head: &'h [u8]) -> Result<RequestHead<'h>, HttpError> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => {
                let why = format!("a head has at most {MOST_FIELDS} fields");
                return Err(HttpError::new(431, why));
            }
            _ => return Err(HttpError::new(400, "this is not an HTTP request head")),
        }
        // Who is in between may have read the other one (RFC 9112, 3.2).
        let hosts = parsed.headers.iter().filter(|f| f.name.eq_ignore_ascii_case("host"));
        if hosts.count() > 1 {
            return Err(HttpError::new(400, "a head names its Host once"));
        }
        let whole = parsed.path.unwrap_or_default();
        let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
        Ok(RequestHead {
            method: parsed.method.unwrap_or_default(),
            path,
            query,
            is_version_11: parsed.version == Some(1),
            fields: parsed.headers.iter().map(|field| (field.name, field.value)).collect(),
        })
    }

    /// The first field of this name, however it is written.
    pub fn field(&self, name: &str) -> Option<&'h [u8]> {
        let found = self.fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }

    /// Whether it shows this token as a bearer.
    pub fn has_bearer(&self, token: &Secret) -> bool {
        let given = self.field("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
        given.is_some_and(|given| constant_time_eq(given.trim_ascii(), token.reveal().as_bytes()))
    }

    /// The value of a word of the query.
    pub fn query_value(&self, name: &str) -> Option<&'h str> {
        let words = self.query.split('&').filter_map(|word| word.split_once('='));
        words.into_iter().find(|(word, _)| *word == name).map(|(_, value)| value)
    }
}

/// A refusal: its number, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    /// The status.
    pub code: u16,
    why: String,
}

impl HttpError {
    /// A refusal with this status; `why` is a line for people.
    pub fn new(code: u16, why: impl Into<String>) -> HttpError {
        HttpError { code, why: why.into() }
    }

    /// The whole answer.
    pub fn to_response(&self) -> String {
        self.to_response_with("")
    }

    /// The whole answer, with more fields, each with its line end.
    pub fn to_response_with(&self, fields: &str) -> String {
        let HttpError { code, why } = self;
        let name = match status_phrase(*code) {
            "" => "Service Unavailable",
            known => known,
        };
        let more = match code {
            401 => "WWW-Authenticate: Bearer\r\n",
            405 => "Allow: GET\r\n",
            503 => "Retry-After: 5\r\n",
            _ => "",
        };
        let more = format!("{more}{fields}");
        format_response(&format!("{code} {name}"), "text/plain", &more, &format!("{why}\n"))
    }
}

/// An answer with a body.
pub fn format_response(status: &str, kind: &str, more: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Reads a head. The socket gives `WouldBlock` or `TimedOut` when nothing comes for a while. `None` where the peer left
/// without a word.
///
/// # Errors
/// When it is too long, comes too slowly, or has no end.
pub fn read_head(
    peer: &mut dyn Read,
    clock: &impl Clock,
    until: Nanos,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Vec<u8>>, HttpError> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while memchr::memmem::find(&head, b"\r\n\r\n").is_none() {
        if head.len() > MOST_HEAD {
            return Err(HttpError::new(431, format!("a head has at most {MOST_HEAD} bytes")));
        }
        if clock.now() > until || !goes_on() {
            return Err(HttpError::new(408, "the request head did not arrive in time"));
        }
        match peer.read(&mut piece) {
            Ok(0) if head.is_empty() => return Ok(None),
            Ok(0) => return Err(HttpError::new(400, "the request head is incomplete")),
            Ok(read) => head.extend_from_slice(&piece[..read]),
            Err(e) if is_pause(&e) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(head))
}

/// Takes what a peer still sends after it got its answer, until it leaves, or a second is over: closing before would take the
/// answer away from it. The socket gives `WouldBlock` or `TimedOut` when nothing comes for a while.
pub fn drain_peer(peer: &mut dyn Read, clock: &impl Clock, stop: &Stop) {
    let until = clock.now() + DRAIN_TIME;
    let mut piece = [0; 4096];
    while clock.now() < until && !stop.is_set() {
        match peer.read(&mut piece) {
            Ok(1..) => {}
            Err(e) if is_pause(&e) => {}
            _ => return,
        }
    }
}

/// Whether a socket only has nothing just now.
pub fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Compares in a time that tells nothing of the texts but their lengths.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::SimClock;
    use proptest::prelude::*;

    #[test]
    fn a_head_is_taken_apart() {
        let text = b"GET /a/b?x=1&t=s HTTP/1.1\r\nhost: h\r\nAuthorization: Bearer  abc\r\n\r\n";
        let head = RequestHead::parse(text).unwrap();
        assert_eq!((head.method, head.path, head.query), ("GET", "/a/b", "x=1&t=s"));
        assert_eq!((head.query_value("t"), head.query_value("y")), (Some("s"), None));
        assert_eq!(head.field("Host"), Some(&b"h"[..]));
        assert!(head.is_version_11 && head.has_bearer(&Secret::new("abc")));
        assert!(!head.has_bearer(&Secret::new("abd")));
        assert_eq!(RequestHead::parse(b"hello\r\n\r\n").map(drop).map_err(|e| e.code), Err(400));
    }

    #[test]
    fn a_head_that_drips_or_has_no_end_is_refused() {
        struct Drip(SimClock, u64);
        impl Read for Drip {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.0.advance(Nanos(self.1));
                out[0] = b'x';
                Ok(1)
            }
        }
        let clock = SimClock::default();
        let slowly =
            read_head(&mut Drip(clock.clone(), 1_000_000_000), &clock, HEAD_TIME, &|| true);
        assert_eq!(slowly.map_err(|refused| refused.code), Err(408));
        let clock = SimClock::default();
        let fast = read_head(&mut Drip(clock.clone(), 1), &clock, HEAD_TIME, &|| true);
        assert_eq!(fast.map_err(|refused| refused.code), Err(431));
        let cut = read_head(&mut &b"GET / HTTP"[..], &clock, HEAD_TIME, &|| true);
        assert_eq!(cut.map_err(|refused| refused.code), Err(400));
        assert_eq!(read_head(&mut &b""[..], &clock, HEAD_TIME, &|| true), Ok(None));
    }

    proptest! {
        #[test]
        fn no_head_breaks_it(text: Vec<u8>, words: String) {
            let _ = RequestHead::parse(&text);
            let line = format!("GET /?{words} HTTP/1.1\r\n\r\n");
            if let Ok(head) = RequestHead::parse(line.as_bytes()) {
                let _ = head.query_value("t");
            }
        }
    }
}
