//! A server we may talk to: address, identity, session, wire, dialect, error classes.
//! Never knows: workloads, load, reports.
//! Start reading at `Target::open` in `address.rs`, then `Session::run` in `session.rs`, down through
//! `channel.rs` (packets) and `link.rs` (bytes), `pipe.rs` (the socket). What packets mean is in `wire/`, as pure functions.
//! To add a login method: an arm in `auth.rs`. To add a server version: a row in `dialect.rs`.

mod address;
mod auth;
mod channel;
mod control;
mod dialect;
mod error;
mod guard;
mod identity;
mod instruments;
mod link;
mod login;
mod parsec;
mod peer;
mod pipe;
pub mod preflight;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

pub use address::Target;
pub use control::{Row, Rows};
pub use dialect::{Word, WordKind};
pub use error::{Error, is_retryable};
pub use guard::Guard;
pub use identity::{Identity, Product, Version};
pub use instruments::{Gone, instrument_list};
pub use session::{Prepared, Reply, Session, Value};
