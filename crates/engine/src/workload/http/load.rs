//! What a load of requests sends, and what is expected of replies, as data.

use std::path::Path;
use std::time::Duration;

use crate::base::Secret;
use crate::client::{HttpUrl, OriginSetup};
use crate::plan::Mistake;

/// What is sent.
#[derive(Clone, Debug)]
pub struct HttpLoad {
    /// The URLs; each event asks for one of them.
    pub urls: Vec<HttpUrl>,
    /// The method.
    pub method: String,
    /// Fields beside the usual ones, `Name: value`.
    pub fields: Vec<Secret>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Whether requests are of HTTP/1.0.
    pub is_http10: bool,
    /// Whether requests are of HTTP/2.
    pub is_http2: bool,
    /// How many workers share a connection of HTTP/2, each with a stream of its own.
    pub streams: usize,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// Most redirects that are followed of one request; 0 for none.
    pub redirects: u32,
    /// Whether each worker keeps cookies.
    pub cookies: bool,
    /// Whether bodies may come compressed.
    pub compressed: bool,
    /// URLs in turn instead of by chance.
    pub in_turn: bool,
    /// Longest time to connect, and longest time from a request to the end of its reply.
    pub timeout: Duration,
    /// Longest body of a reply, bytes.
    pub most_body: u64,
    /// What replies are held against.
    pub checks: HttpChecks,
    /// Where to connect to.
    pub setup: OriginSetup,
    /// Whether certificates are verified, as `setup` was made.
    pub verifies: bool,
    /// Whether the check before the load connects to each place.
    pub tries_first: bool,
    /// Whether each event is kept by itself, for programs that print them so.
    pub keeps_samples: bool,
}

impl HttpLoad {
    /// GET requests to these URLs, over connections that are kept.
    pub fn new(urls: Vec<HttpUrl>) -> HttpLoad {
        HttpLoad {
            urls,
            method: "GET".to_owned(),
            fields: Vec::new(),
            body: None,
            is_http10: false,
            is_http2: false,
            streams: 1,
            keep_alive: true,
            redirects: 0,
            cookies: false,
            compressed: false,
            in_turn: false,
            timeout: Duration::from_secs(30),
            most_body: 1 << 30,
            checks: HttpChecks::default(),
            setup: OriginSetup::default(),
            verifies: true,
            tries_first: true,
            keeps_samples: false,
        }
    }

    /// What a reader of a run should know of it.
    pub(super) fn load_note(&self) -> Option<String> {
        let is_unverified = !self.verifies && self.urls.iter().any(|url| url.is_tls);
        is_unverified.then(|| "the servers' certificates are not verified".to_owned())
    }

    /// Whether replies say what is sent next, or are decoded: then requests are made one by one.
    pub(super) fn looks_into_replies(&self) -> bool {
        self.redirects > 0 || self.cookies || self.compressed && self.checks.checksum
    }
}

/// What replies are held against. A status from 400 is an error unless it is among those expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpChecks {
    /// Statuses; any below 400 if there are none.
    pub status: Vec<StatusRange>,
    /// Length of the body.
    pub size: SizeCheck,
    /// Whether the body must be that of the first reply of its URL.
    pub checksum: bool,
}

/// Statuses from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange(pub u16, pub u16);

impl StatusRange {
    /// Reads a list: `200`, `2xx`, `200-299,304`.
    ///
    /// # Errors
    /// The part that is none.
    pub fn read_list(text: &str) -> Result<Vec<StatusRange>, String> {
        let range = |part: &str| {
            let number = |text: &str| {
                let number = text.parse().ok();
                number.filter(|number| (100..=999).contains(number) && text.len() == 3)
            };
            if let Some(digit) = part.strip_suffix("xx") {
                let first: Option<u16> = number(&format!("{digit}00"));
                return first.map(|first| StatusRange(first, first + 99));
            }
            match part.split_once('-') {
                None => number(part).map(|one| StatusRange(one, one)),
                Some((low, high)) => {
                    let range = StatusRange(number(low)?, number(high)?);
                    Some(range).filter(|range| range.0 <= range.1)
                }
            }
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| range(part).ok_or_else(|| part.to_owned())).collect()
    }

    /// Whether a status is among those expected; any below 400 where none are named.
    pub(super) fn accepts(expected: &[StatusRange], status: u16) -> bool {
        match expected.is_empty() {
            true => status < 400,
            false => expected.iter().any(|range| (range.0..=range.1).contains(&status)),
        }
    }
}

/// What is asked of a body's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeCheck {
    /// Nothing.
    #[default]
    Any,
    /// As in the first reply of its URL.
    AsFirst,
    /// Bytes from and to.
    Between(u64, u64),
}

impl SizeCheck {
    /// Reads `same`, `612` or `100-2000`.
    pub(super) fn from_text(text: &str) -> Option<SizeCheck> {
        if text == "same" {
            return Some(SizeCheck::AsFirst);
        }
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low <= high).then_some(SizeCheck::Between(low, high))
    }
}

/// Reads a list of URLs: one in each line; empty lines and those that begin with `#` are passed over.
///
/// # Errors
/// What can't be read, with its line.
pub fn read_url_list(path: &Path) -> Result<Vec<HttpUrl>, Mistake> {
    let place = |line: usize| format!("{} line {line}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|error| Mistake::new(path.display().to_string(), error.to_string()))?;
    let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(n, line)| {
            let url = HttpUrl::from_text(line);
            url.map_err(|why| Mistake::new(place(n), why).hint("as in http://localhost:8080/"))
        })
        .collect()
}
