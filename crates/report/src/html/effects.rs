//! Each comparison as a row: a dot per block, the estimate with its interval, the margin within which nothing matters.
//! The axis is the ratio to the base on a logarithmic scale, labelled in percent.

use std::fmt::Write as _;

use crate::analysis::{ComparisonVerdict, FindingResults, MetricComparison};

use super::escape::escape_html;
use super::verdicts::format_change;

/// Height of a row, room above and below.
const ROW: f64 = 26.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 40.0;
/// Changes that may get a label, in percent.
const LABELS: &[f64] = &[
    -99.0, -90.0, -75.0, -50.0, -30.0, -20.0, -10.0, -5.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0,
    5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 400.0, 900.0, 9900.0,
];

/// The picture in a wide and in a narrow form; the style sheet chooses, the wide one stands without it.
pub(super) fn comparisons_svg(findings: &FindingResults) -> String {
    let label = |c: &MetricComparison| match c.variant.as_str() {
        "" => c.metric.clone(),
        variant => format!("{variant} \u{b7} {}", c.metric),
    };
    let rows: Vec<EffectRow<'_>> = findings.comparisons.iter().map(|c| (label(c), c)).collect();
    draw_both_widths(&rows, "change against the base", KeptEnd::Last)
}

/// The same for classes of statements, whose beginning tells most.
pub(super) fn classes_svg(rows: &[EffectRow<'_>], title: &str) -> String {
    draw_both_widths(rows, title, KeptEnd::First)
}

/// A label, and what is drawn beside it.
pub(super) type EffectRow<'a> = (String, &'a MetricComparison);

/// Which end of a label stays where there is no room for all of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptEnd {
    First,
    Last,
}

fn draw_both_widths(rows: &[EffectRow<'_>], title: &str, end: KeptEnd) -> String {
    let is_drawn = |row: &&EffectRow<'_>| log_ratio(row.1.ratio.value).is_some();
    let shown: Vec<&EffectRow<'_>> = rows.iter().filter(is_drawn).collect();
    if shown.is_empty() {
        return String::new();
    }
    let left = if end == KeptEnd::First { 380.0 } else { 250.0 };
    let draw = |width, left, form| draw_effects(&shown, (width, left, form), title, end);
    draw(1000.0, left, "wide") + &draw(400.0, 116.0, "narrow")
}

fn log_ratio(ratio: Option<f64>) -> Option<f64> {
    ratio.filter(|r| r.is_finite() && *r > 0.0).map(f64::ln)
}

/// Where the axis begins and ends: all that is drawn, and a little more.
fn axis_range(shown: &[&EffectRow<'_>]) -> (f64, f64) {
    let mut ends = (-0.005f64, 0.005f64);
    for (_, comparison) in shown.iter().copied() {
        let (low, high) = comparison.ratio.ci95.unzip();
        let margin = [1.0 - comparison.margin, 1.0 + comparison.margin].map(Some);
        let blocks = comparison.pairs.iter().map(|p| Some(p.variant / p.base));
        for value in blocks.chain([comparison.ratio.value, low, high]).chain(margin) {
            if let Some(at) = log_ratio(value) {
                ends = (ends.0.min(at), ends.1.max(at));
            }
        }
    }
    let room = 0.06 * (ends.1 - ends.0);
    (ends.0 - room, ends.1 + room)
}

fn draw_effects(
    shown: &[&EffectRow<'_>],
    (width, left, form): (f64, f64, &str),
    title: &str,
    end: KeptEnd,
) -> String {
    let right = if form == "wide" { 190.0 } else { 112.0 };
    let (low, high) = axis_range(shown);
    let inner = width - left - right;
    let x = |ln: f64| left + (ln - low) / (high - low) * inner;
    let height = TOP + ROW * shown.len() as f64 + BOTTOM;
    let hidden = if form == "narrow" { " display=\"none\"" } else { "" };
    let mut svg = format!(
        "<svg class=\"bars {form}\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\"{hidden}>\
         <title>Change against the base</title><desc>Per metric a dot for each block, the \
         estimate and its 95 % interval as a change against the base. The table below has the \
         numbers.</desc>"
    );
    let bottom = height - BOTTOM + 4.0;
    draw_ticks(&mut svg, &x, (low, high), bottom);
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        left + inner / 2.0,
        bottom + 30.0,
        escape_html(title)
    );
    for (place, (label, comparison)) in shown.iter().copied().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        draw_label(&mut svg, (label, comparison.decides), end, left, y);
        draw_row(&mut svg, comparison, &x, y);
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{} <tspan class=\"faint\" \
             fill=\"#767676\">{}</tspan></text>",
            width - right + 10.0,
            y + 4.0,
            escape_html(&format_change(comparison.ratio.value)),
            comparison.verdict.as_str()
        );
    }
    svg + "</svg>"
}

fn draw_ticks(svg: &mut String, x: &dyn Fn(f64) -> f64, ends: (f64, f64), bottom: f64) {
    let place = |percent: f64| (1.0 + percent / 100.0).ln();
    // Zero first, then from the outside inwards as far as there is room.
    let mut labels: Vec<f64> = LABELS.to_vec();
    let mut taken: Vec<f64> = Vec::new();
    labels.sort_by_key(|p| (*p != 0.0, std::cmp::Reverse((p.abs() * 10.0) as i64)));
    for percent in labels {
        let at = place(percent);
        if at < ends.0 || at > ends.1 || taken.iter().any(|t| (t - x(at)).abs() < 44.0) {
            continue;
        }
        taken.push(x(at));
        let class = if percent == 0.0 { "axis" } else { "grid" };
        let sign = if percent > 0.0 { "+" } else { "" };
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{bottom:.1}\" stroke=\"{}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{sign}{percent} \
             %</text>",
            if percent == 0.0 { "#888" } else { "#ddd" },
            bottom + 15.0,
            at = x(at),
        );
    }
}

fn draw_label(svg: &mut String, (whole, is_bold): (&str, bool), end: KeptEnd, left: f64, y: f64) {
    let most = ((left - 14.0) / 6.6) as usize;
    // The end tells more than the beginning: the metric stands there.
    let over = whole.chars().count().saturating_sub(most);
    let shown: String = match (over, end) {
        (0, _) => whole.to_owned(),
        (_, KeptEnd::First) => {
            whole.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
        }
        (_, KeptEnd::Last) => {
            ['\u{2026}'].into_iter().chain(whole.chars().skip(over + 1)).collect()
        }
    };
    let weight = if is_bold { " font-weight=\"600\"" } else { "" };
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\"{weight}>{}</text>",
        left - 10.0,
        y + 4.0,
        escape_html(&shown)
    );
}

/// Class and colour of a verdict; the word stands beside it.
fn verdict_colour(verdict: ComparisonVerdict) -> (&'static str, &'static str) {
    match verdict {
        ComparisonVerdict::Better => ("c2", "#009e73"),
        ComparisonVerdict::Worse => ("c1", "#d55e00"),
        ComparisonVerdict::Same | ComparisonVerdict::Unsure => ("c6", "#5c5c5c"),
    }
}

fn draw_row(svg: &mut String, comparison: &MetricComparison, x: &dyn Fn(f64) -> f64, y: f64) {
    let (class, colour) = verdict_colour(comparison.verdict);
    let margin = [1.0 - comparison.margin, 1.0 + comparison.margin].map(|m| log_ratio(Some(m)));
    if let [Some(from), Some(to)] = margin {
        let _ = write!(
            svg,
            "<rect class=\"other\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"#999999\" fill-opacity=\"0.16\"/>",
            x(from),
            y - ROW / 2.0 + 2.0,
            x(to) - x(from),
            ROW - 4.0
        );
    }
    let dots: String = comparison
        .pairs
        .iter()
        .filter_map(|pair| log_ratio(Some(pair.variant / pair.base)))
        .map(|at| format!("M{:.1} {:.1}h0", x(at), y - 5.0))
        .collect();
    let _ = write!(
        svg,
        "<path class=\"{class}\" d=\"{dots}\" stroke=\"{colour}\" stroke-opacity=\"0.55\" \
         stroke-width=\"5\" stroke-linecap=\"round\" fill=\"none\"/>"
    );
    if let Some((Some(low), Some(high))) =
        comparison.ratio.ci95.map(|(low, high)| (log_ratio(Some(low)), log_ratio(Some(high))))
    {
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{a:.1} {t:.1}v8M{a:.1} {m:.1}H{b:.1}M{b:.1} {t:.1}v8\" \
             stroke=\"{colour}\" stroke-width=\"1.6\" fill=\"none\"/>",
            a = x(low),
            b = x(high),
            t = y + 1.0,
            m = y + 5.0
        );
    }
    if let Some(at) = log_ratio(comparison.ratio.value) {
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{:.1} {:.1}v10\" stroke=\"{colour}\" \
             stroke-width=\"3.5\"/>",
            x(at),
            y
        );
    }
}
