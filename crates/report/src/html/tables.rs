//! Tables of the page.

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_counter, format_number, format_percent, format_ratio,
    number_or_dash,
};
use crate::analysis::{AuditVerdict, ClassFinding, FindingResults, RunFindings, TrialFinding};

use super::costs;
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

/// A table of rows whose cells have the names of their columns; nothing without rows.
pub(super) fn named_table(rows: &[Vec<(&str, String)>]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let head: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
    let cells = |row: &Vec<(&str, String)>| row.iter().map(|(_, cell)| cell.clone()).collect();
    number_table(&head, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// A table of words.
pub(super) fn text_table(head: &[&str], rows: &[Vec<String>]) -> String {
    number_table(head, rows).replace(" class=\"number\" align=\"right\"", "")
}

/// The variants against each other.
pub(super) fn variants_table(findings: &RunFindings) -> String {
    let rows: Vec<_> = findings
        .variants
        .iter()
        .map(|variant| {
            let trial = |t: Option<usize>| t.map(|t| &findings.results.trials[t]);
            let (first, second) = (trial(variant.first), trial(variant.second));
            let mebibytes = |b: Option<f64>| number_or_dash(b.map(|b| b / 1_048_576.0));
            vec![
                ("variant", variant.variant.clone()),
                ("warming, s", number_or_dash(variant.warm_s)),
                ("read, MiB", mebibytes(variant.warm_bytes)),
                ("first run, s", number_or_dash(first.map(|t| t.seconds))),
                ("page reads", format_reads(first)),
                ("read, MiB", mebibytes(first.and_then(|t| t.disk_bytes).map(|c| c.value))),
                (
                    "times faster",
                    variant.times_faster.value.map_or_else(|| UNKNOWN.to_owned(), format_ratio),
                ),
                ("warming + first, s", number_or_dash(variant.until_first_done_s)),
                ("second run, s", number_or_dash(second.map(|t| t.seconds))),
                ("page reads", format_reads(second)),
            ]
        })
        .collect();
    named_table(&rows)
}

fn format_reads(trial: Option<&TrialFinding>) -> String {
    let reads = trial.and_then(|t| t.disk_reads);
    reads.map_or_else(|| UNKNOWN.to_owned(), |c| format_count(c.value.round() as u64))
}

/// The name of a load, whose block and number stay together.
fn unbroken_name(name: &str) -> String {
    name.replace("block ", "block\u{a0}").replace("run ", "run\u{a0}")
}

/// All loads with response and service times, milliseconds.
pub(super) fn trials_table(findings: &FindingResults) -> String {
    // In a closed loop without think time events are due when they begin: both are equal.
    let differ = findings.trials.iter().any(|t| t.response != t.service);
    let mut rows = Vec::new();
    for trial in &findings.trials {
        let both = [("response", &trial.response), ("service", &trial.service)];
        for (what, latency) in both.into_iter().take(if differ { 2 } else { 1 }) {
            let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
            let first = what == "response";
            let only_first = |text: String| if first { text } else { String::new() };
            let mut row = vec![
                ("load", only_first(unbroken_name(&trial.title))),
                ("length, s", only_first(format_number(trial.seconds))),
                ("events", only_first(format_count(trial.events))),
                ("events/s", only_first(number_or_dash(trial.events_per_s.value))),
                ("failed", only_first(format_count(trial.failed))),
            ];
            if differ {
                let what = match trial.unbegun {
                    Some(_) if first => format!("{what}, at least"),
                    _ => what.to_owned(),
                };
                row.push(("time", what));
            }
            row.extend([
                ("mean, ms", ms(latency.mean_s)),
                ("min, ms", ms(latency.min_s)),
                ("p50, ms", ms(latency.p50_s)),
                ("p95, ms", ms(latency.p95_s)),
                ("p99, ms", ms(latency.p99_s)),
                ("p99.9, ms", ms(latency.p999_s)),
                ("max, ms", ms(latency.max_s)),
            ]);
            rows.push(row);
        }
    }
    named_table(&rows)
}

/// Loads that have a row or a column each; of more there is one per variant.
const FEW_LOADS: usize = 6;

/// Loads by name; many of them by variant.
fn grouped_loads(findings: &FindingResults) -> Vec<(String, Vec<&TrialFinding>)> {
    let mut groups: Vec<(String, Vec<&TrialFinding>)> = Vec::new();
    let by_variant = findings.trials.len() > FEW_LOADS;
    for trial in &findings.trials {
        let name = if by_variant { &trial.variant } else { &trial.title };
        match groups.iter_mut().find(|group| group.0 == *name) {
            Some(group) => group.1.push(trial),
            None => groups.push((name.clone(), vec![trial])),
        }
    }
    groups
}

/// The median of what these loads have.
fn median_of(trials: &[&TrialFinding], of: impl Fn(&TrialFinding) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = trials.iter().filter_map(|trial| of(trial)).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// `what`, and that it is a median where loads stand together.
fn grouped_title(what: &str, groups: &[(String, Vec<&TrialFinding>)]) -> String {
    match groups.iter().any(|group| group.1.len() > 1) {
        true => format!("{what}, median of the loads"),
        false => what.to_owned(),
    }
}

/// What the events did per second, as their workloads count it: queries, reads, writes.
pub(super) fn counts_table(findings: &FindingResults) -> String {
    let mut names: Vec<&str> = Vec::new();
    for count in findings.trials.iter().flat_map(|t| &t.counts) {
        if !names.contains(&count.name.as_str()) {
            names.push(&count.name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let groups = grouped_loads(findings);
    let title = grouped_title("per second", &groups);
    let mut head = vec![title.as_str(), "events"];
    head.extend(&names);
    let row = |(name, trials): &(String, Vec<&TrialFinding>)| {
        let mut row = vec![unbroken_name(name)];
        row.push(number_or_dash(median_of(trials, |t| t.events_per_s.value)));
        row.extend(names.iter().map(|name| {
            let of = |t: &TrialFinding| Some(t.counts.iter().find(|c| c.name == *name)?.per_s);
            let median = median_of(trials, of);
            median.map_or_else(|| number_or_dash(None), |value| format_counter(name, value))
        }));
        row
    };
    let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
    number_table(&head, &rows)
}

/// Costs per event, a row per cost, a column per load; of many loads one per variant, with the median of its loads.
pub(super) fn costs_table(findings: &FindingResults) -> String {
    let Some(first) = findings.trials.first() else { return String::new() };
    let groups = grouped_loads(findings);
    let title = grouped_title("per good event", &groups);
    let mut head = vec![title.as_str()];
    head.extend(groups.iter().map(|group| group.0.as_str()));
    let mut rows = Vec::new();
    for (place, item) in first.cost.iter().enumerate() {
        let of = |t: &TrialFinding| t.cost.get(place).and_then(|c| c.per_event);
        let values: Vec<Option<f64>> =
            groups.iter().map(|(_, trials)| median_of(trials, of)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let unit = if item.unit.is_empty() { String::new() } else { format!(", {}", item.unit) };
        let mut row = vec![format!("{}{unit}", item.title)];
        row.extend(values.into_iter().map(number_or_dash));
        rows.push(row);
    }
    number_table(&head, &rows)
}

/// Classes of events, if a load has more than one.
pub(super) fn classes_table(findings: &FindingResults) -> String {
    let many = findings.trials.iter();
    let many = many.filter(|trial| trial.classes.len() > 1 && trial.costs().is_empty());
    parts_table(findings, "class", "events", many.map(|trial| (trial, &trial.classes)))
}

/// Steps inside events, if some were timed.
pub(super) fn steps_table(findings: &FindingResults) -> String {
    let all = findings.trials.iter().map(|trial| (trial, &trial.steps));
    parts_table(findings, "step inside an event", "steps", all)
}

fn parts_table<'f>(
    findings: &FindingResults,
    what: &'static str,
    counted: &'static str,
    parts: impl Iterator<Item = (&'f TrialFinding, &'f Vec<ClassFinding>)>,
) -> String {
    let mut rows = Vec::new();
    for (trial, classes) in parts {
        for class in classes {
            let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
            rows.push(vec![
                (
                    what,
                    match findings.trials.len() {
                        1 => class.name.clone(),
                        _ => format!("{} \u{b7} {}", trial.title, class.name),
                    },
                ),
                (counted, format_count(class.response.events)),
                ("p50, ms", ms(class.response.p50_s)),
                ("p95, ms", ms(class.response.p95_s)),
                ("p99, ms", ms(class.response.p99_s)),
                ("max, ms", ms(class.response.max_s)),
                ("failed", format_count(class.failed.events)),
            ]);
        }
    }
    named_table(&rows)
}

/// What the workload's own rules say, if it has any.
pub(super) fn audit_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for trial in &findings.trials {
        for rule in trial.audit.iter().flat_map(|audit| &audit.rules) {
            let bound = |bound: Option<f64>| bound.map(format_number).unwrap_or_default();
            let name = match findings.trials.len() {
                1 => rule.label.clone(),
                _ => format!("{} \u{b7} {}", trial.title, rule.label),
            };
            let verdict = match rule.verdict {
                AuditVerdict::Holds => "OK",
                AuditVerdict::Broken => "NOT",
                AuditVerdict::TooFew => "too few samples",
            };
            rows.push(vec![
                ("rule", format!("{} {name}", rule.clause)),
                ("value", format!("{} {}", number_or_dash(rule.value), rule.unit)),
                ("at least", bound(rule.low)),
                ("at most", bound(rule.high)),
                ("samples", format_count(rule.samples)),
                ("needed", format_count(rule.samples_needed)),
                ("verdict", verdict.to_owned()),
            ]);
        }
    }
    named_table(&rows)
}

/// The rates that the workload has names for.
pub(super) fn rates_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for trial in &findings.trials {
        for rate in trial.audit.iter().flat_map(|audit| &audit.rates) {
            let name = match findings.trials.len() {
                1 => rate.name.clone(),
                _ => format!("{} \u{b7} {}", trial.title, rate.name),
            };
            rows.push(vec![
                ("rate", name),
                ("value", format_count(rate.value as u64)),
                ("of the most", rate.efficiency.map(format_percent).unwrap_or_default()),
                ("what", rate.help.clone()),
            ]);
        }
    }
    named_table(&rows)
}

/// What the workload itself measured, if anything.
pub(super) fn figures_tables(findings: &FindingResults) -> String {
    let mut out = String::new();
    for trial in &findings.trials {
        let Some(found) = &trial.figures else { continue };
        let rows = found.figures.iter().map(|figure| {
            let bound = |bound: Option<f64>| bound.map(format_number).unwrap_or_default();
            vec![
                ("figure", figure.name.clone()),
                ("median", format!("{} {}", number_or_dash(figure.value), figure.unit)),
                ("from", bound(figure.low)),
                ("to", bound(figure.high)),
                ("samples", format_count(figure.samples)),
                ("", figure.remark().to_owned()),
            ]
        });
        let table = costs::costs_table(&found.costs) + &named_table(&rows.collect::<Vec<_>>());
        let notes = found.notes.iter().map(|note| format!("<li>{}</li>", escape_html(note)));
        let (header, notes) = (escape_html(&found.header), notes.collect::<String>());
        let title = match findings.trials.len() {
            1 => "Figures".to_owned(),
            _ => escape_html(&format!("Figures \u{b7} {}", trial.title)),
        };
        out += &format!("<h3>{title}</h3><p>{header}</p>{table}");
        if !notes.is_empty() {
            out += &format!("<ul>{notes}</ul>");
        }
    }
    out
}

/// Errors by class and code.
pub(super) fn errors_table(findings: &FindingResults) -> String {
    let mut rows = Vec::new();
    for trial in &findings.trials {
        for error in &trial.errors {
            rows.push(vec![
                trial.title.clone(),
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
                ("step", run_plots::phase_name(findings, phase)),
                ("from, s", format_number(from.max(0.0))),
                ("to, s", format_number(to)),
                ("curve", super::plot_data::curve_label(curve)),
                ("points", format_count(values.len() as u64)),
                ("lowest", word(values[0])),
                ("median", word(values[(values.len() - 1) / 2])),
                ("highest", word(values[values.len() - 1])),
            ]);
        }
    }
    named_table(&rows)
}
