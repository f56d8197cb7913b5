//! The final summary: 80 columns, the answer first, stable enough to copy into a ticket.

mod compare;
mod costs;
mod explain;
mod figures;
mod load_audit;
mod loads;
mod machines;
mod replay;
mod scaling;
pub(super) mod server_cost;
mod sides;
mod state;
mod summary;
pub(super) mod table;
mod waits;

use std::io::{self, Write};

use crate::analysis::number_format::{
    format_bytes, format_number, format_percent, format_ratio, format_time, number_or_dash,
};
use crate::analysis::{
    Caveat, CaveatLevel, ComparisonFindings, DataSize, FindingResults, Findings, LatencySummary,
    RunFindings, TrialFinding, VariantFinding,
};

use crate::archive::{CrashRound, ServerRecord};
use crate::data_verdicts::write_crash_rounds;

use super::{ReportDetail, ReportFormat, ReportStyle};
pub(super) use costs::cost_interval;
pub use explain::{caveat_explanation_text, caveat_list_text, stall_cause_text};
pub(super) use sides::side_facts;
use table::TextTable;
pub use table::{shorten_cell, truncate_text};

/// Columns of a page.
pub(super) const WIDTH: usize = 80;
/// Further lines of a paragraph stand at most this far in.
const INDENT: usize = 10;

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "text",
    about: "the summary for terminals and tickets, 80 columns",
    refuse: ReportFormat::shows_all,
    write: write_text,
};

fn write_text(findings: Findings<'_>, look: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let paint = TerminalStyle { on: look.colour };
    match (look.detail, findings) {
        (ReportDetail::Short, _) => summary::write_short(findings, paint, out),
        (ReportDetail::Summary, _) => summary::write_summary(findings, paint, out),
        (ReportDetail::Full, Findings::Run(findings)) => write_run(findings, paint, out),
        (ReportDetail::Full, Findings::Comparison(findings)) => {
            write_comparison(findings, paint, out)
        }
    }
}

fn write_run(findings: &RunFindings, paint: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let results = &findings.results;
    load_audit::write_headers(results, out)?;
    write_answer(findings.head.question.as_deref(), results, paint, out)?;
    state::write_checks(findings, paint, out)?;
    compare::write_comparisons(results, out)?;
    if !results.comparisons.is_empty() {
        compare::write_differences(&results.differences, paint, out)?;
    }
    write_cost_changes(results, out)?;
    replay::write_replays(findings, out)?;
    if let Some(found) = &findings.scaling {
        writeln!(out)?;
        scaling::write_sweep(found, out)?;
    }
    if let Some(found) = &findings.capacity {
        writeln!(out)?;
        scaling::write_capacity(found, out)?;
    }
    // Levels and steps stand in the tables above, with all their loads.
    let is_told = findings.scaling.is_some() || findings.capacity.is_some();
    let warmed = |w: &VariantFinding| w.warm_s.is_some() || w.times_faster.value.is_some();
    if findings.variants.iter().any(warmed) {
        writeln!(out)?;
        variants_table(findings).write(WIDTH, out)?;
        write_warm_notes(findings, out)?;
    }
    if !results.trials.is_empty() && !is_told {
        writeln!(out)?;
        loads::write_loads(results, out)?;
    }
    write_crashes(findings, out)?;
    if !findings.machines.is_empty() {
        writeln!(out)?;
        machines::write_machines(&findings.machines, out)?;
    }
    load_audit::write_audits(results, out)?;
    figures::write_all(results, out)?;
    if let [only] = &results.trials[..] {
        writeln!(out)?;
        write_details(only, out)?;
    }
    server_cost::write_server_costs(findings, out)?;
    waits::write_waits(findings, out)?;
    state::write_state(results, &findings.noise, out)?;
    write_end(results, paint, out)?;
    write_run_facts(findings, out)?;
    summary::write_headline(results, paint, out)
}

/// Things that were measured one by one in what is compared, below an empty line.
fn write_cost_changes(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    if !results.cost_changes.is_empty() {
        writeln!(out)?;
        costs::write_changes(&results.cost_changes, out)?;
        if results.comparisons.is_empty() {
            for difference in results.differences.iter().filter(|d| !d.intended) {
                let text = compare::describe_difference(difference);
                write_paragraph(out, "Differs ", &text)?;
            }
        }
    }
    Ok(())
}

fn write_comparison(
    findings: &ComparisonFindings,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let results = &findings.results;
    write_answer(None, results, paint, out)?;
    compare::write_comparisons(results, out)?;
    if !results.comparisons.is_empty() {
        match results.differences.is_empty() {
            true => write_paragraph(out, "Differs ", "nothing that was recorded")?,
            false => compare::write_differences(&results.differences, paint, out)?,
        }
    }
    write_cost_changes(results, out)?;
    replay::write_changes(&results.replay_changes, out)?;
    if !results.trials.is_empty() {
        writeln!(out)?;
        loads::write_loads(results, out)?;
    }
    state::write_state(results, &[], out)?;
    write_end(results, paint, out)?;
    sides::write_sides(&findings.sides, out)?;
    summary::write_headline(results, paint, out)
}

/// Errors and caveats, and the empty line before what was measured.
fn write_end(
    results: &FindingResults,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    loads::write_errors(results, out)?;
    write_caveats(&results.caveats, paint, out)?;
    write_allowed_caveats(&results.allowed, out)?;
    writeln!(out)
}

/// Colours, if wanted.
#[derive(Clone, Copy)]
struct TerminalStyle {
    on: bool,
}

impl TerminalStyle {
    fn bold(self, text: &str) -> String {
        if self.on { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
    fn dim(self, text: &str) -> String {
        if self.on { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
    fn colour_level(self, level: CaveatLevel, text: &str) -> String {
        let code = match level {
            CaveatLevel::Void => "1;31",
            CaveatLevel::Warn => "33",
            CaveatLevel::Note => "36",
        };
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Whatever a server or a file put into a text must not steer the terminal.
fn replace_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Words broken into lines; all but the first begin with an indent, the first leaves room for a label.
fn wrap_text(text: &str, label: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in replace_controls(text).split_whitespace() {
        let room = WIDTH - if lines.len() == 1 { label } else { 0 };
        let line = lines.last_mut().expect("there is always a line");
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > room {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            if length > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A paragraph after a label; further lines stand below the text.
pub(super) fn write_paragraph(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    write_painted(out, label, label, text)
}

/// The same as text, 80 columns wide.
pub fn format_paragraph(label: &str, text: &str) -> String {
    let length = label.chars().count();
    let lines = wrap_text(text, length, length.min(INDENT));
    format!("{label}{}\n", lines.join("\n"))
}

/// The same with a label in colours.
fn write_painted(out: &mut dyn Write, label: &str, painted: &str, text: &str) -> io::Result<()> {
    let length = label.chars().count();
    write!(out, "{painted}")?;
    for line in wrap_text(text, length, length.min(INDENT)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_answer(
    question: Option<&str>,
    results: &FindingResults,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(question) = question {
        write_painted(out, "Question: ", &paint.bold("Question: "), &replace_controls(question))?;
    }
    if let Some(void) = results.void_caveat() {
        let text = format!("{} [{}]", void.evidence, void.id);
        let label = format!("{}: ", results.void_word());
        write_painted(out, &label, &paint.colour_level(CaveatLevel::Void, &label), &text)?;
    }
    let answer = results.answer.join(" ");
    if results.void_caveat().is_none() || !paint.on {
        return write_painted(out, "Answer: ", &paint.bold("Answer: "), &answer);
    }
    let mut lines = Vec::new();
    write_paragraph(&mut lines, "Answer: ", &answer)?;
    let lines = String::from_utf8_lossy(&lines);
    lines.lines().try_for_each(|line| writeln!(out, "{}", paint.dim(line)))
}

/// What warming cost and brought, a row per variant.
fn variants_table(findings: &RunFindings) -> TextTable {
    let mut table = TextTable::new(&[
        "variant", "warm s", "warm MiB", "1st s", "reads", "MiB", "faster", "2nd s", "reads",
    ]);
    for variant in &findings.variants {
        table.add_row(variant_row(findings, variant));
    }
    table
}

/// What came back after kills of the server.
fn write_crashes(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let phases = &findings.timeline.phases;
    let rounds: Vec<CrashRound> = phases.iter().filter_map(|phase| phase.crash.clone()).collect();
    if rounds.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_crash_rounds(&rounds, out)
}

/// What warming left out.
fn write_warm_notes(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    for phase in &findings.timeline.phases {
        for note in phase.warmed.iter().flat_map(|w| &w.notes) {
            let label = format!("{}: ", replace_controls(&phase.variant));
            write_paragraph(out, &label, note)?;
        }
    }
    Ok(())
}

fn variant_row(findings: &RunFindings, variant: &VariantFinding) -> Vec<String> {
    let trial = |place: Option<usize>| place.map(|t| &findings.results.trials[t]);
    let (first, second) = (trial(variant.first), trial(variant.second));
    let seconds = |t: Option<&TrialFinding>| number_or_dash(t.map(|t| t.seconds));
    let reads = |t: Option<&TrialFinding>| {
        number_or_dash(t.and_then(|t| t.disk_reads).map(|c| c.value.round()))
    };
    vec![
        replace_controls(&variant.variant),
        number_or_dash(variant.warm_s),
        number_or_dash(variant.warm_bytes.map(to_mebibytes)),
        seconds(first),
        cut_decimals(reads(first)),
        number_or_dash(first.and_then(|t| t.disk_bytes).map(|c| to_mebibytes(c.value))),
        variant.times_faster.value.map_or_else(|| "-".to_owned(), format_ratio),
        seconds(second),
        cut_decimals(reads(second)),
    ]
}

/// Counts below a thousand come with decimals from `figure`: cut them.
fn cut_decimals(text: String) -> String {
    match text.split_once('.') {
        Some((whole, _)) => whole.to_owned(),
        None => text,
    }
}

fn to_mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// What there is room for with a single load: service times, spread of the rates, costs.
fn write_details(trial: &TrialFinding, out: &mut dyn Write) -> io::Result<()> {
    let latency = |l: &LatencySummary| {
        let word = |label: &str, v: Option<f64>| v.map(|v| format!("{label} {}", format_time(v)));
        let words = [word("p50", l.p50_s), word("p99", l.p99_s), word("max", l.max_s)];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let mut line = |label: &str, text: String| {
        if text.is_empty() {
            return Ok(());
        }
        let label = format!("{label:10}");
        write_paragraph(out, &label, &text)
    };
    line("service", latency(&trial.service))?;
    line("lateness", latency(&trial.lateness))?;
    let spread = trial.rates.map(|r| {
        format!(
            "min {}, p1 {}, median {}, p99 {} events/s over {} intervals",
            format_number(r.min),
            format_number(r.p1),
            format_number(r.p50),
            format_number(r.p99),
            r.intervals
        )
    });
    line("intervals", spread.unwrap_or_default())?;
    let costs: Vec<String> = trial
        .cost
        .iter()
        .filter_map(|c| Some((c, c.per_event.filter(|v| *v > 0.0)?)))
        .map(|(c, value)| format!("{} {} {}", c.title, format_number(value), c.unit))
        .map(|text| text.trim_end().to_owned())
        .collect();
    line("per event", costs.join(", "))
}

fn write_caveats(caveats: &[Caveat], paint: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    if caveats.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for caveat in caveats {
        let label = format!("{} [{}] ", caveat.level.as_str(), caveat.id);
        let text = format!("{} - {}", caveat.evidence, caveat.remedy);
        write_painted(out, &label, &paint.colour_level(caveat.level, &label), &text)?;
    }
    Ok(())
}

/// Caveats that the user knows of.
fn write_allowed_caveats(caveats: &[Caveat], out: &mut dyn Write) -> io::Result<()> {
    if caveats.is_empty() {
        return Ok(());
    }
    let words = caveats.iter().map(|c| format!("{} ({})", c.id, c.level.as_str()));
    let label = format!("{} allowed by the user: ", caveats.len());
    write_paragraph(out, &label, &words.collect::<Vec<_>>().join(", "))
}

/// What was measured, and where the record lies.
fn write_run_facts(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let head = &findings.head;
    if let Some(server) = &head.server {
        write_paragraph(out, server_label(server), &describe_server(server))?;
    }
    write_dealt(&findings.results, out)?;
    if let Some(text) = describe_data(&findings.data) {
        write_paragraph(out, "Data   ", &text)?;
    }
    if let Some(line) = &head.command_line {
        let took = head.seconds.map(|s| format!(" ({} in all)", format_time(s)));
        write_paragraph(out, "Typed  ", &format!("{line}{}", took.unwrap_or_default()))?;
    }
    let folder = findings.folder.as_deref().unwrap_or(&head.id);
    if !folder.is_empty() {
        writeln!(out, "Run    {}", replace_controls(folder))?;
    }
    for file in findings.files.iter().filter(|f| f.path.starts_with("report.")) {
        writeln!(out, "       {}", replace_controls(&file.path))?;
    }
    Ok(())
}

/// What stands before a server: one that was only looked at is that of an application.
fn server_label(server: &ServerRecord) -> &'static str {
    if server.observed { "Database " } else { "Server " }
}

/// Which servers the sessions went to, where there were several.
fn write_dealt(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let Some(text) = results.trials.iter().find_map(TrialFinding::dealt_text) else {
        return Ok(());
    };
    let text = format!("{text}; figures of the server are those of the first");
    write_paragraph(out, "Hosts    ", &replace_controls(&text))
}

fn describe_server(server: &ServerRecord) -> String {
    let what = match (server.sandbox, server.observed) {
        (true, _) => " (sandbox)",
        (false, true) => ", observed",
        (false, false) => "",
    };
    format!("{} {}, {}{what}", server.product, server.version, server.address)
}

fn describe_data(data: &DataSize) -> Option<String> {
    let rows = data.rows.map(|r| format!(", {} rows", format_number(r))).unwrap_or_default();
    Some(format!(
        "{}{rows}; pool {} ({} of the data)",
        format_bytes(data.data_bytes?),
        format_bytes(data.pool_bytes?),
        format_percent(1.0 / data.ratio?)
    ))
}
