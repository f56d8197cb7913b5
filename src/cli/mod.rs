//! Words typed: flags, option files, the live terminal, exit codes. The only room that knows clap.
//! Never knows: arithmetic.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program.
pub fn main(_args: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
