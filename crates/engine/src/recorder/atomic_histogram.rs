//! Counters laid out as the crate hdrhistogram lays out its own, but shared between one writer and one reader.
//!
//! The writer adds with a plain load and store (Relaxed: the same instructions as for ordinary memory), the reader
//! looks whenever it likes and takes differences. Nothing is ever reset, so nobody waits and nothing is lost.
//! Never knows: what is counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::types::HIGHEST_NS;

/// Cells are handled in groups of this many: one group per power of two of the value.
pub(super) const GROUP: usize = 1 << GROUP_BITS;
const GROUP_BITS: u32 = 10;
/// Cells that cover 0 to [`HIGHEST_NS`].
pub(super) const CELLS: usize = cell_index(HIGHEST_NS) / GROUP * GROUP + GROUP;

/// Adds to a counter that only this thread writes.
#[inline]
pub(super) fn bump_counter(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}

/// The cell that counts a value: exact up to 2,047, then 1,024 steps for each power of two.
#[inline]
pub(super) const fn cell_index(value: u64) -> usize {
    let power = u64::BITS - (value | (2 * GROUP as u64 - 1)).leading_zeros() - (GROUP_BITS + 1);
    ((power as usize) << GROUP_BITS) + (value >> power) as usize
}

/// The lowest value that a cell counts.
pub(super) const fn lowest_cell_value(index: usize) -> u64 {
    let power = (index >> GROUP_BITS).saturating_sub(1) as u32;
    ((index - ((power as usize) << GROUP_BITS)) as u64) << power
}

/// A histogram with one writer.
pub(super) struct AtomicHistogram {
    counts: Box<[AtomicU64]>,
    /// One bit for each group that holds anything: the reader skips the others.
    touched: AtomicU64,
}

impl AtomicHistogram {
    /// All zero. Memory that is never counted in costs nothing.
    pub(super) fn new() -> AtomicHistogram {
        AtomicHistogram { counts: zeroed_counters(), touched: AtomicU64::new(0) }
    }

    /// Counts a value; gives false if it was above the bound and counted there.
    #[inline]
    pub(super) fn count_value(&self, value: u64) -> bool {
        let index = cell_index(value.min(HIGHEST_NS));
        bump_counter(&self.counts[index], 1);
        let bit = 1 << (index >> GROUP_BITS);
        let touched = self.touched.load(Relaxed);
        if touched & bit == 0 {
            self.touched.store(touched | bit, Relaxed);
        }
        value <= HIGHEST_NS
    }

    /// The groups that hold anything, one bit each.
    pub(super) fn touched_groups(&self) -> u64 {
        self.touched.load(Relaxed)
    }

    /// The counts of one group.
    pub(super) fn group_counts(&self, group: usize) -> &[AtomicU64] {
        &self.counts[group << GROUP_BITS..(group + 1) << GROUP_BITS]
    }
}

/// Zeroed counters straight from the system: a page is only used once something is counted in it.
#[expect(unsafe_code, reason = "the standard library has no safe way to zero atomics lazily yet")]
fn zeroed_counters() -> Box<[AtomicU64]> {
    let plain = vec![0u64; CELLS].into_boxed_slice();
    // SAFETY: AtomicU64 has the same size and bit validity as u64, and on all targets with 64-bit atomics that we
    // build for the same alignment (checked below); the box is the only owner and keeps its length.
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    unsafe { Box::from_raw(Box::into_raw(plain) as *mut [AtomicU64]) }
}

#[cfg(test)]
mod tests {
    use super::super::types::new_histogram;
    use super::*;

    #[test]
    fn every_edge_of_every_cell_is_where_the_crate_has_it() {
        let reference = new_histogram();
        assert_eq!(reference.distinct_values(), CELLS);
        for index in 0..CELLS {
            let (low, next) = (lowest_cell_value(index), lowest_cell_value(index + 1));
            assert_eq!(cell_index(low), index);
            assert_eq!(cell_index(next - 1), index);
            assert_eq!(cell_index(next), index + 1);
            assert_eq!(reference.lowest_equivalent(low), low);
            assert_eq!(reference.highest_equivalent(low), next - 1);
            assert_eq!(reference.next_non_equivalent(low), next);
        }
        assert!(lowest_cell_value(CELLS) > HIGHEST_NS);
    }

    #[test]
    fn values_above_the_bound_count_at_the_bound() {
        let histogram = AtomicHistogram::new();
        assert!(histogram.count_value(HIGHEST_NS));
        assert!(!histogram.count_value(HIGHEST_NS + 1));
        assert!(!histogram.count_value(u64::MAX));
        let index = cell_index(HIGHEST_NS);
        assert_eq!(histogram.group_counts(index / GROUP)[index % GROUP].load(Relaxed), 3);
        assert_eq!(histogram.touched_groups(), 1 << (index / GROUP));
    }
}
