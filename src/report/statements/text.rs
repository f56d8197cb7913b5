//! For terminals: a table, then each class with its example.

use std::io::{self, Write};

use super::super::text::table::{Align, Table};
use super::seen;
use crate::analysis::figure::{UNKNOWN, bytes, count, percent, plural, time};
use crate::analysis::{StatementClass, StatementFindings};

/// Columns of a page.
const PAGE: usize = 100;
/// So much of a digest or an example is shown.
const SHOWN: usize = 400;

pub(super) fn write(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}{} in {}, {}{} of log",
        plural(found.statements, "statement", "statements"),
        super::possible(found),
        plural(found.classes_in_all as u64, "class", "classes"),
        found.total_s.map(|s| format!("{} in all, ", time(s))).unwrap_or_default(),
        bytes(found.bytes as f64),
    )?;
    for note in &found.notes {
        writeln!(out, "note: {note}")?;
    }
    if found.classes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table(found, out)?;
    for (place, class) in found.classes.iter().enumerate() {
        writeln!(out)?;
        write_class(place + 1, class, out)?;
    }
    Ok(())
}

fn table(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("digest", Align::Left),
        ("#", right),
        ("share", right),
        ("total", right),
        ("count", right),
        ("p50", right),
        ("p95", right),
        ("p99", right),
        ("max", right),
        ("sent", right),
        ("examined", right),
    ]);
    let spent = |s: Option<f64>| s.map_or_else(|| UNKNOWN.to_owned(), time);
    let rows = |n: Option<u64>| n.map_or_else(|| UNKNOWN.to_owned(), count);
    for (place, class) in found.classes.iter().enumerate() {
        table.row(vec![
            one_line(&class.digest),
            (place + 1).to_string(),
            class.share.map_or_else(|| UNKNOWN.to_owned(), percent),
            spent(class.total_s),
            count(class.count),
            spent(class.p50_s),
            spent(class.p95_s),
            spent(class.p99_s),
            spent(class.max_s),
            rows(class.rows_sent),
            rows(class.rows_examined),
        ]);
    }
    table.write(PAGE, out)
}

fn write_class(place: usize, class: &StatementClass, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{place}. {}", one_line(&class.digest))?;
    if let (Some(first), Some(last)) = seen(class) {
        writeln!(out, "   seen     {first} .. {last}")?;
    }
    if class.errors > 0 {
        writeln!(out, "   errors   {}", count(class.errors))?;
    }
    let database = class.database.as_ref().map(|name| format!(" (in {})", one_line(name)));
    writeln!(out, "   example  {}{}", one_line(&class.example), database.unwrap_or_default())
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
