//! What others did to the machine while a load ran: differences of counters over the load.

use crate::archive::{RunRecord, SampleRecord, StepRecord, Trial};

use super::super::counters::{counter_rise, step_of_trial};
use super::super::findings::{HealthLevel, NoiseItem};
use super::super::load_title::load_title;
use super::{level_beyond, noise_item};

/// The fact that a load went to programs of this machine whose CPU is not known.
const LOADED_HERE: &str = "loads_this_machine";

/// All loads.
pub(super) fn noise_during_loads(run: &RunRecord) -> Vec<NoiseItem> {
    let mut found = Vec::new();
    for trial in &run.trials {
        let Some(step) = step_of_trial(run, trial) else { continue };
        let when = format!("during {}", load_title(run, trial));
        let mut push = |id, title, value: Option<f64>, unit, bounds: [f64; 3], remedy: &str| {
            let Some(value) = value.filter(|v| v.is_finite()) else { return };
            let level = level_beyond(bounds, value);
            let remedy = if level > HealthLevel::Ok { remedy } else { "" };
            found.push(noise_item(id, title, &when, (value, unit), level, remedy));
        };
        let never = f64::INFINITY;
        push(
            "foreign_cpu_during",
            "CPU used by other programs",
            foreign_share(run, step, trial).map(|s| 100.0 * s),
            "%",
            [never, 3.0, 15.0],
            "stop what else runs here, then run again",
        );
        push(
            "steal_during",
            "CPU taken by the hypervisor",
            stolen_share(run, step).map(|s| 100.0 * s),
            "%",
            [never, 0.5, 3.0],
            "neighbors share this machine: measure on dedicated hardware, or at another time",
        );
        push(
            "swap_during",
            "pages swapped",
            swapped_pages(step),
            "pages",
            [never, 0.0, never],
            "memory is short: a smaller pool, or fewer programs",
        );
        push(
            "throttled_during",
            "time the server was kept from running by its CPU limit",
            throttled_share(step).map(|s| 100.0 * s),
            "%",
            [never, 0.0, never],
            "raise the server's CPU limit, or call the result that of the limit",
        );
        push(
            "clock_step",
            "largest step of the wall clock",
            clock_step_s(run, trial).map(|s| 1e3 * s),
            "ms",
            [never, 1.0, never],
            "the clock was set: times of samples and logs don't match, latencies are right",
        );
    }
    found
}

/// CPU that neither the server nor sweat used, as a share of the machine: (busy - server - sweat) / (seconds x CPUs).
/// `None` where the load went to other programs of this machine, such as an application in front of the server.
pub(in super::super) fn foreign_share(
    run: &RunRecord,
    step: &StepRecord,
    trial: &Trial,
) -> Option<f64> {
    if run.meta.facts.contains_key(LOADED_HERE) {
        return None;
    }
    // A server elsewhere uses none of this machine.
    let local = run.meta.server.as_ref().is_some_and(|s| s.local);
    let over = |name: &str| counter_rise(&step.before, &step.after, name);
    let busy = over("cpu.busy_s")?;
    let server =
        if local { over("process.cpu_user_s")? + over("process.cpu_system_s")? } else { 0.0 };
    let ours = (trial.cpu_user_ns + trial.cpu_system_ns) as f64 / 1e9;
    let seconds = step.ended_ns?.saturating_sub(step.began_ns) as f64 / 1e9;
    let cpus = cpu_count(run)?;
    (seconds > 0.0).then(|| ((busy - server - ours) / (seconds * cpus)).max(0.0))
}

/// CPU that the hypervisor took over the step, as a share of the machine.
pub(super) fn stolen_share(run: &RunRecord, step: &StepRecord) -> Option<f64> {
    machine_share(run, step, "cpu.steal_s")
}

/// A counter of CPU seconds over the step, as a share of the machine.
fn machine_share(run: &RunRecord, step: &StepRecord, name: &str) -> Option<f64> {
    let seconds = step.ended_ns?.saturating_sub(step.began_ns) as f64 / 1e9;
    let rise = counter_rise(&step.before, &step.after, name)?;
    let cpus = cpu_count(run)?;
    (seconds > 0.0).then(|| rise / (seconds * cpus))
}

fn cpu_count(run: &RunRecord) -> Option<f64> {
    run.meta.host.get("cpus")?.parse().ok().filter(|c| *c > 0.0)
}

fn swapped_pages(step: &StepRecord) -> Option<f64> {
    let over = |name: &str| counter_rise(&step.before, &step.after, name);
    Some(over("vm.swapped_in_pages")? + over("vm.swapped_out_pages")?)
}

fn throttled_share(step: &StepRecord) -> Option<f64> {
    let seconds = step.ended_ns?.saturating_sub(step.began_ns) as f64 / 1e9;
    let rise = counter_rise(&step.before, &step.after, "cgroup.throttled_s")?;
    (seconds > 0.0).then(|| rise / seconds)
}

/// A time service that slews moves the clock by up to this much per second.
const SLEW: f64 = 0.0005;

/// The largest jump of the wall clock against the monotonic one between two samples of a load, seconds, beyond what
/// slewing explains.
fn clock_step_s(run: &RunRecord, trial: &Trial) -> Option<f64> {
    let within = |s: &&SampleRecord| (trial.began_ns..=trial.ended_ns).contains(&s.began_ns);
    let offsets: Vec<(u64, f64)> = run
        .samples
        .iter()
        .filter(within)
        .filter_map(|s| Some((s.began_ns, *s.numbers.get("clock.wall_offset_s")?)))
        .collect();
    let steps = offsets.windows(2).map(|pair| {
        let seconds = pair[1].0.saturating_sub(pair[0].0) as f64 / 1e9;
        ((pair[1].1 - pair[0].1).abs() - SLEW * seconds).max(0.0)
    });
    steps.reduce(f64::max)
}
