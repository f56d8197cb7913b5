//! Warming by reading: every index of the chosen tables by statements that read that index and nothing else, cut
//! into key ranges over several sessions.
//! Start reading at `run_scan`.

mod key;
mod limit;
mod monitor;
mod options;
mod split;
mod unit;
mod work_queue;
mod worker_pool;

use super::names::tables_option;
use super::pool_status::column_text;
use super::{
    PoolStatus, WarmContext, WarmEvent, WarmOutcome, WarmStrategy, catalog, read_pool_status,
    with_abandon_flag,
};
use crate::base::{Clock, Stop};
use crate::client::Session;
use crate::plan::{OptionKind, OptionSpec, Options};
pub(super) use key::{from_hex, to_hex};
pub(super) use monitor::{ScanEnd, ScanJob, ScanOutcome, run_job};
use options::ScanOptions;
pub(super) use options::{ReadLimits, limit_options};
use unit::{AccessCounts, ScanOrder, sort_units};
pub(super) use unit::{BlobPolicy, ScanUnit, table_units};
pub(super) use work_queue::{ReadTask, WorkQueue};

/// The strategy.
pub struct ScanStrategy;

impl WarmStrategy for ScanStrategy {
    fn name(&self) -> &'static str {
        "scan"
    }
    fn help_line(&self) -> &'static str {
        "Read all indexes of chosen tables, in several sessions"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let spec = OptionSpec::new;
        let mut specs = vec![
            tables_option(),
            spec(
                "order",
                OptionKind::one_of(&["use", "size", "name"]),
                "use",
                "Read first: most-used indexes, small ones, or by name",
            ),
            spec(
                "blobs",
                OptionKind::Switch,
                "off",
                "Also read long values (BLOB, TEXT) stored off-page",
            ),
        ];
        specs.extend(limit_options());
        specs
    }
    fn warm_with(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome> {
        let asked = ScanOptions::from_options(options)?;
        let (clock, stop) = (context.clock, context.stop.clone());
        with_abandon_flag(clock, &stop, |abandon| run_scan(&asked, context, on_event, abandon))
    }
}

fn run_scan(
    asked: &ScanOptions,
    context: &mut WarmContext<'_>,
    on_event: &mut dyn FnMut(&WarmEvent),
    abandon: &Stop,
) -> anyhow::Result<WarmOutcome> {
    let began = context.clock.now();
    let mut lead = super::open_session(context.target, abandon)?;
    let before = read_pool_status(&mut lead)?;
    let catalog = catalog::read_catalog(&mut lead, &asked.tables)?;
    let mut notes = catalog.notes;
    let mut all = Vec::new();
    for table in &catalog.tables {
        all.extend(table_units(table, asked.blobs, &mut notes));
    }
    let reads = if asked.order == ScanOrder::Use {
        read_access_counts(&mut lead)
    } else {
        AccessCounts::new()
    };
    sort_units(&mut all, asked.order, &reads);
    let rate = asked.limits.page_rate(&before);
    for unit in all.iter().filter(|u| u.first.is_none() && u.pages / 2 > rate.largest_piece()) {
        notes.push(format!(
            "{} can only be read in one piece, faster than --rate",
            unit.index_label()
        ));
    }
    let queue =
        WorkQueue::new(all, rate, context.clock.now(), asked.limits.fill.remaining_pages(&before));
    let job = ScanJob { queue, limits: &asked.limits, before, label: "scan", abandon };
    let outcome = run_job(job, &mut lead, context, on_event, &mut |_| Ok(()))?;
    let after = read_pool_status(&mut lead).unwrap_or(outcome.last);
    let seconds = context.clock.now().since(began).to_seconds();
    let mut warmed = WarmOutcome::from_counters(&before, &after, seconds);
    warmed.notes = notes;
    add_summary(&outcome, &asked.limits, &after, &mut warmed);
    Ok(warmed)
}

/// Reads by index, where the server counts them.
fn read_access_counts(session: &mut Session) -> AccessCounts {
    const SOURCES: &[&str] = &[
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_READ \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE INDEX_NAME IS NOT NULL AND COUNT_READ > 0",
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ \
         FROM information_schema.INDEX_STATISTICS",
    ];
    for sql in SOURCES {
        let Ok(rows) = session.query_rows(sql) else { continue };
        let reads: AccessCounts = rows
            .rows
            .iter()
            .filter_map(|row| {
                let count = column_text(row, 3)?.parse().ok()?;
                Some(((column_text(row, 0)?, column_text(row, 1)?, column_text(row, 2)?), count))
            })
            .collect();
        if !reads.is_empty() {
            return reads;
        }
    }
    AccessCounts::new()
}

/// Names in a note before it says "and so many more".
const NAMED: usize = 12;

/// Adds to the notes how it ended; `after` is a look at the pool since.
pub(in crate::warm) fn add_summary(
    outcome: &ScanOutcome,
    limits: &ReadLimits,
    after: &PoolStatus,
    warmed: &mut WarmOutcome,
) {
    let ScanOutcome { end, left_out: left, failures, .. } = outcome;
    let notes = &mut warmed.notes;
    if *end == ScanEnd::Full && !left.is_empty() {
        let full = limits.fill.full_reason(after);
        notes.push(format!("{full}: {}: {}", indexes_left_out(left.len()), join_names(left)));
        if warmed.pages_after < warmed.pages_before {
            notes.push(format!(
                "the pool holds {} fewer pages than before: the scan evicted more than it read",
                warmed.pages_before - warmed.pages_after
            ));
        }
    }
    if *end == ScanEnd::Stopped {
        notes.push(format!("stopped: {}: {}", indexes_left_out(left.len()), join_names(left)));
        warmed.cut = true;
    }
    warmed.failed = failures.len() as u64;
    notes.extend(failures.iter().take(NAMED).cloned());
    if failures.len() > NAMED {
        notes.push(format!("and {} more that could not be read", failures.len() - NAMED));
    }
}

fn indexes_left_out(count: usize) -> String {
    match count {
        1 => "1 index is left out".to_owned(),
        _ => format!("{count} indexes are left out"),
    }
}

fn join_names(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_ends_early_says_why_and_what_it_cost() {
        let mut given = Vec::new();
        let options = Options::from_given(&ScanStrategy.option_specs(), &[]).unwrap();
        let limits = ReadLimits::from_options(&options, &mut given).unwrap();
        let after = PoolStatus {
            pages_total: 4_057,
            pages_data: 2_566,
            pages_free: 1_491,
            page_bytes: 16_384,
            ..PoolStatus::default()
        };
        let left_out = vec!["sbtest.sbtest1.PRIMARY".to_owned()];
        let outcome =
            ScanOutcome { end: ScanEnd::Full, left_out, failures: Vec::new(), last: after };
        let mut warmed =
            WarmOutcome { pages_before: 2_944, pages_after: 2_566, ..WarmOutcome::default() };
        add_summary(&outcome, &limits, &after, &mut warmed);
        assert_eq!(
            warmed.notes,
            [
                "the pool takes no more: the server keeps 23.3 MiB of 63.4 MiB free and gives up \
                 pages for new ones (innodb_lru_scan_depth): 1 index is left out: \
                 sbtest.sbtest1.PRIMARY",
                "the pool holds 378 fewer pages than before: the scan evicted more than it read",
            ]
        );
    }

    #[test]
    fn long_lists_end_with_a_count() {
        let names: Vec<_> = (0..15).map(|i| format!("t{i}")).collect();
        assert!(join_names(&names).ends_with("t11 and 3 more"));
        assert_eq!(join_names(&names[..2]), "t0, t1");
    }
}
