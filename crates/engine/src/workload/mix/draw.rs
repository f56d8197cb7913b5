//! How values are drawn, with all names looked up: nothing here allocates while it draws.
//! Formulas of the laws: Zipf and the others of sysbench in `base::distribution`; exponential as YCSB has it, a share of
//! the keys gets a percentile of the draws; hotspot, a share of the keys gets a share of the draws.

use super::formula::{Formula, Scalar};
use super::scrambled::ScrambledZipf;
use super::spec::{LawSpec, LengthSpec, PauseRule, YcsbKeyForm};
use crate::base::distribution::{Distribution, DistributionError, DistributionOptions};
use crate::base::random::Rng;

/// Where a value is while the load runs: its slot, and which field of a dictionary's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotField {
    pub(super) slot: usize,
    pub(super) field: usize,
}

/// A formula over slots.
pub(super) type SlotFormula = Formula<SlotField>;

/// Whole numbers of a range, by a law.
#[derive(Clone, Debug)]
pub(super) struct KeySampler {
    low: i64,
    count: u64,
    law: KeyLaw,
    scatter: Option<KeyPermutation>,
}

#[derive(Clone, Debug)]
enum KeyLaw {
    Known(Distribution),
    Exponential { gamma: f64 },
    Hotspot { hot: u64, draws: f64 },
    Normal { mean: f64, deviation: f64 },
    Scrambled(ScrambledZipf),
}

impl KeySampler {
    /// The whole numbers from `low` to `high`; `scatter` is the seed of a permutation of them.
    ///
    /// # Errors
    /// When the range is empty, or has more numbers than 64 bits count.
    pub(super) fn new(
        low: i64,
        high: i64,
        law: LawSpec,
        scatter: Option<u64>,
    ) -> Result<KeySampler, String> {
        let count = i128::from(high) - i128::from(low) + 1;
        let count = match u64::try_from(count) {
            Ok(count) if count > 0 => count,
            _ if count > 0 => return Err(format!("the range from {low} to {high} is too large")),
            _ => return Err(format!("the range from {low} to {high} is empty")),
        };
        let known = |name: &str, shape: DistributionOptions| {
            let made = Distribution::new(name, &shape, 0, count - 1);
            made.map(KeyLaw::Known).map_err(|error: DistributionError| error.to_string())
        };
        let plain = DistributionOptions::default();
        let law = match law {
            LawSpec::Uniform => known("uniform", plain)?,
            LawSpec::Special => known("special", plain)?,
            LawSpec::Zipfian { exponent } => {
                known("zipfian", DistributionOptions { zipfian_exp: exponent, ..plain })?
            }
            LawSpec::Latest { exponent } => {
                known("latest", DistributionOptions { zipfian_exp: exponent, ..plain })?
            }
            LawSpec::Pareto { h } => known("pareto", DistributionOptions { pareto_h: h, ..plain })?,
            LawSpec::Gaussian { draws } => {
                known("gaussian", DistributionOptions { spec_iter: draws, ..plain })?
            }
            LawSpec::Exponential { percentile, share } => KeyLaw::Exponential {
                gamma: -(1.0 - percentile / 100.0).ln() / (count as f64 * share),
            },
            LawSpec::Hotspot { keys, draws } => {
                let hot = ((count as f64 * keys) as u64).clamp(1, count);
                KeyLaw::Hotspot { hot, draws: if hot == count { 1.0 } else { draws } }
            }
            LawSpec::Normal { mean, deviation } => {
                KeyLaw::Normal { mean: mean - low as f64, deviation }
            }
            LawSpec::Scrambled { among, is_go } => {
                let among = if among == 0 { count } else { among };
                KeyLaw::Scrambled(ScrambledZipf::new(among, is_go))
            }
        };
        let scatter = scatter.map(|seed| KeyPermutation::new(seed, count));
        Ok(KeySampler { low, count, law, scatter })
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> i64 {
        let rank = match &self.law {
            KeyLaw::Known(distribution) => distribution.next_key(rng),
            KeyLaw::Exponential { gamma } => loop {
                let rank = rng.exponential(1.0 / gamma) as u64;
                if rank < self.count {
                    break rank;
                }
            },
            KeyLaw::Hotspot { hot, draws } => match rng.uniform_fraction() < *draws {
                true => rng.uniform_below(*hot),
                false => hot + rng.uniform_below(self.count - hot),
            },
            KeyLaw::Normal { mean, deviation } => {
                let drawn = mean + deviation * draw_normal(rng);
                drawn.round().clamp(0.0, (self.count - 1) as f64) as u64
            }
            KeyLaw::Scrambled(zipf) => zipf.draw_key(self.count, rng),
        };
        let offset = self.scatter.as_ref().map_or(rank, |scatter| scatter.apply(rank));
        self.low.wrapping_add(offset as i64)
    }
}

/// A number of the normal distribution with mean 0 and deviation 1 (Box and Muller, 1958).
pub(super) fn draw_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.uniform_fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.uniform_fraction()).cos()
}

/// A permutation of the numbers below a count: four rounds of a Feistel network over the next even number of bits, gone
/// through again while the result lies beyond the count.
#[derive(Clone, Debug)]
struct KeyPermutation {
    keys: [u64; 4],
    half_bits: u32,
    count: u64,
}

impl KeyPermutation {
    fn new(seed: u64, count: u64) -> KeyPermutation {
        let mut rng = Rng::new(seed, 0, 0);
        let bits = 64 - (count - 1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        KeyPermutation { keys: std::array::from_fn(|_| rng.next_u64()), half_bits, count }
    }

    fn apply(&self, number: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let mut number = number;
        loop {
            let (mut left, mut right) = (number >> self.half_bits, number & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix_bits(right ^ key) & mask));
            }
            number = left << self.half_bits | right;
            if number < self.count {
                return number;
            }
        }
    }
}

fn mix_bits(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a, 64 bits, of these bytes (Fowler, Noll, Vo).
pub(super) fn hash_bytes(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The number behind `user` in a key of YCSB: FNV-1a of the number's eight bytes without its sign, the low byte first in the
/// Java program, the high byte first in the Go program.
pub(super) fn ycsb_key_number(number: u64, is_go: bool) -> u64 {
    let bytes = if is_go { number.to_be_bytes() } else { number.to_le_bytes() };
    (hash_bytes(bytes) as i64).unsigned_abs()
}

/// A law over a range as it stood when a number was last drawn.
#[derive(Clone, Debug)]
pub(super) struct GrowingSampler {
    ends: (i64, i64),
    of: LawSpec,
    keys: KeySampler,
}

impl GrowingSampler {
    /// Draws from this range, for which `kept` is made anew where it has changed; `None` where it is empty.
    pub(super) fn draw(
        kept: &mut Option<Box<GrowingSampler>>,
        ends: (i64, i64),
        of: LawSpec,
        rng: &mut Rng,
    ) -> Option<i64> {
        if let Some(sampler) = kept {
            if (sampler.ends, sampler.of) != (ends, of) {
                let keys = KeySampler::new(ends.0, ends.1, of, None).ok()?;
                **sampler = GrowingSampler { ends, of, keys };
            }
            return Some(sampler.keys.draw(rng));
        }
        let keys = KeySampler::new(ends.0, ends.1, of, None).ok()?;
        let sampler = kept.insert(Box::new(GrowingSampler { ends, of, keys }));
        Some(sampler.keys.draw(rng))
    }
}

/// A rule, with all names looked up.
#[derive(Clone, Debug)]
pub(super) enum DrawRule {
    Constant,
    Keys(KeySampler),
    /// A range whose ends are computed anew each time.
    Between(SlotFormula, SlotFormula),
    /// The same by a law.
    Growing {
        low: SlotFormula,
        high: SlotFormula,
        law: LawSpec,
    },
    /// The highest number of a counter up to which all are stored.
    LastUnique {
        counter: usize,
    },
    Real {
        low: SlotFormula,
        high: SlotFormula,
        digits: Option<u8>,
    },
    Letters {
        length: LengthSpec,
        letters: Box<[u8]>,
    },
    Words {
        length: LengthSpec,
        data: usize,
    },
    Pattern(Box<[u8]>),
    Template(Box<[DrawPart]>),
    /// An entry of a dictionary by chance.
    Pick {
        data: usize,
        keys: KeySampler,
    },
    /// The entries in turn, by each worker.
    PickNext {
        data: usize,
    },
    /// The entries in turn, all workers together.
    PickShared {
        data: usize,
    },
    Unique {
        counter: usize,
        is_shared: bool,
    },
    Uuid {
        version: u8,
    },
    Time {
        low: i64,
        high: i64,
    },
    Mixture {
        total: f64,
        rules: Box<[(f64, DrawRule)]>,
    },
    Computed(SlotFormula),
    Hash(SlotFormula),
    YcsbKey {
        number: SlotFormula,
        form: YcsbKeyForm,
    },
    YcsbText {
        key: SlotFormula,
        prefix: Box<[u8]>,
        field: SlotFormula,
        length: usize,
    },
}

/// Fills a text that holds `KEY:FIELD` as YCSB does where it checks values: colons and hashes of all before them, those of Java's
/// strings, up to this length.
pub(super) fn fill_ycsb_text(text: &mut Vec<u8>, length: usize) {
    let (mut hash, mut hashed) = (0_i32, 0);
    while text.len() < length {
        text.push(b':');
        for byte in &text[hashed..] {
            hash = hash.wrapping_mul(31).wrapping_add(i32::from(*byte));
        }
        hashed = text.len();
        write_scalar(Scalar::Int(i64::from(hash)), text);
    }
    text.truncate(length);
}

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum DrawPart {
    Literal(Box<[u8]>),
    Letters(usize),
    Digits(usize),
    Value(SlotFormula, usize),
}

/// A value's rule and its share of NULLs.
#[derive(Clone, Debug)]
pub(super) struct DrawPlan {
    pub(super) null_share: f64,
    pub(super) rule: DrawRule,
}

impl DrawRule {
    /// The dictionary that it picks from.
    pub(super) fn picked_data(&self) -> Option<usize> {
        match self {
            DrawRule::Pick { data, .. }
            | DrawRule::PickNext { data }
            | DrawRule::PickShared { data } => Some(*data),
            _ => None,
        }
    }

    /// Tells every slot that it needs.
    pub(super) fn for_each_slot(&self, told: &mut dyn FnMut(SlotField)) {
        let mut of = |formula: &SlotFormula| formula.for_each_name(&mut |name| told(*name));
        match self {
            DrawRule::Between(low, high)
            | DrawRule::Growing { low, high, .. }
            | DrawRule::Real { low, high, .. } => {
                of(low);
                of(high);
            }
            DrawRule::Computed(formula)
            | DrawRule::Hash(formula)
            | DrawRule::YcsbKey { number: formula, .. } => of(formula),
            DrawRule::YcsbText { key, field, .. } => {
                of(key);
                of(field);
            }
            DrawRule::Template(parts) => parts.iter().for_each(|part| {
                if let DrawPart::Value(formula, _) = part {
                    of(formula);
                }
            }),
            DrawRule::Mixture { rules, .. } => {
                rules.iter().for_each(|(_, rule)| rule.for_each_slot(told));
            }
            _ => {}
        }
    }
}

pub(super) fn draw_length(length: &LengthSpec, rng: &mut Rng) -> usize {
    match length {
        LengthSpec::Between(low, high) => rng.uniform_between(*low, *high) as usize,
        LengthSpec::LogNormal { median, sigma } => {
            // A tail beyond eight times the median would be what one row in ten thousand is.
            let drawn = median * (sigma * draw_normal(rng)).exp();
            drawn.clamp(1.0, (median * 8.0).max(1.0)) as usize
        }
    }
}

impl PauseRule {
    /// A pause, nanoseconds.
    pub(super) fn draw_ns(&self, rng: &mut Rng) -> u64 {
        let drawn = match *self {
            PauseRule::Fixed(time) => time,
            PauseRule::Uniform(low, high) => low + (high - low) * rng.uniform_fraction(),
            PauseRule::Exponential { mean } => rng.exponential(mean),
            PauseRule::LogNormal { median, sigma } => median * (sigma * draw_normal(rng)).exp(),
            PauseRule::Normal { mean, deviation } => mean + deviation * draw_normal(rng),
        };
        drawn.clamp(0.0, 366.0 * 86_400.0 * 1e9) as u64
    }
}

/// Writes a value as a text.
pub(super) fn write_scalar(value: Scalar<'_>, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let written = match value {
        Scalar::Null => Ok(()),
        Scalar::Int(number) => write!(out, "{number}"),
        Scalar::Real(number) => write!(out, "{number}"),
        Scalar::Text(text) => {
            out.extend_from_slice(text);
            Ok(())
        }
    };
    written.expect("a vector takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn draw_all(law: LawSpec, low: i64, high: i64, scatter: Option<u64>) -> Vec<i64> {
        let range = KeySampler::new(low, high, law, scatter).unwrap();
        let mut rng = Rng::new(3, 0, 0);
        (0..DRAWS).map(|_| range.draw(&mut rng)).collect()
    }

    fn share(keys: &[i64], fits: impl Fn(i64) -> bool) -> f64 {
        keys.iter().filter(|key| fits(**key)).count() as f64 / keys.len() as f64
    }

    #[test]
    fn every_law_stays_within_its_range() {
        let laws = [
            LawSpec::Uniform,
            LawSpec::Zipfian { exponent: 1.1 },
            LawSpec::Latest { exponent: 0.99 },
            LawSpec::Pareto { h: 0.2 },
            LawSpec::Gaussian { draws: 12 },
            LawSpec::Special,
            LawSpec::Exponential { percentile: 95.0, share: 0.5 },
            LawSpec::Hotspot { keys: 0.2, draws: 0.8 },
            LawSpec::Normal { mean: 0.0, deviation: 50.0 },
            LawSpec::Scrambled { among: 0, is_go: false },
            LawSpec::Scrambled { among: 5000, is_go: true },
        ];
        for law in laws {
            for (low, high) in [(1, 1), (-5, 5), (1, 1000), (i64::MAX - 3, i64::MAX)] {
                for scatter in [None, Some(7)] {
                    let range = KeySampler::new(low, high, law, scatter).unwrap();
                    let mut rng = Rng::new(1, 0, 0);
                    for _ in 0..500 {
                        let key = range.draw(&mut rng);
                        assert!((low..=high).contains(&key), "{law:?} {low}..{high}: {key}");
                    }
                }
            }
        }
        assert!(KeySampler::new(2, 1, LawSpec::Uniform, None).is_err());
        assert!(KeySampler::new(i64::MIN, i64::MAX, LawSpec::Uniform, None).is_err());
    }

    #[test]
    fn the_hottest_hundredth_has_the_share_that_theory_gives_it() {
        let theory = |exponent: f64, of: u32| {
            let sum = |n: u32| (1..=n).map(|k| f64::from(k).powf(-exponent)).sum::<f64>();
            sum(of / 100) / sum(of)
        };
        for exponent in [0.8, 0.99, 1.1] {
            let keys = draw_all(LawSpec::Zipfian { exponent }, 1, 100_000, None);
            let got = share(&keys, |key| key <= 1000);
            assert!((got - theory(exponent, 100_000)).abs() < 0.01, "{exponent}: {got}");
            let newest = draw_all(LawSpec::Latest { exponent }, 1, 100_000, None);
            let got = share(&newest, |key| key > 99_000);
            assert!((got - theory(exponent, 100_000)).abs() < 0.01, "latest {exponent}: {got}");
        }
        let hot = draw_all(LawSpec::Hotspot { keys: 0.05, draws: 0.6 }, 1, 1000, None);
        assert!((share(&hot, |key| key <= 50) - 0.6).abs() < 0.01);
        let law = LawSpec::Exponential { percentile: 95.0, share: 0.5 };
        let early = draw_all(law, 1, 1000, None);
        // 95 % of all draws, those beyond the keys drawn again: 0.95 / (1 - 0.05^2).
        assert!((share(&early, |key| key <= 500) - 0.952_4).abs() < 0.01);
        let normal = draw_all(LawSpec::Normal { mean: 500.0, deviation: 100.0 }, 1, 1000, None);
        assert!((share(&normal, |key| (400..=600).contains(&key)) - 0.684).abs() < 0.01);
    }

    #[test]
    fn scattered_keys_are_a_permutation_whose_neighbours_are_apart() {
        for count in [1_u64, 2, 3, 7, 64, 1000, 4097] {
            let permutation = KeyPermutation::new(5, count);
            let mut seen: Vec<u64> = (0..count).map(|n| permutation.apply(n)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{count}");
        }
        // Spearman's rho of rank and key.
        let count = 100_000_u64;
        let permutation = KeyPermutation::new(5, count);
        let mean = (count - 1) as f64 / 2.0;
        let sum: f64 =
            (0..count).map(|n| (n as f64 - mean) * (permutation.apply(n) as f64 - mean)).sum();
        let rho = sum * 12.0 / (count as f64 * (count as f64 * count as f64 - 1.0));
        assert!(rho.abs() < 0.02, "{rho}");
    }

    #[test]
    fn texts_that_ycsb_checks_follow_from_key_and_field() {
        // Computed apart from this, with the hash of Java's strings.
        let mut text = b"user1:field0".to_vec();
        fill_ycsb_text(&mut text, 40);
        assert_eq!(String::from_utf8(text).unwrap(), "user1:field0:-1268391216:957204686:-1707");
        let mut short = b"user1:field0".to_vec();
        fill_ycsb_text(&mut short, 5);
        assert_eq!(short, b"user1");
    }

    #[test]
    fn keys_of_ycsb_are_those_of_both_programs() {
        for (number, java, go) in [
            (0, 6_284_781_860_667_377_211, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620, 6_284_782_960_179_005_422),
            (2, 1_820_151_046_732_198_393, 6_284_784_059_690_633_633),
            (999, 2_071_219_101_098_386_137, 6_283_716_433_899_829_977),
        ] {
            assert_eq!(ycsb_key_number(number, false), java, "{number}");
            assert_eq!(ycsb_key_number(number, true), go, "{number}");
        }
    }

    #[test]
    fn pauses_have_their_means() {
        let mut rng = Rng::new(1, 0, 0);
        let mut mean = |rule: PauseRule| {
            (0..DRAWS).map(|_| rule.draw_ns(&mut rng) as f64).sum::<f64>() / DRAWS as f64
        };
        assert_eq!(mean(PauseRule::Fixed(7.0)), 7.0);
        assert!((mean(PauseRule::Uniform(1e6, 3e6)) - 2e6).abs() < 1e4);
        assert!((mean(PauseRule::Exponential { mean: 1e6 }) - 1e6).abs() < 2e4);
        // The mean of a log-normal law is its median times e^(sigma^2 / 2).
        let median = PauseRule::LogNormal { median: 1e6, sigma: 0.5 };
        assert!((mean(median) - 1.133e6).abs() < 2e4);
    }
}
