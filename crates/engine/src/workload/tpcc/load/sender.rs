//! Sends one unit as one transaction: as `LOAD DATA LOCAL` from memory, or as prepared INSERTs of many rows.
//!
//! Measured on a busy machine, server CPU seconds for one warehouse, LOAD DATA and INSERT: MariaDB 10.11 order_line 1.01 and
//! 1.06, stock 0.70 and 0.55, customer 0.37 and 0.29, item 0.27 and 0.25; MySQL 9 order_line 1.13 and 1.60, stock 0.70 and
//! 0.90, customer 0.44 and 0.60, item 0.31 and 0.39. The client takes 0.14 and 0.23 s for all. With `unique_checks=0` MariaDB
//! takes twice as long: its bulk load of an empty table.

use std::io::{self, Read};

use anyhow::{Context as _, bail};

use super::super::load_record::LoadRecord;
use super::super::options::LoadMethod;
use super::super::rows::{RowMaker, TabbedRows, ValueRows, group_count};
use super::super::schema::TpccTable;
use super::units::{LoadUnit, UnitStage};
use crate::base::Stop;
use crate::base::reactor::block_on;
use crate::client::{Error, PreparedStatement, Session};
use crate::recorder::Tally;
use crate::workload::fill::rows_per_insert;

/// Columns of the widest table, the customers.
const WIDEST_TABLE: usize = 21;
/// No row is longer than this, in bytes.
const LONGEST_ROW: u64 = 1024;
/// Bytes made at a time for `LOAD DATA`.
const PIECE: usize = 64 * 1024;
/// Tables that are mostly long texts.
const TEXT_TABLES: [TpccTable; 3] = [TpccTable::Item, TpccTable::Customer, TpccTable::Stock];
/// What servers say when a disk or a tablespace is full.
const FULL_CODES: [u16; 2] = [1021, 1114];
/// The same in the text of other errors.
const FULL_WORDS: [&str; 2] = ["No space left", "error 28"];

/// How rows may travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MethodRule {
    asked: Option<LoadMethod>,
    /// Whether the server takes `LOAD DATA LOCAL`.
    is_local_allowed: bool,
    inserts_texts_cheaper: bool,
}

impl MethodRule {
    /// As asked, or else the cheapest that the server allows.
    fn choose_method(self, table: TpccTable) -> LoadMethod {
        let by_text = self.inserts_texts_cheaper && TEXT_TABLES.contains(&table);
        match self.asked {
            Some(method) => method,
            None if self.is_local_allowed && !by_text => LoadMethod::LoadData,
            None => LoadMethod::Insert,
        }
    }
}

/// One session that sends units.
pub(super) struct UnitSender<'a> {
    pub(super) session: Session,
    rule: MethodRule,
    maker: RowMaker,
    stop: &'a Stop,
    /// Rows of one INSERT.
    batch: usize,
    /// The INSERT of a whole batch at hand, and its table.
    insert: Option<(TpccTable, PreparedStatement)>,
    values: ValueRows,
}

impl<'a> UnitSender<'a> {
    pub(super) fn new(
        mut session: Session,
        asked: Option<LoadMethod>,
        record: &LoadRecord,
        stop: &'a Stop,
    ) -> anyhow::Result<UnitSender<'a>> {
        let batch = rows_per_insert(&mut session, WIDEST_TABLE, LONGEST_ROW)?;
        let allowed = session.query_scalar("SELECT @@local_infile");
        let allowed = allowed.context("ask whether LOAD DATA LOCAL is allowed")?;
        let rule = MethodRule {
            asked,
            is_local_allowed: allowed.as_deref() == Some("1"),
            inserts_texts_cheaper: session.identity().inserts_texts_cheaper(),
        };
        // Spares the server a conversion of each text.
        session.run_command("SET NAMES binary").context("set the session's character set")?;
        let maker = RowMaker::new(record.clone());
        let values = ValueRows::default();
        Ok(UnitSender { session, rule, maker, stop, batch, insert: None, values })
    }

    /// Loads a unit; `on_rows` hears how many rows have been made so far.
    pub(super) fn load_unit(
        &mut self,
        unit: LoadUnit,
        state: UnitStage,
        on_rows: &mut dyn FnMut(u64),
    ) -> anyhow::Result<()> {
        self.run_unit(unit, state, on_rows).map_err(|error| {
            let code = error.downcast_ref::<Error>().and_then(Error::server_code);
            let text = error.to_string();
            let is_full = code.is_some_and(|code| FULL_CODES.contains(&code))
                || FULL_WORDS.iter().any(|words| text.contains(words));
            let what = format!("load {}", unit.describe_unit());
            match is_full {
                false => error.context(what),
                true => error.context(format!(
                    "{what}: the server has no room left; finished units are kept\n\
                     hint: make room, then run prepare again: it goes on with this unit"
                )),
            }
        })
    }

    fn run_unit(
        &mut self,
        unit: LoadUnit,
        state: UnitStage,
        on_rows: &mut dyn FnMut(u64),
    ) -> anyhow::Result<()> {
        let [begin, lock, finish] = unit.mark_sql();
        self.session.run_command(&begin)?;
        self.session.run_command("BEGIN")?;
        if self.session.query_scalar(&lock)?.as_deref() == Some("1") {
            // Another program has loaded it in the meantime.
            self.session.run_command("ROLLBACK")?;
            return Ok(());
        }
        if state == UnitStage::Begun {
            self.empty_unit(unit)?;
        }
        let (sent, kept) = match self.rule.choose_method(unit.table) {
            LoadMethod::LoadData => self.load_rows(unit, on_rows)?,
            LoadMethod::Insert => self.insert_rows(unit, on_rows)?,
        };
        if kept != sent {
            bail!("the server kept {kept} of {sent} rows");
        }
        self.session.run_command(&finish)?;
        self.session.run_command("COMMIT")?;
        Ok(())
    }

    /// Takes out what there may be of a unit. Deleting nothing would still lock the place, for the others too.
    fn empty_unit(&mut self, unit: LoadUnit) -> Result<(), Error> {
        let from = format!("FROM {} WHERE {}", unit.table.shape().name, unit.row_condition());
        if self.session.query_scalar(&format!("SELECT 1 {from} LIMIT 1"))?.is_some() {
            self.session.run_command(&format!("DELETE {from}"))?;
        }
        Ok(())
    }

    fn column_list(table: TpccTable) -> String {
        let columns: Vec<_> = table.shape().columns.iter().map(|(name, _)| *name).collect();
        columns.join(",")
    }

    /// Rows sent and rows kept.
    fn load_rows(
        &mut self,
        unit: LoadUnit,
        on_rows: &mut dyn FnMut(u64),
    ) -> anyhow::Result<(u64, u64)> {
        let name = unit.table.shape().name;
        let sql = format!(
            "LOAD DATA LOCAL INFILE '{name}' INTO TABLE {name} CHARACTER SET binary ({})",
            Self::column_list(unit.table)
        );
        let mut rows = UnitRows::new(&mut self.maker, unit, self.stop, on_rows);
        let kept = self.session.load_local(&sql, &mut rows)?.affected;
        Ok((rows.rows, kept))
    }

    fn insert_rows(
        &mut self,
        unit: LoadUnit,
        on_rows: &mut dyn FnMut(u64),
    ) -> anyhow::Result<(u64, u64)> {
        let columns = unit.table.shape().columns.len();
        let (mut held, mut sent, mut kept) = (0, 0, 0);
        let groups = group_count(unit.table);
        self.values.clear_rows();
        for group in 0..groups {
            held += self.maker.write_group(unit.table, unit.warehouse, group, &mut self.values)
                as usize;
            while held >= self.batch || (group + 1 == groups && held > 0) {
                let rows = held.min(self.batch);
                kept += self.insert_batch(unit.table, rows)?;
                self.values.drop_cells(rows * columns);
                held -= rows;
                sent += rows as u64;
                on_rows(sent);
            }
        }
        Ok((sent, kept))
    }

    /// Inserts the first rows at hand; gives how many the server took.
    fn insert_batch(&mut self, table: TpccTable, rows: usize) -> Result<u64, Error> {
        let is_whole = rows == self.batch;
        let statement = match self.insert {
            Some((of, statement)) if is_whole && of == table => statement,
            _ => {
                let statement = self.prepare_insert(table, rows)?;
                if is_whole {
                    if let Some((_, old)) = self.insert.replace((table, statement)) {
                        block_on(self.session.close_statement(old))?;
                    }
                }
                statement
            }
        };
        let values = self.values.parameter_values();
        let values = &values[..rows * table.shape().columns.len()];
        let done =
            block_on(self.session.execute_prepared(&mut Tally::default(), &statement, values));
        let kept = done.map_err(|event| self.session.error_from_event(event))?.affected;
        if !is_whole {
            block_on(self.session.close_statement(statement))?;
        }
        Ok(kept)
    }

    fn prepare_insert(
        &mut self,
        table: TpccTable,
        rows: usize,
    ) -> Result<PreparedStatement, Error> {
        let row = format!("({})", vec!["?"; table.shape().columns.len()].join(","));
        let sql = format!(
            "INSERT INTO {} ({}) VALUES {}",
            table.shape().name,
            Self::column_list(table),
            vec![row; rows].join(",")
        );
        block_on(self.session.prepare(&sql))
    }
}

/// The rows of a unit as a file that is made while it is read.
pub(super) struct UnitRows<'a> {
    maker: &'a mut RowMaker,
    unit: LoadUnit,
    stop: &'a Stop,
    on_rows: &'a mut dyn FnMut(u64),
    tabbed: TabbedRows,
    /// Bytes of `tabbed` that were read.
    read: usize,
    next_group: u32,
    /// Rows made so far.
    pub(super) rows: u64,
}

impl<'a> UnitRows<'a> {
    pub(super) fn new(
        maker: &'a mut RowMaker,
        unit: LoadUnit,
        stop: &'a Stop,
        on_rows: &'a mut dyn FnMut(u64),
    ) -> UnitRows<'a> {
        let tabbed = TabbedRows::default();
        UnitRows { maker, unit, stop, on_rows, tabbed, read: 0, next_group: 0, rows: 0 }
    }

    fn make_piece(&mut self) -> io::Result<()> {
        if self.stop.is_set() {
            return Err(io::Error::other("stopped"));
        }
        self.tabbed.bytes.clear();
        self.read = 0;
        let LoadUnit { table, warehouse } = self.unit;
        while self.next_group < group_count(table) && self.tabbed.bytes.len() < PIECE {
            let sink = &mut self.tabbed;
            let rows = self.maker.write_group(table, warehouse, self.next_group, sink);
            self.rows += u64::from(rows);
            self.next_group += 1;
        }
        (self.on_rows)(self.rows);
        Ok(())
    }
}

impl Read for UnitRows<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.tabbed.bytes.len() {
            self.make_piece()?;
        }
        let count = out.len().min(self.tabbed.bytes.len() - self.read);
        out[..count].copy_from_slice(&self.tabbed.bytes[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_travel_as_asked_or_as_is_cheapest() {
        let rule = |asked, is_local_allowed, inserts_texts_cheaper| MethodRule {
            asked,
            is_local_allowed,
            inserts_texts_cheaper,
        };
        let both = |rule: MethodRule| {
            [TpccTable::Stock, TpccTable::OrderLine].map(|table| rule.choose_method(table))
        };
        use LoadMethod::{Insert, LoadData};
        assert_eq!(both(rule(None, true, true)), [Insert, LoadData]);
        assert_eq!(both(rule(None, true, false)), [LoadData, LoadData]);
        assert_eq!(both(rule(None, false, false)), [Insert, Insert]);
        assert_eq!(both(rule(Some(LoadData), false, true)), [LoadData, LoadData]);
        assert_eq!(both(rule(Some(Insert), true, false)), [Insert, Insert]);
    }
}
