//! `sweat replay --dry-run`: what would be sent and what not. Reads the log, and asks no server.

use std::fmt::Write as _;

use clap::ArgMatches;
use serde_json::json;

use super::super::context::{CliContext, note_text};
use super::super::exit::CommandOutcome;
use crate::analysis::number_format::{format_count, format_percent, format_plural, format_time};
use crate::base::StopReason;
use crate::plan::{Mistake, Options};
use crate::recorder::{ReplayTotals, ReplayedClass};
use crate::report::format_paragraph;
use crate::workload::replay::{LogSurvey, survey_logs};

/// Classes and reasons that are printed as text.
const SHOWN: usize = 30;
/// Characters of a statement that are printed as text.
const CUT: usize = 160;

pub(super) fn print_prescan(
    options: &Options,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let format = args.get_one::<String>("format").map_or("text", String::as_str);
    if !["text", "json"].contains(&format) {
        return Err(Mistake::new(format!("--format {format}"), "a dry run has no run to show")
            .hint("text or json")
            .into());
    }
    let found = survey_logs(options, &context.stop)?;
    context.print_result(format == "json", || to_json(&found), || to_text(&found))?;
    let interrupted = context.stop.reason() == Some(StopReason::Interrupted);
    Ok(if interrupted { CommandOutcome::Interrupted } else { CommandOutcome::Done })
}

fn count_left_out(told: &ReplayTotals) -> u64 {
    told.left_out.iter().map(|left| left.count).sum()
}

fn to_text(found: &LogSurvey) -> String {
    let told = &found.replayed;
    let totals = format!(
        "{} of {}, {} at once: {} would be sent, {} left out ({})",
        format_plural(told.records, "record", "records"),
        format_plural(told.sessions, "session", "sessions"),
        format_count(told.sessions_at_once),
        format_plural(told.sent, "statement", "statements"),
        format_count(count_left_out(told)),
        format_percent(count_left_out(told) as f64 / told.records.max(1) as f64),
    );
    let mut text = format_paragraph("", &totals);
    if told.span_us > 0 {
        let _ = writeln!(text, "{} by the log's clock", format_time(told.span_us as f64 / 1e6));
    }
    for note in &told.notes {
        text += &note_text(note);
    }
    if !told.classes.is_empty() {
        text += "\nwould be sent\n";
    }
    for class in told.classes.iter().take(SHOWN) {
        let _ = writeln!(text, "{:>9}  {}", format_count(class.count), single_line(&class.digest));
    }
    text += &more_line(told.classes.len(), "class", "classes");
    if !told.left_out.is_empty() {
        text += "\nleft out\n";
    }
    for left in told.left_out.iter().take(SHOWN) {
        let _ = writeln!(text, "{:>9}  {}", format_count(left.count), single_line(&left.reason));
        if let Some((number, example)) = &left.example {
            let _ = writeln!(text, "{:>9}  line {number}: {}", "", single_line(example));
        }
    }
    text += &more_line(told.left_out.len(), "reason", "reasons");
    text
}

fn more_line(all: usize, one: &str, many: &str) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        rest => format!(
            "           and {} more (--format json)\n",
            format_plural(rest as u64, one, many)
        ),
    }
}

/// A text from a log on one line, cut, without what would steer a terminal.
fn single_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    if words.chars().count() <= CUT {
        return plain.collect();
    }
    plain.take(CUT - 2).chain("..".chars()).collect()
}

fn to_json(found: &LogSurvey) -> serde_json::Value {
    let told = &found.replayed;
    let class = |class: &ReplayedClass| {
        json!({
            "digest": class.digest,
            "example": class.example,
            "statements": class.count,
            "recorded_mean_s": (!class.recorded_ns.is_empty())
                .then(|| class.recorded_ns.mean_ns() / 1e9),
        })
    };
    let reason = |left: &crate::recorder::LeftOut| {
        let (line, example) = left.example.clone().unzip();
        json!({ "reason": left.reason, "records": left.count, "line": line, "example": example })
    };
    json!({
        "schema": "sweat-replay-dry-run-v1",
        "records": told.records,
        "sessions": told.sessions,
        "sessions_at_once": told.sessions_at_once,
        "workers": found.workers,
        "span_s": (told.span_us > 0).then(|| told.span_us as f64 / 1e6),
        "uncertainty_s": told.uncertainty_us as f64 / 1e6,
        "sent": told.sent,
        "classes": told.classes.iter().map(class).collect::<Vec<_>>(),
        "left_out": count_left_out(told),
        "left_out_why": told.left_out.iter().map(reason).collect::<Vec<_>>(),
        "notes": told.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::LeftOut;

    fn found() -> LogSurvey {
        let class = ReplayedClass {
            digest: "select ?\n from t".to_owned(),
            count: 1200,
            ..ReplayedClass::default()
        };
        let left = LeftOut {
            reason: "a write".to_owned(),
            count: 300,
            example: Some((7, "delete\x1b[2J from t".to_owned())),
        };
        let replayed = ReplayTotals {
            records: 1500,
            sessions: 1,
            sessions_at_once: 1,
            sent: 1200,
            span_us: 5_000_000,
            classes: vec![class; 31],
            left_out: vec![left],
            ..ReplayTotals::default()
        };
        LogSurvey { replayed, workers: 1 }
    }

    #[test]
    fn text_counts_by_class_and_by_reason_with_a_line() {
        let text = to_text(&found());
        assert!(
            text.starts_with(
                "1 500 records of 1 session, 1 at once: 1 200 statements would be sent, 300 left\n\
                 out (20.0 %)\n5.00 s by the log's clock\n"
            ),
            "{text}"
        );
        assert!(text.contains("    1 200  select ? from t\n"), "{text}");
        assert!(text.contains("and 1 class more (--format json)"), "{text}");
        assert!(
            text.contains("      300  a write\n           line 7: delete [2J from t\n"),
            "{text}"
        );
    }

    #[test]
    fn json_has_everything() {
        let value = to_json(&found());
        assert_eq!(value["classes"].as_array().unwrap().len(), 31);
        assert_eq!(value["left_out_why"][0]["line"], 7);
        assert_eq!(value["left_out"], 300);
        assert!(value["classes"][0]["recorded_mean_s"].is_null());
    }
}
