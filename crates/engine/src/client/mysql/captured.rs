//! Rows that a worker keeps: a whole result in memory of its own, read value by value when somebody asks. For scripts, whose
//! statements may be looked into; what nobody looks at is never taken apart.
//! Formats: "Text Resultset Row" and "Binary Protocol Resultset Row" of the protocol's documentation (see `wire::constants`).

use std::fmt::Write as _;

use super::packets::ChannelError;
use super::row_reader::RowReader;
use super::wire::constants::CommandByte;
use super::wire::packet::{self, FieldReader, MORE_RESULTS};
use super::wire::{ProtocolError, encode};
use super::{Error, ParameterValue, PreparedStatement, Session, StatementReply};
use crate::recorder::{EventError, Tally};

/// Columns that a result may have: no server has more.
const COLUMNS_MOST: u64 = 4096;
/// Memory that is kept for the next result, bytes.
const KEEP: usize = 64 * 1024;
/// Results whose memory is kept for the next ones: those of a round of statements that are sent together.
const KEPT_RESULTS: usize = 64;
/// The same for bytes received, of which each session has its own.
pub(super) const KEPT_INBOX: usize = 4096;

/// How to read the values of one column of a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnFormat {
    pub(super) kind: u8,
    pub(super) unsigned: bool,
    /// Digits behind the decimal point; 31 where there are as many as it takes.
    pub(super) decimals: u8,
}

/// A prepared statement whose results can be read: a server need not describe them again each time.
#[derive(Clone, Debug)]
pub struct CapturableStatement {
    /// The statement.
    pub prepared: PreparedStatement,
    pub(super) columns: Vec<ColumnFormat>,
    names: Vec<String>,
}

impl CapturableStatement {
    /// Where a column of its result stands, by its name, whatever its case.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

/// One result of a statement.
#[derive(Clone, Debug, Default)]
pub struct CapturedResult {
    columns: Vec<ColumnFormat>,
    /// Definitions of the columns one behind the other, where they were sent, and where each ends.
    definitions: Vec<u8>,
    definition_ends: Vec<usize>,
    binary: bool,
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    row_ends: Vec<usize>,
    /// Rows changed, where the result has no columns.
    pub affected: u64,
}

/// All results of one statement, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct CapturedResults {
    all: Vec<CapturedResult>,
    used: usize,
    packet: Vec<u8>,
}

impl CapturedResults {
    /// The results, in order.
    pub fn results(&self) -> &[CapturedResult] {
        &self.all[..self.used]
    }

    /// Forgets the results, and gives memory back that only a large one needed.
    pub fn clear(&mut self) {
        self.used = 0;
        self.all.truncate(KEPT_RESULTS);
        for result in &mut self.all {
            result.clear();
        }
    }

    fn next_result(&mut self) -> &mut CapturedResult {
        if self.used == self.all.len() {
            self.all.push(CapturedResult::default());
        }
        self.used += 1;
        &mut self.all[self.used - 1]
    }
}

impl CapturedResult {
    fn clear(&mut self) {
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
            self.row_ends = Vec::new();
        }
        self.bytes.clear();
        self.row_ends.clear();
        self.columns.clear();
        self.definitions.clear();
        self.definition_ends.clear();
        self.affected = 0;
    }

    /// Where a column stands, by its name, whatever its case; known where the server described the columns.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        let mut begin = 0;
        self.definition_ends.iter().position(|end| {
            let definition = &self.definitions[begin..*end];
            begin = *end;
            parse_column_name(definition).is_ok_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// Columns; 0 for a statement that gives no rows.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Rows.
    pub fn row_count(&self) -> usize {
        self.row_ends.len()
    }

    /// A row to read value by value; `None` where there is no such row.
    pub fn row(&self, row: usize) -> Option<RowReader<'_>> {
        let end = self.row_ends.get(row)?;
        let begin = row.checked_sub(1).map_or(0, |before| self.row_ends[before]);
        Some(RowReader::new(&self.bytes[begin..*end], &self.columns, self.binary))
    }

    /// Tells each value of a row as text, `None` for NULL; nothing for a row that is not there or that makes no sense.
    pub fn for_each_value(&self, row: usize, told: &mut dyn FnMut(Option<&[u8]>)) {
        self.for_each_value_with(row, &mut String::new(), told);
    }

    /// The same with memory that is used again.
    pub fn for_each_value_with(
        &self,
        row: usize,
        scratch: &mut String,
        told: &mut dyn FnMut(Option<&[u8]>),
    ) {
        let Some(end) = self.row_ends.get(row) else { return };
        let begin = row.checked_sub(1).map_or(0, |before| self.row_ends[before]);
        let bytes = &self.bytes[begin..*end];
        // What a server sends against its own description is not shown.
        let _ = match self.binary {
            true => tell_binary_row(bytes, &self.columns, scratch, told),
            false => tell_text_row(bytes, self.columns.len(), told),
        };
    }
}

fn tell_text_row(
    bytes: &[u8],
    columns: usize,
    told: &mut dyn FnMut(Option<&[u8]>),
) -> Result<(), ProtocolError> {
    let mut fields = FieldReader(bytes);
    for _ in 0..columns {
        told(fields.read_lenenc_bytes()?);
    }
    Ok(())
}

fn tell_binary_row(
    bytes: &[u8],
    columns: &[ColumnFormat],
    text: &mut String,
    told: &mut dyn FnMut(Option<&[u8]>),
) -> Result<(), ProtocolError> {
    let mut fields = FieldReader(bytes);
    fields.read_u8()?;
    // The first two bits belong to nobody.
    let nulls = fields.read_bytes((columns.len() + 2).div_ceil(8))?;
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            told(None);
            continue;
        }
        text.clear();
        match write_binary_value(&mut fields, *column, text)? {
            Some(bytes) => told(Some(bytes)),
            None => told(Some(text.as_bytes())),
        }
    }
    Ok(())
}

/// Writes one value as the text protocol would send it; gives it where it is bytes already.
fn write_binary_value<'a>(
    fields: &mut FieldReader<'a>,
    column: ColumnFormat,
    text: &mut String,
) -> Result<Option<&'a [u8]>, ProtocolError> {
    let width = match column.kind {
        0x01 => 1,
        0x02 | 0x0d => 2,
        0x03 | 0x09 => 4,
        0x08 => 8,
        0x04 => {
            let number = f32::from_bits(fields.read_u32()?);
            write_real(text, f64::from(number), &number, column.decimals);
            return Ok(None);
        }
        0x05 => {
            let number = f64::from_bits(fields.read_uint(8)?);
            write_real(text, number, &number, column.decimals);
            return Ok(None);
        }
        0x07 | 0x0a | 0x0c => {
            write_date(fields, column, text)?;
            return Ok(None);
        }
        0x0b => {
            write_time(fields, column, text)?;
            return Ok(None);
        }
        0x06 => return Ok(None),
        _ => return Ok(Some(fields.read_lenenc_bytes()?.unwrap_or_default())),
    };
    let bits = fields.read_uint(width)?;
    let unused = 64 - 8 * width as u32;
    // Nothing can go wrong in writing to a string.
    let _ = match column.unsigned {
        true => write!(text, "{bits}"),
        false => write!(text, "{}", (bits << unused) as i64 >> unused),
    };
    Ok(None)
}

fn write_real(text: &mut String, number: f64, shortest: &dyn std::fmt::Display, decimals: u8) {
    let _ = match decimals < 31 {
        true => write!(text, "{number:.*}", usize::from(decimals)),
        false => write!(text, "{shortest}"),
    };
}

fn write_date(
    fields: &mut FieldReader<'_>,
    column: ColumnFormat,
    text: &mut String,
) -> Result<(), ProtocolError> {
    let length = fields.read_u8()?;
    let mut part = |there: bool, width| if there { fields.read_uint(width) } else { Ok(0) };
    let (year, month, day) = (part(length >= 4, 2)?, part(length >= 4, 1)?, part(length >= 4, 1)?);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}");
    if column.kind == 0x0a {
        return Ok(());
    }
    let (hour, minute) = (part(length >= 7, 1)?, part(length >= 7, 1)?);
    let (second, micro) = (part(length >= 7, 1)?, part(length >= 11, 4)?);
    let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
    write_fraction(text, micro, column.decimals);
    Ok(())
}

fn write_time(
    fields: &mut FieldReader<'_>,
    column: ColumnFormat,
    text: &mut String,
) -> Result<(), ProtocolError> {
    let length = fields.read_u8()?;
    let mut part = |there: bool, width| if there { fields.read_uint(width) } else { Ok(0) };
    let (negative, days) = (part(length >= 8, 1)?, part(length >= 8, 4)?);
    let (hour, minute) = (part(length >= 8, 1)?, part(length >= 8, 1)?);
    let (second, micro) = (part(length >= 8, 1)?, part(length >= 12, 4)?);
    let sign = if negative == 0 { "" } else { "-" };
    let _ = write!(text, "{sign}{:02}:{minute:02}:{second:02}", days * 24 + hour);
    write_fraction(text, micro, column.decimals);
    Ok(())
}

fn write_fraction(text: &mut String, micro: u64, decimals: u8) {
    if let digits @ 1..=6 = decimals {
        let all = format!("{micro:06}");
        text.push('.');
        text.push_str(&all[..usize::from(digits)]);
    }
}

/// The name of a column: the fifth of six texts.
fn parse_column_name(payload: &[u8]) -> Result<&[u8], ProtocolError> {
    let mut fields = FieldReader(payload);
    for _catalog_schema_tables in 0..4 {
        fields.read_lenenc_bytes()?;
    }
    Ok(fields.read_lenenc_bytes()?.unwrap_or_default())
}

/// Type, sign and decimals of a column: the fixed part behind six texts.
fn parse_column_format(payload: &[u8]) -> Result<ColumnFormat, ProtocolError> {
    let mut fields = FieldReader(payload);
    for _catalog_schema_tables_names in 0..6 {
        fields.read_lenenc_bytes()?;
    }
    // Servers of MariaDB may put what they call extended metadata here; they were not asked for it.
    fields.read_lenenc_int()?;
    fields.read_bytes(2 + 4)?;
    let kind = fields.read_u8()?;
    let flags = fields.read_u16()?;
    Ok(ColumnFormat { kind, unsigned: flags & 0x20 != 0, decimals: fields.read_u8()? })
}

impl Session {
    /// Runs text and keeps all its results.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn execute_captured(
        &mut self,
        tally: &mut Tally,
        sql: &[u8],
        results: &mut CapturedResults,
    ) -> Result<StatementReply, EventError> {
        self.start_statement()?;
        let sent = self
            .channel
            .send_packets(|out| Ok(encode::write_command(out, CommandByte::Query, sql)));
        let sent = sent.await;
        self.capture_reply(tally, sent, results, None).await
    }

    /// Runs a prepared statement and keeps all its results.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn execute_prepared_captured(
        &mut self,
        tally: &mut Tally,
        statement: &CapturableStatement,
        values: &[ParameterValue<'_>],
        results: &mut CapturedResults,
    ) -> Result<StatementReply, EventError> {
        self.start_statement()?;
        let sent = self
            .channel
            .send_packets(|out| encode::write_execute(out, &statement.prepared, values))
            .await;
        self.capture_reply(tally, sent, results, Some(&statement.columns)).await
    }

    /// Prepares a statement whose results shall be kept.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn prepare_captured(&mut self, sql: &str) -> Result<CapturableStatement, Error> {
        let (mut columns, mut names) = (Vec::new(), Vec::new());
        let prepared = self
            .prepare_noting(sql, &mut |packet| {
                columns.push(parse_column_format(packet)?);
                names.push(String::from_utf8_lossy(parse_column_name(packet)?).into_owned());
                Ok(())
            })
            .await?;
        Ok(CapturableStatement { prepared, columns, names })
    }

    async fn capture_reply(
        &mut self,
        tally: &mut Tally,
        sent: Result<usize, ChannelError>,
        results: &mut CapturedResults,
        prepared: Option<&[ColumnFormat]>,
    ) -> Result<StatementReply, EventError> {
        results.clear();
        let read = match sent {
            Ok(bytes) => {
                tally.bytes_sent += bytes as u64;
                self.read_captured(tally, results, prepared).await
            }
            Err(broken) => Err(broken),
        };
        match read {
            Ok(Ok(reply)) => {
                self.busy = false;
                // The next reply of a worker is about as long.
                self.channel.shrink_buffers_above(KEPT_INBOX);
                Ok(reply)
            }
            Ok(Err(event)) => Err(event),
            Err(broken) => Err(self.mark_broken(&broken)),
        }
    }

    pub(super) async fn read_captured(
        &mut self,
        tally: &mut Tally,
        results: &mut CapturedResults,
        prepared: Option<&[ColumnFormat]>,
    ) -> Result<Result<StatementReply, EventError>, ChannelError> {
        let mut reply = StatementReply::default();
        let mut packet = std::mem::take(&mut results.packet);
        loop {
            let result = results.next_result();
            result.clear();
            result.binary = prepared.is_some();
            let known = prepared.unwrap_or_default();
            match self.read_one_captured(tally, result, known, &mut packet, &mut reply).await? {
                Ok(status) if status & MORE_RESULTS != 0 => {}
                Ok(_) => {
                    results.packet = packet;
                    return Ok(Ok(reply));
                }
                Err(event) => return Ok(Err(event)),
            }
        }
    }

    /// Reads a packet and counts its bytes; gives whether it came out of turn.
    async fn read_counted(
        &mut self,
        tally: &mut Tally,
        packet: &mut Vec<u8>,
    ) -> Result<bool, ChannelError> {
        let parting = self.channel.read_packet(packet).await?;
        tally.bytes_received += packet.len() as u64 + 4;
        Ok(parting)
    }

    /// Reads one result; gives the status bits at its end.
    async fn read_one_captured(
        &mut self,
        tally: &mut Tally,
        result: &mut CapturedResult,
        known: &[ColumnFormat],
        packet: &mut Vec<u8>,
        reply: &mut StatementReply,
    ) -> Result<Result<u16, EventError>, ChannelError> {
        let parting = self.read_counted(tally, packet).await?;
        match packet.first() {
            Some(0x00) => {
                let ok = packet::parse_ok(packet)?;
                result.affected = ok.affected;
                reply.affected += ok.affected;
                reply.last_insert_id = ok.last_insert_id;
                reply.warnings = ok.warnings;
                return Ok(Ok(ok.status));
            }
            Some(0xFF) => return Ok(Err(self.note_error_packet(packet, parting))),
            Some(0xFB) => {
                self.channel.send_payload(&[]).await?;
                let why = "the server asked for a file that was not offered";
                return Err(ProtocolError(why).into());
            }
            _ => {}
        }
        let mut fields = FieldReader(packet);
        let count = fields.read_count()?;
        if !(1..=COLUMNS_MOST).contains(&count) {
            return Err(ProtocolError("impossible number of columns").into());
        }
        // MariaDB says whether it describes the columns of a prepared statement again.
        let is_described = fields.0.first() != Some(&0);
        if !is_described {
            if known.len() as u64 != count {
                return Err(ProtocolError("a result without its columns").into());
            }
            result.columns.extend_from_slice(known);
        }
        for _ in 0..if is_described { count } else { 0 } {
            self.read_counted(tally, packet).await?;
            result.columns.push(parse_column_format(packet)?);
            result.definitions.extend_from_slice(packet);
            result.definition_ends.push(result.definitions.len());
        }
        if is_described && !self.no_eof {
            self.read_counted(tally, packet).await?;
        }
        loop {
            self.read_counted(tally, packet).await?;
            match packet.first() {
                None => return Err(ProtocolError("an empty packet").into()),
                Some(0xFF) => return Ok(Err(self.note_error_packet(packet, false))),
                Some(&first) if packet::ends_rows(first, packet.len(), self.no_eof) => {
                    let end = match self.no_eof {
                        true => packet::parse_ok(packet)?,
                        false => packet::parse_eof(packet)?,
                    };
                    reply.warnings = end.warnings;
                    tally.counts[super::ROWS_COUNTER] += result.row_ends.len() as u64;
                    reply.rows += result.row_ends.len() as u64;
                    return Ok(Ok(end.status));
                }
                Some(_) => {
                    result.bytes.extend_from_slice(packet);
                    result.row_ends.push(result.bytes.len());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(columns: &[ColumnFormat], row: &[u8]) -> Vec<Option<String>> {
        let result = CapturedResult {
            columns: columns.to_vec(),
            binary: true,
            bytes: row.to_vec(),
            row_ends: vec![row.len()],
            ..CapturedResult::default()
        };
        let mut all = Vec::new();
        result.for_each_value(0, &mut |value| {
            all.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        });
        all
    }

    fn column(kind: u8, unsigned: bool, decimals: u8) -> ColumnFormat {
        ColumnFormat { kind, unsigned, decimals }
    }

    #[test]
    fn binary_values_read_as_their_text() {
        let columns = [
            column(0x01, false, 0),
            column(0x02, true, 0),
            column(0x03, false, 0),
            column(0x08, true, 0),
            column(0x05, false, 31),
            column(0xfd, false, 0),
            column(0x0c, false, 3),
            column(0x0b, false, 0),
            column(0x03, false, 0),
        ];
        let mut row = vec![0, 0, 0b0000_0100];
        row.extend([0xff]);
        row.extend(65_535u16.to_le_bytes());
        row.extend((-7i32).to_le_bytes());
        row.extend(u64::MAX.to_le_bytes());
        row.extend(0.5f64.to_le_bytes());
        row.extend([2, b'a', b'b']);
        row.extend([11, 0xe9, 0x07, 12, 31, 23, 59, 58]);
        row.extend(120_000u32.to_le_bytes());
        row.extend([8, 1, 1, 0, 0, 0, 2, 3, 4]);
        let shown = values(&columns, &row);
        let text: Vec<_> = shown.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        assert_eq!(
            text,
            [
                "-1",
                "65535",
                "-7",
                "18446744073709551615",
                "0.5",
                "ab",
                "2025-12-31 23:59:58.120",
                "-26:03:04",
                "NULL"
            ]
        );
    }

    #[test]
    fn a_row_that_ends_early_shows_what_it_has() {
        let columns = [column(0x03, false, 0), column(0x03, false, 0)];
        let row = [0, 0, 1, 0, 0, 0, 9];
        assert_eq!(values(&columns, &row), [Some("1".to_owned())]);
        assert!(values(&columns, &[]).is_empty());
    }
}
