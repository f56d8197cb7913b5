//! How the server scales: rate over the value varied, the law, its rival, the straight line; running threads, latency.

use crate::analysis::figure::{figure, figure_or_dash};
use crate::analysis::{Findings, Law, Scaling, ScalingPoint};

use super::axis::Measure;
use super::capital;
use super::escape::{sentence, text};
use super::plot::{Curve, Frame, Plot, SMALL, Style, TITLE};
use super::sections::{still_figure, tall_frame};
use super::tables;

/// Points of a fitted curve.
const STEPS: u32 = 120;
/// The straight line ends so far above the highest point: it would dwarf everything.
const ABOVE: f64 = 1.25;

/// The plots of a sweep; none without one.
pub(super) fn plots(findings: &Findings) -> Vec<(Plot, Frame)> {
    let Some(scaling) = &findings.scaling else {
        return Vec::new();
    };
    let small = Frame { bottom: SMALL.bottom + TITLE, height: SMALL.height + TITLE, ..SMALL };
    let running = |p: &ScalingPoint| p.threads_running;
    let under_way = |p: &ScalingPoint| p.concurrency;
    let busy = [
        line(scaling, "Threads_running", 1, Style::Line, running),
        line(scaling, "events under way", 0, Style::Dashed, under_way),
    ];
    let slow = [line(scaling, "p99", 1, Style::Line, |p| p.p99_s)];
    let plot = |id, title: &str, measure, log, curves: &[Curve]| Plot {
        id,
        title: title.to_owned(),
        about: format!("{title}, over {}.", scaling.axis),
        measure,
        log,
        x_labels: Some(labels(scaling)),
        x_title: axis_title(scaling),
        curves: curves.iter().filter(|c| !c.points.is_empty()).cloned().collect(),
        shades: None,
    };
    vec![
        (plot("sweep", "Events per second", Measure::Number, false, &rates(scaling)), tall_frame()),
        (plot("sweep-busy", "Busy in the server, mean", Measure::Number, false, &busy), small),
        (plot("sweep-p99", "Response time, p99", Measure::Latency, true, &slow), small),
    ]
}

fn axis_title(scaling: &Scaling) -> &'static str {
    match scaling.axis.as_str() {
        "threads" => "sessions",
        "rate" => "events per second offered",
        _ => "value",
    }
}

fn labels(scaling: &Scaling) -> Vec<(f64, String)> {
    scaling.points.iter().map(|p| (p.value, figure_of_value(p.value))).collect()
}

/// Values of a sweep are whole as a rule.
fn figure_of_value(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { figure(value) }
}

fn line(
    scaling: &Scaling,
    name: &str,
    colour: usize,
    style: Style,
    of: fn(&ScalingPoint) -> Option<f64>,
) -> Curve {
    let points = scaling.points.iter().filter(|p| of(p).is_some());
    let points = points.map(|p| (p.value, of(p))).collect();
    Curve { name: name.to_owned(), colour, style, points }
}

/// Measured points with their intervals, the law, the two lines, the straight line.
fn rates(scaling: &Scaling) -> Vec<Curve> {
    let last = scaling.points.last().map_or(1.0, |p| p.value);
    let highest = scaling.points.iter().filter_map(|p| p.events_per_s.value).fold(0.0, f64::max);
    let over = |name: String, colour, style, of: &dyn Fn(f64) -> f64| {
        let at = |step: u32| 1.0 + (last - 1.0).max(0.0) * f64::from(step) / f64::from(STEPS);
        let points = (0..=STEPS).map(|step| (at(step), Some(of(at(step)))));
        let shown = points.filter(|p| p.1.is_some_and(|v| v <= highest * ABOVE));
        Curve { name, colour, style, points: shown.collect() }
    };
    let mut curves = Vec::new();
    if let Some(law) = scaling.law {
        let of_one = law.lambda;
        curves.push(over("linear".to_owned(), 6, Style::Dashed, &|n| of_one * n));
        let name = format!("law, R\u{b2} {:.3}", law.r2);
        curves.push(over(name, 1, Style::Line, &|n| of_law(law, n)));
    }
    if let Some((one, ceiling)) = scaling.two_lines {
        let rival = |n: f64| (one * n).min(ceiling);
        curves.push(over("two lines".to_owned(), 2, Style::Dashed, &rival));
    }
    if let (Some(peak), Some(rate)) = (scaling.peak_n, scaling.peak_rate) {
        let drop = vec![(peak.0, Some(0.0)), (peak.0, Some(rate.0))];
        let name = format!("peak at {}", figure_of_value(peak.0.round()));
        curves.push(Curve { name, colour: 4, style: Style::Dashed, points: drop });
    }
    let mut spans = Vec::new();
    for point in &scaling.points {
        if let Some((low, high)) = point.events_per_s.ci95 {
            let at = point.value;
            spans.extend([(at, Some(low)), (at, Some(high)), (at, None)]);
        }
    }
    if !spans.is_empty() {
        let name = "95 % interval".to_owned();
        curves.push(Curve { name, colour: 0, style: Style::Line, points: spans });
    }
    curves.push(line(scaling, "measured", 0, Style::Dots, |p| p.events_per_s.value));
    curves
}

fn of_law(law: Law, n: f64) -> f64 {
    law.lambda * n / (1.0 + law.sigma * (n - 1.0) + law.kappa * n * (n - 1.0))
}

/// The section; empty without a sweep over load.
pub(super) fn section(findings: &Findings, still: &[(Plot, Frame)]) -> String {
    let Some(scaling) = &findings.scaling else {
        return String::new();
    };
    let mut words = Vec::new();
    if let Some(law) = scaling.law {
        words.push(format!(
            "The scalability law fits with {} events per second of one, contention {}, \
             coherence {}.",
            figure(law.lambda),
            figure(law.sigma),
            figure(law.kappa)
        ));
    }
    if let (Some(n), Some(rate)) = (scaling.peak_n, scaling.peak_rate) {
        words.push(format!(
            "Its peak is at {} ({} to {}) with {} events per second ({} to {}).",
            figure(n.0),
            figure(n.1),
            figure(n.2),
            figure(rate.0),
            figure(rate.1),
            figure(rate.2)
        ));
    }
    match scaling.better {
        "" => {}
        "neither" => words.push("Neither the law nor the two lines describe the points.".into()),
        better => words.push(format!("Better described by: {better}.")),
    }
    let mut out = format!(
        "<section id=\"scaling\"><h2>{} and events per second</h2>",
        text(&capital(&scaling.axis))
    );
    let notes = scaling.notes.iter().map(|n| format!("{}.", capital(n)));
    for line in words.into_iter().chain(notes) {
        out += &format!("<p class=\"small\">{}</p>", sentence(&line));
    }
    out += &still_figure(still, "sweep");
    out += &format!(
        "<div class=\"pairs\">{}{}</div>",
        still_figure(still, "sweep-busy"),
        still_figure(still, "sweep-p99")
    );
    out + &table(scaling) + "</section>"
}

fn table(scaling: &Scaling) -> String {
    let row = |p: &ScalingPoint| {
        let interval = p.events_per_s.ci95;
        vec![
            figure_of_value(p.value),
            figure_or_dash(p.events_per_s.value),
            interval.map_or_else(String::new, |(l, h)| format!("{} .. {}", figure(l), figure(h))),
            p.events_per_s.runs.to_string(),
            p.efficiency.map_or_else(|| "-".to_owned(), |e| format!("{:.0} %", e * 100.0)),
            figure_or_dash(p.p99_s.map(|s| s * 1e3)),
            figure_or_dash(p.concurrency),
            figure_or_dash(p.threads_running),
        ]
    };
    let rows: Vec<Vec<String>> = scaling.points.iter().map(row).collect();
    let head = [
        scaling.axis.as_str(),
        "events/s",
        "95 % interval",
        "runs",
        "efficiency",
        "p99 ms",
        "under way",
        "Threads_running",
    ];
    tables::table(&head, &rows)
}
