//! Caveats about a load that several machines shared: are all its parts there, did they run together, and alike?

use std::collections::BTreeSet;

use crate::archive::{ArrivalKind, MachineRecord, MergeRecord, RunState};

use super::super::findings::MachineFinding;
use super::super::machines::machine_findings;
use super::super::number_format::{format_percent, format_plural, format_time};
use super::super::sentences::caveat_texts;
use super::client::{BUSY_CORE, is_too_late};
use super::{Caveat, CaveatInput};

/// Starts that lie further apart than this are told, seconds.
const APART_S: f64 = 0.1;
/// Starts that lie further apart than this share of the shortest load make it another load.
const APART_SHARE: f64 = 0.05;
/// A machine whose rate or median differs by more than this from the others' median is told.
const UNEVEN: f64 = 0.25;

fn merged<'a>(input: &CaveatInput<'a>) -> Option<&'a MergeRecord> {
    input.run.merged.as_ref()
}

fn machine_text(name: &str, share: &str, load: &str) -> String {
    match load {
        "" => format!("share {share} ({name})"),
        load => format!("share {share} of {load} ({name})"),
    }
}

/// MACHINES-PART: a share of the load is missing, was cut off, or could not be read whole.
pub(super) fn missing_parts(input: &CaveatInput<'_>) -> Option<Caveat> {
    let merged = merged(input)?;
    if !merged.missing.is_empty() {
        let all = merged.missing.len() + merged.machines.len();
        return Some(caveat_texts::MACHINES_MISSING.to_caveat(&[
            ("missing", &merged.missing.join(", ")),
            ("all", &format_plural(all as u64, "share", "shares")),
        ]));
    }
    let parts: Vec<(&MachineRecord, String)> =
        merged.machines.iter().filter_map(|machine| Some((machine, part_text(machine)?))).collect();
    let ((first, why), rest) = parts.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
    Some(caveat_texts::MACHINES_PART.to_caveat(&[
        ("machine", &machine_text(&first.name, &first.share.text, &first.load)),
        ("why", why),
        ("more", &more),
    ]))
}

/// Why a machine's data are not all of its share.
fn part_text(machine: &MachineRecord) -> Option<String> {
    let why = machine.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    match machine.state {
        RunState::Running => Some("its run folder was not closed".to_owned()),
        RunState::Failed => Some(format!("its run failed{why}")),
        RunState::Interrupted => Some("its run was stopped".to_owned()),
        RunState::Done => machine.damage.first().map(|first| format!("damaged: {first}")),
    }
}

/// MACHINES-VOID: a machine's own run is void for a reason that the sum does not show.
pub(super) fn void_parts(input: &CaveatInput<'_>) -> Option<Caveat> {
    let mut voids = merged(input)?.machines.iter().filter(|machine| !machine.voids.is_empty());
    let first = voids.next()?;
    let more = match voids.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let why = first.voids.first()?;
    Some(caveat_texts::MACHINES_VOID.to_caveat(&[
        ("machine", &machine_text(&first.name, &first.share.text, &first.load)),
        ("why", why),
        ("folder", &first.folder),
        ("more", &more),
    ]))
}

/// MACHINES-APART: the loads did not start together.
pub(super) fn apart_starts(input: &CaveatInput<'_>) -> Option<Caveat> {
    let machines = machine_findings(input.run);
    let last = machines.iter().max_by(|a, b| a.started_s.total_cmp(&b.started_s))?;
    let same_load = machines.iter().filter(|machine| machine.load == last.load);
    let shortest = same_load.map(|machine| machine.seconds).reduce(f64::min)?;
    if last.started_s <= APART_S {
        return None;
    }
    let is_other_load = last.started_s > APART_SHARE * shortest;
    let row = match is_other_load {
        true => caveat_texts::MACHINES_APART_VOID,
        false => caveat_texts::MACHINES_APART,
    };
    Some(row.to_caveat(&[
        ("machine", &machine_text(&last.name, &last.share, &last.load)),
        ("late", &format_time(last.started_s)),
    ]))
}

/// CLIENT-BOUND by machine: one that is late or busy is seen, however many others are not.
pub(super) fn bound_machine(input: &CaveatInput<'_>) -> Option<Caveat> {
    let machines = machine_findings(input.run);
    let late = |m: &&MachineFinding| is_too_late(m.lateness_p99_s.unwrap_or(0.0), m.p50_s);
    if let Some(machine) = machines.iter().find(late) {
        let p99 = machine.lateness_p99_s.map(format_time).unwrap_or_default();
        return Some(bound_caveat(machine, &format!("started events late: p99 {p99}")));
    }
    let share = |m: &MachineFinding| m.cpu_share.filter(|share| *share > BUSY_CORE);
    let machine = machines.iter().find(|machine| share(machine).is_some())?;
    let used = format_percent(share(machine)?);
    Some(bound_caveat(machine, &format!("used {used} of a core per thread")))
}

fn bound_caveat(machine: &MachineFinding, what: &str) -> Caveat {
    caveat_texts::CLIENT_BOUND_MACHINE.to_caveat(&[
        ("machine", &machine_text(&machine.name, &machine.share, &machine.load)),
        ("what", &what),
    ])
}

/// MACHINES-UNEVEN: a machine saw another server than the others, or had less of itself to give.
pub(super) fn uneven_machines(input: &CaveatInput<'_>) -> Option<Caveat> {
    let machines = machine_findings(input.run);
    let merged = merged(input)?;
    let is_open = |kind: &ArrivalKind| *kind != ArrivalKind::Closed;
    let open = input.run.trials.iter().any(|trial| is_open(&trial.arrival.kind));
    // An open loop is split by weights, a closed one by workers.
    let parts = merged.machines.iter().map(|machine| {
        let weight = machine.share.weights.get(machine.share.number.saturating_sub(1));
        let weight = weight.filter(|_| open).map(|weight| f64::from(*weight));
        weight.unwrap_or(machine.workers as f64).max(1.0)
    });
    let rates: Vec<Option<f64>> =
        machines.iter().zip(parts).map(|(m, part)| Some(m.events_per_s? / part)).collect();
    let medians: Vec<Option<f64>> = machines.iter().map(|machine| machine.p50_s).collect();
    let found = [("rate for its share", rates), ("median response time", medians)];
    let loads: BTreeSet<&str> = machines.iter().map(|machine| &*machine.load).collect();
    let (what, place, by) = loads
        .into_iter()
        .flat_map(|load| found.iter().map(move |(what, values)| (load, *what, values)))
        .filter_map(|(load, what, values)| {
            let own =
                |(value, m): (&Option<f64>, &MachineFinding)| value.filter(|_| m.load == load);
            let values: Vec<Option<f64>> = values.iter().zip(&machines).map(own).collect();
            furthest_apart(&values).map(|(at, by)| (what, at, by))
        })
        .max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
    let direction = if by > 0.0 { "above" } else { "below" };
    let machine = &machines[place];
    Some(caveat_texts::MACHINES_UNEVEN.to_caveat(&[
        ("machine", &machine_text(&machine.name, &machine.share, &machine.load)),
        ("what", &what),
        ("by", &format_percent(by.abs())),
        ("direction", &direction),
    ]))
}

/// The value that is furthest from the median of all, and by which part of it, where that is too far.
fn furthest_apart(values: &[Option<f64>]) -> Option<(usize, f64)> {
    let mut known: Vec<f64> = values.iter().flatten().copied().collect();
    known.sort_by(f64::total_cmp);
    let middle = known.len() / 2;
    let median = match known.len() % 2 {
        1 => known[middle],
        _ if known.is_empty() => return None,
        _ => (known[middle - 1] + known[middle]) / 2.0,
    };
    let apart = |(at, value): (usize, &Option<f64>)| Some((at, (*value)? / median - 1.0));
    let all = values.iter().enumerate().filter_map(apart);
    all.filter(|(_, by)| by.abs() > UNEVEN).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}
