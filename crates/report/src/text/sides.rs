//! What the two sides of a comparison were measured on: each side, and each run of it that is not like the one before.

use std::io::{self, Write};

use super::{describe_data, describe_server, replace_controls, write_paragraph};
use crate::analysis::number_format::format_number;
use crate::analysis::{ComparedRun, ComparedSide};

/// Settings that a summary lists; JSON and the page have them all.
const LISTED: usize = 8;

pub(super) fn write_sides(sides: &[ComparedSide; 2], out: &mut dyn Write) -> io::Result<()> {
    for (place, side) in sides.iter().enumerate() {
        let label = if place == 0 { "Base   " } else { "Other  " };
        write_paragraph(out, label, &side.name)?;
        for (run, facts) in side_facts(side) {
            writeln!(out, "Run    {}", replace_controls(&run.head.id))?;
            for (name, text) in facts {
                let label = format!("  {name:<8} ");
                write_paragraph(out, &label, &text)?;
            }
        }
    }
    Ok(())
}

/// A name, and what was measured under it.
type RunFact = (&'static str, String);

/// The runs of a side, each with what it does not share with the run before: as a rule they are alike.
pub(in super::super) fn side_facts(side: &ComparedSide) -> Vec<(&ComparedRun, Vec<RunFact>)> {
    let mut before: Vec<RunFact> = Vec::new();
    let mut found = Vec::new();
    for run in &side.runs {
        let facts = run_facts(run);
        let mut told: Vec<RunFact> = facts.clone();
        // Where the run before had something, silence would say that this one has it too.
        for (fact, known) in told.iter_mut().zip(&before) {
            if fact.1.is_empty() && !known.1.is_empty() {
                fact.1 = "none".to_owned();
            }
        }
        told.retain(|fact| !fact.1.is_empty() && !before.contains(fact));
        found.push((run, told));
        before = facts;
    }
    found
}

/// Always the same names in the same order; what is not known is empty.
fn run_facts(run: &ComparedRun) -> Vec<RunFact> {
    let head = &run.head;
    let host: Vec<String> = ["cpu", "cpus", "kernel"]
        .iter()
        .filter_map(|name| Some(format!("{name} {}", head.host.get(*name)?)))
        .collect();
    let chosen = run.settings.iter().filter(|setting| setting.non_default);
    let settings: Vec<String> =
        chosen.clone().take(LISTED).map(|s| format!("{}={}", s.name, s.start)).collect();
    let more = match chosen.count().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let describe_rows = || Some(format!("{} rows", format_number(run.data.rows?)));
    let allowed: Vec<&str> = run.allowed.iter().map(|caveat| caveat.id).collect();
    vec![
        ("server", head.server.as_ref().map(describe_server).unwrap_or_default()),
        ("data", describe_data(&run.data).or_else(describe_rows).unwrap_or_default()),
        ("settings", format!("{}{more}", settings.join(", "))),
        ("plan", describe_plan(&run.plan)),
        ("seed", head.seed.to_string()),
        ("host", host.join(", ")),
        ("allowed", allowed.join(", ")),
    ]
}

/// The plan in one line.
fn describe_plan(plan: &str) -> String {
    let lines =
        plan.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("; ")
}
