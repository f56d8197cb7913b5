//! Statements by their digest, as a slow log tells of them: from where it ends now to where it will end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::digests::{DigestCounts, without_looks};
use crate::capture::table_log::{TableKind, TableLog};
use crate::capture::{
    DefaultDatabase, EventKind, LogError, LogFlow, LogParser, LogRecord, write_digest,
};
use crate::client::{self, Session};

/// A slow log, and the place in it from which on it is read.
pub enum LogDigests {
    /// The file.
    File(PathBuf, u64),
    /// The table `mysql.slow_log`.
    Table(Box<TableLog>),
}

impl LogDigests {
    /// From the present end of a file on.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn from_file(path: &Path) -> std::io::Result<LogDigests> {
        let end = File::open(path)?.seek(SeekFrom::End(0))?;
        Ok(LogDigests::File(path.to_owned(), end))
    }

    /// From the present end of the table on.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn from_table(session: &mut Session) -> Result<LogDigests, client::Error> {
        let mut table = TableLog::open(session, TableKind::Slow)?;
        table.skip_to_end(session)?;
        Ok(LogDigests::Table(Box::new(table)))
    }

    /// What it is, in words.
    pub fn source(&self) -> &'static str {
        match self {
            LogDigests::File(..) => "slow log",
            LogDigests::Table(_) => "mysql.slow_log",
        }
    }

    /// The statements up to its present end, the most frequent first. Only the table needs a session.
    ///
    /// # Errors
    /// Says in words why it can't be read.
    pub fn read_statements(
        self,
        connect: impl FnOnce() -> Result<Session, client::Error>,
    ) -> Result<Vec<DigestCounts>, String> {
        let mut found = DigestTable::default();
        let mut add = |record: &LogRecord<'_>| {
            found.add_record(record);
            LogFlow::Continue(())
        };
        match self {
            LogDigests::File(path, from) => read_file(&path, from, &mut add)
                .map_err(|e| format!("read {}: {e}", path.display()))?,
            LogDigests::Table(mut table) => {
                let mut session = connect().map_err(|e| e.to_string())?;
                while table.poll_rows(&mut session, &mut add).map_err(|e| e.to_string())?.has_more {
                }
            }
        }
        Ok(without_looks(found.0.into_values()))
    }
}

fn read_file(
    path: &Path,
    from: u64,
    on: &mut dyn FnMut(&LogRecord<'_>) -> LogFlow,
) -> Result<(), LogError> {
    let mut file = File::open(path)?;
    if file.seek(SeekFrom::End(0))? <= from {
        return Ok(());
    }
    file.seek(SeekFrom::Start(from))?;
    LogParser::new_attached().read_source(&mut file, on)
}

/// What was added up, by database and digest.
#[derive(Default)]
struct DigestTable(BTreeMap<(String, Vec<u8>), DigestCounts>);

impl DigestTable {
    /// Counts a statement that a client sent; what a stored program does is part of its `CALL`.
    fn add_record(&mut self, record: &LogRecord<'_>) {
        let is_sent = matches!(record.kind, EventKind::Statement | EventKind::Execute);
        if !is_sent || record.is_inner {
            return;
        }
        let schema = match record.database {
            DefaultDatabase::Named(name) => String::from_utf8_lossy(name).into_owned(),
            DefaultDatabase::Unknown | DefaultDatabase::None => String::new(),
        };
        let mut digest = Vec::new();
        write_digest(record.text, &mut digest);
        let text = String::from_utf8_lossy(&digest).into_owned();
        let sum = self.0.entry((schema.clone(), digest)).or_insert_with(|| DigestCounts {
            schema,
            text,
            ..DigestCounts::default()
        });
        let seconds = |us: Option<u64>| us.unwrap_or(0) as f64 / 1e6;
        sum.calls += 1;
        sum.rows_sent += record.rows_sent.unwrap_or(0);
        sum.rows_examined += record.rows_examined.unwrap_or(0);
        sum.rows_affected += record.rows_affected.unwrap_or(0);
        sum.seconds += seconds(record.took_us);
        sum.lock_seconds += seconds(record.locked_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_behind_the_place_are_added_up_by_digest() {
        let record = |text: &str, rows: u64| {
            format!(
                "# User@Host: app[app] @ localhost []  Id:     8\n\
                 # Query_time: 0.000250  Lock_time: 0.000050 Rows_sent: {rows}  \
                 Rows_examined: 20\nSET timestamp=1700000000;\n{text};\n"
            )
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let before = record("SELECT 1 FROM old", 1);
        std::fs::write(&path, &before).unwrap();
        let place = LogDigests::from_file(&path).unwrap();
        let nobody = || -> Result<Session, client::Error> { unreachable!("a file needs none") };
        let log = [
            before,
            record("SELECT a FROM t WHERE id = 1", 1),
            record("select a from t where id=2", 2),
            record("# administrator command: Quit", 0),
            record("SHOW GLOBAL STATUS", 400),
        ];
        std::fs::write(&path, log.concat()).unwrap();
        let found = place.read_statements(nobody).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        assert_eq!((&*one.text, one.calls), ("select a from t where id=?", 2));
        assert_eq!((one.rows_sent, one.rows_examined), (3, 40));
        assert!((one.seconds - 0.0005).abs() < 1e-9 && (one.lock_seconds - 0.0001).abs() < 1e-9);
        let nothing = LogDigests::from_file(&path).unwrap();
        assert_eq!(nothing.read_statements(nobody).unwrap(), []);
    }
}
