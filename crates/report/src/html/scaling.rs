//! How the server scales: rate over the value varied, the law, its rival, the straight line; running threads, latency.

use crate::analysis::number_format::{format_number, number_or_dash};
use crate::analysis::{RunFindings, ScalabilityLaw, ScalingFinding, ScalingPoint, ScalingShape};

use super::axis::AxisMeasure;
use super::capitalize_first;
use super::escape::{escape_html, sentence_html};
use super::plot::{CurveStyle, Plot, PlotCurve, PlotFrame, SMALL};
use super::sections::{tall_frame, untimed_figure};
use super::tables;

/// Points of a fitted curve.
const STEPS: u32 = 120;
/// The straight line ends so far above the highest point: it would dwarf everything.
const ABOVE: f64 = 1.25;

/// The plots of a sweep; none without one.
pub(super) fn scaling_plots(findings: &RunFindings) -> Vec<(Plot, PlotFrame)> {
    let Some(scaling) = &findings.scaling else {
        return Vec::new();
    };
    let running = |p: &ScalingPoint| p.threads_running;
    let under_way = |p: &ScalingPoint| p.concurrency;
    let busy = [
        points_curve(scaling, "Threads_running", 1, CurveStyle::Line, running),
        points_curve(scaling, "events under way", 0, CurveStyle::Dashed, under_way),
    ];
    let p99 = |p: &ScalingPoint| p.p99_s;
    let slow = [
        points_curve(scaling, "p99", 1, CurveStyle::Line, p99),
        points_curve(scaling, "measured", 1, CurveStyle::Dots, p99),
    ];
    let plot = |id, title: &str, measure, log, curves: &[PlotCurve]| Plot {
        id,
        title: title.to_owned(),
        about: format!("{title}, over {}.", scaling.axis),
        measure,
        log,
        x_labels: Some(value_labels(scaling)),
        x_title: axis_title(scaling),
        curves: curves.iter().filter(|c| !c.points.is_empty()).cloned().collect(),
        ..Plot::default()
    };
    vec![
        (
            plot("sweep", "Events per second", AxisMeasure::Number, false, &rate_curves(scaling)),
            tall_frame(),
        ),
        (plot("sweep-busy", "Busy in the server, mean", AxisMeasure::Number, false, &busy), SMALL),
        (plot("sweep-p99", "Response time, p99", AxisMeasure::Latency, true, &slow), SMALL),
    ]
}

fn axis_title(scaling: &ScalingFinding) -> &'static str {
    match scaling.axis.as_str() {
        "threads" => "workers",
        "rate" => "events per second offered",
        _ => "value",
    }
}

fn value_labels(scaling: &ScalingFinding) -> Vec<(f64, String)> {
    scaling.points.iter().map(|p| (p.value, format_value(p.value))).collect()
}

/// Values of a sweep are whole as a rule.
fn format_value(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format_number(value) }
}

fn points_curve(
    scaling: &ScalingFinding,
    name: &str,
    colour: usize,
    style: CurveStyle,
    of: fn(&ScalingPoint) -> Option<f64>,
) -> PlotCurve {
    let points = scaling.points.iter().filter(|p| of(p).is_some());
    let points = points.map(|p| (p.value, of(p))).collect();
    PlotCurve { name: name.to_owned(), variant: String::new(), colour, style, points }
}

/// Measured points with their intervals, the law, the two lines, the straight line.
fn rate_curves(scaling: &ScalingFinding) -> Vec<PlotCurve> {
    let last = scaling.points.last().map_or(1.0, |p| p.value);
    let highest = scaling.points.iter().filter_map(|p| p.events_per_s.value).fold(0.0, f64::max);
    let over = |name: String, colour, style, of: &dyn Fn(f64) -> f64| {
        let at = |step: u32| 1.0 + (last - 1.0).max(0.0) * f64::from(step) / f64::from(STEPS);
        let points = (0..=STEPS).map(|step| (at(step), Some(of(at(step)))));
        let shown = points.filter(|p| p.1.is_some_and(|v| v <= highest * ABOVE));
        PlotCurve { name, variant: String::new(), colour, style, points: shown.collect() }
    };
    let mut curves = Vec::new();
    if let Some(law) = scaling.law {
        let of_one = law.lambda;
        curves.push(over("linear".to_owned(), 6, CurveStyle::Dashed, &|n| of_one * n));
        let name = format!("law, R\u{b2} {:.3}", law.r2);
        curves.push(over(name, 1, CurveStyle::Line, &|n| law_rate(law, n)));
    }
    if let Some((one, ceiling)) = scaling.two_lines {
        let rival = |n: f64| (one * n).min(ceiling);
        curves.push(over("two lines".to_owned(), 2, CurveStyle::Dashed, &rival));
    }
    if let (Some(peak), Some(rate)) = (scaling.peak_n, scaling.peak_rate) {
        let drop = vec![(peak.0, Some(0.0)), (peak.0, Some(rate.0))];
        let name = format!("peak at {}", format_value(peak.0.round()));
        let (variant, style) = (String::new(), CurveStyle::Dashed);
        curves.push(PlotCurve { name, variant, colour: 4, style, points: drop });
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
        let (variant, style) = (String::new(), CurveStyle::Line);
        curves.push(PlotCurve { name, variant, colour: 0, style, points: spans });
    }
    curves.push(points_curve(scaling, "measured", 0, CurveStyle::Dots, |p| p.events_per_s.value));
    curves
}

fn law_rate(law: ScalabilityLaw, n: f64) -> f64 {
    law.lambda * n / (1.0 + law.sigma * (n - 1.0) + law.kappa * n * (n - 1.0))
}

/// The section; empty without a sweep over load.
pub(super) fn scaling_section(findings: &RunFindings, still: &[(Plot, PlotFrame)]) -> String {
    let Some(scaling) = &findings.scaling else {
        return String::new();
    };
    let mut words = Vec::new();
    if let Some(law) = scaling.law {
        words.push(format!(
            "The scalability law fits with {} events per second of one, contention {}, \
             coherence {}.",
            format_number(law.lambda),
            format_number(law.sigma),
            format_number(law.kappa)
        ));
    }
    if let (Some(n), Some(rate)) = (scaling.peak_n, scaling.peak_rate) {
        words.push(format!(
            "Its peak is at {} ({} to {}) with {} events per second ({} to {}).",
            format_number(n.0),
            format_number(n.1),
            format_number(n.2),
            format_number(rate.0),
            format_number(rate.1),
            format_number(rate.2)
        ));
    }
    match scaling.better {
        ScalingShape::Neither => {
            words.push("Neither the law nor the two lines describe the points.".into())
        }
        better => words.push(format!("Better described by: {}.", better.as_str())),
    }
    let mut out = format!(
        "<section id=\"scaling\"><h2>{} and events per second</h2>",
        escape_html(&capitalize_first(&scaling.axis))
    );
    out += &untimed_figure(still, "sweep");
    out += &format!(
        "<div class=\"pairs\">{}{}</div>",
        untimed_figure(still, "sweep-busy"),
        untimed_figure(still, "sweep-p99")
    );
    let notes = joined_notes(&scaling.notes);
    for line in words.into_iter().chain(notes) {
        out += &format!("<p class=\"small\">{}</p>", sentence_html(&line));
    }
    out + &points_table(scaling) + "</section>"
}

/// Notes as sentences; those that begin alike (`no peak is given: ..`) are one.
fn joined_notes(notes: &[String]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in notes {
        let (about, why) = note.split_once(": ").unwrap_or((note, ""));
        match all.iter_mut().find(|known| known.0 == about) {
            Some(known) => known.1.push(why),
            None => all.push((about, vec![why])),
        }
    }
    let sentence = |(about, why): (&str, Vec<&str>)| match why.join("; ").as_str() {
        "" => format!("{}.", capitalize_first(about)),
        why => format!("{}: {why}.", capitalize_first(about)),
    };
    all.into_iter().map(sentence).collect()
}

fn points_table(scaling: &ScalingFinding) -> String {
    let row = |p: &ScalingPoint| {
        let interval = p.events_per_s.ci95;
        vec![
            format_value(p.value),
            number_or_dash(p.events_per_s.value),
            interval.map_or_else(String::new, |(l, h)| {
                format!("{} to {}", format_number(l.max(0.0)), format_number(h))
            }),
            p.events_per_s.runs.to_string(),
            p.efficiency.map_or_else(|| "-".to_owned(), |e| format!("{:.0} %", e * 100.0)),
            number_or_dash(p.p99_s.map(|s| s * 1e3)),
            number_or_dash(p.concurrency),
            number_or_dash(p.threads_running),
        ]
    };
    let rows: Vec<Vec<String>> = scaling.points.iter().map(row).collect();
    let head = [
        scaling.axis.as_str(),
        "events/s",
        "95 % interval",
        "runs",
        "efficiency",
        "p99, ms",
        "events under way",
        "Threads_running",
    ];
    tables::number_table(&head, &rows)
}
