//! The three lines that a server writes when it opens a log.

use crate::capture::{ParseStep, SkipReason};

/// Whether the three lines begin here that a server writes when it opens a log. `None` where the text is too short.
pub(super) fn starts_banner(rest: &[u8], is_all: bool) -> Option<bool> {
    const FIRST: &[u8] = b"started with:";
    match memchr::memchr(b'\n', rest) {
        Some(end) => Some(
            rest[..end].trim_ascii_end().ends_with(FIRST)
                && memchr::memmem::find(&rest[..end], b", Version: ").is_some(),
        ),
        None if is_all || rest.len() > 1_000 => Some(false),
        None => None,
    }
}

/// Where a banner begins that a text ends in, if it does. What was cut may stand before it on its first line.
pub(super) fn banner_before(text: &[u8]) -> Option<usize> {
    let mut ends = memchr::memrchr_iter(b'\n', text);
    let (third, second, first) = (ends.next()?, ends.next()?, ends.next()?);
    let from = ends.next().map_or(0, |end| end + 1);
    let is_banner = text[second..third].trim_ascii_end().ends_with(b"Argument")
        && text[first + 1..].starts_with(b"Tcp port: ")
        && starts_banner(&text[from..], true) == Some(true);
    is_banner.then_some(from)
}

/// What stands here, if it is a banner.
pub(in crate::capture) fn parse_banner<'t>(
    text: &[u8],
    at: usize,
    is_all: bool,
) -> Option<ParseStep<'t>> {
    let rest = &text[at..];
    if rest.first() == Some(&b'#') {
        return None;
    }
    match starts_banner(rest, is_all) {
        Some(false) => None,
        None => Some(ParseStep::More),
        Some(true) => {
            let mut ends = memchr::memchr_iter(b'\n', rest);
            match ends.nth(2) {
                Some(end) => Some(ParseStep::Skipped(at + end + 1, SkipReason::Banner)),
                None if is_all => Some(ParseStep::Skipped(text.len(), SkipReason::Banner)),
                None => Some(ParseStep::More),
            }
        }
    }
}
