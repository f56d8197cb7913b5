//! What events cost the database server: of a whole load, by class, and in which statements.
//!
//! Amounts are differences of the server's counters between two looks, without what sweat's own looks add, divided by the
//! good events that ended between them. Of a class that ran alone the rounds are repeats, so an interval follows from
//! them; otherwise costs are estimated from the intervals of the load, see `statistics/linear_fit.rs`.

mod by_class;
mod counted;
mod digests;
mod sentence;

use crate::archive::{RunRecord, Trial};

use super::findings::{CostWindow, ServerCostFinding, ServerCostItem};
use counted::{COSTS, LookSpan, OwnCost, middle_looks};
pub(super) use sentence::database_sentence;

/// The middle of a load tells what an event costs if so many events for each worker ended in it: those under way at its two
/// ends count half.
const LEAST_EVENTS: f64 = 20.0;
/// Less than this per event is not worth a word.
const LEAST_COST: f64 = 1e-6;

/// What the events of each load cost the server; loads of which nobody looked at the server have no entry.
pub(super) fn server_costs(run: &RunRecord) -> Vec<ServerCostFinding> {
    let own = OwnCost::of_run(run);
    let loads = run.trials.iter().enumerate();
    loads.filter_map(|(place, trial)| cost_of_load(run, own.as_ref(), place, trial)).collect()
}

fn cost_of_load(
    run: &RunRecord,
    own: Option<&OwnCost>,
    place: usize,
    trial: &Trial,
) -> Option<ServerCostFinding> {
    let (span, middle) = match middle_window(trial) {
        Some(span) => (span, true),
        None => (whole_window(trial)?, false),
    };
    let events = span.all_events(trial);
    if events < 1.0 {
        return None;
    }
    let item = |cost: &counted::CountedCost| {
        let per_event = span.amount(run, own, cost)? / events;
        let (id, title, unit, ..) = *cost;
        let source = span.source(cost);
        (per_event >= LEAST_COST).then_some(ServerCostItem { id, title, unit, per_event, source })
    };
    let classes = by_class::class_costs(run, own, trial);
    let digests = digests::statements_of(&[trial]);
    let per_event: Vec<ServerCostItem> = COSTS.iter().filter_map(item).collect();
    let counted = per_event.iter().find(|item| item.id == counted::STATEMENTS);
    let note = digests::source_note(trial, &digests.0, counted.map(|item| item.per_event));
    Some(ServerCostFinding {
        trial: place,
        window: CostWindow { middle, seconds: span.seconds(), events: events.round() as u64 },
        own_taken_off: own.is_some(),
        per_event,
        method: classes.method,
        by_class: classes.found,
        no_classes_why: classes.why_not,
        statements: digests.0,
        no_statements_why: digests.1,
        statements_note: note,
    })
}

/// The middle of a load, where enough events ended in it.
fn middle_window(trial: &Trial) -> Option<LookSpan<'_>> {
    let span = LookSpan::new(middle_looks(trial))?;
    let least = LEAST_EVENTS * trial.workers.max(1) as f64;
    (span.all_events(trial) >= least).then_some(span)
}

/// All of a load, from before its sessions were opened.
fn whole_window(trial: &Trial) -> Option<LookSpan<'_>> {
    let last = trial.intervals.last()?.ended_ns;
    let whole = LookSpan::new(&trial.looks)?;
    let holds_start = whole.from().interval_ended_ns <= trial.began_ns;
    (holds_start && whole.to().interval_ended_ns >= last).then_some(whole)
}

#[cfg(test)]
mod tests;
