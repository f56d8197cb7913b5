//! A sweep and a search for capacity as tables, with what follows from them.

use std::io::{self, Write};

use super::table::{Align, Table};
use super::{WIDTH, paragraph, plain};
use crate::analysis::figure::{UNKNOWN, figure, figure_or_dash, percent};
use crate::analysis::{Capacity, Scaling};

/// The points of a sweep, the law fitted to them, and doubts.
pub(super) fn sweep(scaling: &Scaling, out: &mut dyn Write) -> io::Result<()> {
    points(scaling).write(WIDTH, out)?;
    if let Some(law) = &scaling.law {
        let text = format!(
            "rate(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)) with \
             lambda {}, sigma {}, kappa {}, R2 {}",
            figure(law.lambda),
            number(law.sigma),
            number(law.kappa),
            format_args!("{:.4}", law.r2),
        );
        paragraph(out, "law    ", "law    ", &text)?;
    }
    if let (Some((n, low, high)), Some((rate, slow, fast))) = (scaling.peak_n, scaling.peak_rate) {
        let text = format!(
            "at a load of {} ({} to {}), {} events/s ({} to {})",
            figure(n),
            figure(low),
            figure(high),
            figure(rate),
            figure(slow),
            figure(fast),
        );
        paragraph(out, "peak   ", "peak   ", &text)?;
    }
    if let Some((one, ceiling)) = scaling.two_lines {
        let better = match scaling.better {
            "law" => "; the law describes the points better",
            "two lines" => "; this describes the points better than the law",
            _ => "; the points don't tell it from the law",
        };
        let text = format!(
            "{} events/s for each, up to {} events/s{better}",
            figure(one),
            figure(ceiling)
        );
        paragraph(out, "lines  ", "lines  ", &text)?;
    }
    notes(&scaling.notes, out)
}

/// Small numbers as they are, not cut to zero.
fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.3e}") } else { figure(value) }
}

fn points(scaling: &Scaling) -> Table {
    let mut table = Table::new(&[
        (&*scaling.axis, Align::Left),
        ("load", Align::Right),
        ("events/s", Align::Right),
        ("95 % from", Align::Right),
        ("to", Align::Right),
        ("p99 ms", Align::Right),
        ("running", Align::Right),
        ("linear", Align::Right),
    ]);
    for point in &scaling.points {
        let (low, high) = point.events_per_s.ci95.unzip();
        table.row(vec![
            whole(point.value),
            figure_or_dash(point.concurrency),
            figure_or_dash(point.events_per_s.value),
            figure_or_dash(low),
            figure_or_dash(high),
            figure_or_dash(point.p99_s.map(|s| s * 1e3)),
            figure_or_dash(point.threads_running),
            point.efficiency.map_or_else(|| UNKNOWN.to_owned(), percent),
        ]);
    }
    table
}

/// A value as it was typed, if it is a whole number.
fn whole(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        value.to_string()
    }
}

/// The steps of a search.
pub(super) fn capacity(capacity: &Capacity, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("step", Align::Left),
        ("offered/s", Align::Right),
        ("done/s", Align::Right),
        ("p99 ms", Align::Right),
        ("verdict", Align::Left),
    ]);
    for step in &capacity.steps {
        table.row(vec![
            plain(&step.phase),
            figure_or_dash(step.offered_per_s),
            figure(step.achieved_per_s),
            figure_or_dash(step.p99_s.map(|s| s * 1e3)),
            step.outcome.words().to_owned(),
        ]);
    }
    table.write(WIDTH, out)?;
    notes(&capacity.notes, out)
}

fn notes(notes: &[String], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        paragraph(out, "note   ", "note   ", note)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CapacityStep, Estimate, Law, ScalingPoint, StepOutcome};

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
        let scaling = Scaling {
            axis: "threads".to_owned(),
            points: vec![point(1.0, 955.0), point(32.0, 12_074.0)],
            law: Some(Law { lambda: 995.6, sigma: 0.0267, kappa: 7.69e-4, r2: 0.9971 }),
            peak_n: Some((35.6, 33.0, 38.2)),
            peak_rate: Some((12_342.9, 12_200.0, 12_500.0)),
            two_lines: Some((860.0, 11_500.0)),
            better: "law",
            notes: vec!["drift: something".to_owned()],
        };
        let text = shown(|out| sweep(&scaling, out));
        assert_eq!(
            text,
            "threads    load  events/s  95 % from      to  p99 ms  running  linear\n\
             1         0.980       955        945     965    1.30    0.500   100 %\n\
             32         31.4    12 074     11 953  12 195    1.30     31.5  39.5 %\n\
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
            trial: 0,
            phase: phase.to_owned(),
            offered_per_s: offered,
            achieved_per_s: offered.unwrap_or(12_345.0),
            p99_s: Some(0.0123),
            outcome,
            why: String::new(),
        };
        let found = Capacity {
            steps: vec![
                step("burst", None, StepOutcome::Unjudged),
                step("curve", Some(4_000.0), StepOutcome::Pass),
                step("bisect", Some(9_000.0), StepOutcome::Fail),
            ],
            ..Capacity::default()
        };
        assert_eq!(
            shown(|out| capacity(&found, out)),
            "step      offered/s  done/s  p99 ms  verdict\n\
             burst             -  12 345    12.3  closed loop\n\
             curve         4 000   4 000    12.3  pass\n\
             bisect        9 000   9 000    12.3  fail\n"
        );
    }
}
