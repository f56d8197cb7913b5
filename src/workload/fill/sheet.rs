//! Rows as they are handed to a prepared INSERT. A buffer that is written anew for each statement.

use std::ops::Range;

use crate::target::Value;

#[derive(Debug)]
enum Cell {
    Number(u64),
    Text(Range<usize>),
}

/// Rows, column after column.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    cells: Vec<Cell>,
    texts: Vec<u8>,
}

impl Sheet {
    /// Forgets all rows; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.texts.clear();
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.cells.push(Cell::Number(number));
    }

    /// Adds a text of `length` bytes that `write` puts in.
    pub(crate) fn text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let start = self.texts.len();
        self.texts.resize(start + length, 0);
        write(&mut self.texts[start..]);
        self.cells.push(Cell::Text(start..start + length));
    }

    /// All values.
    pub(super) fn values(&self) -> Vec<Value<'_>> {
        let value = |cell: &Cell| match cell {
            Cell::Number(number) => Value::Uint(*number),
            Cell::Text(place) => Value::Bytes(&self.texts[place.clone()]),
        };
        self.cells.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_old_ones_are_gone() {
        let mut sheet = Sheet::default();
        for row in 1..=2 {
            sheet.clear();
            sheet.number(row);
            sheet.text(3, |out| out.copy_from_slice(b"abc"));
            sheet.text(1, |out| out[0] = b'0' + row as u8);
        }
        assert_eq!(sheet.values(), [Value::Uint(2), Value::Bytes(b"abc"), Value::Bytes(b"2")]);
    }
}
