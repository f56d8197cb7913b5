//! `bulk_insert`: each worker fills a table of its own with long INSERT statements. An event is one such statement.

use std::io::Write as _;

use anyhow::Context as _;

use crate::base::Stop;
use crate::client::{Session, Target};
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, EventError, EventOutcome, Tally};
use crate::workload::ErrorRule;
use crate::workload::fill::{self, ExpectedColumn};
use crate::workload::{
    BoxedWorker, DataJob, Endpoint, ErrorPolicy, JobProgress, OpenError, StatementPreview, Worker,
    WorkerContext, Workload, WorkloadKind, sql,
};

use super::errors;
use super::table;

const NAME: &str = "bulk_insert";
const COLUMNS: &[ExpectedColumn<'static>] = &[("id", "int", None), ("k", "int", None)];
/// Where cleanup looks for tables: as many as anybody could have had workers.
const MOST_TABLES: u64 = 10_000;

/// The kind `bulk_insert`.
pub struct BulkInsertKind;

impl WorkloadKind for BulkInsertKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "long INSERT statements, one table per worker"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let help = "length of one INSERT statement";
        vec![
            OptionSpec::new("statement-size", OptionKind::Size, "512KiB", help),
            OptionSpec::new(
                errors::OPTION,
                OptionKind::Text,
                "",
                "errors that restart events; others then end the load",
            ),
        ]
    }
    fn takes_several_servers(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let length = options.size("statement-size").map_or(512 << 10, |size| size.resolve_bytes(0));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(64..=1 << 30).contains(&length) {
            return Err(anyhow::Error::new(
                Mistake::new(
                    "--statement-size",
                    format!("{length} bytes is not between 64 bytes and 1 GiB"),
                )
                .hint("as in 512KiB"),
            ));
        }
        let error_rule = ErrorRule::from_option(
            errors::OPTION,
            options.text(errors::OPTION).unwrap_or_default(),
        )?;
        let target = endpoint.require_mysql()?.clone();
        Ok(Box::new(BulkInsertWorkload { target, length, error_rule }))
    }
}

struct BulkInsertWorkload {
    target: Target,
    /// Bytes of a statement.
    length: usize,
    error_rule: ErrorRule,
}

impl Workload for BulkInsertWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let text = Vec::with_capacity(self.length);
        Ok(Box::new(BulkInsertWorker { bulk: self, part, session: None, text, next: 1 }))
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        fill::current_database(&mut session)?;
        let first = table::table_names(1);
        let found = fill::read_columns(&mut session, &first)?;
        match found.get(&first[0]) {
            Some(columns) if fill::columns_match(columns, COLUMNS) => {
                let name = &first[0];
                let sql = format!("INSERT INTO {name} (id, k) SELECT 1, 1 FROM DUAL WHERE 1 = 0");
                match fill::check_write_access(&mut session, name, &[("INSERT", sql)])? {
                    Some(mistake) => Err(mistake.into()),
                    None => Ok(()),
                }
            }
            Some(columns) => Err(fill::column_mismatch(&first[0], columns, COLUMNS).into()),
            None => Err(anyhow::Error::new(
                Mistake::new(format!("table {}", first[0]), "does not exist")
                    .hint("sweat bench bulk_insert prepare, with the same --threads"),
            )),
        }
    }
    /// Makes an empty table for each session.
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        fill::current_database(&mut session)?;
        let names = table::table_names(job.threads as u64);
        let found = fill::read_columns(&mut session, &names)?;
        for (name, columns) in &found {
            if !fill::columns_match(columns, COLUMNS) {
                return Err(fill::column_mismatch(name, columns, COLUMNS).into());
            }
        }
        let total = names.len() as u64;
        for (done, name) in (1..).zip(&names) {
            let sql = format!(
                "CREATE TABLE IF NOT EXISTS {name} (id INTEGER NOT NULL, \
                 k INTEGER NOT NULL DEFAULT '0', PRIMARY KEY (id))"
            );
            session.run_command(&sql).with_context(|| format!("make table {name}"))?;
            let label = "make tables".to_owned();
            (job.progress)(JobProgress { label, done, total, unit: "tables" });
        }
        Ok(())
    }
    fn describe_statements(&self) -> StatementPreview {
        let table = "CREATE TABLE IF NOT EXISTS sbtestN, for each session".to_owned();
        let load = "INSERT INTO sbtestN (id, k) VALUES (?, ?), (?, ?), ...".to_owned();
        StatementPreview { prepare: vec![table], load: vec![load] }
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        table::drop_tables(&self.target, &table::table_names(MOST_TABLES), COLUMNS, job)
    }
}

/// One worker.
struct BulkInsertWorker<'a> {
    bulk: &'a BulkInsertWorkload,
    part: WorkerContext,
    session: Option<Session>,
    text: Vec<u8>,
    /// Id of the next row.
    next: u64,
}

impl BulkInsertWorker<'_> {
    /// Writes a statement full of new rows; gives the id that follows them.
    fn write_statement(&mut self) -> u64 {
        const LONGEST_ROW: usize = 24;
        let fits = "a vector takes all bytes";
        self.text.clear();
        write!(self.text, "INSERT INTO sbtest{} VALUES", self.part.worker + 1).expect(fits);
        let mut id = self.next;
        while self.text.len() + LONGEST_ROW <= self.bulk.length || id == self.next {
            let comma = if id == self.next { "" } else { "," };
            write!(self.text, "{comma}({id},{id})").expect(fits);
            id += 1;
        }
        id
    }
}

impl Worker for BulkInsertWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.session = None;
        let target = self.bulk.target.of_session(self.part.worker);
        let mut session = target.open_session(&self.part.abandon).await?;
        let table = self.part.worker + 1;
        let highest = session.fetch_rows(&format!("SELECT MAX(id) FROM sbtest{table}")).await?;
        let highest = highest.text_value(0, 0).and_then(|text| text.parse::<u64>().ok());
        self.next = highest.unwrap_or(0) + 1;
        self.session = Some(session);
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let next = self.write_statement();
        let session = self.session.as_mut().expect("open comes before any event");
        let error = match session.execute(tally, &self.text).await {
            Ok(_) => {
                tally.counts[sql::WRITES] += 1;
                self.next = next;
                None
            }
            Err(error) => Some(error),
        };
        EventOutcome { class: ClassId(0), error }
    }

    fn error_policy(&self, error: EventError) -> ErrorPolicy {
        self.bulk.error_rule.policy(error)
    }

    fn failure_text(&self, error: EventError) -> String {
        errors::describe_failure(error, self.error_text(), &String::from_utf8_lossy(&self.text))
    }

    fn error_text(&self) -> &str {
        self.session.as_ref().map_or("", Session::error_text)
    }

    async fn close(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.quit().await;
        }
    }
}
