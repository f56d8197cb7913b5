//! Whether slow stretches come at a rhythm: two methods must agree, and the gaps must be even.
//!
//! Autocorrelation: the first local maximum above twice the 95 % band of white noise (Box and Jenkins). Periodogram:
//! Fisher's exact test of the largest ordinate ("Tests of significance in harmonic analysis", 1929), in its usual bound
//! P(g > x) <= m (1-x)^(m-1).
//! Never knows: what repeats.

use super::super::statistics::time_series::autocorrelation;
use super::grid::CountGrid;

/// Chance of calling noise periodic, by Fisher's test.
const ALPHA: f64 = 0.01;
/// How far the two periods may be apart, relative to their mean.
const AGREE: f64 = 0.2;
/// Most uneven gaps: standard deviation by mean.
const UNEVEN: f64 = 0.7;
/// Gaps needed to call them even.
const GAPS: usize = 3;
/// More points than this are too many to look at.
const POINTS: usize = 8192;
/// The grids tried, seconds: the coarse one sees broad waves, the fine one sees short periods.
const GRIDS_S: [f64; 2] = [1.0, 0.25];

/// Seconds from one to the next, if they come at a rhythm. `middles`: slots in which they have their middle.
pub(super) fn find_period(grid: &CountGrid, usual: &[f64], middles: &[f64]) -> Option<f64> {
    if middles.len() <= GAPS || !are_even(middles) {
        return None;
    }
    GRIDS_S.iter().find_map(|cell_s| {
        let cell = grid.slots_in(*cell_s);
        let cell_s = cell as f64 * grid.slot_s;
        let expected = usual.chunks_exact(cell).map(|u| u.iter().sum::<f64>());
        let rest: Vec<f64> =
            grid.cell_sums(cell).iter().zip(expected).map(|(count, e)| count - e).collect();
        if rest.len() > POINTS {
            return None;
        }
        let (one, other) =
            (period_by_correlation(&rest)? * cell_s, period_by_periodogram(&rest)? * cell_s);
        let mean = (one + other) / 2.0;
        ((one - other).abs() <= AGREE * mean).then_some(mean)
    })
}

fn are_even(middles: &[f64]) -> bool {
    let gaps: Vec<f64> = middles.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    mean > 0.0 && variance.sqrt() < UNEVEN * mean
}

/// Lag of the first peak of the autocorrelation, refined by a parabola through its neighbours.
fn period_by_correlation(series: &[f64]) -> Option<f64> {
    let lags = series.len() / 4;
    if lags < 3 {
        return None;
    }
    let correlation = autocorrelation(series, lags + 1);
    let limit = 2.0 * 1.96 / (series.len() as f64).sqrt();
    let lag = (2..=lags).find(|&k| {
        let [before, here, after] = [k - 1, k, k + 1].map(|k| correlation[k]);
        here > limit && here >= before && here > after
    })?;
    let [before, here, after] = [lag - 1, lag, lag + 1].map(|k| correlation[k]);
    Some(lag as f64 + 0.5 * (before - after) / (before - 2.0 * here + after))
}

/// Period of the largest ordinate of the periodogram, if Fisher's test lets it stand.
fn period_by_periodogram(series: &[f64]) -> Option<f64> {
    let n = series.len();
    let m = n / 2;
    if m < 8 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    let ordinates: Vec<f64> = (1..=m).map(|k| periodogram_ordinate(series, mean, k)).collect();
    let sum: f64 = ordinates.iter().sum();
    let (place, most) = ordinates.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let limit = 1.0 - (ALPHA / m as f64).powf(1.0 / (m as f64 - 1.0));
    (sum > 0.0 && most / sum > limit).then(|| n as f64 / (place + 1) as f64)
}

/// Goertzel's recurrence: squared size of the Fourier coefficient `k`.
fn periodogram_ordinate(series: &[f64], mean: f64, k: usize) -> f64 {
    let turn = 2.0 * (std::f64::consts::TAU * k as f64 / series.len() as f64).cos();
    let (mut one, mut two) = (0.0, 0.0);
    for value in series {
        (one, two) = (value - mean + turn * one - two, one);
    }
    one * one + two * two - turn * one * two
}
