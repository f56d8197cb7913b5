//! Which plots a run gets, and what they are made of. Times on their axis count from where the timeline begins.

use crate::archive::RecordedStepKind;

use crate::analysis::{
    FindingResults, IntervalFinding, PoolTemperature, ProbeSeries, RunFindings, SeriesUnit,
    TimelineStep, TrialFinding,
};

use super::axis::{AxisMeasure, PlotAxis};
use super::capitalize_first;
use super::heatmap::HeatmapLayer;
use super::plot::{CurveStyle, Plot, PlotBackground, PlotBand, PlotCurve};

/// Title of a time axis.
const TIME: &str = "time since the first step shown";

/// The main plots on one time axis, without those that would be empty.
pub(super) fn main_plots(findings: &RunFindings) -> Vec<Plot> {
    let all = [
        throughput_plot(findings),
        latency_plot(findings),
        pool_plot(findings),
        reads_plot(findings),
        bytes_plot(findings),
    ];
    let mut shown: Vec<Plot> = all.into_iter().filter(|plot| !plot.is_empty()).collect();
    if let Some(last) = shown.last_mut() {
        last.x_title = TIME;
    }
    shown
}

/// What else the server showed, if it moved at all; drawn small.
pub(super) fn server_plots(findings: &RunFindings) -> Vec<Plot> {
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
        let per_second = matches!(series.unit, SeriesUnit::PerSecond | SeriesUnit::BytesPerSecond);
        let unit = if per_second { ", per second" } else { "" };
        Plot {
            id: series.id,
            title: format!("{}{unit}", capitalize_first(series.title)),
            about: format!(
                "{}{unit} over time, from {}.",
                capitalize_first(series.title),
                series.source
            ),
            measure: series.unit.into(),
            curves: vec![series_curve(findings, series, 0, series_style(series))],
            ..Plot::default()
        }
    };
    findings.timeline.series.iter().filter(moved).map(plot).collect()
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
    let began = findings.timeline.began_s;
    // A plain load needs no band: the whole plot is that load.
    let telling =
        |p: &&TimelineStep| p.trial.is_none() || p.temperature != PoolTemperature::AsFound;
    let after = |p: &&TimelineStep| p.ended_s > began && p.kind != RecordedStepKind::Prepare;
    let shown = findings.timeline.phases.iter().filter(after).filter(telling);
    shown
        .map(|phase| PlotBand {
            from: phase.began_s - began,
            to: phase.ended_s - began,
            kind: band_kind(phase),
            letter: band_letter(findings, phase),
            label: phase_name(findings, phase),
            variant: phase.variant.clone(),
        })
        .collect()
}

/// Class of a band: loads by the warmth of the pool, other steps by what they do.
fn band_kind(phase: &TimelineStep) -> &'static str {
    match (phase.trial, phase.temperature) {
        (_, PoolTemperature::Warming) => "warming",
        (Some(_), PoolTemperature::Cold) => "cold",
        (Some(_), PoolTemperature::Warm) => "warm",
        _ => "other",
    }
}

fn band_letter(findings: &RunFindings, phase: &TimelineStep) -> String {
    match phase.trial {
        Some(trial) => findings.results.trials[trial].pass.to_string(),
        None => phase.kind.as_str().chars().take(1).flat_map(char::to_uppercase).collect(),
    }
}

/// A step in words: `scan: run 1 (warm)`.
pub(super) fn phase_name(findings: &RunFindings, phase: &TimelineStep) -> String {
    let what = match phase.trial {
        Some(trial) => {
            let trial = &findings.results.trials[trial];
            format!("run {} ({})", trial.pass, phase.temperature.as_str())
        }
        None => phase.kind.as_str().replace('_', " "),
    };
    let cut = if phase.cut { ", cut" } else { "" };
    if phase.variant.is_empty() {
        format!("{what}{cut}")
    } else {
        format!("{}: {what}{cut}", phase.variant)
    }
}

fn throughput_plot(findings: &RunFindings) -> Plot {
    let events = interval_curve(findings, "events/s", 0, CurveStyle::Dots, |i| {
        i.events_per_s.filter(|_| !i.partial)
    });
    let failed = interval_curve(findings, "failed/s", 1, CurveStyle::Uprights, |i| {
        (i.errors > 0 && i.seconds > 0.0).then(|| i.errors as f64 / i.seconds)
    });
    let mut curves = vec![events];
    if failed.points.iter().any(|p| p.1.is_some()) {
        curves.push(failed);
    }
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

fn latency_plot(findings: &RunFindings) -> Plot {
    Plot {
        id: "latency",
        title: "Response time (logarithmic); the darker, the more events".to_owned(),
        about: "Median and 99th percentile of the response times of each interval, over shades \
                that tell how many events took how long."
            .to_owned(),
        measure: AxisMeasure::Latency,
        log: true,
        shades: findings.timeline.heat.as_ref().map(HeatmapLayer::from_heat),
        curves: vec![
            interval_curve(findings, "p50", 0, CurveStyle::Line, |i| i.response.p50_s),
            interval_curve(findings, "p99", 1, CurveStyle::Dashed, |i| i.response.p99_s),
        ],
        ..Plot::default()
    }
}

fn pool_plot(findings: &RunFindings) -> Plot {
    Plot {
        id: "pool",
        title: "Buffer pool".to_owned(),
        about: "Pages with data in the buffer pool, in bytes, against the size of the pool."
            .to_owned(),
        measure: AxisMeasure::Bytes,
        curves: series_curves(
            findings,
            &[
                ("pool_data_bytes", 2, CurveStyle::Line),
                ("pool_total_bytes", 6, CurveStyle::Dashed),
                ("pool_dirty_bytes", 3, CurveStyle::Line),
            ],
        ),
        ..Plot::default()
    }
}

fn reads_plot(findings: &RunFindings) -> Plot {
    Plot {
        id: "reads",
        title: "Pages read from disk, per second".to_owned(),
        about: "Pages the server read one by one because they were not in the pool, and pages it \
                read ahead."
            .to_owned(),
        measure: AxisMeasure::Number,
        curves: series_curves(
            findings,
            &[
                ("disk_reads_per_s", 1, CurveStyle::Steps),
                ("read_ahead_per_s", 0, CurveStyle::Steps),
            ],
        ),
        ..Plot::default()
    }
}

fn bytes_plot(findings: &RunFindings) -> Plot {
    Plot {
        id: "bytes",
        title: "Bytes from and to disk, per second".to_owned(),
        about: "Bytes per second that the server read from and wrote to disk.".to_owned(),
        measure: AxisMeasure::Bytes,
        curves: series_curves(
            findings,
            &[
                ("disk_read_bytes_per_s", 1, CurveStyle::Steps),
                ("disk_write_bytes_per_s", 0, CurveStyle::Steps),
            ],
        ),
        ..Plot::default()
    }
}

/// The percentile spectrum: a curve per load over the logarithm of 1/(1-q).
pub(super) fn spectrum_plot(findings: &FindingResults) -> Plot {
    let curves: Vec<PlotCurve> = findings
        .trials
        .iter()
        .enumerate()
        .map(|(place, trial)| PlotCurve {
            name: trial_name(findings, place),
            colour: spectrum_colour(findings, place),
            style: if trial.pass > 1 { CurveStyle::Dashed } else { CurveStyle::Line },
            points: trial
                .spectrum
                .iter()
                .map(|p| (quantile_nines(p.quantile), Some(p.latency_s)))
                .collect(),
        })
        .collect::<Vec<_>>();
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

/// Runs of one variant share its colour.
fn spectrum_colour(findings: &FindingResults, trial: usize) -> usize {
    let mut variants: Vec<&str> = findings.trials.iter().map(|t| t.variant.as_str()).collect();
    variants.dedup();
    let variant = findings.trials[trial].variant.as_str();
    let mut seen: Vec<&str> = Vec::new();
    for variant in variants {
        if !seen.contains(&variant) {
            seen.push(variant);
        }
    }
    if seen.len() < 2 { trial } else { seen.iter().position(|w| *w == variant).unwrap_or(trial) }
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

/// A load in words: its variant and run, or its folder's name.
pub(super) fn trial_name(findings: &FindingResults, place: usize) -> String {
    let trial = &findings.trials[place];
    match trial.variant.as_str() {
        "" => trial.id.clone(),
        variant if findings.trials.iter().all(|t| t.block <= 1) => {
            format!("{variant}, run\u{a0}{}", trial.pass)
        }
        variant if findings.trials.iter().all(|t| t.pass <= 1) => {
            format!("{variant}, block\u{a0}{}", trial.block)
        }
        variant => format!("{variant}, block\u{a0}{}, run\u{a0}{}", trial.block, trial.pass),
    }
}

/// A curve over the intervals of all loads, with a gap between loads.
fn interval_curve(
    findings: &RunFindings,
    name: &str,
    colour: usize,
    style: CurveStyle,
    of: fn(&IntervalFinding) -> Option<f64>,
) -> PlotCurve {
    let began = findings.timeline.began_s;
    let mut points: Vec<(f64, Option<f64>)> = Vec::new();
    let mut trial = None;
    for interval in &findings.timeline.intervals {
        if trial.is_some_and(|t| t != interval.trial) {
            points.push((interval.began_s - began, None));
        }
        trial = Some(interval.trial);
        points.push((interval.middle_s() - began, of(interval)));
    }
    PlotCurve { name: name.to_owned(), colour, style, points }
}

/// Curves of the series that exist and are not zero all the time.
fn series_curves(findings: &RunFindings, wanted: &[(&str, usize, CurveStyle)]) -> Vec<PlotCurve> {
    let one = |(id, colour, style): &(&str, usize, CurveStyle)| {
        let series = findings.timeline.series.iter().find(|s| s.id == *id)?;
        let seen = series.points.iter().any(|p| p.1.is_some_and(|v| v > 0.0));
        seen.then(|| series_curve(findings, series, *colour, *style))
    };
    wanted.iter().filter_map(one).collect()
}

fn series_curve(
    findings: &RunFindings,
    series: &ProbeSeries,
    colour: usize,
    style: CurveStyle,
) -> PlotCurve {
    let began = findings.timeline.began_s;
    let points = series.points.iter().map(|(at, value)| (at - began, *value)).collect();
    PlotCurve { name: series.title.to_owned(), colour, style, points }
}

pub(super) fn series_style(series: &ProbeSeries) -> CurveStyle {
    match series.unit {
        SeriesUnit::PerSecond | SeriesUnit::BytesPerSecond | SeriesUnit::Cores => CurveStyle::Steps,
        SeriesUnit::Count | SeriesUnit::Bytes => CurveStyle::Line,
    }
}
