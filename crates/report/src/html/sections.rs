//! The page from top to bottom.

use std::collections::BTreeSet;

use crate::archive::{RecordedStepKind, RunCommand, RunState};

use crate::analysis::number_format::{
    format_count, format_number, format_percent, format_plural, format_ratio, format_time,
    format_utc, number_or_dash,
};
use crate::analysis::{
    Caveat, CaveatLevel, FindingResults, RunFindings, RunHeader, VariantFinding,
};

use super::super::state_word;
use super::axis::PlotAxis;
use super::bands::{PlotBackground, PlotBand};
use super::escape::{escape_html, sentence_html, unbroken_numbers};
use super::legend::{background_legend, curve_legend};
use super::plot::{Plot, PlotFrame, SMALL, WIDE};
use super::{
    bars, capacity, capitalize_first, costs, histograms, levels, plot_data, record, replay,
    run_plots, scaling, server_cost, spectrum, tables, verdicts, waits,
};

/// All of it, in order: the answer, then the picture or the table that the command is about, caveats, and the rest.
pub(super) fn page_parts(findings: &RunFindings) -> Vec<String> {
    let time = run_plots::time_axis(findings);
    let ground = run_plots::time_background(findings);
    let main = run_plots::main_plots(findings);
    let more = run_plots::server_plots(findings);
    let still = untimed_plots(findings);
    let is_waits = findings.head.command == RunCommand::Waits;
    let waits = waits::waits_section(findings);
    let scaling = scaling::scaling_section(findings, &still);
    // Values of a setting are variants, which the first picture shows.
    let is_load_sweep = findings.results.levels.is_empty();
    vec![
        page_header(findings),
        "<main>".to_owned(),
        answer_section(
            findings.head.question.as_deref(),
            &findings.results,
            answer_tiles(findings),
        ),
        if is_waits { waits.clone() } else { String::new() },
        first_picture(findings),
        costs::change_sections(&findings.results.cost_changes),
        replay::replay_sections(findings, &still),
        if is_load_sweep { scaling.clone() } else { String::new() },
        capacity::capacity_section(findings, &still),
        caveats_section(&findings.results),
        verdicts::checks_section(findings),
        variants_section(findings),
        verdicts::comparisons_section(&findings.results),
        verdicts::differences_section(&findings.results),
        match is_load_sweep || scaling.is_empty() {
            true => String::new(),
            false => record::details_section("by-value", "By value", &scaling),
        },
        time_section(findings, &main, &time, &ground),
        loads_section(&findings.results, &still),
        record::machines_section(&findings.machines),
        if is_waits { String::new() } else { waits },
        server_cost::server_cost_section(findings),
        record::costs_section(&findings.results),
        record::errors_section(&findings.results),
        run_plots::server_section(findings, &more, &time, &ground),
        verdicts::noise_section(findings),
        record::settings_section(findings),
        record::machine_section(findings),
        record::plan_section(findings),
        record::files_section(findings),
        "</main>".to_owned(),
        record::page_footer(findings),
        plot_data::data_element(
            main.iter().chain(&more).chain(still.iter().map(|(plot, _)| plot)),
            &time,
            (findings.head.state == RunState::Running).then_some(findings.timeline.began_s),
        ),
    ]
}

/// The one picture that stands right below the answer; what has a plot of its own needs none.
fn first_picture(findings: &RunFindings) -> String {
    if !findings.replays.is_empty() {
        return String::new();
    }
    let is_warming = findings.results.comparisons.is_empty() && !variant_bars(findings).is_empty();
    if is_warming {
        return format!(
            "<section id=\"levels\"><figure><figcaption><h3>Seconds of warming and of the \
             first two loads</h3></figcaption>{}</figure></section>",
            variant_bars(findings)
        );
    }
    levels::levels_section(&findings.results.levels, true)
}

/// Seconds of warming and of the first two loads, where that is what was compared.
fn variant_bars(findings: &RunFindings) -> String {
    let warmed = |w: &VariantFinding| w.warm_s.is_some() || w.times_faster.value.is_some();
    match findings.variants.iter().any(warmed) {
        true => bars::variants_svg(findings),
        false => String::new(),
    }
}

/// Plots that are not over time, with their frames.
fn untimed_plots(findings: &RunFindings) -> Vec<(Plot, PlotFrame)> {
    let mut plots = vec![(spectrum::spectrum_plot(&findings.results), tall_frame())];
    let low = PlotFrame { height: 230.0, ..tall_frame() };
    plots.extend(spectrum::histogram_plot(findings).map(|plot| (plot, low)));
    let small = histograms::class_plots(&findings.results).into_iter();
    let small = small.chain(histograms::duration_plots(&findings.results));
    plots.extend(small.map(|plot| (plot, SMALL)));
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
    facts.extend(head.seconds.map(|s| format!("{} in all", format_time(s))));
    let typed = head
        .command_line
        .as_deref()
        .map(|line| format!("<p class=\"facts typed\"><code>{}</code></p>", escape_html(line)));
    let state = state_word(head.state);
    let spans = |facts: &[String]| -> String {
        facts.iter().map(|fact| format!("<span>{}</span> ", escape_html(fact))).collect()
    };
    let audits = findings.results.trials.iter().filter_map(|trial| trial.audit.as_ref());
    let said: BTreeSet<&str> = audits.map(|audit| &*audit.header).collect();
    let said: String = said
        .iter()
        .map(|said| format!("<p class=\"facts\"><strong>{}</strong></p>", escape_html(said)))
        .collect();
    let measured_on = match spans(&record::machine_facts(head, &findings.data)) {
        facts if facts.is_empty() => facts,
        facts => format!("<p class=\"facts\">{facts}</p>"),
    };
    format!(
        "<header><div><p class=\"brand\">sweat <span>{}</span></p><h1>{}</h1><p class=\"facts\">{}\
         <span class=\"state {state}\">{state}</span></p>{said}{measured_on}{}</div>\
         <button id=\"theme\" type=\"button\" hidden>dark / light</button></header>",
        escape_html(head.command.as_str()),
        escape_html(page_name(head)),
        spans(&facts),
        typed.unwrap_or_default()
    )
}

/// What a run is called.
pub(super) fn page_name(head: &RunHeader) -> &str {
    if head.name.is_empty() { "run" } else { &head.name }
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
    // A replay has tiles of its own, next.
    if !findings.replays.is_empty() {
        return tiles;
    }
    let mut push = |name: &str, value: String| tiles.push((name.to_owned(), value));
    if let [only] = &findings.results.trials[..] {
        push("events/s", number_or_dash(only.events_per_s.value));
        if let Some(queries) = only.counts.iter().find(|count| count.name == "queries") {
            push("queries/s", format_number(queries.per_s));
        }
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
    let mut out = String::from("<section id=\"caveats\"><h2>Caveats</h2>");
    if !grave.is_empty() {
        out += &format!("<ul class=\"caveats\">{grave}</ul>");
    }
    if !notes.is_empty() {
        let of_notes = caveats.iter().filter(|c| c.level == CaveatLevel::Note);
        let ids: Vec<&str> = of_notes.map(|c| c.id).collect();
        out += &format!(
            "<details class=\"print\"><summary>{}: {}</summary><ul class=\"caveats\">{notes}</ul>\
             </details>",
            format_plural(ids.len() as u64, "note", "notes"),
            ids.join(", ")
        );
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
    let bars = variant_bars(findings);
    if bars.is_empty() {
        return String::new();
    }
    // Without a comparison the picture stands below the answer.
    let bars = match findings.results.comparisons.is_empty() {
        true => String::new(),
        false => format!("<figure>{bars}</figure>"),
    };
    format!(
        "<section id=\"comparison\"><h2>The variants against each other</h2>\
         {bars}{}<p class=\"small\">\u{201c}Times faster\u{201d} is the first \
         run of the cold variant by the first run of this one: one run each, so no interval. Page \
         reads are <code>Innodb_buffer_pool_reads</code>.</p>{}</section>",
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
    match all.matches("<li>").count() as u64 {
        0 => all,
        notes => format!(
            "<details><summary>{}: proof of coldness, what warming left out</summary>\
             <ul class=\"small notes\">{all}</ul></details>",
            format_plural(notes, "note on the steps", "notes on the steps")
        ),
    }
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
        "<section id=\"time\"><div class=\"together\"><h2>Over time</h2>\
         <p class=\"small\" id=\"zoom-hint\" hidden>Drag across a plot to \
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
    out += &background_legend(findings, ground);
    let frame = main_frame(&ground.bands);
    for (place, plot) in main.iter().enumerate() {
        out += &plot_figure(findings, plot, &frame, time_axis, ground);
        // The heading is never alone at the foot of a page.
        out += if place == 0 { "</div>" } else { "" };
    }
    out + "</section>"
}

/// Where nothing stands above the plots they need no room there.
fn main_frame(bands: &[PlotBand]) -> PlotFrame {
    let is_named = bands.iter().any(|band| band.strip.is_some() || !band.group.is_empty());
    let strip = if is_named { 0.0 } else { WIDE.top - SMALL.top };
    PlotFrame { top: WIDE.top - strip, height: WIDE.height - strip, ..WIDE }
}

/// A plot with its legend and its table.
pub(super) fn plot_figure(
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

pub(super) fn loads_section(findings: &FindingResults, still: &[(Plot, PlotFrame)]) -> String {
    if findings.trials.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"loads\"><h2>Loads</h2>");
    out += &tables::trials_table(findings);
    out.push_str(
        "<p class=\"small\">Response time counts from when an event was due, service time from \
         when it started. A percentile is shown only if at least one event lies beyond it.</p>",
    );
    out += &tables::counts_table(findings);
    out += &verdicts::steady_table(findings);
    out += &untimed_figure(still, "histogram");
    out += &untimed_figure(still, "spectrum");
    let classes = tables::classes_table(findings);
    if !classes.is_empty() {
        out += &format!("<h3>By class</h3>{classes}");
    }
    out += &small_figures(still, &histograms::class_plots(findings));
    let steps = tables::steps_table(findings);
    if !steps.is_empty() {
        out += &format!("<h3>Steps inside events</h3>{steps}");
    }
    let headers: BTreeSet<&str> =
        findings.trials.iter().filter_map(|t| t.audit.as_ref()).map(|a| &*a.header).collect();
    for header in headers {
        let (rates, audit) = (tables::rates_table(findings), tables::audit_table(findings));
        let header = escape_html(header);
        out += &format!("<h3>Audit</h3><p>{header}</p>{rates}{audit}");
    }
    out += &small_figures(still, &histograms::duration_plots(findings));
    out += &tables::figures_tables(findings);
    out + "</section>"
}

/// These of the small plots, side by side; empty without any.
fn small_figures(still: &[(Plot, PlotFrame)], shown: &[Plot]) -> String {
    match shown.iter().map(|plot| untimed_figure(still, plot.id)).collect::<String>() {
        figures if figures.is_empty() => figures,
        figures => format!("<div class=\"pairs\">{figures}</div>"),
    }
}

/// Of a plot that is not over time.
pub(super) fn tall_frame() -> PlotFrame {
    PlotFrame { top: 12.0, height: 300.0, ..WIDE }
}
