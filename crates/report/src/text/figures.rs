//! What a workload itself measured.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, costs, replace_controls, write_paragraph};
use crate::analysis::number_format::{format_count, format_number, number_or_dash};
use crate::analysis::{FiguresFinding, FindingResults, MedianFigure};

/// Characters of a name that are shown.
const NAME_WIDTH: usize = 36;

/// The figures as a table, and what must be known of them; in a summary without details.
pub(super) fn write_figures(
    found: &FiguresFinding,
    with_details: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_paragraph(out, "figures      ", &replace_controls(&found.header))?;
    costs::write_costs_table(&found.costs, out)?;
    if found.costs.is_empty() || !found.figures.is_empty() {
        let mut table = TextTable::new(&["", "median", "95 % interval", "samples", ""]);
        for figure in found.figures.iter().filter(|f| with_details || !f.is_detail) {
            table.add_row(figure_cells(figure));
        }
        table.write(WIDTH, out)?;
    }
    found.notes.iter().try_for_each(|note| write_paragraph(out, "  ", &replace_controls(note)))
}

fn figure_cells(figure: &MedianFigure) -> Vec<String> {
    let mut name = replace_controls(&figure.name);
    if name.chars().count() > NAME_WIDTH {
        name = name.chars().take(NAME_WIDTH - 2).chain("..".chars()).collect();
    }
    // A ratio is written as one says it, `4.7x`.
    let gap = if figure.unit == "x" { "" } else { " " };
    let interval = figure.low.zip(figure.high);
    vec![
        name,
        format!("{}{gap}{}", number_or_dash(figure.value), figure.unit),
        interval
            .map(|(low, high)| format!("[{}, {}]", format_number(low), format_number(high)))
            .unwrap_or_default(),
        format_count(figure.samples),
        figure.remark().to_owned(),
    ]
}

/// The figures of every load, each under its title.
pub(super) fn write_all(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    for trial in &results.trials {
        let Some(found) = &trial.figures else { continue };
        writeln!(out)?;
        if results.trials.len() > 1 {
            writeln!(out, "{}", replace_controls(&trial.title))?;
        }
        write_figures(found, true, out)?;
    }
    Ok(())
}
