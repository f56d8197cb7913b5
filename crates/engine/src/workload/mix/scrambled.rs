//! YCSB's scrambled Zipf law: ranks by Zipf's law over 10^10 items with the exponent 0.99, each scattered over the keys by the
//! hash that also makes the keys. Names, constants and formulas are YCSB's (Apache License 2.0); it draws ranks as J. Gray et
//! al., "Quickly generating billion-record synthetic databases", SIGMOD 1994.

use super::draw::ycsb_key_number;
use crate::base::random::Rng;

/// Items that ranks are drawn from, however many keys there are.
const ITEMS: f64 = 1e10;
/// The exponent.
const EXPONENT: f64 = 0.99;
/// The sum of k^-0.99 over them.
const ZETA: f64 = 26.469_028_201_783_02;
/// Draws beyond the keys that are there, after which one is taken into them: so that a draw always ends.
const MOST_DRAWS: u32 = 100_000;

/// Draws keys from 0 by that law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScrambledZipf {
    /// Over how many keys ranks are scattered.
    among: u64,
    is_go: bool,
    eta: f64,
}

impl ScrambledZipf {
    /// Over `among` keys; the Java program and go-ycsb hash a rank differently.
    pub(super) fn new(among: u64, is_go: bool) -> ScrambledZipf {
        let zeta_of_two = 1.0 + 0.5_f64.powf(EXPONENT);
        let eta = (1.0 - (2.0 / ITEMS).powf(1.0 - EXPONENT)) / (1.0 - zeta_of_two / ZETA);
        ScrambledZipf { among: among.max(1), is_go, eta }
    }

    /// The rank, from 0, at a fraction of the draws.
    fn rank_at(&self, fraction: f64) -> u64 {
        let place = fraction * ZETA;
        if place < 1.0 {
            return 0;
        }
        if place < 1.0 + 0.5_f64.powf(EXPONENT) {
            return 1;
        }
        (ITEMS * (self.eta * fraction - self.eta + 1.0).powf(1.0 / (1.0 - EXPONENT))) as u64
    }

    fn key_of_rank(&self, rank: u64) -> u64 {
        ycsb_key_number(rank, self.is_go) % self.among
    }

    /// A key below `count`: one beyond it is not there yet, and another is drawn.
    pub(super) fn draw_key(&self, count: u64, rng: &mut Rng) -> u64 {
        let mut key = 0;
        for _ in 0..MOST_DRAWS {
            key = self.key_of_rank(self.rank_at(rng.uniform_fraction()));
            if key < count {
                return key;
            }
        }
        key % count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: [(f64, u64); 10] = [
        (0.0, 0),
        (0.03, 0),
        (0.04, 1),
        (0.06, 2),
        (0.1, 6),
        (0.25, 296),
        (0.5, 134_552),
        (0.75, 42_924_421),
        (0.9, 1_170_869_537),
        (0.999, 9_790_013_523),
    ];
    const KEYS: [(u64, u64, u64); 6] = [
        (0, 144, 144),
        (1, 610, 140),
        (2, 213, 136),
        (3, 679, 132),
        (999, 899, 52),
        (123_456_789, 431, 254),
    ];

    #[test]
    fn ranks_and_keys_are_those_of_ycsb() {
        // Computed apart from this, with the formulas of YCSB's generators.
        let java = ScrambledZipf::new(1001, false);
        let go = ScrambledZipf::new(1001, true);
        for (fraction, rank) in RANKS {
            assert_eq!(java.rank_at(fraction), rank, "{fraction}");
        }
        for (rank, of_java, of_go) in KEYS {
            assert_eq!((java.key_of_rank(rank), go.key_of_rank(rank)), (of_java, of_go), "{rank}");
        }
    }

    #[test]
    fn the_hottest_hundredth_has_its_share_and_keys_that_are_not_there_are_not_drawn() {
        let (count, draws) = (100_000_u64, 400_000);
        for is_go in [false, true] {
            let zipf = ScrambledZipf::new(count + 1, is_go);
            // The first million ranks one by one, the others evenly: they are 10^10.
            let heads = 1_000_000_u64;
            let mut theory = vec![0.0; count as usize + 1];
            let mut left = 1.0;
            for rank in 0..heads {
                let share = (rank as f64 + 1.0).powf(-EXPONENT) / ZETA;
                theory[zipf.key_of_rank(rank) as usize] += share;
                left -= share;
            }
            theory.iter_mut().for_each(|share| *share += left / (count + 1) as f64);
            theory.truncate(count as usize);
            theory.sort_by(f64::total_cmp);
            let hottest: f64 = theory.iter().rev().take(count as usize / 100).sum();
            let mut rng = Rng::new(3, 0, 0);
            let mut seen = vec![0_u32; count as usize];
            (0..draws).for_each(|_| seen[zipf.draw_key(count, &mut rng) as usize] += 1);
            seen.sort_unstable();
            let got: u32 = seen.iter().rev().take(count as usize / 100).sum();
            let got = f64::from(got) / f64::from(draws);
            assert!((got - hottest).abs() < 0.01, "{is_go}: {got}, expected {hottest}");
        }
        // One key of many: a draw ends all the same.
        let mut rng = Rng::new(3, 0, 0);
        assert_eq!(ScrambledZipf::new(u64::MAX, false).draw_key(1, &mut rng), 0);
    }
}
