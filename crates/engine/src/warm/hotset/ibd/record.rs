//! Records of the levels above the leaves: the first key of a page, and the page's number.

use super::page::{PageRecord, u16_at, u32_at};

/// How long the values of a column are in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLength {
    /// Always as long as this, bytes.
    Fixed(usize),
    /// Its own length each; two bytes tell it where values may be longer than 255 bytes.
    Own { long: bool },
}

/// A column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyField {
    pub length: FieldLength,
    pub nullable: bool,
}

/// The columns of a key, in the order in which they lie in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordLayout {
    pub fields: Vec<KeyField>,
    /// Bytes that tell which of the index's columns are NULL.
    pub null_bytes: usize,
}

/// The values of a key; `None` is NULL.
pub(super) type KeyValues<'a> = Vec<Option<&'a [u8]>>;

/// The largest record of these levels, beyond all that InnoDB allows in a key.
const LONGEST: usize = 16 << 10;

impl RecordLayout {
    /// The key of a record and the page that it leads to; `None` if it can't be one.
    pub(super) fn read_key<'a>(&self, record: &PageRecord<'a>) -> Option<(KeyValues<'a>, u32)> {
        let (values, end) =
            if record.compact { self.read_compact(record)? } else { self.read_redundant(record)? };
        (end.checked_sub(record.origin)? <= LONGEST).then_some((values, u32_at(record.bytes, end)?))
    }

    /// COMPACT and DYNAMIC: which values are NULL and how long the others are stands before the record, backwards.
    fn read_compact<'a>(&self, record: &PageRecord<'a>) -> Option<(KeyValues<'a>, usize)> {
        let bytes = record.bytes;
        let nulls = record.origin.checked_sub(6)?;
        let mut length_at = nulls.checked_sub(self.null_bytes)?;
        let mut at = record.origin;
        let mut null = 0;
        let mut values = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            if field.nullable {
                let byte = bytes.get(nulls.checked_sub(null / 8)?)?;
                let is_null = byte >> (null % 8) & 1 == 1;
                null += 1;
                if is_null {
                    values.push(None);
                    continue;
                }
            }
            let length = match field.length {
                FieldLength::Fixed(length) => length,
                FieldLength::Own { long } => {
                    let first = *bytes.get(length_at)?;
                    length_at = length_at.checked_sub(1)?;
                    if long && first & 0x80 != 0 {
                        let second = *bytes.get(length_at)?;
                        length_at = length_at.checked_sub(1)?;
                        if first & 0x40 != 0 {
                            return None;
                        }
                        usize::from(first & 0x3F) << 8 | usize::from(second)
                    } else {
                        usize::from(first)
                    }
                }
            };
            values.push(Some(bytes.get(at..at.checked_add(length)?)?));
            at += length;
        }
        Some((values, at))
    }

    /// REDUNDANT: where each value ends stands before the record, backwards.
    fn read_redundant<'a>(&self, record: &PageRecord<'a>) -> Option<(KeyValues<'a>, usize)> {
        let bytes = record.bytes;
        let word = u16_at(bytes, record.origin.checked_sub(4)?)?;
        let (count, short) = (usize::from(word >> 1 & 0x3FF), word & 1 == 1);
        if count != self.fields.len() + 1 {
            return None;
        }
        let mut begin = 0;
        let mut values = Vec::with_capacity(count);
        for i in 1..=self.fields.len() {
            let (end, is_null) = if short {
                let byte = *bytes.get(record.origin.checked_sub(6 + i)?)?;
                (usize::from(byte & 0x7F), byte & 0x80 != 0)
            } else {
                let word = u16_at(bytes, record.origin.checked_sub(6 + 2 * i)?)?;
                (usize::from(word & 0x3FFF), word & 0x8000 != 0)
            };
            let value = bytes.get(record.origin + begin..record.origin + end)?;
            values.push((!is_null).then_some(value));
            begin = end;
        }
        Some((values, record.origin + begin))
    }
}
