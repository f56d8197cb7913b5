//! What every later sweat hears of: journals with something left to do. For one that lies in a run folder a small file, beside
//! the journals that have none, says where it is.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::file::JournalFile;
use crate::server::sandbox::{HomeFolders, make_private_folder, random_hex};

/// What such a file's name ends with.
const ENDING: &str = "path";

/// Makes one for a journal; `None` where there is no place for it: the journal itself is what matters.
pub(super) fn write_pointer(journal: &Path) -> Option<PathBuf> {
    let folder = HomeFolders::find().ok()?.journals;
    make_private_folder(&folder).ok()?;
    let pointer = folder.join(format!("{}.{ENDING}", random_hex(6).ok()?));
    let journal = std::path::absolute(journal).ok()?;
    std::fs::write(&pointer, journal.as_os_str().as_bytes()).ok()?;
    Some(pointer)
}

/// The journal that a file in the folder means: itself, or what it names. One whose journal is gone with its run folder is
/// removed.
fn resolve_pointer(listed: &Path) -> Option<PathBuf> {
    if listed.extension().is_none_or(|ending| ending != ENDING) {
        return Some(listed.to_owned());
    }
    let journal = PathBuf::from(OsString::from_vec(std::fs::read(listed).ok()?));
    if !journal.exists() {
        let _ = std::fs::remove_file(listed);
        return None;
    }
    Some(journal)
}

/// A journal that still has something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingJournal {
    /// Where it is.
    pub path: PathBuf,
    /// What is still changed.
    pub what: String,
    /// Whether this very program wrote it.
    pub is_ours: bool,
}

/// Journals whose sweat ended before it had put everything back: those apart from runs, and those in run folders. What
/// tells of one that has nothing left to do is removed.
pub fn find_pending_journals(home: &HomeFolders) -> Vec<PendingJournal> {
    let mut pending = Vec::new();
    for entry in std::fs::read_dir(&home.journals).into_iter().flatten().flatten() {
        let listed = entry.path();
        let Some(path) = resolve_pointer(&listed) else { continue };
        match JournalFile::read(&path) {
            Ok(log) if log.open_changes().is_empty() && !log.is_in_use() => {
                let _ = std::fs::remove_file(&listed);
            }
            Ok(log)
                if !log.open_changes().is_empty() && (!log.is_in_use() || log.is_own_process()) =>
            {
                let (what, is_ours) = (log.describe_changes(), log.is_own_process());
                pending.push(PendingJournal { path, what, is_ours });
            }
            // One that is in use. Or half a first line: nothing was changed yet.
            Ok(_) | Err(_) => {}
        }
    }
    pending.sort_by(|a, b| a.path.cmp(&b.path));
    pending
}
