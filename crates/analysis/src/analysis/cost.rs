//! What an event cost: CPU, context switches, pages, redo, flushes, network.
//!
//! Each is a difference of counters over the load divided by the good events of the load: the "per query" columns
//! of Mark Callaghan's benchmark reports. Counters of the server also count what others did meanwhile.

use crate::archive::{StepRecord, Trial};

use super::counters::rise_of_sum;
use super::findings::CostItem;

/// A cost read from counters: id, title, unit, factor from the counter's unit to ours, counters to add.
type CostSource = (&'static str, &'static str, &'static str, f64, &'static [&'static str]);

/// In the order shown.
const SOURCES: &[CostSource] = &[
    ("server_cpu_us", "server CPU", "µs", 1e6, &["process.cpu_user_s", "process.cpu_system_s"]),
    (
        "server_switches",
        "context switches of the server",
        "",
        1.0,
        &["process.voluntary_switches", "process.involuntary_switches"],
    ),
    ("context_switches", "context switches, whole machine", "", 1.0, &["cpu.context_switches"]),
    ("pages_read", "pages read", "", 1.0, &["Innodb_pages_read"]),
    ("pages_written", "pages written", "", 1.0, &["Innodb_pages_written"]),
    ("redo_bytes", "redo written", "B", 1.0, &["Innodb_os_log_written"]),
    ("fsyncs", "fsyncs", "", 1.0, &["Innodb_data_fsyncs", "Innodb_os_log_fsyncs"]),
];

/// All costs of a load, per good event.
pub(super) fn per_event(trial: &Trial, step: Option<&StepRecord>, events: u64) -> Vec<CostItem> {
    let divide = |amount: Option<f64>| {
        amount.filter(|_| events > 0).map(|a| a / events as f64).filter(|v| v.is_finite())
    };
    let mut items = Vec::new();
    let mut push = |id, title, unit, amount: Option<f64>, source: String| {
        items.push(CostItem { id, title, unit, per_event: divide(amount), source });
    };
    let ours = |name: &str| name.to_owned();
    let (user, system) = (trial.cpu_user_ns as f64 / 1e3, trial.cpu_system_ns as f64 / 1e3);
    push("client_user_us", "our CPU, user", "µs", Some(user), ours("getrusage"));
    push("client_system_us", "our CPU, kernel", "µs", Some(system), ours("getrusage"));
    for &(id, title, unit, scale, counters) in SOURCES {
        let sum = step.and_then(|step| rise_of_sum(&step.before, &step.after, counters));
        let names = step.map(|step| present_counters(step, counters)).unwrap_or_default();
        push(id, title, unit, sum.map(|sum| sum * scale), names);
    }
    let tally = &trial.tally;
    let bytes = (tally.count("bytes_received") as f64, tally.count("bytes_sent") as f64);
    push("rows", "rows received", "", Some(tally.count("rows") as f64), ours("our own count"));
    push("received_bytes", "network received", "B", Some(bytes.0), ours("our own count"));
    push("sent_bytes", "network sent", "B", Some(bytes.1), ours("our own count"));
    items
}

/// Those of the counters that this server and machine have.
fn present_counters(step: &StepRecord, counters: &[&str]) -> String {
    let seen = |name: &&&str| step.before.contains_key(**name) && step.after.contains_key(**name);
    counters.iter().filter(seen).copied().collect::<Vec<_>>().join(" + ")
}
