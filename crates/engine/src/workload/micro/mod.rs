//! Single operations, each timed by itself: rounds of one operation after the other, all of them again and again.
//! Never knows: when events are due, what is made of the samples.
//! An event is a round of an operation. To add an operation: a row in `operations.rs`.

mod choice;
mod operation;
mod operations;
mod round;
mod round_book;
mod row_operations;
mod schema;
mod settings;
mod template;
mod worker;

use std::sync::{Mutex, PoisonError};

use crate::base::Stop;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::{MeasuredFigures, WorkloadFacts};

use super::{
    BoxedWorker, DataJob, Endpoint, JobProgress, StatementPreview, WorkerContext, Workload,
    WorkloadKind,
};

use self::round_book::RoundBook;
use self::schema::MicroSchema;
use self::settings::MicroSettings;

/// The kind `micro`.
pub struct MicroKind;

impl WorkloadKind for MicroKind {
    fn name(&self) -> &'static str {
        "micro"
    }
    fn help_line(&self) -> &'static str {
        "what single operations cost, as sql-bench measured them"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        settings::option_specs()
    }
    fn example_args(&self) -> &'static [&'static str] {
        &["--sandbox --only=insert,update", "cleanup -h db1 -u bench -p"]
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn makes_data_in_run(&self) -> bool {
        true
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        WorkloadFacts { rows: Some(options.count("rows")), ..WorkloadFacts::default() }
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let settings = MicroSettings::from_options(options)?;
        let schema = MicroSchema::new(&settings, endpoint.require_mysql()?)?;
        Ok(Box::new(MicroWorkload { settings, schema, book: Mutex::default() }))
    }
}

/// An operation as a list of them shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationEntry {
    /// Its name.
    pub name: &'static str,
    /// Its group.
    pub group: &'static str,
}

/// The operations that these lists choose, each with the statements of a unit.
///
/// # Errors
/// As in a run.
pub fn list_operations(options: &Options) -> Result<Vec<(OperationEntry, String)>, Mistake> {
    let settings = MicroSettings::from_options(options)?;
    let entry = |one: &&operation::Operation| {
        (OperationEntry { name: one.name, group: one.group }, one.unit_text())
    };
    Ok(settings.operations.iter().map(entry).collect())
}

/// The operations, and what was measured of them.
struct MicroWorkload {
    settings: MicroSettings,
    schema: MicroSchema,
    book: Mutex<RoundBook>,
}

impl Workload for MicroWorkload {
    fn class_names(&self) -> Vec<String> {
        self.settings.operations.iter().map(|one| one.name.to_owned()).collect()
    }
    /// A round is long, and what ends a statement takes a blocking session of its own.
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(worker::MicroWorker::new(self, part)?))
    }
    fn start_load(&self) {
        *self.lock_book() = RoundBook::default();
    }
    fn load_progress(&self) -> Option<JobProgress> {
        let (slot, done) = self.lock_book().under_way?;
        let label = self.settings.operations.get(slot)?.name.to_owned();
        Some(JobProgress { label, done, total: self.settings.all_rounds(), unit: "rounds" })
    }
    fn load_figures(&self) -> Option<MeasuredFigures> {
        Some(self.lock_book().sum_up(&self.settings))
    }
    fn check_ready(&self, _stop: &Stop) -> anyhow::Result<()> {
        match self.schema.is_made() {
            true => Ok(()),
            false => Err(Mistake::new("micro", "its tables are made at the start of a run")
                .hint("write prepare = true in the plan, or use `sweat micro`")
                .into()),
        }
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.schema.make(job)
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.schema.remove_left(job.stop)
    }
    fn end_run(&self) -> anyhow::Result<()> {
        self.schema.remove()
    }
    fn describe_statements(&self) -> StatementPreview {
        let load = self.settings.operations.iter();
        StatementPreview {
            prepare: self.schema.describe(),
            load: load.map(|one| format!("/* {} */ {}", one.name, one.unit_text())).collect(),
        }
    }
}

impl MicroWorkload {
    fn lock_book(&self) -> std::sync::MutexGuard<'_, RoundBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
