//! One finding per load: rate, latency, errors, what the server read meanwhile, what an event cost.

use crate::archive::{self, IntervalRecord, RunRecord, StepRecord, Trial};
use crate::recorder::Histogram;

use super::findings::{
    ClassFinding, DataCheckFinding, Estimate, PoolTemperature, RateSpread, StallFindings,
    SteadyState, TrialFinding, UnbegunArrivals, WorkCount,
};
use super::load_title::load_title;
use super::{
    cost, counters, figures, latency, load_audit, replay, run_exchanges, stages, stalls, steady,
};

/// Counters of pages read one by one on a miss.
const DISK_READS: &[&str] = &["Innodb_buffer_pool_reads"];
/// Counters of bytes from disk: what reached the block device, else what the server asked for.
pub(super) const DISK_BYTES: &[&str] = &["process.read_bytes", "Innodb_data_read"];
/// Share of the usual length below which an interval (first, last) is left out of the spread of rates.
const WHOLE_INTERVAL: f64 = 0.5;

/// All loads, in the order they ran.
pub(super) fn trial_findings(
    run: &RunRecord,
    temperatures: &[PoolTemperature],
) -> Vec<TrialFinding> {
    run.trials.iter().zip(temperatures).map(|(trial, t)| trial_finding(run, trial, *t)).collect()
}

fn trial_finding(run: &RunRecord, trial: &Trial, temperature: PoolTemperature) -> TrialFinding {
    let step = counters::step_of_trial(run, trial);
    let response = latency::censored_response(trial);
    let events: u64 = trial.response.iter().map(|h| h.len()).sum();
    let failed: u64 = trial.failed.iter().map(|h| h.len()).sum();
    let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
    let tried = events + failed;
    let (steady, stalls) = steady_and_stalls(run, trial);
    let timing = replay::timing_text(trial);
    let own_pace = trial.facts.as_ref().is_some_and(|facts| facts.has_own_pace);
    TrialFinding {
        id: trial.id.clone(),
        title: load_title(run, trial),
        variant: trial.variant.clone(),
        pass: trial.pass,
        block: trial.block,
        value: trial.value,
        workload: trial.workload.clone(),
        closed_think_s: trial.arrival.closed_think_s().filter(|_| timing.is_none() && !own_pace),
        arrival: timing.unwrap_or_else(|| trial.arrival.text.clone()),
        workers: trial.workers,
        dealt: trial.dealt.clone(),
        engine: trial.engine.clone(),
        reason: trial.reason.clone(),
        temperature,
        began_s: trial.began_ns as f64 / 1e9,
        seconds,
        events,
        events_per_s: Estimate::one_run((seconds > 0.0).then(|| events as f64 / seconds)),
        counts: work_counts(trial, seconds),
        rates: rate_spread(trial),
        spectrum: latency::percentile_spectrum(&response),
        response_hdr: archive::hdr_base64(&(&response).into()),
        response: latency::summarize_histogram(&response),
        unbegun: unbegun_arrivals(trial, tried),
        service: latency::summarize_histogram(&latency::sum_histograms(&trial.service)),
        lateness: latency::summarize_histogram(&trial.lateness),
        classes: class_findings(&trial.classes, &trial.response, &trial.service, &trial.failed),
        audit: load_audit::judge_audit(trial, seconds),
        data_checks: data_checks(run, trial),
        figures: figures::figures_of(trial),
        stages: stages::stage_findings(trial),
        steps: step_findings(trial),
        exchanges: run_exchanges::run_exchanges(trial),
        failed,
        failed_as_recorded: failed_as_recorded(trial).min(failed),
        failed_share: (tried > 0).then(|| failed as f64 / tried as f64),
        errors: trial.errors.clone(),
        reconnects: trial.reconnects,
        longest_outage_s: Some(trial.longest_outage_ns as f64 / 1e9).filter(|time| *time > 0.0),
        clipped: trial.clipped,
        restarts: trial.restarts,
        abandoned: trial.abandoned,
        disk_reads: step.and_then(|s| counters::first_counter_rise(s, DISK_READS)),
        disk_bytes: step.and_then(|s| counters::first_counter_rise(s, DISK_BYTES)),
        cost: cost::per_event(trial, step, events),
        steady,
        stalls,
    }
}

/// The last look at the data of its variant before the load, and the first one after it.
fn data_checks(run: &RunRecord, trial: &Trial) -> Vec<DataCheckFinding> {
    let looked = |step: &&StepRecord| step.variant == trial.variant && step.data.is_some();
    let mut checks = run.steps.iter().filter(looked);
    let before = checks.clone().rfind(|step| step.number < trial.step);
    let after = checks.find(|step| step.number > trial.step);
    let found = |(when, step): (&'static str, Option<&StepRecord>)| {
        let (step, verdicts) = (step?.number, step?.data.clone()?);
        let (all_hold, answer) = (verdicts.all_hold(), verdicts.answer_text());
        Some(DataCheckFinding { when, step, all_hold, answer, verdicts })
    };
    [("before", before), ("after", after)].into_iter().filter_map(found).collect()
}

/// Statements of SQL by what they do; together they are the queries.
const QUERIES: [&str; 3] = ["reads", "writes", "other"];

/// What goes over a connection is a cost, and shown there.
const TRAFFIC: [&str; 2] = ["bytes_received", "bytes_sent"];

/// What the workload counted.
fn work_counts(trial: &Trial, seconds: f64) -> Vec<WorkCount> {
    let of_sql = QUERIES.map(|name| (name, trial.tally.count(name)));
    let queries = of_sql.iter().map(|(_, count)| count).sum();
    let rest =
        trial.tally.counts().filter(|(name, _)| !TRAFFIC.contains(name) && !QUERIES.contains(name));
    let all = std::iter::once(("queries", queries)).chain(of_sql).chain(rest);
    all.filter(|(_, count)| *count > 0 && seconds > 0.0)
        .map(|(name, count)| WorkCount {
            name: name.to_owned(),
            count,
            per_s: count as f64 / seconds,
        })
        .collect()
}

/// What was due and never began, where so many events ended.
fn unbegun_arrivals(trial: &Trial, ended: u64) -> Option<UnbegunArrivals> {
    let ages = &trial.unbegun;
    let arrivals = ages.len();
    (arrivals > 0).then(|| UnbegunArrivals {
        arrivals,
        share: arrivals as f64 / (arrivals + ended + trial.abandoned) as f64,
        least_s: ages.min() as f64 / 1e9,
        median_s: ages.value_at_quantile(0.5) as f64 / 1e9,
        oldest_s: ages.max() as f64 / 1e9,
    })
}

/// Two passes: the steady state masks slow seconds by itself and gives T0; stalls are looked for from there, and the
/// steady state heeds them. Where nothing is steady they are looked for from the start.
fn steady_and_stalls(
    run: &RunRecord,
    trial: &Trial,
) -> (Option<SteadyState>, Option<StallFindings>) {
    if replay::timing_text(trial).is_some() {
        // The log's own quiet moments are no stalls, and its traffic is as steady as it was.
        return (None, None);
    }
    if !trial.stages.is_empty() {
        // A rate that moves on purpose is not steady, and its slow parts are no stalls.
        return (None, None);
    }
    let mut steady = steady::assess_steady(run, trial);
    let t0_s = steady.as_ref().filter(|s| s.verdict.is_steady()).and_then(|s| s.t0_s);
    let stalls = stalls::find_stalls(run, trial, t0_s);
    if let (Some(steady), Some(stalls)) = (&mut steady, &stalls) {
        steady::apply_stalls(steady, stalls, trial.began_ns as f64 / 1e9);
    }
    (steady, stalls)
}

/// Statements of a replay that failed when they were recorded too.
fn failed_as_recorded(trial: &Trial) -> u64 {
    let classes = trial.replayed.iter().flat_map(|told| &told.classes);
    classes.map(|class| class.errors_in_both).sum()
}

/// Steps that were timed, by what they turned out to be where that was known only later.
fn step_findings(trial: &Trial) -> Vec<ClassFinding> {
    let names = match trial.event_step_labels.is_empty() {
        true => &trial.event_steps,
        false => &trial.event_step_labels,
    };
    let mut steps = class_findings(names, &trial.step_latency, &[], &trial.step_failed);
    steps.retain(|step| step.response.events + step.failed.events > 0);
    steps
}

fn class_findings(
    names: &[String],
    response: &[Histogram],
    service: &[Histogram],
    failed: &[Histogram],
) -> Vec<ClassFinding> {
    let summary = |histograms: &[Histogram], class: usize| {
        histograms.get(class).map(latency::summarize_histogram).unwrap_or_default()
    };
    let found = |(class, name): (usize, &String)| ClassFinding {
        name: name.clone(),
        response: summary(response, class),
        service: summary(service, class),
        failed: summary(failed, class),
        histogram: response.get(class).and_then(latency::latency_histogram),
    };
    names.iter().enumerate().map(found).collect()
}

/// Length of an interval, nanoseconds.
fn interval_ns(interval: &IntervalRecord) -> u64 {
    interval.ended_ns.saturating_sub(interval.began_ns)
}

/// Intervals of a load that are shorter than this (nanoseconds) are partial.
pub(super) fn whole_interval_ns(trial: &Trial) -> f64 {
    WHOLE_INTERVAL * trial.intervals.iter().map(interval_ns).max().unwrap_or(0) as f64
}

/// Spread of the rates of whole intervals, nearest rank. The rate of an interval is its good events by its real
/// length. `None` below three whole intervals.
fn rate_spread(trial: &Trial) -> Option<RateSpread> {
    let whole = whole_interval_ns(trial);
    let mut rates: Vec<f64> = trial
        .intervals
        .iter()
        .filter(|i| interval_ns(i) > 0 && interval_ns(i) as f64 >= whole)
        .map(|i| i.events.iter().sum::<u64>() as f64 / (interval_ns(i) as f64 / 1e9))
        .collect();
    if rates.len() < 3 {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let rank = |q: f64| rates[((q * rates.len() as f64).ceil() as usize).clamp(1, rates.len()) - 1];
    Some(RateSpread {
        intervals: rates.len(),
        min: rates[0],
        p1: rank(0.01),
        p50: rank(0.5),
        p99: rank(0.99),
        max: rates[rates.len() - 1],
    })
}
