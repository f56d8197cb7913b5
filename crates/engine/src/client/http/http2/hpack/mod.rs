//! Header blocks (HPACK, RFC 7541): those of replies are decoded, those of requests written without a table, so that their
//! bytes can be made once. Pure.

mod field_table;
mod huffman;
#[cfg(test)]
mod tests;

use field_table::{FieldTable, STATIC_FIELDS, TABLE_BYTES};

/// Most bytes of a head, decoded.
pub(super) const MOST_HEAD: usize = 64 << 10;
/// Most fields of a head.
const MOST_FIELDS: usize = 128;
const CUT: &str = "a header block ends in the middle of a field";

/// Decodes the header blocks of a connection, in their order.
#[derive(Debug, Default)]
pub(super) struct BlockDecoder {
    table: FieldTable,
    /// Name and value of a field that is spelled out.
    scratch: Vec<u8>,
}

impl BlockDecoder {
    /// Decodes a block and tells its fields. After an error the connection can't be used, as its table is not known.
    ///
    /// # Errors
    /// Why it is no block.
    pub(super) fn decode_block(
        &mut self,
        block: &[u8],
        mut told: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), &'static str> {
        let mut rest = block;
        let (mut fields, mut bytes) = (0, 0);
        while let Some(first) = rest.first().copied() {
            if first & 0xE0 == 0x20 {
                let most = read_integer(&mut rest, 5)?;
                if most > TABLE_BYTES || fields > 0 {
                    return Err("a header block changes the size of its table where it may not");
                }
                self.table.set_most(most);
                continue;
            }
            fields += 1;
            if first & 0x80 != 0 {
                let number = read_integer(&mut rest, 7)?;
                let (name, value) = self.table.field_at(number).ok_or(NO_SUCH_FIELD)?;
                bytes += name.len() + value.len();
                told(name, value);
            } else {
                let is_kept = first & 0x40 != 0;
                let name = self.read_literal(&mut rest, if is_kept { 6 } else { 4 })?;
                bytes += self.scratch.len();
                told(&self.scratch[..name], &self.scratch[name..]);
                if is_kept {
                    self.table.add_field(&self.scratch, name);
                }
            }
            if fields > MOST_FIELDS || bytes > MOST_HEAD {
                return Err("the head is too long");
            }
        }
        Ok(())
    }

    /// Reads a field that is spelled out; gives the length of its name.
    fn read_literal(&mut self, rest: &mut &[u8], bits: u32) -> Result<usize, &'static str> {
        self.scratch.clear();
        match read_integer(rest, bits)? {
            0 => read_text(rest, &mut self.scratch)?,
            number => {
                let (name, _) = self.table.field_at(number).ok_or(NO_SUCH_FIELD)?;
                self.scratch.extend_from_slice(name);
            }
        }
        let name = self.scratch.len();
        read_text(rest, &mut self.scratch)?;
        Ok(name)
    }

    #[cfg(test)]
    pub(super) fn table_size(&self) -> (usize, usize) {
        self.table.size()
    }
}

const NO_SUCH_FIELD: &str = "a header block names a field that is not in its table";

/// Reads a number whose first byte has so many bits of it.
fn read_integer(rest: &mut &[u8], bits: u32) -> Result<usize, &'static str> {
    let (first, mut left) = rest.split_first().ok_or(CUT)?;
    let most = (1usize << bits) - 1;
    let mut number = usize::from(*first) & most;
    if number == most {
        let mut shift = 0;
        loop {
            let (byte, behind) = left.split_first().ok_or(CUT)?;
            left = behind;
            number += usize::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            if shift > 21 {
                return Err("a number of a header block is too large");
            }
        }
    }
    *rest = left;
    Ok(number)
}

fn read_text(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let is_coded = rest.first().ok_or(CUT)? & 0x80 != 0;
    let length = read_integer(rest, 7)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(CUT)?;
    *rest = behind;
    match is_coded {
        true => huffman::decode_text(text, out),
        false => {
            out.extend_from_slice(text);
            Ok(())
        }
    }
}

/// Whether a field may be kept in tables on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPrivacy {
    /// It may, though nothing here does.
    Open,
    /// It must not.
    Secret,
}

/// Writes a field of a request; its name in lower case.
pub fn write_block_field(name: &str, value: &str, privacy: FieldPrivacy, out: &mut Vec<u8>) {
    let same = |(known, text): &(&str, &str)| *known == name && *text == value;
    if let Some(place) = STATIC_FIELDS.iter().position(same).filter(|_| !value.is_empty()) {
        write_integer(0x80, 7, place + 1, out);
        return;
    }
    let kind = if privacy == FieldPrivacy::Secret { 0x10 } else { 0 };
    match STATIC_FIELDS.iter().position(|(known, _)| *known == name) {
        Some(place) => write_integer(kind, 4, place + 1, out),
        None => {
            out.push(kind);
            write_text(name, out);
        }
    }
    write_text(value, out);
}

/// What a connection's first block begins with: no table is needed to read what is written here.
pub(super) const NO_TABLE: u8 = 0x20;

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_integer(0, 7, text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn write_integer(kind: u8, bits: u32, number: usize, out: &mut Vec<u8>) {
    let most = (1usize << bits) - 1;
    if number < most {
        out.push(kind | number as u8);
        return;
    }
    out.push(kind | most as u8);
    let mut left = number - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}
