//! What a mix would send, without a server: its tables, and some events as SQL with values.

use super::MixWorkload;
use super::draw::SlotField;
use super::program::{MixProgram, StepDeed, StepPlan, TransactionPlan};
use super::run::write_statement;
use super::table::MixTable;
use super::values::{SlotMode, ValueState};
use super::worker::{FlowState, step_rounds};
use crate::workload::StatementPreview;
use crate::workload::fill::fill_statements;

/// Events that are shown of each kind of session.
const EVENTS: usize = 5;
/// Rounds of a repeated step that are shown.
const ROUNDS: u64 = 3;
/// The seed of what is shown: the same each time.
const SEED: u64 = 1;

/// Describes tables and events.
pub(super) fn describe_mix(workload: &MixWorkload) -> StatementPreview {
    let mut prepare = Vec::new();
    for spec in &workload.spec.tables {
        let table = MixTable::new(spec, &workload.spec, &workload.files, &workload.assumed_facts);
        if let Ok(table) = table {
            prepare.extend(fill_statements(&table.filler(SEED)));
            prepare.extend(spec.after.iter().cloned());
        }
    }
    let mut load = Vec::new();
    for (kind, session) in workload.assumed.sessions.iter().enumerate() {
        load.push(format!("-- {EVENTS} events of {}", session.name));
        let init = session.init.iter().map(|sql| String::from_utf8_lossy(sql).into_owned());
        load.extend(init);
        let mut sample = EventSample::new(&workload.assumed, kind);
        (0..EVENTS).for_each(|_| sample.describe_event(&mut load));
    }
    StatementPreview { prepare, load }
}

/// A worker that sends nothing.
pub(super) struct EventSample<'p> {
    program: &'p MixProgram,
    kind: usize,
    values: ValueState<'p>,
    flow: FlowState,
    text: Vec<u8>,
}

impl<'p> EventSample<'p> {
    pub(super) fn new(program: &'p MixProgram, kind: usize) -> EventSample<'p> {
        EventSample::of_worker(program, kind, SEED, 0)
    }

    /// The same for a worker of a load with this seed.
    pub(super) fn of_worker(
        program: &'p MixProgram,
        kind: usize,
        seed: u64,
        worker: u64,
    ) -> EventSample<'p> {
        EventSample {
            program,
            kind,
            values: ValueState::of_worker(&program.values, seed, worker, 1),
            flow: FlowState::new(seed, worker),
            text: Vec::new(),
        }
    }

    /// The statements of the next event.
    pub(super) fn describe_event(&mut self, out: &mut Vec<String>) {
        self.values.begin_event();
        let place = self.flow.next_transaction(&self.program.sessions[self.kind].flow);
        let transaction = &self.program.transactions[place];
        out.push(format!("-- {}", transaction.name));
        let begin = transaction.begin.iter();
        out.extend(begin.map(|sql| String::from_utf8_lossy(sql).into_owned()));
        for step in &transaction.steps {
            self.describe_step(transaction, step, out);
        }
        if !transaction.begin.is_empty() {
            out.push("COMMIT".to_owned());
        }
    }

    fn describe_step(
        &mut self,
        transaction: &TransactionPlan,
        step: &StepPlan,
        out: &mut Vec<String>,
    ) {
        // What a result decides is not known: the step is shown.
        let is_open = step.when.as_ref().is_some_and(|when| {
            let mut open = false;
            when.for_each_name(&mut |place| open |= self.is_kept(*place));
            open
        });
        let shown = StepPlan { when: step.when.clone().filter(|_| !is_open), ..step.clone() };
        let rounds = step_rounds(&shown, &mut self.values, &mut self.flow.rng);
        for round in 0..rounds {
            if round == ROUNDS {
                out.push(format!("-- {} times more", rounds - ROUNDS));
                break;
            }
            match step.what {
                StepDeed::Sleep(_) => out.push(format!("-- {}: a pause", transaction.name)),
                StepDeed::Statement(number) => out.push(self.describe_statement(number)),
            }
        }
    }

    fn describe_statement(&mut self, number: usize) -> String {
        let plan = &self.program.statements[number];
        for hole in &plan.holes {
            self.values.ensure_formula(hole);
        }
        let slots = &self.program.values.slots;
        let shown = |place: SlotField| {
            let slot = &slots[place.slot];
            (slot.mode == SlotMode::Kept).then(|| format!(":{}", slot.name))
        };
        write_statement(plan, &self.values, &shown, &mut self.text);
        String::from_utf8_lossy(&self.text).into_owned()
    }

    fn is_kept(&self, place: SlotField) -> bool {
        self.program.values.slots[place.slot].mode == SlotMode::Kept
    }
}
