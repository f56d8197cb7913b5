//! Who does what next: the queue that a scan's sessions share, and the marks that tell when tables are through.
//! Pure: time comes in as a parameter.

use std::collections::{HashMap, VecDeque};

use super::limit::PageRate;
use super::unit::ScanUnit;
use crate::base::Nanos;
use crate::warm::WarmEvent;

/// A piece of an index to read.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::warm) struct ReadTask {
    pub unit: usize,
    pub condition: String,
    /// Estimated.
    pub pages: u64,
    /// What it is told by when it has been read; `None` if nobody wants to hear of it.
    pub mark: Option<u64>,
}

/// What a session shall do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkItem {
    /// Find out where to cut a unit.
    Cut(usize),
    /// Read a piece.
    Read(ReadTask),
    /// Come back later.
    Wait,
    /// Nothing is left.
    End,
}

/// Whether pieces may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueGate {
    Open,
    Paused,
    Closed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct UnitState {
    cut: bool,
    tasks_left: usize,
    tasks_done: usize,
    failed: bool,
}

/// The queue.
pub(in crate::warm) struct WorkQueue {
    units: Vec<ScanUnit>,
    states: Vec<UnitState>,
    next: usize,
    cutting: usize,
    tasks: VecDeque<ReadTask>,
    pub(super) gate: QueueGate,
    rate: PageRate,
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
    tables: HashMap<(String, String), ObjectProgress>,
    databases: HashMap<String, ObjectProgress>,
    events: Vec<WarmEvent>,
    done: Vec<u64>,
    failures: Vec<String>,
}

/// Units of a table, or tables of a database, that are still open.
#[derive(Default)]
struct ObjectProgress {
    open: usize,
    began: bool,
    failed: Option<String>,
}

impl WorkQueue {
    /// A board with all units in the order of their priority, for a pool that has room for so many pages.
    pub(in crate::warm) fn new(
        units: Vec<ScanUnit>,
        rate: PageRate,
        began: Nanos,
        room: u64,
    ) -> WorkQueue {
        let one_by_one = units.iter().map(|u| u.pages).sum::<u64>() > room;
        let mut tables: HashMap<(String, String), ObjectProgress> = HashMap::new();
        let mut databases: HashMap<String, ObjectProgress> = HashMap::new();
        for unit in &units {
            let table = tables.entry((unit.database.clone(), unit.table.clone())).or_default();
            table.open += 1;
            if table.open == 1 {
                databases.entry(unit.database.clone()).or_default().open += 1;
            }
        }
        WorkQueue {
            states: vec![UnitState::default(); units.len()],
            units,
            next: 0,
            cutting: 0,
            tasks: VecDeque::new(),
            gate: QueueGate::Open,
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

    /// A board whose first `from_plan` units are cut already, into these pieces in this order; all others are cut and
    /// read behind them.
    pub(in crate::warm) fn from_plan(
        units: Vec<ScanUnit>,
        planned: usize,
        tasks: Vec<ReadTask>,
        rate: PageRate,
        began: Nanos,
    ) -> WorkQueue {
        let mut queue = WorkQueue::new(units, rate, began, u64::MAX);
        for unit in 0..planned {
            queue.start_unit(unit);
            queue.states[unit].cut = true;
        }
        for task in &tasks {
            queue.states[task.unit].tasks_left += 1;
        }
        queue.next = planned;
        queue.tasks = tasks.into();
        queue
    }

    pub(super) fn unit_at(&self, unit: usize) -> &ScanUnit {
        &self.units[unit]
    }

    /// The next piece of work at this time.
    pub(super) fn next_work(&mut self, now: Nanos) -> WorkItem {
        match self.gate {
            QueueGate::Closed => return WorkItem::End,
            QueueGate::Paused => return WorkItem::Wait,
            QueueGate::Open => {}
        }
        if self.rate.due_time(self.began, self.pages_begun) > now {
            return if self.is_exhausted() { WorkItem::End } else { WorkItem::Wait };
        }
        if self.pages_begun >= self.limit && !self.tasks.is_empty() {
            self.starved = true;
            return WorkItem::Wait;
        }
        if let Some(task) = self.tasks.pop_front() {
            self.pages_begun += task.pages;
            self.pages_running += task.pages;
            self.running += 1;
            return WorkItem::Read(task);
        }
        if self.one_by_one && self.cutting + self.running > 0 {
            return if self.next < self.units.len() || self.cutting > 0 {
                WorkItem::Wait
            } else {
                WorkItem::End
            };
        }
        if self.next < self.units.len() {
            let unit = self.next;
            self.next += 1;
            self.cutting += 1;
            self.start_unit(unit);
            return WorkItem::Cut(unit);
        }
        if self.cutting > 0 { WorkItem::Wait } else { WorkItem::End }
    }

    fn is_exhausted(&self) -> bool {
        self.tasks.is_empty() && self.next == self.units.len() && self.cutting == 0
    }

    fn start_unit(&mut self, unit: usize) {
        let ScanUnit { database, table, .. } = &self.units[unit];
        let (database, table) = (database.clone(), table.clone());
        let mark = self.databases.entry(database.clone()).or_default();
        if !std::mem::replace(&mut mark.began, true) {
            self.events.push(WarmEvent::DatabaseBegan(database.clone()));
        }
        let mark = self.tables.entry((database.clone(), table.clone())).or_default();
        if !std::mem::replace(&mut mark.began, true) {
            self.events.push(WarmEvent::TableBegan(database, table));
        }
    }

    /// The pieces of a unit are known.
    pub(super) fn add_tasks(&mut self, unit: usize, tasks: Vec<ReadTask>) {
        self.cutting -= 1;
        self.states[unit].cut = true;
        self.states[unit].tasks_left = tasks.len();
        self.tasks.extend(tasks);
    }

    /// A unit could not be cut.
    pub(super) fn fail_split(&mut self, unit: usize, why: &str) {
        self.cutting -= 1;
        self.states[unit].cut = true;
        self.fail_unit(unit, why);
    }

    /// A piece has been read.
    pub(super) fn finish_task(&mut self, task: &ReadTask) {
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
    pub(super) fn fail_task(&mut self, task: &ReadTask, why: &str) {
        self.running -= 1;
        self.pages_running -= task.pages;
        self.states[task.unit].tasks_left -= 1;
        self.fail_unit(task.unit, why);
    }

    /// A piece was broken off because the scan ends.
    pub(super) fn abort_task(&mut self, task: &ReadTask) {
        self.running -= 1;
        self.pages_running -= task.pages;
    }

    fn fail_unit(&mut self, unit: usize, why: &str) {
        let before = self.tasks.len();
        self.tasks.retain(|task| task.unit != unit);
        let state = &mut self.states[unit];
        state.tasks_left -= before - self.tasks.len();
        if !std::mem::replace(&mut state.failed, true) {
            self.failures.push(format!("{}: {why}", self.units[unit].index_label()));
            self.close_unit(unit, Some(why.to_owned()));
        }
    }

    fn close_unit(&mut self, unit: usize, failed: Option<String>) {
        let ScanUnit { database, table, .. } = &self.units[unit];
        let (database, table) = (database.clone(), table.clone());
        let mark = self.tables.entry((database.clone(), table.clone())).or_default();
        mark.open -= 1;
        mark.failed = mark.failed.take().or(failed);
        if mark.open > 0 {
            return;
        }
        self.events.push(match mark.failed.take() {
            Some(why) => WarmEvent::TableFailed(database.clone(), table, why),
            None => WarmEvent::TableEnded(database.clone(), table),
        });
        let mark = self.databases.entry(database.clone()).or_default();
        mark.open -= 1;
        if mark.open == 0 {
            self.events.push(WarmEvent::DatabaseEnded(database));
        }
    }

    /// Lets pieces of so many pages begin before the next look at the pool.
    pub(super) fn set_allowance(&mut self, pages: u64) {
        self.limit = self.pages_begun.saturating_add(pages);
        self.starved = false;
    }

    /// Whether a session waits for the next look at the pool.
    pub(super) fn is_starved(&self) -> bool {
        self.starved
    }

    /// What happened since the last look.
    pub(super) fn take_events(&mut self) -> Vec<WarmEvent> {
        std::mem::take(&mut self.events)
    }

    /// Marks of pieces that were read since the last look.
    pub(super) fn take_done(&mut self) -> Vec<u64> {
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
    pub(super) fn unread_units(&self) -> Vec<String> {
        let open = |state: &UnitState| !(state.failed || state.cut && state.tasks_left == 0);
        let units = self.units.iter().zip(&self.states).filter(|(_, state)| open(state));
        units
            .map(|(unit, state)| {
                let part = if state.tasks_done > 0 { " (read in part)" } else { "" };
                format!("{}{part}", unit.index_label())
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "work_queue_tests.rs"]
mod tests;
