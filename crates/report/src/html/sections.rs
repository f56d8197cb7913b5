//! The page from top to bottom.

use crate::archive::RecordedStepKind;

use crate::analysis::number_format::{
    format_count, format_percent, format_ratio, format_time, number_or_dash,
};
use crate::analysis::{Caveat, CaveatLevel, FindingResults, RunFindings, VariantFinding};

use super::super::{format_utc, state_word};
use super::axis::PlotAxis;
use super::escape::{escape_html, script_json, sentence_html, unbroken_numbers};
use super::plot::{
    CurveStyle, Plot, PlotBackground, PlotBand, PlotFrame, SMALL, TITLE, WIDE, band_colour,
};
use super::{
    bars, capacity, capitalize_first, plot_data, record, replay, run_plots, scaling, tables,
    verdicts,
};

/// All of it, in order.
pub(super) fn page_parts(findings: &RunFindings) -> Vec<String> {
    let time = run_plots::time_axis(findings);
    let ground = run_plots::time_background(findings);
    let main = run_plots::main_plots(findings);
    let more = run_plots::server_plots(findings);
    let still = untimed_plots(findings);
    vec![
        page_header(findings),
        "<main>".to_owned(),
        answer_section(
            findings.head.question.as_deref(),
            &findings.results,
            answer_tiles(findings),
        ),
        caveats_section(&findings.results),
        verdicts::checks_section(findings),
        variants_section(findings),
        verdicts::comparisons_section(&findings.results),
        verdicts::differences_section(&findings.results),
        replay::replay_sections(findings, &still),
        scaling::scaling_section(findings, &still),
        capacity::capacity_section(findings, &still),
        time_section(findings, &main, &time, &ground),
        loads_section(&findings.results, &still),
        verdicts::waits_section(findings),
        record::costs_section(&findings.results),
        record::errors_section(&findings.results),
        verdicts::noise_section(findings),
        server_section(findings, &more, &time, &ground),
        record::settings_section(findings),
        record::machine_section(findings),
        record::plan_section(findings),
        record::files_section(findings),
        "</main>".to_owned(),
        record::page_footer(findings),
        data_element(main.iter().chain(&more).chain(still.iter().map(|(plot, _)| plot)), &time),
    ]
}

/// Plots that are not over time, with their frames.
fn untimed_plots(findings: &RunFindings) -> Vec<(Plot, PlotFrame)> {
    let mut plots = vec![(run_plots::spectrum_plot(&findings.results), tall_frame())];
    plots.extend(replay::replay_plots(findings));
    plots.extend(scaling::scaling_plots(findings));
    plots.extend(capacity::capacity_plot(findings).map(|plot| (plot, tall_frame())));
    plots.retain(|(plot, _)| !plot.is_empty());
    plots
}

/// One of the plots that are not over time, as a figure; empty if the run has none of this name.
pub(super) fn untimed_figure(still: &[(Plot, PlotFrame)], id: &str) -> String {
    let Some((plot, frame)) = still.iter().find(|(plot, _)| plot.id == id) else {
        return String::new();
    };
    format!(
        "<figure class=\"plot\" data-plot=\"{id}\"><figcaption><h3>{}</h3>{}</figcaption>\
         <div class=\"scroll\">{}</div></figure>",
        escape_html(&plot.title),
        curve_legend(plot),
        plot.to_svg(frame, &plot.x_axis(), &PlotBackground::default())
    )
}

fn page_header(findings: &RunFindings) -> String {
    let head = &findings.head;
    let started = format_utc(head.origin_unix_ns).replace('T', " ");
    let mut facts = vec![format!("{} UTC", started.split('.').next().unwrap_or_default())];
    if let Some(server) = &head.server {
        let sandbox = if server.sandbox { ", sandbox" } else { "" };
        facts.insert(0, format!("{} {}{sandbox}", server.product, server.version));
    }
    facts.extend(head.seconds.map(|s| format!("{} in all", format_time(s))));
    let state = state_word(head.state);
    let facts: Vec<String> =
        facts.iter().map(|f| format!("<span>{}</span>", escape_html(f))).collect();
    format!(
        "<header><div><p class=\"brand\">sweat <span>{}</span></p><h1>{}</h1><p class=\"facts\">{} \
         <span class=\"state {state}\">{state}</span></p></div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        escape_html(head.command.as_str()),
        escape_html(if head.name.is_empty() { "run" } else { &head.name }),
        facts.join(" ")
    )
}

pub(super) fn answer_section(
    question: Option<&str>,
    findings: &FindingResults,
    tiles: Vec<(String, String)>,
) -> String {
    let class = if findings.void_caveat().is_some() { " class=\"unreliable\"" } else { "" };
    let mut out = format!("<section id=\"answer\"{class}><h2 class=\"hidden\">Answer</h2>");
    if let Some(question) = question {
        out += &format!("<p class=\"further\">{}</p>", sentence_html(question));
    }
    if let Some(void) = findings.void_caveat() {
        out += &format!(
            "<p class=\"void\"><strong>{}</strong> {} <code>{}</code></p>",
            findings.void_word(),
            sentence_html(&void.evidence),
            void.id
        );
    }
    for (place, line) in findings.answer.iter().enumerate() {
        let class = if place == 0 { "first" } else { "further" };
        out += &format!("<p class=\"{class}\">{}</p>", sentence_html(line));
    }
    if !tiles.is_empty() {
        out.push_str("<dl class=\"tiles\">");
        for (name, value) in tiles {
            let value = unbroken_numbers(&escape_html(&value));
            out += &format!("<div><dt>{}</dt><dd>{value}</dd></div>", escape_html(&name));
        }
        out.push_str("</dl>");
    }
    out + "</section>"
}

/// The few numbers that a reader takes along.
fn answer_tiles(findings: &RunFindings) -> Vec<(String, String)> {
    let mut tiles: Vec<(String, String)> = Vec::new();
    let mut push = |name: &str, value: String| tiles.push((name.to_owned(), value));
    if let [only] = &findings.results.trials[..] {
        push("events/s", number_or_dash(only.events_per_s.value));
        for (name, value) in [
            ("response p50", only.response.p50_s),
            ("response p99", only.response.p99_s),
            ("longest", only.response.max_s),
        ] {
            push(name, value.map_or_else(|| "-".to_owned(), format_time));
        }
        push("failed", format_count(only.failed));
        if let Some(unbegun) = only.unbegun {
            let share = format_percent(unbegun.share);
            push("due and never begun", format!("{} ({share})", format_count(unbegun.arrivals)));
        }
        return tiles;
    }
    for variant in &findings.variants {
        if let (Some(first), Some(faster)) = (variant.first, variant.times_faster.value) {
            let first = &findings.results.trials[first];
            let value = match variant.warm_s {
                Some(_) => format_ratio(faster),
                None => format_time(first.seconds),
            };
            let name = match variant.warm_s {
                Some(_) => format!("{}: first run faster", variant.variant),
                None => format!("{}: first run", variant.variant),
            };
            // What is read repeats, seconds less so.
            match first.disk_reads {
                Some(reads) => {
                    push(
                        &format!("{}: page reads", variant.variant),
                        format_count(reads.value.round() as u64),
                    );
                }
                None => push(&name, value),
            }
        }
    }
    tiles
}

pub(super) fn caveats_section(findings: &FindingResults) -> String {
    let (caveats, allowed) = (&findings.caveats, &findings.allowed);
    if caveats.is_empty() && allowed.is_empty() {
        return String::new();
    }
    let item = |caveat: &Caveat| {
        format!(
            "<li class=\"{level}\"><span class=\"level\">{level}</span> <code>{}</code> \
             <div><span class=\"evidence\">{}.</span> <span class=\"remedy\">{}.</span></div></li>",
            caveat.id,
            sentence_html(&capitalize_first(&caveat.evidence)),
            sentence_html(&capitalize_first(&caveat.remedy)),
            level = caveat.level.as_str(),
        )
    };
    let of = |note: bool| -> String {
        caveats.iter().filter(|c| (c.level == CaveatLevel::Note) == note).map(item).collect()
    };
    let (grave, notes) = (of(false), of(true));
    let mut out = String::from("<section id=\"caveats\"><h2>What these numbers carry</h2>");
    if grave.is_empty() {
        out.push_str("<p>Nothing found that would make them doubtful; what to keep in mind:</p>");
    } else {
        out += &format!("<ul class=\"caveats\">{grave}</ul>");
    }
    if !notes.is_empty() {
        out += &format!("<ul class=\"caveats\">{notes}</ul>");
    }
    if !allowed.is_empty() {
        let known: Vec<String> =
            allowed.iter().map(|c| format!("`{}` ({})", c.id, c.level.as_str())).collect();
        let words = format!("{} allowed by the user: {}.", allowed.len(), known.join(", "));
        out += &format!("<p>{}</p>", sentence_html(&words));
    }
    out + "</section>"
}

fn variants_section(findings: &RunFindings) -> String {
    let warmed = |w: &VariantFinding| w.warm_s.is_some() || w.times_faster.value.is_some();
    if !findings.variants.iter().any(warmed) {
        return String::new();
    }
    format!(
        "<section id=\"comparison\"><h2>The variants against each other</h2>\
         <figure>{}</figure>{}<p class=\"small\">\u{201c}Times faster\u{201d} is the first \
         run of the cold variant by the first run of this one: one run each, so no interval. Page \
         reads are <code>Innodb_buffer_pool_reads</code>.</p>{}</section>",
        bars::variants_svg(findings),
        tables::variants_table(findings),
        variant_notes(findings)
    )
}

/// What the steps noted: proof of coldness, what warming left out.
fn variant_notes(findings: &RunFindings) -> String {
    let of = |variant: &VariantFinding| -> String {
        let name = escape_html(&variant.variant);
        variant
            .notes
            .iter()
            .map(|n| format!("<li><b>{name}</b>: {}</li>", sentence_html(n)))
            .collect()
    };
    let all: String = findings.variants.iter().map(of).collect();
    if all.is_empty() { all } else { format!("<ul class=\"small notes\">{all}</ul>") }
}

fn time_section(
    findings: &RunFindings,
    main: &[Plot],
    time_axis: &PlotAxis,
    ground: &PlotBackground,
) -> String {
    if main.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"time\"><h2>Over time</h2><p class=\"small\" id=\"zoom-hint\" hidden>\
         Drag across a plot to \
         zoom all of them, double-click to see everything again; a click on a legend hides a \
         curve. <button id=\"zoom-out\" type=\"button\" disabled>whole run</button></p>",
    );
    let prepared = findings.timeline.phases.iter().filter(|p| p.kind == RecordedStepKind::Prepare);
    let preparing: f64 = prepared.map(|p| p.ended_s - p.began_s).sum();
    if preparing > 0.0 {
        out += &format!(
            "<p class=\"small\">The axis begins after {} of preparing the data.</p>",
            format_time(preparing)
        );
    }
    out += &background_legend(ground);
    for (place, plot) in main.iter().enumerate() {
        let frame = main_frame(place, main.len(), &ground.bands);
        out += &plot_figure(findings, plot, &frame, time_axis, ground);
    }
    out + "</section>"
}

/// The title of the axis that all share stands below the last of them.
fn main_frame(place: usize, plots: usize, bands: &[PlotBand]) -> PlotFrame {
    let title = if place + 1 < plots { 0.0 } else { TITLE };
    let strip = if bands.is_empty() { WIDE.top - SMALL.top } else { 0.0 };
    PlotFrame {
        top: WIDE.top - strip,
        bottom: WIDE.bottom + title,
        height: WIDE.height + title - strip,
        ..WIDE
    }
}

/// What the bands mean, as far as they occur.
fn background_legend(ground: &PlotBackground) -> String {
    let kinds = [
        ("cold", "load on a cold pool"),
        ("warming", "warming (W)"),
        ("warm", "load on a warm pool (1, 2: first, second run)"),
        ("other", "other steps (R: restart, D: dump)"),
    ];
    let item = |class: &str, fill: &str, opacity: f64, words: &str| {
        format!(
            "<li><svg width=\"14\" height=\"12\" aria-hidden=\"true\">\
             <rect class=\"{class}\" width=\"14\" \
             height=\"12\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/></svg> {words}</li>"
        )
    };
    let mut items = String::new();
    for (kind, words) in kinds.iter().filter(|k| ground.bands.iter().any(|b| b.kind == k.0)) {
        items += &item(&format!("strip {kind}"), band_colour(kind).0, 0.55, words);
    }
    if !ground.stalls.is_empty() {
        items += &item("stalls", "#d55e00", 0.28, "stall");
    }
    if !ground.marks.is_empty() {
        items.push_str("<li>T0: from here on the load is steady</li>");
    }
    if items.is_empty() { items } else { format!("<ul class=\"legend\">{items}</ul>") }
}

/// A plot with its legend and its table.
fn plot_figure(
    findings: &RunFindings,
    plot: &Plot,
    frame: &PlotFrame,
    x: &PlotAxis,
    ground: &PlotBackground,
) -> String {
    format!(
        "<figure class=\"plot\" data-plot=\"{id}\"><figcaption><h3>{}</h3>{}</figcaption>\
         <div class=\"scroll\">{}</div><details><summary>as a table</summary>{}</details></figure>",
        escape_html(&plot.title),
        curve_legend(plot),
        plot.to_svg(frame, x, ground),
        tables::plot_table(findings, plot),
        id = plot.id,
    )
}

/// Signs and names of the curves; a single one is named by the title.
pub(super) fn curve_legend(plot: &Plot) -> String {
    if plot.curves.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<ul class=\"legend curves\">");
    for (place, curve) in plot.curves.iter().enumerate() {
        let number = curve.colour % super::plot::COLOURS.len();
        let colour = super::plot::COLOURS[number];
        let sign = match curve.style {
            CurveStyle::Dots => "<path d=\"M7 6h0\" stroke-width=\"6\" stroke-linecap=\"round\"",
            CurveStyle::Uprights => "<path d=\"M7 2v8\" stroke-width=\"1.8\"",
            CurveStyle::Dashed => "<path d=\"M0 6h14\" stroke-width=\"2\" stroke-dasharray=\"5 4\"",
            CurveStyle::Line | CurveStyle::Steps => "<path d=\"M0 6h14\" stroke-width=\"2\"",
        };
        out += &format!(
            "<li data-curve=\"{place}\"><svg width=\"14\" height=\"12\" aria-hidden=\"true\">\
             {sign} class=\"curve c{number}\" \
             stroke=\"{colour}\" fill=\"none\"/></svg> {}</li>",
            escape_html(&curve.name)
        );
    }
    out + "</ul>"
}

pub(super) fn loads_section(findings: &FindingResults, still: &[(Plot, PlotFrame)]) -> String {
    if findings.trials.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"loads\"><h2>Loads</h2>");
    out += &tables::trials_table(findings);
    out.push_str(
        "<p class=\"small\">Response time counts from when an event was due, service time \
         from when it began. A percentile stands only where at least one event lies beyond it.</p>",
    );
    out += &verdicts::steady_table(findings);
    out += &untimed_figure(still, "spectrum");
    let classes = tables::classes_table(findings);
    if !classes.is_empty() {
        out += &format!("<h3>By class</h3>{classes}");
    }
    out + "</section>"
}

/// Of a plot that is not over time.
pub(super) fn tall_frame() -> PlotFrame {
    PlotFrame { top: 12.0, height: 300.0, bottom: WIDE.bottom + TITLE, ..WIDE }
}

fn server_section(
    findings: &RunFindings,
    more: &[Plot],
    time_axis: &PlotAxis,
    ground: &PlotBackground,
) -> String {
    if more.is_empty() {
        return String::new();
    }
    let bare =
        |b: &PlotBand| PlotBand { variant: String::new(), letter: String::new(), ..b.clone() };
    let bare = PlotBackground {
        bands: ground.bands.iter().map(bare).collect(),
        ..PlotBackground::default()
    };
    let plots: String =
        more.iter().map(|plot| plot_figure(findings, plot, &SMALL, time_axis, &bare)).collect();
    format!(
        "<section id=\"server\"><h2>What else the server showed</h2>\
         <div class=\"pairs\">{plots}</div></section>"
    )
}

/// The element that the script reads.
pub(super) fn data_element<'a>(
    plots: impl IntoIterator<Item = &'a Plot>,
    time: &PlotAxis,
) -> String {
    let data = script_json(&plot_data::plots_json(plots, time));
    format!("<script type=\"application/json\" id=\"plot-data\">{data}</script>")
}
