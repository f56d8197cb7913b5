//! Events counted by when they ended, in hundredths of a second: fine enough to see a short stall.
//!
//! Each lane has a ring of counters that only rise; the reader looks several times per lap and takes differences.
//! Slots lie on the grid of the run's clock, so that lanes and intervals add.
//! Never knows: what ended, and what a gap means.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::base::Nanos;

/// Length of a slot: 10 ms.
pub(super) const SLOT: Nanos = Nanos(10_000_000);
/// Memory for the rings of all lanes together, in bytes, as long as no ring would be shorter than [`SHORTEST`].
const BUDGET: usize = 8 << 20;
/// Slots of the shortest ring: 2.6 s. Reached with 8,000 lanes.
const SHORTEST: usize = 256;
/// Slots of the longest ring: 41 s. Up to 512 lanes have it.
const LONGEST: usize = 4096;

/// Slots per lane, a power of two.
fn ring_length(lanes: usize) -> usize {
    let histogram = BUDGET / size_of::<AtomicU32>() / lanes.max(1);
    // The highest power of two that is not above.
    let power = histogram.checked_ilog2().unwrap_or(0);
    (1 << power).clamp(SHORTEST, LONGEST)
}

/// The number of the slot that holds a moment.
#[inline]
fn slot_number(at: Nanos) -> u64 {
    at.0 / SLOT.0
}

/// The slots of one lane. One writer.
pub(super) struct CompletionRing(Box<[AtomicU32]>);

impl CompletionRing {
    /// A ring for one of so many lanes.
    pub(super) fn new(lanes: usize) -> CompletionRing {
        CompletionRing((0..ring_length(lanes)).map(|_| AtomicU32::new(0)).collect())
    }

    /// An event ended then.
    #[inline]
    pub(super) fn count_end(&self, ended: Nanos) {
        let cell = &self.0[slot_number(ended) as usize & (self.0.len() - 1)];
        cell.store(cell.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

/// What was seen of all rings, and the slots of the interval under way.
pub(super) struct CompletionSlots {
    seen: Vec<u32>,
    sums: Vec<u32>,
    /// The slot of the last look.
    looked: u64,
    /// The slot in which the interval under way began.
    began: u64,
    counts: Vec<u32>,
}

impl CompletionSlots {
    /// For the rings of so many lanes.
    pub(super) fn new(lanes: usize) -> CompletionSlots {
        let histogram = vec![0; ring_length(lanes)];
        CompletionSlots {
            seen: histogram.clone(),
            sums: histogram,
            looked: 0,
            began: 0,
            counts: Vec::new(),
        }
    }

    /// The first interval begins.
    pub(super) fn start_interval(&mut self, now: Nanos) {
        self.began = slot_number(now);
        self.looked = self.began;
    }

    /// Whether a quarter of a lap has passed since the last look. A look that comes three quarters of a lap late
    /// still puts every event into its slot; one that is later loses none, but may put some a lap too late.
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        slot_number(now).saturating_sub(self.looked) >= self.quarter_lap()
    }

    fn quarter_lap(&self) -> u64 {
        self.seen.len() as u64 / 4
    }

    /// Adds what ended since the last look. What ended later than `now`, while lanes were read, is left for the next
    /// look; `last`: there is none.
    pub(super) fn collect_rings<'a>(
        &mut self,
        rings: impl Iterator<Item = &'a CompletionRing>,
        now: Nanos,
        last: bool,
    ) {
        self.sums.fill(0);
        for ring in rings {
            for (sum, cell) in self.sums.iter_mut().zip(&ring.0) {
                *sum = sum.wrapping_add(cell.load(Relaxed));
            }
        }
        let (now, mask) = (slot_number(now), self.seen.len() as u64 - 1);
        for (cell, (seen, sum)) in self.seen.iter_mut().zip(&self.sums).enumerate() {
            let news = sum.wrapping_sub(*seen);
            if news == 0 {
                continue;
            }
            let ahead = (cell as u64).wrapping_sub(now) & mask;
            let slot = match ahead {
                0 => now,
                ahead if ahead <= mask / 4 && !last => continue,
                ahead if ahead <= mask / 4 => now,
                ahead => now.saturating_sub(mask + 1 - ahead),
            };
            *seen = *sum;
            // A writer that was interrupted between its clock and its counter may come an interval late.
            let place = slot.saturating_sub(self.began) as usize;
            if self.counts.len() <= place {
                self.counts.resize(place + 1, 0);
            }
            self.counts[place] = self.counts[place].saturating_add(news);
        }
        self.looked = now;
    }

    /// The slots of the interval that ends now, all that it touches; the next one begins.
    pub(super) fn take_counts(&mut self, now: Nanos) -> Vec<u32> {
        let mut counts = std::mem::take(&mut self.counts);
        counts.resize((slot_number(now).saturating_sub(self.began) + 1) as usize, 0);
        self.began = slot_number(now);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    #[test]
    fn rings_fit_the_budget() {
        assert_eq!(
            [1, 512, 513, 4000, 8192, 100_000].map(ring_length),
            [4096, 4096, 2048, 512, 256, 256]
        );
    }

    #[test]
    fn an_event_is_in_the_slot_in_which_it_ended() {
        let rings = [CompletionRing::new(2), CompletionRing::new(2)];
        let mut slots = CompletionSlots::new(2);
        slots.start_interval(at(1_005));
        rings[0].count_end(at(1_006));
        rings[1].count_end(at(1_009));
        rings[1].count_end(at(1_031));
        // Ended while the lanes were read: belongs to the next look.
        rings[0].count_end(at(1_052));
        slots.collect_rings(rings.iter(), at(1_041), false);
        assert_eq!(slots.take_counts(at(1_041)), [2, 0, 0, 1, 0]);
        // Late to be counted: in the first slot that is still open.
        rings[0].count_end(at(1_012));
        slots.collect_rings(rings.iter(), at(1_060), false);
        assert_eq!(slots.take_counts(at(1_060)), [1, 1, 0]);
        rings[0].count_end(at(1_064));
        rings[0].count_end(at(1_070));
        slots.collect_rings(rings.iter(), at(1_065), true);
        assert_eq!(slots.take_counts(at(1_065)), [2]);
    }

    #[test]
    fn an_hour_without_an_interval_keeps_every_slot() {
        let ring = CompletionRing::new(8192);
        let mut slots = CompletionSlots::new(8192);
        slots.start_interval(at(0));
        let mut looks = 0;
        for second in 0..3600 {
            for ms in (0..1000).step_by(100) {
                ring.count_end(at(second * 1000 + ms));
                let now = at(second * 1000 + ms + 50);
                if slots.is_due(now) {
                    slots.collect_rings(std::iter::once(&ring), now, false);
                    looks += 1;
                }
            }
        }
        slots.collect_rings(std::iter::once(&ring), at(3_600_000), true);
        let counts = slots.take_counts(at(3_600_000));
        assert_eq!(counts.len(), 360_001);
        assert!(
            counts
                .iter()
                .enumerate()
                .all(|(slot, n)| *n == u32::from(slot % 10 == 0 && slot < 360_000))
        );
        assert!((3000..6000).contains(&looks), "{looks}");
    }

    #[test]
    fn a_late_look_within_the_lap_misplaces_nothing() {
        let ring = CompletionRing::new(1);
        let mut slots = CompletionSlots::new(1);
        slots.start_interval(at(0));
        for second in 0..30 {
            ring.count_end(at(second * 1000));
        }
        slots.collect_rings(std::iter::once(&ring), at(30_000), false);
        let counts = slots.take_counts(at(30_000));
        assert!(
            counts
                .iter()
                .enumerate()
                .all(|(slot, n)| *n == u32::from(slot % 100 == 0 && slot < 3000))
        );
    }
}
