//! What a reader of a log asks for.

use super::mark::{LogMark, percent_decode};
use super::stream::SessionSample;
use super::watcher::StartPosition;
use crate::base::Secret;
use crate::base::http_head::{HttpError, RequestHead};
use crate::base::zstd_codec::{HAS_ZSTD, WITHOUT_ZSTD};

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

/// Too many readers.
pub(super) fn too_many_readers(most: usize) -> HttpError {
    HttpError::new(503, format!("already serving {most} readers"))
}

/// What a head asks for.
///
/// # Errors
/// When it is no head, or asks for what is not there.
pub fn parse_request(head: &[u8], token: Option<&Secret>) -> Result<HttpRequest, HttpError> {
    let parsed = RequestHead::parse(head)?;
    if token.is_some_and(|token| !parsed.has_bearer(token)) {
        return Err(HttpError::new(401, "the token is missing or wrong"));
    }
    if parsed.method != "GET" {
        return Err(HttpError::new(405, "only GET is supported"));
    }
    match parsed.path {
        // Chunks are of HTTP/1.1.
        "/slow" if !parsed.is_version_11 => Err(HttpError::new(505, "this server speaks HTTP/1.1")),
        "/slow" => {
            let takes_zstd = HAS_ZSTD && parsed.field("accept-encoding").is_some_and(accepts_zstd);
            Ok(HttpRequest::Slow(parse_query(parsed.query, takes_zstd)?))
        }
        "/status" => Ok(HttpRequest::Status),
        "/metrics" => Ok(HttpRequest::Metrics),
        _ => Ok(HttpRequest::Other),
    }
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
        let wrong = |what: &str| HttpError::new(400, format!("{name} is {what}"));
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
                    return Err(HttpError::new(400, WITHOUT_ZSTD));
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
    use proptest::prelude::*;

    fn of(line: &str, fields: &str) -> Result<HttpRequest, u16> {
        let head = format!("{line}\r\nHost: x\r\n{fields}\r\n");
        parse_request(head.as_bytes(), None).map_err(|refused| refused.code)
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
            parse_request(head.as_bytes(), Some(&token)).map_err(|refused| refused.code)
        };
        assert_eq!(with("Bearer abc"), Ok(HttpRequest::Status));
        for wrong in ["Bearer abd", "Bearer ab", "Bearer ", "abc", "Basic abc"] {
            assert_eq!(with(wrong), Err(401), "{wrong}");
        }
        assert_eq!(
            parse_request(b"GET /status HTTP/1.1\r\n\r\n", Some(&token)).map_err(|r| r.code),
            Err(401)
        );
    }

    proptest! {
        #[test]
        fn no_head_breaks_it(text: Vec<u8>, words: String) {
            let _ = parse_request(&text, None);
            let _ = of(&format!("GET /slow?{words} HTTP/1.1"), "");
        }
    }
}
