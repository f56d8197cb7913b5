//! The values of one worker, or of the rows of one table: drawn when they are first asked for in an event, in memory that is
//! used again. Each value has a stream of random numbers of its own, so that one more value shifts no other.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::dictionary::Dictionary;
use super::draw::{DrawPlan, DrawRule, GrowingSampler, SlotField, SlotFormula};
use super::draw_value::DrawContext;
use super::formula::Scalar;
use super::settled::SettledNumbers;
use crate::base::RealClock;
use crate::base::random::Rng;

/// When a slot gets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotMode {
    Event,
    Use,
    Session,
    /// When a result gives one.
    Kept,
}

/// A value of the program.
#[derive(Clone, Debug)]
pub(super) struct SlotPlan {
    pub(super) name: String,
    pub(super) mode: SlotMode,
    pub(super) plan: DrawPlan,
    /// Slots that must have a value before it is drawn.
    pub(super) needs: Box<[usize]>,
    /// Its stream of random numbers.
    pub(super) stream: u64,
}

/// All values of a program, and what the workers share.
#[derive(Debug, Default)]
pub(super) struct ValueTable {
    pub(super) slots: Vec<SlotPlan>,
    pub(super) dictionaries: Vec<Dictionary>,
    /// Entries taken so far of each dictionary that all workers go through together.
    pub(super) shared: Vec<AtomicU64>,
    /// Where each counter of unique numbers begins.
    pub(super) unique_starts: Vec<i64>,
    /// The next number of each that all workers share.
    pub(super) unique_next: Vec<AtomicI64>,
    /// The highest number that each has given out.
    pub(super) unique_highest: Vec<AtomicI64>,
    /// How far the numbers of each are stored, for those that are asked for it.
    pub(super) settled: Vec<Option<SettledNumbers>>,
    pub(super) life: Mutex<CounterLife>,
}

/// The workers of a load that count unique numbers: a load after it goes on where they ended.
#[derive(Debug, Default)]
pub(super) struct CounterLife {
    live: usize,
    bases: Vec<i64>,
}

impl ValueTable {
    fn begin_worker(&self) -> Vec<i64> {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        if life.live == 0 {
            let highest = self.unique_highest.iter().map(|h| h.load(Ordering::Relaxed));
            let starts = self.unique_starts.iter().zip(highest);
            life.bases =
                starts.map(|(start, highest)| (*start).max(highest.saturating_add(1))).collect();
        }
        life.live += 1;
        life.bases.clone()
    }

    fn end_worker(&self) {
        self.life.lock().unwrap_or_else(PoisonError::into_inner).live -= 1;
    }
}

/// Who draws.
#[derive(Clone, Copy, Debug)]
pub(super) enum DrawSite {
    /// A worker of a load.
    Worker { worker: u64, workers: u64 },
    /// A row of a table, from 1.
    Row { seed: u64, row: u64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum CellKind {
    #[default]
    Null,
    Int(i64),
    Real(f64),
    Text,
    /// A row of a dictionary.
    Entry {
        data: usize,
        row: usize,
    },
}

/// A value, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueCell {
    pub(super) kind: CellKind,
    pub(super) text: Vec<u8>,
}

#[derive(Clone, Debug)]
struct SlotState {
    cell: ValueCell,
    /// The event that it was drawn in; 0 for not yet.
    drawn_in: u64,
    rng: Rng,
    /// How far it is in what it takes in turn.
    position: u64,
    growing: Option<Box<GrowingSampler>>,
}

/// Values of one worker, or of rows.
#[derive(Debug)]
pub(super) struct ValueState<'p> {
    pub(super) table: &'p ValueTable,
    slots: Vec<SlotState>,
    event: u64,
    pub(super) site: DrawSite,
    /// Where its unique numbers begin.
    pub(super) bases: Vec<i64>,
    pub(super) clock: RealClock,
    is_counted: bool,
    /// Numbers of shared counters that the event took, and their counters.
    taken: Vec<(usize, i64)>,
}

impl Drop for ValueState<'_> {
    fn drop(&mut self) {
        self.end_event();
        if self.is_counted {
            self.table.end_worker();
        }
    }
}

impl<'p> ValueState<'p> {
    /// The values of a worker.
    pub(super) fn of_worker(
        table: &'p ValueTable,
        seed: u64,
        worker: u64,
        workers: u64,
    ) -> ValueState<'p> {
        let bases = table.begin_worker();
        let site = DrawSite::Worker { worker, workers: workers.max(1) };
        ValueState::new(table, site, bases, true, |stream| Rng::new(seed, worker, stream))
    }

    /// The values of rows.
    pub(super) fn of_rows(table: &'p ValueTable, seed: u64) -> ValueState<'p> {
        let site = DrawSite::Row { seed, row: 0 };
        let bases = table.unique_starts.clone();
        ValueState::new(table, site, bases, false, |stream| Rng::new(seed, stream, 0))
    }

    fn new(
        table: &'p ValueTable,
        site: DrawSite,
        bases: Vec<i64>,
        is_counted: bool,
        rng: impl Fn(u64) -> Rng,
    ) -> ValueState<'p> {
        let slot = |plan: &SlotPlan| SlotState {
            cell: ValueCell::default(),
            drawn_in: 0,
            rng: rng(plan.stream),
            position: 0,
            growing: None,
        };
        let slots = table.slots.iter().map(slot).collect();
        let clock = RealClock::start_now();
        let taken = Vec::with_capacity(table.unique_starts.len());
        ValueState { table, slots, event: 0, site, bases, clock, is_counted, taken }
    }

    /// Values of the last event are old.
    #[inline]
    pub(super) fn begin_event(&mut self) {
        self.end_event();
        self.event += 1;
    }

    /// The numbers that the event took are stored, or never will be.
    #[inline]
    pub(super) fn end_event(&mut self) {
        while let Some((counter, number)) = self.taken.pop() {
            if let Some(settled) = &self.table.settled[counter] {
                settled.settle(number);
            }
        }
    }

    /// The same for a row; `slot` is the one that holds its number.
    pub(super) fn begin_row(&mut self, row: u64, slot: Option<usize>) {
        self.event += 1;
        if let DrawSite::Row { seed, .. } = self.site {
            self.site = DrawSite::Row { seed, row };
        }
        if let Some(slot) = slot {
            self.slots[slot].cell.kind = CellKind::Int(row as i64);
        }
    }

    /// Sees to it that a formula's values are there.
    #[inline]
    pub(super) fn ensure_formula(&mut self, formula: &SlotFormula) {
        match formula {
            SlotFormula::Constant(_) => {}
            SlotFormula::Value(name) => self.ensure_slot(name.slot),
            other => other.for_each_name(&mut |name| self.ensure_slot(name.slot)),
        }
    }

    /// The value of a formula whose values are there.
    #[inline]
    pub(super) fn evaluate<'a>(&'a self, formula: &'a SlotFormula) -> Scalar<'a> {
        formula.evaluate(&|name| self.scalar(*name))
    }

    /// Both.
    pub(super) fn compute<'a>(&'a mut self, formula: &'a SlotFormula) -> Scalar<'a> {
        self.ensure_formula(formula);
        self.evaluate(formula)
    }

    /// A slot's value as it stands.
    #[inline]
    pub(super) fn scalar(&self, place: SlotField) -> Scalar<'_> {
        self.slots[place.slot].cell.scalar(place.field, &self.table.dictionaries)
    }

    /// Gives a slot what a result held.
    pub(super) fn keep_value(&mut self, slot: usize, value: Option<&[u8]>) {
        let cell = &mut self.slots[slot].cell;
        cell.text.clear();
        cell.kind = match value {
            None => CellKind::Null,
            Some(text) => match super::formula::parse_whole(text) {
                Some(number) => CellKind::Int(number),
                None => {
                    cell.text.extend_from_slice(text);
                    CellKind::Text
                }
            },
        };
    }

    fn ensure_slot(&mut self, slot: usize) {
        let plan = &self.table.slots[slot];
        let drawn_in = self.slots[slot].drawn_in;
        let is_there = match plan.mode {
            SlotMode::Kept => true,
            SlotMode::Use => false,
            SlotMode::Session => drawn_in != 0,
            SlotMode::Event => drawn_in == self.event,
        };
        if is_there {
            return;
        }
        for need in &plan.needs {
            self.ensure_slot(*need);
        }
        let state = &mut self.slots[slot];
        let mut cell = std::mem::take(&mut state.cell);
        let mut growing = state.growing.take();
        let (mut rng, mut position) = (state.rng.clone(), state.position);
        if let DrawSite::Row { seed, row } = self.site {
            (rng, position) = (Rng::new(seed, plan.stream, row), row - 1);
        }
        cell.text.clear();
        cell.kind = CellKind::Null;
        if plan.plan.null_share == 0.0 || rng.uniform_fraction() >= plan.plan.null_share {
            let (rng, position, growing) = (&mut rng, &mut position, &mut growing);
            let mut context = DrawContext { state: self, rng, position, growing };
            context.draw(&plan.plan.rule, &mut cell);
            self.note_taken(&plan.plan.rule, &cell);
        }
        let drawn_in = self.event.max(1);
        self.slots[slot] = SlotState { cell, drawn_in, rng, position, growing };
    }

    fn note_taken(&mut self, rule: &DrawRule, cell: &ValueCell) {
        if let (DrawRule::Unique { counter, is_shared: true }, CellKind::Int(number)) =
            (rule, cell.kind)
        {
            if self.is_counted && self.table.settled[*counter].is_some() {
                self.taken.push((*counter, number));
            }
        }
    }
}

impl ValueCell {
    #[inline]
    fn scalar<'a>(&'a self, field: usize, dictionaries: &'a [Dictionary]) -> Scalar<'a> {
        match self.kind {
            CellKind::Null => Scalar::Null,
            CellKind::Int(number) => Scalar::Int(number),
            CellKind::Real(number) => Scalar::Real(number),
            CellKind::Text => Scalar::Text(&self.text),
            CellKind::Entry { data, row } => dictionaries[data].value(row, field),
        }
    }

    pub(super) fn set_scalar(&mut self, value: Scalar<'_>) {
        self.kind = match value {
            Scalar::Null => CellKind::Null,
            Scalar::Int(number) => CellKind::Int(number),
            Scalar::Real(number) => CellKind::Real(number),
            Scalar::Text(text) => {
                self.text.extend_from_slice(text);
                CellKind::Text
            }
        };
    }
}
