//! Weighted linear least squares without a constant: what each of several things costs, from sums of their costs.
//!
//! Amounts are y = sum of (count x cost) + noise, the noise of a row with a variance in proportion to the sum of its
//! counts (a row that adds up twice as many events varies twice as much), independent from row to row. Intervals are Student's with n - p
//! degrees of freedom. How far columns move together is told by the condition index: the ratio of the largest to the
//! smallest singular value of the matrix with columns of length one (Belsley, Kuh and Welsch, "Regression diagnostics",
//! 1980; above 30 estimates are of little use).

use super::student::student_quantile;

/// Condition index from which on costs can't be told apart.
pub(crate) const MOST_CONDITION: f64 = 30.0;
/// Fewest rows beyond the number of costs.
const SPARE_ROWS: usize = 5;
/// Rounds of rotations after which a matrix of this size is diagonal.
const MOST_SWEEPS: usize = 60;

/// Costs found from sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinearFit {
    /// Each cost.
    pub(crate) costs: Vec<f64>,
    /// Half of its 95 % interval.
    pub(crate) half_widths: Vec<f64>,
    /// The condition index.
    pub(crate) condition: f64,
}

/// Costs of each column of `counts`, from one amount for each row. `None` with too few rows, or where columns are zero or
/// one is a sum of others.
pub(crate) fn fit_costs(counts: &[Vec<f64>], amounts: &[f64]) -> Option<LinearFit> {
    let columns = counts.first()?.len();
    let rows: Vec<(&Vec<f64>, f64, f64)> = counts
        .iter()
        .zip(amounts)
        .map(|(row, amount)| (row, *amount, row.iter().sum::<f64>()))
        .filter(|(_, _, sum)| *sum > 0.0)
        .map(|(row, amount, sum)| (row, amount, 1.0 / sum))
        .collect();
    if columns == 0 || rows.len() < columns + SPARE_ROWS {
        return None;
    }
    let sum_of = |term: &dyn Fn(&Vec<f64>, f64) -> f64| -> f64 {
        rows.iter().map(|(row, amount, weight)| weight * term(row, *amount)).sum()
    };
    let lengths: Vec<f64> =
        (0..columns).map(|c| sum_of(&|row, _| row[c] * row[c]).sqrt()).collect();
    if lengths.iter().any(|length| *length <= 0.0) {
        return None;
    }
    let cell = |i: usize, j: usize| sum_of(&|row, _| row[i] * row[j]) / (lengths[i] * lengths[j]);
    let matrix: Vec<Vec<f64>> =
        (0..columns).map(|i| (0..columns).map(|j| cell(i, j)).collect()).collect();
    let right: Vec<f64> =
        (0..columns).map(|c| sum_of(&|row, amount| row[c] * amount) / lengths[c]).collect();
    let (values, vectors) = diagonalize(matrix);
    let (smallest, largest) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
    if smallest <= 1e-12 * largest {
        return None;
    }
    // The inverse, from the same rotations.
    let inverse = |i: usize, j: usize| -> f64 {
        (0..columns).map(|k| vectors[i][k] * vectors[j][k] / values[k]).sum()
    };
    let costs: Vec<f64> = (0..columns)
        .map(|i| (0..columns).map(|j| inverse(i, j) * right[j]).sum::<f64>() / lengths[i])
        .collect();
    let misfit = |(row, amount, weight): &(&Vec<f64>, f64, f64)| {
        let told: f64 = row.iter().zip(&costs).map(|(count, cost)| count * cost).sum();
        weight * (amount - told).powi(2)
    };
    let freedom = (rows.len() - columns) as f64;
    let variance = rows.iter().map(misfit).sum::<f64>() / freedom;
    let t = student_quantile(0.975, freedom);
    let half = |i: usize| t * (variance * inverse(i, i)).sqrt() / lengths[i];
    Some(LinearFit {
        half_widths: (0..columns).map(half).collect(),
        costs,
        condition: (largest / smallest).sqrt(),
    })
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations (1846).
fn diagonalize(mut matrix: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let size = matrix.len();
    let unit = |i: usize| (0..size).map(|j| f64::from(u8::from(i == j))).collect();
    let mut vectors: Vec<Vec<f64>> = (0..size).map(unit).collect();
    for _ in 0..MOST_SWEEPS {
        let beside: f64 = (0..size)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| matrix[i][j].abs())
            .sum();
        if beside < 1e-14 {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                rotate(&mut matrix, &mut vectors, p, q);
            }
        }
    }
    ((0..size).map(|i| matrix[i][i]).collect(), vectors)
}

/// One rotation that makes the element at (p, q) zero.
fn rotate(matrix: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if matrix[p][q].abs() < 1e-300 {
        return;
    }
    let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (above, below) = (matrix[p].clone(), matrix[q].clone());
    for (k, (a, b)) in above.iter().zip(&below).enumerate() {
        matrix[p][k] = cosine * a - sine * b;
        matrix[q][k] = sine * a + cosine * b;
    }
    for row in vectors.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    /// Longley's data have a certified solution only with a constant; here are numbers worked by hand: y = 2a + 3b exactly.
    #[test]
    fn sums_without_noise_give_the_costs() {
        let counts: Vec<Vec<f64>> =
            (1..=9).map(|k| vec![f64::from(k), f64::from((k * 7) % 5 + 1)]).collect();
        let amounts: Vec<f64> = counts.iter().map(|row| 2.0 * row[0] + 3.0 * row[1]).collect();
        let fit = fit_costs(&counts, &amounts).unwrap();
        assert!((fit.costs[0] - 2.0).abs() < 1e-9 && (fit.costs[1] - 3.0).abs() < 1e-9, "{fit:?}");
        assert!(fit.half_widths.iter().all(|half| *half < 1e-9) && fit.condition < 5.0, "{fit:?}");
    }

    /// Weighted by 1 / (a + b) with one column: the ratio of the sums.
    #[test]
    fn one_column_is_a_ratio_of_sums() {
        let counts: Vec<Vec<f64>> = (1..=8).map(|k| vec![f64::from(k)]).collect();
        let amounts: Vec<f64> = (1..=8).map(|k| f64::from(k) * 4.0 + f64::from(k % 2)).collect();
        let fit = fit_costs(&counts, &amounts).unwrap();
        let ratio = amounts.iter().sum::<f64>() / 36.0;
        assert!((fit.costs[0] - ratio).abs() < 1e-12, "{fit:?}");
        assert!((fit.condition - 1.0).abs() < 1e-12, "{fit:?}");
    }

    #[test]
    fn columns_that_move_together_are_told() {
        let counts: Vec<Vec<f64>> = (0..20)
            .map(|k| vec![100.0 + f64::from(k), 2.0 * (100.0 + f64::from(k)) + f64::from(k % 2)])
            .collect();
        let amounts: Vec<f64> = counts.iter().map(|row| row[0] + row[1]).collect();
        assert!(fit_costs(&counts, &amounts).unwrap().condition > MOST_CONDITION);
        let same: Vec<Vec<f64>> = (1..20).map(|k| vec![f64::from(k), f64::from(2 * k)]).collect();
        assert_eq!(fit_costs(&same, &[1.0; 19]), None);
        assert_eq!(fit_costs(&counts[..6], &amounts[..6]), None, "too few rows");
    }

    /// Loads of 30 intervals whose classes come at random (normal for Poisson) at random rates with random costs, each event's
    /// cost varying: the intervals hold the true cost about as often as they say.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let (mut held, mut all) = (0, 0);
        for load in 0..400 {
            let mut rng = Rng::new(11, load, 0);
            let columns = 2 + rng.uniform_below(4) as usize;
            let rates: Vec<f64> =
                (0..columns).map(|_| 30.0 + 400.0 * rng.uniform_fraction()).collect();
            let truth: Vec<f64> = (0..columns).map(|_| 30.0 * rng.uniform_fraction()).collect();
            let mut normal = || {
                let twelve: f64 = (0..12).map(|_| rng.uniform_fraction()).sum();
                twelve - 6.0
            };
            let (mut counts, mut amounts) = (Vec::new(), Vec::new());
            for _ in 0..30 {
                let row: Vec<f64> =
                    rates.iter().map(|r| (r + r.sqrt() * normal()).round().max(0.0)).collect();
                let told: f64 = row.iter().zip(&truth).map(|(n, c)| n * c).sum();
                let noise = 3.0 * row.iter().sum::<f64>().sqrt() * normal();
                amounts.push(told + noise);
                counts.push(row);
            }
            let fit = fit_costs(&counts, &amounts).unwrap();
            for (class, cost) in truth.iter().enumerate() {
                all += 1;
                held += usize::from((fit.costs[class] - cost).abs() <= fit.half_widths[class]);
            }
        }
        let share = f64::from(u32::try_from(held).unwrap()) / f64::from(all);
        assert!((0.93..0.97).contains(&share), "{share}");
    }
}
