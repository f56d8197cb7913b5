//! Series whose values depend on those before them: autocorrelation, how many independent values they are worth, and
//! batches.
//! The worth: Sokal's integrated autocorrelation time with a window that closes by itself ("Monte Carlo Methods in
//! Statistical Mechanics", 1996, section 3).
//! Never knows: what the values count.

/// Autocorrelation at the lags 0 to `longest`, 1 at lag 0. All zero beyond lag 0 for a series that never moves; empty
/// for an empty one.
pub fn autocorrelation(values: &[f64], longest: usize) -> Vec<f64> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let off: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let spread: f64 = off.iter().map(|d| d * d).sum();
    let at = |lag: usize| {
        if lag == 0 {
            1.0
        } else if spread > 0.0 {
            off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum::<f64>() / spread
        } else {
            0.0
        }
    };
    (0..=longest.min(n - 1)).map(at).collect()
}

/// Window of the integrated autocorrelation time, in multiples of the time itself.
const WINDOW: f64 = 5.0;

/// How many neighbouring values are worth one independent value: 1 + 2 sum of the autocorrelation up to the first lag
/// that is at least five times that sum. A mean taken from the values themselves makes each lag too low by about one
/// time over their number, which is put back. At least 1: values that alternate are not taken for more than they are.
pub fn integrated_time(values: &[f64]) -> f64 {
    let mut time = 1.0;
    for (lag, rho) in autocorrelation(values, values.len() / 4).iter().enumerate().skip(1) {
        time += 2.0 * (rho + 1.0 / values.len() as f64);
        if lag as f64 >= WINDOW * time {
            break;
        }
    }
    time.max(1.0)
}

/// How many independent values a series is worth.
pub fn effective_length(values: &[f64]) -> f64 {
    values.len() as f64 / integrated_time(values)
}

/// Means of batches of `length` values, from the first value on; values that are `None` count in no mean, and a batch
/// of nothing else takes the mean of the one before (or after, at the begin). What is left at the end and fills no
/// batch is left out. Empty if there is no value at all.
pub fn batch_means(values: &[Option<f64>], length: usize) -> Vec<f64> {
    let means: Vec<Option<f64>> = values.chunks_exact(length.max(1)).map(mean_of_some).collect();
    let Some(mut last) = means.iter().copied().flatten().next() else { return Vec::new() };
    let mut filled = Vec::with_capacity(means.len());
    for mean in means {
        last = mean.unwrap_or(last);
        filled.push(last);
    }
    filled
}

fn mean_of_some(values: &[Option<f64>]) -> Option<f64> {
    let (sum, number) =
        values.iter().flatten().fold((0.0, 0usize), |(sum, number), v| (sum + v, number + 1));
    (number > 0).then(|| sum / number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    #[test]
    fn autocorrelation_by_hand() {
        // Off the mean of 2: -1 1 -1 1, spread 4.
        assert_eq!(autocorrelation(&[1.0, 3.0, 1.0, 3.0], 9), [1.0, -0.75, 0.5, -0.25]);
        assert_eq!(autocorrelation(&[5.0; 3], 1), [1.0, 0.0]);
        assert!(autocorrelation(&[], 3).is_empty());
    }

    #[test]
    fn a_series_is_worth_what_its_dependence_leaves() {
        // Each value is phi of the one before and new noise: the time is (1 + phi) / (1 - phi).
        for (phi, time) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mut rng = Rng::new(3, 0, 0);
            let mut last = 0.0;
            let series: Vec<f64> = (0..20_000)
                .map(|_| {
                    last = phi * last + rng.uniform_fraction() - 0.5;
                    last
                })
                .collect();
            let found = integrated_time(&series);
            assert!((found / time - 1.0).abs() < 0.15, "phi {phi}: {found} for {time}");
        }
        assert_eq!(integrated_time(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0]), 1.0);
        assert_eq!(effective_length(&[]), 0.0);
    }

    #[test]
    fn batches_leave_out_what_is_masked() {
        let values =
            [Some(1.0), None, Some(3.0), Some(5.0), None, None, Some(8.0), Some(9.0), None];
        assert_eq!(batch_means(&values, 2), [1.0, 4.0, 4.0, 8.5]);
        assert_eq!(batch_means(&[None, None, Some(2.0), Some(4.0)], 2), [3.0, 3.0]);
        assert!(batch_means(&[None, None], 1).is_empty());
        assert!(batch_means(&[Some(1.0)], 2).is_empty());
    }
}
