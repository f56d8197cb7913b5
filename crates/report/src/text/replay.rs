//! A replay: its classes before and after, its schedule, its new errors, what was left out.

use std::io::{self, Write};

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_plural, format_time,
    number_or_dash,
};
use crate::analysis::{
    ComparisonVerdict, LatencySummary, MetricComparison, ReplayChange, ReplayClassFinding,
    ReplayFinding, RunFindings,
};

use super::table::{TextTable, truncate_text};
use super::{WIDTH, replace_controls, write_paragraph};

/// Classes that are always shown, those that took most time.
const FIRST: usize = 10;
/// Classes shown at most: behind the first only those with something to tell.
const MOST: usize = 25;
/// Reasons shown.
const REASONS: usize = 12;
/// Edges of the histogram of lags here, seconds.
const COARSE: &[f64] = &[0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0];
/// Characters of a statement in a table.
const STATEMENT: usize = 40;
/// Characters of a bar.
const BAR: f64 = 30.0;

pub(super) fn write_replays(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    write_changes(&findings.results.replay_changes, out)?;
    for replay in &findings.replays {
        let tells = replay.errors[1] > 0 || !replay.reasons.is_empty() || !replay.notes.is_empty();
        if findings.replays.len() > 1 && (tells || findings.results.replay_changes.is_empty()) {
            writeln!(out, "\nReplay `{}`", replace_controls(&replay.variant))?;
        }
        if findings.results.replay_changes.is_empty() {
            write_classes(replay, out)?;
            write_lag_histogram(replay, out)?;
        } else {
            write_failing_classes(replay, out)?;
        }
        write_left_out(replay, out)?;
        for note in &replay.notes {
            write_paragraph(out, "replay    ", note)?;
        }
    }
    Ok(())
}

/// Whether a class has something to tell beyond its times.
fn is_notable(class: &ReplayClassFinding) -> bool {
    let is_worse = class.change.as_ref().is_some_and(|c| c.verdict == ComparisonVerdict::Worse);
    is_worse || class.errors[1] > 0 || class.rows_differing > 0
}

fn write_classes(replay: &ReplayFinding, out: &mut dyn Write) -> io::Result<()> {
    let numbered = replay.classes.iter().enumerate();
    let shown = numbered.filter(|(place, class)| *place < FIRST || is_notable(class)).take(MOST);
    let shown: Vec<(usize, &ReplayClassFinding)> = shown.collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = class_table("sent");
    for (place, class) in &shown {
        let change = class.change.as_ref();
        let cells = latency_cells(&class.recorded, &class.replayed, change);
        let number = format!("#{}", place + 1);
        table.add_row([number, format_count(class.count)].into_iter().chain(cells).collect());
    }
    table.write(WIDTH, out)?;
    for (place, class) in &shown {
        let label = format!("#{:<8} ", place + 1);
        write_paragraph(out, &label, &describe_class(class))?;
    }
    let more = replay.classes.len() - shown.len();
    if more > 0 {
        writeln!(
            out,
            "{} more, in the page and in JSON",
            format_plural(more as u64, "class", "classes")
        )?;
    }
    Ok(())
}

/// The classes that tell most, a line each.
pub(super) fn write_replay_table(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    write_changes_table(&findings.results.replay_changes, out)?;
    if !findings.results.replay_changes.is_empty() {
        return Ok(());
    }
    for replay in &findings.replays {
        let row = |class: &ReplayClassFinding| {
            let [_, new, _] = class.errors;
            class_row(
                &class.digest,
                (class.count, new),
                (&class.recorded, &class.replayed),
                class.change.as_ref(),
            )
        };
        let mut shown: Vec<&ReplayClassFinding> = replay.classes.iter().collect();
        shown.sort_by_key(|class| !is_notable(class));
        write_short_classes(shown.into_iter().map(row).collect(), out)?;
    }
    Ok(())
}

/// The same for classes in one variant, or run, against those in the base.
pub(super) fn write_changes_table(all: &[ReplayChange], out: &mut dyn Write) -> io::Result<()> {
    let row = |one: &ReplayChange| {
        let new = one.errors_new.1.saturating_sub(one.errors_new.0);
        let counts = (one.variant.events, new);
        class_row(&one.digest, counts, (&one.base, &one.variant), Some(&one.change))
    };
    write_short_classes(all.iter().map(row).collect(), out)
}

/// A statement, how often it was sent and failed anew, its median and p95 before and now, the verdict.
fn class_row(
    digest: &str,
    (sent, new_errors): (u64, u64),
    (before, now): (&LatencySummary, &LatencySummary),
    change: Option<&MetricComparison>,
) -> Vec<String> {
    let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
    let ratio = change.and_then(|c| c.ratio.value);
    let verdict = match (new_errors, change) {
        (0, change) => change.map_or(UNKNOWN, |c| c.verdict.as_str()).to_owned(),
        (new, _) => format_plural(new, "new error", "new errors"),
    };
    vec![
        truncate_text(digest, STATEMENT),
        format_count(sent),
        ms(before.p50_s),
        ms(now.p50_s),
        ratio.map_or_else(|| UNKNOWN.to_owned(), format_change),
        verdict,
    ]
}

fn write_short_classes(rows: Vec<Vec<String>>, out: &mut dyn Write) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let head = ["statement, ms", "sent", "p50", "now", "change", "verdict"];
    let mut table = TextTable::new(&head).align_left("verdict");
    rows.into_iter().for_each(|row| table.add_row(row));
    table.write(WIDTH, out)
}

/// A row is a class: a number, a count, three percentiles twice, the change, the verdict.
fn class_table(second: &str) -> TextTable {
    TextTable::new(&["ms", second, "p50", "now", "p95", "now", "p99", "now", "change", "verdict"])
        .align_left("verdict")
}

fn latency_cells(
    before: &LatencySummary,
    after: &LatencySummary,
    change: Option<&MetricComparison>,
) -> impl Iterator<Item = String> {
    let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
    let of =
        [(before.p50_s, after.p50_s), (before.p95_s, after.p95_s), (before.p99_s, after.p99_s)];
    let ratio = change.and_then(|c| c.ratio.value);
    let verdict = change.map_or(UNKNOWN, |c| c.verdict.as_str());
    of.into_iter()
        .flat_map(move |(before, after)| [ms(before), ms(after)])
        .chain([ratio.map_or_else(|| UNKNOWN.to_owned(), format_change), verdict.to_owned()])
}

/// `+12 %`, or `3.0x` where a percentage reads badly.
fn format_change(ratio: f64) -> String {
    match ratio {
        ratio if (0.995..1.005).contains(&ratio) => "0 %".to_owned(),
        ratio if (0.5..2.0).contains(&ratio) => format!("{:+.0} %", (ratio - 1.0) * 100.0),
        ratio => format!("{}x", format_number(ratio)),
    }
}

/// Statement, errors, rows, and what limits the verdict.
fn describe_class(class: &ReplayClassFinding) -> String {
    let mut parts = vec![truncate_text(&class.digest, 300)];
    parts.extend(describe_errors(class));
    if class.rows_differing > 0 {
        let of = format_count(class.rows_compared);
        parts.push(format!(
            "{} of {of} gave another number of rows",
            format_count(class.rows_differing)
        ));
    }
    parts.extend(class.change.iter().flat_map(|change| &change.notes).cloned());
    parts.join(" - ")
}

fn describe_errors(class: &ReplayClassFinding) -> Option<String> {
    let [both, new, gone] = class.errors;
    let mut parts = Vec::new();
    if new > 0 {
        let first = class.first_error.as_ref();
        let first = first.map_or_else(String::new, |(code, text)| format!(": {code} {text}"));
        parts.push(format!("{}{first}", format_plural(new, "new error", "new errors")));
    }
    if both > 0 {
        parts.push(format!("{} as recorded", format_plural(both, "error", "errors")));
    }
    if gone > 0 {
        parts.push(format!("{} gone", format_plural(gone, "error", "errors")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Classes with new errors, where the table is about variants.
fn write_failing_classes(replay: &ReplayFinding, out: &mut dyn Write) -> io::Result<()> {
    for class in replay.classes.iter().filter(|class| class.errors[1] > 0).take(MOST) {
        let text = format!(
            "{}: {}",
            truncate_text(&class.digest, 120),
            describe_errors(class).unwrap_or_default()
        );
        write_paragraph(out, "new       ", &text)?;
    }
    Ok(())
}

/// How far behind its schedule statements began, as a histogram.
fn write_lag_histogram(replay: &ReplayFinding, out: &mut dyn Write) -> io::Result<()> {
    if replay.lag_bins.is_empty() {
        return Ok(());
    }
    let mut bins: Vec<(Option<f64>, u64)> = Vec::new();
    for (edge, number) in &replay.lag_bins {
        let coarse = edge.and_then(|edge| COARSE.iter().copied().find(|c| edge <= *c));
        match bins.last_mut().filter(|last| last.0 == coarse) {
            Some(last) => last.1 += number,
            None => bins.push((coarse, *number)),
        }
    }
    writeln!(out)?;
    let mut table =
        TextTable::new(&["lag behind the schedule", "statements", "share", ""]).align_left("");
    let mut from = None;
    for (edge, number) in &bins {
        let share = *number as f64 / replay.lag.events.max(1) as f64;
        let label = match (from, edge) {
            (None, Some(edge)) => format!("up to {}", format_time(*edge)),
            (Some(_), Some(edge)) => format!("      {}", format_time(*edge)),
            (Some(from), None) => format!("beyond {}", format_time(from)),
            (None, None) => "all".to_owned(),
        };
        let bar = "#".repeat((share * BAR).ceil() as usize);
        table.add_row(vec![label, format_count(*number), format_percent(share), bar]);
        from = *edge;
    }
    table.write(WIDTH, out)
}

fn write_left_out(replay: &ReplayFinding, out: &mut dyn Write) -> io::Result<()> {
    if replay.reasons.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for reason in replay.reasons.iter().take(REASONS) {
        let example = reason.example.as_ref().map_or_else(String::new, |(line, text)| {
            format!(" - line {line}: {}", truncate_text(text, 100))
        });
        let label = format!("left out  {:>9}  ", format_count(reason.count));
        write_paragraph(out, &label, &format!("{}{example}", reason.reason))?;
    }
    let more = replay.reasons.iter().skip(REASONS);
    let (reasons, records) = more.fold((0, 0), |(n, sum), one| (n + 1, sum + one.count));
    if reasons > 0 {
        let reasons = format_plural(reasons, "reason", "reasons");
        writeln!(out, "left out  {:>9}  for {reasons} more", format_count(records))?;
    }
    Ok(())
}

/// Classes in one variant, or run, against those in the base.
pub(super) fn write_changes(all: &[ReplayChange], out: &mut dyn Write) -> io::Result<()> {
    let mut variants: Vec<(&str, &str)> = Vec::new();
    for one in all {
        let pair = (one.change.variant.as_str(), one.change.base.as_str());
        if !variants.contains(&pair) {
            variants.push(pair);
        }
    }
    for (variant, base) in variants {
        writeln!(
            out,
            "\nClasses with {} against {}",
            replace_controls(variant),
            replace_controls(base)
        )?;
        let own = all.iter().filter(|one| one.change.variant == variant).enumerate();
        let is_told = |one: &ReplayChange| {
            matches!(one.change.verdict, ComparisonVerdict::Worse | ComparisonVerdict::Better) || {
                one.errors_new.1 > one.errors_new.0
            }
        };
        let shown: Vec<(usize, &ReplayChange)> =
            own.filter(|(place, one)| *place < FIRST || is_told(one)).take(MOST).collect();
        let mut table = class_table("sent");
        for (place, one) in &shown {
            let cells = latency_cells(&one.base, &one.variant, Some(&one.change));
            let number = format!("#{}", place + 1);
            table.add_row(
                [number, format_count(one.variant.events)].into_iter().chain(cells).collect(),
            );
        }
        table.write(WIDTH, out)?;
        for (place, one) in &shown {
            let label = format!("#{:<8} ", place + 1);
            let mut parts = vec![truncate_text(&one.digest, 300)];
            if one.errors_new != (0, 0) {
                let (base, variant) = one.errors_new;
                parts.push(format!(
                    "new errors {}, in the base {}",
                    format_count(variant),
                    format_count(base)
                ));
            }
            parts.extend(one.change.notes.iter().cloned());
            write_paragraph(out, &label, &parts.join(" - "))?;
        }
    }
    Ok(())
}
