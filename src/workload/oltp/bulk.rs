//! `bulk_insert`: each worker fills a table of its own with long INSERT statements. An event is one such statement.

use std::io::Write as _;

use anyhow::Context as _;

use crate::base::Stop;
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::recorder::{ClassId, Outcome, Tally};
use crate::target::{self, Session, Target};
use crate::workload::fill::{self, Expected};
use crate::workload::{Described, Job, Kind, Part, Progress, Seat, Worker, Workload};

use super::{needed, table};

const NAME: &str = "bulk_insert";
const COLUMNS: &[Expected] = &[("id", "int", None), ("k", "int", None)];
/// Where cleanup looks for tables: as many as anybody could have had workers.
const MOST_TABLES: u64 = 10_000;

/// The kind `bulk_insert`.
pub struct BulkInsert;

impl Kind for BulkInsert {
    fn name(&self) -> &'static str {
        NAME
    }
    fn about(&self) -> &'static str {
        "long INSERT statements, each worker into its own table"
    }
    fn options(&self) -> Vec<OptionSpec> {
        vec![OptionSpec {
            name: "statement-size",
            kind: OptionKind::Size,
            default: "512KiB",
            help: "length of an INSERT statement",
        }]
    }
    fn build(
        &self,
        options: &Options,
        target: Option<&Target>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let length = options.size("statement-size").map_or(512 << 10, |size| size.bytes(0));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(64..=1 << 30).contains(&length) {
            return Err(anyhow::Error::new(Mistake {
                place: "--statement-size".to_owned(),
                why: format!("{length} bytes is not between 64 bytes and 1 GiB"),
                hint: Some("as in 512KiB".to_owned()),
            }));
        }
        Ok(Box::new(Bulk { target: needed(target, NAME)?, length }))
    }
}

struct Bulk {
    target: Target,
    /// Bytes of a statement.
    length: usize,
}

impl Workload for Bulk {
    fn classes(&self) -> Vec<String> {
        vec![NAME.to_owned()]
    }
    fn seat(&self, part: Part) -> anyhow::Result<Box<dyn Seat + '_>> {
        let text = Vec::with_capacity(self.length);
        Ok(Box::new(Filler { bulk: self, part, session: None, text, next: 1 }))
    }
    fn check(&self, stop: &Stop) -> anyhow::Result<()> {
        let mut session = self.target.connect(stop)?;
        fill::database(&mut session)?;
        let first = table::names(1);
        let found = fill::look_up(&mut session, &first)?;
        match found.get(&first[0]) {
            Some(columns) if fill::fit(columns, COLUMNS) => Ok(()),
            Some(columns) => Err(fill::misfit(&first[0], columns, COLUMNS).into()),
            None => Err(anyhow::Error::new(Mistake {
                place: format!("table {}", first[0]),
                why: "does not exist".to_owned(),
                hint: Some("sweat bench bulk_insert prepare, with the same --threads".to_owned()),
            })),
        }
    }
    /// Makes an empty table for each session.
    fn prepare(&self, job: &mut Job<'_>) -> anyhow::Result<()> {
        let mut session = self.target.connect(job.stop)?;
        session.allow_long_statements();
        fill::database(&mut session)?;
        let names = table::names(job.threads as u64);
        let found = fill::look_up(&mut session, &names)?;
        for (name, columns) in &found {
            if !fill::fit(columns, COLUMNS) {
                return Err(fill::misfit(name, columns, COLUMNS).into());
            }
        }
        let total = names.len() as u64;
        for (done, name) in (1..).zip(&names) {
            let sql = format!(
                "CREATE TABLE IF NOT EXISTS {name} (id INTEGER NOT NULL, \
                 k INTEGER NOT NULL DEFAULT '0', PRIMARY KEY (id))"
            );
            session.command(&sql).with_context(|| format!("make table {name}"))?;
            let label = "make tables".to_owned();
            (job.progress)(Progress { label, done, total, unit: "tables" });
        }
        Ok(())
    }
    fn describe(&self) -> Described {
        let table = "CREATE TABLE IF NOT EXISTS sbtestN, for each session".to_owned();
        let load = "INSERT INTO sbtestN (id, k) VALUES (?, ?), (?, ?), ...".to_owned();
        Described { prepare: vec![table], load: vec![load] }
    }
    fn cleanup(&self, job: &mut Job<'_>) -> anyhow::Result<()> {
        table::drop_tables(&self.target, &table::names(MOST_TABLES), COLUMNS, job)
    }
}

/// One worker.
struct Filler<'a> {
    bulk: &'a Bulk,
    part: Part,
    session: Option<Session>,
    text: Vec<u8>,
    /// Id of the next row.
    next: u64,
}

impl Filler<'_> {
    /// Writes a statement full of new rows; gives the id that follows them.
    fn write(&mut self) -> u64 {
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

impl Worker for Filler<'_> {
    async fn open(&mut self) -> Result<(), target::Error> {
        self.session = None;
        let mut session = self.bulk.target.open(&self.part.abandon).await?;
        let table = self.part.worker + 1;
        let highest = session.fetch(&format!("SELECT MAX(id) FROM sbtest{table}")).await?;
        let highest = highest.text(0, 0).and_then(|text| text.parse::<u64>().ok());
        self.next = highest.unwrap_or(0) + 1;
        self.session = Some(session);
        Ok(())
    }

    async fn event(&mut self, tally: &mut Tally) -> Outcome {
        let next = self.write();
        let session = self.session.as_mut().expect("open comes before any event");
        let error = match session.execute(tally, &self.text).await {
            Ok(_) => {
                tally.writes += 1;
                self.next = next;
                None
            }
            Err(error) => Some(error),
        };
        Outcome { class: ClassId(0), error }
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
