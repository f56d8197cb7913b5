//! A NATS server of our own on this machine, for a load whose agents are here, too. It ends with us, however we end, and leaves
//! no file: it needs none, and its log is a file without a name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use anyhow::Context as _;

use super::sandbox::{ChildPolicy, spawn_server, wait_until};
use crate::base::private;

/// The program.
const PROGRAM: &str = "nats-server";
/// Where it may be beside `PATH`.
const FOLDERS: &[&str] = &["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// What it writes in its log before the address.
const LISTENING: &str = "Listening for client connections on ";
/// Most of its log that is read.
const LOG_BYTES: usize = 64 << 10;

/// A running server; ends with the value.
#[derive(Debug)]
pub struct NatsServer {
    child: Child,
    url: String,
}

impl NatsServer {
    /// Starts one on a free port of loopback.
    ///
    /// # Errors
    /// When it is not installed, or does not come up.
    pub fn start() -> anyhow::Result<NatsServer> {
        let program = find_program().with_context(|| {
            format!("{PROGRAM} is not installed\nhint: apt install {PROGRAM}, or name one: --nats")
        })?;
        let log = nameless_file().context("make a file for the log of the NATS server")?;
        let args = ["-a", "127.0.0.1", "-p", "-1"].map(str::to_owned);
        let out = log.try_clone().context("share the file for the server's words")?;
        let child = spawn_server(&program, &args, ChildPolicy::Kill, None, out)?;
        let mut server = NatsServer { child, url: String::new() };
        let mut listens = None;
        wait_until(PATIENCE, || {
            listens = listening_address(&read_log(&log));
            listens.is_some() || !matches!(server.child.try_wait(), Ok(None))
        });
        let last = || read_log(&log).lines().next_back().unwrap_or_default().to_owned();
        let address = listens.with_context(|| format!("{PROGRAM} does not come up: {}", last()))?;
        server.url = format!("nats://{address}");
        Ok(server)
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

/// A file that is gone when nobody has it open any more.
fn nameless_file() -> io::Result<File> {
    let (path, file) = private::create_beside(&std::env::temp_dir().join(PROGRAM))?;
    // Opened again, as it is to be read, too.
    let both = File::options().read(true).append(true).open(&path);
    std::fs::remove_file(&path)?;
    drop(file);
    both
}

fn read_log(log: &File) -> String {
    let mut bytes = vec![0; LOG_BYTES];
    let count = log.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

fn listening_address(log: &str) -> Option<String> {
    // A line that is not whole yet is not read.
    let (whole, _) = log.rsplit_once('\n')?;
    let address = whole.lines().find_map(|line| line.split_once(LISTENING))?.1;
    Some(address.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_stands_in_the_log() {
        let line =
            "[7] 2026/11/22 21:30:00.1 [INF] Listening for client connections on 127.0.0.1:41";
        assert_eq!(listening_address(line), None, "the line goes on");
        let log = format!("[7] [INF] Starting nats-server\n{line}7\n[7] [INF] Server is ready\n");
        assert_eq!(listening_address(&log).as_deref(), Some("127.0.0.1:417"));
    }

    #[test]
    fn the_log_leaves_no_file() {
        let file = nameless_file().unwrap();
        io::Write::write_all(&mut &file, b"one\ntwo\n").unwrap();
        assert_eq!(read_log(&file), "one\ntwo\n");
    }
}
