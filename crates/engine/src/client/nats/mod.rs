//! The core of the NATS protocol, as far as machines that share a load need it: subscribe, publish, TLS, keys, and connections
//! that come back by themselves. One thread per connection; whoever owns it reads a queue of events.
//! Start reading at `NatsConnection::open`. Never knows: what is said over it.

mod address;
mod connection;
mod frame;
mod nkey;
#[cfg(test)]
mod tests;

pub use address::NatsAddress;
pub use connection::{NatsConnection, NatsEvent, NatsOptions};
pub use frame::NatsMessage;
pub use nkey::NkeySeed;

/// Takes what a server sends, in pieces; gives what it came to. For fuzzing: nothing may break, and what is meant must not
/// depend on the pieces.
pub fn scan_nats_frames(bytes: &[u8], piece: usize) -> Vec<String> {
    let (mut parser, mut told) = (frame::FrameParser::default(), Vec::new());
    for bytes in bytes.chunks(piece.max(1)) {
        parser.add_bytes(bytes);
        loop {
            match parser.next_frame() {
                Ok(Some(frame)) => told.push(format!("{frame:?}")),
                Ok(None) => break,
                Err(why) => {
                    told.push(why);
                    return told;
                }
            }
        }
    }
    told
}

/// Why there is no connection, or a message can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// The address names no server.
    #[error("{0}")]
    Address(String),
    /// What was asked of TLS or keys can't be done; no server was asked.
    #[error("{0}")]
    Setup(String),
    /// No connection came about.
    #[error("connect to NATS at {address}: {why}")]
    Connect {
        /// The server.
        address: String,
        /// What happened.
        why: String,
    },
    /// A message is larger than the server takes.
    #[error("a message of {bytes} bytes is larger than NATS takes")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}
