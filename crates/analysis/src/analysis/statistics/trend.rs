//! Whether and how fast a series rises or falls, without trusting any single value: the median of all slopes (Theil
//! 1950, Sen 1968) and the test of Mann (1945) and Kendall (1975), its variance widened for values that depend on
//! those before them (Hamed and Rao, "A modified Mann-Kendall trend test for autocorrelated data", 1998).
//! Never knows: what the values count. Places are 0, 1, 2, ...: equal distances.

use super::robust::median_in_place;
use super::student::normal_cdf;
use super::time_series::autocorrelation;

/// Slope per place: the median of the slopes between all pairs. Up to 29 % of the values may be wild. `None` below two
/// values. The cost grows with the square of the number of values: made for hundreds.
pub fn theil_sen(values: &[f64]) -> Option<f64> {
    let mut slopes = Vec::with_capacity(values.len() * values.len().saturating_sub(1) / 2);
    for (i, low) in values.iter().enumerate() {
        for (j, high) in values.iter().enumerate().skip(i + 1) {
            slopes.push((high - low) / (j - i) as f64);
        }
    }
    median_in_place(&mut slopes)
}

/// What the test for a trend says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Pairs that rise less pairs that fall.
    pub s: f64,
    /// Kendall's tau, -1 to 1: `s` by the number of pairs.
    pub tau: f64,
    /// Two-sided probability of such an `s` without a trend.
    pub p: f64,
}

/// The test of Mann and Kendall with correction for ties, for continuity, and for values that depend on each other.
/// `None` below four values.
pub fn mann_kendall(values: &[f64]) -> Option<MannKendall> {
    let n = values.len();
    if n < 4 {
        return None;
    }
    let mut s = 0.0;
    for (i, low) in values.iter().enumerate() {
        for high in &values[i + 1..] {
            s += f64::from(high.total_cmp(low) as i8);
        }
    }
    let variance = variance_of_s(values) * variance_inflation(values);
    let z = if variance <= 0.0 || s == 0.0 { 0.0 } else { (s - s.signum()) / variance.sqrt() };
    let pairs = (n * (n - 1)) as f64 / 2.0;
    let p = (2.0 * normal_cdf(-z.abs())).min(1.0);
    Some(MannKendall { s, tau: s / pairs, p })
}

/// Variance of `s` of independent values, less what ties take away.
fn variance_of_s(values: &[f64]) -> f64 {
    let part = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| part(group.len() as f64)).sum();
    (part(values.len() as f64) - ties) / 18.0
}

/// By how much dependence between values widens the variance of `s`: from the autocorrelation of the ranks of what is
/// left without the trend, counting only lags where it is beyond chance. At least 1: values that alternate are not
/// taken for more than they are.
fn variance_inflation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let slope = theil_sen(values).unwrap_or(0.0);
    let flat: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - slope * i as f64).collect();
    let rho = autocorrelation(&mid_ranks(&flat), values.len() / 2);
    let sum: f64 = rho
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(lag, r)| r.abs() > 1.96 / (n - *lag as f64).sqrt())
        .map(|(lag, r)| {
            let rest = n - lag as f64;
            rest * (rest - 1.0) * (rest - 2.0) * r
        })
        .sum();
    (1.0 + 2.0 * sum / (n * (n - 1.0) * (n - 2.0))).max(1.0)
}

/// The place of each value in their order, from 1; equal values share the mean of their places.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut done = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = done as f64 + (group.len() as f64 + 1.0) / 2.0;
        group.iter().for_each(|place| ranks[*place] = rank);
        done += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    #[test]
    fn slopes_survive_wild_values() {
        let mut line: Vec<f64> = (0..20).map(|i| 3.0 + 0.5 * f64::from(i)).collect();
        assert_eq!(theil_sen(&line), Some(0.5));
        line[3] = 1e9;
        line[17] = -1e9;
        assert!((theil_sen(&line).unwrap() - 0.5).abs() < 0.1);
        assert_eq!(theil_sen(&[1.0]), None);
        assert_eq!(theil_sen(&[1.0, 3.0]), Some(2.0));
    }

    #[test]
    fn s_and_its_variance_by_hand() {
        // Five rising values: all 10 pairs rise, the variance is 5*4*15/18, z = 9 / 4.0825.
        let test = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((test.s, test.tau), (10.0, 1.0));
        assert!((test.p - 0.027_486).abs() < 1e-5, "{test:?}");
        // Ties: 1 1 2 2 has s = 4, variance (4*3*13 - 2 * 2*1*9) / 18 = 6.667, z = 3 / 2.582.
        assert!((variance_of_s(&[1.0, 1.0, 2.0, 2.0]) - 6.666_667).abs() < 1e-5);
        let test = mann_kendall(&[7.0; 9]).unwrap();
        assert_eq!((test.s, test.p), (0.0, 1.0));
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn tied_values_share_a_rank() {
        assert_eq!(mid_ranks(&[5.0, 1.0, 5.0, 0.0]), [3.5, 2.0, 3.5, 1.0]);
    }

    /// Share of series without a trend, each value `phi` of the one before and new noise, that are said to have one
    /// at p < .05.
    fn false_trends(phi: f64) -> f64 {
        let mut rng = Rng::new(7, 0, 0);
        let found = (0..400).filter(|_| {
            let mut last = 0.0;
            let series: Vec<f64> = (0..60)
                .map(|_| {
                    // Twelve uniform numbers less six: normal enough.
                    let noise: f64 = (0..12).map(|_| rng.uniform_fraction()).sum::<f64>() - 6.0;
                    last = phi * last + noise;
                    last
                })
                .collect();
            mann_kendall(&series).unwrap().p < 0.05
        });
        found.count() as f64 / 400.0
    }

    #[test]
    fn a_trend_is_seldom_seen_where_there_is_none() {
        // 400 repeats know a share of .05 to +-.022. Dependence that is not corrected for gives .3 at phi .6.
        let share = false_trends(0.0);
        assert!((0.02..=0.09).contains(&share), "{share}");
        let share = false_trends(0.6);
        assert!(share < 0.16, "{share}");
    }
}
