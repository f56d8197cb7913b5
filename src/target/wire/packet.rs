//! Packets that are read whole: greeting, OK, error, switch of the login method, column.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};

use super::{Malformed, words};

type Parsed<T> = Result<T, Malformed>;

/// Reads the fields of one packet, front to back.
#[derive(Clone, Copy, Debug)]
pub(in crate::target) struct Fields<'a>(pub(in crate::target) &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    pub(in crate::target) fn bytes(&mut self, count: usize) -> Parsed<&'a [u8]> {
        if count > self.0.len() {
            return Err(Malformed("a packet ends too early"));
        }
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        Ok(head)
    }
    /// A little-endian number of `count` bytes, at most eight.
    pub(in crate::target) fn number(&mut self, count: usize) -> Parsed<u64> {
        Ok(self.bytes(count)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
    /// One byte.
    pub(in crate::target) fn byte(&mut self) -> Parsed<u8> {
        Ok(self.bytes(1)?[0])
    }
    /// Two bytes.
    pub(in crate::target) fn short(&mut self) -> Parsed<u16> {
        self.bytes(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }
    /// Four bytes.
    pub(in crate::target) fn long(&mut self) -> Parsed<u32> {
        self.bytes(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    /// A number whose first byte tells its length; `None` is NULL.
    pub(in crate::target) fn packed(&mut self) -> Parsed<Option<u64>> {
        match self.byte()? {
            0xFB => Ok(None),
            0xFC => self.number(2).map(Some),
            0xFD => self.number(3).map(Some),
            0xFE => self.number(8).map(Some),
            0xFF => Err(Malformed("a length begins with 255")),
            small => Ok(Some(u64::from(small))),
        }
    }
    /// A packed number that can't be NULL.
    pub(in crate::target) fn count(&mut self) -> Parsed<u64> {
        self.packed()?.ok_or(Malformed("a number is NULL"))
    }
    /// Bytes behind their packed length; `None` is NULL.
    pub(in crate::target) fn text(&mut self) -> Parsed<Option<&'a [u8]>> {
        let Some(length) = self.packed()? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| Malformed("a length is absurd"))?;
        self.bytes(length).map(Some)
    }
    /// Bytes up to a zero, which is skipped; all that is left if there is none.
    pub(in crate::target) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let (head, tail) = self.0.split_at(end);
        self.0 = tail.get(1..).unwrap_or_default();
        head
    }
}

/// The first packet of a server.
#[derive(Clone, Debug)]
pub(in crate::target) struct Greeting {
    /// Version text.
    pub(in crate::target) version: String,
    /// Number of the connection.
    pub(in crate::target) id: u64,
    /// Random bytes that the login mixes with the password.
    pub(in crate::target) nonce: Vec<u8>,
    /// What the server can do.
    pub(in crate::target) capabilities: CapabilityFlags,
    /// What a MariaDB server can do besides.
    pub(in crate::target) extended: MariadbCapabilities,
    /// Login method the server would like.
    pub(in crate::target) plugin: String,
}

/// Reads the greeting.
pub(in crate::target) fn greeting(payload: &[u8]) -> Parsed<Greeting> {
    let mut fields = Fields(payload);
    if fields.byte()? != 10 {
        return Err(Malformed("the server speaks no protocol 10"));
    }
    let version = words(fields.until_zero());
    let id = u64::from(fields.long()?);
    let mut nonce = fields.bytes(8)?.to_vec();
    fields.byte()?;
    let low = u32::from(fields.short()?);
    fields.byte()?;
    fields.short()?;
    let bits = low | u32::from(fields.short()?) << 16;
    let capabilities = CapabilityFlags::from_bits_retain(bits);
    let nonce_length = usize::from(fields.byte()?);
    fields.bytes(6)?;
    let extended = match capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD) {
        true => fields.long().map(|_| MariadbCapabilities::empty())?,
        false => MariadbCapabilities::from_bits_retain(fields.long()?),
    };
    if capabilities.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
        let rest = fields.bytes(nonce_length.saturating_sub(8).max(13))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    }
    let plugin = match capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
        true => words(fields.until_zero()),
        false => String::from("mysql_native_password"),
    };
    Ok(Greeting { version, id, nonce, capabilities, extended, plugin })
}

/// An error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) struct Refusal<'a> {
    /// The server's number.
    pub(in crate::target) code: u16,
    /// SQLSTATE; empty where the server sent none.
    pub(in crate::target) state: &'a [u8],
    /// The server's words.
    pub(in crate::target) text: &'a [u8],
}

/// Reads an error packet, its first byte included.
pub(in crate::target) fn refusal(payload: &[u8]) -> Parsed<Refusal<'_>> {
    let mut fields = Fields(payload);
    if fields.byte()? != 0xFF {
        return Err(Malformed("an error packet does not begin with 255"));
    }
    let code = fields.short()?;
    let mut state: &[u8] = &[];
    if fields.0.first() == Some(&b'#') && fields.0.len() >= 6 {
        state = &fields.bytes(6)?[1..];
    }
    Ok(Refusal { code, state, text: fields.0 })
}

/// What an OK packet tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::target) struct Done {
    /// Rows changed.
    pub(in crate::target) affected: u64,
    /// Last number given out by AUTO_INCREMENT.
    pub(in crate::target) last_insert_id: u64,
    /// Bits about the session.
    pub(in crate::target) status: u16,
    /// Warnings.
    pub(in crate::target) warnings: u16,
}

/// Another result follows.
pub(in crate::target) const MORE_RESULTS: u16 = 0x0008;

/// Reads an OK packet, whatever its first byte is.
#[inline]
pub(in crate::target) fn done(payload: &[u8]) -> Parsed<Done> {
    // The shape of nearly every OK packet: two small numbers.
    if let [_, affected @ 0..=250, id @ 0..=250, s0, s1, w0, w1, ..] = *payload {
        return Ok(Done {
            affected: u64::from(affected),
            last_insert_id: u64::from(id),
            status: u16::from_le_bytes([s0, s1]),
            warnings: u16::from_le_bytes([w0, w1]),
        });
    }
    let mut fields = Fields(payload);
    fields.byte()?;
    Ok(Done {
        affected: fields.count()?,
        last_insert_id: fields.count()?,
        status: fields.short()?,
        warnings: fields.short()?,
    })
}

/// Reads an old EOF packet.
pub(in crate::target) fn end(payload: &[u8]) -> Parsed<Done> {
    let mut fields = Fields(payload);
    fields.byte()?;
    let warnings = fields.short()?;
    Ok(Done { warnings, status: fields.short()?, ..Done::default() })
}

/// Whether a packet that may be a row ends the rows instead.
#[inline]
pub(in crate::target) fn ends_rows(first: u8, length: usize, no_eof: bool) -> bool {
    first == 0xFE && if no_eof { length < super::CHUNK } else { length < 9 }
}

/// Length of the nonce of `mysql_native_password` and `caching_sha2_password`.
const NONCE: usize = 20;

/// Reads the wish for another login method: its name and its random bytes.
pub(in crate::target) fn switch(payload: &[u8]) -> Parsed<(String, Vec<u8>)> {
    let mut fields = Fields(payload);
    if fields.byte()? != 0xFE {
        return Err(Malformed("a switch of the login method does not begin with 254"));
    }
    if fields.0.is_empty() {
        return Ok((String::from("mysql_old_password"), Vec::new()));
    }
    let name = words(fields.until_zero());
    // Behind the 20 bytes that the older methods use stands a zero; with ed25519 the last of 32 bytes
    // may be one by chance, and belongs to them.
    let nonce = match fields.0 {
        [nonce @ .., 0] if nonce.len() == NONCE => nonce,
        whole => whole,
    };
    Ok((name, nonce.to_vec()))
}

/// Reads a column's name out of its definition.
pub(in crate::target) fn column_name(payload: &[u8]) -> Parsed<String> {
    let mut fields = Fields(payload);
    for _catalog_schema_table_table in 0..4 {
        fields.text()?;
    }
    let name = fields.text()?.ok_or(Malformed("a column has no name"))?;
    Ok(words(name))
}

/// Reads the answer to PREPARE: the statement's number, its columns, its parameters.
pub(in crate::target) fn prepared(payload: &[u8]) -> Parsed<(u32, u16, u16)> {
    let mut fields = Fields(payload);
    if fields.byte()? != 0 {
        return Err(Malformed("the answer to a prepare does not begin with 0"));
    }
    Ok((fields.long()?, fields.short()?, fields.short()?))
}

/// Reads one row of text values.
pub(in crate::target) fn text_row(payload: &[u8], columns: usize) -> Parsed<Vec<Option<Vec<u8>>>> {
    let mut fields = Fields(payload);
    let mut row = Vec::with_capacity(columns.min(payload.len()));
    for _ in 0..columns {
        row.push(fields.text()?.map(<[u8]>::to_vec));
    }
    match fields.0.is_empty() {
        true => Ok(row),
        false => Err(Malformed("a row is longer than its columns")),
    }
}
