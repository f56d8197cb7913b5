//! Doubts about the machine: noise before, during and after the loads, memory, limits, clocks.

use super::super::figure::figure;
use super::super::findings::NoiseItem;
use super::super::sentences::{Doubt, doubts};
use super::{Case, Caveat, Level};

/// Numbers that have a caveat of their own.
const OWN: &[&str] = &["foreign_cpu_during", "swap_during", "throttled_during", "clock_step"];

/// NOISE: the machine was not quiet, or not the same after a load as before it.
pub(super) fn noise(case: &Case<'_>) -> Option<Caveat> {
    let disturbing = |item: &&NoiseItem| {
        let own = OWN.contains(&item.id);
        // What the machine is like is no noise; that it changed is.
        !own && (matches!(item.level, "warn" | "void") || is_drift(item) && item.level != "ok")
    };
    let mut found: Vec<&NoiseItem> = case.noise.iter().filter(disturbing).collect();
    found.sort_by_key(|item| level(item));
    let first = *found.first()?;
    let words: Vec<String> = found.iter().take(4).map(|item| words(item)).collect();
    let more = match found.len().saturating_sub(4) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(doubts::NOISE.raise_at(
        level(first),
        &[("items", &words.join("; ")), ("more", &more), ("remedy", &first.remedy)],
    ))
}

fn is_drift(item: &NoiseItem) -> bool {
    item.id == "cpu_drift"
}

fn level(item: &NoiseItem) -> Level {
    match item.level {
        "void" => Level::Void,
        "warn" => Level::Warn,
        _ => Level::Note,
    }
}

/// `time lost on the cores 12.0 % before 01-load`.
fn words(item: &NoiseItem) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" {}", item.unit) };
    format!("{} {}{unit} {}", item.title, figure(item.value), item.when)
}

/// One number's own caveat.
fn of(case: &Case<'_>, number: &str, row: &Doubt) -> Option<Caveat> {
    let item = case.noise.iter().find(|i| i.id == number && i.level != "ok")?;
    Some(row.raise_at(level(item), &[("item", &words(item)), ("remedy", &item.remedy)]))
}

/// SWAP: memory was so short during a load that pages went to disk.
pub(super) fn swap(case: &Case<'_>) -> Option<Caveat> {
    of(case, "swap_during", &doubts::SWAP)
}

/// THROTTLED: a limit kept the server from running.
pub(super) fn throttled(case: &Case<'_>) -> Option<Caveat> {
    of(case, "throttled_during", &doubts::THROTTLED)
}

/// NTP-STEP: the wall clock was set during a load.
pub(super) fn clock_step(case: &Case<'_>) -> Option<Caveat> {
    of(case, "clock_step", &doubts::NTP_STEP)
}
