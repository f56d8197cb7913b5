//! The verdict on the last level of a load: long enough, without drift, known well enough.
//! Never knows: the server.

use super::level::RateLevels;
use crate::analysis::findings::{SteadyState, SteadyVerdict};
use crate::analysis::number_format::{format_percent, format_time};
use crate::analysis::statistics::{student, time_series, trend};

/// What is asked of the part that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SteadyRules {
    /// Its least length, seconds.
    pub(super) least_s: f64,
    /// Most that it may drift from begin to end, as a share of its level.
    pub(super) drift: f64,
    /// Most that half the 95 % interval of its level may be, as a share of the level.
    pub(super) precision: f64,
    /// Cycles of the redo log that a load that writes must cover.
    pub(super) redo_cycles: f64,
}

impl Default for SteadyRules {
    fn default() -> SteadyRules {
        SteadyRules { least_s: 60.0, drift: 0.05, precision: 0.02, redo_cycles: 3.0 }
    }
}

/// A drift whose own standard error is above this share of the level is not told from chance.
const DRIFT_ERROR: f64 = 0.025;
/// A change of level below so many of its standard errors is not told from chance: its place was chosen among many.
const PROVEN: f64 = 6.0;
/// The same for the last of several changes in one direction.
const PROVEN_AGAIN: f64 = 3.0;

/// A length that the last level must have, and why.
pub(super) struct RequiredLength {
    pub(super) seconds: f64,
    pub(super) why: String,
}

/// The verdict on the series alone. `more` are lengths that its surroundings ask for.
pub(super) fn judge_levels(
    levels: &RateLevels,
    rules: &SteadyRules,
    more: &[RequiredLength],
) -> SteadyState {
    let kept = levels.kept_segment();
    let batches = levels.kept_batches();
    let length_s = batches.len() as f64 * levels.batch_s;
    let level = kept.mean;
    let n_eff = time_series::effective_length(batches);
    let drift = trend::theil_sen(batches).map(|s| s * (batches.len() - 1) as f64 / level);
    let mut steady = SteadyState {
        t0_s: Some(levels.t0_s()),
        length_s: Some(length_s),
        level: Some(level),
        drift: drift.filter(|d| d.is_finite()),
        phi: Some(levels.phi),
        n_eff: Some(n_eff),
        precision: relative_precision(batches, n_eff, level),
        ..SteadyState::default()
    };
    let tests = [
        (|l, s, r, n| check_length(l, s, r, n))
            as fn(&RateLevels, &SteadyState, &SteadyRules, &[RequiredLength]) -> SteadyObjection,
        |l, s, r, _| check_drift(l, s, r),
        |_, s, r, _| check_precision(s, r),
    ];
    let mut found = tests.iter().filter_map(|test| test(levels, &steady, rules, more));
    let first = found.next();
    let others: Vec<String> = found.map(|(_, why)| why).collect();
    steady.verdict = SteadyVerdict::Steady;
    if let Some((verdict, why)) = first {
        steady.verdict = verdict;
        steady.why = [vec![why], others].concat();
    }
    steady
}

/// What a test finds against steady.
type SteadyObjection = Option<(SteadyVerdict, String)>;

/// Half of the 95 % interval of the mean, as a share of the level.
fn relative_precision(batches: &[f64], n_eff: f64, level: f64) -> Option<f64> {
    let n = batches.len() as f64;
    if n_eff < 2.0 || level <= 0.0 {
        return None;
    }
    let variance = batches.iter().map(|v| (v - level).powi(2)).sum::<f64>() / (n - 1.0);
    let t = student::student_quantile(0.975, n_eff - 1.0);
    Some(t * (variance / n_eff).sqrt() / level).filter(|p| p.is_finite())
}

/// Whether the last level lasted long enough.
fn check_length(
    levels: &RateLevels,
    steady: &SteadyState,
    rules: &SteadyRules,
    more: &[RequiredLength],
) -> SteadyObjection {
    let (t0_s, length_s) = (steady.t0_s?, steady.length_s?);
    if let [.., before, kept] = levels.stretches[..] {
        if length_s < t0_s {
            let change = kept.mean / before.mean - 1.0;
            let share = |from: usize, to: usize| 1.0 / (to - from) as f64;
            let error = levels.sigma * levels.variance_inflation().sqrt() / (1.0 - levels.phi)
                * (share(before.from, before.to) + share(kept.from, kept.to)).sqrt();
            let verdict = match (level_direction(levels), (kept.mean - before.mean).abs() / error) {
                (SteadyVerdict::Unsteady, errors) if errors < PROVEN => SteadyVerdict::TooShort,
                (_, errors) if errors < PROVEN_AGAIN => SteadyVerdict::TooShort,
                (verdict, _) => verdict,
            };
            let moved = if change > 0.0 { "rose" } else { "fell" };
            let why = format!(
                "its level {moved} by {} at {} and was seen for {} since: it must stay for as long \
                 as it took to get there",
                format_percent(change.abs()),
                format_time(t0_s),
                format_time(length_s),
            );
            return Some((verdict, why));
        }
    }
    let mut needs = more.iter().filter(|need| length_s < need.seconds);
    if length_s < rules.least_s {
        let from = if t0_s > 0.0 {
            format!("even from {} on, ", format_time(t0_s))
        } else {
            String::new()
        };
        let why = format!(
            "{from}seen for {}: a steady state is told from {} on",
            format_time(length_s),
            format_time(rules.least_s)
        );
        return Some((SteadyVerdict::TooShort, why));
    }
    needs.next().map(|need| (SteadyVerdict::TooShort, need.why.clone()))
}

/// Three levels in a row that rise, or fall, go on like that; else it changed and nobody knows where it goes.
fn level_direction(levels: &RateLevels) -> SteadyVerdict {
    match levels.stretches[..] {
        [.., a, b, c] if a.mean < b.mean && b.mean < c.mean => SteadyVerdict::Warming,
        [.., a, b, c] if a.mean > b.mean && b.mean > c.mean => SteadyVerdict::Slowing,
        _ => SteadyVerdict::Unsteady,
    }
}

/// Whether it rises or falls within its last level.
fn check_drift(levels: &RateLevels, steady: &SteadyState, rules: &SteadyRules) -> SteadyObjection {
    let (drift, level) = (steady.drift?, steady.level?);
    if drift.abs() <= rules.drift {
        return None;
    }
    let batches = levels.kept_batches().len() as f64;
    let error = levels.sigma * (12.0 * levels.variance_inflation() / batches).sqrt() / level;
    let moves = if drift > 0.0 { "rises" } else { "falls" };
    let what = format!("it {moves} by {} over that part", format_percent(drift.abs()));
    if error > DRIFT_ERROR {
        let why = format!("{what}, which may be chance: a longer load would tell");
        return Some((SteadyVerdict::TooShort, why));
    }
    let verdict = if drift > 0.0 { SteadyVerdict::Warming } else { SteadyVerdict::Slowing };
    Some((verdict, what))
}

/// Whether its level is known well enough.
fn check_precision(steady: &SteadyState, rules: &SteadyRules) -> SteadyObjection {
    let (precision, length_s) = (steady.precision, steady.length_s?);
    let Some(precision) = precision else {
        return Some((SteadyVerdict::TooShort, "its level is not known yet".to_owned()));
    };
    if precision <= rules.precision {
        return None;
    }
    let wanted_s = length_s * (precision / rules.precision).powi(2);
    let why = format!(
        "its level is known to {} only: to know it to {} takes about {}",
        format_percent(precision),
        format_percent(rules.precision),
        format_time(wanted_s)
    );
    Some((SteadyVerdict::TooShort, why))
}
