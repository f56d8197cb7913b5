//! Reads along the chain: each byte once, in order.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::mark::{BEFORE, Fingerprint, LogMark};
use super::rotated::{read_at, read_first_bytes};
use super::segments::{Segment, SegmentChain, SegmentLookup};

/// What a look at the log gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEvent {
    /// So many bytes.
    Bytes(usize),
    /// The file ended, and another follows.
    End,
    /// Bytes that we can't have.
    Gap(Gap),
    /// Nothing now.
    Idle,
}

/// Bytes of a log that a reader did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The log was cut to nothing before they were read, and no copy was found: so many at least.
    Truncated(u64),
    /// The reader was so far behind that files which were the log before were given up: so many files at least.
    Behind(u64),
    /// The place to begin at is in no file that is still there; nobody knows how many.
    Lost,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::Truncated(bytes) => {
                write!(f, "at least {bytes} bytes were truncated before they were read")
            }
            Gap::Behind(files) => {
                write!(
                    f,
                    "{files} rotated files were skipped because the reader was too far \
                           behind"
                )
            }
            Gap::Lost => f.write_str(
                "the position to continue from is gone; how much is missing is not \
                             known",
            ),
        }
    }
}

/// One reader of a log.
#[derive(Debug)]
pub struct SegmentReader {
    chain: SegmentChain,
    id: u64,
    /// Files from before the chain, which only this reader needs; the first is the one it is in.
    before: VecDeque<Segment>,
    /// The stretch of the chain it is in, or comes to.
    number: u64,
    offset: u64,
    /// The last bytes read from this stretch.
    last: Vec<u8>,
    /// Bytes given in all.
    position: u64,
    /// What was read, for marks: oldest first.
    parts: VecDeque<SegmentPart>,
    /// What to tell first.
    gap: Option<Gap>,
    /// Whether nothing was noted yet of the stretch it is in.
    is_new: bool,
}

/// Bytes given that come from one stretch.
#[derive(Debug)]
struct SegmentPart {
    /// Position of its first byte.
    position: u64,
    inode: u64,
    /// That byte's place in the file.
    offset: u64,
    begin: Arc<[u8]>,
    /// Bytes of the file that stand before it.
    first: Vec<u8>,
    /// Its last bytes, once it is read to its end.
    last: Vec<u8>,
}

impl SegmentReader {
    pub(super) fn new(
        chain: SegmentChain,
        before: Vec<Segment>,
        number: u64,
        offset: u64,
    ) -> SegmentReader {
        let id = chain.add_reader(number);
        let mut reader = SegmentReader {
            chain,
            id,
            before: before.into(),
            number,
            offset,
            last: Vec::new(),
            position: 0,
            parts: VecDeque::new(),
            gap: None,
            is_new: true,
        };
        // Whether files were given up meanwhile is told when it reads.
        let _ = reader.current_segment();
        reader
    }

    /// Tells of a gap first.
    pub(super) fn report_gap(&mut self, gap: Gap) {
        self.gap = Some(gap);
    }

    /// The stretch it is in; the number of those given up if that is one of them.
    fn current_segment(&mut self) -> Result<Segment, u64> {
        let segment = match self.before.front() {
            Some(first) => first.clone(),
            None => match self.chain.segment_at(self.number) {
                SegmentLookup::Stretch(segment) => segment,
                SegmentLookup::GivenUp(first) => {
                    let skipped = first.number.saturating_sub(self.number);
                    self.enter_segment(first.number);
                    return Err(skipped);
                }
            },
        };
        if std::mem::take(&mut self.is_new) {
            let (inode, begin) = (segment.inode, segment.begin.clone());
            let (position, offset) = (self.position, self.offset);
            self.last =
                segment.file.as_ref().map_or_else(Vec::new, |file| bytes_before(file, offset));
            let (first, last) = (self.last.clone(), Vec::new());
            self.parts.push_back(SegmentPart { position, inode, offset, begin, first, last });
        } else if let Some(part) = self.parts.back_mut() {
            part.begin.clone_from(&segment.begin);
        }
        Ok(segment)
    }

    fn enter_segment(&mut self, number: u64) {
        self.number = number;
        self.chain.move_reader(self.id, number);
        self.start_segment();
    }

    fn start_segment(&mut self) {
        self.offset = 0;
        let last = std::mem::take(&mut self.last);
        if let Some(part) = self.parts.back_mut() {
            part.last = last;
        }
        self.is_new = true;
    }

    fn next_segment(&mut self) {
        if self.before.pop_front().is_some() {
            self.start_segment();
        } else {
            self.enter_segment(self.number + 1);
        }
    }

    /// What comes next. Never waits.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read_next(&mut self, out: &mut [u8]) -> io::Result<ReadEvent> {
        if let Some(gap) = self.gap.take() {
            return Ok(ReadEvent::Gap(gap));
        }
        let segment = match self.current_segment() {
            Ok(segment) => segment,
            Err(skipped) => return Ok(ReadEvent::Gap(Gap::Behind(skipped))),
        };
        let left = segment.end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let read = match &segment.file {
            Some(file) if left > 0 => self.read_file(file, &segment, &mut out[..most])?,
            _ => 0,
        };
        if read > 0 {
            return Ok(ReadEvent::Bytes(read));
        }
        match segment.end {
            None => Ok(ReadEvent::Idle),
            Some(_) => {
                self.next_segment();
                Ok(if left > 0 { ReadEvent::Gap(Gap::Truncated(left)) } else { ReadEvent::End })
            }
        }
    }

    /// Reads, and makes sure that what was read is what stood behind what we read before.
    fn read_file(&mut self, file: &File, segment: &Segment, out: &mut [u8]) -> io::Result<usize> {
        let read = read_at(file, out, self.offset)?;
        if read == 0 {
            return Ok(0);
        }
        let mut before = vec![0; self.last.len()];
        read_at(file, &mut before, self.offset - self.last.len() as u64)?;
        if before != self.last || !read_first_bytes(file)?.starts_with(&segment.begin) {
            // It was cut and written anew meanwhile. Who watches finds out what became of it.
            self.chain.suspect_last(segment.number);
            return Ok(0);
        }
        self.offset += read as u64;
        self.position += read as u64;
        let kept = self.last.len().min(BEFORE.saturating_sub(read));
        self.last.drain(..self.last.len() - kept);
        self.last.extend_from_slice(&out[read.saturating_sub(BEFORE)..read]);
        Ok(read)
    }

    /// How many bytes it has given.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The last bytes given that come from the file it is in.
    pub(super) fn last_bytes(&self) -> &[u8] {
        &self.last
    }

    /// Bytes that it has not given yet, of the log as it was looked at last.
    pub fn bytes_behind(&self) -> u64 {
        let of = |segment: &Segment| segment.end.unwrap_or(segment.size);
        let before: u64 = self.before.iter().map(of).sum();
        match before {
            0 => self.chain.bytes_behind(self.number, self.offset),
            before => before.saturating_sub(self.offset) + self.chain.bytes_behind(self.number, 0),
        }
    }

    /// The mark of a position among the bytes given; `bytes_before` are bytes that stand just before it, as many as there are.
    /// Marks of earlier positions can't be had any more.
    pub fn mark_at(&mut self, position: u64, before: &[u8], database: Option<Vec<u8>>) -> LogMark {
        // The end of a file tells more than the begin of the next.
        while self.parts.get(1).is_some_and(|next| next.position < position) {
            self.parts.pop_front();
        }
        let part = self.parts.front().expect("a reader is always somewhere");
        let given = position.saturating_sub(part.position);
        let is_end = match self.parts.get(1) {
            Some(next) => next.position == position,
            None => self.is_new && position == self.position,
        };
        let before = if is_end { &part.last } else { before };
        let length = before.len().min(usize::try_from(given).unwrap_or(BEFORE));
        let mut bytes = part.first.clone();
        bytes.extend_from_slice(&before[before.len() - length..]);
        LogMark {
            inode: part.inode,
            offset: part.offset + given,
            begin: Fingerprint::from_bytes(&part.begin),
            before: Fingerprint::from_bytes(&bytes[bytes.len().saturating_sub(BEFORE)..]),
            database,
        }
    }
}

/// The bytes of a file just before a place.
fn bytes_before(file: &File, offset: u64) -> Vec<u8> {
    let length = offset.min(BEFORE as u64);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    match read_at(file, &mut bytes, offset - length) {
        Ok(read) if read == bytes.len() => bytes,
        _ => Vec::new(),
    }
}

impl Drop for SegmentReader {
    fn drop(&mut self) {
        self.chain.remove_reader(self.id);
    }
}
