//! One step of a search: what was offered, what was done, and whether the objectives were met. Verdicts about
//! percentiles stand on the order statistics that bound them (David and Nagaraja, "Order Statistics", 7.1), about shares
//! on Wilson's interval ("Probable inference, the law of succession, and statistical inference", 1927).

use super::super::findings::ComparisonVerdict;
use super::super::latency;
use super::super::load_audit;
use super::super::number_format::{format_number, format_percent, format_time};
use super::super::statistics::order_statistics::quantile_interval;
use crate::archive::Trial;
use crate::plan::{Metric, Objective};
use crate::recorder::{Histogram, new_histogram};

/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;
/// Less than this share of what was offered is a failure.
const ACHIEVED: f64 = 0.98;
/// So many deviations of a Poisson count are chance, not the server.
const CHANCE: f64 = 3.0;
/// A backlog that grows by this factor from the first to the last third of a step, and to so many rounds of all
/// sessions, will not stop growing; if what waits there waits for at least this share of the tightest objective, or,
/// where none is a time, for that many seconds.
const GROWTH: f64 = 5.0;
const WAIT_SHARE: f64 = 0.5;
/// Our own lateness may be this share of the tightest objective.
const OWN_SHARE: f64 = 0.1;

/// How the reason of a step begins in which sweat and not the server was the limit.
pub const LIMIT: &str = "the load generator is the limit";

/// What was seen in a step, after its settling time.
#[derive(Clone, Debug)]
pub struct StepMeasurement {
    /// The value that the load had along the axis of the search.
    pub value: Option<f64>,
    /// Events per second offered; `None` for a closed loop.
    pub offered_per_s: Option<f64>,
    /// Seconds that count.
    pub seconds: f64,
    /// Sessions.
    pub workers: usize,
    /// Response times of good events.
    pub response: Histogram,
    /// Failed events.
    pub failed: u64,
    /// Arrivals due and not begun, at the end of each interval.
    pub backlog: Vec<u64>,
    /// 99th percentile of our own lateness, seconds.
    pub lateness_p99_s: Option<f64>,
    /// Limits of the workload's own that do not hold over the whole step: `p90 new_order 6.1 s, at most 5 s`.
    pub broken_limits: Vec<String>,
}

/// What is to be said about a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepVerdict {
    /// The value that the load had along the axis of the search.
    pub value: Option<f64>,
    /// Events per second offered; `None` for a closed loop.
    pub offered_per_s: Option<f64>,
    /// Good events per second.
    pub achieved_per_s: f64,
    /// 99th percentile of the response time, seconds.
    pub p99_s: Option<f64>,
    /// Better for pass, worse for fail, unsure where the interval holds the bound.
    pub verdict: ComparisonVerdict,
    /// Whether the plain values meet the objectives, without intervals.
    pub is_met: bool,
    /// Whether sweat was the limit and not the server: the step says nothing.
    pub is_void: bool,
    /// Why, in words.
    pub why: String,
    /// The value of each objective.
    pub values: Vec<Option<f64>>,
}

impl StepMeasurement {
    /// What a load tells after `settle_s` seconds; `asked_s` is how long it should have run in all.
    pub fn from_trial(trial: &Trial, settle_s: f64, asked_s: f64) -> StepMeasurement {
        let from = trial.began_ns.saturating_add((settle_s * 1e9) as u64);
        // Intervals begin a little after the load or the one before.
        let slack = 20_000_000;
        let counted: Vec<_> =
            trial.intervals.iter().filter(|i| i.began_ns + slack >= from).collect();
        let mut response = new_histogram();
        counted.iter().for_each(|i| i.response.add_to(&mut response));
        let began = counted.first().map_or(from, |i| i.began_ns);
        // Events under way at the end are awaited: that is no time in which others could begin.
        let asked = trial.began_ns.saturating_add((asked_s * 1e9) as u64);
        let ended = counted.last().map_or(began, |i| i.ended_ns).min(asked.max(began));
        let lateness = &trial.lateness;
        StepMeasurement {
            value: trial.value,
            offered_per_s: trial.offered_per_s,
            seconds: (ended - began) as f64 / 1e9,
            workers: trial.workers,
            response,
            failed: counted.iter().flat_map(|i| &i.errors).sum(),
            backlog: counted.iter().map(|i| i.backlog).collect(),
            lateness_p99_s: (!lateness.is_empty())
                .then(|| lateness.value_at_quantile(0.99) as f64 / 1e9),
            broken_limits: load_audit::broken_limits(trial),
        }
    }

    fn achieved_per_s(&self) -> f64 {
        if self.seconds > 0.0 { self.response.len() as f64 / self.seconds } else { 0.0 }
    }

    /// Less than 98 % of what was offered, and by more than chance.
    fn rate_shortfall(&self) -> Option<String> {
        let offered = self.offered_per_s?;
        let done = (self.response.len() + self.failed) as f64;
        let due = offered * self.seconds;
        (done < ACHIEVED * due && done < due - CHANCE * due.sqrt()).then(|| {
            format!(
                "{} of {} events/s offered were done",
                format_number(done / self.seconds.max(1e-9)),
                format_number(offered)
            )
        })
    }

    /// A queue that grows through the step.
    fn backlog_growth(&self, objectives: &[Objective]) -> Option<String> {
        let rate = self.offered_per_s?;
        let third = self.backlog.len() / 3;
        if third == 0 {
            return None;
        }
        let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64;
        let first = mean(&self.backlog[..third]);
        let last = mean(&self.backlog[self.backlog.len() - third..]);
        let grows = last > GROWTH * first.max(self.workers as f64);
        let waits = last / rate > WAIT_SHARE * tightest_bound_s(objectives).min(1.0);
        (grows && waits).then(|| {
            format!(
                "the backlog grows, from {} to {} arrivals that wait",
                format_number(first),
                format_number(last)
            )
        })
    }

    /// Our own lateness against the tightest time asked for.
    fn generator_limit(&self, objectives: &[Objective]) -> Option<String> {
        let late = self.lateness_p99_s?;
        let tightest = tightest_bound_s(objectives);
        (late > OWN_SHARE * tightest).then(|| {
            format!(
                "{LIMIT}: its own lateness has p99 {}, more than {} of {}",
                format_time(late),
                format_percent(OWN_SHARE),
                format_time(tightest)
            )
        })
    }
}

/// Whether the objective bounds a time.
pub(super) fn is_time(objective: &Objective) -> bool {
    matches!(objective.metric, Metric::Quantile(_) | Metric::Mean | Metric::Longest)
}

/// The tightest of the times asked for, seconds; infinite if none is.
fn tightest_bound_s(objectives: &[Objective]) -> f64 {
    let times = objectives.iter().filter(|o| is_time(o)).map(|o| o.bound);
    times.fold(f64::INFINITY, f64::min)
}

/// Judges a step.
pub fn judge_step(seen: &StepMeasurement, objectives: &[Objective]) -> StepVerdict {
    let mut judged = StepVerdict {
        value: seen.value,
        offered_per_s: seen.offered_per_s,
        achieved_per_s: seen.achieved_per_s(),
        p99_s: latency::latency_at(&seen.response, 0.99),
        verdict: ComparisonVerdict::Better,
        is_met: true,
        is_void: false,
        why: String::new(),
        values: Vec::new(),
    };
    let (mut failed, mut unsure, mut passed) = (Vec::new(), Vec::new(), Vec::new());
    for objective in objectives {
        let estimate = estimate_metric(seen, objective.metric);
        judged.values.push(estimate.map(|(value, ..)| value));
        let Some((value, low, high)) = estimate else {
            unsure.push(format!("{}: too few events to tell", objective.metric));
            judged.is_met = false;
            continue;
        };
        judged.is_met &= objective.is_met(value);
        let (best, worst) = if objective.is_upper_bound() { (low, high) } else { (high, low) };
        let words = estimate_text(objective, value, low, high);
        match (objective.is_met(worst), objective.is_met(best)) {
            (true, _) => passed.push(words),
            (false, false) => failed.push(words),
            (false, true) => unsure.push(words),
        }
    }
    let other: Vec<String> =
        seen.rate_shortfall().into_iter().chain(seen.backlog_growth(objectives)).collect();
    let other: Vec<String> = other.into_iter().chain(seen.broken_limits.clone()).collect();
    if let Some(limit) = seen.generator_limit(objectives) {
        (judged.is_void, judged.is_met) = (true, false);
        (judged.verdict, judged.why) = (ComparisonVerdict::Unsure, limit);
    } else if !(failed.is_empty() && other.is_empty()) {
        judged.is_met = false;
        judged.verdict = ComparisonVerdict::Worse;
        judged.why = failed.into_iter().chain(other).collect::<Vec<_>>().join("; ");
    } else if !unsure.is_empty() {
        (judged.verdict, judged.why) = (ComparisonVerdict::Unsure, unsure.join("; "));
    } else {
        judged.why = passed.join("; ");
    }
    judged
}

/// `p99 18.2 ms (17.4 ms to 19.1 ms)`
fn estimate_text(objective: &Objective, value: f64, low: f64, high: f64) -> String {
    let shown = |v: f64| match () {
        () if !v.is_finite() => "more than any seen".to_owned(),
        () if is_time(objective) => format_time(v),
        () => format_percent(v),
    };
    let metric = objective.metric;
    if low == high {
        return format!("{metric} {}", shown(value));
    }
    format!("{metric} {} ({} to {})", shown(value), shown(low), shown(high))
}

/// Value and 95 % interval of a metric; `None` where there is nothing to look at.
fn estimate_metric(seen: &StepMeasurement, metric: Metric) -> Option<(f64, f64, f64)> {
    let histogram = &seen.response;
    let events = histogram.len();
    let all = events + seen.failed;
    match metric {
        _ if all == 0 => None,
        Metric::Errors => Some(wilson_interval(seen.failed, all)),
        _ if events == 0 => None,
        Metric::Quantile(quantile) => {
            let at = |rank: u64| match rank {
                0 => 0.0,
                rank if rank > events => f64::INFINITY,
                // Half a rank down, so that rounding never reads the next bucket.
                rank => {
                    let share = (rank as f64 - 0.5) / events as f64;
                    histogram.value_at_quantile(share).min(histogram.max()) as f64 / 1e9
                }
            };
            let (low, high) = quantile_interval(events, quantile);
            let rank = ((quantile * events as f64).ceil() as u64).clamp(1, events);
            Some((at(rank), at(low), at(high)))
        }
        Metric::Mean => {
            let half = Z * histogram.stdev() / (events as f64).sqrt();
            let mean = histogram.mean();
            Some((mean / 1e9, (mean - half) / 1e9, (mean + half) / 1e9))
        }
        Metric::Longest => {
            let longest = histogram.max() as f64 / 1e9;
            Some((longest, longest, longest))
        }
        Metric::Rate => {
            let rate = seen.achieved_per_s();
            Some((rate, rate, rate))
        }
    }
}

/// A share and Wilson's interval.
fn wilson_interval(hits: u64, all: u64) -> (f64, f64, f64) {
    let (n, p) = (all as f64, hits as f64 / all as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (p, (middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objectives(texts: &[&str]) -> Vec<Objective> {
        texts.iter().map(|t| Objective::parse("--slo", t).unwrap()).collect()
    }

    /// 10 000 events whose response times go evenly from 0 to `longest_ms`.
    fn seen(longest_ms: f64) -> StepMeasurement {
        let mut response = new_histogram();
        (1..=10_000u64)
            .for_each(|n| response.record((n as f64 * longest_ms * 100.0) as u64).unwrap());
        StepMeasurement {
            value: None,
            offered_per_s: Some(1000.0),
            seconds: 10.0,
            workers: 4,
            response,
            failed: 0,
            backlog: vec![0; 10],
            lateness_p99_s: Some(50e-6),
            broken_limits: Vec::new(),
        }
    }

    #[test]
    fn the_interval_of_the_percentile_decides() {
        // p99 is 0.99 of the longest, its interval reaches from 0.988 to 0.992 of it.
        let slo = objectives(&["p99<20ms"]);
        for (longest_ms, verdict, is_met) in [
            (20.1, ComparisonVerdict::Better, true),
            (20.18, ComparisonVerdict::Unsure, true),
            (20.23, ComparisonVerdict::Unsure, false),
            (20.3, ComparisonVerdict::Worse, false),
        ] {
            let judged = judge_step(&seen(longest_ms), &slo);
            assert_eq!((judged.verdict, judged.is_met), (verdict, is_met), "{}", judged.why);
            assert!(judged.why.starts_with("p99 "), "{}", judged.why);
        }
    }

    #[test]
    fn what_the_server_does_not_do_fails_whatever_the_latency() {
        let slo = objectives(&["p99<1s"]);
        let limit = "p90 new_order 6 s, at most 5 s".to_owned();
        let over = StepMeasurement { broken_limits: vec![limit.clone()], ..seen(5.0) };
        let judged = judge_step(&over, &slo);
        assert_eq!((judged.verdict, judged.why), (ComparisonVerdict::Worse, limit));
        let short = StepMeasurement { offered_per_s: Some(1050.0), ..seen(5.0) };
        let judged = judge_step(&short, &slo);
        assert_eq!(judged.verdict, ComparisonVerdict::Worse);
        assert_eq!(judged.why, "1 000 of 1 050 events/s offered were done");
        // 1.5 % less is within the 2 %, and so is what a Poisson count may lack by chance.
        assert_eq!(
            judge_step(&StepMeasurement { offered_per_s: Some(1015.0), ..seen(5.0) }, &slo).verdict,
            ComparisonVerdict::Better
        );
        let grows = StepMeasurement { backlog: (0..30).map(|n| n * 50).collect(), ..seen(5.0) };
        assert!(judge_step(&grows, &slo).why.contains("the backlog grows, from 225 to 1 225"));
        // The same growth, of a wait that nobody would notice.
        let hiccup = StepMeasurement { backlog: (0..30).map(|n| n * 5).collect(), ..seen(5.0) };
        assert_eq!(judge_step(&hiccup, &slo).verdict, ComparisonVerdict::Better);
    }

    #[test]
    fn our_own_lateness_makes_it_void() {
        let late = StepMeasurement { lateness_p99_s: Some(0.003), ..seen(5.0) };
        let judged = judge_step(&late, &objectives(&["p99<20ms", "errors<1%"]));
        assert!(judged.is_void && judged.verdict == ComparisonVerdict::Unsure);
        assert!(judged.why.starts_with("the load generator is the limit"), "{}", judged.why);
    }

    #[test]
    fn errors_are_a_share_with_an_interval() {
        let slo = objectives(&["errors<0.1%"]);
        let with = |failed| judge_step(&StepMeasurement { failed, ..seen(5.0) }, &slo).verdict;
        assert_eq!(with(0), ComparisonVerdict::Better);
        assert_eq!(with(9), ComparisonVerdict::Unsure);
        assert_eq!(with(40), ComparisonVerdict::Worse);
        // Newcombe, "Two-sided confidence intervals for the single proportion", 1998: 81 of 263.
        let (_, low, high) = wilson_interval(81, 263);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5, "{low} {high}");
    }

    #[test]
    fn nothing_done_is_no_pass() {
        let nothing = StepMeasurement { response: new_histogram(), ..seen(5.0) };
        assert_eq!(
            judge_step(&nothing, &objectives(&["p99<20ms"])).verdict,
            ComparisonVerdict::Worse
        );
    }
}
