//! A log that is being written, here or behind a URL, as a source that never ends and can say where it is.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::mark::LogMark;
use super::remote::RemoteLog;
use super::stream::{LogStream, SessionSample};
use super::watcher::{LogWatcher, MOST_HELD_BYTES, StartPosition};
use crate::base::zstd_codec::HAS_ZSTD;
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop};
use crate::capture::LogError;

/// How long we wait until we say that there is nothing now.
pub(super) const IDLE: Nanos = Nanos(200_000_000);
/// How often we look meanwhile.
const LOOK: Nanos = Nanos(25_000_000);

/// A source that never ends: `read` gives `ErrorKind::WouldBlock` when nothing comes for 200 ms, and an error only where
/// going on is no use. Its text is a log of whole records.
pub trait LiveLog: Read + Send {
    /// The last place at or before so many bytes of what was read, from which another can go on. Earlier places can't
    /// be had afterwards.
    fn mark_at(&mut self, offset: u64) -> Option<String>;
    /// What is to be said since this was asked last: gaps, connections lost and made.
    fn take_notes(&mut self) -> Vec<String>;
    /// Bytes that are there and were not read yet, where it is known.
    fn bytes_behind(&self) -> Option<u64> {
        None
    }
}

/// What is needed to open a log behind a URL.
#[derive(Clone, Debug, Default)]
pub struct RemoteAccess {
    /// The token that the server asks for.
    pub token: Option<Secret>,
    /// Authorities to believe, PEM, in place of the machine's own.
    pub authority: Option<PathBuf>,
    /// Whether the way there is narrow: the text comes packed.
    pub is_packed: bool,
}

/// Where a reader's token may stand.
pub const TOKEN: &str = "SWEAT_SHIP_TOKEN";
/// Where the file of authorities to believe may be named.
pub const AUTHORITY: &str = "SWEAT_SHIP_CA";

impl RemoteAccess {
    /// What the environment says: words typed would stand in the list of processes.
    pub fn from_environment() -> RemoteAccess {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let token = set(TOKEN).map(|token| Secret::new(token.to_string_lossy().trim()));
        RemoteAccess { token, authority: set(AUTHORITY).map(PathBuf::from), is_packed: HAS_ZSTD }
    }
}

/// Whether a place is a URL.
pub fn is_url(place: &str) -> bool {
    place.starts_with("http://") || place.starts_with("https://")
}

/// Opens a log that is being written: a path, or the URL of a `sweat ship` as in `http://db1:9700/slow?sample=0.1`. It
/// begins with what is written from now on, or at the mark that another reader left.
///
/// # Errors
/// When it can't be opened, the mark is none, or the other side refuses.
pub fn open_live(
    place: &str,
    access: &RemoteAccess,
    mark: Option<&str>,
    stop: &Stop,
) -> anyhow::Result<Box<dyn LiveLog>> {
    if is_url(place) {
        return Ok(Box::new(RemoteLog::open(place, access, mark, stop)?));
    }
    let from = match mark {
        Some(mark) => StartPosition::Mark(mark.parse()?),
        None => StartPosition::Now,
    };
    Ok(Box::new(LocalLog::open(Path::new(place), &from)?))
}

/// Marks of places in what was read.
#[derive(Debug, Default)]
pub(super) struct MarkOffsets(VecDeque<(u64, String)>);

impl MarkOffsets {
    pub(super) fn push(&mut self, position: u64, mark: String) {
        match self.0.back_mut() {
            Some(last) if last.0 == position => last.1 = mark,
            _ => self.0.push_back((position, mark)),
        }
    }

    pub(super) fn mark_at(&mut self, offset: u64) -> Option<String> {
        while self.0.get(1).is_some_and(|next| next.0 <= offset) {
            self.0.pop_front();
        }
        self.0.front().filter(|first| first.0 <= offset).map(|first| first.1.clone())
    }

    /// Forgets all but the last few: nobody asks for them.
    pub(super) fn drop_oldest(&mut self) {
        const MOST: usize = 4096;
        while self.0.len() > MOST {
            self.0.remove(1);
        }
    }
}

/// A log on this machine.
pub struct LocalLog {
    watch: LogWatcher,
    stream: LogStream,
    clock: RealClock,
    /// Bytes made in all.
    made: u64,
    /// What was made last, and how much of it was given.
    text: Cursor<Vec<u8>>,
    marks: MarkOffsets,
    gaps: u64,
}

impl LocalLog {
    /// Begins to follow a log.
    ///
    /// # Errors
    /// When it can't be opened, or its folder can't be listed.
    pub fn open(path: &Path, from: &StartPosition) -> io::Result<LocalLog> {
        let watch = LogWatcher::open(path, MOST_HELD_BYTES)?;
        let stream = LogStream::open(&watch.log_handle(), from, SessionSample::All)?;
        let mut marks = MarkOffsets::default();
        if let StartPosition::Mark(mark) = from {
            marks.push(0, LogMark::to_string(mark));
        }
        Ok(LocalLog {
            watch,
            stream,
            clock: RealClock::start_now(),
            made: 0,
            text: Cursor::default(),
            marks,
            gaps: 0,
        })
    }

    /// Fills the text with what there is.
    fn fill_text(&mut self) -> Result<bool, LogError> {
        self.text.get_mut().clear();
        self.text.set_position(0);
        let mut has_more = self.stream.read_records()?;
        if !has_more {
            self.watch.poll_files()?;
            has_more = self.stream.read_records()?;
        }
        self.take_text();
        Ok(has_more)
    }

    fn take_text(&mut self) {
        std::mem::swap(self.stream.text_mut(), self.text.get_mut());
        self.stream.text_mut().clear();
        self.made += self.text.get_ref().len() as u64;
        let mark = self.stream.end_mark().to_string();
        self.marks.push(self.made, mark);
        self.marks.drop_oldest();
    }
}

impl Read for LocalLog {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let of = |error: LogError| match error {
            LogError::Io(e) => e,
            error => io::Error::other(error),
        };
        let until = self.clock.now() + IDLE;
        loop {
            if self.text.position() < self.text.get_ref().len() as u64 {
                return self.text.read(out);
            }
            if self.fill_text().map_err(of)? {
                continue;
            }
            if self.clock.now() < until {
                self.clock.sleep_until(self.clock.now() + LOOK);
                continue;
            }
            self.stream.flush_quiet().map_err(of)?;
            self.take_text();
            if self.text.get_ref().is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
    }
}

impl LiveLog for LocalLog {
    fn mark_at(&mut self, offset: u64) -> Option<String> {
        self.marks.mark_at(offset)
    }

    fn take_notes(&mut self) -> Vec<String> {
        let gaps = self.stream.ship_stats().gaps;
        let new = gaps - std::mem::replace(&mut self.gaps, gaps);
        if new == 0 { Vec::new() } else { vec![format!("{new} gaps in the log")] }
    }

    fn bytes_behind(&self) -> Option<u64> {
        Some(self.stream.bytes_behind())
    }
}

#[cfg(test)]
mod tests;
