//! How many events of a class took how long, and how long what is no event took: bins of equal width, as clause 5.6 of
//! TPC-C 5.11 wants them drawn.

use crate::analysis::number_format::{format_count, format_time};
use crate::analysis::{ClassFinding, FindingResults};

use super::axis::{AxisMeasure, PlotAxis, tick_label};
use super::capitalize_first;
use super::plot::{CurveStyle, Plot, PlotCurve};

/// Names of the pictures of classes, in their order; a load with more classes gets none for the rarest of them.
const CLASS_IDS: [&str; 12] = [
    "class-1", "class-2", "class-3", "class-4", "class-5", "class-6", "class-7", "class-8",
    "class-9", "class-10", "class-11", "class-12",
];
/// Names of those of durations.
const DURATION_IDS: [&str; 4] = ["duration-1", "duration-2", "duration-3", "duration-4"];

/// A picture for each class of the only load, where it has several.
pub(super) fn class_plots(findings: &FindingResults) -> Vec<Plot> {
    let [only] = &findings.trials[..] else { return Vec::new() };
    let mut shown: Vec<&ClassFinding> =
        only.classes.iter().filter(|class| class.histogram.is_some()).collect();
    if shown.len() < 2 {
        return Vec::new();
    }
    if shown.len() > CLASS_IDS.len() {
        shown.sort_by_key(|class| std::cmp::Reverse(class.response.events));
    }
    CLASS_IDS.into_iter().zip(shown).filter_map(|(id, class)| class_plot(id, class)).collect()
}

fn class_plot(id: &'static str, class: &ClassFinding) -> Option<Plot> {
    let histogram = class.histogram.as_ref()?;
    let p90 = class.response.p90_s.map(|s| format!(", p90 {}", format_time(s)));
    let title = format!("{}{}", class.name, p90.unwrap_or_default());
    let about = format!(
        "How many events of {} took how long; {} more took longer than shown.",
        class.name,
        format_count(histogram.longer)
    );
    // Milliseconds, as the data for the cursor have three digits behind the point.
    let bins = Bins { width: histogram.bin_s * 1e3, counts: &histogram.counts };
    Some(bins.to_plot(id, title, about, "response time, ms"))
}

/// A picture for each duration of the only load that its workload counted.
pub(super) fn duration_plots(findings: &FindingResults) -> Vec<Plot> {
    let [only] = &findings.trials[..] else { return Vec::new() };
    let counted = only.audit.iter().flat_map(|audit| &audit.durations);
    let plot = |(id, found): (&'static str, &crate::archive::DurationCounts)| {
        let about = format!(
            "How often it took how long ({}); {} more were longer than shown.",
            found.clause,
            format_count(found.longer)
        );
        let bins = Bins { width: found.bin_s, counts: &found.counts };
        bins.to_plot(id, capitalize_first(&found.label), about, "seconds")
    };
    DURATION_IDS.into_iter().zip(counted).map(plot).collect()
}

/// Counts of neighbouring bins of equal width from 0.
struct Bins<'a> {
    width: f64,
    counts: &'a [u64],
}

impl Bins<'_> {
    fn to_plot(&self, id: &'static str, title: String, about: String, x: &'static str) -> Plot {
        // A value holds from the lower edge of its bin to the upper one.
        let edges = (1..).zip(self.counts);
        let edges = edges.map(|(bin, n)| (f64::from(bin) * self.width, Some(*n as f64)));
        let points: Vec<(f64, Option<f64>)> =
            std::iter::once((0.0, Some(0.0))).chain(edges).collect();
        let last = points.last().map_or(0.0, |point| point.0);
        let ticks = PlotAxis::linear(last, AxisMeasure::Number).ticks;
        let labels = ticks.into_iter().map(|t| (t, tick_label(t, AxisMeasure::Number)));
        let curve = PlotCurve {
            name: "count".to_owned(),
            variant: String::new(),
            colour: 0,
            style: CurveStyle::Steps,
            points,
        };
        Plot {
            id,
            title,
            about,
            measure: AxisMeasure::Number,
            x_labels: Some(labels.collect()),
            x_title: x,
            curves: vec![curve],
            ..Plot::default()
        }
    }
}
