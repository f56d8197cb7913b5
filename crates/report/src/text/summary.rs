//! One screen: the answer, the table that it comes from, the caveats by name, where the run lies, and the answer again.
//! Each fact stands once. The full text has what is left out.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::super::PAGE;
use super::table::{TextTable, truncate_text};
use super::{
    TerminalStyle, WIDTH, replace_controls, server_label, wrap_text, write_dealt, write_paragraph,
};
use super::{
    compare, costs, figures, load_audit, loads, machines, replay, scaling, server_cost, state,
    variants_table, waits,
};
use crate::analysis::number_format::{
    format_bytes, format_counter, format_number, format_plural, format_time, number_or_dash,
};
use crate::analysis::{
    CaveatLevel, CheckOutcome, ComparedSide, ComparisonFindings, FindingResults, Findings,
    NOT_RELIABLE, RunFindings, TrialFinding, answer_headline,
};
use crate::archive::RunState;

/// Lines of a screen of 24 that neither the shell nor what is said before a run takes.
const SCREEN: usize = 21;
/// The table gives way to nothing below this many lines.
const LEAST_TABLE: usize = 6;
/// Lines of the answer at the top: as many whole sentences as fit.
const ANSWER: usize = 5;
/// Checks, differences and kinds of errors that are listed.
const LISTED: usize = 3;
/// Costs of an event that fit in a line, the most telling first.
const COSTS: [&str; 6] =
    ["server_cpu_us", "client_cpu_us", "pages_read", "redo_bytes", "fsyncs", "pages_written"];

/// What an event costs less of is not worth a word.
const LEAST_COST: f64 = 0.001;

/// One screen.
pub(super) fn write_summary(
    findings: Findings<'_>,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (mut head, mut table, mut foot) = (Vec::new(), Vec::new(), Vec::new());
    write_head(findings, paint, &mut head)?;
    match findings {
        Findings::Run(run) => write_run_table(run, &mut table)?,
        Findings::Comparison(found) => write_comparison_table(found, &mut table)?,
    }
    write_foot(findings, paint, &mut foot)?;
    let count_lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    let room = SCREEN.saturating_sub(count_lines(&head) + count_lines(&foot) + 1);
    let results = findings.results();
    let is_list = !results.cost_changes.is_empty()
        || matches!(&results.trials[..], [only] if !only.costs().is_empty());
    // Of things that were measured one by one each line is an answer.
    let room = if is_list { usize::MAX } else { room.max(LEAST_TABLE) };
    out.write_all(&head)?;
    write_first_lines(&table, room, out)?;
    out.write_all(&foot)
}

/// Three lines: the answer, the caveats, the folder; and what had to hold, where that was asked.
pub(super) fn write_short(
    findings: Findings<'_>,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let results = findings.results();
    let void = results.void_caveat().map(|void| format!("{} [{}]: ", results.void_word(), void.id));
    let answer = answer_headline(results);
    let answer = match void {
        Some(void) => format!("{void}{}", answer.trim_start_matches(NOT_RELIABLE)),
        None => answer,
    };
    writeln!(out, "{}", paint.bold(&cut_line(&answer)))?;
    write_line(&format!("Caveats  {}", caveat_names(results)), out)?;
    match findings {
        Findings::Run(run) => {
            write_checks(run, out)?;
            write_folder(run, out)
        }
        Findings::Comparison(found) => {
            let names = found.sides.each_ref().map(|side| side.name.as_str());
            write_line(&format!("Runs     {}", names.join(" and ")), out)
        }
    }
}

/// The beginning of a text that has more lines than there is room for.
fn write_first_lines(text: &[u8], room: usize, out: &mut dyn Write) -> io::Result<()> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let shown = if lines.len() <= room { lines.len() } else { room - 1 };
    lines[..shown].iter().try_for_each(|line| writeln!(out, "{line}"))?;
    match lines.len() - shown {
        0 => Ok(()),
        more => writeln!(out, ".. {more} more lines with -v"),
    }
}

/// As much of a text as a line holds.
fn cut_line(text: &str) -> String {
    truncate_text(&replace_controls(text), WIDTH)
}

fn write_line(text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", cut_line(text))
}

/// Why the run is void, how it ended, the answer, what had to hold.
fn write_head(findings: Findings<'_>, paint: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let results = findings.results();
    let run = match findings {
        Findings::Run(run) => Some(run),
        Findings::Comparison(_) => None,
    };
    if let Some(question) = run.and_then(|run| run.head.question.as_ref()) {
        write_line(&format!("Question: {question}"), out)?;
    }
    if let Some(void) = results.void_caveat() {
        let text = format!("{} [{}]: {}", results.void_word(), void.id, void.evidence);
        writeln!(out, "{}", paint.colour_level(CaveatLevel::Void, &cut_line(&text)))?;
    }
    load_audit::write_headers(results, out)?;
    let cut = match run.map(|run| run.head.state) {
        Some(RunState::Interrupted) => "Interrupted: what follows was measured until then.",
        Some(RunState::Running) => "Cut off: what follows was measured until then.",
        _ => "",
    };
    if !cut.is_empty() {
        writeln!(out, "{}", paint.bold(cut))?;
    }
    let dimmed = results.void_caveat().is_some();
    for line in answer_lines(results) {
        writeln!(out, "{}", if dimmed { paint.dim(&line) } else { paint.bold(&line) })?;
    }
    run.map_or(Ok(()), |run| write_checks(run, out))
}

/// Whole sentences, the first one always.
fn answer_lines(results: &FindingResults) -> Vec<String> {
    let mut text = String::new();
    let mut lines = Vec::new();
    for sentence in &results.answer {
        text = format!("{text} {sentence}");
        let next = wrap_text(&text, 0, 0);
        if !lines.is_empty() && next.len() > ANSWER {
            break;
        }
        lines = next;
    }
    lines
}

/// What did not hold by name, what did as a number.
fn write_checks(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let (held, not): (Vec<_>, Vec<_>) =
        findings.checks.iter().partition(|check| check.verdict == CheckOutcome::Pass);
    for check in not.iter().take(LISTED) {
        write_line(&format!("{} {}", check.verdict.as_str(), state::describe_check(check)), out)?;
    }
    match findings.checks.len() {
        0 => Ok(()),
        all => writeln!(out, "{} of {all} checks passed", held.len()),
    }
}

/// The table that the answer comes from.
fn write_run_table(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let results = &findings.results;
    waits::write_waits_table(findings, out)?;
    if !findings.waits.is_empty() && findings.wait_groups.is_empty() {
        writeln!(out)?;
    }
    compare::write_levels(results, out)?;
    write_unintended(results, out)?;
    costs::write_changes(&results.cost_changes, out)?;
    replay::write_replay_table(findings, out)?;
    if let Some(found) = &findings.scaling {
        scaling::write_points(found, out)?;
    }
    if let Some(found) = &findings.capacity {
        scaling::write_steps(found, out)?;
    }
    if findings.variants.iter().any(|w| w.warm_s.is_some() || w.times_faster.value.is_some()) {
        return variants_table(findings).write(WIDTH, out);
    }
    match &results.trials[..] {
        [only] if findings.replays.is_empty() => {
            machines::write_few_machines(&findings.machines, out)?;
            server_cost::write_classes_alone(findings, out)?;
            write_load(results, only, out)
        }
        _ if findings.scaling.is_some() || findings.capacity.is_some() => Ok(()),
        _ if !results.cost_changes.is_empty() => Ok(()),
        [] => super::write_crashes(findings, out),
        _ if results.comparisons.is_empty() && findings.replays.is_empty() => {
            loads::write_loads(results, out)
        }
        _ => Ok(()),
    }
}

fn write_comparison_table(findings: &ComparisonFindings, out: &mut dyn Write) -> io::Result<()> {
    let results = &findings.results;
    compare::write_levels(results, out)?;
    write_unintended(results, out)?;
    costs::write_changes(&results.cost_changes, out)?;
    replay::write_changes_table(&results.replay_changes, out)
}

/// What differs although nobody asked for it.
fn write_unintended(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let found: Vec<_> = results.differences.iter().filter(|d| !d.intended).collect();
    for d in found.iter().take(LISTED) {
        write_line(&format!("Differs  {}", compare::describe_difference(d)), out)?;
    }
    match found.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more => writeln!(out, "Differs  and {more} more"),
    }
}

/// One load: rates, times, what an event cost.
fn write_load(
    results: &FindingResults,
    trial: &TrialFinding,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(found) = &trial.figures {
        figures::write_figures(found, false, out)?;
        if !found.costs.is_empty() {
            // Events are rounds of what stands above.
            return Ok(());
        }
        writeln!(out)?;
    }
    let names: Vec<_> = trial.counts.iter().map(|count| count.name.replace('_', " ")).collect();
    let names = names.iter().map(String::as_str);
    let mut rates =
        TextTable::new(&["per second", "events"].into_iter().chain(names).collect::<Vec<_>>());
    let events = number_or_dash(trial.events_per_s.value);
    let counts = trial.counts.iter().map(|count| format_counter(&count.name, count.per_s));
    rates.add_row(["".to_owned(), events].into_iter().chain(counts).collect());
    rates.write(WIDTH, out)?;
    let r = &trial.response;
    let columns = [
        ("mean", r.mean_s),
        ("min", r.min_s),
        ("p50", r.p50_s),
        ("p95", r.p95_s),
        ("p99", r.p99_s),
        ("p99.9", r.p999_s),
        ("max", r.max_s),
    ];
    let names: Vec<&str> = std::iter::once("response ms").chain(columns.map(|c| c.0)).collect();
    let mut times = TextTable::new(&names);
    let shown = |value: Option<f64>| {
        let sign = if value.is_some_and(|v| trial.is_lower_bound(v)) { ">" } else { "" };
        format!("{sign}{}", number_or_dash(value.map(|v| v * 1e3)))
    };
    times.add_row(std::iter::once(String::new()).chain(columns.map(|c| shown(c.1))).collect());
    times.write(WIDTH, out)?;
    if let Some(found) = &trial.audit {
        load_audit::write_audit_lines(found, out)?;
    }
    write_costs(trial, out)?;
    if let Some(text) = state::describe_quiet(trial) {
        write_line(&format!("stalls       {text}"), out)?;
    }
    loads::write_stages(results, out)?;
    loads::write_classes(results, out)?;
    loads::write_steps(results, out)
}

/// What an event cost, in a line.
fn write_costs(trial: &TrialFinding, out: &mut dyn Write) -> io::Result<()> {
    let cost = |id: &str| trial.cost.iter().find(|c| c.id == id).and_then(|c| c.per_event);
    let describe = |id: &str| {
        let own = cost("client_user_us").zip(cost("client_system_us")).map(|(u, s)| u + s);
        let value =
            if id == "client_cpu_us" { own } else { cost(id) }.filter(|v| *v >= LEAST_COST)?;
        Some(match id {
            "server_cpu_us" => format!("server CPU {}", format_time(value / 1e6)),
            "client_cpu_us" => format!("sweat CPU {}", format_time(value / 1e6)),
            "pages_read" => format!("{} pages read", format_number(value)),
            "pages_written" => format!("{} pages written", format_number(value)),
            "redo_bytes" => format!("redo {}", format_bytes(value)),
            _ => format!("{} fsyncs", format_number(value)),
        })
    };
    let mut line = String::new();
    for words in COSTS.iter().filter_map(|id| describe(id)) {
        let next = match line.is_empty() {
            true => format!("per event    {words}"),
            false => format!("{line}, {words}"),
        };
        if next.chars().count() <= WIDTH {
            line = next;
        }
    }
    if line.is_empty() { Ok(()) } else { writeln!(out, "{line}") }
}

/// Errors, caveats by name, server, folder, and the answer again.
fn write_foot(findings: Findings<'_>, paint: TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let results = findings.results();
    writeln!(out)?;
    let errors = loads::total_errors(results);
    for error in errors.iter().take(LISTED) {
        let times = format_plural(error.times, "time", "times");
        let what = error.first;
        let text = format!("Error    {times} {} {}: {}", what.kind, what.code, what.first_text);
        write_line(&text, out)?;
    }
    match errors.len().saturating_sub(LISTED) {
        0 => {}
        more => writeln!(out, "Error    and {more} more kinds")?,
    }
    loads::write_outages(results, out)?;
    write_caveat_names(results, out)?;
    match findings {
        Findings::Run(run) => {
            write_server(run, out)?;
            write_folder(run, out)?;
        }
        Findings::Comparison(found) => {
            for (label, side) in ["Base", "Other"].iter().zip(&found.sides) {
                write_side(label, side, out)?;
            }
        }
    }
    write_headline(results, paint, out)
}

/// The server of a run, with the sizes of data and pool.
fn write_server(run: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let Some(server) = &run.head.server else { return Ok(()) };
    let data = [("data", run.data.data_bytes), ("pool", run.data.pool_bytes)];
    let sizes = data.map(|(name, bytes)| {
        bytes.map(|b| format!(", {name} {}", format_bytes(b))).unwrap_or_default()
    });
    // Where a throw-away server listens is of no use once it is gone.
    let place = match server.sandbox {
        true => " (sandbox)".to_owned(),
        false => format!(", {}", server.address),
    };
    let observed = if server.observed { ", observed" } else { "" };
    let name = format!("{} {}", server.product, server.version_number());
    let label = server_label(server);
    write_line(&format!("{label:<9}{name}{observed}{place}{}", sizes.concat()), out)?;
    write_dealt(&run.results, out)
}

/// One side of a comparison: its runs, their server, seeds, and the caveats that were allowed.
fn write_side(label: &str, side: &ComparedSide, out: &mut dyn Write) -> io::Result<()> {
    let mut text = format!(
        "{label:<8} {}: {}",
        side.name,
        format_plural(side.runs.len() as u64, "run", "runs")
    );
    if let Some(server) = side.runs.first().and_then(|run| run.head.server.as_ref()) {
        text += &format!(", {} {}", server.product, server.version_number());
    }
    let seeds: Vec<String> = side.runs.iter().map(|run| run.head.seed.to_string()).collect();
    text += &format!(", seed {}", seeds.join(", "));
    let allowed: BTreeSet<&str> =
        side.runs.iter().flat_map(|run| run.allowed.iter().map(|c| c.id)).collect();
    if !allowed.is_empty() {
        text += &format!(", allowed {}", allowed.into_iter().collect::<Vec<_>>().join(", "));
    }
    write_line(&text, out)
}

/// The answer again, where a terminal's reader looks.
pub(super) fn write_headline(
    results: &FindingResults,
    paint: TerminalStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    let lines = wrap_text(&answer_headline(results), 0, 0);
    let last = lines.len().min(2) - 1;
    for (place, line) in lines.iter().take(2).enumerate() {
        let is_cut = place == last && lines.len() > 2;
        let dots = if is_cut { " .." } else { "" };
        let kept: String = line.chars().take(WIDTH - dots.len()).collect();
        writeln!(out, "{}", paint.bold(&format!("{}{dots}", kept.trim_end())))?;
    }
    Ok(())
}

fn write_folder(findings: &RunFindings, out: &mut dyn Write) -> io::Result<()> {
    let folder = findings.folder.as_deref().unwrap_or(&findings.head.id);
    if folder.is_empty() {
        return Ok(());
    }
    let has_page = findings.files.iter().any(|file| file.path == PAGE);
    let page = if has_page { format!(", page {PAGE}") } else { String::new() };
    // A path is copied as a whole, however long.
    writeln!(out, "Run      {}{page}", replace_controls(folder))
}

/// By level, the gravest first.
fn caveat_names(results: &FindingResults) -> String {
    let of_level = |level: CaveatLevel| {
        let ids: Vec<&str> =
            results.caveats.iter().filter(|c| c.level == level).map(|c| c.id).collect();
        (!ids.is_empty()).then(|| format!("{} {}", level.as_str(), ids.join(", ")))
    };
    let levels = [CaveatLevel::Void, CaveatLevel::Warn, CaveatLevel::Note].map(of_level);
    let mut parts: Vec<String> = levels.into_iter().flatten().collect();
    let allowed: Vec<&str> = results.allowed.iter().map(|c| c.id).collect();
    if !allowed.is_empty() {
        parts.push(format!("allowed {}", allowed.join(", ")));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}

fn write_caveat_names(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let mut text = caveat_names(results);
    if let Some(first) = results.caveats.first() {
        text += &format!(" (`sweat explain {}`, or -v)", first.id);
    }
    write_paragraph(out, "Caveats  ", &text)
}
