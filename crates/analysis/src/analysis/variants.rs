//! The groups of an experiment against each other: what warming cost and what it brought.

use crate::archive::{RecordedStepKind, RunRecord, StepRecord};

use super::counters::first_counter_rise;
use super::findings::{Estimate, PoolTemperature, TrialFinding, VariantFinding};
use super::trials::DISK_BYTES;

/// One finding per group, in the order they ran.
pub(super) fn variant_findings(run: &RunRecord, trials: &[TrialFinding]) -> Vec<VariantFinding> {
    let mut names: Vec<&str> = Vec::new();
    let warming = run
        .steps
        .iter()
        .filter(|s| matches!(s.kind, RecordedStepKind::Warm | RecordedStepKind::Load))
        .map(|s| &s.variant);
    for name in warming.chain(run.trials.iter().map(|t| &t.variant)) {
        if !name.is_empty() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cold = trials.iter().find(|t| t.temperature == PoolTemperature::Cold && t.pass == 1);
    names.iter().map(|variant| variant_finding(run, trials, variant, cold)).collect()
}

fn variant_finding(
    run: &RunRecord,
    trials: &[TrialFinding],
    variant: &str,
    cold: Option<&TrialFinding>,
) -> VariantFinding {
    let place = |pass| trials.iter().position(|t| t.variant == variant && t.pass == pass);
    let (first, second) = (place(1), place(2));
    let faster = |trial: Option<usize>| {
        Estimate::one_run(trial.and_then(|t| times_faster(cold?, &trials[t])))
    };
    let warm: Vec<&StepRecord> = run
        .steps
        .iter()
        .filter(|s| s.variant == variant && s.kind == RecordedStepKind::Warm)
        .collect();
    let warm_s = sum_steps(&warm, warm_seconds);
    VariantFinding {
        variant: variant.to_owned(),
        warm_s,
        warm_bytes: sum_steps(&warm, warm_bytes),
        warm_pages: warm.last().and_then(|s| s.warmed.as_ref()).map(|w| w.pages_after),
        first,
        second,
        times_faster: faster(first),
        second_times_faster: faster(second),
        until_first_done_s: first.map(|t| trials[t].seconds + warm_s.unwrap_or(0.0)),
        notes: run.steps.iter().filter(|s| s.variant == variant).flat_map(step_notes).collect(),
    }
}

/// What a step and its warming noted, in words.
fn step_notes(step: &StepRecord) -> Vec<String> {
    let warmed = step.warmed.iter().flat_map(|w| w.notes.clone());
    step.notes.iter().cloned().chain(warmed).collect()
}

/// Sum over the steps; `None` if there are none or one is not known.
fn sum_steps(steps: &[&StepRecord], of: fn(&StepRecord) -> Option<f64>) -> Option<f64> {
    if steps.is_empty() {
        return None;
    }
    steps.iter().map(|step| of(step)).sum()
}

fn warm_seconds(step: &StepRecord) -> Option<f64> {
    let measured = step.warmed.as_ref().map(|w| w.seconds).filter(|s| s.is_finite());
    measured.or_else(|| Some(step.ended_ns?.saturating_sub(step.began_ns) as f64 / 1e9))
}

fn warm_bytes(step: &StepRecord) -> Option<f64> {
    let told = step.warmed.as_ref().map(|w| w.bytes_read as f64);
    told.or_else(|| first_counter_rise(step, DISK_BYTES).map(|c| c.value))
}

/// Time per event of the cold load by that of this load: with the same work in both, their seconds by ours.
fn times_faster(cold: &TrialFinding, trial: &TrialFinding) -> Option<f64> {
    let per_event = |t: &TrialFinding| {
        let tried = t.events + t.failed;
        (tried > 0 && t.seconds > 0.0).then(|| t.seconds / tried as f64)
    };
    Some(per_event(cold)? / per_event(trial)?)
}
