//! Packets that are read whole: greeting, OK, error, switch of the login method, column.

use super::constants::{CapabilityFlags, MariadbCapabilities};
use super::{ProtocolError, to_shown_text};

type ParseResult<T> = Result<T, ProtocolError>;

/// Reads the fields of one packet, front to back.
#[derive(Clone, Copy, Debug)]
pub(in crate::client::mysql) struct FieldReader<'a>(pub(in crate::client::mysql) &'a [u8]);

impl<'a> FieldReader<'a> {
    /// The next `read_count` bytes.
    pub(in crate::client::mysql) fn read_bytes(&mut self, count: usize) -> ParseResult<&'a [u8]> {
        if count > self.0.len() {
            return Err(ProtocolError("a packet ends too early"));
        }
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        Ok(head)
    }
    /// A little-endian number of `read_count` bytes, at most eight.
    pub(in crate::client::mysql) fn read_uint(&mut self, count: usize) -> ParseResult<u64> {
        Ok(self.read_bytes(count)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
    /// One byte.
    pub(in crate::client::mysql) fn read_u8(&mut self) -> ParseResult<u8> {
        Ok(self.read_bytes(1)?[0])
    }
    /// Two bytes.
    pub(in crate::client::mysql) fn read_u16(&mut self) -> ParseResult<u16> {
        self.read_bytes(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }
    /// Four bytes.
    pub(in crate::client::mysql) fn read_u32(&mut self) -> ParseResult<u32> {
        self.read_bytes(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    /// A number whose first byte tells its length; `None` is NULL.
    pub(in crate::client::mysql) fn read_lenenc_int(&mut self) -> ParseResult<Option<u64>> {
        match self.read_u8()? {
            0xFB => Ok(None),
            0xFC => self.read_uint(2).map(Some),
            0xFD => self.read_uint(3).map(Some),
            0xFE => self.read_uint(8).map(Some),
            0xFF => Err(ProtocolError("a length begins with 255")),
            small => Ok(Some(u64::from(small))),
        }
    }
    /// A packed number that can't be NULL.
    pub(in crate::client::mysql) fn read_count(&mut self) -> ParseResult<u64> {
        self.read_lenenc_int()?.ok_or(ProtocolError("a number is NULL"))
    }
    /// Bytes behind their packed length; `None` is NULL.
    pub(in crate::client::mysql) fn read_lenenc_bytes(&mut self) -> ParseResult<Option<&'a [u8]>> {
        let Some(length) = self.read_lenenc_int()? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| ProtocolError("impossible length"))?;
        self.read_bytes(length).map(Some)
    }
    /// Bytes up to a zero, which is skipped; all that is left if there is none.
    pub(in crate::client::mysql) fn read_until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let (head, tail) = self.0.split_at(end);
        self.0 = tail.get(1..).unwrap_or_default();
        head
    }
}

/// The first packet of a server.
#[derive(Clone, Debug)]
pub(in crate::client::mysql) struct GreetingPacket {
    /// Version text.
    pub(in crate::client::mysql) version: String,
    /// Number of the connection.
    pub(in crate::client::mysql) id: u64,
    /// Random bytes that the login mixes with the password.
    pub(in crate::client::mysql) nonce: Vec<u8>,
    /// What the server can do.
    pub(in crate::client::mysql) capabilities: CapabilityFlags,
    /// What a MariaDB server can do besides.
    pub(in crate::client::mysql) extended: MariadbCapabilities,
    /// Number of the server's own collation; of a large one the low byte.
    pub(in crate::client::mysql) collation: u8,
    /// Login method the server would like.
    pub(in crate::client::mysql) plugin: String,
}

/// Reads the greeting.
pub(in crate::client::mysql) fn parse_greeting(payload: &[u8]) -> ParseResult<GreetingPacket> {
    let mut fields = FieldReader(payload);
    if fields.read_u8()? != 10 {
        return Err(ProtocolError("the server speaks no protocol 10"));
    }
    let version = to_shown_text(fields.read_until_zero());
    let id = u64::from(fields.read_u32()?);
    let mut nonce = fields.read_bytes(8)?.to_vec();
    fields.read_u8()?;
    let low = u32::from(fields.read_u16()?);
    let collation = fields.read_u8()?;
    fields.read_u16()?;
    let bits = low | u32::from(fields.read_u16()?) << 16;
    let capabilities = CapabilityFlags::from_bits_retain(bits);
    let nonce_length = usize::from(fields.read_u8()?);
    fields.read_bytes(6)?;
    let extended = match capabilities.contains(CapabilityFlags::LONG_PASSWORD) {
        true => fields.read_u32().map(|_| MariadbCapabilities::empty())?,
        false => MariadbCapabilities::from_bits_retain(fields.read_u32()?),
    };
    if capabilities.contains(CapabilityFlags::SECURE_CONNECTION) {
        let rest = fields.read_bytes(nonce_length.saturating_sub(8).max(13))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    }
    let plugin = match capabilities.contains(CapabilityFlags::PLUGIN_AUTH) {
        true => to_shown_text(fields.read_until_zero()),
        false => String::from("mysql_native_password"),
    };
    Ok(GreetingPacket { version, id, nonce, capabilities, extended, collation, plugin })
}

/// An error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client::mysql) struct ErrorPacket<'a> {
    /// The server's number.
    pub(in crate::client::mysql) code: u16,
    /// SQLSTATE; empty where the server sent none.
    pub(in crate::client::mysql) state: &'a [u8],
    /// The server's words.
    pub(in crate::client::mysql) text: &'a [u8],
}

/// Reads an error packet, its first byte included.
pub(in crate::client::mysql) fn parse_error(payload: &[u8]) -> ParseResult<ErrorPacket<'_>> {
    let mut fields = FieldReader(payload);
    if fields.read_u8()? != 0xFF {
        return Err(ProtocolError("an error packet does not begin with 255"));
    }
    let code = fields.read_u16()?;
    let mut state: &[u8] = &[];
    if fields.0.first() == Some(&b'#') && fields.0.len() >= 6 {
        state = &fields.read_bytes(6)?[1..];
    }
    Ok(ErrorPacket { code, state, text: fields.0 })
}

/// What an OK packet tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::client::mysql) struct OkPacket {
    /// Rows changed.
    pub(in crate::client::mysql) affected: u64,
    /// Last number given out by AUTO_INCREMENT.
    pub(in crate::client::mysql) last_insert_id: u64,
    /// Bits about the session.
    pub(in crate::client::mysql) status: u16,
    /// Warnings.
    pub(in crate::client::mysql) warnings: u16,
}

/// Another result follows.
pub(in crate::client::mysql) const MORE_RESULTS: u16 = 0x0008;

/// Reads an OK packet, whatever its first byte is.
#[inline]
pub(in crate::client::mysql) fn parse_ok(payload: &[u8]) -> ParseResult<OkPacket> {
    // The shape of nearly every OK packet: two small numbers.
    if let [_, affected @ 0..=250, id @ 0..=250, s0, s1, w0, w1, ..] = *payload {
        return Ok(OkPacket {
            affected: u64::from(affected),
            last_insert_id: u64::from(id),
            status: u16::from_le_bytes([s0, s1]),
            warnings: u16::from_le_bytes([w0, w1]),
        });
    }
    let mut fields = FieldReader(payload);
    fields.read_u8()?;
    Ok(OkPacket {
        affected: fields.read_count()?,
        last_insert_id: fields.read_count()?,
        status: fields.read_u16()?,
        warnings: fields.read_u16()?,
    })
}

/// Reads an old EOF packet.
pub(in crate::client::mysql) fn parse_eof(payload: &[u8]) -> ParseResult<OkPacket> {
    let mut fields = FieldReader(payload);
    fields.read_u8()?;
    let warnings = fields.read_u16()?;
    Ok(OkPacket { warnings, status: fields.read_u16()?, ..OkPacket::default() })
}

/// Whether a packet that may be a row ends the rows instead.
#[inline]
pub(in crate::client::mysql) fn ends_rows(first: u8, length: usize, no_eof: bool) -> bool {
    first == 0xFE && if no_eof { length < super::CHUNK } else { length < 9 }
}

/// Length of the nonce of `mysql_native_password` and `caching_sha2_password`.
const NONCE: usize = 20;

/// Reads the wish for another login method: its name and its random bytes.
pub(in crate::client::mysql) fn parse_auth_switch(
    payload: &[u8],
) -> ParseResult<(String, Vec<u8>)> {
    let mut fields = FieldReader(payload);
    if fields.read_u8()? != 0xFE {
        return Err(ProtocolError("a switch of the login method does not begin with 254"));
    }
    if fields.0.is_empty() {
        return Ok((String::from("mysql_old_password"), Vec::new()));
    }
    let name = to_shown_text(fields.read_until_zero());
    // Behind the 20 bytes that the older methods use stands a zero; with ed25519 the last of 32 bytes
    // may be one by chance, and belongs to them.
    let nonce = match fields.0 {
        [nonce @ .., 0] if nonce.len() == NONCE => nonce,
        whole => whole,
    };
    Ok((name, nonce.to_vec()))
}

/// Reads a column's name out of its definition.
pub(in crate::client::mysql) fn parse_column_name(payload: &[u8]) -> ParseResult<String> {
    let mut fields = FieldReader(payload);
    for _catalog_schema_table_table in 0..4 {
        fields.read_lenenc_bytes()?;
    }
    let name = fields.read_lenenc_bytes()?.ok_or(ProtocolError("a column has no name"))?;
    Ok(to_shown_text(name))
}

/// Reads the answer to PREPARE: the statement's number, its columns, its parameters.
pub(in crate::client::mysql) fn parse_prepare_ok(payload: &[u8]) -> ParseResult<(u32, u16, u16)> {
    let mut fields = FieldReader(payload);
    if fields.read_u8()? != 0 {
        return Err(ProtocolError("the answer to a prepare does not begin with 0"));
    }
    Ok((fields.read_u32()?, fields.read_u16()?, fields.read_u16()?))
}

/// Reads one row of text values.
pub(in crate::client::mysql) fn parse_text_row(
    payload: &[u8],
    columns: usize,
) -> ParseResult<Vec<Option<Vec<u8>>>> {
    let mut fields = FieldReader(payload);
    let mut row = Vec::with_capacity(columns.min(payload.len()));
    for _ in 0..columns {
        row.push(fields.read_lenenc_bytes()?.map(<[u8]>::to_vec));
    }
    match fields.0.is_empty() {
        true => Ok(row),
        false => Err(ProtocolError("a row is longer than its columns")),
    }
}
