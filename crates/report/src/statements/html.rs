//! For browsers: one page without scripts. Statements come from strangers: all of them are escaped.

use std::io::{self, Write};

use super::super::html::{STYLE, escape};
use super::seen_times;
use crate::analysis::number_format::{
    format_bytes, format_count, format_percent, format_plural, format_time,
};
use crate::analysis::{StatementClass, StatementFindings};

/// Place of the column that holds the statement.
const STATEMENT: usize = 0;

pub(super) fn write_html(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"sweat {}\">\n<title>Statements \u{b7} sweat</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{}{} in {}</h1>\n\
         <p>{} of log: {}</p>\n",
        escape::escape_html(&found.tool_version),
        format_plural(found.statements, "statement", "statements"),
        super::possible_note(found),
        format_plural(found.classes_in_all as u64, "class", "classes"),
        format_bytes(found.bytes as f64),
        escape::escape_html(&found.sources.join(", ")),
    )?;
    for note in &found.notes {
        writeln!(out, "<p>{}</p>", escape::escape_html(note))?;
    }
    let head = [
        "#",
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
        "<div class=\"scroll\">\n<table class=\"statements\">\n\
         <thead><tr>{cells}</tr></thead>\n<tbody>\n"
    )?;
    for (place, class) in found.classes.iter().enumerate() {
        writeln!(out, "{}", class_row(place + 1, class))?;
    }
    writeln!(out, "</tbody>\n</table>\n</div>\n</main>\n</body>\n</html>")
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
    let cells = [
        digest,
        class.share.map_or_else(|| "\u{2013}".to_owned(), share_cell),
        spent(class.total_s),
        format_count(class.count),
        spent(class.p50_s),
        spent(class.p95_s),
        spent(class.p99_s),
        spent(class.max_s),
        rows(class.rows_sent),
        rows(class.rows_examined),
        format_count(class.errors),
    ];
    let cell = |(place, cell): (usize, &String)| match place {
        STATEMENT => format!("<th scope=\"row\">{cell}</th>"),
        _ => format!("<td class=\"number\">{cell}</td>"),
    };
    format!("<tr>{}</tr>", cells.iter().enumerate().map(cell).collect::<String>())
}

/// The share in words and as a bar.
fn share_cell(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(1.0);
    format!("{}<span class=\"share\" style=\"width: {width:.0}%\"></span>", format_percent(share))
}
