//! Seeded random numbers, the same on every machine.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), its
//! state filled by splitmix64 (Steele, Lea, Flood, 2014). Each worker, and each use within a worker, has a stream of
//! its own, so that what one draws never shifts what another draws.
//! Never knows: what the numbers are for.

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// One step of splitmix64: advances the state, gives a mixed number.
fn next_splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream number `stream` of a worker in the run with this seed.
    pub fn new(seed: u64, worker: u64, stream: u64) -> Rng {
        let mut mix = seed;
        for part in [worker, stream] {
            mix = next_splitmix64(&mut mix) ^ part;
        }
        let mut state = [0; 4];
        for word in &mut state {
            *word = next_splitmix64(&mut mix);
        }
        Rng { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..n`, without bias (Lemire's multiplication method).
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn uniform_below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below 0");
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let reject_below = n.wrapping_neg() % n;
            while (product as u64) < reject_below {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform from `low` to `high`, both included.
    ///
    /// # Panics
    /// If `low` is above `high`.
    #[inline]
    pub fn uniform_between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "a range begins before it ends");
        match (high - low).checked_add(1) {
            Some(n) => low + self.uniform_below(n),
            None => self.next_u64(),
        }
    }

    /// Uniform in `0.0..1.0`, 53 bits.
    #[inline]
    pub fn uniform_fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with this mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform_fraction()).ln()
    }

    /// Fills a buffer with random bytes.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_give_their_published_numbers() {
        // splitmix64 from 0: the first three outputs of the reference implementation.
        let mut state = 0;
        let first: Vec<u64> = (0..3).map(|_| next_splitmix64(&mut state)).collect();
        assert_eq!(first, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        // xoshiro256++ from the state 1, 2, 3, 4: the first outputs of the reference implementation.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let mut seen = std::collections::BTreeSet::new();
        for (seed, worker, stream) in [(1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0)] {
            assert!(seen.insert(Rng::new(seed, worker, stream).next_u64()));
            assert_eq!(Rng::new(seed, worker, stream), Rng::new(seed, worker, stream));
        }
    }

    #[test]
    fn a_range_is_hit_evenly_and_to_its_ends() {
        let mut rng = Rng::new(7, 0, 0);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.uniform_between(10, 15) as usize - 10] += 1;
        }
        let chi_square: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 20.5, "5 degrees of freedom, p = 0.001: {chi_square} {counts:?}");
        assert_eq!(rng.uniform_between(3, 3), 3);
        // A range of three quarters of all numbers: a plain remainder would favour its first third twofold.
        let n = 3 << 62;
        let low = (0..30_000).filter(|_| rng.uniform_below(n) < n / 3).count();
        assert!((9_600..10_400).contains(&low), "{low}");
        rng.uniform_between(0, u64::MAX);
    }

    #[test]
    fn fractions_and_exponentials_have_their_moments() {
        let mut rng = Rng::new(7, 0, 1);
        let n = 200_000;
        let mean = (0..n).map(|_| rng.uniform_fraction()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        let draws: Vec<f64> = (0..n).map(|_| rng.exponential(3.0)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let square = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        assert!((square - 18.0).abs() < 0.5, "{square}");
        assert!(draws.iter().all(|x| x.is_finite() && *x >= 0.0));
    }
}
