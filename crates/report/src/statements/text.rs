//! For terminals: a table, then each class with its example.

use std::io::{self, Write};

use super::super::text::table::{TextTable, truncate_text};
use super::super::text::write_paragraph;
use super::seen_times;
use crate::analysis::number_format::{
    UNKNOWN, format_bytes, format_count, format_percent, format_plural, format_time,
};
use crate::analysis::{StatementClass, StatementFindings};

/// Columns of a page, and of a statement in its table at most.
const WIDTH: usize = 80;
const STATEMENT: usize = 36;
/// The statement's column is as wide as its head at least.
const HEAD: usize = 9;
/// So much of a digest or an example is shown; JSON and the page have all of it.
const SHOWN: usize = 220;
/// A word that is longer is broken.
const WORD: usize = 60;

pub(super) fn write_text(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    let head = format!(
        "{}{} in {}, {}{} of log",
        format_plural(found.statements, "statement", "statements"),
        super::possible_note(found),
        format_plural(found.classes_in_all as u64, "class", "classes"),
        found.total_s.map(|s| format!("{} in all, ", format_time(s))).unwrap_or_default(),
        format_bytes(found.bytes as f64),
    );
    write_paragraph(out, "", &head)?;
    for note in &found.notes {
        write_paragraph(out, "note: ", note)?;
    }
    if found.classes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_table(found, out)?;
    for (place, class) in found.classes.iter().enumerate() {
        writeln!(out)?;
        write_class(place + 1, class, out)?;
    }
    Ok(())
}

fn write_table(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    let head = ["#", "share", "total", "count", "p50", "p99", "statement"];
    let spent = |s: Option<f64>| s.map_or_else(|| UNKNOWN.to_owned(), format_time);
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    for (place, class) in found.classes.iter().enumerate() {
        rows.push(vec![
            (place + 1).to_string(),
            class.share.map_or_else(|| UNKNOWN.to_owned(), format_percent),
            spent(class.total_s),
            format_count(class.count),
            spent(class.p50_s),
            spent(class.p99_s),
        ]);
    }
    // The statement takes what the other columns leave.
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let taken: usize = (0..head.len() - 1).filter_map(width).map(|width| width + 2).sum();
    let room = WIDTH.saturating_sub(taken).clamp(HEAD, STATEMENT);
    let mut table = TextTable::new(&head).align_left("statement");
    for (row, class) in rows[1..].iter().zip(&found.classes) {
        let statement = truncate_text(&one_line(&class.digest), room);
        table.add_row(row.iter().cloned().chain([statement]).collect());
    }
    table.write(WIDTH, out)
}

fn write_class(place: usize, class: &StatementClass, out: &mut dyn Write) -> io::Result<()> {
    write_paragraph(out, &format!("{place}. "), &short_statement(&class.digest))?;
    if let (Some(first), Some(last)) = seen_times(class) {
        writeln!(out, "   seen     {first} .. {last}")?;
    }
    let spent = |s: Option<f64>| s.map_or_else(|| UNKNOWN.to_owned(), format_time);
    let rows = |n: Option<u64>| n.map_or_else(|| UNKNOWN.to_owned(), format_count);
    let times = format!(
        "p95 {}, max {}; rows sent {}, examined {}",
        spent(class.p95_s),
        spent(class.max_s),
        rows(class.rows_sent),
        rows(class.rows_examined)
    );
    write_paragraph(out, "   times    ", &times)?;
    if class.errors > 0 {
        writeln!(out, "   errors   {}", format_count(class.errors))?;
    }
    let database = class.database.as_ref().map(|name| format!(" (in {})", one_line(name)));
    let example = short_statement(&class.example) + &database.unwrap_or_default();
    write_paragraph(out, "   example  ", &example)
}

/// So much of a statement as is shown, its long words broken so that each fits in a line.
fn short_statement(text: &str) -> String {
    let words = one_line(text);
    let parts = words.split_whitespace().flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(WORD).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>()
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// A text on one line without control characters, and not too long.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push_str(" ..");
    }
    line
}
