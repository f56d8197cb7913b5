//! A log as it is shipped: whole records only, without secrets, of all sessions or of some; text that is itself a log,
//! from its first byte on. What a record has of those before it, its database and its time, is written again where those
//! were left out.

use std::io;

use super::super::redact::{hide_secrets, may_hold_secret};
use super::super::{
    Confidence, DefaultDatabase, EventKind, LogError, LogFlow, LogParser, LogRecord,
};
use super::mark::{BEFORE, LogMark, fnv_hash};
use super::reader::{Gap, ReadEvent, SegmentReader};
use super::tail::gap_banner;
use super::watcher::{LogHandle, StartPosition};

/// So much is read before the place to begin at, to know its database and that it is not in the midst of a literal.
const BEFORE_BYTES: u64 = 4 << 20;
/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Which sessions are shipped. A session is shipped whole or not at all, so that its transactions are whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum SessionSample {
    /// All.
    #[default]
    All,
    /// One of so many.
    OneOf(u64),
    /// This share, 0 to 1.
    Share(f64),
}

impl SessionSample {
    fn includes_session(self, session: u64) -> bool {
        // Numbers of sessions follow each other; their hashes don't.
        let hash = fnv_hash(&fnv_hash(&session.to_le_bytes()).to_le_bytes());
        match self {
            SessionSample::All => true,
            SessionSample::OneOf(n) => (hash >> 16) % n.max(1) == 0,
            SessionSample::Share(share) => ((hash >> 11) as f64) < share * (1_u64 << 53) as f64,
        }
    }
}

/// What was shipped and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShipStats {
    /// Records shipped.
    pub records: u64,
    /// Records of sessions that are not in the sample.
    pub left_out: u64,
    /// Records cut by the end of a file or a gap, and those of a sample that may be part of a literal.
    pub dropped: u64,
    /// Statements in which something was hidden.
    pub redacted: u64,
    /// Gaps in the log.
    pub gaps: u64,
    /// Bytes shipped, before they are packed.
    pub bytes: u64,
}

impl ShipStats {
    /// Both together.
    pub fn combined_with(&self, other: &ShipStats) -> ShipStats {
        ShipStats {
            records: self.records + other.records,
            left_out: self.left_out + other.left_out,
            dropped: self.dropped + other.dropped,
            redacted: self.redacted + other.redacted,
            gaps: self.gaps + other.gaps,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A log on its way to one reader.
pub struct LogStream {
    reader: SegmentReader,
    log: LogParser,
    piece: Vec<u8>,
    out: StreamOutput,
    /// Whether the log has paused and what there is was given.
    is_quiet: bool,
}

/// What is written, and what is known for it.
struct StreamOutput {
    sessions: SessionSample,
    text: Vec<u8>,
    shipped: ShipStats,
    /// Records that end before this are not shipped, bytes from where reading began.
    skip_bytes: u64,
    /// The database in the log here, as far as it is known.
    database: Option<Vec<u8>>,
    /// The database that a reader of what was shipped believes in.
    told: Option<Vec<u8>>,
    /// The last line of time in the log, and the last one shipped.
    time: Vec<u8>,
    told_time: Vec<u8>,
    /// Where the last record ended, bytes from where reading began, and the bytes before.
    end: u64,
    last: Vec<u8>,
    is_first: bool,
}

impl LogStream {
    /// A stream that begins there.
    ///
    /// # Errors
    /// When the log can't be looked at.
    pub fn open(
        entrance: &LogHandle,
        from: &StartPosition,
        sessions: SessionSample,
    ) -> io::Result<LogStream> {
        let (reader, skip_bytes) = match from {
            StartPosition::Now => entrance.reader_before_now(BEFORE_BYTES)?,
            from => (entrance.reader_from(from)?, 0),
        };
        let database = match from {
            StartPosition::Mark(mark) => mark.database.clone(),
            StartPosition::Now | StartPosition::Begin => None,
        };
        let out = StreamOutput {
            sessions,
            text: Vec::new(),
            shipped: ShipStats::default(),
            skip_bytes,
            database,
            told: None,
            time: Vec::new(),
            told_time: Vec::new(),
            end: 0,
            last: Vec::new(),
            is_first: true,
        };
        let (log, piece) = (LogParser::new_attached(), vec![0; PIECE]);
        Ok(LogStream { reader, log, piece, out, is_quiet: false })
    }

    /// Takes what the log has next; `false` where it has nothing now. What is to be shipped is in `text_mut`.
    ///
    /// # Errors
    /// When the log can't be read, or is none.
    pub fn read_records(&mut self) -> Result<bool, LogError> {
        let LogStream { reader, log, piece, out, .. } = self;
        let on = &mut |recorded: &LogRecord<'_>| out.add_record(recorded);
        match reader.read_next(piece)? {
            ReadEvent::Idle => return Ok(false),
            ReadEvent::Bytes(read) => {
                let _ = log.push(&piece[..read], on)?;
            }
            ReadEvent::End => {
                let _ = log.finish(on)?;
            }
            ReadEvent::Gap(gap) => {
                let _ = log.finish(on)?;
                out.write_gap(gap);
            }
        }
        self.is_quiet = false;
        Ok(true)
    }

    /// Nothing came for 200 ms: takes a last record that looks whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn flush_quiet(&mut self) -> Result<(), LogError> {
        if !std::mem::replace(&mut self.is_quiet, true) {
            let LogStream { log, out, .. } = self;
            let _ = log.flush_quiet(&mut |recorded: &LogRecord<'_>| out.add_record(recorded))?;
        }
        Ok(())
    }

    /// What is to be shipped now: whole records.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.out.text
    }

    /// Memory that it takes, about: text to be shipped, and that of a record which has not come to its end.
    pub fn held_bytes(&self) -> usize {
        let under_way = self.reader.position().saturating_sub(self.log.offset());
        // A buffer that grows has room for as much again.
        self.out.text.capacity()
            + usize::try_from(under_way.saturating_mul(2)).unwrap_or(usize::MAX)
    }

    /// Where the text ends.
    pub fn end_mark(&mut self) -> LogMark {
        let end = self.out.end.max(self.out.skip_bytes.min(self.reader.position()));
        let last = if end == self.out.end { self.out.last.as_slice() } else { &[] };
        self.reader.mark_at(end, last, self.out.database.clone())
    }

    /// What was shipped so far.
    pub fn ship_stats(&self) -> ShipStats {
        self.out.shipped
    }

    /// Bytes of the log that were not read yet.
    pub fn bytes_behind(&self) -> u64 {
        self.reader.bytes_behind()
    }
}

impl StreamOutput {
    fn add_record(&mut self, recorded: &LogRecord<'_>) -> LogFlow {
        let raw = recorded.raw;
        let is_apart = !self.is_first && recorded.offset != self.end;
        self.end = recorded.offset + raw.len() as u64;
        self.last.clear();
        self.last.extend_from_slice(&raw[raw.len().saturating_sub(BEFORE)..]);
        let is_wanted = self.end > self.skip_bytes;
        if is_apart && is_wanted {
            self.write_break();
        }
        self.is_first = false;
        if raw.starts_with(TIME) {
            let end = memchr::memchr(b'\n', raw).map_or(raw.len(), |end| end + 1);
            self.time.clear();
            self.time.extend_from_slice(&raw[..end]);
        }
        let own = match recorded.database {
            DefaultDatabase::Named(name) => {
                self.database = Some(name.to_vec());
                true
            }
            DefaultDatabase::None => false,
            DefaultDatabase::Unknown => self.database.is_some(),
        };
        if !is_wanted {
            return LogFlow::Continue(());
        }
        let is_sampled = self.sessions != SessionSample::All;
        let is_doubtful = matches!(
            recorded.confidence,
            Confidence::Unbalanced
                | Confidence::Suspect
                | Confidence::Ambiguous
                | Confidence::Irregular
        );
        if recorded.confidence == Confidence::Cut || is_sampled && is_doubtful {
            self.shipped.dropped += 1;
            return LogFlow::Continue(());
        }
        // Without a number, what comes from one account and host stays together.
        let session = recorded
            .session
            .unwrap_or_else(|| fnv_hash(recorded.user) ^ fnv_hash(recorded.host).rotate_left(32));
        if is_sampled && !self.sessions.includes_session(session) {
            self.shipped.left_out += 1;
            return LogFlow::Continue(());
        }
        self.write_record(recorded, own);
        self.shipped.records += 1;
        LogFlow::Continue(())
    }

    /// Writes a record with what it has of those before it.
    fn write_record(&mut self, recorded: &LogRecord<'_>, has_database: bool) {
        let (raw, text) = (recorded.raw, recorded.text);
        let before = self.text.len();
        let at = (text.as_ptr() as usize).wrapping_sub(raw.as_ptr() as usize);
        let is_slow = raw.starts_with(b"# ");
        // Where its text stands elsewhere it is no part of the record; then there is no head to mend.
        let is_inside = at <= raw.len() && text.len() <= raw.len() - at;
        let (at, text) = match is_inside {
            true => (at, text),
            false if text.is_empty() => (0, text),
            false => (0, raw),
        };
        let (head, rest) = raw.split_at(at);
        let head_end = match rest {
            _ if recorded.kind == EventKind::Statement => head.len(),
            _ => memchr::memmem::rfind(head, b"# administrator command: ").unwrap_or(head.len()),
        };
        if is_slow && !raw.starts_with(TIME) && self.time != self.told_time {
            self.text.extend_from_slice(&self.time);
        }
        self.told_time.clone_from(&self.time);
        let (lines, stamp) = head[..head_end].split_at(timestamp_line_start(&head[..head_end]));
        let hidden = hide_secrets(text);
        let has_secret = *hidden != *text;
        self.write_lines(lines, has_secret);
        if is_slow && has_database {
            if !has_use(lines) && self.told != self.database {
                write_use(&mut self.text, self.database.as_deref().unwrap_or_default());
            }
            self.told.clone_from(&self.database);
        }
        self.text.extend_from_slice(stamp);
        self.text.extend_from_slice(&head[head_end..]);
        self.shipped.redacted += u64::from(has_secret);
        self.text.extend_from_slice(&hidden);
        self.text.extend_from_slice(rest.get(text.len()..).unwrap_or_default());
        if recorded.confidence == Confidence::Early && self.text.last() != Some(&b'\n') {
            self.text.push(b'\n');
        }
        self.shipped.bytes += (self.text.len() - before) as u64;
    }

    /// Writes the lines of a head. A server's warnings quote the statement, and with it its secrets.
    fn write_lines(&mut self, lines: &[u8], has_secret: bool) {
        let from = memchr::memmem::find(lines, WARNINGS).map(|at| at + WARNINGS.len());
        let Some(from) = from else { return self.text.extend_from_slice(lines) };
        let to = if has_use(lines) { memchr::memmem::rfind(lines, b"\nuse ") } else { None };
        let to = to.map_or(lines.len(), |at| at + 1).max(from);
        self.text.extend_from_slice(&lines[..from]);
        if has_secret || may_hold_secret(&lines[from..to]) {
            self.text.extend_from_slice(b"# <secret>\n");
        } else {
            self.text.extend_from_slice(&lines[from..to]);
        }
        self.text.extend_from_slice(&lines[to..]);
    }

    /// Something stands between two records that is none: a server opened its log there, or it can't be understood.
    fn write_break(&mut self) {
        self.text.extend_from_slice(&gap_banner("the server opened its log, or this is not a log"));
        self.told = None;
    }

    fn write_gap(&mut self, gap: Gap) {
        self.shipped.gaps += 1;
        self.text.extend_from_slice(&gap_banner(&gap.to_string()));
        (self.told, self.database) = (None, None);
    }
}

const TIME: &[u8] = b"# Time: ";
const WARNINGS: &[u8] = b"\n# Warnings\n";

/// Where the line `SET timestamp=..;` begins, at the end of a head; its end where there is none.
fn timestamp_line_start(head: &[u8]) -> usize {
    let line = head.strip_suffix(b"\n").unwrap_or(head);
    let begin = memchr::memrchr(b'\n', line).map_or(0, |at| at + 1);
    if line[begin..].starts_with(b"SET ") { begin } else { head.len() }
}

/// Whether a line `use ..;` ends these lines: what is no comment there is one.
fn has_use(lines: &[u8]) -> bool {
    memchr::memmem::rfind(lines, b"\nuse ").is_some_and(|_| lines.ends_with(b";\n"))
}

pub(super) fn write_use(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(b"use ");
    if !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        out.extend_from_slice(name);
    } else {
        out.push(b'`');
        for byte in name {
            out.push(*byte);
            if *byte == b'`' {
                out.push(b'`');
            }
        }
        out.push(b'`');
    }
    out.extend_from_slice(b";\n");
}

#[cfg(test)]
mod tests;
