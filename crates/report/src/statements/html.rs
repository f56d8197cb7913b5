//! For browsers: one page that reads without script; a script sorts its table. Statements come from strangers: all of
//! them are escaped.

use std::io::{self, Write};

use super::super::html::{STYLE, escape};
use super::seen_times;
use crate::analysis::number_format::{
    format_bytes, format_count, format_percent, format_plural, format_time,
};
use crate::analysis::{StatementClass, StatementFindings};

/// Place of the column that holds the statement.
const STATEMENT: usize = 0;
/// Sorts the table.
const SCRIPT: &str = include_str!("sort.js");
/// Logs named at the top; more are folded.
const LISTED: usize = 3;

pub(super) fn write_html(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"sweat {}\">\n<title>Statements \u{b7} sweat</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><div><p class=\"brand\">sweat <span>digest</span></p><h1>{}{} in {}</h1>\n\
         <p class=\"facts\">{}</p></div></header>\n<main>\n<section>\n{}",
        escape::escape_html(&found.tool_version),
        format_plural(found.statements, "statement", "statements"),
        super::possible_note(found),
        format_plural(found.classes_in_all as u64, "class", "classes"),
        sources_text(found),
        notes_list(found),
    )?;
    let head = [
        "statement",
        "share of time",
        "total time",
        "count",
        "p50",
        "p95",
        "p99",
        "longest",
        "rows sent",
        "rows examined",
        "errors",
    ];
    let cell = |(place, name): (usize, &&str)| {
        let class = if place == STATEMENT { "" } else { " class=\"number\"" };
        format!("<th scope=\"col\"{class}>{name}</th>")
    };
    let cells: String = head.iter().enumerate().map(cell).collect();
    write!(
        out,
        "<div class=\"scroll\">\n<table class=\"statements sortable\">\n\
         <thead><tr>{cells}</tr></thead>\n<tbody>\n"
    )?;
    for (place, class) in found.classes.iter().enumerate() {
        writeln!(out, "{}", class_row(place + 1, class))?;
    }
    writeln!(out, "</tbody>\n</table>\n</div>\n</section>\n</main>")?;
    write!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

fn class_row(place: usize, class: &StatementClass) -> String {
    let spent = |s: Option<f64>| s.map_or_else(|| "\u{2013}".to_owned(), format_time);
    let rows = |n: Option<u64>| n.map_or_else(|| "\u{2013}".to_owned(), format_count);
    let (first, last) = seen_times(class);
    let seen = first.zip(last).map(|(first, last)| format!("<br>{first} \u{2013} {last}"));
    let database = class.database.as_deref().map(|d| format!(" in {}", escape::escape_html(d)));
    let digest = format!(
        "<details><summary><code>#{place} {}</code></summary><pre>{}</pre>{}{}</details>",
        escape::escape_html(&class.digest),
        escape::escape_html(&class.example),
        database.unwrap_or_default(),
        seen.unwrap_or_default(),
    );
    let count = |n: Option<u64>| n.map(|n| n as f64);
    let cells = [
        (class.share.map_or_else(|| "\u{2013}".to_owned(), share_cell), class.share),
        (spent(class.total_s), class.total_s),
        (format_count(class.count), count(Some(class.count))),
        (spent(class.p50_s), class.p50_s),
        (spent(class.p95_s), class.p95_s),
        (spent(class.p99_s), class.p99_s),
        (spent(class.max_s), class.max_s),
        (rows(class.rows_sent), count(class.rows_sent)),
        (rows(class.rows_examined), count(class.rows_examined)),
        (format_count(class.errors), count(Some(class.errors))),
    ];
    let cell = |(text, value): &(String, Option<f64>)| {
        let value = value.map(|value| format!(" data-value=\"{value}\"")).unwrap_or_default();
        format!("<td class=\"number\"{value}>{text}</td>")
    };
    let cells: String = cells.iter().map(cell).collect();
    format!("<tr><th scope=\"row\">{digest}</th>{cells}</tr>")
}

/// How much of which logs was read.
fn sources_text(found: &StatementFindings) -> String {
    let names = escape::escape_html(&found.sources.join(", "));
    let bytes = format_bytes(found.bytes as f64);
    match found.sources.len() {
        0..=LISTED => format!("{bytes} of log: {names}"),
        many => format!(
            "{bytes} of log</p>\n<details class=\"small\"><summary>{many} files</summary>{names}\
             </details><p>"
        ),
    }
}

fn notes_list(found: &StatementFindings) -> String {
    if found.notes.is_empty() {
        return String::new();
    }
    let notes = found.notes.iter().map(|note| format!("<li>{}</li>", escape::escape_html(note)));
    format!("<ul class=\"small notes\">{}</ul>\n", notes.collect::<String>())
}

/// The share in words and as a bar.
fn share_cell(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(1.0);
    format!("{}<span class=\"share\" style=\"width: {width:.0}%\"></span>", format_percent(share))
}
