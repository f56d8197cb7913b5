//! One page in one file: nothing is loaded, pictures are SVG that reads without script and without style sheet, the
//! script adds zoom, cursor and toggles. The answer stands first, then one picture, then caveats and numbers.
//! Start reading at `sections::page_parts`. To add a section: its function, and its line there.

mod axis;
mod bands;
mod bars;
mod capacity;
mod comparison;
mod costs;
mod effects;
pub(super) mod escape;
mod heatmap;
mod histograms;
mod labels;
mod legend;
mod levels;
mod live;
mod m4;
mod overlay;
mod plot;
mod plot_data;
mod record;
mod replay;
mod run_plots;
mod scaling;
mod sections;
mod server_cost;
mod spectrum;
mod tables;
mod variants;
mod verdicts;
mod waits;
mod watch;

use std::io::{self, Write};

use crate::analysis::number_format::{format_bytes, format_number, format_time};
use crate::analysis::{Findings, RunFindings, RunHeader, answer_headline};

use super::{DifferingSetting, ReportFormat, ReportStyle};
use axis::AxisMeasure;

/// The style sheet and the script, part of the page.
pub(crate) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// What the page of a run under way has besides.
const LIVE_SCRIPT: &str = include_str!("live.js");

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "html",
    about: "one page with plots, in one file",
    refuse: ReportFormat::shows_all,
    write: write_html,
};

fn write_html(findings: Findings<'_>, _look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    match findings {
        Findings::Run(run) => {
            let title = run_title(&run.head);
            let head = PageHead { title: &title, answer: answer_headline(&run.results) };
            write_page(head, &run.head.tool_version, sections::page_parts(run), out)
        }
        Findings::Comparison(found) => {
            let parts = comparison::page_parts(found);
            let title =
                format!("{} against {} \u{b7} sweat", found.sides[1].name, found.sides[0].name);
            let head = PageHead { title: &title, answer: answer_headline(&found.results) };
            write_page(head, env!("CARGO_PKG_VERSION"), parts, out)
        }
    }
}

/// Several runs on one page.
pub(super) fn write_side_by_side(
    runs: &[RunFindings],
    settings: &[DifferingSetting],
    out: &mut dyn Write,
) -> io::Result<()> {
    let version = runs.first().map_or("", |run| run.head.tool_version.as_str());
    let head = PageHead { title: "side by side \u{b7} sweat", answer: String::new() };
    write_page(head, version, overlay::page_parts(runs, settings), out)
}

/// What a page is called where somebody shares it.
struct PageHead<'a> {
    title: &'a str,
    answer: String,
}

/// The head of a run's page.
fn run_title(head: &RunHeader) -> String {
    format!("{} \u{b7} sweat {}", sections::page_name(head), head.command.as_str())
}

fn write_page(
    head: PageHead<'_>,
    version: &str,
    parts: Vec<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_page_with(head, version, parts, &[SCRIPT], out)
}

fn write_page_with(
    head: PageHead<'_>,
    version: &str,
    parts: Vec<String>,
    scripts: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = escape::escape_html(head.title);
    let answer = escape::escape_html(&head.answer);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"sweat {}\">\n\
             <meta name=\"description\" content=\"{answer}\">\n\
             <meta property=\"og:title\" content=\"{title}\">\n\
             <meta property=\"og:description\" content=\"{answer}\">\n<title>{title}</title>\n\
             <style>{}</style>\n</head>\n<body>\n",
        escape::escape_html(version),
        inline_text(STYLE),
    )?;
    for section in parts {
        out.write_all(section.as_bytes())?;
        out.write_all(b"\n")?;
    }
    for script in scripts {
        writeln!(out, "<script>{}</script>", inline_text(script))?;
    }
    write!(out, "</body>\n</html>\n")
}

/// A script or a style sheet as it stands in its element: a policy names the hash of just this text.
fn inline_text(text: &str) -> String {
    format!("\n{text}")
}

/// A value of a plot in words.
fn format_value(value: f64, measure: AxisMeasure) -> String {
    match measure {
        AxisMeasure::Number => format_number(value),
        AxisMeasure::Bytes => format_bytes(value),
        AxisMeasure::Latency => format_time(value),
    }
}

/// The text with a capital at its beginning, unless it begins with a name: `each-commit`, `p99`, `innodb_x`.
fn capitalize_first(text: &str) -> String {
    let first = text.split([' ', ',', ':', '.', ';']).next().unwrap_or_default();
    if !first.chars().all(char::is_alphabetic) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

pub(crate) use escape::escape_html;
pub use live::{inline_texts, live_page};
pub(crate) use watch::write_watch_page;
