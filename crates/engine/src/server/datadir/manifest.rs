//! What a folder held: names, lengths and samples of the contents, to check a copy against.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::list_entries;

/// Length of one sample, bytes.
const SAMPLE: u64 = 16 << 10;
/// Samples taken of a long file, evenly spread, the first and the last page among them.
const SAMPLES: u64 = 32;

/// A folder's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::server) struct FolderManifest {
    files: Vec<SampledFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SampledFile {
    path: PathBuf,
    bytes: u64,
    sampled: u64,
}

impl FolderManifest {
    /// Looks at a folder.
    ///
    /// # Errors
    /// When a file can't be read.
    pub(in crate::server) fn from_folder(folder: &Path) -> anyhow::Result<FolderManifest> {
        let mut files = Vec::new();
        for entry in list_entries(folder)?.into_iter().filter(|e| e.kind.is_file()) {
            let path = folder.join(&entry.path);
            let sampled = hash_samples(&path, entry.length)
                .with_context(|| format!("read samples of {}", path.display()))?;
            files.push(SampledFile { path: entry.path, bytes: entry.length, sampled });
        }
        Ok(FolderManifest { files })
    }

    /// Checks that a folder holds the same.
    ///
    /// # Errors
    /// The first difference.
    pub(in crate::server) fn verify_folder(&self, folder: &Path) -> anyhow::Result<()> {
        let now = FolderManifest::from_folder(folder)?;
        for line in &self.files {
            let path = line.path.display();
            match now.files.iter().find(|other| other.path == line.path) {
                None => anyhow::bail!("{path} is missing"),
                Some(other) if other.bytes != line.bytes => {
                    anyhow::bail!("{path} has {} bytes instead of {}", other.bytes, line.bytes)
                }
                Some(other) if other.sampled != line.sampled => {
                    anyhow::bail!("{path} has other contents")
                }
                Some(_) => {}
            }
        }
        let strange = now.files.iter().find(|f| !self.files.iter().any(|l| l.path == f.path));
        match strange {
            Some(file) => anyhow::bail!("{} should not be there", file.path.display()),
            None => Ok(()),
        }
    }
}

/// A hash over the samples of a file, after FNV-1a but eight bytes at a time.
fn hash_samples(path: &Path, length: u64) -> io::Result<u64> {
    let file = File::open(path)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut buffer = vec![0; SAMPLE as usize];
    let pages = length.div_ceil(SAMPLE);
    let step = (pages.saturating_sub(1)).div_ceil(SAMPLES - 1).max(1);
    let spread = (0..pages).step_by(step as usize).chain(pages.checked_sub(1));
    for page in spread {
        let at = page * SAMPLE;
        let part = &mut buffer[..SAMPLE.min(length - at) as usize];
        file.read_exact_at(part, at)?;
        for word in part.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            // The rotation carries what the multiplication has moved up back into the low bits.
            hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x0100_0000_01b3);
            hash = hash.rotate_left(29);
        }
    }
    Ok(hash)
}
