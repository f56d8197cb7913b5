//! The lines that `tpcc_start` of tpcc-mysql prints, for scripts that read them. Times are milliseconds, limits seconds.
//! `sc` are transactions in time, `lt` late ones, `rt` attempts that were undone and begun again, `fl` those that failed.

use std::io::{self, Write};

use crate::analysis::{AuditClass, AuditFinding, ClassTimes, Findings, TrialFinding};

use super::order_entry::{
    TRANSACTIONS, audited, caveat_lines, percent, refuse_other_loads, transactions,
};
use super::{ReportFormat, ReportStyle};

/// The format.
pub(super) const FORMAT: ReportFormat = ReportFormat {
    name: "tpcc-mysql",
    about: "a load of tpcc in the lines of tpcc-mysql's tpcc_start",
    refuse: refuse_other_loads,
    write: write_lines,
};

/// Names of the transactions in the constraint check.
const LABELS: [&str; 5] = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"];
/// Least share of each transaction, percent (TPC-C 5.11, clause 5.2.3); none for new orders.
const LEAST_PERCENT: [Option<f64>; 5] = [None, Some(43.0), Some(4.0), Some(4.0), Some(4.0)];
/// Least share in time, percent (clause 5.2.5.3).
const LEAST_IN_TIME: f64 = 90.0;

fn write_lines(findings: Findings<'_>, _: ReportStyle, out: &mut dyn Write) -> io::Result<()> {
    let Findings::Run(run) = findings else { return Ok(()) };
    for (number, trial) in run.results.trials.iter().enumerate() {
        let Some(audit) = audited(trial) else { continue };
        writeln!(out, "# {}", audit.header)?;
        if run.results.trials.len() > 1 {
            writeln!(out, "# {}", trial.title)?;
        }
        write!(out, "{}", caveat_lines(&run.results))?;
        writeln!(out, "\n{MEASURING}")?;
        for interval in run.timeline.intervals.iter().filter(|one| one.trial == number) {
            if interval.partial {
                continue;
            }
            let at_s = interval.began_s + interval.seconds - trial.began_s;
            write!(out, "{}", interval_line(at_s, &numbered(trial, &interval.class_times)))?;
        }
        write!(out, "{}", stopping_text(trial.workers))?;
        write!(out, "{}", results_text(audit, trial.seconds))?;
    }
    Ok(())
}

/// Before the first interval.
pub const MEASURING: &str = "MEASURING START.\n";

/// After the last interval.
pub fn stopping_text(sessions: usize) -> String {
    format!("\nSTOPPING THREADS{}\n", ".".repeat(sessions.min(60)))
}

/// Times with the place of their transaction instead of that of their class.
fn numbered(trial: &TrialFinding, times: &[ClassTimes]) -> Vec<ClassTimes> {
    let place = |class: usize| {
        let name = &trial.classes.get(class)?.name;
        TRANSACTIONS.iter().position(|known| known == name)
    };
    let known =
        times.iter().filter_map(|one| Some(ClassTimes { class: place(one.class)?, ..*one }));
    known.collect()
}

/// The line of an interval that ended so long after the start of the load. New orders come first, with percentiles.
pub fn interval_line(at_s: f64, times: &[ClassTimes]) -> String {
    let none = |class| ClassTimes { class, events: 0, p95_s: 0.0, p99_s: 0.0, max_s: 0.0 };
    let of = |class| times.iter().find(|one| one.class == class).copied().unwrap_or(none(class));
    let orders = of(0);
    let ms = |seconds: f64| seconds * 1e3;
    let mut line = format!(
        "{:4.0}, trx: {}, 95%: {:.3}, 99%: {:.3}, max_rt: {:.3}",
        at_s,
        orders.events,
        ms(orders.p95_s),
        ms(orders.p99_s),
        ms(orders.max_s)
    );
    for class in 1..TRANSACTIONS.len() {
        let times = of(class);
        line += &format!(", {}|{:.3}", times.events, ms(times.max_s));
    }
    line + "\n"
}

/// All after the last interval, of a load of this length; empty if it has other transactions.
pub fn results_text(audit: &AuditFinding, seconds: f64) -> String {
    let Some(classes) = transactions(audit) else { return String::new() };
    let mut text = "\n<Raw Results>\n".to_owned();
    for (number, class) in classes.iter().enumerate() {
        let AuditClass { in_time, late, restarted, failed, limit_s, .. } = class;
        let mean_ms = class.mean_s.unwrap_or(0.0) * 1e3;
        text += &format!(
            "  [{number}] sc:{in_time} lt:{late}  rt:{restarted}  fl:{failed} avg_rt: {mean_ms:.1} \
             ({limit_s})\n"
        );
    }
    text += &format!(" in {seconds:.0} sec.\n\n<Raw Results2(sum ver.)>\n");
    for (number, class) in classes.iter().enumerate() {
        let AuditClass { in_time, late, restarted, failed, .. } = class;
        text += &format!("  [{number}] sc:{in_time}  lt:{late}  rt:{restarted}  fl:{failed} \n");
    }
    text += "\n<Constraint Check> (all must be [OK])\n [transaction percentage]\n";
    let all: u64 = classes.iter().map(|class| class.events()).sum();
    for ((class, label), least) in classes.iter().zip(LABELS).zip(LEAST_PERCENT) {
        let Some(least) = least else { continue };
        let share = percent(class.events(), all);
        let mark = mark(share >= least);
        text += &format!("{label:>15}: {share:5.2}% (>={least:4.1}%) {mark}\n");
    }
    text += " [response time (at least 90% passed)]\n";
    for (class, label) in classes.iter().zip(LABELS) {
        let share = percent(class.in_time, class.events());
        text += &format!("{label:>15}: {share:.2}%  {}\n", mark(share >= LEAST_IN_TIME));
    }
    let per_minute = if seconds > 0.0 { classes[0].events() as f64 * 60.0 / seconds } else { 0.0 };
    text + &format!("\n<TpmC>\n                 {per_minute:.3} TpmC\n")
}

fn mark(holds: bool) -> &'static str {
    if holds { "[OK]" } else { "[NG] *" }
}
