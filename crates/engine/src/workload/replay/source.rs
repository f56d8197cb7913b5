//! Goes through the logs of a replay, one after the other, files and live sources alike.

use std::path::{Path, PathBuf};

use super::setup::ReplaySetup;
use crate::capture::{
    LogError, LogFlow, LogParser, LogRecord, LogUpdate, MOST_RECORD_BYTES, source,
};
use crate::plan::Mistake;

/// Lines that a note names.
const NAMED: usize = 5;

/// What comes of the logs.
pub(super) enum LogStep<'r, 't> {
    Recorded(&'r LogRecord<'t>),
    /// Nothing for a while, or the end of a log.
    Idle,
    /// A log can't be read, or not further; in words.
    Failed(String),
    /// Something of a log was left out; in words.
    LeftOut(String),
    /// A file that is no log.
    Foreign(&'r Path),
    /// So many bytes of a log were read, now that it is through.
    Read(u64),
}

/// Reads all logs; `on` says whether to go on.
pub(super) fn walk_logs(setup: &ReplaySetup, on: &mut dyn FnMut(LogStep<'_, '_>) -> bool) {
    let files = match source::expand_paths(&setup.logs) {
        Ok(files) => files,
        Err(e) => {
            on(LogStep::Failed(format!("the logs can't be listed: {e}")));
            return;
        }
    };
    for path in files {
        let mut source = match source::open_live(&path) {
            Ok(source) => source,
            Err(e) => {
                if !on(LogStep::Failed(format!("{}: {e}", path.display()))) {
                    return;
                }
                continue;
            }
        };
        let mut log = LogParser::default();
        let mut goes_on = true;
        let result = log.follow_source(&mut *source, &mut |news| {
            goes_on = match news {
                LogUpdate::Recorded(recorded) => on(LogStep::Recorded(recorded)),
                LogUpdate::Idle => on(LogStep::Idle),
            };
            if goes_on { LogFlow::Continue(()) } else { LogFlow::Break(()) }
        });
        if !goes_on {
            return;
        }
        match result {
            Ok(()) => {}
            Err(LogError::Unknown) => {
                on(LogStep::Foreign(&path));
            }
            Err(e) => {
                on(LogStep::Failed(format!("{}: {e}", path.display())));
            }
        }
        let tally = log.tally();
        if tally.too_long > 0 {
            let lines: Vec<u64> = tally.too_long_at.iter().take(NAMED).map(|p| p.line).collect();
            let why = format!(
                "{}: {} records of more than {} MiB left out, first on line {lines:?}",
                path.display(),
                tally.too_long,
                MOST_RECORD_BYTES >> 20,
            );
            if !on(LogStep::LeftOut(why)) {
                return;
            }
        }
        if !on(LogStep::Idle) || !on(LogStep::Read(log.tally().bytes)) {
            return;
        }
    }
}

/// What is wrong with what was named: a file that is no log, or folders in which none is.
pub(super) fn log_mistake(
    setup: &ReplaySetup,
    records: u64,
    foreign: &[PathBuf],
) -> Option<Mistake> {
    let is_named = |path: &&PathBuf| setup.logs.contains(path);
    let named = foreign.iter().find(is_named);
    let path = named.or_else(|| foreign.first().filter(|_| records == 0))?;
    Some(
        Mistake::new(path.display().to_string(), NO_LOG.to_owned())
            .hint("name a slow log or a general log of MySQL or MariaDB"),
    )
}

/// Why a file can't be replayed.
pub(super) const NO_LOG: &str = "it is neither a slow log nor a general log";
