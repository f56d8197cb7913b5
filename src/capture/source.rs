//! Where logs come from: files, compressed files, folders of them, standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// First bytes of a zstd file.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Files of these paths, those of folders by name, which is by time for logs that were rotated; hidden files are left
/// out. `-` stands for standard input.
///
/// # Errors
/// When a path is not there or a folder can't be listed.
pub fn files(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" || !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let entries: io::Result<Vec<PathBuf>> =
            std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect();
        let mut entries = entries?;
        entries.retain(|e| e.is_file() && !is_hidden(e));
        entries.sort();
        found.extend(entries);
    }
    Ok(found)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Opens one of them, unpacked if it is packed.
///
/// # Errors
/// When it can't be opened, or is packed by a means that we can't unpack.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut source: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut begin = [0; 4];
    let mut length = 0;
    while length < begin.len() {
        match source.read(&mut begin[length..])? {
            0 => break,
            read => length += read,
        }
    }
    let begin = begin[..length].to_vec();
    let (is_gzip, is_zstd) = (begin.starts_with(GZIP), begin.starts_with(ZSTD));
    let whole = io::Cursor::new(begin).chain(source);
    if is_zstd {
        let why = "it is packed by zstd; unpack it first: `zstdcat FILE | sweat digest -`";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn plain_and_packed_files_give_the_same() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.log"), "plain").unwrap();
        std::fs::write(dir.path().join(".hidden"), "no").unwrap();
        let file = File::create(dir.path().join("a.log.gz")).unwrap();
        let mut pack = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        pack.write_all(b"packed").unwrap();
        pack.finish().unwrap();
        std::fs::write(dir.path().join("c"), "x").unwrap();
        let read = |path: &Path| {
            let mut text = String::new();
            open(path).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        let found = files(&[dir.path().to_owned()]).unwrap();
        let texts: Vec<String> = found.iter().map(|p| read(p)).collect();
        assert_eq!(texts, ["packed", "plain", "x"]);
        assert!(open(&dir.path().join("none")).is_err());
        std::fs::write(dir.path().join("z"), [0x28, 0xb5, 0x2f, 0xfd, 0]).unwrap();
        assert!(open(&dir.path().join("z")).err().unwrap().to_string().contains("zstd"));
    }
}
