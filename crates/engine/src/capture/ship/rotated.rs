//! The files beside a log that it was rotated into, or copied to.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::mark::BEGIN;

/// Ends of names of packed files.
const PACKED: &[&str] = &["gz", "zst", "xz", "bz2", "lz4", "Z", "zip"];
/// How often a folder is listed until nothing in it changes meanwhile.
const LISTINGS: usize = 30;

/// A file beside the log.
#[derive(Debug)]
pub(super) struct RotatedFile {
    pub(super) file: File,
    pub(super) inode: u64,
    pub(super) size: u64,
    /// When it was written last, nanoseconds since 1970.
    pub(super) written_ns: i128,
    pub(super) begin: Vec<u8>,
    /// When it was made, where the file system tells.
    born: Option<SystemTime>,
    name: String,
    /// Whether it is what the log's name leads to.
    pub(super) is_log: bool,
}

/// A file that needs no second look. Inodes are used again, so more than that is kept.
#[derive(Debug)]
pub(super) struct KnownFile {
    pub(super) inode: u64,
    pub(super) begin: Vec<u8>,
    size: u64,
    born: Option<SystemTime>,
    /// Whether it was there before we came: it may have grown since.
    was_there: bool,
}

impl KnownFile {
    pub(super) fn from_rotated(sibling: RotatedFile, was_there: bool) -> KnownFile {
        let RotatedFile { inode, begin, size, born, .. } = sibling;
        KnownFile { inode, begin, size, born, was_there }
    }

    /// Whether a file is this one.
    pub(super) fn is_same_file(&self, other: &RotatedFile) -> bool {
        self.inode == other.inode
            && self.born == other.born
            && other.begin.starts_with(&self.begin)
            && (self.was_there || self.size == other.size || self.begin.len() == BEGIN)
    }
}

impl RotatedFile {
    pub(super) fn from_file(file: File, name: &str) -> io::Result<RotatedFile> {
        let meta = file.metadata()?;
        let begin = read_first_bytes(&file)?;
        Ok(RotatedFile {
            born: meta.created().ok(),
            inode: meta.ino(),
            size: meta.len(),
            written_ns: written_ns(&meta),
            begin,
            file,
            name: name.to_owned(),
            is_log: false,
        })
    }

    /// Whether it may be a copy of a file that begins so: nothing in its begin is different.
    pub(super) fn is_copy(&self, begin: &[u8]) -> bool {
        !self.begin.is_empty() && begin.starts_with(&self.begin)
    }
}

/// When a file was written last, nanoseconds since 1970.
pub(super) fn written_ns(meta: &Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

/// The first bytes of a file.
pub(super) fn read_first_bytes(file: &File) -> io::Result<Vec<u8>> {
    let mut begin = vec![0; BEGIN];
    let length = read_at(file, &mut begin, 0)?;
    begin.truncate(length);
    Ok(begin)
}

/// Reads at a place until the buffer is full or the file ends.
pub(super) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < out.len() {
        match file.read_at(&mut out[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(length)
}

/// The log's place: its folder and its name there.
#[derive(Clone, Debug)]
pub(super) struct LogLocation {
    folder: PathBuf,
    name: String,
}

impl LogLocation {
    pub(super) fn from_path(path: &Path) -> io::Result<LogLocation> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::other("its name is not text"))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        Ok(LogLocation {
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            name: name.to_owned(),
        })
    }

    /// Whether a file of this name may have been the log: `slow.log.1`, `slow.log-20261121`, `slow-20261121.log`.
    fn is_rotated_name(&self, name: &str) -> bool {
        let is_packed = name.rsplit_once('.').is_some_and(|(_, end)| PACKED.contains(&end));
        if is_packed || name == self.name {
            return false;
        }
        if let Some(rest) = name.strip_prefix(self.name.as_str()) {
            return rest.starts_with(['.', '-', '_', '~']);
        }
        // `db1.log` is not the same log as `db1-slow.log`, so what stands between must be a number.
        let Some((stem, end)) = self.name.rsplit_once('.') else { return false };
        let between = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(end));
        between.is_some_and(|rest| {
            rest.starts_with(['.', '-', '_'])
                && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        })
    }

    /// The log and the files that may have been it, those written first at the begin, the log itself at the end; without
    /// those of these inodes. What changes while it is listed is listed again, as files could be missed otherwise; where it
    /// never rests, they may be.
    pub(super) fn rotated_files(&self, without: &[u64]) -> io::Result<Vec<RotatedFile>> {
        self.list_files(without).map(|(found, _)| found)
    }

    /// The same with none missed, and each but the last that has bytes as it is for good: a server writes on in the old
    /// file until it takes the new one, which may be after the old one was looked at here.
    ///
    /// # Errors
    /// `WouldBlock` where files are renamed all the time; the next look may find them at rest.
    pub(super) fn settled_files(&self) -> io::Result<Vec<RotatedFile>> {
        let (mut found, is_settled) = self.list_files(&[])?;
        if !is_settled {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let newest = found.iter().rposition(|file| file.size > 0).unwrap_or(0);
        for ended in &mut found[..newest] {
            ended.size = ended.file.metadata()?.len();
            ended.begin = read_first_bytes(&ended.file)?;
        }
        Ok(found)
    }

    /// Files, and whether nothing was renamed while they were opened.
    fn list_files(&self, without: &[u64]) -> io::Result<(Vec<RotatedFile>, bool)> {
        let mut names = self.list_names()?;
        let (mut found, mut is_settled) = (Vec::new(), false);
        for _ in 0..LISTINGS {
            found = self.open_files(&names);
            let again = self.list_names()?;
            is_settled = again == names;
            if is_settled {
                break;
            }
            names = again;
        }
        found.retain(|sibling| !without.contains(&sibling.inode));
        found.sort_by_key(|s| (s.is_log, s.written_ns, rotation_order(&s.name)));
        Ok((found, is_settled))
    }

    /// Opens files by their names, each once.
    fn open_files(&self, names: &[(u64, String)]) -> Vec<RotatedFile> {
        let mut found: Vec<RotatedFile> = Vec::new();
        for (_, name) in names {
            // What can't be opened is gone, or none of ours.
            let Ok(file) = File::open(self.folder.join(name)) else { continue };
            let Ok(mut sibling) = RotatedFile::from_file(file, name) else { continue };
            sibling.is_log = *name == self.name;
            if !found.iter().any(|other| other.inode == sibling.inode) {
                found.push(sibling);
            }
        }
        found
    }

    /// Inodes and names of the log and its kin.
    fn list_names(&self) -> io::Result<Vec<(u64, String)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if name == self.name || is_file && self.is_rotated_name(&name) {
                found.push((std::os::unix::fs::DirEntryExt::ino(&entry), name));
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Order of age among files written at the same time, by their names: `.2` is older than `.1`, a date is what it says.
fn rotation_order(name: &str) -> (i64, String) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let number = (1..=4).contains(&digits).then(|| name[name.len() - digits..].parse::<i64>().ok());
    (-number.flatten().unwrap_or(0), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_is_what_rotation_makes_of_a_name() {
        let home = LogLocation::from_path(Path::new("/x/slow.log")).unwrap();
        for name in ["slow.log.1", "slow.log-20261121", "slow-20261121.log", "slow.log~"] {
            assert!(home.is_rotated_name(name), "{name}");
        }
        for name in
            ["slow.log", "slow.log.2.gz", "slowly.log", "error.log", "slow2.log", "slow-error.log"]
        {
            assert!(!home.is_rotated_name(name), "{name}");
        }
    }

    #[test]
    fn names_tell_the_age_of_files_written_at_once() {
        let mut names = ["s.log.1", "s.log.10", "s.log.2", "s.log.3"];
        names.sort_by_key(|name| rotation_order(name));
        assert_eq!(names, ["s.log.10", "s.log.3", "s.log.2", "s.log.1"]);
        let mut names = ["s-20261122", "s-20261121"];
        names.sort_by_key(|name| rotation_order(name));
        assert_eq!(names, ["s-20261121", "s-20261122"]);
    }
}
