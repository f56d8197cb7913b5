//! The general log of MySQL and MariaDB: what clients sent, in the order it came, without an end mark. A record ends
//! where the next one begins on a line of its own outside quotes and comments; MariaDB also logs what it could not
//! parse, so inside them a line counts if its session is known and it fits the log's way to write.

use std::collections::{HashMap, HashSet};

use super::lexer::{Escapes, Inside, Lexer, unquoted};
use super::{Database, Deed, Doubt, Format, Recorded, Step, time};

/// Whether a line begins a record.
pub(super) fn begins(line: &[u8]) -> bool {
    prefix(line).is_some()
}

/// What has been read of a log so far.
#[derive(Default)]
pub(super) struct GeneralLog {
    /// Default database by session; absent for a session that was open before the log began.
    databases: HashMap<u64, Option<Vec<u8>>>,
    sessions: HashSet<u64>,
    newest_session: u64,
    /// Time of the line before, for those that have none.
    clock_us: Option<u64>,
    given: Vec<u8>,
    /// Whether lines of this log have a date of the new kind.
    is_new: Option<bool>,
}

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

/// What a line of its own begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Prefix<'t> {
    time_us: Option<u64>,
    is_new: Option<bool>,
    session: u64,
    command: &'t [u8],
    deed: Deed,
    /// Bytes before the argument.
    length: usize,
}

/// `2026-11-21T07:12:06.155357Z\t   27 Query\t`, `261121  7:12:04\t    29 Query\t` or `\t\t    29 Query\t`.
fn prefix(line: &[u8]) -> Option<Prefix<'_>> {
    let tab = memchr::memchr(b'\t', line)?;
    let (time_us, is_new, mut at) = match &line[..tab] {
        b"" => (None, None, tab + 1 + usize::from(line.get(tab + 1) == Some(&b'\t'))),
        stamp if stamp.len() >= 14 => {
            let is_new = stamp.get(4) == Some(&b'-');
            (Some(time::read(stamp)?), Some(is_new), tab + 1)
        }
        _ => return None,
    };
    at += line[at..].iter().take_while(|b| **b == b' ').count();
    let digits = line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let session = std::str::from_utf8(&line[at..at + digits]).ok()?.parse().ok()?;
    at += digits;
    let rest = line.get(at..)?.strip_prefix(b" ")?;
    at += 1;
    // An argument may be empty and its tab be missing.
    let length = memchr::memchr(b'\t', rest).unwrap_or(rest.len());
    let (name, deed) =
        *COMMANDS.iter().find(|(name, _)| *name == rest[..length].trim_ascii_end())?;
    let length = (at + length + 1).min(line.len());
    Some(Prefix { time_us, is_new, session, command: name, deed, length })
}

impl Format for GeneralLog {
    fn step<'t>(&'t mut self, text: &'t [u8], at: usize, line: u64, is_all: bool) -> Step<'t> {
        let rest = &text[at..];
        let end = memchr::memchr(b'\n', rest);
        if end.is_none() && !is_all {
            return Step::More;
        }
        let first = &rest[..end.unwrap_or(rest.len())];
        let Some(found) = prefix(first) else {
            let next = at + end.map_or(rest.len(), |end| end + 1);
            return Step::Skipped { next, is_banner: is_banner_line(first) };
        };
        let begin = at + found.length;
        let ended = if matches!(found.deed, Deed::Statement | Deed::Execute | Deed::Prepare) {
            self.end(text, begin, is_all)
        } else {
            Some((at + first.len(), Doubt::Clean))
        };
        let Some((end, doubt)) = ended else { return Step::More };
        let next = (end + 1).min(text.len());
        self.recorded(&found, &text[begin.min(end)..end], line, doubt, next)
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
        self.is_new = self.is_new.or(found.is_new);
        self.clock_us = found.time_us.or(self.clock_us);
        self.newest_session = self.newest_session.max(found.session);
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.insert(found.session);
        }
        let (mut user, mut host) = (&b""[..], &b""[..]);
        let mut text = argument;
        match found.deed {
            Deed::Connect => {
                let (account, database) = connect(argument);
                (user, host) = account;
                self.databases.insert(found.session, database.map(<[u8]>::to_vec));
            }
            Deed::InitDb => {
                self.databases.insert(found.session, Some(argument.to_vec()));
            }
            Deed::Quit => {
                self.databases.remove(&found.session);
            }
            Deed::Statement => {
                if let Some(name) = use_name(argument) {
                    self.databases.insert(found.session, Some(name));
                }
            }
            Deed::Other => text = found.command,
            Deed::Prepare | Deed::Execute => {}
        }
        let database = match self.databases.get(&found.session) {
            None => Database::Unknown,
            Some(None) => Database::None,
            Some(Some(name)) => {
                self.given.clone_from(name);
                Database::Named(&self.given)
            }
        };
        let recorded = Recorded {
            line,
            deed: found.deed,
            text,
            session: Some(found.session),
            user,
            host,
            database,
            began_us: self.clock_us,
            doubt,
            ..Recorded::default()
        };
        Step::Recorded(recorded, next)
    }

    /// Where the argument that begins at `begin` ends: before the line's end that the next record follows.
    fn end(&self, text: &[u8], begin: usize, is_all: bool) -> Option<(usize, Doubt)> {
        match self.search(text, begin, Escapes::Backslash, is_all)? {
            (end, true) => Some((end, Doubt::Clean)),
            (own, false) => match self.search(text, begin, Escapes::None, is_all)? {
                (end, true) if end <= own => Some((end, Doubt::NoEscapes)),
                _ => Some((own, Doubt::Unbalanced)),
            },
        }
    }

    /// The end, and whether it stands outside quotes and comments.
    fn search(
        &self,
        text: &[u8],
        begin: usize,
        how: Escapes,
        is_all: bool,
    ) -> Option<(usize, bool)> {
        let mut lexer = Lexer::new(text, begin, how);
        while let Some((inside, next)) = lexer.next_line() {
            let rest = &text[next..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !is_all {
                return None;
            }
            let line = &rest[..end.unwrap_or(rest.len())];
            let is_next = match prefix(line) {
                Some(found) => inside.may_end() || self.is_own(&found),
                None => inside.may_end() && is_banner_line(line),
            };
            if is_next || (line.is_empty() && end.is_none()) {
                return Some((next - 1, inside.may_end()));
            }
        }
        let is_whole = !matches!(lexer.inside(), Inside::Quote(_) | Inside::Comment);
        is_all.then(|| (begin + text[begin..].trim_ascii_end().len(), is_whole))
    }

    /// Whether a line is what this log would write next.
    fn is_own(&self, found: &Prefix<'_>) -> bool {
        let is_known = self.sessions.contains(&found.session)
            || (found.session > self.newest_session && found.deed == Deed::Connect);
        is_known && (found.is_new.is_none() || found.is_new == self.is_new)
    }
}

fn is_banner_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.ends_with(b"started with:")
        || line.starts_with(b"Tcp port: ")
        || (line.starts_with(b"Time ") || line.starts_with(b"Time\t"))
            && line.ends_with(b"Argument")
}

/// User and host.
type Account<'t> = (&'t [u8], &'t [u8]);

/// `u@localhost on shop using TCP/IP`: user and host, and the database.
fn connect(argument: &[u8]) -> (Account<'_>, Option<&[u8]>) {
    let (account, rest) = match memchr::memmem::find(argument, b" on ") {
        Some(at) => (&argument[..at], &argument[at + 4..]),
        None => (argument, &[][..]),
    };
    let account = match memchr::memrchr(b'@', account) {
        Some(at) => (&account[..at], &account[at + 1..]),
        None => (account, &[][..]),
    };
    let name = match memchr::memmem::rfind(rest, b" using ") {
        Some(at) => &rest[..at],
        None => rest.strip_prefix(b"using ").map_or(rest, |_| &[][..]),
    };
    (account, (!name.is_empty()).then_some(name))
}

/// The database that `USE name` names.
fn use_name(statement: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = statement.trim_ascii().split_at_checked(4)?;
    if !word.eq_ignore_ascii_case(b"use ") {
        return None;
    }
    let name = rest.trim_ascii();
    Some(unquoted(name.strip_suffix(b";").unwrap_or(name).trim_ascii()))
}

#[cfg(test)]
mod tests;
