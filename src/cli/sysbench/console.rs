//! What sysbench prints, by how much it is to say: everything goes to standard output, words that can't be read to standard
//! error.

use std::io::{self, Write};

/// Prints what is important enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct SysbenchConsole {
    verbosity: i64,
}

const WARNINGS: i64 = 2;
const NOTICES: i64 = 3;
const INFORMATION: i64 = 4;
const DEBUGGING: i64 = 5;

impl SysbenchConsole {
    /// A console for `--verbosity`, or for `--debug`.
    pub(super) fn new(verbosity: i64, debug: bool) -> SysbenchConsole {
        SysbenchConsole { verbosity: if debug { 5 } else { verbosity } }
    }

    /// What went wrong; shown always.
    pub(super) fn print_fatal(self, text: &str) {
        print_now(&format!("FATAL: {text}\n"));
    }

    /// How often the message before was said again; sysbench counts instead of repeating.
    pub(super) fn print_repeats(self, times: usize) {
        if times > 0 {
            print_now(&format!("(last message repeated {times} times)\n"));
        }
    }

    /// What may be wrong.
    pub(super) fn print_warning(self, text: &str) {
        if self.verbosity >= WARNINGS {
            print_now(&format!("WARNING: {text}\n"));
        }
    }

    /// A text as it stands.
    pub(super) fn print_notice(self, text: &str) {
        if self.verbosity >= NOTICES {
            print_now(text);
        }
    }

    /// Whether details are printed.
    pub(super) fn shows_details(self) -> bool {
        self.verbosity >= INFORMATION
    }

    /// What helps to find mistakes.
    pub(super) fn print_debug(self, text: &str) {
        if self.verbosity >= DEBUGGING {
            print_now(&format!("DEBUG: {text}\n"));
        }
    }

    /// A text for who wants to know more.
    pub(super) fn print_detail(self, text: &str) {
        if self.verbosity >= INFORMATION {
            print_now(text);
        }
    }
}

/// Writes to standard output at once. That the reader has gone is no reason to stop a load.
pub(super) fn print_now(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(super) fn print_complaint(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
