//! What events cost the server: in a line for all, in a table by class, and the statements behind it.

use std::io::{self, Write};

use super::table::{TextTable, truncate_text};
use super::{WIDTH, replace_controls, write_paragraph};
use crate::analysis::number_format::{
    format_bytes, format_count, format_number, format_time, number_or_dash,
};
use crate::analysis::{
    ClassCostFinding, ClassCostItem, ClassCostMethod, DigestFinding, FindingResults, RunFindings,
    ServerCostFinding, ServerCostItem,
};

/// Columns of the table by class, the most telling first: id, head, factor to the unit shown.
const COLUMNS: &[(&str, &str, f64)] = &[
    ("statements", "statements", 1.0),
    ("rows_read", "rows read", 1.0),
    ("rows_written", "written", 1.0),
    ("server_cpu_us", "CPU µs", 1.0),
    ("row_lock_wait_us", "lock ms", 1e-3),
    ("connections", "connects", 1.0),
    ("page_reads", "page reads", 1.0),
    ("disk_tables", "disk tables", 1.0),
    ("redo_bytes", "redo B", 1.0),
    ("fsyncs", "fsyncs", 1.0),
];
/// Columns that fit beside the names.
const SHOWN: usize = 5;
/// What is said where a load does not tell a cost.
const UNSURE: &str = "unsure";
/// Less than this of anything is nothing.
const LEAST: f64 = 1e-6;
/// Statements that are listed of each class, or of a load.
const LISTED: usize = 5;

/// The whole part; nothing where nobody looked at a server.
pub(super) fn write_server_costs(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    for cost in &findings.server_costs {
        writeln!(out)?;
        write_load(&findings.results, cost, out)?;
        write_classes(cost, out)?;
        write_statements(cost, out)?;
    }
    Ok(())
}

/// What classes cost that ran alone, for the screen at the end of the run: who asked for it wants to see it.
pub(super) fn write_classes_alone(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let alone = |cost: &&ServerCostFinding| cost.method == Some(ClassCostMethod::Alone);
    match findings.server_costs.iter().find(alone) {
        Some(cost) => {
            write_classes(cost, out)?;
            writeln!(out)
        }
        None => Ok(()),
    }
}

/// A line for all that an event of the load cost.
fn write_load(
    results: &FindingResults,
    cost: &ServerCostFinding,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of = match results.trials.get(cost.trial) {
        Some(trial) if results.trials.len() > 1 => format!(" in {}", trial.title),
        _ => String::new(),
    };
    let items: Vec<String> = cost.per_event.iter().map(item_text).collect();
    let costs = if items.is_empty() { "nothing counted".to_owned() } else { items.join(", ") };
    let text = format!("{costs} ({}){of}", window_text(cost));
    write_paragraph(out, "cost to the server per event  ", &text)
}

/// Where the numbers of a load come from.
pub(crate) fn window_text(cost: &ServerCostFinding) -> String {
    let part = match cost.window.middle {
        true => "whole intervals in its middle",
        false => "all of it, with its sessions being opened",
    };
    let own = match cost.own_taken_off {
        true => "sweat's own statements taken off",
        false => "with sweat's own statements",
    };
    let (events, seconds) = (format_count(cost.window.events), cost.window.seconds);
    format!("{part}: {} and {events} events; {own}", format_time(seconds))
}

fn item_text(item: &ServerCostItem) -> String {
    let value = match item.unit {
        "B" => format_bytes(item.per_event),
        "µs" => format_time(item.per_event / 1e6),
        _ => format_number(item.per_event),
    };
    format!("{} {value}", item.title)
}

fn cost_of<'a>(class: &'a ClassCostFinding, id: &str) -> Option<&'a ClassCostItem> {
    class.costs.iter().find(|item| item.id == id)
}

/// The value with half of its interval, as far as the interval matters.
fn cell(item: Option<&ClassCostItem>, factor: f64) -> String {
    let Some(item) = item else { return number_or_dash(None) };
    if item.unsure {
        return UNSURE.to_owned();
    }
    let value = item.per_event.value.map(|v| if v < LEAST { 0.0 } else { v * factor });
    let half = item.per_event.ci95.map_or(0.0, |(low, high)| (high - low) / 2.0 * factor);
    match value {
        Some(value) if half >= 0.001 * value.max(1.0) => {
            format!("{} ±{}", format_number(value), short_number(half))
        }
        value => number_or_dash(value),
    }
}

/// One digit that counts.
fn short_number(value: f64) -> String {
    let digits = (-value.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.digits$}")
}

/// A row for each class.
fn write_classes(cost: &ServerCostFinding, out: &mut dyn Write) -> io::Result<()> {
    if let Some(why) = &cost.no_classes_why {
        return write_paragraph(out, "cost by class  ", &format!("not known: {why}"));
    }
    let Some(method) = cost.method else { return Ok(()) };
    let is_there = |id: &str| {
        let items = cost.by_class.iter().filter_map(|class| cost_of(class, id));
        items.filter_map(|item| item.per_event.value).any(|value| value > 0.0)
    };
    let columns: Vec<_> = COLUMNS.iter().filter(|c| is_there(c.0)).take(SHOWN).collect();
    let mut head = vec!["class", "events"];
    head.extend(columns.iter().map(|column| column.1));
    let mut table = TextTable::new(&head);
    for class in &cost.by_class {
        let mut cells = vec![replace_controls(&class.class), format_count(class.events)];
        cells.extend(columns.iter().map(|(id, _, factor)| cell(cost_of(class, id), *factor)));
        table.add_row(cells);
    }
    writeln!(out)?;
    table.write(WIDTH, out)?;
    write_paragraph(out, "", &method_text(cost, method))
}

/// How the costs of classes were found.
pub(crate) fn method_text(cost: &ServerCostFinding, method: ClassCostMethod) -> String {
    let rounds = cost.by_class.iter().map(|class| class.rounds).max().unwrap_or(0);
    match method {
        ClassCostMethod::Alone => {
            format!(
                "Per event. Each class ran alone, {rounds} times; ± is half of the 95 % interval."
            )
        }
        ClassCostMethod::Estimated => format!(
            "Per event, estimated from {rounds} intervals of the load; ± is half of the 95 % \
             interval. --isolate measures it."
        ),
    }
}

/// The statements of each class that ran alone, or of the load.
fn write_statements(cost: &ServerCostFinding, out: &mut dyn Write) -> io::Result<()> {
    if let Some(why) = &cost.no_statements_why {
        return write_paragraph(out, "statements  ", &format!("not known: {why}"));
    }
    let is_alone = cost.method == Some(ClassCostMethod::Alone);
    let of_classes = cost.by_class.iter().filter(|_| is_alone);
    let of_classes = of_classes.map(|class| (replace_controls(&class.class), &class.statements));
    let of_load = (!is_alone).then(|| ("the load".to_owned(), &cost.statements));
    let parts: Vec<(String, &Vec<DigestFinding>)> = of_classes.chain(of_load).collect();
    let note = cost.statements_note.as_deref().unwrap_or_default();
    if parts.iter().all(|(_, statements)| statements.is_empty()) {
        return if note.is_empty() { Ok(()) } else { write_paragraph(out, "", note) };
    }
    let mut table = TextTable::new(&["statements of", "per event", "rows", "read", "time"]);
    for (name, statements) in parts {
        table.add_row(vec![name, String::new(), String::new(), String::new(), String::new()]);
        for one in statements.iter().take(LISTED) {
            table.add_row(statement_cells(one));
        }
    }
    writeln!(out)?;
    table.write(WIDTH, out)?;
    write_paragraph(out, "", "rows, read and time are per statement; N+1: repeated per event.")?;
    if note.is_empty() { Ok(()) } else { write_paragraph(out, "", note) }
}

fn statement_cells(one: &DigestFinding) -> Vec<String> {
    let mark = if one.repeated { "N+1: " } else { "" };
    let text = match one.text.is_empty() {
        true => "(others: the server's table is full)".to_owned(),
        false => one.text.replace('`', ""),
    };
    vec![
        format!("  {mark}{}", truncate_text(&replace_controls(&text), WIDTH)),
        format_number(one.calls_per_event),
        format_number(one.rows_sent_per_call),
        format_number(one.rows_examined_per_call),
        format_time(one.seconds_per_call),
    ]
}
