//! Random numbers of scripts, under the names that sysbench gives them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::distribution::{Distribution, DistributionOptions};
use crate::base::random::Rng;

/// Names by the numbers that the prelude uses; 0 stands for the one that was chosen with `--rand-type`.
const KINDS: [&str; 6] = ["", "uniform", "gaussian", "special", "pareto", "zipfian"];

/// The distribution behind `sysbench.rand.default` and the shapes of all.
#[derive(Clone, Debug)]
pub struct RandomSettings {
    /// One of [`Distribution::NAMES`].
    pub kind: String,
    /// Shapes.
    pub shape: DistributionOptions,
    /// Seed of all streams, `unique` included.
    pub seed: u64,
}

impl Default for RandomSettings {
    fn default() -> RandomSettings {
        RandomSettings {
            kind: "special".to_owned(),
            shape: DistributionOptions::default(),
            seed: 1,
        }
    }
}

/// Numbers that all states of a script share: each is given out once.
///
/// The order is a permutation of all 32-bit numbers: quadratic residues modulo a prime that is 3 modulo 4 (A. Preshing, "How to
/// generate a sequence of unique random integers", 2012).
#[derive(Clone, Debug, Default)]
pub(super) struct UniqueNumbers {
    next: Arc<AtomicU32>,
}

/// The largest prime below 2^32; it is 3 modulo 4.
const PRIME: u64 = 4_294_967_291;

fn permute_residue(x: u32) -> u32 {
    let x = u64::from(x);
    if x >= PRIME {
        return x as u32;
    }
    let residue = x * x % PRIME;
    (if x <= PRIME / 2 { residue } else { PRIME - residue }) as u32
}

impl UniqueNumbers {
    fn draw_number(&self, seed: u64) -> u32 {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        permute_residue(permute_residue(index).wrapping_add(seed as u32) ^ 0x5bf0_3635)
    }
}

/// One state's streams.
#[derive(Debug)]
pub(super) struct ScriptRandom {
    rng: Rng,
    settings: RandomSettings,
    unique: UniqueNumbers,
    /// The distribution that was last used of each kind, with its range.
    last: [Option<(u64, u64, Distribution)>; KINDS.len()],
}

impl ScriptRandom {
    pub(super) fn new(
        settings: RandomSettings,
        unique: UniqueNumbers,
        worker: u64,
    ) -> ScriptRandom {
        let rng = Rng::new(settings.seed, worker, 0);
        ScriptRandom { rng, settings, unique, last: [const { None }; KINDS.len()] }
    }

    /// A number from `low` to `high`, both included; -1 stands for `unique`.
    pub(super) fn draw_number(&mut self, kind: i32, low: f64, high: f64) -> f64 {
        let Ok(kind) = usize::try_from(kind) else {
            return f64::from(self.unique.draw_number(self.settings.seed));
        };
        // As C does it: a number below 0 is one from above.
        self.draw_key(kind, low.max(0.0) as u64, high.max(0.0) as u64) as f64
    }

    /// The same for whole numbers of any size.
    pub(super) fn draw_key(&mut self, kind: usize, low: u64, high: u64) -> u64 {
        let kind = kind.min(KINDS.len() - 1);
        if high <= low {
            return low;
        }
        if KINDS[kind] == "uniform" {
            return self.rng.uniform_between(low, high);
        }
        let cached = match &self.last[kind] {
            Some((a, b, _)) => *a == low && *b == high,
            None => false,
        };
        if !cached {
            let name = if kind == 0 { self.settings.kind.as_str() } else { KINDS[kind] };
            // Names and shapes were checked when the script was set up.
            let made = Distribution::new(name, &self.settings.shape, low, high);
            self.last[kind] = made.ok().map(|distribution| (low, high, distribution));
        }
        match &self.last[kind] {
            Some((_, _, distribution)) => distribution.next_key(&mut self.rng),
            None => self.rng.uniform_between(low, high),
        }
    }

    pub(super) fn draw_bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    pub(super) fn draw_fraction(&mut self) -> f64 {
        self.rng.uniform_fraction()
    }

    /// `#` is a digit, `@` a letter from a to z, anything else itself.
    pub(super) fn fill_format(&mut self, format: &[u8], out: &mut Vec<u8>) {
        out.clear();
        // One draw serves several characters: 64 bits hold 19 digits, and 12 of either with room to spare.
        let (mut bits, mut left) = (0u64, 0);
        out.extend(format.iter().map(|byte| {
            let choices = match byte {
                b'#' => 10,
                b'@' => 26,
                other => return *other,
            };
            if left == 0 {
                (bits, left) = (self.rng.next_u64(), 8);
            }
            left -= 1;
            let place = (u128::from(bits) * choices) >> 64;
            bits = bits.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (if choices == 10 { b'0' } else { b'a' }) + place as u8
        }));
    }

    /// So many characters from `0` to `z`.
    pub(super) fn fill_length(&mut self, least: u32, most: u32, out: &mut Vec<u8>) {
        let length = self.rng.uniform_between(u64::from(least), u64::from(most.max(least)));
        out.clear();
        out.extend((0..length).map(|_| self.rng.uniform_between(b'0'.into(), b'z'.into()) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> ScriptRandom {
        ScriptRandom::new(RandomSettings::default(), UniqueNumbers::default(), 0)
    }

    #[test]
    fn unique_numbers_are_unique_and_follow_the_seed() {
        let mut one = random();
        let drawn: std::collections::BTreeSet<u64> =
            (0..100_000).map(|_| one.draw_number(-1, 0.0, 0.0) as u64).collect();
        assert_eq!(drawn.len(), 100_000);
        assert!(*drawn.last().unwrap() > 4_000_000_000 && *drawn.first().unwrap() < 300_000);
        let first = |seed| {
            let settings = RandomSettings { seed, ..RandomSettings::default() };
            ScriptRandom::new(settings, UniqueNumbers::default(), 3).draw_number(-1, 0.0, 0.0)
        };
        assert_eq!(first(5), first(5));
        assert_ne!(first(5), first(6));
    }

    /// The share of two million draws from a million numbers in the hottest hundredths, as sysbench 1.0.20 draws them.
    #[test]
    fn distributions_are_as_uneven_as_those_of_sysbench() {
        let mut random = random();
        for (kind, expected) in [
            (1, [0.01, 0.05, 0.10, 0.20]),
            (2, [0.047, 0.23, 0.45, 0.77]),
            (3, [0.51, 0.81, 0.86, 0.94]),
            (4, [0.53, 0.66, 0.73, 0.80]),
        ] {
            let mut cells = [0u32; 100];
            for _ in 0..200_000 {
                cells[(random.draw_number(kind, 1.0, 1e6) as usize - 1) / 10_000] += 1;
            }
            cells.sort_unstable_by(|a, b| b.cmp(a));
            for (hottest, share) in [1, 5, 10, 20].into_iter().zip(expected) {
                let got = f64::from(cells[..hottest].iter().sum::<u32>()) / 200_000.0;
                assert!((got - share).abs() < 0.02, "kind {kind}, {hottest}: {got} for {share}");
            }
        }
    }

    #[test]
    fn strings_follow_their_format() {
        let (mut random, mut out) = (random(), Vec::new());
        random.fill_format(b"###-@@@ x", &mut out);
        assert!(out[..3].iter().all(u8::is_ascii_digit), "{out:?}");
        assert!(out[4..7].iter().all(u8::is_ascii_lowercase) && &out[7..] == b" x");
        let mut seen = [0u32; 10];
        for _ in 0..5_000 {
            random.fill_format(b"##########", &mut out);
            out.iter().for_each(|digit| seen[usize::from(digit - b'0')] += 1);
        }
        let chi: f64 = seen.iter().map(|n| (f64::from(*n) - 5e3).powi(2) / 5e3).sum();
        assert!(chi < 27.9, "9 degrees of freedom, p = 0.001: {chi} {seen:?}");
        random.fill_length(3, 3, &mut out);
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn ranges_are_closed_and_may_be_wide() {
        let mut random = random();
        assert_eq!(random.draw_number(1, 5.0, 5.0), 5.0);
        let wide = (0..100).map(|_| random.draw_number(1, 0.0, 1e12)).fold(0.0, f64::max);
        assert!(wide > 4.3e9, "{wide}");
        let keys: Vec<u64> = (0..64).map(|_| random.draw_key(1, 1 << 60, u64::MAX)).collect();
        assert!(keys.iter().all(|key| *key >= 1 << 60) && keys.iter().any(|key| key % 2 == 1));
    }
}
