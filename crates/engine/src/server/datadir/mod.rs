//! Folders of files as a whole: copied the fastest way the file system has, put back, checked.
//! The ladder: share the blocks (reflink), write only the pages that differ, copy on several threads.

mod copy;
mod manifest;

pub(super) use copy::{copy_folder, restore_folder};
pub(super) use manifest::FolderManifest;

use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::units::show_bytes;

/// How files were copied or put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// The file system shares the blocks until one side writes. Later writes then cost more than on plain files.
    Reflink,
    /// Pages were compared, only those that differed were written; files keep their place on disk.
    PageDiff,
    /// Copied whole, several files or parts at a time.
    Copy,
}

impl std::fmt::Display for CopyMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CopyMethod::Reflink => "shared blocks (reflink)",
            CopyMethod::PageDiff => "pages that differ",
            CopyMethod::Copy => "parallel copy",
        })
    }
}

/// What copying or putting back did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyResult {
    /// How.
    pub way: CopyMethod,
    /// Files looked at.
    pub files: u64,
    /// Their length, bytes.
    pub bytes_total: u64,
    /// What was written of it, bytes.
    pub bytes_written: u64,
    /// How long it took, seconds.
    pub seconds: f64,
}

impl std::fmt::Display for CopyResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (total, written) = (show_bytes(self.bytes_total), show_bytes(self.bytes_written));
        let CopyResult { way, files, seconds, .. } = self;
        write!(f, "{files} files ({total}) by {way}, {written} written, {seconds:.2} s")
    }
}

/// A file or folder below the top, by its relative path.
#[derive(Clone, Debug)]
struct FolderEntry {
    path: PathBuf,
    length: u64,
    kind: FileType,
}

/// Everything below a folder, parents first, in one order. Sockets and pipes are left out: they are no data.
fn list_entries(top: &Path) -> anyhow::Result<Vec<FolderEntry>> {
    fn walk_folder(top: &Path, below: &Path, out: &mut Vec<FolderEntry>) -> std::io::Result<()> {
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
            out.push(FolderEntry { path: path.clone(), length, kind });
            if kind.is_dir() {
                walk_folder(top, &path, out)?;
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    walk_folder(top, Path::new(""), &mut out).with_context(|| format!("list {}", top.display()))?;
    Ok(out)
}

#[cfg(test)]
mod tests;
