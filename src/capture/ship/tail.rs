//! A log followed by one reader on its own thread.

use std::io::{self, Read};
use std::path::Path;

use super::chain::Seen;
use super::mark::Mark;
use super::reader::{Gap, Piece, Reader};
use super::watch::{From, MOST_HELD_BYTES, Watch};
use crate::base::{Clock as _, Nanos, RealClock};

/// How long we wait for bytes before we say that there are none now.
const IDLE: Nanos = Nanos(200_000_000);
/// How often we look meanwhile.
const LOOK: Nanos = Nanos(25_000_000);

/// Follows a log. As a source it never ends: `read` gives `WouldBlock` when there is nothing for 200 ms. Text of two
/// files is kept apart by a line's end, and what is missing by a banner as servers write it when they open a log.
#[derive(Debug)]
pub struct Tail {
    watch: Watch,
    reader: Reader,
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
    pub fn open(path: &Path, from: &From) -> io::Result<Tail> {
        let watch = Watch::open(path, MOST_HELD_BYTES)?;
        let reader = watch.entrance().reader(from)?;
        let (clock, first) = (RealClock::start(), Vec::new());
        Ok(Tail { watch, reader, clock, first, ends_line: true, gaps: Vec::new() })
    }

    /// What comes next, without waiting.
    ///
    /// # Errors
    /// When the files can't be looked at or read.
    pub fn look(&mut self, out: &mut [u8]) -> io::Result<Piece> {
        let piece = self.reader.read(out)?;
        if piece != Piece::Idle {
            return Ok(piece);
        }
        self.watch.look()?;
        self.reader.read(out)
    }

    /// Where it is: behind the last byte given. `database` is the default database there, if it is known.
    pub fn mark(&mut self, database: Option<Vec<u8>>) -> Mark {
        let (position, last) = (self.reader.position(), self.reader.last().to_vec());
        self.reader.mark(position, &last, database)
    }

    /// Gaps met since this was asked last.
    pub fn gaps(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.gaps)
    }

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.watch.seen()
    }

    /// Bytes there are that were not read yet.
    pub fn bytes_behind(&self) -> u64 {
        self.reader.bytes_behind()
    }

    fn gap(&mut self, gap: Gap) {
        self.end_line();
        self.first.extend_from_slice(&banner(&gap.to_string()));
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
pub(super) fn banner(why: &str) -> Vec<u8> {
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
            match self.look(out)? {
                Piece::Bytes(read) => {
                    self.ends_line = out[read - 1] == b'\n';
                    return Ok(read);
                }
                Piece::End => self.end_line(),
                Piece::Gap(gap) => self.gap(gap),
                Piece::Idle if self.clock.now() >= until => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Piece::Idle => {
                    self.clock.sleep_until(self.clock.now() + LOOK);
                }
            }
        }
    }
}
