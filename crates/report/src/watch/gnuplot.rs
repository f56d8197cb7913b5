//! For gnuplot: a line per interval, its first five columns those of the book's analysis of a capture script.

use std::io::{self, Write};

use super::local_texts;
use crate::analysis::{WATCH_COLUMNS, WatchFindings, WatchRow};

/// What gnuplot takes for a value that is missing.
const MISSING: &str = "?";
/// The columns behind the time: the load of the machine, queries per second, and the others as JSON calls them.
const LOAD: &str = "load_1_min";
const QUERIES: &str = "queries_per_s";

pub(super) fn write_intervals(found: &WatchFindings, out: &mut dyn Write) -> io::Result<()> {
    let others: Vec<&str> = WATCH_COLUMNS
        .iter()
        .map(|column| column.id)
        .filter(|id| ![LOAD, QUERIES].contains(id))
        .collect();
    writeln!(out, "# plot 'FILE' using 1:5 with lines title 'QPS'")?;
    writeln!(out, "#ts date time load QPS {}", others.join(" "))?;
    for row in &found.rows {
        let (day, clock) = local_texts(found, row.ended_s);
        write!(out, "{} {day} {clock}", row.ended_s as u64)?;
        for id in [LOAD, QUERIES].iter().chain(&others) {
            write!(out, " {}", cell(row, id))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn cell(row: &WatchRow, id: &str) -> String {
    let place = WATCH_COLUMNS.iter().position(|column| column.id == id);
    let value = place.and_then(|place| *row.values.get(place)?);
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.2}"))
}
