//! Caveats about server and machine: size of the data, coldness, durability, others on the machine.

use crate::archive::{RecordedStepKind, StepRecord};

use super::super::counters::{counter_rise, numeric_fact, server_variable};
use super::super::findings::SizeClass;
use super::super::noise::foreign_share;
use super::super::number_format::{
    format_bytes, format_count, format_number, format_percent, format_plural,
};
use super::super::sentences::caveat_texts;
use super::{Caveat, CaveatInput};

/// Share of the pages' bytes that must have come from the block device.
const FROM_DEVICE: f64 = 0.5;
/// CPU of others above this share of the machine is worth a warning, above the second the run is void.
const FOREIGN_WARN: f64 = 0.03;
const FOREIGN_VOID: f64 = 0.15;

/// DATA-SIZE: whether the data fits the pool decides what was measured.
pub(super) fn data_size(input: &CaveatInput<'_>) -> Option<Caveat> {
    let (data, pool) = (input.data.data_bytes?, input.data.pool_bytes?);
    let class = input.data.class?;
    let row = match class {
        SizeClass::InMemory => caveat_texts::DATA_SIZE_MEMORY,
        SizeClass::Borderline => caveat_texts::DATA_SIZE_BORDERLINE,
        SizeClass::IoBound => caveat_texts::DATA_SIZE_DISK,
    };
    Some(row.to_caveat(&[
        ("data", &format_bytes(data)),
        ("ratio", &format_number(input.data.ratio?)),
        ("pool", &format_bytes(pool)),
        ("class", &class.as_str()),
    ]))
}

/// Less than this share of the tables is a part of them.
const WHOLE: f64 = 0.9;

/// PART-TABLE: the load was told a size that leaves most of its tables alone.
pub(super) fn part_table(input: &CaveatInput<'_>) -> Option<Caveat> {
    let share = numeric_fact(input.run, "reached_share").filter(|share| *share < WHOLE)?;
    let rows = |name: &str| numeric_fact(input.run, name).map(|rows| rows as u64);
    let table = input.run.meta.facts.get("table")?.as_str()?;
    Some(caveat_texts::PART_TABLE.to_caveat(&[
        ("size", &format_count(rows("reached_rows")?)),
        ("share", &format_percent(share)),
        ("table", &table),
        ("rows", &format_plural(rows("table_rows")?, "row", "rows")),
    ]))
}

/// SIDE-EFFECT: a setting that moves others with it, or that the server rounds, is not what differs alone.
pub(super) fn side_effect(input: &CaveatInput<'_>) -> Option<Caveat> {
    let mut seen: Vec<&String> = input.run.steps.iter().flat_map(|s| &s.side_effects).collect();
    seen.sort_unstable();
    seen.dedup();
    let first = seen.first()?;
    let more = match seen.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Some(caveat_texts::SIDE_EFFECT.to_caveat(&[("first", first), ("more", &more)]))
}

/// NOT-COLD: after a cold restart the pages a step read must have reached the block device; otherwise the page cache
/// of the operating system served them.
pub(super) fn not_cold(input: &CaveatInput<'_>) -> Option<Caveat> {
    let steps = &input.run.steps;
    let after_restart = |place: usize| steps.get(place + 1);
    let firsts: Vec<&StepRecord> = steps
        .iter()
        .enumerate()
        .filter(|(_, s)| s.kind == RecordedStepKind::RestartCold)
        .filter_map(|(place, _)| after_restart(place))
        .filter(|s| s.ended_ns.is_some())
        .collect();
    for step in &firsts {
        let pages = pages_read(step);
        let device = counter_rise(&step.before, &step.after, "process.read_bytes");
        if let (Some(pages), Some(device)) = (pages, device) {
            let asked = pages * input.data.page_bytes;
            if asked > 0.0 && device < FROM_DEVICE * asked {
                return Some(not_from_device(step, asked, device));
            }
        }
    }
    let unproven = firsts.iter().find(|step| {
        pages_read(step).is_none()
            || counter_rise(&step.before, &step.after, "process.read_bytes").is_none()
    })?;
    Some(caveat_texts::NOT_COLD_UNSEEN.to_caveat(&[("variant", &unproven.variant)]))
}

fn pages_read(step: &StepRecord) -> Option<f64> {
    ["Innodb_pages_read", "Innodb_buffer_pool_reads"]
        .iter()
        .find_map(|name| counter_rise(&step.before, &step.after, name))
}

fn not_from_device(step: &StepRecord, asked: f64, device: f64) -> Caveat {
    caveat_texts::NOT_COLD_CACHED.to_caveat(&[
        ("variant", &step.variant),
        ("asked", &format_bytes(asked)),
        ("device", &format_bytes(device)),
    ])
}

/// DURABILITY: settings that let a crash lose what was committed.
pub(super) fn relaxed_durability(input: &CaveatInput<'_>) -> Option<Caveat> {
    let is = |name: &str, values: &[&str]| {
        server_variable(input.run, name)
            .is_some_and(|v| values.iter().any(|o| o.eq_ignore_ascii_case(v)))
    };
    let mut relaxed = Vec::new();
    if is("innodb_flush_log_at_trx_commit", &["0", "2"]) {
        relaxed.push("innodb_flush_log_at_trx_commit");
    }
    if is("log_bin", &["ON", "1"]) && is("sync_binlog", &["0"]) {
        relaxed.push("sync_binlog");
    }
    if is("innodb_doublewrite", &["OFF", "0"]) {
        relaxed.push("innodb_doublewrite");
    }
    if is("innodb_flush_method", &["nosync", "O_DIRECT_NO_FSYNC"]) {
        relaxed.push("innodb_flush_method");
    }
    if relaxed.is_empty() {
        return None;
    }
    let words: Vec<String> = relaxed
        .iter()
        .map(|name| format!("{name} = {}", server_variable(input.run, name).unwrap_or_default()))
        .collect();
    Some(caveat_texts::DURABILITY.to_caveat(&[("settings", &words.join(", "))]))
}

/// FOREIGN-CPU: CPU that neither the server nor sweat used, as a share of the machine:
/// (busy - server - sweat) / (seconds x CPUs) over each load.
pub(super) fn foreign_cpu(input: &CaveatInput<'_>) -> Option<Caveat> {
    let shares = input.trials.iter().filter_map(|trial| {
        let record = input.run.trials.iter().find(|t| t.id == trial.id)?;
        let step = input.run.steps.iter().find(|s| s.number == record.step)?;
        Some((trial, foreign_share(input.run, step, record)?))
    });
    let (trial, share) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let row = match share {
        s if s > FOREIGN_VOID => caveat_texts::FOREIGN_CPU_VOID,
        s if s > FOREIGN_WARN => caveat_texts::FOREIGN_CPU_SOME,
        _ => return None,
    };
    Some(row.to_caveat(&[("share", &format_percent(share)), ("load", &trial.title)]))
}
