//! Several runs side by side: their figures in a table, their series on one axis that begins with each run's load.
//! Says nothing about which is better: that is `sweat compare`.

use std::io::{self, Write};

use crate::analysis::number_format::{
    UNKNOWN, format_number, format_percent, format_ratio, format_time,
};
use crate::analysis::{RunFindings, TrialFinding};

use super::html;
use super::text::table::TextTable;
use super::text::{WIDTH, write_paragraph};

/// Formats that can show several runs.
pub const MULTI_RUN_FORMATS: &[&str] = &["text", "html"];

/// Writes several runs, and the settings in which they differ, in one of the formats of [`MULTI_RUN_FORMATS`].
///
/// # Errors
/// Only those of `out`.
pub fn write_side_by_side(
    runs: &[RunFindings],
    settings: &[DifferingSetting],
    format: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        "html" => html::write_side_by_side(runs, settings, out),
        _ => write_text(runs, settings, out),
    }
}

/// The load that stands for a run: the longest, of several the first.
pub(super) fn main_load(findings: &RunFindings) -> Option<&TrialFinding> {
    let longer = |a: &&TrialFinding, b: &&TrialFinding| {
        a.seconds.total_cmp(&b.seconds).then(std::cmp::Ordering::Greater)
    };
    findings.results.trials.iter().max_by(longer)
}

/// One figure of all runs.
pub(super) struct FigureRow {
    pub(super) title: String,
    /// A cell per run: the figure, and its change against the first run.
    pub(super) cells: Vec<(String, Option<f64>)>,
}

/// How a figure is read and shown.
type FigureSpec = (&'static str, fn(&TrialFinding) -> Option<f64>, fn(f64) -> String);

const FIGURES: &[FigureSpec] = &[
    ("events/s", |t| t.events_per_s.value, format_number),
    ("response p50", |t| t.response.p50_s, format_time),
    ("response p95", |t| t.response.p95_s, format_time),
    ("response p99", |t| t.response.p99_s, format_time),
    ("response p99.9", |t| t.response.p999_s, format_time),
    ("longest", |t| t.response.max_s, format_time),
    ("failed", |t| t.failed_share, format_percent),
    ("slowest interval, events/s", |t| t.rates.map(|r| r.min), format_number),
    ("stalls", |t| t.stalls.as_ref().map(|s| s.events.len() as f64), |n| format!("{n:.0}")),
    ("work lost in stalls", |t| t.stalls.as_ref().map(|s| s.lost_share), format_percent),
];

/// All figures that any run has.
pub(super) fn figure_rows(runs: &[RunFindings]) -> Vec<FigureRow> {
    let loads: Vec<Option<&TrialFinding>> = runs.iter().map(main_load).collect();
    let row = |title: String, values: Vec<Option<f64>>, show: &dyn Fn(f64) -> String| {
        let first = values.first().copied().flatten().filter(|v| *v > 0.0);
        let cell = |(place, value): (usize, &Option<f64>)| {
            let change = value.zip(first).map(|(v, first)| v / first).filter(|_| place > 0);
            (value.map_or_else(|| UNKNOWN.to_owned(), show), change)
        };
        let cells = values.iter().enumerate().map(cell).collect();
        values.iter().any(Option::is_some).then_some(FigureRow { title, cells })
    };
    let mut rows: Vec<FigureRow> = FIGURES
        .iter()
        .filter_map(|(title, of, show)| {
            row((*title).to_owned(), loads.iter().map(|t| of((*t)?)).collect(), show)
        })
        .collect();
    let mut costs: Vec<(&str, String)> = Vec::new();
    for item in loads.iter().flatten().flat_map(|t| &t.cost) {
        if costs.iter().all(|c| c.0 != item.id) {
            let unit = if item.unit.is_empty() { "" } else { ", " };
            costs.push((item.id, format!("{} per event{unit}{}", item.title, item.unit)));
        }
    }
    for (id, title) in costs {
        let of = |t: &&TrialFinding| t.cost.iter().find(|c| c.id == id)?.per_event;
        let values = loads.iter().map(|t| t.as_ref().and_then(of)).collect();
        rows.extend(row(title, values, &format_number));
    }
    rows
}

/// A ratio as a change: `+6.0 %`; from twice, and from half, on as times.
pub(super) fn format_change(ratio: Option<f64>) -> String {
    match ratio.filter(|r| r.is_finite()) {
        None => String::new(),
        Some(ratio) if ratio >= 2.0 => format_ratio(ratio),
        Some(ratio) if ratio < 0.5 => format!("{}x", format_number(ratio)),
        Some(ratio) => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    }
}

/// A setting that is not the same in all runs: name, and the value in each.
pub type DifferingSetting = (String, Vec<String>);

/// What is to be said of all runs before their figures.
pub(super) fn list_notes(runs: &[RunFindings]) -> Vec<String> {
    let mut notes = Vec::new();
    if runs.iter().any(|r| r.results.trials.len() > 1) {
        notes.push("of several loads in a run the longest is shown".to_owned());
    }
    let mut kinds: Vec<&str> =
        runs.iter().filter_map(main_load).map(|t| t.workload.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() > 1 {
        notes.push(format!("the workloads are not the same: {}", kinds.join(", ")));
    }
    for run in runs {
        if let Some(void) = run.results.void_caveat() {
            notes.push(format!("{} is void: {} [{}]", run.head.id, void.evidence, void.id));
        }
    }
    notes.push("`sweat compare` says whether a difference is more than noise".to_owned());
    notes
}

fn write_text(
    runs: &[RunFindings],
    settings: &[DifferingSetting],
    out: &mut dyn Write,
) -> io::Result<()> {
    for (place, run) in runs.iter().enumerate() {
        let load = match main_load(run) {
            Some(load) if run.results.trials.len() > 1 => format!(", {}", load.title),
            _ => String::new(),
        };
        write_paragraph(
            out,
            &format!("{}  ", run_letter(place)),
            &format!("{}{load}", run.head.id),
        )?;
    }
    writeln!(out)?;
    let mut head = vec![String::new()];
    for place in 0..runs.len() {
        head.push(run_letter(place));
        if place > 0 {
            head.push(format!("{}/A", run_letter(place)));
        }
    }
    let mut columns = TextTable::new(&head);
    for row in figure_rows(runs) {
        let mut cells = vec![row.title];
        for (place, (value, ratio)) in row.cells.into_iter().enumerate() {
            cells.push(value);
            if place > 0 {
                cells.push(format_change(ratio));
            }
        }
        columns.add_row(cells);
    }
    columns.write(WIDTH, out)?;
    writeln!(out)?;
    for (name, values) in settings {
        let list: Vec<String> =
            values.iter().enumerate().map(|(p, v)| format!("{} {v}", run_letter(p))).collect();
        write_paragraph(out, "Differs  ", &format!("{name}: {}", list.join(", ")))?;
    }
    for note in list_notes(runs) {
        write_paragraph(out, "note     ", &note)?;
    }
    Ok(())
}

/// A, B, ..: names of runs are too long for a head.
pub(super) fn run_letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => format!("R{}", place + 1),
    }
}
