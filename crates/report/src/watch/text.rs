//! For terminals: the answer, the figures, stalls, what happened, and at most 20 lines over time.

use std::io::{self, Write};

use super::super::text::table::TextTable;
use super::super::text::write_paragraph;
use super::{headline, local_texts, span_text, stall_word, value_text};
use crate::analysis::number_format::{UNKNOWN, format_number, format_time};
use crate::analysis::{WATCH_COLUMNS, WatchFindings, WatchRow};

/// Columns of a page.
const WIDTH: usize = 80;
/// Lines over time, of stalls and of events, unless all are wanted.
const LINES: usize = 20;
const LISTED: usize = 10;
/// Columns of the table over time.
const OVER_TIME: &[(&str, &str)] = &[
    ("queries_per_s", "queries/s"),
    ("threads_running", "running"),
    ("row_lock_waits_per_s", "lock waits/s"),
    ("pool_hit_ratio", "hit ratio"),
    ("pool_dirty_share", "dirty"),
];

pub(super) fn write_text(
    found: &WatchFindings,
    is_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_paragraph(out, "", &format!("{}: {}", found.server, headline(found)))?;
    write_paragraph(out, "", &span_text(found))?;
    if !found.figures.is_empty() {
        writeln!(out)?;
        let mut table = TextTable::new(&["", "median", "lowest", "highest"]);
        for figure in &found.figures {
            let cell = |value| value_text(value, figure.column.unit);
            let cells = [cell(figure.median), cell(figure.lowest), cell(figure.highest)];
            table.add_row([vec![figure.column.title.to_owned()], cells.to_vec()].concat());
        }
        table.write(WIDTH, out)?;
    }
    write_stalls(found, is_full, out)?;
    write_events(found, is_full, out)?;
    write_rows(found, is_full, out)?;
    for damage in &found.damage {
        write_paragraph(out, "note: ", damage)?;
    }
    Ok(())
}

fn write_stalls(found: &WatchFindings, is_full: bool, out: &mut dyn Write) -> io::Result<()> {
    if found.stalls.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = TextTable::new(&["stall", "length", "kind", "queries/s", "usual"]);
    let most = if is_full { usize::MAX } else { LISTED };
    for stall in found.stalls.iter().take(most) {
        let (day, clock) = local_texts(found, stall.began_s);
        table.add_row(vec![
            format!("{day} {clock}"),
            format_time(stall.seconds),
            stall_word(stall).to_owned(),
            format_number(stall.queries_per_s),
            format_number(stall.usual_per_s),
        ]);
    }
    table.write(WIDTH, out)?;
    write_left_out(found.stalls.len(), most, out)
}

fn write_events(found: &WatchFindings, is_full: bool, out: &mut dyn Write) -> io::Result<()> {
    if !found.events.is_empty() {
        writeln!(out)?;
    }
    let most = if is_full { usize::MAX } else { LISTED };
    for event in found.events.iter().take(most) {
        let (day, clock) = local_texts(found, event.unix_ns as f64 / 1e9);
        write_paragraph(out, &format!("{day} {clock}  "), &event.text)?;
    }
    write_left_out(found.events.len(), most, out)
}

fn write_left_out(all: usize, most: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.checked_sub(most).filter(|left| *left > 0) {
        Some(left) => writeln!(out, "({left} more: -v)"),
        None => Ok(()),
    }
}

fn write_rows(found: &WatchFindings, is_full: bool, out: &mut dyn Write) -> io::Result<()> {
    if found.rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let together = if is_full { 1 } else { found.rows.len().div_ceil(LINES) };
    let mut head = vec!["until"];
    head.extend(OVER_TIME.iter().map(|(_, title)| *title));
    head.push("missing");
    let mut table = TextTable::new(&head);
    for rows in found.rows.chunks(together) {
        let last = rows.last().expect("a chunk has rows");
        let mut cells = vec![local_texts(found, last.ended_s).1];
        for (id, _) in OVER_TIME {
            let place = WATCH_COLUMNS.iter().position(|column| column.id == *id);
            let column = place.map(|place| &WATCH_COLUMNS[place]);
            let value = place.and_then(|place| mean_of(rows, place));
            let text = column.zip(value).map(|(column, value)| value_text(value, column.unit));
            cells.push(text.unwrap_or_else(|| UNKNOWN.to_owned()));
        }
        let missing: u64 = rows.iter().map(|row| row.missing).sum();
        cells.push(if missing == 0 { String::new() } else { missing.to_string() });
        table.add_row(cells);
    }
    table.write(WIDTH, out)
}

/// The mean over time of a column.
fn mean_of(rows: &[WatchRow], place: usize) -> Option<f64> {
    let known = rows.iter().filter_map(|row| Some((row.values[place]?, row.seconds)));
    let (sum, seconds) =
        known.fold((0.0, 0.0), |(sum, all), (value, s)| (sum + value * s, all + s));
    (seconds > 0.0).then(|| sum / seconds)
}
