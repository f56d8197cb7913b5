//! One plot: what it shows, and its picture as SVG that needs neither script nor style sheet. Colours stand as
//! presentation attributes; the style sheet, if it may, overrides them by class.

use std::fmt::Write as _;

use super::axis::{AxisMeasure, MomentForm, PlotAxis, tick_label};
use super::bands::{PlotBackground, draw_bands, draw_marks, draw_stalls};
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
    /// A finely dashed line.
    Dotted,
    /// A value that held since the point before.
    Steps,
    /// The same, dashed.
    DashedSteps,
}

impl CurveStyle {
    /// Whether a value holds since the point before.
    pub(super) fn is_steps(self) -> bool {
        matches!(self, CurveStyle::Steps | CurveStyle::DashedSteps)
    }

    /// How its path is stroked.
    fn stroke(self) -> &'static str {
        match self {
            CurveStyle::Dots => "stroke-width=\"3.6\" stroke-linecap=\"round\"",
            CurveStyle::Uprights => "stroke-width=\"1.8\"",
            CurveStyle::Dashed | CurveStyle::DashedSteps => {
                "stroke-width=\"1.6\" stroke-dasharray=\"5 4\""
            }
            CurveStyle::Dotted => "stroke-width=\"1.6\" stroke-dasharray=\"2 3\"",
            CurveStyle::Line | CurveStyle::Steps => {
                "stroke-width=\"1.6\" stroke-linejoin=\"round\""
            }
        }
    }
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct PlotCurve {
    /// What it shows.
    pub(super) name: String,
    /// Of which variant, where colours tell variants apart; empty where they tell series apart.
    pub(super) variant: String,
    pub(super) colour: usize,
    pub(super) style: CurveStyle,
    /// In the order of x; `None` is a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
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
    /// Where the x axis is one of latencies: seconds at 0, and their growth per unit of x.
    pub(super) x_scale: Option<(f64, f64)>,
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

/// A plot over the whole width of the page, with room for the title of its x axis.
pub(super) const WIDE: PlotFrame =
    PlotFrame { width: 1000.0, height: 250.0, left: 66.0, right: 14.0, top: 40.0, bottom: 36.0 };
/// Half of it.
pub(super) const SMALL: PlotFrame =
    PlotFrame { width: 490.0, height: 182.0, left: 66.0, right: 12.0, top: 12.0, bottom: 36.0 };

impl PlotFrame {
    pub(super) fn inner_width(&self) -> f64 {
        self.width - self.left - self.right
    }
    pub(super) fn inner_height(&self) -> f64 {
        self.bottom_edge() - self.top
    }
    pub(super) fn bottom_edge(&self) -> f64 {
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
        let last = points.map(|p| p.0).fold(0.0, f64::max);
        // A point at the end is whole; a histogram ends with its last row.
        PlotAxis::without_ticks(0.0, if self.x_scale.is_some() { last } else { last * 1.015 })
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
        let (labels, title) = match &self.x_labels {
            Some(labels) => (labels.clone(), self.x_title.to_owned()),
            None => {
                let form = MomentForm::of_axis(x);
                let labels = x.ticks.iter().map(|t| (*t, form.format(*t))).collect();
                let title = if self.x_title.is_empty() { "time" } else { self.x_title };
                (labels, format!("{title}, {}", form.unit()))
            }
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
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                // The last label stays within the picture.
                at.min(right + 10.0 - half),
                bottom + 18.0,
                escape_html(word)
            );
        }
        let _ = write!(
            svg,
            "</g><path class=\"axis\" d=\"M{left} {bottom}H{right}\" stroke=\"#888\"/>\
             <text class=\"tick\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 32.0,
            escape_html(&title)
        );
    }
}

/// How far the inner svg goes beyond the axis on each side, so that dots at its ends are whole.
const EDGE: f64 = 3.0;

/// So few points are drawn larger.
const FEW_DOTS: usize = 150;

fn draw_curve(svg: &mut String, frame: &PlotFrame, x: &PlotAxis, y: &PlotAxis, curve: &PlotCurve) {
    let number = curve.colour % COLOURS.len();
    let dots = match curve.style {
        // Few points are seen from afar.
        CurveStyle::Dots if curve.points.len() <= FEW_DOTS => " dots few",
        CurveStyle::Dots => " dots",
        _ => "",
    };
    let path = match curve.style {
        CurveStyle::Dots | CurveStyle::Uprights => marks_path(frame, x, y, curve),
        _ => line_path(frame, x, y, curve),
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
                if let (true, Some(before)) = (curve.style.is_steps(), before) {
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
