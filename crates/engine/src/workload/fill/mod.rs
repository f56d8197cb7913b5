//! Fills tables fast: several sessions at once, over tables and inside one table, and goes on where it was cut.
//!
//! A table is filled in pieces of `CHUNK_ROWS` rows, each one transaction. The highest id of a piece is always sent last,
//! so a piece whose highest id is present is whole, whatever the engine; everything else is emptied and sent again.
//! Never knows: which workload the tables are for, what rows mean.

mod columns;
mod pool;
mod row_buffer;
mod send;
mod write_access;

pub(crate) use columns::{
    ExpectedColumn, column_mismatch, columns_match, current_database, drop_matching_tables,
    read_columns,
};
pub(crate) use pool::end_sessions;
pub(crate) use row_buffer::RowBuffer;
pub(crate) use send::rows_per_insert;
pub(crate) use write_access::{HarmlessWrite, check_write_access};

use super::DataJob;
use crate::client::Target;

/// Rows of a transaction. A cut preparation goes on by whole pieces, so the number is part of the data.
pub(crate) const CHUNK_ROWS: u64 = 16_000;

/// What filling sends, in words that are SQL where they can be.
pub(crate) fn fill_statements(source: &dyn FillSource) -> Vec<String> {
    let mut list = Vec::new();
    for table in 0..source.table_names().len() {
        let name = source.sql_name(table);
        list.push(source.create_table_sql(table));
        if source.rows_per_table() > 0 {
            let columns = source.filled_columns();
            let rows = source.rows_per_table();
            list.push(format!(
                "INSERT INTO {name} ({}) VALUES ..., {rows} rows",
                columns.join(", ")
            ));
        }
        list.extend(source.create_index_sql(table).map(|(_, sql)| sql));
    }
    list
}

/// Tables to fill. Rows are numbered from 1, and the number is the value of the column [`FillSource::row_key`].
pub(crate) trait FillSource: Sync {
    /// Names of the tables.
    fn table_names(&self) -> &[String];
    /// The name of one as statements have it.
    fn sql_name(&self, table: usize) -> String {
        self.table_names()[table].clone()
    }
    /// Their columns.
    fn expected_columns(&self) -> Vec<ExpectedColumn<'_>>;
    /// Those of them that a row has values for, in the order of its fields, as statements have them.
    fn filled_columns(&self) -> Vec<&str> {
        self.expected_columns().into_iter().map(|(name, ..)| name).collect()
    }
    /// The column that holds a row's number, and can be looked up fast. A table without one is filled as a whole.
    fn row_key(&self) -> Option<&str> {
        Some("id")
    }
    /// No row is longer than this, in bytes.
    fn longest_row(&self) -> u64 {
        1024
    }
    /// Rows of each table.
    fn rows_per_table(&self) -> u64;
    /// Statement that makes a table.
    fn create_table_sql(&self, table: usize) -> String;
    /// Whether the column `id` is AUTO_INCREMENT.
    fn is_auto_increment(&self) -> bool;
    /// Name of an index to make once the rows are there, and the statement for it.
    fn create_index_sql(&self, table: usize) -> Option<(String, String)>;
    /// Whether rows are sent in an order of chance, as a table has them that has lived for long.
    fn is_shuffled(&self) -> bool {
        false
    }
    /// Writes one row; the same for the same arguments, whoever asks.
    fn write_row(&self, table: usize, row: u64, row_buffer: &mut RowBuffer);
}

/// Makes the tables and their rows; what is there already is kept.
///
/// # Errors
/// When a table has other columns, the server refuses, or the job was stopped.
pub(crate) fn fill_tables(
    target: &Target,
    source: &dyn FillSource,
    job: &mut DataJob<'_>,
) -> anyhow::Result<()> {
    let mut session = target.connect(job.stop)?;
    current_database(&mut session)?;
    let found = read_columns(&mut session, source.table_names())?;
    for name in source.table_names() {
        if let Some(columns) = found.get(name) {
            if !columns_match(columns, &source.expected_columns()) {
                return Err(column_mismatch(name, columns, &source.expected_columns()).into());
            }
        }
    }
    let exists = source.table_names().iter().map(|name| found.contains_key(name)).collect();
    // How many sessions get further at one table than fewer.
    let alone = source.is_auto_increment() && session.identity().inserts_one_by_one();
    let most = if alone { 1 } else { usize::MAX };
    pool::FillPool::new(target, source, job, most).run(exists)
}
