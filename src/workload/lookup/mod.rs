//! Point lookups by a random string: the workload that shows what a warm pool is worth.
//! Never knows: whether the pool is warm.

mod table;

pub use table::{TABLE, Table};

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::random::Rng;
use crate::base::units::Size;
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, Outcome, Tally};
use crate::target::{self, Prepared, Session, Target, Value};

use super::{Job, Kind, Part, Seat, Worker, Workload, fill};

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
        use OptionKind::{Count, Size, Switch};
        let spec = |name, kind, default, help| OptionSpec { name, kind, default, help };
        vec![
            spec("rows", Count, "", "rows of the table, instead of a size"),
            spec("size", Size, "2x-pool", "size of the table on disk"),
            spec("aged", Switch, "on", "pages scattered on disk, as in a table that has lived"),
            spec("data-seed", Count, "1", "seed of the values; the same to prepare and to run"),
        ]
    }
    fn build(
        &self,
        options: &Options,
        target: Option<&Target>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = target.cloned().ok_or_else(|| Mistake {
            place: NAME.to_owned(),
            why: "needs a server".to_owned(),
            hint: Some("say where it is with -h or -S, or --sandbox".to_owned()),
        })?;
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
        }))
    }
}

struct Searches {
    target: Target,
    rows: Option<u64>,
    size: Size,
    aged: bool,
    seed: u64,
}

impl Searches {
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
        Ok(Box::new(Searcher { searches: self, part, rng, session: None, rows: 1 }))
    }
    fn check(&self) -> anyhow::Result<()> {
        let mut session = self.target.connect(&Stop::new())?;
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
        table.prepare(&self.target, job)
    }
    fn cleanup(&self, job: &mut Job<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
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
        let value = table::value(self.searches.seed, self.rng.between(1, self.rows));
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
