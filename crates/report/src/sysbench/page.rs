//! A load as one page of HTML: the answer, two plots over time, the report as text, a row for each interval.

use crate::analysis::LoadFigures;
use crate::html::STYLE;
use crate::html::escape::escape_html;

use super::IntervalFigures;

/// Size of a plot, pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 160.0;

/// The page: nothing is loaded, no script.
pub fn html_document(
    name: &str,
    threads: usize,
    intervals: &[IntervalFigures],
    summary: &IntervalFigures,
    report: &str,
) -> String {
    let (title, figures) = (escape_html(name), &summary.figures);
    let answer = format!(
        "{:.2} events/s with {threads} thread{} in {:.1} s; {}",
        figures.rate(figures.events),
        if threads == 1 { "" } else { "s" },
        figures.seconds,
        latency_words(figures)
    );
    let plots = plot_series("events/s", intervals, |one| one.rate(one.events))
        + &plot_series("slowest percentile, ms", intervals, |one| {
            one.percentiles.last().map_or(one.max_ms, |(_, ms)| *ms)
        });
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>{title} \u{b7} sweat sysbench</title>\n<style>{STYLE}</style></head>\n\
         <body><main>\n\
         <h1>{title}</h1>\n<p>{answer}</p>\n{plots}<pre>{}</pre>\n{}</main></body>\n</html>\n",
        escape_html(report.trim_matches('\n')),
        interval_table(intervals),
    )
}

fn latency_words(figures: &LoadFigures) -> String {
    let percentiles = figures.percentiles.iter().map(|(p, ms)| format!("p{p} {ms:.2} ms"));
    let mut words = vec![format!("mean {:.2} ms", figures.mean_ms)];
    words.extend(percentiles);
    words.push(format!("longest {:.2} ms", figures.max_ms));
    words.join(", ")
}

/// A line over time from 0 to its highest value; nothing where there are less than two intervals.
fn plot_series(
    label: &str,
    intervals: &[IntervalFigures],
    value: impl Fn(&LoadFigures) -> f64,
) -> String {
    let values: Vec<(f64, f64)> =
        intervals.iter().map(|one| (one.at_s, value(&one.figures))).collect();
    let highest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let end_s = values.last().map_or(0.0, |(at_s, _)| *at_s);
    if values.len() < 2 || highest <= 0.0 {
        return String::new();
    }
    let point = |(at_s, value): &(f64, f64)| {
        format!("{:.1},{:.1}", at_s / end_s * WIDTH, HEIGHT - value / highest * HEIGHT)
    };
    let points: Vec<String> = values.iter().map(point).collect();
    format!(
        "<h2>{label}</h2>\n<svg viewBox=\"-1 -1 {} {}\" width=\"100%\" role=\"img\" \
         aria-label=\"{label}\">\
         <path d=\"M0 0V{HEIGHT}H{WIDTH}\" fill=\"none\" stroke=\"#8d9196\"/>\
         <polyline fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" points=\"{}\"/></svg>\n\
         <p>0 to {highest:.2}; {end_s:.1} s</p>\n",
        WIDTH + 2.0,
        HEIGHT + 2.0,
        points.join(" "),
    )
}

fn interval_table(intervals: &[IntervalFigures]) -> String {
    let Some(first) = intervals.first() else { return String::new() };
    let mut head: Vec<String> = first.wall_clock.iter().map(|_| "UTC".to_owned()).collect();
    head.extend(["seconds", "events/s", "errors/s", "mean ms"].map(str::to_owned));
    head.extend(
        first.figures.percentiles.iter().map(|(percentile, _)| format!("p{percentile} ms")),
    );
    head.push("longest ms".to_owned());
    let row = |cell: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|text| format!("<{cell}>{text}</{cell}>")).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows = intervals.iter().map(|one| {
        let figures = &one.figures;
        let mut cells: Vec<String> = one.wall_clock.iter().cloned().collect();
        cells.push(format!("{:.1}", one.at_s));
        let rates = [figures.rate(figures.events), figures.rate(figures.errors), figures.mean_ms];
        cells.extend(rates.map(|value| format!("{value:.2}")));
        cells.extend(figures.percentiles.iter().map(|(_, ms)| format!("{ms:.2}")));
        cells.push(format!("{:.2}", figures.max_ms));
        row("td", &cells)
    });
    format!("<table>\n{}{}</table>\n", row("th", &head), rows.collect::<String>())
}
