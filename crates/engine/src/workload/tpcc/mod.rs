//! A load like TPC-C: order entry of a wholesale supplier, written from the published specification (5.11). Not audited, and
//! its results are not comparable with published ones.
//! Never knows: when events are due, how they are timed.
//! To add a way to put transactions into SQL: a `SqlVariant` and its statements in `transactions/`.

mod audit;
mod check;
mod databases;
mod deck;
mod delivery_log;
mod found_data;
mod inputs;
mod isolation;
mod ledger;
mod load;
mod load_record;
mod nonuniform;
mod options;
mod order_log;
mod rows;
mod schema;
mod terminals;
mod transactions;
mod worker;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::base::Stop;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::{DataVerdicts, LedgerBalance, LoadAudit, WorkloadFacts};

use super::{
    BoxedWorker, DataAction, DataDeed, DataJob, Endpoint, LoadScale, StatementPreview,
    WorkerContext, Workload, WorkloadKind,
};

use self::audit::AuditBook;
use self::databases::DatabaseList;
use self::delivery_log::DeliveryLog;
use self::found_data::FoundData;
use self::inputs::TransactionKind;
use self::ledger::LedgerBook;
use self::options::TpccSettings;
use self::order_log::OrderLog;
use self::terminals::TerminalQueue;
use self::transactions::TpccStatement;

/// The kind.
#[derive(Debug)]
pub struct TpccKind;

impl WorkloadKind for TpccKind {
    fn name(&self) -> &'static str {
        "tpcc"
    }
    fn help_line(&self) -> &'static str {
        "TPC-C-like: order entry, five transactions (not audited)"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        options::option_specs()
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "--sandbox --warehouses=1 --threads=4 --time=10",
            "prepare -h db1 -u bench -p -D tpcc --warehouses=10",
            "-h db1 -u bench -p -D tpcc --threads=16 --time=5m",
        ]
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        WorkloadFacts { has_own_pace: options.switch("paced"), ..WorkloadFacts::default() }
    }
    fn default_objective(&self) -> Option<&'static str> {
        // Its own limits for each transaction are judged besides.
        Some("p90<5s")
    }
    fn load_scale(&self, options: &Options) -> Result<Option<LoadScale>, Mistake> {
        if !options.switch("paced") {
            let why = "the load does not grow with the warehouses unless terminals are paced";
            return Err(Mistake::new("--search warehouses", why).hint("add --paced"));
        }
        // Two cycles of a terminal: by then all terminals have thought once.
        let settle_s = 2.0 * terminals::MEAN_CYCLE_S * options.number("time-scale");
        let settle = Duration::try_from_secs_f64(settle_s).unwrap_or_default();
        Ok(Some(LoadScale { name: "warehouses", settle }))
    }
    fn data_actions(&self) -> &'static [DataAction] {
        DATA_ACTIONS
    }
    fn is_checked_by_default(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let settings = TpccSettings::from_options(options)?;
        let databases = DatabaseList::new(endpoint.require_mysql()?, &settings)?;
        let delivery_log = settings.delivery_log.as_deref().map(DeliveryLog::create).transpose()?;
        let order_log = settings.order_log.as_deref().map(OrderLog::create).transpose()?;
        Ok(Box::new(TpccWorkload {
            settings,
            databases,
            scale: AtomicU32::new(u32::MAX),
            order_log,
            found: OnceLock::new(),
            audit: AuditBook::default(),
            queue: TerminalQueue::default(),
            delivery_log,
            data_notes: Mutex::default(),
            ledger: Mutex::default(),
        }))
    }
}

const DATA_ACTIONS: &[DataAction] = &[
    DataAction {
        name: "check",
        help: "Hold the data against the consistency conditions",
        deed: DataDeed::Check,
    },
    DataAction {
        name: "isolation",
        help: "Run the tests of atomicity and isolation on one district",
        deed: DataDeed::Isolation,
    },
    DataAction {
        name: "crash",
        help: "Kill the server of a sandbox in a load, and check what is left",
        deed: DataDeed::Crash,
    },
];

/// The workload.
pub(super) struct TpccWorkload {
    settings: TpccSettings,
    databases: DatabaseList,
    /// What the tables of each database turned out to hold; known after the check.
    found: OnceLock<Vec<FoundData>>,
    /// Most warehouses that a load uses.
    scale: AtomicU32,
    audit: AuditBook,
    /// Paced terminals.
    queue: TerminalQueue,
    delivery_log: Option<DeliveryLog>,
    order_log: Option<OrderLog>,
    /// What the last `prepare_data` had to tell.
    data_notes: Mutex<Vec<String>>,
    /// What is acknowledged, while somebody wants to know.
    ledger: Mutex<Option<Arc<LedgerBook>>>,
}

impl TpccWorkload {
    fn ledger(&self) -> Option<Arc<LedgerBook>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the tables of a database hold, as far as a load uses them. Where nobody has looked, as in a dry run, what `prepare`
    /// would make.
    fn found_in(&self, database: usize) -> FoundData {
        let planned = || vec![FoundData::planned(&self.settings); self.databases.all().len()];
        let there = self.found.get_or_init(planned)[database];
        let most = self.scale.load(Ordering::Relaxed);
        FoundData { warehouses: there.warehouses.min(most), ..there }
    }

    /// The same of the first one; all have as many warehouses, unless all there are were asked for.
    fn found(&self) -> FoundData {
        self.found_in(0)
    }
}

impl Workload for TpccWorkload {
    fn class_names(&self) -> Vec<String> {
        let mut names: Vec<String> = TransactionKind::ALL.map(|kind| kind.name().to_owned()).into();
        if self.settings.paced {
            names.push(audit::DEFERRED_NAME.to_owned());
        }
        names
    }
    fn split_obstacle(&self) -> Option<&'static str> {
        self.settings.paced.then_some("with --paced its sessions serve the same terminals")
    }
    fn can_run_class_alone(&self) -> bool {
        // Paced terminals take what is due from a queue that all sessions share.
        !self.settings.paced
    }
    fn step_names(&self) -> Vec<String> {
        TpccStatement::all().map(|statement| statement.step_name().to_owned()).collect()
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(worker::TpccWorker::new(self, part)))
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        if self.settings.dry_run {
            return Ok(());
        }
        let databases = self.databases.all().iter();
        let found = databases.map(|target| FoundData::read(target, &self.settings, stop));
        // Another load may look again; the tables keep their size.
        let _ = self.found.set(found.collect::<anyhow::Result<_>>()?);
        Ok(())
    }
    fn set_scale(&self, scale: u64) -> u64 {
        self.scale.store(u32::try_from(scale.max(1)).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.found().warehouses.into()
    }
    fn start_load(&self) {
        self.audit.clear();
        self.queue.clear();
    }
    fn audit_load(&self) -> Option<LoadAudit> {
        self.delivery_log.iter().for_each(DeliveryLog::flush);
        self.order_log.iter().for_each(OrderLog::flush);
        Some(self.audit.sum_up(&self.settings, self.found().warehouses))
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let mut notes = Vec::new();
        self.databases.create_missing(job)?;
        let mut databases = self.databases.all().iter();
        let made = databases
            .try_for_each(|target| load::prepare_data(&self.settings, target, job, &mut notes));
        *self.data_notes.lock().unwrap_or_else(PoisonError::into_inner) = notes;
        made
    }
    fn data_notes(&self) -> Vec<String> {
        self.data_notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    fn describe_statements(&self) -> StatementPreview {
        let prepare = load::describe_prepare(&self.settings);
        StatementPreview { prepare, load: transactions::describe_statements(self.settings.sql) }
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        self.databases.all().iter().try_for_each(|target| load::drop_tables(target, job))
    }
    fn test_isolation(&self, job: &mut DataJob<'_>) -> anyhow::Result<DataVerdicts> {
        let levels: Vec<&str> = self.settings.tested_levels.iter().map(String::as_str).collect();
        isolation::run_tests(self.databases.only()?, &levels, job)
    }
    fn open_ledger(&self, stop: &Stop) -> anyhow::Result<()> {
        let book = LedgerBook::open(self.databases.only()?, self.found().warehouses, stop)?;
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(book));
        Ok(())
    }
    fn balance_ledger(&self, stop: &Stop) -> anyhow::Result<LedgerBalance> {
        let book = self.ledger().context("no ledger was opened")?;
        book.balance(self.databases.only()?, stop)
    }
    fn check_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<DataVerdicts> {
        let databases = self.databases.all().iter();
        let found = databases.map(|target| check::check_tables(target, &self.settings.schema, job));
        Ok(self.databases.join_verdicts(found.collect::<anyhow::Result<_>>()?))
    }
}
