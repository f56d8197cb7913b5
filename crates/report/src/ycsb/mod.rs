//! The lines that YCSB prints when it has ended, for scripts that read them. Times are whole microseconds.

use std::io::{self, Write};

use crate::analysis::{ClassFinding, Findings, LatencySummary, RunFindings, TrialFinding};

use super::order_entry::caveat_lines;
use super::{ReportFormat, ReportStyle};

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "ycsb",
    about: "loads in the lines of YCSB: name, measure, number",
    refuse: refuse_no_load,
    write: write_loads,
};

fn refuse_no_load(findings: Findings<'_>) -> Option<String> {
    if matches!(findings, Findings::Comparison(_)) {
        return Some("it shows one run, no comparison".to_owned());
    }
    findings.results().trials.is_empty().then(|| "the run has no load".to_owned())
}

fn write_loads(findings: Findings<'_>, _: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let Findings::Run(run) = findings else { return Ok(()) };
    write!(out, "{}", caveat_lines(&run.results))?;
    for trial in &run.results.trials {
        write_load(run, trial, out)?;
    }
    Ok(())
}

fn write_load(run: &RunFindings, trial: &TrialFinding, out: &mut dyn Write) -> io::Result<()> {
    if run.results.trials.len() > 1 {
        writeln!(out, "# {}", trial.title)?;
    }
    let elapsed_ms = trial.seconds * 1000.0;
    let rate = if trial.seconds > 0.0 { trial.events as f64 / trial.seconds } else { 0.0 };
    writeln!(out, "[OVERALL], RunTime(ms), {elapsed_ms:.0}")?;
    writeln!(out, "[OVERALL], Throughput(ops/sec), {rate}")?;
    for class in &trial.classes {
        let name = class.name.as_str();
        if class.service.events + class.failed.events == 0 {
            continue;
        }
        write_times(name, &class.service, out)?;
        write_returns(name, class, out)?;
        if class.failed.events > 0 {
            write_times(&format!("{name}-FAILED"), &class.failed, out)?;
        }
        write_times(&format!("Intended-{name}"), &class.response, out)?;
        write_returns(&format!("Intended-{name}"), class, out)?;
    }
    Ok(())
}

fn write_times(name: &str, times: &LatencySummary, out: &mut dyn Write) -> io::Result<()> {
    let events = times.events;
    writeln!(out, "[{name}], Operations, {events}")?;
    let us = |seconds: f64| seconds * 1e6;
    writeln!(out, "[{name}], AverageLatency(us), {}", us(times.mean_s.unwrap_or(0.0)))?;
    // Of too few events the longest time: no percentile is above it.
    let most = times.max_s.unwrap_or(0.0);
    for (label, value_s) in [
        ("MinLatency(us)", times.min_s.unwrap_or(0.0)),
        ("MaxLatency(us)", most),
        ("95thPercentileLatency(us)", times.p95_s.unwrap_or(most)),
        ("99thPercentileLatency(us)", times.p99_s.unwrap_or(most)),
    ] {
        writeln!(out, "[{name}], {label}, {:.0}", us(value_s))?;
    }
    Ok(())
}

fn write_returns(name: &str, class: &ClassFinding, out: &mut dyn Write) -> io::Result<()> {
    let (good, failed) = (class.response.events, class.failed.events);
    if good > 0 {
        writeln!(out, "[{name}], Return=OK, {good}")?;
    }
    if failed > 0 {
        writeln!(out, "[{name}], Return=ERROR, {failed}")?;
    }
    Ok(())
}
