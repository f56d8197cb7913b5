//! Goes through the logs of a replay, one after the other, files and live sources alike.

use std::path::{Path, PathBuf};

use super::setup::Setup;
use crate::capture::{Log, LogError, MOST_RECORD_BYTES, News, Next, Recorded, source};
use crate::plan::Mistake;

/// Lines that a note names.
const NAMED: usize = 5;

/// What comes of the logs.
pub(super) enum Step<'r, 't> {
    Recorded(&'r Recorded<'t>),
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
pub(super) fn walk(setup: &Setup, on: &mut dyn FnMut(Step<'_, '_>) -> bool) {
    let files = match source::files(&setup.logs) {
        Ok(files) => files,
        Err(e) => {
            on(Step::Failed(format!("the logs can't be listed: {e}")));
            return;
        }
    };
    for path in files {
        let mut source = match source::open_live(&path) {
            Ok(source) => source,
            Err(e) => {
                if !on(Step::Failed(format!("{}: {e}", path.display()))) {
                    return;
                }
                continue;
            }
        };
        let mut log = Log::default();
        let mut goes_on = true;
        let result = log.listen(&mut *source, &mut |news| {
            goes_on = match news {
                News::Recorded(recorded) => on(Step::Recorded(recorded)),
                News::Idle => on(Step::Idle),
            };
            if goes_on { Next::Continue(()) } else { Next::Break(()) }
        });
        if !goes_on {
            return;
        }
        match result {
            Ok(()) => {}
            Err(LogError::Unknown) => {
                on(Step::Foreign(&path));
            }
            Err(e) => {
                on(Step::Failed(format!("{}: {e}", path.display())));
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
            if !on(Step::LeftOut(why)) {
                return;
            }
        }
        if !on(Step::Idle) || !on(Step::Read(log.tally().bytes)) {
            return;
        }
    }
}

/// What is wrong with what was named: a file that is no log, or folders in which none is.
pub(super) fn mistake(setup: &Setup, records: u64, foreign: &[PathBuf]) -> Option<Mistake> {
    let is_named = |path: &&PathBuf| setup.logs.contains(path);
    let named = foreign.iter().find(is_named);
    let path = named.or_else(|| foreign.first().filter(|_| records == 0))?;
    Some(Mistake {
        place: path.display().to_string(),
        why: NO_LOG.to_owned(),
        hint: Some("name a slow log or a general log of MySQL or MariaDB".to_owned()),
    })
}

/// Why a file can't be replayed.
pub(super) const NO_LOG: &str = "it is no slow log and no general log";
