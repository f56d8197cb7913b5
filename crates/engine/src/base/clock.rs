//! Time as a parameter. This is the only file that reads the machine's clocks or sleeps.

use std::cell::Cell;
use std::ops::{Add, Sub};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the origin of a run's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Seconds as a floating point number.
    pub fn to_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Nanos {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Duration {
        Duration::from_nanos(n.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

/// How long before a due time sleeping gives way to spinning where precision is asked for: a sleep ends 16-25 us
/// late even with sharp timers, sometimes later. Spinning pays only where a core is free for it: on a busy machine the
/// scheduler makes who spins wait longer than who sleeps.
pub const SPIN: Nanos = Nanos(60_000);

/// A clock: real, or simulated in tests.
pub trait Clock: Clone {
    /// Time since the origin.
    fn now(&self) -> Nanos;
    /// Blocks until `at` and gives the time it really is then.
    fn sleep_until(&self, at: Nanos) -> Nanos;
}

/// The machine's monotonic clock, with the wall time of its origin. Copies share the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealClock {
    origin: Instant,
    /// Wall time of the origin by this machine.
    own_unix_ns: u64,
    /// The same by the machine whose time it tells.
    origin_unix_ns: u64,
    /// Whether that is another one.
    is_steered: bool,
}

impl RealClock {
    /// A clock whose origin is now.
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters")]
    pub fn start_now() -> RealClock {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let wall = Nanos::from(wall).0;
        let origin = Instant::now();
        RealClock { origin, own_unix_ns: wall, origin_unix_ns: wall, is_steered: false }
    }

    /// A clock whose origin is now and which tells the wall time of another machine: `offset_ns` is what that machine's clock
    /// is ahead of this one. Corrections of either wall clock after this one's origin do not move it.
    pub fn steered(&self, offset_ns: i64) -> RealClock {
        let fresh = RealClock::start_now();
        let origin_unix_ns = self.unix_ns(self.now()).saturating_add_signed(offset_ns);
        RealClock { origin_unix_ns, is_steered: true, ..fresh }
    }

    /// Wall time of the origin, nanoseconds since 1970.
    pub fn origin_unix_ns(&self) -> u64 {
        self.origin_unix_ns
    }

    /// Blocks until `at` without sleeping through its last moment; gives the time it really is then. Costs the
    /// CPU time of that moment.
    pub fn sleep_precisely_until(&self, at: Nanos) -> Nanos {
        let mut now = self.now();
        if at.since(now) > SPIN {
            now = self.sleep_until(at - SPIN);
        }
        while now < at {
            std::hint::spin_loop();
            now = self.now();
        }
        now
    }

    /// How far the wall clock has moved against this clock since its origin, seconds: what time services corrected.
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters")]
    pub fn wall_offset_s(&self) -> f64 {
        let expected = self.own_unix_ns + self.now().0;
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (i128::from(Nanos::from(wall).0) - i128::from(expected)) as f64 / 1e9
    }

    /// When this clock will show a wall time (nanoseconds since 1970), by the wall clock as it stands now; its origin at the
    /// earliest.
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters")]
    pub fn time_of_wall(&self, unix_ns: u64) -> Nanos {
        if self.is_steered {
            return Nanos(unix_ns).since(Nanos(self.origin_unix_ns));
        }
        let now = self.now();
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let wall = Nanos::from(wall);
        now + Nanos(unix_ns).since(wall) - wall.since(Nanos(unix_ns))
    }

    /// Wall time (nanoseconds since 1970) of a time on this clock, by the offset at the origin.
    pub fn unix_ns(&self, at: Nanos) -> u64 {
        self.origin_unix_ns + at.0
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters")]
    fn now(&self) -> Nanos {
        Nanos::from(Instant::now().duration_since(self.origin))
    }
    #[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
    fn sleep_until(&self, at: Nanos) -> Nanos {
        let now = self.now();
        if at > now {
            std::thread::sleep(Duration::from(at - now));
        }
        self.now()
    }
}

/// A clock that moves only when told to. Copies share the time.
#[derive(Clone, Debug, Default)]
pub struct SimClock {
    now: Rc<Cell<u64>>,
}

impl SimClock {
    /// Moves time forward.
    pub fn advance(&self, by: Nanos) {
        self.now.set(self.now.get() + by.0);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
    fn sleep_until(&self, at: Nanos) -> Nanos {
        self.now.set(self.now.get().max(at.0));
        self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_never_ends_early() {
        let clock = RealClock::start_now();
        for n in 1..20 {
            let at = clock.now() + Nanos(n * 10_000);
            assert!(clock.sleep_until(at) >= at);
            let at = clock.now() + Nanos(n * 10_000);
            assert!(clock.sleep_precisely_until(at) >= at);
        }
    }

    #[test]
    fn the_wall_clock_moves_along() {
        assert!(RealClock::start_now().wall_offset_s().abs() < 0.1);
    }

    #[test]
    fn a_wall_time_has_its_place_on_the_clock() {
        let clock = RealClock::start_now();
        let in_an_hour = clock.origin_unix_ns() + 3_600_000_000_000;
        let found = clock.time_of_wall(in_an_hour).to_seconds();
        assert!((found - 3600.0).abs() < 60.0, "{found}");
        assert_eq!(clock.time_of_wall(0), Nanos(0), "long ago is its origin");
    }

    #[test]
    fn a_steered_clock_tells_another_machine_s_time() {
        let own = RealClock::start_now();
        let hour = 3_600_000_000_000;
        for offset in [hour, -hour, 0] {
            let other = own.steered(offset);
            let expected = own.unix_ns(own.now()).saturating_add_signed(offset);
            let found = other.unix_ns(other.now());
            assert!(found.abs_diff(expected) < 60_000_000_000, "{offset}: {found} {expected}");
            assert_eq!(other.time_of_wall(other.origin_unix_ns() + 5), Nanos(5));
            assert!(other.wall_offset_s().abs() < 0.1, "its own wall clock has not moved");
        }
    }

    #[test]
    fn simulated_time_moves_only_when_told() {
        let clock = SimClock::default();
        let copy = clock.clone();
        assert_eq!(clock.sleep_until(Nanos(5)), Nanos(5));
        assert_eq!(copy.sleep_until(Nanos(3)), Nanos(5));
        copy.advance(Nanos(2));
        assert_eq!(clock.now(), Nanos(7));
    }
}
