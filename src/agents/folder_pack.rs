//! A run folder as one file, to travel: for each file in it a line of JSON with its path and size, and its bytes behind it.
//! Who unpacks trusts nothing: paths stay below the folder, sizes and counts are bounded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::wire::FolderOffer;
use crate::archive::file_sha256;
use crate::base::private;

/// Most files of a folder.
const MOST_FILES: usize = 10_000;
/// Longest line before a file.
const MOST_LINE_BYTES: u64 = 2048;
/// Deepest file.
const MOST_LEVELS: usize = 8;

/// What stands before each file.
#[derive(Debug, Serialize, Deserialize)]
struct PackedFile {
    path: String,
    bytes: u64,
}

/// Packs what is in a folder into a new file.
///
/// # Errors
/// When something can't be read or written.
pub(super) fn pack_folder(dir: &Path, pack: &Path) -> io::Result<()> {
    let mut paths = Vec::new();
    list_files(dir, Path::new(""), &mut paths)?;
    paths.sort();
    let mut out = BufWriter::new(private::create_file(pack)?);
    for path in &paths {
        let file = File::open(dir.join(path))?;
        let bytes = file.metadata()?.len();
        let head = PackedFile { path: path.to_string_lossy().into_owned(), bytes };
        serde_json::to_writer(&mut out, &head)?;
        out.write_all(b"\n")?;
        // As much as was said, whoever still writes to it.
        if io::copy(&mut file.take(bytes), &mut out)? != bytes {
            return Err(io::Error::other(format!("{} became shorter", path.display())));
        }
    }
    out.flush()
}

/// A run folder, packed beside it for as long as this lives.
#[derive(Debug)]
pub(super) struct OfferedFolder {
    /// What is told of it.
    pub(super) offer: FolderOffer,
    pack: PathBuf,
}

impl OfferedFolder {
    /// Packs a run folder into a file with this ending: it may be packed for two purposes at once.
    ///
    /// # Errors
    /// When something can't be read or written.
    pub(super) fn pack(dir: &Path, ending: &str) -> io::Result<OfferedFolder> {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pack = dir.with_file_name(format!(".{name}.{ending}"));
        // What an agent that was killed may have left.
        let _ = std::fs::remove_file(&pack);
        let mut folder = OfferedFolder { offer: FolderOffer::default(), pack };
        pack_folder(dir, &folder.pack)?;
        let bytes = std::fs::metadata(&folder.pack)?.len();
        let sha256 = file_sha256(&folder.pack)?;
        folder.offer = FolderOffer { name, bytes, sha256 };
        Ok(folder)
    }

    /// A part of it; empty behind its end.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn read_part(&self, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        use std::os::unix::fs::FileExt as _;
        let (file, mut bytes) = (File::open(&self.pack)?, vec![0; most]);
        let mut count = 0;
        loop {
            match file.read_at(&mut bytes[count..], offset.saturating_add(count as u64))? {
                0 => break,
                more => count += more,
            }
        }
        bytes.truncate(count);
        Ok(bytes)
    }
}

impl Drop for OfferedFolder {
    /// The run folder stays; what was made of it to travel goes.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.pack);
    }
}

fn list_files(root: &Path, below: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, below.join(entry.file_name()));
        if kind.is_dir() {
            list_files(root, &path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// Unpacks into a new folder.
///
/// # Errors
/// When the file is no pack, or something can't be written. What was unpacked until then is left.
pub(super) fn unpack_folder(pack: &Path, dir: &Path) -> io::Result<()> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut from = BufReader::new(File::open(pack)?);
    private::create_folder(dir)?;
    for number in 0.. {
        let mut line = Vec::new();
        (&mut from).take(MOST_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        if number >= MOST_FILES {
            return Err(wrong(format!("more than {MOST_FILES} files")));
        }
        let head: PackedFile = serde_json::from_slice(&line).map_err(|e| wrong(e.to_string()))?;
        let path = safe_path(&head.path).ok_or_else(|| wrong(format!("path {:?}", head.path)))?;
        let to = dir.join(path);
        make_folders(dir, path)?;
        let mut file = private::create_file(&to)?;
        if io::copy(&mut (&mut from).take(head.bytes), &mut file)? != head.bytes {
            return Err(wrong(format!("{} is cut", head.path)));
        }
    }
    Ok(())
}

/// The path, if it leads nowhere else than below.
fn safe_path(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let levels = path.components().count();
    let is_safe = path.components().all(is_plain) && (1..=MOST_LEVELS).contains(&levels);
    let is_text = !text.chars().any(char::is_control) && !text.ends_with('/');
    (is_safe && is_text).then_some(path)
}

fn make_folders(dir: &Path, path: &Path) -> io::Result<()> {
    let mut at = dir.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        at.push(part);
        match private::create_folder(&at) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_comes_out_as_it_went_in() {
        let dir = tempfile::tempdir().unwrap();
        let (from, pack, to) =
            (dir.path().join("run"), dir.path().join("pack"), dir.path().join("out"));
        std::fs::create_dir_all(from.join("trials/01-1")).unwrap();
        let files = [("meta.json", &b"{}\n"[..]), ("trials/01-1/h.hlog", b"\0\xff\n"), ("e", b"")];
        for (path, bytes) in files {
            std::fs::write(from.join(path), bytes).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        pack_folder(&from, &pack).unwrap();
        unpack_folder(&pack, &to).unwrap();
        for (path, bytes) in files {
            assert_eq!(std::fs::read(to.join(path)).unwrap(), bytes, "{path}");
        }
        assert!(!to.join("link").exists());
        let whole = std::fs::read(&pack).unwrap();
        for cut in 1..whole.len() {
            std::fs::write(&pack, &whole[..cut]).unwrap();
            let out = dir.path().join(format!("cut{cut}"));
            // A pack that ends between two files is only found by its checksum.
            let _ = unpack_folder(&pack, &out);
        }
    }

    #[test]
    fn a_hostile_pack_writes_nothing_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let pack = dir.path().join("pack");
        for (number, path) in
            ["../x", "/tmp/x", "a/../../x", "", "./", "a/", "a\\n", "1/2/3/4/5/6/7/8/9"]
                .into_iter()
                .enumerate()
        {
            let path = path.replace("\\n", "\\u000a");
            std::fs::write(&pack, format!("{{\"path\":\"{path}\",\"bytes\":1}}\nx")).unwrap();
            let out = dir.path().join(format!("out{number}"));
            assert!(unpack_folder(&pack, &out).is_err(), "{path}");
            assert!(!dir.path().join("x").exists(), "{path}");
        }
        for text in
            ["no json\n", "{\"path\":\"a\",\"bytes\":9}\nx", "{\"path\":\"a\",\"bytes\":-1}\n"]
        {
            std::fs::write(&pack, text).unwrap();
            let out = dir.path().join(format!("bad{}", text.len()));
            assert!(unpack_folder(&pack, &out).is_err(), "{text}");
        }
        // The same file twice is refused, too.
        std::fs::write(&pack, "{\"path\":\"a\",\"bytes\":0}\n{\"path\":\"a\",\"bytes\":0}\n")
            .unwrap();
        assert!(unpack_folder(&pack, &dir.path().join("twice")).is_err());
    }
}
