//! Finished runs against others. What one run has and a comparison has not is empty, as the schema names it.

use serde_json::{Value, json};

use crate::analysis::number_format::format_utc;
use crate::analysis::{ComparedRun, ComparedSide, ComparisonFindings, DataSize};

use super::super::state_word;
use super::{SCHEMA, json_array, replay, server_json, trial_json};

pub(super) fn comparison_report(findings: &ComparisonFindings) -> Value {
    let results = &findings.results;
    let started = findings.runs().map(|run| run.head.origin_unix_ns).min().unwrap_or(0);
    json!({
        "schema": SCHEMA,
        "tool": { "name": "sweat", "version": env!("CARGO_PKG_VERSION") },
        "answer": json_array(&results.answer, |said| json!(said.text)),
        "void": results.void_caveat().is_some(),
        "caveats": results.caveats,
        "allowed": results.allowed,
        "sides": json_array(&findings.sides, side_json),
        "run": {
            "id": findings.joined_ids(),
            "name": "",
            "command": "compare",
            "command_line": null,
            "defaults": [],
            "started": format_utc(started),
            "ended": null,
            "seconds": null,
            "state": "done",
            "why": null,
            "seed": null,
            "facts": {},
            "phases": [],
        },
        "server": null,
        "client": {},
        "data": DataSize::default(),
        "variants": [],
        "trials": json_array(&results.trials, trial_json),
        "comparisons": results.comparisons,
        "differences": results.differences,
        "scaling": null,
        "capacity": null,
        "replays": [],
        "cost_changes": results.cost_changes,
        "replay_changes": json_array(&results.replay_changes, replay::change_json),
        "waits": [],
        "wait_groups": [],
        "watch_cost": null,
        "noise": [],
        "checks": [],
        "timeline": { "began_s": 0.0, "ended_s": 0.0, "intervals": [], "series": [] },
        "plan": "",
        "files": [],
    })
}

fn side_json(side: &ComparedSide) -> Value {
    json!({ "name": side.name, "runs": json_array(&side.runs, run_json) })
}

fn run_json(run: &ComparedRun) -> Value {
    let head = &run.head;
    json!({
        "id": head.id,
        "name": head.name,
        "command": head.command,
        "started": format_utc(head.origin_unix_ns),
        "seconds": head.seconds,
        "state": state_word(head.state),
        "seed": head.seed,
        "tool_version": head.tool_version,
        "server": server_json(head.server.as_ref(), &run.settings),
        "client": head.host,
        "data": run.data,
        "plan": run.plan,
        "allowed": run.allowed,
    })
}
