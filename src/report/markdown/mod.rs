//! Markdown for the summary of a build step or a ticket: the answer, the checks, the loads, the doubts.

use std::io::{self, Write};

use crate::analysis::figure::{UNKNOWN, count, figure_or_dash, percent, time};
use crate::analysis::{Comparison, Findings};

use super::{Look, ReportFormat, state_word};

/// Most loads in the table: a summary that nobody reads to its end is none.
const MOST: usize = 24;

/// The format.
pub(super) struct Markdown;

impl ReportFormat for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }
    fn about(&self) -> &'static str {
        "a summary for a ticket or a build's step"
    }
    fn write(&self, findings: &Findings, _look: Look, out: &mut dyn Write) -> io::Result<()> {
        let head = &findings.head;
        writeln!(out, "### sweat {}: {}\n", text(&head.command), text(&head.name))?;
        if let Some(question) = &head.question {
            writeln!(out, "*{}*\n", text(question))?;
        }
        if let Some(void) = findings.void() {
            let word = findings.void_word();
            writeln!(out, "**{word}** {} (`{}`)\n", text(&void.evidence), void.id)?;
        }
        for line in &findings.answer {
            writeln!(out, "{}\n", text(line))?;
        }
        checks(findings, out)?;
        comparisons(findings, out)?;
        loads(findings, out)?;
        caveats(findings, out)?;
        let server = head.server.as_ref();
        let server = server.map(|s| format!("{} {}, ", s.product, s.version)).unwrap_or_default();
        let folder = findings.folder.as_deref().unwrap_or(&head.id);
        let state = state_word(head.state);
        writeln!(
            out,
            "<sub>{}sweat {}, {state}; record in {}</sub>",
            text(&server),
            text(&head.tool_version),
            text(folder)
        )
    }
}

fn row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))
}

/// A table; all columns but the first `words` are numbers.
fn table(
    out: &mut dyn Write,
    head: &[&str],
    words: usize,
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    row(out, &head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>())?;
    let line = |place| if place < words { "---" } else { "---:" }.to_owned();
    row(out, &(0..head.len()).map(line).collect::<Vec<_>>())?;
    for cells in rows {
        row(out, &cells)?;
    }
    writeln!(out)
}

fn checks(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.checks.is_empty() {
        return Ok(());
    }
    let rows = findings.checks.iter().map(|check| {
        vec![
            format!("**{}**", check.verdict),
            text(&format!("`{}`", check.text.replace('`', "'"))),
            text(&check.value),
            text(&check.why),
        ]
    });
    table(out, &["", "check", "measured", "why"], 4, rows)
}

fn comparisons(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.comparisons.is_empty() {
        return Ok(());
    }
    let change = |ratio: Option<f64>| match ratio {
        Some(ratio) => format!("{:+.1} %", (ratio - 1.0) * 100.0),
        None => UNKNOWN.to_owned(),
    };
    let rows = findings.comparisons.iter().map(|c: &Comparison| {
        let interval = c.ratio.ci95.map_or_else(
            || UNKNOWN.to_owned(),
            |(low, high)| format!("{} .. {}", change(Some(low)), change(Some(high))),
        );
        let verdict = c.verdict.words();
        vec![
            text(&c.way),
            text(&c.metric),
            if c.decides { format!("**{verdict}**") } else { verdict.to_owned() },
            change(c.ratio.value),
            interval,
            c.ratio.runs.to_string(),
        ]
    });
    table(out, &["way", "metric", "verdict", "change", "95 % interval", "blocks"], 3, rows)
}

fn loads(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let rows = findings.trials.iter().take(MOST).map(|trial| {
        let seconds = |v: Option<f64>| v.map_or_else(|| UNKNOWN.to_owned(), time);
        vec![
            text(&trial.id),
            figure_or_dash(trial.events_per_s.value),
            seconds(trial.response.p50_s),
            seconds(trial.response.p95_s),
            seconds(trial.response.p99_s),
            seconds(trial.response.max_s),
            count(trial.failed),
        ]
    });
    if findings.trials.is_empty() {
        return Ok(());
    }
    table(out, &["load", "events/s", "p50", "p95", "p99", "max", "failed"], 1, rows)?;
    for trial in findings.trials.iter().take(MOST) {
        let Some(unbegun) = trial.unbegun else { continue };
        writeln!(
            out,
            "{}: {} arrivals ({}) were due and never began, the oldest had waited for {}; its \
             times are lower bounds.\n",
            text(&trial.id),
            count(unbegun.arrivals),
            percent(unbegun.share),
            time(unbegun.oldest_s)
        )?;
    }
    match findings.trials.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(out, "... and {more} more.\n"),
    }
}

fn caveats(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for caveat in &findings.caveats {
        let (level, id) = (caveat.level.words(), caveat.id);
        writeln!(out, "- {level} `{id}` {} *{}*", text(&caveat.evidence), text(&caveat.remedy))?;
    }
    if findings.caveats.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Text that stays text: nothing in it becomes an element, a cell's end or an emphasis. Back quotes stay, as our
/// own sentences use them for names, if they come in pairs.
fn text(raw: &str) -> String {
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
