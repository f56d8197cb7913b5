//! One connection: the control plane. Comfortable and blocking; a statement given up on is also ended on the server.

use std::io::Read;

use mysql_common::constants::Command;

use super::channel::Broken;
use super::pipe::Fault;
use super::wire::packet::{self, Fields, MORE_RESULTS};
use super::wire::reply::Scan;
use super::wire::{Malformed, encode};
use super::{Error, Reply, Session};
use crate::base::reactor::block_on;
use crate::recorder::{EventError, Tally};

/// Bytes of a file sent in one packet.
const PIECE: usize = 256 * 1024;
/// Columns that a result may have: no server has more.
const COLUMNS_MOST: u64 = 4096;
/// Memory that the rows of one result may take, bytes: far above any server's lists, far below what would hurt.
const HELD_MOST: usize = if cfg!(test) { 4 << 20 } else { 512 << 20 };

/// A row of a control-plane statement, as text; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// Told each row as it comes.
type Sink<'a> = &'a mut (dyn FnMut(Row) + Send);

/// Rows of a control-plane statement, as text.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Column names.
    pub columns: Vec<String>,
    /// Values; `None` is NULL.
    pub rows: Vec<Row>,
}

impl Rows {
    /// Where a column stands, by its name, whatever its case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
    /// A value as text; `None` where it is NULL or not there.
    pub fn text(&self, row: usize, column: usize) -> Option<String> {
        let value = self.rows.get(row)?.get(column)?.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

impl Session {
    /// Control plane, blocking: rows of one statement; of several results, the first that has columns.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn rows(&mut self, sql: &str) -> Result<Rows, Error> {
        self.check_blocking()?;
        let result = block_on(self.fetch(sql));
        self.after(result)
    }

    /// Control plane, blocking: tells each row of one statement as it comes, and keeps none.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn each_row(
        &mut self,
        sql: &str,
        on_row: &mut (dyn FnMut(Row) + Send),
    ) -> Result<(), Error> {
        self.check_blocking()?;
        let result = block_on(self.ask(sql, Some(on_row)));
        self.after(result).map(|_| ())
    }

    /// Control plane, blocking: first column of the first row.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn scalar(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.rows(sql)?.text(0, 0))
    }

    /// Control plane, blocking: a statement without rows.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn command(&mut self, sql: &str) -> Result<Reply, Error> {
        self.check_blocking()?;
        let result = block_on(self.execute(&mut Tally::default(), sql.as_bytes()));
        let result = result.map_err(|event| self.error(event));
        self.after(result)
    }

    /// Control plane, blocking: `LOAD DATA LOCAL INFILE` whose file is `data`. The only time a file is ever sent.
    /// Only sessions from `Target::connect` may; others get a server error.
    ///
    /// # Errors
    /// As [`Error`] tells apart. If `data` can't be read the connection is given up, so that
    /// the server keeps nothing of the half that it got.
    pub fn load_local(&mut self, sql: &str, data: &mut dyn Read) -> Result<Reply, Error> {
        self.check_blocking()?;
        let result = block_on(self.load(sql, data));
        self.after(result)
    }

    /// Rows of one statement, for a worker too; not for the hot path.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn fetch(&mut self, sql: &str) -> Result<Rows, Error> {
        self.ask(sql, None).await
    }

    async fn ask(&mut self, sql: &str, sink: Option<Sink<'_>>) -> Result<Rows, Error> {
        self.begin_limited().map_err(|event| self.error(event))?;
        let event = match self.exchange(sql, sink).await {
            Ok(Ok(rows)) => {
                self.end();
                return Ok(rows);
            }
            Ok(Err(event)) => event,
            Err(broken) => self.fail(&broken),
        };
        Err(self.error(event))
    }

    async fn exchange(
        &mut self,
        sql: &str,
        mut sink: Option<Sink<'_>>,
    ) -> Result<Result<Rows, EventError>, Broken> {
        let write =
            |out: &mut Vec<u8>| Ok(encode::command(out, Command::COM_QUERY, sql.as_bytes()));
        self.channel.send(write).await?;
        let mut rows = Rows::default();
        let mut packet = Vec::new();
        loop {
            let status = match self.result(&mut rows, &mut packet, &mut sink).await? {
                Ok(status) => status,
                Err(event) => return Ok(Err(event)),
            };
            if status & MORE_RESULTS == 0 {
                return Ok(Ok(rows));
            }
        }
    }

    /// Reads one result; gives the status bits at its end.
    async fn result(
        &mut self,
        rows: &mut Rows,
        packet: &mut Vec<u8>,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<Result<u16, EventError>, Broken> {
        let parting = self.channel.packet(packet).await?;
        match packet.first() {
            Some(0x00) => return Ok(Ok(packet::done(packet)?.status)),
            Some(0xFF) => return Ok(Err(self.refuse(packet, parting))),
            Some(0xFB) => {
                self.channel.answer(&[]).await?;
                return Err(Malformed("the server asked for a file nobody had offered").into());
            }
            _ => {}
        }
        let mut fields = Fields(packet);
        let count = fields.count()?;
        if fields.0.first() == Some(&0) {
            return Err(Malformed("a result without its columns").into());
        }
        let count = Some(count).filter(|count| (1..=COLUMNS_MOST).contains(count));
        let count = count.ok_or(Malformed("a number of columns is absurd"))? as usize;
        let mut result = Rows::default();
        for _ in 0..count {
            self.channel.packet(packet).await?;
            result.columns.push(packet::column_name(packet)?);
        }
        if !self.no_eof {
            self.channel.packet(packet).await?;
        }
        let mut held = 0;
        let status = loop {
            self.channel.packet(packet).await?;
            match packet.first() {
                None => return Err(Malformed("an empty packet").into()),
                Some(0xFF) => return Ok(Err(self.refuse(packet, false))),
                Some(&first) if packet::ends_rows(first, packet.len(), self.no_eof) => {
                    break match self.no_eof {
                        true => packet::done(packet)?.status,
                        false => packet::end(packet)?.status,
                    };
                }
                Some(_) => match sink {
                    Some(told) => told(packet::text_row(packet, count)?),
                    None => {
                        let row = packet::text_row(packet, count)?;
                        held += held_by(&row);
                        if held > HELD_MOST {
                            return Err(Malformed("a result is larger than any we ask for").into());
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

    async fn load(&mut self, sql: &str, data: &mut dyn Read) -> Result<Reply, Error> {
        self.begin().map_err(|event| self.error(event))?;
        let write =
            |out: &mut Vec<u8>| Ok(encode::command(out, Command::COM_QUERY, sql.as_bytes()));
        let mut tally = Tally::default();
        if let Err(broken) = self.channel.send(write).await {
            let event = self.fail(&broken);
            return Err(self.error(event));
        }
        let mut scan = Scan::new(self.channel.sequence, self.no_eof);
        match self.scan(&mut scan, &mut tally).await {
            Ok(false) => {}
            Ok(true) => return Ok(scan.reply()),
            Err(event) => return Err(self.error(event)),
        }
        self.channel.sequence = scan.sequence();
        let mut piece = vec![0; PIECE];
        loop {
            let count = match fill(data, &mut piece) {
                Ok(count) => count,
                Err(error) => {
                    self.channel.link.close();
                    self.fail(&Broken::Fault(Fault::Closed));
                    return Err(Error::Lost { why: format!("read the data: {error}"), code: 0 });
                }
            };
            if let Err(broken) = self.channel.answer(&piece[..count]).await {
                let event = self.fail(&broken);
                return Err(self.error(event));
            }
            if count == 0 {
                break;
            }
        }
        scan.resume(self.channel.sequence);
        match self.scan(&mut scan, &mut tally).await {
            Ok(true) => Ok(scan.reply()),
            Ok(false) => {
                let event = self.fail(&Malformed("the server asked for a second file").into());
                Err(self.error(event))
            }
            Err(event) => Err(self.error(event)),
        }
    }

    /// A blocking call on a reactor's session would never end.
    fn check_blocking(&self) -> Result<(), Error> {
        match self.channel.link.is_attached() {
            true => Err(Error::Protocol("a reactor's session can't block".into())),
            false => Ok(()),
        }
    }

    /// A server does not notice that we went away, so a statement given up on is ended there too.
    fn after<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
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
fn held_by(row: &Row) -> usize {
    let bytes: usize = row.iter().flatten().map(|value| value.len() + 16).sum();
    size_of::<Row>() + size_of_val(row.as_slice()) + bytes
}

/// Reads until the buffer is full or the data ends.
fn fill(data: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
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
