//! Fills tables fast: several sessions at once, over tables and inside one table, and goes on where it was cut.
//!
//! A table is filled in pieces of `PIECE` rows, each one statement and so one transaction. The highest id of a piece
//! is always sent last, so a piece whose highest id is present is whole; everything else is emptied and sent again.
//! Never knows: which workload the tables are for, what rows mean.

mod columns;
mod crew;
mod send;
mod sheet;

pub(crate) use columns::{Expected, database, drop_ours, fit, look_up, misfit};
pub(crate) use sheet::Sheet;

use anyhow::Context as _;

use super::Job;
use crate::target::{Session, Target};

/// Rows that are sent in one statement. A cut preparation goes on by whole pieces, so the number is part of the data.
pub(crate) const PIECE: u64 = 16_000;

/// Tables to fill. Rows are numbered from 1, and the number is the value of the column `id`.
pub(crate) trait Source: Sync {
    /// Names of the tables.
    fn tables(&self) -> &[String];
    /// Their columns, in the order of the fields of a row.
    fn columns(&self) -> &[Expected];
    /// Rows of each table.
    fn rows(&self) -> u64;
    /// Statement that makes a table.
    fn create(&self, table: usize) -> String;
    /// Name of an index to make once the rows are there, and the statement for it.
    fn index(&self, table: usize) -> Option<(String, String)>;
    /// Whether rows are sent in an order of chance, as a table has them that has lived for long.
    fn shuffled(&self) -> bool {
        false
    }
    /// Writes one row; the same for the same arguments, whoever asks.
    fn row(&self, table: usize, row: u64, sheet: &mut Sheet);
}

/// Makes the tables and their rows; what is there already is kept.
///
/// # Errors
/// When a table has other columns, the server refuses, or the job was stopped.
pub(crate) fn fill(target: &Target, source: &dyn Source, job: &mut Job<'_>) -> anyhow::Result<()> {
    let mut session = target.connect(job.stop)?;
    database(&mut session)?;
    let found = look_up(&mut session, source.tables())?;
    for name in source.tables() {
        if let Some(columns) = found.get(name) {
            if !fit(columns, source.columns()) {
                return Err(misfit(name, columns, source.columns()).into());
            }
        }
    }
    let exists = source.tables().iter().map(|name| found.contains_key(name)).collect();
    let route = Route::choose(&mut session)?;
    crew::Crew::new(target, source, job, route).run(exists)
}

/// How rows get into the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    /// LOAD DATA LOCAL works.
    load: bool,
    /// The longest packet the server takes, in bytes.
    packet: u64,
}

impl Route {
    fn choose(session: &mut Session) -> anyhow::Result<Route> {
        let row = session
            .rows("SELECT @@local_infile, @@max_allowed_packet")
            .context("ask how rows may be sent")?;
        let number = |at: usize| {
            let value = row.rows.first()?.get(at)?.as_deref()?;
            std::str::from_utf8(value).ok()?.parse::<u64>().ok()
        };
        Ok(Route { load: number(0) == Some(1), packet: number(1).unwrap_or(1 << 20) })
    }
}
