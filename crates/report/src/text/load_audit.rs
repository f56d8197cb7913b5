//! What a workload's own rules say of a load.

use std::io::{self, Write};

use super::table::TextTable;
use super::{WIDTH, replace_controls, write_paragraph};
use crate::analysis::number_format::{
    format_count, format_number, format_percent, format_plural, number_or_dash,
};
use crate::analysis::{AuditFinding, AuditRule, AuditVerdict, FindingResults};

/// Rules that are listed by name in the summary.
const LISTED: usize = 3;

/// What every report of such a load says first.
pub(super) fn write_headers(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    let mut headers: Vec<&str> =
        results.trials.iter().filter_map(|t| t.audit.as_ref()).map(|a| &*a.header).collect();
    headers.dedup();
    headers.iter().try_for_each(|header| write_paragraph(out, "", header))
}

/// The rates, and how many rules hold.
pub(super) fn write_audit_lines(found: &AuditFinding, out: &mut dyn Write) -> io::Result<()> {
    let rates = found.rates.iter().map(|rate| {
        let efficiency = rate
            .efficiency
            .map(|share| format!("; efficiency {}", format_percent(share)))
            .unwrap_or_default();
        let name = replace_controls(&rate.name);
        format!("{name} {} ({}{efficiency})", format_count(rate.value as u64), rate.help)
    });
    for (label, rate) in ["rates        ", "             "].iter().zip(rates) {
        write_paragraph(out, label, &rate)?;
    }
    let all = found.rules.len() as u64;
    let held = found.count(AuditVerdict::Holds);
    let mut text = format!("{held} of {} hold", format_plural(all, "rule", "rules"));
    let broken: Vec<String> =
        found.rules.iter().filter(|r| r.verdict == AuditVerdict::Broken).map(name_rule).collect();
    if !broken.is_empty() {
        let shown = broken[..broken.len().min(LISTED)].join(", ");
        text += &format!(", {} NOT ({shown})", broken.len());
    }
    let few = found.count(AuditVerdict::TooFew);
    if few > 0 {
        text += &format!(", {few} with too few samples");
    }
    write_paragraph(out, "audit        ", &text)
}

fn name_rule(rule: &AuditRule) -> String {
    let value = number_or_dash(rule.value);
    format!("{} {value} {}", replace_controls(&rule.label), rule.unit).trim_end().to_owned()
}

/// All rules.
pub(super) fn write_audits(results: &FindingResults, out: &mut dyn Write) -> io::Result<()> {
    for trial in &results.trials {
        let Some(found) = &trial.audit else { continue };
        writeln!(out)?;
        if results.trials.len() > 1 {
            writeln!(out, "{}", replace_controls(&trial.title))?;
        }
        write_audit_lines(found, out)?;
        let head = ["audit", "value", "wanted", "samples", "needed", ""];
        let mut table = TextTable::new(&head);
        for rule in &found.rules {
            table.add_row(rule_cells(rule));
        }
        table.write(WIDTH, out)?;
    }
    Ok(())
}

fn rule_cells(rule: &AuditRule) -> Vec<String> {
    let wanted = match (rule.low, rule.high) {
        (Some(low), Some(high)) => format!("{} to {}", format_number(low), format_number(high)),
        (Some(low), None) => format!("from {}", format_number(low)),
        (None, Some(high)) => format!("to {}", format_number(high)),
        (None, None) => String::new(),
    };
    let label = match rule.unit.as_str() {
        "" => rule.label.clone(),
        unit => format!("{}, {unit}", rule.label),
    };
    let verdict = match rule.verdict {
        AuditVerdict::Holds => "OK",
        AuditVerdict::Broken => "NOT",
        AuditVerdict::TooFew => "too few",
    };
    vec![
        format!("{} {}", rule.clause, replace_controls(&label)),
        number_or_dash(rule.value),
        wanted,
        format_count(rule.samples),
        format_count(rule.samples_needed),
        verdict.to_owned(),
    ]
}
