//! What the server waited for: a table by load or by way, what limits it, what looking cost.

use std::io::{self, Write};

use super::table::{Align, Table};
use super::{WIDTH, paragraph, plain};
use crate::analysis::figure::{UNKNOWN, count, figure, figure_or_dash, percent, time_in_steps};
use crate::analysis::{Findings, WaitFinding, WaitGroup};

/// The whole part; nothing if no waits were gathered.
pub(super) fn waits(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = findings.waits.first() else { return Ok(()) };
    writeln!(out)?;
    if findings.wait_groups.is_empty() {
        loads(&findings.waits).write(WIDTH, out)?;
    } else {
        ways(findings, out)?;
    }
    let alone = findings.waits.iter().filter(|_| findings.wait_groups.is_empty());
    let alone = alone.map(|w| (name(&w.instrument, &w.value), &w.notes));
    let grouped = findings.wait_groups.iter().map(|g| (place(g), &g.notes));
    for (label, notes) in alone.chain(grouped) {
        let label = format!("{label}: ");
        for note in notes {
            paragraph(out, &label, &label, note)?;
        }
    }
    timer(first, out)?;
    if let Some(cost) = &findings.watch_cost {
        paragraph(out, "looking   ", "looking   ", &cost.words)?;
    }
    Ok(())
}

/// The value of a way, or its name.
fn place(group: &WaitGroup) -> String {
    if group.value.is_empty() { plain(&group.way) } else { plain(&group.value) }
}

/// The last part of an instrument's name, with the value of a sweep.
fn name(instrument: &str, value: &str) -> String {
    let short = plain(instrument.rsplit('/').next().unwrap_or(instrument));
    if value.is_empty() { short } else { format!("{short} at {}", plain(value)) }
}

fn loads(waits: &[WaitFinding]) -> Table {
    let mut table = Table::new(&[
        ("waits", Align::Left),
        ("number", Align::Right),
        ("total", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("of", Align::Right),
    ]);
    for wait in waits {
        let step = wait.tick_s.unwrap_or(0.0);
        let shown =
            |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), |v| time_in_steps(v, step));
        let label = match wait.operation.as_str() {
            "" => name(&wait.instrument, &wait.value),
            operation => format!("  {}", plain(operation)),
        };
        table.row(vec![
            label,
            count(wait.count),
            shown(Some(wait.total_s)),
            shown(wait.average_s),
            shown(wait.p50_s),
            shown(wait.p90_s),
            shown(wait.p99_s),
            shown(wait.max_s),
            wait.source.clone(),
        ]);
    }
    table
}

/// A table per instrument, a row per way, and what follows.
fn ways(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
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
        by_way(&name(instrument, ""), &of, step).write(WIDTH, out)?;
        for group in of.iter().filter(|group| !group.words.is_empty()) {
            let label = format!("{}: ", place(group));
            paragraph(out, &label, &label, &group.words)?;
        }
    }
    Ok(())
}

/// Medians over the loads of each way, and the range of the means.
fn by_way(title: &str, groups: &[&WaitGroup], step: f64) -> Table {
    let mut table = Table::new(&[
        (title, Align::Left),
        ("loads", Align::Right),
        ("mean wait", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("waits/s", Align::Right),
        ("events/s", Align::Right),
    ]);
    let shown = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), |v| time_in_steps(v, step));
    for group in groups {
        table.row(vec![
            place(group),
            group.loads.to_string(),
            shown(group.average.map(|a| a.0)),
            shown(group.average.map(|a| a.1)),
            shown(group.average.map(|a| a.2)),
            shown(group.p50.map(|p| p.0)),
            shown(group.p99.map(|p| p.0)),
            figure_or_dash(group.waits_per_s),
            figure_or_dash(group.events_per_s),
        ]);
    }
    table
}

/// How fine and how true the server's clock is.
fn timer(wait: &WaitFinding, out: &mut dyn Write) -> io::Result<()> {
    let tick = match wait.tick_s {
        Some(tick) => format!("ticks of {} ns seen, no time is more exact", figure(tick * 1e9)),
        None => "no tick was seen".to_owned(),
    };
    let clock = match wait.clock {
        Some((ratio, slack)) => {
            format!("its seconds are {} of ours, give or take {}", figure(ratio), percent(slack))
        }
        None => "its seconds were not held against ours, for lack of rows".to_owned(),
    };
    let text = format!("picoseconds by the server, {tick}; {clock}");
    paragraph(out, "timer     ", "timer     ", &text)
}
