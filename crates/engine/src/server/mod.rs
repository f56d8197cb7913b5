//! A server we may stop and start: throw-away sandboxes, snapshots, cold restarts, consent and its journal.
//! The only room that starts processes, so it also opens pages, runs the commands of a user and starts
//! the NATS server of a load on several machines. Never knows: load, workloads.
//! Start reading at `ServerControl`, then `sandbox::Sandbox`, its one implementation so far.

mod cold;
mod datadir;
pub mod instruments;
pub mod journal;
pub mod logging;
#[cfg(feature = "agents")]
mod nats_server;
mod opener;
pub mod sandbox;
mod shell_command;
mod snapshot;

pub use cold::{ColdProof, ColdRestart, DiskReads, EvictionResult, restart_cold};
pub use datadir::{CopyMethod, CopyResult};
#[cfg(feature = "agents")]
pub use nats_server::NatsServer;
pub use opener::open_page;
pub use shell_command::run_shell_command;

use std::path::Path;

use anyhow::Context as _;

use crate::client::Target;

/// Settings of a server, `name=value`, in the order given.
pub type Settings = Vec<(String, String)>;

/// A server that we may change: a sandbox, or one for which the user said so in words.
pub trait ServerControl: Send {
    /// How to talk to it.
    fn target(&self) -> &Target;
    /// Process id, while it runs.
    fn pid(&self) -> Option<u32>;
    /// Where its data is.
    fn datadir(&self) -> &Path;
    /// The last lines that it wrote to its error log, oldest first.
    fn error_log_tail(&self, lines: usize) -> Vec<String>;
    /// How its process ended, if nobody here ended it: `was killed by signal 9 (SIGKILL)`.
    fn exit_description(&mut self) -> Option<String>;
    /// Stops it cleanly and waits.
    ///
    /// # Errors
    /// When it doesn't stop.
    fn stop(&mut self) -> anyhow::Result<()>;
    /// Ends it at once, by SIGKILL, and waits until it is gone.
    fn kill(&mut self);
    /// Starts it with these settings beside its own and waits until it answers.
    ///
    /// # Errors
    /// When it doesn't come up: the last lines of its error log.
    fn start(&mut self, settings: &Settings) -> anyhow::Result<()>;
    /// Keeps a copy of the data of the stopped server, in place of an older one of this name; says how.
    ///
    /// # Errors
    /// When it can't be copied.
    fn save_snapshot(&mut self, snapshot: &str) -> anyhow::Result<CopyResult>;
    /// Puts a kept copy back in place of the stopped server's data, and checks that it is whole; says how.
    ///
    /// # Errors
    /// When it can't be restored.
    fn restore_snapshot(&mut self, snapshot: &str) -> anyhow::Result<CopyResult>;
    /// Evicts the stopped server's files from the page cache; says what is left there, if the system tells.
    ///
    /// # Errors
    /// When pages stay behind.
    fn evict_files(&mut self) -> anyhow::Result<EvictionResult>;
}

/// Removes a folder, if it is there.
fn remove_folder(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
