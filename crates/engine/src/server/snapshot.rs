//! Kept copies of a stopped server's data, and putting them back.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::Stop;
use crate::plan::Mistake;

use super::datadir::{self, CopyResult, FolderManifest};
use super::remove_folder;

/// Copies `datadir` to the snapshot `name` in `folder`, in place of an older one of this name.
///
/// # Errors
/// When it can't be read or written; an older one is then as it was.
pub(super) fn save_snapshot(
    datadir: &Path,
    folder: &Path,
    name: &str,
    stop: &Stop,
) -> anyhow::Result<CopyResult> {
    let place = snapshot_path(folder, name)?;
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let fresh = folder.join(format!(".{name}"));
    remove_folder(&fresh)?;
    std::fs::create_dir(&fresh).with_context(|| format!("make {}", fresh.display()))?;
    let saved = (|| -> anyhow::Result<CopyResult> {
        let copied = datadir::copy_folder(datadir, &fresh.join("data"), stop)?;
        let manifest = FolderManifest::from_folder(datadir)?;
        let text = serde_json::to_string(&manifest).context("write the manifest")?;
        std::fs::write(fresh.join("manifest.json"), text).context("write the manifest")?;
        remove_folder(&place)?;
        std::fs::rename(&fresh, &place).context("put the snapshot in its place")?;
        Ok(copied)
    })();
    if saved.is_err() {
        let _ = std::fs::remove_dir_all(&fresh);
    }
    saved.with_context(|| format!("keep a snapshot of {}", datadir.display()))
}

/// Makes `datadir` equal to the snapshot, and checks that it is.
///
/// # Errors
/// When there is no such snapshot, or it can't be put back whole.
pub(super) fn restore_snapshot(
    datadir: &Path,
    folder: &Path,
    name: &str,
    stop: &Stop,
) -> anyhow::Result<CopyResult> {
    let place = snapshot_path(folder, name)?;
    let text = std::fs::read_to_string(place.join("manifest.json"))
        .with_context(|| format!("there is no snapshot `{name}` of {}", datadir.display()))?;
    let manifest: FolderManifest = serde_json::from_str(&text)
        .with_context(|| format!("understand the manifest of the snapshot `{name}`"))?;
    let copied = datadir::restore_folder(&place.join("data"), datadir, stop)
        .with_context(|| format!("put back the snapshot `{name}`"))?;
    manifest
        .verify_folder(datadir)
        .with_context(|| format!("the data put back is not what the snapshot `{name}` kept"))?;
    Ok(copied)
}

fn snapshot_path(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(good) {
        return Ok(folder.join(name));
    }
    Err(Mistake::new(format!("snapshot {name}"), "is not the name of a snapshot")
        .hint("use letters, digits, - and _")
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_snapshot_is_not_taken_for_a_whole_one() {
        let dir = tempfile::tempdir().unwrap();
        let (data, kept) = (dir.path().join("data"), dir.path().join("kept"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("t.ibd"), vec![7; 50_000]).unwrap();
        save_snapshot(&data, &kept, "one", &Stop::new()).unwrap();
        std::fs::write(data.join("t.ibd"), vec![8; 60_000]).unwrap();
        restore_snapshot(&data, &kept, "one", &Stop::new()).unwrap();
        assert_eq!(std::fs::read(data.join("t.ibd")).unwrap(), vec![7; 50_000]);
        std::fs::write(kept.join("one/data/t.ibd"), vec![9; 50_000]).unwrap();
        let error = restore_snapshot(&data, &kept, "one", &Stop::new()).unwrap_err();
        assert!(format!("{error:#}").contains("t.ibd has other contents"), "{error:#}");
    }

    #[test]
    fn names_are_no_paths_and_missing_ones_are_said_so() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["", "../x", "a/b", "."] {
            assert!(
                save_snapshot(dir.path(), dir.path(), name, &Stop::new())
                    .unwrap_err()
                    .is::<Mistake>()
            );
        }
        let error = restore_snapshot(dir.path(), dir.path(), "none", &Stop::new()).unwrap_err();
        assert!(format!("{error:#}").contains("there is no snapshot `none`"));
    }
}
