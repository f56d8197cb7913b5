//! Middle and spread that a few wild values don't move: median, scaled median absolute deviation (MAD), quartile
//! fences (Tukey, "Exploratory Data Analysis", 1977), and the median of a window that slides along a series.
//! Never knows: what the numbers count.

use std::collections::VecDeque;

/// Makes the MAD of a normal distribution equal to its standard deviation: 1 by the 0.75 quantile of N(0, 1).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// The middle value, or the mean of the two middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    median_in_place(&mut values)
}

/// The same without a copy; the order of the values is lost.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len() % 2 == 0;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(midpoint(lower, upper))
}

/// Spread in units of the values, comparable to a standard deviation: 1.4826 times the median distance from the
/// median. Half of the values may be wild without effect; 0 if more than half are equal. `None` of nothing.
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let mut distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    Some(MAD_TO_SIGMA * median_in_place(&mut distances)?)
}

/// The median of the values around each place: `window` of them where there are so many on both sides, fewer at the
/// edges. An even window counts as the next odd one. As long as `values`; a window of `w` costs about the move of
/// `w/2` numbers per place, so that 100 000 places take some milliseconds.
pub fn rolling_median(values: &[f64], window: usize) -> Vec<f64> {
    let reach = window / 2;
    let mut sorted: Vec<f64> = Vec::with_capacity(2 * reach + 2);
    let mut inside: VecDeque<f64> = VecDeque::with_capacity(2 * reach + 2);
    let mut medians = Vec::with_capacity(values.len());
    let mut next = 0;
    for place in 0..values.len() {
        while next < values.len() && next <= place + reach {
            let value = values[next];
            sorted.insert(sorted.partition_point(|v| v.total_cmp(&value).is_lt()), value);
            inside.push_back(value);
            next += 1;
        }
        if place > reach {
            if let Some(gone) = inside.pop_front() {
                sorted.remove(sorted.partition_point(|v| v.total_cmp(&gone).is_lt()));
            }
        }
        medians.push(middle_of_sorted(&sorted));
    }
    medians
}

fn middle_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        midpoint(sorted[middle - 1], sorted[middle])
    }
}

fn midpoint(low: f64, high: f64) -> f64 {
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_of_few() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 5.0, 6.0]), Some(5.5));
        assert_eq!(median(&[-1.0, -9.0, 5.0]), Some(-1.0));
    }

    #[test]
    fn one_wild_value_moves_nothing() {
        let calm = [10.0, 11.0, 12.0, 13.0, 14.0];
        let wild = [10.0, 11.0, 12.0, 13.0, 1e9];
        assert_eq!(mad(&calm), Some(MAD_TO_SIGMA));
        assert_eq!(mad(&calm), mad(&wild));
        assert_eq!(mad(&[4.0; 9]), Some(0.0));
        assert_eq!(mad(&[]), None);
    }

    #[test]
    fn a_notch_leaves_the_rolling_median_alone() {
        let mut series = vec![100.0; 200];
        series[50..60].fill(1.0);
        assert!(rolling_median(&series, 31).iter().all(|m| *m == 100.0));
    }

    #[test]
    fn a_hundred_thousand_points_are_a_moment() {
        let mut rng = crate::base::random::Rng::new(1, 0, 0);
        let series: Vec<f64> = (0..100_000).map(|_| rng.uniform_fraction()).collect();
        let medians = rolling_median(&series, 61);
        assert_eq!(medians.len(), series.len());
        assert_eq!(Some(medians[50_000]), median(&series[50_000 - 30..=50_000 + 30]));
    }

    proptest! {
        #[test]
        fn the_rolling_median_is_the_median_of_each_window(
            values in prop::collection::vec(-5.0f64..5.0, 0..80),
            window in 0usize..40,
        ) {
            let reach = window / 2;
            let slow: Vec<f64> = (0..values.len())
                .map(|i| {
                    let to = (i + reach + 1).min(values.len());
                    median(&values[i.saturating_sub(reach)..to]).unwrap()
                })
                .collect();
            prop_assert_eq!(rolling_median(&values, window), slow);
        }

        #[test]
        fn half_of_the_values_lie_on_either_side_of_the_median(
            values in prop::collection::vec(-1e6f64..1e6, 1..60),
        ) {
            let middle = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < middle).count();
            let above = values.iter().filter(|v| **v > middle).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }
    }
}
