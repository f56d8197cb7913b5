//! HTTP/2 (RFC 9113) as a client that measures needs it: many requests at once over one connection, whose bytes are ready but
//! for the number of their stream.
//! Start reading at `connection.rs`, one exchange; `multiplexer.rs` reads and writes frames and touches no socket.
//! Never knows: URLs of a load, checks, cookies, redirects.

mod connection;
mod frames;
mod hpack;
mod multiplexer;
mod reply_stream;
mod shared_line;
#[cfg(test)]
mod tests;

pub use connection::Http2Connection;
pub(super) use frames::code_name;
pub use hpack::{FieldPrivacy, write_block_field};
pub use multiplexer::FramedRequest;
pub use shared_line::SharedLine;

use super::reply_scan::ReplyLimits;
use crate::base::Nanos;
use multiplexer::StreamMultiplexer;

/// Feeds bytes to a connection with two open streams, in pieces; gives what each reply came to. For fuzzing: nothing may break,
/// and what is meant must not depend on the pieces.
pub fn scan_frames(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut all = StreamMultiplexer::new();
    let request = FramedRequest { block: &[0x82], body: &[] };
    let limits = ReplyLimits { most_body: 1 << 16, ..ReplyLimits::default() };
    for task in 0..2 {
        // A new connection allows them.
        let _ = all.open_stream(&request, limits, (true, true), task);
    }
    let mut told = Vec::new();
    for bytes in bytes.chunks(piece.max(1)) {
        if let Err(fault) = all.feed_bytes(bytes, Nanos(1)) {
            told.push(format!("{fault:?}"));
            break;
        }
        all.out.clear();
        all.called.clear();
    }
    for place in 0..2 {
        let stream = all.stream(place);
        let (status, bytes) = (stream.status, stream.body_bytes);
        told.push(format!("{status} {bytes} {} {:?}", stream.is_whole, stream.fault));
    }
    told
}
