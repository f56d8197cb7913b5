//! The universal scalability law, fitted to points of load and rate.
//!
//! X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): Gunther, "Guerrilla Capacity Planning", 2007, and "A
//! general theory of computational scalability based on rational functions", 2008. Peak at N* = sqrt((1 - sigma) /
//! kappa). The start is Gunther's: N / X is a quadratic in N. Intervals of the peak: bootstrap of residuals (Efron and
//! Tibshirani, "An introduction to the bootstrap", 1993, chapter 9), residuals widened by sqrt(n / (n - 3)).

use super::super::findings::ScalabilityLaw;
use super::super::statistics::least_squares::{
    DataPoint, fit_model, solve_linear, weighted_squares,
};
use crate::base::random::Rng;

/// Parameters of the law.
pub(super) const PARAMETERS: usize = 3;
/// Resamples behind an interval.
const RESAMPLES: usize = 500;
/// Seed of the resamples: the same points give the same interval.
const SEED: u64 = 0x0075_736c;
/// Below this kappa there is no peak.
pub(super) const NO_COHERENCE: f64 = 1e-9;

/// Where the law has its peak: value, and the ends of its 95 % interval.
pub(super) type PeakInterval = (f64, f64, f64);

impl ScalabilityLaw {
    /// The rate at this load, events per second.
    pub fn rate_at(&self, n: f64) -> f64 {
        law_value(&[self.lambda, self.sigma, self.kappa], n).0
    }

    /// The load with the highest rate; `None` if the rate never falls.
    pub fn peak_load(&self) -> Option<f64> {
        peak_of_parameters(&[self.lambda, self.sigma, self.kappa])
    }
}

/// The law and its derivatives.
fn law_value(p: &[f64; PARAMETERS], n: f64) -> (f64, [f64; PARAMETERS]) {
    let [lambda, sigma, kappa] = *p;
    let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
    let rate = lambda * n / below;
    (rate, [n / below, -rate * (n - 1.0) / below, -rate * n * (n - 1.0) / below])
}

fn peak_of_parameters(p: &[f64; PARAMETERS]) -> Option<f64> {
    let [_, sigma, kappa] = *p;
    (kappa >= NO_COHERENCE && sigma < 1.0).then(|| ((1.0 - sigma) / kappa).sqrt().max(1.0))
}

/// Fits the law. `None` with fewer data than parameters, or if nothing was done at all.
pub(super) fn fit_law(data: &[DataPoint]) -> Option<ScalabilityLaw> {
    if data.len() < PARAMETERS || data.iter().any(|d| d.x <= 0.0 || d.y <= 0.0) {
        return None;
    }
    let [lambda, sigma, kappa] = fit_bounded(data, start_parameters(data));
    let all: f64 = data.iter().map(|d| d.weight).sum();
    let mean = data.iter().map(|d| d.weight * d.y).sum::<f64>() / all;
    let spread: f64 = data.iter().map(|d| d.weight * (d.y - mean).powi(2)).sum();
    let left = weighted_squares(data, &law_value, &[lambda, sigma, kappa]);
    let r2 = if spread > 0.0 { 1.0 - left / spread } else { 0.0 };
    Some(ScalabilityLaw { lambda, sigma, kappa, r2 })
}

/// The sum of squares that the law leaves.
pub(super) fn residual_squares(data: &[DataPoint], law: &ScalabilityLaw) -> f64 {
    weighted_squares(data, &law_value, &[law.lambda, law.sigma, law.kappa])
}

fn fit_bounded(data: &[DataPoint], start: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
    let least = data.iter().map(|d| d.y / d.x).fold(f64::INFINITY, f64::min) * 1e-6;
    let bounds = [(least, f64::INFINITY), (0.0, 1.0), (0.0, f64::INFINITY)];
    fit_model(data, &law_value, start, &bounds)
}

/// By linear least squares on N / X = a + b N + c N^2, weighted by X / N.
fn start_parameters(data: &[DataPoint]) -> [f64; PARAMETERS] {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for d in data {
        let powers = [1.0, d.x, d.x * d.x];
        let weight = d.weight * d.y / d.x;
        for i in 0..3 {
            right[i] += weight * powers[i] * d.x / d.y;
            for j in 0..3 {
                matrix[i][j] += weight * powers[i] * powers[j];
            }
        }
    }
    let first = data[0].y / data[0].x;
    let Some([a, b, c]) = solve_linear(matrix, right) else { return [first, 0.01, 1e-4] };
    let lambda = 1.0 / (a + b + c);
    if !(lambda.is_finite() && lambda > 0.0) {
        return [first, 0.01, 1e-4];
    }
    let kappa = c * lambda;
    [lambda, (b * lambda + kappa).clamp(0.0, 0.99), kappa.max(0.0)]
}

/// The peak with its 95 % intervals: the load, and the rate there. `None` if the law has none; an interval may be
/// open, that is reach to infinity.
pub(super) fn peak_intervals(
    data: &[DataPoint],
    law: &ScalabilityLaw,
) -> Option<(PeakInterval, PeakInterval)> {
    let fitted = [law.lambda, law.sigma, law.kappa];
    let at = law.peak_load()?;
    let n = data.len();
    let wider = (n as f64 / (n as f64 - PARAMETERS as f64).max(1.0)).sqrt();
    let residual = |d: &DataPoint| wider * d.weight.sqrt() * (d.y - law.rate_at(d.x));
    let residuals: Vec<f64> = data.iter().map(residual).collect();
    let mean = residuals.iter().sum::<f64>() / n as f64;
    let mut rng = Rng::new(SEED, n as u64, 0);
    let (mut loads, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let again = |d: &DataPoint, rng: &mut Rng| {
            let residual = residuals[rng.uniform_below(n as u64) as usize] - mean;
            let y = (law.rate_at(d.x) + residual / d.weight.sqrt()).max(law.rate_at(d.x) * 1e-3);
            DataPoint { y, ..*d }
        };
        let sample: Vec<DataPoint> = data.iter().map(|d| again(d, &mut rng)).collect();
        let found = fit_bounded(&sample, fitted);
        let load = peak_of_parameters(&found).unwrap_or(f64::INFINITY);
        loads.push(load);
        // Without a peak the rate grows for ever: towards lambda / sigma, if anywhere.
        rates.push(if load.is_finite() {
            law_value(&found, load).0
        } else {
            found[0] / found[1].max(f64::MIN_POSITIVE)
        });
    }
    let ends = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        let rank = |q: f64| all[((q * (all.len() - 1) as f64).round() as usize).min(all.len() - 1)];
        (rank(0.025), rank(0.975))
    };
    let ((low, high), (slow, fast)) = (ends(loads), ends(rates));
    Some(((at, low, high), (law.rate_at(at), slow, fast)))
}
