//! Markdown for the summary of a build step or a ticket: the answer, the checks, the loads, the caveats.

use std::io::{self, Write};

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_percent, format_time, number_or_dash,
};
use crate::analysis::{
    ComparedSide, FindingResults, Findings, MetricComparison, RunFindings, RunHeader,
};

use super::text::side_facts;
use super::{ReportFormat, ReportStyle, state_word};

/// Most loads in the table: a summary that nobody reads to its end is none.
const MOST: usize = 24;

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "markdown",
    about: "a summary for a ticket or a build's step",
    refuse: ReportFormat::shows_all,
    write: write_markdown,
};

fn write_markdown(
    findings: Findings<'_>,
    _look: ReportStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    match findings {
        Findings::Run(run) => {
            write_title(run.head.command.as_str(), &run.head.name, out)?;
            if let Some(question) = &run.head.question {
                writeln!(out, "*{}*\n", escape_markdown(question))?;
            }
            write_answer(&run.results, out)?;
            write_checks(run, out)?;
            write_results(&run.results, out)?;
            write_source(&run.head, run.folder.as_deref().unwrap_or(&run.head.id), out)
        }
        Findings::Comparison(found) => {
            let [base, other] = &found.sides;
            write_title("compare", &format!("{} against {}", other.name, base.name), out)?;
            write_answer(&found.results, out)?;
            write_results(&found.results, out)?;
            write_side("Base", base, out)?;
            write_side("Other", other, out)
        }
    }
}

fn write_title(command: &str, name: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "### sweat {}: {}\n", escape_markdown(command), escape_markdown(name))
}

fn write_answer(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    if let Some(void) = results.void_caveat() {
        let word = results.void_word();
        writeln!(out, "**{word}** {} (`{}`)\n", escape_markdown(&void.evidence), void.id)?;
    }
    results.answer.iter().try_for_each(|line| writeln!(out, "{}\n", escape_markdown(line)))
}

fn write_results(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    write_comparisons(results, out)?;
    write_loads(results, out)?;
    write_caveats(results, out)
}

/// What was measured, and where its record lies.
fn write_source(head: &RunHeader, folder: &str, out: &mut dyn Write) -> io::Result<()> {
    let server = head.server.as_ref();
    let server = server.map(|s| format!("{} {}, ", s.product, s.version)).unwrap_or_default();
    let state = state_word(head.state);
    writeln!(
        out,
        "<sub>{}sweat {}, {state}; record in {}</sub>",
        escape_markdown(&server),
        escape_markdown(&head.tool_version),
        escape_markdown(folder)
    )
}

/// What the runs of a side were measured on, and where their records lie.
fn write_side(label: &str, side: &ComparedSide, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "**{label}** {}\n", escape_markdown(&side.name))?;
    for (run, facts) in side_facts(side) {
        let head = &run.head;
        writeln!(
            out,
            "- {}: sweat {}, {}",
            escape_markdown(&head.id),
            escape_markdown(&head.tool_version),
            state_word(head.state)
        )?;
        for (name, text) in facts {
            writeln!(out, "  - {name}: {}", escape_markdown(&text))?;
        }
    }
    writeln!(out)
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

fn write_checks(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    if findings.checks.is_empty() {
        return Ok(());
    }
    let rows = findings.checks.iter().map(|check| {
        vec![
            format!("**{}**", check.verdict.as_str()),
            escape_markdown(&format!("`{}`", check.text.replace('`', "'"))),
            escape_markdown(&check.value),
            escape_markdown(&check.why),
        ]
    });
    write_table(out, &["", "check", "measured", "why"], 4, rows)
}

fn write_comparisons(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
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
    write_table(
        out,
        &["variant", "metric", "verdict", "change", "95 % interval", "blocks"],
        3,
        rows,
    )
}

fn write_loads(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
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
            "{}: {} arrivals ({}) were due and never started; the oldest had waited for {}; its \
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

fn write_caveats(findings: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
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
