//! What a server of our own wrote to its error log during a run, and how it ended if it did so by itself.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::run_context::{RunContext, RunEnd};
use super::system::SystemUnderTest;
use crate::archive::RunState;
use crate::base::{Clock as _, Nanos, private};
use crate::client::Error;

/// Lines of an error log that are looked at, the last ones.
const LINES: usize = 2000;
/// Lines of it that are kept among the facts.
const KEPT: usize = 20;
/// The end of the error log in the run folder.
const LOG: &str = "server.err";
/// How long a server that let go of a session may take to be gone.
const DYING: Nanos = Nanos(2_000_000_000);
/// Time between two looks whether it is.
const LOOK: Nanos = Nanos(20_000_000);

/// What a server of our own had complained about when the run began.
pub(super) struct ErrorLogBaseline {
    known: BTreeSet<String>,
}

impl ErrorLogBaseline {
    /// Remembers what is in the log already.
    pub(super) fn from_server(environment: &mut SystemUnderTest) -> ErrorLogBaseline {
        ErrorLogBaseline {
            known: error_lines(environment)
                .iter()
                .map(|line| without_prefix(line).to_owned())
                .collect(),
        }
    }

    /// Keeps what is new among the run's facts, and the log itself: it goes with the server.
    pub(super) fn save_new_lines(&self, environment: &mut SystemUnderTest, run: &RunContext<'_>) {
        let new = new_lines(error_lines(environment), &self.known);
        if !new.is_empty() {
            save_log(environment, run);
            run.lock_writer().update_meta(|meta| {
                meta.facts.insert("error_log".to_owned(), new.into());
            });
        }
    }
}

/// Errors and warnings at the end of the log.
fn error_lines(environment: &mut SystemUnderTest) -> Vec<String> {
    let Some(control) = environment.control() else { return Vec::new() };
    control.error_log_tail(LINES).into_iter().filter(|line| is_error_or_warning(line)).collect()
}

fn is_error_or_warning(line: &str) -> bool {
    line.contains("[ERROR]") || line.contains("[Warning]")
}

/// Those that say something else than what is known, each once.
fn new_lines(lines: Vec<String>, known: &BTreeSet<String>) -> Vec<String> {
    let mut seen = known.clone();
    lines
        .into_iter()
        .filter(|line| seen.insert(without_prefix(line).to_owned()))
        .take(KEPT)
        .collect()
}

/// A line without its time and thread.
fn without_prefix(line: &str) -> &str {
    line.find('[').map_or(line, |at| &line[at..])
}

/// Writes the end of the error log beside the run.
fn save_log(environment: &mut SystemUnderTest, run: &RunContext<'_>) {
    let Some(control) = environment.control() else { return };
    let text = control.error_log_tail(LINES).join("\n") + "\n";
    let path = run.run_dir().join(LOG);
    if let Err(e) = private::replace_file(&path, text.as_bytes()) {
        run.add_note(&format!("the server's error log was not saved: {}: {e}", path.display()));
    }
}

/// What stopped a run, if that was the end of our own server: how it ended comes first, and its log is kept. What could
/// not be put back on a server that is gone needs no word.
pub(super) fn explain_failure(
    result: anyhow::Result<RunEnd>,
    environment: &mut SystemUnderTest,
    run: &RunContext<'_>,
) -> anyhow::Result<RunEnd> {
    let is_lost = match &result {
        Ok((RunState::Failed, _)) => true,
        Ok(_) => return result,
        Err(error) => error.chain().any(is_connection_lost),
    };
    if run.stop.is_set() {
        return result;
    }
    let dying = if is_lost { DYING } else { Nanos(0) };
    let Some(death) = wait_for_exit(environment, run, dying) else { return result };
    save_log(environment, run);
    let log = run.run_dir().join(LOG);
    let why = format!("the sandbox's server {death}; its error log is in {}", log.display());
    run.add_note(&why);
    match result {
        Ok((state, Some(error))) => Ok((state, Some(error.context(why)))),
        Ok((state, None)) => Ok((state, Some(anyhow::Error::msg(why)))),
        // Only in which step: what else it says is about a server that is no more.
        Err(error) => Err(anyhow::Error::msg(why)).with_context(|| error.to_string()),
    }
}

fn is_connection_lost(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(Error::Connect { .. } | Error::Lost { .. }))
}

/// How our own server ended, if it did, or does so within a time.
fn wait_for_exit(
    environment: &mut SystemUnderTest,
    run: &RunContext<'_>,
    dying: Nanos,
) -> Option<String> {
    let control = environment.control()?;
    let end = run.clock.now() + dying;
    loop {
        let death = control.exit_description();
        if death.is_some() || control.pid().is_none() || run.clock.now() >= end {
            return death.or_else(|| control.exit_description());
        }
        run.clock.sleep_until(run.clock.now() + LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_complaints_are_those_with_other_words() {
        let old = "2026-11-21 12:00:00 0 [Warning] 'x' is deprecated";
        let again = "2026-11-21 12:09:09 7 [Warning] 'x' is deprecated";
        let grave = "2026-11-21 12:09:10 7 [ERROR] mariadbd: disk full";
        let known: BTreeSet<String> = [without_prefix(old).to_owned()].into();
        let lines = [again, grave, grave].map(str::to_owned).to_vec();
        assert_eq!(new_lines(lines, &known), [grave]);
        assert!(is_error_or_warning(old) && !is_error_or_warning("12:00 0 [Note] ready"));
    }
}
