//! Events that hung together while others went on: what a rate alone doesn't show.
//!
//! An event that took longer than the interval in which it ended was already under way when that began. Several of
//! them, each older than ten times the usual 99th percentile at that moment, were stuck at once. Only for a closed loop:
//! in an open one a response time also holds the wait for a free session.
//! Never knows: why.

use crate::archive::{IntervalRecord, Trial};

use super::super::statistics::robust::rolling_median;
use super::columns::TimeSpan;

/// How old an event must be, in usual 99th percentiles.
const TIMES_P99: f64 = 10.0;
/// Stuck events needed: a quarter of the workers, and so many at least.
const FEWEST: usize = 3;
/// Intervals around one that say what is usual.
const AROUND: usize = 61;

/// Stretches in which enough events were stuck for certain, and the share of the workers that were.
pub(super) fn find_stuck_spans(trial: &Trial) -> Vec<(TimeSpan, f64)> {
    if trial.arrival.closed_think_s().is_none() {
        return Vec::new();
    }
    let p99 = |i: &IntervalRecord| i.response.value_at_quantile(0.99) as f64;
    let p99: Vec<f64> = trial.intervals.iter().map(p99).collect();
    let usual = rolling_median(&p99, AROUND);
    let needed = (trial.workers / 4).max(FEWEST) as u64;
    let of = |(interval, usual): (&IntervalRecord, &f64)| {
        let length = interval.ended_ns.saturating_sub(interval.began_ns);
        let at_least = length + (TIMES_P99 * usual) as u64;
        let events = interval.response.len();
        if *usual <= 0.0 || events < needed || interval.response.max_ns() < at_least {
            return None;
        }
        let rank = (events - needed + 1) as f64 / events as f64;
        let took = interval.response.value_at_quantile(rank);
        let from_s = interval.ended_ns.saturating_sub(took) as f64 / 1e9;
        let span = TimeSpan { from_s, to_s: interval.began_ns as f64 / 1e9 };
        let share = needed as f64 / trial.workers.max(1) as f64;
        (took >= at_least).then_some((span, share.min(1.0)))
    };
    trial.intervals.iter().zip(&usual).filter_map(of).collect()
}
