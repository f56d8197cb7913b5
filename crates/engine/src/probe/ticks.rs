//! Ticks on multiples of the interval on the wall clock, so that samples of several machines and
//! runs line up.

use crate::base::Nanos;

/// A grid of ticks.
#[derive(Clone, Copy, Debug)]
pub struct TickGrid {
    /// Time of the first tick that is not before the clock's origin.
    first: Nanos,
    interval: Nanos,
}

impl TickGrid {
    /// A grid for a clock whose origin is at `origin_unix_ns` on the wall; an interval of 0 counts
    /// as 1 ns.
    pub fn new(origin_unix_ns: u64, interval: Nanos) -> TickGrid {
        let interval = Nanos(interval.0.max(1));
        TickGrid { first: Nanos((interval.0 - origin_unix_ns % interval.0) % interval.0), interval }
    }

    /// Time between two ticks.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// The first tick after `at`.
    pub fn next_after(&self, at: Nanos) -> Nanos {
        if at < self.first {
            return self.first;
        }
        let passed = (at - self.first).0 / self.interval.0;
        self.first + Nanos((passed + 1).saturating_mul(self.interval.0))
    }

    /// Ticks after `tick` and before `next`.
    pub fn ticks_between(&self, tick: Nanos, next: Nanos) -> u64 {
        (next.since(tick).0 / self.interval.0).saturating_sub(1)
    }

    /// Number of a tick on the wall-clock grid: the same for everyone.
    pub fn tick_number(&self, tick: Nanos, origin_unix_ns: u64) -> u64 {
        (origin_unix_ns + tick.0) / self.interval.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn ticks_are_whole_seconds_of_the_wall_clock() {
        let ticks = TickGrid::new(1_700_000_000_250_000_000, Nanos(SECOND));
        assert_eq!(ticks.next_after(Nanos(0)), Nanos(750_000_000));
        assert_eq!(ticks.next_after(Nanos(749_999_999)), Nanos(750_000_000));
        assert_eq!(ticks.next_after(Nanos(750_000_000)), Nanos(1_750_000_000));
        assert_eq!(ticks.tick_number(Nanos(750_000_000), 1_700_000_000_250_000_000), 1_700_000_001);
        let even = TickGrid::new(1_700_000_000_000_000_000, Nanos(SECOND));
        assert_eq!(even.next_after(Nanos(0)), Nanos(SECOND));
    }

    #[test]
    fn missed_ticks_are_counted() {
        let ticks = TickGrid::new(0, Nanos(SECOND));
        let next = ticks.next_after(Nanos(4 * SECOND + 5));
        assert_eq!(next, Nanos(5 * SECOND));
        assert_eq!(ticks.ticks_between(Nanos(SECOND), next), 3);
        assert_eq!(ticks.ticks_between(Nanos(4 * SECOND), next), 0);
    }

    proptest! {
        #[test]
        fn the_next_tick_is_later_aligned_and_at_most_one_interval_away(
            origin in 0u64..2_000_000_000_000_000_000,
            interval in 1u64..100_000_000_000,
            at in 0u64..1_000_000_000_000_000,
        ) {
            let ticks = TickGrid::new(origin, Nanos(interval));
            let next = ticks.next_after(Nanos(at)).0;
            prop_assert!(next > at || next == ticks.first.0);
            prop_assert!(next <= at + interval);
            prop_assert_eq!((origin + next) % interval, 0);
        }
    }
}
