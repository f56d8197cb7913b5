//! The machines that shared a load, a row each.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, replace_controls};
use crate::analysis::MachineFinding;
use crate::analysis::number_format::{format_count, format_time, number_or_dash};
use crate::archive::RunState;

/// Characters of a name that are shown.
const NAME_WIDTH: usize = 20;

/// Up to so many machines have a row each on one screen.
const FEW: usize = 4;

/// The machines where there is room for little: a row each, or all of them in a line.
pub(super) fn write_few_machines(
    machines: &[MachineFinding],
    out: &mut dyn Write,
) -> io::Result<()> {
    if machines.is_empty() {
        return Ok(());
    }
    if machines.len() <= FEW {
        write_machines(machines, out)?;
    } else {
        let rates = || machines.iter().filter_map(|machine| machine.events_per_s);
        let bounds = [rates().reduce(f64::min), rates().reduce(f64::max)].map(number_or_dash);
        let all = format_count(machines.len() as u64);
        writeln!(out, "machines     {all}, each {} to {} events/s", bounds[0], bounds[1])?;
    }
    writeln!(out)
}

/// Rates and response times; latencies in milliseconds.
pub(super) fn write_machines(machines: &[MachineFinding], out: &mut dyn Write) -> io::Result<()> {
    if machines.is_empty() {
        return Ok(());
    }
    let head = ["machine", "share", "workers", "events/s", "p50 ms", "p99 ms", "late p99", "start"];
    let has_loads = machines.iter().any(|machine| !machine.load.is_empty());
    let load = if has_loads { &["load"][..] } else { &[] };
    let mut table = TextTable::new(&[load, &head[..]].concat());
    for machine in machines {
        let mut cells = machine_cells(machine);
        if has_loads {
            // Its number; names of variants can be long.
            let number = machine.load.split('-').next().unwrap_or_default();
            cells.insert(0, number.to_owned());
        }
        table.add_row(cells);
    }
    table.write(WIDTH, out)?;
    let bounds = machines.iter().filter_map(|machine| machine.clock_bound_s);
    match bounds.reduce(f64::max) {
        Some(bound) => writeln!(out, "clocks within {} of the coordinator's", format_time(bound)),
        None => Ok(()),
    }
}

fn machine_cells(machine: &MachineFinding) -> Vec<String> {
    let name = replace_controls(&machine.name);
    let name = super::shorten_cell(&name, NAME_WIDTH);
    let state = match machine.state {
        RunState::Done => "",
        RunState::Failed => " (failed)",
        RunState::Interrupted => " (stopped)",
        RunState::Running => " (cut off)",
    };
    let milliseconds = |seconds: Option<f64>| number_or_dash(seconds.map(|s| s * 1e3));
    vec![
        format!("{name}{state}"),
        machine.share.clone(),
        format_count(machine.workers as u64),
        number_or_dash(machine.events_per_s),
        milliseconds(machine.p50_s),
        milliseconds(machine.p99_s),
        machine.lateness_p99_s.map_or_else(|| "-".to_owned(), format_time),
        if machine.started_s > 0.0 {
            format!("+{}", format_time(machine.started_s))
        } else {
            "first".to_owned()
        },
    ]
}
