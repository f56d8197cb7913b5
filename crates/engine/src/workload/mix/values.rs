//! The values of one worker, or of the rows of one table: drawn when they are first asked for in an event, in memory that is
//! used again. Each value has a stream of random numbers of its own, so that one more value shifts no other.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::dictionary::Dictionary;
use super::draw::{
    DrawPart, DrawPlan, DrawRule, SlotField, SlotFormula, draw_length, hash_bytes, write_scalar,
    ycsb_key_number,
};
use super::formula::Scalar;
use super::pieces::date_of_days;
use crate::base::random::Rng;
use crate::base::{Clock as _, RealClock};

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
    /// The highest number that each has given out.
    pub(super) unique_highest: Vec<AtomicI64>,
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
enum CellKind {
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
struct ValueCell {
    kind: CellKind,
    text: Vec<u8>,
}

#[derive(Clone, Debug)]
struct SlotState {
    cell: ValueCell,
    /// The event that it was drawn in; 0 for not yet.
    drawn_in: u64,
    rng: Rng,
    /// How far it is in what it takes in turn.
    position: u64,
}

/// Values of one worker, or of rows.
#[derive(Debug)]
pub(super) struct ValueState<'p> {
    table: &'p ValueTable,
    slots: Vec<SlotState>,
    event: u64,
    site: DrawSite,
    /// Where its unique numbers begin.
    bases: Vec<i64>,
    clock: RealClock,
    is_counted: bool,
}

impl Drop for ValueState<'_> {
    fn drop(&mut self) {
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
        };
        let slots = table.slots.iter().map(slot).collect();
        let clock = RealClock::start_now();
        ValueState { table, slots, event: 0, site, bases, clock, is_counted }
    }

    /// Values of the last event are old.
    #[inline]
    pub(super) fn begin_event(&mut self) {
        self.event += 1;
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
        let (mut rng, mut position) = (state.rng.clone(), state.position);
        if let DrawSite::Row { seed, row } = self.site {
            (rng, position) = (Rng::new(seed, plan.stream, row), row - 1);
        }
        cell.text.clear();
        cell.kind = CellKind::Null;
        if plan.plan.null_share == 0.0 || rng.uniform_fraction() >= plan.plan.null_share {
            let mut context = DrawContext { state: self, rng: &mut rng, position: &mut position };
            context.draw(&plan.plan.rule, &mut cell);
        }
        let drawn_in = self.event.max(1);
        self.slots[slot] = SlotState { cell, drawn_in, rng, position };
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

    fn set_scalar(&mut self, value: Scalar<'_>) {
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

/// One value being drawn.
struct DrawContext<'a, 'p> {
    state: &'a ValueState<'p>,
    rng: &'a mut Rng,
    position: &'a mut u64,
}

impl DrawContext<'_, '_> {
    fn draw(&mut self, rule: &DrawRule, cell: &mut ValueCell) {
        let table = self.state.table;
        match rule {
            DrawRule::Constant => {}
            DrawRule::Keys(keys) => cell.kind = CellKind::Int(keys.draw(self.rng)),
            DrawRule::Between(low, high) => self.draw_between(low, high, cell),
            DrawRule::Real { low, high, digits } => self.draw_real(low, high, *digits, cell),
            DrawRule::Letters { length, letters } => {
                cell.kind = CellKind::Text;
                for _ in 0..draw_length(length, self.rng) {
                    cell.text.push(letters[self.rng.uniform_below(letters.len() as u64) as usize]);
                }
            }
            DrawRule::Words { length, data } => self.draw_words(length, *data, cell),
            DrawRule::Pattern(pattern) => self.draw_pattern(pattern, cell),
            DrawRule::Template(parts) => self.draw_template(parts, cell),
            DrawRule::Pick { data, keys } => {
                let row = keys.draw(self.rng) as usize;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::PickNext { data } => {
                let rows = table.dictionaries[*data].row_count() as u64;
                let row = (*self.position % rows) as usize;
                *self.position += 1;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::PickShared { data } => {
                let taken = match self.state.site {
                    DrawSite::Row { row, .. } => row - 1,
                    DrawSite::Worker { .. } => table.shared[*data].fetch_add(1, Ordering::Relaxed),
                };
                let row = (taken % table.dictionaries[*data].row_count() as u64) as usize;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::Unique { counter } => self.draw_unique(*counter, cell),
            DrawRule::Uuid { version } => self.draw_uuid(*version, cell),
            DrawRule::Time { low, high } => {
                let drawn = self.rng.uniform_between(0, (high - low) as u64) as i64;
                write_moment(low + drawn, cell);
            }
            DrawRule::Mixture { total, rules } => {
                let mut at = self.rng.uniform_fraction() * total;
                let last = &rules[rules.len() - 1].1;
                let found = rules.iter().find(|(weight, _)| {
                    at -= weight;
                    at < 0.0
                });
                self.draw(found.map_or(last, |(_, rule)| rule), cell);
            }
            DrawRule::Computed(formula) => cell.set_scalar(self.state.evaluate(formula)),
            DrawRule::YcsbKey { number, is_go } => {
                let number = self.state.evaluate(number).to_whole().unwrap_or(0);
                let key = ycsb_key_number(number as u64, *is_go);
                cell.kind = CellKind::Text;
                cell.text.extend_from_slice(b"user");
                write_scalar(Scalar::Int(key as i64), &mut cell.text);
            }
            DrawRule::Hash(formula) => {
                write_scalar(self.state.evaluate(formula), &mut cell.text);
                let hash = hash_bytes(cell.text.iter().copied());
                cell.text.clear();
                cell.kind = CellKind::Int((hash >> 1) as i64);
            }
        }
    }

    fn draw_between(&mut self, low: &SlotFormula, high: &SlotFormula, cell: &mut ValueCell) {
        let low = self.state.evaluate(low).to_whole();
        let high = self.state.evaluate(high).to_whole();
        let Some((low, high)) = low.zip(high).filter(|(low, high)| low <= high) else { return };
        let span = high.wrapping_sub(low) as u64;
        let drawn = low.wrapping_add(self.rng.uniform_between(0, span) as i64);
        cell.kind = CellKind::Int(drawn);
    }

    fn draw_real(
        &mut self,
        low: &SlotFormula,
        high: &SlotFormula,
        digits: Option<u8>,
        cell: &mut ValueCell,
    ) {
        let low = self.state.evaluate(low).to_real();
        let Some((low, high)) = low.zip(self.state.evaluate(high).to_real()) else { return };
        let drawn = low + (high - low) * self.rng.uniform_fraction();
        cell.kind = CellKind::Real(match digits {
            Some(digits) => {
                let scale = 10_f64.powi(i32::from(digits));
                (drawn * scale).round() / scale
            }
            None => drawn,
        });
    }

    fn draw_words(&mut self, length: &super::spec::LengthSpec, data: usize, cell: &mut ValueCell) {
        let words = &self.state.table.dictionaries[data];
        let wanted = draw_length(length, self.rng);
        cell.kind = CellKind::Text;
        let rows = words.row_count() as u64;
        // Words may be empty: the text ends all the same.
        for _ in 0..wanted {
            if cell.text.len() >= wanted {
                break;
            }
            if !cell.text.is_empty() {
                cell.text.push(b' ');
            }
            let row = self.rng.uniform_below(rows) as usize;
            write_scalar(words.value(row, 0), &mut cell.text);
        }
        let mut end = wanted.min(cell.text.len());
        while end > 0 && end < cell.text.len() && cell.text[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        cell.text.truncate(end);
    }

    fn draw_pattern(&mut self, pattern: &[u8], cell: &mut ValueCell) {
        cell.kind = CellKind::Text;
        for byte in pattern {
            cell.text.push(match byte {
                b'#' => b'0' + self.rng.uniform_below(10) as u8,
                b'@' => b'a' + self.rng.uniform_below(26) as u8,
                other => *other,
            });
        }
    }

    fn draw_template(&mut self, parts: &[DrawPart], cell: &mut ValueCell) {
        cell.kind = CellKind::Text;
        for part in parts {
            match part {
                DrawPart::Literal(text) => cell.text.extend_from_slice(text),
                DrawPart::Letters(count) => {
                    for _ in 0..*count {
                        cell.text.push(b'a' + self.rng.uniform_below(26) as u8);
                    }
                }
                DrawPart::Digits(count) => {
                    for _ in 0..*count {
                        cell.text.push(b'0' + self.rng.uniform_below(10) as u8);
                    }
                }
                DrawPart::Value(formula, width) => {
                    let begin = cell.text.len();
                    write_scalar(self.state.evaluate(formula), &mut cell.text);
                    let written = cell.text.len() - begin;
                    let missing = width.saturating_sub(written);
                    cell.text.extend(std::iter::repeat_n(b'0', missing));
                    cell.text[begin..].rotate_right(missing);
                }
            }
        }
    }

    fn draw_unique(&mut self, counter: usize, cell: &mut ValueCell) {
        let base = self.state.bases[counter];
        let number = match self.state.site {
            DrawSite::Row { row, .. } => base.wrapping_add(row as i64 - 1),
            DrawSite::Worker { worker, workers } => {
                let number = *self.position * workers + worker;
                *self.position += 1;
                base.wrapping_add(number as i64)
            }
        };
        self.state.table.unique_highest[counter].fetch_max(number, Ordering::Relaxed);
        cell.kind = CellKind::Int(number);
    }

    /// As RFC 9562 has them.
    fn draw_uuid(&mut self, version: u8, cell: &mut ValueCell) {
        let mut bytes = [0; 16];
        self.rng.fill_bytes(&mut bytes);
        if version == 7 {
            let clock = &self.state.clock;
            let now_ms = (clock.origin_unix_ns() + clock.now().0) / 1_000_000;
            bytes[..6].copy_from_slice(&now_ms.to_be_bytes()[2..]);
        }
        bytes[6] = bytes[6] & 0x0f | version << 4;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        cell.kind = CellKind::Text;
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                cell.text.push(b'-');
            }
            const HEX: &[u8; 16] = b"0123456789abcdef";
            cell.text.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// `2024-02-29 12:30:00`.
fn write_moment(moment_s: i64, cell: &mut ValueCell) {
    use std::io::Write as _;
    let (year, month, day) = date_of_days(moment_s.div_euclid(86_400));
    let second = moment_s.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    cell.kind = CellKind::Text;
    let written =
        write!(cell.text, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    written.expect("a vector takes all bytes");
}
