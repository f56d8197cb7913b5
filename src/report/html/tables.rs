//! Tables of the page.

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_ratio, number_or_dash,
};
use crate::analysis::{FindingResults, RunFindings, TrialFinding};

use super::escape::{escape_html, unbroken_numbers};
use super::plot::Plot;
use super::run_plots;

/// A table: the first column names the row, the others hold numbers.
pub(super) fn number_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (place, cell) in head.iter().enumerate() {
        let class = if place == 0 { "" } else { " class=\"number\" align=\"right\"" };
        out += &format!("<th scope=\"col\"{class}>{}</th>", escape_html(cell));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let cell = unbroken_numbers(&escape_html(cell));
            out += &match place {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ => format!("<td class=\"number\" align=\"right\">{cell}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// A table of words.
pub(super) fn text_table(head: &[&str], rows: &[Vec<String>]) -> String {
    number_table(head, rows).replace(" class=\"number\" align=\"right\"", "")
}

/// The variants against each other.
pub(super) fn variants_table(findings: &RunFindings) -> String {
    let rows: Vec<Vec<String>> = findings
        .variants
        .iter()
        .map(|variant| {
            let trial = |t: Option<usize>| t.map(|t| &findings.results.trials[t]);
            let (first, second) = (trial(variant.first), trial(variant.second));
            let mebibytes = |b: Option<f64>| number_or_dash(b.map(|b| b / 1_048_576.0));
            vec![
                variant.variant.clone(),
                number_or_dash(variant.warm_s),
                mebibytes(variant.warm_bytes),
                number_or_dash(first.map(|t| t.seconds)),
                format_reads(first),
                mebibytes(first.and_then(|t| t.disk_bytes).map(|c| c.value)),
                variant.times_faster.value.map_or_else(|| UNKNOWN.to_owned(), format_ratio),
                number_or_dash(variant.until_first_done_s),
                number_or_dash(second.map(|t| t.seconds)),
                format_reads(second),
            ]
        })
        .collect();
    let head = [
        "variant",
        "warming, s",
        "read, MiB",
        "first run, s",
        "page reads",
        "read, MiB",
        "times faster",
        "warming + first, s",
        "second run, s",
        "page reads",
    ];
    number_table(&head, &rows)
}

fn format_reads(trial: Option<&TrialFinding>) -> String {
    let reads = trial.and_then(|t| t.disk_reads);
    reads.map_or_else(|| UNKNOWN.to_owned(), |c| format_count(c.value.round() as u64))
}

/// All loads with response and service times, milliseconds.
pub(super) fn trials_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for (place, trial) in findings.trials.iter().enumerate() {
        let name = run_plots::trial_name(findings, place);
        // In a closed loop without think time events are due when they begin: the rows are equal.
        let both = [("response", &trial.response), ("service", &trial.service)];
        let differ = trial.response != trial.service;
        for (what, latency) in both.into_iter().take(if differ { 2 } else { 1 }) {
            let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
            let first = what == "response";
            let only_first = |text: String| if first { text } else { String::new() };
            rows.push(vec![
                if first { name.clone() } else { String::new() },
                only_first(format_number(trial.seconds)),
                only_first(format_count(trial.events)),
                only_first(number_or_dash(trial.events_per_s.value)),
                only_first(format_count(trial.failed)),
                match trial.unbegun {
                    Some(_) if first => format!("{what}, at least"),
                    _ => what.to_owned(),
                },
                ms(latency.mean_s),
                ms(latency.p50_s),
                ms(latency.p95_s),
                ms(latency.p99_s),
                ms(latency.p999_s),
                ms(latency.max_s),
            ]);
        }
    }
    let head = [
        "load", "seconds", "events", "events/s", "failed", "ms", "mean", "p50", "p95", "p99",
        "p99.9", "max",
    ];
    number_table(&head, &rows)
}

/// Costs per event, a row per cost, a column per load.
pub(super) fn costs_table(findings: &FindingResults) -> String {
    let Some(first) = findings.trials.first() else {
        return String::new();
    };
    let names: Vec<String> =
        (0..findings.trials.len()).map(|t| run_plots::trial_name(findings, t)).collect();
    let mut head = vec!["per good event"];
    head.extend(names.iter().map(String::as_str));
    let mut rows = Vec::new();
    for (place, item) in first.cost.iter().enumerate() {
        let of = |t: &TrialFinding| t.cost.get(place).and_then(|c| c.per_event);
        if findings.trials.iter().all(|t| of(t).is_none()) {
            continue;
        }
        let unit = if item.unit.is_empty() { String::new() } else { format!(", {}", item.unit) };
        let mut row = vec![format!("{}{unit}", item.title)];
        row.extend(findings.trials.iter().map(|t| number_or_dash(of(t))));
        rows.push(row);
    }
    number_table(&head, &rows)
}

/// Classes of events, if a load has more than one.
pub(super) fn classes_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for (place, trial) in findings.trials.iter().enumerate().filter(|(_, t)| t.classes.len() > 1) {
        for class in &trial.classes {
            let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
            rows.push(vec![
                format!("{} \u{b7} {}", run_plots::trial_name(findings, place), class.name),
                format_count(class.response.events),
                ms(class.response.p50_s),
                ms(class.response.p95_s),
                ms(class.response.p99_s),
                ms(class.response.max_s),
                format_count(class.failed.events),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    number_table(
        &["load \u{b7} class", "events", "p50 ms", "p95 ms", "p99 ms", "max ms", "failed"],
        &rows,
    )
}

/// Errors by class and code.
pub(super) fn errors_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for (place, trial) in findings.trials.iter().enumerate() {
        for error in &trial.errors {
            rows.push(vec![
                run_plots::trial_name(findings, place),
                error.class.clone(),
                format!("{} {}", error.kind, error.code),
                format_count(error.count),
                format_percent(error.count as f64 / (trial.events + trial.failed).max(1) as f64),
                error.first_text.clone(),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    text_table(&["load", "class", "error", "times", "share", "first text"], &rows)
}

/// What a plot shows, by step: lowest, middle, highest point of each curve.
pub(super) fn plot_table(findings: &RunFindings, plot: &Plot) -> String {
    let began = findings.timeline.began_s;
    let mut rows = Vec::new();
    for phase in findings.timeline.phases.iter().filter(|p| p.ended_s > began) {
        let (from, to) = (phase.began_s - began, phase.ended_s - began);
        for curve in &plot.curves {
            let inside = curve.points.iter().filter(|(at, _)| *at > from && *at <= to);
            let mut values: Vec<f64> = inside.filter_map(|p| p.1).collect();
            if values.is_empty() {
                continue;
            }
            values.sort_by(f64::total_cmp);
            let word = |value: f64| super::format_value(value, plot.measure);
            rows.push(vec![
                run_plots::phase_name(findings, phase),
                format_number(from.max(0.0)),
                format_number(to),
                curve.name.clone(),
                format_count(values.len() as u64),
                word(values[0]),
                word(values[(values.len() - 1) / 2]),
                word(values[values.len() - 1]),
            ]);
        }
    }
    number_table(
        &["step", "from s", "to s", "curve", "points", "lowest", "median", "highest"],
        &rows,
    )
}
