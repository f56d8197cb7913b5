//! JSON, schema version 1 (`docs/schema/report-v1.json`): durations in seconds, instants in RFC 3339 UTC, what is not
//! known is `null`. Inside version 1 keys are only added.

mod comparison;
mod replay;
mod verdicts;

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::analysis::{
    Caveat, CountedValue, DataSize, Estimate, FindingResults, Findings, IntervalFinding,
    LatencySummary, ProbeSeries, RunFindings, TimelineStep, TrialFinding, VariableFinding,
    VariantFinding,
};
use crate::archive::ServerRecord;

use super::{ReportFormat, ReportStyle, format_utc, state_word};

/// Version of the schema.
const SCHEMA: u32 = 1;

/// The format.
pub(super) struct JsonReport;

impl ReportFormat for JsonReport {
    fn name(&self) -> &'static str {
        "json"
    }
    fn about(&self) -> &'static str {
        "everything for programs (docs/schema/report-v1.json)"
    }
    fn write(
        &self,
        findings: Findings<'_>,
        _look: ReportStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let report = match findings {
            Findings::Run(findings) => report_json(findings),
            Findings::Comparison(findings) => comparison::comparison_report(findings),
        };
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }
}

fn report_json(findings: &RunFindings) -> Value {
    let (head, results) = (&findings.head, &findings.results);
    let ended = head.seconds.map(|s| head.origin_unix_ns + (s * 1e9) as u64);
    json!({
        "schema": SCHEMA,
        "tool": { "name": "sweat", "version": head.tool_version },
        "answer": json_array(&results.answer, |said| json!(said.text)),
        "void": results.void_caveat().is_some(),
        "caveats": json_array(&results.caveats, caveat_json),
        "allowed": json_array(&results.allowed, caveat_json),
        "run": {
            "id": head.id,
            "name": head.name,
            "command": head.command,
            "started": format_utc(head.origin_unix_ns),
            "ended": ended.map(format_utc),
            "seconds": head.seconds,
            "state": state_word(head.state),
            "why": head.why,
            "seed": head.seed,
            "facts": head.facts,
            "phases": json_array(&findings.timeline.phases, phase_json),
        },
        "server": server_json(head.server.as_ref(), &findings.settings),
        "client": head.host,
        "data": data_json(&findings.data),
        "variants": json_array(&findings.variants, |w| variant_json(findings, w)),
        "trials": json_array(&results.trials, trial_json),
        "comparisons": json_array(&results.comparisons, verdicts::comparison_json),
        "differences": json_array(&results.differences, verdicts::difference_json),
        "scaling": findings.scaling.as_ref().map(verdicts::scaling_json),
        "capacity": findings.capacity.as_ref().map(|c| verdicts::capacity_json(findings, c)),
        "replays": json_array(&findings.replays, |r| {
            replay::replay_json(r, &trial_ids(results, &r.trials))
        }),
        "replay_changes": json_array(&results.replay_changes, replay::change_json),
        "waits": json_array(&findings.waits, |w| verdicts::wait_json(findings, w)),
        "wait_groups": json_array(&findings.wait_groups, verdicts::wait_group_json),
        "watch_cost": findings.watch_cost.as_ref().map(verdicts::watch_cost_json),
        "noise": json_array(&findings.noise, verdicts::noise_json),
        "checks": json_array(&findings.checks, verdicts::check_json),
        "timeline": {
            "began_s": findings.timeline.began_s,
            "ended_s": findings.timeline.ended_s,
            "intervals": json_array(&findings.timeline.intervals, |i| interval_json(findings, i)),
            "series": json_array(&findings.timeline.series, series_json),
        },
        "plan": findings.plan,
        "files": json_array(&findings.files, |f| {
            json!({ "path": f.path, "bytes": f.bytes, "sha256": f.sha256 })
        }),
    })
}

fn data_json(data: &DataSize) -> Value {
    json!({
        "bytes": data.data_bytes,
        "rows": data.rows,
        "pool_bytes": data.pool_bytes,
        "page_bytes": data.page_bytes,
        "ratio_to_pool": data.ratio,
        "class": data.class.map(|c| c.as_str()),
    })
}

/// Names of loads.
fn trial_ids(findings: &FindingResults, trials: &[usize]) -> Vec<String> {
    trials.iter().map(|trial| findings.trials[*trial].id.clone()).collect()
}

fn json_array<T>(items: &[T], of: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(of).collect())
}

fn caveat_json(caveat: &Caveat) -> Value {
    json!({
        "id": caveat.id,
        "level": caveat.level.as_str(),
        "evidence": caveat.evidence,
        "remedy": caveat.remedy,
    })
}

fn phase_json(phase: &TimelineStep) -> Value {
    json!({
        "number": phase.number,
        "kind": phase.kind,
        "variant": phase.variant,
        "label": phase.label,
        "began_s": phase.began_s,
        "ended_s": phase.ended_s,
        "cut": phase.cut,
        "pool": phase.temperature.as_str(),
        "notes": phase.notes,
    })
}

fn server_json(server: Option<&ServerRecord>, settings: &[VariableFinding]) -> Value {
    let setting = |s: &&VariableFinding| {
        let (name, value) = (&s.name, &s.start);
        json!({ "name": name, "value": value, "origin": s.origin, "changed_to": s.changed_to })
    };
    let chosen = |which: fn(&&VariableFinding) -> bool| {
        Value::Array(settings.iter().filter(which).map(|s| setting(&s)).collect())
    };
    let Some(server) = server else {
        return Value::Null;
    };
    json!({
        "product": server.product,
        "version": server.version,
        "address": server.address,
        "cipher": server.cipher,
        "local": server.local,
        "sandbox": server.sandbox,
        "variables": chosen(|_| true),
        "variables_nondefault": chosen(|s| s.non_default),
        "variables_changed": chosen(|s| s.changed_to.is_some()),
    })
}

/// A number with its precision; with one run there is no interval.
fn estimate_json(estimate: Estimate) -> Value {
    json!({
        "value": estimate.value,
        "ci95": estimate.ci95.map(|(low, high)| [low, high]),
        "runs": estimate.runs,
    })
}

fn counted_json(counted: Option<CountedValue>) -> Value {
    counted.map_or(Value::Null, |c| json!({ "value": c.value, "counter": c.source }))
}

fn latency_json(latency: &LatencySummary) -> Value {
    json!({
        "n": latency.events,
        "mean": latency.mean_s,
        "min": latency.min_s,
        "p50": latency.p50_s,
        "p90": latency.p90_s,
        "p95": latency.p95_s,
        "p99": latency.p99_s,
        "p999": latency.p999_s,
        "p9999": latency.p9999_s,
        "max": latency.max_s,
    })
}

fn variant_json(findings: &RunFindings, variant: &VariantFinding) -> Value {
    let id = |trial: Option<usize>| trial.map(|t| findings.results.trials[t].id.clone());
    json!({
        "variant": variant.variant,
        "warm_s": variant.warm_s,
        "warm_bytes": variant.warm_bytes,
        "warm_pages": variant.warm_pages,
        "first": id(variant.first),
        "second": id(variant.second),
        "times_faster": estimate_json(variant.times_faster),
        "second_times_faster": estimate_json(variant.second_times_faster),
        "until_first_done_s": variant.until_first_done_s,
        "notes": variant.notes,
    })
}

fn trial_json(trial: &TrialFinding) -> Value {
    let errors = json_array(&trial.errors, |e| {
        json!({
            "class": e.class, "kind": e.kind, "code": e.code, "count": e.count,
            "first_text": e.first_text,
        })
    });
    let classes = json_array(&trial.classes, |c| {
        json!({
            "name": c.name, "response": latency_json(&c.response),
            "failed": latency_json(&c.failed),
        })
    });
    let rates = trial.rates.map(|r| {
        json!({
            "intervals": r.intervals, "min": r.min, "p1": r.p1, "p50": r.p50, "p99": r.p99,
            "max": r.max,
        })
    });
    let spectrum = json_array(&trial.spectrum, |p| json!([p.quantile, p.latency_s]));
    let cost: Map<String, Value> =
        trial.cost.iter().map(|c| (c.id.to_owned(), json!(c.per_event))).collect();
    let mut found = json!({
        "id": trial.id,
        "variant": trial.variant,
        "pass": trial.pass,
        "block": trial.block,
        "value": trial.value,
        "pool": trial.temperature.as_str(),
        "workload": trial.workload,
        "arrival": trial.arrival,
        "workers": trial.workers,
        "engine": trial.engine,
        "reason": trial.reason,
        "began_s": trial.began_s,
        "seconds": trial.seconds,
        "events": trial.events,
        "events_per_s": estimate_json(trial.events_per_s),
        "rates": rates,
        "latency": {
            "response": latency_json(&trial.response),
            "service": latency_json(&trial.service),
            "lateness": latency_json(&trial.lateness),
            "response_hdr_v2_b64": trial.response_hdr,
        },
        "unbegun": trial.unbegun.map(|u| json!({
            "arrivals": u.arrivals, "share": u.share, "least_s": u.least_s, "median_s": u.median_s,
            "oldest_s": u.oldest_s,
        })),
        "spectrum": spectrum,
        "by_class": classes,
        "failed": trial.failed,
        "failed_share": trial.failed_share,
        "errors": errors,
        "reconnects": trial.reconnects,
        "clipped": trial.clipped,
        "abandoned": trial.abandoned,
        "disk_reads": counted_json(trial.disk_reads),
        "disk_bytes": counted_json(trial.disk_bytes),
        "cost_per_event": cost,
        "steady": trial.steady.as_ref().map(verdicts::steady_json),
        "stalls": trial.stalls.as_ref().map(verdicts::stalls_json),
    });
    add_stages_and_steps(&mut found, trial);
    found
}

/// Adds what only some loads have.
fn add_stages_and_steps(found: &mut Value, trial: &TrialFinding) {
    if !trial.stages.is_empty() {
        found["stages"] = json_array(&trial.stages, |s| {
            json!({
                "name": s.name, "offered_per_s": s.offered_per_s, "events_per_s": s.events_per_s,
                "response": latency_json(&s.response), "failed": s.failed,
            })
        });
    }
    if !trial.steps.is_empty() {
        found["event_steps"] = json_array(&trial.steps, |s| {
            json!({
                "name": s.name, "latency": latency_json(&s.response),
                "failed": latency_json(&s.failed),
            })
        });
    }
}

fn interval_json(findings: &RunFindings, interval: &IntervalFinding) -> Value {
    json!({
        "trial": findings.results.trials[interval.trial].id,
        "began_s": interval.began_s,
        "seconds": interval.seconds,
        "partial": interval.partial,
        "events": interval.events,
        "errors": interval.errors,
        "events_per_s": interval.events_per_s,
        "p50": interval.response.p50_s,
        "p95": interval.response.p95_s,
        "p99": interval.response.p99_s,
        "max": interval.response.max_s,
        "in_flight": interval.in_flight,
        "backlog": interval.backlog,
    })
}

fn series_json(series: &ProbeSeries) -> Value {
    json!({
        "id": series.id,
        "title": series.title,
        "counter": series.source,
        "points": json_array(&series.points, |(at, value)| json!([at, value])),
    })
}
