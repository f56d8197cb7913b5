//! Warming by the server itself: it reads the pages named in its own list (`ib_buffer_pool`).
//!
//! The server calls a load completed whatever became of the pages: those of unknown tablespaces and past the end
//! of a file are skipped without a word. So pages are counted before and after, and a list that can be read is
//! checked before the server is asked.

mod list;
mod status;

pub(super) use list::PageList;
pub(super) use status::DumpLoadState;

use anyhow::{Context, bail};

use super::pool_status::read_status_text;
use super::{
    PoolStatus, WarmContext, WarmEvent, WarmOutcome, WarmStrategy, find_server_file,
    read_pool_status, start_error, with_abandon_flag,
};
use crate::base::{Clock, Nanos, Stop};
use crate::client::Session;
use crate::plan::{OptionKind, OptionSpec, Options, RefusedError};
use crate::workload::JobProgress;

/// The strategy.
pub struct PoolLoadStrategy;

impl WarmStrategy for PoolLoadStrategy {
    fn name(&self) -> &'static str {
        "load"
    }
    fn help_line(&self) -> &'static str {
        "Have the server load its own page list, as it does at startup"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let help = "Needed on a server that sweat did not start: --allow load";
        vec![OptionSpec::new("allow", OptionKind::one_of(&["load"]), "", help)]
    }
    fn warm_with(
        &self,
        options: &Options,
        context: &mut WarmContext<'_>,
        _on_event: &mut dyn FnMut(&WarmEvent),
    ) -> anyhow::Result<WarmOutcome> {
        if context.control.is_none() && options.text("allow") != Some("load") {
            bail!(RefusedError(
                "a load changes what a server that sweat did not start is doing\nhint: add \
                 --allow load to allow it"
                    .to_owned()
            ));
        }
        let (clock, stop) = (context.clock, context.stop.clone());
        with_abandon_flag(clock, &stop, |abandon| load_page_list(context, abandon))
    }
}

/// Time between two looks at the server.
const LOOK: Nanos = Nanos(50_000_000);
/// How long a server may show its last load's end before we take it for this one's: the text counts in seconds.
const STALE: Nanos = Nanos(1_500_000_000);
/// How long a server may take to break off, after which we leave it alone with that.
const ABORTING: Nanos = Nanos(1_000_000_000);
const STATUS: &str = "Innodb_buffer_pool_load_status";

fn load_page_list(context: &mut WarmContext<'_>, abandon: &Stop) -> anyhow::Result<WarmOutcome> {
    let mut session = super::open_session(context.target, abandon)?;
    let file = find_server_file(&mut session, context.target)?;
    let list = match &file.bytes {
        Some(bytes) => Some(
            PageList::from_bytes(bytes)
                .with_context(|| format!("the server can't load {}", file.path.display()))?,
        ),
        None => None,
    };
    if file.is_missing {
        bail!(RefusedError(format!(
            "there is no list of pages to load: {} does not exist\n\
             hint: have the server write one with `sweat warm dump`",
            file.path.display()
        )));
    }
    let before = read_pool_status(&mut session)?;
    let began = context.clock.now();
    let was = read_status_text(&mut session, STATUS)?;
    session
        .run_command("SET GLOBAL innodb_buffer_pool_load_now = ON")
        .map_err(|e| start_error(e, "load"))?;
    let waited = wait_for_end(context, &mut session, &was, &before, list.as_ref());
    let (state, after) = match waited {
        Ok(waited) => waited,
        Err(error) => return Err(error.context("watch the load")),
    };
    let seconds = context.clock.now().since(began).to_seconds();
    let mut warmed = WarmOutcome::from_counters(&before, &after, seconds);
    match state {
        DumpLoadState::Failed(text) => bail!("the server could not load its list: {text}"),
        DumpLoadState::Aborted => {
            warmed.cut = true;
            warmed.notes.push(format!(
                "the load was stopped after {} pages; MariaDB keeps its list unchanged until a \
                 load completes",
                warmed.pages_read
            ));
        }
        _ => warmed.notes.extend(shortfall_note(list.as_ref(), &warmed)),
    }
    Ok(warmed)
}

/// Waits for the end; a stop has the server break off.
fn wait_for_end(
    context: &mut WarmContext<'_>,
    session: &mut Session,
    was: &str,
    before: &PoolStatus,
    list: Option<&PageList>,
) -> anyhow::Result<(DumpLoadState, PoolStatus)> {
    let clock = context.clock;
    let asked = clock.now();
    let mut aborted = None;
    loop {
        let text = read_status_text(session, STATUS)?;
        let now = read_pool_status(session)?;
        let state = DumpLoadState::from_status(&text);
        let stale = text == was && clock.now().since(asked) < STALE;
        if !stale && state.has_ended() {
            return Ok((state, now));
        }
        if aborted.is_some_and(|at| clock.now().since(at) > ABORTING) {
            return Ok((DumpLoadState::Aborted, now));
        }
        if context.stop.is_set() && aborted.is_none() {
            aborted = Some(clock.now());
            session
                .run_command("SET GLOBAL innodb_buffer_pool_load_abort = ON")
                .context("stop the load")?;
        }
        let grown = now.pages_read.saturating_sub(before.pages_read);
        let total = list.map_or(0, PageList::len);
        let (done, total) = match state {
            DumpLoadState::Running(Some((done, total))) => (done, total),
            _ if total > 0 => (grown.min(total), total),
            _ => (grown, 0),
        };
        (context.progress)(JobProgress { label: "load".to_owned(), done, total, unit: "pages" });
        clock.sleep_until(clock.now() + LOOK);
    }
}

/// Pages of the list that the server left out without saying so. Which pages were there before is not known: so many may
/// be missing less, and only what is missing for sure is told.
fn shortfall_note(list: Option<&PageList>, warmed: &WarmOutcome) -> Option<String> {
    let listed = list?.len();
    let grown = warmed.pages_after.saturating_sub(warmed.pages_before);
    let loaded = warmed.pages_read.max(grown);
    let missing = listed.saturating_sub(loaded);
    let surely = missing.saturating_sub(warmed.pages_before);
    if surely > 0 && missing > listed / 100 {
        return Some(format!(
            "at least {surely} of {listed} pages in the list were not loaded, though the server \
             reports the load as complete: their tablespaces are unknown or too short (was the \
             list written by another server, or were tables dropped or rebuilt since?), or the \
             pool is too small"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmed(before: u64, after: u64, read: u64) -> WarmOutcome {
        WarmOutcome {
            pages_before: before,
            pages_after: after,
            pages_read: read,
            ..WarmOutcome::default()
        }
    }

    fn list(pages: u64) -> PageList {
        let text: String = (0..pages).map(|p| format!("7,{p}\n")).collect();
        PageList::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn silent_skips_are_counted() {
        let list = list(1_000);
        assert_eq!(shortfall_note(Some(&list), &warmed(100, 1_100, 1_000)), None);
        let note = shortfall_note(Some(&list), &warmed(100, 300, 200)).unwrap();
        assert!(note.contains("at least 700 of 1000 pages in the list were not loaded"), "{note}");
        // As it was found: 646 pages of a dropped table, and 980 that MySQL has in its pool from the start.
        let found = super::PageList::from_bytes(
            (0..2_305).map(|p| format!("7,{p}\n")).collect::<String>().as_bytes(),
        );
        let note = shortfall_note(found.ok().as_ref(), &warmed(1_000, 1_679, 679)).unwrap();
        assert!(note.contains("at least 626 of 2305 pages in the list were"), "{note}");
        assert_eq!(shortfall_note(Some(&list), &warmed(900, 1_000, 100)), None, "there before");
        assert_eq!(shortfall_note(None, &warmed(0, 0, 0)), None);
    }
}
