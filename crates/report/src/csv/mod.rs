//! CSV: `csv` is the series over time, `csv-summary` a row per load. Empty cells are not known, never zero.

use std::io::{self, Write};

use crate::analysis::{Findings, IntervalFinding, LatencySummary, RunFindings, TrialFinding};

use super::{ReportFormat, ReportStyle};

/// The series over time.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "csv",
    about: "the series over time, a row per interval or sample",
    refuse: ReportFormat::shows_all,
    write: write_series,
};

fn write_series(findings: Findings<'_>, _look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let run = match findings {
        Findings::Run(run) => Some(run),
        // The series of several runs lie over each other in time: each run has its own.
        Findings::Comparison(_) => None,
    };
    let series = run.map(|run| &run.timeline.series[..]).unwrap_or_default();
    write!(out, "{HEAD}")?;
    series.iter().try_for_each(|s| write!(out, ",{}", s.id))?;
    writeln!(out)?;
    if let Some(run) = run {
        for mark in collect_rows(run) {
            write_row(out, &row_cells(run, &mark))?;
        }
    }
    Ok(())
}

/// Columns before those of the series; times in seconds.
const HEAD: &str = "ts_unix,t_s,seconds,variant,kind,pass,pool,events,events_per_s,\
    p50_s,p95_s,p99_s,max_s,errors,in_flight,backlog";

/// Samples that began within this belong to one row: probes look at the same tick one after the other.
const SAME_TICK_S: f64 = 0.05;

/// A row: an interval of a load, with the samples that fell into it, or a tick of samples outside any.
struct CsvRow<'a> {
    /// End of the interval, or the time of the tick.
    at_s: f64,
    interval: Option<&'a IntervalFinding>,
    /// The latest value of each series in it.
    values: Vec<Option<f64>>,
}

fn collect_rows(findings: &RunFindings) -> Vec<CsvRow<'_>> {
    let timeline = &findings.timeline;
    let none = vec![None; timeline.series.len()];
    let mut marks: Vec<CsvRow<'_>> = timeline
        .intervals
        .iter()
        .map(|i| CsvRow { at_s: i.began_s + i.seconds, interval: Some(i), values: none.clone() })
        .collect();
    marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut ticks: Vec<CsvRow<'_>> = Vec::new();
    for (column, series) in timeline.series.iter().enumerate() {
        for (at, value) in &series.points {
            let place = marks.partition_point(|m| m.at_s < *at);
            let inside =
                marks.get_mut(place).filter(|m| m.interval.is_some_and(|i| i.began_s < *at));
            match inside {
                Some(mark) => mark.values[column] = *value,
                None => {
                    let mut values = none.clone();
                    values[column] = *value;
                    ticks.push(CsvRow { at_s: *at, interval: None, values });
                }
            }
        }
    }
    ticks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    for tick in ticks {
        match marks.last_mut().filter(|m| m.interval.is_none() && tick.at_s - m.at_s < SAME_TICK_S)
        {
            Some(last) => {
                for (kept, new) in last.values.iter_mut().zip(tick.values) {
                    *kept = new.or(*kept);
                }
            }
            None => marks.push(tick),
        }
    }
    marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    marks
}

fn row_cells(findings: &RunFindings, mark: &CsvRow<'_>) -> Vec<String> {
    let unix = findings.head.origin_unix_ns as f64 / 1e9 + mark.at_s;
    let phases = &findings.timeline.phases;
    let trial = mark.interval.map(|i| &findings.results.trials[i.trial]);
    let phase = phases.iter().rev().find(|p| match mark.interval {
        Some(i) => p.trial == Some(i.trial),
        None => p.began_s <= mark.at_s && mark.at_s <= p.ended_s,
    });
    let interval = |of: fn(&IntervalFinding) -> String| mark.interval.map(of).unwrap_or_default();
    let mut cells = vec![
        format!("{unix:.3}"),
        format!("{:.3}", mark.at_s),
        interval(|i| format_number(Some(i.seconds))),
        phase.map(|p| p.variant.clone()).unwrap_or_default(),
        phase.map(|p| p.kind.to_string()).unwrap_or_default(),
        trial.map(|t| t.pass.to_string()).unwrap_or_default(),
        phase.map(|p| p.temperature.as_str().to_owned()).unwrap_or_default(),
        interval(|i| i.events.to_string()),
        interval(|i| format_number(i.events_per_s)),
        interval(|i| format_number(i.response.p50_s)),
        interval(|i| format_number(i.response.p95_s)),
        interval(|i| format_number(i.response.p99_s)),
        interval(|i| format_number(i.response.max_s)),
        interval(|i| i.errors.to_string()),
        interval(|i| i.in_flight.to_string()),
        interval(|i| i.backlog.to_string()),
    ];
    cells.extend(mark.values.iter().map(|value| format_number(*value)));
    cells
}

/// A row per load.
pub(super) const SUMMARY_FORMAT: ReportFormat = ReportFormat {
    name: "csv-summary",
    about: "a row per load",
    refuse: ReportFormat::shows_all,
    write: write_summary,
};

fn write_summary(
    findings: Findings<'_>,
    _look: ReportStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let costs = findings.results().trials.first().map(|t| &t.cost[..]).unwrap_or_default();
    write!(out, "{SUMMARY_HEAD}")?;
    costs.iter().try_for_each(|c| write!(out, ",{}_per_event", c.id))?;
    writeln!(out)?;
    for trial in &findings.results().trials {
        write_row(out, &summary_cells(findings, trial))?;
    }
    Ok(())
}

const SUMMARY_HEAD: &str = "run,trial,variant,pass,pool,workload,arrival,workers,seconds,events,\
    events_per_s,failed,response_p50_s,response_p95_s,response_p99_s,response_p999_s,\
    response_max_s,service_p50_s,service_p95_s,service_p99_s,service_p999_s,service_max_s,\
    lateness_p99_s,disk_reads,disk_bytes,warm_s,warm_bytes,times_faster,void,unbegun,\
    unbegun_share,unbegun_oldest_s,response_mean_s,response_min_s,queries_per_s,reads_per_s,\
    writes_per_s,other_per_s";

fn summary_cells(findings: Findings<'_>, trial: &TrialFinding) -> Vec<String> {
    let (id, variants) = match findings {
        Findings::Run(run) => (run.head.id.clone(), &run.variants[..]),
        Findings::Comparison(found) => (found.joined_ids(), &[][..]),
    };
    let results = findings.results();
    let variant = variants.iter().find(|w| w.variant == trial.variant);
    let place = results.trials.iter().position(|t| t.id == trial.id);
    let faster = variant.and_then(|w| match place {
        p if p == w.first => w.times_faster.value,
        p if p == w.second => w.second_times_faster.value,
        _ => None,
    });
    let mut cells = vec![
        id,
        trial.id.clone(),
        trial.variant.clone(),
        trial.pass.to_string(),
        trial.temperature.as_str().to_owned(),
        trial.workload.clone(),
        trial.arrival.clone(),
        trial.workers.to_string(),
        format_number(Some(trial.seconds)),
        trial.events.to_string(),
        format_number(trial.events_per_s.value),
        trial.failed.to_string(),
    ];
    let five =
        |l: &LatencySummary| [l.p50_s, l.p95_s, l.p99_s, l.p999_s, l.max_s].map(format_number);
    cells.extend(five(&trial.response));
    cells.extend(five(&trial.service));
    cells.extend([
        format_number(trial.lateness.p99_s),
        format_number(trial.disk_reads.map(|c| c.value)),
        format_number(trial.disk_bytes.map(|c| c.value)),
        format_number(variant.and_then(|w| w.warm_s)),
        format_number(variant.and_then(|w| w.warm_bytes)),
        format_number(faster),
        results.void_caveat().is_some().to_string(),
        trial.unbegun.map_or(0, |u| u.arrivals).to_string(),
        format_number(trial.unbegun.map_or(Some(0.0), |u| Some(u.share))),
        format_number(trial.unbegun.map(|u| u.oldest_s)),
    ]);
    cells.extend([trial.response.mean_s, trial.response.min_s].map(format_number));
    let per_s = |name| trial.counts.iter().find(|c| c.name == name).map(|c| c.per_s);
    cells.extend(["queries", "reads", "writes", "other"].map(|name| format_number(per_s(name))));
    cells.extend(trial.cost.iter().map(|c| format_number(c.per_event)));
    cells
}

/// Six significant digits at least, plain decimal notation; empty if not known.
fn format_number(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() && v.fract() == 0.0 && v.abs() < 1e15 => format!("{v:.0}"),
        Some(v) if v.is_finite() => {
            let places = (5 - v.abs().log10().floor() as i32).clamp(0, 12) as usize;
            let text = format!("{v:.places$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        _ => String::new(),
    }
}

/// One line, quoted as RFC 4180 asks. A text that a spreadsheet would take for a formula gets a quote in front.
fn write_row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    let quoted: Vec<String> = cells.iter().map(|cell| quote_cell(cell)).collect();
    writeln!(out, "{}", quoted.join(","))
}

fn quote_cell(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_and_no_more() {
        for (value, expected) in [
            (0.0, "0"),
            (1_234_567.0, "1234567"),
            (0.000_040_123_456, "0.0000401235"),
            (12.5, "12.5"),
            (15_207.123_9, "15207.1"),
            (f64::NAN, ""),
        ] {
            assert_eq!(format_number(Some(value)), expected);
        }
        assert_eq!(format_number(None), "");
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(quote_cell("a,b"), "\"a,b\"");
        assert_eq!(quote_cell("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
        assert_eq!(quote_cell("=1+1"), "'=1+1");
        assert_eq!(quote_cell("-1.5"), "-1.5");
    }
}
