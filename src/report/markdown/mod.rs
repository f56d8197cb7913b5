//! Markdown for the summary of a build step or a ticket: the answer, the checks, the loads, the doubts.

use std::io::{self, Write};

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_percent, format_time, number_or_dash,
};
use crate::analysis::{Findings, MetricComparison};

use super::{ReportFormat, ReportStyle, state_word};

/// Most loads in the table: a summary that nobody reads to its end is none.
const MOST: usize = 24;

/// The format.
pub(super) struct MarkdownReport;

impl ReportFormat for MarkdownReport {
    fn name(&self) -> &'static str {
        "markdown"
    }
    fn about(&self) -> &'static str {
        "a summary for a ticket or a build's step"
    }
    fn write(
        &self,
        findings: &Findings,
        _look: ReportStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let head = &findings.head;
        writeln!(
            out,
            "### sweat {}: {}\n",
            escape_markdown(&head.command),
            escape_markdown(&head.name)
        )?;
        if let Some(question) = &head.question {
            writeln!(out, "*{}*\n", escape_markdown(question))?;
        }
        if let Some(void) = findings.void_caveat() {
            let word = findings.void_word();
            writeln!(out, "**{word}** {} (`{}`)\n", escape_markdown(&void.evidence), void.id)?;
        }
        for line in &findings.answer {
            writeln!(out, "{}\n", escape_markdown(line))?;
        }
        write_checks(findings, out)?;
        write_comparisons(findings, out)?;
        write_loads(findings, out)?;
        write_caveats(findings, out)?;
        let server = head.server.as_ref();
        let server = server.map(|s| format!("{} {}, ", s.product, s.version)).unwrap_or_default();
        let folder = findings.folder.as_deref().unwrap_or(&head.id);
        let state = state_word(head.state);
        writeln!(
            out,
            "<sub>{}sweat {}, {state}; record in {}</sub>",
            escape_markdown(&server),
            escape_markdown(&head.tool_version),
            escape_markdown(folder)
        )
    }
}

fn write_row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))
}

/// A table; all columns but the first `words` are numbers.
fn write_table(
    out: &mut dyn Write,
    head: &[&str],
    words: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    write_row(out, &head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>())?;
    let line = |place| if place < words { "---" } else { "---:" }.to_owned();
    write_row(out, &(0..head.len()).map(line).collect::<Vec<_>>())?;
    for cells in rows {
        write_row(out, &cells)?;
    }
    writeln!(out)
}

fn write_checks(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.checks.is_empty() {
        return Ok(());
    }
    let rows = findings.checks.iter().map(|check| {
        vec![
            format!("**{}**", check.verdict),
            escape_markdown(&format!("`{}`", check.text.replace('`', "'"))),
            escape_markdown(&check.value),
            escape_markdown(&check.why),
        ]
    });
    write_table(out, &["", "check", "measured", "why"], 4, rows)
}

fn write_comparisons(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.comparisons.is_empty() {
        return Ok(());
    }
    let change = |ratio: Option<f64>| match ratio {
        Some(ratio) => format!("{:+.1} %", (ratio - 1.0) * 100.0),
        None => UNKNOWN.to_owned(),
    };
    let rows = findings.comparisons.iter().map(|c: &MetricComparison| {
        let interval = c.ratio.ci95.map_or_else(
            || UNKNOWN.to_owned(),
            |(low, high)| format!("{} .. {}", change(Some(low)), change(Some(high))),
        );
        let verdict = c.verdict.as_str();
        vec![
            escape_markdown(&c.variant),
            escape_markdown(&c.metric),
            if c.decides { format!("**{verdict}**") } else { verdict.to_owned() },
            change(c.ratio.value),
            interval,
            c.ratio.runs.to_string(),
        ]
    });
    write_table(out, &["way", "metric", "verdict", "change", "95 % interval", "blocks"], 3, rows)
}

fn write_loads(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let rows = findings.trials.iter().take(MOST).map(|trial| {
        let seconds = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), format_time);
        vec![
            escape_markdown(&trial.id),
            number_or_dash(trial.events_per_s.value),
            seconds(trial.response.p50_s),
            seconds(trial.response.p95_s),
            seconds(trial.response.p99_s),
            seconds(trial.response.max_s),
            format_count(trial.failed),
        ]
    });
    if findings.trials.is_empty() {
        return Ok(());
    }
    write_table(out, &["load", "events/s", "p50", "p95", "p99", "max", "failed"], 1, rows)?;
    for trial in findings.trials.iter().take(MOST) {
        let Some(unbegun) = trial.unbegun else { continue };
        writeln!(
            out,
            "{}: {} arrivals ({}) were due and never began, the oldest had waited for {}; its \
             times are lower bounds.\n",
            escape_markdown(&trial.id),
            format_count(unbegun.arrivals),
            format_percent(unbegun.share),
            format_time(unbegun.oldest_s)
        )?;
    }
    match findings.trials.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(out, "... and {more} more.\n"),
    }
}

fn write_caveats(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for caveat in &findings.caveats {
        let (level, id) = (caveat.level.as_str(), caveat.id);
        writeln!(
            out,
            "- {level} `{id}` {} *{}*",
            escape_markdown(&caveat.evidence),
            escape_markdown(&caveat.remedy)
        )?;
    }
    if findings.caveats.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Text that stays text: nothing in it becomes an element, a cell's end or an emphasis. Back quotes stay, as our
/// own sentences use them for names, if they come in pairs.
fn escape_markdown(raw: &str) -> String {
    let paired = raw.matches('`').count() % 2 == 0;
    let mut out = String::with_capacity(raw.len());
    let mut code = false;
    for c in raw.chars() {
        match c {
            '`' if paired => {
                code = !code;
                out.push('`');
            }
            // Inside code nothing but the cell's end and the quote itself means anything.
            '|' => out.push_str("\\|"),
            c if c.is_control() => out.push(' '),
            c if code => out.push(c),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
