//! Caveats about the machine: noise before, during and after the loads, memory, limits, clocks.

use super::super::findings::{HealthLevel, NoiseItem};
use super::super::number_format::format_number;
use super::super::sentences::{CaveatTemplate, caveat_texts};
use super::{Caveat, CaveatInput, CaveatLevel};

/// Numbers that have a caveat of their own.
const OWN: &[&str] = &["foreign_cpu_during", "swap_during", "throttled_during", "clock_step"];

/// NOISE: the machine was not quiet, or not the same after a load as before it.
pub(super) fn noisy_machine(input: &CaveatInput<'_>) -> Option<Caveat> {
    let disturbing = |item: &&NoiseItem| {
        let own = OWN.contains(&item.id);
        // What the machine is like is no noise; that it changed is.
        !own && (item.level >= HealthLevel::Warn || is_drift(item) && item.level != HealthLevel::Ok)
    };
    let mut found: Vec<&NoiseItem> = input.noise.iter().filter(disturbing).collect();
    found.sort_by_key(|item| caveat_level(item));
    let first = *found.first()?;
    let words: Vec<String> = found.iter().take(4).map(|item| noise_item_text(item)).collect();
    let more = match found.len().saturating_sub(4) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(caveat_texts::NOISE.to_caveat_at(
        caveat_level(first),
        &[("items", &words.join("; ")), ("more", &more), ("remedy", &first.remedy)],
    ))
}

fn is_drift(item: &NoiseItem) -> bool {
    item.id == "cpu_drift"
}

fn caveat_level(item: &NoiseItem) -> CaveatLevel {
    match item.level {
        HealthLevel::Void => CaveatLevel::Void,
        HealthLevel::Warn => CaveatLevel::Warn,
        HealthLevel::Note | HealthLevel::Ok => CaveatLevel::Note,
    }
}

/// `time lost on the cores 12.0 % before 01-load`.
fn noise_item_text(item: &NoiseItem) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" {}", item.unit) };
    format!("{} {}{unit} {}", item.title, format_number(item.value), item.when)
}

/// One number's own caveat.
fn noise_item_caveat(
    input: &CaveatInput<'_>,
    number: &str,
    row: &CaveatTemplate,
) -> Option<Caveat> {
    let item = input.noise.iter().find(|i| i.id == number && i.level != HealthLevel::Ok)?;
    Some(row.to_caveat_at(
        caveat_level(item),
        &[("item", &noise_item_text(item)), ("remedy", &item.remedy)],
    ))
}

/// SWAP: memory was so short during a load that pages went to disk.
pub(super) fn swapped_pages(input: &CaveatInput<'_>) -> Option<Caveat> {
    noise_item_caveat(input, "swap_during", &caveat_texts::SWAP)
}

/// THROTTLED: a limit kept the server from running.
pub(super) fn throttled_server(input: &CaveatInput<'_>) -> Option<Caveat> {
    noise_item_caveat(input, "throttled_during", &caveat_texts::THROTTLED)
}

/// NTP-STEP: the wall clock was set during a load.
pub(super) fn clock_step(input: &CaveatInput<'_>) -> Option<Caveat> {
    noise_item_caveat(input, "clock_step", &caveat_texts::NTP_STEP)
}
