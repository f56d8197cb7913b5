//! Doubts as data: each named check looks at a run and says what would make its numbers mean less.
//! To add one: a function here and its line in `CHECKS`, and its row in `docs/reading-results.md`.

mod client;
mod server;
mod story;

use crate::archive::Run;

use super::findings::{DataSize, TrialFinding, WayFinding};

/// How grave a doubt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The run can't support the claim.
    Void,
    /// The number may be off.
    Warn,
    /// Good to know.
    Note,
}

impl Level {
    /// In words, as in JSON.
    pub fn words(self) -> &'static str {
        match self {
            Level::Void => "void",
            Level::Warn => "warn",
            Level::Note => "note",
        }
    }
}

/// One doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    /// Its name: `SAME-HOST`.
    pub id: &'static str,
    /// How grave.
    pub level: Level,
    /// What was seen, with numbers.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}

/// What a check looks at.
pub(super) struct Case<'a> {
    pub(super) run: &'a Run,
    pub(super) trials: &'a [TrialFinding],
    pub(super) ways: &'a [WayFinding],
    pub(super) data: &'a DataSize,
}

/// A named check.
type Check = fn(&Case<'_>) -> Option<Caveat>;

/// All checks; within a level the caveats keep this order.
const CHECKS: &[Check] = &[
    story::cut,
    story::damage,
    story::errors,
    server::not_cold,
    client::unopened,
    client::client_bound,
    client::clipped,
    client::abandoned,
    server::foreign_cpu,
    server::data_size,
    story::too_short,
    story::one_run,
    story::probe_gap,
    client::same_host,
    client::closed_loop,
    server::durability,
];

/// All doubts about a run, the gravest first.
pub(super) fn all(case: &Case<'_>) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = CHECKS.iter().filter_map(|check| check(case)).collect();
    found.sort_by_key(|caveat| caveat.level);
    found
}

/// Names of loads for an evidence: all of them, some of them, or nothing to say if there is only one.
fn where_seen(case: &Case<'_>, seen: &[&TrialFinding]) -> String {
    match (seen, case.trials.len()) {
        (_, 0 | 1) | ([], _) => String::new(),
        (seen, all) if seen.len() == all => " in every load".to_owned(),
        ([one], _) => format!(" in {}", one.id),
        ([one, rest @ ..], _) => format!(" in {} and {} more", one.id, rest.len()),
    }
}

#[cfg(test)]
mod tests;
