//! Sessions that do something, without our own. Statements are cut at 500 characters and lose their
//! passwords.

use super::subject::text;
use super::{Kind, Missed, Probe, Subject, Values, innodb, redact};

/// The kind.
pub struct Processlist;

impl Kind for Processlist {
    fn name(&self) -> &'static str {
        "processlist"
    }
    fn about(&self) -> &'static str {
        "sessions that are not idle (needs PROCESS)"
    }
    fn asks_server(&self) -> bool {
        true
    }
    fn build(&self) -> Box<dyn Probe> {
        Box::new(Active { source: None })
    }
}

struct Active {
    /// The statement that works here, once known.
    source: Option<String>,
}

/// Tables that list sessions, the one that holds no global lock first.
const SOURCES: &[&str] = &["performance_schema.processlist", "information_schema.PROCESSLIST"];

/// Column of the statement's text, the last.
const INFO: usize = 7;

impl Active {
    /// Without PROCESS the server shows only the account's own sessions: half a list is worse than
    /// none. The server says it lacks only where it refuses something, so it is asked for something
    /// that needs it too.
    fn choose(subject: &mut Subject) -> Result<String, Missed> {
        subject.rows(innodb::STATEMENT)?;
        let mut why = Missed::ForGood("no list of sessions on this server".to_owned());
        for table in SOURCES {
            let own = format!("SELECT ID FROM {table} WHERE ID = CONNECTION_ID()");
            match subject.rows(&own) {
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

impl Probe for Active {
    fn sample(&mut self, subject: &mut Subject) -> Result<Values, Missed> {
        let statement = match &self.source {
            Some(statement) => statement.clone(),
            None => self.source.insert(Active::choose(subject)?).clone(),
        };
        let rows = subject.rows(&statement)?;
        let row = |cells: &Vec<Option<Vec<u8>>>| {
            let mut row: Vec<String> = cells.iter().map(|c| text(Some(c))).collect();
            if let Some(info) = row.get_mut(INFO) {
                *info = redact::line(info);
            }
            row
        };
        Ok(Values::Table(rows.columns, rows.rows.iter().map(row).collect()))
    }
}
