//! Fewer points, same picture: of all points in a pixel column the first, the lowest, the highest and the last stay.
//! Never an average: a stall of a second among four would all but vanish. Source: Jugel et al., "M4: A Visualization-
//! Oriented Time Series Data Aggregation", VLDB 2014.

/// Keeps at most four points per column of width `column` (in the unit of x); points must be in the order of x.
pub(super) fn reduce_points(points: &[(f64, f64)], column: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(points.len().min(4096));
    let mut rest = points;
    while let Some(first) = rest.first() {
        let place = (first.0 / column).floor();
        let length = rest.iter().take_while(|p| (p.0 / column).floor() == place).count();
        let (here, after) = rest.split_at(length.max(1));
        keep_extremes(here, &mut kept);
        rest = after;
    }
    kept
}

fn keep_extremes(column: &[(f64, f64)], kept: &mut Vec<(f64, f64)>) {
    if column.len() <= 4 {
        kept.extend_from_slice(column);
        return;
    }
    let value = |place: &usize| column[*place].1;
    let places = || 0..column.len();
    let lowest = places().min_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(0);
    let highest = places().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(0);
    let mut chosen = [0, lowest, highest, column.len() - 1];
    chosen.sort_unstable();
    for (n, place) in chosen.iter().enumerate() {
        if n == 0 || chosen[n - 1] != *place {
            kept.push(column[*place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_notch_of_one_point_survives() {
        let mut points: Vec<(f64, f64)> = (0..3600).map(|n| (f64::from(n), 100.0)).collect();
        points[1800].1 = 2.0;
        let kept = reduce_points(&points, 60.0);
        assert!(kept.len() <= 4 * 61);
        assert!(kept.contains(&(1800.0, 2.0)));
    }

    proptest! {
        #[test]
        fn extremes_and_ends_of_each_column_stay(
            values in proptest::collection::vec(-1e3..1e3f64, 1..300)
        ) {
            let points: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(n, v)| (n as f64, *v)).collect();
            let kept = reduce_points(&points, 16.0);
            prop_assert!(kept.len() <= 4 * points.len().div_ceil(16));
            prop_assert!(kept.windows(2).all(|w| w[0].0 < w[1].0));
            for column in points.chunks(16) {
                for part in [column[0], column[column.len() - 1]] {
                    prop_assert!(kept.contains(&part));
                }
                let low = column.iter().map(|p| p.1).fold(f64::MAX, f64::min);
                let high = column.iter().map(|p| p.1).fold(f64::MIN, f64::max);
                let range = column[0].0..=column[column.len() - 1].0;
                let here: Vec<f64> =
                    kept.iter().filter(|p| range.contains(&p.0)).map(|p| p.1).collect();
                prop_assert!(here.contains(&low) && here.contains(&high));
            }
        }
    }
}
