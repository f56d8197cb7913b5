//! What came of replays: were they on time, what failed, what took longer, what was left out.
//! Never knows: files, formats, SQL.
//! Start reading at `replay_findings`.

mod answer;
mod changes;
mod classes;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture_replays;
#[cfg(test)]
mod tests;

use crate::archive::{RunRecord, Trial};
use crate::recorder::{
    LeftOut, ReplayFacts, ReplayTiming, ReplayTotals, ReplayedClass, SparseHistogram,
};

use super::counters::{declared_facts, numeric_fact};
use super::findings::{LeftOutFinding, NoiseItem, ReplayChange, ReplayFinding, ScheduleLag};
use super::latency;
use super::noise::{self, NoiseSlowdown};

pub(super) use answer::{change_sentences, replay_sentences};
pub(super) use changes::{changes_between_runs, changes_between_variants};

/// A statement that begins later than this after its time is behind the schedule. People and pools of sessions feel
/// it, and no scheduler of a machine that is not overloaded is as late.
pub(super) const BEHIND_S: f64 = 0.1;
/// Edges of the histogram of lags, seconds.
const EDGES: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 30.0, 60.0, 300.0,
];
/// Differences below this share don't matter if nobody said otherwise.
const MARGIN: f64 = 0.02;

/// The replays of a run, by variant, in the order they ran.
pub(super) fn replay_findings(run: &RunRecord) -> Vec<ReplayFinding> {
    let mut variants: Vec<(&str, Vec<usize>)> = Vec::new();
    for (place, trial) in run.trials.iter().enumerate() {
        if trial.replayed.is_none() {
            continue;
        }
        match variants.iter_mut().find(|(variant, _)| *variant == trial.variant) {
            Some((_, places)) => places.push(place),
            None => variants.push((&trial.variant, vec![place])),
        }
    }
    variants.into_iter().map(|(variant, places)| variant_replay(run, variant, places)).collect()
}

/// Holds what is said of classes against the noise of the machine. What was recorded is taken as it is.
pub(super) fn apply_noise(
    run: &RunRecord,
    items: &[NoiseItem],
    replays: &mut [ReplayFinding],
    changes: &mut [ReplayChange],
) {
    if !noise::is_noisy(items, &run.meta.allow) {
        return;
    }
    let slowed =
        |variant: &str| noise::mean_slowdown(&[(run, items)], |trial| trial.variant == variant);
    let is_open = run.trials.iter().any(|trial| timing_text(trial).is_some());
    for replay in replays {
        let variant = slowed(&replay.variant);
        let classes = replay.classes.iter_mut().filter_map(|class| class.change.as_mut());
        noise::withdraw_noisy_verdicts(classes, |_| NoiseSlowdown { base: 0.0, variant, is_open });
    }
    let changes = changes.iter_mut().map(|one| &mut one.change);
    noise::withdraw_noisy_verdicts(changes, |one| {
        let (base, variant) = (slowed(&one.base), slowed(&one.variant));
        NoiseSlowdown { base, variant, is_open }
    });
}

/// The margin that was asked for.
fn asked_margin(run: &RunRecord) -> f64 {
    let asked = &run.meta.asked;
    if asked.metric.is_empty() { MARGIN } else { asked.margin }
}

fn us_to_seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn variant_replay(run: &RunRecord, variant: &str, places: Vec<usize>) -> ReplayFinding {
    let mut told = ReplayTotals::default();
    for place in &places {
        run.trials[*place].replayed.iter().for_each(|one| told.add_replay(one));
    }
    let first = &run.trials[places[0]];
    let round_trip_s = numeric_fact(run, "round_trip_us").map(|us| us / 1e6);
    let late = places.iter().map(|place| run.trials[*place].lateness.clone());
    let late = latency::summarize_histogram(&latency::sum_histograms(&late.collect::<Vec<_>>()));
    let late_s = late.p90_s.or(late.max_s).unwrap_or(0.0);
    let classes = classes::replayed_class_findings(&told, asked_margin(run), round_trip_s, late_s);
    let sum = |of: fn(&ReplayedClass) -> u64| told.classes.iter().map(of).sum();
    let facts = declared_facts(first).replay;
    let reason = |left: &LeftOut| LeftOutFinding {
        reason: left.reason.clone(),
        count: left.count,
        example: left.example.clone(),
    };
    ReplayFinding {
        variant: variant.to_owned(),
        sessions: told.sessions,
        sessions_at_once: told.sessions_at_once,
        records: told.records,
        sent: told.sent,
        ends_inferred: told.ends_inferred,
        span_s: (told.span_us > 0).then(|| us_to_seconds(told.span_us)),
        uncertainty_s: us_to_seconds(told.uncertainty_us),
        timing: timing_text(first).unwrap_or_else(|| match &facts {
            Some(ReplayFacts { timing: ReplayTiming::Fast, .. }) => "as fast as it goes".to_owned(),
            _ => first.arrival.text.clone(),
        }),
        writes: facts.map(|facts| facts.writes).unwrap_or_default(),
        lag: latency::summarize_sparse(&told.lag_ns),
        lag_bins: lag_histogram(&told.lag_ns),
        lag_by_second: told.lag_by_second_ns.iter().map(|ns| *ns as f64 / 1e9).collect(),
        behind: schedule_lag(&told),
        errors: [sum(|c| c.errors_in_both), sum(|c| c.errors_new), sum(|c| c.errors_gone)],
        rows_compared: sum(|c| c.rows_compared),
        rows_differing: sum(|c| c.rows_differing),
        classes,
        left_out: told.left_out.iter().map(|left| left.count).sum(),
        reasons: told.left_out.iter().map(reason).collect(),
        round_trip_s,
        notes: told.notes,
        trials: places,
    }
}

/// How the statements of a replay that follows the log's schedule are timed: `as recorded, 2x`.
pub(super) fn timing_text(trial: &Trial) -> Option<String> {
    trial.replayed.as_ref().filter(|told| !told.lag_ns.is_empty())?;
    Some(match declared_facts(trial).replay.map(|facts| facts.timing) {
        Some(ReplayTiming::Recorded { speed }) if speed != 1.0 => format!("as recorded, {speed}x"),
        _ => "as recorded".to_owned(),
    })
}

/// The histogram of lags, from the first edge that has something to the last.
fn lag_histogram(lag: &SparseHistogram) -> Vec<(Option<f64>, u64)> {
    let mut bins: Vec<(Option<f64>, u64)> = EDGES.iter().map(|edge| (Some(*edge), 0)).collect();
    bins.push((None, 0));
    for (ns, count) in lag.cells() {
        let place = EDGES.partition_point(|edge| *edge < *ns as f64 / 1e9);
        bins[place].1 += count;
    }
    let first = bins.iter().position(|bin| bin.1 > 0).unwrap_or(bins.len());
    let last = bins.iter().rposition(|bin| bin.1 > 0).map_or(first, |last| last + 1);
    bins[first..last].to_vec()
}

/// When statements began too late, if any did.
fn schedule_lag(told: &ReplayTotals) -> Option<ScheduleLag> {
    let limit_ns = (BEHIND_S * 1e9) as u64;
    let is_late = |ns: &u64| *ns > limit_ns;
    let longest = told.lag_by_second_ns.iter().copied().max().unwrap_or(told.lag_ns.max_ns());
    if !is_late(&longest) {
        return None;
    }
    let late = told.lag_ns.count_above(limit_ns);
    let from = told.lag_by_second_ns.iter().position(is_late).unwrap_or(0);
    Some(ScheduleLag {
        from_s: from as f64,
        seconds: told.lag_by_second_ns.iter().filter(|ns| is_late(ns)).count() as u64,
        of_seconds: told.lag_by_second_ns.len() as u64,
        at_end: told.lag_by_second_ns.last().is_some_and(is_late),
        longest_s: longest as f64 / 1e9,
        share: late as f64 / told.lag_ns.len().max(1) as f64,
    })
}
