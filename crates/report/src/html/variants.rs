//! The variants of a run on its plots: each has a colour, and a curve of a run becomes one per variant.

use crate::analysis::{FindingResults, RunFindings, TimelineStep};

use super::plot::{CurveStyle, PlotCurve};

/// Colours of variants; the last one of the palette is for what belongs to none.
const VARIANT_COLOURS: usize = super::plot::COLOURS.len() - 1;

/// The variants of a run, the base first; the place gives the colour.
pub(super) struct RunVariants {
    names: Vec<String>,
}

impl RunVariants {
    pub(super) fn of_run(findings: &RunFindings) -> RunVariants {
        RunVariants::of_results(&findings.results, findings.capacity.is_some())
    }

    /// The same of any results; steps of a search for capacity stand as they ran.
    pub(super) fn of_results(findings: &FindingResults, is_search: bool) -> RunVariants {
        let trials = &findings.trials;
        let mut ran: Vec<(Option<f64>, &str)> = Vec::new();
        for trial in trials {
            if !ran.iter().any(|(_, name)| *name == trial.variant) {
                ran.push((trial.value, &trial.variant));
            }
        }
        // Levels of a sweep stand in their order.
        if !is_search && ran.iter().all(|(value, _)| value.is_some()) {
            ran.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
        } else {
            let place = |name: &str| findings.levels.iter().position(|level| level.name == name);
            ran.sort_by_key(|(_, name)| place(name));
        }
        RunVariants { names: ran.into_iter().map(|(_, name)| name.to_owned()).collect() }
    }

    /// Whether there are any to be told apart.
    pub(super) fn are_several(&self) -> bool {
        self.names.len() > 1
    }

    pub(super) fn all_names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn colour_of(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or(0) % VARIANT_COLOURS
    }

    /// A name without what all of them begin with: `16` for `threads=16`.
    pub(super) fn short_name<'a>(&self, name: &'a str) -> &'a str {
        let prefix = |text: &str| text.find('=').map(|at| text[..=at].to_owned());
        let first = self.names.first().and_then(|first| prefix(first));
        let is_shared = |prefix: &String| self.names.iter().all(|name| name.starts_with(prefix));
        let shared = first.filter(is_shared).unwrap_or_default();
        name.strip_prefix(shared.as_str()).unwrap_or(name)
    }

    /// A curve for each variant from points of the whole run; one curve where there is one variant.
    pub(super) fn split_curve(&self, findings: &RunFindings, whole: PlotCurve) -> Vec<PlotCurve> {
        if !self.are_several() {
            return vec![whole];
        }
        let began = findings.timeline.began_s;
        let steps = findings.timeline.phases.iter().filter(|step| step.ended_s > began);
        let steps: Vec<&TimelineStep> = steps.filter(|step| !step.variant.is_empty()).collect();
        let owner = |at: f64| {
            let past = steps.partition_point(|step| step.began_s - began <= at);
            steps.get(past.saturating_sub(1)).map(|step| step.variant.as_str())
        };
        let of_variant = |name: &String| {
            let mut points: Vec<(f64, Option<f64>)> = Vec::new();
            let mut before: Option<(f64, bool)> = None;
            for (at, value) in &whole.points {
                let is_ours = owner(*at) == Some(name);
                if let (true, Some((then, false))) = (is_ours, before) {
                    points.push((then, None));
                }
                if is_ours {
                    points.push((*at, *value));
                }
                before = Some((*at, is_ours));
            }
            let colour = self.colour_of(name);
            PlotCurve { variant: name.clone(), colour, points, ..whole.clone() }
        };
        let curves = self.names.iter().map(of_variant);
        curves.filter(|curve| curve.points.iter().any(|point| point.1.is_some())).collect()
    }

    /// A style for a series that colour tells apart in a run of one variant.
    pub(super) fn style_of_second(&self, style: CurveStyle) -> CurveStyle {
        match (self.are_several(), style) {
            (false, style) => style,
            (true, CurveStyle::Steps) => CurveStyle::DashedSteps,
            (true, _) => CurveStyle::Dotted,
        }
    }
}
