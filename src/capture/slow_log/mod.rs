//! The slow log of MySQL, MariaDB and Percona Server, in all their dialects.
//!
//! A statement ends at `;` and a line's end before the next head, unless it stands in a quote or a comment: a literal
//! may hold whatever looks like a head. But MariaDB logs what it could not parse, with quotes that have no end. So a
//! head inside a quote counts only if it is what this very log writes next: the same keys, a session known or newer, a
//! time that fits. Then what was open is marked unbalanced, and what follows as suspect.

mod banner;
mod head;
mod text;

use std::collections::HashSet;

use super::lexer::{Escapes, Inside, Lexer, unquoted};
use super::{Ahead, Database, Deed, Doubt, Format, Recorded, Skipped, Step};
use banner::{banner, banner_before, starts_banner};
use head::{Found, Head, head};

pub(super) use head::account;
pub use text::write_slow;

/// Whether a line begins a record, or is one of its first.
pub(super) fn begins(line: &[u8]) -> bool {
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
    /// Sessions seen.
    sessions: HashSet<u64>,
    newest_session: u64,
    /// Those that were seen lately, each at the place that its number gives, so that most need no look-up.
    recent: [u64; RECENT],
    /// The latest plausible time seen, microseconds since 1970.
    clock_us: u64,
    /// Bytes that are suspect from here on.
    suspect_bytes: usize,
    lacks_begin: bool,
    /// Bytes that texts in a head before could have written.
    free_text_bytes: usize,
    /// Whether the record before was given early: more of it may come.
    was_early: bool,
    /// Whether what comes is not understood, up to the next head.
    is_skipping: bool,
}

/// So many bytes behind something unbalanced may be part of a literal there. Beyond, a literal would have to be longer.
const SUSPECT_BYTES: usize = 1 << 20;
/// So many bytes the texts in a head may take up: an alias of 256 letters for each of 61 tables, ten warnings of 512.
const FREE_TEXT_BYTES: usize = 64 << 10;
/// Sessions kept in mind without a look-up.
const RECENT: usize = 64;
/// Sessions kept in mind.
const MOST_SESSIONS: usize = 100_000;
/// How far a record's time may lie behind the one before: logs are in the order of ends, times those of begins.
const BACK_US: u64 = 3_600_000_000;
/// And ahead of it.
const AHEAD_US: u64 = 86_400_000_000 * 7;

/// Where a statement ends.
struct End {
    /// Behind its last byte.
    statement: usize,
    /// Where the next record begins.
    next: usize,
    doubt: Doubt,
    /// Lines from the statement's first on to there, where they were counted.
    lines: Option<u64>,
}

impl Default for SlowLog {
    fn default() -> SlowLog {
        SlowLog {
            database: None,
            given: Vec::new(),
            shape: None,
            sessions: HashSet::new(),
            newest_session: 0,
            recent: [u64::MAX; RECENT],
            clock_us: 0,
            suspect_bytes: 0,
            lacks_begin: false,
            free_text_bytes: 0,
            was_early: false,
            is_skipping: false,
        }
    }
}

impl Format for SlowLog {
    fn step<'t>(&'t mut self, text: &'t [u8], at: usize, line: u64, ahead: Ahead) -> Step<'t> {
        let is_all = ahead.is_all();
        if self.was_early {
            match self.rest_of_early(text, at, is_all) {
                Some(step) => return step,
                None => self.was_early = false,
            }
        }
        if let Some(step) = banner(text, at, is_all) {
            return step;
        }
        if self.is_skipping && !starts_head(&text[at..]) {
            return skip(text, at, is_all);
        }
        self.is_skipping = false;
        let found = match head(text, at, is_all) {
            Found::Head(found) => found,
            Found::Incomplete => return Step::More,
            Found::Nothing => {
                self.is_skipping = true;
                return skip(text, at, is_all);
            }
        };
        let begin = found.statement_at;
        let rest = &text[begin..];
        if rest.is_empty() && !is_all {
            return Step::More;
        }
        if self.shape.is_none() && self.suspect_bytes == 0 {
            // A head in the very first literal must look like the head before it, too.
            self.shape = Some(found.shape);
        }
        let is_admin = rest.starts_with(ADMIN);
        let end = if starts_head(rest) && !is_admin {
            // A head without a statement.
            End { statement: begin, next: begin, doubt: Doubt::Clean, lines: Some(0) }
        } else {
            match self.end(text, begin, ahead) {
                Some(end) => end,
                None => return Step::More,
            }
        };
        self.was_early = end.doubt == Doubt::Early;
        let line = line + found.lines;
        let after = end.lines.map(|lines| line + lines);
        self.recorded(text, found, &end, line, (end.next - at, after))
    }

    fn lacks_begin(&mut self) {
        self.suspect_bytes = SUSPECT_BYTES;
        self.lacks_begin = true;
    }
}

const ADMIN: &[u8] = b"# administrator command: ";

impl SlowLog {
    fn recorded<'t>(
        &'t mut self,
        text: &'t [u8],
        head: Head<'t>,
        end: &End,
        line: u64,
        (bytes, after): (usize, Option<u64>),
    ) -> Step<'t> {
        let body = &text[head.statement_at..end.statement];
        let (deed, body) = match body.strip_prefix(ADMIN) {
            Some(command) => (command_deed(command), command),
            None => (Deed::Statement, body),
        };
        let doubt = match end.doubt {
            Doubt::Clean | Doubt::Early if self.suspect_bytes > 0 => Doubt::Suspect,
            Doubt::Clean | Doubt::Early if head.has_free_text || self.free_text_bytes > 0 => {
                Doubt::FreeText
            }
            doubt => doubt,
        };
        self.free_text_bytes = match head.has_free_text {
            true => FREE_TEXT_BYTES,
            false => self.free_text_bytes.saturating_sub(bytes),
        };
        self.suspect_bytes = match doubt {
            Doubt::Unbalanced | Doubt::Cut => SUSPECT_BYTES,
            _ => self.suspect_bytes.saturating_sub(bytes),
        };
        self.learn(&head, doubt);
        if let Some(used) = head.used {
            self.database = Some(unquoted(used));
        }
        let database = match (head.schema, &self.database) {
            (Some(b""), _) => Database::None,
            (Some(name), _) => Database::Named(name),
            (None, None) => Database::Unknown,
            (None, Some(name)) => {
                self.given.clone_from(name);
                Database::Named(&self.given)
            }
        };
        let began_us = self.began(&head);
        let recorded = Recorded {
            line,
            deed,
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
            doubt,
            ..Recorded::default()
        };
        Step::Recorded(recorded, end.next, after)
    }

    /// When a statement began, microseconds since 1970. MariaDB notes that; MySQL notes when it ended, in `# Time`, and
    /// from 8.0.14 on the second of its begin in the stamp. A head without a time is of the second of the one before.
    fn began(&self, head: &Head<'_>) -> Option<u64> {
        let took_us = head.took_us.unwrap_or(0);
        let known = (self.clock_us > 0).then_some(self.clock_us);
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
    fn rest_of_early(&self, text: &[u8], at: usize, is_all: bool) -> Option<Step<'static>> {
        let rest = &text[at..];
        if starts_head(rest) {
            return None;
        }
        if rest.len() < LONGEST_START && may_start_head(rest) && !is_all {
            return Some(Step::More);
        }
        match starts_banner(rest, is_all) {
            Some(true) => return None,
            Some(false) => {}
            None => return Some(Step::More),
        }
        let ahead = if is_all { Ahead::Nothing } else { Ahead::More };
        Some(match self.end(text, at, ahead) {
            Some(end) => Step::Skipped(end.next, Skipped::Rest),
            None => Step::More,
        })
    }

    /// Takes note of what this log's heads look like.
    fn learn(&mut self, head: &Head<'_>, doubt: Doubt) {
        // Without the log's begin there is nothing better to learn from.
        let is_suspect = doubt == Doubt::Suspect && !self.lacks_begin;
        if is_suspect || doubt == Doubt::Unbalanced {
            return;
        }
        self.shape = self.shape.or(Some(head.shape));
        let is_new = |id: &u64| self.recent[*id as usize % RECENT] != *id;
        if let Some(session) = head.session.filter(is_new) {
            self.recent[session as usize % RECENT] = session;
            self.newest_session = self.newest_session.max(session);
            if self.sessions.len() < MOST_SESSIONS {
                self.sessions.insert(session);
            }
        }
        if let Some(us) = head.stamp_us.or(head.noted_us) {
            // A client can set its time; the clock only goes where one record's would not be wildly off.
            if self.fits(us) {
                self.clock_us = self.clock_us.max(us);
            }
        }
    }

    fn fits(&self, us: u64) -> bool {
        if self.clock_us == 0 {
            return true;
        }
        us.saturating_add(BACK_US) >= self.clock_us && us <= self.clock_us.saturating_add(AHEAD_US)
    }

    /// Where the statement that begins at `begin` ends; `None` where more text is needed to tell.
    fn end(&self, text: &[u8], begin: usize, ahead: Ahead) -> Option<End> {
        match self.search(text, begin, Escapes::Backslash, ahead)? {
            Search::End(end) => Some(end),
            Search::Own(own) => match self.search(text, begin, Escapes::None, ahead)? {
                Search::End(end) if end.next <= own => {
                    Some(End { doubt: Doubt::NoEscapes.unless_cut(end.doubt), ..end })
                }
                _ => Some(End {
                    lines: None,
                    statement: own - 2,
                    next: own,
                    doubt: Doubt::Unbalanced,
                }),
            },
            Search::Cut(at) => {
                let statement = begin + text[begin..at].trim_ascii_end().len();
                Some(End { statement, next: at, doubt: Doubt::Cut, lines: None })
            }
            Search::Open => match self.search(text, begin, Escapes::None, ahead)? {
                Search::End(end) => Some(End { doubt: Doubt::NoEscapes, ..end }),
                _ => Some(End { doubt: Doubt::Unbalanced, ..to_end(text, begin) }),
            },
        }
    }

    fn search(&self, text: &[u8], begin: usize, how: Escapes, ahead: Ahead) -> Option<Search> {
        let is_all = ahead.is_all();
        let mut lexer = Lexer::new(text, begin, how);
        let mut lines = 0;
        while let Some((inside, next)) = lexer.next_line() {
            lines += 1;
            let is_terminated = next >= begin + 2 && text[next - 2] == b';';
            let rest = &text[next..];
            if !is_terminated {
                if rest.first() == Some(&b'#') {
                    if let Some(cut) = self.cut(text, begin, (inside, next), is_all)? {
                        return Some(cut);
                    }
                }
                continue;
            }
            if rest.is_empty() {
                match ahead {
                    Ahead::Quiet if inside.may_end() && how == Escapes::Backslash => {
                        return Some(Search::end(next, Doubt::Early, lines));
                    }
                    Ahead::More | Ahead::Quiet => return None,
                    Ahead::Nothing if inside.may_end() => {
                        return Some(Search::end(next, Doubt::Clean, lines));
                    }
                    Ahead::Nothing => continue,
                }
            }
            if rest.len() < LONGEST_START && !is_all && may_start_head(rest) {
                return None;
            }
            if inside.may_end() {
                if starts_head(rest) || starts_banner(rest, is_all)? {
                    return Some(Search::end(next, Doubt::Clean, lines));
                }
            } else if starts_head(rest) {
                match head(text, next, is_all) {
                    Found::Incomplete => return None,
                    Found::Head(head) if self.is_own(&head) => return Some(Search::Own(next)),
                    _ => {}
                }
            }
        }
        if !is_all {
            return None;
        }
        if matches!(lexer.inside(), Inside::Quote(_) | Inside::Comment) {
            return Some(Search::Open);
        }
        Some(Search::End(End { doubt: Doubt::Cut, ..to_end(text, begin) }))
    }

    /// A head behind something that does not end: the server died, or the disk was full. It counts outside quotes, and
    /// behind a banner anywhere, if it is what this log would write next. `None` where the text is too short.
    fn cut(
        &self,
        text: &[u8],
        begin: usize,
        (inside, at): (Inside, usize),
        is_all: bool,
    ) -> Option<Option<Search>> {
        let rest = &text[at..];
        if !starts_head(rest) {
            let is_short = rest.len() < LONGEST_START && !is_all && may_start_head(rest);
            return if is_short { None } else { Some(None) };
        }
        let banner = banner_before(&text[begin..at]).map(|from| begin + from);
        if banner.is_none() && !inside.may_end() {
            return Some(None);
        }
        match head(text, at, is_all) {
            Found::Incomplete => None,
            Found::Head(head)
                if banner.is_some() || head.stamp_us.is_some() && self.is_own(&head) =>
            {
                Some(Some(Search::Cut(banner.unwrap_or(at))))
            }
            _ => Some(None),
        }
    }

    /// Whether a head is what this log would write next.
    fn is_own(&self, head: &Head<'_>) -> bool {
        let is_known = |session: u64| {
            self.sessions.contains(&session)
                || (session > self.newest_session && session < self.newest_session + 1_000_000)
        };
        head.has_user
            && !head.has_bad_time
            && self.shape.is_none_or(|shape| shape == head.shape)
            && head.session.is_none_or(is_known)
            && head.stamp_us.or(head.noted_us).is_none_or(|us| self.fits(us))
    }
}

impl Doubt {
    fn unless_cut(self, found: Doubt) -> Doubt {
        if found == Doubt::Cut { Doubt::Cut } else { self }
    }
}

/// What a search for a statement's end came to.
enum Search {
    End(End),
    /// A head of this log's own stands at this place inside a quote or comment.
    Own(usize),
    /// The next record, or a banner, stands at this place behind something that does not end.
    Cut(usize),
    /// The text ends inside a quote or comment.
    Open,
}

impl Search {
    fn end(next: usize, doubt: Doubt, lines: u64) -> Search {
        Search::End(End { statement: next - 2, next, doubt, lines: Some(lines) })
    }
}

fn to_end(text: &[u8], begin: usize) -> End {
    let trimmed = text[begin..].trim_ascii_end().len();
    End { statement: begin + trimmed, next: text.len(), doubt: Doubt::Clean, lines: None }
}

/// Bytes that tell for sure whether a head begins.
const LONGEST_START: usize = 12;

fn starts_head(rest: &[u8]) -> bool {
    rest.starts_with(b"# User@Host:")
        || (rest.starts_with(b"# Time: ") && rest.get(8).is_some_and(u8::is_ascii_digit))
        || rest.starts_with(b"# User: ")
}

fn may_start_head(rest: &[u8]) -> bool {
    [&b"# User@Host:"[..], b"# Time: 0"]
        .iter()
        .any(|start| start.iter().zip(rest).take(8).all(|(a, b)| a == b))
}

/// Text that no head stands before: up to the next line that begins one.
fn skip<'t>(text: &[u8], at: usize, is_all: bool) -> Step<'t> {
    let mut from = at;
    while let Some(end) = memchr::memchr(b'\n', &text[from..]) {
        from += end + 1;
        let rest = &text[from..];
        if starts_head(rest) || starts_banner(rest, is_all) == Some(true) {
            return Step::Skipped(from, Skipped::Strange);
        }
        if rest.len() < LONGEST_START && may_start_head(rest) && !is_all {
            break;
        }
    }
    if is_all {
        return Step::Skipped(text.len(), Skipped::Strange);
    }
    if from > at { Step::Skipped(from, Skipped::Strange) } else { Step::More }
}

fn command_deed(command: &[u8]) -> Deed {
    match command {
        b"Quit" => Deed::Quit,
        b"Init DB" => Deed::InitDb,
        b"Connect" => Deed::Connect,
        _ => Deed::Other,
    }
}

#[cfg(test)]
mod tests;
