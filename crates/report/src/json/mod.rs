//! JSON, schema version 1 (`docs/schema/report-v1.json`): durations in seconds, instants in RFC 3339 UTC, what is not
//! known is `null`. Inside version 1 keys are only added.

mod comparison;
mod replay;
mod verdicts;

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::analysis::number_format::format_utc;
use crate::analysis::{
    FindingResults, Findings, IntervalFinding, RunFindings, TrialFinding, VariableFinding,
    VariantFinding,
};
use crate::archive::ServerRecord;

use super::{ReportFormat, ReportStyle, state_word};

/// Version of the schema.
const SCHEMA: u32 = 1;

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "json",
    about: "everything for programs (docs/schema/report-v1.json)",
    refuse: ReportFormat::shows_all,
    write: write_json,
};

fn write_json(findings: Findings<'_>, _look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let report = match findings {
        Findings::Run(findings) => report_json(findings),
        Findings::Comparison(findings) => comparison::comparison_report(findings),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}

fn report_json(findings: &RunFindings) -> Value {
    let (head, results) = (&findings.head, &findings.results);
    let ended = head.seconds.map(|s| head.origin_unix_ns + (s * 1e9) as u64);
    json!({
        "schema": SCHEMA,
        "tool": { "name": "sweat", "version": head.tool_version },
        "answer": json_array(&results.answer, |said| json!(said.text)),
        "void": results.void_caveat().is_some(),
        "caveats": results.caveats,
        "allowed": results.allowed,
        "run": {
            "id": head.id,
            "name": head.name,
            "command": head.command,
            "command_line": head.command_line,
            "defaults": head.defaults,
            "started": format_utc(head.origin_unix_ns),
            "ended": ended.map(format_utc),
            "seconds": head.seconds,
            "state": state_word(head.state),
            "why": head.why,
            "seed": head.seed,
            "facts": head.facts,
            "phases": findings.timeline.phases,
        },
        "server": server_json(head.server.as_ref(), &findings.settings),
        "client": head.host,
        "machines": findings.machines,
        "data": findings.data,
        "variants": json_array(&findings.variants, |w| variant_json(findings, w)),
        "trials": json_array(&results.trials, trial_json),
        "comparisons": results.comparisons,
        "differences": results.differences,
        "scaling": findings.scaling.as_ref().map(verdicts::scaling_json),
        "capacity": findings.capacity.as_ref().map(|c| verdicts::capacity_json(results, c)),
        "replays": json_array(&findings.replays, |r| {
            replay::replay_json(r, &trial_ids(results, &r.trials))
        }),
        "cost_changes": results.cost_changes,
        "replay_changes": json_array(&results.replay_changes, replay::change_json),
        "waits": json_array(&findings.waits, |w| {
            let mut found = json!(w);
            name_trial(results, &mut found);
            found
        }),
        "wait_groups": json_array(&findings.wait_groups, verdicts::wait_group_json),
        "watch_cost": findings.watch_cost,
        "server_costs": json_array(&findings.server_costs, |cost| {
            let mut found = json!(cost);
            name_trial(results, &mut found);
            found
        }),
        "noise": findings.noise,
        "checks": findings.checks,
        "timeline": {
            "began_s": findings.timeline.began_s,
            "ended_s": findings.timeline.ended_s,
            "intervals": json_array(&findings.timeline.intervals, |i| interval_json(findings, i)),
            "series": findings.timeline.series,
        },
        "plan": findings.plan,
        "files": findings.files,
    })
}

/// Names of loads.
fn trial_ids(findings: &FindingResults, trials: &[usize]) -> Vec<String> {
    trials.iter().map(|trial| findings.trials[*trial].id.clone()).collect()
}

fn json_array<T>(items: &[T], of: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(of).collect())
}

/// Puts the name of a load where its place among the loads stands.
fn name_trial(results: &FindingResults, found: &mut Value) {
    let place = found["trial"].as_u64().and_then(|place| usize::try_from(place).ok());
    let trial = place.and_then(|place| results.trials.get(place));
    found["trial"] = json!(trial.map(|trial| &trial.id));
}

fn server_json(server: Option<&ServerRecord>, settings: &[VariableFinding]) -> Value {
    let chosen = |which: fn(&&VariableFinding) -> bool| {
        json!(settings.iter().filter(which).collect::<Vec<_>>())
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
        "observed": server.observed,
        "variables": chosen(|_| true),
        "variables_nondefault": chosen(|s| s.non_default),
        "variables_changed": chosen(|s| s.changed_to.is_some()),
    })
}

fn variant_json(findings: &RunFindings, variant: &VariantFinding) -> Value {
    let id = |trial: Option<usize>| trial.map(|t| findings.results.trials[t].id.clone());
    let mut found = json!(variant);
    found["first"] = json!(id(variant.first));
    found["second"] = json!(id(variant.second));
    found
}

fn trial_json(trial: &TrialFinding) -> Value {
    let cost: Map<String, Value> =
        trial.cost.iter().map(|c| (c.id.to_owned(), json!(c.per_event))).collect();
    let mut found = json!(trial);
    found["latency"] = json!({
        "response": trial.response,
        "service": trial.service,
        "lateness": trial.lateness,
        "response_hdr_v2_b64": trial.response_hdr,
    });
    found["spectrum"] = json_array(&trial.spectrum, |p| json!([p.quantile, p.latency_s]));
    found["cost_per_event"] = json!(cost);
    found["stalls"] = json!(trial.stalls.as_ref().map(verdicts::stalls_json));
    if !trial.steps.is_empty() {
        found["event_steps"] = json_array(
            &trial.steps,
            |s| json!({ "name": s.name, "latency": s.response, "failed": s.failed }),
        );
    }
    found
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
