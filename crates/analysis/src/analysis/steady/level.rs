//! Which levels a series of rates has, and from where on it keeps the last one: mask, batches, change points, and the
//! walk back.
//! Never knows: how long a part must be, what the server did.

use super::rate_cells::RateCells;
use crate::analysis::statistics::robust::{mad, median, rolling_median};
use crate::analysis::statistics::{changepoint, time_series};

/// Window of the rolling median that stalls are told by, seconds.
const BASE_S: f64 = 31.0;
/// Below this share of the rolling median a cell is a stall, and counts in no level.
const STALL: f64 = 0.5;
/// A cell with fewer events than this can fall so low by chance.
const FEWEST: f64 = 50.0;
/// When more cells than this share look like stalls, they are the usual and not the exception.
const MOST_MASKED: f64 = 1.0 / 3.0;
/// Length of a batch in seconds, for loads up to so many seconds.
const BATCHES: &[(f64, f64)] = &[(1200.0, 5.0), (3600.0, 10.0), (10_000.0, 15.0)];
/// Length of a batch of a longer load, seconds.
const LONGEST_BATCH_S: f64 = 30.0;
/// Noise below this share of the level matters to nobody; a perfectly even series has some all the same.
const LEAST_NOISE: f64 = 0.001;
/// Price of a change: so many times the logarithm of the number of batches.
const PRICE: f64 = 3.0;
/// Correlation beyond which the price would rise without end.
const MOST_PHI: f64 = 0.95;
/// A level this near to what is kept belongs to it, as a share of the latter.
const SAME: f64 = 0.03;
/// A level whose distance may be chance belongs to it if it is this near.
const MAYBE_SAME: f64 = 0.06;

/// Batches with one level, from the first up to and without the second place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LevelSegment {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) mean: f64,
}

/// What a series of rates says of its levels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RateLevels {
    /// Length of a batch, seconds.
    pub(super) batch_s: f64,
    /// Means of the batches without stalls.
    pub(super) batches: Vec<f64>,
    /// Per cell, whether it is taken for a stall.
    pub(super) masked: Vec<bool>,
    /// Standard deviation of the noise from batch to batch.
    pub(super) sigma: f64,
    /// Correlation of the noise with that of the batch before.
    pub(super) phi: f64,
    /// Levels in their order; those that are kept are one.
    pub(super) stretches: Vec<LevelSegment>,
}

impl RateLevels {
    /// Levels of the cells; `None` if there are too few batches to have any.
    pub(super) fn from_cells(cells: &RateCells) -> Option<RateLevels> {
        let masked = mask_stalls(cells);
        let seen: Vec<Option<f64>> =
            cells.rates.iter().zip(&masked).map(|(r, m)| (!m).then_some(*r)).collect();
        let per_batch = cells_per_batch(cells);
        let batches = time_series::batch_means(&seen, per_batch);
        if batches.len() < 2 * changepoint::LEAST {
            return None;
        }
        let sigma = batch_noise(&batches)?.max(LEAST_NOISE * median(&batches)?.abs());
        let price = PRICE * (batches.len() as f64).ln();
        let first = level_segments(&batches, &changepoint::find_segments(&batches, sigma, price));
        let phi = batch_correlation(&batches, &first);
        let starts = changepoint::find_segments(&batches, sigma, price * inflation_of_phi(phi));
        let found = level_segments(&batches, &starts);
        let mut levels = RateLevels {
            batch_s: per_batch as f64 * cells.step_s,
            batches,
            masked,
            sigma,
            phi,
            stretches: found,
        };
        levels.join_equal_levels();
        Some(levels)
    }

    /// The part that is kept: the last level.
    pub(super) fn kept_segment(&self) -> LevelSegment {
        *self.stretches.last().expect("there is at least one segment")
    }

    /// Its batches.
    pub(super) fn kept_batches(&self) -> &[f64] {
        &self.batches[self.kept_segment().from..]
    }

    /// When it begins, seconds.
    pub(super) fn t0_s(&self) -> f64 {
        self.kept_segment().from as f64 * self.batch_s
    }

    /// Variance of a mean by that of independent batches.
    pub(super) fn variance_inflation(&self) -> f64 {
        inflation_of_phi(self.phi)
    }

    /// Joins levels to the last one as long as they don't matter or can't be told from it.
    fn join_equal_levels(&mut self) {
        while let [.., before, kept] = self.stretches[..] {
            let share = |s: LevelSegment| 1.0 / (s.to - s.from) as f64;
            let error =
                self.sigma * (self.variance_inflation() * (share(before) + share(kept))).sqrt();
            let near = (SAME * kept.mean).max((2.0 * error).min(MAYBE_SAME * kept.mean));
            if (before.mean - kept.mean).abs() > near {
                return;
            }
            self.stretches.truncate(self.stretches.len() - 2);
            self.stretches.push(level_segment(&self.batches, before.from, kept.to));
        }
    }
}

fn inflation_of_phi(phi: f64) -> f64 {
    (1.0 + phi) / (1.0 - phi)
}

/// Cells whose rate is below half of what is usual around them, where so few can't be chance.
pub(super) fn mask_stalls(cells: &RateCells) -> Vec<bool> {
    let window = (BASE_S / cells.step_s).round() as usize;
    if window < 3 {
        return vec![false; cells.rates.len()];
    }
    let base = rolling_median(&cells.rates, window);
    let low = |(rate, base): (&f64, &f64)| *rate < STALL * base && base * cells.step_s >= FEWEST;
    let masked: Vec<bool> = cells.rates.iter().zip(&base).map(low).collect();
    let number = masked.iter().filter(|m| **m).count();
    if number as f64 > MOST_MASKED * masked.len() as f64 {
        return vec![false; masked.len()];
    }
    masked
}

fn cells_per_batch(cells: &RateCells) -> usize {
    let fits = BATCHES.iter().find(|(longest, _)| cells.seconds() <= *longest);
    let batch_s = fits.map_or(LONGEST_BATCH_S, |(_, batch_s)| *batch_s);
    ((batch_s / cells.step_s).round() as usize).max(1)
}

/// Standard deviation of the noise, from the differences of neighbours: a change of level makes one wild difference,
/// which their median does not see.
fn batch_noise(batches: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = batches.windows(2).map(|w| w[1] - w[0]).collect();
    Some(mad(&differences)? / std::f64::consts::SQRT_2)
}

fn level_segment(batches: &[f64], from: usize, to: usize) -> LevelSegment {
    let mean = batches[from..to].iter().sum::<f64>() / (to - from) as f64;
    LevelSegment { from, to, mean }
}

fn level_segments(batches: &[f64], starts: &[usize]) -> Vec<LevelSegment> {
    let ends = starts.iter().skip(1).copied().chain([batches.len()]);
    starts.iter().zip(ends).map(|(from, to)| level_segment(batches, *from, to)).collect()
}

/// Correlation of what is left of neighbours when their level is taken away; neighbours across a change don't count.
fn batch_correlation(batches: &[f64], stretches: &[LevelSegment]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for s in stretches {
        let part = &batches[s.from..s.to];
        squares += part.iter().map(|v| (v - s.mean).powi(2)).sum::<f64>();
        products += part.windows(2).map(|w| (w[0] - s.mean) * (w[1] - s.mean)).sum::<f64>();
    }
    if squares > 0.0 { (products / squares).clamp(0.0, MOST_PHI) } else { 0.0 }
}
