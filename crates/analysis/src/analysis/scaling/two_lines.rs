//! The rival of the scalability law: X(N) = min(lambda N, ceiling), what a server does that runs out of one thing,
//! CPU for instance, and loses nothing beyond. The asymptotes of any queueing network: Denning and Buzen, "The
//! operational analysis of queueing network models", 1978.

use super::super::statistics::least_squares::DataPoint;

/// Parameters of the two lines.
pub(super) const PARAMETERS: usize = 2;

/// Rate per load, and the ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TwoLines {
    /// Events per second of one.
    pub(super) lambda: f64,
    /// Events per second at most.
    pub(super) ceiling: f64,
    /// The sum of squares that it leaves.
    pub(super) left: f64,
}

impl TwoLines {
    fn rate_at(lambda: f64, ceiling: f64, n: f64) -> f64 {
        (lambda * n).min(ceiling)
    }
}

/// Fits it by trying each place for the bend. `None` with fewer than three data, or if there is no bend among them.
pub(super) fn fit_two_lines(data: &[DataPoint]) -> Option<TwoLines> {
    let mut sorted = data.to_vec();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    let left = |lambda: f64, ceiling: f64| -> f64 {
        let residual = |d: &DataPoint| d.y - TwoLines::rate_at(lambda, ceiling, d.x);
        sorted.iter().map(|d| d.weight * residual(d).powi(2)).sum()
    };
    let with_bend = |bend: usize| {
        let (slope, flat) = sorted.split_at(bend);
        let sum =
            |part: &[DataPoint], of: &dyn Fn(&DataPoint) -> f64| part.iter().map(of).sum::<f64>();
        let lambda = sum(slope, &|d| d.weight * d.x * d.y) / sum(slope, &|d| d.weight * d.x * d.x);
        let ceiling = sum(flat, &|d| d.weight * d.y) / sum(flat, &|d| d.weight);
        TwoLines { lambda, ceiling, left: left(lambda, ceiling) }
    };
    let all = (1..sorted.len()).map(with_bend).filter(|t| t.left.is_finite());
    let best = all.min_by(|a, b| a.left.total_cmp(&b.left))?;
    let has_bend =
        sorted.len() >= 3 && best.lambda * sorted.last()?.x > best.ceiling * (1.0 + 1e-9);
    has_bend.then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rate: impl Fn(f64) -> f64) -> Vec<DataPoint> {
        (0..8)
            .map(|p| f64::from(1 << p))
            .map(|x| DataPoint { x, y: rate(x), weight: 1.0 })
            .collect()
    }

    #[test]
    fn the_bend_is_found() {
        let found = fit_two_lines(&data(|n| (500.0 * n).min(7000.0))).unwrap();
        assert!((found.lambda - 500.0).abs() < 1e-9 && (found.ceiling - 7000.0).abs() < 1e-9);
        assert!(found.left < 1e-12);
    }

    #[test]
    fn a_straight_line_has_no_ceiling() {
        assert_eq!(fit_two_lines(&data(|n| 500.0 * n)), None);
    }
}
