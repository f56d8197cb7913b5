//! The answer of a replay in sentences; the first stands alone.

use super::super::findings::{
    AnswerSentence, ComparisonVerdict, MetricComparison, ReplayChange, ReplayClassFinding,
    ReplayFinding,
};
use super::super::number_format::{
    format_count, format_number, format_percent, format_plural, format_time,
};
use super::super::sentences::answer_texts;

/// Characters of a digest in a sentence.
const DIGEST: usize = 60;

/// All sentences about the replays of a run.
pub(in super::super) fn replay_sentences(replays: &[ReplayFinding]) -> Vec<AnswerSentence> {
    let mut answer = Vec::new();
    for replay in replays {
        let name = if replays.len() > 1 { format!("{}: ", replay.variant) } else { String::new() };
        answer.push(replay_sentence(replay, &name));
        if replays.len() == 1 {
            answer.extend(most_slowed_sentence(replay));
        }
        answer.extend(schedule_sentence(replay, &name));
        if replays.len() == 1 {
            answer.extend(left_out_sentence(replay));
        }
    }
    answer
}

/// How many classes have this verdict.
fn count_with_verdict(classes: &[ReplayClassFinding], verdict: ComparisonVerdict) -> usize {
    classes.iter().filter(|c| c.change.as_ref().is_some_and(|c| c.verdict == verdict)).count()
}

/// `2 are slower, 1 faster, 5 the same, 12 unsure`.
fn verdict_tally(numbers: [usize; 4]) -> String {
    let words = ["slower", "faster", "the same", "unsure"];
    let parts = numbers.iter().zip(words).filter(|(number, _)| **number > 0);
    let parts: Vec<String> = parts.map(|(number, word)| format!("{number} {word}")).collect();
    parts.join(", ")
}

fn replay_sentence(replay: &ReplayFinding, name: &str) -> AnswerSentence {
    let records = format_plural(replay.records, "record", "records");
    if replay.sent == 0 {
        return answer_texts::REPLAY_NONE.to_sentence(&[("variant", &name), ("records", &records)]);
    }
    let classes = &replay.classes;
    let timed = classes.iter().filter(|class| class.change.is_some()).count();
    let sent = format!(
        "{} of {}",
        format_plural(replay.sent, "statement", "statements"),
        format_plural(replay.sessions, "session", "sessions")
    );
    let judged = [
        ComparisonVerdict::Worse,
        ComparisonVerdict::Better,
        ComparisonVerdict::Same,
        ComparisonVerdict::Unsure,
    ];
    let row = if timed > 0 { &answer_texts::REPLAY_VERDICT } else { &answer_texts::REPLAY_SENT };
    row.to_sentence(&[
        ("variant", &name),
        ("classes", &format_plural(timed as u64, "class", "classes")),
        ("tally", &verdict_tally(judged.map(|verdict| count_with_verdict(classes, verdict)))),
        ("sent", &sent),
        ("errors", &errors_text(replay)),
        ("rows", &rows_text(replay)),
    ])
}

fn errors_text(replay: &ReplayFinding) -> String {
    let [both, new, gone] = replay.errors;
    let mut text = match new {
        0 => "no new errors".to_owned(),
        new => {
            let of = replay.classes.iter().filter(|class| class.errors[1] > 0).count();
            let of = format_plural(of as u64, "class", "classes");
            format!("{} in {of}", format_plural(new, "new error", "new errors"))
        }
    };
    if both > 0 {
        text += &format!(", {} as recorded", format_count(both));
    }
    if gone > 0 {
        text += &format!(", {} gone", format_count(gone));
    }
    text
}

fn rows_text(replay: &ReplayFinding) -> String {
    match (replay.rows_compared, replay.rows_differing) {
        (0, _) => String::new(),
        (_, 0) => "; all gave as many rows as recorded".to_owned(),
        (all, other) => format!(
            "; {} of {} gave another number of rows",
            format_count(other),
            format_plural(all, "statement", "statements")
        ),
    }
}

/// A digest as far as it fits a sentence.
fn short_digest(digest: &str) -> String {
    let one_line = digest.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
    if one_line.chars().count() <= DIGEST {
        return one_line;
    }
    one_line.chars().take(DIGEST - 2).chain("..".chars()).collect()
}

/// `3.2x (95 % interval 2.9 .. 3.5x)`, or `+12 %`.
fn change_text(change: &MetricComparison) -> Option<String> {
    let ratio = change.ratio.value?;
    let many = !(0.5..=2.0).contains(&ratio);
    let one = |ratio: f64| match many {
        true => format_number(ratio),
        false => format!("{:+.1}", (ratio - 1.0) * 100.0),
    };
    let unit = if many { "x" } else { " %" };
    let interval = change.ratio.ci95.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {} .. {}{unit})", one(low), one(high))
    });
    Some(format!("{}{unit}{interval}", one(ratio)))
}

/// The class that lost most time by being slower.
fn most_slowed_sentence(replay: &ReplayFinding) -> Option<AnswerSentence> {
    let lost = |class: &ReplayClassFinding| {
        let more = class.replayed.mean_s? - class.recorded.mean_s?;
        Some(more * class.count as f64)
    };
    let is_worse = |class: &&ReplayClassFinding| {
        class.change.as_ref().is_some_and(|change| change.verdict == ComparisonVerdict::Worse)
    };
    let slowed = replay.classes.iter().filter(is_worse);
    let worst = slowed.max_by(|a, b| lost(a).unwrap_or(0.0).total_cmp(&lost(b).unwrap_or(0.0)))?;
    let times = |label: &str, of: fn(&super::super::findings::LatencySummary) -> Option<f64>| {
        let (before, after) = (of(&worst.recorded)?, of(&worst.replayed)?);
        Some(format!(", {label} {} -> {}", format_time(before), format_time(after)))
    };
    let times = times("p95", |l| l.p95_s).or_else(|| times("p50", |l| l.p50_s));
    Some(answer_texts::REPLAY_SLOWED.to_sentence(&[
        ("class", &short_digest(&worst.digest)),
        ("change", &change_text(worst.change.as_ref()?)?),
        ("times", &times.unwrap_or_default()),
    ]))
}

/// Whether it was on time.
fn schedule_sentence(replay: &ReplayFinding, name: &str) -> Option<AnswerSentence> {
    if replay.lag.events == 0 {
        return None;
    }
    let lag =
        |label: &str, value: Option<f64>| value.map(|v| format!("{label} {}", format_time(v)));
    let parts = [
        lag("p50", replay.lag.p50_s),
        lag("p99", replay.lag.p99_s),
        lag("longest", replay.lag.max_s),
    ];
    let lags = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let behind = replay.behind.as_ref();
    let row =
        if behind.is_some() { &answer_texts::REPLAY_BEHIND } else { &answer_texts::REPLAY_ON_TIME };
    Some(row.to_sentence(&[
        ("variant", &name),
        ("timing", &replay.timing),
        ("from", &format_time(behind.map_or(0.0, |b| b.from_s))),
        ("longest", &format_time(behind.map_or(0.0, |b| b.longest_s))),
        ("share", &format_percent(behind.map_or(0.0, |b| b.share))),
        ("lag", &lags),
    ]))
}

fn left_out_sentence(replay: &ReplayFinding) -> Option<AnswerSentence> {
    let most = replay.reasons.first().filter(|_| replay.left_out > 0)?;
    let share = replay.left_out as f64 / replay.records.max(1) as f64;
    Some(answer_texts::REPLAY_LEFT_OUT.to_sentence(&[
        ("left_out", &format_count(replay.left_out)),
        ("records", &format_plural(replay.records, "record", "records")),
        ("share", &format_percent(share)),
        ("reason", &most.reason),
        ("count", &format_count(most.count)),
    ]))
}

/// What came of classes in each variant, or in other runs, against the base.
pub(in super::super) fn change_sentences(changes: &[ReplayChange]) -> Vec<AnswerSentence> {
    let mut variants: Vec<(&str, &str)> = Vec::new();
    for one in changes {
        let pair = (one.change.variant.as_str(), one.change.base.as_str());
        if !variants.contains(&pair) {
            variants.push(pair);
        }
    }
    variants
        .into_iter()
        .map(|(variant, base)| {
            let own: Vec<&ReplayChange> =
                changes.iter().filter(|c| c.change.variant == variant).collect();
            let judged = [
                ComparisonVerdict::Worse,
                ComparisonVerdict::Better,
                ComparisonVerdict::Same,
                ComparisonVerdict::Unsure,
            ];
            let number = |verdict| own.iter().filter(|one| one.change.verdict == verdict).count();
            answer_texts::REPLAY_CHANGES.to_sentence(&[
                ("classes", &format_plural(own.len() as u64, "class", "classes")),
                ("variant", &variant),
                ("base", &base),
                ("tally", &verdict_tally(judged.map(number))),
            ])
        })
        .collect()
}
