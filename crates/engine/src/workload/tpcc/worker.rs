//! One terminal: its session, its deck of cards, and what it has keyed in.

use super::TpccWorkload;
use super::audit::{AuditCounts, TransactionTimes};
use super::deck::CardDeck;
use super::inputs::{InputGenerator, TransactionInput, TransactionKind};
use super::transactions::{StatementRunner, TerminalPlace, run_transaction};
use crate::base::Nanos;
use crate::base::random::Rng;
use crate::client;
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, EventRecord, StepLatency, Tally,
};
use crate::workload::{ErrorPolicy, OpenError, Worker, WorkerContext};

/// Errors by which a server says that a transaction was undone for another's sake: lock wait timeout, deadlock, record changed
/// since last read.
const RETRIED: [u16; 3] = [1205, 1213, 1020];
/// Think times are cut at ten times their mean, as clause 5.2.5.4 allows.
const LONGEST_THINK: f64 = 10.0;

/// Mean time from one transaction of a terminal to the next, seconds: keying and think times weighted by the mix.
const MEAN_CYCLE_S: f64 = 21.0;

/// One terminal.
pub(super) struct TpccWorker<'a> {
    workload: &'a TpccWorkload,
    part: WorkerContext,
    place: TerminalPlace,
    generator: InputGenerator,
    deck: CardDeck,
    /// Draws think times, apart from the inputs, so that these are the same at any pace.
    think_rng: Rng,
    runner: Option<StatementRunner>,
    kind: TransactionKind,
    input: Option<TransactionInput>,
    counts: std::sync::Arc<AuditCounts>,
    times: TransactionTimes,
    has_begun: bool,
}

impl<'a> TpccWorker<'a> {
    pub(super) fn new(workload: &'a TpccWorkload, part: WorkerContext) -> TpccWorker<'a> {
        let found = workload.found();
        let warehouses = found.warehouses;
        let worker = part.worker as u32;
        let place = TerminalPlace {
            warehouse: worker % warehouses + 1,
            district: worker / warehouses % super::schema::DISTRICTS + 1,
        };
        let generator = InputGenerator {
            rng: Rng::new(part.seed, part.worker as u64, 0),
            constants: found.constants,
            warehouse: place.warehouse,
            warehouses,
        };
        TpccWorker {
            workload,
            place,
            generator,
            deck: CardDeck::new(workload.settings.small_deck),
            think_rng: Rng::new(part.seed, part.worker as u64, 1),
            runner: None,
            kind: TransactionKind::NewOrder,
            input: None,
            counts: workload.audit.new_counts(),
            times: TransactionTimes::default(),
            has_begun: false,
            part,
        }
    }

    /// Opens a session and brings it to the state that transactions need.
    async fn open_runner(&self) -> Result<StatementRunner, client::Error> {
        let mut session = self.workload.target.open_session(&self.part.abandon).await?;
        for sql in self.workload.settings.session_sql() {
            let set = session.execute(&mut Tally::default(), sql.as_bytes()).await;
            set.map_err(|event| session.error_from_event(event))?;
        }
        Ok(StatementRunner::new(session))
    }

    /// Keys in the next transaction.
    fn draw_input(&mut self) -> TransactionInput {
        self.kind = self.deck.deal(&mut self.generator.rng);
        self.generator.draw(self.kind)
    }

    /// What a pause is on the clock.
    fn scaled(&self, seconds: f64) -> Nanos {
        Nanos((seconds * self.workload.settings.time_scale * 1e9) as u64)
    }
}

impl Worker for TpccWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.runner = None;
        // What was under way is not known to be done or undone; it is not run again.
        self.input = None;
        if !self.workload.settings.dry_run {
            self.runner = Some(self.open_runner().await?);
        }
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let input = match self.input.take() {
            Some(input) => input,
            None => self.draw_input(),
        };
        let class = ClassId(self.kind as u16);
        let Some(runner) = &mut self.runner else {
            self.counts.note_done(&input, self.place.warehouse);
            return EventOutcome { class, error: None };
        };
        runner.clear_steps();
        let sql = self.workload.settings.sql;
        match run_transaction(runner, tally, sql, self.place, &input).await {
            Ok(ending) => {
                self.counts.note_done(&input, self.place.warehouse);
                self.counts.note_ending(&ending);
                EventOutcome { class, error: None }
            }
            Err(error) => {
                if self.error_policy(error) == ErrorPolicy::RestartEvent {
                    self.input = Some(input);
                }
                EventOutcome { class, error: Some(error) }
            }
        }
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        if !self.workload.settings.paced {
            return Some(now);
        }
        // The menu comes up, the terminal keys in the next transaction (clause 5.2.2), and thinks about the last one's answer.
        let thought_about = std::mem::replace(&mut self.has_begun, true).then_some(self.kind);
        let think_s = match thought_about {
            Some(kind) => {
                let mean = kind.think_s();
                self.think_rng.exponential(mean).min(mean * LONGEST_THINK)
            }
            // Terminals begin spread over one cycle.
            None => self.think_rng.uniform_fraction() * MEAN_CYCLE_S,
        };
        let think = self.scaled(think_s);
        let input = self.draw_input();
        self.input = Some(input);
        let keying = self.scaled(self.kind.keying_s());
        self.times = TransactionTimes { thought_about, think };
        Some(now + think + keying)
    }

    fn note_record(&mut self, record: &EventRecord) {
        self.counts.note_record(record, &self.times);
    }

    fn step_latencies(&self) -> &[StepLatency] {
        self.runner.as_ref().map_or(&[], StatementRunner::steps)
    }

    fn error_policy(&self, error: EventError) -> ErrorPolicy {
        match error.kind {
            EventErrorKind::Server if RETRIED.contains(&error.code) => ErrorPolicy::RestartEvent,
            _ => ErrorPolicy::CountEvent,
        }
    }

    fn error_text(&self) -> &str {
        self.runner.as_ref().map_or("", StatementRunner::error_text)
    }

    async fn close(&mut self) {
        if let Some(mut runner) = self.runner.take() {
            runner.quit().await;
        }
    }
}
