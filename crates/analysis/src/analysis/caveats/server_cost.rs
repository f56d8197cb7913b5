//! What events do to the server that they need not do.

use super::super::findings::{
    Caveat, ClassCostFinding, ClassCostMethod, CostWindow, DigestFinding, ServerCostFinding,
};
use super::super::number_format::{format_number, format_percent, format_time};
use super::super::sentences::caveat_texts;
use super::CaveatInput;
use crate::archive::Trial;

/// Connections per event that are no longer those of a few sessions that were lost.
const MOST_CONNECTIONS: f64 = 0.5;
/// What waiting for row locks is among the costs, and the least share of an event's time that is worth a word.
const WAIT: &str = "row_lock_wait_us";
const LEAST_WAIT: f64 = 0.1;
/// Characters of a statement that fit in a sentence.
const STATEMENT: usize = 120;

/// N-PLUS-1: an event runs the same statement again and again. A workload that talks to the server itself was told to; it is
/// told only of loads whose statements come from elsewhere, and where classes ran alone.
pub(super) fn repeated_statements(input: &CaveatInput<'_>) -> Option<Caveat> {
    let cost = input.costs.iter().find(|cost| is_application(input, cost))?;
    let repeated = |one: &&DigestFinding| one.repeated;
    let of_classes = cost.by_class.iter().flat_map(|class| {
        class.statements.iter().filter(repeated).map(|one| (Some(&*class.class), one))
    });
    let of_load = cost.statements.iter().filter(repeated).map(|one| (None, one));
    let found: Vec<(Option<&str>, &DigestFinding)> = match cost.method {
        Some(ClassCostMethod::Alone) => of_classes.collect(),
        _ => of_load.collect(),
    };
    let most = found.iter().max_by(|a, b| a.1.calls_per_event.total_cmp(&b.1.calls_per_event));
    let (class, worst) = most?;
    let more = match found.len() - 1 {
        0 => String::new(),
        1 => "; 1 more statement is repeated".to_owned(),
        more => format!("; {more} more statements are repeated"),
    };
    let event = class.map_or_else(|| "an event".to_owned(), |c| format!("an event of class {c}"));
    Some(caveat_texts::REPEATED_STATEMENT.to_caveat(&[
        ("event", &event),
        ("times", &format_number(worst.calls_per_event)),
        ("statement", &shortened(&worst.text)),
        ("more", &more),
    ]))
}

/// LOCK-WAITS: the events of an application wait for each other in its database. The class that waits longest is named, where
/// classes are told apart.
pub(super) fn row_lock_waits(input: &CaveatInput<'_>) -> Option<Caveat> {
    let is_observed = input.run.meta.server.as_ref().is_some_and(|server| server.observed);
    let cost = input.costs.first().filter(|_| is_observed)?;
    let of_class = |class: &ClassCostFinding| {
        let item = class.costs.iter().find(|item| item.id == WAIT && !item.unsure)?;
        let time = event_seconds(input, cost, Some(&class.class))?;
        Some((format!("an event of class {}", class.class), item.per_event.value? / 1e6, time))
    };
    let of_load = || {
        let item = cost.per_event.iter().find(|item| item.id == WAIT)?;
        Some(("an event".to_owned(), item.per_event / 1e6, event_seconds(input, cost, None)?))
    };
    let by_class = cost.by_class.iter().filter_map(of_class);
    let longest = by_class.max_by(|a, b| a.1.total_cmp(&b.1)).or_else(of_load);
    let (event, wait, time) = longest?;
    // What the server counts in whole milliseconds may add up to a little more than the events took.
    let share = (wait / time).min(1.0);
    (share >= LEAST_WAIT).then(|| {
        caveat_texts::LOCK_WAITS.to_caveat(&[
            ("event", &event),
            ("wait", &format_time(wait)),
            ("share", &format_percent(share)),
        ])
    })
}

/// How long events took in the mean, from their start: of a class in the loads that tell its costs.
fn event_seconds(
    input: &CaveatInput<'_>,
    cost: &ServerCostFinding,
    class: Option<&String>,
) -> Option<f64> {
    let loads = &input.run.trials[cost.trial];
    let alone = input.run.class_loads.iter().filter(|load| load.only_class.as_ref() == class);
    let loads: Vec<&Trial> = match (class, cost.method) {
        (Some(_), Some(ClassCostMethod::Alone)) => alone.collect(),
        _ => vec![loads],
    };
    let (mut sum, mut count) = (0.0, 0);
    for load in loads {
        for (name, times) in load.classes.iter().zip(&load.service) {
            if class.is_none_or(|class| class == name) && !times.is_empty() {
                sum += times.mean() * times.len() as f64;
                count += times.len();
            }
        }
    }
    (count > 0).then(|| sum / count as f64 / 1e9)
}

fn is_application(input: &CaveatInput<'_>, cost: &ServerCostFinding) -> bool {
    let sends_none = || input.trials[cost.trial].counts.iter().all(|c| c.name != "queries");
    cost.method == Some(ClassCostMethod::Alone) || sends_none()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(STATEMENT) {
        Some((at, _)) => format!("{} ..", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// CONNECT-PER-EVENT: most events open a connection of their own. Sessions that the load opened at its start don't count.
pub(super) fn connections_per_event(input: &CaveatInput<'_>) -> Option<Caveat> {
    let per_event = |cost: &ServerCostFinding| {
        let item = cost.per_event.iter().find(|item| item.id == "connections")?;
        let CostWindow { middle, events, .. } = cost.window;
        let workers = if middle { 0 } else { input.trials[cost.trial].workers };
        Some(item.per_event - workers as f64 / events as f64)
    };
    let most = input.costs.iter().filter_map(per_event).reduce(f64::max)?;
    (most > MOST_CONNECTIONS).then(|| {
        caveat_texts::CONNECT_PER_EVENT.to_caveat(&[("connections", &format_number(most))])
    })
}
