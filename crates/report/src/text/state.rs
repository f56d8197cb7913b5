//! Whether the numbers may be believed, in a line each: checks, steady state, stalls, noise, what differs.

use std::io::{self, Write};

use crate::analysis::number_format::{
    format_count, format_number, format_percent, format_plural, format_time,
};
use crate::analysis::{
    CheckFinding, CheckOutcome, DifferenceKind, FindingResults, HealthLevel, NoiseItem,
    RunFindings, SetupDifference, StallCause, StallFindings, SteadyState, SteadyVerdict,
    TrialFinding,
};

use super::{TerminalStyle, replace_controls, write_painted, write_paragraph};

/// Most loads that are told of one by one.
const MOST: usize = 4;

/// What had to hold.
pub(super) fn write_checks(
    findings: &RunFindings,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    for check in &findings.checks {
        let label = format!("{:<6} ", check.verdict.as_str());
        let painted = match check.verdict {
            CheckOutcome::Pass => label.clone(),
            _ => paint.bold(&label),
        };
        write_painted(out, &label, &painted, &describe_check(check))?;
    }
    Ok(())
}

/// What was asked, what was measured, and why it counts as it does.
pub(super) fn describe_check(check: &CheckFinding) -> String {
    let why = if check.why.is_empty() { String::new() } else { format!(" ({})", check.why) };
    format!("{}: {}{why}", check.text, check.value)
}

/// Steady state, stalls, noise, differences; with an empty line before the first.
pub(super) fn write_state(
    findings: &FindingResults,
    noise: &[NoiseItem],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut all = Vec::new();
    all.extend(steady_lines(findings).into_iter().map(|text| ("Steady    ", text)));
    all.extend(stall_lines(findings).into_iter().map(|text| ("Stalls    ", text)));
    all.extend(noise_line(noise).map(|text| ("Noise     ", text)));
    all.extend(differences_line(findings).map(|text| ("Differs   ", text)));
    if !all.is_empty() {
        writeln!(out)?;
    }
    let mut last = "";
    for (label, text) in all {
        let shown = if label == last { " ".repeat(label.len()) } else { label.to_owned() };
        write_paragraph(out, &shown, &text)?;
        last = label;
    }
    Ok(())
}

/// All steady loads in one line, then those that are not, the first few by name.
fn steady_lines(findings: &FindingResults) -> Vec<String> {
    let known: Vec<(&TrialFinding, &SteadyState)> =
        findings.trials.iter().filter_map(|t| Some((t, t.steady.as_ref()?))).collect();
    if let [(_, only)] = known[..] {
        return vec![describe_steady(only)];
    }
    let steady = known.iter().filter(|(_, s)| s.verdict.is_steady()).count();
    if !known.is_empty() && known.iter().all(|(_, s)| s.verdict == SteadyVerdict::TooShort) {
        return vec![format!("all {} loads are too short to tell", known.len())];
    }
    let mut lines = Vec::new();
    if !known.is_empty() {
        let t0 = known.iter().filter_map(|(_, s)| s.t0_s).fold(0.0, f64::max);
        let since = if steady > 0 {
            format!(", at the latest from {} on", format_time(t0))
        } else {
            String::new()
        };
        lines.push(format!(
            "{steady} of {}{since}",
            format_plural(known.len() as u64, "load", "loads")
        ));
    }
    let not = known.iter().filter(|(_, s)| !s.verdict.is_steady());
    lines.extend(not.clone().take(MOST).map(|(trial, s)| {
        let why = s.why.first().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{}: {}{why}", replace_controls(&trial.title), s.verdict.as_str())
    }));
    match not.count().saturating_sub(MOST) {
        0 => {}
        more => lines.push(format!("and {} more", format_count(more as u64))),
    }
    lines
}

fn describe_steady(steady: &SteadyState) -> String {
    let mut text = steady.verdict.as_str().to_owned();
    let t0 = steady.t0_s.filter(|_| steady.verdict.is_steady());
    if let Some(t0) = t0 {
        text += &format!(" from {} on", format_time(t0));
    }
    if let Some(length) = steady.length_s.filter(|_| t0.is_some()) {
        text += &format!(" ({} used)", format_time(length));
    }
    if let Some(level) = steady.level {
        let precision =
            steady.precision.map(|p| format!(" +-{}", format_percent(p))).unwrap_or_default();
        text += &format!(", {} events/s{precision}", format_number(level));
    }
    if let Some(drift) = steady.drift {
        text += &format!(", drift {:+.1} %", drift * 100.0);
    }
    for why in steady.why.iter().filter(|_| !steady.verdict.is_steady()) {
        text += &format!("; {why}");
    }
    text
}

/// Whether a load that never stood still would have shown it; the answer tells of those that did.
pub(super) fn describe_quiet(trial: &TrialFinding) -> Option<String> {
    let stalls = trial.stalls.as_ref().filter(|stalls| stalls.events.is_empty())?;
    Some(describe_no_stalls(&[stalls]))
}

/// What loads without a stall can say: the least of them speaks for all.
fn describe_no_stalls(all: &[&StallFindings]) -> String {
    let most = |of: fn(&StallFindings) -> Option<f64>| {
        let known: Option<Vec<f64>> = all.iter().map(|s| of(s)).collect();
        known.map(|all| all.into_iter().fold(0.0, f64::max))
    };
    match (most(|s| s.resolution_s), most(|s| s.full_stop_s)) {
        (Some(shortest), _) => format!("none of {} or more", format_time(shortest)),
        (None, Some(shortest)) => {
            format!("no full stop of {} or more; slow spells can't be seen", format_time(shortest))
        }
        (None, None) => "can't be told in such a short load".to_owned(),
    }
}

/// How often loads stood still, how much was lost, and what went with it.
fn stall_lines(findings: &FindingResults) -> Vec<String> {
    let all: Vec<&StallFindings> =
        findings.trials.iter().filter_map(|t| t.stalls.as_ref()).collect();
    let some: Vec<&StallFindings> = all.iter().filter(|s| !s.events.is_empty()).copied().collect();
    if all.is_empty() {
        return Vec::new();
    }
    if some.is_empty() {
        return vec![describe_no_stalls(&all)];
    }
    let events = || some.iter().flat_map(|s| &s.events);
    let seconds: f64 = events().map(|s| s.seconds).sum();
    let lost = some.iter().map(|s| s.lost_share).fold(0.0, f64::max);
    let number = format_plural(events().count() as u64, "stall", "stalls");
    let mut lines = vec![match (&all[..], &some[..]) {
        ([_], [only]) => {
            let period = only.period_s.map(|p| format!(", one each {}", format_time(p)));
            format!(
                "{number}, {} in all, {} of the work lost{}",
                format_time(seconds),
                format_percent(lost),
                period.unwrap_or_default()
            )
        }
        _ => format!(
            "{number} in {} of {} loads, {} in all, at most {} of a load's work lost",
            some.len(),
            all.len(),
            format_time(seconds),
            format_percent(lost)
        ),
    }];
    let mut causes: Vec<(&StallCause, u64)> = Vec::new();
    for cause in some.iter().filter_map(|s| s.causes.first()) {
        match causes.iter_mut().find(|(known, _)| known.id == cause.id) {
            Some((_, loads)) => *loads += 1,
            None => causes.push((cause, 1)),
        }
    }
    lines.extend(causes.iter().map(|(cause, loads)| {
        let of = match all.len() {
            1 => String::new(),
            _ => format!(" in {}, for instance", format_plural(*loads, "load", "loads")),
        };
        format!("[{}] {}{of} ({})", cause.id, cause.title, cause.evidence)
    }));
    lines
}

/// What was not quiet, notes apart; `quiet` if all was.
fn noise_line(noise: &[NoiseItem]) -> Option<String> {
    if noise.is_empty() {
        return None;
    }
    let loud: Vec<String> = noise
        .iter()
        .filter(|n| n.level >= HealthLevel::Warn)
        .map(|n| {
            let value = format!("{} {}", format_number(n.value), n.unit);
            let when = if n.when.is_empty() { String::new() } else { format!(" {}", n.when) };
            format!("{} {}{when} ({})", n.title, value.trim_end(), n.level.as_str())
        })
        .collect();
    Some(if loud.is_empty() { "the machine was quiet".to_owned() } else { loud.join("; ") })
}

/// What was asked to differ, then what was not.
fn differences_line(findings: &FindingResults) -> Option<String> {
    // Beside comparisons they stand already.
    if findings.differences.is_empty() || !findings.comparisons.is_empty() {
        return None;
    }
    let list = |intended: bool| -> Vec<String> {
        // How variants are warmed stands in the table of the variants.
        let told = |d: &&SetupDifference| {
            d.intended == intended && (!intended || d.kind == DifferenceKind::Setting)
        };
        let shown = findings.differences.iter().filter(told);
        shown.map(|d| format!("{} ({} -> {})", d.name, d.base, d.other)).collect()
    };
    let (asked, other) = (list(true), list(false));
    Some(match (asked.is_empty(), other.is_empty()) {
        (true, true) => return None,
        (_, true) => format!("{} only, as asked for", asked.join(", ")),
        (true, false) => format!("not asked for: {}", other.join(", ")),
        (false, false) => format!("{}; not asked for: {}", asked.join(", "), other.join(", ")),
    })
}
