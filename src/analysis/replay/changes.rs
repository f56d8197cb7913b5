//! The same log in two ways or in two runs, class by class. Both sides were timed by us, so nothing between them has
//! to be excused.

use std::collections::BTreeMap;

use crate::archive::{Run, Trial};
use crate::recorder::{Replayed, ReplayedClass};

use super::super::compare::{FEWEST_BATCHES, Sided, means, verdicts};
use super::super::findings::{Comparison, ReplayChange, Verdict};
use super::super::latency;
use super::margin;

/// One replay, or several added up.
type Unit = (u32, Replayed);

/// Each further way of a run against its first.
pub(in super::super) fn within(run: &Run) -> Vec<ReplayChange> {
    let mut ways: Vec<(&str, BTreeMap<u32, Replayed>)> = Vec::new();
    let asked = run.meta.asked.ways.iter().map(String::as_str);
    for way in asked.chain(run.trials.iter().map(|trial| trial.way.as_str())) {
        let of_way: Vec<&Trial> = run.trials.iter().filter(|trial| trial.way == way).collect();
        if ways.iter().any(|(known, _)| *known == way) || of_way.is_empty() {
            continue;
        }
        let mut blocks: BTreeMap<u32, Replayed> = BTreeMap::new();
        for trial in of_way {
            trial.replayed.iter().for_each(|told| blocks.entry(trial.block).or_default().add(told));
        }
        ways.push((way, blocks));
    }
    let Some((base, others)) = ways.split_first() else { return Vec::new() };
    let units = |blocks: &BTreeMap<u32, Replayed>| -> Vec<Unit> {
        blocks.iter().map(|(block, told)| (*block, told.clone())).collect()
    };
    let of = |(way, blocks): &(&str, BTreeMap<u32, Replayed>)| {
        sides((base.0, &units(&base.1)), (way, &units(blocks)), true, margin(run))
    };
    others.iter().flat_map(of).collect()
}

/// Runs against others; each run is one unit.
pub(in super::super) fn between_runs(
    (base_name, base): (&str, &[Run]),
    (name, other): (&str, &[Run]),
    paired: bool,
    margin: f64,
) -> Vec<ReplayChange> {
    let units = |runs: &[Run]| -> Vec<Unit> {
        let one = |(place, run): (u32, &Run)| {
            let mut told = Replayed::default();
            let mut replays = run.trials.iter().filter_map(|trial| trial.replayed.as_ref());
            replays.clone().next()?;
            replays.by_ref().for_each(|one| told.add(one));
            Some((place, told))
        };
        (1..).zip(runs).filter_map(one).collect()
    };
    sides((base_name, &units(base)), (name, &units(other)), paired, margin)
}

fn sides(
    (base_name, base): (&str, &[Unit]),
    (name, other): (&str, &[Unit]),
    paired: bool,
    margin: f64,
) -> Vec<ReplayChange> {
    let sum = |units: &[Unit]| {
        let mut all = Replayed::default();
        units.iter().for_each(|unit| all.add(&unit.1));
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
            return of_single(&base[0].1, &other[0].1, &class.digest);
        }
        let values = |units: &[Unit]| -> Vec<(u32, f64)> {
            units
                .iter()
                .filter_map(|u| Some((u.0, value(class_of(&u.1, &class.digest)?)?)))
                .collect()
        };
        let (mut base, mut other) = (values(base), values(other));
        if paired {
            let has = |of: &[(u32, f64)], number: u32| of.iter().any(|one| one.0 == number);
            base.retain(|one| has(&other, one.0));
            other.retain(|one| has(&base, one.0));
        }
        Sided { paired, base, other }
    };
    let judged = verdicts((base_name, name), both.iter().map(sided).collect(), margin);
    let mut found: Vec<(f64, ReplayChange)> = both
        .iter()
        .zip(judged)
        .map(|((before, after), mut change)| {
            if is_single {
                say_single(&mut change);
            }
            let took = after.replayed_ns.mean() * after.replayed_ns.len() as f64;
            let one = ReplayChange {
                digest: after.digest.clone(),
                base: latency::of_cells(&before.replayed_ns),
                way: latency::of_cells(&after.replayed_ns),
                errors_new: (before.errors_new, after.errors_new),
                change,
            };
            (took, one)
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, one)| one).collect()
}

fn class_of<'r>(told: &'r Replayed, digest: &str) -> Option<&'r ReplayedClass> {
    told.classes.iter().find(|class| class.digest == digest)
}

/// What stands for a class in one unit: its times by the recorded ones, statement by statement, which makes statements of
/// different size alike; without recorded times their mean.
fn value(class: &ReplayedClass) -> Option<f64> {
    let (count, sum) = class.batches.iter().fold((0, 0.0), |(n, s), b| (n + b.0, s + b.1));
    let value = match count {
        0 => class.replayed_ns.mean(),
        count => (sum / count as f64).exp(),
    };
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

/// One run on a side: batches of its statements, paired if both sent the same ones together.
fn of_single(base: &Replayed, other: &Replayed, digest: &str) -> Sided {
    let batches = |told| class_of(told, digest).map(|class| &class.batches[..]).unwrap_or_default();
    let (base, other) = (batches(base), batches(other));
    let same = base.len() == other.len() && base.iter().zip(other).all(|(b, o)| b.0 == o.0);
    let numbered = |batches: &[(u64, f64)]| -> Vec<(u32, f64)> {
        let means = means(batches);
        // Fewer say nothing of how much batches vary: then there is a ratio, and no more.
        if means.len() < FEWEST_BATCHES {
            let whole = batches.iter().fold((0, 0.0), |(n, s), b| (n + b.0, s + b.1));
            let mean = (whole.1 / whole.0.max(1) as f64).exp();
            return if whole.0 > 0 { vec![(1, mean)] } else { Vec::new() };
        }
        (1..).zip(means.into_iter().map(f64::exp)).collect()
    };
    let (base, other) = (numbered(base), numbered(other));
    Sided { paired: same && base.len() == other.len(), base, other }
}

/// Batches of one run each: what differs from run to run is not in their spread.
fn say_single(change: &mut Comparison) {
    change.more_blocks = None;
    if change.verdict == Verdict::Unsure && change.ratio.ci95.is_none() {
        change.notes = vec!["too few statements, or no recorded times, for a verdict".to_owned()];
        return;
    }
    change.notes.retain(|note| !note.contains("runs that are not paired"));
    change.notes.push(
        "batches of one run each: what differs from run to run by itself is not in the interval"
            .to_owned(),
    );
}
