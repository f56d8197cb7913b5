//! Brings a hot set to a server: by lists of pages where the numbers of pages are the same and we may have the server
//! load them, by ranges of keys otherwise, the hottest first.
//! Start reading at `run`.

mod native;
mod place;
mod plan;
mod resume;

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Context;

use super::{HotSet, read};
use crate::base::{Clock, Stop};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options, Refused};
use crate::server::journal::{Consent, Journal};
use crate::target::Session;
use crate::warm::scan::{Board, End, Job, Limits, limit_options, summary, work_off};
use crate::warm::{Event, Scene, Strategy, Warmed, Warmth, gauge, guarded, open};
use native::Shelf;
pub(in crate::warm::hotset) use native::{Page, resident};
pub(in crate::warm::hotset) use place::{layout, tables};
pub(in crate::warm::hotset) use plan::{Match, matches, samples};
use plan::{Way, mark, tasks};
use resume::{Record, Start};

/// The strategy.
pub struct Load;

impl Strategy for Load {
    fn name(&self) -> &'static str {
        "hotset"
    }
    fn about(&self) -> &'static str {
        "Bring the hot set that was saved from this server or another, the hottest first"
    }
    fn options(&self) -> Vec<OptionSpec> {
        let spec = |name, kind, default, help| OptionSpec { name, kind, default, help };
        let mut specs = vec![
            spec("file", OptionKind::Text, "", "The hot set, as `sweat warm hotset save` wrote it"),
            spec(
                "by",
                OptionKind::Choice(&["auto", "pages", "keys"]),
                "auto",
                "By the server's own load of page lists, by ranges of keys, or what fits",
            ),
            spec(
                "allow",
                OptionKind::Choice(&["load"]),
                "",
                "Consent to loads, and to a smaller old part of the LRU list meanwhile: load",
            ),
            spec("resume", OptionKind::Switch, "off", "Go on where a load that was cut has ended"),
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
        let hot = read(&asked.file)?;
        let (clock, stop) = (scene.clock, scene.stop.clone());
        guarded(clock, &stop, |abandon| run(&asked, &hot, scene, on_event, abandon))
    }
}

/// What was asked, understood.
struct Asked {
    file: PathBuf,
    by: By,
    allowed: bool,
    resume: bool,
    limits: Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Auto,
    Pages,
    Keys,
}

impl Asked {
    fn read(options: &Options) -> Result<Asked, Mistakes> {
        let mut mistakes = Vec::new();
        let file = options.text("file").filter(|f| !f.is_empty()).map(PathBuf::from);
        if file.is_none() {
            mistakes.push(Mistake {
                place: "--file".to_owned(),
                why: "no hot set was named".to_owned(),
                hint: Some("write one with `sweat warm hotset save FILE`".to_owned()),
            });
        }
        let limits = Limits::read(options, &mut mistakes);
        let by = match options.text("by") {
            Some("pages") => By::Pages,
            Some("keys") => By::Keys,
            _ => By::Auto,
        };
        let allowed = options.text("allow") == Some("load");
        let resume = options.switch("resume");
        match (file, limits) {
            (Some(file), Some(limits)) => Ok(Asked { file, by, allowed, resume, limits }),
            _ => Err(Mistakes(mistakes)),
        }
    }
}

/// What a load works with.
struct Ground<'a> {
    asked: &'a Asked,
    lead: Session,
    before: Warmth,
    record: Record,
    notes: Vec<String>,
    abandon: &'a Stop,
}

fn run(
    asked: &Asked,
    hot: &HotSet,
    scene: &mut Scene<'_>,
    on_event: &mut dyn FnMut(&Event),
    abandon: &Stop,
) -> anyhow::Result<Warmed> {
    let began = scene.clock.now();
    let mut lead = open(scene.target, abandon)?;
    let before = gauge(&mut lead)?;
    let mut notes = Vec::new();
    // In this order: a server that has just started knows nothing of files of tables that nobody has opened.
    let catalog = tables(&mut lead, hot)?;
    let places = layout(&mut lead, hot, &mut notes)?;
    let mut found = matches(hot, &catalog, &places, before.page_bytes, &mut notes);
    let start = start(&mut lead, scene)?;
    let record = Record::open(&asked.file, &start, asked.resume, &mut notes);
    let mut ground = Ground { asked, lead, before, record, notes, abandon };
    let mut journal = ground.journal(scene)?;
    let result = ground.bring(&mut found, journal.as_mut(), scene, on_event);
    // What was changed is put back before anything else is said.
    let undone = journal.take().map_or(Ok(Default::default()), Journal::undo);
    let mut warmed = result?;
    let after = gauge(&mut ground.lead).unwrap_or(before);
    let counts = Warmed::between(&before, &after, scene.clock.now().since(began).seconds());
    warmed = Warmed { notes: warmed.notes, cut: warmed.cut, failed: warmed.failed, ..counts };
    warmed.notes.extend(undone?.left);
    if !warmed.cut && warmed.failed == 0 {
        ground.record.finish();
    }
    Ok(warmed)
}

/// Which start of which server this is.
fn start(lead: &mut Session, scene: &Scene<'_>) -> anyhow::Result<Start> {
    let server = lead
        .scalar("SELECT CONCAT_WS(' ', @@GLOBAL.hostname, @@GLOBAL.port, @@GLOBAL.datadir)")
        .context("ask which server it is")?;
    let up = crate::warm::gauge::status_text(lead, "Uptime")?;
    let now = scene.clock.unix_ns(scene.clock.now()) / 1_000_000_000;
    let unix_s = now.saturating_sub(up.parse().unwrap_or(0));
    Ok(Start { server: server.unwrap_or_default(), unix_s })
}

/// The old part of the LRU list, in percent, and the least it can be: pages then stay in the order they came.
const OLD_PART: (&str, &str) = ("innodb_old_blocks_pct", "5");

impl Ground<'_> {
    /// With consent: a journal, and the setting that keeps the order of heat. An account that may not set it reads keys.
    fn journal(&mut self, scene: &Scene<'_>) -> anyhow::Result<Option<Journal>> {
        let consent = match scene.control.as_deref() {
            Some(control) => Consent::of(control),
            None if self.asked.allowed => Consent::given("--allow load"),
            None if self.asked.by == By::Pages => anyhow::bail!(Refused(
                "a load of pages changes what a server that sweat did not start is doing\n\
                 hint: say --allow load if that is meant, or --by keys"
                    .to_owned()
            )),
            None => return Ok(None),
        };
        let mut journal = Journal::apart(scene.target, &consent, self.abandon)?;
        match journal.set(OLD_PART.0, OLD_PART.1) {
            Ok(_) => Ok(Some(journal)),
            Err(error) if self.asked.by != By::Pages => {
                self.notes.push(format!("the order of heat is not kept: {error:#}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn bring(
        &mut self,
        found: &mut [Match<'_>],
        journal: Option<&mut Journal>,
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
    ) -> anyhow::Result<Warmed> {
        let mut served = HashSet::new();
        let mut warmed = Warmed::default();
        if let (Some(journal), true) = (journal, self.asked.by != By::Keys) {
            if found.iter().any(|m| m.is_same) {
                match Shelf::open(&mut self.lead, journal) {
                    Ok(shelf) => warmed.cut = self.by_pages(found, &shelf, scene, &mut served)?,
                    Err(error) if self.asked.by == By::Auto => {
                        self.notes.push(format!("pages are read by their keys: {error:#}"));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if !warmed.cut {
            let rest: Vec<&Match<'_>> =
                (0..found.len()).filter(|at| !served.contains(at)).map(|at| &found[at]).collect();
            self.by_keys(&rest, scene, on_event, &mut warmed)?;
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.append(&mut warmed.notes);
        warmed.notes = notes;
        Ok(warmed)
    }

    /// Has the server load the pages that are where they were; `served` gets the places of matches that need nothing
    /// more. Says whether it was stopped.
    fn by_pages(
        &mut self,
        found: &mut [Match<'_>],
        shelf: &Shelf,
        scene: &mut Scene<'_>,
        served: &mut HashSet<usize>,
    ) -> anyhow::Result<bool> {
        let (pages, all) = self.listed(found);
        if pages.len() < all {
            let left = all - pages.len();
            self.notes.push(format!("the pool is full: the {left} coldest pages are left out"));
        }
        let rate = self.asked.limits.rate(&self.before);
        let size = native::list_pages(pages.len(), rate.largest_piece());
        let before = gauge(&mut self.lead)?;
        let mut lists = native::lists(&pages, size, before.pages_data, before.page_bytes);
        lists.retain(|list| !self.record.has(list_mark(list)));
        let record = &mut self.record;
        let mut on_list = |list: &[Page]| record.add(&[list_mark(list)]);
        let limits = &self.asked.limits;
        let done = native::load(&lists, shelf, limits, &mut self.lead, scene, &mut on_list)?;
        let read = gauge(&mut self.lead)?.pages_read.saturating_sub(before.pages_read);
        served.extend((0..found.len()).filter(|at| found[*at].is_same));
        if done.cut {
            self.notes.push(format!("stopped after {} of {all} pages", done.pages_listed));
            return Ok(true);
        }
        if done.pages_listed.saturating_sub(read) > done.pages_listed / 100 + 16 {
            self.unserve(found, &pages, served)?;
        }
        if let Some(why) = self.elsewhere(found, served)? {
            self.notes.push(why);
            for at in served.drain() {
                found[at].is_same = false;
            }
        }
        Ok(false)
    }

    /// Pages of the matches that are where they were, the hottest first, as many as go into the pool; and how many
    /// there are in all.
    fn listed(&self, found: &[Match<'_>]) -> (Vec<Page>, usize) {
        let mut ranked: Vec<(u64, Page)> = Vec::new();
        for one in found.iter().filter(|m| m.is_same) {
            let space = one.hot.space;
            ranked.extend(one.hot.pages.iter().map(|(page, rank)| (*rank, (space, *page))));
        }
        ranked.sort_unstable();
        let all = ranked.len();
        let room = self.asked.limits.fill.room(&self.before);
        ranked.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        (ranked.into_iter().map(|(_, page)| page).collect(), all)
    }

    /// Fewer pages were read than listed: were they there before, or did the server leave them out in silence?
    fn unserve(
        &mut self,
        found: &[Match<'_>],
        pages: &[Page],
        served: &mut HashSet<usize>,
    ) -> anyhow::Result<()> {
        let spaces: HashSet<u32> = pages.iter().map(|(space, _)| *space).collect();
        let there = resident(&mut self.lead, &spaces)?;
        let asked: HashSet<Page> = pages.iter().copied().collect();
        for (at, one) in found.iter().enumerate().filter(|(_, m)| m.is_same) {
            let own = one.hot.pages.iter().map(|(page, _)| (one.hot.space, *page));
            let own: Vec<Page> = own.filter(|page| asked.contains(page)).collect();
            let missing = own.iter().filter(|page| !there.contains(page)).count();
            if missing > own.len() / 50 {
                served.remove(&at);
                self.notes.push(format!(
                    "of {} pages of {} the server left out {missing} without a word: it is read by \
                     its keys",
                    own.len(),
                    plan::name(one.hot)
                ));
            }
        }
        Ok(())
    }

    /// Whether rows lie elsewhere although the numbers are the same, as in a server that was filled by a dump: then
    /// rows of the hot set are not in the pool now.
    fn elsewhere(
        &mut self,
        found: &[Match<'_>],
        served: &HashSet<usize>,
    ) -> anyhow::Result<Option<String>> {
        let known = |at: &usize| {
            let one = &found[*at];
            one.way == Way::Keys && one.hot.ranges.iter().any(|r| !r.last.is_empty())
        };
        let mut places: Vec<usize> = served.iter().copied().filter(known).collect();
        places.sort_unstable();
        let statements = samples(places.iter().map(|at| &found[*at]));
        let sampled = statements.len();
        let warm = probe(&mut self.lead, &statements)?;
        // A few may have gone again from a pool that is nearly full.
        Ok((sampled > 0 && warm * 4 < sampled * 3).then(|| {
            format!(
                "the server's numbers are those of the hot set, but of {sampled} of its rows only \
                 {warm} were among the pages: everything is read by its keys"
            )
        }))
    }

    /// Reads ranges of keys, and whole indexes where there are none.
    fn by_keys(
        &mut self,
        found: &[&Match<'_>],
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
        warmed: &mut Warmed,
    ) -> anyhow::Result<()> {
        let limits = &self.asked.limits;
        let rate = limits.rate(&self.before);
        let ranged = |m: &&Match<'_>| m.way == Way::Keys && !m.hot.ranges.is_empty();
        let ranges: Vec<&Match<'_>> = found.iter().copied().filter(ranged).collect();
        let mut tasks = tasks(&ranges, rate.largest_piece());
        let mut all: Vec<_> = ranges.iter().map(|m| m.unit.clone()).collect();
        for (at, unit) in all.iter_mut().enumerate() {
            unit.pages = tasks.iter().filter(|t| t.unit == at).map(|t| t.pages).sum();
        }
        tasks.retain(|task| !task.mark.is_some_and(|mark| self.record.has(mark)));
        for one in found {
            if let Way::Whole(why) = &one.way {
                self.notes.push(format!("{} is scanned whole: {why}", plan::name(one.hot)));
                all.push(one.unit.clone());
            }
        }
        if all.is_empty() {
            return Ok(());
        }
        let board = Board::planned(all, ranges.len(), tasks, rate, scene.clock.now());
        let before = gauge(&mut self.lead)?;
        let job = Job { board, limits, before, label: "hotset", abandon: self.abandon };
        let record = &mut self.record;
        let mut on_done = |marks: &[u64]| record.add(marks);
        let outcome = work_off(job, &mut self.lead, scene, on_event, &mut on_done)?;
        summary(&outcome, limits, &gauge(&mut self.lead).unwrap_or(outcome.last), warmed);
        if outcome.end == End::Through {
            let statements = samples(ranges.iter().copied());
            let warm = probe(&mut self.lead, &statements)?;
            if warm * 4 < statements.len() * 3 {
                warmed.notes.push(format!(
                    "of {} places of the hot set looked at again only {warm} are in the pool: it \
                     is too small, or others push pages out",
                    statements.len()
                ));
            }
        }
        Ok(())
    }
}

fn list_mark(list: &[Page]) -> u64 {
    mark(&list.iter().map(|(space, page)| format!("{space},{page};")).collect::<String>())
}

/// Runs statements one by one; says how many of them had the server read nothing from disk.
pub(in crate::warm::hotset) fn probe(
    session: &mut Session,
    statements: &[String],
) -> anyhow::Result<usize> {
    let mut warm = 0;
    for sql in statements {
        let before = gauge(session)?.pages_read;
        session.rows(sql).with_context(|| format!("look whether a row is in the pool: {sql}"))?;
        warm += usize::from(gauge(session)?.pages_read == before);
    }
    Ok(warm)
}
