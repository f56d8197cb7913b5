//! The data of the plots for the script: once, short, inert.

use serde_json::{Value, json};

use super::axis::PlotAxis;
use super::m4;
use super::plot::{Plot, PlotBackground, PlotCurve, PlotFrame, WIDE};

/// Most points of a curve: an hour of seconds as they are. Longer curves are thinned out like the pictures, so
/// that the page of a day stays small; the CSV has every point.
const MOST: usize = 4000;

/// The points, or what the columns of a picture would keep of them.
fn thin_points(curve: &PlotCurve) -> Vec<(f64, Option<f64>)> {
    let points = &curve.points;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    if points.len() <= MOST {
        return points.clone();
    }
    let column = (last.0 - first.0) / (MOST / 4) as f64;
    let mut kept = Vec::with_capacity(MOST);
    for stretch in points.split_inclusive(|p| p.1.is_none()) {
        let values: Vec<(f64, f64)> =
            stretch.iter().filter_map(|(at, value)| Some((*at, (*value)?))).collect();
        kept.extend(
            m4::reduce_points(&values, column).into_iter().map(|(at, value)| (at, Some(value))),
        );
        kept.extend(stretch.last().filter(|p| p.1.is_none()));
    }
    kept
}

/// Times that several curves share are kept once.
#[derive(Default)]
struct SharedTimes {
    /// Differences in milliseconds (or thousandths of whatever the axis counts).
    lists: Vec<Vec<i64>>,
}

impl SharedTimes {
    fn intern_times(&mut self, points: &[(f64, Option<f64>)]) -> usize {
        let mut last = 0;
        let list: Vec<i64> = points
            .iter()
            .map(|(at, _)| {
                let at = (at * 1000.0).round() as i64;
                let step = at - last;
                last = at;
                step
            })
            .collect();
        if let Some(place) = self.lists.iter().position(|known| *known == list) {
            return place;
        }
        self.lists.push(list);
        self.lists.len() - 1
    }
}

/// Plots with the frame they were drawn in, the time axis, what stands behind the curves.
pub(super) fn plots_json(
    plots: &[(Plot, PlotFrame)],
    time: &PlotAxis,
    ground: &PlotBackground,
) -> Value {
    let mut times = SharedTimes::default();
    let plots: Vec<Value> =
        plots.iter().map(|(plot, frame)| plot_json(plot, frame, &mut times)).collect();
    let bands: Vec<Value> = ground
        .bands
        .iter()
        .map(|b| {
            json!([round_to_ms(b.from), round_to_ms(b.to), b.kind, b.letter, b.label, b.variant])
        })
        .collect();
    json!({
        "time": [time.low, round_to_ms(time.high)],
        "bands": bands,
        "stalls": ground.stalls.iter().map(|s| [round_to_ms(s.0),
        round_to_ms(s.1)]).collect::<Vec<_>>(),
        "marks": ground.marks.iter().map(|m| json!([round_to_ms(m.0), m.1])).collect::<Vec<_>>(),
        "times": times.lists,
        "plots": plots,
    })
}

fn plot_json(plot: &Plot, frame: &PlotFrame, times: &mut SharedTimes) -> Value {
    let curves: Vec<Value> = plot
        .curves
        .iter()
        .map(|curve| {
            let points = thin_points(curve);
            let values: Vec<Value> = points.iter().map(|(_, v)| short_number(*v)).collect();
            json!({
                "name": curve.name,
                "colour": curve.colour,
                "style": curve.style.script_word(),
                "times": times.intern_times(&points),
                "values": values,
            })
        })
        .collect();
    json!({
        "id": plot.id,
        "measure": plot.measure.script_word(),
        "log": plot.log,
        "labels": plot.x_labels,
        "range": plot.x_labels.as_ref().map(|_| [plot.x_axis().low, plot.x_axis().high]),
        "main": plot.x_labels.is_none() && frame.width >= WIDE.width,
        "xTitle": plot.x_title,
        "shades": plot.shades.as_ref().map(|s| {
            let (low, high) = (s.low_s, s.high_s());
            json!({ "column": round_to_ms(s.column_s), "low": low, "high": high, "rows": s.rows })
        }),
        "frame": [frame.width, frame.height, frame.left, frame.right, frame.top, frame.bottom],
        "curves": curves,
    })
}

fn round_to_ms(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// Three significant digits: as many as a screen can show, and the tables have.
fn short_number(value: Option<f64>) -> Value {
    let Some(value) = value.filter(|v| v.is_finite()) else {
        return Value::Null;
    };
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return json!(rounded as i64);
    }
    json!(rounded)
}

#[cfg(test)]
mod tests {
    use super::super::plot::CurveStyle;
    use super::*;

    #[test]
    fn a_day_is_thinned_out_and_keeps_its_extremes() {
        let mut points: Vec<(f64, Option<f64>)> =
            (0..86_400).map(|n| (f64::from(n), Some(100.0 + f64::from(n % 7)))).collect();
        points[40_000].1 = Some(3.0);
        points[50_000].1 = None;
        let curve = PlotCurve { name: String::new(), colour: 0, style: CurveStyle::Line, points };
        let kept = thin_points(&curve);
        assert!(kept.len() <= MOST + 10, "{}", kept.len());
        assert!(kept.contains(&(40_000.0, Some(3.0))) && kept.contains(&(50_000.0, None)));
        let hour = PlotCurve { points: curve.points[..3600].to_vec(), ..curve };
        assert_eq!(thin_points(&hour).len(), 3600);
    }

    #[test]
    fn values_are_short_and_never_nan() {
        for (value, expected) in [
            (Some(12_345.678), "12300"),
            (Some(0.000_040_127), "0.0000401"),
            (Some(f64::NAN), "null"),
            (None, "null"),
        ] {
            let found = short_number(value);
            assert_eq!(found.as_f64(), expected.parse().ok(), "{found}");
        }
    }
}
