//! What a line of a general log begins with.

use super::commands::COMMANDS;
use crate::capture::{EventKind, time};

/// How a log writes its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// `2026-11-21T07:12:06.155357Z\t   27 Query\tselect`: MySQL from 5.7 on.
    Iso,
    /// `261121  7:12:04\t    29 Query\tselect`, later `\t\t    29 Query\tselect`: MySQL from 5.1 on, MariaDB.
    Tabs,
    /// `071007 21:55:24\t     42 Query       select`: MySQL 5.0.
    Padded,
    /// The same without any tab: before.
    Blanks,
}

/// What a line of its own begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinePrefix<'t> {
    pub(super) time_us: Option<u64>,
    pub(super) way: LineFormat,
    pub(super) session: u64,
    pub(super) command: &'t [u8],
    pub(super) kind: EventKind,
    /// Bytes before the argument.
    pub(super) length: usize,
    /// Whether nothing follows the command, not even a blank: then its way to write is not known.
    pub(super) is_bare: bool,
    /// Whether the command is one that we know.
    pub(super) is_known: bool,
}

/// Width of a date of the old kind, and of the column of commands where it is padded.
pub(super) const SHORT_DATE: usize = 15;
pub(super) const COMMAND_WIDTH: usize = 11;
/// Longest command, and longest begin of a line with one, in bytes.
pub(super) const LONGEST_COMMAND: usize = 48;
pub(super) const LONGEST_BEGIN: usize = 128;
/// Blanks before a session's number where a line has neither date nor tab.
pub(super) const FEWEST_BLANKS: usize = 16;

/// The time before a session's number, how such a line is written, and where the number may begin.
fn parse_start_time(line: &[u8]) -> Option<(Option<u64>, LineFormat, usize)> {
    let is_blank = line.len() > SHORT_DATE && line[SHORT_DATE] == b' ';
    Some(match *line.first()? {
        b'\t' => (None, LineFormat::Tabs, 1 + usize::from(line.get(1) == Some(&b'\t'))),
        b' ' if line.iter().take(FEWEST_BLANKS).all(|b| *b == b' ') => {
            (None, LineFormat::Blanks, 0)
        }
        b'0'..=b'9' if is_blank && line[6] == b' ' => {
            (Some(time::parse_time_us(&line[..SHORT_DATE])?), LineFormat::Blanks, SHORT_DATE)
        }
        b'0'..=b'9' => {
            let begin = &line[..line.len().min(40)];
            let is_iso = line.get(4) == Some(&b'-');
            // Some copies of logs have blanks for the first tab.
            let end = match is_iso {
                true => memchr::memchr2(b'\t', b' ', begin),
                false => memchr::memchr(b'\t', begin),
            };
            let end = end.filter(|at| *at >= 14)?;
            (
                Some(time::parse_time_us(&line[..end])?),
                if is_iso { LineFormat::Iso } else { LineFormat::Tabs },
                end + 1,
            )
        }
        _ => return None,
    })
}

pub(super) fn parse_prefix(line: &[u8]) -> Option<LinePrefix<'_>> {
    let (time_us, way, from) = parse_start_time(line)?;
    let mut at = from + line[from..].iter().take_while(|b| **b == b' ').count();
    let digits = line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let session = std::str::from_utf8(&line[at..at + digits]).ok()?.parse().ok()?;
    at += digits;
    let rest = line.get(at..)?.strip_prefix(b" ")?;
    at += 1;
    let found = |name: &'static [u8], kind, way, width: usize| LinePrefix {
        time_us,
        way,
        session,
        command: name,
        kind,
        length: (at + width + 1).min(line.len()),
        is_bare: rest.len() == name.len(),
        is_known: true,
    };
    // An argument may be empty and its tab be missing.
    let is_tab = |name: &[u8]| rest[name.len()..].first().is_none_or(|b| *b == b'\t');
    let is_padded = |name: &[u8]| {
        let pad = COMMAND_WIDTH.saturating_sub(name.len());
        rest[name.len()..].trim_ascii_end().is_empty()
            || rest.get(name.len()..name.len() + pad).is_some_and(|pad| pad.trim_ascii().is_empty())
    };
    let begins = |name: &[u8]| rest.starts_with(name);
    let tabbed = COMMANDS.iter().find(|(name, _)| begins(name) && is_tab(name));
    if let Some((name, kind)) = tabbed.filter(|_| way != LineFormat::Blanks) {
        return Some(found(name, *kind, way, name.len()));
    }
    // Longer names stand behind those that they begin with.
    let padded = COMMANDS.iter().rfind(|(name, _)| begins(name) && is_padded(name));
    if let Some((name, kind)) = padded.filter(|_| way != LineFormat::Iso) {
        let way = if way == LineFormat::Tabs { LineFormat::Padded } else { way };
        return Some(found(name, *kind, way, name.len().max(COMMAND_WIDTH)));
    }
    // A command of a server that we don't know. Without a time before it, it may as well be a line of a statement.
    if time_us.is_none() || way == LineFormat::Blanks {
        return None;
    }
    let end = memchr::memchr(b'\t', &rest[..rest.len().min(LONGEST_COMMAND)])?;
    let is_name = rest[0].is_ascii_uppercase()
        && rest[..end].iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b' ' | b'_'));
    is_name.then(|| LinePrefix {
        time_us,
        way,
        session,
        command: &rest[..end],
        kind: EventKind::Other,
        length: at + end + 1,
        is_bare: false,
        is_known: false,
    })
}
