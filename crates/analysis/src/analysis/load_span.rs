//! A stretch of a load summed up while the load runs: what programs show that report at intervals and at checkpoints.

use crate::base::Nanos;
use crate::recorder::{CounterSpec, Histogram, Interval, Tally, WorkerTotals, new_histogram};

/// Lowest value that logarithmic buckets hold, milliseconds.
const LOWEST_MS: f64 = 0.001;
/// Highest value that they hold, milliseconds.
const HIGHEST_MS: f64 = 100_000.0;
/// How many buckets there are.
const BUCKETS: usize = 1024;

/// How percentiles are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PercentileRule {
    /// From the recorder's histogram, never outside the shortest and the longest time.
    #[default]
    Recorded,
    /// As sysbench does: the middle of one of 1,024 logarithmic buckets between 0.001 ms and 100 s.
    Bucketed,
}

/// The sum of intervals since some moment of a load.
#[derive(Clone, Debug)]
pub struct LoadSpan {
    began: Option<Nanos>,
    ended: Nanos,
    response: Histogram,
    classes: Vec<u64>,
    errors: u64,
    reconnects: u64,
    counters: &'static [CounterSpec],
    tally: Tally,
    queued: u64,
    in_flight: u64,
    before: Vec<WorkerTotals>,
    now: Vec<WorkerTotals>,
}

/// What a stretch of a load comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadFigures {
    /// Its length, seconds.
    pub seconds: f64,
    /// Events that ended without an error.
    pub events: u64,
    /// Errors: failed events, and attempts at events that then ran again.
    pub errors: u64,
    /// Sessions opened anew.
    pub reconnects: u64,
    /// What the workload counts, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// Events that ended without an error, by class.
    pub class_events: Vec<u64>,
    /// Shortest response time, milliseconds; this and all times are 0 where nothing ended.
    pub min_ms: f64,
    /// Mean response time, milliseconds.
    pub mean_ms: f64,
    /// Longest response time, milliseconds.
    pub max_ms: f64,
    /// Sum of response times, milliseconds.
    pub sum_ms: f64,
    /// Percentiles asked for (0 to 100), with their times in milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Open loop: arrivals due and not begun at its end.
    pub queued: u64,
    /// Events under way at its end.
    pub in_flight: u64,
    /// How evenly the workers were used.
    pub fairness: WorkerFairness,
}

/// How evenly the workers of a load were used: means and standard deviations over the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerFairness {
    /// Mean of events.
    pub events_mean: f64,
    /// Standard deviation of events.
    pub events_deviation: f64,
    /// Mean of the time inside events, seconds.
    pub time_mean_s: f64,
    /// Standard deviation of that time, seconds.
    pub time_deviation_s: f64,
}

/// A bucket of a logarithmic histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogBucket {
    /// The middle of the bucket, milliseconds.
    pub value_ms: f64,
    /// Events in it.
    pub count: u64,
}

impl Default for LoadSpan {
    fn default() -> LoadSpan {
        LoadSpan {
            began: None,
            ended: Nanos(0),
            response: new_histogram(),
            classes: Vec::new(),
            errors: 0,
            reconnects: 0,
            counters: &[],
            tally: Tally::default(),
            queued: 0,
            in_flight: 0,
            before: Vec::new(),
            now: Vec::new(),
        }
    }
}

impl LoadSpan {
    /// A span of the same load that begins where this one ends.
    #[must_use]
    pub fn next_span(&self) -> LoadSpan {
        LoadSpan { before: self.now.clone(), now: self.now.clone(), ..LoadSpan::default() }
    }

    /// Adds the interval that follows.
    pub fn add_interval(&mut self, interval: &Interval) {
        self.began.get_or_insert(interval.began);
        self.ended = interval.ended;
        self.classes.resize(interval.classes.len(), 0);
        for (class, events) in interval.classes.iter().zip(&mut self.classes) {
            *events += class.response.len();
            class.response.add_to(&mut self.response);
        }
        self.errors += interval.error_count();
        self.reconnects += interval.reconnects;
        self.counters = interval.counters;
        self.tally.add(&interval.tally);
        (self.queued, self.in_flight) = (interval.backlog, interval.in_flight);
        self.now.clone_from(&interval.worker_totals);
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.began.is_none()
    }

    /// Its length, seconds.
    pub fn seconds(&self) -> f64 {
        self.began.map_or(0.0, |began| self.ended.since(began).to_seconds())
    }

    /// What it comes to, with these percentiles (0 to 100).
    pub fn figures(&self, percentiles: &[f64], rule: PercentileRule) -> LoadFigures {
        let ms = |ns: u64| ns as f64 / 1e6;
        let times = &self.response;
        let events = times.len();
        let mean_ms = if events == 0 { 0.0 } else { times.mean() / 1e6 };
        let read = |percentile: f64| match rule {
            _ if events == 0 => 0.0,
            PercentileRule::Recorded => {
                ms(times.value_at_percentile(percentile).clamp(times.min(), times.max()))
            }
            PercentileRule::Bucketed => bucketed_percentile(&log_counts(times), percentile),
        };
        let counts = self.counters.iter().zip(self.tally.counts);
        LoadFigures {
            seconds: self.seconds(),
            events,
            errors: self.errors,
            reconnects: self.reconnects,
            counts: counts.map(|(counter, count)| (counter.name, count)).collect(),
            class_events: self.classes.clone(),
            min_ms: if events == 0 { 0.0 } else { ms(times.min()) },
            mean_ms,
            max_ms: ms(times.max()),
            sum_ms: mean_ms * events as f64,
            percentiles: percentiles.iter().map(|wanted| (*wanted, read(*wanted))).collect(),
            queued: self.queued,
            in_flight: self.in_flight,
            fairness: self.worker_fairness(),
        }
    }

    /// The response times in logarithmic buckets; only those that hold events.
    pub fn log_buckets(&self) -> Vec<LogBucket> {
        let counts = log_counts(&self.response).into_iter().enumerate();
        let filled = counts.filter(|(_, count)| *count > 0);
        filled.map(|(n, count)| LogBucket { value_ms: bucket_value(n), count }).collect()
    }

    /// What each worker did.
    pub fn worker_totals(&self) -> Vec<WorkerTotals> {
        let before = self.before.iter().copied().chain(std::iter::repeat(WorkerTotals::default()));
        let since = |(now, before): (&WorkerTotals, WorkerTotals)| WorkerTotals {
            events: now.events - before.events,
            time: now.time.since(before.time),
        };
        self.now.iter().zip(before).map(since).collect()
    }

    fn worker_fairness(&self) -> WorkerFairness {
        let done = self.worker_totals();
        let done: Vec<(f64, f64)> =
            done.iter().map(|worker| (worker.events as f64, worker.time.to_seconds())).collect();
        let (events_mean, events_deviation) = mean_and_deviation(done.iter().map(|d| d.0));
        let (time_mean_s, time_deviation_s) = mean_and_deviation(done.iter().map(|d| d.1));
        WorkerFairness { events_mean, events_deviation, time_mean_s, time_deviation_s }
    }
}

impl LoadFigures {
    /// What was counted under this name.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// Per second of the span.
    pub fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }
}

/// Mean and population standard deviation; 0 of nothing.
fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count();
    if count == 0 {
        return (0.0, 0.0);
    }
    let mean = values.clone().sum::<f64>() / count as f64;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
    (mean, variance.sqrt())
}

/// Distance of two neighbouring buckets, as a logarithm.
fn bucket_step() -> f64 {
    (HIGHEST_MS / LOWEST_MS).ln() / (BUCKETS - 1) as f64
}

/// The middle of a bucket, milliseconds.
fn bucket_value(bucket: usize) -> f64 {
    LOWEST_MS * (bucket as f64 * bucket_step()).exp()
}

/// Events by bucket; what lies beyond the ends counts in the first and the last.
fn log_counts(times: &Histogram) -> Vec<u64> {
    let mut counts = vec![0; BUCKETS];
    for value in times.iter_recorded() {
        let ms = (value.value_iterated_to() as f64 / 1e6).clamp(LOWEST_MS, HIGHEST_MS);
        let bucket = ((ms / LOWEST_MS).ln() / bucket_step()).round() as usize;
        counts[bucket.min(BUCKETS - 1)] += value.count_at_value();
    }
    counts
}

fn bucketed_percentile(counts: &[u64], percentile: f64) -> f64 {
    let total: u64 = counts.iter().sum();
    let wanted = (total as f64 * percentile / 100.0).floor().max(1.0) as u64;
    let mut seen = 0;
    let reached = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    bucket_value(reached.unwrap_or(BUCKETS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::ClassTotals;

    fn interval(second: u64, times_ms: &[f64], totals: &[(u64, u64)]) -> Interval {
        let mut class = ClassTotals::default();
        for ms in times_ms {
            class.response.record((ms * 1e6) as u64);
        }
        let worker_totals = totals
            .iter()
            .map(|(events, ms)| WorkerTotals { events: *events, time: Nanos(ms * 1_000_000) });
        let [began, ended] = [second, second + 1].map(|s| Nanos(s * 1_000_000_000));
        Interval {
            classes: vec![class],
            worker_totals: worker_totals.collect(),
            ..Interval::empty(began, ended)
        }
    }

    #[test]
    fn figures_add_over_intervals_and_fairness_is_since_the_span_began() {
        let mut span = LoadSpan::default();
        span.add_interval(&interval(0, &[1.0, 3.0], &[(5, 100), (0, 0)]));
        let figures = span.figures(&[50.0, 95.0], PercentileRule::Recorded);
        assert_eq!((figures.events, figures.seconds), (2, 1.0));
        assert!((figures.sum_ms - 4.0).abs() < 0.01, "{figures:?}");
        assert_eq!(figures.percentiles[1].1, figures.max_ms);
        assert_eq!((figures.fairness.events_mean, figures.fairness.events_deviation), (2.5, 2.5));
        let mut next = span.next_span();
        next.add_interval(&interval(1, &[2.0], &[(6, 200), (1, 100)]));
        next.add_interval(&interval(2, &[], &[(6, 200), (1, 100)]));
        let figures = next.figures(&[], PercentileRule::Recorded);
        assert_eq!((figures.events, figures.seconds, figures.rate(1)), (1, 2.0, 0.5));
        assert_eq!((figures.fairness.events_mean, figures.fairness.events_deviation), (1.0, 0.0));
        assert_eq!(
            LoadSpan::default().figures(&[95.0], PercentileRule::Bucketed).percentiles[0].1,
            0.0
        );
    }

    #[test]
    fn buckets_are_those_that_users_of_sysbench_see() {
        let mut span = LoadSpan::default();
        span.add_interval(&interval(0, &[169.32], &[]));
        let bucketed = span.figures(&[95.0], PercentileRule::Bucketed).percentiles[0].1;
        assert_eq!(format!("{bucketed:.2}"), "170.48");
        let recorded = span.figures(&[95.0], PercentileRule::Recorded);
        assert!(recorded.percentiles[0].1 <= recorded.max_ms);
        let buckets = span.log_buckets();
        assert_eq!((buckets.len(), buckets[0].count), (1, 1));
        assert_eq!(format!("{:.3}", bucket_value(0)), "0.001");
        assert_eq!(format!("{:.3}", bucket_value(BUCKETS - 1)), "100000.000");
    }
}
