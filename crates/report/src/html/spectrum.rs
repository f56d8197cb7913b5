//! Response times of whole loads: by percentile, and how many events took how long.

use crate::analysis::number_format::format_time;
use crate::analysis::{FindingResults, RunFindings, SpectrumPoint, TrialFinding};

use super::axis::{AxisMeasure, tick_label};
use super::plot::{CurveStyle, Plot, PlotCurve};
use super::variants::RunVariants;

/// The percentile spectrum: a curve per load over the logarithm of 1/(1-q).
pub(super) fn spectrum_plot(findings: &FindingResults) -> Plot {
    let variants = RunVariants::of_results(findings, false);
    let has_passes = findings.trials.iter().any(|t| t.pass > 1 && t.pass != t.block);
    let curve = |(place, trial): (usize, &TrialFinding)| {
        let at = |p: &SpectrumPoint| (quantile_nines(p.quantile), Some(p.latency_s));
        let (name, variant, colour) = match (variants.are_several(), has_passes) {
            (false, _) if findings.trials.len() == 1 => {
                ("response time".to_owned(), String::new(), place)
            }
            (false, _) => (trial.title.clone(), String::new(), place),
            (true, true) => {
                let name = format!("pass {}", trial.pass);
                (name, trial.variant.clone(), variants.colour_of(&trial.variant))
            }
            (true, false) => {
                ("loads".to_owned(), trial.variant.clone(), variants.colour_of(&trial.variant))
            }
        };
        let style =
            if has_passes && trial.pass > 1 { CurveStyle::Dashed } else { CurveStyle::Line };
        let points = trial.spectrum.iter().map(at).collect();
        PlotCurve { name, variant, colour, style, points }
    };
    let curves = findings.trials.iter().enumerate().map(curve).collect();
    spectrum_from_curves(curves)
}

/// The same from curves over [`quantile_nines`].
pub(super) fn spectrum_from_curves(curves: Vec<PlotCurve>) -> Plot {
    let last = curves.iter().flat_map(|c| &c.points).map(|p| p.0).fold(1.0, f64::max);
    let labels = (0..=last.ceil() as i32).map(|n| (f64::from(n), nines_label(n)));
    Plot {
        id: "spectrum",
        title: "Response time by percentile (both axes logarithmic)".to_owned(),
        about: "For each load the response time below which a share of its events lie, over \
                1/(1-share)."
            .to_owned(),
        measure: AxisMeasure::Latency,
        log: true,
        x_labels: Some(labels.collect()),
        x_title: "percentile of events",
        curves,
        ..Plot::default()
    }
}

/// log10 of 1/(1-q): 0.9 is 1, 0.99 is 2.
pub(super) fn quantile_nines(quantile: f64) -> f64 {
    -(1.0 - quantile).max(1e-12).log10()
}

/// `0`, `90 %`, `99 %`, `99.9 %`.
fn nines_label(nines: i32) -> String {
    match nines {
        0 => "0 %".to_owned(),
        1 => "90 %".to_owned(),
        2 => "99 %".to_owned(),
        n => format!("99.{} %", "9".repeat(n as usize - 2)),
    }
}

/// How many events took how long, over the logarithm of the time; `None` without events.
pub(super) fn histogram_plot(findings: &RunFindings) -> Option<Plot> {
    let heat = findings.timeline.heat.as_ref().filter(|_| findings.results.trials.len() == 1)?;
    let mut rows = vec![0_u64; heat.rows];
    for (_, row, events) in &heat.cells {
        *rows.get_mut(*row)? += events;
    }
    let edge = |row: usize| heat.low_s * heat.factor.powi(row as i32);
    // A value holds from the lower edge of its row to the upper one.
    let mut points = vec![(0.0, Some(0.0))];
    points.extend((1..).zip(&rows).map(|(row, n)| (f64::from(row), Some(*n as f64))));
    let place = |seconds: f64| (seconds / heat.low_s).ln() / heat.factor.ln();
    let (first, last) = (edge(0).log10().floor() as i32, edge(heat.rows).log10().ceil() as i32);
    let decades = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)));
    let labels = decades.map(|s| (place(s), tick_label(s, AxisMeasure::Latency)));
    Some(Plot {
        id: "histogram",
        title: "Events by response time".to_owned(),
        about: format!(
            "How many events took how long; the longest took {}.",
            format_time(edge(heat.rows))
        ),
        measure: AxisMeasure::Number,
        x_labels: Some(labels.collect()),
        x_title: "response time (logarithmic)",
        x_scale: Some((heat.low_s, heat.factor)),
        curves: vec![PlotCurve {
            name: "events".to_owned(),
            variant: String::new(),
            colour: 0,
            style: CurveStyle::Steps,
            points,
        }],
        ..Plot::default()
    })
}
