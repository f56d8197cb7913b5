//! The comparison as bars: per variant the time to warm, the first run, the second run, on one scale from zero.

use std::fmt::Write as _;

use crate::analysis::RunFindings;
use crate::analysis::number_format::{format_number, format_ratio};

use super::axis::{AxisMeasure, PlotAxis, tick_label};
use super::labels::{LABEL_LINE, draw_label, wrap_label};

/// Height of a bar and of the room between two variants.
const BAR: f64 = 17.0;
const GAP: f64 = 16.0;
/// Room above the first variant, and below the last for the axis.
const TOP: f64 = 6.0;
const BOTTOM: f64 = 38.0;

/// One bar: what it is, its class and colour, seconds.
type VariantBar = (&'static str, &'static str, &'static str, f64);

/// The picture in a wide and in a narrow form; the style sheet chooses, the wide one stands without it.
pub(super) fn variants_svg(findings: &RunFindings) -> String {
    let variants: Vec<(&str, String, Vec<VariantBar>)> = findings
        .variants
        .iter()
        .map(|variant| {
            let run = |t: Option<usize>| t.map(|t| findings.results.trials[t].seconds);
            let bars = [
                ("warming", "warming", "#e69f00", variant.warm_s),
                ("first run", "first", "#0072b2", run(variant.first)),
                ("second run", "second", "#56b4e9", run(variant.second)),
            ];
            let bars = bars.into_iter().filter_map(|(n, c, f, s)| Some((n, c, f, s?))).collect();
            (
                variant.variant.as_str(),
                variant.times_faster.value.map(format_ratio).unwrap_or_default(),
                bars,
            )
        })
        .collect();
    if variants.iter().all(|(_, _, bars)| bars.is_empty()) {
        return String::new();
    }
    draw_bars(&variants, 1000.0, 150.0, "wide") + &draw_bars(&variants, 400.0, 92.0, "narrow")
}

fn draw_bars(
    variants: &[(&str, String, Vec<VariantBar>)],
    width: f64,
    left: f64,
    form: &str,
) -> String {
    let longest = variants.iter().flat_map(|w| &w.2).map(|b| b.3).fold(0.0, f64::max);
    let axis = PlotAxis::linear(longest, AxisMeasure::Number);
    let inner = width - left - 118.0;
    let rows: usize = variants.iter().map(|w| w.2.len()).sum();
    let height = TOP + rows as f64 * BAR + variants.len() as f64 * GAP + BOTTOM;
    let hidden = if form == "narrow" { " display=\"none\"" } else { "" };
    let mut svg = format!(
        "<svg class=\"bars {form}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\" fill=\"#333\"{hidden}><title>Seconds by variant</title>\
         <desc>Per way of warming three bars: seconds of warming, of the first \
         run, of the second run. \
         The table below has the numbers.</desc>"
    );
    for tick in &axis.ticks {
        let at = left + axis.position_of(*tick) * inner;
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{:.1}\" stroke=\"#ddd\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} s</text>",
            height - BOTTOM + 4.0,
            height - 20.0,
            tick_label(*tick, AxisMeasure::Number)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        left + inner + if form == "wide" { 100.0 } else { 0.0 },
        height - 5.0,
        match form {
            "wide" => {
                "seconds; beside the name: how many times faster the first load was than the cold \
                 one"
            }
            _ => "seconds",
        }
    );
    let mut y = TOP + GAP / 2.0;
    for (variant, faster, bars) in variants {
        draw_variant_name(&mut svg, variant, faster, left, y, bars.len());
        for (name, class, fill, seconds) in bars {
            let long = (axis.position_of(*seconds) * inner).max(1.0);
            let _ = write!(
                svg,
                "<rect class=\"bar {class}\" x=\"{left}\" y=\"{:.1}\" width=\"{long:.1}\" \
                 height=\"{:.1}\" \
                 fill=\"{fill}\"/><text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{} s \
                 <tspan class=\"faint\" fill=\"#767676\">{name}</tspan></text>",
                y + 1.0,
                BAR - 2.0,
                left + long + 6.0,
                y + BAR - 4.5,
                format_number(*seconds)
            );
            y += BAR;
        }
        y += GAP;
    }
    svg.push_str("</svg>");
    svg
}

/// The name of the variant, and how many times faster its first run was than the cold one.
fn draw_variant_name(
    svg: &mut String,
    variant: &str,
    faster: &str,
    left: f64,
    y: f64,
    rows: usize,
) {
    let lines = wrap_label(variant, ((left - 12.0) / 7.8) as usize);
    let middle = y + rows as f64 * BAR / 2.0;
    draw_label(
        svg,
        &lines,
        left - 10.0,
        middle - if faster.is_empty() { 0.0 } else { 5.0 },
        "text-anchor=\"end\" font-weight=\"600\"",
    );
    let _ = write!(
        svg,
        "<text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" \
         fill=\"#767676\">{faster}</text>",
        left - 10.0,
        middle + 14.0 + LABEL_LINE * (lines.len() as f64 - 1.0) / 2.0,
    );
}
