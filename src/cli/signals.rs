//! Ctrl-C and its like: the first asks to stop and keeps what was measured, the second leaves at once.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::base::{Stop, StopReason};

use super::exit::CommandOutcome;

/// Watches the signals on a thread of its own; `stop` is set by the first one.
///
/// # Errors
/// When the handlers can't be set.
pub(super) fn watch_signals(stop: &Stop) -> io::Result<()> {
    let (mut read, write) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    let stop = stop.clone();
    let terminal = tcgetattr(io::stdin()).ok();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        let mut first = true;
        while read.read_exact(&mut byte).is_ok() {
            if !first {
                exit_now(terminal.as_ref());
            }
            first = false;
            stop.set(StopReason::Interrupted);
        }
    })?;
    Ok(())
}

/// Leaves without cleaning up, but for the terminal. Our sandboxes die with us: the kernel ends them with their parent.
#[expect(clippy::exit, reason = "the second Ctrl-C must not wait for anything")]
fn exit_now(terminal: Option<&Termios>) -> ! {
    if let Some(before) = terminal {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "\x1b[?25h");
    }
    std::process::exit(i32::from(CommandOutcome::Interrupted.exit_code()))
}
