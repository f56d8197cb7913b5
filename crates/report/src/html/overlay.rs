//! Several runs on one page: figures side by side, series over one axis that begins with each run's load.

use crate::analysis::number_format::{format_number, format_utc};
use crate::analysis::{
    IntervalFinding, LevelRange, NOT_RELIABLE, ProbeSeries, RunFindings, VariantLevel,
};

use super::super::DifferingSetting;
use super::super::overlay::{figure_rows, format_change, list_notes, main_load, run_letter};
use super::axis::{AxisMeasure, PlotAxis};
use super::bands::PlotBackground;
use super::escape::{escape_html, sentence_html};
use super::legend::curve_legend;
use super::plot::{CurveStyle, Plot, PlotCurve, PlotFrame, SMALL, WIDE};
use super::plot_data::data_element;
use super::sections::{tall_frame, untimed_figure};
use super::{capitalize_first, levels, record, run_plots, spectrum, tables};

/// All of it, in order.
pub(super) fn page_parts(runs: &[RunFindings], settings: &[DifferingSetting]) -> Vec<String> {
    let main = main_plots(runs);
    let more = small_plots(runs);
    let spectrum = (spectrum_plot(runs), tall_frame());
    let last = main.iter().chain(&more).flat_map(|(plot, _)| &plot.curves);
    let last = last.flat_map(|c| &c.points).map(|p| p.0).fold(0.0, f64::max);
    let axis = PlotAxis::time_range(0.0, last);
    let draw = |plots: &[(Plot, PlotFrame)]| -> String {
        plots.iter().map(|(plot, frame)| plot_figure(plot, frame, &axis)).collect()
    };
    let mut out = vec![
        page_header(runs),
        "<main>".to_owned(),
        headline_section(runs),
        levels::levels_section(&run_levels(runs), false),
        runs_section(runs),
        figures_section(runs),
        differences_section(runs.len(), settings),
    ];
    out.push(format!(
        "<section id=\"time\"><h2>Over time, from the start of each run\u{2019}s load</h2>\
         <p class=\"small\" id=\"zoom-hint\" hidden>Drag across a plot to zoom all of them, \
         double-click to see everything again; a click on a legend hides a curve. <button \
         id=\"zoom-out\" type=\"button\" disabled>whole run</button></p>{}\
         <div class=\"pairs\">{}</div></section>",
        draw(&main),
        draw(&more)
    ));
    let still = [spectrum];
    out.push(format!(
        "<section id=\"loads\"><h2>Response times</h2>{}</section>",
        untimed_figure(&still, "spectrum")
    ));
    out.push("</main>".to_owned());
    out.push(
        "<footer><p>All numbers come from the runs\u{2019} raw files.</p></footer>".to_owned(),
    );
    let plots = main.iter().chain(&more).chain(&still).map(|(plot, _)| plot);
    out.push(data_element(plots, &axis, None));
    out
}

fn run_label(runs: &[RunFindings], place: usize) -> String {
    format!("{} {}", run_letter(place), runs[place].head.name)
}

fn page_header(runs: &[RunFindings]) -> String {
    let facts = |run: &RunFindings| -> String {
        let facts = record::machine_facts(&run.head, &run.data);
        facts.iter().map(|fact| format!("<span>{}</span> ", escape_html(fact))).collect()
    };
    let first = runs.first().map(facts).unwrap_or_default();
    let place = match runs.iter().all(|run| facts(run) == first) {
        true => format!("<p class=\"facts\">{first}</p>"),
        false => String::new(),
    };
    format!(
        "<header><div><p class=\"brand\">sweat <span>report</span></p><h1>{} runs side by side\
         </h1>{place}</div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        runs.len()
    )
}

/// The rates in a sentence; whether they differ by more than noise is for another command.
fn headline_section(runs: &[RunFindings]) -> String {
    let rate = |(place, run): (usize, &RunFindings)| {
        let rate = main_load(run)?.events_per_s.value?;
        Some(format!("{} {} events/s", run_letter(place), format_number(rate)))
    };
    let rates: Vec<String> = runs.iter().enumerate().filter_map(rate).collect();
    if rates.is_empty() {
        return String::new();
    }
    let is_void = runs.iter().any(|run| run.results.void_caveat().is_some());
    let (class, mark) = if is_void { (" class=\"unreliable\"", NOT_RELIABLE) } else { ("", "") };
    format!(
        "<section id=\"answer\"{class}><h2 class=\"hidden\">Answer</h2>\
         <p class=\"first\">{mark}{}.</p>\
         <p class=\"further\">Whether the difference is more than noise is what \
         <code>sweat compare</code> says.</p></section>",
        sentence_html(&rates.join(", "))
    )
}

/// The rate of each run's main load, with the range of its intervals.
fn run_levels(runs: &[RunFindings]) -> Vec<VariantLevel> {
    let level = |(place, run): (usize, &RunFindings)| {
        let load = main_load(run)?;
        Some(VariantLevel {
            name: run_label(runs, place),
            metric: "events_per_s",
            value: load.events_per_s.value?,
            range: load.rates.map(|rates| LevelRange::Intervals(rates.min, rates.max)),
            values: Vec::new(),
        })
    };
    runs.iter().enumerate().filter_map(level).collect()
}

fn runs_section(runs: &[RunFindings]) -> String {
    let row = |(place, run): (usize, &RunFindings)| {
        let server = run.head.server.as_ref();
        let began = format_utc(run.head.origin_unix_ns).replace('T', " ");
        vec![
            run_label(runs, place),
            run.head.id.clone(),
            began.split('.').next().unwrap_or("").into(),
            server.map(|s| format!("{} {}", s.product, s.version)).unwrap_or_default(),
            main_load(run).map(|t| format!("{}, {}", t.workload, t.arrival)).unwrap_or_default(),
        ]
    };
    let list: Vec<Vec<String>> = runs.iter().enumerate().map(row).collect();
    let notes: String = list_notes(runs)
        .iter()
        .map(|n| format!("<li>{}.</li>", sentence_html(&capitalize_first(n))))
        .collect();
    format!(
        "<section id=\"runs\"><h2>Runs</h2>{}<ul class=\"small notes\">{notes}</ul></section>",
        tables::text_table(&["", "run", "began, UTC", "server", "load"], &list)
    )
}

fn figures_section(runs: &[RunFindings]) -> String {
    let names: Vec<String> = (0..runs.len()).map(run_letter).collect();
    let mut head = vec!["figure"];
    for (place, name) in names.iter().enumerate() {
        head.push(name);
        if place > 0 {
            head.push("against A");
        }
    }
    let rows: Vec<Vec<String>> = figure_rows(runs)
        .into_iter()
        .map(|row| {
            let mut cells = vec![row.title];
            for (place, (value, ratio)) in row.cells.into_iter().enumerate() {
                cells.push(value);
                if place > 0 {
                    cells.push(format_change(ratio));
                }
            }
            cells
        })
        .collect();
    format!(
        "<section id=\"comparison\"><h2>Figures</h2>{}</section>",
        tables::number_table(&head, &rows)
    )
}

fn differences_section(runs: usize, list: &[DifferingSetting]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let names: Vec<String> = (0..runs).map(run_letter).collect();
    let mut head = vec!["setting"];
    head.extend(names.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|(setting, values)| std::iter::once(setting).chain(values).cloned().collect())
        .collect();
    format!(
        "<section id=\"differences\"><h2>What differs</h2>{}</section>",
        tables::text_table(&head, &rows)
    )
}

fn plot_figure(plot: &Plot, frame: &PlotFrame, axis: &PlotAxis) -> String {
    format!(
        "<figure class=\"plot\" data-plot=\"{}\"><figcaption><h3>{}</h3>{}</figcaption>\
         <div class=\"scroll\">{}</div></figure>",
        plot.id,
        escape_html(&plot.title),
        curve_legend(plot),
        plot.to_svg(frame, axis, &PlotBackground::default())
    )
}

/// When the load begins that stands for the run.
fn load_start_s(run: &RunFindings) -> f64 {
    main_load(run).map_or(run.timeline.began_s, |t| t.began_s)
}

/// A curve per run over the intervals of its load.
fn interval_curves(
    runs: &[RunFindings],
    style: CurveStyle,
    of: fn(&IntervalFinding) -> Option<f64>,
) -> Vec<PlotCurve> {
    let curve = |(place, run): (usize, &RunFindings)| {
        let load = main_load(run)?;
        let trial = run.results.trials.iter().position(|t| t.id == load.id)?;
        let mine = run.timeline.intervals.iter().filter(|i| i.trial == trial);
        let points = mine.map(|i| (i.middle_s() - load_start_s(run), of(i))).collect();
        let (name, variant) = (run_label(runs, place), String::new());
        Some(PlotCurve { name, variant, colour: place, style, points })
    };
    runs.iter().enumerate().filter_map(curve).collect()
}

fn main_plots(runs: &[RunFindings]) -> Vec<(Plot, PlotFrame)> {
    let frame = PlotFrame { top: SMALL.top, height: WIDE.height - WIDE.top + SMALL.top, ..WIDE };
    let plot = |id, title: &str, measure, log, curves| Plot {
        id,
        title: title.to_owned(),
        about: format!("{title}: a curve for each run, from the start of its load."),
        measure,
        log,
        x_title: "time since the load began",
        curves,
        ..Plot::default()
    };
    let rate = |i: &IntervalFinding| i.events_per_s.filter(|_| !i.partial);
    let all = [
        plot(
            "throughput",
            "Throughput, events per second",
            AxisMeasure::Number,
            false,
            interval_curves(runs, CurveStyle::Dots, rate),
        ),
        plot(
            "p50",
            "Response time, p50",
            AxisMeasure::Latency,
            true,
            interval_curves(runs, CurveStyle::Line, |i| i.response.p50_s),
        ),
        plot(
            "p99",
            "Response time, p99",
            AxisMeasure::Latency,
            true,
            interval_curves(runs, CurveStyle::Line, |i| i.response.p99_s),
        ),
    ];
    all.into_iter().filter(|p| !p.is_empty()).map(|p| (p, frame)).collect()
}

/// What the probes saw, as far as it moved in any run.
fn small_plots(runs: &[RunFindings]) -> Vec<(Plot, PlotFrame)> {
    let mut ids: Vec<&'static str> = Vec::new();
    for series in runs.iter().flat_map(|r| &r.timeline.series) {
        if !ids.contains(&series.id) {
            ids.push(series.id);
        }
    }
    let plot = |id: &'static str| {
        let of = |run: &'_ RunFindings| run.timeline.series.iter().position(|s| s.id == id);
        let first: &ProbeSeries =
            runs.iter().find_map(|run| of(run).map(|place| &run.timeline.series[place]))?;
        let curve = |(place, run): (usize, &RunFindings)| {
            let series = &run.timeline.series[of(run)?];
            let load = main_load(run)?;
            let inside = series
                .points
                .iter()
                .filter(|(at, _)| *at >= load.began_s && *at <= load.began_s + load.seconds);
            let points: Vec<_> = inside.map(|(at, v)| (at - load_start_s(run), *v)).collect();
            Some(PlotCurve {
                name: run_label(runs, place),
                variant: String::new(),
                colour: place,
                style: run_plots::series_style(series),
                points,
            })
        };
        let curves: Vec<PlotCurve> = runs.iter().enumerate().filter_map(curve).collect();
        let mut values = curves.iter().flat_map(|c| &c.points).filter_map(|p| p.1);
        let start = values.next();
        values.any(|v| Some(v) != start).then(|| Plot {
            id,
            title: capitalize_first(first.title),
            about: format!(
                "{}: a curve for each run, from {}.",
                capitalize_first(first.title),
                first.source
            ),
            measure: first.unit.into(),
            curves,
            ..Plot::default()
        })
    };
    ids.into_iter().filter_map(plot).filter(|p| !p.is_empty()).map(|p| (p, SMALL)).collect()
}

fn spectrum_plot(runs: &[RunFindings]) -> Plot {
    let curve = |(place, run): (usize, &RunFindings)| {
        let load = main_load(run)?;
        let at = |p: &crate::analysis::SpectrumPoint| {
            (spectrum::quantile_nines(p.quantile), Some(p.latency_s))
        };
        let points = load.spectrum.iter().map(at).collect();
        Some(PlotCurve {
            name: run_label(runs, place),
            variant: String::new(),
            colour: place,
            style: CurveStyle::Line,
            points,
        })
    };
    spectrum::spectrum_from_curves(runs.iter().enumerate().filter_map(curve).collect())
}
