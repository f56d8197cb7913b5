//! Ctrl-C and its like: the first asks to stop and keeps what was measured, the second leaves at once.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::base::{Stop, StopReason};

use super::fault::Exit;

/// Watches the signals on a thread of its own; `stop` is set by the first one.
///
/// # Errors
/// When the handlers can't be set.
pub(super) fn watch(stop: &Stop) -> io::Result<()> {
    let (mut read, write) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    let stop = stop.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        let mut first = true;
        while read.read_exact(&mut byte).is_ok() {
            if !first {
                leave();
            }
            first = false;
            stop.set(StopReason::Interrupted);
        }
    })?;
    Ok(())
}

/// Leaves without cleaning up. Our sandboxes die with us: the kernel kills them when their parent ends.
#[expect(clippy::exit, reason = "the second Ctrl-C must not wait for anything")]
fn leave() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
