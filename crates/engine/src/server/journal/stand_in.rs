//! A file of ours where the server looks for one of its own, which is kept aside meanwhile and put back.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::base::private;
use crate::client::Session;

/// A file, and what tells ours from the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SwappedFile {
    /// Where the server looks.
    pub(super) path: PathBuf,
    /// The number of our file: the server makes a new one when it writes its own. 0 while it is not made yet.
    pub(super) inode: u64,
}

impl SwappedFile {
    /// Announces a file, before it is made.
    pub(super) fn without_inode(path: &Path) -> SwappedFile {
        SwappedFile { path: path.to_owned(), inode: 0 }
    }
}

/// Name of a list of ours on servers that let us choose one.
pub const HOT_SET_FILE_NAME: &str = "sweat_hot_set";

/// Where files of ours may stand in: the server's list of pages, and ours beside it.
pub(super) fn allowed_paths(session: &mut Session) -> anyhow::Result<Vec<PathBuf>> {
    let rows = session
        .query_rows("SELECT @@GLOBAL.datadir, @@GLOBAL.innodb_buffer_pool_filename")
        .context("ask where the server keeps its list of pages")?;
    let folder = PathBuf::from(rows.text_value(0, 0).unwrap_or_default());
    let own = folder.join(rows.text_value(0, 1).unwrap_or_default());
    Ok(vec![own.with_file_name(HOT_SET_FILE_NAME), own])
}

/// What the kept one is called.
fn kept_path(path: &Path) -> PathBuf {
    append_extension(path, "sweat-aside")
}

fn append_extension(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

fn read_inode(path: &Path) -> anyhow::Result<Option<u64>> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("look at {}", path.display())),
    }
}

/// Makes our file beside the place it is for; nothing of the server's is touched yet.
pub(super) fn prepare_file(path: &Path) -> anyhow::Result<SwappedFile> {
    let kept = kept_path(path);
    anyhow::ensure!(
        read_inode(&kept)?.is_none(),
        "{} exists: a sweat that was killed kept the server's file there\nhint: run `sweat \
         restore` with the journal it names, or move the file back",
        kept.display()
    );
    let ours = append_extension(path, "sweat-new");
    let make = || {
        // One of a sweat that was killed.
        let _ = std::fs::remove_file(&ours);
        let file = private::create_file(&ours)?;
        // The server runs as another user. There is nothing in it but numbers.
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.sync_all()
    };
    make().with_context(|| format!("make {}", ours.display()))?;
    let inode = read_inode(&ours)?.context("the file that was just made is gone")?;
    Ok(SwappedFile { path: path.to_owned(), inode })
}

/// Puts our file in place, the server's aside.
pub(super) fn swap_in(one: &SwappedFile) -> anyhow::Result<()> {
    let SwappedFile { path, .. } = one;
    let swap = || {
        if path.exists() {
            std::fs::rename(path, kept_path(path))?;
        }
        std::fs::rename(append_extension(path, "sweat-new"), path)
    };
    swap().with_context(|| format!("put our file in the place of {}", path.display()))
}

/// Puts the server's file back. One that the server has written meanwhile is newer than the kept one and stays.
pub(super) fn swap_out(one: &SwappedFile) -> anyhow::Result<String> {
    let SwappedFile { path, inode: ours } = one;
    let (kept, fresh) = (kept_path(path), append_extension(path, "sweat-new"));
    let put = || -> anyhow::Result<()> {
        if read_inode(&fresh)?.is_some() {
            std::fs::remove_file(&fresh)?;
        }
        if *ours == 0 {
            return Ok(());
        }
        match (read_inode(path)?, read_inode(&kept)?) {
            (Some(there), kept_there) if there != *ours => {
                if kept_there.is_some() {
                    std::fs::remove_file(&kept)?;
                }
            }
            (_, Some(_)) => std::fs::rename(&kept, path)?,
            (Some(_), None) => std::fs::remove_file(path)?,
            (None, None) => {}
        }
        Ok(())
    };
    put().with_context(|| format!("put {} back", path.display()))?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }

    fn names(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn the_servers_file_comes_back_whenever_we_are_killed() {
        for killed_after in 0..3 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ib_buffer_pool");
            std::fs::write(&path, "its own").unwrap();
            let one = prepare_file(&path).unwrap();
            match killed_after {
                0 => {}
                1 => std::fs::rename(&path, kept_path(&path)).unwrap(),
                _ => {
                    swap_in(&one).unwrap();
                    std::fs::write(&path, "ours").unwrap();
                    assert_eq!(read(&kept_path(&path)).unwrap(), "its own");
                }
            }
            swap_out(&one).unwrap();
            assert_eq!(read(&path).as_deref(), Some("its own"), "killed after {killed_after}");
            assert_eq!(names(dir.path()), 1);
            swap_out(&one).unwrap();
            assert_eq!(read(&path).as_deref(), Some("its own"), "once more is no harm");
        }
    }

    #[test]
    fn where_there_was_none_there_is_none_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        let one = prepare_file(&path).unwrap();
        swap_in(&one).unwrap();
        assert!(path.exists());
        swap_out(&one).unwrap();
        assert_eq!(names(dir.path()), 0);
    }

    #[test]
    fn what_the_server_wrote_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(&path, "its old").unwrap();
        let one = prepare_file(&path).unwrap();
        swap_in(&one).unwrap();
        std::fs::write(dir.path().join("new"), "its new").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        swap_out(&one).unwrap();
        assert_eq!(read(&path).as_deref(), Some("its new"));
        assert_eq!(names(dir.path()), 1);
    }

    #[test]
    fn what_was_only_announced_touches_nothing_of_the_servers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(&path, "its own").unwrap();
        let announced = SwappedFile::without_inode(&path);
        swap_out(&announced).unwrap();
        prepare_file(&path).unwrap();
        assert_eq!(names(dir.path()), 2);
        swap_out(&announced).unwrap();
        assert_eq!((names(dir.path()), read(&path).as_deref()), (1, Some("its own")));
        std::fs::rename(&path, kept_path(&path)).unwrap();
        swap_out(&announced).unwrap();
        assert_eq!(read(&kept_path(&path)).as_deref(), Some("its own"));
    }

    #[test]
    fn a_kept_file_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(kept_path(&path), "kept").unwrap();
        assert!(prepare_file(&path).unwrap_err().to_string().contains("sweat restore"));
    }
}
