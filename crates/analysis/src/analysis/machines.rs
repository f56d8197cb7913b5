//! What each of several machines measured of a load that they shared.

use crate::archive::{MachineRecord, RunRecord};

use super::findings::MachineFinding;
use super::latency::summarize_histogram;

/// All machines of a merged run.
pub(super) fn machine_findings(run: &RunRecord) -> Vec<MachineFinding> {
    let machines = run.merged.iter().flat_map(|merged| &merged.machines);
    let find = |machine: &MachineRecord| {
        let same_load = machines.clone().filter(|other| other.load == machine.load);
        machine_finding(machine, same_load.map(|other| other.began_ns).min().unwrap_or(0))
    };
    machines.clone().map(find).collect()
}

fn machine_finding(machine: &MachineRecord, first_ns: u64) -> MachineFinding {
    let seconds = machine.ended_ns.saturating_sub(machine.began_ns) as f64 / 1e9;
    let response = summarize_histogram(&machine.response.to_histogram());
    let lateness = summarize_histogram(&machine.lateness.to_histogram());
    let per_second = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
    let cpus = machine.host.get("cpus").and_then(|cpus| cpus.parse::<usize>().ok());
    let threads = machine.workers.min(cpus.unwrap_or(usize::MAX)).max(1);
    let cpu_s = machine.cpu_user_ns.saturating_add(machine.cpu_system_ns) as f64 / 1e9;
    MachineFinding {
        name: machine.name.clone(),
        share: machine.share.text.clone(),
        load: machine.load.clone(),
        folder: machine.folder.clone(),
        state: machine.state,
        workers: machine.workers,
        started_s: machine.began_ns.saturating_sub(first_ns) as f64 / 1e9,
        clock_bound_s: machine.clock_bound_ns.map(|ns| ns as f64 / 1e9),
        seconds,
        events: machine.events,
        failed: machine.failed,
        events_per_s: per_second(machine.events as f64),
        p50_s: response.p50_s,
        p99_s: response.p99_s,
        lateness_p99_s: lateness.p99_s.or(lateness.max_s),
        cpu_share: per_second(cpu_s / threads as f64),
    }
}
