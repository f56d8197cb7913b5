//! Percentiles, from histograms that were added, never from percentiles that were averaged.

use crate::archive::Trial;
use crate::recorder::{Histogram, SparseHistogram, new_histogram};

use super::findings::{LatencyHistogram, LatencySummary, SpectrumPoint};

/// Points of a spectrum per factor of ten of 1/(1-q).
const SPECTRUM_POINTS_PER_DECADE: u32 = 20;
/// Bins of a histogram of equal widths, and how many times the 90th percentile they reach.
const LATENCY_BINS: usize = 40;
const REACH: f64 = 4.0;

/// One histogram with the events of all.
pub(super) fn sum_histograms(histograms: &[Histogram]) -> Histogram {
    let mut all = new_histogram();
    for histogram in histograms {
        // Ours share their bounds; a foreign one with wider bounds is cut at ours, never lost.
        if all.add(histogram).is_err() {
            for value in histogram.iter_recorded() {
                let clamped = value.value_iterated_to().min(all.high());
                all.saturating_record_n(clamped, value.count_since_last_iteration());
            }
        }
    }
    all
}

/// Response times of a load as far as they are known: those of its good events, and of what was due and never began
/// (right-censored) the time it had waited. A percentile that lies among these is a lower bound.
pub(super) fn censored_response(trial: &Trial) -> Histogram {
    let mut all = sum_histograms(&trial.response);
    // Same bounds everywhere: what does not fit was cut when it was recorded.
    let _ = all.add(&trial.unbegun);
    all
}

/// Whether at least one of `events` lies beyond the quantile: n (1-q) >= 1.
fn carries_quantile(events: u64, quantile: f64) -> bool {
    // A little slack, as 1 - 0.99 is not exactly 0.01.
    events > 0 && events as f64 * (1.0 - quantile) >= 1.0 - 1e-6
}

/// The latency, in seconds, below or at which the share `quantile` of the events lie.
///
/// Nearest rank on the histogram (`HdrHistogram`: the highest value equivalent to the bucket that holds rank
/// ceil(q n)), so at most 0.1 % above the true value. `None` if fewer than one event lies beyond it, that is
/// n (1-q) < 1: such a percentile would be the maximum under another name.
pub(super) fn latency_at(histogram: &Histogram, quantile: f64) -> Option<f64> {
    carries_quantile(histogram.len(), quantile)
        .then(|| histogram.value_at_quantile(quantile).min(histogram.max()) as f64 / 1e9)
}

/// Summary of a histogram of nanoseconds.
pub(super) fn summarize_histogram(histogram: &Histogram) -> LatencySummary {
    if histogram.is_empty() {
        return LatencySummary::default();
    }
    LatencySummary {
        events: histogram.len(),
        mean_s: Some(histogram.mean() / 1e9),
        min_s: Some(histogram.min() as f64 / 1e9),
        p50_s: latency_at(histogram, 0.5),
        p90_s: latency_at(histogram, 0.9),
        p95_s: latency_at(histogram, 0.95),
        p99_s: latency_at(histogram, 0.99),
        p999_s: latency_at(histogram, 0.999),
        p9999_s: latency_at(histogram, 0.9999),
        max_s: Some(histogram.max() as f64 / 1e9),
    }
}

/// Summary of a histogram that keeps its filled cells only.
pub(super) fn summarize_sparse(histogram: &SparseHistogram) -> LatencySummary {
    let at = |quantile| {
        carries_quantile(histogram.len(), quantile)
            .then(|| histogram.value_at_quantile(quantile) as f64 / 1e9)
    };
    if histogram.is_empty() {
        return LatencySummary::default();
    }
    LatencySummary {
        events: histogram.len(),
        mean_s: Some(histogram.mean_ns() / 1e9),
        min_s: histogram.cells().first().map(|cell| cell.0 as f64 / 1e9),
        p50_s: at(0.5),
        p90_s: at(0.9),
        p95_s: at(0.95),
        p99_s: at(0.99),
        p999_s: at(0.999),
        p9999_s: at(0.9999),
        max_s: Some(histogram.max_ns() as f64 / 1e9),
    }
}

/// Summary of one interval: the percentiles that are drawn over time; the others stay unknown.
pub(super) fn summarize_interval(histogram: &SparseHistogram) -> LatencySummary {
    let at = |quantile| {
        carries_quantile(histogram.len(), quantile)
            .then(|| histogram.value_at_quantile(quantile) as f64 / 1e9)
    };
    LatencySummary {
        events: histogram.len(),
        p50_s: at(0.5),
        p95_s: at(0.95),
        p99_s: at(0.99),
        max_s: (!histogram.is_empty()).then(|| histogram.max_ns() as f64 / 1e9),
        ..LatencySummary::default()
    }
}

/// The percentile spectrum: latency over 1/(1-q), evenly spaced on its logarithm, as far as events carry it.
/// Source: the percentile plots of `HdrHistogram`.
pub(super) fn percentile_spectrum(histogram: &Histogram) -> Vec<SpectrumPoint> {
    let mut points = Vec::new();
    let mut step = 0;
    while !histogram.is_empty() {
        let quantile = 1.0 - 10f64.powf(-f64::from(step) / f64::from(SPECTRUM_POINTS_PER_DECADE));
        match latency_at(histogram, quantile) {
            Some(latency_s) => points.push(SpectrumPoint { quantile, latency_s }),
            None => break,
        }
        step += 1;
    }
    points
}

/// How many events took how long, in bins of equal width; `None` without events.
pub(super) fn latency_histogram(histogram: &Histogram) -> Option<LatencyHistogram> {
    let p90_s = histogram.value_at_quantile(0.9) as f64 / 1e9;
    let bin_s = REACH * p90_s / LATENCY_BINS as f64;
    if histogram.is_empty() || bin_s <= 0.0 {
        return None;
    }
    let (mut counts, mut longer) = (vec![0; LATENCY_BINS], 0);
    for cell in histogram.iter_recorded() {
        let bin = (cell.value_iterated_to() as f64 / 1e9 / bin_s) as usize;
        *counts.get_mut(bin).unwrap_or(&mut longer) += cell.count_since_last_iteration();
    }
    Some(LatencyHistogram { bin_s, counts, longer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_reach_four_times_the_90th_percentile() {
        let all = histogram((1..=1000).map(|us| us * 1000).chain([5_000_000, 6_000_000]));
        let found = latency_histogram(&all).unwrap();
        assert!((found.bin_s - 90.2e-6).abs() < 0.2e-6, "{}", found.bin_s);
        assert_eq!((found.counts.len(), found.longer), (40, 2));
        assert_eq!(found.counts.iter().sum::<u64>(), 1000);
        assert!((89..=91).contains(&found.counts[0]), "{}", found.counts[0]);
        assert_eq!(latency_histogram(&new_histogram()), None);
    }

    fn histogram(values: impl Iterator<Item = u64>) -> Histogram {
        let mut all = new_histogram();
        for value in values {
            all.record(value).unwrap();
        }
        all
    }

    #[test]
    fn percentiles_of_one_to_ten_thousand_microseconds() {
        let all = histogram((1..=10_000).map(|us| us * 1000));
        let found = summarize_histogram(&all);
        assert_eq!(found.events, 10_000);
        for (value, expected) in [
            (found.p50_s, 5.0e-3),
            (found.p95_s, 9.5e-3),
            (found.p99_s, 9.9e-3),
            (found.p999_s, 9.99e-3),
            (found.p9999_s, 9.999e-3),
            (found.max_s, 10e-3),
            (found.mean_s, 5.0005e-3),
        ] {
            let value = value.unwrap();
            assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
        }
    }

    #[test]
    fn a_percentile_needs_an_event_beyond_it() {
        let found = summarize_histogram(&histogram((1..=99).map(|us| us * 1000)));
        assert!(found.p95_s.is_some());
        assert_eq!(found.p99_s, None);
        assert!(summarize_histogram(&histogram((1..=100).map(|us| us * 1000))).p99_s.is_some());
        assert_eq!(summarize_histogram(&new_histogram()), LatencySummary::default());
    }

    #[test]
    fn percentiles_come_from_added_histograms() {
        // One second with 9,900 events of 1 ms, one with 100 of 100 ms: the mean of the p99s would be 50 ms.
        let fast = histogram(std::iter::repeat_n(1_000_000, 9_900));
        let slow = histogram(std::iter::repeat_n(100_000_000, 100));
        let both = summarize_histogram(&sum_histograms(&[fast, slow]));
        assert!((both.p99_s.unwrap() - 1e-3).abs() < 1e-5);
        assert!((both.p999_s.unwrap() - 0.1).abs() < 1e-3);
    }

    #[test]
    fn wider_histograms_are_cut_not_lost() {
        let mut wide = Histogram::new_with_bounds(1, u64::MAX / 4, 3).unwrap();
        wide.record(8_000_000_000_000).unwrap();
        let all = sum_histograms(&[wide]);
        assert_eq!(all.len(), 1);
        assert!(all.max() >= 3_600_000_000_000);
    }

    #[test]
    fn the_spectrum_rises_and_stops_where_events_end() {
        let points = percentile_spectrum(&histogram((1..=1000).map(|us| us * 1000)));
        assert!(points.windows(2).all(|w| w[0].latency_s <= w[1].latency_s));
        let last = points.last().unwrap().quantile;
        assert!((last - 0.999).abs() < 1e-9, "{last}");
        assert!(percentile_spectrum(&new_histogram()).is_empty());
    }
}
