//! A block of memory and the ways to go over it. The words are atomics, read and written without any order: workers share
//! a block, and compilers leave out none of their accesses.

use std::hint::black_box;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::Stop;
use crate::base::mapping::MemoryMapping;
use crate::base::random::Rng;
use crate::plan::Mistake;

/// Bytes of a word.
pub(super) const WORD: u64 = 8;
/// Words between two looks at the stop flag: 1 MiB.
const LOOK: usize = 1 << 17;
/// Words that a turn of a loop goes over.
const GROUP: usize = 8;

/// What an event does with each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAccess {
    /// Walks over the addresses.
    Nothing,
    Read,
    Write,
    ReadRandom,
    WriteRandom,
}

/// So many words, all touched once, so that each has its page.
pub(super) struct MemoryBlock(MemoryWords);

enum MemoryWords {
    Usual(Vec<AtomicU64>),
    Huge(HugePages),
}

impl MemoryBlock {
    /// A block of so many bytes.
    ///
    /// # Errors
    /// When there is not so much memory, or not of that sort.
    pub(super) fn new(bytes: u64, huge_pages: bool) -> Result<MemoryBlock, Mistake> {
        let count = usize::try_from(bytes / WORD).unwrap_or(usize::MAX);
        if huge_pages {
            let block = MemoryBlock(MemoryWords::Huge(HugePages::new(count)?));
            write_words(block.words());
            return Ok(block);
        }
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| {
            Mistake::new("--block-size", format!("the system has no {bytes} bytes for a block"))
                .hint("a smaller block")
        })?;
        words.extend((0..count as u64).map(AtomicU64::new));
        Ok(MemoryBlock(MemoryWords::Usual(words)))
    }

    fn words(&self) -> &[AtomicU64] {
        match &self.0 {
            MemoryWords::Usual(words) => words,
            MemoryWords::Huge(pages) => pages,
        }
    }

    /// Goes over all words once; `false` if it was stopped.
    pub(super) fn run_pass(&self, access: MemoryAccess, rng: &mut Rng, stop: &Stop) -> bool {
        let words = self.words();
        for part in words.chunks(LOOK) {
            if stop.is_set() {
                return false;
            }
            match access {
                MemoryAccess::Nothing => walk_words(part),
                MemoryAccess::Read => read_words(part),
                MemoryAccess::Write => write_words(part),
                MemoryAccess::ReadRandom => read_random(words, part.len(), rng),
                MemoryAccess::WriteRandom => write_random(words, part.len(), rng),
            }
        }
        true
    }
}

fn walk_words(words: &[AtomicU64]) {
    for group in words.chunks(GROUP) {
        black_box(group.as_ptr());
    }
}

fn read_words(words: &[AtomicU64]) {
    // Several sums: one alone would wait for itself.
    let mut sums = [0; GROUP];
    let mut groups = words.chunks_exact(GROUP);
    for group in &mut groups {
        for (sum, word) in sums.iter_mut().zip(group) {
            *sum ^= word.load(Ordering::Relaxed);
        }
    }
    for word in groups.remainder() {
        sums[0] ^= word.load(Ordering::Relaxed);
    }
    black_box(sums);
}

/// Of eight words, seven wait for the value before: that is the pace of sysbench's loop, as gcc compiles it for Debian. Without
/// the waiting, figures of blocks that fit a cache would be 1.7 times as high.
fn write_words(words: &[AtomicU64]) {
    let mut value = 0;
    let mut groups = words.chunks_exact(GROUP);
    for group in &mut groups {
        group[0].store(value, Ordering::Relaxed);
        for word in &group[1..] {
            word.store(value, Ordering::Relaxed);
            value = hide_value(value + 1);
        }
    }
    for word in groups.remainder() {
        word.store(value, Ordering::Relaxed);
    }
}

fn read_random(words: &[AtomicU64], count: usize, rng: &mut Rng) {
    for _ in 0..count {
        black_box(words[random_index(words.len(), rng)].load(Ordering::Relaxed));
    }
}

fn write_random(words: &[AtomicU64], count: usize, rng: &mut Rng) {
    for _ in 0..count {
        let at = random_index(words.len(), rng);
        words[at].store(at as u64, Ordering::Relaxed);
    }
}

/// By a fraction, which takes as long as sysbench's draw does: it is most of what a random access to a cache takes.
#[inline]
fn random_index(count: usize, rng: &mut Rng) -> usize {
    (rng.uniform_fraction() * count as f64) as i64 as usize
}

/// The same value, which the compiler can't foresee.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
#[expect(unsafe_code, reason = "`black_box` would send the value through memory")]
fn hide_value(mut value: u64) -> u64 {
    // SAFETY: there is no instruction.
    unsafe {
        std::arch::asm!(
            "/* {0} */",
            inout(reg) value,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    value
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn hide_value(value: u64) -> u64 {
    black_box(value)
}

/// Words in huge pages.
struct HugePages {
    mapping: MemoryMapping,
    words: usize,
}

/// A huge page of most machines.
const HUGE_PAGE: usize = 2 << 20;

impl HugePages {
    fn new(words: usize) -> Result<HugePages, Mistake> {
        let bytes = (words * WORD as usize).next_multiple_of(HUGE_PAGE);
        let mapping = MemoryMapping::of_huge_pages(bytes).map_err(|error| {
            let why = format!("the system gives no huge pages for {bytes} bytes: {error}");
            Mistake::new("--huge-pages", why)
                .hint(format!("as root: sysctl vm.nr_hugepages={}", bytes / HUGE_PAGE))
        })?;
        Ok(HugePages { mapping, words })
    }
}

impl Deref for HugePages {
    type Target = [AtomicU64];
    #[expect(unsafe_code, reason = "the memory is mapped by hand")]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: at least so many words are mapped from there on, zero at first; nobody else knows of them.
        unsafe { std::slice::from_raw_parts(self.mapping.start().as_ptr().cast(), self.words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StopReason;

    const ALL: [MemoryAccess; 5] = [
        MemoryAccess::Nothing,
        MemoryAccess::Read,
        MemoryAccess::Write,
        MemoryAccess::ReadRandom,
        MemoryAccess::WriteRandom,
    ];

    fn clear_block(bytes: u64) -> MemoryBlock {
        let block = MemoryBlock::new(bytes, false).unwrap();
        block.words().iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        block
    }

    #[test]
    fn a_pass_writes_every_word() {
        for bytes in [8, 32, 64, 4096, 2 << 20] {
            let block = clear_block(bytes);
            let mut rng = Rng::new(1, 2, 3);
            for access in [MemoryAccess::Nothing, MemoryAccess::Read, MemoryAccess::ReadRandom] {
                assert!(block.run_pass(access, &mut rng, &Stop::new()));
            }
            assert!(block.words().iter().all(|word| word.load(Ordering::Relaxed) == u64::MAX));
            assert!(block.run_pass(MemoryAccess::WriteRandom, &mut rng, &Stop::new()));
            let here = |(at, word): (usize, &AtomicU64)| word.load(Ordering::Relaxed) == at as u64;
            assert!(block.words().iter().enumerate().any(here));
            assert!(block.run_pass(MemoryAccess::Write, &mut rng, &Stop::new()));
            let left = |word: &AtomicU64| word.load(Ordering::Relaxed) == u64::MAX;
            assert!(!block.words().iter().any(left));
        }
    }

    #[test]
    fn a_pass_stops_when_told() {
        let (block, stop) = (clear_block(64), Stop::new());
        stop.set(StopReason::Done);
        for access in ALL {
            assert!(!block.run_pass(access, &mut Rng::new(1, 2, 3), &stop));
        }
    }
}
