//! A log in a table, written out as a slow log's text into a file of our own, which is then shipped like any other.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::capture::table_log::{TableKind, TableLog};
use crate::capture::{DefaultDatabase, EventKind, LogFlow, LogRecord};
use crate::client::{Error, Session};

/// Bytes of the file at which another takes its place: readers who are behind have the old one open.
const MOST: u64 = 64 << 20;

/// A table's log and the file that it goes to.
pub struct Spool {
    log: TableLog,
    path: PathBuf,
    file: File,
    bytes: u64,
    text: Vec<u8>,
    database: Vec<u8>,
    gaps: u64,
}

impl Spool {
    /// Begins behind what is in the table now.
    ///
    /// # Errors
    /// When the table can't be read or the file can't be made.
    pub fn open(session: &mut Session, path: &Path) -> anyhow::Result<Spool> {
        let mut log = TableLog::open(session, TableKind::Slow)?;
        log.skip_to_end(session)?;
        Ok(Spool {
            log,
            path: path.to_owned(),
            file: create_file(path)?,
            bytes: 0,
            text: Vec::new(),
            database: Vec::new(),
            gaps: 0,
        })
    }

    /// What the table can't tell faithfully.
    pub fn caveat(&self) -> Option<&'static str> {
        self.log.caveat()
    }

    /// Times that rows were lost as the table was rotated or emptied.
    pub fn gap_count(&self) -> u64 {
        self.gaps
    }

    /// Takes what the table has; whether there is more at once.
    ///
    /// # Errors
    /// When the table can't be read or the file can't be written.
    pub fn poll_table(&mut self, session: &mut Session) -> Result<bool, SpoolError> {
        let Spool { log, text, database, .. } = self;
        let look = log.poll_rows(session, &mut |recorded: &LogRecord<'_>| {
            write_record(text, recorded, database);
            LogFlow::Continue(())
        })?;
        self.gaps += u64::from(look.has_gap);
        self.bytes += self.text.len() as u64;
        self.file.write_all(&self.text)?;
        self.text.clear();
        self.text.shrink_to(1 << 20);
        if self.bytes > MOST {
            // Who has it open reads it to its end; the new one has bytes only once the old one gets no more.
            std::fs::remove_file(&self.path)?;
            self.file = create_file(&self.path)?;
            self.bytes = 0;
            self.database.clear();
        }
        Ok(look.has_more)
    }
}

/// Why a look failed.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The server did not give its rows.
    #[error("{0}")]
    Server(#[from] Error),
    /// The file could not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What stands in the log is for nobody else.
fn create_file(path: &Path) -> io::Result<File> {
    File::options().append(true).create_new(true).mode(0o600).open(path)
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a record as MySQL's slow log has it.
fn write_record(out: &mut Vec<u8>, recorded: &LogRecord<'_>, database: &mut Vec<u8>) {
    let began_us = recorded.began_us.unwrap_or(0);
    let took_us = recorded.took_us.unwrap_or(0);
    let ended_us = began_us + took_us;
    let ended = humantime::format_rfc3339_micros(
        std::time::UNIX_EPOCH + std::time::Duration::from_micros(ended_us),
    );
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let _ = write!(out, "# Time: {ended}\n# User@Host: ");
    for part in [recorded.user, b"[", recorded.user, b"] @ ", recorded.host, b" []"] {
        out.extend(part.iter().filter(|byte| **byte != b'\n'));
    }
    let _ = write!(
        out,
        "  Id: {:>5}\n# Query_time: {}  Lock_time: {} Rows_sent: {}  Rows_examined: {}\n",
        recorded.session.unwrap_or(0),
        seconds(took_us),
        seconds(recorded.locked_us.unwrap_or(0)),
        recorded.rows_sent.unwrap_or(0),
        recorded.rows_examined.unwrap_or(0),
    );
    if let DefaultDatabase::Named(name) = recorded.database {
        if name != database.as_slice() {
            super::stream::write_use(out, name);
            database.clear();
            database.extend_from_slice(name);
        }
    }
    let _ = writeln!(out, "SET timestamp={};", began_us / 1_000_000);
    let is_command = !matches!(recorded.kind, EventKind::Statement | EventKind::Execute);
    if is_command {
        out.extend_from_slice(b"# administrator command: ");
        let name: &[u8] = match recorded.kind {
            EventKind::Quit => b"Quit",
            EventKind::InitDb => b"Init DB",
            EventKind::Connect => b"Connect",
            _ => recorded.text,
        };
        out.extend_from_slice(name);
    } else {
        out.extend_from_slice(recorded.text);
    }
    out.extend_from_slice(b";\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LogParser;

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let record = |n: u64, database, text| LogRecord {
            text,
            session: Some(n),
            user: b"u",
            host: b"h",
            database,
            began_us: Some(1_795_245_129_637_423),
            took_us: Some(1_500_000),
            locked_us: Some(7),
            rows_sent: Some(1),
            rows_examined: Some(2),
            ..LogRecord::default()
        };
        let given = [
            record(1, DefaultDatabase::Named(b"we ird; `db"), b"select ';\n# Time: x'".as_slice()),
            record(2, DefaultDatabase::Named(b"b"), b"select 2 -- x"),
        ];
        let (mut text, mut database) = (Vec::new(), Vec::new());
        given.iter().for_each(|recorded| write_record(&mut text, recorded, &mut database));
        let mut count = 0;
        let mut log = LogParser::default();
        log.read_source(&mut text.as_slice(), &mut |r| {
            let want = &given[count];
            assert_eq!((r.text, r.session, r.database), (want.text, want.session, want.database));
            assert_eq!((r.user, r.host, r.took_us), (want.user, want.host, want.took_us));
            assert_eq!((r.began_us, r.locked_us), (want.began_us, want.locked_us));
            count += 1;
            LogFlow::Continue(())
        })
        .unwrap();
        assert_eq!(count, 2);
    }
}
