//! One plot: what it shows, and its picture as SVG that needs neither script nor style sheet. Colours stand as
//! presentation attributes; the style sheet, if it may, overrides them by class.

use std::fmt::Write as _;

use super::axis::{Axis, Measure, label, moment};
use super::escape::text;
use super::m4;
use super::shades::Shades;

/// Okabe and Ito's palette, told apart by all kinds of eyes. The classes `c0`..`c6` stand for them.
pub(super) const COLOURS: &[&str] =
    &["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c5c5c"];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A dot per point.
    Dots,
    /// A cross per point.
    Crosses,
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// A value that held since the point before.
    Steps,
}

impl Style {
    /// The word the script knows it by.
    pub(super) fn word(self) -> &'static str {
        match self {
            Style::Dots => "dots",
            Style::Crosses => "crosses",
            Style::Line => "line",
            Style::Dashed => "dashed",
            Style::Steps => "steps",
        }
    }
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) style: Style,
    /// In the order of x; `None` is a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A stretch of x with a meaning.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Class of the style sheet: `cold`, `warming`, `warm`, `other`.
    pub(super) kind: &'static str,
    /// A letter for the strip above the plot.
    pub(super) letter: String,
    /// In words.
    pub(super) label: String,
    /// Its group.
    pub(super) way: String,
}

/// What stands behind the curves of every plot over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// Steps.
    pub(super) bands: Vec<Band>,
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
    pub(super) measure: Measure,
    pub(super) log: bool,
    /// Labels of the x axis if it isn't time: value and label.
    pub(super) x_labels: Option<Vec<(f64, String)>>,
    pub(super) x_title: &'static str,
    pub(super) curves: Vec<Curve>,
    /// Shades behind the curves.
    pub(super) shades: Option<Shades>,
}

/// Size of a picture and room round the plot, in its own units; the script uses the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// A plot over the whole width of the page.
pub(super) const WIDE: Frame =
    Frame { width: 1000.0, height: 238.0, left: 66.0, right: 14.0, top: 40.0, bottom: 24.0 };
/// Room that the title of the x axis needs below.
pub(super) const TITLE: f64 = 15.0;
/// Half of it.
pub(super) const SMALL: Frame =
    Frame { width: 490.0, height: 170.0, left: 66.0, right: 12.0, top: 12.0, bottom: 24.0 };

impl Frame {
    pub(super) fn inner_width(&self) -> f64 {
        self.width - self.left - self.right
    }
    pub(super) fn inner_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }
    pub(super) fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.place(value) * self.inner_width()
    }
    pub(super) fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.top + (1.0 - axis.place(value)) * self.inner_height()
    }
}

impl Plot {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.values().next().is_none()
    }

    /// The x axis of a plot that is not over time: as far as its points go, and a little more.
    pub(super) fn x_axis(&self) -> Axis {
        let points = self.curves.iter().flat_map(|c| &c.points);
        Axis::bare(0.0, points.map(|p| p.0).fold(0.0, f64::max))
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.curves.iter().flat_map(|c| &c.points).filter_map(|p| p.1).filter(|v| v.is_finite())
    }

    /// The y axis: from zero, or whole decades.
    pub(super) fn y_axis(&self) -> Axis {
        let (mut min, mut max) = (f64::INFINITY, 0.0);
        let edges = self.shades.iter().flat_map(|s| [s.low_s, s.high_s()]);
        for value in self.values().chain(edges).filter(|v| *v > 0.0) {
            (min, max) = (f64::min(min, value), f64::max(max, value));
        }
        if self.log { Axis::log(min, max) } else { Axis::linear(max, self.measure) }
    }

    /// The picture. The script draws it anew in its own width, from the same data.
    pub(super) fn svg(&self, frame: &Frame, x: &Axis, ground: &Ground) -> String {
        let y = self.y_axis();
        let mut svg = String::new();
        let Frame { width, height, .. } = frame;
        let _ = write!(
            svg,
            "<svg id=\"plot-{id}\" class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"plot-{id}-title plot-{id}-desc\" \
             font-family=\"system-ui, sans-serif\" \
             font-size=\"12\" fill=\"#333\">\
             <title id=\"plot-{id}-title\">{title}</title>\
             <desc id=\"plot-{id}-desc\">{about}</desc>",
            id = self.id,
            title = text(&self.title),
            about = text(&self.about),
        );
        draw_bands(&mut svg, frame, x, &ground.bands);
        if let Some(shades) = &self.shades {
            svg += &shades.svg(frame, x, &y);
        }
        draw_stalls(&mut svg, frame, x, &ground.stalls);
        self.draw_axes(&mut svg, frame, x, &y);
        for curve in &self.curves {
            draw_curve(&mut svg, frame, x, &y, curve);
        }
        draw_marks(&mut svg, frame, x, &ground.marks);
        svg.push_str("</svg>");
        svg
    }

    fn draw_axes(&self, svg: &mut String, frame: &Frame, x: &Axis, y: &Axis) {
        let (left, right) = (frame.left, frame.width - frame.right);
        let bottom = frame.height - frame.bottom;
        for tick in &y.ticks {
            let at = frame.y(y, *tick);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                at + 4.0,
                label(*tick, self.measure)
            );
        }
        let labels = match &self.x_labels {
            Some(labels) => labels.clone(),
            None => x.ticks.iter().map(|t| (*t, moment(*t))).collect(),
        };
        let mut taken = f64::NEG_INFINITY;
        for (value, word) in labels.iter().filter(|(v, _)| *v >= x.low && *v <= x.high) {
            let at = frame.x(x, *value);
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
                text(word)
            );
        }
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{left} {bottom}H{right}\" stroke=\"#888\"/>\
             <text class=\"tick\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 33.0,
            text(self.x_title)
        );
    }
}

/// Bands over the whole height, a strip with letters above, groups by name above that.
fn draw_bands(svg: &mut String, frame: &Frame, x: &Axis, bands: &[Band]) {
    let bottom = frame.height - frame.bottom;
    for band in bands {
        let (from, to) = (frame.x(x, band.from), frame.x(x, band.to));
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
            tall = bottom - frame.top,
            strip = frame.top - 15.0,
            label = text(&band.label),
        );
        if wide >= 11.0 {
            let _ = write!(
                svg,
                "<text class=\"letter\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                 font-size=\"10\">{}</text>",
                from + wide / 2.0,
                frame.top - 4.5,
                text(&band.letter)
            );
        }
    }
    for (way, from, to) in groups(bands) {
        let (from, to) = (frame.x(x, from), frame.x(x, to));
        let _ = write!(
            svg,
            "<path class=\"group\" d=\"M{from:.1} {:.1}V{bottom}\" stroke=\"#999\" \
             stroke-dasharray=\"2 3\"/>",
            frame.top - 30.0
        );
        if (way.chars().count() as f64) * 6.6 + 8.0 <= to - from {
            let _ = write!(
                svg,
                "<text class=\"way\" x=\"{:.1}\" y=\"{:.1}\" font-weight=\"600\">{}</text>",
                from + 5.0,
                frame.top - 21.0,
                text(way)
            );
        }
    }
}

/// Stalls in one path, as there may be many.
fn draw_stalls(svg: &mut String, frame: &Frame, x: &Axis, stalls: &[(f64, f64)]) {
    if stalls.is_empty() {
        return;
    }
    svg.push_str("<path class=\"stalls\" fill=\"#d55e00\" fill-opacity=\"0.28\" d=\"");
    let (top, tall) = (frame.top, frame.height - frame.bottom - frame.top);
    for (from, to) in stalls {
        let (from, to) = (frame.x(x, *from), frame.x(x, *to));
        let _ = write!(
            svg,
            "M{from:.1} {top}h{wide:.1}v{tall}h-{wide:.1}z",
            wide = (to - from).max(1.0)
        );
    }
    svg.push_str("\"/>");
}

/// Moments with a name.
fn draw_marks(svg: &mut String, frame: &Frame, x: &Axis, marks: &[(f64, String)]) {
    for (at, name) in marks {
        let at = frame.x(x, *at);
        let _ = write!(
            svg,
            "<path class=\"mark\" d=\"M{at:.1} {}V{}\" stroke=\"#333\" stroke-dasharray=\"6 3\"/>\
             <text class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{}</text>",
            frame.top,
            frame.height - frame.bottom,
            at + 3.0,
            frame.top + 10.0,
            text(name)
        );
    }
}

/// Neighbouring bands of the same way: its name, where they begin and end.
pub(super) fn groups(bands: &[Band]) -> Vec<(&str, f64, f64)> {
    let mut groups: Vec<(&str, f64, f64)> = Vec::new();
    for band in bands.iter().filter(|b| !b.way.is_empty()) {
        match groups.last_mut().filter(|g| g.0 == band.way) {
            Some(group) => group.2 = band.to,
            None => groups.push((&band.way, band.from, band.to)),
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

fn draw_curve(svg: &mut String, frame: &Frame, x: &Axis, y: &Axis, curve: &Curve) {
    let colour = COLOURS[curve.colour % COLOURS.len()];
    let class = format!("curve c{} {}", curve.colour % COLOURS.len(), curve.style.word());
    let path = match curve.style {
        Style::Dots | Style::Crosses => marks(frame, x, y, curve),
        Style::Line | Style::Dashed | Style::Steps => line(frame, x, y, curve),
    };
    let stroke = match curve.style {
        Style::Dots => "stroke-width=\"3.6\" stroke-linecap=\"round\"",
        Style::Crosses => "stroke-width=\"1.4\"",
        Style::Dashed => "stroke-width=\"1.6\" stroke-dasharray=\"5 4\"",
        Style::Line | Style::Steps => "stroke-width=\"1.6\" stroke-linejoin=\"round\"",
    };
    let _ = write!(
        svg,
        "<path class=\"{class}\" d=\"{path}\" fill=\"none\" stroke=\"{colour}\" {stroke}/>"
    );
}

/// Points in the picture, stretches between gaps apart, thinned out to what the columns can show.
fn stretches(frame: &Frame, x: &Axis, y: &Axis, curve: &Curve) -> Vec<Vec<(f64, f64)>> {
    let mut all: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let mut before: Option<f64> = None;
    for (at, value) in &curve.points {
        let place = frame.x(x, *at);
        let drawable = value.filter(|v| v.is_finite() && (!y.log || *v > 0.0));
        let here = all.last_mut().expect("there is always a stretch");
        match drawable {
            Some(value) => {
                let height = frame.y(y, value);
                if let (Style::Steps, Some(before)) = (curve.style, before) {
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
    all.iter().map(|stretch| m4::reduce(stretch, 1.0)).collect()
}

fn marks(frame: &Frame, x: &Axis, y: &Axis, curve: &Curve) -> String {
    let mut path = String::new();
    for (at, height) in stretches(frame, x, y, curve).concat() {
        let _ = match curve.style {
            Style::Crosses => write!(path, "M{:.1} {:.1}l6 6m0-6l-6 6", at - 3.0, height - 3.0),
            _ => write!(path, "M{at:.1} {height:.1}h0"),
        };
    }
    path
}

/// Relative steps in tenths: half the length of absolute ones.
fn line(frame: &Frame, x: &Axis, y: &Axis, curve: &Curve) -> String {
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
    for stretch in stretches(frame, x, y, curve) {
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
