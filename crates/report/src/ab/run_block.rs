//! A run's loads of URLs in the block of ab.

use std::io::{self, Write};

use crate::analysis::{Findings, RunExchanges, TrialFinding};

use super::super::order_entry::caveat_lines;
use super::super::{ReportFormat, ReportStyle};
use super::{AbRequest, block_text};

/// The format.
pub(crate) const FORMAT: ReportFormat = ReportFormat {
    name: "ab",
    about: "a load of URLs in the block of ab",
    refuse: refuse_other_loads,
    write: write_blocks,
};

/// What ab knows and a run doesn't, in lines that no script takes for a result.
const DEVIATIONS: &str = "\
# Total transferred: bodies without their heads. Times are of good requests,
# with a rate from when they were due; Processing holds TLS.
";

fn refuse_other_loads(findings: Findings<'_>) -> Option<String> {
    if matches!(findings, Findings::Comparison(_)) {
        return Some("it shows one run, no comparison".to_owned());
    }
    let trials = &findings.results().trials;
    let Some(other) = trials.iter().find(|trial| trial.exchanges.is_none()) else {
        return trials.is_empty().then(|| "the run has no load".to_owned());
    };
    Some(format!("it shows loads of URLs, of which each event is one, not {}", other.workload))
}

fn write_blocks(findings: Findings<'_>, _: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let Findings::Run(run) = findings else { return Ok(()) };
    write!(out, "{}{DEVIATIONS}", caveat_lines(&run.results))?;
    for trial in &run.results.trials {
        let Some(seen) = &trial.exchanges else { continue };
        if run.results.trials.len() > 1 {
            writeln!(out, "# {}", trial.title)?;
        }
        write!(out, "\n{}", block_text(&request_of(trial, seen), &seen.totals, &seen.table))?;
    }
    Ok(())
}

fn request_of(trial: &TrialFinding, seen: &RunExchanges) -> AbRequest {
    let others = seen.urls.max(trial.classes.len()).saturating_sub(1);
    let path =
        if others > 0 { format!("{} and {others} more", seen.path) } else { seen.path.clone() };
    let totals = &seen.totals;
    let whole = others == 0 && totals.replied > 0 && totals.body_bytes % totals.replied == 0;
    AbRequest {
        host: seen.host.clone(),
        port: seen.port,
        path,
        document_bytes: whole.then(|| totals.body_bytes / totals.replied),
        concurrency: trial.workers,
        mean_ms: Some(seen.table.rows[3].mean_ms),
        keeps_alive: seen.keeps_alive,
        ..AbRequest::default()
    }
}
