//! A metric of a load with its 95 % interval within that load.
//!
//! Percentiles: the ranks between which the quantile lies, from the binomial distribution, for as many independent
//! events as the load is worth: n by the design effect, that is the variance of the events beyond the quantile per
//! interval against that of independent ones, times the correlation of neighbouring intervals. Rates and means:
//! Student's t over whole intervals, their number divided by the same kind of correlation. Shares of errors: Wilson.

use crate::archive::{IntervalRecord, Trial};
use crate::plan::Metric;
use crate::recorder::Histogram;

use super::super::statistics::{order_statistics, student, time_series};
use super::super::{latency, trials};

/// Fewer whole intervals carry no interval of a rate.
const FEWEST: usize = 3;
/// Probability below the upper end.
const UPPER: f64 = 0.975;

/// Which events of a load.
pub(super) struct CheckScope<'a> {
    pub(super) record: &'a Trial,
    /// Only this class.
    pub(super) class: Option<usize>,
}

/// A value and what is known about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasuredValue {
    /// In the metric's unit.
    pub(super) value: f64,
    /// 95 % interval; the upper end may be infinite. `None` if too little was measured.
    pub(super) interval: Option<(f64, f64)>,
    /// Whether the value is a plain fact of this load.
    pub(super) exact: bool,
}

/// The metric; `None` where there are too few events.
pub(super) fn measure_metric(metric: Metric, scope: &CheckScope<'_>) -> Option<MeasuredValue> {
    match metric {
        Metric::Quantile(share) => measure_quantile(share, scope),
        Metric::Mean => measure_mean(scope),
        Metric::Longest => {
            let response = scope.censored_response();
            let value = response.max() as f64 / 1e9;
            let exact = scope.unbegun_ages().is_none();
            let interval = (!exact).then_some((value, f64::INFINITY));
            (!response.is_empty()).then_some(MeasuredValue { value, interval, exact })
        }
        Metric::Errors => measure_error_share(scope),
        Metric::Rate => measure_rate(scope),
    }
}

impl CheckScope<'_> {
    fn response_histogram(&self) -> Histogram {
        match self.class {
            Some(class) => latency::sum_histograms(&self.record.response[class..=class]),
            None => latency::sum_histograms(&self.record.response),
        }
    }
    /// Arrivals that never began, where they can be told to be of these events.
    fn unbegun_ages(&self) -> Option<&Histogram> {
        let ours = self.class.is_none() || self.record.classes.len() == 1;
        Some(&self.record.unbegun).filter(|ages| ours && !ages.is_empty())
    }
    /// Response times with those that are known from below only.
    fn censored_response(&self) -> Histogram {
        match self.unbegun_ages() {
            Some(_) => latency::censored_response(self.record),
            None => self.response_histogram(),
        }
    }
    /// Intervals but for the cut ones at the ends.
    fn whole_intervals(&self) -> Vec<&IntervalRecord> {
        let whole = trials::whole_interval_ns(self.record);
        let length = |i: &&IntervalRecord| i.ended_ns.saturating_sub(i.began_ns) as f64;
        self.record.intervals.iter().filter(|i| length(i) > 0.0 && length(i) >= whole).collect()
    }
    fn count_in_scope(&self, counts: &[u64]) -> u64 {
        match self.class {
            Some(class) => counts.get(class).copied().unwrap_or_default(),
            None => counts.iter().sum(),
        }
    }
}

fn measure_quantile(share: f64, scope: &CheckScope<'_>) -> Option<MeasuredValue> {
    let response = scope.censored_response();
    let value = latency::latency_at(&response, share)?;
    let effect = design_effect(share, response.value_at_quantile(share), scope);
    let worth = ((response.len() as f64 / effect) as u64).max(1);
    let (low, high) = order_statistics::quantile_interval(worth, share);
    let at = |rank: u64| {
        response.value_at_quantile((rank as f64 / worth as f64).min(1.0)).min(response.max())
    };
    // What never began may have taken any time: it stands behind all that ended.
    let ended = scope.response_histogram();
    let rank = high as f64 / worth as f64 * response.len() as f64;
    let upper = if high > worth || rank > ended.len() as f64 {
        f64::INFINITY
    } else {
        ended.value_at_quantile(rank / ended.len() as f64).min(ended.max()) as f64 / 1e9
    };
    let lower = if low == 0 { 0.0 } else { at(low) as f64 / 1e9 };
    let interval = Some((lower.min(value), upper.max(value)));
    Some(MeasuredValue { value, interval, exact: false })
}

/// How many events are worth one independent event; at least 1.
fn design_effect(share: f64, bound_ns: u64, scope: &CheckScope<'_>) -> f64 {
    let beyond = |i: &&IntervalRecord| -> (f64, f64) {
        let cells = i.response.cells().iter().filter(|c| c.0 > bound_ns).map(|c| c.1);
        (cells.sum::<u64>() as f64, i.response.len() as f64)
    };
    let counts: Vec<(f64, f64)> = scope.whole_intervals().iter().map(beyond).collect();
    let events: f64 = counts.iter().map(|c| c.1).sum();
    if counts.len() < FEWEST || events <= 0.0 {
        return 1.0;
    }
    // The bound is a cell's edge: the share really beyond it may be a little smaller.
    let beyond: f64 = counts.iter().map(|c| c.0).sum();
    let rare = (beyond / events).clamp(f64::MIN_POSITIVE, 1.0 - share.min(0.999_999));
    let residuals: Vec<f64> = counts.iter().map(|(beyond, n)| beyond - n * rare).collect();
    let found: f64 = residuals.iter().map(|r| r * r).sum();
    let expected = events * rare * (1.0 - rare);
    let within = if expected > 0.0 { found / expected } else { 1.0 };
    (within * time_series::integrated_time(&residuals)).max(1.0)
}

/// Mean of values of whole intervals, as far as they are worth independent ones.
fn mean_with_interval(value: f64, values: &[f64]) -> MeasuredValue {
    let n = values.len() as f64;
    if values.len() < FEWEST {
        return MeasuredValue { value, interval: None, exact: false };
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let worth = (n / time_series::integrated_time(values)).max(2.0);
    let half = student::student_quantile(UPPER, worth - 1.0) * (variance / worth).sqrt();
    MeasuredValue { value, interval: Some((value - half, value + half)), exact: false }
}

fn measure_rate(scope: &CheckScope<'_>) -> Option<MeasuredValue> {
    let record = scope.record;
    let seconds = record.ended_ns.saturating_sub(record.began_ns) as f64 / 1e9;
    let value = scope.response_histogram().len() as f64 / seconds;
    let of = |i: &&IntervalRecord| {
        scope.count_in_scope(&i.events) as f64 / ((i.ended_ns - i.began_ns) as f64 / 1e9)
    };
    let rates: Vec<f64> = scope.whole_intervals().iter().map(of).collect();
    (seconds > 0.0).then(|| mean_with_interval(value, &rates))
}

/// Only the value for a class: intervals keep the response times of all classes together.
fn measure_mean(scope: &CheckScope<'_>) -> Option<MeasuredValue> {
    let response = scope.censored_response();
    if response.is_empty() {
        return None;
    }
    let value = response.mean() / 1e9;
    if scope.unbegun_ages().is_some() {
        return Some(MeasuredValue { value, interval: Some((value, f64::INFINITY)), exact: false });
    }
    let of = |i: &&IntervalRecord| {
        let sum: f64 = i.response.cells().iter().map(|(v, n)| *v as f64 * *n as f64).sum();
        (!i.response.is_empty()).then(|| sum / i.response.len() as f64 / 1e9)
    };
    let means: Vec<f64> = match scope.class {
        None => scope.whole_intervals().iter().filter_map(of).collect(),
        Some(_) => Vec::new(),
    };
    Some(mean_with_interval(value, &means))
}

/// Wilson's interval of a share. Without a failed event its lower end is 0.
fn measure_error_share(scope: &CheckScope<'_>) -> Option<MeasuredValue> {
    let failed: Vec<u64> = scope.record.failed.iter().map(|h| h.len()).collect();
    let (failed, good) =
        (scope.count_in_scope(&failed) as f64, scope.response_histogram().len() as f64);
    let n = failed + good;
    if n == 0.0 {
        return None;
    }
    let (p, z) = (failed / n, student::normal_quantile(UPPER));
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let low = if failed == 0.0 { 0.0 } else { (middle - half).max(0.0) };
    Some(MeasuredValue { value: p, interval: Some((low, (middle + half).min(1.0))), exact: false })
}
