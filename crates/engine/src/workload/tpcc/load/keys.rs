//! What is made once the rows are there: indexes and foreign keys. And all statements of a load in words.

use anyhow::Context as _;

use super::super::load_record::RECORD_TABLE;
use super::super::options::TpccSettings;
use super::super::rows::group_count;
use super::super::schema::TpccTable;
use super::units::UNIT_TABLE;
use crate::client::Session;
use crate::workload::{DataJob, JobProgress};

/// Statement that makes the index of a table, if it has one.
fn index_sql(table: TpccTable) -> Option<(&'static str, String)> {
    let shape = table.shape();
    let (index, columns) = shape.index?;
    Some((index, format!("CREATE INDEX {index} ON {} ({columns})", shape.name)))
}

/// The index of a table, if it has one and that is not there.
pub(super) fn find_missing_index(
    session: &mut Session,
    table: TpccTable,
) -> anyhow::Result<Option<&'static str>> {
    let Some((index, _)) = table.shape().index else { return Ok(None) };
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
         AND table_name = '{}' AND index_name = '{index}'",
        table.shape().name
    );
    let found = session.query_scalar(&sql).with_context(|| format!("look for index {index}"))?;
    Ok((found.as_deref() == Some("0")).then_some(index))
}

/// Makes the index of a table unless it is there; `report` hears its name before.
pub(super) fn create_index(
    session: &mut Session,
    table: TpccTable,
    report: impl FnOnce(&str),
) -> anyhow::Result<()> {
    let Some((index, sql)) = index_sql(table) else { return Ok(()) };
    if find_missing_index(session, table)?.is_none() {
        return Ok(());
    }
    report(index);
    session.run_command(&sql).with_context(|| format!("make index {index}"))?;
    Ok(())
}

/// Statement that makes the foreign keys of a table, without those named.
fn foreign_keys_sql(table: TpccTable, there: &[String]) -> Option<String> {
    let shape = table.shape();
    let missing = shape.foreign_keys.iter().filter(|(name, ..)| !there.iter().any(|t| t == name));
    let list: Vec<String> = missing
        .map(|(name, columns, other, of_other)| {
            format!("ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {other} ({of_other})")
        })
        .collect();
    (!list.is_empty()).then(|| format!("ALTER TABLE {} {}", shape.name, list.join(", ")))
}

/// Makes the foreign keys that are missing.
pub(super) fn create_foreign_keys(
    session: &mut Session,
    job: &mut DataJob<'_>,
) -> anyhow::Result<()> {
    let sql = "SELECT constraint_name FROM information_schema.table_constraints \
               WHERE table_schema = DATABASE() AND constraint_type = 'FOREIGN KEY'";
    let found = session.query_rows(sql).context("look up foreign keys")?;
    let there: Vec<String> =
        (0..found.rows.len()).filter_map(|row| found.text_value(row, 0)).collect();
    for table in TpccTable::ALL {
        let Some(sql) = foreign_keys_sql(table, &there) else { continue };
        let name = table.shape().name;
        let label = format!("{name}: foreign keys");
        (job.progress)(JobProgress { label, done: 1, total: 0, unit: "keys" });
        session.run_command(&sql).with_context(|| format!("make the foreign keys of {name}"))?;
    }
    Ok(())
}

/// All statements of a load.
pub(in super::super) fn describe_prepare(settings: &TpccSettings) -> Vec<String> {
    let warehouses = u64::from(settings.prepared_warehouses());
    let mut list = vec![
        format!("CREATE TABLE {RECORD_TABLE} ..., 1 row: seed and constants"),
        format!("CREATE TABLE {UNIT_TABLE} ..., which units are finished"),
    ];
    list.extend(TpccTable::ALL.map(|table| table.create_sql(settings)));
    for table in TpccTable::ALL {
        let (name, groups) = (table.shape().name, u64::from(group_count(table)));
        let rows = match table {
            TpccTable::Item => format!("{groups} rows"),
            TpccTable::OrderLine => format!("about {} rows", groups * 10 * warehouses),
            _ => format!("{} rows", groups * warehouses),
        };
        list.push(format!("INSERT INTO {name} VALUES ..., {rows}"));
    }
    list.extend(TpccTable::ALL.into_iter().filter_map(index_sql).map(|(_, sql)| sql));
    if settings.foreign_keys {
        list.extend(TpccTable::ALL.into_iter().filter_map(|table| foreign_keys_sql(table, &[])));
    }
    list
}
