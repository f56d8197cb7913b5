//! A log followed by one reader on its own thread.

use std::io::{self, Read};
use std::path::Path;

use super::mark::LogMark;
use super::reader::{Gap, ReadEvent, SegmentReader};
use super::segments::WatchStats;
use super::watcher::{LogWatcher, MOST_HELD_BYTES, StartPosition};
use crate::base::{Clock as _, Nanos, RealClock};

/// How long we wait for bytes before we say that there are none now.
const IDLE: Nanos = Nanos(200_000_000);
/// How often we look meanwhile.
const LOOK: Nanos = Nanos(25_000_000);

/// Follows a log. As a source it never ends: `read` gives `WouldBlock` when there is nothing for 200 ms. Text of two
/// files is kept apart by a line's end, and what is missing by a banner as servers write it when they open a log.
#[derive(Debug)]
pub struct Tail {
    watch: LogWatcher,
    reader: SegmentReader,
    clock: RealClock,
    /// Bytes to give before what is read next.
    first: Vec<u8>,
    ends_line: bool,
    gaps: Vec<Gap>,
}

impl Tail {
    /// Begins to follow a log.
    ///
    /// # Errors
    /// When it can't be opened, or its folder can't be listed.
    pub fn open(path: &Path, from: &StartPosition) -> io::Result<Tail> {
        let watch = LogWatcher::open(path, MOST_HELD_BYTES)?;
        let reader = watch.log_handle().reader_from(from)?;
        let (clock, first) = (RealClock::start_now(), Vec::new());
        Ok(Tail { watch, reader, clock, first, ends_line: true, gaps: Vec::new() })
    }

    /// What comes next, without waiting.
    ///
    /// # Errors
    /// When the files can't be looked at or read.
    pub fn read_next(&mut self, out: &mut [u8]) -> io::Result<ReadEvent> {
        let piece = self.reader.read_next(out)?;
        if piece != ReadEvent::Idle {
            return Ok(piece);
        }
        self.watch.poll_files()?;
        self.reader.read_next(out)
    }

    /// Where it is: behind the last byte given. `database` is the default database there, if it is known.
    pub fn current_mark(&mut self, database: Option<Vec<u8>>) -> LogMark {
        let (position, last) = (self.reader.position(), self.reader.last_bytes().to_vec());
        self.reader.mark_at(position, &last, database)
    }

    /// Gaps met since this was asked last.
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.gaps)
    }

    /// What was seen so far.
    pub fn watch_stats(&self) -> WatchStats {
        self.watch.watch_stats()
    }

    /// Bytes there are that were not read yet.
    pub fn bytes_behind(&self) -> u64 {
        self.reader.bytes_behind()
    }

    fn add_gap(&mut self, gap: Gap) {
        self.end_line();
        self.first.extend_from_slice(&gap_banner(&gap.to_string()));
        self.gaps.push(gap);
    }

    fn end_line(&mut self) {
        if !self.ends_line {
            self.first.push(b'\n');
            self.ends_line = true;
        }
    }
}

/// What servers write when they open a log, as it parts what stands before from what follows; says why in it.
pub(super) fn gap_banner(why: &str) -> Vec<u8> {
    format!(
        "sweat, Version: {} (gap in the log: {why}). started with:\n\
         Tcp port: 0  Unix socket: none\n\
         Time                 Id Command    Argument\n",
        env!("CARGO_PKG_VERSION"),
    )
    .into_bytes()
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let until = self.clock.now() + IDLE;
        loop {
            if !self.first.is_empty() {
                let length = self.first.len().min(out.len());
                out[..length].copy_from_slice(&self.first[..length]);
                self.first.drain(..length);
                return Ok(length);
            }
            match self.read_next(out)? {
                ReadEvent::Bytes(read) => {
                    self.ends_line = out[read - 1] == b'\n';
                    return Ok(read);
                }
                ReadEvent::End => self.end_line(),
                ReadEvent::Gap(gap) => self.add_gap(gap),
                ReadEvent::Idle if self.clock.now() >= until => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                ReadEvent::Idle => {
                    self.clock.sleep_until(self.clock.now() + LOOK);
                }
            }
        }
    }
}
