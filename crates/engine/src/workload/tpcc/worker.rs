//! One session and the terminals whose transactions it runs.

use std::sync::Arc;

use super::TpccWorkload;
use super::audit::AuditCounts;
use super::inputs::{TransactionInput, TransactionKind};
use super::ledger::LedgerBook;
use super::schema::DISTRICTS;
use super::terminals::{DueTransaction, Terminal};
use super::transactions::{TerminalPlace, TransactionEnding, TransactionRunner, run_transaction};
use crate::base::Nanos;
use crate::client;
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, EventRecord, StepLatency, Tally,
};
use crate::workload::{ErrorPolicy, OpenError, Worker, WorkerContext};

/// Errors by which a server says that a transaction was undone for another's sake: lock wait timeout, deadlock, record changed
/// since last read.
pub(super) const RETRIED: [u16; 3] = [1205, 1213, 1020];

/// The class of deliveries that a terminal has queued, behind those of the transactions.
const DEFERRED_CLASS: ClassId = ClassId(TransactionKind::ALL.len() as u16);

/// One session.
pub(super) struct TpccWorker<'a> {
    workload: &'a TpccWorkload,
    part: WorkerContext,
    /// Its database.
    database: usize,
    /// In a closed loop the one terminal; paced, the one whose transaction runs.
    terminal: Option<Box<Terminal>>,
    runner: Option<TransactionRunner>,
    /// What runs, or runs again.
    current: Option<DueTransaction>,
    ending: Option<TransactionEnding>,
    counts: Arc<AuditCounts>,
    ledger: Option<Arc<LedgerBook>>,
}

impl<'a> TpccWorker<'a> {
    pub(super) fn new(workload: &'a TpccWorkload, part: WorkerContext) -> TpccWorker<'a> {
        let seed = part.seed;
        let (database, number) = workload.databases.of_worker(part.worker);
        let found = workload.found_in(database);
        let terminal = (!workload.settings.paced).then(|| {
            let number = number as u32;
            let place = TerminalPlace {
                warehouse: number % found.warehouses + 1,
                district: number / found.warehouses % DISTRICTS + 1,
            };
            let mut terminal = Box::new(Terminal::new(
                &workload.settings,
                &found,
                seed,
                part.worker as u32,
                place,
            ));
            terminal.only = part.only_class.and_then(|c| TransactionKind::ALL.get(c).copied());
            terminal
        });
        let (counts, ledger) = (workload.audit.new_counts(), workload.ledger());
        let (runner, current, ending) = (None, None, None);
        TpccWorker { workload, part, database, terminal, runner, current, ending, counts, ledger }
    }

    /// Opens a session and brings it to the state that transactions need.
    async fn open_runner(&self) -> Result<TransactionRunner, client::Error> {
        let target = &self.workload.databases.all()[self.database];
        let mut session = target.open_session(&self.part.abandon).await?;
        for sql in self.workload.settings.session_sql() {
            let set = session.execute(&mut Tally::default(), sql.as_bytes()).await;
            set.map_err(|event| session.error_from_event(event))?;
        }
        Ok(TransactionRunner::new(session))
    }

    /// In a closed loop: keys in the next transaction.
    fn draw_transaction(&mut self) -> DueTransaction {
        let terminal = self.terminal.as_mut().expect("a closed loop's worker is a terminal");
        let (kind, input) = terminal.draw();
        let place = terminal.place;
        DueTransaction { due: Nanos(0), kind, input, place, is_deferred: false }
    }

    /// Whether the terminal only queues the transaction (clause 2.7.2).
    fn is_only_queued(&self, transaction: &DueTransaction) -> bool {
        let is_delivery = matches!(transaction.input, TransactionInput::Delivery { .. });
        self.workload.settings.paced && is_delivery && !transaction.is_deferred
    }

    async fn run_transaction(
        &mut self,
        tally: &mut Tally,
        transaction: &DueTransaction,
    ) -> Result<(), EventError> {
        let is_queued = self.is_only_queued(transaction);
        if let Some(runner) = &mut self.runner {
            runner.clear_steps();
            if !is_queued {
                let (sql, place) = (self.workload.settings.sql, transaction.place);
                let ran = run_transaction(runner, tally, sql, place, &transaction.input).await;
                self.ending = Some(ran?);
            }
        }
        if let Some(ending) = &self.ending {
            self.counts.note_ending(ending);
            if let Some(ledger) = &self.ledger {
                ledger.note_ending(transaction.place, ending);
            }
        }
        if !is_queued {
            self.counts.note_done(&transaction.input, transaction.place.warehouse);
        }
        Ok(())
    }
}

impl Worker for TpccWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.runner = None;
        if !self.workload.settings.dry_run {
            self.runner = Some(self.open_runner().await?);
        }
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let transaction = match self.current.take() {
            Some(transaction) => transaction,
            None => self.draw_transaction(),
        };
        let class = match transaction.is_deferred {
            true => DEFERRED_CLASS,
            false => ClassId(transaction.kind as u16),
        };
        self.ending = None;
        let error = self.run_transaction(tally, &transaction).await.err();
        self.current = Some(transaction);
        EventOutcome { class, error }
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        let TpccWorkload { settings, queue, .. } = self.workload;
        if !settings.paced {
            return Some(now);
        }
        let (transaction, terminal) =
            queue.take(settings, &self.workload.found(), self.part.seed, now)?;
        self.terminal = terminal;
        let due = transaction.due;
        self.current = Some(transaction);
        Some(due)
    }

    fn note_record(&mut self, record: &EventRecord) {
        let Some(transaction) = self.current.take() else { return };
        let TpccWorkload { settings, queue, delivery_log, order_log, .. } = self.workload;
        if let Some(log) = delivery_log {
            log.note(&transaction, self.ending.as_ref(), record);
        }
        if let Some(log) = order_log {
            log.note(self.part.worker, self.ending.as_ref(), record);
        }
        if !settings.paced {
            return;
        }
        if self.is_only_queued(&transaction) && record.outcome.error.is_none() {
            let due = record.ended;
            queue.defer(DueTransaction { due, is_deferred: true, ..transaction });
        }
        if let Some(terminal) = self.terminal.take() {
            let thought = queue.put_back(terminal, settings.time_scale, record.ended);
            // Counted as it begins: of those that have ended within the load, long ones are missing.
            if let Some((TransactionKind::NewOrder, think)) = thought {
                self.counts.note_thought(think);
                self.workload.audit.note_think(think, settings.time_scale);
            }
        }
    }

    fn step_latencies(&self) -> &[StepLatency] {
        self.runner.as_ref().map_or(&[], TransactionRunner::steps)
    }

    fn error_policy(&self, error: EventError) -> ErrorPolicy {
        match error.kind {
            EventErrorKind::Server if RETRIED.contains(&error.code) => ErrorPolicy::RestartEvent,
            _ => ErrorPolicy::CountEvent,
        }
    }

    fn error_text(&self) -> &str {
        self.runner.as_ref().map_or("", TransactionRunner::error_text)
    }

    async fn close(&mut self) {
        if let Some(mut runner) = self.runner.take() {
            runner.quit().await;
        }
    }
}
