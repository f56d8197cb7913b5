//! Instruments of performance_schema: found by a pattern, switched on for a while as narrowly as can be, and put back.
//!
//! What is needed and no more: the instrument itself, the consumers above the one that keeps single waits, no background
//! threads. On a server of our own all other waits are switched off too, as they would push ours out of the ring of
//! rows, and what was counted before is forgotten; on others' servers neither is done.
//! Never knows: load, what a wait means. Start reading at [`find_instruments`], then [`EnabledInstruments::enable`].

mod names;

use std::path::Path;

use anyhow::Context as _;

use super::journal::{Consent, Journal, SetupSwitch};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{Session, Target, quote_instruments};
use crate::plan::Mistake;
use names::{no_match_mistake, select_instruments};

/// Tables whose rows are forgotten before a load, on servers of our own.
const FORGET: &[&str] = &[
    "events_waits_history_long",
    "events_waits_summary_by_instance",
    "events_waits_summary_global_by_event_name",
];
/// Consumers that must be on for single waits to be kept: each is the parent of the next.
const CONSUMERS: &[&str] = &[
    "global_instrumentation",
    "thread_instrumentation",
    "events_waits_current",
    "events_waits_history_long",
];
/// The word of consent: `--allow ps-setup`.
pub const ALLOW: &str = "ps-setup";
/// How long we look whether an instrument still counts after it was switched off.
const LOOK: Nanos = Nanos(200_000_000);

/// The instruments of waits that a pattern means on this server: the one of this name, those whose last part is this,
/// those that match it as LIKE does if it has a `%`, or those that contain it.
///
/// # Errors
/// A [`Mistake`] when performance_schema is off, when nothing fits (with what does instead), or too much does.
pub fn find_instruments(session: &mut Session, pattern: &str) -> anyhow::Result<Vec<String>> {
    let place = || format!("--instrument {pattern}");
    if session.query_scalar("SELECT @@performance_schema")?.as_deref() != Some("1") {
        return Err(Mistake::new(
            place(),
            "performance_schema is OFF on this server, so it counts nothing",
        )
        .hint(
            "it can't be switched on at run time: put performance_schema=ON into the server's \
             option file and restart it, or measure with --sandbox",
        )
        .into());
    }
    let sql = "SELECT NAME FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/%'";
    let rows = session.query_rows(sql).context("read performance_schema.setup_instruments")?;
    let all: Vec<String> = (0..rows.rows.len()).filter_map(|at| rows.text_value(at, 0)).collect();
    let found = select_instruments(&all, pattern);
    if found.is_empty() {
        return Err(no_match_mistake(session.identity(), &all, pattern).into());
    }
    if found.len() > names::MOST {
        return Err(names::too_many_mistake(&found, pattern).into());
    }
    Ok(found)
}

/// What to switch on, and where.
#[derive(Clone, Copy, Debug)]
pub struct InstrumentRequest<'a> {
    /// The server.
    pub target: &'a Target,
    /// Full names of the instruments.
    pub names: &'a [String],
    /// The right to do it; without one nothing is changed, and all must be on already.
    pub consent: Option<&'a Consent>,
    /// Whether the server is ours alone.
    pub own: bool,
    /// Whether nobody whose waits count is connected yet: then all threads there are can be left out.
    pub before_load: bool,
    /// Where the journal is kept.
    pub journal: &'a Path,
    /// Connection ids of our own sessions, to be left out.
    pub ours: &'a [u64],
}

/// Instruments that are on. Dropping it puts everything back.
#[derive(Debug)]
pub struct EnabledInstruments {
    target: Target,
    journal: Option<Journal>,
    /// Those that were off before.
    were_off: Vec<String>,
    /// What limits the result, in words.
    pub notes: Vec<String>,
}

/// What is to be said once everything was put back, in words.
#[derive(Debug, Default)]
pub struct RestoredInstruments {
    /// What limits the result, and what was left alone.
    pub notes: Vec<String>,
    /// Instruments that still count although they are off again.
    pub still_counting: Vec<String>,
}

/// Whether all of these count and take times already.
///
/// # Errors
/// When the server doesn't answer.
pub fn are_enabled(session: &mut Session, names: &[String]) -> anyhow::Result<bool> {
    let sql = format!(
        "SELECT COUNT(*) FROM performance_schema.setup_instruments \
         WHERE NAME IN ({}) AND ENABLED = 'YES' AND TIMED = 'YES'",
        quote_instruments(names)
    );
    Ok(session.query_scalar(&sql)?.and_then(|n| n.parse::<usize>().ok()) == Some(names.len()))
}

impl EnabledInstruments {
    /// Switches instruments on.
    ///
    /// # Errors
    /// A [`Mistake`] when that would need consent and there is none; when the server refuses. Nothing stays changed then.
    pub fn enable(
        asked: &InstrumentRequest<'_>,
        stop: &Stop,
    ) -> anyhow::Result<EnabledInstruments> {
        let mut on = EnabledInstruments {
            target: asked.target.clone(),
            journal: None,
            were_off: Vec::new(),
            notes: Vec::new(),
        };
        let Some(consent) = asked.consent else {
            if !are_enabled(&mut asked.target.connect(stop)?, asked.names)? {
                return Err(missing_consent().into());
            }
            on.notes.push(
                "the instruments were on, so nothing was changed on the server; background \
                 threads are counted too"
                    .to_owned(),
            );
            return Ok(on);
        };
        let journal = Journal::open(asked.journal, asked.target, consent, stop)?;
        let journal = on.journal.insert(journal);
        let was_on = enabled_instruments(
            journal.session(),
            &format!("IN ({})", quote_instruments(asked.names)),
        )?;
        on.were_off = asked.names.iter().filter(|name| !was_on.contains(name)).cloned().collect();
        enable_instruments(journal, asked)?;
        if asked.own {
            for table in FORGET {
                let sql = format!("TRUNCATE TABLE performance_schema.{table}");
                journal.session().run_command(&sql).with_context(|| format!("empty {table}"))?;
            }
        } else {
            on.notes.push(
                "sweat did not start this server and keeps its earlier counts: the figures are \
                 differences of two readings"
                    .to_owned(),
            );
        }
        Ok(on)
    }

    /// Puts everything back, and looks whether what was off counts no more.
    ///
    /// # Errors
    /// When the server can't be reached or refuses; the journal then tells what is left to do.
    pub fn restore(mut self) -> anyhow::Result<RestoredInstruments> {
        let mut notes = std::mem::take(&mut self.notes);
        let Some(journal) = self.journal.take() else {
            return Ok(RestoredInstruments { notes, still_counting: Vec::new() });
        };
        notes.extend(journal.undo()?.left);
        Ok(RestoredInstruments { notes, still_counting: self.list_still_counting()? })
    }

    /// The same without the last look.
    ///
    /// # Errors
    /// As `restore`.
    pub fn restore_at_once(mut self) -> anyhow::Result<()> {
        self.journal.take().map_or(Ok(()), |journal| journal.undo().map(drop))
    }

    /// Names those that still count although they are off: some instruments do until the server is restarted.
    fn list_still_counting(&self) -> anyhow::Result<Vec<String>> {
        if self.were_off.is_empty() {
            return Ok(Vec::new());
        }
        let mut session = self.target.connect(&Stop::new())?;
        let before = wait_counts(&mut session, &self.were_off)?;
        let clock = RealClock::start_now();
        // A new session and some pages read: what any instrument of a server under load would see.
        let mut other = self.target.connect(&Stop::new())?;
        while clock.now() < LOOK {
            let _ =
                other.query_rows("SELECT TABLE_NAME FROM information_schema.TABLES LIMIT 50")?;
            clock.sleep_until(clock.now() + Nanos(LOOK.0 / 10));
        }
        let after = wait_counts(&mut session, &self.were_off)?;
        let risen = before.iter().zip(&after).filter(|(before, after)| after.1 > before.1);
        Ok(risen
            .map(|(before, after)| {
                format!(
                    "{} was switched off again but still counts ({} waits in {} ms) until the \
                     server restarts",
                    after.0,
                    after.1 - before.1,
                    LOOK.0 / 1_000_000
                )
            })
            .collect())
    }
}

/// The mistake of asking for a change without consent.
fn missing_consent() -> Mistake {
    Mistake::new(
        "--instrument",
        "this would change the setup of performance_schema on a server that sweat did not \
              start",
    )
    .hint(format!(
        "allow it with --allow {ALLOW}; sweat puts every row back at the end and after Ctrl-C, \
         and `sweat restore` does after a crash"
    ))
}

/// Before anything starts: whether consent is there if it is needed.
///
/// # Errors
/// The [`Mistake`] of asking without it.
pub fn check_consent(
    session: &mut Session,
    names: &[String],
    has_consent: bool,
) -> anyhow::Result<()> {
    if has_consent || are_enabled(session, names)? { Ok(()) } else { Err(missing_consent().into()) }
}

fn enable_instruments(journal: &mut Journal, asked: &InstrumentRequest<'_>) -> anyhow::Result<()> {
    // Those that are off first: nothing that begins to count finds the ring full of others.
    if asked.own {
        let others = enabled_instruments(journal.session(), "LIKE 'wait/%'")?;
        let others: Vec<String> =
            others.into_iter().filter(|name| !asked.names.contains(name)).collect();
        journal.set_switches(SetupSwitch::InstrumentEnabled, &others, false)?;
    }
    let (running, kinds) = threads_to_exclude(journal.session(), asked)?;
    journal.set_switches(SetupSwitch::Thread, &running, false)?;
    if has_thread_kinds_table(journal.session())? {
        journal.set_switches(SetupSwitch::ThreadKind, &kinds, false)?;
    }
    journal.set_switches(SetupSwitch::InstrumentTimed, asked.names, true)?;
    journal.set_switches(SetupSwitch::InstrumentEnabled, asked.names, true)?;
    let consumers: Vec<String> = CONSUMERS.iter().map(|name| (*name).to_owned()).collect();
    journal.set_switches(SetupSwitch::Consumer, &consumers, true)?;
    Ok(())
}

/// Names of instruments that are on and fit a condition.
fn enabled_instruments(session: &mut Session, condition: &str) -> anyhow::Result<Vec<String>> {
    let sql = format!(
        "SELECT NAME FROM performance_schema.setup_instruments \
         WHERE ENABLED = 'YES' AND NAME {condition}"
    );
    let rows = session.query_rows(&sql).context("read performance_schema.setup_instruments")?;
    Ok((0..rows.rows.len()).filter_map(|at| rows.text_value(at, 0)).collect())
}

/// Threads to be left out: those in the background, our own sessions, all there are where the load is yet to come; and
/// the kinds of those in the background.
fn threads_to_exclude(
    session: &mut Session,
    asked: &InstrumentRequest<'_>,
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let ours: Vec<String> =
        asked.ours.iter().chain([&session.id()]).map(ToString::to_string).collect();
    let rows = session
        .query_rows(
            "SELECT THREAD_ID, NAME, TYPE, PROCESSLIST_ID \
             FROM performance_schema.threads WHERE INSTRUMENTED = 'YES'",
        )
        .context("read performance_schema.threads")?;
    let (mut running, mut kinds) = (Vec::new(), Vec::new());
    for at in 0..rows.rows.len() {
        let text = |column| rows.text_value(at, column).unwrap_or_default();
        let background = text(2) == "BACKGROUND";
        if background || asked.before_load || ours.contains(&text(3)) {
            running.push(text(0));
        }
        if background && !kinds.contains(&text(1)) {
            kinds.push(text(1));
        }
    }
    Ok((running, kinds))
}

/// MySQL has a table for the threads to come, MariaDB has not.
fn has_thread_kinds_table(session: &mut Session) -> anyhow::Result<bool> {
    let sql = "SELECT COUNT(*) FROM information_schema.TABLES \
               WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = 'setup_threads'";
    Ok(session.query_scalar(sql)?.as_deref() == Some("1"))
}

/// Waits counted so far, by instrument, in the order of the names.
fn wait_counts(session: &mut Session, names: &[String]) -> anyhow::Result<Vec<(String, u64)>> {
    let sql = format!(
        "SELECT EVENT_NAME, COUNT_STAR \
         FROM performance_schema.events_waits_summary_global_by_event_name \
         WHERE EVENT_NAME IN ({}) ORDER BY EVENT_NAME",
        quote_instruments(names)
    );
    let rows = session.query_rows(&sql)?;
    let count = |at: usize| rows.text_value(at, 1).and_then(|n| n.parse().ok()).unwrap_or(0);
    let all = 0..rows.rows.len();
    Ok(all.filter_map(|at| Some((rows.text_value(at, 0)?, count(at)))).collect())
}
