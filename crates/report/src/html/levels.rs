//! The first picture: the deciding metric in absolute numbers, a bar per variant with what is known of its spread.

use std::fmt::Write as _;

use crate::analysis::{LevelRange, VariantLevel, metric_label, metric_value_text};

use super::axis::{AxisMeasure, PlotAxis, tick_label};
use super::capitalize_first;
use super::escape::{escape_html, unbroken_numbers};
use super::labels::{LABEL_LINE, draw_label, wrap_label};
use super::plot::COLOURS;

/// Height of a bar, and of the room below it.
const BAR: f64 = 22.0;
const GAP: f64 = 12.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
/// Rows that the picture has at most; the tables have all.
const MOST_ROWS: usize = 16;

/// The picture with its legend; empty without levels.
pub(super) fn levels_section(levels: &[VariantLevel], is_paired: bool) -> String {
    let shown = &levels[..levels.len().min(MOST_ROWS)];
    let Some(first) = shown.first() else { return String::new() };
    let title = capitalize_first(metric_label(first.metric));
    let more = match levels.len() - shown.len() {
        0 => String::new(),
        more => format!(" {more} more are in the tables."),
    };
    format!(
        "<section id=\"levels\"><figure class=\"levels\"><figcaption><h3>{}</h3></figcaption>{}{}\
         <p class=\"small\">{}{more}</p></figure></section>",
        escape_html(&title),
        draw_levels(shown, (1000.0, 190.0), "wide"),
        draw_levels(shown, (400.0, 104.0), "narrow"),
        levels_caption(shown, is_paired),
    )
}

/// What bar, whisker and dots mean.
fn levels_caption(shown: &[VariantLevel], is_paired: bool) -> String {
    let blocks = shown.iter().map(|level| level.values.len()).max().unwrap_or(0);
    let is_confidence = |l: &VariantLevel| matches!(l.range, Some(LevelRange::Confidence(..)));
    let is_spread = |l: &VariantLevel| matches!(l.range, Some(LevelRange::Intervals(..)));
    if shown.iter().any(is_confidence) {
        let verdict = match is_paired {
            true => {
                " The verdict comes from differences within blocks, so it can be clear where \
                 whiskers overlap."
            }
            false => "",
        };
        return format!(
            "Bar: mean of {blocks} loads. Whisker: its 95 % interval. Dots: the loads.{verdict}"
        );
    }
    match (blocks, shown.iter().any(is_spread)) {
        (0, true) => "Bar: the whole load. Whisker: from its slowest to its fastest interval. One \
                      load gives no confidence interval."
            .to_owned(),
        (0, false) => "Bar: the whole load. One load gives no confidence interval.".to_owned(),
        _ => "One load on each side: no interval follows from it.".to_owned(),
    }
}

/// What an axis of the metric counts, and the factor to its unit.
fn metric_measure(metric: &str) -> (AxisMeasure, f64) {
    match metric {
        _ if metric.ends_with("_s") && !metric.ends_with("per_s") => (AxisMeasure::Latency, 1.0),
        _ if metric.ends_with("_us") => (AxisMeasure::Latency, 1e-6),
        _ if metric.ends_with("_bytes") => (AxisMeasure::Bytes, 1.0),
        _ => (AxisMeasure::Number, 1.0),
    }
}

fn range_ends(level: &VariantLevel) -> Option<(f64, f64)> {
    level.range.map(|range| match range {
        LevelRange::Confidence(low, high) | LevelRange::Intervals(low, high) => (low, high),
    })
}

fn draw_levels(shown: &[VariantLevel], (width, left): (f64, f64), form: &str) -> String {
    let (measure, scale) = metric_measure(shown[0].metric);
    let names: Vec<Vec<String>> =
        shown.iter().map(|l| wrap_label(&l.name, ((left - 14.0) / 7.8) as usize)).collect();
    // An interval that is far too wide would leave nothing of the bars.
    let most = shown.iter().map(|l| l.value).fold(0.0, f64::max) * 2.5;
    let ends = shown.iter().filter_map(range_ends).map(|ends| ends.1.min(most));
    let values = shown.iter().flat_map(|l| l.values.iter().copied().chain([l.value]));
    let highest = values.chain(ends).fold(0.0, f64::max);
    let axis = PlotAxis::linear(highest * scale, measure);
    let right = if form == "wide" { 210.0 } else { 16.0 };
    let below = if form == "wide" { 0.0 } else { LABEL_LINE };
    let inner = width - left - right;
    let x = |value: f64| left + axis.position_of(value * scale) * inner;
    let heights: Vec<f64> = names
        .iter()
        .map(|lines| (BAR + below).max(lines.len() as f64 * LABEL_LINE) + GAP)
        .collect();
    let height = TOP + heights.iter().sum::<f64>() + BOTTOM;
    let label = metric_label(shown[0].metric);
    let hidden = if form == "narrow" { " display=\"none\"" } else { "" };
    let mut svg = format!(
        "<svg class=\"bars {form}\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\"{hidden}>\
         <title>{label} by variant</title><desc>{}</desc>",
        escape_html(&levels_text(shown))
    );
    let bottom = height - BOTTOM + 4.0;
    let every = if form == "wide" || axis.ticks.len() < 5 { 1 } else { 2 };
    for tick in axis.ticks.iter().step_by(every) {
        let at = left + axis.position_of(*tick) * inner;
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom:.1}\" stroke=\"#ddd\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 15.0,
            tick_label(*tick, measure)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
        left + inner,
        bottom + 31.0
    );
    let mut y = TOP;
    for (place, level) in shown.iter().enumerate() {
        let middle = y + (heights[place] - GAP) / 2.0;
        let bar = middle - below / 2.0;
        draw_label(
            &mut svg,
            &names[place],
            left - 10.0,
            middle,
            "text-anchor=\"end\" font-weight=\"600\"",
        );
        draw_level(&mut svg, level, place, bar, (&x, axis.high / scale));
        let (at, line) = match form {
            "wide" => (width - right + 12.0, bar + 4.0),
            _ => (left, bar + BAR / 2.0 + 12.0),
        };
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{at:.1}\" y=\"{line:.1}\">{}</text>",
            value_and_range(level)
        );
        y += heights[place];
    }
    svg + "</svg>"
}

fn draw_level(
    svg: &mut String,
    level: &VariantLevel,
    place: usize,
    middle: f64,
    (x, last): (&dyn Fn(f64) -> f64, f64),
) {
    let number = place % (COLOURS.len() - 1);
    let from = x(0.0);
    let _ = write!(
        svg,
        "<rect class=\"f{number}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
         height=\"{BAR}\" fill=\"{}\" fill-opacity=\"0.55\"/>",
        middle - BAR / 2.0,
        (x(level.value) - from).max(1.0),
        COLOURS[number],
    );
    if let Some((low, high)) = range_ends(level) {
        // What ends beyond the picture has an arrow there.
        let end = if high > last { "m-6 0l6 5l-6 5" } else { "v10" };
        let _ = write!(
            svg,
            "<path class=\"whisker\" \
             d=\"M{a:.1} {t:.1}v10M{a:.1} {middle:.1}H{b:.1}M{b:.1} {t:.1}{end}\" \
             stroke=\"#333\" stroke-width=\"1.6\" fill=\"none\"/>",
            a = x(low),
            b = x(high),
            t = middle - 5.0
        );
    }
    if level.values.len() > 1 {
        let dots: String =
            level.values.iter().map(|v| format!("M{:.1} {:.1}h0", x(*v), middle + 7.0)).collect();
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"{dots}\" stroke=\"#333\" stroke-width=\"4.5\" \
             stroke-opacity=\"0.6\" stroke-linecap=\"round\" fill=\"none\"/>"
        );
    }
}

/// `3 771 (3 700 to 3 850)`
fn value_and_range(level: &VariantLevel) -> String {
    let word = |value: f64| unbroken_numbers(&escape_html(&metric_value_text(level.metric, value)));
    let range = range_ends(level).map_or_else(String::new, |(low, high)| {
        format!(" <tspan class=\"faint\" fill=\"#767676\">{} to {}</tspan>", word(low), word(high))
    });
    format!("<tspan font-weight=\"650\">{}</tspan>{range}", word(level.value))
}

/// The picture in words.
fn levels_text(shown: &[VariantLevel]) -> String {
    let one = |l: &VariantLevel| format!("{}: {}", l.name, metric_value_text(l.metric, l.value));
    shown.iter().map(one).collect::<Vec<_>>().join("; ")
}
