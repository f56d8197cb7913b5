//! The same log in two variants or in two runs, class by class. Both sides were timed by us, so nothing between them has
//! to be excused.

use std::collections::BTreeMap;

use crate::archive::{RunRecord, Trial};
use crate::recorder::{ReplayTotals, ReplayedClass};

use super::super::compare::{FEWEST_BATCHES, SidedValues, StudyDesign, batch_means, judge_sides};
use super::super::findings::{ComparisonVerdict, MetricComparison, ReplayChange};
use super::super::latency;
use super::asked_margin;

/// One replay, or several added up.
type ReplayUnit = (u32, ReplayTotals);

/// Each further variant of a run against its first.
pub(in super::super) fn changes_between_variants(run: &RunRecord) -> Vec<ReplayChange> {
    let mut variants: Vec<(&str, BTreeMap<u32, ReplayTotals>)> = Vec::new();
    let asked = run.meta.asked.variants.iter().map(String::as_str);
    for variant in asked.chain(run.trials.iter().map(|trial| trial.variant.as_str())) {
        let of_variant: Vec<&Trial> =
            run.trials.iter().filter(|trial| trial.variant == variant).collect();
        if variants.iter().any(|(known, _)| *known == variant) || of_variant.is_empty() {
            continue;
        }
        let mut blocks: BTreeMap<u32, ReplayTotals> = BTreeMap::new();
        for trial in of_variant {
            trial
                .replayed
                .iter()
                .for_each(|told| blocks.entry(trial.block).or_default().add_replay(told));
        }
        variants.push((variant, blocks));
    }
    let Some((base, others)) = variants.split_first() else { return Vec::new() };
    let units = |blocks: &BTreeMap<u32, ReplayTotals>| -> Vec<ReplayUnit> {
        blocks.iter().map(|(block, told)| (*block, told.clone())).collect()
    };
    let of = |(variant, blocks): &(&str, BTreeMap<u32, ReplayTotals>)| {
        compare_sides((base.0, &units(&base.1)), (variant, &units(blocks)), true, asked_margin(run))
    };
    others.iter().flat_map(of).collect()
}

/// Runs against others; each run is one unit.
pub(in super::super) fn changes_between_runs(
    (base_name, base): (&str, &[RunRecord]),
    (name, other): (&str, &[RunRecord]),
    paired: bool,
    margin: f64,
) -> Vec<ReplayChange> {
    let units = |runs: &[RunRecord]| -> Vec<ReplayUnit> {
        let one = |(place, run): (u32, &RunRecord)| {
            let mut told = ReplayTotals::default();
            let mut replays = run.trials.iter().filter_map(|trial| trial.replayed.as_ref());
            replays.clone().next()?;
            replays.by_ref().for_each(|one| told.add_replay(one));
            Some((place, told))
        };
        (1..).zip(runs).filter_map(one).collect()
    };
    compare_sides((base_name, &units(base)), (name, &units(other)), paired, margin)
}

fn compare_sides(
    (base_name, base): (&str, &[ReplayUnit]),
    (name, other): (&str, &[ReplayUnit]),
    paired: bool,
    margin: f64,
) -> Vec<ReplayChange> {
    let sum = |units: &[ReplayUnit]| {
        let mut all = ReplayTotals::default();
        units.iter().for_each(|unit| all.add_replay(&unit.1));
        all
    };
    let (base_sum, other_sum) = (sum(base), sum(other));
    let both: Vec<(&ReplayedClass, &ReplayedClass)> = other_sum
        .classes
        .iter()
        .filter_map(|class| Some((class_of(&base_sum, &class.digest)?, class)))
        .collect();
    let is_single = base.len().min(other.len()) < 2;
    let sided = |(_, class): &(&ReplayedClass, &ReplayedClass)| {
        if is_single {
            return batched_sides(&base[0].1, &other[0].1, &class.digest);
        }
        let values = |units: &[ReplayUnit]| -> Vec<(u32, f64)> {
            units
                .iter()
                .filter_map(|u| Some((u.0, class_value(class_of(&u.1, &class.digest)?)?)))
                .collect()
        };
        let (mut base, mut other) = (values(base), values(other));
        if paired {
            let has = |of: &[(u32, f64)], number: u32| of.iter().any(|one| one.0 == number);
            base.retain(|one| has(&other, one.0));
            other.retain(|one| has(&base, one.0));
        }
        let design = if paired { StudyDesign::Paired } else { StudyDesign::Unpaired };
        SidedValues { design, base, other }
    };
    let judged = judge_sides((base_name, name), both.iter().map(sided).collect(), margin);
    let mut found: Vec<(f64, ReplayChange)> = both
        .iter()
        .zip(judged)
        .map(|((before, after), mut change)| {
            if is_single {
                note_single_runs(&mut change);
            }
            let took = after.replayed_ns.mean_ns() * after.replayed_ns.len() as f64;
            let one = ReplayChange {
                digest: after.digest.clone(),
                base: latency::summarize_sparse(&before.replayed_ns),
                variant: latency::summarize_sparse(&after.replayed_ns),
                errors_new: (before.errors_new, after.errors_new),
                change,
            };
            (took, one)
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, one)| one).collect()
}

fn class_of<'r>(told: &'r ReplayTotals, digest: &str) -> Option<&'r ReplayedClass> {
    told.classes.iter().find(|class| class.digest == digest)
}

/// What stands for a class in one unit: its times by the recorded ones, statement by statement, which makes statements of
/// different size alike; without recorded times their mean.
fn class_value(class: &ReplayedClass) -> Option<f64> {
    let (count, sum) = class.batches.iter().fold((0, 0.0), |(n, s), b| (n + b.0, s + b.1));
    let value = match count {
        0 => class.replayed_ns.mean_ns(),
        count => (sum / count as f64).exp(),
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

/// One run on a side: batches of its statements, paired if both sent the same ones together.
fn batched_sides(base: &ReplayTotals, other: &ReplayTotals, digest: &str) -> SidedValues {
    let batches = |told| class_of(told, digest).map(|class| &class.batches[..]).unwrap_or_default();
    let (base, other) = (batches(base), batches(other));
    let same = base.len() == other.len() && base.iter().zip(other).all(|(b, o)| b.0 == o.0);
    let numbered = |batches: &[(u64, f64)]| -> Vec<(u32, f64)> {
        let means = batch_means(batches);
        // Fewer say nothing of how much batches vary: then there is a ratio, and no more.
        if means.len() < FEWEST_BATCHES {
            let whole = batches.iter().fold((0, 0.0), |(n, s), b| (n + b.0, s + b.1));
            let mean = (whole.1 / whole.0.max(1) as f64).exp();
            return if whole.0 > 0 { vec![(1, mean)] } else { Vec::new() };
        }
        (1..).zip(means.into_iter().map(f64::exp)).collect()
    };
    let (base, other) = (numbered(base), numbered(other));
    let paired = same && base.len() == other.len();
    let design = if paired { StudyDesign::Paired } else { StudyDesign::UnpairedBatches };
    SidedValues { design, base, other }
}

/// Batches of one run each: what differs from run to run is not in their spread.
fn note_single_runs(change: &mut MetricComparison) {
    change.more_blocks = None;
    if change.verdict == ComparisonVerdict::Unsure && change.ratio.ci95.is_none() {
        change.notes = vec!["too few statements, or no recorded times, for a verdict".to_owned()];
        return;
    }
    change.notes.push(
        "batches of one run each: the interval does not cover differences from run to run"
            .to_owned(),
    );
}
