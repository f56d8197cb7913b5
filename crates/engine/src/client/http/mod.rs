//! HTTP/1.1 as a client that measures needs it: requests whose bytes are ready, replies that are counted and not kept.
//! Start reading at `connection.rs`, one exchange; `reply_scan.rs` reads heads and bodies and touches no socket.
//! Never knows: URLs of a load, checks, cookies, redirects.

mod chunks;
mod connection;
mod fault;
mod origin;
mod reply_scan;
#[cfg(test)]
mod tests;
mod url;

pub use connection::{HttpConnection, ReplySummary};
pub use fault::HttpFault;
pub use origin::{HttpOrigin, OriginSetup, WebTls};
pub use reply_scan::{BodySize, ReplyField, ReplyLimits, ReplyScan, ReplySink, ScanProgress};
pub use url::HttpUrl;
