//! Heads of HTTP: what a reader asks for, and answers without a stream. Pure but for the socket it reads from.

use std::io::{self, Read};

use super::mark::{LogMark, percent_decode};
use super::stream::SessionSample;
use super::watcher::StartPosition;
use crate::base::zstd_codec::{HAS_ZSTD, WITHOUT_ZSTD};
use crate::base::{Clock, Nanos, Secret};

/// Bytes of the longest head.
const MOST_HEAD: usize = 8 << 10;
/// Fields of the longest head.
const MOST_FIELDS: usize = 64;
/// How long a handshake and a head may take to come, however slowly their bytes do.
pub(super) const HEAD_TIME: Nanos = Nanos(5_000_000_000);

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpRequest {
    /// The log.
    Slow(StreamRequest),
    /// What goes on, as JSON.
    Status,
    /// The same as OpenMetrics.
    Metrics,
    /// Something that is not here.
    Other,
}

/// How the log is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRequest {
    pub(super) from: StartPosition,
    pub(super) sessions: SessionSample,
    /// Whether chunks tell where they end, and some say that we are still there.
    pub(super) has_marks: bool,
    pub(super) is_packed: bool,
}

/// A refusal: its number, its name, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError(pub(super) u16, &'static str, String);

fn http_error(code: u16, why: impl Into<String>) -> HttpError {
    let name = match code {
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Service Unavailable",
    };
    HttpError(code, name, why.into())
}

/// Too many readers.
pub(super) fn too_many_readers(most: usize) -> HttpError {
    http_error(503, format!("already serving {most} readers"))
}

impl HttpError {
    /// The whole answer.
    pub fn to_response(&self) -> String {
        let HttpError(code, name, why) = self;
        let more = match code {
            401 => "WWW-Authenticate: Bearer\r\n",
            405 => "Allow: GET\r\n",
            503 => "Retry-After: 5\r\n",
            _ => "",
        };
        format_response(&format!("{code} {name}"), "text/plain", more, &format!("{why}\n"))
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

/// The answer to whom it is not here that they look for.
pub fn not_found(why: &str) -> HttpError {
    http_error(404, why)
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
            return Err(http_error(431, format!("a head has at most {MOST_HEAD} bytes")));
        }
        if clock.now() > until || !goes_on() {
            return Err(http_error(408, "the request head did not arrive in time"));
        }
        match peer.read(&mut piece) {
            Ok(0) if head.is_empty() => return Ok(None),
            Ok(0) => return Err(http_error(400, "the request head is incomplete")),
            Ok(read) => head.extend_from_slice(&piece[..read]),
            Err(e) if is_pause(&e) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(head))
}

/// Whether a socket only has nothing just now.
pub(super) fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// What a head asks for.
///
/// # Errors
/// When it is no head, or asks for what is not there.
pub fn parse_request(head: &[u8], token: Option<&Secret>) -> Result<HttpRequest, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(http_error(431, format!("a head has at most {MOST_FIELDS} fields")));
        }
        _ => return Err(http_error(400, "this is not an HTTP request head")),
    }
    let field = |name: &str| {
        let found = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| field.value)
    };
    if let Some(token) = token {
        let given = field("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
        if !given
            .is_some_and(|given| constant_time_eq(given.trim_ascii(), token.reveal().as_bytes()))
        {
            return Err(http_error(401, "the token is missing or wrong"));
        }
    }
    if parsed.method != Some("GET") {
        return Err(http_error(405, "only GET is supported"));
    }
    let path = parsed.path.unwrap_or_default();
    let (path, words) = path.split_once('?').unwrap_or((path, ""));
    match path {
        // Chunks are of HTTP/1.1.
        "/slow" if parsed.version != Some(1) => Err(http_error(505, "this server speaks HTTP/1.1")),
        "/slow" => {
            let takes_zstd = HAS_ZSTD && field("accept-encoding").is_some_and(accepts_zstd);
            Ok(HttpRequest::Slow(parse_query(words, takes_zstd)?))
        }
        "/status" => Ok(HttpRequest::Status),
        "/metrics" => Ok(HttpRequest::Metrics),
        _ => Ok(HttpRequest::Other),
    }
}

/// Compares in a time that tells nothing of the texts but their lengths.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// `gzip, zstd;q=0.5`
fn accepts_zstd(value: &[u8]) -> bool {
    let value = String::from_utf8_lossy(value).to_ascii_lowercase();
    value.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        name.trim() == "zstd" && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

/// `rate_limit=10&from=MARK&marks=1&zstd=1`
fn parse_query(words: &str, takes_zstd: bool) -> Result<StreamRequest, HttpError> {
    let mut wanted = StreamRequest {
        from: StartPosition::Now,
        sessions: SessionSample::All,
        has_marks: false,
        is_packed: takes_zstd,
    };
    for word in words.split('&').filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let wrong = |what: &str| http_error(400, format!("{name} is {what}"));
        let is_yes = || match value {
            "1" | "yes" | "true" => Ok(true),
            "0" | "no" | "false" => Ok(false),
            _ => Err(wrong("0 or 1")),
        };
        match name {
            "rate_limit" => {
                let n: u64 = value.parse().map_err(|_| wrong("a whole number from 1"))?;
                wanted.sessions = match n {
                    0 => return Err(wrong("a whole number from 1")),
                    1 => SessionSample::All,
                    n => SessionSample::OneOf(n),
                };
            }
            "sample" => {
                let share: f64 = value.parse().map_err(|_| wrong("a share like 0.1"))?;
                if !(share > 0.0 && share <= 1.0) {
                    return Err(wrong("a share above 0 and up to 1"));
                }
                wanted.sessions =
                    if share < 1.0 { SessionSample::Share(share) } else { SessionSample::All };
            }
            "from" => {
                let mark =
                    if value == "begin" { Some(StartPosition::Begin) } else { parse_start(value) };
                wanted.from =
                    mark.ok_or_else(|| wrong("a mark from the head of a chunk, or begin"))?;
            }
            "marks" => wanted.has_marks = is_yes()?,
            "zstd" => {
                wanted.is_packed = is_yes()?;
                if wanted.is_packed && !HAS_ZSTD {
                    return Err(http_error(400, WITHOUT_ZSTD));
                }
            }
            // Others may be told apart by those who read the words elsewhere.
            _ => {}
        }
    }
    Ok(wanted)
}

/// A mark as it was given, or with its `%` written as URLs have it.
fn parse_start(value: &str) -> Option<StartPosition> {
    let of = |text: &str| text.parse::<LogMark>().ok().map(StartPosition::Mark);
    if value.contains("%25") {
        let once = String::from_utf8(percent_decode(value)?).ok()?;
        return of(&once);
    }
    of(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::SimClock;
    use proptest::prelude::*;

    fn of(line: &str, fields: &str) -> Result<HttpRequest, u16> {
        let head = format!("{line}\r\nHost: x\r\n{fields}\r\n");
        parse_request(head.as_bytes(), None).map_err(|refused| refused.0)
    }

    fn slow(words: &str) -> Result<StreamRequest, u16> {
        match of(&format!("GET /slow{words} HTTP/1.1"), "")? {
            HttpRequest::Slow(wanted) => Ok(wanted),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_asked_for_is_understood_or_refused() {
        assert_eq!(of("GET /status HTTP/1.1", ""), Ok(HttpRequest::Status));
        assert_eq!(of("GET /metrics?x HTTP/1.1", ""), Ok(HttpRequest::Metrics));
        assert_eq!(of("GET / HTTP/1.1", ""), Ok(HttpRequest::Other));
        assert_eq!(of("GET /metrics HTTP/1.0", ""), Ok(HttpRequest::Metrics));
        assert_eq!(of("POST /slow HTTP/1.1", ""), Err(405));
        assert_eq!(of("GET /slow HTTP/1.0", ""), Err(505));
        assert_eq!(of("GET /slow", ""), Err(400));
        assert_eq!(of("GET /slow HTTP/1.1", &"a: b\r\n".repeat(100)), Err(431));
        let plain = slow("").unwrap();
        assert_eq!(
            (plain.from, plain.is_packed, plain.has_marks),
            (StartPosition::Now, false, false)
        );
        assert_eq!(slow("?rate_limit=10").unwrap().sessions, SessionSample::OneOf(10));
        assert_eq!(slow("?rate_limit=1&sample=0.25").unwrap().sessions, SessionSample::Share(0.25));
        assert_eq!(slow("?from=begin&marks=1").unwrap().from, StartPosition::Begin);
        for wrong in ["rate_limit=0", "rate_limit=x", "sample=2", "sample=0", "from=1", "zstd=2"] {
            assert_eq!(slow(&format!("?{wrong}")), Err(400), "{wrong}");
        }
        let packed = |fields| match of("GET /slow HTTP/1.1", fields) {
            Ok(HttpRequest::Slow(wanted)) => wanted.is_packed,
            other => panic!("{other:?}"),
        };
        assert_eq!(packed("Accept-Encoding: gzip, zstd\r\n"), HAS_ZSTD);
        assert_eq!(slow("?zstd").is_ok_and(|wanted| wanted.is_packed), HAS_ZSTD);
        assert!(!packed("Accept-Encoding: gzip, zstd;q=0\r\n"));
    }

    #[test]
    fn the_token_must_be_right() {
        let token = Secret::new("abc");
        let with = |value: &str| {
            let head = format!("GET /status HTTP/1.1\r\nAuthorization: {value}\r\n\r\n");
            parse_request(head.as_bytes(), Some(&token)).map_err(|refused| refused.0)
        };
        assert_eq!(with("Bearer abc"), Ok(HttpRequest::Status));
        for wrong in ["Bearer abd", "Bearer ab", "Bearer ", "abc", "Basic abc"] {
            assert_eq!(with(wrong), Err(401), "{wrong}");
        }
        assert_eq!(
            parse_request(b"GET /status HTTP/1.1\r\n\r\n", Some(&token)).map_err(|r| r.0),
            Err(401)
        );
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
        assert_eq!(slowly.map_err(|refused| refused.0), Err(408));
        let clock = SimClock::default();
        let fast = read_head(&mut Drip(clock.clone(), 1), &clock, HEAD_TIME, &|| true);
        assert_eq!(fast.map_err(|refused| refused.0), Err(431));
        let cut = read_head(&mut &b"GET / HTTP"[..], &clock, HEAD_TIME, &|| true);
        assert_eq!(cut.map_err(|refused| refused.0), Err(400));
        assert_eq!(read_head(&mut &b""[..], &clock, HEAD_TIME, &|| true), Ok(None));
    }

    proptest! {
        #[test]
        fn no_head_breaks_it(text: Vec<u8>, words: String) {
            let _ = parse_request(&text, None);
            let _ = of(&format!("GET /slow?{words} HTTP/1.1"), "");
        }
    }
}
