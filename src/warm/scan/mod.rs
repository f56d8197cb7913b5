//! Warming by reading: every index of the chosen tables by statements that read that index and nothing else, cut
//! into key ranges over several sessions.
//! Start reading at `run`.

mod asked;
mod board;
mod crew;
mod key;
mod limit;
mod split;
mod unit;
mod watch;

use super::gauge::text;
use super::names::tables_option;
use super::{Event, Scene, Strategy, Warmed, Warmth, catalog, gauge, guarded};
use crate::base::{Clock, Stop};
use crate::plan::{OptionKind, OptionSpec, Options};
use crate::target::Session;
use asked::Asked;
pub(super) use asked::{Limits, limit_options};
pub(super) use board::{Board, Task};
pub(super) use key::{civil_from_days, hex, unhex};
pub(super) use unit::{Blobs, Unit, units};
use unit::{Order, Reads, arrange};
pub(super) use watch::{End, Job, Outcome, work_off};

/// The strategy.
pub struct Scan;

impl Strategy for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }
    fn about(&self) -> &'static str {
        "Read all indexes of chosen tables, in key ranges over several sessions"
    }
    fn options(&self) -> Vec<OptionSpec> {
        let spec = |name, kind, default, help| OptionSpec { name, kind, default, help };
        let mut specs = vec![
            tables_option(),
            spec(
                "order",
                OptionKind::Choice(&["use", "size", "name"]),
                "use",
                "What comes first: indexes most read per page, small indexes, or by name",
            ),
            spec(
                "blobs",
                OptionKind::Switch,
                "off",
                "Also read the pages of long values outside the rows",
            ),
        ];
        specs.extend(limit_options());
        specs
    }
    fn warm_with(
        &self,
        options: &Options,
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
    ) -> anyhow::Result<Warmed> {
        let asked = Asked::read(options)?;
        let (clock, stop) = (scene.clock, scene.stop.clone());
        guarded(clock, &stop, |abandon| run(&asked, scene, on_event, abandon))
    }
}

fn run(
    asked: &Asked,
    scene: &mut Scene<'_>,
    on_event: &mut dyn FnMut(&Event),
    abandon: &Stop,
) -> anyhow::Result<Warmed> {
    let began = scene.clock.now();
    let mut lead = super::open(scene.target, abandon)?;
    let before = gauge(&mut lead)?;
    let catalog = catalog::read(&mut lead, &asked.tables)?;
    let mut notes = catalog.notes;
    let mut all = Vec::new();
    for table in &catalog.tables {
        all.extend(units(table, asked.blobs, &mut notes));
    }
    let reads = if asked.order == Order::Use { reads(&mut lead) } else { Reads::new() };
    arrange(&mut all, asked.order, &reads);
    let rate = asked.limits.rate(&before);
    for unit in all.iter().filter(|u| u.first.is_none() && u.pages / 2 > rate.largest_piece()) {
        notes.push(format!("{} is read in one piece, faster than --rate", unit.label()));
    }
    let board = Board::new(all, rate, scene.clock.now(), asked.limits.fill.room(&before));
    let job = Job { board, limits: &asked.limits, before, label: "scan", abandon };
    let outcome = work_off(job, &mut lead, scene, on_event, &mut |_| Ok(()))?;
    let after = gauge(&mut lead).unwrap_or(outcome.last);
    let seconds = scene.clock.now().since(began).seconds();
    let mut warmed = Warmed::between(&before, &after, seconds);
    warmed.notes = notes;
    summary(&outcome, &asked.limits, &after, &mut warmed);
    Ok(warmed)
}

/// Reads by index, where the server counts them.
fn reads(session: &mut Session) -> Reads {
    const SOURCES: &[&str] = &[
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_READ \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE INDEX_NAME IS NOT NULL AND COUNT_READ > 0",
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ \
         FROM information_schema.INDEX_STATISTICS",
    ];
    for sql in SOURCES {
        let Ok(rows) = session.rows(sql) else { continue };
        let reads: Reads = rows
            .rows
            .iter()
            .filter_map(|row| {
                let count = text(row, 3)?.parse().ok()?;
                Some(((text(row, 0)?, text(row, 1)?, text(row, 2)?), count))
            })
            .collect();
        if !reads.is_empty() {
            return reads;
        }
    }
    Reads::new()
}

/// Names in a note before it says "and so many more".
const NAMED: usize = 12;

/// Adds to the notes how it ended; `after` is a look at the pool since.
pub(in crate::warm) fn summary(
    outcome: &Outcome,
    limits: &Limits,
    after: &Warmth,
    warmed: &mut Warmed,
) {
    let Outcome { end, left_out: left, failures, .. } = outcome;
    let notes = &mut warmed.notes;
    if *end == End::Full && !left.is_empty() {
        let full = limits.fill.full_in_words(after);
        notes.push(format!("{full}: {}: {}", indexes_left_out(left.len()), listed(left)));
        if warmed.pages_after < warmed.pages_before {
            notes.push(format!(
                "the pool holds {} pages less than before: what was read pushed out more than it \
                 brought",
                warmed.pages_before - warmed.pages_after
            ));
        }
    }
    if *end == End::Stopped {
        notes.push(format!("stopped: {}: {}", indexes_left_out(left.len()), listed(left)));
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

fn listed(names: &[String]) -> String {
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
        let options = Options::check(&Scan.options(), &[]).unwrap();
        let limits = Limits::read(&options, &mut given).unwrap();
        let after = Warmth {
            pages_total: 4_057,
            pages_data: 2_566,
            pages_free: 1_491,
            page_bytes: 16_384,
            ..Warmth::default()
        };
        let left_out = vec!["sbtest.sbtest1.PRIMARY".to_owned()];
        let outcome = Outcome { end: End::Full, left_out, failures: Vec::new(), last: after };
        let mut warmed = Warmed { pages_before: 2_944, pages_after: 2_566, ..Warmed::default() };
        summary(&outcome, &limits, &after, &mut warmed);
        assert_eq!(
            warmed.notes,
            [
                "the pool takes no more: the server keeps 23.3 MiB of 63.4 MiB free and gives up \
                 pages for new ones (innodb_lru_scan_depth): 1 index is left out: \
                 sbtest.sbtest1.PRIMARY",
                "the pool holds 378 pages less than before: what was read pushed out more than it \
                 brought",
            ]
        );
    }

    #[test]
    fn long_lists_end_with_a_count() {
        let names: Vec<_> = (0..15).map(|i| format!("t{i}")).collect();
        assert!(listed(&names).ends_with("t11 and 3 more"));
        assert_eq!(listed(&names[..2]), "t0, t1");
    }
}
