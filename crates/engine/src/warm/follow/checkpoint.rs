//! How far the source was read, in a file, so that a restarted follow goes on where the last one was.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use super::source::FollowSource;

/// Version of the file.
const VERSION: u32 = 1;

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SavedPosition {
    format_version: u32,
    /// Which source.
    source: String,
    /// How far it was read, in the source's own words.
    mark: String,
}

/// How far each source was read.
#[derive(Debug, Default)]
pub(super) struct Checkpoint {
    path: Option<PathBuf>,
    now: Mutex<(SavedPosition, bool)>,
}

impl Checkpoint {
    /// Those of a file, if there is one; a file that can't be understood is an error.
    pub(super) fn open_file(path: Option<&Path>) -> anyhow::Result<Checkpoint> {
        let Some(path) = path else { return Ok(Checkpoint::default()) };
        let saved = match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| {
                anyhow::anyhow!("{}: this is not the state file of a follow: {e}", path.display())
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => SavedPosition::default(),
            Err(e) => return Err(anyhow::Error::new(e).context(format!("{}", path.display()))),
        };
        let marks = Checkpoint { path: Some(path.to_owned()), now: Mutex::new((saved, true)) };
        // A folder that can't be written to is known at once.
        marks.write_file()?;
        Ok(marks)
    }

    /// How far this source was read; `None` for one that never was.
    pub(super) fn last_mark(&self, source: &FollowSource) -> Option<String> {
        let now = self.lock_position();
        (now.0.source == source.describe() && !now.0.mark.is_empty()).then(|| now.0.mark.clone())
    }

    /// The source was read so far.
    pub(super) fn set_mark(&self, source: &FollowSource, mark: Option<String>) {
        let Some(mark) = mark else { return };
        let saved = SavedPosition { format_version: VERSION, source: source.describe(), mark };
        let mut now = self.lock_position();
        if now.0 != saved {
            *now = (saved, true);
        }
    }

    /// Writes the file if there is news; whole or not at all.
    pub(super) fn write_file(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let saved = {
            let mut now = self.lock_position();
            if !std::mem::take(&mut now.1) {
                return Ok(());
            }
            now.0.clone()
        };
        let fresh = path.with_extension("fresh");
        let bytes = serde_json::to_vec_pretty(&saved)?;
        std::fs::write(&fresh, bytes)
            .and_then(|()| std::fs::rename(&fresh, path))
            .map_err(|e| anyhow::anyhow!("write {}: {e}", path.display()))
    }

    fn lock_position(&self) -> MutexGuard<'_, (SavedPosition, bool)> {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_outlives_us_and_belongs_to_its_source() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("follow.json");
        let (log, other) =
            (FollowSource::File("/a.log".into()), FollowSource::File("/b.log".into()));
        let marks = Checkpoint::open_file(Some(&path)).unwrap();
        assert_eq!(marks.last_mark(&log), None);
        marks.set_mark(&log, Some("12:345".to_owned()));
        marks.set_mark(&log, None);
        marks.write_file().unwrap();
        let marks = Checkpoint::open_file(Some(&path)).unwrap();
        assert_eq!(marks.last_mark(&log).as_deref(), Some("12:345"));
        assert_eq!(marks.last_mark(&other), None);
        std::fs::write(&path, "nonsense").unwrap();
        assert!(Checkpoint::open_file(Some(&path)).is_err());
        let nowhere = dir.path().join("none/follow.json");
        assert!(Checkpoint::open_file(Some(&nowhere)).is_err());
    }
}
