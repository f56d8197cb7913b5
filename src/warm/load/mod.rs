//! Warming by the server itself: it reads the pages named in its own list (`ib_buffer_pool`).
//!
//! The server calls a load completed whatever became of the pages: those of unknown tablespaces and past the end
//! of a file are skipped without a word. So pages are counted before and after, and a list that can be read is
//! checked before the server is asked.

mod list;
mod status;

pub(super) use list::List;
pub(super) use status::State;

use anyhow::{Context, bail};

use super::gauge::status_text;
use super::{Event, Scene, Strategy, Warmed, Warmth, gauge, guarded, server_file};
use crate::base::{Clock, Nanos, Stop};
use crate::plan::{OptionKind, OptionSpec, Options, Refused};
use crate::target::{Error, Session};
use crate::workload::Progress;

/// The strategy.
pub struct Load;

impl Strategy for Load {
    fn name(&self) -> &'static str {
        "load"
    }
    fn about(&self) -> &'static str {
        "Have the server read the pages in its own list, as it does at startup"
    }
    fn options(&self) -> Vec<OptionSpec> {
        vec![OptionSpec {
            name: "allow",
            kind: OptionKind::Choice(&["load"]),
            default: "",
            help: "Consent to starting a load on a server that sweat did not start: load",
        }]
    }
    fn warm_with(
        &self,
        options: &Options,
        scene: &mut Scene<'_>,
        _on_event: &mut dyn FnMut(&Event),
    ) -> anyhow::Result<Warmed> {
        if scene.control.is_none() && options.text("allow") != Some("load") {
            bail!(Refused(
                "a load changes what a server that sweat did not start is doing\n\
                 hint: say --allow load if that is meant"
                    .to_owned()
            ));
        }
        let (clock, stop) = (scene.clock, scene.stop.clone());
        guarded(clock, &stop, |abandon| run(scene, abandon))
    }
}

/// Time between two looks at the server.
const LOOK: Nanos = Nanos(50_000_000);
/// How long a server may show its last load's end before we take it for this one's: the text counts in seconds.
const STALE: Nanos = Nanos(1_500_000_000);
/// How long a server may take to break off, after which we leave it alone with that.
const ABORTING: Nanos = Nanos(1_000_000_000);
const STATUS: &str = "Innodb_buffer_pool_load_status";

fn run(scene: &mut Scene<'_>, abandon: &Stop) -> anyhow::Result<Warmed> {
    let mut session = super::open(scene.target, abandon)?;
    let file = server_file(&mut session, scene.target)?;
    let list = match &file.bytes {
        Some(bytes) => Some(
            List::read(bytes)
                .with_context(|| format!("the server can't load {}", file.path.display()))?,
        ),
        None => None,
    };
    if file.is_missing {
        bail!(Refused(format!(
            "there is no list of pages to load: {} does not exist\n\
             hint: have the server write one with `sweat warm dump`",
            file.path.display()
        )));
    }
    let before = gauge(&mut session)?;
    let began = scene.clock.now();
    let was = status_text(&mut session, STATUS)?;
    session.command("SET GLOBAL innodb_buffer_pool_load_now = ON").map_err(refused)?;
    let waited = wait(scene, &mut session, &was, &before, list.as_ref());
    let (state, after) = match waited {
        Ok(waited) => waited,
        Err(error) => return Err(error.context("watch the load")),
    };
    let seconds = scene.clock.now().since(began).seconds();
    let mut warmed = Warmed::between(&before, &after, seconds);
    match state {
        State::Failed(text) => bail!("the server could not load its list: {text}"),
        State::Aborted => {
            warmed.cut = true;
            warmed.notes.push(format!(
                "the load was broken off after {} pages; MariaDB keeps its list as it is until \
                 a load completes",
                warmed.pages_read
            ));
        }
        _ => warmed.notes.extend(shortfall(list.as_ref(), &warmed)),
    }
    Ok(warmed)
}

/// What to say about a server that refuses.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Server { code: 1227, .. } => anyhow::Error::new(error).context(
            "the account may not start a load: it needs SYSTEM_VARIABLES_ADMIN (MySQL) or \
             SUPER (MariaDB)",
        ),
        other => anyhow::Error::new(other).context("start the load"),
    }
}

/// Waits for the end; a stop has the server break off.
fn wait(
    scene: &mut Scene<'_>,
    session: &mut Session,
    was: &str,
    before: &Warmth,
    list: Option<&List>,
) -> anyhow::Result<(State, Warmth)> {
    let clock = scene.clock;
    let asked = clock.now();
    let mut aborted = None;
    loop {
        let text = status_text(session, STATUS)?;
        let now = gauge(session)?;
        let state = State::read(&text);
        let stale = text == was && clock.now().since(asked) < STALE;
        if !stale && state.is_end() {
            return Ok((state, now));
        }
        if aborted.is_some_and(|at| clock.now().since(at) > ABORTING) {
            return Ok((State::Aborted, now));
        }
        if scene.stop.is_set() && aborted.is_none() {
            aborted = Some(clock.now());
            session
                .command("SET GLOBAL innodb_buffer_pool_load_abort = ON")
                .context("break off the load")?;
        }
        let grown = now.pages_read.saturating_sub(before.pages_read);
        let total = list.map_or(0, List::len);
        let (done, total) = match state {
            State::Running(Some((done, total))) => (done, total),
            _ if total > 0 => (grown.min(total), total),
            _ => (grown, 0),
        };
        (scene.progress)(Progress { label: "load".to_owned(), done, total, unit: "pages" });
        clock.sleep_until(clock.now() + LOOK);
    }
}

/// Pages of the list that the server left out without saying so. Which pages were there before is not known: so many may
/// be missing less, and only what is missing for sure is told.
fn shortfall(list: Option<&List>, warmed: &Warmed) -> Option<String> {
    let listed = list?.len();
    let grown = warmed.pages_after.saturating_sub(warmed.pages_before);
    let loaded = warmed.pages_read.max(grown);
    let missing = listed.saturating_sub(loaded);
    let surely = missing.saturating_sub(warmed.pages_before);
    if surely > 0 && missing > listed / 100 {
        return Some(format!(
            "of {listed} pages in the list at least {surely} were not loaded, though the server \
             calls the load completed: their tablespaces are unknown or too short (was the list \
             written by another server, or were tables dropped or rebuilt since?), or the pool is \
             too small"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmed(before: u64, after: u64, read: u64) -> Warmed {
        Warmed { pages_before: before, pages_after: after, pages_read: read, ..Warmed::default() }
    }

    fn list(pages: u64) -> List {
        let text: String = (0..pages).map(|p| format!("7,{p}\n")).collect();
        List::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn silent_skips_are_counted() {
        let list = list(1_000);
        assert_eq!(shortfall(Some(&list), &warmed(100, 1_100, 1_000)), None);
        let note = shortfall(Some(&list), &warmed(100, 300, 200)).unwrap();
        assert!(note.contains("of 1000 pages in the list at least 700 were not loaded"), "{note}");
        // As it was found: 646 pages of a dropped table, and 980 that MySQL has in its pool from the start.
        let found = super::List::read(
            (0..2_305).map(|p| format!("7,{p}\n")).collect::<String>().as_bytes(),
        );
        let note = shortfall(found.ok().as_ref(), &warmed(1_000, 1_679, 679)).unwrap();
        assert!(note.contains("at least 626 were"), "{note}");
        assert_eq!(shortfall(Some(&list), &warmed(900, 1_000, 100)), None, "there before");
        assert_eq!(shortfall(None, &warmed(0, 0, 0)), None);
    }
}
