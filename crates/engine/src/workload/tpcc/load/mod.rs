//! Makes the data: unit by unit, several sessions at once, and goes on where it was cut.
//!
//! A unit is what one table has for one warehouse. The database keeps which units were begun and which are finished; a unit's
//! mark and its rows are one transaction, so a unit that is marked is whole. Others are emptied and loaded again.
//! Never knows: what rows mean, what transactions do.

mod files;
mod keys;
mod pool;
mod sender;
mod shapes;
mod units;
mod verify;

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;

use super::load_record::{LoadRecord, RECORD_TABLE};
use super::options::TpccSettings;
use super::schema::TpccTable;
use crate::client::{Feature, Session, Target};
use crate::plan::Mistake;
use crate::workload::DataJob;
use crate::workload::fill::current_database;

pub(super) use self::keys::describe_prepare;
pub(super) use self::shapes::drop_tables;

/// Makes the tables and their rows, or files; what is there already is kept. `notes` gets lines for the user.
///
/// # Errors
/// When a table has other columns or rows of another load, rows differ from what they should be, the server refuses, or the job
/// was stopped.
pub(super) fn prepare_data(
    settings: &TpccSettings,
    target: &Target,
    job: &mut DataJob<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    if let Some(dir) = &settings.csv_dir {
        return files::write_files(dir, settings, job);
    }
    let mut session = target.connect(job.stop)?;
    session.allow_long_statements();
    current_database(&mut session)?;
    configure_session(&mut session)?;
    let there = shapes::check_tables(&mut session)?;
    let record = settle_record(&mut session, settings, job.seed, &there)?;
    let needs_key = !settings.history_key && requires_keys(&mut session);
    if needs_key && !there.contains(&TpccTable::History) {
        notes.push("table history has a key h_id: this server asks for primary keys".to_owned());
    }
    let settings =
        &TpccSettings { history_key: settings.history_key || needs_key, ..settings.clone() };
    units::create_table(&mut session, settings)?;
    for table in TpccTable::ALL.into_iter().filter(|table| !there.contains(table)) {
        units::forget_table(&mut session, table)?;
        let name = table.shape().name;
        session
            .run_command(&table.create_sql(settings))
            .with_context(|| format!("make table {name}"))?;
    }
    let list = units::list_units(&mut session, settings.prepared_warehouses())?;
    pool::LoadPool::new(target, settings, &record, job, list).run_sessions()?;
    if settings.foreign_keys {
        keys::create_foreign_keys(&mut session, job)?;
    }
    if settings.verify {
        let finished = units::finished_units(&mut session)?;
        verify::verify_rows(&mut session, target, &record, finished, job, notes)?;
    }
    Ok(())
}

/// Refuses tables whose load was cut. Tables that sweat did not load are not judged.
///
/// # Errors
/// When something is missing, or the server refuses.
pub(super) fn check_finished(session: &mut Session, warehouses: u32) -> anyhow::Result<()> {
    if !units::is_loaded_by_us(session)? {
        return Ok(());
    }
    let hint = format!("sweat bench tpcc prepare --warehouses={warehouses}");
    if let Some(unit) = units::find_unfinished(session, warehouses)? {
        let why = "its load is not finished";
        return Err(Mistake::new(unit.describe_unit(), why).hint(hint).into());
    }
    for table in TpccTable::ALL {
        if let Some(index) = keys::find_missing_index(session, table)? {
            let why = format!("its index {index} is missing");
            let place = format!("table {}", table.shape().name);
            return Err(Mistake::new(place, why).hint(hint).into());
        }
    }
    Ok(())
}

/// What several sessions share, for one of them. What a session that panicked left there is whole.
fn lock_shared<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all sessions of a load set, for themselves alone. Keys are right by themselves, so nothing is looked up for them.
fn configure_session(session: &mut Session) -> anyhow::Result<()> {
    let sql = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES', foreign_key_checks = 0";
    session.run_command(sql).context("set the session's variables")?;
    Ok(())
}

/// Whether the server wants a primary key of each table, as Galera and group replication do. One that can't be asked does not say
/// so.
fn requires_keys(session: &mut Session) -> bool {
    [Feature::KeyRequired, Feature::GroupMembers].into_iter().any(|word| {
        let sql = session.identity().feature_text(word);
        let told = sql.and_then(|sql| session.query_scalar(sql).ok().flatten());
        told.is_some_and(|count| count != "0")
    })
}

/// The record of the database, made where there is none.
fn settle_record(
    session: &mut Session,
    settings: &TpccSettings,
    seed: u64,
    there: &[TpccTable],
) -> anyhow::Result<LoadRecord> {
    if let Some(record) = LoadRecord::read(session)? {
        return match settings.data_seed {
            Some(asked) if asked != record.seed => {
                let why = format!("the rows there come from seed {}, not {asked}", record.seed);
                let hint = "leave it out to add to them, or run cleanup first";
                Err(Mistake::new("--data-seed", why).hint(hint).into())
            }
            _ => Ok(record),
        };
    }
    for table in there {
        let name = table.shape().name;
        let some = session.query_scalar(&format!("SELECT 1 FROM {name} LIMIT 1"))?;
        if some.is_some() {
            let why = "has rows that sweat did not load";
            let hint = "use another database with -D, or drop that table";
            return Err(Mistake::new(format!("table {name}"), why).hint(hint).into());
        }
    }
    let record = LoadRecord::from_seed(settings.data_seed.unwrap_or(seed));
    for sql in record.save_sql() {
        session.run_command(&sql).with_context(|| format!("make table {RECORD_TABLE}"))?;
    }
    Ok(record)
}
