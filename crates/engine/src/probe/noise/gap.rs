//! Lost time: a thread pinned on each core reads the clock without end; where two readings are far apart, somebody
//! else had the core.

use std::time::Duration;

use crate::base::{Clock, Nanos, RealClock, kernel};
use crate::probe::host::NamedNumbers;

/// Two readings further apart than this are a gap: more than an interrupt, less than any time slice.
const GAP: Nanos = Nanos(20_000);

/// What one core lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LostTime {
    span: u64,
    lost: u64,
    longest: u64,
    pinned: bool,
}

/// Spins on every core that we may use, for a while, all at once.
pub(super) fn spin_all_cores(time: Duration, clock: RealClock) -> NamedNumbers {
    let cpus = kernel::allowed_cpus();
    let spin = |cpu: usize| move || spin_core(cpu, Nanos::from(time), clock);
    let found: Vec<LostTime> = std::thread::scope(|scope| {
        let threads: Vec<_> = cpus.iter().map(|cpu| scope.spawn(spin(*cpu))).collect();
        // A core whose thread broke is a core that was not seen.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let sum = |of: fn(&LostTime) -> u64| found.iter().map(of).sum::<u64>() as f64;
    let share = |l: &LostTime| if l.span > 0 { l.lost as f64 / l.span as f64 } else { 0.0 };
    let longest = found.iter().map(|l| l.longest).max().unwrap_or_default();
    vec![
        ("gap.cpus".to_owned(), found.len() as f64),
        ("gap.cpus_pinned".to_owned(), sum(|l| u64::from(l.pinned))),
        ("gap.span_ns".to_owned(), sum(|l| l.span)),
        ("gap.lost_ns".to_owned(), sum(|l| l.lost)),
        ("gap.longest_ns".to_owned(), longest as f64),
        ("gap.worst_core_share".to_owned(), found.iter().map(share).fold(0.0, f64::max)),
    ]
}

fn spin_core(cpu: usize, time: Nanos, clock: RealClock) -> LostTime {
    let pinned = kernel::pin_to(cpu);
    let began = clock.now();
    let end = began + time;
    LostTime { pinned, ..measure_gaps(began, end, || clock.now()) }
}

/// Reads the clock until `end`.
fn measure_gaps(began: Nanos, end: Nanos, mut now: impl FnMut() -> Nanos) -> LostTime {
    let (mut lost, mut last) = (LostTime::default(), began);
    while last < end {
        let next = now();
        let gap = next.since(last);
        if gap > GAP {
            lost.lost += gap.0;
            lost.longest = lost.longest.max(gap.0);
        }
        last = next;
    }
    lost.span = last.since(began).0;
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_longer_than_a_gap_is_lost() {
        let mut readings = [10_000, 30_000, 55_000, 155_000, 160_000].map(Nanos).into_iter();
        let lost = measure_gaps(Nanos(0), Nanos(160_000), || readings.next().unwrap());
        let expected = LostTime { span: 160_000, lost: 125_000, longest: 100_000, pinned: false };
        assert_eq!(lost, expected);
    }
}
