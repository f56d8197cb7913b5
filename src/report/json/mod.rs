//! JSON, schema version 1 (`docs/schema/report-v1.json`): durations in seconds, instants in RFC 3339 UTC, what is not
//! known is `null`. Inside version 1 keys are only added.

mod replay;
mod verdicts;

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::analysis::{
    Caveat, Counted, Estimate, Findings, IntervalFinding, Latency, Phase, Series, Setting,
    TrialFinding, WayFinding,
};
use crate::archive::ServerRecord;

use super::{Look, ReportFormat, state_word, utc};

/// Version of the schema.
const SCHEMA: u32 = 1;

/// The format.
pub(super) struct Json;

impl ReportFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }
    fn about(&self) -> &'static str {
        "everything for programs (docs/schema/report-v1.json)"
    }
    fn write(&self, findings: &Findings, _look: Look, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &report(findings))?;
        writeln!(out)
    }
}

fn report(findings: &Findings) -> Value {
    let head = &findings.head;
    let ended = head.seconds.map(|s| head.origin_unix_ns + (s * 1e9) as u64);
    json!({
        "schema": SCHEMA,
        "tool": { "name": "sweat", "version": head.tool_version },
        "answer": list(&findings.answer, |said| json!(said.text)),
        "void": findings.void().is_some(),
        "caveats": list(&findings.caveats, caveat),
        "allowed": list(&findings.allowed, caveat),
        "run": {
            "id": head.id,
            "name": head.name,
            "command": head.command,
            "started": utc(head.origin_unix_ns),
            "ended": ended.map(utc),
            "seconds": head.seconds,
            "state": state_word(head.state),
            "why": head.why,
            "seed": head.seed,
            "facts": head.facts,
            "phases": list(&findings.timeline.phases, phase),
        },
        "server": server(head.server.as_ref(), &findings.settings),
        "client": head.host,
        "data": {
            "bytes": findings.data.data_bytes,
            "rows": findings.data.rows,
            "pool_bytes": findings.data.pool_bytes,
            "page_bytes": findings.data.page_bytes,
            "ratio_to_pool": findings.data.ratio,
            "class": findings.data.class.map(|c| c.words()),
        },
        "ways": list(&findings.ways, |w| way(findings, w)),
        "trials": list(&findings.trials, trial),
        "comparisons": list(&findings.comparisons, verdicts::comparison),
        "differences": list(&findings.differences, verdicts::difference),
        "scaling": findings.scaling.as_ref().map(verdicts::scaling),
        "capacity": findings.capacity.as_ref().map(|c| verdicts::capacity(findings, c)),
        "replays": list(&findings.replays, |r| replay::replay(r, &ids(findings, &r.trials))),
        "replay_changes": list(&findings.replay_changes, replay::change),
        "waits": list(&findings.waits, |w| verdicts::wait(findings, w)),
        "wait_groups": list(&findings.wait_groups, verdicts::wait_group),
        "watch_cost": findings.watch_cost.as_ref().map(verdicts::watch_cost),
        "noise": list(&findings.noise, verdicts::noise),
        "checks": list(&findings.checks, verdicts::check),
        "timeline": {
            "began_s": findings.timeline.began_s,
            "ended_s": findings.timeline.ended_s,
            "intervals": list(&findings.timeline.intervals, |i| interval(findings, i)),
            "series": list(&findings.timeline.series, series),
        },
        "plan": findings.plan,
        "files": list(&findings.files, |f| {
            json!({ "path": f.path, "bytes": f.bytes, "sha256": f.sha256 })
        }),
    })
}

/// Names of loads.
fn ids(findings: &Findings, trials: &[usize]) -> Vec<String> {
    trials.iter().map(|trial| findings.trials[*trial].id.clone()).collect()
}

fn list<T>(items: &[T], of: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(of).collect())
}

fn caveat(caveat: &Caveat) -> Value {
    json!({
        "id": caveat.id,
        "level": caveat.level.words(),
        "evidence": caveat.evidence,
        "remedy": caveat.remedy,
    })
}

fn phase(phase: &Phase) -> Value {
    json!({
        "number": phase.number,
        "kind": phase.kind,
        "way": phase.way,
        "label": phase.label,
        "began_s": phase.began_s,
        "ended_s": phase.ended_s,
        "cut": phase.cut,
        "pool": phase.temperature.words(),
        "notes": phase.notes,
    })
}

fn server(server: Option<&ServerRecord>, settings: &[Setting]) -> Value {
    let setting = |s: &&Setting| {
        let (name, value) = (&s.name, &s.start);
        json!({ "name": name, "value": value, "origin": s.origin, "changed_to": s.changed_to })
    };
    let chosen = |which: fn(&&Setting) -> bool| {
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
fn estimate(estimate: Estimate) -> Value {
    json!({
        "value": estimate.value,
        "ci95": estimate.ci95.map(|(low, high)| [low, high]),
        "runs": estimate.runs,
    })
}

fn counted(counted: Option<Counted>) -> Value {
    counted.map_or(Value::Null, |c| json!({ "value": c.value, "counter": c.source }))
}

fn latency(latency: &Latency) -> Value {
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

fn way(findings: &Findings, way: &WayFinding) -> Value {
    let id = |trial: Option<usize>| trial.map(|t| findings.trials[t].id.clone());
    json!({
        "way": way.way,
        "warm_s": way.warm_s,
        "warm_bytes": way.warm_bytes,
        "warm_pages": way.warm_pages,
        "first": id(way.first),
        "second": id(way.second),
        "times_faster": estimate(way.times_faster),
        "second_times_faster": estimate(way.second_times_faster),
        "until_first_done_s": way.until_first_done_s,
        "notes": way.notes,
    })
}

fn trial(trial: &TrialFinding) -> Value {
    let errors = list(&trial.errors, |e| {
        json!({
            "class": e.class, "kind": e.kind, "code": e.code, "count": e.count,
            "first_text": e.first_text,
        })
    });
    let classes = list(&trial.classes, |c| {
        json!({
            "name": c.name, "response": latency(&c.response), "failed": latency(&c.failed),
        })
    });
    let rates = trial.rates.map(|r| {
        json!({
            "intervals": r.intervals, "min": r.min, "p1": r.p1, "p50": r.p50, "p99": r.p99,
            "max": r.max,
        })
    });
    let spectrum = list(&trial.spectrum, |p| json!([p.quantile, p.latency_s]));
    let cost: Map<String, Value> =
        trial.cost.iter().map(|c| (c.id.to_owned(), json!(c.per_event))).collect();
    json!({
        "id": trial.id,
        "way": trial.way,
        "pass": trial.pass,
        "block": trial.block,
        "value": trial.value,
        "pool": trial.temperature.words(),
        "workload": trial.workload,
        "arrival": trial.arrival,
        "workers": trial.workers,
        "engine": trial.engine,
        "reason": trial.reason,
        "began_s": trial.began_s,
        "seconds": trial.seconds,
        "events": trial.events,
        "events_per_s": estimate(trial.events_per_s),
        "rates": rates,
        "latency": {
            "response": latency(&trial.response),
            "service": latency(&trial.service),
            "lateness": latency(&trial.lateness),
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
        "disk_reads": counted(trial.disk_reads),
        "disk_bytes": counted(trial.disk_bytes),
        "cost_per_event": cost,
        "steady": trial.steady.as_ref().map(verdicts::steady),
        "stalls": trial.stalls.as_ref().map(verdicts::stalls),
    })
}

fn interval(findings: &Findings, interval: &IntervalFinding) -> Value {
    json!({
        "trial": findings.trials[interval.trial].id,
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

fn series(series: &Series) -> Value {
    json!({
        "id": series.id,
        "title": series.title,
        "counter": series.source,
        "points": list(&series.points, |(at, value)| json!([at, value])),
    })
}
