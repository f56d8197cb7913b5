//! What happened over time: steps with the warmth of the pool, intervals of the loads, series of the probes.

use crate::archive::{IntervalRecord, RecordedStepKind, RunRecord, Trial};

use super::findings::{IntervalFinding, PoolTemperature, RunTimeline, TimelineStep};
use super::{heatmap, latency, load_audit, series, trials};

/// The whole timeline.
pub(super) fn build_timeline(run: &RunRecord) -> RunTimeline {
    let phases = timeline_steps(run);
    let shown = || phases.iter().filter(|p| p.kind != RecordedStepKind::Prepare);
    let first = shown().map(|p| p.began_s).min_by(f64::total_cmp);
    let began_s = first.unwrap_or_else(|| first_known_s(run));
    let ended_s = shown().map(|p| p.ended_s).fold(last_load_s(run), f64::max).max(began_s);
    let intervals = run.trials.iter().enumerate().flat_map(|(trial, record)| {
        let whole = trials::whole_interval_ns(record);
        record.intervals.iter().map(move |interval| interval_finding(trial, interval, whole))
    });
    RunTimeline {
        began_s,
        ended_s,
        intervals: intervals.collect(),
        series: series::build_series(run, began_s, ended_s),
        heat: heatmap::build_heatmap(run, began_s, ended_s),
        phases,
    }
}

/// How warm the pool was when each load began.
pub(super) fn pool_temperatures(run: &RunRecord) -> Vec<PoolTemperature> {
    let phases = timeline_steps(run);
    let of = |trial| phases.iter().find(|p| p.trial == Some(trial)).map(|p| p.temperature);
    (0..run.trials.len()).map(|trial| of(trial).unwrap_or(PoolTemperature::AsFound)).collect()
}

/// Steps in their order. A cold restart empties the pool; warming or a load leaves it warm.
fn timeline_steps(run: &RunRecord) -> Vec<TimelineStep> {
    let last = last_known_s(run);
    let mut pool = PoolTemperature::AsFound;
    let mut phases = Vec::with_capacity(run.steps.len());
    for step in &run.steps {
        let is_load = step.kind == RecordedStepKind::Load;
        let is_warming = step.kind == RecordedStepKind::Warm;
        let temperature = if is_warming { PoolTemperature::Warming } else { pool };
        pool = match step.kind {
            RecordedStepKind::RestartCold => PoolTemperature::Cold,
            RecordedStepKind::Warm => PoolTemperature::Warm,
            RecordedStepKind::Load if pool != PoolTemperature::AsFound => PoolTemperature::Warm,
            _ => pool,
        };
        let began_s = step.began_ns as f64 / 1e9;
        phases.push(TimelineStep {
            number: step.number,
            kind: step.kind.clone(),
            variant: step.variant.clone(),
            label: step.label.clone(),
            began_s,
            ended_s: step.ended_ns.map_or(last, |ns| ns as f64 / 1e9).max(began_s),
            cut: step.ended_ns.is_none(),
            temperature,
            trial: run.trials.iter().position(|t| is_load && t.step == step.number),
            warmed: step.warmed.clone(),
            data: step.data.clone(),
            crash: step.crash.clone(),
            notes: step.notes.clone(),
        });
    }
    phases
}

fn interval_finding(trial: usize, interval: &IntervalRecord, whole_ns: f64) -> IntervalFinding {
    let length = interval.ended_ns.saturating_sub(interval.began_ns) as f64;
    let seconds = length / 1e9;
    let events = interval.events.iter().sum();
    IntervalFinding {
        trial,
        began_s: interval.began_ns as f64 / 1e9,
        seconds,
        partial: length < whole_ns,
        events,
        errors: interval.errors.iter().sum(),
        events_per_s: (seconds > 0.0).then(|| events as f64 / seconds),
        response: latency::summarize_interval(&interval.response),
        class_times: load_audit::class_times(&interval.class_response),
        in_flight: interval.in_flight,
        backlog: interval.backlog,
    }
}

fn first_known_s(run: &RunRecord) -> f64 {
    run.trials.iter().map(|t| t.began_ns).min().unwrap_or(0) as f64 / 1e9
}

/// End of a load: as noted, or of its last interval if it was cut.
fn ended_ns(trial: &Trial) -> u64 {
    trial.intervals.last().map_or(0, |i| i.ended_ns).max(trial.ended_ns)
}

fn last_load_s(run: &RunRecord) -> f64 {
    run.trials.iter().map(ended_ns).max().unwrap_or(0) as f64 / 1e9
}

/// The last moment anything is known of.
fn last_known_s(run: &RunRecord) -> f64 {
    let steps = run.steps.iter().map(|s| s.ended_ns.unwrap_or(s.began_ns));
    let trials = run.trials.iter().map(ended_ns);
    let samples = run.samples.iter().map(|s| s.ended_ns);
    let all = steps.chain(trials).chain(samples).chain(run.meta.ended_ns);
    all.max().unwrap_or(0) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::StepRecord;

    fn run(kinds: &[&str]) -> RunRecord {
        let step = |(place, kind): (usize, &&str)| StepRecord {
            number: place as u32 + 1,
            kind: (*kind).into(),
            began_ns: place as u64 * 1_000_000_000,
            ended_ns: Some((place as u64 + 1) * 1_000_000_000),
            ..StepRecord::default()
        };
        RunRecord { steps: kinds.iter().enumerate().map(step).collect(), ..RunRecord::default() }
    }

    #[test]
    fn a_restart_cools_and_work_warms() {
        let kinds =
            ["prepare", "load", "restart_cold", "load", "load", "restart_cold", "warm", "load"];
        let found: Vec<_> = timeline_steps(&run(&kinds)).iter().map(|p| p.temperature).collect();
        use PoolTemperature::{AsFound, Cold, Warm, Warming};
        assert_eq!(found, [AsFound, AsFound, AsFound, Cold, Warm, Warm, Warming, Warm]);
    }

    #[test]
    fn the_axis_begins_after_preparation_and_ends_with_the_last_step() {
        let mut run = run(&["prepare", "restart_cold", "warm"]);
        let timeline = build_timeline(&run);
        assert_eq!((timeline.began_s, timeline.ended_s), (1.0, 3.0));
        run.steps[2].ended_ns = None;
        run.meta.ended_ns = Some(9_500_000_000);
        let timeline = build_timeline(&run);
        assert_eq!(timeline.ended_s, 9.5);
        assert!(timeline.phases[2].cut);
        let nothing = build_timeline(&RunRecord::default());
        assert_eq!((nothing.began_s, nothing.ended_s), (0.0, 0.0));
    }
}
