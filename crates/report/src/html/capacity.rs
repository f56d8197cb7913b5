//! What the server holds: response time over the rate, the objective, the rates that held and that failed.

use crate::analysis::number_format::{format_number, number_or_dash};
use crate::analysis::{CapacityFinding, CapacityStep, RunFindings, StepOutcome};
use crate::plan::{Metric, Objective};

use super::axis::{AxisMeasure, PlotAxis, tick_label};
use super::capitalize_first;
use super::escape::{escape_html, sentence_html};
use super::plot::{CurveStyle, Plot, PlotCurve, PlotFrame};
use super::sections::untimed_figure;
use super::tables;

/// The rate-latency curve; `None` without a search for capacity.
pub(super) fn capacity_plot(findings: &RunFindings) -> Option<Plot> {
    let capacity = findings.capacity.as_ref()?;
    let rate = |s: &CapacityStep| amount(s).unwrap_or(s.achieved_per_s);
    // The closed loop that sets the scale offered no rate: it is in the table only.
    let is_open = |s: &&CapacityStep| s.p99_s.is_some() && amount(s).is_some();
    let mut steps: Vec<&CapacityStep> = capacity.steps.iter().filter(is_open).collect();
    steps.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let of = |wanted: &dyn Fn(&CapacityStep) -> bool| -> Vec<(f64, Option<f64>)> {
        steps.iter().filter(|s| wanted(s)).map(|s| (rate(s), s.p99_s)).collect()
    };
    let curve = |name: &str, colour, style, points| {
        let name = name.to_owned();
        PlotCurve { name, variant: String::new(), colour, style, points }
    };
    let outcome = |wanted: StepOutcome, colour, style| {
        curve(wanted.as_str(), colour, style, of(&|s| s.outcome == wanted))
    };
    let (slowest, fastest) = p99_range(&steps)?;
    let upright = |at: f64| vec![(at, Some(slowest)), (at, Some(fastest))];
    let mut curves = vec![
        curve("median of the steps at a point", 6, CurveStyle::Line, medians_by_rate(&steps)),
        outcome(StepOutcome::Pass, 2, CurveStyle::Dots),
        outcome(StepOutcome::Fail, 1, CurveStyle::Uprights),
        outcome(StepOutcome::Unsure, 4, CurveStyle::Dots),
        outcome(StepOutcome::Void, 5, CurveStyle::Uprights),
    ];
    if let Some(confirmed) = capacity.confirmed.or(capacity.confirmed_per_s) {
        let name = format!("confirmed: {}", format_number(confirmed));
        curves.push(curve(&name, 2, CurveStyle::Dashed, upright(confirmed)));
    }
    let last = steps.last().map_or(1.0, |s| rate(s));
    for text in &capacity.objectives {
        let objective = Objective::parse("", text).ok();
        if let Some(bound) = objective.filter(|o| o.metric == Metric::Quantile(0.99)) {
            let level = vec![(0.0, Some(bound.bound)), (last, Some(bound.bound))];
            curves.push(curve(text, 1, CurveStyle::Dashed, level));
        }
    }
    curves.retain(|c| !c.points.is_empty());
    let ticks = PlotAxis::linear(last / 1.02, AxisMeasure::Number).ticks;
    Some(Plot {
        id: "capacity",
        title: format!(
            "p99 response time (logarithmic) by {}",
            capacity.quantity.as_deref().unwrap_or("rate")
        ),
        about: format!(
            "For each step of the search the 99th percentile of the response time over the {}.",
            capacity.quantity.as_deref().unwrap_or("rate that was offered")
        ),
        measure: AxisMeasure::Latency,
        log: true,
        x_labels: Some(
            ticks.into_iter().map(|t| (t, tick_label(t, AxisMeasure::Number))).collect(),
        ),
        x_title: match capacity.quantity {
            None => "events per second offered",
            Some(_) => "amount that was searched for",
        },
        curves,
        ..Plot::default()
    })
}

/// What a step offered: a rate, or an amount of what was searched for.
fn amount(step: &CapacityStep) -> Option<f64> {
    step.value.or(step.offered_per_s)
}

/// A point per rate: steps that were repeated are no zigzag.
fn medians_by_rate(steps: &[&CapacityStep]) -> Vec<(f64, Option<f64>)> {
    let same = |a: &&CapacityStep, b: &&CapacityStep| amount(a) == amount(b);
    let median = |steps: &[&CapacityStep]| {
        let mut p99: Vec<f64> = steps.iter().filter_map(|s| s.p99_s).collect();
        p99.sort_by(f64::total_cmp);
        (amount(steps[0]).unwrap_or_default(), p99.get((p99.len().max(1) - 1) / 2).copied())
    };
    steps.chunk_by(same).map(median).collect()
}

/// Lowest and highest p99 of all steps.
fn p99_range(steps: &[&CapacityStep]) -> Option<(f64, f64)> {
    let values = || steps.iter().filter_map(|s| s.p99_s).filter(|v| *v > 0.0);
    let low = values().min_by(f64::total_cmp)?;
    Some((low, values().fold(low, f64::max)))
}

/// The section; empty without a search for capacity.
pub(super) fn capacity_section(findings: &RunFindings, still: &[(Plot, PlotFrame)]) -> String {
    let Some(capacity) = &findings.capacity else {
        return String::new();
    };
    let mut out = format!(
        "<section id=\"capacity\"><h2>Capacity</h2><p>Objective: {}.</p>",
        capacity.objectives.iter().map(|o| code_element(o)).collect::<Vec<_>>().join(" and ")
    );
    out += &untimed_figure(still, "capacity");
    for line in summary_lines(capacity) {
        out += &format!("<p class=\"small\">{}</p>", sentence_html(&line));
    }
    out + &steps_table(capacity) + "</section>"
}

fn code_element(text_of: &str) -> String {
    format!("<code>{}</code>", escape_html(text_of))
}

fn summary_lines(capacity: &CapacityFinding) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(why) = &capacity.ill_posed {
        lines.push(format!("Ill-posed, so no number is given: {why}."));
    }
    if let Some(confirmed) = capacity.confirmed_text() {
        lines.push(format!("Confirmed: {confirmed}."));
    }
    if let Some(failing) = capacity.failing_text() {
        let why = capacity.why.as_ref().map(|w| format!(": {w}")).unwrap_or_default();
        lines.push(format!("The lowest that failed: {failing}{why}."));
    }
    lines.extend(capacity.notes.iter().map(|n| format!("{}.", capitalize_first(n))));
    lines
}

fn steps_table(capacity: &CapacityFinding) -> String {
    let row = |(place, step): (usize, &CapacityStep)| {
        vec![
            format!("{}. {}", place + 1, step.phase),
            step.amount_text(),
            format_number(step.achieved_per_s),
            number_or_dash(step.p99_s.map(|s| s * 1e3)),
            step.outcome.as_str().to_owned(),
            step.why.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = capacity.steps.iter().enumerate().map(row).collect();
    let rises = capacity.quantity.as_deref().unwrap_or("events/s offered");
    let head = ["step", rises, "events/s achieved", "p99, ms", "outcome", "why"];
    tables::text_table(&head, &rows)
}
