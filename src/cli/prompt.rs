//! Asks on the terminal: for a password without echo, or for yes or no. Ctrl-C works meanwhile.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::base::{Secret, Stop};
use crate::client;

/// How often the stop flag is looked at while nobody types.
const PATIENCE: Duration = Duration::from_millis(50);

/// Asks on the terminal of this process, whatever stdin and stdout are.
///
/// # Errors
/// When there is no terminal, or Ctrl-C was pressed.
pub(super) fn ask_password(stop: &Stop) -> anyhow::Result<Secret> {
    let mut tty = File::options().read(true).write(true).open("/dev/tty").map_err(|e| {
        anyhow::anyhow!(
            "ask for the password: there is no terminal ({e})\n\
             hint: give it as -pPASSWORD, in MYSQL_PWD, or in an option file"
        )
    })?;
    tty.write_all(b"Enter password: ")?;
    let silent = TtyEchoGuard::disable_echo(&tty)?;
    let line = read_line(&tty, stop);
    drop(silent);
    tty.write_all(b"\n")?;
    Ok(Secret::new(String::from_utf8_lossy(&line?).into_owned()))
}

/// Asks on the terminal of this process for yes or no; anything but yes is no.
///
/// # Errors
/// When there is no terminal, or Ctrl-C was pressed.
pub(super) fn ask_yes(question: &str, stop: &Stop) -> anyhow::Result<bool> {
    let mut tty = File::options().read(true).write(true).open("/dev/tty")?;
    tty.write_all(question.as_bytes())?;
    let line = read_line(&tty, stop)?;
    let answer = String::from_utf8_lossy(&line).trim().to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

fn read_line(mut tty: &File, stop: &Stop) -> anyhow::Result<Vec<u8>> {
    let mut line = Vec::new();
    let patience = Timespec::try_from(PATIENCE).expect("50 ms fit");
    loop {
        if stop.is_set() {
            return Err(client::Error::Abandoned.into());
        }
        let mut ends = [PollFd::new(&tty, PollFlags::IN)];
        match poll(&mut ends, Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(io::Error::from(e).into()),
        }
        let mut byte = [0];
        if tty.read(&mut byte)? == 0 || byte[0] == b'\n' {
            return Ok(line);
        }
        line.push(byte[0]);
    }
}

/// A terminal that shows nothing of what is typed, until dropped.
struct TtyEchoGuard<'a> {
    tty: &'a File,
    before: Termios,
}

impl TtyEchoGuard<'_> {
    fn disable_echo(tty: &File) -> io::Result<TtyEchoGuard<'_>> {
        let before = tcgetattr(tty.as_fd())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(tty.as_fd(), OptionalActions::Now, &quiet)?;
        Ok(TtyEchoGuard { tty, before })
    }
}

impl Drop for TtyEchoGuard<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.tty.as_fd(), OptionalActions::Now, &self.before);
    }
}
