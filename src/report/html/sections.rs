//! The page from top to bottom.

use crate::analysis::figure::{count, figure_or_dash, percent, time, times};
use crate::analysis::{Caveat, Findings, Level, WayFinding};

use super::super::{state_word, utc};
use super::axis::Axis;
use super::escape::{json, sentence, text, unbroken};
use super::plot::{Band, Frame, Ground, Plot, SMALL, Style, TITLE, WIDE, band_colour};
use super::{bars, capacity, capital, data, plots, record, replay, scaling, tables, verdicts};

/// All of it, in order.
pub(super) fn all(findings: &Findings) -> Vec<String> {
    let time = plots::axis(findings);
    let ground = plots::ground(findings);
    let main = plots::main(findings);
    let more = plots::more(findings);
    let still = still(findings);
    vec![
        header(findings),
        "<main>".to_owned(),
        answer(findings),
        caveats(findings),
        verdicts::checks(findings),
        comparison(findings),
        verdicts::comparisons(findings),
        verdicts::differences(findings),
        replay::section(findings, &still),
        scaling::section(findings, &still),
        capacity::section(findings, &still),
        over_time(findings, &main, &time, &ground),
        loads(findings, &still),
        verdicts::waits(findings),
        record::costs(findings),
        record::errors(findings),
        verdicts::noise(findings),
        server(findings, &more, &time, &ground),
        record::settings(findings),
        record::machine(findings),
        record::plan(findings),
        record::files(findings),
        "</main>".to_owned(),
        record::footer(findings),
        script_data(main, more, still, &time, &ground),
    ]
}

/// Plots that are not over time, with their frames.
fn still(findings: &Findings) -> Vec<(Plot, Frame)> {
    let mut plots = vec![(plots::spectrum(findings), tall_frame())];
    plots.extend(replay::plots(findings));
    plots.extend(scaling::plots(findings));
    plots.extend(capacity::plot(findings).map(|plot| (plot, tall_frame())));
    plots.retain(|(plot, _)| !plot.is_empty());
    plots
}

/// One of the plots that are not over time, as a figure; empty if the run has none of this name.
pub(super) fn still_figure(still: &[(Plot, Frame)], id: &str) -> String {
    let Some((plot, frame)) = still.iter().find(|(plot, _)| plot.id == id) else {
        return String::new();
    };
    format!(
        "<figure class=\"plot\" data-plot=\"{id}\"><figcaption><h3>{}</h3>{}</figcaption>\
         <div class=\"scroll\">{}</div></figure>",
        text(&plot.title),
        legend(plot),
        plot.svg(frame, &plot.x_axis(), &Ground::default())
    )
}

fn header(findings: &Findings) -> String {
    let head = &findings.head;
    let started = utc(head.origin_unix_ns).replace('T', " ");
    let mut facts = vec![format!("{} UTC", started.split('.').next().unwrap_or_default())];
    if let Some(server) = &head.server {
        let sandbox = if server.sandbox { ", sandbox" } else { "" };
        facts.insert(0, format!("{} {}{sandbox}", server.product, server.version));
    }
    facts.extend(head.seconds.map(|s| format!("{} in all", time(s))));
    let state = state_word(head.state);
    let facts: Vec<String> = facts.iter().map(|f| format!("<span>{}</span>", text(f))).collect();
    format!(
        "<header><div><p class=\"brand\">sweat <span>{}</span></p><h1>{}</h1><p class=\"facts\">{} \
         <span class=\"state {state}\">{state}</span></p></div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        text(&head.command),
        text(if head.name.is_empty() { "run" } else { &head.name }),
        facts.join(" ")
    )
}

fn answer(findings: &Findings) -> String {
    let class = if findings.void().is_some() { " class=\"unreliable\"" } else { "" };
    let mut out = format!("<section id=\"answer\"{class}><h2 class=\"hidden\">Answer</h2>");
    if let Some(question) = &findings.head.question {
        out += &format!("<p class=\"further\">{}</p>", sentence(question));
    }
    if let Some(void) = findings.void() {
        out += &format!(
            "<p class=\"void\"><strong>{}</strong> {} <code>{}</code></p>",
            findings.void_word(),
            sentence(&void.evidence),
            void.id
        );
    }
    for (place, line) in findings.answer.iter().enumerate() {
        let class = if place == 0 { "first" } else { "further" };
        out += &format!("<p class=\"{class}\">{}</p>", sentence(line));
    }
    let tiles = tiles(findings);
    if !tiles.is_empty() {
        out.push_str("<dl class=\"tiles\">");
        for (name, value) in tiles {
            let value = unbroken(&text(&value));
            out += &format!("<div><dt>{}</dt><dd>{value}</dd></div>", text(&name));
        }
        out.push_str("</dl>");
    }
    out + "</section>"
}

/// The few numbers that a reader takes along.
fn tiles(findings: &Findings) -> Vec<(String, String)> {
    let mut tiles: Vec<(String, String)> = Vec::new();
    let mut push = |name: &str, value: String| tiles.push((name.to_owned(), value));
    if let [only] = &findings.trials[..] {
        push("events/s", figure_or_dash(only.events_per_s.value));
        for (name, value) in [
            ("response p50", only.response.p50_s),
            ("response p99", only.response.p99_s),
            ("longest", only.response.max_s),
        ] {
            push(name, value.map_or_else(|| "-".to_owned(), time));
        }
        push("failed", count(only.failed));
        if let Some(unbegun) = only.unbegun {
            let share = percent(unbegun.share);
            push("due and never begun", format!("{} ({share})", count(unbegun.arrivals)));
        }
        return tiles;
    }
    for way in &findings.ways {
        if let (Some(first), Some(faster)) = (way.first, way.times_faster.value) {
            let first = &findings.trials[first];
            let value = match way.warm_s {
                Some(_) => times(faster),
                None => time(first.seconds),
            };
            let name = match way.warm_s {
                Some(_) => format!("{}: first run faster", way.way),
                None => format!("{}: first run", way.way),
            };
            // What is read repeats, seconds less so.
            match first.disk_reads {
                Some(reads) => {
                    push(&format!("{}: page reads", way.way), count(reads.value.round() as u64));
                }
                None => push(&name, value),
            }
        }
    }
    tiles
}

fn caveats(findings: &Findings) -> String {
    let (caveats, allowed) = (&findings.caveats, &findings.allowed);
    if caveats.is_empty() && allowed.is_empty() {
        return String::new();
    }
    let item = |caveat: &Caveat| {
        format!(
            "<li class=\"{level}\"><span class=\"level\">{level}</span> <code>{}</code> \
             <div><span class=\"evidence\">{}.</span> <span class=\"remedy\">{}.</span></div></li>",
            caveat.id,
            sentence(&capital(&caveat.evidence)),
            sentence(&capital(&caveat.remedy)),
            level = caveat.level.words(),
        )
    };
    let of = |note: bool| -> String {
        caveats.iter().filter(|c| (c.level == Level::Note) == note).map(item).collect()
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
            allowed.iter().map(|c| format!("`{}` ({})", c.id, c.level.words())).collect();
        let words = format!("{} allowed by the user: {}.", allowed.len(), known.join(", "));
        out += &format!("<p>{}</p>", sentence(&words));
    }
    out + "</section>"
}

fn comparison(findings: &Findings) -> String {
    let warmed = |w: &WayFinding| w.warm_s.is_some() || w.times_faster.value.is_some();
    if !findings.ways.iter().any(warmed) {
        return String::new();
    }
    format!(
        "<section id=\"comparison\"><h2>The ways against each other</h2>\
         <figure>{}</figure>{}<p class=\"small\">\u{201c}Times faster\u{201d} is the first \
         run of the cold way by the first run of this one: one run each, so no interval. Page \
         reads are <code>Innodb_buffer_pool_reads</code>.</p>{}</section>",
        bars::svg(findings),
        tables::ways(findings),
        notes(findings)
    )
}

/// What the steps noted: proof of coldness, what warming left out.
fn notes(findings: &Findings) -> String {
    let of = |way: &WayFinding| -> String {
        let name = text(&way.way);
        way.notes.iter().map(|n| format!("<li><b>{name}</b>: {}</li>", sentence(n))).collect()
    };
    let all: String = findings.ways.iter().map(of).collect();
    if all.is_empty() { all } else { format!("<ul class=\"small notes\">{all}</ul>") }
}

fn over_time(findings: &Findings, main: &[Plot], time_axis: &Axis, ground: &Ground) -> String {
    if main.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"time\"><h2>Over time</h2><p class=\"small\" id=\"zoom-hint\" hidden>\
         Drag across a plot to \
         zoom all of them, double-click to see everything again; a click on a legend hides a \
         curve. <button id=\"zoom-out\" type=\"button\" disabled>whole run</button></p>",
    );
    let prepared = findings.timeline.phases.iter().filter(|p| p.kind == "prepare");
    let preparing: f64 = prepared.map(|p| p.ended_s - p.began_s).sum();
    if preparing > 0.0 {
        out += &format!(
            "<p class=\"small\">The axis begins after {} of preparing the data.</p>",
            time(preparing)
        );
    }
    out += &ground_legend(ground);
    for (place, plot) in main.iter().enumerate() {
        let frame = main_frame(place, main.len(), &ground.bands);
        out += &figure_of(findings, plot, &frame, time_axis, ground);
    }
    out + "</section>"
}

/// The title of the axis that all share stands below the last of them.
fn main_frame(place: usize, plots: usize, bands: &[Band]) -> Frame {
    let title = if place + 1 < plots { 0.0 } else { TITLE };
    let strip = if bands.is_empty() { WIDE.top - SMALL.top } else { 0.0 };
    Frame {
        top: WIDE.top - strip,
        bottom: WIDE.bottom + title,
        height: WIDE.height + title - strip,
        ..WIDE
    }
}

/// What the bands mean, as far as they occur.
fn ground_legend(ground: &Ground) -> String {
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
fn figure_of(findings: &Findings, plot: &Plot, frame: &Frame, x: &Axis, ground: &Ground) -> String {
    format!(
        "<figure class=\"plot\" data-plot=\"{id}\"><figcaption><h3>{}</h3>{}</figcaption>\
         <div class=\"scroll\">{}</div><details><summary>as a table</summary>{}</details></figure>",
        text(&plot.title),
        legend(plot),
        plot.svg(frame, x, ground),
        tables::of_plot(findings, plot),
        id = plot.id,
    )
}

/// Signs and names of the curves; a single one is named by the title.
pub(super) fn legend(plot: &Plot) -> String {
    if plot.curves.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<ul class=\"legend curves\">");
    for (place, curve) in plot.curves.iter().enumerate() {
        let number = curve.colour % super::plot::COLOURS.len();
        let colour = super::plot::COLOURS[number];
        let sign = match curve.style {
            Style::Dots => "<path d=\"M7 6h0\" stroke-width=\"6\" stroke-linecap=\"round\"",
            Style::Crosses => "<path d=\"M4 3l6 6m0-6l-6 6\" stroke-width=\"1.6\"",
            Style::Dashed => "<path d=\"M0 6h14\" stroke-width=\"2\" stroke-dasharray=\"5 4\"",
            Style::Line | Style::Steps => "<path d=\"M0 6h14\" stroke-width=\"2\"",
        };
        out += &format!(
            "<li data-curve=\"{place}\"><svg width=\"14\" height=\"12\" aria-hidden=\"true\">\
             {sign} class=\"curve c{number}\" \
             stroke=\"{colour}\" fill=\"none\"/></svg> {}</li>",
            text(&curve.name)
        );
    }
    out + "</ul>"
}

fn loads(findings: &Findings, still: &[(Plot, Frame)]) -> String {
    if findings.trials.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"loads\"><h2>Loads</h2>");
    out += &tables::trials(findings);
    out.push_str(
        "<p class=\"small\">Response time counts from when an event was due, service time \
         from when it began. A percentile stands only where at least one event lies beyond it.</p>",
    );
    out += &verdicts::steady(findings);
    out += &still_figure(still, "spectrum");
    let classes = tables::classes(findings);
    if !classes.is_empty() {
        out += &format!("<h3>By class</h3>{classes}");
    }
    out + "</section>"
}

/// Of a plot that is not over time.
pub(super) fn tall_frame() -> Frame {
    Frame { top: 12.0, height: 300.0, bottom: WIDE.bottom + TITLE, ..WIDE }
}

fn server(findings: &Findings, more: &[Plot], time_axis: &Axis, ground: &Ground) -> String {
    if more.is_empty() {
        return String::new();
    }
    let bare = |b: &Band| Band { way: String::new(), letter: String::new(), ..b.clone() };
    let bare = Ground { bands: ground.bands.iter().map(bare).collect(), ..Ground::default() };
    let plots: String =
        more.iter().map(|plot| figure_of(findings, plot, &SMALL, time_axis, &bare)).collect();
    format!(
        "<section id=\"server\"><h2>What else the server showed</h2>\
         <div class=\"pairs\">{plots}</div></section>"
    )
}

fn script_data(
    main: Vec<Plot>,
    more: Vec<Plot>,
    still: Vec<(Plot, Frame)>,
    time_axis: &Axis,
    ground: &Ground,
) -> String {
    let count = main.len();
    let framed = |(place, plot)| (plot, main_frame(place, count, &ground.bands));
    let mut all: Vec<(Plot, Frame)> = main.into_iter().enumerate().map(framed).collect();
    all.extend(more.into_iter().map(|plot| (plot, SMALL)));
    all.extend(still);
    data_element(&all, time_axis, ground)
}

/// The element that the script reads.
pub(super) fn data_element(plots: &[(Plot, Frame)], time: &Axis, ground: &Ground) -> String {
    let data = json(&data::of(plots, time, ground));
    format!("<script type=\"application/json\" id=\"plot-data\">{data}</script>")
}
