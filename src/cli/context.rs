//! What every command gets: the stop flag, the password typed, the terminal.

use std::io::{self, IsTerminal, Write};

use clap::ArgMatches;

use crate::archive::RunCommand;
use crate::base::Stop;
use crate::base::terminal::sanitize_text;
use crate::experiment::RunOrigin;
use crate::report::format_paragraph;

use super::argv::TypedPassword;
use super::closed_stdout;
use super::defaults::UserDefaults;
use super::exit::{OutputClosed, OutputLost};

/// What every command gets besides its own words.
pub(super) struct CliContext {
    /// Set by Ctrl-C and its like; everything long looks at it.
    pub(super) stop: Stop,
    /// The password as it was typed, already wiped from the process list.
    pub(super) password: TypedPassword,
    /// The command line as it was typed, without passwords.
    pub(super) command_line: String,
    /// What holds where neither flags nor a plan say otherwise.
    pub(super) defaults: UserDefaults,
    /// What the terminal can do.
    pub(super) terminal: TerminalFeatures,
}

impl CliContext {
    /// The context of this process.
    pub(super) fn from_process(
        password: TypedPassword,
        command_line: String,
        defaults: UserDefaults,
    ) -> CliContext {
        let terminal = TerminalFeatures::from_environment();
        CliContext { stop: Stop::new(), password, command_line, defaults, terminal }
    }

    /// What a run's record keeps of how it was asked for.
    pub(super) fn run_origin(
        &self,
        command: impl Into<RunCommand>,
        args: &ArgMatches,
    ) -> RunOrigin {
        let command = command.into();
        let defaults = self.defaults.used_by(&command, args);
        let command_line = Some(self.command_line.clone());
        RunOrigin { command, command_line, defaults, agent: None }
    }

    /// Writes data to stdout; what a terminal would obey only where it is our own colour.
    ///
    /// # Errors
    /// [`OutputClosed`] when the reader has gone, which ends the program quietly; [`OutputLost`] when it can't be written.
    pub(super) fn print_output(&self, text: &str) -> anyhow::Result<()> {
        if closed_stdout::was_closed() && !text.is_empty() {
            return Err(OutputLost("it is closed".to_owned()).into());
        }
        let mut out = io::stdout().lock();
        let text = sanitize_text(text, self.terminal.colour);
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
            Err(e) => Err(OutputLost(e.to_string()).into()),
        }
    }

    /// Writes a result to stdout, as JSON or for people.
    ///
    /// # Errors
    /// As of `print_output`.
    pub(super) fn print_result(
        &self,
        as_json: bool,
        value: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        self.print_output(&if as_json { format!("{:#}\n", value()) } else { text() })
    }

    /// Writes a note to stderr, in lines of 80 columns.
    pub(super) fn print_note(&self, text: &str) {
        self.print_message(note_text(text).trim_end());
    }

    /// Writes a line about the work to stderr; a closed stderr is no reason to stop.
    pub(super) fn print_message(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", sanitize_text(line, false));
    }
}

/// Something to know below a result, in lines of 80 columns.
pub(super) fn note_text(text: &str) -> String {
    format_paragraph("note: ", text)
}

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalFeatures {
    /// Whether both stdout and stderr are a terminal that can move its cursor.
    pub(super) live: bool,
    /// Whether stderr is a terminal where a line can be written over.
    pub(super) overwrite: bool,
    /// Whether colours are welcome on stdout.
    pub(super) colour: bool,
}

impl TerminalFeatures {
    fn from_environment() -> TerminalFeatures {
        let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        TerminalFeatures::from_flags(
            io::stdout().is_terminal(),
            io::stderr().is_terminal(),
            std::env::var("TERM").is_ok_and(|t| t == "dumb"),
            set("CI"),
            set("NO_COLOR"),
        )
    }

    fn from_flags(
        stdout: bool,
        stderr: bool,
        dumb: bool,
        ci: bool,
        no_colour: bool,
    ) -> TerminalFeatures {
        let able = !dumb && !ci;
        TerminalFeatures {
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
        assert!(TerminalFeatures::from_flags(true, true, false, false, false).live);
        assert!(!TerminalFeatures::from_flags(false, true, false, false, false).live);
        assert!(!TerminalFeatures::from_flags(true, true, true, false, false).live);
        assert!(!TerminalFeatures::from_flags(true, true, false, true, false).live);
        assert!(TerminalFeatures::from_flags(false, true, false, false, false).overwrite);
        assert!(!TerminalFeatures::from_flags(true, true, false, false, true).colour);
    }
}
