//! One worker: its session, its values, and how it plays an event.

use super::draw::SlotFormula;
use super::formula::Scalar;
use super::program::{MixProgram, StepDeed, StepPlan, TransactionPlan};
use super::run::StatementSession;
use super::sessions::FlowPlan;
use super::values::ValueState;
use super::{MixWorkload, RETRIES};
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos, RealClock};
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, StepId, StepLatency, Tally,
};
use crate::workload::pause::let_time_pass;
use crate::workload::{OpenError, Worker, WorkerContext, sql};

/// Stream of what a worker decides, beside those of values, which are hashes.
const FLOW_STREAM: u64 = 1;
/// Times of steps that are kept of one event without asking for memory.
const STEPS: usize = 64;

/// One worker.
pub(super) struct MixWorker<'w> {
    workload: &'w MixWorkload,
    program: &'w MixProgram,
    part: WorkerContext,
    /// Its kind of session.
    kind: usize,
    pub(super) values: ValueState<'w>,
    flow: FlowState,
    line: StatementSession<'w>,
    clock: RealClock,
    timed: Vec<StepLatency>,
    think: Option<Nanos>,
    rhythm: Option<OwnRhythm>,
    events: u64,
}

/// Where a worker is in its flow.
pub(super) struct FlowState {
    pub(super) rng: Rng,
    /// In an order: which entry, and how often it is still to run.
    entry: usize,
    left: u64,
}

/// When the events of a kind with a rate of its own are due.
struct OwnRhythm {
    period: f64,
    /// Due times so far.
    count: u64,
    phase: f64,
    began: Option<Nanos>,
}

impl FlowState {
    pub(super) fn new(seed: u64, worker: u64) -> FlowState {
        FlowState { rng: Rng::new(seed, worker, FLOW_STREAM), entry: 0, left: 0 }
    }

    /// The next transaction, by its place.
    pub(super) fn next_transaction(&mut self, flow: &FlowPlan) -> usize {
        match flow {
            FlowPlan::Mix(sums) => {
                let [.., (last, total)] = &sums[..] else { return 0 };
                if sums.len() == 1 {
                    return *last;
                }
                let at = self.rng.uniform_fraction() * total;
                sums.iter().find(|(_, sum)| at < *sum).map_or(*last, |(place, _)| *place)
            }
            FlowPlan::Order(entries) => loop {
                if self.left > 0 {
                    self.left -= 1;
                    let before = (self.entry + entries.len() - 1) % entries.len();
                    return entries[before].0;
                }
                let (_, low, high) = entries[self.entry];
                self.left = self.rng.uniform_between(low, high);
                self.entry = (self.entry + 1) % entries.len();
            },
        }
    }
}

/// Whether a step runs, and how often.
pub(super) fn step_rounds(step: &StepPlan, values: &mut ValueState<'_>, rng: &mut Rng) -> u64 {
    if step.chance < 1.0 && rng.uniform_fraction() >= step.chance {
        return 0;
    }
    if step.when.as_ref().is_some_and(|when| !values.compute(when).is_true()) {
        return 0;
    }
    let Some((low, high)) = &step.repeat else { return 1 };
    let mut whole = |formula: &SlotFormula| values.compute(formula).to_whole().unwrap_or(0).max(0);
    let (low, high) = (whole(low) as u64, whole(high) as u64);
    if low < high { rng.uniform_between(low, high) } else { low }
}

impl<'w> MixWorker<'w> {
    pub(super) fn new(
        workload: &'w MixWorkload,
        program: &'w MixProgram,
        part: WorkerContext,
        kind: usize,
    ) -> MixWorker<'w> {
        let (worker, workers) = (part.worker as u64, part.workers as u64);
        let session = &program.sessions[kind];
        let rhythm = session.rate.map(|rate| {
            let is_alike = |other: &usize| program.session_of(*other, part.workers) == Ok(kind);
            let alike = (0..part.workers).filter(is_alike).count();
            let place = (0..part.worker).filter(is_alike).count();
            let period = 1e9 * alike as f64 / rate;
            let phase = period * place as f64 / alike as f64;
            OwnRhythm { period, count: 0, phase, began: None }
        });
        MixWorker {
            workload,
            program,
            kind,
            values: ValueState::of_worker(&program.values, part.seed, worker, workers),
            flow: FlowState::new(part.seed, worker),
            line: StatementSession::new(program, &session.flow),
            part,
            clock: RealClock::start_now(),
            timed: Vec::with_capacity(STEPS),
            think: None,
            rhythm,
            events: 0,
        }
    }

    /// Runs the steps of a transaction once.
    async fn run_attempt(
        &mut self,
        tally: &mut Tally,
        transaction: &TransactionPlan,
    ) -> Result<(), EventError> {
        for sql in &transaction.begin {
            self.line.run_text(tally, sql).await?;
        }
        for step in &transaction.steps {
            let rounds = step_rounds(step, &mut self.values, &mut self.flow.rng);
            for _ in 0..rounds {
                match step.what {
                    StepDeed::Statement(number) => match step.timed {
                        None => self.line.run_statement(tally, &mut self.values, number).await?,
                        Some(timed) => self.run_timed(tally, number, timed).await?,
                    },
                    StepDeed::Sleep(pause) => {
                        let time = Nanos(pause.draw_ns(&mut self.flow.rng));
                        let began = self.clock.now();
                        let_time_pass(time, &self.part.abandon).await;
                        if let Some(timed) = step.timed {
                            self.note_step(timed, began, false);
                        }
                    }
                }
            }
        }
        if !transaction.begin.is_empty() {
            let began = self.clock.now();
            let ended = self.line.run_text(tally, b"COMMIT").await;
            if let Some(commit) = self.program.commit {
                self.note_step(commit, began, ended.is_err());
            }
            ended?;
        }
        Ok(())
    }

    async fn run_timed(
        &mut self,
        tally: &mut Tally,
        number: usize,
        timed: StepId,
    ) -> Result<(), EventError> {
        let began = self.clock.now();
        let ended = self.line.run_statement(tally, &mut self.values, number).await;
        self.note_step(timed, began, ended.is_err());
        ended
    }

    fn note_step(&mut self, step: StepId, began: Nanos, failed: bool) {
        self.timed.push(StepLatency { step, time: self.clock.now().since(began), failed });
    }

    /// Runs it until it succeeds, or may not be tried again.
    async fn run_transaction(
        &mut self,
        tally: &mut Tally,
        transaction: &TransactionPlan,
    ) -> Option<EventError> {
        let mut attempts = 0;
        loop {
            let error = self.run_attempt(tally, transaction).await.err()?;
            let is_begun = !transaction.begin.is_empty();
            let error = self.line.undo(error, is_begun).await;
            let retry = &transaction.retry;
            let is_worth_it = error.kind == EventErrorKind::Server
                && retry.codes.contains(&error.code)
                && attempts < retry.times
                && !self.part.abandon.is_set();
            if !is_worth_it {
                return Some(error);
            }
            attempts += 1;
            tally.counts[RETRIES] += 1;
            if let Some(wait) = retry.wait {
                let time = Nanos(wait.draw_ns(&mut self.flow.rng));
                let_time_pass(time, &self.part.abandon).await;
            }
        }
    }

    /// Whether its kind of session has events of the class that shall run alone.
    fn has_events(&self) -> bool {
        let flow = &self.program.sessions[self.kind].flow;
        flow.places().any(|place| self.is_wanted(place))
    }

    fn is_wanted(&self, place: usize) -> bool {
        let class = usize::from(self.program.transactions[place].class);
        self.part.only_class.is_none_or(|only| only == class)
    }

    /// The next transaction, by its place; of the class that runs alone, if one does.
    fn next_transaction(&mut self, flow: &FlowPlan) -> usize {
        loop {
            let place = self.flow.next_transaction(flow);
            if self.is_wanted(place) {
                return place;
            }
        }
    }

    /// A new connection where its kind of session asks for one now and then.
    async fn reconnect_if_due(&mut self) -> Option<EventError> {
        let every = self.program.sessions[self.kind].reconnect_every;
        if every == 0 || self.events == 0 || self.events % every != 0 {
            return None;
        }
        self.line.close().await;
        let opened = self.open().await;
        opened.err().map(|error| EventError { kind: error.kind, code: error.code })
    }
}

impl Worker for MixWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        let init = &self.program.sessions[self.kind].init;
        let target = self.workload.target_of(self.kind);
        self.line.open(target, &self.part.abandon, init).await
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        if !self.has_events() {
            return None;
        }
        let Some(rhythm) = &mut self.rhythm else { return Some(now) };
        let began = *rhythm.began.get_or_insert(now);
        let due = rhythm.phase + rhythm.count as f64 * rhythm.period;
        rhythm.count += 1;
        Some(began + Nanos(due as u64))
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.timed.clear();
        self.values.begin_event();
        let session = &self.program.sessions[self.kind];
        let place = self.next_transaction(&session.flow);
        let transaction = &self.program.transactions[place];
        let error = match self.reconnect_if_due().await {
            Some(error) => Some(error),
            None => self.run_transaction(tally, transaction).await,
        };
        self.values.end_event();
        self.events += 1;
        let pause = transaction.think.or(session.think);
        self.think = pause.map(|pause| Nanos(pause.draw_ns(&mut self.flow.rng)));
        EventOutcome { class: ClassId(transaction.class), error }
    }

    fn step_latencies(&self) -> &[StepLatency] {
        &self.timed
    }

    fn think_time(&self) -> Option<Nanos> {
        self.think
    }

    fn error_text(&self) -> &str {
        self.line.error_text()
    }

    async fn close(&mut self) {
        self.line.close().await;
    }
}

/// Counts a statement. One that could change data and changed none counts as neither read nor write.
#[inline]
pub(super) fn count_statement(tally: &mut Tally, is_read: bool, affected: u64) {
    let counter = match (is_read, affected) {
        (true, _) => sql::READS,
        (false, 0) => sql::OTHER,
        (false, _) => sql::WRITES,
    };
    tally.counts[counter] += 1;
}

/// Writes a value as SQL. Quotes are doubled and backslashes too, so that no value ends its text, whatever the mode.
pub(super) fn write_literal(value: Scalar<'_>, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let written = match value {
        Scalar::Null => write!(out, "NULL"),
        Scalar::Int(number) => write!(out, "{number}"),
        Scalar::Real(number) => write!(out, "{number}"),
        Scalar::Text(text) => {
            out.push(b'\'');
            for byte in text {
                if matches!(byte, b'\'' | b'\\') {
                    out.push(*byte);
                }
                out.push(*byte);
            }
            out.push(b'\'');
            Ok(())
        }
    };
    written.expect("a vector takes all bytes");
}
