//! How quiet this machine is, as raw numbers: time that a spinning thread loses on each core, a fixed piece of CPU
//! work and a flushed write again and again, pressure, limits, what the machine is. Never knows: which number is bad.
//! Start reading at `measure_noise`. To add one: a number here or in `machine`, its rule in `analysis/noise.rs`.

mod cgroup;
mod cron;
mod gap;
mod machine;
mod sentinel;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::host::{NamedNumbers, parse};
use super::process;
use crate::base::{Clock, Nanos, RealClock, Stop, kernel};

pub(super) use cgroup::read_throttled_time;

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseChecks {
    /// How long to sit still and see what others do.
    pub quiet: Duration,
    /// How long to spin on every core.
    pub gap: Duration,
    /// How often each sentinel is repeated.
    pub repeats: u32,
    /// How long one repeat of a sentinel takes; a single flush may take longer.
    pub repeat: Duration,
}

impl NoiseChecks {
    /// Beside a load: under half a second.
    pub const SHORT: NoiseChecks = NoiseChecks {
        quiet: Duration::from_millis(50),
        gap: Duration::from_millis(200),
        repeats: 10,
        repeat: Duration::from_millis(8),
    };
    /// For `sweat doctor`: about ten seconds.
    pub const FULL: NoiseChecks = NoiseChecks {
        quiet: Duration::from_millis(1500),
        gap: Duration::from_secs(2),
        repeats: 10,
        repeat: Duration::from_millis(300),
    };
}

/// What is being looked at while a [`measure_noise`] proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseStage {
    /// What others do.
    Quiet,
    /// Lost time.
    Gap,
    /// The CPU sentinel.
    Cpu,
    /// The flush sentinel.
    Sync,
}

/// Whom and where to look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoiseContext<'a> {
    /// The server's process, if it runs here.
    pub pid: Option<u32>,
    /// Folder for the flushed writes; none without.
    pub dir: Option<&'a Path>,
}

/// One look; keys are documented in docs/doctor.md. `told` hears what comes next. Ends early, with what there is,
/// when `stop` is set.
pub fn measure_noise(
    checks: &NoiseChecks,
    context: &NoiseContext<'_>,
    clock: RealClock,
    stop: &Stop,
    told: &mut dyn FnMut(NoiseStage),
) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    told(NoiseStage::Quiet);
    all.extend(measure_background(checks, context, clock));
    if !stop.is_set() {
        told(NoiseStage::Gap);
        let server = || context.pid.map(cpu_seconds).unwrap_or_default();
        let (before, stolen) = (server(), steal_seconds());
        all.extend(gap::spin_all_cores(checks.gap, clock));
        all.insert("gap.server_cpu_s".to_owned(), server() - before);
        all.insert("gap.steal_s".to_owned(), steal_seconds() - stolen);
    }
    if !stop.is_set() {
        told(NoiseStage::Cpu);
        all.extend(sentinel::time_cpu_work(checks, clock));
    }
    if let Some(dir) = context.dir.filter(|_| !stop.is_set()) {
        told(NoiseStage::Sync);
        all.extend(sentinel::time_flushed_writes(checks, dir, clock));
        all.extend(machine::read_disk(dir));
    }
    all.extend(machine::read_facts());
    all.extend(cgroup::read_limits("self", ""));
    if let Some(pid) = context.pid {
        all.extend(cgroup::read_limits(&pid.to_string(), "server."));
    }
    all.extend(cron::count_due_jobs(
        clock.origin_unix_ns() / 1_000_000_000 + clock.now().0 / 1_000_000_000,
    ));
    all
}

/// What others do while we sit still: rises over the window of `background.seconds`.
fn measure_background(
    checks: &NoiseChecks,
    context: &NoiseContext<'_>,
    clock: RealClock,
) -> NamedNumbers {
    let edge = || {
        let mut edge = super::host::read_key_numbers(None);
        edge.extend(context.pid.map(process::read_counters).unwrap_or_default());
        edge
    };
    let own = || kernel::cpu_time();
    let (began, before, cpu) = (clock.now(), edge(), own());
    clock.sleep_until(began + Nanos::from(checks.quiet));
    let (after, later) = (edge(), own());
    let mut out = vec![
        ("quiet.seconds".to_owned(), clock.now().since(began).to_seconds()),
        ("quiet.own_cpu_s".to_owned(), ((later.0 + later.1) - (cpu.0 + cpu.1)).to_seconds()),
    ];
    for (name, then) in before {
        let wanted = ["pressure.", "vm.", "cpu.", "process.cpu", "process.write_bytes"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let written = name.starts_with("disk.") && name.ends_with(".sectors_written");
        let Some((_, now)) = after.iter().find(|(n, _)| *n == name) else { continue };
        if wanted || written {
            out.push((format!("quiet.{name}"), now - then));
        }
    }
    out
}

/// CPU seconds of a process so far, as exact as the kernel tells.
fn cpu_seconds(pid: u32) -> f64 {
    let ran = |(name, value): (String, f64)| (name == "process.threads_ran_s").then_some(value);
    process::read_thread_counters(pid).into_iter().find_map(ran).unwrap_or_default()
}

/// Seconds that the hypervisor gave to others, over all CPUs.
fn steal_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let stolen = |(name, value): (String, f64)| (name == "cpu.steal_s").then_some(value);
    parse::parse_stat(&text).into_iter().find_map(stolen).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_look_sees_time_work_and_flushes() {
        let dir = tempfile::tempdir().unwrap();
        let context = NoiseContext { pid: Some(std::process::id()), dir: Some(dir.path()) };
        let checks = NoiseChecks {
            quiet: Duration::from_millis(5),
            gap: Duration::from_millis(20),
            repeats: 3,
            repeat: Duration::from_millis(2),
        };
        let mut stages = Vec::new();
        let seen =
            measure_noise(&checks, &context, RealClock::start_now(), &Stop::new(), &mut |s| {
                stages.push(s)
            });
        assert_eq!(stages, [NoiseStage::Quiet, NoiseStage::Gap, NoiseStage::Cpu, NoiseStage::Sync]);
        assert!(seen["gap.span_ns"] >= 20e6 && seen["gap.lost_ns"] <= seen["gap.span_ns"]);
        assert!(seen["gap.cpus"] >= 1.0);
        // How many repeats there are on a busy machine is its clock's affair; `sentinel` tests it with a simulated one.
        for name in ["sentinel.cpu.0_ns", "sentinel.sync.0_ns"] {
            assert!(seen[name] > 0.0, "{name}");
        }
        assert!(seen["quiet.seconds"] >= 0.005 && seen.contains_key("quiet.cpu.busy_s"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_look_that_is_stopped_ends() {
        let stop = Stop::new();
        stop.set(crate::base::StopReason::Interrupted);
        let checks = NoiseChecks { quiet: Duration::ZERO, ..NoiseChecks::FULL };
        let seen = measure_noise(
            &checks,
            &NoiseContext::default(),
            RealClock::start_now(),
            &stop,
            &mut |_| {},
        );
        assert!(!seen.contains_key("gap.span_ns"));
    }
}
