//! Where the fields of a row go: as text with tabs, or as the values of a prepared INSERT.

use std::ops::Range;

use crate::client::ParameterValue;

/// Takes rows field by field.
pub(in super::super) trait FieldSink {
    fn put_number(&mut self, number: u64);
    /// A decimal of this many digits behind the point, as the whole number that it is without the point.
    fn put_decimal(&mut self, scaled: i64, digits: usize);
    /// A text of `length` bytes that `write` puts in.
    fn put_text(&mut self, length: usize, write: impl FnOnce(&mut [u8]));
    fn put_null(&mut self);
    fn end_row(&mut self);
    /// A text that is there already.
    fn put_bytes(&mut self, text: &[u8]) {
        self.put_text(text.len(), |out| out.copy_from_slice(text));
    }
}

/// Rows as `LOAD DATA` reads them by default: tabs between fields, `\N` for NULL, each row ends with a newline. No text that we
/// make has a character that needs a backslash.
#[derive(Debug, Default)]
pub(in super::super) struct TabbedRows {
    pub(in super::super) bytes: Vec<u8>,
}

/// Rows as parameters.
#[derive(Debug, Default)]
pub(in super::super) struct ValueRows {
    cells: Vec<RowCell>,
    texts: Vec<u8>,
}

#[derive(Debug)]
enum RowCell {
    Null,
    Number(u64),
    Text(Range<usize>),
}

/// Adds a number in decimal digits, at least `width` of them.
fn push_digits(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    at = at.min(digits.len() - width);
    out.extend_from_slice(&digits[at..]);
}

/// Adds a decimal as servers print it.
fn push_decimal(out: &mut Vec<u8>, scaled: i64, digits: usize) {
    if scaled < 0 {
        out.push(b'-');
    }
    let unit = 10u64.pow(digits as u32);
    push_digits(out, scaled.unsigned_abs() / unit, 1);
    out.push(b'.');
    push_digits(out, scaled.unsigned_abs() % unit, digits);
}

impl FieldSink for TabbedRows {
    #[inline]
    fn put_number(&mut self, number: u64) {
        push_digits(&mut self.bytes, number, 1);
        self.bytes.push(b'\t');
    }
    #[inline]
    fn put_decimal(&mut self, scaled: i64, digits: usize) {
        push_decimal(&mut self.bytes, scaled, digits);
        self.bytes.push(b'\t');
    }
    #[inline]
    fn put_text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let start = self.bytes.len();
        self.bytes.resize(start + length + 1, b'\t');
        write(&mut self.bytes[start..start + length]);
    }
    fn put_null(&mut self) {
        self.bytes.extend_from_slice(b"\\N\t");
    }
    fn end_row(&mut self) {
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
    }
}

impl FieldSink for ValueRows {
    #[inline]
    fn put_number(&mut self, number: u64) {
        self.cells.push(RowCell::Number(number));
    }
    #[inline]
    fn put_decimal(&mut self, scaled: i64, digits: usize) {
        let start = self.texts.len();
        push_decimal(&mut self.texts, scaled, digits);
        self.cells.push(RowCell::Text(start..self.texts.len()));
    }
    #[inline]
    fn put_text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let start = self.texts.len();
        self.texts.resize(start + length, 0);
        write(&mut self.texts[start..]);
        self.cells.push(RowCell::Text(start..start + length));
    }
    fn put_null(&mut self) {
        self.cells.push(RowCell::Null);
    }
    fn end_row(&mut self) {}
}

impl ValueRows {
    /// Forgets all rows; keeps the memory.
    pub(in super::super) fn clear_rows(&mut self) {
        self.cells.clear();
        self.texts.clear();
    }

    /// Forgets the first fields, those of rows that were sent.
    pub(in super::super) fn drop_cells(&mut self, count: usize) {
        self.cells.drain(..count);
        let first = self.cells.iter().find_map(|cell| match cell {
            RowCell::Text(place) => Some(place.start),
            _ => None,
        });
        let cut = first.unwrap_or(self.texts.len());
        self.texts.drain(..cut);
        for cell in &mut self.cells {
            if let RowCell::Text(place) = cell {
                *place = place.start - cut..place.end - cut;
            }
        }
    }

    /// All values.
    pub(in super::super) fn parameter_values(&self) -> Vec<ParameterValue<'_>> {
        let value = |cell: &RowCell| match cell {
            RowCell::Null => ParameterValue::Null,
            RowCell::Number(number) => ParameterValue::Uint(*number),
            RowCell::Text(place) => ParameterValue::Bytes(&self.texts[place.clone()]),
        };
        self.cells.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_row(sink: &mut impl FieldSink) {
        sink.put_number(0);
        sink.put_number(u64::MAX);
        sink.put_decimal(-1000, 2);
        sink.put_decimal(7, 4);
        sink.put_null();
        sink.put_bytes(b"abc");
        sink.end_row();
    }

    #[test]
    fn rows_are_written_as_servers_read_them() {
        let mut tabbed = TabbedRows::default();
        put_row(&mut tabbed);
        let text = String::from_utf8(tabbed.bytes).unwrap();
        assert_eq!(text, "0\t18446744073709551615\t-10.00\t0.0007\t\\N\tabc\n");
        let mut values = ValueRows::default();
        put_row(&mut values);
        let bytes = ParameterValue::Bytes;
        assert_eq!(
            values.parameter_values(),
            [
                ParameterValue::Uint(0),
                ParameterValue::Uint(u64::MAX),
                bytes(b"-10.00"),
                bytes(b"0.0007"),
                ParameterValue::Null,
                bytes(b"abc"),
            ]
        );
        put_row(&mut values);
        values.drop_cells(8);
        assert_eq!(
            values.parameter_values(),
            [bytes(b"-10.00"), bytes(b"0.0007"), ParameterValue::Null, bytes(b"abc")]
        );
        values.clear_rows();
        assert!(values.parameter_values().is_empty());
    }
}
