//! The sessions that fill tables together. Each takes the next piece of work from one list: a table nobody is at yet,
//! or else, where sessions can share a table, the next piece of one that others are filling.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::random::Rng;
use crate::target::{self, Session, Target};
use crate::workload::{Job, Progress};

use super::send::Sender;
use super::{PIECE, Source};

/// How far a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
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
struct Table {
    stage: Stage,
    /// Whether it was there before, so that pieces may be there in part.
    existed: bool,
    /// Pieces to send, the next one last.
    pieces: Vec<u64>,
    /// Sessions that send a piece of it.
    busy: usize,
}

/// What a session does next.
#[derive(Debug)]
enum Task {
    Open { table: usize, existed: bool },
    Send { table: usize, piece: u64, existed: bool },
}

struct State<'a> {
    tables: Vec<Table>,
    failure: Option<anyhow::Error>,
    rows_done: u64,
    progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// All sessions and what they share.
pub(super) struct Crew<'a> {
    target: &'a Target,
    source: &'a dyn Source,
    stop: &'a Stop,
    threads: usize,
    seed: u64,
    /// Sessions that may be at one table.
    most: usize,
    state: Mutex<State<'a>>,
    changed: Condvar,
}

impl<'a> Crew<'a> {
    pub(super) fn new(
        target: &'a Target,
        source: &'a dyn Source,
        job: &'a mut Job<'_>,
        most: usize,
    ) -> Crew<'a> {
        let state =
            State { tables: Vec::new(), failure: None, rows_done: 0, progress: &mut *job.progress };
        Crew {
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
        let pieces = self.source.rows().div_ceil(PIECE).max(1) as usize;
        let threads = self.threads.clamp(1, pieces.saturating_mul(exists.len()).max(1));
        let new = |existed| Table { stage: Stage::New, existed, pieces: Vec::new(), busy: 0 };
        self.state().tables = exists.into_iter().map(new).collect();
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.work());
            }
            self.work();
        });
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.failure {
            Some(error) if !(self.stop.is_set() && is_lost(&error)) => Err(error),
            _ if self.stop.is_set() => Err(target::Error::Abandoned.into()),
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One session's work, until there is no more or somebody failed.
    fn work(&self) {
        if let Err(error) = self.toil() {
            let mut state = self.state();
            state.failure.get_or_insert(error);
            drop(state);
            self.changed.notify_all();
        }
    }

    fn toil(&self) -> anyhow::Result<()> {
        let mut session = self.target.connect(self.stop)?;
        session.allow_long_statements();
        let mut sender = Sender::new(self.source, session)?;
        while let Some(task) = self.take() {
            match task {
                Task::Open { table, existed } => self.open(&mut sender.session, table, existed)?,
                Task::Send { table, piece, existed } => {
                    sender.send(table, piece, existed)?;
                    let (_, length) = self.span(piece);
                    if self.sent(table, length) {
                        self.close(&mut sender.session, table)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// First row of a piece, and how many it has.
    fn span(&self, piece: u64) -> (u64, u64) {
        span(piece, self.source.rows())
    }

    /// The next thing to do; waits while others make tables that will have pieces for us.
    fn take(&self) -> Option<Task> {
        let mut state = self.state();
        loop {
            if state.failure.is_some() || self.stop.is_set() {
                return None;
            }
            if let Some(task) = choose(&mut state.tables, self.most) {
                return Some(task);
            }
            if !state.tables.iter().any(|t| t.stage == Stage::Opening) {
                return None;
            }
            let turn = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = turn.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Makes a table, or finds out which of its pieces are missing.
    fn open(&self, session: &mut Session, table: usize, existed: bool) -> anyhow::Result<()> {
        let name = &self.source.tables()[table];
        let count = self.source.rows().div_ceil(PIECE);
        let mut pieces: Vec<u64> = (0..count).collect();
        if existed {
            let present = self.present(session, name, count)?;
            pieces.retain(|piece| !present[*piece as usize]);
        } else {
            let sql = self.source.create(table);
            session.command(&sql).with_context(|| format!("make table {name}"))?;
        }
        let missing: u64 = pieces.iter().map(|piece| self.span(*piece).1).sum();
        if self.source.shuffled() {
            shuffle(&mut pieces, &mut Rng::new(self.seed, table as u64, u64::MAX));
        }
        pieces.reverse();
        let empty = pieces.is_empty();
        let mut state = self.state();
        state.tables[table].pieces = pieces;
        state.tables[table].stage = if empty { Stage::Closed } else { Stage::Filling };
        self.tell(&mut state, table, self.source.rows() - missing);
        drop(state);
        self.changed.notify_all();
        if empty { self.close(session, table) } else { Ok(()) }
    }

    /// Which pieces are there whole: those whose highest id is.
    fn present(&self, session: &mut Session, name: &str, count: u64) -> anyhow::Result<Vec<bool>> {
        let mut present = vec![false; count as usize];
        let last = |piece: u64| {
            let (first, length) = self.span(piece);
            first + length - 1
        };
        for some in (0..count).collect::<Vec<_>>().chunks(1000) {
            let ids = some.iter().map(|p| last(*p).to_string()).collect::<Vec<_>>().join(",");
            let sql = format!("SELECT id FROM {name} WHERE id IN ({ids})");
            let rows = session.rows(&sql).with_context(|| format!("see how far {name} is"))?;
            for row in rows.rows {
                let id = row.into_iter().next().flatten().unwrap_or_default();
                let id = std::str::from_utf8(&id).ok().and_then(|t| t.parse::<u64>().ok());
                if let Some(id) = id.filter(|id| (1..=self.source.rows()).contains(id)) {
                    present[((id - 1) / PIECE) as usize] = true;
                }
            }
        }
        Ok(present)
    }

    /// Notes a sent piece; true if it was the table's last.
    fn sent(&self, table: usize, rows: u64) -> bool {
        let mut state = self.state();
        self.tell(&mut state, table, rows);
        let entry = &mut state.tables[table];
        entry.busy -= 1;
        let last = entry.busy == 0 && entry.pieces.is_empty() && entry.stage == Stage::Filling;
        if last {
            entry.stage = Stage::Closed;
        }
        last
    }

    fn tell(&self, state: &mut State<'a>, table: usize, rows: u64) {
        state.rows_done += rows;
        let progress = Progress {
            label: format!("{}: rows", self.source.tables()[table]),
            done: state.rows_done,
            total: self.source.rows() * self.source.tables().len() as u64,
            unit: "rows",
        };
        (state.progress)(progress);
    }

    /// Makes the index of a table whose rows are there.
    fn close(&self, session: &mut Session, table: usize) -> anyhow::Result<()> {
        let Some((index, sql)) = self.source.index(table) else { return Ok(()) };
        let name = &self.source.tables()[table];
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
             AND table_name = '{name}' AND index_name = '{index}'"
        );
        if session.scalar(&there)?.as_deref() != Some("0") {
            return Ok(());
        }
        {
            let mut state = self.state();
            let done = state.rows_done;
            let label = format!("{name}: index {index}");
            (state.progress)(Progress { label, done, total: 0, unit: "rows" });
        }
        session.command(&sql).with_context(|| format!("make index {index}"))?;
        Ok(())
    }
}

/// Whether an error is only what is left of a connection after a stop.
fn is_lost(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<target::Error>();
    matches!(cause, Some(target::Error::Abandoned | target::Error::Lost { .. }))
}

/// First row of a piece, and how many it has, in a table of `rows`.
pub(super) fn span(piece: u64, rows: u64) -> (u64, u64) {
    let first = piece * PIECE + 1;
    (first, PIECE.min(rows + 1 - first))
}

/// Picks the next task: go on with a table that nobody is at, begin one, or lend a hand where fewest are, and at most
/// `most` altogether.
fn choose(tables: &mut [Table], most: usize) -> Option<Task> {
    let open = |t: &Table| t.stage == Stage::Filling && !t.pieces.is_empty() && t.busy < most;
    let alone = tables.iter().position(|t| open(t) && t.busy == 0);
    let new = || tables.iter().position(|t| t.stage == Stage::New);
    let least = || {
        let open = tables.iter().enumerate().filter(|(_, t)| open(t));
        open.min_by_key(|(_, t)| t.busy).map(|(at, _)| at)
    };
    let table = alone.or_else(new).or_else(least)?;
    let entry = &mut tables[table];
    if entry.stage == Stage::New {
        entry.stage = Stage::Opening;
        return Some(Task::Open { table, existed: entry.existed });
    }
    let piece = entry.pieces.pop()?;
    entry.busy += 1;
    Some(Task::Send { table, piece, existed: entry.existed })
}

/// Puts a list in an order of chance.
pub(super) fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for at in (1..list.len()).rev() {
        list.swap(at, rng.below(at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(stage: Stage, pieces: &[u64], busy: usize) -> Table {
        Table { stage, existed: false, pieces: pieces.to_vec(), busy }
    }

    fn next(tables: &mut [Table]) -> String {
        choose(tables, 2).map_or("nothing".to_owned(), |task| match task {
            Task::Open { table, .. } => format!("open {table}"),
            Task::Send { table, piece, .. } => format!("send {table}.{piece}"),
        })
    }

    #[test]
    fn sessions_spread_over_tables_before_they_share_one() {
        let mut tables = [table(Stage::New, &[], 0), table(Stage::New, &[], 0)];
        assert_eq!(next(&mut tables), "open 0");
        tables[0] = table(Stage::Filling, &[2, 1, 0], 0);
        assert_eq!(next(&mut tables), "send 0.0");
        assert_eq!(next(&mut tables), "open 1");
        assert_eq!(next(&mut tables), "send 0.1", "the only pieces known");
        tables[1] = table(Stage::Filling, &[1, 0], 0);
        assert_eq!(next(&mut tables), "send 1.0", "nobody is there");
        assert_eq!(next(&mut tables), "send 1.1", "fewer are there");
        assert_eq!(next(&mut tables), "nothing", "two are enough at a table");
        tables[0].busy = 0;
        assert_eq!(next(&mut tables), "send 0.2");
        assert_eq!(next(&mut tables), "nothing");
    }

    #[test]
    fn pieces_cover_a_table_without_gap_or_overlap() {
        for rows in [1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 7] {
            let mut expected = 1;
            for piece in 0..rows.div_ceil(PIECE) {
                let (first, length) = span(piece, rows);
                assert_eq!(first, expected);
                assert!(length > 0 && length <= PIECE);
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
