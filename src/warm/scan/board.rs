//! Who does what next: the queue that a scan's sessions share, and the marks that tell when tables are through.
//! Pure: time comes in as a parameter.

use std::collections::{HashMap, VecDeque};

use super::limit::Rate;
use super::unit::Unit;
use crate::base::Nanos;
use crate::warm::Event;

/// A piece of an index to read.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::warm) struct Task {
    pub unit: usize,
    pub condition: String,
    /// Estimated.
    pub pages: u64,
    /// What it is told by when it has been read; `None` if nobody wants to hear of it.
    pub mark: Option<u64>,
}

/// What a session shall do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Work {
    /// Find out where to cut a unit.
    Cut(usize),
    /// Read a piece.
    Read(Task),
    /// Come back later.
    Wait,
    /// Nothing is left.
    End,
}

/// Whether pieces may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Paused,
    Closed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    cut: bool,
    tasks_left: usize,
    tasks_done: usize,
    failed: bool,
}

/// The queue.
pub(in crate::warm) struct Board {
    units: Vec<Unit>,
    states: Vec<State>,
    next: usize,
    cutting: usize,
    tasks: VecDeque<Task>,
    pub(super) gate: Gate,
    rate: Rate,
    began: Nanos,
    /// Not all units fit the pool: each is read to its end before the next begins, so that at most one is left in
    /// part when the pool is full. An index that is there in part saves its users little.
    one_by_one: bool,
    /// Pages that may have begun before the next look at the pool.
    limit: u64,
    /// Somebody waits for that look.
    starved: bool,
    pages_begun: u64,
    pages_done: u64,
    pages_running: u64,
    /// Pieces under way.
    running: usize,
    tables: HashMap<(String, String), Mark>,
    databases: HashMap<String, Mark>,
    events: Vec<Event>,
    done: Vec<u64>,
    failures: Vec<String>,
}

/// Units of a table, or tables of a database, that are still open.
#[derive(Default)]
struct Mark {
    open: usize,
    began: bool,
    failed: Option<String>,
}

impl Board {
    /// A board with all units in the order of their priority, for a pool that has room for so many pages.
    pub(in crate::warm) fn new(units: Vec<Unit>, rate: Rate, began: Nanos, room: u64) -> Board {
        let one_by_one = units.iter().map(|u| u.pages).sum::<u64>() > room;
        let mut tables: HashMap<(String, String), Mark> = HashMap::new();
        let mut databases: HashMap<String, Mark> = HashMap::new();
        for unit in &units {
            let table = tables.entry((unit.database.clone(), unit.table.clone())).or_default();
            table.open += 1;
            if table.open == 1 {
                databases.entry(unit.database.clone()).or_default().open += 1;
            }
        }
        Board {
            states: vec![State::default(); units.len()],
            units,
            next: 0,
            cutting: 0,
            tasks: VecDeque::new(),
            gate: Gate::Open,
            rate,
            began,
            one_by_one,
            limit: u64::MAX,
            starved: false,
            pages_begun: 0,
            pages_done: 0,
            pages_running: 0,
            running: 0,
            tables,
            databases,
            events: Vec::new(),
            done: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// A board whose first `planned` units are cut already, into these pieces in this order; all others are cut and
    /// read behind them.
    pub(in crate::warm) fn planned(
        units: Vec<Unit>,
        planned: usize,
        tasks: Vec<Task>,
        rate: Rate,
        began: Nanos,
    ) -> Board {
        let mut board = Board::new(units, rate, began, u64::MAX);
        for unit in 0..planned {
            board.begin(unit);
            board.states[unit].cut = true;
        }
        for task in &tasks {
            board.states[task.unit].tasks_left += 1;
        }
        board.next = planned;
        board.tasks = tasks.into();
        board
    }

    pub(super) fn unit(&self, unit: usize) -> &Unit {
        &self.units[unit]
    }

    /// The next piece of work at this time.
    pub(super) fn take(&mut self, now: Nanos) -> Work {
        match self.gate {
            Gate::Closed => return Work::End,
            Gate::Paused => return Work::Wait,
            Gate::Open => {}
        }
        if self.rate.due(self.began, self.pages_begun) > now {
            return if self.is_through() { Work::End } else { Work::Wait };
        }
        if self.pages_begun >= self.limit && !self.tasks.is_empty() {
            self.starved = true;
            return Work::Wait;
        }
        if let Some(task) = self.tasks.pop_front() {
            self.pages_begun += task.pages;
            self.pages_running += task.pages;
            self.running += 1;
            return Work::Read(task);
        }
        if self.one_by_one && self.cutting + self.running > 0 {
            return if self.next < self.units.len() || self.cutting > 0 {
                Work::Wait
            } else {
                Work::End
            };
        }
        if self.next < self.units.len() {
            let unit = self.next;
            self.next += 1;
            self.cutting += 1;
            self.begin(unit);
            return Work::Cut(unit);
        }
        if self.cutting > 0 { Work::Wait } else { Work::End }
    }

    fn is_through(&self) -> bool {
        self.tasks.is_empty() && self.next == self.units.len() && self.cutting == 0
    }

    fn begin(&mut self, unit: usize) {
        let Unit { database, table, .. } = &self.units[unit];
        let (database, table) = (database.clone(), table.clone());
        let mark = self.databases.entry(database.clone()).or_default();
        if !std::mem::replace(&mut mark.began, true) {
            self.events.push(Event::DatabaseBegan(database.clone()));
        }
        let mark = self.tables.entry((database.clone(), table.clone())).or_default();
        if !std::mem::replace(&mut mark.began, true) {
            self.events.push(Event::TableBegan(database, table));
        }
    }

    /// The pieces of a unit are known.
    pub(super) fn cut_into(&mut self, unit: usize, tasks: Vec<Task>) {
        self.cutting -= 1;
        self.states[unit].cut = true;
        self.states[unit].tasks_left = tasks.len();
        self.tasks.extend(tasks);
    }

    /// A unit could not be cut.
    pub(super) fn cut_failed(&mut self, unit: usize, why: &str) {
        self.cutting -= 1;
        self.states[unit].cut = true;
        self.fail(unit, why);
    }

    /// A piece has been read.
    pub(super) fn read(&mut self, task: &Task) {
        self.running -= 1;
        self.pages_running -= task.pages;
        self.pages_done += task.pages;
        self.done.extend(task.mark);
        let state = &mut self.states[task.unit];
        state.tasks_left -= 1;
        state.tasks_done += 1;
        if state.tasks_left == 0 && !state.failed {
            self.close_unit(task.unit, None);
        }
    }

    /// A piece could not be read: what is left of its unit is dropped.
    pub(super) fn read_failed(&mut self, task: &Task, why: &str) {
        self.running -= 1;
        self.pages_running -= task.pages;
        self.states[task.unit].tasks_left -= 1;
        self.fail(task.unit, why);
    }

    /// A piece was broken off because the scan ends.
    pub(super) fn broken_off(&mut self, task: &Task) {
        self.running -= 1;
        self.pages_running -= task.pages;
    }

    fn fail(&mut self, unit: usize, why: &str) {
        let before = self.tasks.len();
        self.tasks.retain(|task| task.unit != unit);
        let state = &mut self.states[unit];
        state.tasks_left -= before - self.tasks.len();
        if !std::mem::replace(&mut state.failed, true) {
            self.failures.push(format!("{}: {why}", self.units[unit].label()));
            self.close_unit(unit, Some(why.to_owned()));
        }
    }

    fn close_unit(&mut self, unit: usize, failed: Option<String>) {
        let Unit { database, table, .. } = &self.units[unit];
        let (database, table) = (database.clone(), table.clone());
        let mark = self.tables.entry((database.clone(), table.clone())).or_default();
        mark.open -= 1;
        mark.failed = mark.failed.take().or(failed);
        if mark.open > 0 {
            return;
        }
        self.events.push(match mark.failed.take() {
            Some(why) => Event::TableFailed(database.clone(), table, why),
            None => Event::TableEnded(database.clone(), table),
        });
        let mark = self.databases.entry(database.clone()).or_default();
        mark.open -= 1;
        if mark.open == 0 {
            self.events.push(Event::DatabaseEnded(database));
        }
    }

    /// Lets pieces of so many pages begin before the next look at the pool.
    pub(super) fn allow(&mut self, pages: u64) {
        self.limit = self.pages_begun.saturating_add(pages);
        self.starved = false;
    }

    /// Whether a session waits for the next look at the pool.
    pub(super) fn is_starved(&self) -> bool {
        self.starved
    }

    /// What happened since the last look.
    pub(super) fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Marks of pieces that were read since the last look.
    pub(super) fn done(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.done)
    }

    /// What failed, in words, and how often.
    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Pages of all units, as estimated.
    pub(super) fn pages_total(&self) -> u64 {
        self.units.iter().map(|u| u.pages).sum()
    }

    /// Pages done, with what the server has read so far of the pieces under way.
    pub(super) fn pages_done(&self, read: u64) -> u64 {
        read.clamp(self.pages_done, self.pages_done + self.pages_running).min(self.pages_total())
    }

    /// Units that were not read to their end and did not fail: labels, with `in part` where some was read.
    pub(super) fn left_out(&self) -> Vec<String> {
        let open = |state: &State| !(state.failed || state.cut && state.tasks_left == 0);
        let units = self.units.iter().zip(&self.states).filter(|(_, state)| open(state));
        units
            .map(|(unit, state)| {
                let part = if state.tasks_done > 0 { " (read in part)" } else { "" };
                format!("{}{part}", unit.label())
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
