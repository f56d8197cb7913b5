//! Brings a hot set to a server: by lists of pages where the numbers of pages are the same and we may have the server
//! load them, by ranges of keys otherwise, the hottest first.
//! Start reading at `restore_hot_set`.

mod index_locations;
mod page_lists;
mod plan;
mod resume;

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Context;

use super::{HotSet, read_hot_set};
use crate::base::{Clock, Stop};
use crate::client::Session;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options, RefusedError};
use crate::server::journal::{Consent, Journal};
use crate::warm::scan::{
    ReadLimits, ScanEnd, ScanJob, WorkQueue, add_summary, limit_options, run_job,
};
use crate::warm::{
    PoolStatus, WarmContext, WarmEvent, WarmOutcome, WarmStrategy, open_session, read_pool_status,
    with_abandon_flag,
};
pub(in crate::warm::hotset) use index_locations::{read_index_locations, read_tables};
use page_lists::DumpFile;
pub(in crate::warm::hotset) use page_lists::{PageId, read_resident_pages};
pub(in crate::warm::hotset) use plan::{IndexMatch, match_indexes, sample_statements};
use plan::{ReadScope, build_tasks, text_hash};
use resume::{ProgressFile, ServerStart};

/// The strategy.
pub struct HotSetStrategy;

impl WarmStrategy for HotSetStrategy {
    fn name(&self) -> &'static str {
        "hotset"
    }
    fn help_line(&self) -> &'static str {
        "Load a saved hot set from this or another server, hottest pages first"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let spec = OptionSpec::new;
        let mut specs = vec![
            spec("file", OptionKind::Text, "", "A file that `sweat warm hotset save` wrote"),
            spec(
                "by",
                OptionKind::one_of(&["auto", "pages", "keys"]),
                "auto",
                "How: the server loads pages, we read keys, or what fits",
            ),
            spec(
                "allow",
                OptionKind::one_of(&["load"]),
                "",
                "Allow page loads and a smaller old part of the LRU list",
            ),
            spec("resume", OptionKind::Switch, "off", "Continue an interrupted load"),
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
        let asked = RestoreOptions::from_options(options)?;
        let hot = read_hot_set(&asked.file)?;
        let (clock, stop) = (context.clock, context.stop.clone());
        with_abandon_flag(clock, &stop, |abandon| {
            restore_hot_set(&asked, &hot, context, on_event, abandon)
        })
    }
}

/// What was asked, understood.
struct RestoreOptions {
    file: PathBuf,
    by: RestoreMethod,
    allowed: bool,
    resume: bool,
    limits: ReadLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestoreMethod {
    Auto,
    Pages,
    Keys,
}

impl RestoreOptions {
    fn from_options(options: &Options) -> Result<RestoreOptions, Mistakes> {
        let mut mistakes = Vec::new();
        let file = options.text("file").filter(|f| !f.is_empty()).map(PathBuf::from);
        if file.is_none() {
            mistakes.push(
                Mistake::new("--file", "no hot set was named")
                    .hint("write one with `sweat warm hotset save FILE`"),
            );
        }
        let limits = ReadLimits::from_options(options, &mut mistakes);
        let by = match options.text("by") {
            Some("pages") => RestoreMethod::Pages,
            Some("keys") => RestoreMethod::Keys,
            _ => RestoreMethod::Auto,
        };
        let allowed = options.text("allow") == Some("load");
        let resume = options.switch("resume");
        match (file, limits) {
            (Some(file), Some(limits)) => Ok(RestoreOptions { file, by, allowed, resume, limits }),
            _ => Err(Mistakes(mistakes)),
        }
    }
}

/// What a load works with.
struct RestoreContext<'a> {
    asked: &'a RestoreOptions,
    lead: Session,
    before: PoolStatus,
    record: ProgressFile,
    notes: Vec<String>,
    abandon: &'a Stop,
}

fn restore_hot_set(
    asked: &RestoreOptions,
    hot: &HotSet,
    context: &mut WarmContext<'_>,
    on_event: &mut dyn FnMut(&WarmEvent),
    abandon: &Stop,
) -> anyhow::Result<WarmOutcome> {
    let began = context.clock.now();
    let mut lead = open_session(context.target, abandon)?;
    let before = read_pool_status(&mut lead)?;
    let mut notes = Vec::new();
    // In this order: a server that has just started knows nothing of files of tables that nobody has opened.
    let catalog = read_tables(&mut lead, hot)?;
    let places = read_index_locations(&mut lead, hot, &mut notes)?;
    let mut found = match_indexes(hot, &catalog, &places, before.page_bytes, &mut notes);
    let start = read_server_start(&mut lead, context)?;
    let record = ProgressFile::open_or_create(&asked.file, &start, asked.resume, &mut notes);
    let mut ground = RestoreContext { asked, lead, before, record, notes, abandon };
    let mut journal = ground.open_journal(context)?;
    let result = ground.restore_indexes(&mut found, journal.as_mut(), context, on_event);
    // What was changed is put back before anything else is said.
    let undone = journal.take().map_or(Ok(Default::default()), Journal::undo);
    let mut warmed = result?;
    let after = read_pool_status(&mut ground.lead).unwrap_or(before);
    let counts =
        WarmOutcome::from_counters(&before, &after, context.clock.now().since(began).to_seconds());
    warmed = WarmOutcome { notes: warmed.notes, cut: warmed.cut, failed: warmed.failed, ..counts };
    warmed.notes.extend(undone?.left);
    if !warmed.cut && warmed.failed == 0 {
        ground.record.delete_file();
    }
    Ok(warmed)
}

/// Which start of which server this is.
fn read_server_start(lead: &mut Session, context: &WarmContext<'_>) -> anyhow::Result<ServerStart> {
    let server = lead
        .query_scalar("SELECT CONCAT_WS(' ', @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir)")
        .context("ask which server it is")?;
    let up = crate::warm::pool_status::read_status_text(lead, "Uptime")?;
    let now = context.clock.unix_ns(context.clock.now()) / 1_000_000_000;
    let unix_s = now.saturating_sub(up.parse().unwrap_or(0));
    Ok(ServerStart { server: server.unwrap_or_default(), unix_s })
}

/// The old part of the LRU list, in percent, and the least it can be: pages then stay in the order they came.
const OLD_PART: (&str, &str) = ("innodb_old_blocks_pct", "5");

impl RestoreContext<'_> {
    /// With consent: a journal, and the setting that keeps the order of heat. An account that may not set it reads keys.
    fn open_journal(&mut self, context: &WarmContext<'_>) -> anyhow::Result<Option<Journal>> {
        let consent = match context.control.as_deref() {
            Some(control) => Consent::from_control(control),
            None if self.asked.allowed => Consent::from_flag("--allow load"),
            None if self.asked.by == RestoreMethod::Pages => anyhow::bail!(RefusedError(
                "a load of pages changes what a server that sweat did not start is doing\nhint: \
                 add --allow load to allow it, or use --by keys"
                    .to_owned()
            )),
            None => return Ok(None),
        };
        let mut journal = Journal::open_standalone(context.target, &consent, self.abandon)?;
        match journal.set_variable(OLD_PART.0, OLD_PART.1) {
            Ok(_) => Ok(Some(journal)),
            Err(error) if self.asked.by != RestoreMethod::Pages => {
                self.notes.push(format!("the order of heat is not kept: {error:#}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn restore_indexes(
        &mut self,
        found: &mut [IndexMatch<'_>],
        journal: Option<&mut Journal>,
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome> {
        let mut served = HashSet::new();
        let mut warmed = WarmOutcome::default();
        if let (Some(journal), true) = (journal, self.asked.by != RestoreMethod::Keys) {
            if found.iter().any(|m| m.is_same) {
                match DumpFile::prepare_file(&mut self.lead, journal) {
                    Ok(dump_file) => {
                        warmed.cut =
                            self.restore_by_pages(found, &dump_file, context, &mut served)?
                    }
                    Err(error) if self.asked.by == RestoreMethod::Auto => {
                        self.notes.push(format!("pages are read by their keys: {error:#}"));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if !warmed.cut {
            let rest: Vec<&IndexMatch<'_>> =
                (0..found.len()).filter(|at| !served.contains(at)).map(|at| &found[at]).collect();
            self.restore_by_keys(&rest, context, on_event, &mut warmed)?;
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.append(&mut warmed.notes);
        warmed.notes = notes;
        Ok(warmed)
    }

    /// Has the server load the pages that are where they were; `served` gets the places of matches that need nothing
    /// more. Says whether it was stopped.
    fn restore_by_pages(
        &mut self,
        found: &mut [IndexMatch<'_>],
        dump_file: &DumpFile,
        context: &mut WarmContext<'_>,
        served: &mut HashSet<usize>,
    ) -> anyhow::Result<bool> {
        let (pages, all) = self.rank_pages(found);
        if pages.len() < all {
            let left = all - pages.len();
            self.notes.push(format!("the pool is full: the {left} coldest pages are left out"));
        }
        let rate = self.asked.limits.page_rate(&self.before);
        let size = page_lists::pages_per_list(pages.len(), rate.largest_piece());
        let before = read_pool_status(&mut self.lead)?;
        let mut lists =
            page_lists::split_into_lists(&pages, size, before.pages_data, before.page_bytes);
        lists.retain(|list| !self.record.is_done(list_mark(list)));
        let record = &mut self.record;
        let mut on_list = |list: &[PageId]| record.record_done(&[list_mark(list)]);
        let limits = &self.asked.limits;
        let done = page_lists::load_into_pool(
            &lists,
            dump_file,
            limits,
            &mut self.lead,
            context,
            &mut on_list,
        )?;
        let read = read_pool_status(&mut self.lead)?.pages_read.saturating_sub(before.pages_read);
        served.extend((0..found.len()).filter(|at| found[*at].is_same));
        if done.cut {
            self.notes.push(format!("stopped after {} of {all} pages", done.pages_listed));
            return Ok(true);
        }
        if done.pages_listed.saturating_sub(read) > done.pages_listed / 100 + 16 {
            self.remove_skipped(found, &pages, served)?;
        }
        if let Some(why) = self.find_moved_rows(found, served)? {
            self.notes.push(why);
            for at in served.drain() {
                found[at].is_same = false;
            }
        }
        Ok(false)
    }

    /// Pages of the matches that are where they were, the hottest first, as many as go into the pool; and how many
    /// there are in all.
    fn rank_pages(&self, found: &[IndexMatch<'_>]) -> (Vec<PageId>, usize) {
        let mut ranked: Vec<(u64, PageId)> = Vec::new();
        for one in found.iter().filter(|m| m.is_same) {
            let space = one.hot.space;
            ranked.extend(one.hot.pages.iter().map(|(page, rank)| (*rank, (space, *page))));
        }
        ranked.sort_unstable();
        let all = ranked.len();
        let room = self.asked.limits.fill.remaining_pages(&self.before);
        ranked.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        (ranked.into_iter().map(|(_, page)| page).collect(), all)
    }

    /// Fewer pages were read than listed: were they there before, or did the server leave them out in silence?
    fn remove_skipped(
        &mut self,
        found: &[IndexMatch<'_>],
        pages: &[PageId],
        served: &mut HashSet<usize>,
    ) -> anyhow::Result<()> {
        let spaces: HashSet<u32> = pages.iter().map(|(space, _)| *space).collect();
        let there = read_resident_pages(&mut self.lead, &spaces)?;
        let asked: HashSet<PageId> = pages.iter().copied().collect();
        for (at, one) in found.iter().enumerate().filter(|(_, m)| m.is_same) {
            let own = one.hot.pages.iter().map(|(page, _)| (one.hot.space, *page));
            let own: Vec<PageId> = own.filter(|page| asked.contains(page)).collect();
            let missing = own.iter().filter(|page| !there.contains(page)).count();
            if missing > own.len() / 50 {
                served.remove(&at);
                self.notes.push(format!(
                    "of {} pages of {} the server silently skipped {missing}; sweat reads it by \
                     its keys instead",
                    own.len(),
                    plan::index_label(one.hot)
                ));
            }
        }
        Ok(())
    }

    /// Whether rows lie elsewhere although the numbers are the same, as in a server that was filled by a dump: then
    /// rows of the hot set are not in the pool now.
    fn find_moved_rows(
        &mut self,
        found: &[IndexMatch<'_>],
        served: &HashSet<usize>,
    ) -> anyhow::Result<Option<String>> {
        let known = |at: &usize| {
            let one = &found[*at];
            one.way == ReadScope::Keys && one.hot.ranges.iter().any(|r| !r.last.is_empty())
        };
        let mut places: Vec<usize> = served.iter().copied().filter(known).collect();
        places.sort_unstable();
        let statements = sample_statements(places.iter().map(|at| &found[*at]));
        let sampled = statements.len();
        let warm = count_warm_reads(&mut self.lead, &statements)?;
        // A few may have gone again from a pool that is nearly full.
        Ok((sampled > 0 && warm * 4 < sampled * 3).then(|| {
            format!(
                "the server's numbers are those of the hot set, but of {sampled} of its rows only \
                 {warm} were among the pages: everything is read by its keys"
            )
        }))
    }

    /// Reads ranges of keys, and whole indexes where there are none.
    fn restore_by_keys(
        &mut self,
        found: &[&IndexMatch<'_>],
        context: &mut WarmContext<'_>,
        on_event: &mut dyn FnMut(&WarmEvent),
        warmed: &mut WarmOutcome,
    ) -> anyhow::Result<()> {
        let limits = &self.asked.limits;
        let rate = limits.page_rate(&self.before);
        let ranged = |m: &&IndexMatch<'_>| m.way == ReadScope::Keys && !m.hot.ranges.is_empty();
        let ranges: Vec<&IndexMatch<'_>> = found.iter().copied().filter(ranged).collect();
        let mut tasks = build_tasks(&ranges, rate.largest_piece());
        let mut all: Vec<_> = ranges.iter().map(|m| m.unit.clone()).collect();
        for (at, unit) in all.iter_mut().enumerate() {
            unit.pages = tasks.iter().filter(|t| t.unit == at).map(|t| t.pages).sum();
        }
        tasks.retain(|task| !task.mark.is_some_and(|mark| self.record.is_done(mark)));
        for one in found {
            if let ReadScope::Whole(why) = &one.way {
                self.notes.push(format!("{} is scanned whole: {why}", plan::index_label(one.hot)));
                all.push(one.unit.clone());
            }
        }
        if all.is_empty() {
            return Ok(());
        }
        let queue = WorkQueue::from_plan(all, ranges.len(), tasks, rate, context.clock.now());
        let before = read_pool_status(&mut self.lead)?;
        let job = ScanJob { queue, limits, before, label: "hotset", abandon: self.abandon };
        let record = &mut self.record;
        let mut on_done = |marks: &[u64]| record.record_done(marks);
        let outcome = run_job(job, &mut self.lead, context, on_event, &mut on_done)?;
        add_summary(
            &outcome,
            limits,
            &read_pool_status(&mut self.lead).unwrap_or(outcome.last),
            warmed,
        );
        if outcome.end == ScanEnd::Through {
            let statements = sample_statements(ranges.iter().copied());
            let warm = count_warm_reads(&mut self.lead, &statements)?;
            if warm * 4 < statements.len() * 3 {
                warmed.notes.push(format!(
                    "of {} places of the hot set checked again only {warm} are in the pool: it is \
                     too small, or other work evicts pages",
                    statements.len()
                ));
            }
        }
        Ok(())
    }
}

fn list_mark(list: &[PageId]) -> u64 {
    text_hash(&list.iter().map(|(space, page)| format!("{space},{page};")).collect::<String>())
}

/// Runs statements one by one; says how many of them had the server read nothing from disk.
pub(in crate::warm::hotset) fn count_warm_reads(
    session: &mut Session,
    statements: &[String],
) -> anyhow::Result<usize> {
    let mut warm = 0;
    for sql in statements {
        let before = read_pool_status(session)?.pages_read;
        session
            .query_rows(sql)
            .with_context(|| format!("check whether a row is in the pool: {sql}"))?;
        warm += usize::from(read_pool_status(session)?.pages_read == before);
    }
    Ok(warm)
}
