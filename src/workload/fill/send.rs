//! Sends one piece of a table, by the fastest way the server takes.

use std::io::{self, Read};

use anyhow::{Context as _, bail};

use crate::base::Stop;
use crate::base::random::Rng;
use crate::target::Session;

use super::crew::{shuffle, span};
use super::sheet::{Form, Sheet};
use super::{PIECE, Route, Source};

/// Rows that are written at a time while a file is being sent: enough to fill the socket, and little memory.
const BATCH: usize = 500;

/// One session that sends pieces.
pub(super) struct Sender<'a> {
    pub(super) session: Session,
    source: &'a dyn Source,
    stop: &'a Stop,
    route: Route,
    sheet: Sheet,
    order: Vec<u32>,
}

impl<'a> Sender<'a> {
    pub(super) fn new(
        source: &'a dyn Source,
        route: Route,
        session: Session,
        stop: &'a Stop,
    ) -> Sender<'a> {
        let form = if route.load { Form::File } else { Form::Values };
        Sender { session, source, stop, route, sheet: Sheet::new(form), order: Vec::new() }
    }

    /// Sends a piece; `existed` means that a part of it may be there.
    pub(super) fn send(&mut self, table: usize, piece: u64, existed: bool) -> anyhow::Result<()> {
        let name = &self.source.tables()[table];
        let (first, length) = span(piece, self.source.rows());
        let last = first + length - 1;
        if existed {
            let sql = format!("DELETE FROM {name} WHERE id BETWEEN {first} AND {last}");
            self.session.command(&sql).with_context(|| format!("empty a part of {name}"))?;
        }
        self.arrange(table, piece, length as usize);
        let sent =
            if self.route.load { self.load(table, first) } else { self.insert(table, first) };
        let sent = sent.with_context(|| format!("fill {name}"))?;
        if sent != length {
            bail!("fill {name}: the server kept {sent} of {length} rows from id {first} on");
        }
        Ok(())
    }

    /// Sets the order in which the rows of a piece are sent; its highest id always comes last.
    fn arrange(&mut self, table: usize, piece: u64, length: usize) {
        self.order.clear();
        self.order.extend(0..length as u32);
        if self.source.shuffled() {
            let rng = &mut Rng::new(table as u64, piece, PIECE);
            shuffle(&mut self.order[..length - 1], rng);
        }
    }

    fn columns(&self) -> String {
        self.source.columns().iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(",")
    }

    fn load(&mut self, table: usize, first: u64) -> anyhow::Result<u64> {
        let name = &self.source.tables()[table];
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name} CHARACTER SET binary \
             FIELDS TERMINATED BY '\\t' ESCAPED BY '' LINES TERMINATED BY '\\n' ({})",
            self.columns()
        );
        let mut file = File {
            source: self.source,
            stop: self.stop,
            table,
            first,
            order: &self.order,
            sheet: &mut self.sheet,
            read: 0,
        };
        file.sheet.clear("");
        let reply = self.session.load_local(&sql, &mut file)?;
        Ok(reply.affected)
    }

    fn insert(&mut self, table: usize, first: u64) -> anyhow::Result<u64> {
        let name = &self.source.tables()[table];
        let head = format!("INSERT INTO {name} ({}) VALUES ", self.columns());
        // A row is far shorter than 4 KiB, so a statement that is cut at this length still fits the packet.
        let longest = (self.route.packet.min(4 << 20) as usize).saturating_sub(4096).max(1024);
        let mut sent = 0;
        let mut order = self.order.iter().peekable();
        self.session.command("BEGIN")?;
        while order.peek().is_some() {
            self.sheet.clear(&head);
            while self.sheet.bytes().len() < longest {
                let Some(offset) = order.next() else { break };
                let row = first + u64::from(*offset);
                self.sheet.begin();
                self.source.row(table, row, &mut self.sheet);
                self.sheet.end();
            }
            let sql = std::str::from_utf8(self.sheet.bytes()).context("rows are ASCII")?;
            sent += self.session.command(sql)?.affected;
        }
        self.session.command("COMMIT")?;
        Ok(sent)
    }
}

/// Rows of a piece as a file that is written while it is read.
struct File<'a> {
    source: &'a dyn Source,
    stop: &'a Stop,
    table: usize,
    first: u64,
    /// Offsets of the rows still to write.
    order: &'a [u32],
    sheet: &'a mut Sheet,
    /// Bytes of the sheet that were read.
    read: usize,
}

impl Read for File<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.sheet.bytes().len() {
            if self.stop.is_set() {
                return Err(io::Error::other("told to stop"));
            }
            let (now, later) = self.order.split_at(BATCH.min(self.order.len()));
            self.order = later;
            self.sheet.clear("");
            self.read = 0;
            for offset in now {
                self.sheet.begin();
                self.source.row(self.table, self.first + u64::from(*offset), self.sheet);
                self.sheet.end();
            }
        }
        let rest = &self.sheet.bytes()[self.read..];
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        self.read += length;
        Ok(length)
    }
}
