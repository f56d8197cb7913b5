//! What is not written as it was found: scaling, capacity, waits, stalls.

use serde_json::{Value, json};

use crate::analysis::{CapacityFinding, FindingResults, ScalingFinding, StallFindings, WaitGroup};

use super::name_trial;

pub(super) fn scaling_json(scaling: &ScalingFinding) -> Value {
    let with_interval = |found: Option<(f64, f64, f64)>| {
        json!(found.map(|(value, low, high)| json!({ "value": value, "ci95": [low, high] })))
    };
    let two_lines = scaling
        .two_lines
        .map(|(one, ceiling)| json!({ "per_s_of_one": one, "ceiling_per_s": ceiling }));
    let mut found = json!(scaling);
    found["peak_n"] = with_interval(scaling.peak_n);
    found["peak_per_s"] = with_interval(scaling.peak_rate);
    found["two_lines"] = json!(two_lines);
    found
}

pub(super) fn capacity_json(results: &FindingResults, capacity: &CapacityFinding) -> Value {
    let mut found = json!(capacity);
    for step in found["steps"].as_array_mut().into_iter().flatten() {
        name_trial(results, step);
    }
    found
}

pub(super) fn wait_group_json(group: &WaitGroup) -> Value {
    let mut found = json!(group);
    for (name, range) in [("average_s", group.average), ("p50_s", group.p50), ("p99_s", group.p99)]
    {
        found[name] = json!(range.map(|(median, least, most)| {
            json!({ "median": median, "min": least, "max": most })
        }));
    }
    found
}

pub(super) fn stalls_json(stalls: &StallFindings) -> Value {
    let mut found = json!(stalls);
    found["count"] = json!(stalls.events.len());
    found["seconds"] = json!(stalls.events.iter().fold(0.0, |sum, s| sum + s.seconds));
    found
}
