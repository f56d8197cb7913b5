//! Buffers that belong to a thread: a connection at rest keeps none.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Lends a buffer of the thread. It is away meanwhile, not borrowed: who waits may ask another connection whether the server
/// lives, and that one has a buffer of its own then.
#[inline]
pub(in crate::client) fn with_buffer<T>(
    buffer: &'static LocalKey<RefCell<Vec<u8>>>,
    work: impl FnOnce(&mut Vec<u8>) -> T,
) -> T {
    let mut lent = buffer.take();
    let done = work(&mut lent);
    buffer.replace(lent);
    done
}
