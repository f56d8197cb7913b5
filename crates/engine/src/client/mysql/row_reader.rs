//! One kept row, read value by value from left to right without copying: for workers that need what they read.

use super::captured::ColumnFormat;
use super::wire::packet::FieldReader;

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowValue<'a> {
    /// NULL.
    Null,
    /// A whole number that fits; unsigned ones above the range of `i64` come as their bits.
    Int(i64),
    /// A real number.
    Double(f64),
    /// Text, binary, decimals; in the text protocol everything. Dates and times of the binary protocol come as their bytes.
    Bytes(&'a [u8]),
}

/// Reads the values of a row.
#[derive(Clone, Debug)]
pub struct RowReader<'a> {
    fields: FieldReader<'a>,
    columns: &'a [ColumnFormat],
    /// Bits of the values that are NULL; `None` in the text protocol.
    nulls: Option<&'a [u8]>,
    at: usize,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        columns: &'a [ColumnFormat],
        is_binary: bool,
    ) -> RowReader<'a> {
        let mut fields = FieldReader(bytes);
        let mut nulls = None;
        if is_binary {
            let _ = fields.read_u8();
            // The first two bits belong to nobody.
            nulls = Some(fields.read_bytes((columns.len() + 2).div_ceil(8)).unwrap_or_default());
        }
        RowReader { fields, columns, nulls, at: 0 }
    }

    /// The next value; `None` behind the last, or where the row ends too early.
    pub fn next_value(&mut self) -> Option<RowValue<'a>> {
        let column = *self.columns.get(self.at)?;
        self.at += 1;
        let Some(nulls) = self.nulls else {
            let bytes = self.fields.read_lenenc_bytes().ok()?;
            return Some(bytes.map_or(RowValue::Null, RowValue::Bytes));
        };
        let bit = self.at + 1;
        if nulls.get(bit / 8)? & 1 << (bit % 8) != 0 {
            return Some(RowValue::Null);
        }
        let width = match column.kind {
            0x01 => 1,
            0x02 | 0x0d => 2,
            0x03 | 0x09 => 4,
            0x08 => 8,
            0x04 => {
                let number = f32::from_bits(self.fields.read_u32().ok()?);
                return Some(RowValue::Double(f64::from(number)));
            }
            0x05 => return Some(RowValue::Double(f64::from_bits(self.fields.read_uint(8).ok()?))),
            0x07 | 0x0a..=0x0c => {
                let length = self.fields.read_u8().ok()?;
                return self.fields.read_bytes(length.into()).ok().map(RowValue::Bytes);
            }
            0x06 => return Some(RowValue::Null),
            _ => {
                let bytes = self.fields.read_lenenc_bytes().ok()?;
                return Some(bytes.map_or(RowValue::Null, RowValue::Bytes));
            }
        };
        let bits = self.fields.read_uint(width).ok()?;
        let unused = 64 - 8 * width as u32;
        Some(RowValue::Int(match column.unsigned {
            true => bits as i64,
            false => (bits << unused) as i64 >> unused,
        }))
    }

    /// The next value as a whole number; digits of a text count. `None` for NULL and for what is none.
    pub fn next_int(&mut self) -> Option<i64> {
        match self.next_value()? {
            RowValue::Int(number) => Some(number),
            RowValue::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
            RowValue::Null | RowValue::Double(_) => None,
        }
    }

    /// The next value as text or bytes.
    pub fn next_bytes(&mut self) -> Option<&'a [u8]> {
        match self.next_value()? {
            RowValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The next value, a decimal number, as a whole number of its last digit: `12.5` with two digits is 1250. `None` where
    /// it has more digits than these.
    pub fn next_scaled(&mut self, digits: u32) -> Option<i64> {
        match self.next_value()? {
            RowValue::Int(number) => number.checked_mul(10i64.checked_pow(digits)?),
            RowValue::Bytes(bytes) => parse_scaled(bytes, digits),
            RowValue::Null | RowValue::Double(_) => None,
        }
    }
}

fn parse_scaled(bytes: &[u8], digits: u32) -> Option<i64> {
    let (negative, bytes) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, bytes),
    };
    let (mut number, mut behind, mut is_behind, mut any) = (0i64, 0, false, false);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                any = true;
                number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                behind += u32::from(is_behind);
            }
            b'.' if !is_behind => is_behind = true,
            _ => return None,
        }
    }
    let missing = digits.checked_sub(behind).filter(|_| any)?;
    let number = number.checked_mul(10i64.checked_pow(missing)?)?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, unsigned: bool) -> ColumnFormat {
        ColumnFormat { kind, unsigned, decimals: 0 }
    }

    #[test]
    fn decimals_are_whole_numbers_of_their_last_digit() {
        for (text, digits, expected) in [
            ("12.5", 2, Some(1250)),
            ("-0.01", 2, Some(-1)),
            ("300000.00", 2, Some(30_000_000)),
            ("7", 0, Some(7)),
            ("1.234", 2, None),
            ("", 2, None),
            ("1e3", 2, None),
            (".", 2, None),
        ] {
            assert_eq!(parse_scaled(text.as_bytes(), digits), expected, "{text}");
        }
    }

    #[test]
    fn a_binary_row_is_read_from_left_to_right() {
        let columns = [
            column(0x02, true),
            column(0x03, false),
            column(0x0c, false),
            column(0xf6, false),
            column(0xfd, false),
        ];
        // Head, NULL bits (the last value), 40000, -3, a date of four bytes, "1.50".
        let row = [
            0,
            0b0100_0000,
            0x40,
            0x9c,
            0xfd,
            0xff,
            0xff,
            0xff,
            4,
            0xea,
            7,
            1,
            2,
            4,
            b'1',
            b'.',
            b'5',
            b'0',
        ];
        let mut reader = RowReader::new(&row, &columns, true);
        assert_eq!(reader.next_int(), Some(40_000));
        assert_eq!(reader.next_int(), Some(-3));
        assert_eq!(reader.next_bytes().map(<[u8]>::len), Some(4));
        assert_eq!(reader.next_scaled(2), Some(150));
        assert_eq!(reader.next_value(), Some(RowValue::Null));
        assert_eq!(reader.next_value(), None);
        let mut cut = RowReader::new(&row[..6], &columns, true);
        assert_eq!(cut.next_int(), Some(40_000));
        assert_eq!(cut.next_int(), None);
    }

    #[test]
    fn a_text_row_holds_numbers_as_digits() {
        let columns = [column(0x03, false), column(0x03, false)];
        let mut reader = RowReader::new(&[2, b'4', b'2', 0xfb], &columns, false);
        assert_eq!(reader.next_int(), Some(42));
        assert_eq!(reader.next_value(), Some(RowValue::Null));
    }
}
