//! The schema with the tables that operations read: made for a run, removed with it. One that is not ours is left alone.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use super::settings::MicroSettings;
use super::template::{scatter_step, scattered};
use crate::base::Stop;
use crate::client::{self, Session, Target};
use crate::plan::{AddressPlan, RefusedError};
use crate::workload::{DataJob, JobProgress};

/// The table by which a schema of ours is known.
const MARK: &str = "_sweat_micro";
/// Rows of an INSERT.
const BATCH: u64 = 500;
/// How long the schema's removal waits for a session that still uses a table.
const LOCK_WAIT: &str = "SET SESSION lock_wait_timeout = 20";
/// How long the server may take to see that the session before has ended.
const ENDING_S: u32 = 3;
/// What an account that lacks a right is told.
const DENIED: [u16; 3] = [1044, 1142, 1227];

/// A table, and the values of its rows.
struct DataTable {
    name: &'static str,
    columns: &'static str,
    /// It has one row for so many of the largest table.
    one_in: u64,
    write_row: fn(id: u64, shape: RowPattern, out: &mut String),
}

/// What values of rows follow from.
#[derive(Clone, Copy)]
struct RowPattern {
    rows: u64,
    step: u64,
}

const TABLES: [DataTable; 3] = [
    DataTable {
        name: "t",
        columns: "id INT NOT NULL PRIMARY KEY, k INT NOT NULL, h INT NOT NULL, g INT NOT NULL, \
            v INT NOT NULL, c CHAR(30) NOT NULL, KEY k (k), KEY h (h)",
        one_in: 1,
        write_row: |id, shape, out| {
            let (k, v) = (
                scattered(id, shape.rows, shape.step),
                scattered(shape.rows - id + 1, shape.rows, shape.step),
            );
            let group = id % 100;
            let _ = write!(out, "({id},{k},{group},{group},{v},'row {id:026}')");
        },
    },
    DataTable {
        name: "u",
        columns: "id INT NOT NULL PRIMARY KEY, t_id INT NOT NULL, x_id INT NOT NULL",
        one_in: 10,
        write_row: |id, shape, out| {
            // Every second x_id is that of no row.
            let missing = if id % 2 == 0 { 0 } else { shape.rows };
            let _ = write!(out, "({id},{},{})", id * 10, id * 10 + missing);
        },
    },
    DataTable {
        name: "w",
        columns: "id INT NOT NULL PRIMARY KEY, u_id INT NOT NULL",
        one_in: 100,
        write_row: |id, _, out| {
            let _ = write!(out, "({id},{})", id * 10);
        },
    },
];

/// The schema of a run.
pub(super) struct MicroSchema {
    /// Without a default database.
    server: Target,
    name: String,
    engine: String,
    rows: u64,
    /// Whether this run made it, and has not removed it.
    is_made: AtomicBool,
}

impl MicroSchema {
    /// The schema that the settings name.
    ///
    /// # Errors
    /// When the address can't be resolved.
    pub(super) fn new(settings: &MicroSettings, target: &Target) -> anyhow::Result<MicroSchema> {
        let plan = AddressPlan { database: None, ..target.plan().clone() };
        Ok(MicroSchema {
            server: target.with_plan(&plan)?,
            name: settings.schema.clone(),
            engine: settings.engine.as_ref().map_or_else(String::new, |e| format!(" ENGINE={e}")),
            rows: settings.rows,
            is_made: AtomicBool::new(false),
        })
    }

    /// The server, with this schema as default.
    ///
    /// # Errors
    /// When the address can't be resolved.
    pub(super) fn target(&self) -> Result<Target, client::Error> {
        let database = Some(self.name.clone());
        self.server.with_plan(&AddressPlan { database, ..self.server.plan().clone() })
    }

    /// Whether it was made, and not removed since.
    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    /// The lock that whoever works in the schema holds: a session, so that it ends with it.
    pub(super) fn lock_statement(&self, wait_s: u32) -> String {
        format!("SELECT GET_LOCK('{MARK}.{}', {wait_s})", self.name)
    }

    /// What makes it, in SQL.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut all = vec![format!("CREATE SCHEMA {}", self.name)];
        all.extend(TABLES.iter().map(|table| self.create_statement(table)));
        all.push("CREATE TABLE m LIKE t".to_owned());
        all
    }

    fn create_statement(&self, table: &DataTable) -> String {
        format!("CREATE TABLE {} ({}){}", table.name, table.columns, self.engine)
    }

    /// Makes it and fills its tables; one that an ended run left behind is removed first.
    ///
    /// # Errors
    /// When there is one that is not ours or in use, or the server refuses.
    pub(super) fn make(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.remove()?;
        let mut session = self.open(job.stop)?;
        self.drop_left(&mut session)?;
        session
            .run_command(&format!("CREATE SCHEMA {}", self.name))
            .map_err(|error| self.explain_denied(error))?;
        self.is_made.store(true, Ordering::Release);
        let session = &mut session;
        let run = |session: &mut Session, sql: &str| -> anyhow::Result<()> {
            session.run_command(sql).with_context(|| sql.to_owned())?;
            Ok(())
        };
        run(session, &format!("USE {}", self.name))?;
        run(session, &format!("CREATE TABLE {MARK} (made_by_sweat_micro INT PRIMARY KEY)"))?;
        for table in &TABLES {
            run(session, &self.create_statement(table))?;
            self.fill(session, table, job)?;
        }
        if job.stop.is_set() {
            return Ok(());
        }
        run(session, "CREATE TABLE m LIKE t")?;
        run(session, "INSERT INTO m SELECT * FROM t")?;
        // Statistics that come later change plans between rounds.
        session.query_rows("ANALYZE TABLE t, u, w, m")?;
        Ok(())
    }

    fn fill(
        &self,
        session: &mut Session,
        table: &DataTable,
        job: &mut DataJob<'_>,
    ) -> anyhow::Result<()> {
        let total = self.rows / table.one_in;
        let shape = RowPattern { rows: self.rows, step: scatter_step(self.rows) };
        let (mut done, mut text) = (0, String::new());
        while done < total && !job.stop.is_set() {
            let last = (done + BATCH).min(total);
            text.clear();
            let _ = write!(text, "INSERT INTO {} VALUES ", table.name);
            for id in done + 1..=last {
                if id > done + 1 {
                    text.push(',');
                }
                (table.write_row)(id, shape, &mut text);
            }
            session.run_command(&text).with_context(|| format!("fill table {}", table.name))?;
            done = last;
            let label = format!("table {}", table.name);
            (job.progress)(JobProgress { label, done, total, unit: "rows" });
        }
        Ok(())
    }

    /// Removes it if this run made it.
    ///
    /// # Errors
    /// When the server does not let it go.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        if !self.is_made() {
            return Ok(());
        }
        // What ended the run does not end this.
        let mut session = self.server.connect(&Stop::new())?;
        session.allow_long_statements();
        self.drop_schema(&mut session)
    }

    /// Removes one that an ended run left behind.
    ///
    /// # Errors
    /// When it is not ours or in use, or the server refuses.
    pub(super) fn remove_left(&self, stop: &Stop) -> anyhow::Result<()> {
        self.remove()?;
        let mut session = self.open(stop)?;
        self.drop_left(&mut session)
    }

    /// A session that keeps others from the schema.
    fn open(&self, stop: &Stop) -> anyhow::Result<Session> {
        let mut session = self.server.connect(stop)?;
        session.allow_long_statements();
        match session.query_scalar(&self.lock_statement(ENDING_S))?.as_deref() {
            Some("1") => Ok(session),
            _ => Err(RefusedError(format!(
                "another sweat is measuring in the schema {} of this server\n\
                 hint: wait for it, or name another schema with --schema",
                self.name
            ))
            .into()),
        }
    }

    fn drop_left(&self, session: &mut Session) -> anyhow::Result<()> {
        let marks = format!("SHOW TABLES FROM {} LIKE '\\_sweat\\_micro'", self.name);
        match session.query_rows(&marks) {
            Err(client::Error::Server { code: 1049, .. }) => Ok(()),
            Ok(found) if found.rows.is_empty() => Err(RefusedError(format!(
                "the schema {} exists and was not made by `sweat micro`\n\
                 hint: name another one with --schema",
                self.name
            ))
            .into()),
            Ok(_) => self.drop_schema(session),
            Err(error) => Err(self.explain_denied(error)),
        }
    }

    fn drop_schema(&self, session: &mut Session) -> anyhow::Result<()> {
        session.run_command(LOCK_WAIT)?;
        let drop = format!("DROP SCHEMA IF EXISTS {}", self.name);
        session.run_command(&drop).with_context(|| {
            format!("remove the schema {}; `sweat bench micro cleanup` does it later", self.name)
        })?;
        self.is_made.store(false, Ordering::Release);
        Ok(())
    }

    /// What an account without the right needs.
    fn explain_denied(&self, error: client::Error) -> anyhow::Error {
        match error.server_code() {
            Some(code) if DENIED.contains(&code) => RefusedError(format!(
                "{error}\nhint: `GRANT ALL ON {}.* TO` this account, or name another account (-u)",
                self.name
            ))
            .into(),
            _ => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_of_a_table_are_a_permutation_and_half_of_the_joins_miss() {
        let shape = RowPattern { rows: 1_000, step: scatter_step(1_000) };
        let column = |table: &DataTable, id: u64, place: usize| -> u64 {
            let mut out = String::new();
            (table.write_row)(id, shape, &mut out);
            let values = out.trim_matches(['(', ')']).split(',').nth(place).unwrap().to_owned();
            values.parse().unwrap()
        };
        for place in [1, 4] {
            let keys: BTreeSet<u64> = (1..=1_000).map(|id| column(&TABLES[0], id, place)).collect();
            assert_eq!((keys.len(), keys.first(), keys.last()), (1_000, Some(&1), Some(&1_000)));
        }
        let found = (1..=100).filter(|id| column(&TABLES[1], *id, 2) <= 1_000).count();
        assert_eq!(found, 50);
        assert!((1..=10).all(|id| column(&TABLES[2], id, 1) <= 100));
    }
}
