//! Sees what happens to a log's files: rotation by renaming, several times between two looks; truncation where it
//! stands after a copy; removal; another file in its place.
//!
//! A file counts as ended only when a later one has bytes: rotation makes the next file before the server is told to
//! use it, and until then writes into the old one.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mark::LogMark;
use super::reader::{Gap, SegmentReader};
use super::rotated::{KnownFile, LogLocation, RotatedFile, read_first_bytes, written_ns};
use super::segments::{Segment, SegmentChain, WatchStats};

/// Begins of files kept in mind, to know copies of them.
const BEGINS: usize = 256;
/// So much earlier than the log's own last bytes a file may have been written that was the log in between: clocks of
/// files are coarse, nanoseconds.
const COARSE_NS: i128 = 1_000_000_000;
/// Bytes of files that were the log before, held open for slow readers.
pub(super) const MOST_HELD_BYTES: u64 = 1 << 30;

/// Where reading begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartPosition {
    /// Behind what is there now.
    Now,
    /// At the begin of the file that is the log now.
    Begin,
    /// Where another reader was.
    Mark(LogMark),
}

/// Which files are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelativeAge {
    /// Those that have what the log's file held before.
    Older,
    /// Those that took its place.
    Younger,
}

/// Looks at a log's files.
#[derive(Debug)]
pub struct LogWatcher {
    path: PathBuf,
    home: LogLocation,
    chain: SegmentChain,
    /// When the log's file was written last as it became the log.
    since_ns: i128,
    /// Files beside the log that need no look.
    known: Vec<KnownFile>,
    /// Begins of what the log has been.
    begins: VecDeque<Arc<[u8]>>,
}

impl LogWatcher {
    /// Begins to look at a log.
    ///
    /// # Errors
    /// When it can't be opened, or its folder can't be listed.
    pub fn open(path: &Path, most_held_bytes: u64) -> io::Result<LogWatcher> {
        let home = LogLocation::from_path(path)?;
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let segment = Segment {
            number: 0,
            inode: meta.ino(),
            begin: read_first_bytes(&file)?.into(),
            size: meta.len(),
            file: Some(Arc::new(file)),
            end: None,
        };
        let mut known = home.rotated_files(&[meta.ino()])?;
        known.retain(|sibling| !sibling.is_log);
        Ok(LogWatcher {
            path: path.to_owned(),
            known: known.into_iter().map(|s| KnownFile::from_rotated(s, true)).collect(),
            home,
            chain: SegmentChain::new(segment, most_held_bytes),
            since_ns: written_ns(&meta),
            begins: VecDeque::new(),
        })
    }

    /// What was seen so far.
    pub fn watch_stats(&self) -> WatchStats {
        self.chain.watch_stats()
    }

    /// How a reader gets at the log, on any thread.
    pub fn log_handle(&self) -> LogHandle {
        LogHandle { path: self.path.clone(), home: self.home.clone(), chain: self.chain.clone() }
    }

    /// Looks. What it finds, readers find.
    ///
    /// # Errors
    /// When a file can't be looked at; the next look may find it.
    pub fn poll_files(&mut self) -> io::Result<()> {
        match self.follow_rotations() {
            // A file that was missed between two names would be lost without a word: the next look finds it.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()),
            looked => looked,
        }
    }

    fn follow_rotations(&mut self) -> io::Result<()> {
        // A look may find the second of several rotations only once it has taken the first.
        for _ in 0..4 {
            let last = self.chain.last_segment();
            let file = last.file.clone().expect("the last stretch has its file");
            let meta = file.metadata()?;
            let begin = read_first_bytes(&file)?;
            let is_cut = meta.len() < last.size || !begin.starts_with(&last.begin);
            if is_cut || self.chain.is_last_suspect() {
                self.handle_truncation(&last, file)?;
                continue;
            }
            self.chain.grow_last(&begin, meta.len());
            match std::fs::metadata(&self.path) {
                Ok(there) if there.ino() == last.inode => return Ok(()),
                // Between removal and the next file; the server may still write into the old one.
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(e) => return Err(e),
                Ok(_) if !self.handle_rotation(&last, &file)? => return Ok(()),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Another file is the log now. `false` where it has no bytes yet, so that the old one may still get some.
    fn handle_rotation(&mut self, last: &Segment, file: &File) -> io::Result<bool> {
        let (mut news, _) = self.find_new_files(last, RelativeAge::Younger)?;
        let Some(newest) = news.iter().rposition(|sibling| sibling.size > 0) else {
            return Ok(false);
        };
        news.truncate(newest + 1);
        let ended = RotatedFile::from_file(file.try_clone()?, "")?;
        self.remember_start(&ended.begin);
        self.chain.end_last(ended.size, last.file.clone());
        self.known.push(KnownFile::from_rotated(ended, false));
        for (at, sibling) in news.into_iter().enumerate() {
            if sibling.size > 0 {
                self.chain.update_stats(|seen| seen.rotations += 1);
                self.append_segment(sibling, at < newest)?;
            }
        }
        Ok(true)
    }

    /// The log was cut where it stands. What it held may be in a copy.
    fn handle_truncation(&mut self, last: &Segment, file: Arc<File>) -> io::Result<()> {
        let (missed, copies) = self.find_new_files(last, RelativeAge::Older)?;
        let copy = copies.into_iter().max_by_key(|copy| copy.size).filter(|copy| copy.size > 0);
        self.remember_start(&last.begin);
        self.chain.update_stats(|seen| {
            seen.truncations += 1;
            seen.copies_found += u64::from(copy.is_some());
        });
        match copy {
            Some(copy) => {
                self.chain.end_last(copy.size, Some(Arc::new(copy.file.try_clone()?)));
                self.known.push(KnownFile::from_rotated(copy, false));
            }
            None => self.chain.end_last(last.size, None),
        }
        for sibling in missed {
            self.append_segment(sibling, true)?;
        }
        let meta = file.metadata()?;
        self.since_ns = written_ns(&meta);
        let begin: Arc<[u8]> = Vec::new().into();
        let (inode, file) = (last.inode, Some(file));
        self.chain.push_segment(Segment { number: 0, inode, file, begin, size: 0, end: None });
        Ok(())
    }

    fn append_segment(&mut self, sibling: RotatedFile, has_end: bool) -> io::Result<()> {
        self.chain.push_segment(Segment {
            number: 0,
            inode: sibling.inode,
            file: Some(Arc::new(sibling.file.try_clone()?)),
            begin: sibling.begin.as_slice().into(),
            size: sibling.size,
            end: has_end.then_some(sibling.size),
        });
        if has_end {
            self.remember_start(&sibling.begin);
            self.known.push(KnownFile::from_rotated(sibling, false));
        } else {
            self.since_ns = sibling.written_ns;
        }
        Ok(())
    }

    /// Files that were not there before: those that were or are the log since the last look, in their order, and copies
    /// of what the log was just now.
    fn find_new_files(
        &mut self,
        last: &Segment,
        age: RelativeAge,
    ) -> io::Result<(Vec<RotatedFile>, Vec<RotatedFile>)> {
        let mut all = self.home.settled_files()?;
        // Where the log was cut and then renamed, younger files are for the next look.
        if let Some(at) = all.iter().position(|sibling| sibling.inode == last.inode) {
            all.remove(at);
            if age == RelativeAge::Older {
                all.truncate(at);
            }
        }
        self.known.retain(|known| all.iter().any(|s| s.inode == known.inode));
        let (mut missed, mut copies) = (Vec::new(), Vec::new());
        for sibling in all {
            if sibling.is_log {
                missed.push(sibling);
                continue;
            }
            if sibling.size == 0 || self.known.iter().any(|known| known.is_same_file(&sibling)) {
                continue;
            }
            if sibling.is_copy(&last.begin) {
                copies.push(sibling);
                continue;
            }
            let is_copy = self.begins.iter().any(|begin| sibling.is_copy(begin))
                || self.known.iter().any(|known| sibling.is_copy(&known.begin));
            if is_copy || sibling.written_ns + COARSE_NS < self.since_ns {
                self.known.push(KnownFile::from_rotated(sibling, false));
            } else {
                missed.push(sibling);
            }
        }
        Ok((missed, copies))
    }

    fn remember_start(&mut self, begin: &[u8]) {
        if !begin.is_empty() {
            self.begins.push_back(begin.into());
        }
        while self.begins.len() > BEGINS {
            self.begins.pop_front();
        }
    }
}

/// How readers get at a log that is watched.
#[derive(Clone, Debug)]
pub struct LogHandle {
    path: PathBuf,
    home: LogLocation,
    chain: SegmentChain,
}

impl LogHandle {
    /// A reader from there on. Where a mark's file is gone it begins with the file that is the log now, and tells of
    /// the gap first.
    ///
    /// # Errors
    /// When the folder can't be listed.
    pub fn reader_from(&self, from: &StartPosition) -> io::Result<SegmentReader> {
        let last = self.chain.last_segment();
        let now = |offset| SegmentReader::new(self.chain.clone(), Vec::new(), last.number, offset);
        Ok(match from {
            StartPosition::Now => now(last.size),
            StartPosition::Begin => now(0),
            StartPosition::Mark(mark) => match self.reader_at_mark(mark)? {
                Some(reader) => reader,
                None => {
                    let mut reader = now(0);
                    reader.report_gap(Gap::Lost);
                    reader
                }
            },
        })
    }

    /// A reader that begins so many bytes before the end of what is there, and how many that are.
    pub(super) fn reader_before_now(&self, bytes: u64) -> io::Result<(SegmentReader, u64)> {
        let last = self.chain.last_segment();
        let before = bytes.min(last.size);
        let offset = last.size - before;
        Ok((SegmentReader::new(self.chain.clone(), Vec::new(), last.number, offset), before))
    }

    /// What was seen so far.
    pub fn watch_stats(&self) -> WatchStats {
        self.chain.watch_stats()
    }

    /// The log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A reader at a mark, if its file is still there.
    fn reader_at_mark(&self, mark: &LogMark) -> io::Result<Option<SegmentReader>> {
        let all = self.chain.all_segments();
        let fits = |segment: &&Segment| {
            let file = segment.file.as_ref();
            let is_within = segment.end.is_none_or(|end| mark.offset <= end);
            is_within && file.is_some_and(|file| mark.matches_file(file, &segment.begin))
        };
        let own = |segment: &&Segment| segment.inode == mark.inode;
        let found = all.iter().filter(own).find(fits).or_else(|| all.iter().find(fits));
        if let Some(segment) = found {
            let chain = self.chain.clone();
            return Ok(Some(SegmentReader::new(chain, Vec::new(), segment.number, mark.offset)));
        }
        let inodes: Vec<u64> = all.iter().map(|segment| segment.inode).collect();
        let mut siblings = self.home.rotated_files(&inodes)?;
        siblings.retain(|s| {
            s.size > 0 && !s.is_log && !all.iter().any(|segment| s.is_copy(&segment.begin))
        });
        let fits = |s: &&RotatedFile| mark.matches_file(&s.file, &s.begin);
        let best = siblings.iter().filter(fits).max_by_key(|s| (s.inode == mark.inode, s.size));
        let Some(inode) = best.map(|best| best.inode) else { return Ok(None) };
        let at = siblings.iter().position(|s| s.inode == inode).expect("it was found there");
        let mut before: Vec<Segment> = Vec::new();
        for sibling in siblings.into_iter().skip(at) {
            if before.iter().any(|segment| sibling.is_copy(&segment.begin)) {
                continue;
            }
            before.push(Segment {
                number: 0,
                inode: sibling.inode,
                file: Some(Arc::new(sibling.file)),
                begin: sibling.begin.into(),
                size: sibling.size,
                end: Some(sibling.size),
            });
        }
        Ok(Some(SegmentReader::new(self.chain.clone(), before, all[0].number, mark.offset)))
    }
}
