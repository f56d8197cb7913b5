//! The logs in tables, `mysql.slow_log` and `mysql.general_log`, over SQL: where nobody may read the server's files.
//!
//! The tables are CSV: rows stand in the order they were written, there is no key, and times neither rise nor differ.
//! So the place is a number of rows and a hash of the last one read: each look begins with that row, and if it is another
//! one the table was rotated. Then the rest is looked for in the table's copies by name, `slow_log_backup` and such.

mod row;

use crate::client::{Error, ServerProduct, Session};

use super::session_databases::SessionDatabases;
use super::{LogFlow, LogRecord};

/// Rows of one look.
const CHUNK: usize = 10_000;
/// Stands in our statements, so that we know them in the log.
const MARK: &str = "/* sweat reads the log */";

/// Which of the two logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// `mysql.slow_log`.
    Slow,
    /// `mysql.general_log`.
    General,
}

impl TableKind {
    fn table_name(self) -> &'static str {
        match self {
            TableKind::Slow => "slow_log",
            TableKind::General => "general_log",
        }
    }
}

/// How far a table was read. As text to be kept, it is two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TablePosition {
    rows: u64,
    last: u64,
}

impl std::fmt::Display for TablePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.rows, self.last)
    }
}

impl TablePosition {
    /// What was kept as text; `None` if it is none.
    pub fn parse(text: &str) -> Option<TablePosition> {
        let (rows, last) = text.split_once('-')?;
        Some(TablePosition { rows: rows.parse().ok()?, last: u64::from_str_radix(last, 16).ok()? })
    }
}

/// What a look at the table came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollSummary {
    /// Records given.
    pub records: u64,
    /// Whether there are more rows at once.
    pub has_more: bool,
    /// Whether the table was rotated or emptied since the look before.
    pub was_rotated: bool,
    /// Whether rows were lost by that: the table that held them is not there any more.
    pub has_gap: bool,
}

/// A log in a table.
pub struct TableLog {
    kind: TableKind,
    place: TablePosition,
    columns: row::LogColumns,
    databases: SessionDatabases,
    /// Sessions of ours, whose own statements are no part of the log.
    own: Vec<u64>,
    is_mariadb: bool,
}

impl TableLog {
    /// Opens the log at its begin.
    ///
    /// # Errors
    /// When the table can't be read.
    pub fn open(session: &mut Session, kind: TableKind) -> Result<TableLog, Error> {
        let table =
            session.query_rows(&format!("SHOW COLUMNS FROM mysql.{}", kind.table_name()))?;
        let names: Vec<String> =
            (0..table.rows.len()).filter_map(|n| table.text_value(n, 0)).collect();
        let is_mariadb = session.identity().product == ServerProduct::MariaDb;
        let mut log = TableLog {
            kind,
            place: TablePosition::default(),
            columns: row::LogColumns::new(kind, &names),
            databases: SessionDatabases::default(),
            own: Vec::new(),
            is_mariadb,
        };
        log.note_own_session(session);
        Ok(log)
    }

    /// Goes to the end of the table: only what comes from now on is given.
    ///
    /// # Errors
    /// When the table can't be read.
    pub fn skip_to_end(&mut self, session: &mut Session) -> Result<(), Error> {
        let sql = format!("SELECT {MARK} COUNT(*) FROM mysql.{}", self.kind.table_name());
        let count = session.query_scalar(&sql)?.and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        let last = match count {
            0 => None,
            _ => self.fetch_rows(session, self.kind.table_name(), count - 1, 1)?.pop(),
        };
        let last = last.map_or(0, |row| row::hash_row(&row));
        self.place = TablePosition { rows: count, last };
        Ok(())
    }

    /// Goes to a place that was kept.
    pub fn resume_at(&mut self, place: TablePosition) {
        self.place = place;
    }

    /// How far the table was read, to go on there later.
    pub fn current_position(&self) -> TablePosition {
        self.place
    }

    /// What the log can't tell faithfully on a server.
    pub fn caveat(&self) -> Option<&'static str> {
        self.is_mariadb.then_some(
            "MariaDB keeps statements in this table as utf8mb3: four-byte characters and bytes \
             that are not text differ from what was sent",
        )
    }

    /// Gives what was written since the last look. The session may be another one each time.
    ///
    /// # Errors
    /// When the table can't be read; the place stays, and what was given is not given again.
    pub fn poll_rows(
        &mut self,
        session: &mut Session,
        on: &mut dyn FnMut(&LogRecord<'_>) -> LogFlow,
    ) -> Result<PollSummary, Error> {
        self.note_own_session(session);
        let mut look = PollSummary::default();
        let name = self.kind.table_name();
        if let Some(rows) = self.fetch_new_rows(session, name)? {
            let _ = self.emit_rows(&rows, &mut look, on);
            return Ok(look);
        }
        look.was_rotated = true;
        match self.fetch_rotated_rows(session)? {
            Some(rows) => {
                if self.emit_rows(&rows, &mut look, on).is_break() || look.has_more {
                    return Ok(look);
                }
            }
            None => look.has_gap = true,
        }
        self.place = TablePosition::default();
        let rows = self.fetch_rows(session, name, 0, CHUNK)?;
        let _ = self.emit_rows(&rows, &mut look, on);
        Ok(look)
    }

    /// The rows behind our place in a table; `None` if this is not the table that the place is in.
    fn fetch_new_rows(
        &self,
        session: &mut Session,
        table: &str,
    ) -> Result<Option<Vec<row::LogRow>>, Error> {
        let Some(from) = self.place.rows.checked_sub(1) else {
            return self.fetch_rows(session, table, 0, CHUNK).map(Some);
        };
        let mut rows = self.fetch_rows(session, table, from, CHUNK + 1)?;
        let is_ours = rows.first().is_some_and(|row| row::hash_row(row) == self.place.last);
        Ok(is_ours.then(|| {
            rows.remove(0);
            rows
        }))
    }

    /// The rows behind our place in whatever table it is in now.
    fn fetch_rotated_rows(&self, session: &mut Session) -> Result<Option<Vec<row::LogRow>>, Error> {
        let name = self.kind.table_name();
        let copies = session.query_rows(&format!(
            "SELECT {MARK} TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' \
             AND TABLE_NAME LIKE '%{name}%' AND TABLE_NAME <> '{name}'"
        ))?;
        for place in 0..copies.rows.len() {
            let Some(copy) = copies.text_value(place, 0) else { continue };
            match self.fetch_new_rows(session, &copy) {
                Ok(Some(rows)) => return Ok(Some(rows)),
                // Another table with such a name.
                Err(Error::Server { .. }) | Ok(None) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    fn fetch_rows(
        &self,
        session: &mut Session,
        table: &str,
        from: u64,
        count: usize,
    ) -> Result<Vec<row::LogRow>, Error> {
        let columns = self.columns.select_list();
        let table = table.replace('`', "``");
        let sql = format!("SELECT {MARK} {columns} FROM mysql.`{table}` LIMIT {from}, {count}");
        Ok(session.query_rows(&sql)?.rows)
    }

    /// Gives rows until `on` has enough.
    fn emit_rows(
        &mut self,
        rows: &[row::LogRow],
        look: &mut PollSummary,
        on: &mut dyn FnMut(&LogRecord<'_>) -> LogFlow,
    ) -> LogFlow {
        for row in rows {
            self.place = TablePosition { rows: self.place.rows + 1, last: row::hash_row(row) };
            let mut recorded = self.columns.to_record(row, self.place.rows, self.is_mariadb);
            let is_own = recorded.session.is_some_and(|id| self.own.contains(&id));
            if is_own || memchr::memmem::find(recorded.text, MARK.as_bytes()).is_some() {
                continue;
            }
            if self.kind == TableKind::General {
                self.databases.fill_record(&mut recorded, row::command_argument(row));
            }
            look.records += 1;
            if on(&recorded).is_break() {
                look.has_more = true;
                return LogFlow::Break(());
            }
        }
        look.has_more = rows.len() >= CHUNK;
        LogFlow::Continue(())
    }

    /// Takes note of a session of ours, and keeps what it does out of the log where it may: this is a setting of that
    /// session only.
    fn note_own_session(&mut self, session: &mut Session) {
        if self.own.contains(&session.id()) {
            return;
        }
        self.own.push(session.id());
        if self.own.len() > MOST_OWN {
            self.own.remove(0);
        }
        let _ = session.run_command(quiet_statement(self.kind));
    }
}

/// Sessions of ours that are kept in mind.
const MOST_OWN: usize = 1_000;

fn quiet_statement(kind: TableKind) -> &'static str {
    match kind {
        TableKind::Slow => "SET SESSION long_query_time = 31536000",
        // Needs a privilege that a reader of logs need not have.
        TableKind::General => "SET SESSION sql_log_off = 1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_kept_as_text() {
        let place = TablePosition { rows: 17, last: 0xfeed };
        assert_eq!(TablePosition::parse(&place.to_string()), Some(place));
        for wrong in ["", "17", "x-1", "1-g", "-"] {
            assert_eq!(TablePosition::parse(wrong), None, "{wrong}");
        }
    }
}
