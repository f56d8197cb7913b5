//! A table in columns, as narrow as its cells allow.

use std::io::{self, Write};

use super::replace_controls;

/// The first column never gets narrower than this.
const NARROWEST: usize = 8;

/// The text, or as much of its beginning and end as fits and two dots between: names often differ at their end.
pub fn shorten_cell(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(2);
    let end = kept / 2;
    text.chars()
        .take(kept - end)
        .chain("..".chars())
        .chain(text.chars().skip(length - end))
        .collect()
}

/// The text, or as much of its beginning as fits and two dots.
pub fn truncate_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 2).chain("..".chars()).collect()
}

/// Head and rows of cells. The first column stands at the left, the others at the right if nothing else is said.
pub(crate) struct TextTable {
    left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// An empty table with these columns.
    pub(crate) fn new<T: AsRef<str>>(head: &[T]) -> TextTable {
        TextTable {
            left: (0..head.len()).map(|column| column == 0).collect(),
            rows: vec![head.iter().map(|name| replace_controls(name.as_ref())).collect()],
        }
    }

    /// The column of this name stands at the left too.
    pub(crate) fn align_left(mut self, name: &str) -> TextTable {
        for (left, head) in self.left.iter_mut().zip(&self.rows[0]) {
            *left |= head == name;
        }
        self
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn add_row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| replace_controls(cell)).collect());
    }

    /// Writes it, two spaces between columns, nothing behind the last. If it is wider than the page, the first
    /// column gives way.
    pub(crate) fn write(&self, page: usize, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.left.len()).map(width).collect();
        let total = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
        let least = widths[0].min(NARROWEST);
        widths[0] = widths[0].saturating_sub(total.saturating_sub(page)).max(least);
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                let width = widths[column];
                let cell = shorten_cell(cell, width);
                line += &match self.left[column] {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
