//! What things cost that a workload measured one by one, and one load against another.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, compare, replace_controls, write_paragraph};
use crate::analysis::number_format::{UNKNOWN, format_count, format_number, format_time};
use crate::analysis::{CostChange, CostFinding, speed_word};

/// Columns of the table of one load.
const COLUMNS: [&str; 6] = ["operation", "count", "time", "95 % interval", "server CPU", "rows/s"];

/// A line for each; nothing where there is none.
pub(super) fn write_costs_table(costs: &[CostFinding], out: &mut dyn Write) -> io::Result<()> {
    if costs.is_empty() {
        return Ok(());
    }
    let mut table = TextTable::new(&COLUMNS);
    costs.iter().for_each(|cost| table.add_row(cost_cells(cost)));
    table.write(WIDTH, out)
}

fn cost_cells(cost: &CostFinding) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or_else(|| UNKNOWN.to_owned(), format_time);
    vec![
        cost.name.clone(),
        format_count(cost.count),
        time(cost.time_s),
        cost_interval(cost),
        time(cost.cpu_s),
        cost.rows_per_s.map_or_else(|| UNKNOWN.to_owned(), format_number),
    ]
}

/// The interval in the unit of its median, or why there is none.
pub(in super::super) fn cost_interval(cost: &CostFinding) -> String {
    let Some(time) = cost.time_s else { return cost.remark.clone() };
    match cost.time_low_s.zip(cost.time_high_s) {
        Some((low, high)) => {
            let scale = time_scale(time);
            format!("[{}, {}]", format_number(low * scale), format_number(high * scale))
        }
        None => "too few rounds".to_owned(),
    }
}

/// What makes seconds the unit in which a time is shown.
fn time_scale(seconds: f64) -> f64 {
    match seconds {
        s if s < 999.5e-9 => 1e9,
        s if s < 999.5e-6 => 1e6,
        s if s < 0.9995 => 1e3,
        _ => 1.0,
    }
}

/// One load against another, a line for each thing; the mean over all comes last.
pub(super) fn write_changes(changes: &[CostChange], out: &mut dyn Write) -> io::Result<()> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for one in changes {
        let pair = (one.change.base.as_str(), one.change.variant.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    for (base, variant) in &pairs {
        if pairs.len() > 1 {
            write_paragraph(out, "", &replace_controls(&format!("{variant} against {base}")))?;
        }
        let head = ["operation", "base", "other", "change", "95 % interval", "verdict"];
        let mut table = TextTable::new(&head).align_left("verdict");
        let own = |is_mean: bool| {
            changes.iter().filter(move |one| {
                let change = &one.change;
                (change.base == *base && change.variant == *variant) && one.is_mean == is_mean
            })
        };
        own(false).chain(own(true)).for_each(|one| table.add_row(change_cells(one)));
        table.write(WIDTH, out)?;
    }
    Ok(())
}

fn change_cells(one: &CostChange) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or_else(|| UNKNOWN.to_owned(), format_time);
    let (change, interval) = compare::ratio_and_interval(&one.change);
    let verdict = match one.change.ratio.value {
        Some(_) => speed_word(one.change.verdict),
        None => "not in both",
    };
    vec![
        one.name.clone(),
        time(one.base_s),
        time(one.variant_s),
        change,
        interval,
        verdict.to_owned(),
    ]
}
