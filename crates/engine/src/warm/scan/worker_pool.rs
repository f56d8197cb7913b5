//! The sessions of a scan: each takes work from the board until none is left.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Context;

use super::key::{KeyBytes, KeyKind};
use super::limit::{PageRate, piece_pages};
use super::split::{IndexPiece, KeyStatistics, split_index};
use super::unit::ScanUnit;
use super::work_queue::{QueueGate, ReadTask, WorkItem, WorkQueue};
use crate::base::{Clock, RealClock, Stop};
use crate::client::{Error, Session, Target};
use crate::warm::names::quote_identifier;

/// What all sessions share.
pub(super) struct WorkerPool<'a> {
    pub target: &'a Target,
    pub clock: RealClock,
    /// Set when sessions shall give up waiting for the server.
    pub abandon: &'a Stop,
    pub queue: Mutex<WorkQueue>,
    pub sessions: u64,
    pub pool_pages: u64,
    pub rate: PageRate,
    /// The server's numbers of sessions that run a statement, 0 for the others.
    pub busy: Vec<AtomicU64>,
    /// Sessions that are not through.
    pub working: AtomicUsize,
    /// Why the scan can't go on.
    pub broken: Mutex<Option<anyhow::Error>>,
}

/// How long a session waits before it looks at the board again.
const NAP: Duration = Duration::from_millis(5);

impl WorkerPool<'_> {
    pub(super) fn lock_queue(&self) -> MutexGuard<'_, WorkQueue> {
        self.queue.lock().expect("no session panics while it holds the board")
    }

    /// One session's whole life.
    pub(super) fn run_worker(&self, place: usize) {
        if let Err(error) = self.run_session(place) {
            self.lock_queue().gate = QueueGate::Closed;
            let mut broken = self.broken.lock().expect("set without panic");
            broken.get_or_insert(error);
        }
        self.busy[place].store(0, Ordering::SeqCst);
        self.working.fetch_sub(1, Ordering::SeqCst);
    }

    fn run_session(&self, place: usize) -> anyhow::Result<()> {
        let mut session = super::super::open_session(self.target, self.abandon)?;
        loop {
            let work = self.lock_queue().next_work(self.clock.now());
            match work {
                WorkItem::End => return Ok(()),
                WorkItem::Wait => {
                    self.clock.sleep_until(self.clock.now() + NAP.into());
                }
                WorkItem::Cut(unit) => {
                    self.busy[place].store(session.id(), Ordering::SeqCst);
                    let done = self.split_unit(unit, &mut session);
                    self.busy[place].store(0, Ordering::SeqCst);
                    done?;
                }
                WorkItem::Read(task) => {
                    self.busy[place].store(session.id(), Ordering::SeqCst);
                    let done = self.run_task(&task, &mut session);
                    self.busy[place].store(0, Ordering::SeqCst);
                    done?;
                }
            }
        }
    }

    fn split_unit(&self, index: usize, session: &mut Session) -> anyhow::Result<()> {
        let unit = self.lock_queue().unit_at(index).clone();
        let chunks = self.split_conditions(&unit, session);
        let mut queue = self.lock_queue();
        match chunks {
            Ok(conditions) => {
                let task = |(condition, share): (String, f64)| ReadTask {
                    unit: index,
                    condition,
                    pages: (unit.pages as f64 * share).ceil() as u64,
                    mark: None,
                };
                queue.add_tasks(index, conditions.into_iter().map(task).collect());
            }
            Err(error) => {
                let why = self.server_error_text(error)?;
                if queue.gate == QueueGate::Closed {
                    queue.add_tasks(
                        index,
                        vec![ReadTask {
                            unit: index,
                            condition: String::new(),
                            pages: 0,
                            mark: None,
                        }],
                    );
                } else {
                    queue.fail_split(index, &why);
                }
            }
        }
        Ok(())
    }

    /// Conditions that cut a unit, each with its share of the pages.
    fn split_conditions(
        &self,
        unit: &ScanUnit,
        session: &mut Session,
    ) -> anyhow::Result<Vec<(String, f64)>> {
        let size = piece_pages(unit.pages, self.sessions, self.pool_pages, self.rate);
        let wanted = unit.pages.div_ceil(size.max(1));
        let whole = || vec![(String::new(), 1.0)];
        let Some((column, kind)) = &unit.first else { return Ok(whole()) };
        if wanted < 2 && !unit.cut {
            return Ok(whole());
        }
        let mut scale = ServerKeyStatistics { session, unit, column, kind };
        let mut chunks = split_index(kind, &mut scale, wanted)?;
        if chunks == [IndexPiece::whole_index()] {
            if !unit.cut {
                return Ok(whole());
            }
            // Only a range has such an index read.
            chunks[0].low = scale.min_max_keys()?.map(|(low, _)| low);
        }
        let condition = |p: &IndexPiece| {
            super::key::key_condition(kind, column, p.low.as_ref(), p.high.as_ref())
        };
        let mut found: Vec<_> = chunks.iter().map(|p| (condition(p), p.share)).collect();
        if unit.nullable {
            found.insert(0, (format!("{} IS NULL", quote_identifier(column)), 0.0));
        }
        Ok(found)
    }

    fn run_task(&self, task: &ReadTask, session: &mut Session) -> anyhow::Result<()> {
        let sql = self.lock_queue().unit_at(task.unit).read_statement(&task.condition);
        let result = session.query_rows(&sql);
        let mut queue = self.lock_queue();
        match result {
            Ok(_) => queue.finish_task(task),
            Err(error) => {
                let closed = queue.gate == QueueGate::Closed;
                if closed {
                    queue.abort_task(task);
                } else {
                    let why = self.server_error_text(error.into())?;
                    queue.fail_task(task, &why);
                }
            }
        }
        Ok(())
    }

    /// An error that ends only one index, in words; others end the scan.
    fn server_error_text(&self, error: anyhow::Error) -> anyhow::Result<String> {
        match error.downcast_ref::<Error>() {
            Some(Error::Server { .. }) => Ok(error.root_cause().to_string()),
            _ => Err(error.context("read an index")),
        }
    }
}

/// An index on the server, asked by its own session.
struct ServerKeyStatistics<'a> {
    session: &'a mut Session,
    unit: &'a ScanUnit,
    column: &'a str,
    kind: &'a KeyKind,
}

impl ServerKeyStatistics<'_> {
    /// The values of the first row.
    fn query_row(&mut self, sql: &str) -> anyhow::Result<Vec<Option<KeyBytes>>> {
        let rows = self.session.query_rows(sql)?;
        let first = rows.rows.into_iter().next().unwrap_or_default();
        Ok(first.into_iter().map(|v| v.and_then(|v| self.kind.parse_key(&v))).collect())
    }
}

impl KeyStatistics for ServerKeyStatistics<'_> {
    fn min_max_keys(&mut self) -> anyhow::Result<Option<(KeyBytes, KeyBytes)>> {
        let ends = self.query_row(&self.unit.min_max_query(self.column, self.kind))?;
        match ends.as_slice() {
            [Some(low), Some(high)] => Ok(Some((low.clone(), high.clone()))),
            _ => Ok(None),
        }
    }

    fn first_key_from(&mut self, at: &KeyBytes) -> anyhow::Result<Option<KeyBytes>> {
        let found = self.query_row(&self.unit.first_key_query(self.column, self.kind, at))?;
        Ok(found.into_iter().next().flatten())
    }

    fn estimate_rows(
        &mut self,
        low: Option<&KeyBytes>,
        high: Option<&KeyBytes>,
    ) -> anyhow::Result<u64> {
        let sql = self.unit.row_estimate_query(self.column, self.kind, low, high);
        let rows = self.session.query_rows(&sql)?;
        let at = rows.columns.iter().position(|c| c.eq_ignore_ascii_case("rows"));
        let at = at.context("EXPLAIN shows no rows")?;
        let text = rows.rows.first().and_then(|row| crate::warm::pool_status::column_text(row, at));
        Ok(text.and_then(|t| t.parse().ok()).unwrap_or(0))
    }
}
