//! A sweep and a search for capacity as tables, with what follows from them.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, replace_controls, write_paragraph};
use crate::analysis::number_format::{UNKNOWN, format_number, format_percent, number_or_dash};
use crate::analysis::{CapacityFinding, ScalingFinding, ScalingShape};

/// The points of a sweep, the law fitted to them, and caveats.
pub(super) fn write_sweep(scaling: &ScalingFinding, out: &mut dyn Write) -> io::Result<()> {
    write_points(scaling, out)?;
    if let Some(law) = &scaling.law {
        let text = format!(
            "rate(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)) with \
             lambda {}, sigma {}, kappa {}, R2 {}",
            format_number(law.lambda),
            format_small(law.sigma),
            format_small(law.kappa),
            format_args!("{:.4}", law.r2),
        );
        write_paragraph(out, "law    ", &text)?;
    }
    if let (Some((n, low, high)), Some((rate, slow, fast))) = (scaling.peak_n, scaling.peak_rate) {
        let text = format!(
            "at a load of {} ({} to {}), {} events/s ({} to {})",
            format_number(n),
            format_number(low),
            format_number(high),
            format_number(rate),
            format_number(slow),
            format_number(fast),
        );
        write_paragraph(out, "peak   ", &text)?;
    }
    if let Some((one, ceiling)) = scaling.two_lines {
        let better = match scaling.better {
            ScalingShape::Law => "; the law describes the points better",
            ScalingShape::TwoLines => "; this describes the points better than the law",
            _ => "; the points can't distinguish it from the law",
        };
        let text = format!(
            "{} events/s for each, up to {} events/s{better}",
            format_number(one),
            format_number(ceiling)
        );
        write_paragraph(out, "lines  ", &text)?;
    }
    write_notes(&scaling.notes, out)
}

/// The points alone.
pub(super) fn write_points(scaling: &ScalingFinding, out: &mut dyn Write) -> io::Result<()> {
    points_table(scaling).write(WIDTH, out)
}

/// Small numbers as they are, not cut to zero.
fn format_small(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.3e}") } else { format_number(value) }
}

fn points_table(scaling: &ScalingFinding) -> TextTable {
    let mut table = TextTable::new(&[
        &*scaling.axis,
        "load",
        "events/s",
        "95 % from",
        "to",
        "p99 ms",
        "running",
        "linear",
    ]);
    for point in &scaling.points {
        let (low, high) = point.events_per_s.ci95.unzip();
        table.add_row(vec![
            format_value(point.value),
            number_or_dash(point.concurrency),
            number_or_dash(point.events_per_s.value),
            number_or_dash(low),
            number_or_dash(high),
            number_or_dash(point.p99_s.map(|s| s * 1e3)),
            number_or_dash(point.threads_running),
            point.efficiency.map_or_else(|| UNKNOWN.to_owned(), format_percent),
        ]);
    }
    table
}

/// A value as it was typed, if it is a whole number.
fn format_value(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        value.to_string()
    }
}

/// The steps of a search, and what limits it.
pub(super) fn write_capacity(capacity: &CapacityFinding, out: &mut dyn Write) -> io::Result<()> {
    write_steps(capacity, out)?;
    write_notes(&capacity.notes, out)
}

/// The steps alone.
pub(super) fn write_steps(capacity: &CapacityFinding, out: &mut dyn Write) -> io::Result<()> {
    let rises = capacity.quantity.as_deref().unwrap_or("offered/s");
    let mut table =
        TextTable::new(&["step", rises, "done/s", "p99 ms", "verdict"]).align_left("verdict");
    for step in &capacity.steps {
        table.add_row(vec![
            replace_controls(&step.phase),
            step.amount_text(),
            format_number(step.achieved_per_s),
            number_or_dash(step.p99_s.map(|s| s * 1e3)),
            step.outcome.as_str().to_owned(),
        ]);
    }
    table.write(WIDTH, out)
}

fn write_notes(notes: &[String], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        write_paragraph(out, "note   ", note)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CapacityStep, Estimate, ScalabilityLaw, ScalingPoint, StepOutcome};

    fn shown(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_sweep_is_a_table_and_what_follows() {
        let point = |value: f64, rate: f64| ScalingPoint {
            value,
            concurrency: Some(value * 0.98),
            events_per_s: Estimate {
                value: Some(rate),
                ci95: Some((rate * 0.99, rate * 1.01)),
                runs: 3,
            },
            p99_s: Some(0.001_3),
            threads_running: Some(value - 0.5),
            efficiency: Some(rate / value / 955.0),
        };
        let scaling = ScalingFinding {
            axis: "threads".to_owned(),
            points: vec![point(1.0, 955.0), point(32.0, 12_074.0)],
            law: Some(ScalabilityLaw { lambda: 995.6, sigma: 0.0267, kappa: 7.69e-4, r2: 0.9971 }),
            peak_n: Some((35.6, 33.0, 38.2)),
            peak_rate: Some((12_342.9, 12_200.0, 12_500.0)),
            two_lines: Some((860.0, 11_500.0)),
            better: ScalingShape::Law,
            notes: vec!["drift: something".to_owned()],
        };
        let text = shown(|out| write_sweep(&scaling, out));
        assert_eq!(
            text,
            "threads   load  events/s  95 % from      to  p99 ms  running  linear\n\
             1        0.980       955        945     965    1.30    0.500   100 %\n\
             32        31.4    12 074     11 953  12 195    1.30     31.5  39.5 %\n\
             law    rate(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)) with \
             lambda 996,\n       \
             sigma 0.0267, kappa 7.690e-4, R2 0.9971\n\
             peak   at a load of 35.6 (33.0 to 38.2), 12 343 events/s (12 200 to 12 500)\n\
             lines  860 events/s for each, up to 11 500 events/s; the law describes the\n       \
             points better\n\
             note   drift: something\n"
        );
    }

    #[test]
    fn a_search_is_a_table_of_its_steps() {
        let step = |phase: &str, offered: Option<f64>, outcome: StepOutcome| CapacityStep {
            phase: phase.to_owned(),
            offered_per_s: offered,
            achieved_per_s: offered.unwrap_or(12_345.0),
            p99_s: Some(0.0123),
            outcome,
            ..CapacityStep::default()
        };
        let found = CapacityFinding {
            steps: vec![
                step("burst", None, StepOutcome::Unjudged),
                step("curve", Some(4_000.0), StepOutcome::Pass),
                step("bisect", Some(9_000.0), StepOutcome::Fail),
            ],
            ..CapacityFinding::default()
        };
        assert_eq!(
            shown(|out| write_capacity(&found, out)),
            "step    offered/s  done/s  p99 ms  verdict\n\
             burst           -  12 345    12.3  closed loop\n\
             curve       4 000   4 000    12.3  pass\n\
             bisect      9 000   9 000    12.3  fail\n"
        );
    }
}
