//! Keys typed at the live views: read as they come, and not echoed.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Begins what a terminal sends for arrows and the like.
const ESCAPE: u8 = 0x1b;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypedKey {
    /// `q`: end the load.
    Quit,
    /// Space: freeze the display, or let it go on.
    Freeze,
    /// Tab: show the next pane.
    NextPane,
    /// `?`: show the help, or take it away.
    Help,
}

/// What was typed since the last look; waits for nothing.
pub(super) fn read_keys() -> Vec<TypedKey> {
    let stdin = io::stdin();
    let mut typed = [0; 64];
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    let is_ready = poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0);
    // Who runs in the background would be stopped for reading.
    if !is_ready || !is_foreground() {
        return Vec::new();
    }
    let count = rustix::io::read(&stdin, &mut typed).unwrap_or(0);
    parse_keys(&typed[..count])
}

/// The keys in these bytes; nothing behind an escape is one.
fn parse_keys(bytes: &[u8]) -> Vec<TypedKey> {
    let plain = bytes.split(|byte| *byte == ESCAPE).next().unwrap_or_default();
    plain
        .iter()
        .filter_map(|byte| match byte {
            b'q' | b'Q' => Some(TypedKey::Quit),
            b' ' => Some(TypedKey::Freeze),
            b'\t' => Some(TypedKey::NextPane),
            b'?' | b'h' => Some(TypedKey::Help),
            _ => None,
        })
        .collect()
}

/// Whether the terminal listens to us and to no other job of the shell.
fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Keeps keys from being echoed into the view, until dropped. Ctrl-C works as ever.
pub(in crate::cli) struct StdinEchoGuard {
    before: Termios,
}

impl StdinEchoGuard {
    /// Keys stay unread until a line is complete.
    pub(in crate::cli) fn disable_echo() -> Option<StdinEchoGuard> {
        StdinEchoGuard::without_modes(LocalModes::ECHO)
    }

    /// Keys can be read one by one.
    pub(super) fn take_keys() -> Option<StdinEchoGuard> {
        StdinEchoGuard::without_modes(LocalModes::ECHO | LocalModes::ICANON)
    }

    fn without_modes(modes: LocalModes) -> Option<StdinEchoGuard> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok().filter(|_| is_foreground())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(modes);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &quiet).ok()?;
        Some(StdinEchoGuard { before })
    }
}

impl Drop for StdinEchoGuard {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_what_a_terminal_sends() {
        use TypedKey::{Freeze, Help, NextPane, Quit};
        assert_eq!(parse_keys(b" x?\tq"), [Freeze, Help, NextPane, Quit]);
        // An arrow, and where the cursor stands.
        assert!(parse_keys(b"\x1b[A").is_empty() && parse_keys(b"\x1b[12;1Rq").is_empty());
    }
}
