//! Lists of pages for the server's own load: short ones, the hottest pages first, read one after the other.
//!
//! A server sorts what it loads by place, so one long list loses the order of heat. And what it loads goes to the head of
//! the old part of its LRU list: with the smallest old part it takes (5 %) pages stay in the order in which the
//! lists came.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::base::{Clock, Nanos};
use crate::client::{ServerProduct, Session};
use crate::server::journal::{HOT_SET_FILE_NAME, Journal};
use crate::warm::load::DumpLoadState;
use crate::warm::pool_status::{column_text, read_status_text};
use crate::warm::scan::ReadLimits;
use crate::warm::{PoolStatus, WarmContext, find_server_file, read_pool_status};
use crate::workload::JobProgress;

/// A page: tablespace, number.
pub(in crate::warm::hotset) type PageId = (u32, u32);

/// Where the server looks for a list that we write.
pub(super) struct DumpFile {
    path: PathBuf,
}

const FILENAME: &str = "innodb_buffer_pool_filename";
const STATUS: &str = "Innodb_buffer_pool_load_status";

impl DumpFile {
    /// Gets a place for lists ready; all of it is put back with the journal.
    pub(super) fn prepare_file(
        session: &mut Session,
        journal: &mut Journal,
    ) -> anyhow::Result<DumpFile> {
        let target = session.target().clone();
        let own = find_server_file(session, &target)?;
        anyhow::ensure!(
            own.bytes.is_some() || own.is_missing,
            "the server's data folder is not on this machine, or can't be read"
        );
        if session.identity().product == ServerProduct::MariaDb {
            journal.replace_file(&own.path)?;
            return Ok(DumpFile { path: own.path });
        }
        let path = own.path.with_file_name(HOT_SET_FILE_NAME);
        journal.replace_file(&path)?;
        journal.set_variable(FILENAME, HOT_SET_FILE_NAME)?;
        Ok(DumpFile { path })
    }
}

/// What a load by lists did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageLoadOutcome {
    /// Pages in the lists that the server was given.
    pub pages_listed: u64,
    /// Whether it was stopped.
    pub cut: bool,
}

/// Pages of a list: about this many lists in all, so that order is kept.
const LISTS: usize = 12;
const LEAST: usize = 128;
const MOST: usize = 8_192;

/// Pages of each list.
pub(super) fn pages_per_list(all: usize, largest: u64) -> usize {
    let most = usize::try_from(largest).unwrap_or(usize::MAX).clamp(1, MOST);
    all.div_ceil(LISTS).max(LEAST).min(most)
}

/// Bytes of pages up to which an LRU list has no old part yet, so that each page goes before those that came earlier.
const WITHOUT_OLD_PART_BYTES: u64 = 8 << 20;

/// Pages in the order of heat, cut into lists in the order in which they leave the LRU list in that order. `held` are
/// the pages that the pool holds.
pub(super) fn split_into_lists(
    pages: &[PageId],
    size: usize,
    held: u64,
    page_bytes: u64,
) -> Vec<&[PageId]> {
    let before_old_part = (WITHOUT_OLD_PART_BYTES / page_bytes.max(1)).saturating_sub(held);
    let at = pages.len().min(usize::try_from(before_old_part).unwrap_or(usize::MAX));
    let (first, rest) = pages.split_at(at);
    let first = first.chunks(size.min(LEAST));
    first.rev().chain(rest.chunks(size)).collect()
}

/// Has the server load lists, in this order, and tells `on_list` after each.
///
/// # Errors
/// When the server refuses, or the list can't be written.
pub(super) fn load_into_pool(
    lists: &[&[PageId]],
    dump_file: &DumpFile,
    limits: &ReadLimits,
    session: &mut Session,
    context: &mut WarmContext<'_>,
    on_list: &mut dyn FnMut(&[PageId]) -> anyhow::Result<()>,
) -> anyhow::Result<PageLoadOutcome> {
    let clock = context.clock;
    let mut done = PageLoadOutcome::default();
    let total = lists.iter().map(|list| list.len() as u64).sum();
    let mut now = read_pool_status(session)?;
    let rate = limits.page_rate(&now);
    let began = clock.now();
    for list in lists {
        while !context.stop.is_set() {
            let calm = limits.max_running == 0 || now.threads_running <= limits.max_running + 1;
            if calm && rate.due_time(began, done.pages_listed) <= clock.now() {
                break;
            }
            clock.sleep_until(clock.now() + Nanos(5_000_000));
            now = read_pool_status(session)?;
        }
        if context.stop.is_set() {
            done.cut = true;
            return Ok(done);
        }
        write_list(dump_file, list)?;
        now = load_list(session, context, list.len() as u64, now.pages_read)?;
        if context.stop.is_set() {
            done.cut = true;
            return Ok(done);
        }
        done.pages_listed += list.len() as u64;
        on_list(list)?;
        let label = "hotset".to_owned();
        (context.progress)(JobProgress { label, done: done.pages_listed, total, unit: "pages" });
    }
    Ok(done)
}

fn write_list(dump_file: &DumpFile, list: &[PageId]) -> anyhow::Result<()> {
    let mut lines = String::with_capacity(list.len() * 12);
    for (space, page) in list {
        let _ = writeln!(lines, "{space},{page}");
    }
    // In place: the file must stay the one that the journal knows.
    std::fs::write(&dump_file.path, lines)
        .with_context(|| format!("write the list {}", dump_file.path.display()))
}

/// How long to wait for a list of which nothing seems to come.
const QUIET: Nanos = Nanos(40_000_000);
const LOOK: Nanos = Nanos(2_000_000);

/// One list. The server's words tell seconds only, so a load that follows another within one shows by the pages read;
/// one that reads none (all there, or none to be found) is taken for done after a quiet while.
fn load_list(
    session: &mut Session,
    context: &WarmContext<'_>,
    listed: u64,
    read_before: u64,
) -> anyhow::Result<PoolStatus> {
    let clock = context.clock;
    let was = read_status_text(session, STATUS)?;
    session
        .run_command("SET GLOBAL innodb_buffer_pool_load_now = ON")
        .context("have the server load a list")?;
    let (mut last, mut moved, mut seen) = (read_before, clock.now(), false);
    loop {
        let words = read_status_text(session, STATUS)?;
        let now = read_pool_status(session)?;
        if now.pages_read != last {
            (last, moved) = (now.pages_read, clock.now());
        }
        let state = DumpLoadState::from_status(&words);
        seen |= words != was;
        if let (DumpLoadState::Failed(why), true) = (&state, seen) {
            bail!("the server could not load our list: {why}");
        }
        let all = now.pages_read.saturating_sub(read_before) >= listed;
        if state.has_ended() && (seen || all || clock.now().since(moved) > QUIET) {
            return Ok(now);
        }
        if context.stop.is_set() {
            session
                .run_command("SET GLOBAL innodb_buffer_pool_load_abort = ON")
                .context("stop the load of a list")?;
            return Ok(now);
        }
        clock.sleep_until(clock.now() + LOOK);
    }
}

/// Which of these tablespaces' pages are in the pool. The server looks at all of its pool.
pub(in crate::warm::hotset) fn read_resident_pages(
    session: &mut Session,
    spaces: &HashSet<u32>,
) -> anyhow::Result<HashSet<PageId>> {
    let mut list: Vec<String> = spaces.iter().map(u32::to_string).collect();
    list.sort();
    if list.is_empty() {
        return Ok(HashSet::new());
    }
    let sql = format!(
        "SELECT SPACE, PAGE_NUMBER FROM information_schema.INNODB_BUFFER_PAGE \
         WHERE SPACE IN ({}) AND PAGE_STATE IN ('FILE_PAGE', 'NOT_USED_FILE')",
        list.join(",")
    );
    let rows = session.query_rows(&sql).context("look at the pages of the pool")?;
    let number = |row: &[_], at| column_text(row, at).and_then(|v: String| v.parse().ok());
    Ok(rows.rows.iter().filter_map(|row| Some((number(row, 0)?, number(row, 1)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lists_of_a_cold_pool_come_in_reverse() {
        let pages: Vec<PageId> = (0..1_000).map(|page| (7, page)).collect();
        let firsts = |held| -> Vec<u32> {
            split_into_lists(&pages, 200, held, 16_384).iter().map(|list| list[0].1).collect()
        };
        assert_eq!(firsts(256), [128, 0, 256, 456, 656, 856]);
        assert_eq!(firsts(600), [0, 200, 400, 600, 800]);
        let all: usize =
            split_into_lists(&pages, 200, 300, 16_384).iter().map(|list| list.len()).sum();
        assert_eq!(all, 1_000);
    }

    #[test]
    fn lists_are_short_enough_for_order_and_long_enough_to_be_worth_it() {
        assert_eq!(pages_per_list(240, u64::MAX), 128);
        assert_eq!(pages_per_list(30_000, u64::MAX), 2_500);
        assert_eq!(pages_per_list(10_000_000, u64::MAX), 8_192);
        assert_eq!(pages_per_list(30_000, 50), 50, "a slow rate");
    }
}
