//! What is written: random bytes that do not compress, no block like another; or zeros.

use crate::base::random::Rng;

/// Memory pages, and what direct access asks of addresses.
const PAGE: usize = 4096;
/// Random bytes to cut blocks from.
const POOL: usize = 1 << 20;

/// Memory that begins at a page.
pub(super) struct PageBuffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl PageBuffer {
    pub(super) fn new(bytes: usize) -> PageBuffer {
        let memory = vec![0; bytes + PAGE];
        let start = memory.as_ptr().align_offset(PAGE).min(PAGE);
        PageBuffer { memory, start, bytes }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.bytes]
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

/// Where blocks to write come from; each worker has its own.
pub(super) struct BlockSource {
    pool: PageBuffer,
    zeros: bool,
    rng: Rng,
    /// Differs in each block, and by worker.
    stamp: u64,
}

impl BlockSource {
    /// Blocks of at most so many bytes.
    pub(super) fn new(most: usize, zeros: bool, mut rng: Rng) -> BlockSource {
        let mut pool = PageBuffer::new(if zeros { most } else { POOL + most });
        if !zeros {
            rng.fill_bytes(pool.as_mut_slice());
        }
        let stamp = rng.next_u64();
        BlockSource { pool, zeros, rng, stamp }
    }

    /// The next block: a part of the pool from some page on, each page of it with a number of its own, so that no file
    /// system finds the same block or page twice.
    pub(super) fn next_block(&mut self, bytes: usize) -> &[u8] {
        if self.zeros {
            return &self.pool.as_slice()[..bytes];
        }
        let start = self.rng.uniform_below((POOL / PAGE) as u64) as usize * PAGE;
        let block = &mut self.pool.as_mut_slice()[start..start + bytes];
        stamp_pages(block, &mut self.stamp);
        block
    }
}

/// Gives each page a number that no other has.
pub(super) fn stamp_pages(block: &mut [u8], stamp: &mut u64) {
    for page in block.chunks_mut(PAGE) {
        *stamp = stamp.wrapping_add(1);
        if let Some(head) = page.first_chunk_mut() {
            *head = stamp.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_no_page_is_like_another() {
        let mut source = BlockSource::new(4 * PAGE, false, Rng::new(1, 2, 3));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let block = source.next_block(4 * PAGE);
            assert_eq!(block.as_ptr().align_offset(PAGE), 0);
            assert!(block.chunks(PAGE).all(|page| seen.insert(page[..8].to_vec())));
        }
        // A block that compresses has few of the byte values, or some of them often.
        let mut counts = [0_u32; 256];
        for byte in source.next_block(4 * PAGE) {
            counts[*byte as usize] += 1;
        }
        assert!(counts.iter().all(|count| (20..120).contains(count)), "{counts:?}");
    }

    #[test]
    fn zeros_are_zeros() {
        let mut source = BlockSource::new(100, true, Rng::new(1, 2, 3));
        assert_eq!(source.next_block(70), [0; 70]);
    }
}
