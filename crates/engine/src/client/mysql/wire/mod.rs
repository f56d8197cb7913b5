//! The protocol as pure functions on slices: what packets mean, how statements are written.
//! Never knows: sockets, sessions, waiting. Whatever a server sends, nothing here panics or allocates by its claims.

pub(super) mod constants;
pub(super) mod encode;
pub(super) mod login_packets;
pub(super) mod packet;
pub(super) mod reply;
#[cfg(test)]
mod tests;

use crate::base::terminal::is_terminal_control;

/// Payload at which a packet goes on in the next one.
pub(super) const CHUNK: usize = 0xFF_FFFF;

/// Bytes that make no sense, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProtocolError(pub(super) &'static str);

/// Number and length from a packet's first four bytes: payload length, sequence number.
pub(super) fn parse_header(bytes: &[u8; 4]) -> (usize, u8) {
    let [a, b, c, sequence] = *bytes;
    (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, sequence)
}

/// Longest text of a server's that is kept to be shown, in bytes; its own errors have 512 at most.
const LONGEST_WORDS: usize = 1024;

/// Puts words of a server that are to be shown behind a text: on one line, without what a terminal would obey, and not more
/// than anybody reads.
pub(super) fn push_shown_text(text: &mut String, bytes: &[u8]) {
    let head = &bytes[..bytes.len().min(LONGEST_WORDS)];
    for chunk in head.utf8_chunks() {
        text.extend(chunk.valid().chars().map(shown_char));
        // A character may have been cut in two.
        if !chunk.invalid().is_empty() && head.len() == bytes.len() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    if head.len() < bytes.len() {
        text.push_str(&format!(".. ({} bytes)", bytes.len()));
    }
}

/// The same as a text of its own.
pub(super) fn to_shown_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    push_shown_text(&mut text, bytes);
    text
}

fn shown_char(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_terminal_control(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}
