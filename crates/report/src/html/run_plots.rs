//! Which plots a run gets, and what they are made of. Times on their axis count from where the timeline begins.

use crate::archive::RecordedStepKind;

use crate::analysis::{
    IntervalFinding, PoolTemperature, ProbeSeries, RunFindings, SeriesUnit, TimelineStep,
    TrialFinding,
};

use super::axis::{AxisMeasure, PlotAxis, tick_label};
use super::bands::{PlotBackground, PlotBand};
use super::heatmap::HeatmapLayer;
use super::legend::step_words;
use super::plot::{CurveStyle, Plot, PlotCurve, SMALL};
use super::variants::RunVariants;
use super::{capitalize_first, sections};

/// The main plots on one time axis, without those that would be empty.
pub(super) fn main_plots(findings: &RunFindings) -> Vec<Plot> {
    let variants = RunVariants::of_run(findings);
    let all = [
        throughput_plot(findings, &variants),
        latency_plot(findings, &variants),
        named_rate_plot(findings, &variants),
        pool_plot(findings, &variants),
        reads_plot(findings, &variants),
        bytes_plot(findings, &variants),
    ];
    all.into_iter().filter(|plot| !plot.is_empty()).collect()
}

/// What else the server showed, if it moved at all; drawn small.
pub(super) fn server_plots(findings: &RunFindings) -> Vec<Plot> {
    let variants = RunVariants::of_run(findings);
    let shown = [
        "pool_data_bytes",
        "pool_total_bytes",
        "pool_dirty_bytes",
        "disk_reads_per_s",
        "read_ahead_per_s",
        "disk_read_bytes_per_s",
        "disk_write_bytes_per_s",
    ];
    let moved = |series: &&ProbeSeries| {
        let mut values = series.points.iter().filter_map(|p| p.1);
        let first = values.next();
        !shown.contains(&series.id) && values.any(|v| Some(v) != first)
    };
    let plot = |series: &ProbeSeries| {
        let unit = match series.unit {
            SeriesUnit::PerSecond | SeriesUnit::BytesPerSecond => ", per second",
            // Cores stand in the title.
            SeriesUnit::Cores | SeriesUnit::Count | SeriesUnit::Bytes => "",
        };
        let curve = series_curve(findings, series, 0, series_style(series));
        Plot {
            id: series.id,
            title: format!("{}{unit}", capitalize_first(series.title)),
            about: format!(
                "{}{unit} over time, from {}.",
                capitalize_first(series.title),
                series.source
            ),
            measure: series.unit.into(),
            curves: variants.split_curve(findings, curve),
            ..Plot::default()
        }
    };
    findings.timeline.series.iter().filter(moved).map(plot).collect()
}

/// Those plots as a section; empty where there are none.
pub(super) fn server_section(
    findings: &RunFindings,
    more: &[Plot],
    time_axis: &PlotAxis,
    ground: &PlotBackground,
) -> String {
    if more.is_empty() {
        return String::new();
    }
    let bare = |b: &PlotBand| PlotBand {
        strip: None,
        number: String::new(),
        group: String::new(),
        ..b.clone()
    };
    let bare = PlotBackground {
        bands: ground.bands.iter().map(bare).collect(),
        ..PlotBackground::default()
    };
    let plots: String = more
        .iter()
        .map(|plot| sections::plot_figure(findings, plot, &SMALL, time_axis, &bare))
        .collect();
    format!(
        "<section id=\"server\"><h2>What else the server showed</h2>\
         <div class=\"pairs\">{plots}</div></section>"
    )
}

/// The time axis that all share.
pub(super) fn time_axis(findings: &RunFindings) -> PlotAxis {
    PlotAxis::time_range(0.0, findings.timeline.ended_s - findings.timeline.began_s)
}

/// What stands behind the curves over time.
pub(super) fn time_background(findings: &RunFindings) -> PlotBackground {
    let began = findings.timeline.began_s;
    let stalls =
        findings.results.trials.iter().filter_map(|t| t.stalls.as_ref()).flat_map(|s| &s.events);
    let kept = |trial: &TrialFinding| {
        let steady = trial.steady.as_ref().filter(|s| s.verdict.is_steady())?;
        Some((trial.began_s - began + steady.t0_s?, "T0".to_owned()))
    };
    PlotBackground {
        bands: phase_bands(findings),
        stalls: stalls.map(|s| (s.began_s - began, s.began_s - began + s.seconds)).collect(),
        marks: findings.results.trials.iter().filter_map(kept).collect(),
    }
}

/// Steps as bands on the time axis.
fn phase_bands(findings: &RunFindings) -> Vec<PlotBand> {
    let variants = RunVariants::of_run(findings);
    let began = findings.timeline.began_s;
    // A plain load needs no band: the whole plot is that load.
    let telling = |p: &&TimelineStep| {
        p.trial.is_none() || variants.are_several() || p.temperature != PoolTemperature::AsFound
    };
    let after = |p: &&TimelineStep| p.ended_s > began && p.kind != RecordedStepKind::Prepare;
    let shown = findings.timeline.phases.iter().filter(after).filter(telling);
    let trial_of = |phase: &TimelineStep| phase.trial.map(|t| &findings.results.trials[t]);
    // Passes are numbered where a variant ran twice in a row.
    let has_passes = |trial: &TrialFinding| {
        let same = |t: &&TrialFinding| (&t.variant, t.block) == (&trial.variant, trial.block);
        findings.capacity.is_none() && findings.results.trials.iter().filter(same).count() > 1
    };
    shown
        .map(|phase| PlotBand {
            from: phase.began_s - began,
            to: phase.ended_s - began,
            kind: band_kind(phase),
            strip: phase
                .trial
                .filter(|_| variants.are_several())
                .map(|t| variants.colour_of(&findings.results.trials[t].variant)),
            number: trial_of(phase)
                .filter(|trial| has_passes(trial))
                .map(|trial| trial.pass.to_string())
                .unwrap_or_default(),
            label: phase_name(findings, phase),
            group: match trial_of(phase).zip(findings.capacity.as_ref()) {
                Some((trial, search)) => level_name(trial, search.quantity.as_deref()),
                None => variants.short_name(&phase.variant).to_owned(),
            },
        })
        .collect()
}

/// What a step of a search offered: a rate, or so much of a quantity.
fn level_name(trial: &TrialFinding, quantity: Option<&str>) -> String {
    let Some(value) = trial.value else { return trial.variant.clone() };
    let number = tick_label(three_digits(value), AxisMeasure::Number);
    match quantity {
        None => format!("{number}/s"),
        Some(quantity) => format!("{number} {quantity}"),
    }
}

/// Rounded to three digits.
fn three_digits(value: f64) -> f64 {
    let unit = 10f64.powf((value.abs().max(1.0)).log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// Class of a band: loads by the warmth of the pool, other steps by what they do.
fn band_kind(phase: &TimelineStep) -> &'static str {
    match (phase.trial, phase.temperature) {
        (_, PoolTemperature::Warming) => "warming",
        (Some(_), PoolTemperature::Cold) => "cold",
        (Some(_), PoolTemperature::Warm) => "warm",
        (Some(_), PoolTemperature::AsFound) => "",
        (None, _) => "other",
    }
}

/// A step in words: `scan, pass 1 (warm)`, `scan: cold restart`.
pub(super) fn phase_name(findings: &RunFindings, phase: &TimelineStep) -> String {
    let cut = if phase.cut { ", cut" } else { "" };
    if let Some(trial) = phase.trial {
        let name = &findings.results.trials[trial].title;
        return match phase.temperature {
            PoolTemperature::AsFound => format!("{name}{cut}"),
            warmth => format!("{name} ({}){cut}", warmth.as_str()),
        };
    }
    let what = step_words(&phase.kind);
    if phase.variant.is_empty() {
        format!("{what}{cut}")
    } else {
        format!("{}: {what}{cut}", phase.variant)
    }
}

fn throughput_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let mut curves = interval_curves(findings, variants, "events/s", 0, CurveStyle::Dots, |i| {
        i.events_per_s.filter(|_| !i.partial)
    });
    let failed = |i: &IntervalFinding| {
        (i.errors > 0 && i.seconds > 0.0).then(|| i.errors as f64 / i.seconds)
    };
    let failed = interval_curves(findings, variants, "failed/s", 1, CurveStyle::Uprights, failed);
    curves.extend(failed.into_iter().filter(|c| c.points.iter().any(|p| p.1.is_some())));
    Plot {
        id: "throughput",
        title: "Throughput, events per second".to_owned(),
        about: "A dot per interval of each load: good events by the interval's real length. \
                Intervals cut to less than half by the end of the load are left out."
            .to_owned(),
        measure: AxisMeasure::Number,
        curves,
        ..Plot::default()
    }
}

fn latency_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let mut curves =
        interval_curves(findings, variants, "p50", 0, CurveStyle::Line, |i| i.response.p50_s);
    curves.extend(interval_curves(findings, variants, "p99", 1, CurveStyle::Dashed, |i| {
        i.response.p99_s
    }));
    Plot {
        id: "latency",
        title: "Response time (logarithmic); the darker, the more events".to_owned(),
        about: "Median and 99th percentile of the response times of each interval, over shades \
                that tell how many events took how long."
            .to_owned(),
        measure: AxisMeasure::Latency,
        log: true,
        shades: findings.timeline.heat.as_ref().map(HeatmapLayer::from_heat),
        curves,
        ..Plot::default()
    }
}

/// The first rate under a name of its own that counts a class's events; a plot without curves where there is none.
fn named_rate_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let trials = &findings.results.trials;
    let rates = trials.iter().filter_map(|trial| trial.audit.as_ref()).flat_map(|a| &a.rates);
    let Some((rate, class)) = rates.filter_map(|r| Some((r, r.class.as_ref()?))).next() else {
        return Plot::default();
    };
    let per_minute = |interval: &IntervalFinding| {
        let trial = &trials[interval.trial];
        let place = trial.classes.iter().position(|known| known.name == *class)?;
        let is_whole = trial.audit.is_some() && !interval.partial && interval.seconds > 0.0;
        let counted = interval.class_times.iter().find(|times| times.class == place);
        is_whole.then(|| counted.map_or(0, |c| c.events) as f64 * 60.0 / interval.seconds)
    };
    let (id, name) = ("named-rate", &rate.name);
    Plot {
        id,
        title: format!("{name}, {}", rate.help),
        about: format!("{name} in each interval of the load: {}.", rate.help),
        curves: interval_curves(findings, variants, name, 2, CurveStyle::Dots, per_minute),
        ..Plot::default()
    }
}

fn pool_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let second = variants.style_of_second(CurveStyle::Line);
    let mut curves = series_curves(
        findings,
        variants,
        &[("pool_data_bytes", 2, CurveStyle::Line), ("pool_dirty_bytes", 3, second)],
    );
    // The size of the pool as a rule is that of all variants.
    let total = findings.timeline.series.iter().find(|s| s.id == "pool_total_bytes");
    curves.extend(total.map(|total| series_curve(findings, total, 6, CurveStyle::Dashed)));
    Plot {
        id: "pool",
        title: "Buffer pool".to_owned(),
        about: "Pages with data in the buffer pool, in bytes, against the size of the pool."
            .to_owned(),
        measure: AxisMeasure::Bytes,
        curves,
        ..Plot::default()
    }
}

fn reads_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let second = variants.style_of_second(CurveStyle::Steps);
    Plot {
        id: "reads",
        title: "Pages read from disk, per second".to_owned(),
        about: "Pages the server read one by one because they were not in the pool, and pages it \
                read ahead."
            .to_owned(),
        measure: AxisMeasure::Number,
        curves: series_curves(
            findings,
            variants,
            &[("disk_reads_per_s", 1, CurveStyle::Steps), ("read_ahead_per_s", 0, second)],
        ),
        ..Plot::default()
    }
}

fn bytes_plot(findings: &RunFindings, variants: &RunVariants) -> Plot {
    let second = variants.style_of_second(CurveStyle::Steps);
    Plot {
        id: "bytes",
        title: "Bytes from and to disk, per second".to_owned(),
        about: "Bytes per second that the server read from and wrote to disk.".to_owned(),
        measure: AxisMeasure::Bytes,
        curves: series_curves(
            findings,
            variants,
            &[
                ("disk_read_bytes_per_s", 1, CurveStyle::Steps),
                ("disk_write_bytes_per_s", 0, second),
            ],
        ),
        ..Plot::default()
    }
}

/// A curve for each variant over the intervals of its loads, with a gap between loads.
fn interval_curves(
    findings: &RunFindings,
    variants: &RunVariants,
    name: &str,
    colour: usize,
    style: CurveStyle,
    of: impl Fn(&IntervalFinding) -> Option<f64>,
) -> Vec<PlotCurve> {
    let began = findings.timeline.began_s;
    let curve = |variant: &String| {
        let mut points: Vec<(f64, Option<f64>)> = Vec::new();
        let mut trial = None;
        let trials = &findings.results.trials;
        let is_ours = |i: &&IntervalFinding| trials[i.trial].variant == *variant;
        for interval in findings.timeline.intervals.iter().filter(is_ours) {
            if trial.is_some_and(|t| t != interval.trial) {
                points.push((interval.began_s - began, None));
            }
            trial = Some(interval.trial);
            points.push((interval.middle_s() - began, of(interval)));
        }
        let (variant, colour) = match variants.are_several() {
            true => (variant.clone(), variants.colour_of(variant)),
            false => (String::new(), colour),
        };
        PlotCurve { name: name.to_owned(), variant, colour, style, points }
    };
    variants.all_names().iter().map(curve).collect()
}

/// Curves of the series that exist and are not zero all the time, for each variant.
fn series_curves(
    findings: &RunFindings,
    variants: &RunVariants,
    wanted: &[(&str, usize, CurveStyle)],
) -> Vec<PlotCurve> {
    let one = |(id, colour, style): &(&str, usize, CurveStyle)| {
        let series = findings.timeline.series.iter().find(|s| s.id == *id)?;
        let seen = series.points.iter().any(|p| p.1.is_some_and(|v| v > 0.0));
        seen.then(|| series_curve(findings, series, *colour, *style))
    };
    let whole = wanted.iter().filter_map(one);
    whole.flat_map(|curve| variants.split_curve(findings, curve)).collect()
}

fn series_curve(
    findings: &RunFindings,
    series: &ProbeSeries,
    colour: usize,
    style: CurveStyle,
) -> PlotCurve {
    let began = findings.timeline.began_s;
    let points = series.points.iter().map(|(at, value)| (at - began, *value)).collect();
    let (name, variant) = (series.title.to_owned(), String::new());
    PlotCurve { name, variant, colour, style, points }
}

pub(super) fn series_style(series: &ProbeSeries) -> CurveStyle {
    match series.unit {
        SeriesUnit::PerSecond | SeriesUnit::BytesPerSecond | SeriesUnit::Cores => CurveStyle::Steps,
        SeriesUnit::Count | SeriesUnit::Bytes => CurveStyle::Line,
    }
}
