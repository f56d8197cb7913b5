//! Where a series changes its level: the segments whose means explain it best, each change paid for with a penalty.
//! The search is PELT (Killick, Fearnhead, Eckley, "Optimal detection of changepoints with a linear computational
//! cost", 2012): exact like trying all segmentations, but places that can't begin the last segment any more are
//! dropped. The cost of a segment is the sum of squares about its mean by the variance of the noise.
//! Never knows: what the values count, how the noise was estimated.

/// Least values in a segment: one alone is an outlier, not a level.
pub const LEAST: usize = 2;

/// Sums from which the cost of any segment follows at once.
struct PrefixSums {
    /// Sum and sum of squares of the values before each place, off the mean of all: differences stay exact.
    before: Vec<(f64, f64)>,
    variance: f64,
}

impl PrefixSums {
    fn new(values: &[f64], variance: f64) -> PrefixSums {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut before = Vec::with_capacity(values.len() + 1);
        let (mut sum, mut squares) = (0.0, 0.0);
        before.push((sum, squares));
        for value in values {
            let off = value - mean;
            sum += off;
            squares += off * off;
            before.push((sum, squares));
        }
        PrefixSums { before, variance }
    }

    /// Cost of the values from `from` up to and without `to`.
    fn segment_cost(&self, from: usize, to: usize) -> f64 {
        let (a, b) = (self.before[from], self.before[to]);
        let sum = b.0 - a.0;
        ((b.1 - a.1) - sum * sum / (to - from) as f64).max(0.0) / self.variance
    }
}

/// A place where the last segment may begin.
struct SegmentCandidate {
    place: usize,
    /// From which end on another place is always better.
    beaten_from: usize,
}

/// The first places of the segments, the first of which is 0. `sigma` is the standard deviation of the noise about a
/// level, `penalty` the price of a change. One segment if there are too few values for two, or no noise to measure by.
pub fn find_segments(values: &[f64], sigma: f64, penalty: f64) -> Vec<usize> {
    let n = values.len();
    if n < 2 * LEAST || sigma.is_nan() || sigma <= 0.0 {
        return vec![0];
    }
    let sums = PrefixSums::new(values, sigma * sigma);
    // best[end]: least cost of the values before `end`, each segment with its penalty; from[end]: its last segment.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    best[0] = -penalty;
    let mut candidates = vec![SegmentCandidate { place: 0, beaten_from: usize::MAX }];
    for end in LEAST..=n {
        candidates.retain(|c| c.beaten_from > end);
        for candidate in &candidates {
            let cost = best[candidate.place] + sums.segment_cost(candidate.place, end) + penalty;
            if cost < best[end] {
                best[end] = cost;
                from[end] = candidate.place;
            }
        }
        // What costs more up to here than the best way to here never catches up; but a segment that begins here
        // needs its least length first, and until then the others may still be needed.
        for candidate in &mut candidates {
            let cost = best[candidate.place] + sums.segment_cost(candidate.place, end);
            if cost > best[end] {
                candidate.beaten_from = candidate.beaten_from.min(end + LEAST);
            }
        }
        // The next end's last segment may begin as soon as it has its least length.
        let place = end + 1 - LEAST;
        if best[place].is_finite() {
            candidates.push(SegmentCandidate { place, beaten_from: usize::MAX });
        }
    }
    let mut starts = Vec::new();
    let mut end = n;
    while end > 0 {
        end = from[end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cost of a segmentation, computed from the values themselves.
    fn total(values: &[f64], starts: &[usize], sigma: f64, penalty: f64) -> f64 {
        let ends = starts.iter().skip(1).copied().chain([values.len()]);
        let costs = starts.iter().zip(ends).map(|(from, to)| {
            let part = &values[*from..to];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (sigma * sigma)
        });
        costs.sum::<f64>() + penalty * (starts.len() - 1) as f64
    }

    /// Least cost of all segmentations, by trying every last segment of every beginning.
    fn least(values: &[f64], sigma: f64, penalty: f64) -> f64 {
        let n = values.len();
        let mut best = vec![f64::INFINITY; n + 1];
        best[0] = -penalty;
        for end in LEAST..=n {
            for from in (0..=end - LEAST).filter(|from| *from == 0 || *from >= LEAST) {
                let cost = best[from] + total(&values[from..end], &[0], sigma, penalty) + penalty;
                best[end] = best[end].min(cost);
            }
        }
        best[n]
    }

    #[test]
    fn a_step_is_found_at_its_place() {
        let mut values = vec![10.0; 30];
        values[18..].fill(7.0);
        values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.1 * (i % 3) as f64);
        assert_eq!(find_segments(&values, 0.1, 10.0), [0, 18]);
        assert_eq!(find_segments(&values, 0.1, 1e6), [0]);
    }

    #[test]
    fn too_little_is_one_segment() {
        assert_eq!(find_segments(&[], 1.0, 1.0), [0]);
        assert_eq!(find_segments(&[1.0, 9.0, 1.0], 0.1, 1.0), [0]);
        assert_eq!(find_segments(&[1.0, 1.0, 9.0, 9.0], 0.0, 1.0), [0]);
        assert_eq!(find_segments(&[1.0, 1.0, 9.0, 9.0], f64::NAN, 1.0), [0]);
        assert_eq!(find_segments(&[1.0, 1.0, 9.0, 9.0], 0.1, 1.0), [0, 2]);
    }

    #[test]
    fn one_wild_value_makes_no_segment_of_its_own() {
        let mut values = vec![5.0; 20];
        values[9] = 50.0;
        let starts = find_segments(&values, 1.0, 3.0);
        let ends = starts.iter().skip(1).copied().chain([20]);
        assert!(starts.iter().zip(ends).all(|(from, to)| to - from >= LEAST), "{starts:?}");
    }

    proptest! {
        #[test]
        fn dropping_candidates_loses_nothing(
            levels in prop::collection::vec((-5.0f64..5.0, 1usize..12), 1..6),
            noise in prop::collection::vec(-1.0f64..1.0, 40),
            penalty in 0.5f64..20.0,
        ) {
            let mut values: Vec<f64> = levels
                .iter()
                .flat_map(|(level, length)| std::iter::repeat_n(*level, *length))
                .zip(&noise)
                .map(|(level, noise)| level + noise)
                .collect();
            values.truncate(40);
            let starts = find_segments(&values, 0.6, penalty);
            prop_assert_eq!(starts[0], 0);
            if values.len() >= 2 * LEAST {
                let ends = starts.iter().skip(1).copied().chain([values.len()]);
                prop_assert!(starts.iter().zip(ends).all(|(from, to)| to >= from + LEAST));
                let found = total(&values, &starts, 0.6, penalty);
                let least = least(&values, 0.6, penalty);
                prop_assert!((found - least).abs() < 1e-6, "{found} for {least}");
            }
        }
    }
}
