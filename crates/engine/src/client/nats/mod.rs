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
