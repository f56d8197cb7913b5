//! The load as a stream for programs: one JSON object per line and interval. Keys are only added.

use serde_json::json;

use crate::analysis::LiveInterval;

/// An interval: times in seconds, what is not known is `null`.
pub(super) fn interval_json(beat: &LiveInterval, load: u32) -> String {
    let number = |value: f64| Some(value).filter(|v| v.is_finite());
    json!({
        "kind": "interval",
        "load": load,
        "t_s": number(beat.at_s),
        "events_per_s": number(beat.events_per_s),
        "p50_s": beat.p50_s,
        "p95_s": beat.p95_s,
        "p99_s": beat.p99_s,
        "max_s": beat.max_s,
        "lateness_p99_s": beat.lateness_p99_s,
        "errors": beat.errors,
        "reconnects": beat.reconnects,
        "backlog": beat.backlog,
        "own_cores": number(beat.own_cores),
    })
    .to_string()
}

/// Something worth knowing.
pub(super) fn note_json(text: &str) -> String {
    json!({ "kind": "note", "text": text }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object_without_nan() {
        let beat = LiveInterval {
            at_s: 3.0,
            events_per_s: f64::NAN,
            p99_s: Some(0.0118),
            ..LiveInterval::default()
        };
        let line = interval_json(&beat, 2);
        assert!(!line.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((value["load"].as_u64(), value["t_s"].as_f64()), (Some(2), Some(3.0)));
        assert!(value["events_per_s"].is_null() && value["p50_s"].is_null());
        assert_eq!(value["p99_s"], 0.0118);
        assert!(!note_json("two\nlines").contains('\n'));
    }
}
