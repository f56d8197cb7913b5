//! Which key comes next: the distributions of the field, with the option names and defaults of sysbench 1.0.
//!
//! `zipfian` draws by rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6(3), 1996): constant time, no table, any exponent above 0. Low keys
//! are the frequent ones; `latest` is the same from the other end, as when the newest rows are read most.
//! `pareto` is the power law whose lower fifth gets four fifths of the draws when h is 0.2.
//! `gaussian` is the mean of some uniform numbers. `special` draws a share of its keys evenly from a small hot range
//! in the middle, and the others as `gaussian` does; sysbench takes the place within the hot range from the same
//! number that chose it, so that with a share of 75 % only the upper three quarters of the range are ever used, and
//! so it is here: results stay comparable.
//! Never knows: tables.

use serde::{Deserialize, Serialize};

use super::random::Rng;

/// Options of the distributions; the defaults are sysbench's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DistributionOptions {
    /// `--rand-spec-iter`: uniform numbers per draw of `gaussian` and `special`.
    pub spec_iter: u32,
    /// `--rand-spec-pct`: size of the hot range of `special`, percent of all keys.
    pub spec_pct: f64,
    /// `--rand-spec-res`: share of draws that fall into the hot range, percent.
    pub spec_res: f64,
    /// `--rand-pareto-h`: between 0 and 1; smaller is more uneven.
    pub pareto_h: f64,
    /// `--rand-zipfian-exp`: above 0; larger is more uneven.
    pub zipfian_exp: f64,
}

impl Default for DistributionOptions {
    fn default() -> DistributionOptions {
        DistributionOptions {
            spec_iter: 12,
            spec_pct: 1.0,
            spec_res: 75.0,
            pareto_h: 0.2,
            zipfian_exp: 0.8,
        }
    }
}

/// Why a distribution can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DistributionError {
    /// No distribution has this name.
    #[error("`{0}` is not a distribution; use {list}", list = Distribution::NAMES.join(", "))]
    Name(String),
    /// An option is outside its range.
    #[error("{0}")]
    Option(&'static str),
    /// There is no key to draw.
    #[error("the range of keys from {0} to {1} is empty")]
    Range(u64, u64),
}

/// A distribution over the keys of a range. Making one is cheap: make a new one when the range changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    low: u64,
    count: u64,
    rule: DistributionKind,
}

#[derive(Clone, Debug, PartialEq)]
enum DistributionKind {
    Uniform,
    Gaussian { draws: u32 },
    Special { draws: u32, hot: f64, share: f64 },
    Pareto { power: f64 },
    Zipfian(ZipfSampler),
    Latest(ZipfSampler),
}

impl Distribution {
    /// All names, as `--rand-type` takes them.
    pub const NAMES: [&'static str; 6] =
        ["uniform", "gaussian", "special", "pareto", "zipfian", "latest"];

    /// The distribution of this name over the keys from `low` to `high`, both included.
    ///
    /// # Errors
    /// When there is no such name, an option is outside its range, or the range of keys is empty.
    pub fn new(
        name: &str,
        shape: &DistributionOptions,
        low: u64,
        high: u64,
    ) -> Result<Distribution, DistributionError> {
        shape.check_ranges()?;
        let count = match high.checked_sub(low) {
            Some(span) if span < u64::MAX => span + 1,
            _ => return Err(DistributionError::Range(low, high)),
        };
        let draws = shape.spec_iter;
        let rule = match name {
            "uniform" => DistributionKind::Uniform,
            "gaussian" => DistributionKind::Gaussian { draws },
            "special" => DistributionKind::Special {
                draws,
                hot: shape.spec_pct / 100.0,
                share: shape.spec_res / 100.0,
            },
            "pareto" => DistributionKind::Pareto {
                power: shape.pareto_h.ln() / (1.0 - shape.pareto_h).ln(),
            },
            "zipfian" => DistributionKind::Zipfian(ZipfSampler::new(count, shape.zipfian_exp)),
            "latest" => DistributionKind::Latest(ZipfSampler::new(count, shape.zipfian_exp)),
            _ => return Err(DistributionError::Name(name.to_owned())),
        };
        Ok(Distribution { low, count, rule })
    }

    /// The next key.
    #[inline]
    pub fn next_key(&self, rng: &mut Rng) -> u64 {
        let offset = match &self.rule {
            DistributionKind::Uniform => rng.uniform_below(self.count),
            DistributionKind::Gaussian { draws } => self.offset_at(mean_of(rng, *draws)),
            DistributionKind::Special { draws, hot, share } => {
                let choice = rng.uniform_fraction();
                if choice < 1.0 - share {
                    self.offset_at(mean_of(rng, *draws))
                } else {
                    // At least one key is hot, however few there are.
                    let hot = hot.max(1.0 / self.count as f64);
                    self.offset_at(0.5 - hot / 2.0 + choice * hot)
                }
            }
            DistributionKind::Pareto { power } => {
                self.offset_at(rng.uniform_fraction().powf(*power))
            }
            DistributionKind::Zipfian(zipf) => zipf.draw_rank(rng) - 1,
            DistributionKind::Latest(zipf) => self.count - zipf.draw_rank(rng),
        };
        self.low + offset
    }

    /// The offset at this fraction of the range.
    fn offset_at(&self, fraction: f64) -> u64 {
        ((fraction * self.count as f64) as u64).min(self.count - 1)
    }
}

impl DistributionOptions {
    /// Whether every option is within its range.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn check_ranges(&self) -> Result<(), DistributionError> {
        let percent = 0.0..=100.0;
        let wrong = if self.spec_iter == 0 {
            "rand-spec-iter must be at least 1"
        } else if !percent.contains(&self.spec_pct) {
            "rand-spec-pct must be between 0 and 100"
        } else if !percent.contains(&self.spec_res) {
            "rand-spec-res must be between 0 and 100"
        } else if !(self.pareto_h > 0.0 && self.pareto_h < 1.0) {
            "rand-pareto-h must be above 0 and below 1"
        } else if !(self.zipfian_exp > 0.0 && self.zipfian_exp <= 100.0) {
            "rand-zipfian-exp must be above 0 and at most 100"
        } else {
            return Ok(());
        };
        Err(DistributionError::Option(wrong))
    }
}

fn mean_of(rng: &mut Rng, draws: u32) -> f64 {
    (0..draws).map(|_| rng.uniform_fraction()).sum::<f64>() / f64::from(draws)
}

/// Zipf's law on the ranks 1 to `count`: rank k is drawn in proportion to k to the power of minus `exponent`.
///
/// The discrete law is covered by the continuous one, h(x) = x^-e, whose integral H and its inverse are known: draw a
/// point of the area under h, take the rank it belongs to, and draw again if it lies above the rank's own bar.
#[derive(Clone, Debug, PartialEq)]
struct ZipfSampler {
    count: u64,
    exponent: f64,
    area_low: f64,
    area_high: f64,
    /// Points this close below their rank are under its bar for certain.
    sure: f64,
}

impl ZipfSampler {
    fn new(count: u64, exponent: f64) -> ZipfSampler {
        let mut zipf = ZipfSampler { count, exponent, area_low: 0.0, area_high: 0.0, sure: 0.0 };
        zipf.area_low = zipf.weight_integral(1.5) - 1.0;
        zipf.area_high = zipf.weight_integral(count as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse_integral(zipf.weight_integral(2.5) - zipf.rank_weight(2.0));
        zipf
    }

    fn rank_weight(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of x^-e: (x^(1-e) - 1) / (1-e), and the logarithm where e is 1.
    fn weight_integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let log = x.ln();
        if (power * log).abs() < 1e-9 { log } else { (power * log).exp_m1() / power }
    }

    fn inverse_integral(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let scaled = (power * area).max(-1.0);
        if scaled.abs() < 1e-9 { area.exp() } else { (scaled.ln_1p() / power).exp() }
    }

    fn draw_rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_high + rng.uniform_fraction() * (self.area_low - self.area_high);
            let x = self.inverse_integral(area);
            let rank = x.round().clamp(1.0, self.count as f64);
            if rank - x <= self.sure
                || area >= self.weight_integral(rank + 0.5) - self.rank_weight(rank)
            {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn draw(name: &str, shape: &DistributionOptions, low: u64, high: u64) -> Vec<u64> {
        let distribution = Distribution::new(name, shape, low, high).unwrap();
        let mut rng = Rng::new(42, 0, 0);
        (0..DRAWS).map(|_| distribution.next_key(&mut rng)).collect()
    }

    fn share(keys: &[u64], low: u64, high: u64) -> f64 {
        keys.iter().filter(|key| (low..=high).contains(key)).count() as f64 / keys.len() as f64
    }

    /// Pearson's statistic of drawn keys 1.. against their probabilities.
    fn chi_square(keys: &[u64], probabilities: &[f64]) -> f64 {
        let mut counts = vec![0.0; probabilities.len()];
        for &key in keys {
            counts[key as usize - 1] += 1.0;
        }
        let expected = probabilities.iter().map(|p| p * keys.len() as f64);
        counts.iter().zip(expected).map(|(count, e)| (count - e) * (count - e) / e).sum()
    }

    #[test]
    fn every_distribution_stays_within_its_range() {
        for name in Distribution::NAMES {
            for (low, high) in [(1, 1), (1, 2), (0, 9), (5, 104), (1, 100_000_000_000)] {
                let distribution =
                    Distribution::new(name, &DistributionOptions::default(), low, high).unwrap();
                let mut rng = Rng::new(1, 0, 0);
                for _ in 0..2000 {
                    let key = distribution.next_key(&mut rng);
                    assert!((low..=high).contains(&key), "{name} {low}..{high}: {key}");
                }
            }
        }
    }

    #[test]
    fn uniform_is_even() {
        let keys = draw("uniform", &DistributionOptions::default(), 1, 50);
        let statistic = chi_square(&keys, &[0.02; 50]);
        assert!(statistic < 85.4, "49 degrees of freedom, p = 0.001: {statistic}");
    }

    #[test]
    fn zipfian_follows_its_law_for_any_exponent() {
        for exponent in [0.5, 0.8, 0.99, 1.0, 1.000_000_001, 1.5, 3.0] {
            let shape =
                DistributionOptions { zipfian_exp: exponent, ..DistributionOptions::default() };
            let weights: Vec<f64> = (1..=20).map(|k| f64::from(k).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let probabilities: Vec<f64> = weights.iter().map(|w| w / sum).collect();
            let statistic = chi_square(&draw("zipfian", &shape, 1, 20), &probabilities);
            assert!(statistic < 43.9, "19 degrees of freedom, p = 0.001: {exponent}: {statistic}");
            let mut turned = draw("latest", &shape, 1, 20);
            turned.iter_mut().for_each(|key| *key = 21 - *key);
            let statistic = chi_square(&turned, &probabilities);
            assert!(statistic < 43.9, "latest, {exponent}: {statistic}");
        }
    }

    #[test]
    fn zipfian_is_right_over_many_keys_too() {
        // Share of the first 100 of a million keys at exponent 0.8: the sums of k^-0.8.
        let keys = draw("zipfian", &DistributionOptions::default(), 1, 1_000_000);
        let sum = |n: u32| (1..=n).map(|k| f64::from(k).powf(-0.8)).sum::<f64>();
        let expected = sum(100) / sum(1_000_000);
        assert!((share(&keys, 1, 100) - expected).abs() < 0.005, "{expected}");
    }

    #[test]
    fn pareto_gives_its_lower_part_the_rest_of_the_draws() {
        for h in [0.1, 0.2, 0.3] {
            let shape = DistributionOptions { pareto_h: h, ..DistributionOptions::default() };
            let keys = draw("pareto", &shape, 1, 10_000);
            let got = share(&keys, 1, (h * 10_000.0) as u64);
            assert!((got - (1.0 - h)).abs() < 0.005, "{h}: {got}");
        }
        // sysbench 1.0.20, a million draws of 1..10000: 66.0 % in the first twentieth, 27.9 % the first key.
        let keys = draw("pareto", &DistributionOptions::default(), 1, 10_000);
        assert!((share(&keys, 1, 500) - 0.6603).abs() < 0.005);
        assert!((share(&keys, 1, 1) - 0.2791).abs() < 0.005);
    }

    #[test]
    fn gaussian_has_the_moments_of_a_mean_of_uniforms() {
        let keys = draw("gaussian", &DistributionOptions::default(), 1, 10_000);
        let mean = keys.iter().sum::<u64>() as f64 / DRAWS as f64;
        let variance = keys.iter().map(|&k| (k as f64 - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        assert!((mean - 5000.5).abs() < 10.0, "{mean}");
        // A uniform number has the variance 1/12; the mean of 12 of them a twelfth of that: 10000/12 = 833.3.
        assert!((variance.sqrt() - 833.3).abs() < 8.0, "{}", variance.sqrt());
    }

    #[test]
    fn special_is_hot_in_the_middle_as_sysbench_is() {
        // sysbench 1.0.20: 75 % of the draws in the upper three quarters of a hot range of 100 keys, evenly.
        let keys = draw("special", &DistributionOptions::default(), 1, 10_000);
        let hot = share(&keys, 4976, 5050);
        assert!((hot - 0.75 - 0.25 * 0.036).abs() < 0.005, "{hot}");
        for from in [4976, 5001, 5026] {
            assert!((share(&keys, from, from + 24) - 0.253).abs() < 0.005, "{from}");
        }
        let beside = share(&keys, 4901, 4975);
        assert!(beside < 0.012, "{beside}");
        // A quarter of gaussian's share: sysbench 5.56 % and 4.01 % in these twentieths outside the hot range.
        assert!((share(&keys, 4001, 4500) - 0.0401).abs() < 0.003);
        let even =
            DistributionOptions { spec_res: 0.0, spec_iter: 1, ..DistributionOptions::default() };
        assert!((share(&draw("special", &even, 1, 100), 1, 50) - 0.5).abs() < 0.005);
    }

    #[test]
    fn what_is_no_distribution_is_said_so() {
        let make = |name: &str, shape: DistributionOptions| {
            Distribution::new(name, &shape, 1, 10).unwrap_err()
        };
        let message = make("zipf", DistributionOptions::default()).to_string();
        assert!(message.contains("`zipf`") && message.contains("zipfian, latest"), "{message}");
        let wrong = [
            DistributionOptions { spec_iter: 0, ..DistributionOptions::default() },
            DistributionOptions { spec_pct: 101.0, ..DistributionOptions::default() },
            DistributionOptions { spec_res: f64::NAN, ..DistributionOptions::default() },
            DistributionOptions { pareto_h: 1.0, ..DistributionOptions::default() },
            DistributionOptions { zipfian_exp: 0.0, ..DistributionOptions::default() },
        ];
        for shape in wrong {
            assert!(matches!(make("uniform", shape), DistributionError::Option(_)), "{shape:?}");
        }
        let empty = Distribution::new("uniform", &DistributionOptions::default(), 5, 4);
        assert_eq!(empty, Err(DistributionError::Range(5, 4)));
    }
}
