//! The sessions that load units together: each takes the next unit from one list, and makes the index of a table whose last
//! unit is there.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::load_record::LoadRecord;
use super::super::options::{LoadMethod, TpccSettings};
use super::super::schema::TpccTable;
use super::sender::UnitSender;
use super::units::{LoadUnit, UnitStage};
use super::{configure_session, keys, lock_shared};
use crate::base::Stop;
use crate::client::Target;
use crate::workload::fill::end_sessions;
use crate::workload::{DataJob, JobProgress};

/// What a session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadTask {
    Load(LoadUnit, UnitStage),
    Index(TpccTable),
}

struct UnitList<'a> {
    /// Units to load, the next one last.
    waiting: Vec<(LoadUnit, UnitStage)>,
    /// Units of each table that are not there yet.
    missing: [usize; TpccTable::ALL.len()],
    /// Tables whose index nobody has looked for.
    indexes: Vec<TpccTable>,
    rows_done: u64,
    failure: Option<anyhow::Error>,
    progress: &'a mut (dyn FnMut(JobProgress) + Send),
}

/// All sessions and what they share.
pub(super) struct LoadPool<'a> {
    target: &'a Target,
    record: &'a LoadRecord,
    asked: Option<LoadMethod>,
    stop: &'a Stop,
    threads: usize,
    rows_total: u64,
    state: Mutex<UnitList<'a>>,
    changed: Condvar,
}

impl<'a> LoadPool<'a> {
    pub(super) fn new(
        target: &'a Target,
        settings: &TpccSettings,
        record: &'a LoadRecord,
        job: &'a mut DataJob<'_>,
        units: Vec<(LoadUnit, UnitStage)>,
    ) -> LoadPool<'a> {
        let rows_total = units.iter().map(|(unit, _)| unit.nominal_rows()).sum();
        let mut state = UnitList {
            waiting: Vec::new(),
            missing: [0; TpccTable::ALL.len()],
            indexes: TpccTable::ALL.into(),
            rows_done: 0,
            failure: None,
            progress: &mut *job.progress,
        };
        for (unit, found) in units.into_iter().rev() {
            if found == UnitStage::Finished {
                state.rows_done += unit.nominal_rows();
            } else {
                state.missing[unit.table as usize] += 1;
                state.waiting.push((unit, found));
            }
        }
        LoadPool {
            target,
            record,
            asked: settings.load_method,
            stop: job.stop,
            threads: job.threads,
            rows_total,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Loads all units and makes the indexes.
    pub(super) fn run_sessions(self) -> anyhow::Result<()> {
        let threads = self.threads.clamp(1, self.lock_state().waiting.len().max(1));
        self.report_rows("rows there", 0);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.run_session());
            }
            self.run_session();
        });
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        end_sessions(state.failure, self.stop)
    }

    fn lock_state(&self) -> MutexGuard<'_, UnitList<'a>> {
        lock_shared(&self.state)
    }

    /// One session's work, until there is no more or somebody failed.
    fn run_session(&self) {
        if let Err(error) = self.run_tasks() {
            self.lock_state().failure.get_or_insert(error);
        }
        self.changed.notify_all();
    }

    fn run_tasks(&self) -> anyhow::Result<()> {
        let mut session = self.target.connect(self.stop)?;
        session.allow_long_statements();
        configure_session(&mut session)?;
        let mut sender = UnitSender::new(session, self.asked, self.record, self.stop)?;
        while let Some(task) = self.next_task() {
            match task {
                LoadTask::Load(unit, state) => {
                    let name = unit.table.shape().name;
                    let mut told = 0;
                    // A unit is told at its begin, too, so that no unit is taken for one that was there.
                    self.report_rows(name, 0);
                    let mut on_rows = |rows: u64| {
                        let rows = rows.min(unit.nominal_rows());
                        if rows > told {
                            self.report_rows(name, rows - told);
                            told = rows;
                        }
                    };
                    sender.load_unit(unit, state, &mut on_rows)?;
                    on_rows(unit.nominal_rows());
                    self.lock_state().missing[unit.table as usize] -= 1;
                    self.changed.notify_all();
                }
                LoadTask::Index(table) => {
                    keys::create_index(&mut sender.session, table, |index| {
                        self.report_index(table, index);
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The next thing to do; waits while others load the last units of a table that gets an index.
    fn next_task(&self) -> Option<LoadTask> {
        let mut state = self.lock_state();
        loop {
            if state.failure.is_some() || self.stop.is_set() {
                return None;
            }
            let whole = state.indexes.iter().position(|table| state.missing[*table as usize] == 0);
            if let Some(at) = whole {
                return Some(LoadTask::Index(state.indexes.swap_remove(at)));
            }
            if let Some((unit, found)) = state.waiting.pop() {
                return Some(LoadTask::Load(unit, found));
            }
            if state.indexes.is_empty() {
                return None;
            }
            let turn = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = turn.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn report_rows(&self, what: &str, rows: u64) {
        let mut state = self.lock_state();
        state.rows_done += rows;
        let (label, done) = (format!("{what}: rows"), state.rows_done);
        (state.progress)(JobProgress { label, done, total: self.rows_total, unit: "rows" });
    }

    fn report_index(&self, table: TpccTable, index: &str) {
        let mut state = self.lock_state();
        let label = format!("{}: index {index}", table.shape().name);
        let done = state.rows_done;
        (state.progress)(JobProgress { label, done, total: 0, unit: "rows" });
    }
}
