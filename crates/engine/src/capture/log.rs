//! A log read piece by piece: knows its format by its begin, and holds no more of it than the record under way.

use std::io::Read;

use super::{
    Confidence, FormatParser, LOG_FORMATS, LogRecord, Lookahead, ParseStep, SkipReason,
    format_names, slow_log,
};

/// Bytes read at a time.
const PIECE: usize = 128 << 10;
/// So much of a log's begin is looked at to know its format.
const BEGIN: usize = 64 << 10;
/// Places that are kept of what could not be understood.
const MOST_PLACES: usize = 100;
/// Longest record that is given, unless a log is [told otherwise](LogParser::with_max_bytes). Memory is bounded by it.
pub const MOST_RECORD_BYTES: usize = 64 << 20;
/// So much more is waited for before a record counts as too long: enough to see the head of the next one.
const SLACK_BYTES: usize = 64 << 10;
/// Memory that is kept between records.
const KEPT_BYTES: usize = 1 << 20;

/// Whether to go on after a record.
pub type LogFlow = std::ops::ControlFlow<()>;

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It can't be read at all.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Its begin is that of no log we know.
    #[error("this is not a log in a known format ({})", format_names().join(", "))]
    Unknown,
}

/// Lines that could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedRange {
    /// The first of them, from 1.
    pub line: u64,
    /// Where they begin, bytes from where reading began.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What was read of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTally {
    /// Records, whatever they are.
    pub records: u64,
    /// Among them with a quote or comment that has no end.
    pub unbalanced: u64,
    /// Among them that may be part of a literal.
    pub suspect: u64,
    /// Among them that end only where backslashes are bytes like others.
    pub no_escapes: u64,
    /// Among them whose end depends on what the log does not tell.
    pub ambiguous: u64,
    /// Among them that hold what could be records in a literal, and are proven to be text.
    pub imitates: u64,
    /// Among them with a head that is not as the log writes them, or before one.
    pub irregular: u64,
    /// Among them that texts of clients in a head could imitate.
    pub free_text: u64,
    /// Among them given as nothing came behind them for a while.
    pub early: u64,
    /// Among those of which more came later: what was given is not all of them.
    pub continued: u64,
    /// Among the records, cut by the log's end.
    pub cut: u64,
    /// Starts and rotations of servers.
    pub banners: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes not understood.
    pub skipped_bytes: u64,
    /// Where the first of them are.
    pub skipped: Vec<SkippedRange>,
    /// Records that were left out as they are longer than is kept.
    pub too_long: u64,
    /// Where the first of them are.
    pub too_long_at: Vec<SkippedRange>,
    /// Where the last of each ends.
    skipped_end: u64,
    too_long_end: u64,
}

/// What a log that is being written has for its reader.
#[derive(Clone, Copy, Debug)]
pub enum LogUpdate<'r, 't> {
    /// Something recorded.
    Recorded(&'r LogRecord<'t>),
    /// Nothing for a while: time to look at clocks and stop flags.
    Idle,
}

/// What becomes of each record.
type LogRecordHandler<'a> = &'a mut dyn FnMut(&LogRecord<'_>) -> LogFlow;

/// One log. A file is [read](LogParser::read_source), a source that is still being written is [listened to](LogParser::follow_source); what comes
/// in another way is [pushed](LogParser::push).
pub struct LogParser {
    format: Option<(&'static str, Box<dyn FormatParser>)>,
    text: Vec<u8>,
    /// Where the next record begins.
    at: usize,
    /// Its line, from 1.
    line: u64,
    /// Its place in the log.
    offset: u64,
    /// No look again before there is so much text behind `at`.
    wanted: usize,
    /// Whether nothing came since the last look in a quiet while.
    is_looked_at: bool,
    is_attached: bool,
    is_patient: bool,
    most_bytes: usize,
    tally: LogTally,
}

impl Default for LogParser {
    fn default() -> LogParser {
        LogParser {
            format: None,
            text: Vec::new(),
            at: 0,
            line: 1,
            offset: 0,
            wanted: 0,
            is_looked_at: true,
            is_attached: false,
            is_patient: false,
            most_bytes: MOST_RECORD_BYTES,
            tally: LogTally::default(),
        }
    }
}

impl LogParser {
    /// A log that is read from anywhere in its midst: what stands before the first head is skipped and counted, however
    /// much it is. Which database is in use is unknown until the log tells.
    pub fn new_attached() -> LogParser {
        LogParser { is_attached: true, ..LogParser::default() }
    }

    /// The same, but a record is given only when the next one begins or the log ends: never early.
    pub fn without_early(self) -> LogParser {
        LogParser { is_patient: true, ..self }
    }

    /// The same, but records longer than this are left out, and counted: no more memory than about this is used.
    pub fn with_max_bytes(self, most_bytes: usize) -> LogParser {
        LogParser { most_bytes, ..self }
    }

    /// Which format it is in, once that is known.
    pub fn format_name(&self) -> Option<&'static str> {
        self.format.as_ref().map(|(name, _)| *name)
    }

    /// What was read so far.
    pub fn tally(&self) -> &LogTally {
        &self.tally
    }

    /// Bytes of the log that are done with: a log attached there goes on with the next record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The line that the next record begins on, from 1.
    pub fn line_number(&self) -> u64 {
        self.line
    }

    /// Reads a source to its end, or until `on` says so; each record is given to `on` as soon as it is whole.
    ///
    /// # Errors
    /// When the source can't be read, or is no log.
    pub fn read_source(
        &mut self,
        source: &mut dyn Read,
        on: LogRecordHandler<'_>,
    ) -> Result<(), LogError> {
        self.follow_source(source, &mut |news| match news {
            LogUpdate::Recorded(recorded) => on(recorded),
            LogUpdate::Idle => LogFlow::Continue(()),
        })
    }

    /// Reads a source that is still being written until it ends or `on` says so. The source gives
    /// `ErrorKind::WouldBlock` or `TimedOut` when nothing came for a while (some 200 ms): then a last record that looks
    /// whole is given, [early](Confidence::Early), and after it `Idle`. May be called again after `on` ended it.
    ///
    /// # Errors
    /// When the source can't be read, or is no log.
    pub fn follow_source(
        &mut self,
        source: &mut dyn Read,
        on: &mut dyn FnMut(LogUpdate<'_, '_>) -> LogFlow,
    ) -> Result<(), LogError> {
        use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        loop {
            let each = &mut |recorded: &LogRecord<'_>| on(LogUpdate::Recorded(recorded));
            let before = self.text.len();
            self.text.resize(before + PIECE, 0);
            let read = source.read(&mut self.text[before..]);
            self.text.truncate(before + *read.as_ref().unwrap_or(&0));
            let next = match read {
                Ok(0) => return self.finish(each).map(|_| ()),
                Ok(read) => self.parse_added(read, each)?,
                Err(e) if e.kind() == Interrupted => continue,
                Err(e) if matches!(e.kind(), WouldBlock | TimedOut) => {
                    match self.flush_quiet(each)? {
                        LogFlow::Continue(()) => on(LogUpdate::Idle),
                        stop => stop,
                    }
                }
                Err(e) => {
                    // What came before is good.
                    let _ = self.finish(each);
                    return Err(e.into());
                }
            };
            if next.is_break() {
                return Ok(());
            }
        }
    }

    /// Takes more of the log; gives what is whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn push(&mut self, text: &[u8], on: LogRecordHandler<'_>) -> Result<LogFlow, LogError> {
        self.text.extend_from_slice(text);
        self.parse_added(text.len(), on)
    }

    /// So many bytes more are there.
    fn parse_added(&mut self, bytes: usize, on: LogRecordHandler<'_>) -> Result<LogFlow, LogError> {
        self.tally.bytes += bytes as u64;
        self.is_looked_at = false;
        self.parse_records(Lookahead::More, on)
    }

    /// Nothing came for a while: gives a last record that looks whole.
    ///
    /// # Errors
    /// When it is no log.
    pub fn flush_quiet(&mut self, on: LogRecordHandler<'_>) -> Result<LogFlow, LogError> {
        if self.is_patient || self.is_looked_at {
            return Ok(LogFlow::Continue(()));
        }
        self.is_looked_at = true;
        self.parse_records(Lookahead::Quiet, on)
    }

    /// Nothing more will come: gives what is left.
    ///
    /// # Errors
    /// When it is no log.
    pub fn finish(&mut self, on: LogRecordHandler<'_>) -> Result<LogFlow, LogError> {
        self.parse_records(Lookahead::Nothing, on)
    }

    /// Takes what is whole of the text.
    fn parse_records(
        &mut self,
        ahead: Lookahead,
        on: LogRecordHandler<'_>,
    ) -> Result<LogFlow, LogError> {
        if ahead == Lookahead::More && self.text.len() - self.at < self.wanted {
            return Ok(LogFlow::Continue(()));
        }
        if self.format.is_none() && !self.detect_format(ahead)? {
            return Ok(LogFlow::Continue(()));
        }
        let Some((_, format)) = &mut self.format else { return Ok(LogFlow::Continue(())) };
        self.wanted = 0;
        let mut next = LogFlow::Continue(());
        while self.at < self.text.len() && next.is_continue() {
            let from = self.at;
            let mut after = None;
            match format.parse_next(&self.text, from, self.line, ahead) {
                ParseStep::Recorded(_, end, line) if end - from > self.most_bytes => {
                    after = line;
                    let place = (self.line, self.offset);
                    self.tally.count_skipped(&self.text[from..end], place, SkipReason::TooLong);
                    self.at = end;
                }
                ParseStep::Recorded(mut recorded, end, line) => {
                    after = line;
                    recorded.raw = &self.text[from..end];
                    recorded.offset = self.offset;
                    self.tally.count_record(recorded.confidence);
                    self.at = end;
                    next = on(&recorded);
                }
                ParseStep::Skipped(end, what) => {
                    self.tally.count_skipped(&self.text[from..end], (self.line, self.offset), what);
                    self.at = end;
                    if self.tally.records == 0 && self.tally.skipped_bytes > 0 {
                        format.note_missing_start();
                    }
                }
                ParseStep::More if self.text.len() - from > self.most_bytes + SLACK_BYTES => {
                    format.skip_oversized(&self.text, from);
                    continue;
                }
                ParseStep::More => {
                    // A long record is looked at again when there is twice as much of it.
                    let most = self.most_bytes + SLACK_BYTES + 1;
                    self.wanted = ((self.text.len() - from) * 2).min(most);
                    break;
                }
            }
            if self.at <= from {
                // A format that gets no further must not hang; what is there is not understood.
                self.tally.count_skipped(
                    &self.text[from..],
                    (self.line, self.offset),
                    SkipReason::Strange,
                );
                self.at = self.text.len();
            }
            let done = &self.text[from..self.at];
            self.line = after.unwrap_or_else(|| self.line + line_count(done));
            self.offset += done.len() as u64;
        }
        self.text.drain(..self.at);
        self.at = 0;
        if self.text.len() < KEPT_BYTES / 2 && self.text.capacity() > KEPT_BYTES {
            self.text.shrink_to(KEPT_BYTES);
        }
        Ok(next)
    }

    /// Finds the format; `false` where more text is needed for it.
    fn detect_format(&mut self, ahead: Lookahead) -> Result<bool, LogError> {
        loop {
            if !self.skip_banners(ahead.is_all()) {
                return Ok(false);
            }
            let begin = &self.text[..self.text.len().min(BEGIN)];
            let whole = match memchr::memrchr(b'\n', begin) {
                _ if ahead.is_all() => begin,
                Some(end) => &begin[..=end],
                None => &[],
            };
            let mut lines = whole.split(|b| *b == b'\n');
            let of = |line| LOG_FORMATS.iter().find(|(_, begins, _)| begins(line));
            if let Some((name, _, open)) = lines.find_map(of) {
                let mut format = open();
                if self.tally.skipped_bytes > 0 {
                    format.note_missing_start();
                }
                self.format = Some((name, format));
                return Ok(true);
            }
            if begin.is_empty() || begin.len() < BEGIN && !ahead.is_all() {
                return Ok(false);
            }
            if !self.is_attached && !begin.iter().all(u8::is_ascii_whitespace) {
                return Err(LogError::Unknown);
            }
            // In the midst of something long, whose rest is of no use. A line that has no end yet leaves a byte of it, so
            // that what follows is no line's begin.
            let is_line = !whole.is_empty();
            self.at = if is_line { whole.len() } else { begin.len() - 1 };
            self.tally.count_skipped(
                &self.text[..self.at],
                (self.line, self.offset),
                SkipReason::Strange,
            );
            self.skip_bytes(self.at);
        }
    }

    /// Takes what servers write when they open a log, at its begin: a log may hold nothing else, and then nobody knows
    /// which it is. `false` where more text is needed.
    fn skip_banners(&mut self, is_all: bool) -> bool {
        loop {
            let blanks = self.text.len() - self.text.trim_ascii_start().len();
            match slow_log::parse_banner(&self.text, blanks, is_all) {
                Some(ParseStep::Skipped(end, what)) => {
                    self.tally.count_skipped(&self.text[..end], (self.line, self.offset), what);
                    self.skip_bytes(end);
                }
                Some(_) => return self.text.len() >= BEGIN,
                None => return true,
            }
        }
    }

    /// So many bytes are done with.
    fn skip_bytes(&mut self, bytes: usize) {
        self.line += line_count(&self.text[..bytes]);
        self.offset += bytes as u64;
        self.text.drain(..bytes);
        self.at = 0;
    }
}

/// Ends of lines in a text.
pub(super) fn line_count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

impl LogTally {
    fn count_record(&mut self, confidence: Confidence) {
        self.records += 1;
        match confidence {
            Confidence::Clean => {}
            Confidence::NoEscapes => self.no_escapes += 1,
            Confidence::Unbalanced => self.unbalanced += 1,
            Confidence::Suspect => self.suspect += 1,
            Confidence::Ambiguous => self.ambiguous += 1,
            Confidence::Imitates => self.imitates += 1,
            Confidence::Irregular => self.irregular += 1,
            Confidence::FreeText => self.free_text += 1,
            Confidence::Early => self.early += 1,
            Confidence::Cut => self.cut += 1,
        }
    }

    fn count_skipped(&mut self, text: &[u8], place: (u64, u64), what: SkipReason) {
        match what {
            SkipReason::Banner => self.banners += 1,
            SkipReason::TooLong => {
                let (_, is_new) =
                    add_skipped_range(&mut self.too_long_at, &mut self.too_long_end, text, place);
                self.too_long += u64::from(is_new);
            }
            SkipReason::Rest | SkipReason::Strange => {
                let (bytes, is_new) =
                    add_skipped_range(&mut self.skipped, &mut self.skipped_end, text, place);
                self.skipped_bytes += bytes;
                self.continued += u64::from(is_new && what == SkipReason::Rest);
            }
        }
    }
}

/// Adds what stands at a place, and gives its bytes, and whether it is a place of its own. What comes in parts is one
/// place; blanks before it are none.
fn add_skipped_range(
    places: &mut Vec<SkippedRange>,
    end: &mut u64,
    text: &[u8],
    (line, offset): (u64, u64),
) -> (u64, bool) {
    let joins = *end > 0 && *end == offset;
    let blanks = if joins { 0 } else { text.len() - text.trim_ascii_start().len() };
    let bytes = (text.len() - blanks) as u64;
    if bytes == 0 {
        return (0, false);
    }
    *end = offset + text.len() as u64;
    if joins {
        // It may be one that is not kept.
        if let Some(place) = places.last_mut().filter(|p| p.offset + p.bytes == offset) {
            place.bytes += bytes;
        }
    } else if places.len() < MOST_PLACES {
        let line = line + line_count(&text[..blanks]);
        places.push(SkippedRange { line, offset: offset + blanks as u64, bytes });
    }
    (bytes, !joins)
}

#[cfg(test)]
pub(super) mod tests;
