//! What stands behind the curves over time: steps as bands, loads in a strip in the colour of their variant, stalls, moments.

use std::fmt::Write as _;

use super::axis::PlotAxis;
use super::escape::escape_html;
use super::plot::{COLOURS, PlotFrame};

/// A stretch of x with a meaning.
#[derive(Clone, Debug)]
pub(super) struct PlotBand {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Class of the style sheet: `cold`, `warming`, `warm`, `other`; empty where nothing is drawn behind the curves.
    pub(super) kind: &'static str,
    /// Colour of the strip above the plot, where it shows a variant's load.
    pub(super) strip: Option<usize>,
    /// Which load of the variant, in the strip; empty where that says nothing.
    pub(super) number: String,
    /// In words.
    pub(super) label: String,
    /// Name above the strip, of this band and those beside it that have the same.
    pub(super) group: String,
}

/// What stands behind the curves of every plot over time.
#[derive(Clone, Debug, Default)]
pub(super) struct PlotBackground {
    /// Steps.
    pub(super) bands: Vec<PlotBand>,
    /// When nothing, or little, got done: from and to.
    pub(super) stalls: Vec<(f64, f64)>,
    /// Moments with a name: where the part that is kept begins.
    pub(super) marks: Vec<(f64, String)>,
}

/// Bands over the whole height, a strip with letters above, groups by name above that.
pub(super) fn draw_bands(
    svg: &mut String,
    names: &mut String,
    frame: &PlotFrame,
    x: &PlotAxis,
    bands: &[PlotBand],
) {
    for band in bands {
        let (from, to) = (frame.x_position(x, band.from), frame.x_position(x, band.to));
        let wide = (to - from).max(0.5);
        let (fill, opacity) =
            if band.kind.is_empty() { ("none", 0.0) } else { band_colour(band.kind) };
        let _ = write!(
            svg,
            "<rect class=\"band {kind}\" x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" \
             height=\"{tall:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\">\
             <title>{label}</title></rect>",
            kind = band.kind,
            top = frame.top,
            tall = frame.inner_height(),
            label = escape_html(&band.label),
        );
        if let Some(number) = band.strip.map(|colour| colour % COLOURS.len()) {
            let _ = write!(
                svg,
                "<rect class=\"f{number}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" \
                 height=\"14\" fill=\"{}\" fill-opacity=\"0.6\"/>",
                frame.top - 15.0,
                COLOURS[number],
            );
        }
        if wide >= 11.0 && !band.number.is_empty() {
            let _ = write!(
                names,
                "<text class=\"letter\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                 font-size=\"10\">{}</text>",
                from + wide / 2.0,
                frame.top - 4.5,
                escape_html(&band.number)
            );
        }
    }
    for (variant, from, to) in group_bands(bands) {
        let (from, to) = (frame.x_position(x, from), frame.x_position(x, to));
        let _ = write!(
            svg,
            "<path class=\"group\" d=\"M{from:.1} {:.1}V{}\" stroke=\"#999\" \
             stroke-dasharray=\"2 3\"/>",
            frame.top - 30.0,
            frame.bottom_edge()
        );
        if (variant.chars().count() as f64) * 7.3 + 8.0 <= to - from {
            let _ = write!(
                names,
                "<text class=\"variant\" x=\"{from:.1}\" dx=\"5\" y=\"{:.1}\" \
                 font-weight=\"600\">{}</text>",
                frame.top - 21.0,
                escape_html(variant)
            );
        }
    }
}

/// Stalls in one path, as there may be many.
pub(super) fn draw_stalls(
    svg: &mut String,
    frame: &PlotFrame,
    x: &PlotAxis,
    stalls: &[(f64, f64)],
) {
    if stalls.is_empty() {
        return;
    }
    svg.push_str("<path class=\"stalls\" fill=\"#d55e00\" fill-opacity=\"0.28\" d=\"");
    let (top, tall) = (frame.top, frame.inner_height());
    for (from, to) in stalls {
        let (from, to) = (frame.x_position(x, *from), frame.x_position(x, *to));
        let _ = write!(
            svg,
            "M{from:.1} {top}h{wide:.1}v{tall}h-{wide:.1}z",
            wide = (to - from).max(1.0)
        );
    }
    svg.push_str("\"><title>stall</title></path>");
}

/// Moments with a name.
pub(super) fn draw_marks(
    svg: &mut String,
    names: &mut String,
    frame: &PlotFrame,
    x: &PlotAxis,
    marks: &[(f64, String)],
) {
    for (at, name) in marks {
        let at = frame.x_position(x, *at);
        let _ = write!(
            svg,
            "<path class=\"mark\" d=\"M{at:.1} {}V{}\" stroke=\"#333\" stroke-dasharray=\"6 3\"/>",
            frame.top,
            frame.bottom_edge()
        );
        let _ = write!(
            names,
            "<text class=\"mark\" x=\"{at:.1}\" dx=\"3\" y=\"{:.1}\" font-size=\"10\">{}</text>",
            frame.top + 10.0,
            escape_html(name)
        );
    }
}

/// Neighbouring bands of the same group: its name, where they begin and end.
fn group_bands(bands: &[PlotBand]) -> Vec<(&str, f64, f64)> {
    let mut groups: Vec<(&str, f64, f64)> = Vec::new();
    for band in bands.iter().filter(|b| !b.group.is_empty()) {
        match groups.last_mut().filter(|g| g.0 == band.group) {
            Some(group) => group.2 = band.to,
            None => groups.push((&band.group, band.from, band.to)),
        }
    }
    groups
}

/// Fill and opacity of a kind of band.
pub(super) fn band_colour(kind: &str) -> (&'static str, f64) {
    match kind {
        "cold" => ("#56b4e9", 0.22),
        "warming" => ("#e69f00", 0.18),
        "warm" => ("#d55e00", 0.12),
        _ => ("#999999", 0.16),
    }
}
