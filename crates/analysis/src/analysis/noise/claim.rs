//! Whether the noise of the machine could have made what a comparison claims. What else ran while a load ran can have
//! slowed it by the share of the machine that it took, and by no more: with 40 % gone a load does at least 60 % of what
//! it would have done. A claim stands if its whole interval lies beyond what slowing all loads of one side by as much
//! as was taken from them, and none of the other, would make. It is much to ask, as noise mostly falls on both sides:
//! who asks it need not know on which it fell.

use crate::archive::{RunRecord, Trial};

use super::super::counters::step_of_trial;
use super::super::findings::{ComparisonVerdict, HealthLevel, MetricComparison, NoiseItem};
use super::super::number_format::format_ratio;
use super::{NoiseReading, during, rules, sentinel_change};

/// Numbers whose caveat is not NOISE.
const FOREIGN: &str = "foreign_cpu_during";
/// What can't be said as a share of the machine, and spoils everything.
const FAULTS: &[&str] = &["file_system_errors", "oom_kills"];
/// A share that is never exceeded, so that its logarithm is known.
const MOST: f64 = 0.99;

/// How far noise can move a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoiseEffect {
    /// Not at all: what is counted is the work, not the time.
    Nothing,
    /// By the share of the machine that is gone.
    Share,
    /// By any amount: a gap of ten milliseconds can make any tail.
    Anything,
}

fn noise_effect(metric: &str, is_open: bool) -> NoiseEffect {
    match metric {
        "pages_read" | "redo_bytes" => NoiseEffect::Nothing,
        // In an open loop a little less of the machine can let a queue grow without end.
        "p50_s" | "mean_s" | "service_s" if is_open => NoiseEffect::Anything,
        "events_per_s" | "p50_s" | "mean_s" | "service_s" | "server_cpu_us" | "pages_written"
        | "fsyncs" => NoiseEffect::Share,
        _ => NoiseEffect::Anything,
    }
}

/// How much slower than on a quiet machine the loads of both sides may have been, as mean logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct NoiseSlowdown {
    pub(in super::super) base: f64,
    pub(in super::super) variant: f64,
    /// Whether loads had a fixed rate.
    pub(in super::super) is_open: bool,
}

/// What noise can make of two equals in this comparison, in the direction of what it says, as a logarithm.
fn noise_log_ratio(found: &MetricComparison, slowed: NoiseSlowdown) -> f64 {
    let size = match noise_effect(&found.metric, slowed.is_open) {
        NoiseEffect::Nothing => return 0.0,
        NoiseEffect::Anything => return f64::INFINITY,
        NoiseEffect::Share if found.metric == "events_per_s" => (slowed.base, slowed.variant),
        // Where more is slower it is the other way round.
        NoiseEffect::Share => (slowed.variant, slowed.base),
    };
    match found.ratio.value {
        Some(ratio) if ratio >= 1.0 => size.0,
        _ => size.1,
    }
}

/// Whether noise of this size (a logarithm) could have made what is claimed.
pub(in super::super) fn could_explain(found: &MetricComparison, noise: f64) -> bool {
    let Some((low, high)) = found.ratio.ci95 else { return false };
    match found.verdict {
        ComparisonVerdict::Unsure => false,
        // It could also have hidden a difference as large as itself.
        ComparisonVerdict::Same => noise > found.margin.ln_1p(),
        ComparisonVerdict::Better | ComparisonVerdict::Worse => {
            low.ln() <= noise && -high.ln() <= noise
        }
    }
}

/// Takes back what the noise of a machine that was not quiet could have made.
pub(in super::super) fn withdraw_noisy_verdicts<'a>(
    found: impl Iterator<Item = &'a mut MetricComparison>,
    slowed: impl Fn(&MetricComparison) -> NoiseSlowdown,
) {
    for one in found {
        let noise = noise_log_ratio(one, slowed(one));
        one.noise = Some(noise.exp());
        if could_explain(one, noise) {
            one.within_noise = true;
            one.notes.push(format!(
                "its interval says {}, but other programs on this machine could have caused that{}",
                one.verdict.as_str(),
                if noise.is_finite() {
                    format!(": {}", format_ratio(noise.exp()))
                } else {
                    String::new()
                }
            ));
            one.verdict = ComparisonVerdict::Unsure;
        }
    }
}

/// Whether a machine was so noisy that claims have to be held against it; what the user knows of does not count.
pub(in super::super) fn is_noisy(noise: &[NoiseItem], allowed: &[String]) -> bool {
    let caveat = |item: &NoiseItem| if item.id == FOREIGN { "FOREIGN-CPU" } else { "NOISE" };
    let is_known = |item: &NoiseItem| allowed.iter().any(|id| id == caveat(item));
    noise.iter().any(|item| item.level == HealthLevel::Void && !is_known(item))
}

/// How much slower than on a quiet machine the loads may have been for which this holds: the mean of logarithms.
pub(in super::super) fn mean_slowdown(
    runs: &[(&RunRecord, &[NoiseItem])],
    counts: impl Fn(&Trial) -> bool,
) -> f64 {
    let is_faulty = |item: &NoiseItem| item.level == HealthLevel::Void && FAULTS.contains(&item.id);
    if runs.iter().any(|(_, noise)| noise.iter().any(is_faulty)) {
        return f64::INFINITY;
    }
    let loads = runs.iter().flat_map(|(run, _)| run.trials.iter().map(move |t| (run, t)));
    let all: Vec<f64> =
        loads.filter(|(_, t)| counts(t)).map(|(run, t)| trial_slowdown(run, t)).collect();
    if all.is_empty() { 0.0 } else { all.iter().sum::<f64>() / all.len() as f64 }
}

/// How much slower than on a quiet machine a load may have been, as a logarithm: by what was seen during it, else by
/// what was seen before it.
fn trial_slowdown(run: &RunRecord, trial: &Trial) -> f64 {
    let Some(step) = step_of_trial(run, trial) else { return 0.0 };
    let before = NoiseReading { seen: &step.noise, prefix: "before." };
    let after = NoiseReading { seen: &step.noise, prefix: "after." };
    let stolen = during::stolen_share(run, step);
    let taken = during::foreign_share(run, step, trial).map(|f| f + stolen.unwrap_or(0.0));
    let share = taken.or_else(|| Some(rules::lost_time(&before)? / 100.0)).unwrap_or(0.0);
    let change = sentinel_change(&before, &after).filter(|(_, is_real)| *is_real);
    let drift = change.map_or(0.0, |(moved, _)| moved.ln_1p().abs());
    drift.max(-(-share.clamp(0.0, MOST)).ln_1p())
}
