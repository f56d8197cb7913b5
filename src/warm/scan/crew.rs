//! The sessions of a scan: each takes work from the board until none is left.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Context;

use super::board::{Board, Gate, Task, Work};
use super::key::{Key, Kind};
use super::limit::{Rate, piece_pages};
use super::split::{Piece, Scale, split};
use super::unit::Unit;
use crate::base::{Clock, RealClock, Stop};
use crate::target::{Error, Session, Target};
use crate::warm::names::quote;

/// What all sessions share.
pub(super) struct Crew<'a> {
    pub target: &'a Target,
    pub clock: RealClock,
    /// Set when sessions shall give up waiting for the server.
    pub abandon: &'a Stop,
    pub board: Mutex<Board>,
    pub sessions: u64,
    pub pool_pages: u64,
    pub rate: Rate,
    /// The server's numbers of sessions that run a statement, 0 for the others.
    pub busy: Vec<AtomicU64>,
    /// Sessions that are not through.
    pub working: AtomicUsize,
    /// Why the scan can't go on.
    pub broken: Mutex<Option<anyhow::Error>>,
}

/// How long a session waits before it looks at the board again.
const NAP: Duration = Duration::from_millis(5);

impl Crew<'_> {
    pub(super) fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().expect("no session panics while it holds the board")
    }

    /// One session's whole life.
    pub(super) fn work(&self, place: usize) {
        if let Err(error) = self.session(place) {
            self.board().gate = Gate::Closed;
            let mut broken = self.broken.lock().expect("set without panic");
            broken.get_or_insert(error);
        }
        self.busy[place].store(0, Ordering::SeqCst);
        self.working.fetch_sub(1, Ordering::SeqCst);
    }

    fn session(&self, place: usize) -> anyhow::Result<()> {
        let mut session = super::super::open(self.target, self.abandon)?;
        loop {
            let work = self.board().take(self.clock.now());
            match work {
                Work::End => return Ok(()),
                Work::Wait => {
                    self.clock.sleep_until(self.clock.now() + NAP.into());
                }
                Work::Cut(unit) => {
                    self.busy[place].store(session.id(), Ordering::SeqCst);
                    let done = self.cut(unit, &mut session);
                    self.busy[place].store(0, Ordering::SeqCst);
                    done?;
                }
                Work::Read(task) => {
                    self.busy[place].store(session.id(), Ordering::SeqCst);
                    let done = self.read(&task, &mut session);
                    self.busy[place].store(0, Ordering::SeqCst);
                    done?;
                }
            }
        }
    }

    fn cut(&self, index: usize, session: &mut Session) -> anyhow::Result<()> {
        let unit = self.board().unit(index).clone();
        let pieces = self.pieces(&unit, session);
        let mut board = self.board();
        match pieces {
            Ok(conditions) => {
                let task = |(condition, share): (String, f64)| Task {
                    unit: index,
                    condition,
                    pages: (unit.pages as f64 * share).ceil() as u64,
                    mark: None,
                };
                board.cut_into(index, conditions.into_iter().map(task).collect());
            }
            Err(error) => {
                let why = self.tolerable(error)?;
                if board.gate == Gate::Closed {
                    board.cut_into(
                        index,
                        vec![Task { unit: index, condition: String::new(), pages: 0, mark: None }],
                    );
                } else {
                    board.cut_failed(index, &why);
                }
            }
        }
        Ok(())
    }

    /// Conditions that cut a unit, each with its share of the pages.
    fn pieces(&self, unit: &Unit, session: &mut Session) -> anyhow::Result<Vec<(String, f64)>> {
        let size = piece_pages(unit.pages, self.sessions, self.pool_pages, self.rate);
        let wanted = unit.pages.div_ceil(size.max(1));
        let whole = || vec![(String::new(), 1.0)];
        let Some((column, kind)) = &unit.first else { return Ok(whole()) };
        if wanted < 2 && !unit.cut {
            return Ok(whole());
        }
        let mut scale = Asked { session, unit, column, kind };
        let mut pieces = split(kind, &mut scale, wanted)?;
        if pieces == [Piece::whole()] {
            if !unit.cut {
                return Ok(whole());
            }
            // Only a range has such an index read.
            pieces[0].low = scale.ends()?.map(|(low, _)| low);
        }
        let condition =
            |p: &Piece| super::key::range(kind, column, p.low.as_ref(), p.high.as_ref());
        let mut found: Vec<_> = pieces.iter().map(|p| (condition(p), p.share)).collect();
        if unit.nullable {
            found.insert(0, (format!("{} IS NULL", quote(column)), 0.0));
        }
        Ok(found)
    }

    fn read(&self, task: &Task, session: &mut Session) -> anyhow::Result<()> {
        let sql = self.board().unit(task.unit).statement(&task.condition);
        let result = session.rows(&sql);
        let mut board = self.board();
        match result {
            Ok(_) => board.read(task),
            Err(error) => {
                let closed = board.gate == Gate::Closed;
                if closed {
                    board.broken_off(task);
                } else {
                    let why = self.tolerable(error.into())?;
                    board.read_failed(task, &why);
                }
            }
        }
        Ok(())
    }

    /// An error that ends only one index, in words; others end the scan.
    fn tolerable(&self, error: anyhow::Error) -> anyhow::Result<String> {
        match error.downcast_ref::<Error>() {
            Some(Error::Server { .. }) => Ok(error.root_cause().to_string()),
            _ => Err(error.context("read an index")),
        }
    }
}

/// An index on the server, asked by its own session.
struct Asked<'a> {
    session: &'a mut Session,
    unit: &'a Unit,
    column: &'a str,
    kind: &'a Kind,
}

impl Asked<'_> {
    /// The values of the first row.
    fn ask(&mut self, sql: &str) -> anyhow::Result<Vec<Option<Key>>> {
        let rows = self.session.rows(sql)?;
        let first = rows.rows.into_iter().next().unwrap_or_default();
        Ok(first.into_iter().map(|v| v.and_then(|v| self.kind.read(&v))).collect())
    }
}

impl Scale for Asked<'_> {
    fn ends(&mut self) -> anyhow::Result<Option<(Key, Key)>> {
        let ends = self.ask(&self.unit.ends(self.column, self.kind))?;
        match ends.as_slice() {
            [Some(low), Some(high)] => Ok(Some((low.clone(), high.clone()))),
            _ => Ok(None),
        }
    }

    fn first_from(&mut self, at: &Key) -> anyhow::Result<Option<Key>> {
        let found = self.ask(&self.unit.first_from(self.column, self.kind, at))?;
        Ok(found.into_iter().next().flatten())
    }

    fn rows(&mut self, low: Option<&Key>, high: Option<&Key>) -> anyhow::Result<u64> {
        let sql = self.unit.estimate(self.column, self.kind, low, high);
        let rows = self.session.rows(&sql)?;
        let at = rows.columns.iter().position(|c| c.eq_ignore_ascii_case("rows"));
        let at = at.context("EXPLAIN shows no rows")?;
        let text = rows.rows.first().and_then(|row| crate::warm::gauge::text(row, at));
        Ok(text.and_then(|t| t.parse().ok()).unwrap_or(0))
    }
}
