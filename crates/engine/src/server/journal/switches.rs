//! The switches of performance_schema: which rows of which tables we may change, how they are read and put back.

use anyhow::Context as _;

use super::file::RowsChange;
use crate::client::Session;

/// A column that says YES or NO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupSwitch {
    /// Whether an instrument counts, by its name.
    InstrumentEnabled,
    /// Whether an instrument takes times, by its name.
    InstrumentTimed,
    /// Whether a consumer keeps what instruments give, by its name.
    Consumer,
    /// Whether a thread that runs is looked at, by its id.
    Thread,
    /// Whether threads that will start are looked at, by the name of their kind; MySQL only.
    ThreadKind,
}

/// Switch, table, key, column.
const PLACES: &[(SetupSwitch, &str, &str, &str)] = &[
    (SetupSwitch::InstrumentEnabled, "setup_instruments", "NAME", "ENABLED"),
    (SetupSwitch::InstrumentTimed, "setup_instruments", "NAME", "TIMED"),
    (SetupSwitch::Consumer, "setup_consumers", "NAME", "ENABLED"),
    (SetupSwitch::Thread, "threads", "THREAD_ID", "INSTRUMENTED"),
    (SetupSwitch::ThreadKind, "setup_threads", "NAME", "ENABLED"),
];

/// The key of a place, if it is one of ours: a journal must not name others.
fn key_column(table: &str, column: &str) -> anyhow::Result<&'static str> {
    let place = PLACES.iter().find(|place| place.1 == table && place.3 == column);
    place
        .map(|place| place.2)
        .with_context(|| format!("{column} of {table} is not a switch that sweat changes"))
}

/// The change that brings all these rows to a value; `None` where there is nothing to do.
pub(super) fn plan_change(
    session: &mut Session,
    switch: SetupSwitch,
    keys: &[String],
    on: bool,
) -> anyhow::Result<Option<RowsChange>> {
    let place = PLACES.iter().find(|place| place.0 == switch).expect("each switch has a place");
    let (old, new) = if on { ("NO", "YES") } else { ("YES", "NO") };
    let change = RowsChange {
        table: place.1.to_owned(),
        column: place.3.to_owned(),
        keys: keys.to_vec(),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let keys = keys_with_value(session, &change, old)?;
    Ok((!keys.is_empty()).then_some(RowsChange { keys, ..change }))
}

/// Gives all rows of a change a value.
pub(super) fn apply_value(
    session: &mut Session,
    change: &RowsChange,
    value: &str,
) -> anyhow::Result<()> {
    let RowsChange { table, column, keys, .. } = change;
    let key = key_column(table, column)?;
    anyhow::ensure!(matches!(value, "YES" | "NO"), "a switch is YES or NO, not {value}");
    let sql = format!(
        "UPDATE performance_schema.{table} SET {column} = '{value}' WHERE {key} IN ({})",
        quote_keys(keys)
    );
    session.run_command(&sql).with_context(|| {
        format!("change {column} in performance_schema.{table}: it needs UPDATE on that table")
    })?;
    Ok(())
}

/// Puts rows back that are as we set them; those that are gone (a thread that has ended) need nothing. Says what it did.
pub(super) fn undo_rows(session: &mut Session, change: &RowsChange) -> anyhow::Result<String> {
    let RowsChange { table, column, old, new, .. } = change;
    let keys = keys_with_value(session, change, new)?;
    let words = format!("{column} of {} rows of performance_schema.{table}", change.keys.len());
    if !keys.is_empty() {
        apply_value(session, &RowsChange { keys, ..change.clone() }, old)?;
        let left = keys_with_value(session, change, new)?;
        anyhow::ensure!(left.is_empty(), "{words}: {} did not change back", left.join(", "));
    }
    Ok(words)
}

/// The keys of a change's rows that have this value now.
fn keys_with_value(
    session: &mut Session,
    change: &RowsChange,
    value: &str,
) -> anyhow::Result<Vec<String>> {
    let RowsChange { table, column, keys, .. } = change;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let key = key_column(table, column)?;
    let sql = format!(
        "SELECT {key}, {column} FROM performance_schema.{table} WHERE {key} IN ({})",
        quote_keys(keys)
    );
    let rows =
        session.query_rows(&sql).with_context(|| format!("read performance_schema.{table}"))?;
    let row = |at: usize| (rows.text_value(at, 0).unwrap_or_default(), rows.text_value(at, 1));
    let all = (0..rows.rows.len()).map(row);
    Ok(all.filter(|(_, now)| now.as_deref() == Some(value)).map(|(key, _)| key).collect())
}

/// Keys as SQL takes them; names of instruments hold no backslash, so one is left out rather than trusted.
fn quote_keys(keys: &[String]) -> String {
    let quoted = keys.iter().map(|key| key.replace('\\', "").replace('\'', "''"));
    quoted.map(|key| format!("'{key}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_can_not_name_other_tables_or_smuggle_statements() {
        assert_eq!(key_column("setup_instruments", "TIMED").unwrap(), "NAME");
        assert!(key_column("setup_actors", "ENABLED").is_err());
        assert!(key_column("setup_consumers SET ENABLED='NO' -- ", "ENABLED").is_err());
        let keys = ["a'b".to_owned(), r"\'; DROP".to_owned()];
        assert_eq!(quote_keys(&keys), "'a''b', '''; DROP'");
    }
}
