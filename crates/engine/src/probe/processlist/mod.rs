//! Sessions that do something, without our own. Statements are cut at 500 characters and lose their
//! passwords.

use super::probed_server::cell_text;
use super::{
    Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule, innodb, redact,
};

/// What it is called in plans and samples.
pub const NAME: &str = "processlist";

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: NAME,
    about: "sessions that are not idle (needs PROCESS)",
    schedule: SamplingSchedule::Ticks(1),
    asks_server: true,
    needs_server: true,
    is_default: true,
    needed_grant: Some(super::PROCESS_GRANT),
    hide_values: Some(hide_statement_values),
    build: || Box::new(ProcesslistProbe { source: None }),
};

struct ProcesslistProbe {
    /// The statement that works here, once known.
    source: Option<String>,
}

/// Tables that list sessions, the one that holds no global lock first.
const SOURCES: &[&str] = &["performance_schema.processlist", "information_schema.PROCESSLIST"];

/// Column of the statement's text, the last.
const INFO: usize = 7;

impl ProcesslistProbe {
    /// Without PROCESS the server shows only the account's own sessions: half a list is worse than
    /// none. The server says it lacks only where it refuses something, so it is asked for something
    /// that needs it too.
    fn choose_statement(subject: &mut ProbedServer) -> Result<String, ProbeError> {
        subject.query_rows(innodb::STATEMENT)?;
        let mut why = ProbeError::ForGood("this server does not list its sessions".to_owned());
        for table in SOURCES {
            let own = format!("SELECT ID FROM {table} WHERE ID = CONNECTION_ID()");
            match subject.query_rows(&own) {
                Ok(rows) if !rows.rows.is_empty() => {
                    return Ok(format!(
                        "SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 500) INFO \
                         FROM {table} \
                         WHERE COMMAND NOT IN ('Sleep', 'Daemon') AND ID <> CONNECTION_ID()"
                    ));
                }
                // Performance schema off: the table is there and empty.
                Ok(_) => {}
                Err(e) => why = e,
            }
        }
        Err(why)
    }
}

/// Hides the values in statements.
fn hide_statement_values(values: &mut SampleValues) {
    let SampleValues::Table(_, rows) = values else { return };
    for info in rows.iter_mut().filter_map(|row| row.get_mut(INFO)) {
        *info = redact::hide_values(info);
    }
}

impl Probe for ProcesslistProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let statement = match &self.source {
            Some(statement) => statement.clone(),
            None => self.source.insert(ProcesslistProbe::choose_statement(subject)?).clone(),
        };
        let rows = subject.query_rows(&statement)?;
        let row = |cells: &Vec<Option<Vec<u8>>>| {
            let mut row: Vec<String> = cells.iter().map(|c| cell_text(Some(c))).collect();
            if let Some(info) = row.get_mut(INFO) {
                *info = redact::redact_line(info);
            }
            row
        };
        Ok(SampleValues::Table(rows.columns, rows.rows.iter().map(row).collect()))
    }
}
