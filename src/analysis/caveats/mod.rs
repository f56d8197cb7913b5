//! Doubts as data: each named check looks at a run and says what would make its numbers mean less.
//! To add one: a function here, its line in `CHECKS`, its text in `sentences/doubts.rs`, and its row in
//! `docs/reading-results.md`.

mod answers;
mod asked;
mod backlog;
mod client;
mod load;
mod quiet;
mod replay;
mod server;
mod stalls;
mod story;

pub(super) use story::{ERROR_SHARE, unexpected};

use crate::archive::Run;

use super::findings::{Comparison, DataSize, NoiseItem, TrialFinding, Verdict, WayFinding};

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
    /// Which of the sentences with this name.
    pub(in crate::analysis) sentence: &'static str,
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
    pub(super) noise: &'a [NoiseItem],
}

/// A named check.
type Check = fn(&Case<'_>) -> Option<Caveat>;

/// Id of the doubt that fails a run.
pub(super) const ERRORS: &str = "ERRORS";

/// All checks by the id of their caveat; within a level the caveats keep this order.
const CHECKS: &[(&str, Check)] = &[
    ("CUT", story::cut),
    ("DAMAGE", story::damage),
    (ERRORS, story::errors),
    ("SUDDENLY-FAST", answers::suddenly_fast),
    ("NOISE", quiet::noise),
    ("NOT-COLD", server::not_cold),
    ("UNOPENED", client::unopened),
    ("CLIENT-BOUND", client::client_bound),
    ("BEHIND", replay::behind),
    ("PART-LOAD", replay::part_load),
    ("OTHER-ROWS", replay::other_rows),
    ("BACKLOG", backlog::backlog),
    ("CLIPPED", client::clipped),
    ("ABANDONED", client::abandoned),
    ("FOREIGN-CPU", server::foreign_cpu),
    ("THROTTLED", quiet::throttled),
    ("SWAP", quiet::swap),
    ("NTP-STEP", quiet::clock_step),
    ("VARS-CHANGED", asked::vars_changed),
    ("ERRLOG", answers::errlog),
    ("EMPTY", answers::empty),
    ("COLD", answers::cold),
    ("PAGE-CACHE", answers::page_cache),
    ("ORDER", asked::order),
    ("STALLS", stalls::stalls),
    ("PART-TABLE", server::part_table),
    ("DATA-SIZE", server::data_size),
    ("NOT-STEADY", story::not_steady),
    ("TOO-SHORT", story::too_short),
    ("ONE-RUN", story::one_run),
    ("SIDE-EFFECT", server::side_effect),
    ("CONFOUNDED", super::compare::several_at_once),
    ("PROBE-GAP", story::probe_gap),
    ("TWO-CLOCKS", replay::two_clocks),
    ("WHOLE-SECONDS", replay::whole_seconds),
    ("SAME-HOST", client::same_host),
    ("CLOSED-LOOP", client::closed_loop),
    ("DURABILITY", server::durability),
    ("DEFAULTS", asked::defaults),
    ("DATA-DIST", asked::data_dist),
    ("PARAM-DIST", asked::param_dist),
    ("ONE-USER", asked::one_user),
    ("THINK", asked::think),
    ("SAME-QUERY", answers::same_query),
    ("QUERY-CACHE", answers::query_cache),
    ("TLS", asked::tls),
];

/// Ids of all checks.
pub fn ids() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(id, _)| *id)
}

/// All doubts about a run, the gravest first.
pub(super) fn all(case: &Case<'_>) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = CHECKS.iter().filter_map(|(_, check)| check(case)).collect();
    found.sort_by_key(|caveat| caveat.level);
    found
}

/// Doubts about how quiet the machine was.
const OF_NOISE: &[&str] = &["NOISE", "FOREIGN-CPU"];

/// Noise voids only what it could have made: where a claim stands in spite of it, or nothing is claimed, it is a warning.
pub(super) fn relieve<'a>(found: &mut [Caveat], deciding: impl Iterator<Item = &'a Comparison>) {
    let claims: Vec<&Comparison> = deciding.filter(|c| c.ratio.ci95.is_some()).collect();
    let stands = claims.iter().any(|c| c.verdict != Verdict::Unsure);
    if !claims.is_empty() && (stands || !claims.iter().any(|c| c.within_noise)) {
        warn_of_noise(found);
    }
    found.sort_by_key(|caveat| caveat.level);
}

/// Noise that voids becomes a warning.
pub(super) fn warn_of_noise(found: &mut [Caveat]) {
    let grave = |c: &&mut Caveat| c.level == Level::Void && OF_NOISE.contains(&c.id);
    found.iter_mut().filter(grave).for_each(|caveat| caveat.level = Level::Warn);
    found.sort_by_key(|caveat| caveat.level);
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
