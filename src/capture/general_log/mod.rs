//! The general log of MySQL and MariaDB: what clients sent, in the order it came, without an end mark. A record ends
//! where the next one begins on a line of its own outside quotes and comments; MariaDB also logs what it could not
//! parse, so inside them a line counts if its session is known and it fits the log's way to write.

mod commands;

use std::collections::HashSet;

use super::lexer::{Escapes, Inside, Lines};
use super::log_clock::{Fit, LogClock};
use super::long::LongRecord;
use super::machine::Reading;
use super::modes::Modes;
use super::sessions::Databases;
use super::slow_log::banner;
use super::{Ahead, Deed, Doubt, Format, Recorded, SUSPECT_BYTES, Skipped, Step, time};
use commands::COMMANDS;
pub(super) use commands::command_deed;

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
    clock: LogClock,
    /// What sessions said of how they are to be read.
    modes: Modes,
    way: Option<Way>,
    /// Bytes that are suspect from here on.
    suspect_bytes: usize,
    /// Whether the record before was given early: more of it may come.
    was_early: bool,
    /// The rest of a record that is longer than is kept.
    long: Option<LongRecord>,
}

/// Sessions kept in mind.
const MOST_SESSIONS: usize = 100_000;

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
    /// Whether nothing follows the command, not even a blank: then its way to write is not known.
    is_bare: bool,
    /// Whether the command is one that we know.
    is_known: bool,
}

/// Width of a date of the old kind, and of the column of commands where it is padded.
const SHORT_DATE: usize = 15;
const COMMAND_WIDTH: usize = 11;
/// Longest command, and longest begin of a line with one, in bytes.
const LONGEST_COMMAND: usize = 48;
const LONGEST_BEGIN: usize = 128;
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
            let begin = &line[..line.len().min(40)];
            let is_iso = line.get(4) == Some(&b'-');
            // Some copies of logs have blanks for the first tab.
            let end = match is_iso {
                true => memchr::memchr2(b'\t', b' ', begin),
                false => memchr::memchr(b'\t', begin),
            };
            let end = end.filter(|at| *at >= 14)?;
            (Some(time::read(&line[..end])?), if is_iso { Way::Iso } else { Way::Tabs }, end + 1)
        }
        _ => return None,
    };
    let mut at = from + line[from..].iter().take_while(|b| **b == b' ').count();
    let digits = line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let session = std::str::from_utf8(&line[at..at + digits]).ok()?.parse().ok()?;
    at += digits;
    let rest = line.get(at..)?.strip_prefix(b" ")?;
    at += 1;
    let found = |name: &'static [u8], deed, way, width: usize| Prefix {
        time_us,
        way,
        session,
        command: name,
        deed,
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
    if let Some((name, deed)) = tabbed.filter(|_| way != Way::Blanks) {
        return Some(found(name, *deed, way, name.len()));
    }
    // Longer names stand behind those that they begin with.
    let padded = COMMANDS.iter().rfind(|(name, _)| begins(name) && is_padded(name));
    if let Some((name, deed)) = padded.filter(|_| way != Way::Iso) {
        let way = if way == Way::Tabs { Way::Padded } else { way };
        return Some(found(name, *deed, way, name.len().max(COMMAND_WIDTH)));
    }
    // A command of a server that we don't know. Without a time before it, it may as well be a line of a statement.
    if time_us.is_none() || way == Way::Blanks {
        return None;
    }
    let end = memchr::memchr(b'\t', &rest[..rest.len().min(LONGEST_COMMAND)])?;
    let is_name = rest[0].is_ascii_uppercase()
        && rest[..end].iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b' ' | b'_'));
    is_name.then(|| Prefix {
        time_us,
        way,
        session,
        command: &rest[..end],
        deed: Deed::Other,
        length: at + end + 1,
        is_bare: false,
        is_known: false,
    })
}

/// Where an argument ends.
struct End {
    at: usize,
    doubt: Doubt,
    /// Whether what follows may be part of a literal.
    is_guess: bool,
    /// Whether more of it may come.
    is_early: bool,
}

impl End {
    fn with(self, doubt: Doubt, is_guess: bool) -> End {
        End { doubt, is_guess, ..self }
    }
}

/// What a search for an argument's end came to.
enum Search {
    /// It ends outside quotes and comments.
    End(End),
    /// The next record seems to begin behind this, inside them; or the log ends there.
    Inside(usize),
}

impl Format for GeneralLog {
    fn step<'t>(&'t mut self, text: &'t [u8], at: usize, line: u64, ahead: Ahead) -> Step<'t> {
        if let Some(step) = self.rest_of_long(text, at, ahead.is_all()) {
            return step;
        }
        let rest = &text[at..];
        let end = memchr::memchr(b'\n', rest);
        if end.is_none() && !ahead.is_all() {
            return Step::More;
        }
        let first = &rest[..end.unwrap_or(rest.len())];
        let Some(found) = self.prefix(first).filter(|found| found.is_known || !self.was_early)
        else {
            return self.no_record(text, at, first, ahead);
        };
        self.was_early = false;
        let begin = at + found.length;
        let ended = if matches!(found.deed, Deed::Statement | Deed::Execute | Deed::Prepare) {
            self.end(text, begin, Some(found.session), ahead)
        } else {
            let doubt = if found.is_known { Doubt::Clean } else { Doubt::Irregular };
            Some(End { at: at + first.len(), doubt, is_guess: false, is_early: false })
        };
        let Some(ended) = ended else { return Step::More };
        let next = (ended.at + 1).min(text.len());
        self.was_early = ended.is_early;
        let doubt = match ended.doubt {
            Doubt::Clean | Doubt::Early if self.suspect_bytes > 0 => Doubt::Suspect,
            doubt => doubt,
        };
        self.suspect_bytes = match ended.is_guess {
            true => SUSPECT_BYTES,
            false => self.suspect_bytes.saturating_sub(next - at),
        };
        self.recorded(&found, &text[begin.min(ended.at)..ended.at], line, doubt, next)
    }

    fn lacks_begin(&mut self) {
        self.suspect_bytes = SUSPECT_BYTES;
    }

    fn leave_out(&mut self, text: &[u8], at: usize) {
        if let Some(long) = &mut self.long {
            return long.pass();
        }
        self.was_early = false;
        let line = text[at..].split(|b| *b == b'\n').next().unwrap_or_default();
        let found = self.prefix(&line[..line.len().min(LONGEST_BEGIN)]);
        let (session, length) = found.map_or((None, 0), |f| (Some(f.session), f.length));
        match session {
            Some(session) if self.suspect_bytes == 0 => self.meet(session),
            Some(_) => {}
            None => self.suspect_bytes = SUSPECT_BYTES,
        }
        let reading = self.modes.of(session).map_or(Reading::DEFAULT, |mode| mode.reading);
        self.long = Some(LongRecord::new(reading, length, false));
    }
}

impl GeneralLog {
    /// What a line begins with, if it is written as the lines before.
    fn prefix<'t>(&self, line: &'t [u8]) -> Option<Prefix<'t>> {
        let is_either = |way| matches!(way, Way::Tabs | Way::Padded);
        let fits = |found: &Prefix<'_>, way| {
            way == found.way || found.is_bare && is_either(way) && is_either(found.way)
        };
        prefix(line).filter(|found| self.way.is_none_or(|way| fits(found, way)))
    }

    /// A line that begins no record: a banner, or the rest of what was given early, up to the next record outside its
    /// quotes: it must not become one of its own.
    fn no_record(&self, text: &[u8], at: usize, line: &[u8], ahead: Ahead) -> Step<'static> {
        let next = (at + line.len() + 1).min(text.len());
        if let Some(step) = banner(text, at, ahead.is_all()) {
            return step;
        }
        if is_banner_line(line) {
            return Step::Skipped(next, Skipped::Banner);
        }
        if !self.was_early {
            return Step::Skipped(next, Skipped::Strange);
        }
        let ahead = if ahead.is_all() { ahead } else { Ahead::More };
        match self.end(text, at, None, ahead) {
            Some(end) => Step::Skipped((end.at + 1).min(text.len()), Skipped::Rest),
            None => Step::More,
        }
    }

    /// Goes over the rest of a record that is left out. `None` where there is none, or the next record begins.
    fn rest_of_long(&mut self, text: &[u8], at: usize, is_all: bool) -> Option<Step<'static>> {
        let mut long = self.long.take()?;
        let reached = long.go(text, at, &mut |next, inside| {
            let rest = &text[next..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !is_all {
                return None;
            }
            Some(self.begins_record(&rest[..end.unwrap_or(rest.len())], inside).is_some())
        });
        long.step(at, reached, &mut self.long, &mut self.suspect_bytes)
    }

    fn meet(&mut self, session: u64) {
        self.newest_session = self.newest_session.max(session);
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.insert(session);
        }
    }

    fn recorded<'t>(
        &'t mut self,
        found: &Prefix<'t>,
        argument: &'t [u8],
        line: u64,
        doubt: Doubt,
        next: usize,
    ) -> Step<'t> {
        self.way = self.way.or((!found.is_bare).then_some(found.way));
        self.clock_us = found.time_us.or(self.clock_us);
        if let Some(us) = found.time_us {
            self.clock.note(us);
        }
        self.meet(found.session);
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
        if !matches!(doubt, Doubt::Suspect | Doubt::Unbalanced) {
            self.modes.note(&recorded);
        }
        self.databases.fill(&mut recorded, argument);
        Step::Recorded(recorded, next, None)
    }

    /// Where the argument that begins at `begin` ends: before the line's end that the next record follows.
    fn end(&self, text: &[u8], begin: usize, session: Option<u64>, ahead: Ahead) -> Option<End> {
        let (plain, is_torn) = self.search(text, begin, Reading::DEFAULT, true, ahead)?;
        let mode = self.modes.of(session);
        if is_torn {
            let base = mode.map_or(Reading::DEFAULT, |mode| mode.reading);
            let reading = Reading { runs_comments: true, ..base };
            match (plain, self.search(text, begin, reading, true, ahead)?.0) {
                (Search::End(a), Search::End(b)) => {
                    let first = if b.at < a.at { b } else { a };
                    return Some(first.with(Doubt::Ambiguous, true));
                }
                (Search::End(end), _) | (_, Search::End(end)) => {
                    return Some(end.with(Doubt::Ambiguous, true));
                }
                (Search::Inside(own), _) => return self.end_inside(text, begin, own, ahead),
            }
        }
        if let Some(mode) = mode {
            if let Search::End(said) = self.search(text, begin, mode.reading, true, ahead)?.0 {
                if matches!(&plain, Search::End(plain) if plain.at == said.at) {
                    return Some(said);
                }
                let is_wide = mode.reading.wide.is_some();
                let doubt = if is_wide { Doubt::Ambiguous } else { Doubt::NoEscapes };
                return Some(said.with(doubt, !mode.is_sure));
            }
        }
        match plain {
            Search::End(end) => Some(end),
            Search::Inside(own) => self.end_inside(text, begin, own, ahead),
        }
    }

    /// The same where a record seems to begin inside of quotes.
    fn end_inside(&self, text: &[u8], begin: usize, own: usize, ahead: Ahead) -> Option<End> {
        let without = Reading::with(Escapes::None);
        // Where it ends so is not told from a quiet while.
        let sure = if ahead.is_all() { ahead } else { Ahead::More };
        match self.search(text, begin, without, true, sure)?.0 {
            Search::End(end) if end.at <= own => return Some(end.with(Doubt::NoEscapes, true)),
            _ => {}
        }
        if self.way == Some(Way::Iso) {
            // MySQL logs only what it could parse: what looks like a record is text.
            if let Search::End(end) = self.search(text, begin, Reading::DEFAULT, false, ahead)?.0 {
                return Some(end.with(Doubt::Imitates, true));
            }
        }
        let doubt = Doubt::Unbalanced;
        Some(End { at: own, doubt, is_guess: true, is_early: false })
    }

    /// The first end in one reading, and whether a comment in it may end elsewhere. What looks like a record inside of
    /// quotes ends it only if `imitations_count`.
    fn search(
        &self,
        text: &[u8],
        begin: usize,
        reading: Reading,
        imitations_count: bool,
        ahead: Ahead,
    ) -> Option<(Search, bool)> {
        let is_all = ahead.is_all();
        let mut lexer = Lines::new(text, begin, reading);
        let end = |at, doubt| {
            let is_early = doubt == Doubt::Early;
            Search::End(End { at, doubt, is_guess: false, is_early })
        };
        while let Some((inside, next)) = lexer.next_line() {
            let rest = &text[next..];
            let line_end = memchr::memchr(b'\n', rest);
            if line_end.is_none() && !is_all {
                let is_early = rest.is_empty() && ahead == Ahead::Quiet && inside.may_end();
                return is_early.then(|| (end(next - 1, Doubt::Early), lexer.is_torn()));
            }
            let line = &rest[..line_end.unwrap_or(rest.len())];
            let is_last = line.is_empty() && line_end.is_none();
            match self.begins_record(line, inside) {
                None if !is_last => {}
                _ if !inside.may_end() && !imitations_count && !is_last => {}
                _ if !inside.may_end() => return Some((Search::Inside(next - 1), lexer.is_torn())),
                doubt => {
                    let doubt = doubt.unwrap_or_default();
                    return Some((end(next - 1, doubt), lexer.is_torn()));
                }
            }
        }
        if !is_all {
            return None;
        }
        let at = begin + text[begin..].trim_ascii_end().len();
        let found = match lexer.inside() {
            Inside::Quote(_) | Inside::Comment => Search::Inside(at),
            Inside::Code | Inside::Line => end(at, Doubt::Clean),
        };
        Some((found, lexer.is_torn()))
    }

    /// Whether a line begins the next record, or a banner, behind what ends in this; with what it makes doubtful.
    fn begins_record(&self, line: &[u8], inside: Inside) -> Option<Doubt> {
        match self.prefix(line) {
            Some(found) if inside.may_end() => {
                Some(if found.is_known { Doubt::Clean } else { Doubt::Irregular })
            }
            Some(found) => self.is_own(&found).then_some(Doubt::Clean),
            None => (inside.may_end() && is_banner_line(line)).then_some(Doubt::Clean),
        }
    }

    /// Whether a line is what this log would write next.
    fn is_own(&self, found: &Prefix<'_>) -> bool {
        let is_session = self.sessions.contains(&found.session)
            || (found.session > self.newest_session && found.deed == Deed::Connect);
        let fits = |us| self.clock.fit(us, true) != Fit::No;
        found.is_known && is_session && found.time_us.is_none_or(fits)
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
