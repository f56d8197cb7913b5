//! One way against another. The unit is a whole way in a block, never a second or an event of it: what happens within a
//! run is alike in a way that the next run is not.
//! Never knows: files, formats.
//! Start reading at [`within`]. To add a metric: a row in `metric::METRICS`, and its value in `units.rs`.

mod batches;
mod differences;
mod foreign;
mod judge;
mod looks;
mod metric;
mod race;
#[cfg(test)]
mod simulated;
#[cfg(test)]
pub(super) mod tests;
mod units;
mod words;

use std::collections::BTreeMap;

use crate::archive::{Asked, Run};

use super::findings::{Comparison, Difference, NoiseItem, TrialFinding};
use super::noise;

pub(super) use batches::{FEWEST as FEWEST_BATCHES, Sided, batch_verdicts, means, verdicts};
pub(super) use foreign::several_at_once;
pub use foreign::{Sides, compare_runs, differences_of, settings_that_differ};
pub use looks::{Clarity, clear, detectable_before, look_at};
pub use metric::{metric_name, metric_names};
pub(super) use words::sentences;

use judge::{Design, Rule};
use units::Unit;

/// What decides if nobody said.
const METRIC: &str = "events_per_s";
/// The margin if nobody said.
const MARGIN: f64 = 0.02;

/// What the ways of a run come to.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) comparisons: Vec<Comparison>,
    pub(super) differences: Vec<Difference>,
}

/// Each way of a run against its first, over its blocks. Nothing with a single way or a single block: nothing follows
/// from one run each.
pub(super) fn within(run: &Run, trials: &[TrialFinding], noise: &[NoiseItem]) -> Compared {
    let ways = ways(run);
    let differences = differences::of_ways(run, &ways);
    let blocks = run.trials.iter().map(|t| t.block).max().unwrap_or(0);
    if ways.len() < 2 || blocks < 2 {
        return Compared { comparisons: Vec::new(), differences };
    }
    let asked = &run.meta.asked;
    let units = units::all(&[(run, trials)]);
    let rule = Rule { alpha: looks::level(asked), margin: margin(asked) };
    let mut notes = units.notes.clone();
    notes.extend(same_order(run, &ways));
    notes.extend(looks::note(asked, rule.alpha));
    let sides: Vec<(&str, Vec<&Unit>)> = ways.iter().map(|way| (*way, units.of(way))).collect();
    let mut comparisons = judge::all(&sides, Design::Paired, rule, deciding(asked), &notes);
    // Of a way against itself noise is the question.
    if noise::is_loud(noise, &run.meta.allow) && run.meta.command != "aa" {
        let slowed = |way: &str| noise::mean_slowed(&[(run, noise)], |trial| trial.way == way);
        heed(&mut comparisons, slowed, trials.iter());
    }
    Compared { comparisons, differences }
}

/// Holds comparisons against the noise of the machine. `slowed` is by how much it may have slowed a side.
fn heed<'a>(
    comparisons: &mut [Comparison],
    slowed: impl Fn(&str) -> f64,
    mut trials: impl Iterator<Item = &'a TrialFinding>,
) {
    let is_open = trials.any(|trial| !trial.arrival.starts_with("closed"));
    noise::heed_noise(comparisons.iter_mut(), |one| noise::Slowed {
        base: slowed(&one.base),
        way: slowed(&one.way),
        is_open,
    });
}

/// The ways that have loads, the base first: as planned, or else in the order they first ran.
fn ways(run: &Run) -> Vec<&str> {
    let ran = run.trials.iter().map(|t| t.way.as_str());
    let mut ways: Vec<&str> = Vec::new();
    for way in run.meta.asked.ways.iter().map(String::as_str).chain(ran.clone()) {
        if !ways.contains(&way) && ran.clone().any(|w| w == way) {
            ways.push(way);
        }
    }
    ways
}

/// The metric that decides.
fn deciding(asked: &Asked) -> &'static str {
    metric_name(&asked.metric).unwrap_or(METRIC)
}

fn margin(asked: &Asked) -> f64 {
    if asked.metric.is_empty() { MARGIN } else { asked.margin }
}

/// Says so if every block ran in the same order.
fn same_order(run: &Run, ways: &[&str]) -> Option<String> {
    let mut blocks: BTreeMap<u32, Vec<(u64, &str)>> = BTreeMap::new();
    for trial in &run.trials {
        blocks.entry(trial.block).or_default().push((trial.began_ns, &trial.way));
    }
    let mut orders = blocks.into_values().map(|mut trials| {
        trials.sort_unstable();
        let mut order: Vec<&str> = trials.into_iter().map(|(_, way)| way).collect();
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
            if ways.len() > 4 { "the ways".to_owned() } else { first.join(", ") }
        )
    })
}
