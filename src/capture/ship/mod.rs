//! Shipping a log: following it while it grows and is rotated, and serving it to readers elsewhere.
//! Never knows: load, what a statement means.
//! Start reading at `Tail`: one reader of a log that is being written. Its parts: `watch` sees what happens to the
//! files, `chain` keeps what was seen open as long as a reader needs it, `reader` reads along the chain, `mark` says
//! where a reader is, so that another can go on there.

mod arrivals;
mod chain;
mod chunks;
mod framing;
mod http;
mod live;
mod mark;
mod peer;
mod reader;
mod remote;
mod room;
mod serve;
mod siblings;
mod spool;
mod stream;
mod tail;
mod told;
mod watch;

pub use chain::Seen;
pub use live::{AUTHORITY, Access, Live, Local, TOKEN, is_url, open_live};
pub use mark::{BadMark, Mark};
pub use peer::server_config;
pub use reader::{Gap, Piece, Reader};
pub use serve::{Counts, Server, Serving};
pub use spool::{Spool, SpoolError};
pub use stream::{Sessions, Shipped, Stream};
pub use tail::Tail;
pub use watch::{Entrance, From, Watch};

#[cfg(test)]
mod tests;
