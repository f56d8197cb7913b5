//! What an event of an application cost its database, in a sentence.

use crate::archive::RunRecord;

use super::super::findings::{AnswerSentence, RunFindings};
use super::super::number_format::{format_number, format_time};
use super::super::sentences::answer_texts;

/// Fewer statements per event than this are those of others, or what is left of sweat's own.
const LEAST_STATEMENTS: f64 = 0.05;
/// Less waiting per event than this is not worth a word, microseconds.
const LEAST_WAIT_US: f64 = 10.0;

/// The sentence about a single load; none where the load talked to the server itself.
pub(in super::super) fn database_sentence(
    run: &RunRecord,
    found: &RunFindings,
) -> Option<AnswerSentence> {
    let is_observed = run.meta.server.as_ref().is_some_and(|server| server.observed);
    let ([_], [cost]) = (&found.results.trials[..], &found.server_costs[..]) else { return None };
    if !is_observed || !cost.own_taken_off {
        return None;
    }
    let amount = |id: &str| {
        let item = cost.per_event.iter().find(|item| item.id == id);
        item.map_or(0.0, |item| item.per_event)
    };
    let statements = amount("statements");
    if statements < LEAST_STATEMENTS {
        return Some(answer_texts::DATABASE_IDLE.to_sentence(&[]));
    }
    let mut costs = vec![
        format!("{} statements", format_number(statements)),
        format!("{} rows read", format_number(amount("rows_read"))),
    ];
    let cpu = Some(amount("server_cpu_us")).filter(|us| *us > 0.0);
    costs.extend(cpu.map(|us| format!("{} of CPU", format_time(us / 1e6))));
    let wait = Some(amount("row_lock_wait_us")).filter(|us| *us >= LEAST_WAIT_US);
    costs.extend(wait.map(|us| format!("{} of waiting for row locks", format_time(us / 1e6))));
    let last = costs.pop().unwrap_or_default();
    let costs = format!("{} and {last}", costs.join(", "));
    Some(answer_texts::DATABASE.to_sentence(&[("costs", &costs)]))
}
