//! The data of the plots for the script: once, short, inert.

use serde_json::{Value, json};

use super::axis::Axis;
use super::plot::{Band, Curve, Frame, Plot};

/// Times that several curves share are kept once.
#[derive(Default)]
struct Times {
    /// Differences in milliseconds (or thousandths of whatever the axis counts).
    lists: Vec<Vec<i64>>,
}

impl Times {
    fn place(&mut self, curve: &Curve) -> usize {
        let mut last = 0;
        let list: Vec<i64> = curve
            .points
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

/// Plots with the frame they were drawn in, the time axis, the bands.
pub(super) fn of(plots: &[(Plot, Frame)], time: &Axis, bands: &[Band]) -> Value {
    let mut times = Times::default();
    let plots: Vec<Value> =
        plots.iter().map(|(plot, frame)| one(plot, frame, &mut times)).collect();
    let bands: Vec<Value> = bands
        .iter()
        .map(|b| json!([round(b.from), round(b.to), b.kind, b.letter, b.label, b.way]))
        .collect();
    json!({
        "time": [time.low, round(time.high)],
        "bands": bands,
        "times": times.lists,
        "plots": plots,
    })
}

fn one(plot: &Plot, frame: &Frame, times: &mut Times) -> Value {
    let curves: Vec<Value> = plot
        .curves
        .iter()
        .map(|curve| {
            let values: Vec<Value> = curve.points.iter().map(|(_, v)| short(*v)).collect();
            json!({
                "name": curve.name,
                "colour": curve.colour,
                "style": curve.style.word(),
                "times": times.place(curve),
                "values": values,
            })
        })
        .collect();
    json!({
        "id": plot.id,
        "measure": plot.measure.word(),
        "log": plot.log,
        "labels": plot.x_labels,
        "xTitle": plot.x_title,
        "frame": [frame.width, frame.height, frame.left, frame.right, frame.top, frame.bottom],
        "curves": curves,
    })
}

fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// Four significant digits: more than a screen can show.
fn short(value: Option<f64>) -> Value {
    let Some(value) = value.filter(|v| v.is_finite()) else {
        return Value::Null;
    };
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        return json!(rounded as i64);
    }
    json!(rounded)
}
