//! Shipping a log: following it while it grows and is rotated, and serving it to readers elsewhere.
//! Never knows: load, what a statement means.
//! Start reading at `Tail`: one reader of a log that is being written. Its parts: `watch` sees what happens to the
//! files, `chain` keeps what was seen open as long as a reader needs it, `reader` reads along the chain, `mark` says
//! where a reader is, so that another can go on there.

mod chunk_decoder;
mod chunk_encoder;
pub mod http;
mod live;
mod mark;
mod memory_budget;
mod metrics;
mod peer;
mod pending_connections;
mod reader;
mod remote;
mod rotated;
mod segments;
mod serve;
mod spool;
mod stream;
mod tail;
mod watcher;

pub use live::{AUTHORITY, LiveLog, LocalLog, RemoteAccess, TOKEN, is_url, open_live};
pub use mark::{LogMark, MarkError};
pub use peer::server_config;
pub use reader::{Gap, ReadEvent, SegmentReader};
pub use segments::WatchStats;
pub use serve::{LogServer, ServeCounts, ServeOptions};
pub use spool::{Spool, SpoolError};
pub use stream::{LogStream, SessionSample, ShipStats};
pub use tail::Tail;
pub use watcher::{LogHandle, LogWatcher, StartPosition};

#[cfg(test)]
mod tests;
