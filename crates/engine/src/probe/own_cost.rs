//! What sweat's own looks add to the counters of the server, so that they can be taken off.
//! Counters of the session alone tell it, whatever others do on the server meanwhile. But `SHOW STATUS` hides the rows of
//! its own temporary table from its session and adds them to the server's counters: these are measured there, several
//! times, and the least counts, as others can only add to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::probed_server::cell_text;
use super::{PROBES, ProbeError, ProbedServer, SamplingSchedule, process, status};
use crate::base::Stop;
use crate::client::{Error, Session, Target};

/// The name under which a look of [`cost_counters`] stands among the probes.
pub const LOOK: &str = "look";

/// Counters by name.
type NamedCounters = BTreeMap<String, f64>;

/// The server keeps these by session, too, so that what a session did itself can be told.
const OF_SESSIONS: &[&str] =
    &["Bytes_", "Com_", "Created_tmp_", "Handler_", "Questions", "Select_", "Sort_"];
/// Of these `SHOW STATUS` hides its own share from its session.
const HIDDEN: &[&str] = &["Created_tmp_", "Handler_"];
/// How often what is hidden is measured.
const TIMES: usize = 4;
/// What tells what an event costs; the rest of the status is in the samples.
const OF_COST: &[&str] = &[
    "Bytes_",
    "Com_",
    "Connections",
    "Created_tmp_",
    "Handler_",
    "Innodb_buffer_pool_read",
    "Innodb_data_",
    "Innodb_os_log_",
    "Innodb_pages_",
    "Innodb_row_lock_",
    "Questions",
    "Select_",
    "Sort_",
    "Threads_",
];

/// The numbers of the rows whose names begin with one of these. The status has some five hundred others.
fn numbers_of(rows: &[Vec<Option<Vec<u8>>>], prefixes: &[&str]) -> NamedCounters {
    let is_wanted = |row: &&Vec<Option<Vec<u8>>>| match row.first() {
        Some(Some(name)) => prefixes.iter().any(|prefix| name.starts_with(prefix.as_bytes())),
        _ => false,
    };
    let wanted = rows.iter().filter(is_wanted);
    let cells = wanted.map(|row| (cell_text(row.first()), cell_text(row.get(1))));
    status::split_numbers(cells).0.into_iter().collect()
}

/// Counters of this moment that tell what events cost: of the server, and the CPU of its process where that is known.
///
/// # Errors
/// When the server doesn't answer.
pub fn cost_counters(session: &mut Session, pid: Option<u32>) -> Result<NamedCounters, Error> {
    let rows = session.query_rows(status::STATEMENT)?;
    let mut kept = numbers_of(&rows.rows, OF_COST);
    if let Some(pid) = pid {
        let of_process = process::read_counters(pid).into_iter();
        kept.extend(of_process.filter(|(name, _)| name.starts_with("process.cpu_")));
    }
    Ok(kept)
}

/// What one look adds to the server's counters: of each probe that asks the server again and again, and of
/// [`cost_counters`] as [`LOOK`]. Probes that see nothing here are left out.
///
/// # Errors
/// When the server doesn't answer.
pub fn measure_own_cost(
    target: &Target,
    names: &[String],
    stop: &Stop,
) -> Result<BTreeMap<String, NamedCounters>, ProbeError> {
    let mut subject = ProbedServer::new(Some(target), stop, Arc::default());
    let mut found = BTreeMap::new();
    let first = session_counters(&mut subject)?;
    let second = session_counters(&mut subject)?;
    // What reading these counters costs is in each difference.
    let reading = rise(&first, &second, &NamedCounters::new());
    let look = hidden_rises(&mut subject, &mut |_| Ok(()))?;
    let kinds = PROBES.iter().filter(|kind| kind.asks_server && kind.is_asked_by(names));
    for kind in kinds.filter(|kind| matches!(kind.schedule, SamplingSchedule::Ticks(_))) {
        let mut probe = (kind.build)();
        // The first look may ask more than the others.
        if probe.take_sample(&mut subject).is_err() {
            continue;
        }
        let before = session_counters(&mut subject)?;
        if probe.take_sample(&mut subject).is_err() {
            continue;
        }
        let after = session_counters(&mut subject)?;
        let mut take = |subject: &mut ProbedServer| probe.take_sample(subject).map(drop);
        let both = hidden_rises(&mut subject, &mut take)?;
        let mut own = rise(&before, &after, &reading);
        own.extend(rise(&look, &both, &NamedCounters::new()));
        found.insert(kind.name.to_owned(), own);
    }
    let before = session_counters(&mut subject)?;
    subject.query_rows(status::STATEMENT)?;
    let after = session_counters(&mut subject)?;
    let mut own = rise(&before, &after, &reading);
    own.extend(look);
    found.insert(LOOK.to_owned(), own);
    subject.close();
    Ok(found)
}

/// What the server's own counters of rows and temporary tables rise by from one look at them to the next, with `work` in
/// between: the least of a few times.
fn hidden_rises(
    subject: &mut ProbedServer,
    work: &mut dyn FnMut(&mut ProbedServer) -> Result<(), ProbeError>,
) -> Result<NamedCounters, ProbeError> {
    let mut least: Option<NamedCounters> = None;
    let mut before = read_status(subject, status::STATEMENT, HIDDEN)?;
    for _ in 0..TIMES {
        work(subject)?;
        let after = read_status(subject, status::STATEMENT, HIDDEN)?;
        let rises = rise(&before, &after, &NamedCounters::new());
        let of_least = |known: NamedCounters| {
            let lower = |(name, by): (String, f64)| Some((by.min(*rises.get(&name)?), name));
            known.into_iter().filter_map(lower).map(|(by, name)| (name, by)).collect()
        };
        least = Some(least.map_or_else(|| rises.clone(), of_least));
        before = after;
    }
    Ok(least.unwrap_or_default())
}

fn session_counters(subject: &mut ProbedServer) -> Result<NamedCounters, ProbeError> {
    read_status(subject, "SHOW SESSION STATUS", OF_SESSIONS)
}

fn read_status(
    subject: &mut ProbedServer,
    sql: &str,
    prefixes: &[&str],
) -> Result<NamedCounters, ProbeError> {
    let rows = subject.query_rows(sql)?;
    Ok(numbers_of(&rows.rows, prefixes))
}

/// What rose, without what reading alone makes rise.
fn rise(before: &NamedCounters, after: &NamedCounters, own: &NamedCounters) -> NamedCounters {
    let of = |(name, value): (&String, &f64)| {
        let by = value - before.get(name)? - own.get(name).copied().unwrap_or(0.0);
        (by > 0.0).then(|| (name.clone(), by))
    };
    after.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reading_costs_is_taken_off() {
        let counters = |pairs: &[(&str, f64)]| -> NamedCounters {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let before = counters(&[("Questions", 5.0), ("Com_select", 1.0), ("Bytes_sent", 9.0)]);
        let after = counters(&[("Questions", 7.0), ("Com_select", 2.0), ("Bytes_sent", 29.0)]);
        let own = counters(&[("Questions", 1.0), ("Bytes_sent", 20.0)]);
        let expected = counters(&[("Questions", 1.0), ("Com_select", 1.0)]);
        assert_eq!(rise(&before, &after, &own), expected);
    }
}
