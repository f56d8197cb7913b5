//! Files that stay readable when the disk fills up or the program is killed: appended lines are
//! whole or not there, rewritten files are replaced in one step, compressed streams are flushed now
//! and then.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::ArchiveError;
use crate::base::private;

/// A file that only grows, by whole pieces.
#[derive(Debug)]
pub(super) struct AppendFile {
    path: PathBuf,
    file: File,
    good_bytes: u64,
}

impl AppendFile {
    pub(super) fn create(path: PathBuf) -> Result<AppendFile, ArchiveError> {
        let file = private::create_file(&path).map_err(|e| ArchiveError::write_failed(&path, e))?;
        Ok(AppendFile { path, file, good_bytes: 0 })
    }

    /// Appends a piece, or nothing of it.
    pub(super) fn append(&mut self, piece: &[u8]) -> Result<(), ArchiveError> {
        if let Err(e) = self.file.write_all(piece) {
            self.cut_incomplete();
            return Err(ArchiveError::write_failed(&self.path, e));
        }
        self.good_bytes += piece.len() as u64;
        Ok(())
    }

    /// Takes back the last piece, whose length is given.
    pub(super) fn undo_append(&mut self, piece_bytes: usize) {
        self.good_bytes -= piece_bytes as u64;
        self.cut_incomplete();
    }

    /// Makes writes fail as on a full disk, or work again.
    #[cfg(test)]
    pub(super) fn fill_disk(&mut self, full: bool) {
        let path = if full { Path::new("/dev/full") } else { self.path.as_path() };
        self.file = File::options().write(true).open(path).unwrap();
        let _ = self.file.seek(SeekFrom::Start(self.good_bytes));
    }

    /// What can't be cut off stays as a cut last line, which every reader of ours expects.
    fn cut_incomplete(&mut self) {
        let _ = self.file.set_len(self.good_bytes);
        let _ = self.file.seek(SeekFrom::Start(self.good_bytes));
    }
}

/// A compressed file of lines; `kill -9` loses what came after the last flush.
#[derive(Debug)]
pub(super) struct GzipFile {
    path: PathBuf,
    /// `None` once a write has failed: a stream can't go on after a hole.
    stream: Option<GzEncoder<File>>,
    flushed_ns: u64,
}

/// Time between two flushes of a compressed stream.
const FLUSH_NS: u64 = 3_000_000_000;

impl GzipFile {
    pub(super) fn create(path: PathBuf) -> Result<GzipFile, ArchiveError> {
        let file = private::create_file(&path).map_err(|e| ArchiveError::write_failed(&path, e))?;
        let stream = Some(GzEncoder::new(file, Compression::default()));
        Ok(GzipFile { path, stream, flushed_ns: 0 })
    }

    /// Appends a piece written at `now_ns`.
    pub(super) fn append(&mut self, piece: &[u8], now_ns: u64) -> Result<(), ArchiveError> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut result = stream.write_all(piece);
        if result.is_ok() && now_ns.saturating_sub(self.flushed_ns) >= FLUSH_NS {
            self.flushed_ns = now_ns;
            result = stream.flush();
        }
        result.map_err(|e| {
            self.stream = None;
            ArchiveError::write_failed(&self.path, e)
        })
    }

    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        let end = |s: GzEncoder<File>| {
            s.finish().map(drop).map_err(|e| ArchiveError::write_failed(&self.path, e))
        };
        self.stream.map_or(Ok(()), end)
    }
}

/// Puts a whole file in place of another in one step.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> Result<(), ArchiveError> {
    private::replace_file(path, content).map_err(|e| ArchiveError::write_failed(path, e))
}
