//! What may be done to a sandbox: stopped, started with other settings, its data kept and put back, made cold.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::client::Target;
use crate::server::{CopyResult, EvictionResult, ServerControl, Settings, cold, snapshot};

use super::process::wait_until;
use super::{Lifetime, STOP_LIMIT, Sandbox, arguments, diagnosis, fail_on_mistakes};

impl ServerControl for Sandbox {
    fn target(&self) -> &Target {
        &self.target
    }

    fn pid(&self) -> Option<u32> {
        self.meta.server.as_ref().filter(|server| server.is_alive()).map(|server| server.pid)
    }

    fn datadir(&self) -> &Path {
        &self.datadir
    }

    fn error_log_tail(&self, lines: usize) -> Vec<String> {
        let places = self.file_paths();
        // What it says before it has opened its log comes first.
        let mut words = diagnosis::read_tail(&places.output_file(), lines);
        words.extend(diagnosis::read_tail(&places.error_log(), lines));
        words.split_off(words.len().saturating_sub(lines))
    }

    fn exit_description(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        Some(diagnosis::describe_exit(status))
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        let Some(server) = self.meta.server.clone() else { return Ok(()) };
        server.send_signal(Signal::TERM);
        // One that was frozen hears it only when it goes on.
        server.send_signal(Signal::CONT);
        // Nobody who wants us to stop waits for data that go away anyhow.
        let is_unwanted = || self.life == Lifetime::ThrowAway && self.stop.is_set();
        wait_until(STOP_LIMIT, || !server.is_alive() || is_unwanted());
        if server.is_alive() && is_unwanted() {
            self.kill();
            return Ok(());
        }
        if server.is_alive() {
            anyhow::bail!("the server with process {} does not stop", server.pid);
        }
        self.reap_child();
        Ok(())
    }

    fn kill(&mut self) {
        Sandbox::kill(self);
    }

    fn start(&mut self, settings: &Settings) -> anyhow::Result<()> {
        anyhow::ensure!(!self.is_running(), "the server is already running");
        fail_on_mistakes(arguments::check_settings(settings))?;
        self.start_server(settings)
    }

    fn save_snapshot(&mut self, snapshot: &str) -> anyhow::Result<CopyResult> {
        self.ensure_stopped("keep a snapshot")?;
        snapshot::save_snapshot(&self.datadir, &self.snapshot_folder(), snapshot, &self.stop)
    }

    fn restore_snapshot(&mut self, snapshot: &str) -> anyhow::Result<CopyResult> {
        self.ensure_stopped("put back a snapshot")?;
        snapshot::restore_snapshot(&self.datadir, &self.snapshot_folder(), snapshot, &self.stop)
    }

    fn evict_files(&mut self) -> anyhow::Result<EvictionResult> {
        self.ensure_stopped("evict its files")?;
        cold::evict_files(&self.datadir)
    }
}

impl Sandbox {
    fn snapshot_folder(&self) -> PathBuf {
        self.dir.join("snapshot")
    }

    /// Its files may be touched only while no server has them.
    fn ensure_stopped(&mut self, deed: &str) -> anyhow::Result<()> {
        anyhow::ensure!(!self.is_running(), "the server must be stopped to {deed}");
        Ok(())
    }
}
