//! What had to hold after a run: pass, fail, or unsure where the interval of the measured value lies across the bound.
//! With several loads the worst one decides. To add a metric: `plan::ComparedMetric`, and its arm in `measure::of`.

mod measure;
#[cfg(test)]
mod tests;

use crate::archive::{RunRecord, Trial};
use crate::plan::{Check, CheckCondition, Metric, Objective, Relation, checks_in};

use super::findings::{
    CheckFinding, CheckOutcome, IntervalFinding, RunFindings, StallFindings, TrialFinding,
};
use super::number_format::{
    format_count, format_number, format_percent, format_plural, format_time,
};
use measure::{CheckScope, MeasuredValue};

use CheckOutcome::{Fail, Pass, Unsure};

/// A run with what was found in it.
pub type RunWithFindings<'a> = (&'a RunRecord, &'a RunFindings);

/// What became of each check. `base` is the run that shares of the base refer to.
pub fn judge_checks(
    checks: &[Check],
    judged: RunWithFindings<'_>,
    base: Option<RunWithFindings<'_>>,
) -> Vec<CheckFinding> {
    checks.iter().map(|check| judge_check(check, judged, base)).collect()
}

/// The checks that stand in a run's plan; what can't be read is left to whoever starts the run.
pub(super) fn judge_plan_checks(run: &RunRecord, findings: &RunFindings) -> Vec<CheckFinding> {
    let checks: Vec<Check> =
        checks_in(&run.plan).iter().filter_map(|text| Check::parse(text).ok()).collect();
    judge_checks(&checks, (run, findings), None)
}

/// One load's verdict: the verdict, the value and why in words.
struct CheckVerdict {
    verdict: CheckOutcome,
    value: String,
    why: String,
}

impl CheckVerdict {
    fn new(
        verdict: CheckOutcome,
        value: impl Into<String>,
        why: impl Into<String>,
    ) -> CheckVerdict {
        CheckVerdict { verdict, value: value.into(), why: why.into() }
    }
}

fn judge_check(
    check: &Check,
    judged: RunWithFindings<'_>,
    base: Option<RunWithFindings<'_>>,
) -> CheckFinding {
    let (run, findings) = judged;
    let loads = run.trials.iter().zip(&findings.results.trials).enumerate();
    let verdicts = loads.map(|(place, load)| {
        let intervals: Vec<&IntervalFinding> =
            findings.timeline.intervals.iter().filter(|i| i.trial == place).collect();
        (load.1, judge_load(check, load, &intervals, base))
    });
    // Of several that are equally bad the first one.
    let worst =
        verdicts.reduce(|worst, next| if next.1.verdict > worst.1.verdict { next } else { worst });
    let text = check.text.clone();
    match worst {
        None => {
            let (value, why) = ("-".to_owned(), "no load was measured".to_owned());
            CheckFinding { text, value, verdict: Fail, why }
        }
        Some((trial, CheckVerdict { verdict, value, why })) => {
            let several = findings.results.trials.len() > 1;
            let value = if several { format!("{value} in {}", trial.title) } else { value };
            CheckFinding { text, value, verdict, why }
        }
    }
}

fn judge_load(
    check: &Check,
    load: (&Trial, &TrialFinding),
    intervals: &[&IntervalFinding],
    base: Option<RunWithFindings<'_>>,
) -> CheckVerdict {
    let (record, trial) = load;
    let class = match &check.class {
        None => None,
        Some(name) => match record.classes.iter().position(|c| c == name) {
            Some(class) => Some(class),
            None => {
                let why = format!("there is no class {name}, only {}", record.classes.join(", "));
                return CheckVerdict::new(Fail, "-", why);
            }
        },
    };
    let scope = CheckScope { record, class };
    match (check.asked, check.share) {
        (CheckCondition::Steady, _) => judge_steady(trial),
        (CheckCondition::Stalls(most), _) => judge_stalls(trial.stalls.as_ref(), most),
        (CheckCondition::Objective(objective), None) => judge_objective(objective, &scope),
        (CheckCondition::Objective(objective), Some(share)) => {
            // A class has no percentiles of its own for each interval.
            match class {
                Some(_) => {
                    CheckVerdict::new(Fail, "-", "intervals are kept for all classes together")
                }
                None => judge_over_time(objective, share, intervals),
            }
        }
        (CheckCondition::OfBase { metric, relation, times }, _) => {
            let reference = base.and_then(|base| matching_base_trial(base, trial));
            match reference {
                Some(record) => {
                    let other = class.map(|c| &scope.record.classes[c]);
                    let other = other.and_then(|n| record.classes.iter().position(|c| c == n));
                    if class.is_some() && other.is_none() {
                        return CheckVerdict::new(Fail, "-", "the base has no such class");
                    }
                    let reference = CheckScope { record, class: other };
                    judge_against_base(metric, relation, times, &scope, &reference)
                }
                None => {
                    CheckVerdict::new(Fail, "-", "there is no run to compare with (--base RUN)")
                }
            }
        }
    }
}

/// The load of the base that is most like this one: same variant and pass, else the first.
fn matching_base_trial<'a>(base: RunWithFindings<'a>, trial: &TrialFinding) -> Option<&'a Trial> {
    let same = |t: &&Trial| t.variant == trial.variant && t.pass == trial.pass;
    base.0.trials.iter().find(same).or_else(|| base.0.trials.first())
}

fn judge_steady(trial: &TrialFinding) -> CheckVerdict {
    let Some(steady) = &trial.steady else {
        return CheckVerdict::new(Unsure, "-", "the load is too short to tell");
    };
    let words = steady.verdict.as_str();
    let why = steady.why.join("; ");
    use super::findings::SteadyVerdict as S;
    match steady.verdict {
        S::Steady | S::SteadyWithStalls => {
            let since = steady.t0_s.map(|t0| format!("from {} on", format_time(t0)));
            CheckVerdict::new(Pass, words, since.unwrap_or_default())
        }
        S::TooShort => CheckVerdict::new(Unsure, words, why),
        S::Warming | S::Slowing | S::Unsteady => CheckVerdict::new(Fail, words, why),
    }
}

fn judge_stalls(stalls: Option<&StallFindings>, most: u64) -> CheckVerdict {
    let Some(stalls) = stalls else {
        return CheckVerdict::new(Unsure, "-", "the load is too short to show stalls");
    };
    let found = stalls.events.len() as u64;
    let lost = format!("{} of the work was lost in them", format_percent(stalls.lost_share));
    let value = format_plural(found, "stall", "stalls");
    match (stalls.resolution_s, stalls.full_stop_s) {
        _ if found > most => CheckVerdict::new(Fail, value, lost),
        (Some(shortest), _) => CheckVerdict::new(
            Pass,
            value,
            format!("any of {} or more would be seen", format_time(shortest)),
        ),
        (None, Some(shortest)) => {
            let why = format!(
                "only full stops of {} or more would be seen: too few or too bursty events to \
                 show slow spells",
                format_time(shortest)
            );
            CheckVerdict::new(Unsure, value, why)
        }
        (None, None) => CheckVerdict::new(Unsure, value, "the load is too short to show stalls"),
    }
}

/// A value of this metric in words.
fn metric_text(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Quantile(_) | Metric::Mean | Metric::Longest => format_time(value),
        Metric::Errors => format_percent(value),
        Metric::Rate => format!("{}/s", format_number(value)),
    }
}

fn judge_objective(objective: Objective, scope: &CheckScope<'_>) -> CheckVerdict {
    let metric = objective.metric;
    let Some(measured) = measure::measure_metric(metric, scope) else {
        return CheckVerdict::new(Unsure, "-", "too few events for this number");
    };
    let value = metric_text(metric, measured.value);
    // No error at all is a fact, not an estimate.
    let measured = MeasuredValue { exact: measured.exact || objective.bound == 0.0, ..measured };
    let (verdict, interval) = judge_interval(&measured, |value| objective.is_met(value));
    let why = match measured.interval {
        _ if measured.exact => String::new(),
        None => "too little was measured for an interval".to_owned(),
        Some((low, high)) => {
            let high =
                if high.is_finite() { metric_text(metric, high) } else { "unknown".to_owned() };
            format!("95 % interval {} to {high}, {interval}", metric_text(metric, low))
        }
    };
    CheckVerdict::new(verdict, value, why)
}

/// Whether both ends of the interval are on the same side.
fn judge_interval(
    measured: &MeasuredValue,
    is_met: impl Fn(f64) -> bool,
) -> (CheckOutcome, &'static str) {
    let verdict = |met| if met { Pass } else { Fail };
    if measured.exact {
        return (verdict(is_met(measured.value)), "");
    }
    match measured.interval {
        None => (Unsure, ""),
        Some((low, high)) if is_met(low) == is_met(high) => {
            let met = is_met(low);
            (verdict(met), if met { "within the bound" } else { "beyond the bound" })
        }
        Some(_) => (Unsure, "which lies across the bound"),
    }
}

/// In how many whole intervals it held; that is a fact about this run, so without an interval of its own.
fn judge_over_time(
    objective: Objective,
    share: f64,
    intervals: &[&IntervalFinding],
) -> CheckVerdict {
    let value = |i: &&&IntervalFinding| match objective.metric {
        Metric::Quantile(0.5) => i.response.p50_s,
        Metric::Quantile(0.95) => i.response.p95_s,
        Metric::Quantile(_) => i.response.p99_s,
        Metric::Longest => i.response.max_s,
        Metric::Errors => {
            let all = i.events + i.errors;
            (all > 0).then(|| i.errors as f64 / all as f64)
        }
        Metric::Rate => i.events_per_s,
        Metric::Mean => None,
    };
    let whole = || intervals.iter().filter(|i| !i.partial);
    let all = whole().count();
    let known: Vec<f64> = whole().filter_map(|i| value(&i)).collect();
    if all == 0 || known.len() * 2 < all {
        let why = "too few intervals have enough events for this number";
        return CheckVerdict::new(Unsure, "-", why);
    }
    let met = known.iter().filter(|v| objective.is_met(**v)).count();
    // An interval without an event is not one in which latency was good.
    let found = met as f64 / all as f64;
    let verdict = if found >= share { Pass } else { Fail };
    let why = format!(
        "it held in {} of {} intervals",
        format_count(met as u64),
        format_count(all as u64)
    );
    CheckVerdict::new(verdict, format_percent(found), why)
}

/// The ratio of two independent runs; their intervals add on the logarithmic scale.
fn judge_against_base(
    metric: Metric,
    relation: Relation,
    times: f64,
    scope: &CheckScope<'_>,
    base: &CheckScope<'_>,
) -> CheckVerdict {
    let both = measure::measure_metric(metric, scope).zip(measure::measure_metric(metric, base));
    let Some((measured, base)) = both.filter(|(_, base)| base.value > 0.0) else {
        return CheckVerdict::new(Unsure, "-", "too few events for this number");
    };
    let ratio = measured.value / base.value;
    let log_half = |m: &MeasuredValue, upper: bool| {
        let (low, high) = m.interval?;
        let end = if upper { high / m.value } else { m.value / low };
        Some(end.ln()).filter(|l| l.is_finite())
    };
    let add = |a: Option<f64>, b: Option<f64>| Some(a?.hypot(b?));
    // The ratio is high where the run is high and the base low.
    let up = add(log_half(&measured, true), log_half(&base, false));
    let down = add(log_half(&measured, false), log_half(&base, true));
    let interval = down.zip(up).map(|(down, up)| (ratio * (-down).exp(), ratio * up.exp()));
    let compared = MeasuredValue { value: ratio, interval, exact: false };
    let (verdict, place) = judge_interval(&compared, |value| relation.holds(value, times));
    let value =
        format!("{} of base ({})", format_percent(ratio), metric_text(metric, measured.value));
    let why = match interval {
        None => "too little was measured for an interval".to_owned(),
        Some((low, high)) => format!(
            "base {}; 95 % interval {} to {}, {place}; it does not cover differences from run to \
             run",
            metric_text(metric, base.value),
            format_percent(low),
            format_percent(high)
        ),
    };
    CheckVerdict::new(verdict, value, why)
}
