//! Fills tables fast: several sessions at once, over tables and inside one table, and goes on where it was cut.
//!
//! A table is filled in pieces of `PIECE` rows, each one transaction. The highest id of a piece is always sent last,
//! so a piece whose highest id is present is whole, whatever the engine; everything else is emptied and sent again.
//! Never knows: which workload the tables are for, what rows mean.

mod columns;
mod crew;
mod send;
mod sheet;

pub(crate) use columns::{Expected, database, drop_ours, fit, look_up, misfit};
pub(crate) use sheet::Sheet;

use super::Job;
use crate::target::Target;

/// Rows of a transaction. A cut preparation goes on by whole pieces, so the number is part of the data.
pub(crate) const PIECE: u64 = 16_000;

/// What filling sends, in words that are SQL where they can be.
pub(crate) fn describe(source: &dyn Source) -> Vec<String> {
    let mut list = Vec::new();
    for (table, name) in source.tables().iter().enumerate() {
        list.push(source.create(table));
        if source.rows() > 0 {
            let columns: Vec<&str> = source.columns().iter().map(|(name, ..)| *name).collect();
            let rows = source.rows();
            list.push(format!(
                "INSERT INTO {name} ({}) VALUES ..., {rows} rows",
                columns.join(", ")
            ));
        }
        list.extend(source.index(table).map(|(_, sql)| sql));
    }
    list
}

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
    /// Whether the column `id` is AUTO_INCREMENT.
    fn auto_increment(&self) -> bool;
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
    // How many sessions get further at one table than fewer.
    let alone = source.auto_increment() && session.identity().inserts_one_by_one();
    let most = if alone { 1 } else { usize::MAX };
    crew::Crew::new(target, source, job, most).run(exists)
}
