//! What was found by comparing and judging: comparisons, differences, scaling, capacity, waits, noise, checks.

use serde_json::{Value, json};

use crate::analysis::{
    Capacity, CapacityStep, CheckFinding, Comparison, Difference, Findings, NoiseItem, Scaling,
    ScalingPoint, Stalls, Steady, WaitFinding, WaitGroup, WatchCost,
};

use super::{estimate, list};

pub(super) fn comparison(comparison: &Comparison) -> Value {
    let rank = comparison.signed_rank.map(|r| {
        json!({
            "p": number(r.p), "ratio": number(r.ratio), "ci95": pair(r.ci95),
        })
    });
    json!({
        "way": comparison.way,
        "base": comparison.base,
        "metric": comparison.metric,
        "decides": comparison.decides,
        "more_is_better": comparison.more_is_better,
        "paired": comparison.paired,
        "ratio": estimate(comparison.ratio),
        "verdict": comparison.verdict.words(),
        "margin": number(comparison.margin),
        "p": comparison.p,
        "signed_rank": rank,
        "detectable": comparison.detectable,
        "more_blocks": comparison.more_blocks,
        "noise": comparison.noise.map(number),
        "within_noise": comparison.within_noise,
        "pairs": list(&comparison.pairs, |p| {
            json!({ "block": p.block, "base": number(p.base), "way": number(p.way) })
        }),
        "notes": comparison.notes,
    })
}

pub(super) fn difference(difference: &Difference) -> Value {
    json!({
        "way": difference.way,
        "kind": difference.kind,
        "name": difference.name,
        "base": difference.base,
        "other": difference.other,
        "intended": difference.intended,
    })
}

pub(super) fn scaling(scaling: &Scaling) -> Value {
    let point = |p: &ScalingPoint| {
        json!({
            "value": number(p.value),
            "concurrency": p.concurrency,
            "events_per_s": estimate(p.events_per_s),
            "p99_s": p.p99_s,
            "threads_running": p.threads_running,
            "efficiency": p.efficiency,
        })
    };
    let law = scaling.law.map(|law| {
        json!({
            "lambda": number(law.lambda), "sigma": number(law.sigma), "kappa": number(law.kappa),
            "r2": number(law.r2),
        })
    });
    let with_interval = |found: Option<(f64, f64, f64)>| {
        found.map(|(value, low, high)| {
            json!({
                "value": number(value), "ci95": pair((low, high)),
            })
        })
    };
    let two_lines = scaling.two_lines.map(|(one, ceiling)| {
        json!({
            "per_s_of_one": number(one), "ceiling_per_s": number(ceiling),
        })
    });
    json!({
        "axis": scaling.axis,
        "points": list(&scaling.points, point),
        "law": law,
        "peak_n": with_interval(scaling.peak_n),
        "peak_per_s": with_interval(scaling.peak_rate),
        "two_lines": two_lines,
        "better": scaling.better,
        "notes": scaling.notes,
    })
}

pub(super) fn capacity(findings: &Findings, capacity: &Capacity) -> Value {
    let step = |step: &CapacityStep| {
        json!({
            "trial": id(findings, step.trial),
            "phase": step.phase,
            "offered_per_s": step.offered_per_s,
            "achieved_per_s": number(step.achieved_per_s),
            "p99_s": step.p99_s,
            "verdict": step.outcome.words(),
            "why": step.why,
        })
    };
    json!({
        "objectives": capacity.objectives,
        "confirmed_per_s": capacity.confirmed_per_s,
        "first_failing_per_s": capacity.first_failing_per_s,
        "why": capacity.why,
        "ill_posed": capacity.ill_posed,
        "steps": list(&capacity.steps, step),
        "notes": capacity.notes,
    })
}

pub(super) fn wait(findings: &Findings, wait: &WaitFinding) -> Value {
    json!({
        "trial": id(findings, wait.trial),
        "value": wait.value,
        "instrument": wait.instrument,
        "operation": wait.operation,
        "count": wait.count,
        "total_s": number(wait.total_s),
        "average_s": wait.average_s,
        "p50_s": wait.p50_s,
        "p90_s": wait.p90_s,
        "p99_s": wait.p99_s,
        "max_s": wait.max_s,
        "tick_s": wait.tick_s,
        "top_share": wait.top_share,
        "source": wait.source,
        "coverage": wait.coverage,
        "objects": wait.objects,
        "busiest": wait.busiest,
        "notes": wait.notes,
    })
}

pub(super) fn wait_group(group: &WaitGroup) -> Value {
    let range = |found: Option<(f64, f64, f64)>| {
        found.map(|(median, least, most)| {
            json!({
                "median": number(median), "min": number(least), "max": number(most),
            })
        })
    };
    json!({
        "way": group.way,
        "value": group.value,
        "instrument": group.instrument,
        "loads": group.loads,
        "average_s": range(group.average),
        "p50_s": range(group.p50),
        "p99_s": range(group.p99),
        "waits_per_s": group.waits_per_s,
        "events_per_s": group.events_per_s,
        "ratio": group.ratio.map(estimate),
        "words": group.words,
    })
}

pub(super) fn watch_cost(cost: &WatchCost) -> Value {
    json!({
        "share": estimate(cost.share),
        "pairs": cost.pairs,
        "bare_s": cost.bare_s,
        "watched_s": cost.watched_s,
        "words": cost.words,
    })
}

pub(super) fn noise(item: &NoiseItem) -> Value {
    json!({
        "id": item.id,
        "title": item.title,
        "when": item.when,
        "value": number(item.value),
        "unit": item.unit,
        "level": item.level,
        "remedy": item.remedy,
    })
}

pub(super) fn check(check: &CheckFinding) -> Value {
    json!({
        "text": check.text,
        "value": check.value,
        "verdict": check.verdict,
        "why": check.why,
    })
}

pub(super) fn steady(steady: &Steady) -> Value {
    json!({
        "verdict": steady.verdict.words(),
        "t0_s": steady.t0_s,
        "length_s": steady.length_s,
        "level_per_s": steady.level,
        "rate_per_s": steady.rate,
        "drift": steady.drift,
        "phi": steady.phi,
        "n_eff": steady.n_eff,
        "precision": steady.precision,
        "why": steady.why,
    })
}

pub(super) fn stalls(stalls: &Stalls) -> Value {
    let seconds = stalls.events.iter().fold(0.0, |sum, s| sum + s.seconds);
    json!({
        "count": stalls.events.len(),
        "seconds": number(seconds),
        "lost_share": number(stalls.lost_share),
        "period_s": stalls.period_s,
        "dips": stalls.dips,
        "resolution_s": stalls.resolution_s,
        "full_stop_s": stalls.full_stop_s,
        "longest_silence_s": stalls.longest_silence_s,
        "slowest_by_median": stalls.slowest_by_median,
        "events": list(&stalls.events, |s| {
            json!({
                "kind": s.kind.words(), "began_s": number(s.began_s), "seconds": number(s.seconds),
                "depth": number(s.depth), "lost_events": number(s.lost_events), "max_s": s.max_s,
            })
        }),
        "causes": list(&stalls.causes, |c| {
            json!({
                "id": c.id, "title": c.title, "evidence": c.evidence, "share": number(c.share),
            })
        }),
        "counters": list(&stalls.counters, |c| {
            json!({
                "counter": c.counter, "inside": number(c.inside), "outside": number(c.outside),
                "z": number(c.z),
            })
        }),
        "notes": stalls.notes,
    })
}

/// A number; what is none (an infinite ratio, say) is `null`.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

fn pair(interval: (f64, f64)) -> Value {
    json!([number(interval.0), number(interval.1)])
}

fn id(findings: &Findings, trial: usize) -> Option<&str> {
    findings.trials.get(trial).map(|t| t.id.as_str())
}
