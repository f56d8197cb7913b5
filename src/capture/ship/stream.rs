//! A log as it is shipped: whole records only, without secrets, of all sessions or of some; text that is itself a log,
//! from its first byte on. What a record has of those before it, its database and its time, is written again where those
//! were left out.

use std::io;

use super::super::redact::{may_hold_secret, without_secrets};
use super::super::{Database, Deed, Doubt, Log, LogError, Next, Recorded};
use super::mark::{BEFORE, Mark, fnv};
use super::reader::{Gap, Piece, Reader};
use super::tail::banner;
use super::watch::{Entrance, From};

/// So much is read before the place to begin at, to know its database and that it is not in the midst of a literal.
const BEFORE_BYTES: u64 = 4 << 20;
/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Which sessions are shipped. A session is shipped whole or not at all, so that its transactions are whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Sessions {
    /// All.
    #[default]
    All,
    /// One of so many.
    OneOf(u64),
    /// This share, 0 to 1.
    Share(f64),
}

impl Sessions {
    fn keeps(self, session: u64) -> bool {
        // Numbers of sessions follow each other; their hashes don't.
        let hash = fnv(&fnv(&session.to_le_bytes()).to_le_bytes());
        match self {
            Sessions::All => true,
            Sessions::OneOf(n) => (hash >> 16) % n.max(1) == 0,
            Sessions::Share(share) => ((hash >> 11) as f64) < share * (1_u64 << 53) as f64,
        }
    }
}

/// What was shipped and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
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

impl Shipped {
    /// Both together.
    pub fn plus(&self, other: &Shipped) -> Shipped {
        Shipped {
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
pub struct Stream {
    reader: Reader,
    log: Log,
    piece: Vec<u8>,
    out: Out,
    /// Whether the log has paused and what there is was given.
    is_quiet: bool,
}

/// What is written, and what is known for it.
struct Out {
    sessions: Sessions,
    text: Vec<u8>,
    shipped: Shipped,
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

impl Stream {
    /// A stream that begins there.
    ///
    /// # Errors
    /// When the log can't be looked at.
    pub fn open(entrance: &Entrance, from: &From, sessions: Sessions) -> io::Result<Stream> {
        let (reader, skip_bytes) = match from {
            From::Now => entrance.reader_before_now(BEFORE_BYTES)?,
            from => (entrance.reader(from)?, 0),
        };
        let database = match from {
            From::Mark(mark) => mark.database.clone(),
            From::Now | From::Begin => None,
        };
        let out = Out {
            sessions,
            text: Vec::new(),
            shipped: Shipped::default(),
            skip_bytes,
            database,
            told: None,
            time: Vec::new(),
            told_time: Vec::new(),
            end: 0,
            last: Vec::new(),
            is_first: true,
        };
        let (log, piece) = (Log::attached(), vec![0; PIECE]);
        Ok(Stream { reader, log, piece, out, is_quiet: false })
    }

    /// Takes what the log has next; `false` where it has nothing now. What is to be shipped is in `text`.
    ///
    /// # Errors
    /// When the log can't be read, or is none.
    pub fn look(&mut self) -> Result<bool, LogError> {
        let Stream { reader, log, piece, out, .. } = self;
        let on = &mut |recorded: &Recorded<'_>| out.take(recorded);
        match reader.read(piece)? {
            Piece::Idle => return Ok(false),
            Piece::Bytes(read) => {
                let _ = log.push(&piece[..read], on)?;
            }
            Piece::End => {
                let _ = log.finish(on)?;
            }
            Piece::Gap(gap) => {
                let _ = log.finish(on)?;
                out.gap(gap);
            }
        }
        self.is_quiet = false;
        Ok(true)
    }

    /// Nothing came for 200 ms: takes a last record that looks whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn pause(&mut self) -> Result<(), LogError> {
        if !std::mem::replace(&mut self.is_quiet, true) {
            let Stream { log, out, .. } = self;
            let _ = log.pause(&mut |recorded: &Recorded<'_>| out.take(recorded))?;
        }
        Ok(())
    }

    /// What is to be shipped now: whole records.
    pub fn text(&mut self) -> &mut Vec<u8> {
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
    pub fn mark(&mut self) -> Mark {
        let end = self.out.end.max(self.out.skip_bytes.min(self.reader.position()));
        let last = if end == self.out.end { self.out.last.as_slice() } else { &[] };
        self.reader.mark(end, last, self.out.database.clone())
    }

    /// What was shipped so far.
    pub fn shipped(&self) -> Shipped {
        self.out.shipped
    }

    /// Bytes of the log that were not read yet.
    pub fn bytes_behind(&self) -> u64 {
        self.reader.bytes_behind()
    }
}

impl Out {
    fn take(&mut self, recorded: &Recorded<'_>) -> Next {
        let raw = recorded.raw;
        let is_apart = !self.is_first && recorded.offset != self.end;
        self.end = recorded.offset + raw.len() as u64;
        self.last.clear();
        self.last.extend_from_slice(&raw[raw.len().saturating_sub(BEFORE)..]);
        let is_wanted = self.end > self.skip_bytes;
        if is_apart && is_wanted {
            self.part();
        }
        self.is_first = false;
        if raw.starts_with(TIME) {
            let end = memchr::memchr(b'\n', raw).map_or(raw.len(), |end| end + 1);
            self.time.clear();
            self.time.extend_from_slice(&raw[..end]);
        }
        let own = match recorded.database {
            Database::Named(name) => {
                self.database = Some(name.to_vec());
                true
            }
            Database::None => false,
            Database::Unknown => self.database.is_some(),
        };
        if !is_wanted {
            return Next::Continue(());
        }
        let is_sampled = self.sessions != Sessions::All;
        let is_doubtful = matches!(
            recorded.doubt,
            Doubt::Unbalanced | Doubt::Suspect | Doubt::Ambiguous | Doubt::Irregular
        );
        if recorded.doubt == Doubt::Cut || is_sampled && is_doubtful {
            self.shipped.dropped += 1;
            return Next::Continue(());
        }
        // Without a number, what comes from one account and host stays together.
        let session = recorded
            .session
            .unwrap_or_else(|| fnv(recorded.user) ^ fnv(recorded.host).rotate_left(32));
        if is_sampled && !self.sessions.keeps(session) {
            self.shipped.left_out += 1;
            return Next::Continue(());
        }
        self.write(recorded, own);
        self.shipped.records += 1;
        Next::Continue(())
    }

    /// Writes a record with what it has of those before it.
    fn write(&mut self, recorded: &Recorded<'_>, has_database: bool) {
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
            _ if recorded.deed == Deed::Statement => head.len(),
            _ => memchr::memmem::rfind(head, b"# administrator command: ").unwrap_or(head.len()),
        };
        if is_slow && !raw.starts_with(TIME) && self.time != self.told_time {
            self.text.extend_from_slice(&self.time);
        }
        self.told_time.clone_from(&self.time);
        let (lines, stamp) = head[..head_end].split_at(stamp(&head[..head_end]));
        let hidden = without_secrets(text);
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
        if recorded.doubt == Doubt::Early && self.text.last() != Some(&b'\n') {
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
    fn part(&mut self) {
        self.text.extend_from_slice(&banner(
            "the server opened its log, or what stands there is no log",
        ));
        self.told = None;
    }

    fn gap(&mut self, gap: Gap) {
        self.shipped.gaps += 1;
        self.text.extend_from_slice(&banner(&gap.to_string()));
        (self.told, self.database) = (None, None);
    }
}

const TIME: &[u8] = b"# Time: ";
const WARNINGS: &[u8] = b"\n# Warnings\n";

/// Where the line `SET timestamp=..;` begins, at the end of a head; its end where there is none.
fn stamp(head: &[u8]) -> usize {
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
