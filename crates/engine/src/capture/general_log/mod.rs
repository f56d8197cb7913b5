//! The general log of MySQL and MariaDB: what clients sent, in the order it came, without an end mark. A record ends
//! where the next one begins on a line of its own outside quotes and comments; MariaDB also logs what it could not
//! parse, so inside them a line counts if its session is known and it fits the log's way to write.

mod commands;
mod prefix;

use std::collections::HashSet;

use super::byte_lexer::LexerMode;
use super::lexer::{EscapeMode, LexContext, LineLexer};
use super::log_clock::{LogClock, LogFit};
use super::long_record::LongRecord;
use super::session_databases::SessionDatabases;
use super::session_modes::SessionModes;
use super::slow_log::parse_banner;
use super::{
    Confidence, EventKind, FormatParser, LogRecord, Lookahead, ParseStep, SUSPECT_BYTES, SkipReason,
};
pub(super) use commands::command_kind;
use prefix::{LONGEST_BEGIN, LineFormat, LinePrefix, parse_prefix};

/// Whether a line begins a record.
pub(super) fn starts_record(line: &[u8]) -> bool {
    parse_prefix(line).is_some()
}

/// What has been read of a log so far.
#[derive(Default)]
pub(super) struct GeneralLog {
    databases: SessionDatabases,
    sessions: HashSet<u64>,
    newest_session: u64,
    /// Time of the line before, for those that have none.
    clock_us: Option<u64>,
    clock: LogClock,
    /// What sessions said of how they are to be read.
    modes: SessionModes,
    way: Option<LineFormat>,
    /// Bytes that are suspect from here on.
    suspect_bytes: usize,
    /// Whether the record before was given early: more of it may come.
    was_early: bool,
    /// The rest of a record that is longer than is kept.
    long: Option<LongRecord>,
}

/// Sessions kept in mind.
const MOST_SESSIONS: usize = 100_000;

/// Where an argument ends.
struct ArgumentEnd {
    at: usize,
    confidence: Confidence,
    /// Whether what follows may be part of a literal.
    is_guess: bool,
    /// Whether more of it may come.
    is_early: bool,
}

impl ArgumentEnd {
    fn with_confidence(self, confidence: Confidence, is_guess: bool) -> ArgumentEnd {
        ArgumentEnd { confidence, is_guess, ..self }
    }
}

/// What a search for an argument's end came to.
enum ArgumentSearch {
    /// It ends outside quotes and comments.
    End(ArgumentEnd),
    /// The next record seems to begin behind this, inside them; or the log ends there.
    Inside(usize),
}

impl FormatParser for GeneralLog {
    fn parse_next<'t>(
        &'t mut self,
        text: &'t [u8],
        at: usize,
        line: u64,
        ahead: Lookahead,
    ) -> ParseStep<'t> {
        if let Some(step) = self.skip_long_record(text, at, ahead.is_all()) {
            return step;
        }
        let rest = &text[at..];
        let end = memchr::memchr(b'\n', rest);
        if end.is_none() && !ahead.is_all() {
            return ParseStep::More;
        }
        let first = &rest[..end.unwrap_or(rest.len())];
        let Some(found) =
            self.matching_prefix(first).filter(|found| found.is_known || !self.was_early)
        else {
            return self.skip_non_record(text, at, first, ahead);
        };
        self.was_early = false;
        let begin = at + found.length;
        let ended =
            if matches!(found.kind, EventKind::Statement | EventKind::Execute | EventKind::Prepare)
            {
                self.find_end(text, begin, Some(found.session), ahead)
            } else {
                let confidence =
                    if found.is_known { Confidence::Clean } else { Confidence::Irregular };
                Some(ArgumentEnd {
                    at: at + first.len(),
                    confidence,
                    is_guess: false,
                    is_early: false,
                })
            };
        let Some(ended) = ended else { return ParseStep::More };
        let next = (ended.at + 1).min(text.len());
        self.was_early = ended.is_early;
        let confidence = match ended.confidence {
            own if own.depends_on_surroundings() && self.suspect_bytes > 0 => Confidence::Suspect,
            own => own,
        };
        self.suspect_bytes = match ended.is_guess {
            true => SUSPECT_BYTES,
            false => self.suspect_bytes.saturating_sub(next - at),
        };
        self.finish_record(&found, &text[begin.min(ended.at)..ended.at], line, confidence, next)
    }

    fn note_missing_start(&mut self) {
        self.suspect_bytes = SUSPECT_BYTES;
    }

    fn skip_oversized(&mut self, text: &[u8], at: usize) {
        if let Some(long) = &mut self.long {
            return long.continue_record();
        }
        self.was_early = false;
        let line = text[at..].split(|b| *b == b'\n').next().unwrap_or_default();
        let found = self.matching_prefix(&line[..line.len().min(LONGEST_BEGIN)]);
        let (session, length) = found.map_or((None, 0), |f| (Some(f.session), f.length));
        match session {
            Some(session) if self.suspect_bytes == 0 => self.note_session(session),
            Some(_) => {}
            None => self.suspect_bytes = SUSPECT_BYTES,
        }
        let reading =
            self.modes.for_session(session).map_or(LexerMode::DEFAULT, |mode| mode.reading);
        self.long = Some(LongRecord::new(reading, length, false));
    }
}

impl GeneralLog {
    /// What a line begins with, if it is written as the lines before.
    fn matching_prefix<'t>(&self, line: &'t [u8]) -> Option<LinePrefix<'t>> {
        let is_either = |way| matches!(way, LineFormat::Tabs | LineFormat::Padded);
        let fits = |found: &LinePrefix<'_>, way| {
            way == found.way || found.is_bare && is_either(way) && is_either(found.way)
        };
        parse_prefix(line).filter(|found| self.way.is_none_or(|way| fits(found, way)))
    }

    /// A line that begins no record: a banner, or the rest of what was given early, up to the next record outside its
    /// quotes: it must not become one of its own.
    fn skip_non_record(
        &self,
        text: &[u8],
        at: usize,
        line: &[u8],
        ahead: Lookahead,
    ) -> ParseStep<'static> {
        let next = (at + line.len() + 1).min(text.len());
        if let Some(step) = parse_banner(text, at, ahead.is_all()) {
            return step;
        }
        if is_banner_line(line) {
            return ParseStep::Skipped(next, SkipReason::Banner);
        }
        if !self.was_early {
            return ParseStep::Skipped(next, SkipReason::Strange);
        }
        let ahead = if ahead.is_all() { ahead } else { Lookahead::More };
        match self.find_end(text, at, None, ahead) {
            Some(end) => ParseStep::Skipped((end.at + 1).min(text.len()), SkipReason::Rest),
            None => ParseStep::More,
        }
    }

    /// Goes over the rest of a record that is left out. `None` where there is none, or the next record begins.
    fn skip_long_record(
        &mut self,
        text: &[u8],
        at: usize,
        is_all: bool,
    ) -> Option<ParseStep<'static>> {
        let mut long = self.long.take()?;
        let reached = long.skip_text(text, at, &mut |next, inside| {
            let rest = &text[next..];
            let end = memchr::memchr(b'\n', rest);
            if end.is_none() && !is_all {
                return None;
            }
            Some(self.check_record_start(&rest[..end.unwrap_or(rest.len())], inside).is_some())
        });
        long.step(at, reached, &mut self.long, &mut self.suspect_bytes)
    }

    fn note_session(&mut self, session: u64) {
        self.newest_session = self.newest_session.max(session);
        if self.sessions.len() < MOST_SESSIONS {
            self.sessions.insert(session);
        }
    }

    fn finish_record<'t>(
        &'t mut self,
        found: &LinePrefix<'t>,
        argument: &'t [u8],
        line: u64,
        confidence: Confidence,
        next: usize,
    ) -> ParseStep<'t> {
        self.way = self.way.or((!found.is_bare).then_some(found.way));
        self.clock_us = found.time_us.or(self.clock_us);
        if let Some(us) = found.time_us {
            self.clock.note_time(us);
        }
        self.note_session(found.session);
        let argument = match found.kind {
            EventKind::Prepare | EventKind::Execute => without_number(argument),
            _ => argument,
        };
        let mut recorded = LogRecord {
            line,
            kind: found.kind,
            text: if found.kind == EventKind::Other { found.command } else { argument },
            session: Some(found.session),
            began_us: self.clock_us,
            confidence,
            ..LogRecord::default()
        };
        if !matches!(confidence, Confidence::Suspect | Confidence::Unbalanced) {
            self.modes.note_record(&recorded);
        }
        self.databases.fill_record(&mut recorded, argument);
        ParseStep::Recorded(recorded, next, None)
    }

    /// Where the argument that begins at `begin` ends: before the line's end that the next record follows.
    fn find_end(
        &self,
        text: &[u8],
        begin: usize,
        session: Option<u64>,
        ahead: Lookahead,
    ) -> Option<ArgumentEnd> {
        let (plain, is_torn) = self.search_end(text, begin, LexerMode::DEFAULT, true, ahead)?;
        let mode = self.modes.for_session(session);
        if is_torn {
            let base = mode.map_or(LexerMode::DEFAULT, |mode| mode.reading);
            let reading = LexerMode { runs_comments: true, ..base };
            match (plain, self.search_end(text, begin, reading, true, ahead)?.0) {
                (ArgumentSearch::End(a), ArgumentSearch::End(b)) => {
                    let first = if b.at < a.at { b } else { a };
                    return Some(first.with_confidence(Confidence::Ambiguous, true));
                }
                (ArgumentSearch::End(end), _) | (_, ArgumentSearch::End(end)) => {
                    return Some(end.with_confidence(Confidence::Ambiguous, true));
                }
                (ArgumentSearch::Inside(own), _) => {
                    return self.find_end_inside(text, begin, own, ahead);
                }
            }
        }
        if let Some(mode) = mode {
            if let ArgumentSearch::End(said) =
                self.search_end(text, begin, mode.reading, true, ahead)?.0
            {
                if matches!(&plain, ArgumentSearch::End(plain) if plain.at == said.at) {
                    return Some(said);
                }
                let is_wide = mode.reading.wide.is_some();
                let confidence =
                    if is_wide { Confidence::Ambiguous } else { Confidence::NoEscapes };
                return Some(said.with_confidence(confidence, !mode.is_sure));
            }
        }
        match plain {
            ArgumentSearch::End(end) => Some(end),
            ArgumentSearch::Inside(own) => self.find_end_inside(text, begin, own, ahead),
        }
    }

    /// The same where a record seems to begin inside of quotes.
    fn find_end_inside(
        &self,
        text: &[u8],
        begin: usize,
        own: usize,
        ahead: Lookahead,
    ) -> Option<ArgumentEnd> {
        let without = LexerMode::with_escapes(EscapeMode::None);
        // Where it ends so is not told from a quiet while.
        let sure = if ahead.is_all() { ahead } else { Lookahead::More };
        match self.search_end(text, begin, without, true, sure)?.0 {
            ArgumentSearch::End(end) if end.at <= own => {
                return Some(end.with_confidence(Confidence::NoEscapes, true));
            }
            _ => {}
        }
        if self.way == Some(LineFormat::Iso) {
            // MySQL logs only what it could parse: what looks like a record is text.
            if let ArgumentSearch::End(end) =
                self.search_end(text, begin, LexerMode::DEFAULT, false, ahead)?.0
            {
                return Some(end.with_confidence(Confidence::Imitates, true));
            }
        }
        let confidence = Confidence::Unbalanced;
        Some(ArgumentEnd { at: own, confidence, is_guess: true, is_early: false })
    }

    /// The first end in one reading, and whether a comment in it may end elsewhere. What looks like a record inside of
    /// quotes ends it only if `imitations_count`.
    fn search_end(
        &self,
        text: &[u8],
        begin: usize,
        reading: LexerMode,
        imitations_count: bool,
        ahead: Lookahead,
    ) -> Option<(ArgumentSearch, bool)> {
        let is_all = ahead.is_all();
        let mut lexer = LineLexer::new(text, begin, reading);
        let end = |at, confidence| {
            let is_early = confidence == Confidence::Early;
            ArgumentSearch::End(ArgumentEnd { at, confidence, is_guess: false, is_early })
        };
        while let Some((inside, next)) = lexer.next_line() {
            let rest = &text[next..];
            let line_end = memchr::memchr(b'\n', rest);
            if line_end.is_none() && !is_all {
                let is_early = rest.is_empty() && ahead == Lookahead::Quiet && inside.may_end();
                return is_early.then(|| (end(next - 1, Confidence::Early), lexer.is_torn()));
            }
            let line = &rest[..line_end.unwrap_or(rest.len())];
            let is_last = line.is_empty() && line_end.is_none();
            match self.check_record_start(line, inside) {
                None if !is_last => {}
                _ if !inside.may_end() && !imitations_count && !is_last => {}
                _ if !inside.may_end() => {
                    return Some((ArgumentSearch::Inside(next - 1), lexer.is_torn()));
                }
                confidence => {
                    let confidence = confidence.unwrap_or_default();
                    return Some((end(next - 1, confidence), lexer.is_torn()));
                }
            }
        }
        if !is_all {
            return None;
        }
        let at = begin + text[begin..].trim_ascii_end().len();
        let found = match lexer.current_context() {
            LexContext::Quote(_) | LexContext::Comment => ArgumentSearch::Inside(at),
            LexContext::Code | LexContext::Line => end(at, Confidence::Clean),
        };
        Some((found, lexer.is_torn()))
    }

    /// Whether a line begins the next record, or a banner, behind what ends in this; with what it makes doubtful.
    fn check_record_start(&self, line: &[u8], inside: LexContext) -> Option<Confidence> {
        match self.matching_prefix(line) {
            Some(found) if inside.may_end() => {
                Some(if found.is_known { Confidence::Clean } else { Confidence::Irregular })
            }
            Some(found) => self.is_own(&found).then_some(Confidence::Clean),
            None => (inside.may_end() && is_banner_line(line)).then_some(Confidence::Clean),
        }
    }

    /// Whether a line is what this log would write next.
    fn is_own(&self, found: &LinePrefix<'_>) -> bool {
        let is_session = self.sessions.contains(&found.session)
            || (found.session > self.newest_session && found.kind == EventKind::Connect);
        let fits = |us| self.clock.time_fit(us, true) != LogFit::No;
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
