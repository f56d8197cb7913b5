//! Files and folders that nobody but us may read, made in a way that follows nobody's links.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Makes a file that is not there yet; a link under its name is not followed.
///
/// # Errors
/// When it is there, or can't be made.
pub fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes a folder that is not there yet.
///
/// # Errors
/// When it is there, or can't be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes a file beside `path` under a name that nobody knows before, to be renamed to `path` once it is whole.
///
/// # Errors
/// When `path` names no file, or the file can't be made.
pub fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is not a file name", path.display()),
        )
    })?;
    // The keys of a new hasher come from the system's random numbers.
    let random = RandomState::new().hash_one(std::process::id());
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{random:016x}.part"));
    let beside = path.with_file_name(part);
    let file = create_file(&beside)?;
    Ok((beside, file))
}

/// Writes a whole file in place of the one at `path`, if there is one: it appears whole or not at all.
///
/// # Errors
/// When it can't be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let (fresh, mut file) = create_beside(path)?;
    let written =
        io::Write::write_all(&mut file, content).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn only_we_may_read_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("file"), dir.path().join("folder"));
        create_file(&file).unwrap();
        create_folder(&folder).unwrap();
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(create_file(&link).is_err());
        assert!(!target.exists());
        replace_file(&link, b"x").unwrap();
        assert!(!target.exists(), "the link is replaced, not followed");
        assert_eq!((std::fs::read(&link).unwrap(), mode(&link)), (b"x".to_vec(), 0o600));
    }

    #[test]
    fn names_beside_differ_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hot.zst");
        let (one, other) = (create_beside(&path).unwrap().0, create_beside(&path).unwrap().0);
        assert_ne!(one, other);
        assert!(create_beside(Path::new("/")).is_err());
        std::fs::create_dir(dir.path().join("taken")).unwrap();
        assert!(replace_file(&dir.path().join("taken"), b"x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
