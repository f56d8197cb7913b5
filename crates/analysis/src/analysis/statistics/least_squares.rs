//! Non-linear least squares with bounds and weights.
//!
//! Levenberg-Marquardt with Marquardt's scaling (Marquardt, "An algorithm for least-squares estimation of nonlinear
//! parameters", 1963); bounds by projection: a parameter that stands at a bound and wants to go through it is left
//! out of the step. Meant for a handful of parameters.

/// What is known at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DataPoint {
    /// Where.
    pub(crate) x: f64,
    /// What was seen there.
    pub(crate) y: f64,
    /// Inverse of its variance, up to a factor that all share.
    pub(crate) weight: f64,
}

/// Gives its value at x with these parameters, and the derivatives by each of them.
pub(crate) type ModelFunction<'a, const P: usize> = dyn Fn(&[f64; P], f64) -> (f64, [f64; P]) + 'a;

/// Steps after which it gives up getting closer.
const MOST_STEPS: usize = 500;
/// A step that moves no parameter by more than this share of it is the last one.
const CLOSE: f64 = 1e-13;

/// The weighted sum of squared residuals.
pub(crate) fn weighted_squares<const P: usize>(
    data: &[DataPoint],
    model: &ModelFunction<'_, P>,
    at: &[f64; P],
) -> f64 {
    data.iter().map(|d| d.weight * (d.y - model(at, d.x).0).powi(2)).sum()
}

/// The parameters with the least weighted sum of squares near `start`, within `bounds` (lowest, highest).
pub(crate) fn fit_model<const P: usize>(
    data: &[DataPoint],
    model: &ModelFunction<'_, P>,
    start: [f64; P],
    bounds: &[(f64, f64); P],
) -> [f64; P] {
    let within = |mut p: [f64; P]| {
        p.iter_mut().zip(bounds).for_each(|(p, (low, high))| *p = p.clamp(*low, *high));
        p
    };
    let mut at = within(start);
    let mut sum = weighted_squares(data, model, &at);
    let mut damping = 1e-3;
    for _ in 0..MOST_STEPS {
        let (mut matrix, mut slope) = normal_equations(data, model, &at);
        for i in 0..P {
            let (low, high) = bounds[i];
            let stuck = (at[i] <= low && slope[i] <= 0.0) || (at[i] >= high && slope[i] >= 0.0);
            if stuck {
                // Without it: its row says that it does not move.
                matrix[i] = [0.0; P];
                matrix.iter_mut().for_each(|row| row[i] = 0.0);
                matrix[i][i] = 1.0;
                slope[i] = 0.0;
            } else {
                matrix[i][i] *= 1.0 + damping;
            }
        }
        let Some(step) = solve_linear(matrix, slope) else {
            damping *= 10.0;
            continue;
        };
        let mut next = at;
        next.iter_mut().zip(step).for_each(|(p, s)| *p += s);
        let next = within(next);
        let next_sum = weighted_squares(data, model, &next);
        if next_sum <= sum {
            let moved = at.iter().zip(&next).any(|(a, b)| (a - b).abs() > CLOSE * b.abs());
            (at, sum) = (next, next_sum);
            damping = (damping / 10.0).max(1e-12);
            if !moved {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e16 {
                break;
            }
        }
    }
    at
}

/// The normal equations of a step: J'WJ and J'Wr.
fn normal_equations<const P: usize>(
    data: &[DataPoint],
    model: &ModelFunction<'_, P>,
    at: &[f64; P],
) -> ([[f64; P]; P], [f64; P]) {
    let (mut matrix, mut slope) = ([[0.0; P]; P], [0.0; P]);
    for datum in data {
        let (value, by) = model(at, datum.x);
        for i in 0..P {
            slope[i] += datum.weight * by[i] * (datum.y - value);
            for j in 0..P {
                matrix[i][j] += datum.weight * by[i] * by[j];
            }
        }
    }
    (matrix, slope)
}

/// Solves a linear system by elimination with pivots; `None` if it is singular.
pub(crate) fn solve_linear<const P: usize>(
    mut matrix: [[f64; P]; P],
    mut right: [f64; P],
) -> Option<[f64; P]> {
    // Rows and columns to a diagonal of ones: parameters may differ by many powers of ten.
    let scale: Vec<f64> = (0..P).map(|i| matrix[i][i].abs().sqrt()).collect();
    if scale.iter().any(|s| *s == 0.0 || !s.is_finite()) {
        return None;
    }
    for i in 0..P {
        right[i] /= scale[i];
        for j in 0..P {
            matrix[i][j] /= scale[i] * scale[j];
        }
    }
    for column in 0..P {
        let size = |row: usize| matrix[row][column].abs();
        let pivot = (column..P).max_by(|a, b| size(*a).total_cmp(&size(*b)))?;
        if size(pivot) < 1e-14 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let top = matrix[column];
        for row in column + 1..P {
            let factor = matrix[row][column] / top[column];
            for (cell, above) in matrix[row].iter_mut().zip(top).skip(column) {
                *cell -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    let mut found = [0.0; P];
    for row in (0..P).rev() {
        let known: f64 = (row + 1..P).map(|j| matrix[row][j] * found[j]).sum();
        found[row] = (right[row] - known) / matrix[row][row];
    }
    found.iter_mut().zip(scale).for_each(|(f, s)| *f /= s);
    Some(found)
}

/// Akaike's criterion for small samples, from a sum of squares with normal residuals (Burnham and Anderson, "Model
/// selection and multimodel inference", 2002); the variance counts as a parameter. `None` where there are too few
/// data for so many parameters.
pub(crate) fn aicc(squares: f64, data: usize, parameters: usize) -> Option<f64> {
    let (n, k) = (data as f64, parameters as f64 + 1.0);
    (n > k + 1.0 && squares > 0.0)
        .then(|| n * (squares / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datum(x: f64, y: f64) -> DataPoint {
        DataPoint { x, y, weight: 1.0 }
    }

    #[test]
    fn systems_are_solved_whatever_their_units() {
        // 2x + y = 5, x + 3y = 10, with y in units a billion times smaller.
        let found = solve_linear([[2.0, 1e-9], [1e-9, 3e-18]], [5.0, 10e-9]).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] - 3e9).abs() < 1.0, "{found:?}");
        assert_eq!(solve_linear([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
        assert_eq!(solve_linear([[0.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
    }

    /// Misra1a of NIST's Statistical Reference Datasets (lower difficulty): y = b1 (1 - exp(-b2 x)), certified values.
    #[test]
    fn a_certified_problem_comes_out_to_eight_digits() {
        let data: Vec<DataPoint> = [
            (77.6, 10.07),
            (114.9, 14.73),
            (141.1, 17.94),
            (190.8, 23.93),
            (239.9, 29.61),
            (289.0, 35.18),
            (332.8, 40.02),
            (378.4, 44.82),
            (434.8, 50.76),
            (477.3, 55.05),
            (536.8, 61.01),
            (593.1, 66.40),
            (689.1, 75.47),
            (760.0, 81.78),
        ]
        .into_iter()
        .map(|(x, y)| datum(x, y))
        .collect();
        let model = |b: &[f64; 2], x: f64| {
            let e = (-b[1] * x).exp();
            (b[0] * (1.0 - e), [1.0 - e, b[0] * x * e])
        };
        let free = [(0.0, f64::INFINITY); 2];
        for start in [[500.0, 1e-4], [250.0, 5e-4]] {
            let found = fit_model(&data, &model, start, &free);
            assert!((found[0] / 238.942_129_18 - 1.0).abs() < 1e-8, "{found:?}");
            assert!((found[1] / 5.501_564_318_1e-4 - 1.0).abs() < 1e-8, "{found:?}");
            let sum = weighted_squares(&data, &model, &found);
            assert!((sum / 0.124_551_388_94 - 1.0).abs() < 1e-8, "{sum}");
        }
    }

    #[test]
    fn bounds_hold_and_the_others_still_find_their_best() {
        // y = 3 - x: with the slope kept at 0 or above, the best is the mean.
        let data: Vec<DataPoint> =
            (0..5).map(|x| datum(f64::from(x), 3.0 - f64::from(x))).collect();
        let line = |p: &[f64; 2], x: f64| (p[0] + p[1] * x, [1.0, x]);
        let found = fit_model(&data, &line, [0.0, 5.0], &[(-9.0, 9.0), (0.0, 9.0)]);
        assert!((found[0] - 1.0).abs() < 1e-9 && found[1] == 0.0, "{found:?}");
    }

    #[test]
    fn a_heavy_datum_draws_the_fit() {
        let mut data = vec![datum(0.0, 1.0), datum(0.0, 3.0)];
        data[1].weight = 3.0;
        let level = |p: &[f64; 1], _: f64| (p[0], [1.0]);
        let found = fit_model(&data, &level, [0.0], &[(-9.0, 9.0)]);
        assert!((found[0] - 2.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_criterion_counts_parameters() {
        // n ln(S/n) + 2k + 2k(k+1)/(n-k-1) with n = 10, S = 10, k = 3 + 1.
        assert!((aicc(10.0, 10, 3).unwrap() - (0.0 + 8.0 + 40.0 / 5.0)).abs() < 1e-12);
        assert_eq!(aicc(10.0, 5, 3), None);
    }
}
