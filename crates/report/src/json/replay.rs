//! Replays. Times in seconds.

use serde_json::{Value, json};

use crate::analysis::{LeftOutFinding, ReplayChange, ReplayClassFinding, ReplayFinding};

use super::json_array;

pub(super) fn replay_json(replay: &ReplayFinding, trials: &[String]) -> Value {
    let mut found = json!(replay);
    found["trials"] = json!(trials);
    found["errors"] = errors_json(replay.errors);
    found["classes"] = json_array(&replay.classes, class_json);
    found["left_out_why"] = json_array(&replay.reasons, |reason: &LeftOutFinding| {
        let (line, text) = reason.example.as_ref().map(|(line, text)| (line, text)).unzip();
        json!({ "reason": reason.reason, "records": reason.count, "line": line, "example": text })
    });
    found
}

fn errors_json([as_recorded, new, gone]: [u64; 3]) -> Value {
    json!({ "as_recorded": as_recorded, "new": new, "gone": gone })
}

fn class_json(class: &ReplayClassFinding) -> Value {
    let (code, text) = class.first_error.as_ref().map(|(code, text)| (code, text)).unzip();
    let mut found = json!(class);
    found["errors"] = errors_json(class.errors);
    found["first_error_code"] = json!(code);
    found["first_error"] = json!(text);
    found
}

pub(super) fn change_json(change: &ReplayChange) -> Value {
    let mut found = json!(change);
    found["errors_new_base"] = json!(change.errors_new.0);
    found["errors_new_variant"] = json!(change.errors_new.1);
    found
}
