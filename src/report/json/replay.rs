//! Replays. Times in seconds.

use serde_json::{Value, json};

use crate::analysis::{ReplayChange, ReplayClassFinding, ReplayFinding, ScheduleLag};

use super::verdicts::comparison_json;
use super::{json_array, latency_json};

pub(super) fn replay_json(replay: &ReplayFinding, trials: &[String]) -> Value {
    let bins = json_array(&replay.lag_bins, |(edge, number)| json!([edge, number]));
    let reasons = json_array(&replay.reasons, |reason| {
        let (line, text) = reason.example.clone().unzip();
        json!({ "reason": reason.reason, "records": reason.count, "line": line, "example": text })
    });
    json!({
        "variant": replay.variant,
        "trials": trials,
        "timing": replay.timing,
        "writes": replay.writes,
        "sessions": replay.sessions,
        "sessions_at_once": replay.sessions_at_once,
        "ends_inferred": replay.ends_inferred,
        "records": replay.records,
        "sent": replay.sent,
        "span_s": replay.span_s,
        "uncertainty_s": replay.uncertainty_s,
        "round_trip_s": replay.round_trip_s,
        "lag": latency_json(&replay.lag),
        "lag_bins": bins,
        "lag_by_second": replay.lag_by_second,
        "behind": replay.behind.as_ref().map(behind_json),
        "errors": errors_json(replay.errors),
        "rows_compared": replay.rows_compared,
        "rows_differing": replay.rows_differing,
        "classes": json_array(&replay.classes, class_json),
        "left_out": replay.left_out,
        "left_out_why": reasons,
        "notes": replay.notes,
    })
}

fn behind_json(behind: &ScheduleLag) -> Value {
    json!({
        "from_s": behind.from_s,
        "seconds": behind.seconds,
        "of_seconds": behind.of_seconds,
        "at_end": behind.at_end,
        "longest_s": behind.longest_s,
        "share": behind.share,
    })
}

fn errors_json([as_recorded, new, gone]: [u64; 3]) -> Value {
    json!({ "as_recorded": as_recorded, "new": new, "gone": gone })
}

fn class_json(class: &ReplayClassFinding) -> Value {
    let (code, text) = class.first_error.clone().unzip();
    json!({
        "digest": class.digest,
        "example": class.example,
        "sent": class.count,
        "share": class.share,
        "recorded": latency_json(&class.recorded),
        "replayed": latency_json(&class.replayed),
        "errors": errors_json(class.errors),
        "first_error_code": code,
        "first_error": text,
        "rows_compared": class.rows_compared,
        "rows_differing": class.rows_differing,
        "change": class.change.as_ref().map(comparison_json),
    })
}

pub(super) fn change_json(change: &ReplayChange) -> Value {
    json!({
        "digest": change.digest,
        "base": latency_json(&change.base),
        "variant": latency_json(&change.variant),
        "errors_new_base": change.errors_new.0,
        "errors_new_variant": change.errors_new.1,
        "change": comparison_json(&change.change),
    })
}
