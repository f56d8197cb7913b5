//! Point lookups by a random string: the workload that shows what a warm pool is worth.
//! Never knows: whether the pool is warm.

mod table;

pub use table::{LookupTable, TABLE};

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context as _;

use crate::base::random::Rng;
use crate::base::units::ByteSize;
use crate::base::{Nanos, Stop};
use crate::client::{ParameterValue, PreparedStatement, Session, Target};
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, EventOutcome, KeyChoice, Tally, WorkloadFacts};

use super::{
    BoxedWorker, DataJob, Endpoint, OpenError, StatementPreview, Worker, WorkerContext, Workload,
    WorkloadKind, fill, sql,
};

const NAME: &str = "lookup";

/// The kind `lookup`.
pub struct LookupKind;

impl WorkloadKind for LookupKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "look up rows of a large table by an indexed string"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        use OptionKind::{Count, Size, Switch, Text};
        let spec = OptionSpec::new;
        vec![
            spec("rows", Count, "", "rows in the table (instead of --size)"),
            spec("size", Size, "2x-pool", "size of the table on disk"),
            spec("aged", Switch, "on", "scatter pages on disk, like a table long in use"),
            spec("data-seed", Count, "1", "seed of the data: the same for prepare and run"),
            spec("lookups", Count, "0", "look up N different rows once, then end; 0: no end"),
            spec("newest", Count, "0", "look up only the N newest rows; 0: all rows"),
            spec("lookups-file", Text, "", "prepare writes the --lookups statements here"),
        ]
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        let amounts = ["rows", "lookups"].map(|name| (name.to_owned(), options.count(name)));
        WorkloadFacts {
            one_row_per_read: true,
            keys: Some(KeyChoice::Even),
            rows: Some(options.count("rows")).filter(|rows| *rows > 0),
            amounts: amounts.into_iter().filter(|(_, amount)| *amount > 0).collect(),
            ..WorkloadFacts::default()
        }
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        let rows = options.text("rows").map(|_| options.count("rows"));
        if let Some(rows) = rows {
            if !(1..=i32::MAX as u64).contains(&rows) {
                return Err(anyhow::Error::new(Mistake::new(
                    "--rows",
                    format!("{rows} is not between 1 and {}", i32::MAX),
                )));
            }
        }
        Ok(Box::new(LookupWorkload {
            target,
            rows,
            size: options.size("size").unwrap_or(ByteSize::TimesPool(2.0)),
            aged: options.switch("aged"),
            seed: options.count("data-seed"),
            lookups: options.count("lookups"),
            newest: options.count("newest"),
            file: options.text("lookups-file").map(PathBuf::from),
            list: OnceLock::new(),
        }))
    }
}

struct LookupWorkload {
    target: Target,
    rows: Option<u64>,
    size: ByteSize,
    aged: bool,
    seed: u64,
    /// How many rows are looked up; 0 for any, on and on.
    lookups: u64,
    /// Of how many rows, the newest; 0 for all.
    newest: u64,
    file: Option<PathBuf>,
    /// The rows that are looked up, once it is known how many there are.
    list: OnceLock<Vec<u64>>,
}

impl LookupWorkload {
    /// The rows that are looked up, of so many.
    fn lookup_rows(&self, rows: u64) -> &[u64] {
        let older = rows - self.candidate_rows(rows);
        let draw = || table::draw_rows(rows - older, self.lookups, self.seed);
        self.list.get_or_init(|| draw().into_iter().map(|row| older + row).collect())
    }

    /// Of how many rows, the newest ones, lookups are made.
    fn candidate_rows(&self, rows: u64) -> u64 {
        if self.newest == 0 { rows } else { self.newest.min(rows) }
    }

    /// Writes the statements of `--lookups`, one on a line.
    fn write_lookups(&self, rows: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut statement = Vec::new();
        for row in self.lookup_rows(rows) {
            table::write_lookup(self.seed, *row, &mut statement);
            statement.extend_from_slice(b";\n");
            out.write_all(&statement)?;
        }
        out.flush()
    }

    /// How many rows there are.
    fn count_rows(session: &mut Session) -> anyhow::Result<u64> {
        let highest = session.query_scalar(&format!("SELECT MAX(id) FROM {TABLE}"))?;
        Ok(highest.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The table as asked for; the server knows how large its pool is.
    fn resolve_table(&self, session: &mut Session) -> anyhow::Result<LookupTable> {
        let rows = match (self.rows, self.size) {
            (Some(rows), _) => rows,
            (None, size) => {
                let pool = session.query_scalar("SELECT @@innodb_buffer_pool_size");
                let pool = pool.context("ask for the size of the pool")?;
                let pool = pool.and_then(|text| text.parse().ok()).unwrap_or(128 << 20);
                LookupTable::rows_for(size.resolve_bytes(pool), self.aged).min(i32::MAX as u64)
            }
        };
        Ok(LookupTable::new(rows, self.seed, self.aged))
    }
}

impl Workload for LookupWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let rng = Rng::new(part.seed, part.worker as u64, 0);
        let searcher = LookupWorker {
            searches: self,
            rng,
            session: None,
            rows: 1,
            done: 0,
            statement: Vec::new(),
            part,
        };
        Ok(if self.lookups == 0 {
            Box::new(searcher)
        } else {
            Box::new(LookupListWorker(searcher))
        })
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        fill::current_database(&mut session)?;
        let found = fill::read_columns(&mut session, &[TABLE.to_owned()])?;
        let lacking = |why: &str| {
            anyhow::Error::new(
                Mistake::new(format!("table {TABLE}"), why).hint("sweat bench lookup prepare"),
            )
        };
        match found.get(TABLE) {
            None => return Err(lacking("does not exist")),
            Some(columns) if !fill::columns_match(columns, table::COLUMNS) => {
                return Err(fill::column_mismatch(TABLE, columns, table::COLUMNS).into());
            }
            Some(_) => {}
        }
        let value = table::row_value(self.seed, 1);
        let value = String::from_utf8_lossy(&value);
        let sql = format!("SELECT COUNT(*) FROM {TABLE} WHERE id = 1 AND random_str = '{value}'");
        match session.query_scalar(&sql)?.as_deref() {
            Some("1") => Ok(()),
            _ => Err(lacking("has no rows, or rows of another --data-seed")),
        }
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let table = self.resolve_table(&mut self.target.connect(job.stop)?)?;
        table.create_and_fill(&self.target, job)?;
        let Some(path) = self.file.as_ref().filter(|_| !job.stop.is_set()) else { return Ok(()) };
        let file = File::create(path).with_context(|| format!("make {}", path.display()))?;
        self.write_lookups(table.row_count(), &mut BufWriter::new(file))
            .with_context(|| format!("write {}", path.display()))
    }
    fn write_statements(&self, out: &mut dyn Write) -> anyhow::Result<bool> {
        if self.lookups > 0 {
            self.write_lookups(
                LookupWorkload::count_rows(&mut self.target.connect(&Stop::new())?)?,
                out,
            )?;
        }
        Ok(self.lookups > 0)
    }
    fn describe_statements(&self) -> StatementPreview {
        let load = vec![format!("SELECT * FROM {TABLE} WHERE random_str = ?")];
        let prepare = match self.rows {
            Some(rows) => fill::fill_statements(&LookupTable::new(rows, self.seed, self.aged)),
            None => {
                let mut list = fill::fill_statements(&LookupTable::new(0, self.seed, self.aged));
                list.push(format!("rows into {TABLE}, for a size of {}", self.size));
                list
            }
        };
        StatementPreview { prepare, load }
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        fill::drop_matching_tables(&mut session, &[TABLE.to_owned()], table::COLUMNS, &mut |_| {})
    }
}

/// One worker.
struct LookupWorker<'a> {
    searches: &'a LookupWorkload,
    part: WorkerContext,
    rng: Rng,
    session: Option<(Session, PreparedStatement)>,
    /// Rows in the table.
    rows: u64,
    /// How many of its part of the list it has looked up.
    done: usize,
    statement: Vec<u8>,
}

impl Worker for LookupWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.session = None;
        let mut session = self.searches.target.open_session(&self.part.abandon).await?;
        let highest = session.fetch_rows(&format!("SELECT MAX(id) FROM {TABLE}")).await?;
        self.rows = highest.text_value(0, 0).and_then(|text| text.parse().ok()).unwrap_or(1).max(1);
        let sql = format!("SELECT * FROM {TABLE} WHERE random_str = ?");
        let prepared = session.prepare(&sql).await?;
        self.session = Some((session, prepared));
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let (session, prepared) = self.session.as_mut().expect("open comes before any event");
        let value = table::row_value(
            self.searches.seed,
            self.rng.uniform_between(
                self.rows - self.searches.candidate_rows(self.rows) + 1,
                self.rows,
            ),
        );
        let result =
            session.execute_prepared(tally, prepared, &[ParameterValue::Bytes(&value)]).await;
        tally.counts[sql::READS] += u64::from(result.is_ok());
        EventOutcome { class: ClassId(0), error: result.err() }
    }

    fn error_text(&self) -> &str {
        self.session.as_ref().map_or("", |(session, _)| session.error_text())
    }

    async fn close(&mut self) {
        if let Some((mut session, _)) = self.session.take() {
            session.quit().await;
        }
    }
}

/// One worker with its part of a list: every so-manieth row of it, as text, as a file of statements would be run.
struct LookupListWorker<'a>(LookupWorker<'a>);

impl Worker for LookupListWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.0.open().await
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let LookupWorker { searches, part, session, rows, done, statement, .. } = &mut self.0;
        let (session, _) = session.as_mut().expect("open comes before any event");
        let row = searches.lookup_rows(*rows)[part.worker + *done * part.workers];
        *done += 1;
        table::write_lookup(searches.seed, row, statement);
        let result = session.execute(tally, statement).await;
        tally.counts[sql::READS] += u64::from(result.is_ok());
        EventOutcome { class: ClassId(0), error: result.err() }
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        let LookupWorker { searches, part, rows, done, .. } = &self.0;
        (part.worker + done * part.workers < searches.lookup_rows(*rows).len()).then_some(now)
    }

    fn error_text(&self) -> &str {
        self.0.error_text()
    }

    async fn close(&mut self) {
        self.0.close().await;
    }
}
