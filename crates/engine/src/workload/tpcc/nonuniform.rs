//! Customers and items are not drawn evenly: `NURand` of clause 2.1.6, its constants, and the names made of syllables.

use crate::base::random::Rng;

/// Syllables of last names (clause 4.3.2.3): one for each digit.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The constants `C` of one database: the same for all terminals (clause 2.1.6), kept in the database by the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NonUniformConstants {
    /// For last names in the load, 0 to 255.
    pub(super) last_name_load: u32,
    /// For last names in the run, 0 to 255; differs from that of the load as clause 2.1.6.1 wants.
    pub(super) last_name_run: u32,
    /// For customers, 0 to 1023.
    pub(super) customer: u32,
    /// For items, 0 to 8191.
    pub(super) item: u32,
}

/// Whether two constants for last names are as far apart as clause 2.1.6.1 wants.
pub(super) fn is_valid_delta(load: u32, run: u32) -> bool {
    let delta = load.abs_diff(run);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

impl NonUniformConstants {
    /// The constants that belong to a seed.
    pub(super) fn from_seed(seed: u64) -> NonUniformConstants {
        // Streams of tables begin at 0; this one is behind them all.
        let mut rng = Rng::new(seed, u64::MAX, 0);
        let mut draw = |most: u64| rng.uniform_between(0, most) as u32;
        let (customer, item, last_name_load) = (draw(1023), draw(8191), draw(255));
        let last_name_run = loop {
            let run = draw(255);
            if is_valid_delta(last_name_load, run) {
                break run;
            }
        };
        NonUniformConstants { last_name_load, last_name_run, customer, item }
    }

    /// The number of a last name as the run draws it, 0 to 999.
    #[inline]
    pub(super) fn draw_last_name(&self, rng: &mut Rng) -> u32 {
        non_uniform(rng, 255, 0, 999, self.last_name_run)
    }

    /// A customer, 1 to 3000.
    #[inline]
    pub(super) fn draw_customer(&self, rng: &mut Rng) -> u32 {
        non_uniform(rng, 1023, 1, 3000, self.customer)
    }

    /// An item, 1 to 100,000.
    #[inline]
    pub(super) fn draw_item(&self, rng: &mut Rng) -> u32 {
        non_uniform(rng, 8191, 1, 100_000, self.item)
    }
}

/// `NURand(a, low, high)` with the constant `c`: `(((0..=a | low..=high) + c) % (high - low + 1)) + low` (clause 2.1.6).
#[inline]
pub(super) fn non_uniform(rng: &mut Rng, a: u32, low: u32, high: u32, c: u32) -> u32 {
    let one = rng.uniform_between(0, u64::from(a)) as u32;
    let other = rng.uniform_between(u64::from(low), u64::from(high)) as u32;
    ((one | other) + c) % (high - low + 1) + low
}

/// Writes the last name of a number from 0 to 999; gives its length, at most 15.
#[inline]
pub(super) fn write_last_name(number: u32, out: &mut [u8; 16]) -> usize {
    let mut length = 0;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize].as_bytes();
        out[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        let name = |number| {
            let mut out = [0; 16];
            let length = write_last_name(number, &mut out);
            String::from_utf8(out[..length].to_vec()).unwrap()
        };
        // The example of clause 4.3.2.3.
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!((0..1000).map(|n| name(n).len()).max(), Some(15));
    }

    #[test]
    fn the_constants_of_load_and_run_are_apart() {
        for seed in 0..2_000 {
            let constants = NonUniformConstants::from_seed(seed);
            assert!(is_valid_delta(constants.last_name_load, constants.last_name_run));
            assert!(constants.last_name_run <= 255 && constants.item <= 8191);
        }
        for (delta, valid) in [(64, false), (65, true), (96, false), (112, false), (119, true)] {
            assert_eq!(is_valid_delta(0, delta), valid, "{delta}");
        }
    }

    #[test]
    fn draws_stay_in_their_ranges_and_are_not_even() {
        let constants = NonUniformConstants::from_seed(7);
        let mut rng = Rng::new(1, 0, 0);
        let mut hits = vec![0u32; 100_001];
        for _ in 0..1_000_000 {
            hits[constants.draw_item(&mut rng) as usize] += 1;
            assert!((1..=3000).contains(&constants.draw_customer(&mut rng)));
            assert!(constants.draw_last_name(&mut rng) <= 999);
        }
        assert_eq!(hits[0], 0);
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u32 = hits[..1000].iter().sum();
        // Each of the lower 13 bits is set in three of four draws. The 82 most frequent patterns of these bits, with at most
        // two zeros, make the hottest hundredth: (3/4)^13 * (1 + 13/3 + 68/9) = 0.307. Even draws would give it 0.013.
        assert!((302_000..315_000).contains(&hottest), "{hottest}");
    }
}
