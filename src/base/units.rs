//! Numbers as people type and read them.

/// An amount of bytes, absolute or as a multiple of the buffer pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// `16KiB`, `1G`.
    Bytes(u64),
    /// `2x-pool`.
    TimesPool(f64),
}
