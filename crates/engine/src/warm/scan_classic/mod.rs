//! Warming as mysql-warmup does it: its statements, its order, one connection. Kept as the peer to measure
//! against; `scan` reads the same pages in a third of the time.

use anyhow::Context;

use super::names::{chosen_tables, quote_identifier, tables_option};
use super::pool_status::column_text;
use super::{
    TableChoice, WarmContext, WarmEvent, WarmOutcome, WarmStrategy, read_pool_status,
    with_abandon_flag, with_kill_on_stop,
};
use crate::base::{Clock, Stop};
use crate::client::{Error, Session};
use crate::plan::{OptionSpec, Options};
use crate::workload::JobProgress;

/// The strategy.
pub struct ClassicScanStrategy;

impl WarmStrategy for ClassicScanStrategy {
    fn name(&self) -> &'static str {
        "scan_classic"
    }
    fn help_line(&self) -> &'static str {
        "Read tables with mysql-warmup's own statements, to compare"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        vec![tables_option()]
    }
    fn warm_with(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome> {
        let chosen = chosen_tables(options)?;
        let (clock, stop) = (context.clock, context.stop.clone());
        with_abandon_flag(clock, &stop, |abandon| {
            run_classic_scan(&chosen, context, on_event, abandon)
        })
    }
}

/// A table and the statements that read it.
type TableJob = (String, Vec<String>);

fn run_classic_scan(
    chosen: &[TableChoice],
    context: &mut WarmContext<'_>,
    on_event: &mut dyn FnMut(&WarmEvent),
    abandon: &Stop,
) -> anyhow::Result<WarmOutcome> {
    let began = context.clock.now();
    let mut lead = super::open_session(context.target, abandon)?;
    let before = read_pool_status(&mut lead)?;
    let mut jobs: Vec<(String, Vec<TableJob>)> = Vec::new();
    let mut notes = Vec::new();
    for (database, tables) in list_tables(&mut lead, chosen)? {
        let mut list = Vec::new();
        for table in tables {
            match table_statements(&mut lead, &database, &table) {
                Ok(sql) => list.push((table, sql)),
                Err(error) => notes.push(format!("{database}.{table}: {error}")),
            }
        }
        jobs.push((database, list));
    }
    let total: usize = jobs.iter().flat_map(|(_, list)| list).map(|(_, sql)| sql.len()).sum();
    let mut session = context.target.connect(abandon).context("open the one connection")?;
    session.allow_long_statements();
    let id = session.id();
    let mut reader = ClassicReader { session, done: 0, total: total as u64 };
    let (target, clock, stop) = (context.target, context.clock, context.stop.clone());
    let failed = with_kill_on_stop(target, clock, &stop, id, || {
        reader.read_databases(context, &jobs, on_event, &mut notes)
    })?;
    let (done, total) = (reader.done, reader.total);
    let after = read_pool_status(&mut lead)?;
    let seconds = context.clock.now().since(began).to_seconds();
    let mut warmed = WarmOutcome::from_counters(&before, &after, seconds);
    warmed.cut = context.stop.is_set();
    if warmed.cut {
        notes.push(format!("stopped after {done} of {total} statements"));
    }
    (warmed.notes, warmed.failed) = (notes, failed);
    Ok(warmed)
}

/// Tables by database, in the order the server names them; views too, as there.
fn list_tables(
    session: &mut Session,
    chosen: &[TableChoice],
) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let own = ["information_schema", "performance_schema", "mysql", "sys"];
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let all: Vec<TableChoice> = if chosen.is_empty() {
        let rows = session.query_rows("SHOW DATABASES").context("list the databases")?;
        let names = rows.rows.iter().filter_map(|row| column_text(row, 0));
        names
            .filter(|name| !own.contains(&name.to_lowercase().as_str()))
            .map(|database| TableChoice { database, table: None })
            .collect()
    } else {
        chosen.to_vec()
    };
    for TableChoice { database, table } in all {
        let tables = match table {
            Some(table) => vec![table],
            None => {
                let rows = session
                    .query_rows(&format!("SHOW TABLES FROM {}", quote_identifier(&database)))
                    .with_context(|| format!("list the tables of {database}"))?;
                rows.rows.iter().filter_map(|row| column_text(row, 0)).collect()
            }
        };
        match found.iter_mut().find(|(name, _)| *name == database) {
            Some((_, list)) => list.extend(tables),
            None => found.push((database, tables)),
        }
    }
    Ok(found)
}

/// The statements for a table, from what DESCRIBE says.
fn table_statements(
    session: &mut Session,
    database: &str,
    table: &str,
) -> Result<Vec<String>, Error> {
    let rows = session.query_rows(&format!(
        "DESCRIBE {}.{}",
        quote_identifier(database),
        quote_identifier(table)
    ))?;
    let columns: Vec<(String, String)> = rows
        .rows
        .iter()
        .map(|row| {
            (column_text(row, 0).unwrap_or_default(), column_text(row, 3).unwrap_or_default())
        })
        .collect();
    Ok(build_statements(table, &columns))
}

/// One statement for every column with a key: the rows by a column without one, other indexes by LIKE.
fn build_statements(table: &str, columns: &[(String, String)]) -> Vec<String> {
    let name = quote_identifier(table);
    let plain =
        columns.iter().find(|(_, key)| key.is_empty()).map(|(column, _)| quote_identifier(column));
    let keyed = columns.iter().filter(|(_, key)| !key.is_empty());
    keyed
        .map(|(column, key)| match (key.as_str(), &plain) {
            ("PRI", Some(f)) => {
                format!("select count(*) from {name} where {name}.{f} = 0 or {name}.{f} = '0'")
            }
            ("PRI", None) => format!("select count(*) from {name} where 1"),
            _ => {
                let column = quote_identifier(column);
                format!("select count(*) from {name} where {name}.{column} LIKE '%0%'")
            }
        })
        .collect()
}

/// The one connection that reads.
struct ClassicReader {
    session: Session,
    done: u64,
    total: u64,
}

impl ClassicReader {
    /// Works off all tables; gives how many the server refused to read.
    fn read_databases(
        &mut self,
        context: &mut WarmContext<'_>,
        jobs: &[(String, Vec<TableJob>)],
        on_event: &mut dyn FnMut(&WarmEvent),
        notes: &mut Vec<String>,
    ) -> anyhow::Result<u64> {
        let mut failed = 0;
        for (database, list) in jobs {
            if context.stop.is_set() {
                break;
            }
            on_event(&WarmEvent::DatabaseBegan(database.clone()));
            for (table, statements) in list {
                if context.stop.is_set() {
                    break;
                }
                on_event(&WarmEvent::TableBegan(database.clone(), table.clone()));
                match self.read_table(context, database, statements) {
                    Ok(()) => on_event(&WarmEvent::TableEnded(database.clone(), table.clone())),
                    Err(_) if context.stop.is_set() => {}
                    Err(error @ Error::Server { .. }) => {
                        failed += 1;
                        notes.push(format!("{database}.{table}: {error}"));
                        let why = error.to_string();
                        on_event(&WarmEvent::TableFailed(database.clone(), table.clone(), why));
                    }
                    Err(error) => return Err(error).context("read a table"),
                }
            }
            if !context.stop.is_set() {
                on_event(&WarmEvent::DatabaseEnded(database.clone()));
            }
        }
        Ok(failed)
    }

    fn read_table(
        &mut self,
        context: &mut WarmContext<'_>,
        database: &str,
        statements: &[String],
    ) -> Result<(), Error> {
        self.session.run_command(&format!("USE {}", quote_identifier(database)))?;
        for sql in statements {
            if context.stop.is_set() {
                return Err(Error::Abandoned);
            }
            self.session.query_rows(sql)?;
            self.done += 1;
            (context.progress)(JobProgress {
                label: "scan_classic".to_owned(),
                done: self.done,
                total: self.total,
                unit: "statements",
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(c, k)| ((*c).to_owned(), (*k).to_owned())).collect()
    }

    #[test]
    fn the_statements_are_those_of_mysql_warmup() {
        let table = columns(&[("id", "PRI"), ("random_str", "UNI"), ("random_str2", "")]);
        assert_eq!(
            build_statements("test_data", &table),
            [
                "select count(*) from `test_data` where `test_data`.`random_str2` = 0 \
                 or `test_data`.`random_str2` = '0'",
                "select count(*) from `test_data` where `test_data`.`random_str` LIKE '%0%'",
            ]
        );
    }

    #[test]
    fn without_a_plain_column_the_rows_are_counted() {
        let table = columns(&[("a", "PRI"), ("b", "PRI"), ("c", "MUL")]);
        let all = build_statements("t", &table);
        assert_eq!(all.len(), 3, "a key of two columns is read twice, as there");
        assert_eq!(all[0], "select count(*) from `t` where 1");
    }

    #[test]
    fn a_table_without_keys_is_not_read_at_all() {
        assert!(build_statements("t", &columns(&[("a", ""), ("b", "")])).is_empty());
    }
}
