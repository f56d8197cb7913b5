//! A file of ours where the server looks for one of its own, which is kept aside meanwhile and put back.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::base::private;
use crate::target::Session;

/// A file, and what tells ours from the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StandIn {
    /// Where the server looks.
    pub(super) path: PathBuf,
    /// The number of our file: the server makes a new one when it writes its own. 0 while it is not made yet.
    pub(super) inode: u64,
}

impl StandIn {
    /// Announces a file, before it is made.
    pub(super) fn announced(path: &Path) -> StandIn {
        StandIn { path: path.to_owned(), inode: 0 }
    }
}

/// Name of a list of ours on servers that let us choose one.
pub const LIST: &str = "sweat_hot_set";

/// Where files of ours may stand in: the server's list of pages, and ours beside it.
pub(super) fn places(session: &mut Session) -> anyhow::Result<Vec<PathBuf>> {
    let rows = session
        .rows("SELECT @@GLOBAL.datadir, @@GLOBAL.innodb_buffer_pool_filename")
        .context("ask where the server keeps its list of pages")?;
    let folder = PathBuf::from(rows.text(0, 0).unwrap_or_default());
    let own = folder.join(rows.text(0, 1).unwrap_or_default());
    Ok(vec![own.with_file_name(LIST), own])
}

/// What the kept one is called.
fn aside(path: &Path) -> PathBuf {
    with_ending(path, "sweat-aside")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

fn inode(path: &Path) -> anyhow::Result<Option<u64>> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("look at {}", path.display())),
    }
}

/// Makes our file beside the place it is for; nothing of the server's is touched yet.
pub(super) fn prepare(path: &Path) -> anyhow::Result<StandIn> {
    let kept = aside(path);
    anyhow::ensure!(
        inode(&kept)?.is_none(),
        "{} is there: a sweat that was killed has kept the server's file there\n\
         hint: run `sweat restore` with the journal it names, or move the file back",
        kept.display()
    );
    let ours = with_ending(path, "sweat-new");
    let make = || {
        // One of a sweat that was killed.
        let _ = std::fs::remove_file(&ours);
        let file = private::create_file(&ours)?;
        // The server runs as another user. There is nothing in it but numbers.
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.sync_all()
    };
    make().with_context(|| format!("make {}", ours.display()))?;
    let inode = inode(&ours)?.context("the file that was just made is gone")?;
    Ok(StandIn { path: path.to_owned(), inode })
}

/// Puts our file in place, the server's aside.
pub(super) fn begin(one: &StandIn) -> anyhow::Result<()> {
    let StandIn { path, .. } = one;
    let swap = || {
        if path.exists() {
            std::fs::rename(path, aside(path))?;
        }
        std::fs::rename(with_ending(path, "sweat-new"), path)
    };
    swap().with_context(|| format!("put our file in the place of {}", path.display()))
}

/// Puts the server's file back. One that the server has written meanwhile is newer than the kept one and stays.
pub(super) fn undo(one: &StandIn) -> anyhow::Result<String> {
    let StandIn { path, inode: ours } = one;
    let (kept, fresh) = (aside(path), with_ending(path, "sweat-new"));
    let put = || -> anyhow::Result<()> {
        if inode(&fresh)?.is_some() {
            std::fs::remove_file(&fresh)?;
        }
        if *ours == 0 {
            return Ok(());
        }
        match (inode(path)?, inode(&kept)?) {
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
            let one = prepare(&path).unwrap();
            match killed_after {
                0 => {}
                1 => std::fs::rename(&path, aside(&path)).unwrap(),
                _ => {
                    begin(&one).unwrap();
                    std::fs::write(&path, "ours").unwrap();
                    assert_eq!(read(&aside(&path)).unwrap(), "its own");
                }
            }
            undo(&one).unwrap();
            assert_eq!(read(&path).as_deref(), Some("its own"), "killed after {killed_after}");
            assert_eq!(names(dir.path()), 1);
            undo(&one).unwrap();
            assert_eq!(read(&path).as_deref(), Some("its own"), "once more is no harm");
        }
    }

    #[test]
    fn where_there_was_none_there_is_none_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        let one = prepare(&path).unwrap();
        begin(&one).unwrap();
        assert!(path.exists());
        undo(&one).unwrap();
        assert_eq!(names(dir.path()), 0);
    }

    #[test]
    fn what_the_server_wrote_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(&path, "its old").unwrap();
        let one = prepare(&path).unwrap();
        begin(&one).unwrap();
        std::fs::write(dir.path().join("new"), "its new").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        undo(&one).unwrap();
        assert_eq!(read(&path).as_deref(), Some("its new"));
        assert_eq!(names(dir.path()), 1);
    }

    #[test]
    fn what_was_only_announced_touches_nothing_of_the_servers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(&path, "its own").unwrap();
        let announced = StandIn::announced(&path);
        undo(&announced).unwrap();
        prepare(&path).unwrap();
        assert_eq!(names(dir.path()), 2);
        undo(&announced).unwrap();
        assert_eq!((names(dir.path()), read(&path).as_deref()), (1, Some("its own")));
        std::fs::rename(&path, aside(&path)).unwrap();
        undo(&announced).unwrap();
        assert_eq!(read(&aside(&path)).as_deref(), Some("its own"));
    }

    #[test]
    fn a_kept_file_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ib_buffer_pool");
        std::fs::write(aside(&path), "kept").unwrap();
        assert!(prepare(&path).unwrap_err().to_string().contains("sweat restore"));
    }
}
