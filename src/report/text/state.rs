//! Whether the numbers may be believed, in a line each: checks, steady state, stalls, noise, what differs.

use std::io::{self, Write};

use crate::analysis::figure::{count, figure, percent, plural, time};
use crate::analysis::{Cause, Difference, Findings, Stalls, Steady, SteadyVerdict, TrialFinding};

use super::loads::name;
use super::{Paint, paragraph};

/// Most loads that are told of one by one.
const MOST: usize = 4;

/// What had to hold.
pub(super) fn checks(findings: &Findings, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    for check in &findings.checks {
        let label = format!("{:<6} ", check.verdict);
        let painted = match check.verdict {
            "pass" => label.clone(),
            _ => paint.bold(&label),
        };
        let why = if check.why.is_empty() { String::new() } else { format!(" ({})", check.why) };
        let text = format!("{}: {}{why}", check.text, check.value);
        paragraph(out, &label, &painted, &text)?;
    }
    Ok(())
}

/// Steady state, stalls, noise, differences; with an empty line before the first.
pub(super) fn lines(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let mut all = Vec::new();
    all.extend(steady(findings).into_iter().map(|text| ("Steady    ", text)));
    all.extend(stalls(findings).into_iter().map(|text| ("Stalls    ", text)));
    all.extend(noise(findings).map(|text| ("Noise     ", text)));
    all.extend(differs(findings).map(|text| ("Differs   ", text)));
    if !all.is_empty() {
        writeln!(out)?;
    }
    let mut last = "";
    for (label, text) in all {
        let shown = if label == last { " ".repeat(label.len()) } else { label.to_owned() };
        paragraph(out, &shown, &shown, &text)?;
        last = label;
    }
    Ok(())
}

/// All steady loads in one line, then those that are not, the first few by name.
fn steady(findings: &Findings) -> Vec<String> {
    let known: Vec<(&TrialFinding, &Steady)> =
        findings.trials.iter().filter_map(|t| Some((t, t.steady.as_ref()?))).collect();
    if let [(_, only)] = known[..] {
        return vec![of_one(only)];
    }
    let steady = known.iter().filter(|(_, s)| s.verdict.is_steady()).count();
    if !known.is_empty() && known.iter().all(|(_, s)| s.verdict == SteadyVerdict::TooShort) {
        return vec![format!("all {} loads are too short to tell", known.len())];
    }
    let mut lines = Vec::new();
    if !known.is_empty() {
        let t0 = known.iter().filter_map(|(_, s)| s.t0_s).fold(0.0, f64::max);
        let since = if steady > 0 {
            format!(", at the latest from {} on", time(t0))
        } else {
            String::new()
        };
        lines.push(format!("{steady} of {}{since}", plural(known.len() as u64, "load", "loads")));
    }
    let not = known.iter().filter(|(_, s)| !s.verdict.is_steady());
    lines.extend(not.clone().take(MOST).map(|(trial, s)| {
        let why = s.why.first().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{}: {}{why}", name(trial), s.verdict.words())
    }));
    match not.count().saturating_sub(MOST) {
        0 => {}
        more => lines.push(format!("and {} more", count(more as u64))),
    }
    lines
}

fn of_one(steady: &Steady) -> String {
    let mut text = steady.verdict.words().to_owned();
    let t0 = steady.t0_s.filter(|_| steady.verdict.is_steady());
    if let Some(t0) = t0 {
        text += &format!(" from {} on", time(t0));
    }
    if let Some(length) = steady.length_s.filter(|_| t0.is_some()) {
        text += &format!(" ({} used)", time(length));
    }
    if let Some(level) = steady.level {
        let precision = steady.precision.map(|p| format!(" +-{}", percent(p))).unwrap_or_default();
        text += &format!(", {} events/s{precision}", figure(level));
    }
    if let Some(drift) = steady.drift {
        text += &format!(", drift {:+.1} %", drift * 100.0);
    }
    for why in steady.why.iter().filter(|_| !steady.verdict.is_steady()) {
        text += &format!("; {why}");
    }
    text
}

/// What loads without a stall can say: the least of them speaks for all.
fn none_seen(all: &[&Stalls]) -> String {
    let most = |of: fn(&Stalls) -> Option<f64>| {
        let known: Option<Vec<f64>> = all.iter().map(|s| of(s)).collect();
        known.map(|all| all.into_iter().fold(0.0, f64::max))
    };
    match (most(|s| s.resolution_s), most(|s| s.full_stop_s)) {
        (Some(shortest), _) => format!("none of {} or more", time(shortest)),
        (None, Some(shortest)) => {
            format!("no full stop of {} or more; slow spells can't be told", time(shortest))
        }
        (None, None) => "can't be told in so short a load".to_owned(),
    }
}

/// How often loads stood still, how much was lost, and what went with it.
fn stalls(findings: &Findings) -> Vec<String> {
    let all: Vec<&Stalls> = findings.trials.iter().filter_map(|t| t.stalls.as_ref()).collect();
    let some: Vec<&Stalls> = all.iter().filter(|s| !s.events.is_empty()).copied().collect();
    if all.is_empty() {
        return Vec::new();
    }
    if some.is_empty() {
        return vec![none_seen(&all)];
    }
    let events = || some.iter().flat_map(|s| &s.events);
    let seconds: f64 = events().map(|s| s.seconds).sum();
    let lost = some.iter().map(|s| s.lost_share).fold(0.0, f64::max);
    let number = plural(events().count() as u64, "stall", "stalls");
    let mut lines = vec![match (&all[..], &some[..]) {
        ([_], [only]) => {
            let period = only.period_s.map(|p| format!(", one each {}", time(p)));
            format!(
                "{number}, {} in all, {} of the work lost{}",
                time(seconds),
                percent(lost),
                period.unwrap_or_default()
            )
        }
        _ => format!(
            "{number} in {} of {} loads, {} in all, at most {} of a load's work lost",
            some.len(),
            all.len(),
            time(seconds),
            percent(lost)
        ),
    }];
    let mut causes: Vec<(&Cause, u64)> = Vec::new();
    for cause in some.iter().filter_map(|s| s.causes.first()) {
        match causes.iter_mut().find(|(known, _)| known.id == cause.id) {
            Some((_, loads)) => *loads += 1,
            None => causes.push((cause, 1)),
        }
    }
    lines.extend(causes.iter().map(|(cause, loads)| {
        let of = match all.len() {
            1 => String::new(),
            _ => format!(" in {}, for instance", plural(*loads, "load", "loads")),
        };
        format!("[{}] {}{of} ({})", cause.id, cause.title, cause.evidence)
    }));
    lines
}

/// What was not quiet, notes apart; `quiet` if all was.
fn noise(findings: &Findings) -> Option<String> {
    if findings.noise.is_empty() {
        return None;
    }
    let loud: Vec<String> = findings
        .noise
        .iter()
        .filter(|n| !matches!(n.level, "ok" | "note"))
        .map(|n| {
            let value = format!("{} {}", figure(n.value), n.unit);
            let when = if n.when.is_empty() { String::new() } else { format!(" {}", n.when) };
            format!("{} {}{when} ({})", n.title, value.trim_end(), n.level)
        })
        .collect();
    Some(if loud.is_empty() { "the machine was quiet".to_owned() } else { loud.join("; ") })
}

/// What was asked to differ, then what was not.
fn differs(findings: &Findings) -> Option<String> {
    // Beside comparisons they stand already.
    if findings.differences.is_empty() || !findings.comparisons.is_empty() {
        return None;
    }
    let list = |intended: bool| -> Vec<String> {
        // How ways are warmed stands in the table of the ways.
        let told = |d: &&Difference| d.intended == intended && (!intended || d.kind == "setting");
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
