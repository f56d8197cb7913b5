//! What the server waited for: a table by load or by variant, what limits it, what looking cost.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, replace_controls, write_paragraph};
use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_time_in_steps, number_or_dash,
};
use crate::analysis::{RunFindings, WaitFinding, WaitGroup};

/// The whole part; nothing if no waits were gathered.
pub(super) fn write_waits(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = findings.waits.first() else { return Ok(()) };
    writeln!(out)?;
    write_waits_table(findings, out)?;
    let alone = findings.waits.iter().filter(|_| findings.wait_groups.is_empty());
    let alone = alone.map(|w| (instrument_label(&w.instrument, &w.value), &w.notes));
    let grouped = findings.wait_groups.iter().map(|g| (group_label(g), &g.notes));
    for (label, notes) in alone.chain(grouped) {
        let label = format!("{label}: ");
        for note in notes {
            write_paragraph(out, &label, note)?;
        }
    }
    write_timer(first, out)?;
    if let Some(cost) = &findings.watch_cost {
        write_paragraph(out, "looking   ", &cost.words)?;
    }
    Ok(())
}

/// The tables alone.
pub(super) fn write_waits_table(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    match (findings.waits.is_empty(), findings.wait_groups.is_empty()) {
        (true, _) => Ok(()),
        (_, true) => waits_table(&findings.waits).write(WIDTH, out),
        (_, false) => write_variants(findings, out),
    }
}

/// The value of a variant, or its name.
fn group_label(group: &WaitGroup) -> String {
    if group.value.is_empty() {
        replace_controls(&group.variant)
    } else {
        replace_controls(&group.value)
    }
}

/// The last part of an instrument's name, with the value of a sweep.
fn instrument_label(instrument: &str, value: &str) -> String {
    let short = replace_controls(instrument.rsplit('/').next().unwrap_or(instrument));
    if value.is_empty() { short } else { format!("{short} at {}", replace_controls(value)) }
}

fn waits_table(waits: &[WaitFinding]) -> TextTable {
    let mut table =
        TextTable::new(&["waits", "number", "total", "mean", "p50", "p90", "p99", "max", "of"]);
    for wait in waits {
        let step = wait.tick_s.unwrap_or(0.0);
        let shown = |v: Option<f64>| {
            v.map_or_else(|| UNKNOWN.to_owned(), |v| format_time_in_steps(v, step))
        };
        let label = match wait.operation.as_str() {
            "" => instrument_label(&wait.instrument, &wait.value),
            operation => format!("  {}", replace_controls(operation)),
        };
        table.add_row(vec![
            label,
            format_count(wait.count),
            shown(Some(wait.total_s)),
            shown(wait.average_s),
            shown(wait.p50_s),
            shown(wait.p90_s),
            shown(wait.p99_s),
            shown(wait.max_s),
            wait.source.as_str().to_owned(),
        ]);
    }
    table
}

/// A table per instrument, a row per variant, and what follows.
fn write_variants(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let step = findings.waits.iter().find_map(|w| w.tick_s).unwrap_or(0.0);
    let mut instruments: Vec<&str> = Vec::new();
    for group in &findings.wait_groups {
        if !instruments.contains(&group.instrument.as_str()) {
            instruments.push(&group.instrument);
        }
    }
    for instrument in instruments {
        let of: Vec<&WaitGroup> =
            findings.wait_groups.iter().filter(|g| g.instrument == instrument).collect();
        variants_table(&instrument_label(instrument, ""), &of, step).write(WIDTH, out)?;
        for group in of.iter().filter(|group| !group.words.is_empty()) {
            let label = format!("{}: ", group_label(group));
            write_paragraph(out, &label, &group.words)?;
        }
    }
    Ok(())
}

/// Medians over the loads of each variant, and the range of the means.
fn variants_table(title: &str, groups: &[&WaitGroup], step: f64) -> TextTable {
    let mut table = TextTable::new(&[
        title,
        "loads",
        "mean wait",
        "from",
        "to",
        "p50",
        "p99",
        "waits/s",
        "events/s",
    ]);
    let shown =
        |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), |v| format_time_in_steps(v, step));
    for group in groups {
        table.add_row(vec![
            group_label(group),
            group.loads.to_string(),
            shown(group.average.map(|a| a.0)),
            shown(group.average.map(|a| a.1)),
            shown(group.average.map(|a| a.2)),
            shown(group.p50.map(|p| p.0)),
            shown(group.p99.map(|p| p.0)),
            number_or_dash(group.waits_per_s),
            number_or_dash(group.events_per_s),
        ]);
    }
    table
}

/// How fine and how true the server's clock is.
fn write_timer(wait: &WaitFinding, out: &mut dyn Write) -> io::Result<()> {
    let tick = match wait.tick_s {
        Some(tick) => {
            format!("ticks of {} ns seen, no time is more exact", format_number(tick * 1e9))
        }
        None => "no tick was seen".to_owned(),
    };
    let clock = match wait.clock {
        Some((ratio, slack)) => {
            format!(
                "its seconds are {} of ours, give or take {}",
                format_number(ratio),
                format_percent(slack)
            )
        }
        None => "its seconds could not be compared with ours, for lack of rows".to_owned(),
    };
    let text = format!("picoseconds by the server, {tick}; {clock}");
    write_paragraph(out, "timer     ", &text)
}
