//! What may be done to a sandbox: stopped, started with other settings, its data kept and put back, made cold.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::server::{Control, Copied, Evicted, Settings, cold, snapshot};
use crate::target::Target;

use super::process::wait_until;
use super::{Life, STOP_LIMIT, Sandbox, arguments, cause, raise};

impl Control for Sandbox {
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
        let places = self.places();
        // What it says before it has opened its log comes first.
        let mut words = cause::tail(&places.out(), lines);
        words.extend(cause::tail(&places.error_log(), lines));
        words.split_off(words.len().saturating_sub(lines))
    }

    fn death(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        Some(cause::death(status))
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        let Some(server) = self.meta.server.clone() else { return Ok(()) };
        server.signal(Signal::TERM);
        // One that was frozen hears it only when it goes on.
        server.signal(Signal::CONT);
        // Nobody who wants us to stop waits for data that go away anyhow.
        let is_unwanted = || self.life == Life::ThrowAway && self.stop.is_set();
        wait_until(STOP_LIMIT, || !server.is_alive() || is_unwanted());
        if server.is_alive() && is_unwanted() {
            self.kill();
            return Ok(());
        }
        if server.is_alive() {
            anyhow::bail!("the server with process {} does not stop", server.pid);
        }
        self.collect();
        Ok(())
    }

    fn start(&mut self, settings: &Settings) -> anyhow::Result<()> {
        anyhow::ensure!(!self.is_running(), "the server runs already");
        raise(arguments::check(settings))?;
        self.begin(settings)
    }

    fn save(&mut self, snapshot: &str) -> anyhow::Result<Copied> {
        self.stopped("keep a snapshot")?;
        snapshot::save(&self.datadir, &self.snapshots(), snapshot, &self.stop)
    }

    fn restore(&mut self, snapshot: &str) -> anyhow::Result<Copied> {
        self.stopped("put back a snapshot")?;
        snapshot::restore(&self.datadir, &self.snapshots(), snapshot, &self.stop)
    }

    fn evict(&mut self) -> anyhow::Result<Evicted> {
        self.stopped("evict its files")?;
        cold::evict(&self.datadir)
    }
}

impl Sandbox {
    fn snapshots(&self) -> PathBuf {
        self.dir.join("snapshot")
    }

    /// Its files may be touched only while no server has them.
    fn stopped(&mut self, deed: &str) -> anyhow::Result<()> {
        anyhow::ensure!(!self.is_running(), "the server must be stopped to {deed}");
        Ok(())
    }
}
