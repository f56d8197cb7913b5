//! Point lookups by a random string: the workload that shows what a warm pool is worth.
//! Never knows: whether the pool is warm.

mod table;

pub use table::{TABLE, Table};

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context as _;

use crate::base::random::Rng;
use crate::base::units::Size;
use crate::base::{Nanos, Stop};
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, Outcome, Tally};
use crate::target::{self, Prepared, Session, Target, Value};

use super::{Described, Job, Kind, Part, Seat, Worker, Workload, fill};

const NAME: &str = "lookup";

/// The kind `lookup`.
pub struct Lookup;

impl Kind for Lookup {
    fn name(&self) -> &'static str {
        NAME
    }
    fn about(&self) -> &'static str {
        "rows of a large table by a random string that is in an index"
    }
    fn options(&self) -> Vec<OptionSpec> {
        use OptionKind::{Count, Size, Switch, Text};
        let spec = |name, kind, default, help| OptionSpec { name, kind, default, help };
        vec![
            spec("rows", Count, "", "rows of the table, instead of a size"),
            spec("size", Size, "2x-pool", "size of the table on disk"),
            spec("aged", Switch, "on", "pages scattered on disk, as in a table that has lived"),
            spec("data-seed", Count, "1", "seed of the values; the same to prepare and to run"),
            spec(
                "lookups",
                Count,
                "0",
                "look up so many different rows once, all workers together; 0: any rows, on and on",
            ),
            spec("newest", Count, "0", "look up only among so many newest rows; 0: among all"),
            spec(
                "lookups-file",
                Text,
                "",
                "prepare also writes the statements of --lookups to this file",
            ),
        ]
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn build(
        &self,
        options: &Options,
        target: Option<&Target>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = target.cloned().context("lookup was built without a server")?;
        let rows = options.text("rows").map(|_| options.count("rows"));
        if let Some(rows) = rows {
            if !(1..=i32::MAX as u64).contains(&rows) {
                return Err(anyhow::Error::new(Mistake {
                    place: "--rows".to_owned(),
                    why: format!("{rows} is not between 1 and {}", i32::MAX),
                    hint: None,
                }));
            }
        }
        Ok(Box::new(Searches {
            target,
            rows,
            size: options.size("size").unwrap_or(Size::TimesPool(2.0)),
            aged: options.switch("aged"),
            seed: options.count("data-seed"),
            lookups: options.count("lookups"),
            newest: options.count("newest"),
            file: options.text("lookups-file").map(PathBuf::from),
            list: OnceLock::new(),
        }))
    }
}

struct Searches {
    target: Target,
    rows: Option<u64>,
    size: Size,
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

impl Searches {
    /// The rows that are looked up, of so many.
    fn list(&self, rows: u64) -> &[u64] {
        let older = rows - self.within(rows);
        let draw = || table::draw(rows - older, self.lookups, self.seed);
        self.list.get_or_init(|| draw().into_iter().map(|row| older + row).collect())
    }

    /// Of how many rows, the newest ones, lookups are made.
    fn within(&self, rows: u64) -> u64 {
        if self.newest == 0 { rows } else { self.newest.min(rows) }
    }

    /// Writes the statements of `--lookups`, one on a line.
    fn write(&self, rows: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut statement = Vec::new();
        for row in self.list(rows) {
            table::write_lookup(self.seed, *row, &mut statement);
            statement.extend_from_slice(b";\n");
            out.write_all(&statement)?;
        }
        out.flush()
    }

    /// How many rows there are.
    fn rows(session: &mut Session) -> anyhow::Result<u64> {
        let highest = session.scalar(&format!("SELECT MAX(id) FROM {TABLE}"))?;
        Ok(highest.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The table as asked for; the server knows how large its pool is.
    fn table(&self, session: &mut Session) -> anyhow::Result<Table> {
        let rows = match (self.rows, self.size) {
            (Some(rows), _) => rows,
            (None, size) => {
                let pool = session.scalar("SELECT @@innodb_buffer_pool_size");
                let pool = pool.context("ask for the size of the pool")?;
                let pool = pool.and_then(|text| text.parse().ok()).unwrap_or(128 << 20);
                Table::rows_for(size.bytes(pool), self.aged).min(i32::MAX as u64)
            }
        };
        Ok(Table::new(rows, self.seed, self.aged))
    }
}

impl Workload for Searches {
    fn classes(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn seat(&self, part: Part) -> anyhow::Result<Box<dyn Seat + '_>> {
        let rng = Rng::new(part.seed, part.worker as u64, 0);
        let searcher = Searcher {
            searches: self,
            rng,
            session: None,
            rows: 1,
            done: 0,
            statement: Vec::new(),
            part,
        };
        Ok(if self.lookups == 0 { Box::new(searcher) } else { Box::new(Lister(searcher)) })
    }
    fn check(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        fill::database(&mut session)?;
        let found = fill::look_up(&mut session, &[TABLE.to_owned()])?;
        let lacking = |why: &str| {
            anyhow::Error::new(Mistake {
                place: format!("table {TABLE}"),
                why: why.to_owned(),
                hint: Some("sweat bench lookup prepare".to_owned()),
            })
        };
        match found.get(TABLE) {
            None => return Err(lacking("does not exist")),
            Some(columns) if !fill::fit(columns, table::COLUMNS) => {
                return Err(fill::misfit(TABLE, columns, table::COLUMNS).into());
            }
            Some(_) => {}
        }
        let value = table::value(self.seed, 1);
        let value = String::from_utf8_lossy(&value);
        let sql = format!("SELECT COUNT(*) FROM {TABLE} WHERE id = 1 AND random_str = '{value}'");
        match session.scalar(&sql)?.as_deref() {
            Some("1") => Ok(()),
            _ => Err(lacking("has no rows, or rows of another --data-seed")),
        }
    }
    fn prepare(&self, job: &mut Job<'_>) -> anyhow::Result<()> {
        let table = self.table(&mut self.target.connect(job.stop)?)?;
        table.prepare(&self.target, job)?;
        let Some(path) = self.file.as_ref().filter(|_| !job.stop.is_set()) else { return Ok(()) };
        let file = File::create(path).with_context(|| format!("make {}", path.display()))?;
        self.write(table.rows(), &mut BufWriter::new(file))
            .with_context(|| format!("write {}", path.display()))
    }
    fn write_statements(&self, out: &mut dyn Write) -> anyhow::Result<bool> {
        if self.lookups > 0 {
            self.write(Searches::rows(&mut self.target.connect(&Stop::new())?)?, out)?;
        }
        Ok(self.lookups > 0)
    }
    fn describe(&self) -> Described {
        let load = vec![format!("SELECT * FROM {TABLE} WHERE random_str = ?")];
        let prepare = match self.rows {
            Some(rows) => fill::describe(&Table::new(rows, self.seed, self.aged)),
            None => {
                let mut list = fill::describe(&Table::new(0, self.seed, self.aged));
                list.push(format!("rows into {TABLE}, for a size of {}", self.size));
                list
            }
        };
        Described { prepare, load }
    }
    fn cleanup(&self, job: &mut Job<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        fill::drop_ours(&mut session, &[TABLE.to_owned()], table::COLUMNS, &mut |_| {})
    }
}

/// One worker.
struct Searcher<'a> {
    searches: &'a Searches,
    part: Part,
    rng: Rng,
    session: Option<(Session, Prepared)>,
    /// Rows in the table.
    rows: u64,
    /// How many of its part of the list it has looked up.
    done: usize,
    statement: Vec<u8>,
}

impl Worker for Searcher<'_> {
    async fn open(&mut self) -> Result<(), target::Error> {
        self.session = None;
        let mut session = self.searches.target.open(&self.part.abandon).await?;
        let highest = session.fetch(&format!("SELECT MAX(id) FROM {TABLE}")).await?;
        self.rows = highest.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or(1).max(1);
        let sql = format!("SELECT * FROM {TABLE} WHERE random_str = ?");
        let prepared = session.prepare(&sql).await?;
        self.session = Some((session, prepared));
        Ok(())
    }

    async fn event(&mut self, tally: &mut Tally) -> Outcome {
        let (session, prepared) = self.session.as_mut().expect("open comes before any event");
        let value = table::value(
            self.searches.seed,
            self.rng.between(self.rows - self.searches.within(self.rows) + 1, self.rows),
        );
        let result = session.run(tally, prepared, &[Value::Bytes(&value)]).await;
        tally.reads += u64::from(result.is_ok());
        Outcome { class: ClassId(0), error: result.err() }
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
struct Lister<'a>(Searcher<'a>);

impl Worker for Lister<'_> {
    async fn open(&mut self) -> Result<(), target::Error> {
        self.0.open().await
    }

    async fn event(&mut self, tally: &mut Tally) -> Outcome {
        let Searcher { searches, part, session, rows, done, statement, .. } = &mut self.0;
        let (session, _) = session.as_mut().expect("open comes before any event");
        let row = searches.list(*rows)[part.worker + *done * part.workers];
        *done += 1;
        table::write_lookup(searches.seed, row, statement);
        let result = session.execute(tally, statement).await;
        tally.reads += u64::from(result.is_ok());
        Outcome { class: ClassId(0), error: result.err() }
    }

    async fn due(&mut self, now: Nanos) -> Option<Nanos> {
        let Searcher { searches, part, rows, done, .. } = &self.0;
        (part.worker + done * part.workers < searches.list(*rows).len()).then_some(now)
    }

    fn error_text(&self) -> &str {
        self.0.error_text()
    }

    async fn close(&mut self) {
        self.0.close().await;
    }
}
