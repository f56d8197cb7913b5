//! Sentinels: the same piece of work again and again. A quiet machine needs the same time for it each time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::base::{Clock, Nanos, RealClock};
use crate::probe::host::NamedNumbers;

use super::NoiseChecks;

/// Steps of one unit of CPU work: some tens of microseconds.
const STEPS: u32 = 20_000;
/// Bytes of one flushed write: the smallest that file systems write.
const BLOCK: usize = 4096;
/// Blocks that are written one after the other.
const BLOCKS: u64 = 16;
/// Repeats are not begun after this many times their planned time: a slow disk must not hold up a run.
const PATIENCE: u32 = 3;

/// Time of one unit of CPU work, nanoseconds, for each repeat.
pub(super) fn time_cpu_work(checks: &NoiseChecks, clock: RealClock) -> NamedNumbers {
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    time_repeats("cpu", checks, clock, || {
        seed = std::hint::black_box(cpu_work_unit(seed));
        true
    })
}

/// A chain of shifts and products that no compiler shortens and no cache matters to.
fn cpu_work_unit(mut x: u64) -> u64 {
    for _ in 0..STEPS {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        x = x.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
    }
    x
}

/// Time of one write of 4 KiB with its `fdatasync`, nanoseconds, for each repeat. Nothing where the folder can't be
/// written to.
pub(super) fn time_flushed_writes(
    checks: &NoiseChecks,
    dir: &Path,
    clock: RealClock,
) -> NamedNumbers {
    let Some(file) = create_unlinked_file(dir, clock) else { return Vec::new() };
    let block = [0x5A; BLOCK];
    // The first writes make the blocks; those measured find them there.
    let made = (0..BLOCKS).all(|at| file.write_all_at(&block, at * BLOCK as u64).is_ok());
    if !made || file.sync_all().is_err() {
        return Vec::new();
    }
    let mut at = 0;
    time_repeats("sync", checks, clock, || {
        at = (at + 1) % BLOCKS;
        file.write_all_at(&block, at * BLOCK as u64).is_ok() && file.sync_data().is_ok()
    })
}

/// A file that is gone with its last handle.
fn create_unlinked_file(dir: &Path, clock: RealClock) -> Option<File> {
    let name = format!(".sweat-sync-{}-{}", std::process::id(), clock.now().0);
    let path = dir.join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).ok()?;
    std::fs::remove_file(&path).ok()?;
    Some(file)
}

/// Does units of work for the time of a repeat, so many times; gives the time per unit of each. A unit that fails
/// ends it.
fn time_repeats(
    name: &str,
    checks: &NoiseChecks,
    clock: impl Clock,
    mut unit: impl FnMut() -> bool,
) -> NamedNumbers {
    let began = clock.now();
    let patience = Nanos::from(checks.repeat * checks.repeats * PATIENCE);
    let mut found = Vec::new();
    for repeat in 0..checks.repeats {
        let start = clock.now();
        if start.since(began) > patience {
            break;
        }
        let end = start + Nanos::from(checks.repeat);
        let (mut units, mut now) = (0u32, start);
        while now < end || units == 0 {
            if !unit() {
                return found;
            }
            units += 1;
            now = clock.now();
        }
        let each = now.since(start).0 as f64 / f64::from(units);
        found.push((format!("sentinel.{name}.{repeat}_ns"), each));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::SimClock;

    fn care(repeats: u32) -> NoiseChecks {
        let repeat = Duration::from_nanos(100);
        NoiseChecks { quiet: Duration::ZERO, gap: Duration::ZERO, repeats, repeat }
    }

    #[test]
    fn each_repeat_gives_the_time_of_a_unit() {
        let clock = SimClock::default();
        let mut length = 20;
        let found = time_repeats("cpu", &care(3), clock.clone(), || {
            clock.advance(Nanos(length));
            length += if clock.now().0 == 100 { 30 } else { 0 };
            true
        });
        let expected = [20.0, 50.0, 50.0];
        for (place, value) in expected.iter().enumerate() {
            assert_eq!(found[place], (format!("sentinel.cpu.{place}_ns"), *value));
        }
    }

    #[test]
    fn slow_and_failing_units_end_it() {
        let clock = SimClock::default();
        let slow = time_repeats("sync", &care(10), clock.clone(), || {
            clock.advance(Nanos(900));
            true
        });
        assert_eq!(slow.len(), 4, "3 x 10 x 100 ns of patience: {slow:?}");
        assert!(time_repeats("sync", &care(2), clock, || false).is_empty());
    }

    #[test]
    fn work_is_never_done() {
        assert_ne!(cpu_work_unit(1), cpu_work_unit(3));
        assert_ne!(cpu_work_unit(cpu_work_unit(1)), cpu_work_unit(1));
    }
}
