//! The units of a comparison: one variant in one block, its passes added up.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{IntervalRecord, RunRecord, Trial, TrialEnding};
use crate::recorder::{Histogram, new_histogram};

use super::super::event_errors;
use super::super::findings::TrialFinding;
use super::super::latency;
use super::super::number_format::format_percent;
use super::metric::METRICS;

/// One variant in one block.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct ComparisonUnit {
    pub(in crate::analysis) variant: String,
    pub(in crate::analysis) block: u32,
    /// Values by metric; what is not known, or nothing, is absent: it has no logarithm.
    pub(in crate::analysis) values: BTreeMap<&'static str, f64>,
}

/// All units that count.
pub(in crate::analysis) struct ComparisonUnits {
    units: Vec<ComparisonUnit>,
    /// What was left out, and which part of the loads counts, in words.
    pub(in crate::analysis) notes: Vec<String>,
}

impl ComparisonUnits {
    /// All of them, by block.
    pub(in crate::analysis) fn all_units(&self) -> &[ComparisonUnit] {
        &self.units
    }
    /// Those of a variant, by block.
    pub(in crate::analysis) fn units_of_variant(&self, variant: &str) -> Vec<&ComparisonUnit> {
        self.units.iter().filter(|unit| unit.variant == variant).collect()
    }
}

/// A load with what was found of it.
type TrialWithFinding<'a> = (&'a Trial, &'a TrialFinding);

/// All units of these runs. Each further run counts its blocks on.
pub(in crate::analysis) fn collect_units(
    runs: &[(&RunRecord, &[TrialFinding])],
) -> ComparisonUnits {
    let mut loads: BTreeMap<(u32, &str), Vec<TrialWithFinding<'_>>> = BTreeMap::new();
    let mut passed = 0;
    for (run, trials) in runs {
        let mut most = 0;
        for load in run.trials.iter().zip(*trials) {
            most = most.max(load.0.block);
            let place = (passed + load.0.block, load.0.variant.as_str());
            loads.entry(place).or_default().push(load);
        }
        passed += most;
    }
    let mut notes = Vec::new();
    let void: BTreeSet<(u32, &str)> = loads
        .iter()
        .filter_map(|(place, loads)| {
            let why = loads.iter().find_map(void_reason)?;
            notes.push(format!("left out: {why}"));
            Some(*place)
        })
        .collect();
    loads.retain(|place, _| !void.contains(place));
    let unsteady = loads.values().flatten().find(|(_, found)| !is_steady(found));
    notes.push(match unsteady {
        None => "from the steady part of each load; costs from the whole load".to_owned(),
        Some((_, found)) => {
            let why =
                found.steady.as_ref().map_or("not known whether steady", |s| s.verdict.as_str());
            format!(
                "from whole loads, as not every load reached a steady state ({}: {why})",
                found.title
            )
        }
    });
    let part = if unsteady.is_none() { CountedPart::Steady } else { CountedPart::Whole };
    let unit =
        |((block, variant), loads): (&(u32, &str), &Vec<TrialWithFinding<'_>>)| ComparisonUnit {
            variant: (*variant).to_owned(),
            block: *block,
            values: unit_values(loads, part),
        };
    ComparisonUnits { units: loads.iter().map(unit).collect(), notes }
}

fn is_steady(found: &TrialFinding) -> bool {
    found.steady.as_ref().is_some_and(|s| s.verdict.is_steady() && s.t0_s.is_some())
}

/// Why a load can't be compared: the only rules by which runs are left out.
fn void_reason((trial, found): &TrialWithFinding<'_>) -> Option<String> {
    let id = &found.title;
    if trial.reason != TrialEnding::Done {
        return Some(format!("{id}, which did not reach its end ({}) [CUT]", trial.reason));
    }
    if found.events == 0 {
        return Some(format!("{id}, in which no event ended well [ERRORS]"));
    }
    let (_, share) = event_errors::unexpected_errors(found);
    (share > event_errors::ERROR_SHARE)
        .then(|| format!("{id}, in which {} of the events failed [ERRORS]", format_percent(share)))
}

/// Which part of a load counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedPart {
    Steady,
    Whole,
}

/// What of a load counts.
struct CountedLoad {
    events: f64,
    seconds: f64,
    response: Histogram,
}

fn count_load((trial, found): &TrialWithFinding<'_>, part: CountedPart) -> CountedLoad {
    let t0 = found.steady.as_ref().and_then(|s| s.t0_s).filter(|_| part == CountedPart::Steady);
    let Some(t0) = t0 else {
        let events: u64 = trial.response.iter().map(|h| h.len()).sum();
        let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
        return CountedLoad {
            events: events as f64,
            seconds,
            response: latency::censored_response(trial),
        };
    };
    let from = trial.began_ns.saturating_add((t0 * 1e9) as u64);
    // An interval that T0 cuts belongs to what came before; half a millisecond for rounding.
    let inside = |i: &&IntervalRecord| i.began_ns + 500_000 >= from && i.ended_ns > i.began_ns;
    let mut sum = CountedLoad { events: 0.0, seconds: 0.0, response: new_histogram() };
    for interval in trial.intervals.iter().filter(inside) {
        sum.events += interval.events.iter().sum::<u64>() as f64;
        sum.seconds += (interval.ended_ns - interval.began_ns) as f64 / 1e9;
        interval.response.add_to(&mut sum.response);
    }
    // What never began was due in the last seconds, which are part of what is steady.
    let _ = sum.response.add(&trial.unbegun);
    sum
}

/// The values of a unit: its loads one after the other.
fn unit_values(loads: &[TrialWithFinding<'_>], part: CountedPart) -> BTreeMap<&'static str, f64> {
    let parts: Vec<CountedLoad> = loads.iter().map(|load| count_load(load, part)).collect();
    let sum = |of: fn(&CountedLoad) -> f64| parts.iter().map(of).sum::<f64>();
    let (events, seconds) = (sum(|p| p.events), sum(|p| p.seconds));
    let mut response = new_histogram();
    for part in &parts {
        // Same bounds everywhere: what does not fit was cut when it was recorded.
        let _ = response.add(&part.response);
    }
    let response = latency::summarize_histogram(&response);
    let mut known: Vec<(&str, Option<f64>)> = vec![
        ("events_per_s", Some(events / seconds)),
        ("p50_s", response.p50_s),
        ("p95_s", response.p95_s),
        ("p99_s", response.p99_s),
        ("p999_s", response.p999_s),
        ("mean_s", response.mean_s),
        ("kept_share", kept_share(loads)),
    ];
    known.extend(costs_per_event(loads));
    let known: BTreeMap<&str, f64> = known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|v| v.is_finite() && *v > 0.0)?)))
        .collect();
    METRICS.iter().filter_map(|m| Some((m.name, *known.get(m.name)?))).collect()
}

/// Share of the work not lost in stalls.
fn kept_share(loads: &[TrialWithFinding<'_>]) -> Option<f64> {
    let lost: Option<Vec<f64>> =
        loads.iter().map(|(_, found)| Some(found.stalls.as_ref()?.lost_share)).collect();
    lost.map(|lost| 1.0 - lost.iter().sum::<f64>() / lost.len() as f64)
}

/// Costs per event, weighed by the events of each load.
fn costs_per_event<'a>(loads: &[TrialWithFinding<'a>]) -> Vec<(&'a str, Option<f64>)> {
    let Some((_, first)) = loads.first() else { return Vec::new() };
    let per_event = |found: &TrialFinding, id: &str| {
        found.cost.iter().find(|item| item.id == id).and_then(|item| item.per_event)
    };
    let one = |id: &'static str| {
        let amounts = loads.iter().map(|(_, found)| {
            Some((per_event(found, id)? * found.events as f64, found.events as f64))
        });
        let amounts: Option<Vec<(f64, f64)>> = amounts.collect();
        let (amount, events) =
            amounts?.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(amount / events)
    };
    first.cost.iter().map(|item| (item.id, one(item.id))).collect()
}
