//! What was found by comparing and judging: comparisons, differences, scaling, capacity, waits, noise, checks.

use serde_json::{Value, json};

use crate::analysis::{
    CapacityFinding, CapacityStep, CheckFinding, FindingResults, MetricComparison, NoiseItem,
    RunFindings, ScalingFinding, ScalingPoint, SetupDifference, StallFindings, SteadyState,
    WaitFinding, WaitGroup, WaitTracingCost,
};

use super::{estimate_json, json_array};

pub(super) fn comparison_json(comparison: &MetricComparison) -> Value {
    let rank = comparison.signed_rank.map(|r| {
        json!({
            "p": number_json(r.p), "ratio": number_json(r.ratio), "ci95": pair_json(r.ci95),
        })
    });
    json!({
        "variant": comparison.variant,
        "base": comparison.base,
        "metric": comparison.metric,
        "decides": comparison.decides,
        "more_is_better": comparison.more_is_better,
        "paired": comparison.paired,
        "ratio": estimate_json(comparison.ratio),
        "verdict": comparison.verdict.as_str(),
        "margin": number_json(comparison.margin),
        "p": comparison.p,
        "signed_rank": rank,
        "detectable": comparison.detectable,
        "more_blocks": comparison.more_blocks,
        "noise": comparison.noise.map(number_json),
        "within_noise": comparison.within_noise,
        "pairs": json_array(&comparison.pairs, |p| {
            let variant = number_json(p.variant);
            json!({ "block": p.block, "base": number_json(p.base), "variant": variant })
        }),
        "notes": comparison.notes,
    })
}

pub(super) fn difference_json(difference: &SetupDifference) -> Value {
    json!({
        "variant": difference.variant,
        "kind": difference.kind.as_str(),
        "name": difference.name,
        "base": difference.base,
        "other": difference.other,
        "intended": difference.intended,
    })
}

pub(super) fn scaling_json(scaling: &ScalingFinding) -> Value {
    let point = |p: &ScalingPoint| {
        json!({
            "value": number_json(p.value),
            "concurrency": p.concurrency,
            "events_per_s": estimate_json(p.events_per_s),
            "p99_s": p.p99_s,
            "threads_running": p.threads_running,
            "efficiency": p.efficiency,
        })
    };
    let law = scaling.law.map(|law| {
        json!({
            "lambda": number_json(law.lambda), "sigma": number_json(law.sigma),
            "kappa": number_json(law.kappa),
            "r2": number_json(law.r2),
        })
    });
    let with_interval = |found: Option<(f64, f64, f64)>| {
        found.map(|(value, low, high)| {
            json!({
                "value": number_json(value), "ci95": pair_json((low, high)),
            })
        })
    };
    let two_lines = scaling.two_lines.map(|(one, ceiling)| {
        json!({
            "per_s_of_one": number_json(one), "ceiling_per_s": number_json(ceiling),
        })
    });
    json!({
        "axis": scaling.axis,
        "points": json_array(&scaling.points, point),
        "law": law,
        "peak_n": with_interval(scaling.peak_n),
        "peak_per_s": with_interval(scaling.peak_rate),
        "two_lines": two_lines,
        "better": scaling.better.as_str(),
        "notes": scaling.notes,
    })
}

pub(super) fn capacity_json(findings: &RunFindings, capacity: &CapacityFinding) -> Value {
    let step = |step: &CapacityStep| {
        json!({
            "trial": trial_id(&findings.results, step.trial),
            "phase": step.phase,
            "offered_per_s": step.offered_per_s,
            "achieved_per_s": number_json(step.achieved_per_s),
            "p99_s": step.p99_s,
            "verdict": step.outcome.as_str(),
            "why": step.why,
        })
    };
    json!({
        "objectives": capacity.objectives,
        "confirmed_per_s": capacity.confirmed_per_s,
        "first_failing_per_s": capacity.first_failing_per_s,
        "why": capacity.why,
        "ill_posed": capacity.ill_posed,
        "steps": json_array(&capacity.steps, step),
        "notes": capacity.notes,
    })
}

pub(super) fn wait_json(findings: &RunFindings, wait: &WaitFinding) -> Value {
    json!({
        "trial": trial_id(&findings.results, wait.trial),
        "value": wait.value,
        "instrument": wait.instrument,
        "operation": wait.operation,
        "count": wait.count,
        "total_s": number_json(wait.total_s),
        "average_s": wait.average_s,
        "p50_s": wait.p50_s,
        "p90_s": wait.p90_s,
        "p99_s": wait.p99_s,
        "max_s": wait.max_s,
        "tick_s": wait.tick_s,
        "top_share": wait.top_share,
        "source": wait.source.as_str(),
        "coverage": wait.coverage,
        "objects": wait.objects,
        "busiest": wait.busiest,
        "notes": wait.notes,
    })
}

pub(super) fn wait_group_json(group: &WaitGroup) -> Value {
    let range = |found: Option<(f64, f64, f64)>| {
        found.map(|(median, least, most)| {
            json!({
                "median": number_json(median), "min": number_json(least), "max": number_json(most),
            })
        })
    };
    json!({
        "variant": group.variant,
        "value": group.value,
        "instrument": group.instrument,
        "loads": group.loads,
        "average_s": range(group.average),
        "p50_s": range(group.p50),
        "p99_s": range(group.p99),
        "waits_per_s": group.waits_per_s,
        "events_per_s": group.events_per_s,
        "ratio": group.ratio.map(estimate_json),
        "words": group.words,
    })
}

pub(super) fn watch_cost_json(cost: &WaitTracingCost) -> Value {
    json!({
        "share": estimate_json(cost.share),
        "pairs": cost.pairs,
        "bare_s": cost.bare_s,
        "watched_s": cost.watched_s,
        "words": cost.words,
    })
}

pub(super) fn noise_json(item: &NoiseItem) -> Value {
    json!({
        "id": item.id,
        "title": item.title,
        "when": item.when,
        "value": number_json(item.value),
        "unit": item.unit,
        "level": item.level.as_str(),
        "remedy": item.remedy,
    })
}

pub(super) fn check_json(check: &CheckFinding) -> Value {
    json!({
        "text": check.text,
        "value": check.value,
        "verdict": check.verdict.as_str(),
        "why": check.why,
    })
}

pub(super) fn steady_json(steady: &SteadyState) -> Value {
    json!({
        "verdict": steady.verdict.as_str(),
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

pub(super) fn stalls_json(stalls: &StallFindings) -> Value {
    let seconds = stalls.events.iter().fold(0.0, |sum, s| sum + s.seconds);
    json!({
        "count": stalls.events.len(),
        "seconds": number_json(seconds),
        "lost_share": number_json(stalls.lost_share),
        "period_s": stalls.period_s,
        "dips": stalls.dips,
        "resolution_s": stalls.resolution_s,
        "full_stop_s": stalls.full_stop_s,
        "longest_silence_s": stalls.longest_silence_s,
        "slowest_by_median": stalls.slowest_by_median,
        "events": json_array(&stalls.events, |s| {
            json!({
                "kind": s.kind.as_str(), "began_s": number_json(s.began_s),
                "seconds": number_json(s.seconds),
                "depth": number_json(s.depth), "lost_events": number_json(s.lost_events),
                "max_s": s.max_s,
            })
        }),
        "causes": json_array(&stalls.causes, |c| {
            json!({
                "id": c.id, "title": c.title, "evidence": c.evidence, "share": number_json(c.share),
            })
        }),
        "counters": json_array(&stalls.counters, |c| {
            json!({
                "counter": c.counter, "inside": number_json(c.inside),
                "outside": number_json(c.outside),
                "z": number_json(c.z),
            })
        }),
        "notes": stalls.notes,
    })
}

/// A number; what is none (an infinite ratio, say) is `null`.
fn number_json(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

fn pair_json(interval: (f64, f64)) -> Value {
    json!([number_json(interval.0), number_json(interval.1)])
}

fn trial_id(findings: &FindingResults, trial: usize) -> Option<&str> {
    findings.trials.get(trial).map(|t| t.id.as_str())
}
