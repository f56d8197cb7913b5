//! One variant against another. The unit is a whole variant in a block, never a second or an event of it: what happens within a
//! run is alike in a way that the next run is not.
//! Never knows: files, formats.
//! Start reading at [`compare_variants`]. To add a metric: a row in `metric::METRICS`, and its value in `units.rs`.

mod answer;
mod batches;
mod best_of;
pub(super) mod differences;
pub(super) mod judge;
pub(super) mod levels;
mod metric;
mod sequential;
#[cfg(test)]
mod simulated;
#[cfg(test)]
pub(super) mod tests;
pub(super) mod units;

use std::collections::BTreeMap;

use crate::archive::{ExperimentRequest, RunCommand, RunRecord};

use super::findings::{MetricComparison, NoiseItem, SetupDifference, TrialFinding, VariantLevel};
use super::noise;

pub(super) use answer::comparison_sentences;
pub(super) use batches::{
    FEWEST as FEWEST_BATCHES, SidedValues, batch_means, judge_batches, judge_sides,
};
pub use metric::{metric_label, metric_name, metric_names, metric_value_text};
pub(super) use sequential::judge_interim_comparisons;
pub use sequential::{InterimResult, detectable_before, judge_interim_pairs};

use judge::DecisionRule;
pub(super) use judge::StudyDesign;
use units::ComparisonUnit;

/// What decides if nobody said.
pub(super) const METRIC: &str = "events_per_s";
/// The margin if nobody said.
const MARGIN: f64 = 0.02;

/// What the variants of a run come to.
#[derive(Default)]
pub(super) struct VariantComparisons {
    pub(super) comparisons: Vec<MetricComparison>,
    pub(super) levels: Vec<VariantLevel>,
    pub(super) differences: Vec<SetupDifference>,
}

/// Each variant of a run against its first, over its blocks. Nothing with a single variant or a single block: nothing follows
/// from one run each.
pub(super) fn compare_variants(
    run: &RunRecord,
    trials: &[TrialFinding],
    noise: &[NoiseItem],
) -> VariantComparisons {
    let variants = variant_names(run);
    let differences = differences::variant_differences(run, &variants);
    let blocks = run.trials.iter().map(|t| t.block).max().unwrap_or(0);
    if variants.len() < 2 || blocks < 2 {
        let levels = levels::levels_of_loads(trials);
        return VariantComparisons { comparisons: Vec::new(), levels, differences };
    }
    let asked = &run.meta.asked;
    let units = units::collect_units(&[(run, trials)]);
    let rule = DecisionRule { alpha: sequential::look_alpha(asked), margin: asked_margin(asked) };
    let mut notes = units.notes.clone();
    notes.extend(same_order_note(run, &variants));
    notes.extend(sequential::looks_note(asked, rule.alpha));
    let sides: Vec<(&str, Vec<&ComparisonUnit>)> =
        variants.iter().map(|variant| (*variant, units.units_of_variant(variant))).collect();
    let mut comparisons =
        judge::judge_variants(&sides, StudyDesign::Paired, rule, deciding_metric(asked), &notes);
    // Of a variant against itself noise is the question.
    if noise::is_noisy(noise, &run.meta.allow) && run.meta.command != RunCommand::Aa {
        let slowed =
            |variant: &str| noise::mean_slowdown(&[(run, noise)], |trial| trial.variant == variant);
        apply_noise(comparisons.iter_mut(), slowed, trials.iter());
    }
    let levels = levels::levels_of_sides(&sides, deciding_metric(asked));
    VariantComparisons { comparisons, levels, differences }
}

/// Holds comparisons against the noise of the machine. `slowed` is by how much it may have slowed a side.
pub(super) fn apply_noise<'a, 'c>(
    comparisons: impl Iterator<Item = &'c mut MetricComparison>,
    slowed: impl Fn(&str) -> f64,
    mut trials: impl Iterator<Item = &'a TrialFinding>,
) {
    let is_open = trials.any(|trial| trial.closed_think_s.is_none());
    noise::withdraw_noisy_verdicts(comparisons, |one| noise::NoiseSlowdown {
        base: slowed(&one.base),
        variant: slowed(&one.variant),
        is_open,
    });
}

/// The variants that have loads, the base first: as planned, or else in the order they first ran.
pub(super) fn variant_names(run: &RunRecord) -> Vec<&str> {
    let ran = run.trials.iter().map(|t| t.variant.as_str());
    let mut variants: Vec<&str> = Vec::new();
    for variant in run.meta.asked.variants.iter().map(String::as_str).chain(ran.clone()) {
        if !variants.contains(&variant) && ran.clone().any(|w| w == variant) {
            variants.push(variant);
        }
    }
    variants
}

/// The metric that decides.
fn deciding_metric(asked: &ExperimentRequest) -> &'static str {
    metric_name(&asked.metric).unwrap_or(METRIC)
}

pub(super) fn asked_margin(asked: &ExperimentRequest) -> f64 {
    if asked.metric.is_empty() { MARGIN } else { asked.margin }
}

/// Says so if every block ran in the same order.
fn same_order_note(run: &RunRecord, variants: &[&str]) -> Option<String> {
    let mut blocks: BTreeMap<u32, Vec<(u64, &str)>> = BTreeMap::new();
    for trial in &run.trials {
        blocks.entry(trial.block).or_default().push((trial.began_ns, &trial.variant));
    }
    let mut orders = blocks.into_values().map(|mut trials| {
        trials.sort_unstable();
        let mut order: Vec<&str> = trials.into_iter().map(|(_, variant)| variant).collect();
        order.dedup();
        order
    });
    let first = orders.next()?;
    let mut others = orders.filter(|order| order.len() == first.len()).peekable();
    others.peek()?;
    others.all(|order| order == first).then(|| {
        format!(
            "every block ran {} in this order: a machine that gets slower or faster by itself \
             looks like a difference",
            if variants.len() > 4 { "the variants".to_owned() } else { first.join(", ") }
        )
    })
}
