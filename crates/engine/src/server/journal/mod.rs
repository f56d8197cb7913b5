//! Changes to a running server's global variables and to the switches of its performance_schema, that are put back
//! whatever happens.
//!
//! Nobody changes anything without a [`Consent`], and nothing is changed before its old value is on disk. The guard
//! puts the values back when it is dropped: at the end, after an error, after Ctrl-C. If we are killed, the file tells
//! [`restore_journal`] what is left to do. A value that somebody else has changed meanwhile is left alone, and said so.

mod consent;
mod file;
mod pending;
mod refusal;
mod seal;
mod stand_in;
mod switches;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context as _;

use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::client::{self, Session, Target};
use crate::plan::RefusedError;

use super::sandbox::{HomeFolders, make_private_folder, random_hex};
pub use consent::Consent;
pub use file::{FILE, JournalServer, LOGGING_FILE, WAITS_FILE, read_server};
use file::{JournalEntry, JournalFile, RowsChange, VariableChange};
pub use pending::{PendingJournal, find_pending_journals};
pub use refusal::{VariableRefusal, find_refusal};
pub use stand_in::HOT_SET_FILE_NAME;
pub use switches::SetupSwitch;

/// How long a server may take while values are put back; the same once it gave no answer, and where somebody waits for us to
/// stop: what can't be put back then is said, and `restore_journal` does it.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENT: Duration = Duration::from_secs(2);
const STOPPED: Duration = Duration::from_secs(1);
const STOPPED_SILENT: Duration = Duration::from_millis(400);
/// How often to look which of these it is.
const LOOK: Duration = Duration::from_millis(20);

/// What was put back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// Variables and switches that have their old value again.
    pub back: Vec<String>,
    /// Variables left alone, and why.
    pub left: Vec<String>,
}

/// What was changed on a server and could not be put back.
#[derive(Debug, thiserror::Error)]
#[error(
    "put back what was changed on the server ({what}): {why}\n\
     hint: run `sweat restore {}` once the server answers",
    path.display()
)]
pub struct RestoreError {
    /// Variables and switches.
    pub what: String,
    /// Why.
    pub why: String,
    /// The journal that tells what is to be done.
    pub path: PathBuf,
}

/// Changed variables of one server. Dropping it puts them back.
#[derive(Debug)]
pub struct Journal {
    target: Target,
    session: Session,
    log: JournalFile,
    stop: Stop,
    /// Of a server that goes with us.
    is_throw_away: bool,
    /// Where the next sweat finds out about a journal in a run folder.
    pointer: Option<PathBuf>,
    /// Whether the file is of no use once everything is back.
    is_apart: bool,
}

impl Journal {
    /// Opens a journal of what has no run folder; it goes when everything is back. If we are killed, the next sweat
    /// finds it and says what to do.
    ///
    /// # Errors
    /// As `open`; or when there is no place for it.
    pub fn open_standalone(
        target: &Target,
        consent: &Consent,
        stop: &Stop,
    ) -> anyhow::Result<Journal> {
        let folder = HomeFolders::find()?.journals;
        make_private_folder(&folder)?;
        let path = folder.join(format!("{}.jsonl", random_hex(6)?));
        let mut journal = Journal::create_at(&path, target, consent, stop)?;
        journal.is_apart = true;
        Ok(journal)
    }

    /// Opens the journal `path`, before anything is changed. Every later sweat hears of it until everything is back.
    ///
    /// # Errors
    /// When it can't be written, an older one there has changes that were not put back, or the server can't be reached.
    pub fn open(
        path: &Path,
        target: &Target,
        consent: &Consent,
        stop: &Stop,
    ) -> anyhow::Result<Journal> {
        let mut journal = Journal::create_at(path, target, consent, stop)?;
        if !journal.is_throw_away {
            journal.pointer = pending::write_pointer(path);
        }
        Ok(journal)
    }

    fn create_at(
        path: &Path,
        target: &Target,
        consent: &Consent,
        stop: &Stop,
    ) -> anyhow::Result<Journal> {
        let session = target.connect(stop)?;
        let log = JournalFile::create(path, target.plan(), consent.source())?;
        let (target, stop) = (target.clone(), stop.clone());
        let is_throw_away = consent.own;
        let pointer = None;
        Ok(Journal { target, session, log, stop, is_throw_away, pointer, is_apart: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.log.path()
    }

    /// Sets a global variable, once its old value is on disk; gives the old value.
    ///
    /// # Errors
    /// When there is no such variable, the server refuses, or the journal can't be written.
    pub fn set_variable(&mut self, variable: &str, value: &str) -> anyhow::Result<Option<String>> {
        check_variable_name(variable)?;
        let old = read_variable(&mut self.session, variable)?;
        let change = VariableChange {
            variable: variable.to_owned(),
            old: old.clone(),
            new: Some(value.to_owned()),
            is_seen: false,
        };
        self.log.announce_change(JournalEntry::Variable(change))?;
        let set = self.session.run_command(&set_statement(variable, Some(value)));
        if let Err(e) = set {
            if read_variable(&mut self.session, variable).is_ok_and(|now| now == old) {
                self.log.close_last_change()?;
            }
            return Err(e).with_context(|| format!("set {variable} to {value}"));
        }
        // The server may have rounded it: that value is ours to take away, no other.
        let effective = read_variable(&mut self.session, variable)?;
        self.log.correct_last_value(effective)?;
        Ok(old)
    }

    /// Sets a switch of performance_schema in the rows of these keys, once the old values are on disk; rows that have
    /// the value already, or are not there, are left alone. Gives how many rows changed.
    ///
    /// # Errors
    /// When the server refuses, or the journal can't be written.
    pub fn set_switches(
        &mut self,
        switch: SetupSwitch,
        keys: &[String],
        on: bool,
    ) -> anyhow::Result<usize> {
        let Some(change) = switches::plan_change(&mut self.session, switch, keys, on)? else {
            return Ok(0);
        };
        self.log.announce_change(JournalEntry::Rows(change.clone()))?;
        if let Err(e) = switches::apply_value(&mut self.session, &change, &change.new) {
            let nothing = switches::undo_rows(&mut self.session, &change).is_ok();
            if nothing {
                self.log.close_last_change()?;
            }
            return Err(e);
        }
        Ok(change.keys.len())
    }

    /// Puts an empty file of ours where the server looks for one of its own, which is kept aside. Write to it in place:
    /// a new file under that name would be taken for the server's.
    ///
    /// # Errors
    /// When there is one kept aside already, or the folder can't be written to.
    pub fn replace_file(&mut self, path: &Path) -> anyhow::Result<()> {
        // What is half made must be known as well.
        self.log
            .announce_change(JournalEntry::StandIn(stand_in::SwappedFile::without_inode(path)))?;
        let one = stand_in::prepare_file(path)?;
        self.log.announce_change(JournalEntry::StandIn(one.clone()))?;
        stand_in::swap_in(&one)
    }

    /// A session on the server that the journal is about.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Puts everything back now.
    ///
    /// # Errors
    /// [`RestoreError`] when the server can't be reached; the journal then still tells what is to be done.
    pub fn undo(mut self) -> anyhow::Result<UndoReport> {
        self.put_back_changes()
    }

    fn put_back_changes(&mut self) -> anyhow::Result<UndoReport> {
        if self.log.open_changes().is_empty() {
            self.remove_pointer();
            return Ok(UndoReport::default());
        }
        let stop = self.stop.clone();
        let (log, session, target) = (&mut self.log, &mut self.session, &self.target);
        let undone = with_time_limit(target, &stop, |limit| {
            session.set_abandon(limit);
            if !session.is_usable() {
                *session = target.connect(limit)?;
            }
            undo_open_changes(log, session, None)
        });
        match undone {
            Err(error) if self.is_throw_away => {
                let left = format!("the throw-away server keeps what was changed on it: {error:#}");
                Ok(UndoReport { left: vec![left], ..UndoReport::default() })
            }
            Err(error) => Err(self.restore_error(&error).into()),
            Ok(undone) => {
                self.remove_pointer();
                Ok(undone)
            }
        }
    }

    fn restore_error(&self, error: &anyhow::Error) -> RestoreError {
        let gave_up =
            matches!(error.downcast_ref::<client::Error>(), Some(client::Error::Abandoned));
        let why = match gave_up {
            true => "the server did not answer in time".to_owned(),
            false => format!("{error:#}"),
        };
        let path = self.log.path().to_owned();
        RestoreError { what: self.log.describe_changes(), why, path }
    }

    /// Everything is back: nobody need hear of it.
    fn remove_pointer(&mut self) {
        if let Some(pointer) = self.pointer.take() {
            let _ = std::fs::remove_file(pointer);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What fails here is still in the file.
        let back = self.put_back_changes();
        if self.is_apart && back.is_ok() {
            let _ = std::fs::remove_file(self.log.path());
        }
    }
}

/// Which journals may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalTrust {
    /// Those that sweats of this account and home have written, and nobody has changed since.
    Own,
    /// Any: the user knows where it comes from.
    Any,
}

/// Puts back what the journal of a sweat that was killed says; `target` is the server it is about.
///
/// # Errors
/// When the file can't be understood or is not to be believed, or the server can't be reached.
pub fn restore_journal(
    path: &Path,
    target: &Target,
    trust: JournalTrust,
) -> anyhow::Result<UndoReport> {
    let mut log = JournalFile::read(path)?;
    if log.open_changes().is_empty() {
        return Ok(UndoReport::default());
    }
    if trust == JournalTrust::Own && !log.has_own_seal() {
        let path = path.display();
        let open: Vec<String> = log.open_changes().iter().rev().map(describe_undo).collect();
        return Err(RefusedError(format!(
            "{path} is not known to be a journal of your own sweat: another account, machine, \
             SWEAT_HOME or an older version has written it, or it was changed since. It would \
             {}\nhint: if you know where it comes from and want this, add --allow journal",
            shorten_list(&open)
        ))
        .into());
    }
    with_time_limit(target, &Stop::new(), |limit| {
        let mut session = target.connect(limit)?;
        let places = stand_in::allowed_paths(&mut session)?;
        undo_open_changes(&mut log, &mut session, Some(&places))
    })
}

/// What putting a change back does.
fn describe_undo(entry: &JournalEntry) -> String {
    match entry {
        JournalEntry::Variable(change) => set_statement(&change.variable, change.old.as_deref()),
        JournalEntry::Rows(change) => {
            let RowsChange { table, column, keys, old, .. } = change;
            format!("set {column} to {old} in {} rows of {table}", keys.len())
        }
        JournalEntry::StandIn(one) => format!("put the file {} back", one.path.display()),
    }
}

/// The first of many, without control characters.
fn shorten_list(all: &[String]) -> String {
    const SHOWN: usize = 6;
    let plain = |text: &String| -> String {
        let shown = text.chars().take(120);
        shown.map(|c| if c.is_control() { '?' } else { c }).collect()
    };
    let mut text = all.iter().take(SHOWN).map(plain).collect::<Vec<_>>().join("; ");
    if all.len() > SHOWN {
        text += &format!("; and {} more", all.len() - SHOWN);
    }
    text
}

/// The journals that a path means: the file itself, or those in a run folder, the youngest change first.
pub fn find_journals(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let names = [LOGGING_FILE, WAITS_FILE, FILE];
    let there: Vec<PathBuf> =
        names.iter().map(|name| path.join(name)).filter(|p| p.exists()).collect();
    if there.is_empty() { vec![path.join(FILE)] } else { there }
}

/// Puts back what is still open, the last change first. Files are only touched at these places; what the running sweat
/// has done itself needs no such list.
fn undo_open_changes(
    log: &mut JournalFile,
    session: &mut Session,
    places: Option<&[PathBuf]>,
) -> anyhow::Result<UndoReport> {
    let mut undone = UndoReport::default();
    while let Some(entry) = log.open_changes().last().cloned() {
        match &entry {
            JournalEntry::Variable(change) => undo_variable(change, session, &mut undone)?,
            JournalEntry::Rows(change) => undone.back.push(switches::undo_rows(session, change)?),
            JournalEntry::StandIn(one)
                if places.is_some_and(|known| !known.contains(&one.path)) =>
            {
                undone.left.push(format!(
                    "{} is not where this server keeps a list of pages, so no file was touched",
                    one.path.display()
                ));
            }
            JournalEntry::StandIn(one) => {
                let path = stand_in::swap_out(one)?;
                if !undone.back.contains(&path) {
                    undone.back.push(path);
                }
            }
        }
        log.close_last_change()?;
    }
    Ok(undone)
}

fn undo_variable(
    change: &VariableChange,
    session: &mut Session,
    undone: &mut UndoReport,
) -> anyhow::Result<()> {
    let VariableChange { variable, old, new, is_seen } = change;
    check_variable_name(variable)?;
    let now = read_variable(session, variable)?;
    if now == *old {
        undone.back.push(variable.clone());
    } else if now == *new || !is_seen {
        // Without the server's own form of it (1G is 1073741824) we can't tell its value from somebody else's.
        session
            .run_command(&set_statement(variable, old.as_deref()))
            .with_context(|| format!("put back {variable}"))?;
        undone.back.push(variable.clone());
    } else {
        let show = |value: &Option<String>| value.clone().unwrap_or("NULL".to_owned());
        undone.left.push(format!(
            "{variable} is {}, not {} as we set it: it was changed since, or the server was \
             restarted; it was {}",
            show(&now),
            show(new),
            show(old)
        ));
    }
    Ok(())
}

/// Runs `work` with a flag that is set when it takes too long: Ctrl-C must not stop it, a dead server must.
fn with_time_limit<T>(
    target: &Target,
    stop: &Stop,
    work: impl FnOnce(&Stop) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let limit = Stop::new();
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let flag = limit.clone();
        scope.spawn(move || {
            let clock = RealClock::start_now();
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if clock.now() >= Nanos::from(time_limit(target, stop)) {
                    // Nobody need try to end the statement there.
                    target.mark_silent();
                    flag.set(StopReason::TargetLost);
                    return;
                }
            }
        });
        let result = work(&limit);
        drop(done);
        result
    })
}

fn time_limit(target: &Target, stop: &Stop) -> Duration {
    match (stop.is_set(), target.is_silent()) {
        (false, false) => PATIENCE,
        (false, true) => SILENT,
        (true, false) => STOPPED,
        (true, true) => STOPPED_SILENT,
    }
}

pub(super) fn check_variable_name(variable: &str) -> anyhow::Result<()> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    anyhow::ensure!(
        !variable.is_empty() && variable.chars().all(good),
        "`{variable}` is not the name of a variable"
    );
    Ok(())
}

fn read_variable(session: &mut Session, variable: &str) -> anyhow::Result<Option<String>> {
    session
        .query_scalar(&format!("SELECT @@GLOBAL.{variable}"))
        .with_context(|| format!("read the variable {variable}"))
}

pub(super) fn set_statement(variable: &str, value: Option<&str>) -> String {
    let value = match value {
        None => "DEFAULT".to_owned(),
        Some(value) if is_number(value) => value.to_owned(),
        Some(value) => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    };
    format!("SET GLOBAL {variable} = {value}")
}

/// Only what the server's parser takes for a number, not `inf` or `1e`.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain && digits.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_server_takes_them() {
        let set = |value| set_statement("x", value);
        assert_eq!(set(Some("37")), "SET GLOBAL x = 37");
        assert_eq!(set(Some("-1.5")), "SET GLOBAL x = -1.5");
        assert_eq!(set(Some("ON")), "SET GLOBAL x = 'ON'");
        assert_eq!(set(Some("inf")), "SET GLOBAL x = 'inf'");
        assert_eq!(set(Some("")), "SET GLOBAL x = ''");
        assert_eq!(set(Some(r"a'b\c")), r"SET GLOBAL x = 'a''b\\c'");
        assert_eq!(set(None), "SET GLOBAL x = DEFAULT");
    }

    #[test]
    fn names_can_not_smuggle_statements() {
        assert!(check_variable_name("innodb_old_blocks_pct").is_ok());
        assert!(check_variable_name("hot.key_buffer_size").is_ok());
        for wrong in ["", "x = 1; drop table t", "x y", "x'"] {
            assert!(check_variable_name(wrong).is_err(), "{wrong}");
        }
    }
}
