//! Checks that assume no distribution, all exact: Wilcoxon's signed ranks with the Hodges-Lehmann estimate and the
//! interval of Walsh averages, and the test of Mann and Whitney.
//! Sources: Wilcoxon, 1945; Mann and Whitney, 1947; Hodges and Lehmann, 1963; Hollander and Wolfe, "Nonparametric
//! Statistical Methods", 3.1 to 3.3 and 4.1. Equal values get mid-ranks, differences of nothing are left out.

use std::ops::Range;

/// Beyond so many values the exact table of Mann and Whitney gives way to the normal curve, which is then as good.
const EXACT_RUNS: usize = 60;

/// Twice the mid-ranks of these values, in their order: whole numbers even where values are equal.
fn double_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let equal = order[first..].iter().take_while(|&&o| values[o] == values[order[first]]);
        let last = first + equal.count() - 1;
        for &place in &order[first..=last] {
            ranks[place] = first + last + 2;
        }
        first = last + 1;
    }
    ranks
}

/// Twice the smaller of the two tails of a distribution at `at`, at most 1.
fn two_tails(chances: &[f64], at: usize) -> f64 {
    let tail = |range: Range<usize>| chances[range].iter().sum::<f64>();
    let smaller = tail(0..at + 1).min(tail(at..chances.len()));
    (2.0 * smaller).min(1.0)
}

/// Chance of each sum, when each of these parts is in it or not with equal chance.
fn sum_distribution(parts: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; parts.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    let mut reach = 0;
    for part in parts {
        reach += part;
        for sum in (0..=reach).rev() {
            let with = if sum >= *part { chances[sum - part] } else { 0.0 };
            chances[sum] = 0.5 * (chances[sum] + with);
        }
    }
    chances
}

/// Wilcoxon's signed ranks: chance of differences as lopsided as these, if they were as likely up as down. Two-sided,
/// exact. 1 if none differs.
pub(crate) fn signed_rank_p(differences: &[f64]) -> f64 {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = moved.iter().map(|d| d.abs()).collect();
    let ranks = double_ranks(&sizes);
    let up = moved.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    two_tails(&sum_distribution(&ranks), up)
}

/// Estimate of Hodges and Lehmann, the median of all pairwise averages, and the interval of these averages that covers
/// the centre in at least a share 1 - `alpha` of all experiments; no interval where so few can't give one. `None`
/// without differences.
pub(crate) fn hodges_lehmann(differences: &[f64], alpha: f64) -> Option<(f64, Option<(f64, f64)>)> {
    let n = differences.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (place, a) in differences.iter().enumerate() {
        averages.extend(differences[place..].iter().map(|b| 0.5 * (a + b)));
    }
    averages.sort_by(f64::total_cmp);
    let last = averages.len().checked_sub(1)?;
    let median = 0.5 * (averages[last / 2] + averages[last.div_ceil(2)]);
    let chances = sum_distribution(&(1..=n).collect::<Vec<_>>());
    let mut below = 0.0;
    let outside = chances.iter().take_while(|chance| {
        below += **chance;
        below <= alpha / 2.0
    });
    let interval = outside.count().checked_sub(1).map(|c| (averages[c], averages[last - c]));
    Some((median, interval))
}

/// Mann and Whitney: chance that two samples are as far apart as these, if they came from the same source. Two-sided,
/// exact up to 60 values together. 1 if one is empty.
pub(crate) fn mann_whitney_p(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = double_ranks(&all);
    let sum_a: usize = ranks[..a.len()].iter().sum();
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    if all.len() > EXACT_RUNS {
        return mann_whitney_normal(&ranks, a.len(), sum_a);
    }
    // ways[k][s]: in how many ways k of the values have ranks that sum to s.
    let total: usize = ranks.iter().sum();
    let mut variants = vec![vec![0.0; total + 1]; a.len() + 1];
    variants[0][0] = 1.0;
    for rank in &ranks {
        for k in (1..=a.len()).rev() {
            let (fewer, same) = variants.split_at_mut(k);
            for sum in *rank..=total {
                same[0][sum] += fewer[k - 1][sum - rank];
            }
        }
    }
    let all_ways: f64 = variants[a.len()].iter().sum();
    let chances: Vec<f64> = variants[a.len()].iter().map(|w| w / all_ways).collect();
    two_tails(&chances, sum_a)
}

/// The same by the normal curve, with the variance that equal values leave and half a step of continuity.
fn mann_whitney_normal(ranks: &[usize], n: usize, sum: usize) -> f64 {
    let (all, first) = (ranks.len() as f64, n as f64);
    let mean = ranks.iter().sum::<usize>() as f64 / all;
    let squares: f64 = ranks.iter().map(|r| (*r as f64 - mean) * (*r as f64 - mean)).sum();
    let variance = first * (all - first) / (all * (all - 1.0)) * squares;
    let away = ((sum as f64 - first * mean).abs() - 1.0).max(0.0);
    if variance > 0.0 { super::student::erfc(away / (2.0 * variance).sqrt()) } else { 1.0 }
}

/// The smallest chance that [`mann_whitney_p`] can give for samples of these sizes: 2 / (n + m choose n).
pub(crate) fn least_mann_whitney_p(n: usize, m: usize) -> f64 {
    let choices: f64 = (1..=n.min(m)).map(|k| (n.max(m) + k) as f64 / k as f64).product();
    (2.0 / choices).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9, "{got} is not {want}");
    }

    #[test]
    fn signed_ranks_are_exact() {
        near(signed_rank_p(&[0.03, 0.05, -0.01, 0.04, 0.02, 0.06, 0.015]), 0.03125);
        near(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.03125);
        // The heights of Darwin's maize, Fisher 1935: the exact chance is 0.0413 two-sided.
        let maize = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        near(signed_rank_p(&maize), 0.041_259_765_625);
        // As many up as down, and nothing at all.
        near(signed_rank_p(&[1.0, -1.0, 2.0, -2.0]), 1.0);
        near(signed_rank_p(&[0.0, 0.0]), 1.0);
        near(signed_rank_p(&[]), 1.0);
    }

    #[test]
    fn equal_sizes_share_their_ranks() {
        // Ranks 1.5, 1.5, 3: sums of the positive ones 0 1.5 1.5 3 3 4.5 4.5 6, here 4.5: 3 of 8 at or above.
        near(signed_rank_p(&[-1.0, 1.0, 2.0]), 0.75);
        assert_eq!(double_ranks(&[5.0, 1.0, 5.0, 0.0]), [7, 4, 7, 2]);
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "3.14 is a score that was measured")]
    fn the_interval_is_that_of_the_averages() {
        let six = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06];
        // With six, only the outermost averages leave 1 of 32 outside.
        let (centre_of_six, interval) = hodges_lehmann(&six, 0.05).unwrap();
        near(centre_of_six, 0.035);
        assert_eq!(interval, Some((0.01, 0.06)));
        assert_eq!(hodges_lehmann(&six, 0.03).unwrap().1, None);
        assert_eq!(hodges_lehmann(&six[..5], 0.05).unwrap().1, None);
        assert_eq!(hodges_lehmann(&[], 0.05), None);
        // Hollander and Wolfe, example 3.1 (depression scores): the estimate is -0.46, the interval to 96.1 %.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let d: Vec<f64> = before.iter().zip(after).map(|(b, a): (&f64, f64)| a - b).collect();
        let (estimate, interval) = hodges_lehmann(&d, 0.04).unwrap();
        near(estimate, -0.46);
        let (low, high) = interval.unwrap();
        near(low, -0.786);
        near(high, -0.01);
    }

    #[test]
    fn mann_whitney_is_exact() {
        // Wholly apart: two of all choices.
        for (n, m, want) in [(3, 3, 0.1), (4, 4, 0.028_571_428_571), (5, 5, 0.007_936_507_936)] {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = (0..m).map(|v| 100.0 + f64::from(v)).collect();
            near(mann_whitney_p(&a, &b), want);
            near(least_mann_whitney_p(n as usize, m as usize), want);
        }
        // Hollander and Wolfe, table 4.1 (permeability of membranes): W = 30, 0.2544 two-sided.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks = [1.15, 0.88, 0.90, 0.74, 1.21];
        near(mann_whitney_p(&term, &weeks), 0.254_412_254_412);
        near(mann_whitney_p(&[1.0, 1.0], &[1.0, 1.0, 1.0]), 1.0);
        near(mann_whitney_p(&[], &[1.0]), 1.0);
    }

    #[test]
    fn many_values_are_near_the_exact_ones() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let b: Vec<f64> = (0..30).map(|v| f64::from(v) + 6.5).collect();
        let ranks = double_ranks(&a.iter().chain(&b).copied().collect::<Vec<_>>());
        let normal = mann_whitney_normal(&ranks, 30, ranks[..30].iter().sum());
        assert!((normal - mann_whitney_p(&a, &b)).abs() < 2e-3);
    }
}
