//! A log read piece by piece: knows its format by its begin, and holds no more of it than the record under way.

use std::io::Read;

use super::{Doubt, Format, LOG_FORMATS, Recorded, Step, format_names};

/// Bytes read at a time.
const PIECE: usize = 1 << 20;
/// So much of a log's begin is looked at to know its format.
const BEGIN: usize = 64 << 10;
/// Places that are kept of what could not be understood.
const MOST_PLACES: usize = 100;

/// Whether to go on after a record.
pub type Next = std::ops::ControlFlow<()>;

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It can't be read at all.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Its begin is that of no log we know.
    #[error("this is no log of a known format ({})", format_names().join(", "))]
    Unknown,
}

/// Lines that could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first of them, from 1.
    pub line: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What was read of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records, whatever they are.
    pub records: u64,
    /// Among them with a quote or comment that has no end.
    pub unbalanced: u64,
    /// Among them that may be part of a literal.
    pub suspect: u64,
    /// Among them that end only where backslashes are bytes like others.
    pub no_escapes: u64,
    /// Among them cut by the log's end.
    pub cut: u64,
    /// Starts and rotations of servers.
    pub banners: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes not understood.
    pub skipped_bytes: u64,
    /// Where the first of them are.
    pub skipped: Vec<Place>,
}

/// One log.
pub struct Log {
    format: Option<Box<dyn Format>>,
    /// What was read last; made once, as a pipe may give little at a time.
    piece: Vec<u8>,
    text: Vec<u8>,
    /// Where the next record begins.
    at: usize,
    /// Its line, from 1.
    line: u64,
    /// No look again before there is so much text behind `at`.
    wanted: usize,
    tally: Tally,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            format: None,
            piece: vec![0; PIECE],
            text: Vec::new(),
            at: 0,
            line: 1,
            wanted: 0,
            tally: Tally::default(),
        }
    }
}

impl Log {
    /// What was read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Reads a source to its end, or until `on` says so; each record is given to `on` as soon as it is whole.
    ///
    /// # Errors
    /// When the source can't be read, or is no log.
    pub fn read(
        &mut self,
        source: &mut dyn Read,
        on: &mut dyn FnMut(&Recorded<'_>) -> Next,
    ) -> Result<(), LogError> {
        loop {
            let read = match source.read(&mut self.piece) {
                Ok(read) => read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            };
            self.text.extend_from_slice(&self.piece[..read]);
            self.tally.bytes += read as u64;
            if self.walk(read == 0, on)?.is_break() || read == 0 {
                return Ok(());
            }
        }
    }

    /// Takes what is whole of the text.
    fn walk(
        &mut self,
        is_all: bool,
        on: &mut dyn FnMut(&Recorded<'_>) -> Next,
    ) -> Result<Next, LogError> {
        if !is_all && self.text.len() - self.at < self.wanted {
            return Ok(Next::Continue(()));
        }
        if self.format.is_none() && !self.know(is_all)? {
            return Ok(Next::Continue(()));
        }
        let Some(format) = &mut self.format else { return Ok(Next::Continue(())) };
        self.wanted = 0;
        let mut next = Next::Continue(());
        while self.at < self.text.len() && next.is_continue() {
            let from = self.at;
            match format.step(&self.text, from, self.line, is_all) {
                Step::Recorded(mut recorded, end) => {
                    recorded.raw = &self.text[from..end];
                    self.tally.take(recorded.doubt);
                    self.at = end;
                    next = on(&recorded);
                }
                Step::Skipped { next: end, is_banner } => {
                    self.tally.skip(&self.text[from..end], self.line, is_banner);
                    self.at = end;
                }
                Step::More => {
                    // A long record is looked at again when there is twice as much of it.
                    self.wanted = (self.text.len() - from) * 2;
                    break;
                }
            }
            if self.at <= from {
                // A format that gets no further must not hang; what is there is not understood.
                self.tally.skip(&self.text[from..], self.line, false);
                self.at = self.text.len();
            }
            self.line += memchr::memchr_iter(b'\n', &self.text[from..self.at]).count() as u64;
        }
        self.text.drain(..self.at);
        self.at = 0;
        Ok(next)
    }

    /// Finds the format; `false` where more text is needed for it.
    fn know(&mut self, is_all: bool) -> Result<bool, LogError> {
        if self.text.len() < BEGIN && !is_all {
            return Ok(false);
        }
        if self.text.iter().all(u8::is_ascii_whitespace) {
            return Ok(false);
        }
        let begin = &self.text[..self.text.len().min(BEGIN)];
        let mut lines = begin.split(|b| *b == b'\n');
        let found = lines.find_map(|line| LOG_FORMATS.iter().find(|(_, begins, _)| begins(line)));
        let (_, _, open) = found.ok_or(LogError::Unknown)?;
        self.format = Some(open());
        Ok(true)
    }
}

impl Tally {
    fn take(&mut self, doubt: Doubt) {
        self.records += 1;
        match doubt {
            Doubt::Clean => {}
            Doubt::NoEscapes => self.no_escapes += 1,
            Doubt::Unbalanced => self.unbalanced += 1,
            Doubt::Suspect => self.suspect += 1,
            Doubt::Cut => self.cut += 1,
        }
    }

    fn skip(&mut self, text: &[u8], line: u64, is_banner: bool) {
        if is_banner {
            self.banners += 1;
        } else if !text.iter().all(u8::is_ascii_whitespace) {
            self.skipped_bytes += text.len() as u64;
            if self.skipped.len() < MOST_PLACES {
                self.skipped.push(Place { line, bytes: text.len() as u64 });
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::capture::{Database, Deed};

    /// What was recorded, on its own.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(in crate::capture) struct Owned {
        pub line: u64,
        pub deed: Deed,
        pub text: String,
        pub session: Option<u64>,
        pub database: Option<String>,
        pub began_us: Option<u64>,
        pub doubt: Doubt,
    }

    /// Everything in a log, given to us in pieces of so many bytes.
    pub(in crate::capture) fn all(text: &[u8], piece: usize) -> (Vec<Owned>, Tally) {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let length = self.0.len().min(self.1).min(out.len());
                out[..length].copy_from_slice(&self.0[..length]);
                self.0 = &self.0[length..];
                Ok(length)
            }
        }
        let (mut log, mut found) = (Log::default(), Vec::new());
        log.read(&mut Pieces(text, piece), &mut |r| {
            found.push(Owned {
                line: r.line,
                deed: r.deed,
                text: String::from_utf8_lossy(r.text).into_owned(),
                session: r.session,
                database: match r.database {
                    Database::Unknown => None,
                    Database::None => Some(String::new()),
                    Database::Named(name) => Some(String::from_utf8_lossy(name).into_owned()),
                },
                began_us: r.began_us,
                doubt: r.doubt,
            });
            Next::Continue(())
        })
        .unwrap();
        (found, log.tally().clone())
    }

    #[test]
    fn what_is_no_log_is_refused_and_nothing_is_nothing() {
        let on = &mut |_: &Recorded<'_>| Next::Continue(());
        let mut log = Log::default();
        assert!(matches!(log.read(&mut &b"hello\nworld\n"[..], on), Err(LogError::Unknown)));
        let mut log = Log::default();
        log.read(&mut &b"\n\n"[..], on).unwrap();
        assert_eq!(log.tally().records, 0);
    }
}
