//! What can go wrong with a run folder.

use std::path::{Path, PathBuf};

/// An error of the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The folder can't be made or written to.
    #[error("run folder {}: {why}", .path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// Too little room to begin.
    #[error(
        "run folder {}: only {} MiB free on its disk, a run needs {} MiB to start",
        .path.display(), .free_bytes >> 20, .needed_bytes >> 20
    )]
    Full {
        /// Where.
        path: PathBuf,
        /// Free for us, in bytes.
        free_bytes: u64,
        /// Asked for, in bytes.
        needed_bytes: u64,
    },
    /// A file could not be written; the run went on without it.
    #[error("run folder is not complete: {}: {why}", .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// There is no run in this folder.
    #[error("{} is not a run folder: {why}", .path.display())]
    NotARun {
        /// Which folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Written by a newer sweat.
    #[error("{} has layout {format}, this sweat reads up to {}", .path.display(), super::FORMAT)]
    Newer {
        /// Which folder.
        path: PathBuf,
        /// Its layout.
        format: u32,
    },
    /// The list of baselines can't be read.
    #[error("{} is not a list of baselines: {why}", .path.display())]
    Baselines {
        /// Which file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A folder of runs without runs.
    #[error("no run in {}", .path.display())]
    NoRuns {
        /// Which folder.
        path: PathBuf,
    },
}

impl ArchiveError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ArchiveError::Create { .. } => "name a writable folder for runs with --runs-dir",
            ArchiveError::Full { .. } | ArchiveError::Write { .. } => {
                "make room, or name a folder on another disk with --runs-dir"
            }
            ArchiveError::NotARun { .. } => {
                "name a run folder, which holds meta.json, or a folder of run folders"
            }
            ArchiveError::Newer { .. } => {
                "read it with the version of sweat named in its meta.json"
            }
            ArchiveError::Baselines { .. } => "mend the file, or remove it and save them again",
            ArchiveError::NoRuns { .. } => "run a load first, or name the run's folder",
        }
    }

    /// Whether nothing was begun or read because of the folder that was named; else something was lost on the way.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, ArchiveError::Write { .. })
    }

    pub(super) fn write_failed(path: &Path, why: std::io::Error) -> ArchiveError {
        ArchiveError::Write { path: path.to_owned(), why }
    }

    pub(super) fn create_failed(path: &Path, why: std::io::Error) -> ArchiveError {
        ArchiveError::Create { path: path.to_owned(), why }
    }
}
