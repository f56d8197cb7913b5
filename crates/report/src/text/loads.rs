//! Loads: a row each, or, where variants ran several times, a row per variant with its change against the base; errors.

use std::io::{self, Write};

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_plural, format_time,
    number_or_dash,
};
use crate::analysis::{
    ComparisonVerdict, FindingResults, LatencySummary, MetricComparison, TrialFinding,
};

use crate::analysis::statistics::robust::median_in_place;
use crate::archive::{ErrorRecord, RecordedErrorKind};

use super::table::TextTable;
use super::{WIDTH, replace_controls, write_paragraph};

/// Up to so many loads stand one by one even if variants ran several times.
const FEW: usize = 4;

/// A column: its head, the metric that comparisons name it by, its value and the factor to the unit shown.
type LoadColumn = (&'static str, &'static str, fn(&TrialFinding) -> Option<f64>, f64);

const COLUMNS: &[LoadColumn] = &[
    ("seconds", "", |t| Some(t.seconds), 1.0),
    ("events/s", "events_per_s", |t| t.events_per_s.value, 1.0),
    ("p50", "p50_s", |t| t.response.p50_s, 1e3),
    ("p95", "p95_s", |t| t.response.p95_s, 1e3),
    ("p99", "p99_s", |t| t.response.p99_s, 1e3),
    ("p99.9", "p999_s", |t| t.response.p999_s, 1e3),
    ("max", "max_s", |t| t.response.max_s, 1e3),
];

/// Loads of one variant and pass.
type VariantTrials<'a> = (String, Vec<&'a TrialFinding>);

fn group_trials(findings: &FindingResults) -> Vec<VariantTrials<'_>> {
    let passes = findings.trials.iter().map(|t| t.pass).max().unwrap_or(1);
    let mut groups: Vec<(String, u32, Vec<&TrialFinding>)> = Vec::new();
    for trial in &findings.trials {
        let same = groups
            .iter_mut()
            .find(|(variant, pass, _)| *variant == trial.variant && *pass == trial.pass);
        match same {
            Some((_, _, trials)) => trials.push(trial),
            None => groups.push((trial.variant.clone(), trial.pass, vec![trial])),
        }
    }
    let named = |(variant, pass, trials): (String, u32, Vec<_>)| match passes {
        1 => (variant, trials),
        _ => (format!("{variant} {pass}"), trials),
    };
    groups.into_iter().map(named).collect()
}

/// Rates and response times; latencies in milliseconds.
pub(super) fn write_loads(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let groups = group_trials(findings);
    let many = findings.trials.len() > FEW.max(groups.len());
    let corner = if many { "median, ms" } else { "response ms" };
    let mut head = vec![corner];
    head.extend(COLUMNS.iter().map(|c| c.0));
    head.push("err");
    let mut table = TextTable::new(&head);
    if !many {
        for trial in &findings.trials {
            table.add_row(trials_row(replace_controls(&trial.title), &[trial]));
        }
        table.write(WIDTH, out)?;
        write_stages(findings, out)?;
        write_classes(findings, out)?;
        write_steps(findings, out)?;
        return write_unbegun(findings, out);
    }
    for (variant, trials) in &groups {
        table.add_row(trials_row(
            format!("{} (x{})", replace_controls(variant), trials.len()),
            trials,
        ));
        let of = |metric: &str| {
            findings.comparisons.iter().find(|c| c.variant == *variant && c.metric == metric)
        };
        if let Some(any) = findings.comparisons.iter().find(|c| c.variant == *variant) {
            let mut cells = vec![format!("  vs {}", replace_controls(&any.base))];
            cells.extend(COLUMNS.iter().map(|c| of(c.1).map(change_or_tilde).unwrap_or_default()));
            cells.push(String::new());
            table.add_row(cells);
        }
    }
    table.write(WIDTH, out)?;
    write_unbegun(findings, out)
}

/// A name as it stands in a table of all loads.
fn row_name(findings: &FindingResults, trial: &TrialFinding, name: &str) -> String {
    match findings.trials.len() {
        1 => replace_controls(name),
        _ => format!("{}: {}", replace_controls(&trial.title), replace_controls(name)),
    }
}

/// Percentiles in milliseconds.
fn latency_cells(latency: &LatencySummary) -> [String; 4] {
    [latency.p50_s, latency.p95_s, latency.p99_s, latency.max_s]
        .map(|time| number_or_dash(time.map(|s| s * 1e3)))
}

/// What was offered and done in each stage of loads whose rate changes.
pub(super) fn write_stages(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let rows = findings.trials.iter().flat_map(|trial| {
        trial.stages.iter().map(move |stage| {
            let rates = [Some(stage.offered_per_s), stage.events_per_s].map(number_or_dash);
            let name = row_name(findings, trial, &stage.name);
            let cells = [name].into_iter().chain(rates).chain(latency_cells(&stage.response));
            cells.chain([format_count(stage.failed)]).collect()
        })
    });
    write_parts("stage, response ms", &["offered/s", "events/s"], rows.collect(), out)
}

/// Classes of events, where a load has more than one.
pub(super) fn write_classes(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let many = findings.trials.iter();
    let many = many.filter(|trial| trial.classes.len() > 1 && trial.costs().is_empty());
    let rows = many.flat_map(|trial| {
        trial.classes.iter().map(move |class| {
            let name = row_name(findings, trial, &class.name);
            let cells = [name, format_count(class.response.events)].into_iter();
            let cells = cells.chain(latency_cells(&class.response));
            cells.chain([format_count(class.failed.events)]).collect()
        })
    });
    write_parts("class, response ms", &["events"], rows.collect(), out)
}

/// Steps inside the events of each load. They are no events, so they have no rate.
pub(super) fn write_steps(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let rows = findings.trials.iter().flat_map(|trial| {
        trial.steps.iter().map(move |step| {
            let name = row_name(findings, trial, &step.name);
            let cells = [name, format_count(step.response.events)].into_iter();
            let cells = cells.chain(latency_cells(&step.response));
            cells.chain([format_count(step.failed.events)]).collect()
        })
    });
    write_parts("steps inside an event, ms", &["steps"], rows.collect(), out)
}

/// A table of parts of loads, if there are any.
fn write_parts(
    corner: &str,
    columns: &[&str],
    rows: Vec<Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let latencies = ["p50", "p95", "p99", "max", "err"];
    let mut table = TextTable::new(&[&[corner], columns, &latencies].concat());
    rows.into_iter().for_each(|row| table.add_row(row));
    writeln!(out)?;
    table.write(WIDTH, out)
}

/// What was due and never began, the most of it.
fn write_unbegun(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let left = |t: &TrialFinding| t.unbegun.map_or(0.0, |u| u.share);
    let worst = findings.trials.iter().max_by(|a, b| left(a).total_cmp(&left(b)));
    let Some((trial, unbegun)) = worst.and_then(|t| Some((t, t.unbegun?))) else { return Ok(()) };
    let place = if findings.trials.len() > 1 {
        format!(" in {}", replace_controls(&trial.title))
    } else {
        String::new()
    };
    let text = format!(
        "Never begun{place}: {} arrivals, {} of what was due; half of them had waited for {} or \
         more, the oldest for {}. A time after > is a lower bound: it counts them with the time \
         they waited.",
        format_count(unbegun.arrivals),
        format_percent(unbegun.share),
        format_time(unbegun.median_s),
        format_time(unbegun.oldest_s),
    );
    write_paragraph(out, "", &text)
}

fn trials_row(name: String, trials: &[&TrialFinding]) -> Vec<String> {
    let value = |column: &LoadColumn| {
        let mut values: Vec<f64> = trials.iter().filter_map(|t| column.2(t)).collect();
        median_in_place(&mut values).map(|v| v * column.3)
    };
    let mut cells = vec![name];
    let is_bound = |column: &LoadColumn| {
        let is_time = column.1.ends_with("_s") && column.1 != "events_per_s";
        let value = trials.iter().filter_map(|t| column.2(t)).reduce(f64::max);
        is_time && value.is_some_and(|value| trials.iter().any(|t| t.is_lower_bound(value)))
    };
    cells.extend(COLUMNS.iter().map(|column| match column.0 {
        "seconds" => value(column).map_or_else(|| UNKNOWN.to_owned(), format_number),
        _ if is_bound(column) => format!(">{}", number_or_dash(value(column))),
        _ => number_or_dash(value(column)),
    }));
    cells.push(format_count(trials.iter().map(|t| t.failed).sum()));
    cells
}

/// A change, or `~` where it is not told from noise or does not matter.
fn change_or_tilde(comparison: &MetricComparison) -> String {
    match (comparison.verdict, comparison.ratio.value) {
        (ComparisonVerdict::Better | ComparisonVerdict::Worse, Some(ratio)) => format_change(ratio),
        _ => "~".to_owned(),
    }
}

fn format_change(ratio: f64) -> String {
    format!("{:+.1}%", (ratio - 1.0) * 100.0)
}

/// Errors of one class and code, over all loads.
pub(super) struct ErrorTotal<'a> {
    pub(super) first: &'a ErrorRecord,
    pub(super) times: u64,
    loads: Vec<&'a str>,
}

/// Errors that agree in it are one kind.
fn error_key(error: &ErrorRecord) -> (&str, &RecordedErrorKind, u16) {
    (&error.class, &error.kind, error.code)
}

/// Those of the whole run, in the order they came.
pub(super) fn total_errors(findings: &FindingResults) -> Vec<ErrorTotal<'_>> {
    let mut all: Vec<ErrorTotal<'_>> = Vec::new();
    for trial in &findings.trials {
        for error in &trial.errors {
            match all.iter_mut().find(|known| error_key(known.first) == error_key(error)) {
                Some(known) => {
                    known.times += error.count;
                    known.loads.push(&trial.title);
                }
                None => all.push(ErrorTotal {
                    first: error,
                    times: error.count,
                    loads: vec![&trial.title],
                }),
            }
        }
    }
    all
}

/// How long sessions were away that were lost and opened again.
pub(super) fn write_outages(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let reopened = findings.trials.iter().filter(|trial| trial.longest_outage_s.is_some());
    let count: u64 = reopened.clone().map(|trial| trial.reconnects).sum();
    let longest = reopened.filter_map(|trial| trial.longest_outage_s).fold(0.0, f64::max);
    if longest == 0.0 {
        return Ok(());
    }
    let opened = format_plural(count, "session was", "sessions were");
    let text = format!(
        "{opened} opened again; the longest was without a server for {}",
        format_time(longest)
    );
    write_paragraph(out, "Lost     ", &text)
}

/// Errors by class and code.
pub(super) fn write_errors(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let all = total_errors(findings);
    if !all.is_empty() {
        writeln!(out)?;
    }
    for ErrorTotal { first, times, loads } in all {
        let of = match loads[..] {
            [only] => format!("of {only}"),
            _ => format!("in {} loads", loads.len()),
        };
        let text = format!(
            "{} {} {} in class {} {of}: {}",
            format_plural(times, "time", "times"),
            first.kind,
            first.code,
            first.class,
            first.first_text
        );
        write_paragraph(out, "Error  ", &text)?;
    }
    write_outages(findings, out)
}
