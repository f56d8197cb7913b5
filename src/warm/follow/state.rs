//! How far the source was read, in a file, so that a restarted follow goes on where the last one was.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use super::source::Source;

/// Version of the file.
const VERSION: u32 = 1;

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    format_version: u32,
    /// Which source.
    source: String,
    /// How far it was read, in the source's own words.
    mark: String,
}

/// How far each source was read.
#[derive(Debug, Default)]
pub(super) struct Marks {
    path: Option<PathBuf>,
    now: Mutex<(Saved, bool)>,
}

impl Marks {
    /// Those of a file, if there is one; a file that can't be understood is an error.
    pub(super) fn load(path: Option<&Path>) -> anyhow::Result<Marks> {
        let Some(path) = path else { return Ok(Marks::default()) };
        let saved = match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| {
                anyhow::anyhow!("{}: this is no state of a follow: {e}", path.display())
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Saved::default(),
            Err(e) => return Err(anyhow::Error::new(e).context(format!("{}", path.display()))),
        };
        let marks = Marks { path: Some(path.to_owned()), now: Mutex::new((saved, true)) };
        // A folder that can't be written to is known at once.
        marks.save()?;
        Ok(marks)
    }

    /// How far this source was read; `None` for one that never was.
    pub(super) fn last(&self, source: &Source) -> Option<String> {
        let now = self.now();
        (now.0.source == source.describe() && !now.0.mark.is_empty()).then(|| now.0.mark.clone())
    }

    /// The source was read so far.
    pub(super) fn note(&self, source: &Source, mark: Option<String>) {
        let Some(mark) = mark else { return };
        let saved = Saved { format_version: VERSION, source: source.describe(), mark };
        let mut now = self.now();
        if now.0 != saved {
            *now = (saved, true);
        }
    }

    /// Writes the file if there is news; whole or not at all.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let saved = {
            let mut now = self.now();
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

    fn now(&self) -> MutexGuard<'_, (Saved, bool)> {
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
        let (log, other) = (Source::File("/a.log".into()), Source::File("/b.log".into()));
        let marks = Marks::load(Some(&path)).unwrap();
        assert_eq!(marks.last(&log), None);
        marks.note(&log, Some("12:345".to_owned()));
        marks.note(&log, None);
        marks.save().unwrap();
        let marks = Marks::load(Some(&path)).unwrap();
        assert_eq!(marks.last(&log).as_deref(), Some("12:345"));
        assert_eq!(marks.last(&other), None);
        std::fs::write(&path, "nonsense").unwrap();
        assert!(Marks::load(Some(&path)).is_err());
        let nowhere = dir.path().join("none/follow.json");
        assert!(Marks::load(Some(&nowhere)).is_err());
    }
}
