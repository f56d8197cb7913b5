//! The general log of MySQL and MariaDB: what clients sent, in the order it came, without an end mark. A record ends
//! where the next one begins on a line of its own outside quotes and comments; MariaDB also logs what it could not
//! parse, so inside them a line counts if its session is known and it fits the log's way to write.

use std::collections::HashSet;

use super::lexer::{Escapes, Inside, Lexer};
use super::sessions::Databases;
use super::{Ahead, Deed, Doubt, Format, Recorded, Skipped, Step, time};

/// Whether a line begins a record.
pub(super) fn begins(line: &[u8]) -> bool {
    prefix(line).is_some()
}

/// What has been read of a log so far.
#[derive(Default)]
pub(super) struct GeneralLog {
    databases: Databases,
    sessions: HashSet<u64>,
    newest_session: u64,
    /// Time of the line before, for those that have none.
    clock_us: Option<u64>,
    way: Option<Way>,
    /// Bytes that are suspect from here on.
    suspect_bytes: usize,
    /// Whether the record before was given early: more of it may come.
    was_early: bool,
}

/// So many bytes behind something unbalanced may be part of a literal there.
const SUSPECT_BYTES: usize = 1 << 20;

/// Sessions kept in mind.
const MOST_SESSIONS: usize = 100_000;
/// Commands that the log knows, and what they mean.
const COMMANDS: &[(&[u8], Deed)] = &[
    (b"Query", Deed::Statement),
    (b"Execute", Deed::Execute),
    (b"Prepare", Deed::Prepare),
    (b"Connect", Deed::Connect),
    (b"Init DB", Deed::InitDb),
    (b"Quit", Deed::Quit),
    (b"Close stmt", Deed::Other),
    (b"Reset stmt", Deed::Other),
    (b"Change user", Deed::Other),
    (b"Reset Connection", Deed::Other),
    (b"Statistics", Deed::Other),
    (b"Field List", Deed::Other),
    (b"Refresh", Deed::Other),
    (b"Binlog Dump", Deed::Other),
    (b"Binlog Dump GTID", Deed::Other),
    (b"Register Slave", Deed::Other),
    (b"Long Data", Deed::Other),
    (b"Set option", Deed::Other),
    (b"Shutdown", Deed::Other),
    (b"Processlist", Deed::Other),
    (b"Kill", Deed::Other),
    (b"Debug", Deed::Other),
    (b"Ping", Deed::Other),
    (b"Fetch", Deed::Other),
    (b"Daemon", Deed::Other),
    (b"Sleep", Deed::Other),
    (b"Error", Deed::Other),
    (b"Create DB", Deed::Other),
    (b"Drop DB", Deed::Other),
    (b"Clone", Deed::Other),
    (b"Subscribe Group Replication Stream", Deed::Other),
    (b"Query Attributes", Deed::Other),
];

/// What a command does; `None` for one that we don't know.
pub(super) fn command_deed(name: &[u8]) -> Option<Deed> {
    COMMANDS.iter().find(|(known, _)| *known == name).map(|(_, deed)| *deed)
}

/// How a log writes its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
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
struct Prefix<'t> {
    time_us: Option<u64>,
    way: Way,
    session: u64,
    command: &'t [u8],
    deed: Deed,
    /// Bytes before the argument.
    length: usize,
}

/// Width of a date of the old kind, and of the column of commands where it is padded.
const SHORT_DATE: usize = 15;
const COMMAND_WIDTH: usize = 11;
/// Blanks before a session's number where a line has neither date nor tab.
const FEWEST_BLANKS: usize = 16;

fn prefix(line: &[u8]) -> Option<Prefix<'_>> {
    let is_blank = line.len() > SHORT_DATE && line[SHORT_DATE] == b' ';
    let (time_us, way, from) = match *line.first()? {
        b'\t' => (None, Way::Tabs, 1 + usize::from(line.get(1) == Some(&b'\t'))),
        b' ' if line.iter().take(FEWEST_BLANKS).all(|b| *b == b' ') => (None, Way::Blanks, 0),
        b'0'..=b'9' if is_blank && line[6] == b' ' => {
            (Some(time::read(&line[..SHORT_DATE])?), Way::Blanks, SHORT_DATE)
        }
        b'0'..=b'9' => {
            let tab = memchr::memchr(b'\t', &line[..line.len().min(40)]).filter(|at| *at >= 14)?;
            let way = if line[4] == b'-' { Way::Iso } else { Way::Tabs };
            (Some(time::read(&line[..tab])?), way, tab + 1)
        }
        _ => return None,
    };
    let mut at = from + line[from..].iter().take_while(|b| **b == b' ').count();
    let digits = line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let session = std::str::from_utf8(&line[at..at + digits]).ok()?.parse().ok()?;
    at += digits;
    let rest = line.get(at..)?.strip_prefix(b" ")?;
    at += 1;
    // An argument may be empty and its tab be missing.
    let is_tab = |name: &[u8]| rest[name.len()..].first().is_none_or(|b| *b == b'\t');
    let is_padded = |name: &[u8]| {
        let pad = COMMAND_WIDTH.saturating_sub(name.len());
        rest[name.len()..].trim_ascii_end().is_empty()
            || rest.get(name.len()..name.len() + pad).is_some_and(|pad| pad.trim_ascii().is_empty())
    };
    let begins = |name: &[u8]| rest.starts_with(name);
    let tabbed = COMMANDS.iter().find(|(name, _)| begins(name) && is_tab(name));
    if let Some((name, deed)) = tabbed.filter(|_| way != Way::Blanks) {
        let length = (at + name.len() + 1).min(line.len());
        return Some(Prefix { time_us, way, session, command: name, deed: *deed, length });
    }
    // Longer names stand behind those that they begin with.
    let padded = COMMANDS.iter().rfind(|(name, _)| begins(name) && is_padded(name));
    let (name, deed) = padded.filter(|_| way != Way::Iso)?;
    let way = if way == Way::Tabs { Way::Padded } else { way };
    let length = (at + name.len().max(COMMAND_WIDTH) + 1).min(line.len());
    Some(Prefix { time_us, way, session, command: name, deed: *deed, length })
}

impl Format for GeneralLog {
    fn step<'t>(&'t mut self, text: &'t [u8], at: usize, line: u64, ahead: Ahead) -> Step<'t> {
        let rest = &text[at..];
        let end = memchr::memchr(b'\n', rest);
        if end.is_none() && !ahead.is_all() {
            return Step::More;
        }
        let first = &rest[..end.unwrap_or(rest.len())];
        let Some(found) = self.prefix(first) else {
            return self.no_record(text, at, first, ahead);
        };
        self.was_early = false;
        let begin = at + found.length;
        let ended = if matches!(found.deed, Deed::Statement | Deed::Execute | Deed::Prepare) {
            self.end(text, begin, ahead)
        } else {
            Some((at + first.len(), Doubt::Clean))
        };
        let Some((end, doubt)) = ended else { return Step::More };
        let next = (end + 1).min(text.len());
        self.was_early = doubt == Doubt::Early;
        let doubt = match doubt {
            Doubt::Clean | Doubt::Early if self.suspect_bytes > 0 => Doubt::Suspect,
            doubt => doubt,
        };
        self.suspect_bytes = match doubt {
            Doubt::Unbalanced => SUSPECT_BYTES,
            _ => self.suspect_bytes.saturating_sub(next - at),
        };
        self.recorded(&found, &text[begin.min(end)..end], line, doubt, next)
    }

    fn lacks_begin(&mut self) {
        self.suspect_bytes = SUSPECT_BYTES;
    }
}

impl GeneralLog {
    /// What a line begins with, if it is written as the lines before.
    fn prefix<'t>(&self, line: &'t [u8]) -> Option<Prefix<'t>> {
        prefix(line).filter(|found| self.way.is_none_or(|way| way == found.way))
    }

    /// A line that begins no record: a banner, or the rest of what was given early, up to the next record outside its
    /// quotes: it must not become one of its own.
    fn no_record(&self, text: &[u8], at: usize, line: &[u8], ahead: Ahead) -> Step<'static> {
        let next = (at + line.len() + 1).min(text.len());
        if is_banner_line(line) {
            return Step::Skipped(next, Skipped::Banner);
        }
        if !self.was_early {
            return Step::Skipped(next, Skipped::Strange);
        }
        let ahead = if ahead.is_all() { ahead } else { Ahead::More };
        match self.end(text, at, ahead) {
            Some((end, _)) => Step::Skipped((end + 1).min(text.len()), Skipped::Rest),
            None => Step::More,
        }
    }
}

impl GeneralLog {
    fn recorded<'t>(
        &'t mut self,
        found: &Prefix<'t>,
        argument: &'t [u8],
        line: u64,
        doubt: Doubt,
        next: usize,
    ) -> Step<'t> {
        self.way = self.way.or(Some(found.way));
        self.clock_us = found.time_us.or(self.clock_us);
        self.newest_session = self.newest_session.max(found.session);
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.insert(found.session);
        }
        let argument = match found.deed {
            Deed::Prepare | Deed::Execute => without_number(argument),
            _ => argument,
        };
        let mut recorded = Recorded {
            line,
            deed: found.deed,
            text: if found.deed == Deed::Other { found.command } else { argument },
            session: Some(found.session),
            began_us: self.clock_us,
            doubt,
            ..Recorded::default()
        };
        self.databases.fill(&mut recorded, argument);
        Step::Recorded(recorded, next, None)
    }

    /// Where the argument that begins at `begin` ends: before the line's end that the next record follows.
    fn end(&self, text: &[u8], begin: usize, ahead: Ahead) -> Option<(usize, Doubt)> {
        match self.search(text, begin, Escapes::Backslash, ahead)? {
            (end, true, doubt) => Some((end, doubt)),
            (own, false, _) => match self.search(text, begin, Escapes::None, ahead)? {
                (end, true, _) if end <= own => Some((end, Doubt::NoEscapes)),
                _ => Some((own, Doubt::Unbalanced)),
            },
        }
    }

    /// The end, whether it stands outside quotes and comments, and its doubt then.
    fn search(
        &self,
        text: &[u8],
        begin: usize,
        how: Escapes,
        ahead: Ahead,
    ) -> Option<(usize, bool, Doubt)> {
        let is_all = ahead.is_all();
        let mut lexer = Lexer::new(text, begin, how);
        while let Some((inside, next)) = lexer.next_line() {
            let rest = &text[next..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !is_all {
                let is_early = rest.is_empty() && ahead == Ahead::Quiet && inside.may_end();
                let is_early = is_early && how == Escapes::Backslash;
                return is_early.then_some((next - 1, true, Doubt::Early));
            }
            let line = &rest[..end.unwrap_or(rest.len())];
            let is_next = match self.prefix(line) {
                Some(found) => inside.may_end() || self.is_own(&found),
                None => inside.may_end() && is_banner_line(line),
            };
            if is_next || (line.is_empty() && end.is_none()) {
                return Some((next - 1, inside.may_end(), Doubt::Clean));
            }
        }
        let is_whole = !matches!(lexer.inside(), Inside::Quote(_) | Inside::Comment);
        let end = begin + text[begin..].trim_ascii_end().len();
        is_all.then_some((end, is_whole, Doubt::Clean))
    }

    /// Whether a line is what this log would write next.
    fn is_own(&self, found: &Prefix<'_>) -> bool {
        self.sessions.contains(&found.session)
            || (found.session > self.newest_session && found.deed == Deed::Connect)
    }
}

/// Old servers write a statement's number before its text: `[1] select 5`.
fn without_number(text: &[u8]) -> &[u8] {
    let Some(rest) = text.strip_prefix(b"[") else { return text };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b"] ").unwrap_or(text)
}

fn is_banner_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.ends_with(b"started with:")
        || line.starts_with(b"Tcp port: ")
        || (line.starts_with(b"Time ") || line.starts_with(b"Time\t"))
            && line.ends_with(b"Argument")
}

#[cfg(test)]
mod tests;
