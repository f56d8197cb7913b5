//! One page in one file: nothing is loaded, pictures are SVG that reads without script and without style sheet, the
//! script adds zoom, cursor and toggles. The answer stands first, then the caveats, then the numbers.
//! Start reading at `sections::page_parts`. To add a section: its function, and its line there.

mod axis;
mod bars;
mod capacity;
mod comparison;
mod effects;
pub(super) mod escape;
mod heatmap;
mod m4;
mod overlay;
mod plot;
mod plot_data;
mod record;
mod replay;
mod run_plots;
mod scaling;
mod sections;
mod tables;
mod verdicts;

use std::io::{self, Write};

use crate::analysis::number_format::{format_bytes, format_number, format_time};
use crate::analysis::{Findings, RunFindings};

use super::{DifferingSetting, ReportFormat, ReportStyle};
use axis::AxisMeasure;

/// The style sheet and the script, part of the page.
pub(super) const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The format.
pub(super) const FORMAT: ReportFormat =
    ReportFormat { name: "html", about: "one page with plots, in one file", write: write_html };

fn write_html(findings: Findings<'_>, _look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    match findings {
        Findings::Run(run) => {
            let title = format!("{} \u{b7} sweat", run.head.id);
            write_page(&title, &run.head.tool_version, sections::page_parts(run), out)
        }
        Findings::Comparison(found) => {
            let parts = comparison::page_parts(found);
            write_page("comparison \u{b7} sweat", env!("CARGO_PKG_VERSION"), parts, out)
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
    write_page("side by side \u{b7} sweat", version, overlay::page_parts(runs, settings), out)
}

fn write_page(
    title: &str,
    version: &str,
    parts: Vec<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = escape::escape_html(title);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"sweat {}\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape::escape_html(version),
    )?;
    for section in parts {
        out.write_all(section.as_bytes())?;
        out.write_all(b"\n")?;
    }
    write!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

/// A value of a plot in words.
fn format_value(value: f64, measure: AxisMeasure) -> String {
    match measure {
        AxisMeasure::Number => format_number(value),
        AxisMeasure::Bytes => format_bytes(value),
        AxisMeasure::Latency => format_time(value),
    }
}

/// The text with a capital at its beginning.
fn capitalize_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
