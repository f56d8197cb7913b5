//! Holds the data against the conditions of clause 3.3.2 and what else must be true of them at any time.
//! Sessions share the work: warehouses with the history, and the stock. Each part reads in one snapshot all that its rules
//! need, so that they hold while a load runs, and each table once.
//! Never knows: transactions. To add a rule: its line in `rules`, and where its rows are read.

mod findings;
mod rules;
mod tables;
mod units;
mod warehouse;

use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use self::findings::DataShares;
use self::rules::RuleTally;
use self::tables::{RowFields, TableReader, TableSet, find_tables};
use super::schema::TpccTable;
use crate::base::Stop;
use crate::client::Target;
use crate::recorder::DataVerdicts;
use crate::workload::{DataJob, JobProgress};

pub(super) use self::tables::SCHEMAS;

/// Warehouses that one part reads the history for: more would take much memory.
const MOST_WAREHOUSES: usize = 50;

/// What a part of the work came to.
#[derive(Clone, Debug, Default)]
struct PartTally {
    rules: RuleTally,
    shares: DataShares,
    customers: u64,
}

impl PartTally {
    fn merge(&mut self, other: PartTally) {
        self.rules.merge(other.rules);
        self.shares.merge(other.shares);
        self.customers += other.customers;
    }

    /// A row of counts: all, and those that say ORIGINAL.
    fn add_original(&mut self, row: RowFields<'_>) {
        self.shares.original.all += row.number(0) as u64;
        self.shares.original.part += row.number(1) as u64;
    }
}

/// A part of the work.
#[derive(Clone, Debug)]
struct CheckPart {
    set: usize,
    warehouses: Vec<i64>,
    /// Only their stock, or all but that.
    is_stock: bool,
}

/// What the sessions share.
struct CheckShare<'a> {
    target: &'a Target,
    sets: &'a [(TableSet, Vec<i64>)],
    has_findings: bool,
    stop: &'a Stop,
    state: Mutex<CheckState<'a>>,
    total: u64,
}

struct CheckState<'a> {
    /// The next one last.
    parts: Vec<CheckPart>,
    tally: PartTally,
    failure: Option<anyhow::Error>,
    done: u64,
    progress: &'a mut (dyn FnMut(JobProgress) + Send),
}

/// Checks the tables of the target's database.
///
/// # Errors
/// When tables are missing or the server refuses.
pub(super) fn check_tables(
    target: &Target,
    schema: &str,
    job: &mut DataJob<'_>,
) -> anyhow::Result<DataVerdicts> {
    let mut session = target.connect(job.stop)?;
    let map = find_tables(&mut session, schema)?;
    drop(session);
    let mut sets = Vec::new();
    for set in map.sets {
        let ids = list_warehouses(target, &set, job.stop)?;
        sets.push((set, ids));
    }
    let threads = job.threads.max(1);
    let parts = split_work(&sets, threads);
    let share = CheckShare {
        target,
        sets: &sets,
        has_findings: map.maker.is_some(),
        stop: job.stop,
        total: parts.len() as u64,
        state: Mutex::new(CheckState {
            parts,
            tally: PartTally::default(),
            failure: None,
            done: 0,
            progress: &mut *job.progress,
        }),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| share.run_session());
        }
        share.run_session();
    });
    let state = share.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = state.failure {
        return Err(failure);
    }
    let warehouses: u64 = sets.iter().map(|(_, ids)| ids.len() as u64).sum();
    let mut subject = match warehouses {
        1 => "1 warehouse".to_owned(),
        many => format!("{many} warehouses"),
    };
    let PartTally { rules, shares, customers } = state.tally;
    let mut list = rules.into_verdicts();
    if let Some(maker) = map.maker {
        subject += &format!(", made by {maker}");
        let most = sets.iter().map(|(_, ids)| ids.len() as u64).max().unwrap_or(0);
        list.extend(shares.into_verdicts(customers, most));
    }
    Ok(DataVerdicts { subject, list })
}

/// The warehouses that any table with a key for them knows.
fn list_warehouses(target: &Target, set: &TableSet, stop: &Stop) -> anyhow::Result<Vec<i64>> {
    let mut reader = TableReader::connect(target, set, stop)?;
    let mut ids = Vec::new();
    for table in [TpccTable::Warehouse, TpccTable::District] {
        let column = table.shape().primary_key[0];
        reader
            .read(&format!("DISTINCT {column}"), table, "", &mut |row| ids.push(row.number(0)))?;
    }
    for table in [TpccTable::Customer, TpccTable::Orders, TpccTable::OrderLine, TpccTable::Stock] {
        let column = table.shape().primary_key[0];
        reader.read(&format!("MIN({column}), MAX({column})"), table, "", &mut |row| {
            if !row.is_null(0) {
                ids.extend([row.number(0), row.number(1)]);
            }
        })?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The work in parts, the next one last. There are more of them than sessions, so that all sessions end about together; but
/// each reads the whole history, and each of the stock all lines since the load.
fn split_work(sets: &[(TableSet, Vec<i64>)], threads: usize) -> Vec<CheckPart> {
    let mut parts = Vec::new();
    for (set, (_, ids)) in sets.iter().enumerate() {
        let split = |pieces: usize, is_stock| {
            let size = ids.len().div_ceil(pieces.max(1)).clamp(1, MOST_WAREHOUSES);
            let part = move |ids: &[i64]| CheckPart { set, warehouses: ids.to_vec(), is_stock };
            ids.chunks(size).map(part)
        };
        parts.extend(split(threads.div_ceil(2), true));
        parts.extend(split(2 * threads, false));
    }
    parts
}

impl<'a> CheckShare<'a> {
    fn lock_state(&self) -> std::sync::MutexGuard<'_, CheckState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes parts until there are none.
    fn run_session(&self) {
        if let Err(error) = self.run_parts() {
            self.lock_state().failure.get_or_insert(error);
        }
    }

    fn run_parts(&self) -> anyhow::Result<()> {
        let mut open: Option<(usize, TableReader)> = None;
        while let Some(part) = self.next_part() {
            let (set, all) = &self.sets[part.set];
            if open.as_ref().is_none_or(|(of, _)| *of != part.set) {
                open = Some((part.set, TableReader::connect(self.target, set, self.stop)?));
            }
            let (_, reader) = open.as_mut().context("a session was just opened")?;
            let mut tally = PartTally::default();
            let (ids, is_stopped) = (&part.warehouses, || self.stop.is_set());
            match part.is_stock {
                true => units::check_stock(reader, ids, all, self.has_findings, &mut tally)?,
                false => units::check_warehouses(reader, ids, &mut tally, &is_stopped)?,
            }
            self.end_part(&part, tally);
        }
        Ok(())
    }

    fn next_part(&self) -> Option<CheckPart> {
        let mut state = self.lock_state();
        if state.failure.is_some() || self.stop.is_set() {
            return None;
        }
        state.parts.pop()
    }

    fn end_part(&self, part: &CheckPart, tally: PartTally) {
        let mut state = self.lock_state();
        state.tally.merge(tally);
        state.done += 1;
        let label = if part.is_stock { "check: stock" } else { "check: warehouses" };
        let (label, done, total) = (label.to_owned(), state.done, self.total);
        (state.progress)(JobProgress { label, done, total, unit: "parts" });
    }
}
