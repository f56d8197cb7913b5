//! One connection: the control plane. Comfortable and blocking; a statement given up on is also ended on the server.

use std::io::Read;

use super::packets::ChannelError;
use super::wire::constants::CommandByte;
use super::wire::packet::{self, FieldReader, MORE_RESULTS};
use super::wire::reply::ReplyScanner;
use super::wire::{ProtocolError, encode};
use super::{Error, Session, StatementReply};
use crate::base::reactor::block_on;
use crate::client::transport::TransportError;
use crate::recorder::{EventError, Tally};

/// Bytes of a file sent in one packet.
const PIECE: usize = 256 * 1024;
/// Columns that a result may have: no server has more.
const COLUMNS_MOST: u64 = 4096;
/// Memory that the rows of one result may take, bytes: far above any server's lists, far below what would hurt.
const HELD_MOST: usize = if cfg!(test) { 4 << 20 } else { 512 << 20 };

/// A row of a control-plane statement, as text; `None` is NULL.
pub type TextRow = Vec<Option<Vec<u8>>>;

/// Told each row as it comes.
type RowSink<'a> = &'a mut (dyn FnMut(TextRow) + Send);

/// Rows of a control-plane statement, as text.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// Column names.
    pub columns: Vec<String>,
    /// Values; `None` is NULL.
    pub rows: Vec<TextRow>,
}

impl ResultSet {
    /// Where a column stands, by its name, whatever its case.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
    /// A value as text; `None` where it is NULL or not there.
    pub fn text_value(&self, row: usize, column: usize) -> Option<String> {
        let value = self.rows.get(row)?.get(column)?.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

impl Session {
    /// Control plane, blocking: rows of one statement; of several results, the first that has columns.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn query_rows(&mut self, sql: &str) -> Result<ResultSet, Error> {
        self.check_blocking()?;
        let result = block_on(self.fetch_rows(sql));
        self.finish_blocking(result)
    }

    /// Control plane, blocking: tells each row of one statement as it comes, and keeps none.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn for_each_row(
        &mut self,
        sql: &str,
        on_row: &mut (dyn FnMut(TextRow) + Send),
    ) -> Result<(), Error> {
        self.check_blocking()?;
        let result = block_on(self.fetch_into(sql, Some(on_row)));
        self.finish_blocking(result).map(|_| ())
    }

    /// Control plane, blocking: first column of the first row.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn query_scalar(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.query_rows(sql)?.text_value(0, 0))
    }

    /// Control plane, blocking: a statement without rows.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn run_command(&mut self, sql: &str) -> Result<StatementReply, Error> {
        self.check_blocking()?;
        let result = block_on(self.execute(&mut Tally::default(), sql.as_bytes()));
        let result = result.map_err(|event| self.error_from_event(event));
        self.finish_blocking(result)
    }

    /// Control plane, blocking: `LOAD DATA LOCAL INFILE` whose file is `data`. The only time a file is ever sent.
    /// Only sessions from `Target::connect` may; others get a server error.
    ///
    /// # Errors
    /// As [`Error`] tells apart. If `data` can't be read the connection is given up, so that
    /// the server keeps nothing of the half that it got.
    pub fn load_local(&mut self, sql: &str, data: &mut dyn Read) -> Result<StatementReply, Error> {
        self.check_blocking()?;
        let result = block_on(self.send_local_data(sql, data));
        self.finish_blocking(result)
    }

    /// Rows of one statement, for a worker too; not for the hot path.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn fetch_rows(&mut self, sql: &str) -> Result<ResultSet, Error> {
        self.fetch_into(sql, None).await
    }

    async fn fetch_into(
        &mut self,
        sql: &str,
        sink: Option<RowSink<'_>>,
    ) -> Result<ResultSet, Error> {
        self.start_limited_statement().map_err(|event| self.error_from_event(event))?;
        let event = match self.exchange_query(sql, sink).await {
            Ok(Ok(rows)) => {
                self.end_statement();
                return Ok(rows);
            }
            Ok(Err(event)) => event,
            Err(broken) => self.mark_broken(&broken),
        };
        Err(self.error_from_event(event))
    }

    async fn exchange_query(
        &mut self,
        sql: &str,
        mut sink: Option<RowSink<'_>>,
    ) -> Result<Result<ResultSet, EventError>, ChannelError> {
        let write =
            |out: &mut Vec<u8>| Ok(encode::write_command(out, CommandByte::Query, sql.as_bytes()));
        self.channel.send_packets(write).await?;
        let mut rows = ResultSet::default();
        let mut packet = Vec::new();
        loop {
            let status = match self.read_result(&mut rows, &mut packet, &mut sink).await? {
                Ok(status) => status,
                Err(event) => return Ok(Err(event)),
            };
            if status & MORE_RESULTS == 0 {
                return Ok(Ok(rows));
            }
        }
    }

    /// Reads one result; gives the status bits at its end.
    async fn read_result(
        &mut self,
        rows: &mut ResultSet,
        packet: &mut Vec<u8>,
        sink: &mut Option<RowSink<'_>>,
    ) -> Result<Result<u16, EventError>, ChannelError> {
        let parting = self.channel.read_packet(packet).await?;
        match packet.first() {
            Some(0x00) => return Ok(Ok(packet::parse_ok(packet)?.status)),
            Some(0xFF) => return Ok(Err(self.note_error_packet(packet, parting))),
            Some(0xFB) => {
                self.channel.send_payload(&[]).await?;
                return Err(
                    ProtocolError("the server asked for a file that was not offered").into()
                );
            }
            _ => {}
        }
        let mut fields = FieldReader(packet);
        let count = fields.read_count()?;
        if fields.0.first() == Some(&0) {
            return Err(ProtocolError("a result without its columns").into());
        }
        let count = Some(count).filter(|count| (1..=COLUMNS_MOST).contains(count));
        let count = count.ok_or(ProtocolError("impossible number of columns"))? as usize;
        let mut result = ResultSet::default();
        for _ in 0..count {
            self.channel.read_packet(packet).await?;
            result.columns.push(packet::parse_column_name(packet)?);
        }
        if !self.no_eof {
            self.channel.read_packet(packet).await?;
        }
        let mut held = 0;
        let status = loop {
            self.channel.read_packet(packet).await?;
            match packet.first() {
                None => return Err(ProtocolError("an empty packet").into()),
                Some(0xFF) => return Ok(Err(self.note_error_packet(packet, false))),
                Some(&first) if packet::ends_rows(first, packet.len(), self.no_eof) => {
                    break match self.no_eof {
                        true => packet::parse_ok(packet)?.status,
                        false => packet::parse_eof(packet)?.status,
                    };
                }
                Some(_) => match sink {
                    Some(told) => told(packet::parse_text_row(packet, count)?),
                    None => {
                        let row = packet::parse_text_row(packet, count)?;
                        held += row_memory_bytes(&row);
                        if held > HELD_MOST {
                            return Err(
                                ProtocolError("a result is larger than any we ask for").into()
                            );
                        }
                        result.rows.push(row);
                    }
                },
            }
        };
        if rows.columns.is_empty() {
            *rows = result;
        }
        Ok(Ok(status))
    }

    async fn send_local_data(
        &mut self,
        sql: &str,
        data: &mut dyn Read,
    ) -> Result<StatementReply, Error> {
        self.start_statement().map_err(|event| self.error_from_event(event))?;
        let write =
            |out: &mut Vec<u8>| Ok(encode::write_command(out, CommandByte::Query, sql.as_bytes()));
        let mut tally = Tally::default();
        if let Err(broken) = self.channel.send_packets(write).await {
            let event = self.mark_broken(&broken);
            return Err(self.error_from_event(event));
        }
        let mut scan = ReplyScanner::new(self.channel.sequence, self.no_eof);
        match self.scan_reply(&mut scan, &mut tally).await {
            Ok(false) => {}
            Ok(true) => return Ok(scan.reply()),
            Err(event) => return Err(self.error_from_event(event)),
        }
        self.channel.sequence = scan.sequence();
        let mut piece = vec![0; PIECE];
        loop {
            let count = match fill_buffer(data, &mut piece) {
                Ok(count) => count,
                Err(error) => {
                    self.channel.transport.close();
                    self.mark_broken(&ChannelError::Fault(TransportError::Closed));
                    return Err(Error::Lost { why: format!("read the data: {error}"), code: 0 });
                }
            };
            if let Err(broken) = self.channel.send_payload(&piece[..count]).await {
                let event = self.mark_broken(&broken);
                return Err(self.error_from_event(event));
            }
            if count == 0 {
                break;
            }
        }
        scan.resume(self.channel.sequence);
        match self.scan_reply(&mut scan, &mut tally).await {
            Ok(true) => Ok(scan.reply()),
            Ok(false) => {
                let event =
                    self.mark_broken(&ProtocolError("the server asked for a second file").into());
                Err(self.error_from_event(event))
            }
            Err(event) => Err(self.error_from_event(event)),
        }
    }

    /// A blocking call on a reactor's session would never end.
    fn check_blocking(&self) -> Result<(), Error> {
        match self.channel.transport.is_attached() {
            true => Err(Error::Protocol("a reactor's session can't block".into())),
            false => Ok(()),
        }
    }

    /// A server does not notice that we went away, so a statement given up on is ended there too.
    fn finish_blocking<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) => self.target.note_answer(),
            Err(error) if error.is_given_up() => {
                let _ = self.target.kill_statement(self.id());
            }
            Err(_) => {}
        }
        result
    }
}

/// Memory of a row, with what its parts cost by themselves.
fn row_memory_bytes(row: &TextRow) -> usize {
    let bytes: usize = row.iter().flatten().map(|value| value.len() + 16).sum();
    size_of::<TextRow>() + size_of_val(row.as_slice()) + bytes
}

/// Reads until the buffer is full or the data ends.
fn fill_buffer(data: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match data.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
