//! Where sandboxes and templates live.
//!
//! ```text
//! HOME/journal/               journals of changes to servers, where there is no run folder for them
//! HOME/journal.key            by which we know that a journal is our own
//! HOME/template/KEY/          an initialised data folder, copied for every new sandbox
//! HOME/sandbox/NAME/          one sandbox
//!     data/ tmp/ snapshot/    its data, its temporary files, kept copies of its data
//!     s                       its socket (elsewhere if this path is too long for a socket)
//!     server.err out          its error log; what it says before it has one
//!     meta.json lock          who runs it; held by us while we do
//! ```

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::plan::RefusedError;

/// Longest path of a socket that every system and server takes, bytes.
const SOCKET_PATH: usize = 100;

/// The folders that hold templates and sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeFolders {
    /// Initialised data folders.
    pub templates: PathBuf,
    /// Sandboxes.
    pub sandboxes: PathBuf,
    /// Journals of what has no run folder.
    pub journals: PathBuf,
    /// The key by which we know our own journals.
    pub journal_key: PathBuf,
}

impl HomeFolders {
    /// `$SWEAT_HOME`; without it `sweat` in the user's cache folder, or if that can't be written to, a folder of our
    /// own under the temporary one.
    ///
    /// # Errors
    /// When none of them can be written to.
    pub fn find() -> anyhow::Result<HomeFolders> {
        let roots = candidate_roots();
        let mut failed = None;
        for root in &roots {
            match make_private_folder(root) {
                Ok(()) => return Ok(HomeFolders::from_root(root)),
                Err(e) => failed = Some(e),
            }
        }
        Err(failed.unwrap_or_else(|| anyhow::anyhow!("no folder")))
            .context("find a place for sandboxes")
    }

    /// The homes that are there and ours, without making any.
    pub fn list_existing() -> Vec<HomeFolders> {
        let uid = rustix::process::geteuid().as_raw();
        let is_ours = |root: &PathBuf| root.metadata().is_ok_and(|meta| meta.uid() == uid);
        candidate_roots()
            .iter()
            .filter(|root| is_ours(root))
            .map(|root| HomeFolders::from_root(root))
            .collect()
    }

    /// Everything under one folder.
    pub fn from_root(root: &Path) -> HomeFolders {
        HomeFolders {
            templates: root.join("template"),
            sandboxes: root.join("sandbox"),
            journals: root.join("journal"),
            journal_key: root.join("journal.key"),
        }
    }
}

/// Folders that may hold a home, best first.
fn candidate_roots() -> Vec<PathBuf> {
    let var = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(root) = var("SWEAT_HOME") {
        return vec![std::path::absolute(&root).unwrap_or(root)];
    }
    let cache = var("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| var("HOME").map(|home| home.join(".cache")));
    let uid = rustix::process::geteuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("sweat-{uid}"));
    cache.map(|cache| cache.join("sweat")).into_iter().chain([temporary]).collect()
}

/// Makes a folder that only we can enter, or checks that the one that is there is ours.
///
/// # Errors
/// When it can't be made, is another user's, or can't be written to.
pub(in crate::server) fn make_private_folder(path: &Path) -> anyhow::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).with_context(|| {
        let path = path.display();
        RefusedError(format!("make the folder {path}\nhint: choose another with $SWEAT_HOME"))
    })?;
    let meta = path.metadata().with_context(|| format!("look at {}", path.display()))?;
    let uid = rustix::process::geteuid().as_raw();
    if meta.uid() != uid {
        let (path, owner) = (path.display(), meta.uid());
        anyhow::bail!(RefusedError(format!("{path} belongs to user {owner}, not to you ({uid})")));
    }
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .with_context(|| {
            let path = path.display();
            RefusedError(format!("write to {path}\nhint: choose another folder with $SWEAT_HOME"))
        })
}

/// Random bytes as hexadecimal digits, two per byte.
///
/// # Errors
/// When the system gives none.
pub(in crate::server) fn random_hex(bytes: usize) -> anyhow::Result<String> {
    use std::io::Read as _;
    let mut buffer = vec![0; bytes];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut buffer))
        .context("read random numbers from the system")?;
    Ok(buffer.iter().map(|b| format!("{b:02x}")).collect())
}

/// The path of a sandbox's socket: in its folder, or in a short one of its own where that path is too long.
///
/// # Errors
/// When even the short one is too long or can't be made.
pub(super) fn socket_path(dir: &Path) -> anyhow::Result<PathBuf> {
    let socket = dir.join("s");
    if fits_socket(&socket) {
        return Ok(socket);
    }
    let folder = std::env::temp_dir().join(format!("sweat-{}", random_hex(5)?));
    let short = folder.join("s");
    if !fits_socket(&short) {
        anyhow::bail!(RefusedError(format!(
            "the path of the server's socket would be too long: {} has {} bytes, \
             {SOCKET_PATH} fit\n\
             hint: set TMPDIR or SWEAT_HOME to a short path",
            short.display(),
            short.as_os_str().len()
        )));
    }
    make_private_folder(&folder)?;
    Ok(short)
}

fn fits_socket(path: &Path) -> bool {
    path.as_os_str().len() <= SOCKET_PATH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_in_the_sandbox_or_in_a_short_folder_that_only_we_enter() {
        let short = Path::new("/tmp/x");
        assert_eq!(socket_path(short).unwrap(), Path::new("/tmp/x/s"));
        let long = PathBuf::from("/tmp").join("a".repeat(120));
        let socket = socket_path(&long).unwrap();
        assert!(fits_socket(&socket));
        let folder = socket.parent().unwrap();
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn random_names_differ() {
        let one = random_hex(8).unwrap();
        assert_eq!(one.len(), 16);
        assert_ne!(one, random_hex(8).unwrap());
    }
}
