//! The protocol as pure functions on slices: what packets mean, how statements are written.
//! Never knows: sockets, sessions, waiting. Whatever a server sends, nothing here panics or allocates by its claims.

pub(super) mod encode;
pub(super) mod packet;
pub(super) mod reply;
#[cfg(test)]
mod tests;

/// Payload at which a packet goes on in the next one.
pub(super) const CHUNK: usize = 0xFF_FFFF;

/// Bytes that make no sense, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Number and length from a packet's first four bytes: payload length, sequence number.
pub(super) fn header(bytes: &[u8; 4]) -> (usize, u8) {
    let [a, b, c, sequence] = *bytes;
    (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, sequence)
}
