//! What a capture script of the old kind asks: status, InnoDB's status and all sessions, whole and raw, in one go.

use std::sync::Arc;

use super::probed_server::cell_text;
use super::process::ThreadCpu;
use super::{ProbeError, ProbedServer, innodb, processlist, redact, status, variables};
use crate::base::{Nanos, Stop};
use crate::client::{ResultSet, Target};

/// Column of the processlist that holds statements.
const STATEMENT_COLUMN: &str = "Info";

/// Looks through a session of its own.
pub struct ClassicLooker {
    subject: ProbedServer,
    server_cpu: ThreadCpu,
    is_redacted: bool,
    /// Names of the probes whose looks are wanted; all if empty.
    probes: Vec<String>,
}

/// Column names and rows.
pub type ClassicTable = (Vec<String>, Vec<Vec<String>>);

/// One look; what nobody wanted is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicLook {
    /// Names and values of `SHOW GLOBAL STATUS`.
    pub status: Option<Vec<(String, String)>>,
    /// `SHOW ENGINE INNODB STATUS`; without rows where the account may not see it.
    pub innodb: Option<ClassicTable>,
    /// `SHOW FULL PROCESSLIST`.
    pub processlist: Option<ClassicTable>,
}

/// Probes that have a place in such a look.
pub const CLASSIC_PROBES: &[&str] = &[status::NAME, innodb::NAME, processlist::NAME];

impl ClassicLooker {
    /// For a server; values in statements are hidden if `is_redacted`, passwords in any case.
    pub fn new(target: &Target, abandon: &Stop, is_redacted: bool) -> ClassicLooker {
        let probes = Vec::new();
        let server_cpu = ThreadCpu::default();
        let subject = ProbedServer::new(Some(target), abandon, Arc::default());
        let subject = subject.with_thread_cpu(server_cpu.clone());
        ClassicLooker { subject, server_cpu, is_redacted, probes }
    }

    /// The same, which looks only as these probes would; all three if there are no names.
    #[must_use]
    pub fn with_probes(mut self, names: &[String]) -> ClassicLooker {
        self.probes = names.to_vec();
        self
    }

    fn wants(&self, name: &str) -> bool {
        self.probes.is_empty() || self.probes.iter().any(|known| known == name)
    }

    /// Names and values of `SHOW GLOBAL VARIABLES`, without passwords.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn read_variables(&mut self) -> Result<Vec<(String, String)>, ProbeError> {
        let rows = self.subject.query_rows(variables::SHOW)?;
        let pair = |row: &Vec<Option<Vec<u8>>>| {
            let name = cell_text(row.first());
            let value = variables::hide_secret(&name, cell_text(row.get(1)));
            (name, value)
        };
        Ok(rows.rows.iter().map(pair).collect())
    }

    /// CPU time of the server that looks took; `None` where that can't be seen.
    pub fn server_cpu(&self) -> Option<Nanos> {
        self.server_cpu.total()
    }

    /// One look, whole or not at all.
    ///
    /// # Errors
    /// When the server does not answer, or refuses its status.
    pub fn take_look(&mut self) -> Result<ClassicLook, ProbeError> {
        self.subject.start_tick();
        let mut look = ClassicLook::default();
        if self.wants(status::NAME) {
            let found = self.subject.query_rows(status::STATEMENT)?;
            let pair = |row: &Vec<Option<Vec<u8>>>| (cell_text(row.first()), cell_text(row.get(1)));
            look.status = Some(found.rows.iter().map(pair).collect());
        }
        if self.wants(innodb::NAME) {
            look.innodb = Some(self.read_innodb()?);
        }
        if self.wants(processlist::NAME) {
            look.processlist = Some(self.read_sessions()?);
        }
        self.subject.count_thread_cpu();
        Ok(look)
    }

    fn read_innodb(&mut self) -> Result<ClassicTable, ProbeError> {
        let mut found = match self.subject.query_rows(innodb::STATEMENT) {
            Err(ProbeError::ForGood(_)) => ResultSet::default(),
            seen => seen?,
        };
        for cell in found.rows.iter_mut().flatten().flatten() {
            let text = redact::redact_text(&String::from_utf8_lossy(cell));
            let text = if self.is_redacted { redact::hide_status_values(&text) } else { text };
            *cell = text.into_bytes();
        }
        Ok(text_table(&found))
    }

    fn read_sessions(&mut self) -> Result<ClassicTable, ProbeError> {
        let found = self.subject.query_rows("SHOW FULL PROCESSLIST")?;
        let info = found.column_index(STATEMENT_COLUMN);
        let (columns, mut rows) = text_table(&found);
        for info in rows.iter_mut().filter_map(|row| row.get_mut(info?)) {
            let text = redact::redact_text(info);
            *info = if self.is_redacted { redact::hide_values(&text) } else { text };
        }
        Ok((columns, rows))
    }

    /// Says good-bye to the server.
    pub fn close(mut self) {
        self.subject.close();
    }
}

/// A result as text; NULL reads so, as in the mysql clients.
fn text_table(result: &ResultSet) -> ClassicTable {
    let cell = |cell: &Option<Vec<u8>>| match cell {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    let rows = result.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    (result.columns.clone(), rows)
}
