//! Each comparison as a row: a dot per block, the estimate with its interval, the margin within which nothing matters.
//! The axis is the ratio to the base on a logarithmic scale, labelled in percent.

use std::fmt::Write as _;

use crate::analysis::{ComparisonVerdict, FindingResults, MetricComparison, metric_label};

use super::escape::escape_html;
use super::labels::{LABEL_LINE, draw_label, wrap_label};
use super::verdicts::format_change;

/// Least height of a row, room above and below.
const ROW: f64 = 26.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 40.0;
/// Room that a tick's label needs.
const TICK: f64 = 60.0;
/// The axis ends this far beyond what carries a verdict, in logarithms: an estimate that nobody knows well would push
/// all others together.
const BEYOND: f64 = 0.5;
/// Changes beyond this, in logarithms, are labelled as times.
const FAR: f64 = 0.7;
/// Changes that may get a label, in percent.
const LABELS: &[f64] = &[
    -99.9, -99.0, -90.0, -75.0, -50.0, -30.0, -20.0, -10.0, -5.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0,
    2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 400.0, 900.0, 9900.0,
];

/// The picture in a wide and in a narrow form; the style sheet chooses, the wide one stands without it. Of several variants
/// it shows the deciding metric.
pub(super) fn comparisons_svg(findings: &FindingResults) -> String {
    let deciding: Vec<&MetricComparison> =
        findings.comparisons.iter().filter(|c| c.decides).collect();
    let rows: Vec<EffectRow<'_>> = if deciding.len() > 1 {
        deciding.into_iter().map(|c| (c.variant.clone(), c)).collect()
    } else {
        findings.comparisons.iter().map(|c| (metric_label(&c.metric).to_owned(), c)).collect()
    };
    draw_both_widths(&rows, "change against the base", 190.0)
}

/// The same for classes of statements.
pub(super) fn classes_svg(rows: &[EffectRow<'_>], title: &str) -> String {
    draw_both_widths(rows, title, 380.0)
}

/// A label, and what is drawn beside it.
pub(super) type EffectRow<'a> = (String, &'a MetricComparison);

fn draw_both_widths(rows: &[EffectRow<'_>], title: &str, left: f64) -> String {
    let is_drawn = |row: &&EffectRow<'_>| log_ratio(row.1.ratio.value).is_some();
    let shown: Vec<&EffectRow<'_>> = rows.iter().filter(is_drawn).collect();
    if shown.is_empty() {
        return String::new();
    }
    let draw = |width, left, form| draw_effects(&shown, (width, left, form), title);
    draw(1000.0, left, "wide") + &draw(400.0, 8.0, "narrow")
}

fn log_ratio(ratio: Option<f64>) -> Option<f64> {
    ratio.filter(|r| r.is_finite() && *r > 0.0).map(f64::ln)
}

/// Where the axis begins and ends: all that carries a verdict and most estimates, and a little more.
fn axis_range(shown: &[&EffectRow<'_>]) -> (f64, f64) {
    let (all, sure) = (drawn_ends(shown, |_| true), drawn_ends(shown, is_sure));
    let mut estimates: Vec<f64> =
        shown.iter().filter_map(|row| log_ratio(row.1.ratio.value)).collect();
    estimates.sort_by(f64::total_cmp);
    let outer = if estimates.len() < 5 { 0 } else { (estimates.len() / 10).max(1) };
    let usual = &estimates[outer..estimates.len() - outer];
    let low = usual.first().map_or(sure.0, |low| low.min(sure.0));
    let high = usual.last().map_or(sure.1, |high| high.max(sure.1));
    let ends = (all.0.max(low - BEYOND), all.1.min(high + BEYOND));
    let room = 0.06 * (ends.1 - ends.0);
    (ends.0 - room, ends.1 + room)
}

fn is_sure(comparison: &MetricComparison) -> bool {
    comparison.decides || comparison.verdict != ComparisonVerdict::Unsure
}

/// From the lowest to the highest value of these comparisons.
fn drawn_ends(shown: &[&EffectRow<'_>], of: fn(&MetricComparison) -> bool) -> (f64, f64) {
    let mut ends = (-0.005f64, 0.005f64);
    for (_, comparison) in shown.iter().copied().filter(|row| of(row.1)) {
        let (low, high) = comparison.ratio.ci95.unzip();
        let margin = [1.0 - comparison.margin, 1.0 + comparison.margin].map(Some);
        let blocks = comparison.pairs.iter().map(|p| Some(p.variant / p.base));
        for value in blocks.chain([comparison.ratio.value, low, high]).chain(margin) {
            if let Some(at) = log_ratio(value) {
                ends = (ends.0.min(at), ends.1.max(at));
            }
        }
    }
    ends
}

fn draw_effects(
    shown: &[&EffectRow<'_>],
    (width, left, form): (f64, f64, &str),
    title: &str,
) -> String {
    let is_wide = form == "wide";
    let right = if is_wide { 190.0 } else { 8.0 };
    let ends = axis_range(shown);
    let inner = width - left - right;
    // What lies beyond the axis stands at its end.
    let x = |ln: f64| left + ((ln - ends.0) / (ends.1 - ends.0)).clamp(0.0, 1.0) * inner;
    // On a narrow page the name stands above its row, with the numbers.
    let most = if is_wide { (left - 14.0) / 6.6 } else { inner / 6.6 } as usize;
    let names: Vec<Vec<String>> = shown.iter().map(|row| wrap_label(&row.0, most)).collect();
    let heights: Vec<f64> = names
        .iter()
        .map(|lines| {
            let text = lines.len() as f64 * LABEL_LINE;
            if is_wide { ROW.max(text + 8.0) } else { ROW + text + LABEL_LINE }
        })
        .collect();
    let height = TOP + heights.iter().sum::<f64>() + BOTTOM;
    let hidden = if is_wide { "" } else { " display=\"none\"" };
    let mut svg = format!(
        "<svg class=\"bars {form}\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\"{hidden}>\
         <title>Change against the base</title><desc>Per metric a dot for each block, the \
         estimate and its 95 % interval as a change against the base. The table below has the \
         numbers.</desc>"
    );
    let bottom = height - BOTTOM + 4.0;
    draw_ticks(&mut svg, &x, ends, bottom, width);
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        left + inner / 2.0,
        bottom + 30.0,
        escape_html(title)
    );
    let mut top = TOP;
    for (place, (_, comparison)) in shown.iter().copied().enumerate() {
        let weight = if comparison.decides { " font-weight=\"600\"" } else { "" };
        let (lines, tall) = (&names[place], heights[place]);
        let text = lines.len() as f64 * LABEL_LINE;
        let (y, at) = match is_wide {
            true => (top + tall / 2.0, (width - right + 10.0, top + tall / 2.0 + 4.0)),
            false => (top + tall - ROW / 2.0, (left, top + text + 11.0)),
        };
        match is_wide {
            true => {
                draw_label(&mut svg, lines, left - 10.0, y, &format!("text-anchor=\"end\"{weight}"))
            }
            false => draw_label(&mut svg, lines, left, top + text / 2.0, weight),
        }
        draw_row(&mut svg, comparison, &x, y);
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{} <tspan class=\"faint\" \
             fill=\"#767676\">{}</tspan></text>",
            at.0,
            at.1,
            escape_html(&format_change(comparison)),
            comparison.verdict.as_str()
        );
        top += tall;
    }
    svg + "</svg>"
}

fn draw_ticks(svg: &mut String, x: &dyn Fn(f64) -> f64, ends: (f64, f64), bottom: f64, width: f64) {
    let place = |percent: f64| (1.0 + percent / 100.0).ln();
    // Zero first, then from the outside inwards as far as there is room.
    let mut labels: Vec<f64> = LABELS.to_vec();
    let mut taken: Vec<f64> = Vec::new();
    labels.sort_by_key(|p| (*p != 0.0, std::cmp::Reverse((p.abs() * 10.0) as i64)));
    for percent in labels {
        let at = place(percent);
        if at < ends.0 || at > ends.1 || taken.iter().any(|t| (t - x(at)).abs() < TICK) {
            continue;
        }
        taken.push(x(at));
        let class = if percent == 0.0 { "axis" } else { "grid" };
        let is_far = ends.1 > FAR || ends.0 < -FAR;
        let word = tick_text(percent, is_far);
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{bottom:.1}\" stroke=\"{}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{word}</text>",
            if percent == 0.0 { "#888" } else { "#ddd" },
            // The last label stays within the picture.
            x(at).min(width - 4.0 * word.chars().count() as f64),
            bottom + 15.0,
            at = x(at),
        );
    }
}

/// In percent, or as times where some change is far.
fn tick_text(percent: f64, is_far: bool) -> String {
    match percent {
        p if is_far => format!(
            "{}x",
            format!("{:.3}", 1.0 + p / 100.0).trim_end_matches('0').trim_end_matches('.')
        ),
        p if p > 0.0 => format!("+{p} %"),
        p => format!("{p} %"),
    }
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
