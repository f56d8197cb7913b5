//! The page of a span of a watch.

use std::io::{self, Write};

use crate::analysis::number_format::{format_number, format_time};
use crate::analysis::{WATCH_COLUMNS, WatchFindings};

use super::super::watch::{headline, local_texts, span_text, stall_word, value_text};
use super::axis::{AxisMeasure, PlotAxis};
use super::bands::PlotBackground;
use super::escape::escape_html;
use super::legend::curve_legend;
use super::plot::{CurveStyle, Plot, PlotCurve, PlotFrame, SMALL, WIDE};
use super::plot_data::data_element;
use super::tables::{number_table, text_table};
use super::{PageHead, write_page};

/// A plot: its id, its title, what it shows, and its columns.
type PlotSpec = (&'static str, &'static str, &'static str, &'static [&'static str]);

const PLOTS: &[PlotSpec] = &[
    (
        "queries",
        "Statements per second",
        "Statements between two samples, by the time between them; shaded where there is a stall.",
        &["queries_per_s", "selects_per_s", "changes_per_s", "commits_per_s"],
    ),
    ("threads", "Threads", "Threads that run a statement, at each sample.", &["threads_running"]),
    (
        "connected",
        "Connections",
        "Connections that are open, at each sample.",
        &["threads_connected"],
    ),
    (
        "locks",
        "Row lock waits per second",
        "Waits for row locks that began between two samples.",
        &["row_lock_waits_per_s"],
    ),
    (
        "pool",
        "Buffer pool, shares of 1",
        "Share of read requests that found their page in the pool, and of pages that are dirty.",
        &["pool_hit_ratio", "pool_dirty_share"],
    ),
    (
        "cpu",
        "CPU, cores busy",
        "CPU of the server's process and of the machine that sampled it.",
        &["server_cpu_cores", "machine_cpu_cores"],
    ),
];

pub(crate) fn write_watch_page(found: &WatchFindings, out: &mut dyn Write) -> io::Result<()> {
    let began = found.rows.first().map_or(0.0, |row| row.ended_s - row.seconds);
    let ended = found.rows.last().map_or(began, |row| row.ended_s);
    let time = PlotAxis::time_range(0.0, (ended - began).max(1.0));
    let stalls = found.stalls.iter().map(|s| (s.began_s - began, s.began_s - began + s.seconds));
    let ground = PlotBackground { stalls: stalls.collect(), ..PlotBackground::default() };
    let plots: Vec<Plot> = PLOTS
        .iter()
        .map(|spec| plot_of(found, spec, began))
        .filter(|plot| !plot.is_empty())
        .collect();
    let title = format!("{} \u{b7} sweat watch", found.folder);
    let answer = headline(found);
    let parts = vec![
        format!(
            "<header><div><p class=\"brand\">sweat <span>watch</span></p><h1>{}</h1>\
             <p class=\"facts\">{}<br>{}</p></div></header>\n<main>",
            escape_html(&answer),
            escape_html(&found.server),
            escape_html(&span_text(found)),
        ),
        plots_section(&plots, &time, &ground, &local_texts(found, began)),
        figures_section(found),
        stalls_section(found),
        events_section(found),
        "</main>".to_owned(),
        data_element(&plots, &time, None),
    ];
    write_page(PageHead { title: &title, answer }, &found.tool_version, parts, out)
}

fn plot_of(found: &WatchFindings, spec: &PlotSpec, began: f64) -> Plot {
    let (id, title, about, ids) = *spec;
    let curve = |(number, id): (usize, &&str)| {
        let place = WATCH_COLUMNS.iter().position(|column| column.id == *id)?;
        let points: Vec<(f64, Option<f64>)> = std::iter::once((0.0, None))
            .chain(found.rows.iter().map(|row| (row.ended_s - began, row.values[place])))
            .collect();
        let is_seen = points.iter().any(|(_, value)| value.is_some());
        is_seen.then(|| PlotCurve {
            name: WATCH_COLUMNS[place].title.to_owned(),
            variant: String::new(),
            colour: number,
            style: CurveStyle::Steps,
            points,
        })
    };
    Plot {
        id,
        title: title.to_owned(),
        about: about.to_owned(),
        measure: AxisMeasure::Number,
        curves: ids.iter().enumerate().filter_map(curve).collect(),
        ..Plot::default()
    }
}

fn plots_section(
    plots: &[Plot],
    time: &PlotAxis,
    ground: &PlotBackground,
    (day, clock): &(String, String),
) -> String {
    if plots.is_empty() {
        return String::new();
    }
    let mut section = format!(
        "<section id=\"time\"><div class=\"together\"><h2>Over time</h2>\
         <p class=\"small\" id=\"zoom-hint\" hidden>Drag across a plot to zoom all of them, \
         double-click to see everything again; a click on a legend hides a curve. \
         <button id=\"zoom-out\" type=\"button\" disabled>whole span</button></p>\
         <p class=\"small\">The axis begins at {day} {clock}.</p>"
    );
    let strip = WIDE.top - SMALL.top;
    let frame = PlotFrame { top: SMALL.top, height: WIDE.height - strip, ..WIDE };
    for (place, plot) in plots.iter().enumerate() {
        section += &format!(
            "<figure class=\"plot\" data-plot=\"{}\"><figcaption><h3>{}</h3>{}</figcaption>\
             <div class=\"scroll\">{}</div></figure>",
            plot.id,
            escape_html(&plot.title),
            curve_legend(plot),
            plot.to_svg(&frame, time, ground),
        );
        // The heading is never alone at the foot of a page.
        section += if place == 0 { "</div>" } else { "" };
    }
    section + "</section>"
}

fn figures_section(found: &WatchFindings) -> String {
    let row = |figure: &crate::analysis::WatchFigure| {
        let cell = |value| value_text(value, figure.column.unit);
        let name = figure.column.title.to_owned();
        vec![name, cell(figure.median), cell(figure.lowest), cell(figure.highest)]
    };
    let rows: Vec<Vec<String>> = found.figures.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = number_table(&["", "median", "lowest", "highest"], &rows);
    format!("<section id=\"figures\"><h2>Figures</h2>{table}</section>")
}

fn stalls_section(found: &WatchFindings) -> String {
    let row = |stall: &crate::analysis::WatchStall| {
        let (day, clock) = local_texts(found, stall.began_s);
        vec![
            format!("{day} {clock}"),
            format_time(stall.seconds),
            stall_word(stall).to_owned(),
            format_number(stall.queries_per_s),
            format_number(stall.usual_per_s),
        ]
    };
    let rows: Vec<Vec<String>> = found.stalls.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = number_table(&["began", "length", "kind", "queries/s", "usual"], &rows);
    format!("<section id=\"stalls\"><h2>Stalls</h2>{table}</section>")
}

fn events_section(found: &WatchFindings) -> String {
    let row = |event: &crate::archive::WatchEvent| {
        let (day, clock) = local_texts(found, event.unix_ns as f64 / 1e9);
        vec![format!("{day} {clock}"), event.text.clone()]
    };
    let rows: Vec<Vec<String>> = found.events.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = text_table(&["at", "what happened"], &rows);
    format!("<section id=\"events\"><h2>What happened</h2>{table}</section>")
}
