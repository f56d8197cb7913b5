//! Folders of files as a whole: copied the fastest way the file system has, put back, checked.
//! The ladder: share the blocks (reflink), write only the pages that differ, copy on several threads.

mod copy;
mod manifest;

pub(super) use copy::{copy, restore};
pub(super) use manifest::Manifest;

use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::units::show_bytes;

/// How files were copied or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The file system shares the blocks until one side writes. Later writes then cost more than on plain files.
    Reflink,
    /// Pages were compared, only those that differed were written; files keep their place on disk.
    PageDiff,
    /// Copied whole, several files or parts at a time.
    Copy,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Reflink => "shared blocks (reflink)",
            Way::PageDiff => "pages that differ",
            Way::Copy => "parallel copy",
        })
    }
}

/// What copying or putting back did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copied {
    /// How.
    pub way: Way,
    /// Files looked at.
    pub files: u64,
    /// Their length, bytes.
    pub bytes_total: u64,
    /// What was written of it, bytes.
    pub bytes_written: u64,
    /// How long it took, seconds.
    pub seconds: f64,
}

impl std::fmt::Display for Copied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (total, written) = (show_bytes(self.bytes_total), show_bytes(self.bytes_written));
        let Copied { way, files, seconds, .. } = self;
        write!(f, "{files} files ({total}) by {way}, {written} written, {seconds:.2} s")
    }
}

/// A file or folder below the top, by its relative path.
#[derive(Clone, Debug)]
struct Entry {
    path: PathBuf,
    length: u64,
    kind: FileType,
}

/// Everything below a folder, parents first, in one order. Sockets and pipes are left out: they are no data.
fn list(top: &Path) -> anyhow::Result<Vec<Entry>> {
    fn walk(top: &Path, below: &Path, out: &mut Vec<Entry>) -> std::io::Result<()> {
        let mut entries =
            std::fs::read_dir(top.join(below))?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = below.join(entry.file_name());
            let meta = entry.metadata()?;
            let kind = meta.file_type();
            if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
                continue;
            }
            let length = if kind.is_file() { meta.len() } else { 0 };
            out.push(Entry { path: path.clone(), length, kind });
            if kind.is_dir() {
                walk(top, &path, out)?;
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    walk(top, Path::new(""), &mut out).with_context(|| format!("list {}", top.display()))?;
    Ok(out)
}

#[cfg(test)]
mod tests;
