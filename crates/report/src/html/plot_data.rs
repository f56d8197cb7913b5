//! The data of the plots for the script: once, short, inert.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::{Value, json};

use super::axis::{MomentForm, PlotAxis};
use super::escape::script_json;
use super::format_value;
use super::m4;
use super::plot::{Plot, PlotCurve};

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

/// What stands several times in a page is kept once, and meant by its place.
struct Shared<T> {
    list: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T: Clone + Eq + Hash> Shared<T> {
    fn place_of(&mut self, one: T) -> usize {
        let new = self.list.len();
        *self.places.entry(one).or_insert_with_key(|one| {
            self.list.push(one.clone());
            new
        })
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { list: Vec::new(), places: HashMap::new() }
    }
}

/// The points of all plots, in words as the tables say them, and how far the time axis goes. Of a run under way also
/// what the script needs to add points: `began_s`, where the time axis begins on the run's clock, and the y axes.
pub(super) fn plots_json<'a>(
    plots: impl IntoIterator<Item = &'a Plot>,
    time: &PlotAxis,
    began_s: Option<f64>,
) -> Value {
    let (mut times, mut words) = (Shared::default(), Shared::default());
    let of_plot = |plot: &Plot| {
        let mut one = plot_json(plot, &mut times, &mut words);
        if began_s.is_some() && plot.x_labels.is_none() {
            let y = plot.y_axis();
            one["y"] = json!([y.low, y.high, y.log]);
        }
        one
    };
    let plots: Vec<Value> = plots.into_iter().map(of_plot).collect();
    let (times, words) = (times.list, words.list);
    let form = MomentForm::of_axis(time) as usize;
    let mut all = json!({
        "time": [time.low, time.high],
        "form": form,
        "times": times,
        "words": words,
        "plots": plots,
    });
    if let Some(began_s) = began_s {
        all["began"] = json!(began_s);
    }
    all
}

/// The element that the script reads. `began_s` as of `plots_json`.
pub(super) fn data_element<'a>(
    plots: impl IntoIterator<Item = &'a Plot>,
    time: &PlotAxis,
    began_s: Option<f64>,
) -> String {
    let data = script_json(&plots_json(plots, time, began_s));
    format!("<script type=\"application/json\" id=\"plot-data\">{data}</script>")
}

fn plot_json(plot: &Plot, times: &mut Shared<Vec<i64>>, words: &mut Shared<String>) -> Value {
    let curve = |curve: &PlotCurve| {
        let points = thin_points(curve);
        let word = |(_, value): &(f64, Option<f64>)| {
            let value = value.filter(|v| v.is_finite())?;
            Some(words.place_of(format_value(value, plot.measure)))
        };
        json!({
            "name": curve_label(curve),
            "steps": curve.style.is_steps(),
            "times": times.place_of(time_steps(&points)),
            "values": points.iter().map(word).collect::<Vec<_>>(),
        })
    };
    json!({
        "id": plot.id,
        "title": plot.x_title,
        "scale": plot.x_scale,
        "range": plot.x_labels.as_ref().map(|_| [plot.x_axis().low, plot.x_axis().high]),
        "curves": plot.curves.iter().map(curve).collect::<Vec<_>>(),
    })
}

/// What the cursor calls a curve.
pub(super) fn curve_label(curve: &PlotCurve) -> String {
    match (curve.variant.as_str(), curve.name.as_str()) {
        ("", name) => name.to_owned(),
        (variant, "") => variant.to_owned(),
        (variant, name) => format!("{variant}: {name}"),
    }
}

/// From point to point in milliseconds (or thousandths of whatever the axis counts).
fn time_steps(points: &[(f64, Option<f64>)]) -> Vec<i64> {
    let mut last = 0;
    let step = |(at, _): &(f64, Option<f64>)| {
        let at = (at * 1000.0).round() as i64;
        at - std::mem::replace(&mut last, at)
    };
    points.iter().map(step).collect()
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
        let (name, variant) = (String::new(), String::new());
        let curve = PlotCurve { name, variant, colour: 0, style: CurveStyle::Line, points };
        let kept = thin_points(&curve);
        assert!(kept.len() <= MOST + 10, "{}", kept.len());
        assert!(kept.contains(&(40_000.0, Some(3.0))) && kept.contains(&(50_000.0, None)));
        let hour = PlotCurve { points: curve.points[..3600].to_vec(), ..curve };
        assert_eq!(thin_points(&hour).len(), 3600);
    }
}
