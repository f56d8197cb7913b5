//! The slow log of MySQL, MariaDB and Percona Server, in all their dialects.
//!
//! A statement ends at `;` and a line's end before the next head, unless it stands in a quote or a comment: a literal
//! may hold whatever looks like a head. But MariaDB logs what it could not parse, with quotes that have no end. So a
//! head inside a quote counts only if it is what this very log writes next: the same keys, a session known or newer, a
//! time that fits. Then what was open is marked unbalanced, and what follows as suspect.

mod banner;
mod head;
mod record_writer;
mod statement_end;

use std::collections::HashSet;

use super::byte_lexer::LexerMode;
use super::lexer::unquote_name;
use super::log_clock::{LogClock, LogFit};
use super::long_record::LongRecord;
use super::session_modes::SessionModes;
use super::{
    Confidence, DefaultDatabase, EventKind, FormatParser, LogRecord, Lookahead, ParseStep,
    SUSPECT_BYTES, SkipReason,
};
pub(super) use banner::parse_banner;
use banner::starts_banner;
use head::{HeadMatch, RecordHead, read_head};
use statement_end::StatementEnd;

pub(super) use head::parse_account;
pub use record_writer::write_slow_record;

/// Whether a line begins a record, or is one of its first.
pub(super) fn starts_record(line: &[u8]) -> bool {
    starts_head(line) || line.starts_with(b"# Query_time: ") || line.starts_with(b"# Thread_id: ")
}

/// What has been read of a log so far.
pub(super) struct SlowLog {
    /// The default database of the record before, whatever its session: `use` stands only where it changes.
    database: Option<Vec<u8>>,
    /// The database of the record given last.
    given: Vec<u8>,
    /// Keys that this log's records have.
    shape: Option<u64>,
    /// Whether its heads have no account, as by `--log-short-format`.
    is_short: bool,
    /// Sessions seen.
    sessions: HashSet<u64>,
    newest_session: u64,
    /// Those that were seen lately, each at the place that its number gives, so that most need no look-up.
    recent: [u64; RECENT],
    clock: LogClock,
    /// What sessions said of how they are to be read.
    modes: SessionModes,
    /// Bytes that are suspect from here on.
    suspect_bytes: usize,
    lacks_begin: bool,
    /// Bytes that texts in a head before could have written.
    free_text_bytes: usize,
    /// Whether the record before was given early: more of it may come.
    was_early: bool,
    /// Whether what comes is not understood, up to the next head.
    is_skipping: bool,
    /// Whether what was skipped last ends a statement.
    is_behind_end: bool,
    /// The rest of a record that is longer than is kept.
    long: Option<LongRecord>,
}

/// So many bytes the texts in a head may take up: an alias of 256 letters for each of 61 tables, ten warnings of 512.
const FREE_TEXT_BYTES: usize = 64 << 10;
/// Sessions kept in mind without a look-up.
const RECENT: usize = 64;
/// Sessions kept in mind.
const MOST_SESSIONS: usize = 100_000;
impl Default for SlowLog {
    fn default() -> SlowLog {
        SlowLog {
            database: None,
            given: Vec::new(),
            shape: None,
            is_short: false,
            sessions: HashSet::new(),
            newest_session: 0,
            recent: [u64::MAX; RECENT],
            clock: LogClock::default(),
            modes: SessionModes::default(),
            suspect_bytes: 0,
            lacks_begin: false,
            free_text_bytes: 0,
            was_early: false,
            is_skipping: false,
            is_behind_end: false,
            long: None,
        }
    }
}

impl FormatParser for SlowLog {
    fn parse_next<'t>(
        &'t mut self,
        text: &'t [u8],
        at: usize,
        line: u64,
        ahead: Lookahead,
    ) -> ParseStep<'t> {
        let is_all = ahead.is_all();
        if let Some(step) = self.skip_long_record(text, at, is_all) {
            return step;
        }
        if self.was_early {
            match self.skip_early_rest(text, at, is_all) {
                Some(step) => return step,
                None => self.was_early = false,
            }
        }
        if let Some(step) = parse_banner(text, at, is_all) {
            return step;
        }
        if self.is_skipping && !self.starts_after_unknown(&text[at..], self.is_behind_end) {
            return self.skip_unknown(text, at, is_all);
        }
        self.is_skipping = false;
        let found = match read_head(text, at, is_all) {
            HeadMatch::Head(found) => found,
            HeadMatch::Incomplete => return ParseStep::More,
            HeadMatch::Nothing => {
                self.is_skipping = true;
                return self.skip_unknown(text, at, is_all);
            }
        };
        let begin = found.statement_at;
        if begin == text.len() && !is_all {
            return ParseStep::More;
        }
        if self.suspect_bytes == 0 {
            // A head in the very first literal must look like the head before it, too.
            self.learn_shape(&found);
        }
        match self.is_bare(&found, text, is_all) {
            None => return ParseStep::More,
            Some(true) => {
                self.skip_bare_head(&found, begin - at);
                return ParseStep::Skipped(begin, SkipReason::Strange);
            }
            Some(false) => {}
        }
        let Some(end) = self.find_end(text, begin, Some(&found), ahead) else {
            return ParseStep::More;
        };
        self.was_early = end.is_early;
        let line = line + found.lines;
        let after = end.lines.map(|lines| line + lines);
        self.finish_record(text, found, &end, line, (end.next - at, after))
    }

    fn note_missing_start(&mut self) {
        self.suspect_bytes = SUSPECT_BYTES;
        self.lacks_begin = true;
    }

    fn skip_oversized(&mut self, text: &[u8], at: usize) {
        if let Some(long) = &mut self.long {
            return long.continue_record();
        }
        let is_record = !std::mem::take(&mut self.was_early) && !self.is_skipping;
        let long = match read_head(text, at, false) {
            HeadMatch::Head(found) if is_record => {
                if self.suspect_bytes == 0 {
                    self.learn_head(&found);
                }
                self.note_session(&found);
                self.note_database(&found);
                let mode = self.modes.for_session(found.session);
                let reading = mode.map_or(LexerMode::DEFAULT, |mode| mode.reading);
                LongRecord::new(reading, found.statement_at - at, true)
            }
            // Nobody knows what it is: what follows may be a part of it.
            _ => {
                self.suspect_bytes = SUSPECT_BYTES;
                LongRecord::new(LexerMode::DEFAULT, 0, false)
            }
        };
        self.is_skipping = false;
        self.long = Some(long);
    }
}

const ADMIN: &[u8] = b"# administrator command: ";

impl SlowLog {
    fn finish_record<'t>(
        &'t mut self,
        text: &'t [u8],
        head: RecordHead<'t>,
        end: &StatementEnd,
        line: u64,
        (bytes, after): (usize, Option<u64>),
    ) -> ParseStep<'t> {
        let body = &text[head.statement_at..end.statement];
        let (kind, body) = match body.strip_prefix(ADMIN) {
            Some(command) => (command_kind(command), command),
            None => (EventKind::Statement, body),
        };
        let confidence = match end.confidence {
            own if !own.depends_on_surroundings() => own,
            _ if self.suspect_bytes > 0 => Confidence::Suspect,
            _ if head.has_free_text || self.free_text_bytes > 0 => Confidence::FreeText,
            _ if head.is_odd || head.has_user == self.is_short => Confidence::Irregular,
            own => own,
        };
        let is_certain = self.suspect_bytes == 0 && confidence != Confidence::Unbalanced;
        self.count_bytes(&head, bytes);
        if end.is_guess {
            self.suspect_bytes = SUSPECT_BYTES;
        }
        // Without the log's begin there is nothing better to learn from, however the next record begins: what is given
        // early can't tell that, and must learn the same.
        let is_usable = matches!(confidence, Confidence::Suspect | Confidence::Irregular);
        if is_certain || self.lacks_begin && is_usable {
            self.learn_head(&head);
        }
        self.note_session(&head);
        self.note_database(&head);
        let database = match (head.schema, &self.database) {
            (Some(b""), _) => DefaultDatabase::None,
            (Some(name), _) => DefaultDatabase::Named(name),
            (None, None) => DefaultDatabase::Unknown,
            (None, Some(name)) => {
                self.given.clone_from(name);
                DefaultDatabase::Named(&self.given)
            }
        };
        let began_us = self.record_start_us(&head);
        let recorded = LogRecord {
            line,
            kind,
            text: body,
            session: head.session,
            user: head.user,
            host: head.host,
            database,
            began_us,
            took_us: head.took_us,
            locked_us: head.locked_us,
            rows_sent: head.rows_sent,
            rows_examined: head.rows_examined,
            rows_affected: head.rows_affected,
            bytes_sent: head.bytes_sent,
            errno: head.errno,
            is_inner: head.is_inner,
            confidence,
            ..LogRecord::default()
        };
        if is_certain && confidence != Confidence::Cut {
            self.modes.note_record(&recorded);
        }
        ParseStep::Recorded(recorded, end.next, after)
    }

    /// So many bytes were read, and their head was this.
    fn count_bytes(&mut self, head: &RecordHead<'_>, bytes: usize) {
        self.free_text_bytes = match head.has_free_text {
            true => FREE_TEXT_BYTES,
            false => self.free_text_bytes.saturating_sub(bytes),
        };
        self.suspect_bytes = self.suspect_bytes.saturating_sub(bytes);
    }

    fn note_database(&mut self, head: &RecordHead<'_>) {
        if let Some(used) = head.used {
            self.database = Some(unquote_name(used));
        }
    }

    /// Whether no statement follows a head, as the server died, or the disk was full. A statement may begin with
    /// comments that look like a head: then it is one only if it is what this log would write next.
    fn is_bare(&self, found: &RecordHead<'_>, text: &[u8], is_all: bool) -> Option<bool> {
        let rest = &text[found.statement_at..];
        if rest.is_empty() {
            return Some(true);
        }
        if rest.starts_with(ADMIN) {
            return Some(false);
        }
        if found.stamp_us.is_none() {
            return Some(self.starts_own_record(rest) || starts_banner(rest, is_all)?);
        }
        if !self.starts_own_record(rest) {
            return Some(false);
        }
        match read_head(text, found.statement_at, is_all) {
            HeadMatch::Incomplete => None,
            HeadMatch::Head(next) => {
                Some(next.stamp_us.is_some() && self.head_fit(&next) == LogFit::Own)
            }
            HeadMatch::Nothing => Some(false),
        }
    }

    /// A head has no statement.
    fn skip_bare_head(&mut self, head: &RecordHead<'_>, bytes: usize) {
        self.count_bytes(head, bytes);
        self.note_database(head);
        if head.stamp_us.is_some() {
            self.suspect_bytes = SUSPECT_BYTES;
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
            if rest.is_empty() || rest.len() < LONGEST_START && may_start_head(rest) {
                return is_all.then_some(false);
            }
            if inside.may_end() {
                return self
                    .check_record_start(text, next, is_all)
                    .map(|confidence| confidence.is_some());
            }
            if !self.starts_own_record(rest) {
                return Some(false);
            }
            match read_head(text, next, is_all) {
                HeadMatch::Incomplete => None,
                HeadMatch::Head(head) => Some(self.head_fit(&head) == LogFit::Own),
                HeadMatch::Nothing => Some(false),
            }
        });
        long.step(at, reached, &mut self.long, &mut self.suspect_bytes)
    }

    /// When a statement began, microseconds since 1970. MariaDB notes that; MySQL notes when it ended, in `# Time`, and
    /// from 8.0.14 on the second of its begin in the stamp. A head without a time is of the second of the one before.
    fn record_start_us(&self, head: &RecordHead<'_>) -> Option<u64> {
        let took_us = head.took_us.unwrap_or(0);
        let known = self.clock.now_us();
        if head.is_noted_end {
            return head.start_us.or(head.noted_us.map(|ended| ended.saturating_sub(took_us)));
        }
        let noted = head.stamp_us.or(head.noted_us).or(known);
        match head.is_mariadb {
            true => noted,
            false => head.start_us.or(noted.map(|ended| ended.saturating_sub(took_us))),
        }
    }

    /// What follows a record that was given early, where it is no head: the rest of that record, up to the next head
    /// outside its quotes. It must not become a record of its own. `None` where the next record begins.
    fn skip_early_rest(&self, text: &[u8], at: usize, is_all: bool) -> Option<ParseStep<'static>> {
        let rest = &text[at..];
        if rest.len() < LONGEST_START && may_start_head(rest) && !is_all {
            return Some(ParseStep::More);
        }
        // By the test that would have ended that record: with another, its rest would be nobody's.
        match self.check_record_start(text, at, is_all) {
            Some(Some(_)) => return None,
            Some(None) => {}
            None => return Some(ParseStep::More),
        }
        let ahead = if is_all { Lookahead::Nothing } else { Lookahead::More };
        match self.find_end(text, at, None, ahead) {
            // A head that a dying server began, and the banner of the next one behind it: no more of that record.
            Some(end) if end.next == at => None,
            Some(end) => Some(ParseStep::Skipped(end.next, SkipReason::Rest)),
            None => Some(ParseStep::More),
        }
    }

    /// Takes note of what this log's heads look like.
    fn learn_head(&mut self, head: &RecordHead<'_>) {
        self.learn_shape(head);
        if let Some(us) = head.time_us() {
            self.clock.note_time(us);
        }
    }

    /// Takes note of a session, also of one that may be text: so long as nothing is certain, that makes nothing worse,
    /// and heads of sessions that began meanwhile are known.
    fn note_session(&mut self, head: &RecordHead<'_>) {
        let is_new = |id: &u64| self.recent[*id as usize % RECENT] != *id;
        if let Some(session) = head.session.filter(is_new) {
            self.recent[session as usize % RECENT] = session;
            self.newest_session = self.newest_session.max(session);
            if self.sessions.len() < MOST_SESSIONS {
                self.sessions.insert(session);
            }
        }
    }

    fn learn_shape(&mut self, head: &RecordHead<'_>) {
        // Where one head has an account, all have: what was seen before was the rest of one that was cut.
        if self.shape.is_none() || self.is_short && head.has_user {
            self.shape = Some(head.shape);
            self.is_short = !head.has_user;
        }
    }

    /// Whether a record begins here by how this log begins them.
    fn starts_own_record(&self, rest: &[u8]) -> bool {
        starts_head(rest) || self.is_short && starts_short_head(rest)
    }

    /// The same behind something strange. Where no record was seen yet, a line that is a head's second in most logs is
    /// its first in a short one, behind a statement's end.
    fn starts_after_unknown(&self, rest: &[u8], is_behind_end: bool) -> bool {
        self.starts_own_record(rest)
            || self.shape.is_none() && is_behind_end && starts_short_head(rest)
    }

    /// Text that no head stands before: up to the next line that begins one.
    fn skip_unknown<'t>(&mut self, text: &[u8], at: usize, is_all: bool) -> ParseStep<'t> {
        let mut from = at;
        while let Some(end) = memchr::memchr(b'\n', &text[from..]) {
            self.is_behind_end = end > 0 && text[from + end - 1] == b';';
            from += end + 1;
            let rest = &text[from..];
            if self.starts_after_unknown(rest, self.is_behind_end)
                || starts_banner(rest, is_all) == Some(true)
            {
                return ParseStep::Skipped(from, SkipReason::Strange);
            }
            if rest.len() < LONGEST_START && may_start_head(rest) && !is_all {
                break;
            }
        }
        if is_all {
            return ParseStep::Skipped(text.len(), SkipReason::Strange);
        }
        if from > at { ParseStep::Skipped(from, SkipReason::Strange) } else { ParseStep::More }
    }
}

/// What heads begin with.
const STARTS: [&[u8]; 6] =
    [b"# Time:", b"# User@Host:", b"# User:", b"# Query_time:", b"# Thread_id:", b"# Schema:"];
/// Bytes that tell for sure whether a head begins.
const LONGEST_START: usize = 13;

/// Whether a head begins here in the way of most logs.
fn starts_head(rest: &[u8]) -> bool {
    rest.starts_with(b"# User@Host:")
        || (rest.starts_with(b"# Time: ") && rest.get(8).is_some_and(u8::is_ascii_digit))
        || rest.starts_with(b"# User: ")
}

/// Whether one begins here in the way of a log without accounts.
fn starts_short_head(rest: &[u8]) -> bool {
    STARTS[3..].iter().any(|start| rest.starts_with(start))
}

/// Whether one may begin here in any way.
fn is_start_of_head(rest: &[u8]) -> bool {
    STARTS.iter().any(|start| rest.starts_with(start))
}

/// The same where there is too little text to tell.
fn may_start_head(rest: &[u8]) -> bool {
    STARTS.iter().any(|start| start.starts_with(rest) || rest.starts_with(start))
}

fn command_kind(command: &[u8]) -> EventKind {
    match command {
        b"Quit" => EventKind::Quit,
        b"Init DB" => EventKind::InitDb,
        b"Connect" => EventKind::Connect,
        _ => EventKind::Other,
    }
}

#[cfg(test)]
mod tests;
