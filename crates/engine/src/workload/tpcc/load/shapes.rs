//! Whether the tables that are there are ours, by their columns: nothing else is ever filled or dropped.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::super::load_record::RECORD_TABLE;
use super::super::schema::TpccTable;
use super::units::UNIT_TABLE;
use crate::client::{Session, Target};
use crate::plan::{Mistake, Mistakes};
use crate::workload::fill::{
    ExpectedColumn, column_mismatch, columns_match, current_database, read_columns,
};
use crate::workload::{DataJob, JobProgress};

/// Columns of the tables in which the load keeps what it did.
const RECORD_COLUMNS: &[ExpectedColumn<'_>] = &[
    ("id", "tinyint", None),
    ("seed", "bigint", None),
    ("c_last_load", "int", None),
    ("c_last_run", "int", None),
    ("c_id", "int", None),
    ("c_item", "int", None),
];
const UNIT_COLUMNS: &[ExpectedColumn<'_>] = &[
    ("table_number", "tinyint", None),
    ("w_id", "int", None),
    ("table_name", "varchar", Some(20)),
    ("finished", "tinyint", None),
];
/// The key that `--history-key` gives the history.
const HISTORY_KEY: ExpectedColumn<'_> = ("h_id", "bigint", None);

/// Columns of a table as servers describe them.
fn expected_columns(table: TpccTable) -> Vec<ExpectedColumn<'static>> {
    table.shape().columns.iter().map(|(name, kind)| expected_column(name, kind)).collect()
}

/// What a server says of a column that was declared so.
fn expected_column(name: &'static str, kind: &'static str) -> ExpectedColumn<'static> {
    let word = kind.split([' ', '(']).next().unwrap_or_default();
    let described = match word {
        "INT" => "int",
        "TINYINT" => "tinyint",
        "SMALLINT" => "smallint",
        "BIGINT" => "bigint",
        "CHAR" => "char",
        "VARCHAR" => "varchar",
        "DECIMAL" => "decimal",
        _ => "datetime",
    };
    let length = kind.strip_prefix(word).and_then(|rest| rest.strip_prefix('('));
    let length = length.and_then(|rest| rest.split(')').next()?.parse().ok());
    (name, described, length)
}

/// Names of all tables of ours, with the columns that they may have.
fn all_tables() -> Vec<(String, Vec<Vec<ExpectedColumn<'static>>>)> {
    let mut list: Vec<_> = TpccTable::ALL
        .into_iter()
        .map(|table| {
            let columns = expected_columns(table);
            let mut shapes = vec![columns.clone()];
            if table == TpccTable::History {
                shapes.push([vec![HISTORY_KEY], columns].concat());
            }
            (table.shape().name.to_owned(), shapes)
        })
        .collect();
    list.push((RECORD_TABLE.to_owned(), vec![RECORD_COLUMNS.to_vec()]));
    list.push((UNIT_TABLE.to_owned(), vec![UNIT_COLUMNS.to_vec()]));
    list
}

/// Which of all tables are there with columns that fit, and what is wrong with the others.
fn compare_columns(session: &mut Session) -> anyhow::Result<(Vec<String>, Vec<Mistake>)> {
    let tables = all_tables();
    let names: Vec<String> = tables.iter().map(|(name, _)| name.clone()).collect();
    let found: BTreeMap<_, _> = read_columns(session, &names)?;
    let (mut fitting, mut mistakes) = (Vec::new(), Vec::new());
    for (name, shapes) in tables {
        let Some(columns) = found.get(&name) else { continue };
        if shapes.iter().any(|shape| columns_match(columns, shape)) {
            fitting.push(name);
        } else {
            mistakes.push(column_mismatch(&name, columns, &shapes[0]));
        }
    }
    Ok((fitting, mistakes))
}

/// Which of the nine tables are there.
///
/// # Errors
/// When one has other columns than ours.
pub(super) fn check_tables(session: &mut Session) -> anyhow::Result<Vec<TpccTable>> {
    let (fitting, mistakes) = compare_columns(session)?;
    Mistakes::check(mistakes)?;
    let is_there = |table: &TpccTable| fitting.iter().any(|name| name == table.shape().name);
    Ok(TpccTable::ALL.into_iter().filter(is_there).collect())
}

/// Drops all tables and procedures of ours. Tables with other columns stay.
///
/// # Errors
/// When the server refuses, or tables were left alone.
pub(in super::super) fn drop_tables(target: &Target, job: &mut DataJob<'_>) -> anyhow::Result<()> {
    let mut session = target.connect(job.stop)?;
    session.allow_long_statements();
    current_database(&mut session)?;
    let (fitting, mistakes) = compare_columns(&mut session)?;
    session.run_command("SET SESSION foreign_key_checks = 0")?;
    let total = fitting.len() as u64;
    // The record goes last but one, the units last: a cleanup that was cut can be run again.
    for (done, name) in (1..).zip(&fitting) {
        session
            .run_command(&format!("DROP TABLE {name}"))
            .with_context(|| format!("drop {name}"))?;
        let label = "drop tables".to_owned();
        (job.progress)(JobProgress { label, done, total, unit: "tables" });
    }
    if mistakes.is_empty() {
        return drop_procedures(&mut session);
    }
    Err(anyhow::Error::new(Mistakes(mistakes)).context("some tables were left unchanged"))
}

fn drop_procedures(session: &mut Session) -> anyhow::Result<()> {
    let sql = "SELECT routine_name FROM information_schema.routines \
               WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE' \
               AND routine_name LIKE 'tpcc\\_%'";
    let found = session.query_rows(sql).context("look up procedures")?;
    for row in 0..found.rows.len() {
        let name = found.text_value(row, 0).unwrap_or_default();
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            session
                .run_command(&format!("DROP PROCEDURE IF EXISTS {name}"))
                .with_context(|| format!("drop procedure {name}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_expected_as_servers_describe_them() {
        assert_eq!(expected_column("a", "VARCHAR(20) NOT NULL"), ("a", "varchar", Some(20)));
        assert_eq!(expected_column("a", "INT UNSIGNED NOT NULL"), ("a", "int", None));
        assert_eq!(expected_column("a", "DATETIME NULL"), ("a", "datetime", None));
        assert_eq!(expected_column("a", "DECIMAL(12,2) NOT NULL"), ("a", "decimal", None));
        let customer = expected_columns(TpccTable::Customer);
        assert!(customer.contains(&("c_data", "varchar", Some(500))), "{customer:?}");
    }
}
