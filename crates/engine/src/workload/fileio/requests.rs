//! Which request comes next.
//! Never knows: files, how requests are carried out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::options::{FileMode, FileOptions};
use crate::base::random::Rng;

/// What to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAction {
    Read,
    Write,
    Sync,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileRequest {
    pub(super) action: FileAction,
    /// 0-based.
    pub(super) file: usize,
    /// Where in the file.
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

/// The requests of one worker.
pub(super) struct RequestStream<'a> {
    options: &'a FileOptions,
    /// How many sequential requests were made by all workers together.
    sequence: &'a AtomicU64,
    rng: Rng,
    reads: u64,
    writes: u64,
    /// Requests since all files were synchronized.
    unsynced: u64,
    /// The next file of those that are being synchronized.
    next_sync: Option<usize>,
    /// The file that was just written, where each write is synchronized.
    written: Option<usize>,
}

impl<'a> RequestStream<'a> {
    pub(super) fn new(
        options: &'a FileOptions,
        sequence: &'a AtomicU64,
        rng: Rng,
    ) -> RequestStream<'a> {
        RequestStream {
            options,
            sequence,
            rng,
            reads: 0,
            writes: 0,
            unsynced: 0,
            next_sync: None,
            written: None,
        }
    }

    /// The next one; there is no end.
    pub(super) fn next_request(&mut self) -> FileRequest {
        let FileOptions { sync, mode, files, .. } = self.options;
        if let Some(file) = self.written.take() {
            return sync_request(file);
        }
        if let Some(file) = self.next_sync {
            self.next_sync = (file + 1 < *files as usize).then_some(file + 1);
            return sync_request(file);
        }
        let request = if mode.is_random() { self.draw_random() } else { self.draw_sequential() };
        self.reads += u64::from(request.action == FileAction::Read);
        self.writes += u64::from(request.action == FileAction::Write);
        if mode.writes() && sync.each_write {
            self.written = (request.action == FileAction::Write).then_some(request.file);
        } else if mode.writes() && sync.every > 0 {
            self.unsynced += 1;
            if self.unsynced == sync.every {
                self.unsynced = 0;
                self.next_sync = Some(0);
            }
        }
        request
    }

    fn draw_random(&mut self) -> FileRequest {
        let FileOptions { files, file_bytes, block, mode, read_ratio, .. } = self.options;
        let blocks = file_bytes / block;
        let place = self.rng.uniform_below(files * blocks);
        let reads = match mode {
            FileMode::ReadRandom => true,
            FileMode::MixRandom => (self.reads as f64) < read_ratio * (self.writes + 1) as f64,
            _ => false,
        };
        FileRequest {
            action: if reads { FileAction::Read } else { FileAction::Write },
            file: (place / blocks) as usize,
            offset: place % blocks * block,
            bytes: *block as usize,
        }
    }

    fn draw_sequential(&mut self) -> FileRequest {
        let FileOptions { files, file_bytes, block, mode, merged, .. } = self.options;
        let blocks = file_bytes / block;
        let per_file = blocks.div_ceil(*merged);
        let place = self.sequence.fetch_add(1, Ordering::Relaxed) % (files * per_file);
        let first = place % per_file * merged;
        FileRequest {
            action: if *mode == FileMode::Read { FileAction::Read } else { FileAction::Write },
            file: (place / per_file) as usize,
            offset: first * block,
            bytes: (block * (*merged).min(blocks - first)) as usize,
        }
    }
}

fn sync_request(file: usize) -> FileRequest {
    FileRequest { action: FileAction::Sync, file, offset: 0, bytes: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;
    use crate::workload::fileio::options::option_specs;

    fn options(given: &[(&str, &str)]) -> FileOptions {
        let small = [("total-size", "64K"), ("file-count", "2"), ("block-size", "4K")];
        let given: Vec<_> =
            small.iter().chain(given).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        FileOptions::from_options(&Options::from_given(&option_specs(), &given).unwrap()).unwrap()
    }

    fn requests(given: &[(&str, &str)], count: usize) -> Vec<FileRequest> {
        let (options, sequence) = (options(given), AtomicU64::new(0));
        let mut stream = RequestStream::new(&options, &sequence, Rng::new(1, 2, 3));
        (0..count).map(|_| stream.next_request()).collect()
    }

    fn counts(all: &[FileRequest]) -> [usize; 3] {
        [FileAction::Read, FileAction::Write, FileAction::Sync]
            .map(|action| all.iter().filter(|request| request.action == action).count())
    }

    #[test]
    fn sequential_requests_go_through_all_files_and_begin_again() {
        let all = requests(&[("mode", "seqrd")], 17);
        let places: Vec<_> = all.iter().map(|r| (r.file, r.offset / 4096)).collect();
        assert_eq!((places[0], places[7], places[8]), ((0, 0), (0, 7), (1, 0)));
        assert_eq!((places[15], places[16]), ((1, 7), (0, 0)));
        assert_eq!(counts(&all), [17, 0, 0]);
    }

    #[test]
    fn requests_are_joined_within_a_file() {
        let all = requests(&[("mode", "seqrewr"), ("file-merged-requests", "3")], 4);
        let places: Vec<_> = all.iter().map(|r| (r.file, r.offset, r.bytes)).collect();
        let block = 4096;
        assert_eq!(
            places,
            [
                (0, 0, 3 * block),
                (0, 3 * block as u64, 3 * block),
                (0, 6 * block as u64, 2 * block),
                (1, 0, 3 * block)
            ]
        );
    }

    #[test]
    fn reads_and_writes_keep_their_ratio() {
        let all = requests(&[("mode", "rndrw"), ("fsync-freq", "0")], 1_000);
        assert_eq!(counts(&all), [600, 400, 0]);
        let all = requests(&[("mode", "rndrw"), ("fsync-freq", "0"), ("rw-ratio", "0")], 100);
        assert_eq!(counts(&all), [0, 100, 0]);
        assert!(all.iter().all(|r| r.file < 2 && r.offset <= 28 * 1024));
    }

    #[test]
    fn files_are_synchronized_when_asked() {
        // 100 requests, then both files.
        let all = requests(&[("mode", "rndwr")], 204);
        assert_eq!(counts(&all), [0, 200, 4]);
        assert_eq!(all[100..102].iter().map(|r| r.file).collect::<Vec<_>>(), [0, 1]);
        let all = requests(&[("mode", "seqwr"), ("file-fsync-all", "on")], 100);
        assert_eq!(counts(&all), [0, 50, 50]);
        assert!(all.chunks(2).all(|pair| pair[0].file == pair[1].file));
        assert_eq!(counts(&requests(&[("mode", "rndrd")], 300)), [300, 0, 0]);
    }
}
