//! Rows as they are handed to a prepared INSERT. A buffer that is written anew for each statement.

use std::ops::Range;

use crate::client::ParameterValue;

#[derive(Debug)]
enum BufferedValue {
    Null,
    Number(u64),
    Whole(i64),
    Real(f64),
    Text(Range<usize>),
}

/// Rows, column after column.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    cells: Vec<BufferedValue>,
    texts: Vec<u8>,
}

impl RowBuffer {
    /// Forgets all rows; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.texts.clear();
    }

    /// Adds a number.
    pub(crate) fn push_number(&mut self, number: u64) {
        self.cells.push(BufferedValue::Number(number));
    }

    /// Adds a text of `length` bytes that `write` puts in.
    pub(crate) fn push_text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let start = self.texts.len();
        self.texts.resize(start + length, 0);
        write(&mut self.texts[start..]);
        self.cells.push(BufferedValue::Text(start..start + length));
    }

    /// Adds any value.
    pub(crate) fn push_value(&mut self, value: ParameterValue<'_>) {
        self.cells.push(match value {
            ParameterValue::Null => BufferedValue::Null,
            ParameterValue::Uint(number) => BufferedValue::Number(number),
            ParameterValue::Int(number) => BufferedValue::Whole(number),
            ParameterValue::Double(number) => BufferedValue::Real(number),
            ParameterValue::Bytes(text) => {
                let start = self.texts.len();
                self.texts.extend_from_slice(text);
                BufferedValue::Text(start..start + text.len())
            }
        });
    }

    /// All values.
    pub(super) fn to_values(&self) -> Vec<ParameterValue<'_>> {
        let value = |cell: &BufferedValue| match cell {
            BufferedValue::Null => ParameterValue::Null,
            BufferedValue::Number(number) => ParameterValue::Uint(*number),
            BufferedValue::Whole(number) => ParameterValue::Int(*number),
            BufferedValue::Real(number) => ParameterValue::Double(*number),
            BufferedValue::Text(place) => ParameterValue::Bytes(&self.texts[place.clone()]),
        };
        self.cells.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_old_ones_are_gone() {
        let mut row_buffer = RowBuffer::default();
        for row in 1..=2 {
            row_buffer.clear();
            row_buffer.push_number(row);
            row_buffer.push_text(3, |out| out.copy_from_slice(b"abc"));
            row_buffer.push_text(1, |out| out[0] = b'0' + row as u8);
        }
        assert_eq!(
            row_buffer.to_values(),
            [ParameterValue::Uint(2), ParameterValue::Bytes(b"abc"), ParameterValue::Bytes(b"2")]
        );
    }
}
