//! Verdicts by the same rules for what was not repeated in blocks: batches of paired events stand for them.

use super::super::findings::{ComparisonVerdict, MetricComparison};
use super::super::statistics::correction::ALPHA;
use super::judge::{ComparedValues, DecisionRule, StudyDesign, judge_metric};
use super::metric::ComparedMetric;

/// What is compared.
const SERVICE: ComparedMetric = ComparedMetric {
    name: "service_s",
    aliases: &[],
    title: "service time",
    label: "service time",
    show: super::super::number_format::format_time,
    more_is_better: false,
};
/// Fewest batches that carry a verdict.
pub(in super::super) const FEWEST: usize = 5;
/// Most batches: more of them would be too much alike one after the other.
const MOST: u64 = 40;

/// Values of one thing on two sides, by block, run or batch.
pub(in super::super) struct SidedValues {
    /// Which of them belong together.
    pub(in super::super) design: StudyDesign,
    /// In the base.
    pub(in super::super) base: Vec<(u32, f64)>,
    /// In the other.
    pub(in super::super) other: Vec<(u32, f64)>,
}

/// A verdict on each of many things, adjusted for being asked together; less is better.
pub(in super::super) fn judge_sides(
    (base, other): (&str, &str),
    all: Vec<SidedValues>,
    margin: f64,
) -> Vec<MetricComparison> {
    let values = |one: SidedValues| ComparedValues {
        variant: other.to_owned(),
        base: base.to_owned(),
        design: one.design,
        base_values: one.base,
        variant_values: one.other,
    };
    let values: Vec<ComparedValues> = all.into_iter().map(values).collect();
    judge_metric(&values, &SERVICE, DecisionRule { alpha: ALPHA, margin })
}

/// Larger batches of about the same size, one after the other, as means.
pub(in super::super) fn batch_means(batches: &[(u64, f64)]) -> Vec<f64> {
    let all: u64 = batches.iter().map(|batch| batch.0).sum();
    let least = all.div_ceil(MOST).max(batches.iter().map(|batch| batch.0).max().unwrap_or(1));
    let mut sums: Vec<(u64, f64)> = Vec::new();
    let mut open = (0, 0.0);
    for (count, sum) in batches {
        open = (open.0 + count, open.1 + sum);
        if open.0 >= least {
            sums.push(std::mem::take(&mut open));
        }
    }
    match sums.last_mut() {
        // What is left over is a batch of its own only if it is nearly one.
        Some(last) if open.0 * 2 < least => *last = (last.0 + open.0, last.1 + open.1),
        _ if open.0 > 0 => sums.push(open),
        _ => {}
    }
    sums.iter().map(|(count, sum)| sum / *count as f64).collect()
}

/// A verdict on each of many things, of which batches of ln(other / base) are known: how many, and their sum. What has
/// too few batches gets none, and does not count for the others.
pub(in super::super) fn judge_batches(
    names: (&str, &str),
    all: &[&[(u64, f64)]],
    margin: f64,
) -> Vec<MetricComparison> {
    let means: Vec<Vec<f64>> = all.iter().map(|batches| batch_means(batches)).collect();
    let is_carried = |place: &usize| means[*place].len() >= FEWEST;
    let (carried, few): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_carried);
    let sided = |place: &usize| {
        let numbered = |value: &dyn Fn(f64) -> f64| -> Vec<(u32, f64)> {
            (1..).zip(means[*place].iter().map(|mean| value(*mean))).collect()
        };
        SidedValues {
            design: StudyDesign::Paired,
            base: numbered(&|_| 1.0),
            other: numbered(&f64::exp),
        }
    };
    let judged = |places: Vec<usize>| {
        let sides = places.iter().map(sided).collect();
        places.into_iter().zip(judge_sides(names, sides, margin))
    };
    let mut found: Vec<(usize, MetricComparison)> = judged(carried).collect();
    found.extend(judged(few).map(|(place, mut one)| {
        one.verdict = ComparisonVerdict::Unsure;
        one.ratio.ci95 = None;
        (one.p, one.detectable, one.more_blocks) = (None, None, None);
        let statements: u64 = all[place].iter().map(|batch| batch.0).sum();
        one.notes = vec![format!("{statements} of them are too few for a verdict")];
        (place, one)
    }));
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    #[test]
    fn batches_grow_until_they_are_few_and_alike() {
        let even: Vec<(u64, f64)> = (0..1000).map(|n| (10, f64::from(n))).collect();
        let found = batch_means(&even);
        assert_eq!(found.len(), 40);
        // 25 batches of ten: sums 0 + 1 + .. + 24.
        assert!((found[0] - 300.0 / 250.0).abs() < 1e-12, "{}", found[0]);
        // A short rest belongs to the last one, a long one stands alone.
        assert_eq!(batch_means(&[(100, 100.0), (100, 100.0), (10, 120.0)]), [1.0, 2.0]);
        assert_eq!(batch_means(&[(100, 100.0), (100, 100.0), (60, 120.0)]), [1.0, 1.0, 2.0]);
        assert_eq!(batch_means(&[]), Vec::<f64>::new());
    }

    fn noisy(rng: &mut Rng, ln: f64, batches: u32) -> Vec<(u64, f64)> {
        let mut one = || {
            ln + 0.4
                * (rng.uniform_fraction() + rng.uniform_fraction() + rng.uniform_fraction() - 1.5)
        };
        (0..batches).map(|_| (20, (0..20).map(|_| one()).sum())).collect()
    }

    #[test]
    fn verdicts_are_those_of_the_numbers() {
        let mut rng = Rng::new(3, 0, 0);
        let all = [(0.7, 30), (0.0, 4000), (-0.3, 30), (2.0, 4)];
        let all = all.map(|(ln, batches)| noisy(&mut rng, ln, batches));
        let found = judge_batches(("recorded", "replayed"), &all.each_ref().map(|b| &b[..]), 0.02);
        let words: Vec<&str> = found.iter().map(|c| c.verdict.as_str()).collect();
        assert_eq!(words, ["worse", "same", "better", "unsure"]);
        assert!((found[0].ratio.value.unwrap() - 0.7f64.exp()).abs() < 0.1);
        assert_eq!(found[3].notes, ["80 of them are too few for a verdict"]);
        assert!(found[3].ratio.value.is_some() && found[3].ratio.ci95.is_none());
    }

    #[test]
    fn nothing_but_noise_is_seldom_called_a_change() {
        let mut rng = Rng::new(11, 0, 0);
        let mut wrong = 0;
        for _ in 0..200 {
            let batches = (0..10).map(|_| noisy(&mut rng, 0.0, 20)).collect::<Vec<_>>();
            let all: Vec<&[(u64, f64)]> = batches.iter().map(|b| &b[..]).collect();
            let found = judge_batches(("a", "b"), &all, 0.02);
            let claims = |c: &MetricComparison| {
                matches!(c.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse)
            };
            wrong += u32::from(found.iter().any(claims));
        }
        // Ten classes at a time, 5 % in all.
        assert!(wrong <= 14, "{wrong} of 200");
    }
}
