//! What a log has been since we look at it: a chain of stretches, each a file from its begin to where the next took its
//! place. Files stay open as long as a reader has not read them to their end.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file from its begin to its end, or to now.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Counted from 0 along the chain.
    pub(super) number: u64,
    pub(super) inode: u64,
    /// `None` where its bytes are gone.
    pub(super) file: Option<Arc<File>>,
    /// Its first bytes, as many as it had when looked at.
    pub(super) begin: Arc<[u8]>,
    /// Bytes it had when looked at.
    pub(super) size: u64,
    /// Where it ends, once it gets no more.
    pub(super) end: Option<u64>,
}

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchStats {
    /// Times the log became another file.
    pub rotations: u64,
    /// Times it was cut to nothing where it stands.
    pub truncations: u64,
    /// Among them those whose rest was found in a copy.
    pub copies_found: u64,
    /// Files given up although a reader had not read them, as too many bytes were held open.
    pub given_up: u64,
    /// Bytes of the log as it is now.
    pub size_bytes: u64,
    /// Bytes of files that the log has been before, still held for readers.
    pub held_bytes: u64,
}

/// The chain, shared by who looks at the files and who reads them.
#[derive(Clone, Debug)]
pub(super) struct SegmentChain(Arc<Mutex<ChainState>>);

#[derive(Debug)]
struct ChainState {
    /// Never empty; the last has no end.
    links: VecDeque<Segment>,
    /// Where each reader is: its number, and that of its stretch.
    readers: HashMap<u64, u64>,
    next_reader: u64,
    /// A reader has seen that the last one is no longer what it was.
    is_doubted: bool,
    most_held_bytes: u64,
    seen: WatchStats,
}

/// What is at a number of the chain.
pub(super) enum SegmentLookup {
    Stretch(Segment),
    /// That was given up; the chain now begins with this one.
    GivenUp(Segment),
}

impl SegmentChain {
    pub(super) fn new(first: Segment, most_held_bytes: u64) -> SegmentChain {
        SegmentChain(Arc::new(Mutex::new(ChainState {
            links: VecDeque::from([first]),
            readers: HashMap::new(),
            next_reader: 0,
            is_doubted: false,
            most_held_bytes,
            seen: WatchStats::default(),
        })))
    }

    fn lock_state(&self) -> MutexGuard<'_, ChainState> {
        // No step of ours leaves the chain half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last_segment(&self) -> Segment {
        self.lock_state().last_segment().clone()
    }

    pub(super) fn segment_at(&self, number: u64) -> SegmentLookup {
        let links = self.lock_state();
        let first = links.links[0].number;
        match number.checked_sub(first).and_then(|at| links.links.get(at as usize)) {
            Some(segment) => SegmentLookup::Stretch(segment.clone()),
            None => SegmentLookup::GivenUp(links.links[0].clone()),
        }
    }

    pub(super) fn all_segments(&self) -> Vec<Segment> {
        self.lock_state().links.iter().cloned().collect()
    }

    pub(super) fn watch_stats(&self) -> WatchStats {
        let links = self.lock_state();
        WatchStats {
            size_bytes: links.last_segment().size,
            held_bytes: links.held_bytes(),
            ..links.seen
        }
    }

    /// Takes note of how much the last one has now.
    pub(super) fn grow_last(&self, begin: &[u8], size: u64) {
        let mut links = self.lock_state();
        let last = links.links.back_mut().expect("a chain is never empty");
        last.size = size;
        if last.begin.len() < begin.len() {
            last.begin = begin.into();
        }
    }

    /// The last one has ended; its bytes are in this file.
    pub(super) fn end_last(&self, end: u64, file: Option<Arc<File>>) {
        let mut links = self.lock_state();
        let last = links.links.back_mut().expect("a chain is never empty");
        (last.end, last.size, last.file) = (Some(end), end.max(last.size), file);
    }

    /// The next one, which has an end if others follow at once.
    pub(super) fn push_segment(&self, mut segment: Segment) {
        let mut links = self.lock_state();
        segment.number = links.last_segment().number + 1;
        links.links.push_back(segment);
        links.is_doubted = false;
        links.drop_read_segments();
        while links.held_bytes() > links.most_held_bytes {
            links.links.pop_front();
            links.seen.given_up += 1;
        }
    }

    pub(super) fn update_stats(&self, change: impl FnOnce(&mut WatchStats)) {
        change(&mut self.lock_state().seen);
    }

    /// A reader found that the last one is no longer what it was.
    pub(super) fn suspect_last(&self, number: u64) {
        let mut links = self.lock_state();
        links.is_doubted |= links.last_segment().number == number;
    }

    pub(super) fn is_last_suspect(&self) -> bool {
        self.lock_state().is_doubted
    }

    /// A reader comes, at this stretch; gives its number.
    pub(super) fn add_reader(&self, at: u64) -> u64 {
        let mut links = self.lock_state();
        let id = links.next_reader;
        links.next_reader += 1;
        links.readers.insert(id, at);
        id
    }

    pub(super) fn move_reader(&self, reader: u64, to: u64) {
        let mut links = self.lock_state();
        links.readers.insert(reader, to);
        links.drop_read_segments();
    }

    pub(super) fn remove_reader(&self, reader: u64) {
        let mut links = self.lock_state();
        links.readers.remove(&reader);
        links.drop_read_segments();
    }

    /// Bytes behind a place up to what the log has now.
    pub(super) fn bytes_behind(&self, number: u64, offset: u64) -> u64 {
        let links = self.lock_state();
        let of = |segment: &Segment| segment.end.unwrap_or(segment.size);
        let rest = links.links.iter().filter(|s| s.number >= number).map(of).sum::<u64>();
        rest.saturating_sub(offset)
    }
}

impl ChainState {
    fn last_segment(&self) -> &Segment {
        self.links.back().expect("a chain is never empty")
    }

    fn held_bytes(&self) -> u64 {
        self.links.iter().filter(|s| s.file.is_some()).filter_map(|s| s.end).sum()
    }

    /// Lets go of what all readers have behind them.
    fn drop_read_segments(&mut self) {
        let slowest = self.readers.values().min().copied().unwrap_or(u64::MAX);
        while self.links.len() > 1 && self.links[0].number < slowest {
            self.links.pop_front();
        }
    }
}
