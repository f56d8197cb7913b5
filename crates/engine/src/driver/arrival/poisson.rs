//! Due times with random gaps, exponential ones or with jitter: summed up from the run's seed in blocks, which all workers share.
//!
//! Blocks form a chain. Each worker holds the block of its last ticket; whoever first needs the next block makes it.
//! A block that all workers have left behind is freed. So the times depend on nothing but rate and seed.
//! Where the rate changes, the gaps are those of one arrival in the mean, and their sum is taken through the inverse of the
//! integrated rate.

use std::sync::{Arc, OnceLock};

use super::staged::RateIntegral;
use crate::base::Nanos;
use crate::base::random::Rng;

/// Tickets per block.
const TICKETS: usize = 4096;
/// The schedule's own stream of random numbers; no worker has this number.
const STREAM: u64 = u64::MAX;

/// A place in the chain.
#[derive(Clone)]
pub(in crate::driver) struct PoissonSchedule {
    block: Arc<DueTimeBlock>,
}

/// What sums of gaps stand for.
#[derive(Clone)]
enum GapScale {
    /// Nanoseconds, so many to a gap in the mean.
    Constant(f64),
    /// Nanoseconds, evenly drawn around the mean, by at most this part of it.
    Jittered(f64, f64),
    /// Arrivals: the times are where the integral of a rate reaches them.
    Staged(RateIntegral),
}

impl GapScale {
    /// Moves the sum on by a gap, and gives the due time there.
    fn next_due(&self, rng: &mut Rng, sum: &mut f64) -> u64 {
        match self {
            GapScale::Constant(mean_ns) => {
                *sum += rng.exponential(*mean_ns);
                *sum as u64
            }
            GapScale::Jittered(mean_ns, part) => {
                // The first is due at once, as without jitter.
                let due = *sum as u64;
                *sum += mean_ns * (1.0 - part + 2.0 * part * rng.uniform_fraction());
                due
            }
            GapScale::Staged(integral) => {
                *sum += rng.exponential(1.0);
                integral.time_of(*sum).0
            }
        }
    }
}

struct DueTimeBlock {
    /// Ticket of the first due time.
    first: u64,
    due: Box<[u64]>,
    /// Generator, scale and sum of all gaps (with its fraction) for the next block.
    rng: Rng,
    scale: GapScale,
    sum: f64,
    next: OnceLock<Arc<DueTimeBlock>>,
}

impl DueTimeBlock {
    fn new(first: u64, mut rng: Rng, scale: GapScale, mut sum: f64) -> DueTimeBlock {
        let due = (0..TICKETS).map(|_| scale.next_due(&mut rng, &mut sum)).collect();
        DueTimeBlock { first, due, rng, scale, sum, next: OnceLock::new() }
    }

    fn next_block(&self) -> &Arc<DueTimeBlock> {
        self.next.get_or_init(|| {
            let first = self.first + TICKETS as u64;
            Arc::new(DueTimeBlock::new(first, self.rng.clone(), self.scale.clone(), self.sum))
        })
    }
}

impl Drop for DueTimeBlock {
    /// Frees a chain link by link: left to itself it would recurse, once per block.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut block) = next.and_then(Arc::into_inner) {
            next = block.next.take();
        }
    }
}

impl PoissonSchedule {
    pub(super) fn new(per_second: f64, seed: u64) -> PoissonSchedule {
        PoissonSchedule::from_scale(GapScale::Constant(1e9 / per_second), seed)
    }

    /// Gaps that are even but for a part of them.
    pub(super) fn with_jitter(per_second: f64, part: f64, seed: u64) -> PoissonSchedule {
        PoissonSchedule::from_scale(GapScale::Jittered(1e9 / per_second, part), seed)
    }

    pub(super) fn from_stages(rate: RateIntegral, seed: u64) -> PoissonSchedule {
        PoissonSchedule::from_scale(GapScale::Staged(rate), seed)
    }

    fn from_scale(scale: GapScale, seed: u64) -> PoissonSchedule {
        let rng = Rng::new(seed, STREAM, 0);
        PoissonSchedule { block: Arc::new(DueTimeBlock::new(0, rng, scale, 0.0)) }
    }

    fn advance_block(&mut self) {
        self.block = self.block.next_block().clone();
    }

    pub(super) fn due_time(&mut self, ticket: u64) -> Nanos {
        while ticket >= self.block.first + TICKETS as u64 {
            self.advance_block();
        }
        Nanos(self.block.due[(ticket - self.block.first) as usize])
    }

    pub(super) fn tickets_due_by(&mut self, time: Nanos) -> u64 {
        while self.block.due[TICKETS - 1] <= time.0 {
            self.advance_block();
        }
        self.block.first + self.block.due.partition_point(|&due| due <= time.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_give_the_same_times_in_any_order() {
        let mut one = PoissonSchedule::new(1000.0, 5);
        let (mut even, mut odd) = (one.clone(), one.clone());
        let all: Vec<Nanos> = (0..20_000).map(|n| one.due_time(n)).collect();
        for n in (1..20_000).step_by(2) {
            assert_eq!(odd.due_time(n), all[n as usize]);
        }
        for n in (0..20_000).step_by(2) {
            assert_eq!(even.due_time(n), all[n as usize]);
        }
        assert_ne!(PoissonSchedule::new(1000.0, 6).due_time(0), all[0]);
    }

    #[test]
    fn gaps_are_exponential() {
        let mut schedule = PoissonSchedule::new(1000.0, 5);
        let n = 100_000u64;
        let times: Vec<u64> = (0..n).map(|k| schedule.due_time(k).0).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        // The share of gaps longer than t means is e^-t.
        for t in [0.5, 1.0, 2.0, 4.0f64] {
            let share = gaps.iter().filter(|&&g| g > t).count() as f64 / gaps.len() as f64;
            assert!((share - (-t).exp()).abs() < 0.005, "{t}: {share}");
        }
    }

    #[test]
    fn jitter_keeps_the_rate_and_its_bounds() {
        let mut schedule = PoissonSchedule::with_jitter(1000.0, 0.1, 5);
        let n = 100_000u64;
        let times: Vec<u64> = (0..n).map(|k| schedule.due_time(k).0).collect();
        assert_eq!(times[0], 0);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        assert!(gaps.iter().all(|gap| (0.8999..=1.1001).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.001, "{mean}");
        let short = gaps.iter().filter(|gap| **gap < 0.95).count() as f64 / gaps.len() as f64;
        assert!((short - 0.25).abs() < 0.01, "{short}");
    }

    #[test]
    fn counting_what_is_due_agrees_with_the_times() {
        let (mut times, mut counter) =
            (PoissonSchedule::new(50_000.0, 1), PoissonSchedule::new(50_000.0, 1));
        for ticket in 0..10_000 {
            let due = times.due_time(ticket);
            if due.0 > 0 {
                assert!(counter.tickets_due_by(Nanos(due.0 - 1)) <= ticket);
            }
            assert!(counter.tickets_due_by(due) > ticket);
        }
    }

    #[test]
    fn stages_bend_the_times_of_one_process() {
        // The same gaps at one event per second: a ramp has its n-th event where the integral reaches it.
        let stages = crate::plan::RateStages::parse("100s:0..400, 50s:400, 1s:0").unwrap();
        let mut staged = PoissonSchedule::from_stages(RateIntegral::new(&stages), 5);
        let mut counter = staged.clone();
        let mut even = PoissonSchedule::new(1.0, 5);
        let mut in_ramp = 0;
        for ticket in 0..38_000 {
            let (due, sum) = (staged.due_time(ticket).0, even.due_time(ticket).to_seconds());
            let expected = match sum {
                s if s < 20_000.0 => (s / 2.0).sqrt(),
                s => 100.0 + (s - 20_000.0) / 400.0,
            };
            in_ramp += u64::from(sum < 20_000.0);
            assert!((due as f64 / 1e9 - expected).abs() < 1e-6, "{ticket}: {due} {expected}");
        }
        assert_eq!(counter.tickets_due_by(Nanos(99_999_999_999)), in_ramp);
        assert!((19_500..20_500).contains(&in_ramp), "{in_ramp}");
        assert_eq!(staged.due_time(42_000), Nanos(u64::MAX), "nothing is due after the last stage");
    }

    #[test]
    fn a_long_chain_is_freed_without_recursion() {
        let behind = PoissonSchedule::new(1e6, 1);
        let mut ahead = behind.clone();
        let build = std::thread::Builder::new().stack_size(128 * 1024);
        ahead.due_time(TICKETS as u64 * 3000);
        drop(ahead);
        build.spawn(move || drop(behind)).unwrap().join().unwrap();
    }
}
