//! Where the next sweat finds a journal that lies in a run folder: a small file beside the journals that have none.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::server::sandbox::{Home, make_private, random_hex};

/// What such a file's name ends with.
const ENDING: &str = "path";

/// Makes one for a journal; `None` where there is no place for it: the journal itself is what matters.
pub(super) fn make(journal: &Path) -> Option<PathBuf> {
    let folder = Home::find().ok()?.journals;
    make_private(&folder).ok()?;
    let pointer = folder.join(format!("{}.{ENDING}", random_hex(6).ok()?));
    let journal = std::path::absolute(journal).ok()?;
    std::fs::write(&pointer, journal.as_os_str().as_bytes()).ok()?;
    Some(pointer)
}

/// The journal that a file in the folder means: itself, or what it names. One whose journal is gone with its run folder is
/// removed.
pub(super) fn follow(listed: &Path) -> Option<PathBuf> {
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
