//! HTTP as a client that measures needs it: requests whose bytes are ready, replies that are counted and not kept. HTTP/2 is in
//! `http2/`, the rest is HTTP/1.1 and what both share.
//! Start reading at `connection.rs`, one exchange; `reply_scan.rs` reads heads and bodies and touches no socket.
//! Never knows: URLs of a load, checks, cookies, redirects.

mod chunks;
mod connection;
mod fault;
mod http2;
mod origin;
mod reply_scan;
#[cfg(test)]
mod tests;
mod url;

pub use connection::{HttpConnection, ReplySummary};
pub use fault::HttpFault;
pub use http2::{
    FieldPrivacy, FramedRequest, Http2Connection, SharedLine, scan_frames, write_block_field,
};
pub use origin::{HttpOrigin, OriginSetup, WebTls};
pub use reply_scan::{BodySize, ReplyField, ReplyLimits, ReplyScan, ReplySink, ScanProgress};
pub use url::HttpUrl;
