//! Which statements events issue, from the digests that the server counted over loads.

use std::collections::BTreeMap;

use crate::archive::{DigestCounts, Trial};

use super::super::findings::DigestFinding;

/// Statements of one digest that run more often than this per event could be one.
const MOST_CALLS: f64 = 5.0;
/// Statements that run less often than once in so many events are not of the events: sessions being opened, other users.
const LEAST_CALLS: f64 = 0.01;
/// Statements that are kept of a load.
const MOST_STATEMENTS: usize = 50;
/// A log with less than this share of the statements that the server counted lacks some.
const WHOLE_LOG: f64 = 0.9;

/// Statements of these loads together, and why there are none.
pub(super) fn statements_of(trials: &[&Trial]) -> (Vec<DigestFinding>, Option<String>) {
    let records = trials.iter().filter_map(|trial| trial.digests.as_ref());
    let why_not = records.clone().find_map(|record| record.why_not.clone());
    if why_not.is_some() || records.clone().next().is_none() {
        return (Vec::new(), why_not);
    }
    let of_trial = |trial: &&Trial| trial.response.iter().map(|times| times.len()).sum::<u64>();
    let events: u64 = trials.iter().map(of_trial).sum();
    if events == 0 {
        return (Vec::new(), None);
    }
    let mut sums: BTreeMap<(&str, &str), DigestCounts> = BTreeMap::new();
    for one in records.flat_map(|record| &record.statements) {
        let sum = sums.entry((&one.schema, &one.text)).or_default();
        sum.calls += one.calls;
        sum.rows_sent += one.rows_sent;
        sum.rows_examined += one.rows_examined;
        sum.rows_affected += one.rows_affected;
        sum.seconds += one.seconds;
    }
    let finding = |((schema, text), sum): (&(&str, &str), &DigestCounts)| {
        let per_call = |amount: f64| amount / sum.calls as f64;
        let calls_per_event = sum.calls as f64 / events as f64;
        DigestFinding {
            text: (*text).to_owned(),
            schema: (*schema).to_owned(),
            calls_per_event,
            rows_sent_per_call: per_call(sum.rows_sent as f64),
            rows_examined_per_call: per_call(sum.rows_examined as f64),
            rows_affected_per_call: per_call(sum.rows_affected as f64),
            seconds_per_call: per_call(sum.seconds),
            repeated: calls_per_event > MOST_CALLS && !text.is_empty(),
        }
    };
    let mut found: Vec<DigestFinding> = sums.iter().map(finding).collect();
    found.retain(|one| one.calls_per_event >= LEAST_CALLS);
    found.sort_by(|a, b| b.calls_per_event.total_cmp(&a.calls_per_event));
    found.truncate(MOST_STATEMENTS);
    (found, None)
}

/// That statements come from a log, and what it lacks of those that the server counted per event.
pub(super) fn source_note(
    trial: &Trial,
    found: &[DigestFinding],
    counted: Option<f64>,
) -> Option<String> {
    let record = trial.digests.as_ref().filter(|record| record.why_not.is_none())?;
    if !record.source.contains("slow") {
        return None;
    }
    let source = &record.source;
    let logged: f64 = found.iter().map(|one| one.calls_per_event).sum();
    let is_cut = found.len() >= MOST_STATEMENTS;
    let share = counted.filter(|_| !is_cut).map_or(1.0, |counted| logged / counted);
    Some(match share < WHOLE_LOG {
        false => format!("Statements are from the {source}."),
        true => format!(
            "Statements are from the {source}, which has {:.0} % of them: sessions that were open \
             before the load are not logged. Have the application reconnect.",
            100.0 * share
        ),
    })
}
