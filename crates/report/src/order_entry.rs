//! What the formats of TPC-C programs need of a run: loads with the five transactions.

use crate::analysis::{AuditClass, AuditFinding, FindingResults, Findings, TrialFinding};

/// Classes of the five transactions, in the order in which such programs number them.
pub(super) const TRANSACTIONS: [&str; 5] =
    ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// The five transactions of a load; `None` where it has others.
pub(super) fn transactions(audit: &AuditFinding) -> Option<[&AuditClass; 5]> {
    let found: Vec<&AuditClass> =
        TRANSACTIONS.iter().filter_map(|name| audit.class(name)).collect();
    found.try_into().ok()
}

/// Why such a format can't show this; `None` where it can.
pub(super) fn refuse_other_loads(findings: Findings<'_>) -> Option<String> {
    if matches!(findings, Findings::Comparison(_)) {
        return Some("it shows one run, no comparison".to_owned());
    }
    let trials = &findings.results().trials;
    let Some(other) = trials.iter().find(|trial| audited(trial).is_none()) else {
        return trials.is_empty().then(|| "the run has no load".to_owned());
    };
    Some(match other.workload.as_str() {
        "" => "it shows loads of the workload tpcc that have ended".to_owned(),
        name => format!("it shows loads of the workload tpcc that have ended, not {name}"),
    })
}

/// The audit of a load with the five transactions.
pub(super) fn audited(trial: &TrialFinding) -> Option<&AuditFinding> {
    trial.audit.as_ref().filter(|audit| transactions(audit).is_some())
}

/// The ids of the caveats, in lines that no script takes for a result.
pub(super) fn caveat_lines(results: &FindingResults) -> String {
    let ids: Vec<&str> = results.caveats.iter().map(|caveat| caveat.id).collect();
    ids.chunks(5).map(|some| format!("# caveats: {}\n", some.join(", "))).collect()
}

/// A share in percent; 0 of nothing.
pub(super) fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}
