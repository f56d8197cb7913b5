//! `manifest.json`: sizes and SHA-256 of a run's files, written last, so that a later change shows.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ring::digest;
use serde::{Deserialize, Serialize};

pub(super) const NAME: &str = "manifest.json";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunManifest {
    files: Vec<HashedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HashedFile {
    path: String,
    bytes: u64,
    sha256: String,
}

/// SHA-256, hexadecimal, of a run's files by their path, as they were when the run ended; empty where none were kept.
pub fn manifest_hashes(dir: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(dir.join(NAME)).unwrap_or_default();
    let manifest: Option<RunManifest> = serde_json::from_str(&text).ok();
    let files = manifest.into_iter().flat_map(|m| m.files);
    files.map(|entry| (entry.path, entry.sha256)).collect()
}

impl RunManifest {
    /// Of all files below `dir` as they are now.
    pub(super) fn from_folder(dir: &Path) -> io::Result<RunManifest> {
        let mut paths = Vec::new();
        collect_files(dir, &mut paths)?;
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let name = path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
            let unfinished = path.extension().is_some_and(|e| e == "tmp" || e == "part");
            if name != NAME && !unfinished {
                let (bytes, sha256) = hash_file(&path)?;
                files.push(HashedFile { path: name, bytes, sha256 });
            }
        }
        Ok(RunManifest { files })
    }

    /// What is not as it was.
    pub(super) fn changed_files(&self, dir: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in &self.files {
            match hash_file(&dir.join(&entry.path)) {
                Err(e) => found.push(format!("{}: {e}", entry.path)),
                Ok((bytes, _)) if bytes != entry.bytes => found.push(format!(
                    "{}: has {bytes} bytes, had {} when the run ended",
                    entry.path, entry.bytes
                )),
                Ok((_, sha256)) if sha256 != entry.sha256 => {
                    found.push(format!("{}: was changed after the run ended", entry.path));
                }
                Ok(_) => {}
            }
        }
        found
    }
}

fn collect_files(dir: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // A run folder inside this one has a manifest of its own.
        if kind.is_dir() && !entry.path().join("meta.json").exists() {
            collect_files(&entry.path(), out)?;
        } else if kind.is_file() {
            out.push(entry.path());
        }
    }
    Ok(())
}

pub(super) fn hash_file(path: &Path) -> io::Result<(u64, String)> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = digest::Context::new(&digest::SHA256);
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let n = io::Read::read(&mut file, &mut buffer)?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        hash.update(&buffer[..n]);
    }
    let hex = hash.finish().as_ref().iter().map(|b| format!("{b:02x}")).collect();
    Ok((bytes, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_published_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let (bytes, sha256) = hash_file(&path).unwrap();
        assert_eq!(bytes, 3);
        assert_eq!(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
