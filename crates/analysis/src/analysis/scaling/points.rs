//! The points of a sweep, from its loads: mean of blocks, load by Little's law, running threads beside it.

use super::super::findings::{Estimate, ScalingPoint, TrialFinding};
use super::super::latency;
use super::super::number_format::{format_number, format_percent};
use super::super::statistics::correction::ALPHA;
use super::super::statistics::student;
use super::super::statistics::welch::one_sample;
use crate::archive::RunRecord;
use crate::plan::{RATE, THREADS};

/// The same level at begin and end of a block apart by more than this share: the machine or the server drifted.
const DRIFT: f64 = 0.03;
/// Our own session counts as running while it reads the counter.
const OWN_RUNNING: f64 = 1.0;
/// The counter of sessions at work.
const RUNNING: &str = "Threads_running";

/// What was varied; `None` if the loads have no values.
pub(super) fn sweep_axis(run: &RunRecord) -> Option<String> {
    let has_values = run.trials.iter().any(|t| t.value.is_some());
    run.meta.asked.axis.clone().filter(|_| has_values)
}

/// One value in one block.
struct SweepCell {
    value: f64,
    block: u32,
    /// Its loads, as indexes into the trials.
    trials: Vec<usize>,
    /// Loads of the same value after others had their turn: they show drift and count for nothing else.
    again: Vec<usize>,
}

/// The points in the order of the value, and what is to be said about them.
pub(super) fn scaling_points(
    run: &RunRecord,
    trials: &[TrialFinding],
    axis: &str,
) -> (Vec<ScalingPoint>, Vec<String>) {
    let cells = sweep_cells(trials);
    let mut values: Vec<f64> = cells.iter().map(|c| c.value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let mut points: Vec<ScalingPoint> =
        values.iter().map(|value| scaling_point(run, trials, &cells, *value)).collect();
    let per_one = points.first().and_then(|p| Some(p.events_per_s.value? / p.value));
    for point in &mut points {
        let rate = point.events_per_s.value;
        point.efficiency = match axis {
            THREADS => rate.zip(per_one).map(|(rate, one)| rate / (one * point.value)),
            RATE => rate.map(|rate| rate / point.value),
            _ => None,
        };
    }
    (points, cells.iter().filter_map(|cell| drift_note(trials, cell, axis)).collect())
}

fn sweep_cells(trials: &[TrialFinding]) -> Vec<SweepCell> {
    let mut cells: Vec<SweepCell> = Vec::new();
    let mut last: Option<(u32, f64)> = None;
    for (place, trial) in trials.iter().enumerate() {
        let Some(value) = trial.value else { continue };
        let key = (trial.block, value);
        match cells.iter_mut().find(|c| (c.block, c.value) == key) {
            Some(cell) if last == Some(key) && cell.again.is_empty() => cell.trials.push(place),
            Some(cell) => cell.again.push(place),
            None => cells.push(SweepCell {
                value,
                block: trial.block,
                trials: vec![place],
                again: Vec::new(),
            }),
        }
        last = Some(key);
    }
    cells
}

fn scaling_point(
    run: &RunRecord,
    trials: &[TrialFinding],
    cells: &[SweepCell],
    value: f64,
) -> ScalingPoint {
    let here: Vec<&SweepCell> = cells.iter().filter(|c| c.value == value).collect();
    let all: Vec<usize> = here.iter().flat_map(|c| c.trials.iter().copied()).collect();
    let rates: Vec<f64> =
        here.iter().filter_map(|c| mean_of(rates_of(trials, &c.trials))).collect();
    let concurrency = |t: &usize| {
        let trial = &trials[*t];
        Some(trial.events_per_s.value? * trial.response.mean_s?)
    };
    let running = |t: &usize| threads_running(run, trials, *t);
    let histograms: Vec<_> =
        all.iter().filter_map(|t| run.trials.get(*t)).map(latency::censored_response).collect();
    ScalingPoint {
        value,
        concurrency: mean_of(all.iter().filter_map(concurrency)),
        events_per_s: estimate_rate(&rates),
        p99_s: latency::latency_at(&latency::sum_histograms(&histograms), 0.99),
        threads_running: mean_of(all.iter().filter_map(running)),
        efficiency: None,
    }
}

fn rates_of<'a>(trials: &'a [TrialFinding], of: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
    of.iter().filter_map(|t| trials[*t].events_per_s.value)
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), v| (count + 1, sum + v));
    (count > 0).then(|| sum / f64::from(count))
}

/// Geometric mean and 95 % interval over blocks, by Student's t on logarithms: as rates are compared everywhere, and no
/// interval reaches below zero. A level with a block without any event has no interval.
fn estimate_rate(rates: &[f64]) -> Estimate {
    let runs = rates.len() as u32;
    if runs == 1 || rates.iter().any(|rate| *rate <= 0.0) {
        return Estimate { value: mean_of(rates.iter().copied()), ci95: None, runs };
    }
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let interval = one_sample(&logs).map(|mean| mean.confidence_interval(ALPHA));
    let ci95 = interval.map(|(low, high)| (low.exp(), high.exp()));
    Estimate { value: mean_of(logs.into_iter()).map(f64::exp), ci95, runs }
}

/// Variance of the logarithm of a mean over blocks, and its degrees of freedom; `None` from a single block.
pub(super) fn relative_variance(estimate: &Estimate) -> Option<(f64, f64)> {
    let (low, high) = estimate.ci95?;
    let df = f64::from(estimate.runs) - 1.0;
    let error = (high / low).ln() / 2.0 / student::student_quantile(0.975, df);
    Some((error.powi(2), df))
}

/// Mean number of running threads during a load, without our own sampler.
fn threads_running(run: &RunRecord, trials: &[TrialFinding], place: usize) -> Option<f64> {
    let trial = &trials[place];
    let (began, ended) = (trial.began_s * 1e9, (trial.began_s + trial.seconds) * 1e9);
    let seen =
        run.samples.iter().filter(|s| s.began_ns as f64 >= began && s.ended_ns as f64 <= ended);
    mean_of(seen.filter_map(|s| s.numbers.get(RUNNING)).map(|n| (n - OWN_RUNNING).max(0.0)))
}

/// What a level that was run again at the end of its block says.
fn drift_note(trials: &[TrialFinding], cell: &SweepCell, axis: &str) -> Option<String> {
    let first = mean_of(rates_of(trials, &cell.trials)).filter(|r| *r > 0.0)?;
    let again = mean_of(rates_of(trials, &cell.again))?;
    let change = again / first - 1.0;
    (change.abs() > DRIFT).then(|| {
        format!(
            "drift: {axis}={} gave {} events/s at first and {} when it was run again ({} {}): the \
             points in between are not on one footing",
            super::level_text(cell.value),
            format_number(first),
            format_number(again),
            format_percent(change.abs()),
            if change > 0.0 { "more" } else { "less" },
        )
    })
}
