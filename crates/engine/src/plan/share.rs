//! A share of a load: which of its sessions, arrivals and events one of several machines runs. Pure arithmetic, the same on
//! each machine, so that all shares together are the load that one machine would have run.

use std::fmt;
use std::ops::Range;

use super::{ArrivalPlan, LoadPlan};

/// Most shares of a load.
const MOST_SHARES: usize = 1000;
/// Largest weight of a share.
const MOST_WEIGHT: u32 = 1000;

/// One of the shares of a load, and how large each of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadShare {
    /// 0-based.
    index: usize,
    /// One for each share, without a common factor.
    weights: Vec<u32>,
}

impl LoadShare {
    /// The share of this number, from 1, where each has a weight.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn new(number: usize, weights: Vec<u32>) -> Result<LoadShare, String> {
        if weights.is_empty() || weights.len() > MOST_SHARES {
            return Err(format!("a load has 1 to {MOST_SHARES} shares"));
        }
        if weights.iter().any(|weight| !(1..=MOST_WEIGHT).contains(weight)) {
            return Err(format!("the weight of a share is 1 to {MOST_WEIGHT}"));
        }
        let Some(index) = number.checked_sub(1).filter(|index| *index < weights.len()) else {
            return Err(format!("there is no share {number} of {}", weights.len()));
        };
        let divisor = weights.iter().fold(0, |a, b| common_divisor(a, *b));
        Ok(LoadShare { index, weights: weights.iter().map(|weight| weight / divisor).collect() })
    }

    /// Reads `2/3`, the second of three equal shares, or `2/1:1:2`, the second of three by weight.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<LoadShare, String> {
        let wrong = || format!("`{text}` is not a share");
        let (number, of) = text.trim().split_once('/').ok_or_else(wrong)?;
        let number: usize = number.trim().parse().map_err(|_| wrong())?;
        let weights: Result<Vec<u32>, _> = of.split(':').map(|w| w.trim().parse()).collect();
        let weights = match weights.map_err(|_| wrong())?[..] {
            [count] if count as usize <= MOST_SHARES => vec![1; count as usize],
            [_] => Vec::new(),
            ref weights => weights.to_vec(),
        };
        LoadShare::new(number, weights)
    }

    /// Which share it is, from 1.
    pub fn number(&self) -> usize {
        self.index + 1
    }

    /// The weights of all shares, without a common factor.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// Its part of the whole, 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.weights[self.index]) / self.weight_sum() as f64
    }

    /// The workers of this share among so many: ranges follow each other, sizes are by largest remainder.
    pub fn worker_range(&self, workers: usize) -> Range<usize> {
        let quotas = self.all_quotas(workers as u64);
        let before: u64 = quotas[..self.index].iter().sum();
        before as usize..(before + quotas[self.index]) as usize
    }

    /// How many of so many events this share runs, by largest remainder.
    pub fn event_quota(&self, events: u64) -> u64 {
        self.all_quotas(events)[self.index]
    }

    /// Quotas of all shares by largest remainder (Hamilton): each gets the whole part of its due, and those with the largest
    /// rests one more until none is left; of equal rests the first.
    fn all_quotas(&self, total: u64) -> Vec<u64> {
        let sum = u128::from(self.weight_sum());
        let due = |weight: &u32| u128::from(total) * u128::from(*weight);
        let mut quotas: Vec<u64> = self.weights.iter().map(|w| (due(w) / sum) as u64).collect();
        let left = total - quotas.iter().sum::<u64>();
        let mut order: Vec<usize> = (0..quotas.len()).collect();
        order.sort_by_key(|share| std::cmp::Reverse(due(&self.weights[*share]) % sum));
        order.into_iter().take(left as usize).for_each(|share| quotas[share] += 1);
        quotas
    }

    fn weight_sum(&self) -> u64 {
        self.weights.iter().map(|weight| u64::from(*weight)).sum()
    }
}

impl fmt::Display for LoadShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.number())?;
        if self.weights.iter().all(|weight| *weight == 1) {
            return write!(f, "{}", self.weights.len());
        }
        let weights: Vec<String> = self.weights.iter().map(u32::to_string).collect();
        write!(f, "{}", weights.join(":"))
    }
}

impl LoadPlan {
    /// The workers that run here, of those that the whole load has.
    pub fn own_workers(&self) -> Range<usize> {
        self.share.as_ref().map_or(0..self.workers, |share| share.worker_range(self.workers))
    }

    /// Whether events are due at times of their own.
    pub fn is_open_loop(&self) -> bool {
        !matches!(self.arrival, ArrivalPlan::Closed { .. })
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_written() {
        for (text, shown) in [
            ("2/3", "2/3"),
            (" 1 / 2 ", "1/2"),
            ("1/1", "1/1"),
            ("2/1:1:2", "2/1:1:2"),
            ("2/4:4", "2/2"),
            ("1/2:4", "1/1:2"),
        ] {
            let share = LoadShare::parse(text).unwrap();
            assert_eq!(share.to_string(), shown);
            assert_eq!(LoadShare::parse(shown).unwrap(), share);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for (text, why) in [
            ("", "not a share"),
            ("2", "not a share"),
            ("a/3", "not a share"),
            ("-1/3", "not a share"),
            ("2/3/4", "not a share"),
            ("1/1:", "not a share"),
            ("4/3", "no share 4 of 3"),
            ("0/3", "no share 0 of 3"),
            ("1/0", "1 to 1000 shares"),
            ("1/1001", "1 to 1000 shares"),
            ("1/4294967295", "1 to 1000 shares"),
            ("99999999999999999999/3", "not a share"),
            ("1/0:1", "weight of a share"),
            ("1/1:1001", "weight of a share"),
        ] {
            let found = LoadShare::parse(text).expect_err(text);
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    #[test]
    fn sizes_are_by_largest_remainder() {
        let sizes = |weights: &[u32], total: usize| -> Vec<usize> {
            let share = |n| LoadShare::new(n, weights.to_vec()).unwrap();
            (1..=weights.len()).map(|n| share(n).worker_range(total).len()).collect()
        };
        assert_eq!(sizes(&[1, 1, 1], 8), [3, 3, 2]);
        assert_eq!(sizes(&[1, 1, 1], 2), [1, 1, 0]);
        assert_eq!(sizes(&[1, 1, 2], 10), [3, 2, 5]);
        assert_eq!(sizes(&[5, 3, 1], 7), [4, 2, 1]);
        let one = LoadShare::parse("2/3").unwrap();
        assert_eq!(one.event_quota(u64::MAX), u64::MAX / 3);
        assert!((one.fraction() - 1.0 / 3.0).abs() < 1e-12);
    }

    proptest::proptest! {
        #[test]
        fn shares_cover_the_whole_once(
            weights in proptest::collection::vec(1u32..=1000, 1..12),
            total in 0usize..100_000,
            events: u64,
        ) {
            let (mut next, mut sum) = (0, 0u64);
            for number in 1..=weights.len() {
                let share = LoadShare::new(number, weights.clone()).unwrap();
                let range = share.worker_range(total);
                proptest::prop_assert_eq!(range.start, next);
                next = range.end;
                let exact = total as f64 * share.fraction();
                proptest::prop_assert!((range.len() as f64 - exact).abs() < 1.0 + 1e-6);
                sum += share.event_quota(events);
            }
            proptest::prop_assert_eq!((next, sum), (total, events));
        }
    }
}
