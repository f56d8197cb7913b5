//! What an expression costs the server: `SELECT BENCHMARK(N, E)`, or one over rows, again and again, in turn with a literal
//! whose cost is that of the loop itself.
//! Never knows: when events are due, what is made of the samples.

mod expression_rows;
mod measuring_plan;
mod sample_book;
mod settings;
mod worker;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::base::Stop;
use crate::client::Target;
use crate::plan::{OptionSpec, Options};
use crate::recorder::MeasuredFigures;

use super::{BoxedWorker, Endpoint, StatementPreview, WorkerContext, Workload, WorkloadKind};

use self::measuring_plan::MeasuringPlan;
use self::sample_book::SampleBook;
use self::settings::{EXPR, ExpressionSettings};

/// The kind `expression`.
pub struct ExpressionKind;

impl WorkloadKind for ExpressionKind {
    fn name(&self) -> &'static str {
        "expression"
    }
    fn help_line(&self) -> &'static str {
        "what an SQL expression costs, with BENCHMARK() or over rows"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        settings::option_specs()
    }
    fn bare_word_option(&self) -> Option<&'static str> {
        Some(EXPR)
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "--sandbox 'sha1(@x)' 'md5(@x)'",
            "-h db1 -u bench -p 'crc32(@x)'",
            "--sandbox 'md5(n)' 'sha2(n,256)' --through-rows=100000",
        ]
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        Ok(Box::new(ExpressionWorkload {
            settings: ExpressionSettings::from_options(options)?,
            target: endpoint.require_mysql()?.clone(),
            plan: OnceLock::new(),
            book: Mutex::default(),
            measuring: AtomicU64::new(0),
        }))
    }
}

/// The expressions, and what was measured of them.
struct ExpressionWorkload {
    settings: ExpressionSettings,
    target: Target,
    /// The statements; known after the check.
    plan: OnceLock<MeasuringPlan>,
    book: Mutex<SampleBook>,
    /// The session whose statement is under way; 0 for none.
    measuring: AtomicU64,
}

impl Workload for ExpressionWorkload {
    fn class_names(&self) -> Vec<String> {
        match self.plan.get() {
            Some(plan) => plan.slots.iter().map(|slot| slot.name.clone()).collect(),
            None => self.settings.expressions.clone(),
        }
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        Some("one session runs all of it")
    }
    /// A statement that is ended on the server takes a blocking session of its own.
    fn needs_own_threads(&self) -> bool {
        true
    }
    fn load_note(&self) -> Option<String> {
        self.plan.get().and_then(|plan| plan.leftovers.clone())
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(worker::ExpressionWorker::new(self, part)?))
    }
    fn start_load(&self) {
        *self.lock_book() = SampleBook::default();
    }
    fn load_figures(&self) -> Option<MeasuredFigures> {
        Some(self.lock_book().sum_up(self.plan.get()?))
    }
    fn interrupt_events(&self) {
        match self.measuring.load(Ordering::Acquire) {
            0 => {}
            id => drop(self.target.kill_statement(id)),
        }
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        if self.plan.get().is_none() {
            let plan = MeasuringPlan::find(&self.settings, &self.target, stop)?;
            // Another load measures the same statements.
            let _ = self.plan.set(plan);
        }
        Ok(())
    }
    fn describe_statements(&self) -> StatementPreview {
        let shown = |expr: &String| match &self.settings.rows {
            Some(rows) => rows.statement("RUN", expr),
            None => measuring_plan::benchmark_statement("RUN", "N", expr),
        };
        let load = self.settings.expressions.iter().map(shown).collect();
        StatementPreview { prepare: Vec::new(), load }
    }
}

impl ExpressionWorkload {
    fn lock_book(&self) -> std::sync::MutexGuard<'_, SampleBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
