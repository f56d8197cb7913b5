//! The sessions that fill tables together. Each takes the next piece of work from one list: a table nobody is at yet,
//! or else, where sessions can share a table, the next piece of one that others are filling.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::random::Rng;
use crate::client::{self, Session, Target};
use crate::workload::{DataJob, JobProgress};

use super::send::ChunkSender;
use super::{CHUNK_ROWS, FillSource};

/// How far a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FillStage {
    /// Not looked at yet.
    New,
    /// Being made or looked at.
    Opening,
    /// Pieces are handed out.
    Filling,
    /// Nothing more to hand out.
    Closed,
}

#[derive(Debug)]
struct FillTable {
    stage: FillStage,
    /// Whether it was there before, so that pieces may be there in part.
    existed: bool,
    /// Pieces to send, the next one last.
    chunks: Vec<u64>,
    /// Sessions that send a piece of it.
    busy: usize,
}

/// What a session does next.
#[derive(Debug)]
enum FillTask {
    Open { table: usize, existed: bool },
    Send { table: usize, chunk: u64, existed: bool },
}

struct PoolState<'a> {
    tables: Vec<FillTable>,
    failure: Option<anyhow::Error>,
    rows_done: u64,
    progress: &'a mut (dyn FnMut(JobProgress) + Send),
}

/// All sessions and what they share.
pub(super) struct FillPool<'a> {
    target: &'a Target,
    source: &'a dyn FillSource,
    stop: &'a Stop,
    threads: usize,
    seed: u64,
    /// Sessions that may be at one table.
    most: usize,
    state: Mutex<PoolState<'a>>,
    changed: Condvar,
}

impl<'a> FillPool<'a> {
    pub(super) fn new(
        target: &'a Target,
        source: &'a dyn FillSource,
        job: &'a mut DataJob<'_>,
        most: usize,
    ) -> FillPool<'a> {
        let state = PoolState {
            tables: Vec::new(),
            failure: None,
            rows_done: 0,
            progress: &mut *job.progress,
        };
        FillPool {
            target,
            source,
            stop: job.stop,
            threads: job.threads,
            seed: job.seed,
            most,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Fills all tables; `exists` tells which were there before.
    pub(super) fn run(self, exists: Vec<bool>) -> anyhow::Result<()> {
        let chunks = self.source.rows_per_table().div_ceil(CHUNK_ROWS).max(1) as usize;
        let threads = self.threads.clamp(1, chunks.saturating_mul(exists.len()).max(1));
        let new =
            |existed| FillTable { stage: FillStage::New, existed, chunks: Vec::new(), busy: 0 };
        self.lock_state().tables = exists.into_iter().map(new).collect();
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.run_session());
            }
            self.run_session();
        });
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        end_sessions(state.failure, self.stop)
    }

    fn lock_state(&self) -> MutexGuard<'_, PoolState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One session's work, until there is no more or somebody failed.
    fn run_session(&self) {
        if let Err(error) = self.run_tasks() {
            let mut state = self.lock_state();
            state.failure.get_or_insert(error);
            drop(state);
            self.changed.notify_all();
        }
    }

    fn run_tasks(&self) -> anyhow::Result<()> {
        let mut session = self.target.connect(self.stop)?;
        session.allow_long_statements();
        let mut sender = ChunkSender::new(self.source, session)?;
        while let Some(task) = self.next_task() {
            match task {
                FillTask::Open { table, existed } => {
                    self.open_table(&mut sender.session, table, existed)?
                }
                FillTask::Send { table, chunk, existed } => {
                    sender.send_chunk(table, chunk, existed)?;
                    let (_, length) = self.chunk_rows(chunk);
                    if self.note_sent(table, length) {
                        self.create_index(&mut sender.session, table)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// First row of a piece, and how many it has.
    fn chunk_rows(&self, chunk: u64) -> (u64, u64) {
        chunk_rows(chunk, self.source.rows_per_table())
    }

    /// The next thing to do; waits while others make tables that will have pieces for us.
    fn next_task(&self) -> Option<FillTask> {
        let mut state = self.lock_state();
        loop {
            if state.failure.is_some() || self.stop.is_set() {
                return None;
            }
            if let Some(task) = choose_task(&mut state.tables, self.most) {
                return Some(task);
            }
            if !state.tables.iter().any(|t| t.stage == FillStage::Opening) {
                return None;
            }
            let turn = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = turn.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Makes a table, or finds out which of its pieces are missing.
    fn open_table(&self, session: &mut Session, table: usize, existed: bool) -> anyhow::Result<()> {
        let name = &self.source.table_names()[table];
        let count = self.source.rows_per_table().div_ceil(CHUNK_ROWS);
        let mut chunks: Vec<u64> = (0..count).collect();
        if existed {
            let present = self.present_chunks(session, &self.source.sql_name(table), count)?;
            chunks.retain(|chunk| !present[*chunk as usize]);
        } else {
            let sql = self.source.create_table_sql(table);
            session.run_command(&sql).with_context(|| format!("make table {name}"))?;
        }
        let missing: u64 = chunks.iter().map(|chunk| self.chunk_rows(*chunk).1).sum();
        if self.source.is_shuffled() {
            shuffle(&mut chunks, &mut Rng::new(self.seed, table as u64, u64::MAX));
        }
        chunks.reverse();
        let empty = chunks.is_empty();
        let mut state = self.lock_state();
        state.tables[table].chunks = chunks;
        state.tables[table].stage = if empty { FillStage::Closed } else { FillStage::Filling };
        self.report_progress(&mut state, table, self.source.rows_per_table() - missing);
        drop(state);
        self.changed.notify_all();
        if empty { self.create_index(session, table) } else { Ok(()) }
    }

    /// Which pieces are there whole: those whose highest id is.
    fn present_chunks(
        &self,
        session: &mut Session,
        name: &str,
        count: u64,
    ) -> anyhow::Result<Vec<bool>> {
        let Some(key) = self.source.row_key() else {
            let is_whole = self.empty_unless_whole(session, name)?;
            return Ok(vec![is_whole; count as usize]);
        };
        let mut present = vec![false; count as usize];
        let last = |chunk: u64| {
            let (first, length) = self.chunk_rows(chunk);
            first + length - 1
        };
        for some in (0..count).collect::<Vec<_>>().chunks(1000) {
            let ids = some.iter().map(|p| last(*p).to_string()).collect::<Vec<_>>().join(",");
            let sql = format!("SELECT {key} FROM {name} WHERE {key} IN ({ids})");
            let rows = session
                .query_rows(&sql)
                .with_context(|| format!("check how many rows {name} has"))?;
            for row in rows.rows {
                let id = row.into_iter().next().flatten().unwrap_or_default();
                let id = std::str::from_utf8(&id).ok().and_then(|t| t.parse::<u64>().ok());
                if let Some(id) = id.filter(|id| (1..=self.source.rows_per_table()).contains(id)) {
                    present[((id - 1) / CHUNK_ROWS) as usize] = true;
                }
            }
        }
        Ok(present)
    }

    /// A table whose rows can't be told apart has all of them, or is begun again.
    fn empty_unless_whole(&self, session: &mut Session, name: &str) -> anyhow::Result<bool> {
        let asked = session.query_scalar(&format!("SELECT COUNT(*) FROM {name}"));
        let there = asked.with_context(|| format!("check how many rows {name} has"))?;
        let there: u64 = there.and_then(|text| text.parse().ok()).unwrap_or(0);
        if there > 0 && there != self.source.rows_per_table() {
            session
                .run_command(&format!("TRUNCATE TABLE {name}"))
                .with_context(|| format!("empty {name}"))?;
        }
        Ok(there == self.source.rows_per_table())
    }

    /// Notes a sent piece; true if it was the table's last.
    fn note_sent(&self, table: usize, rows: u64) -> bool {
        let mut state = self.lock_state();
        self.report_progress(&mut state, table, rows);
        let entry = &mut state.tables[table];
        entry.busy -= 1;
        let last = entry.busy == 0 && entry.chunks.is_empty() && entry.stage == FillStage::Filling;
        if last {
            entry.stage = FillStage::Closed;
        }
        last
    }

    fn report_progress(&self, state: &mut PoolState<'a>, table: usize, rows: u64) {
        state.rows_done += rows;
        let progress = JobProgress {
            label: format!("{}: rows", self.source.table_names()[table]),
            done: state.rows_done,
            total: self.source.rows_per_table() * self.source.table_names().len() as u64,
            unit: "rows",
        };
        (state.progress)(progress);
    }

    /// Makes the index of a table whose rows are there.
    fn create_index(&self, session: &mut Session, table: usize) -> anyhow::Result<()> {
        let Some((index, sql)) = self.source.create_index_sql(table) else { return Ok(()) };
        let name = &self.source.table_names()[table];
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
             AND table_name = '{name}' AND index_name = '{index}'"
        );
        if session.query_scalar(&there)?.as_deref() != Some("0") {
            return Ok(());
        }
        {
            let mut state = self.lock_state();
            let done = state.rows_done;
            let label = format!("{name}: index {index}");
            (state.progress)(JobProgress { label, done, total: 0, unit: "rows" });
        }
        session.run_command(&sql).with_context(|| format!("make index {index}"))?;
        Ok(())
    }
}

/// What sessions that worked together came to, by the first failure of one of them.
///
/// # Errors
/// That failure, unless it is only what is left of a connection after a stop; and that `stop` was set.
pub(crate) fn end_sessions(failure: Option<anyhow::Error>, stop: &Stop) -> anyhow::Result<()> {
    match failure {
        Some(error) if !(stop.is_set() && is_lost(&error)) => Err(error),
        _ if stop.is_set() => Err(client::Error::Abandoned.into()),
        _ => Ok(()),
    }
}

/// Whether an error is only what is left of a connection after a stop.
fn is_lost(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<client::Error>();
    matches!(cause, Some(client::Error::Abandoned | client::Error::Lost { .. }))
}

/// First row of a piece, and how many it has, in a table of `rows`.
pub(super) fn chunk_rows(chunk: u64, rows: u64) -> (u64, u64) {
    let first = chunk * CHUNK_ROWS + 1;
    (first, CHUNK_ROWS.min(rows + 1 - first))
}

/// Picks the next task: go on with a table that nobody is at, begin one, or lend a hand where fewest are, and at most
/// `most` altogether.
fn choose_task(tables: &mut [FillTable], most: usize) -> Option<FillTask> {
    let open =
        |t: &FillTable| t.stage == FillStage::Filling && !t.chunks.is_empty() && t.busy < most;
    let alone = tables.iter().position(|t| open(t) && t.busy == 0);
    let new = || tables.iter().position(|t| t.stage == FillStage::New);
    let least = || {
        let open = tables.iter().enumerate().filter(|(_, t)| open(t));
        open.min_by_key(|(_, t)| t.busy).map(|(at, _)| at)
    };
    let table = alone.or_else(new).or_else(least)?;
    let entry = &mut tables[table];
    if entry.stage == FillStage::New {
        entry.stage = FillStage::Opening;
        return Some(FillTask::Open { table, existed: entry.existed });
    }
    let chunk = entry.chunks.pop()?;
    entry.busy += 1;
    Some(FillTask::Send { table, chunk, existed: entry.existed })
}

/// Puts a list in an order of chance.
pub(super) fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for at in (1..list.len()).rev() {
        list.swap(at, rng.uniform_below(at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(stage: FillStage, chunks: &[u64], busy: usize) -> FillTable {
        FillTable { stage, existed: false, chunks: chunks.to_vec(), busy }
    }

    fn next(tables: &mut [FillTable]) -> String {
        choose_task(tables, 2).map_or("nothing".to_owned(), |task| match task {
            FillTask::Open { table, .. } => format!("open {table}"),
            FillTask::Send { table, chunk: piece, .. } => format!("send {table}.{piece}"),
        })
    }

    #[test]
    fn sessions_spread_over_tables_before_they_share_one() {
        let mut tables = [table(FillStage::New, &[], 0), table(FillStage::New, &[], 0)];
        assert_eq!(next(&mut tables), "open 0");
        tables[0] = table(FillStage::Filling, &[2, 1, 0], 0);
        assert_eq!(next(&mut tables), "send 0.0");
        assert_eq!(next(&mut tables), "open 1");
        assert_eq!(next(&mut tables), "send 0.1", "the only pieces known");
        tables[1] = table(FillStage::Filling, &[1, 0], 0);
        assert_eq!(next(&mut tables), "send 1.0", "nobody is there");
        assert_eq!(next(&mut tables), "send 1.1", "fewer are there");
        assert_eq!(next(&mut tables), "nothing", "two are enough at a table");
        tables[0].busy = 0;
        assert_eq!(next(&mut tables), "send 0.2");
        assert_eq!(next(&mut tables), "nothing");
    }

    #[test]
    fn pieces_cover_a_table_without_gap_or_overlap() {
        for rows in [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 5 * CHUNK_ROWS + 7] {
            let mut expected = 1;
            for chunk in 0..rows.div_ceil(CHUNK_ROWS) {
                let (first, length) = chunk_rows(chunk, rows);
                assert_eq!(first, expected);
                assert!(length > 0 && length <= CHUNK_ROWS);
                expected = first + length;
            }
            assert_eq!(expected, rows + 1);
        }
    }

    #[test]
    fn a_shuffle_keeps_everything_and_repeats() {
        let shuffled = |seed| {
            let mut list: Vec<u64> = (0..100).collect();
            shuffle(&mut list, &mut Rng::new(seed, 0, 0));
            list
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut back = shuffled(1);
        back.sort_unstable();
        assert_eq!(back, (0..100).collect::<Vec<_>>());
    }
}
