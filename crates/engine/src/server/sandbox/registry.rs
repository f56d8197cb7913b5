//! Who runs which sandbox: the file `meta.json` in each one's folder, and the sweep for those left behind.
//!
//! A folder belongs to a sweat that lives as long as that one holds its lock and its process is alive; both are
//! asked, because a process of another container can't be seen but its lock can.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::FlockOperation;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::arguments::SandboxPaths;
use super::home::HomeFolders;
use super::process::ProcessId;
use crate::base::kernel;

/// How long a left-behind server with data to keep gets to stop.
const PATIENCE: Duration = Duration::from_secs(30);
/// A folder without `meta.json` is in the making for at most this long.
const MAKING: Duration = Duration::from_secs(600);

/// What is known of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxMeta {
    /// Version of this file's layout.
    pub format: u32,
    /// The machine it runs on.
    pub host: String,
    /// The server program.
    pub program: PathBuf,
    /// What the program says of itself.
    pub version: String,
    /// Its settings beyond the defaults, as last started.
    pub settings: Vec<(String, String)>,
    /// Its socket.
    pub socket: PathBuf,
    /// Its loopback port, if any.
    pub port: Option<u16>,
    /// The server's process; `None` while it is stopped.
    pub server: Option<ProcessId>,
    /// The sweat that it dies with; `None` if it is detached.
    pub tool: Option<ProcessId>,
    /// Whether its data stays when it stops.
    pub keep: bool,
}

impl SandboxMeta {
    /// Writes it so that a reader sees the old or the new one, never half of it.
    ///
    /// # Errors
    /// When the disk is full or the like.
    pub(super) fn write_to(&self, dir: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("write what is known of it")?;
        let fresh = dir.join(".meta.json");
        std::fs::write(&fresh, text)
            .and_then(|()| std::fs::rename(&fresh, dir.join("meta.json")))
            .with_context(|| format!("write {}", dir.join("meta.json").display()))
    }

    pub(super) fn read_from(dir: &Path) -> anyhow::Result<SandboxMeta> {
        let path = dir.join("meta.json");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("understand {}", path.display()))
    }

    /// Whether its server runs.
    pub fn is_running(&self) -> bool {
        self.server.as_ref().is_some_and(ProcessId::is_alive)
    }

    /// Where its files are.
    pub(super) fn file_paths(&self, dir: &Path) -> SandboxPaths {
        SandboxPaths { dir: dir.to_owned(), socket: self.socket.clone(), port: self.port }
    }
}

/// Takes the lock of a sandbox's folder; `None` if somebody has it.
pub(super) fn try_lock(dir: &Path) -> anyhow::Result<Option<File>> {
    let path = dir.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("open {}", path.display()))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(e) => Err(e).with_context(|| format!("lock {}", path.display())),
    }
}

/// All sandboxes by name.
pub fn list_sandboxes(home: &HomeFolders) -> Vec<(String, SandboxMeta)> {
    let mut found: Vec<(String, SandboxMeta)> = list_folders(home)
        .into_iter()
        .filter(|(name, _)| !name.starts_with('.'))
        .filter_map(|(name, dir)| SandboxMeta::read_from(&dir).ok().map(|meta| (name, meta)))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn list_folders(home: &HomeFolders) -> Vec<(String, PathBuf)> {
    std::fs::read_dir(&home.sandboxes)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect()
}

/// Ends the servers of every sweat that ended without doing so, and removes their folders; gives their names.
///
/// Only sandboxes in our own registry, on this machine, whose sweat is dead are touched; a process is ended only if
/// its number, its start time and the system's boot are those that were noted.
pub fn remove_orphans(home: &HomeFolders) -> Vec<String> {
    let host = kernel::host_name();
    let mut swept = Vec::new();
    for (name, dir) in list_folders(home) {
        let gone = match SandboxMeta::read_from(&dir) {
            Ok(meta) => meta.host == host && remove_orphan(&dir, meta),
            Err(_) => {
                is_old(&dir) && matches!(try_lock(&dir), Ok(Some(_))) && remove_files(&dir, None)
            }
        };
        if gone {
            swept.push(name);
        }
    }
    swept
}

/// Whether the sandbox was left behind and has been dealt with.
fn remove_orphan(dir: &Path, mut meta: SandboxMeta) -> bool {
    let Some(tool) = &meta.tool else { return false };
    if tool.is_alive() {
        return false;
    }
    let Ok(Some(_lock)) = try_lock(dir) else { return false };
    if let Some(server) = &meta.server {
        if meta.keep {
            server.send_signal(Signal::TERM);
            if !server.wait_for_exit(PATIENCE) {
                server.send_signal(Signal::KILL);
            }
        } else {
            server.send_signal(Signal::KILL);
        }
        if !server.wait_for_exit(PATIENCE) {
            return false;
        }
    }
    if meta.keep {
        (meta.server, meta.tool) = (None, None);
        return meta.write_to(dir).is_ok();
    }
    remove_files(dir, Some(&meta.socket))
}

/// Removes a sandbox's files.
pub(super) fn remove_files(dir: &Path, socket: Option<&Path>) -> bool {
    // A socket outside has a short folder of its own.
    if let Some(socket) = socket.filter(|socket| socket.parent() != Some(dir)) {
        let _ = std::fs::remove_file(socket);
        let _ = std::fs::remove_file(socket.with_extension("lock"));
        // Goes only if it is empty.
        let _ = socket.parent().map(std::fs::remove_dir);
    }
    std::fs::remove_dir_all(dir).is_ok()
}

fn is_old(dir: &Path) -> bool {
    let modified = dir.metadata().and_then(|meta| meta.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > MAKING))
}
