//! One plot: what it shows, and its picture as SVG that needs neither script nor style sheet. Colours stand as
//! presentation attributes; the style sheet, if it may, overrides them by class.

use std::fmt::Write as _;

use super::axis::{AxisMeasure, PlotAxis, format_moment, tick_label};
use super::escape::escape_html;
use super::heatmap::HeatmapLayer;
use super::m4;

/// Okabe and Ito's palette, told apart by all kinds of eyes. The classes `c0`..`c6` stand for them.
pub(super) const COLOURS: &[&str] =
    &["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c5c5c"];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurveStyle {
    /// A dot per point.
    Dots,
    /// An upright stroke per point: it looks the same however far a zoom stretches the time.
    Uprights,
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// A value that held since the point before.
    Steps,
}

impl CurveStyle {
    /// How its path is stroked.
    fn stroke(self) -> &'static str {
        match self {
            CurveStyle::Dots => "stroke-width=\"3.6\" stroke-linecap=\"round\"",
            CurveStyle::Uprights => "stroke-width=\"1.8\"",
            CurveStyle::Dashed => "stroke-width=\"1.6\" stroke-dasharray=\"5 4\"",
            CurveStyle::Line | CurveStyle::Steps => {
                "stroke-width=\"1.6\" stroke-linejoin=\"round\""
            }
        }
    }
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct PlotCurve {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) style: CurveStyle,
    /// In the order of x; `None` is a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A stretch of x with a meaning.
#[derive(Clone, Debug)]
pub(super) struct PlotBand {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Class of the style sheet: `cold`, `warming`, `warm`, `other`.
    pub(super) kind: &'static str,
    /// A letter for the strip above the plot.
    pub(super) letter: String,
    /// In words.
    pub(super) label: String,
    /// Its group.
    pub(super) variant: String,
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

/// One plot.
#[derive(Clone, Debug, Default)]
pub(super) struct Plot {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// What it shows, for those who can't see it.
    pub(super) about: String,
    pub(super) measure: AxisMeasure,
    pub(super) log: bool,
    /// Labels of the x axis if it isn't time: value and label.
    pub(super) x_labels: Option<Vec<(f64, String)>>,
    pub(super) x_title: &'static str,
    pub(super) curves: Vec<PlotCurve>,
    /// Shades behind the curves.
    pub(super) shades: Option<HeatmapLayer>,
}

/// Size of a picture and room round the plot, in its own units.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotFrame {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// A plot over the whole width of the page.
pub(super) const WIDE: PlotFrame =
    PlotFrame { width: 1000.0, height: 238.0, left: 66.0, right: 14.0, top: 40.0, bottom: 24.0 };
/// Room that the title of the x axis needs below.
pub(super) const TITLE: f64 = 15.0;
/// Half of it.
pub(super) const SMALL: PlotFrame =
    PlotFrame { width: 490.0, height: 170.0, left: 66.0, right: 12.0, top: 12.0, bottom: 24.0 };

impl PlotFrame {
    pub(super) fn inner_width(&self) -> f64 {
        self.width - self.left - self.right
    }
    pub(super) fn inner_height(&self) -> f64 {
        self.bottom_edge() - self.top
    }
    fn bottom_edge(&self) -> f64 {
        self.height - self.bottom
    }
    pub(super) fn x_position(&self, axis: &PlotAxis, value: f64) -> f64 {
        self.left + axis.position_of(value) * self.inner_width()
    }
    pub(super) fn y_position(&self, axis: &PlotAxis, value: f64) -> f64 {
        self.top + (1.0 - axis.position_of(value)) * self.inner_height()
    }
}

impl Plot {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.finite_values().next().is_none()
    }

    /// The x axis of a plot that is not over time: as far as its points go, and a little more.
    pub(super) fn x_axis(&self) -> PlotAxis {
        let points = self.curves.iter().flat_map(|c| &c.points);
        PlotAxis::without_ticks(0.0, points.map(|p| p.0).fold(0.0, f64::max))
    }

    fn finite_values(&self) -> impl Iterator<Item = f64> + '_ {
        self.curves.iter().flat_map(|c| &c.points).filter_map(|p| p.1).filter(|v| v.is_finite())
    }

    /// The y axis: from zero, or whole decades.
    pub(super) fn y_axis(&self) -> PlotAxis {
        let (mut min, mut max) = (f64::INFINITY, 0.0);
        let edges = self.shades.iter().flat_map(|s| [s.low_s, s.high_s()]);
        for value in self.finite_values().chain(edges).filter(|v| *v > 0.0) {
            (min, max) = (f64::min(min, value), f64::max(max, value));
        }
        if self.log { PlotAxis::log(min, max) } else { PlotAxis::linear(max, self.measure) }
    }

    /// The picture. What a zoom stretches stands in an inner svg of its own: the script moves the viewBox of that one,
    /// shifts the names above it and writes the labels of its time axis.
    pub(super) fn to_svg(
        &self,
        frame: &PlotFrame,
        x: &PlotAxis,
        ground: &PlotBackground,
    ) -> String {
        let y = self.y_axis();
        let mut svg = String::new();
        let mut names = String::new();
        let PlotFrame { width, height, top, .. } = frame;
        let still = if self.x_labels.is_some() { " still" } else { "" };
        let _ = write!(
            svg,
            "<svg id=\"plot-{id}\" class=\"plot{still}\" xmlns=\"http://www.w3.org/2000/svg\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"plot-{id}-title plot-{id}-desc\" \
             font-family=\"system-ui, sans-serif\" \
             font-size=\"12\" fill=\"#333\">\
             <title id=\"plot-{id}-title\">{title}</title>\
             <desc id=\"plot-{id}-desc\">{about}</desc>\
             <svg x=\"{from}\" width=\"{wide}\" height=\"{height}\" \
             viewBox=\"{from} 0 {wide} {height}\" preserveAspectRatio=\"none\" \
             data-top=\"{top}\" data-bottom=\"{bottom}\">",
            id = self.id,
            title = escape_html(&self.title),
            about = escape_html(&self.about),
            from = frame.left - EDGE,
            wide = frame.inner_width() + 2.0 * EDGE,
            bottom = frame.bottom_edge(),
        );
        draw_bands(&mut svg, &mut names, frame, x, &ground.bands);
        if let Some(shades) = &self.shades {
            svg += &shades.to_svg(frame, x, &y);
        }
        draw_stalls(&mut svg, frame, x, &ground.stalls);
        for tick in &y.ticks {
            let at = frame.y_position(&y, *tick);
            let _ = write!(svg, "<path class=\"grid\" d=\"M0 {at:.1}H{width}\" stroke=\"#ddd\"/>");
        }
        for curve in &self.curves {
            draw_curve(&mut svg, frame, x, &y, curve);
        }
        draw_marks(&mut svg, &mut names, frame, x, &ground.marks);
        let _ = write!(svg, "</svg><g class=\"names\">{names}</g>");
        self.draw_axes(&mut svg, frame, x, &y);
        svg.push_str("</svg>");
        svg
    }

    fn draw_axes(&self, svg: &mut String, frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis) {
        let (left, right) = (frame.left, frame.width - frame.right);
        let bottom = frame.bottom_edge();
        for tick in &y.ticks {
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                frame.y_position(y, *tick) + 4.0,
                tick_label(*tick, self.measure)
            );
        }
        let labels = match &self.x_labels {
            Some(labels) => labels.clone(),
            None => x.ticks.iter().map(|t| (*t, format_moment(*t))).collect(),
        };
        svg.push_str("<g class=\"ticks\">");
        let mut taken = f64::NEG_INFINITY;
        for (value, word) in labels.iter().filter(|(v, _)| *v >= x.low && *v <= x.high) {
            let at = frame.x_position(x, *value);
            let half = word.chars().count() as f64 * 3.4 + 2.0;
            if at - half < taken {
                continue;
            }
            taken = at + half;
            let _ = write!(
                svg,
                "<path class=\"axis\" d=\"M{at:.1} {bottom}v5\" stroke=\"#888\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                escape_html(word)
            );
        }
        let _ = write!(
            svg,
            "</g><path class=\"axis\" d=\"M{left} {bottom}H{right}\" stroke=\"#888\"/>\
             <text class=\"tick\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 33.0,
            escape_html(self.x_title)
        );
    }
}

/// How far the inner svg goes beyond the axis on each side, so that dots at its ends are whole.
const EDGE: f64 = 3.0;

/// Bands over the whole height, a strip with letters above, groups by name above that.
fn draw_bands(
    svg: &mut String,
    names: &mut String,
    frame: &PlotFrame,
    x: &PlotAxis,
    bands: &[PlotBand],
) {
    for band in bands {
        let (from, to) = (frame.x_position(x, band.from), frame.x_position(x, band.to));
        let wide = (to - from).max(0.5);
        let (fill, opacity) = band_colour(band.kind);
        let _ = write!(
            svg,
            "<rect class=\"band {kind}\" x=\"{from:.1}\" y=\"{top}\" width=\"{wide:.1}\" \
             height=\"{tall:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\">\
             <title>{label}</title></rect>\
             <rect class=\"strip {kind}\" x=\"{from:.1}\" y=\"{strip:.1}\" width=\"{wide:.1}\" \
             height=\"14\" fill=\"{fill}\" fill-opacity=\"0.55\"/>",
            kind = band.kind,
            top = frame.top,
            tall = frame.inner_height(),
            strip = frame.top - 15.0,
            label = escape_html(&band.label),
        );
        if wide >= 11.0 {
            let _ = write!(
                names,
                "<text class=\"letter\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                 font-size=\"10\">{}</text>",
                from + wide / 2.0,
                frame.top - 4.5,
                escape_html(&band.letter)
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
        if (variant.chars().count() as f64) * 6.6 + 8.0 <= to - from {
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
fn draw_stalls(svg: &mut String, frame: &PlotFrame, x: &PlotAxis, stalls: &[(f64, f64)]) {
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
fn draw_marks(
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

/// Neighbouring bands of the same variant: its name, where they begin and end.
pub(super) fn group_bands(bands: &[PlotBand]) -> Vec<(&str, f64, f64)> {
    let mut groups: Vec<(&str, f64, f64)> = Vec::new();
    for band in bands.iter().filter(|b| !b.variant.is_empty()) {
        match groups.last_mut().filter(|g| g.0 == band.variant) {
            Some(group) => group.2 = band.to,
            None => groups.push((&band.variant, band.from, band.to)),
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

fn draw_curve(svg: &mut String, frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis, curve: &PlotCurve) {
    let number = curve.colour % COLOURS.len();
    let dots = if curve.style == CurveStyle::Dots { " dots" } else { "" };
    let path = match curve.style {
        CurveStyle::Dots | CurveStyle::Uprights => marks_path(frame, x, y, curve),
        CurveStyle::Line | CurveStyle::Dashed | CurveStyle::Steps => line_path(frame, x, y, curve),
    };
    let (colour, stroke) = (COLOURS[number], curve.style.stroke());
    let _ = write!(
        svg,
        "<path class=\"curve c{number}{dots}\" d=\"{path}\" fill=\"none\" stroke=\"{colour}\" \
         {stroke}/>"
    );
}

/// Points in the picture, stretches between gaps apart, thinned out to what the columns can show.
fn split_at_gaps(
    frame: &PlotFrame,
    x: &PlotAxis,
    y: &PlotAxis,
    curve: &PlotCurve,
) -> Vec<Vec<(f64, f64)>> {
    let mut all: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let mut before: Option<f64> = None;
    for (at, value) in &curve.points {
        let place = frame.x_position(x, *at);
        let drawable = value.filter(|v| v.is_finite() && (!y.log || *v > 0.0));
        let here = all.last_mut().expect("there is always a stretch");
        match drawable {
            Some(value) => {
                let height = frame.y_position(y, value);
                if let (CurveStyle::Steps, Some(before)) = (curve.style, before) {
                    here.push((before, height));
                }
                here.push((place, height));
            }
            None if !here.is_empty() => all.push(Vec::new()),
            None => {}
        }
        before = Some(place);
    }
    all.retain(|stretch| !stretch.is_empty());
    all.iter().map(|stretch| m4::reduce_points(stretch, 1.0)).collect()
}

fn marks_path(frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis, curve: &PlotCurve) -> String {
    let mut path = String::new();
    for (at, height) in split_at_gaps(frame, x, y, curve).concat() {
        let _ = match curve.style {
            CurveStyle::Uprights => write!(path, "M{at:.1} {:.1}v8", height - 4.0),
            _ => write!(path, "M{at:.1} {height:.1}h0"),
        };
    }
    path
}

/// Relative steps in tenths: half the length of absolute ones.
fn line_path(frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis, curve: &PlotCurve) -> String {
    let mut path = String::new();
    // In a small picture whole units are fine enough.
    let grain = if frame.width < WIDE.width { 10.0 } else { 1.0 };
    let tenths = |v: f64| ((v * 10.0 / grain).round() * grain) as i64;
    let short = |tenths: i64| {
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
        match (whole, part) {
            (whole, 0) => format!("{sign}{whole}"),
            (0, part) => format!("{sign}.{part}"),
            (whole, part) => format!("{sign}{whole}.{part}"),
        }
    };
    for stretch in split_at_gaps(frame, x, y, curve) {
        let mut last: Option<(i64, i64)> = None;
        for (at, height) in &stretch {
            let (at, height) = (tenths(*at), tenths(*height));
            let _ = match last {
                None => write!(path, "M{} {}", short(at), short(height)),
                Some((x, y)) => match (at - x, height - y) {
                    (0, 0) => Ok(()),
                    (right, 0) => write!(path, "h{}", short(right)),
                    (0, down) => write!(path, "v{}", short(down)),
                    (right, down) if down < 0 => {
                        write!(path, "l{}{}", short(right), short(down))
                    }
                    (right, down) => write!(path, "l{} {}", short(right), short(down)),
                },
            };
            last = Some((at, height));
        }
        if stretch.len() == 1 {
            path.push_str("h1.5");
        }
    }
    path
}
