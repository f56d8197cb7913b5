//! Caveats about a replay: late, only a part, of other data, against times of another clock.

use crate::archive::Trial;

use super::super::number_format::{format_count, format_percent, format_plural, format_time};
use super::super::replay::BEHIND_S;
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput, CaveatLevel};

/// Statements behind the schedule above this share are no hiccup.
const LATE_SHARE: f64 = 0.01;
/// A load that lacks more than this share of the records is another load.
const PART_SHARE: f64 = 0.1;
/// Another number of rows in more than this share of the statements: the data are others.
const ROWS_SHARE: f64 = 0.01;
/// Times of a log that are off by more than this say little about the order of statements.
const WHOLE_SECONDS_US: u64 = 500_000;

fn replayed_trials<'a>(input: &CaveatInput<'a>) -> impl Iterator<Item = &'a Trial> {
    input.run.trials.iter().filter(|trial| trial.replayed.is_some())
}

/// BEHIND: statements began later than the schedule says.
pub(super) fn behind_schedule(input: &CaveatInput<'_>) -> Option<Caveat> {
    let limit_ns = (BEHIND_S * 1e9) as u64;
    let mut worst: Option<(&Trial, f64)> = None;
    for trial in replayed_trials(input) {
        let lag = trial.replayed.as_ref().map(|told| &told.lag_ns)?;
        if lag.is_empty() {
            continue;
        }
        let share = lag.count_above(limit_ns) as f64 / lag.len() as f64;
        if worst.is_none_or(|(_, most)| share > most) {
            worst = Some((trial, share));
        }
    }
    let (trial, share) = worst.filter(|(_, share)| *share > 0.0)?;
    let told = trial.replayed.as_ref()?;
    let is_late = |ns: &u64| *ns > limit_ns;
    let from = told.lag_by_second_ns.iter().position(is_late);
    let from = from.map_or_else(String::new, |s| format!(", first in second {}", s + 1));
    let at_end = match told.lag_by_second_ns.last().is_some_and(is_late) {
        true => ", and still at the end",
        false => "",
    };
    let level = if share > LATE_SHARE { CaveatLevel::Warn } else { CaveatLevel::Note };
    Some(caveat_texts::BEHIND.to_caveat_at(
        level,
        &[
            ("share", &format_percent(share)),
            ("load", &input.title(trial)),
            ("limit", &format_time(BEHIND_S)),
            ("from", &from),
            ("at_end", &at_end),
            ("latest", &format_time(told.lag_ns.max_ns() as f64 / 1e9)),
        ],
    ))
}

/// PART-LOAD: what was left out did not load the server.
pub(super) fn part_load(input: &CaveatInput<'_>) -> Option<Caveat> {
    let (mut left_out, mut records) = (0, 0);
    for told in replayed_trials(input).filter_map(|trial| trial.replayed.as_ref()) {
        left_out += told.left_out.iter().map(|left| left.count).sum::<u64>();
        records += told.records;
    }
    let trial = replayed_trials(input).next()?;
    let share = left_out as f64 / records.max(1) as f64;
    let facts = super::super::counters::declared_facts(trial).replay;
    let writes = facts.as_ref().map_or("drop", |replay| replay.writes.as_str());
    if left_out == 0 && matches!(writes, "drop" | "execute") {
        return None;
    }
    let about_writes = match writes {
        "execute" => "",
        "where" => "; of writes the read half was sent",
        "probe" => "; of writes the read half and probes of indexes were sent",
        _ => "; writes were left out",
    };
    let level = if share > PART_SHARE { CaveatLevel::Warn } else { CaveatLevel::Note };
    Some(caveat_texts::PART_LOAD.to_caveat_at(
        level,
        &[
            ("left_out", &format_count(left_out)),
            ("records", &format_plural(records, "record", "records")),
            ("share", &format_percent(share)),
            ("writes", &about_writes),
        ],
    ))
}

/// OTHER-ROWS: statements gave another number of rows than recorded.
pub(super) fn other_rows(input: &CaveatInput<'_>) -> Option<Caveat> {
    let classes =
        replayed_trials(input).filter_map(|t| t.replayed.as_ref()).flat_map(|t| &t.classes);
    let (mut compared, mut differing) = (0, 0);
    for class in classes {
        compared += class.rows_compared;
        differing += class.rows_differing;
    }
    let share = differing as f64 / compared.max(1) as f64;
    let level = if share > ROWS_SHARE { CaveatLevel::Warn } else { CaveatLevel::Note };
    (differing > 0).then(|| {
        caveat_texts::OTHER_ROWS.to_caveat_at(
            level,
            &[
                ("differing", &format_count(differing)),
                ("compared", &format_plural(compared, "statement", "statements")),
                ("share", &format_percent(share)),
            ],
        )
    })
}

/// TWO-CLOCKS: recorded times are the server's, replayed ones ours.
pub(super) fn two_clocks(input: &CaveatInput<'_>) -> Option<Caveat> {
    let mut told = replayed_trials(input).filter_map(|trial| trial.replayed.as_ref());
    told.find(|told| told.classes.iter().any(|class| !class.batches.is_empty()))?;
    let round_trip = super::super::counters::numeric_fact(input.run, "round_trip_us")
        .map_or_else(String::new, |us| format!(", {} to a server at rest", format_time(us / 1e6)));
    Some(caveat_texts::TWO_CLOCKS.to_caveat(&[("round_trip", &round_trip)]))
}

/// WHOLE-SECONDS: the log tells when statements began to the second only.
pub(super) fn whole_seconds(input: &CaveatInput<'_>) -> Option<Caveat> {
    let coarse = |trial: &&Trial| {
        trial
            .replayed
            .as_ref()
            .is_some_and(|told| told.uncertainty_us >= WHOLE_SECONDS_US && !told.lag_ns.is_empty())
    };
    let trial = replayed_trials(input).find(coarse)?;
    let us = trial.replayed.as_ref()?.uncertainty_us;
    Some(caveat_texts::WHOLE_SECONDS.to_caveat(&[("time", &format_time(us as f64 / 1e6))]))
}
