//! The table that dbt2 prints after a test, for scripts that read it. Times are seconds.

use std::io::{self, Write};

use crate::analysis::{AuditClass, Findings, RunFindings, TrialFinding};
use crate::archive::RecordedStepKind;

use super::order_entry::{audited, caveat_lines, percent, refuse_other_loads};
use super::{ReportFormat, ReportStyle};

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "dbt2",
    about: "a load of tpcc in the table of dbt2",
    refuse: refuse_other_loads,
    write: write_tables,
};

/// The rows: class and name.
const ROWS: [(&str, &str); 5] = [
    ("delivery", "Delivery"),
    ("new_order", "New Order"),
    ("order_status", "Order Status"),
    ("payment", "Payment"),
    ("stock_level", "Stock Level"),
];
const NEW_ORDER: &str = "new_order";
/// Rates: new orders with those rolled back, and without.
const ENTERED: &str = "tpmC";
const COMMITTED: &str = "NOPM";

const RULER: &str =
    "------------  -----  ---------------------  -----------  ---------------  -----";

fn write_tables(findings: Findings<'_>, _: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let Findings::Run(run) = findings else { return Ok(()) };
    for trial in &run.results.trials {
        write_table(run, trial, out)?;
    }
    Ok(())
}

fn write_table(run: &RunFindings, trial: &TrialFinding, out: &mut dyn Write) -> io::Result<()> {
    let Some(audit) = audited(trial) else { return Ok(()) };
    writeln!(out, "# {}", audit.header)?;
    if run.results.trials.len() > 1 {
        writeln!(out, "# {}", trial.title)?;
    }
    write!(out, "{}", caveat_lines(&run.results))?;
    writeln!(out, "\n                         Response Time (s)")?;
    writeln!(
        out,
        "{:>12}  {:>5}  {:>9} :{:>10}  {:>11}  {:>15}  {:>5}",
        "Transaction", "%", "Average", "90th %", "Total", "Rollbacks", "%"
    )?;
    writeln!(out, "{RULER}")?;
    let count = |name| audit.rate_count(name).unwrap_or(0);
    let rolled_back = count(ENTERED).saturating_sub(count(COMMITTED));
    let of = |name| audit.class(name).map_or(0, AuditClass::events);
    let all: u64 = ROWS.iter().map(|(class, _)| of(class)).sum();
    for (class, label) in ROWS {
        let response = trial.classes.iter().find(|one| one.name == class).map(|c| &c.response);
        let seconds = |of: Option<Option<f64>>| of.flatten().unwrap_or(0.0);
        let mean_s = seconds(response.map(|times| times.mean_s));
        // Of too few events the longest time: no percentile is above it.
        let p90_s = seconds(response.map(|times| times.p90_s.or(times.max_s)));
        let rollbacks = if class == NEW_ORDER { rolled_back } else { 0 };
        writeln!(
            out,
            "{label:>12}  {:>5.2}  {mean_s:>9.3} :{p90_s:>10.3}  {:>11}  {rollbacks:>15}  {:>5.2}",
            percent(of(class), all),
            of(class),
            percent(rollbacks, of(class)),
        )?;
    }
    writeln!(out, "{RULER}\n")?;
    let minutes = trial.seconds / 60.0;
    let per_minute = if minutes > 0.0 { count(COMMITTED) as f64 / minutes } else { 0.0 };
    let failed: u64 = audit.classes.iter().map(|class| class.failed).sum();
    writeln!(out, "{per_minute:.2} new-order transactions per minute (NOTPM)")?;
    writeln!(out, "{minutes:.1} minute duration")?;
    writeln!(out, "{failed} total unknown errors")?;
    writeln!(out, "{:.0} second(s) ramping up", ramp_up_s(run, trial))
}

/// How long the load before this one warmed up.
fn ramp_up_s(run: &RunFindings, trial: &TrialFinding) -> f64 {
    let mut before = run.timeline.phases.iter().filter(|step| step.ended_s <= trial.began_s);
    let last = before.rfind(|step| step.kind == RecordedStepKind::WarmUp);
    last.map_or(0.0, |step| step.ended_s - step.began_s)
}
