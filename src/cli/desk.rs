//! What every command finds on its desk: the stop flag, the password typed, the terminal.

use std::io::{self, IsTerminal, Write};

use crate::base::Stop;
use crate::base::terminal::harmless;

use super::argv::Password;
use super::fault::OutputClosed;

/// What every command gets besides its own words.
pub(super) struct Desk {
    /// Set by Ctrl-C and its like; everything long looks at it.
    pub(super) stop: Stop,
    /// The password as it was typed, already wiped from the process list.
    pub(super) password: Password,
    /// What the terminal can do.
    pub(super) terminal: Terminal,
}

impl Desk {
    /// A desk for this process.
    pub(super) fn open(password: Password) -> Desk {
        Desk { stop: Stop::new(), password, terminal: Terminal::look() }
    }

    /// Writes data to stdout; what a terminal would obey only where it is our own colour.
    ///
    /// # Errors
    /// [`OutputClosed`] when the reader has gone, which ends the program quietly.
    pub(super) fn print(&self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        let text = harmless(text, self.terminal.colour);
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
            Err(e) => Err(anyhow::Error::new(e).context("write to standard output")),
        }
    }

    /// Writes a line about the work to stderr; a closed stderr is no reason to stop.
    pub(super) fn say(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", harmless(line, false));
    }
}

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terminal {
    /// Whether both stdout and stderr are a terminal that can move its cursor.
    pub(super) live: bool,
    /// Whether stderr is a terminal where a line can be written over.
    pub(super) overwrite: bool,
    /// Whether colours are welcome on stdout.
    pub(super) colour: bool,
}

impl Terminal {
    fn look() -> Terminal {
        let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        Terminal::judge(
            io::stdout().is_terminal(),
            io::stderr().is_terminal(),
            std::env::var("TERM").is_ok_and(|t| t == "dumb"),
            set("CI"),
            set("NO_COLOR"),
        )
    }

    fn judge(stdout: bool, stderr: bool, dumb: bool, ci: bool, no_colour: bool) -> Terminal {
        let able = !dumb && !ci;
        Terminal {
            live: stdout && stderr && able,
            overwrite: stderr && able,
            colour: stdout && able && !no_colour,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_needs_both_ends_on_a_willing_terminal() {
        assert!(Terminal::judge(true, true, false, false, false).live);
        assert!(!Terminal::judge(false, true, false, false, false).live);
        assert!(!Terminal::judge(true, true, true, false, false).live);
        assert!(!Terminal::judge(true, true, false, true, false).live);
        assert!(Terminal::judge(false, true, false, false, false).overwrite);
        assert!(!Terminal::judge(true, true, false, false, true).colour);
    }
}
