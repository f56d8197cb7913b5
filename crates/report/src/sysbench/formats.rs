//! The same figures for programs: CSV by line, and one JSON document.

use serde_json::{Map, Value, json};

use crate::analysis::LoadFigures;

/// An interval, or the whole load.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalFigures {
    /// Its end since the load began, seconds.
    pub at_s: f64,
    /// Its end on the wall clock, if that is shown.
    pub wall_clock: Option<String>,
    /// What it comes to.
    pub figures: LoadFigures,
}

/// Names of the columns.
pub fn csv_header(interval: &IntervalFigures) -> String {
    let figures = &interval.figures;
    let mut names: Vec<String> = interval.wall_clock.iter().map(|_| "utc".to_owned()).collect();
    names.extend(["time_s", "threads", "events", "eps"].map(str::to_owned));
    names.extend(figures.counts.iter().map(|(name, _)| format!("{name}_per_s")));
    names.extend(["errors_per_s", "reconnects_per_s", "lat_avg_ms"].map(str::to_owned));
    names.extend(figures.percentiles.iter().map(|(percentile, _)| format!("lat_p{percentile}_ms")));
    names.extend(["lat_max_ms", "queue_length", "concurrency"].map(str::to_owned));
    names.join(",") + "\n"
}

/// An interval as a line.
pub fn csv_line(threads: usize, interval: &IntervalFigures) -> String {
    let figures = &interval.figures;
    let two = |value: f64| format!("{value:.2}");
    let mut fields: Vec<String> = interval.wall_clock.iter().cloned().collect();
    fields.extend([
        format!("{:.3}", interval.at_s),
        threads.to_string(),
        figures.events.to_string(),
        two(figures.rate(figures.events)),
    ]);
    fields.extend(figures.counts.iter().map(|(_, count)| two(figures.rate(*count))));
    fields.push(two(figures.rate(figures.errors)));
    fields.push(two(figures.rate(figures.reconnects)));
    fields.push(format!("{:.3}", figures.mean_ms));
    fields.extend(figures.percentiles.iter().map(|(_, ms)| format!("{ms:.3}")));
    fields.push(format!("{:.3}", figures.max_ms));
    fields.push(figures.queued.to_string());
    fields.push(figures.in_flight.to_string());
    fields.join(",") + "\n"
}

/// `intervals` and `summary`; times are seconds since the load began, latencies milliseconds.
pub fn json_document(
    threads: usize,
    intervals: &[IntervalFigures],
    summary: &IntervalFigures,
) -> String {
    let intervals: Vec<Value> =
        intervals.iter().map(|interval| figures_value(threads, interval)).collect();
    let document = json!({"intervals": intervals, "summary": figures_value(threads, summary)});
    format!("{document:#}\n")
}

fn figures_value(threads: usize, interval: &IntervalFigures) -> Value {
    let IntervalFigures { at_s, wall_clock, figures } = interval;
    let percentiles = figures
        .percentiles
        .iter()
        .map(|(percentile, ms)| (format!("p{percentile}"), Value::from(*ms)));
    let mut latency: Map<String, Value> = percentiles.collect();
    latency.insert("min".to_owned(), figures.min_ms.into());
    latency.insert("avg".to_owned(), figures.mean_ms.into());
    latency.insert("max".to_owned(), figures.max_ms.into());
    latency.insert("sum".to_owned(), figures.sum_ms.into());
    let counts: Map<String, Value> = figures
        .counts
        .iter()
        .map(|(name, count)| ((*name).to_owned(), Value::from(*count)))
        .collect();
    let fair = figures.fairness;
    let mut value = json!({
        "time_s": at_s,
        "seconds": figures.seconds,
        "threads": threads,
        "events": figures.events,
        "events_per_s": figures.rate(figures.events),
        "counts": counts,
        "errors": figures.errors,
        "reconnects": figures.reconnects,
        "latency_ms": latency,
        "queue_length": figures.queued,
        "concurrency": figures.in_flight,
        "fairness": {
            "events_avg": fair.events_mean,
            "events_stddev": fair.events_deviation,
            "time_avg_s": fair.time_mean_s,
            "time_stddev_s": fair.time_deviation_s,
        },
    });
    if let Some(wall_clock) = wall_clock {
        value["utc"] = wall_clock.as_str().into();
    }
    value
}
