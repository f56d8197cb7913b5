//! Runs a command of the user's by the shell, as the C library's `system()` does.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use super::sandbox::build_command;

/// Runs a command and waits for its end; gives the status as the system encodes it: 256 for exit code 1.
///
/// # Errors
/// When there is no shell.
pub fn run_shell_command(command: &str) -> io::Result<i32> {
    let status = build_command(Path::new("/bin/sh")).arg("-c").arg(command).status()?;
    Ok(status.into_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_that_of_the_system() {
        assert_eq!(run_shell_command("exit 1").unwrap(), 256);
        assert_eq!(run_shell_command("true").unwrap(), 0);
    }
}
