//! What events cost the server: of the whole load, by class, and in which statements.

use crate::analysis::number_format::{UNKNOWN, format_count, format_number, format_time};
use crate::analysis::{
    ClassCostItem, ClassCostMethod, DigestFinding, RunFindings, ServerCostFinding,
};

use super::escape::{escape_html, sentence_html};
use super::{capitalize_first, tables};
use crate::text::server_cost::{method_text, window_text};

pub(super) fn server_cost_section(findings: &RunFindings) -> String {
    let all: String = findings.server_costs.iter().map(|cost| load_part(findings, cost)).collect();
    if all.is_empty() {
        return all;
    }
    format!("<section id=\"server-cost\"><h2>What an event costs the server</h2>{all}</section>")
}

fn load_part(findings: &RunFindings, cost: &ServerCostFinding) -> String {
    let loads = &findings.results.trials;
    let title = match loads.get(cost.trial) {
        Some(trial) if loads.len() > 1 => {
            format!("<h3>{}</h3>", escape_html(&capitalize_first(&trial.title)))
        }
        _ => String::new(),
    };
    let row = |item: &crate::analysis::ServerCostItem| {
        let unit = if item.unit.is_empty() { String::new() } else { format!(", {}", item.unit) };
        vec![
            ("per event", format!("{}{unit}", item.title)),
            ("value", format_number(item.per_event)),
            ("from", item.source.clone()),
        ]
    };
    let rows: Vec<_> = cost.per_event.iter().map(row).collect();
    format!(
        "{title}{}{}<p class=\"small\">{}.</p>{}{}",
        classes_part(cost),
        tables::named_table(&rows),
        sentence_html(&capitalize_first(&window_text(cost))),
        statements_part("the load", &cost.statements),
        match (&cost.no_statements_why, &cost.statements_note) {
            (Some(why), _) => {
                format!("<p class=\"small\">No statements: {}.</p>", sentence_html(why))
            }
            (None, Some(note)) => format!("<p class=\"small\">{}</p>", sentence_html(note)),
            (None, None) => String::new(),
        }
    )
}

/// A row for each class, a column for each cost.
fn classes_part(cost: &ServerCostFinding) -> String {
    let (Some(method), Some(first)) = (cost.method, cost.by_class.first()) else {
        let why = cost.no_classes_why.as_ref();
        return why.map_or_else(String::new, |why| {
            format!("<p class=\"small\">Cost by class: not known, {}.</p>", sentence_html(why))
        });
    };
    let names: Vec<String> = first
        .costs
        .iter()
        .map(|item| {
            let whole = cost.per_event.iter().find(|whole| whole.id == item.id);
            whole.map_or_else(
                || item.id.replace('_', " "),
                |whole| match whole.unit {
                    "" => whole.title.to_owned(),
                    unit => format!("{}, {unit}", whole.title),
                },
            )
        })
        .collect();
    let mut head = vec!["class, per event", "events"];
    head.extend(names.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = cost
        .by_class
        .iter()
        .map(|class| {
            let cells = class.costs.iter().map(class_cell);
            [class.class.clone(), format_count(class.events)].into_iter().chain(cells).collect()
        })
        .collect();
    let statements: String = cost
        .by_class
        .iter()
        .filter(|_| method == ClassCostMethod::Alone)
        .map(|class| statements_part(&format!("class {}", class.class), &class.statements))
        .collect();
    format!(
        "{}<p class=\"small\">{}</p>{statements}",
        tables::number_table(&head, &rows),
        sentence_html(&method_text(cost, method)),
    )
}

fn class_cell(item: &ClassCostItem) -> String {
    match (item.per_event.value, item.per_event.ci95) {
        (None, _) => UNKNOWN.to_owned(),
        (_, Some((low, high))) if item.unsure => {
            format!("unsure ({} to {})", format_number(low), format_number(high))
        }
        (Some(value), Some((low, high))) if high - low > 0.002 * value.max(1.0) => {
            let (low, high) = (format_number(low), format_number(high));
            format!("{} ({low} to {high})", format_number(value))
        }
        (Some(value), _) => format_number(value),
    }
}

fn statements_part(of: &str, statements: &[DigestFinding]) -> String {
    let row = |one: &DigestFinding| {
        let mark = if one.repeated { "N+1: " } else { "" };
        vec![
            ("statement", format!("{mark}{}", one.text)),
            ("per event", format_number(one.calls_per_event)),
            ("rows each", format_number(one.rows_sent_per_call)),
            ("rows read each", format_number(one.rows_examined_per_call)),
            ("rows changed each", format_number(one.rows_affected_per_call)),
            ("time each", format_time(one.seconds_per_call)),
        ]
    };
    let rows: Vec<_> = statements.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let more = tables::named_table(&rows);
    format!("<details><summary>Statements of {}</summary>{more}</details>", escape_html(of))
}
