//! Shipping a log: following it while it grows and is rotated, and serving it to readers elsewhere.
//! Never knows: load, what a statement means.
//! Start reading at `Tail`: one reader of a log that is being written. Its parts: `watch` sees what happens to the
//! files, `chain` keeps what was seen open as long as a reader needs it, `reader` reads along the chain, `mark` says
//! where a reader is, so that another can go on there.

mod chain;
mod mark;
mod reader;
mod siblings;
mod tail;
mod watch;

pub use mark::{BadMark, Mark};
pub use reader::{Gap, Piece, Reader};
pub use tail::Tail;
pub use watch::{From, Watch};

#[cfg(test)]
mod tests;
