//! What an event cost: CPU, context switches, pages, redo, flushes, network.
//!
//! Each is a difference of counters over the load divided by the good events of the load: the "per query" columns
//! of Mark Callaghan's benchmark reports. Counters of the server also count what others did meanwhile.

use crate::archive::{StepRecord, Trial};

use super::counters::rise_of_sum;
use super::findings::CostItem;

/// A cost read from counters.
struct CostSource {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Counters to add.
    counters: &'static [&'static str],
    /// From the counter's unit to ours.
    scale: f64,
}

/// In the order shown.
const SOURCES: &[CostSource] = &[
    CostSource {
        id: "server_cpu_us",
        title: "server CPU",
        unit: "us",
        counters: &["process.cpu_user_s", "process.cpu_system_s"],
        scale: 1e6,
    },
    CostSource {
        id: "server_switches",
        title: "context switches of the server",
        unit: "",
        counters: &["process.voluntary_switches", "process.involuntary_switches"],
        scale: 1.0,
    },
    CostSource {
        id: "context_switches",
        title: "context switches, whole machine",
        unit: "",
        counters: &["cpu.context_switches"],
        scale: 1.0,
    },
    CostSource {
        id: "pages_read",
        title: "pages read",
        unit: "",
        counters: &["Innodb_pages_read"],
        scale: 1.0,
    },
    CostSource {
        id: "pages_written",
        title: "pages written",
        unit: "",
        counters: &["Innodb_pages_written"],
        scale: 1.0,
    },
    CostSource {
        id: "redo_bytes",
        title: "redo written",
        unit: "B",
        counters: &["Innodb_os_log_written"],
        scale: 1.0,
    },
    CostSource {
        id: "fsyncs",
        title: "fsyncs",
        unit: "",
        counters: &["Innodb_data_fsyncs", "Innodb_os_log_fsyncs"],
        scale: 1.0,
    },
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
    push("client_user_us", "our CPU, user", "us", Some(user), ours("getrusage"));
    push("client_system_us", "our CPU, kernel", "us", Some(system), ours("getrusage"));
    for source in SOURCES {
        let amount = step.and_then(|step| {
            let found = rise_of_sum(&step.before, &step.after, source.counters);
            found.map(|sum| sum * source.scale)
        });
        let names = step.map(|step| present_counters(step, source.counters)).unwrap_or_default();
        push(source.id, source.title, source.unit, amount, names);
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
