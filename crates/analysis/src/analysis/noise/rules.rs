//! The numbers of a look and what they mean: value, bounds, remedy, one row each. Bounds are `>`: a value at its bound
//! is still good.

use super::super::statistics::robust::median;
use super::NoiseReading;

/// A number and its bounds.
pub(super) struct NoiseRule {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// From the raw numbers; `None` where they are missing.
    pub(super) value: fn(&NoiseReading<'_>) -> Option<f64>,
    /// Above these the level is note, warn, void.
    pub(super) bounds: [f64; 3],
    /// What it means and what to do, where it is not well.
    pub(super) remedy: &'static str,
}

/// No bound.
const NEVER: f64 = f64::INFINITY;

/// In the order shown.
pub(super) const RULES: &[NoiseRule] = &[
    NoiseRule {
        id: "lost_time",
        title: "time lost on the cores",
        unit: "%",
        value: lost_time,
        bounds: [NEVER, 0.5, 5.0],
        remedy: "other programs run on these cores: stop them, or measure elsewhere",
    },
    NoiseRule {
        id: "longest_gap",
        title: "longest gap on a core",
        unit: "ms",
        value: |l| l.get("gap.longest_ns").filter(|_| !l.is_server_busy()).map(|ns| ns / 1e6),
        bounds: [10.0, NEVER, NEVER],
        remedy: "latencies of this length may be the machine's, not the server's",
    },
    NoiseRule {
        id: "foreign_cpu",
        title: "CPU used by other programs",
        unit: "%",
        value: foreign_cpu,
        bounds: [NEVER, 3.0, 15.0],
        remedy: "stop what else runs here",
    },
    NoiseRule {
        id: "steal",
        title: "CPU taken by the hypervisor",
        unit: "%",
        value: |l| Some(100.0 * l.get("gap.steal_s")? / (l.get("gap.span_ns")? / 1e9)),
        bounds: [NEVER, 0.5, 3.0],
        remedy: "neighbors share this machine: measure on dedicated hardware, or later",
    },
    NoiseRule {
        id: "pressure_cpu",
        title: "waiting for a CPU (PSI some)",
        unit: "%",
        value: |l| l.pressure_percent("cpu"),
        bounds: [NEVER, 5.0, NEVER],
        remedy: "something waits for a core before the measurement starts",
    },
    NoiseRule {
        id: "pressure_io",
        title: "waiting for a disk (PSI some)",
        unit: "%",
        value: |l| l.pressure_percent("io"),
        bounds: [NEVER, 5.0, NEVER],
        remedy: "something reads or writes before the measurement starts; a server flushes after \
                 making data: let it settle",
    },
    NoiseRule {
        id: "pressure_memory",
        title: "waiting for memory (PSI some)",
        unit: "%",
        value: |l| l.pressure_percent("memory"),
        bounds: [NEVER, 5.0, NEVER],
        remedy: "memory is short: a smaller pool, or fewer programs",
    },
    NoiseRule {
        id: "swap",
        title: "pages swapped",
        unit: "pages",
        value: |l| Some(l.get("quiet.vm.swapped_in_pages")? + l.get("quiet.vm.swapped_out_pages")?),
        bounds: [NEVER, 0.0, NEVER],
        remedy: "memory is short: a smaller pool, or fewer programs",
    },
    NoiseRule {
        id: "disk_writers",
        title: "written to disks by other programs",
        unit: "MiB/s",
        value: disk_writers,
        bounds: [NEVER, 1.0, NEVER],
        remedy: "another program writes to the disks: wait, or find it (iotop)",
    },
    NoiseRule {
        id: "cpu_repeats",
        title: "spread of a fixed piece of CPU work (CV)",
        unit: "%",
        value: |l| l.sentinel_spread("cpu").map(|cv| 100.0 * cv),
        bounds: [NEVER, 2.0, 10.0],
        remedy: "the same work takes different times: changing clocks, neighbors, or credits that \
                 run out",
    },
    NoiseRule {
        id: "sync_repeats",
        title: "spread of 4 KiB flushes (CV)",
        unit: "%",
        value: |l| l.sentinel_spread("sync").map(|cv| 100.0 * cv),
        bounds: [NEVER, 10.0, NEVER],
        remedy: "the disk's times vary this much: commits will, too",
    },
    NoiseRule {
        id: "sync_time",
        title: "time of a 4 KiB flush (median)",
        unit: "µs",
        value: |l| median(&l.sentinel_repeats("sync")).map(|ns| ns / 1e3),
        bounds: [NEVER, NEVER, NEVER],
        remedy: "",
    },
    NoiseRule {
        id: "sync_too_fast",
        title: "flushes faster than any disk",
        unit: "",
        value: |l| median(&l.sentinel_repeats("sync")).map(|ns| f64::from(ns < SYNC_LEAST_NS)),
        bounds: [0.0, NEVER, NEVER],
        remedy: "a flush under 15 µs reaches no medium: memory, a cache, or a disk that lies; \
                 commits will cost more elsewhere",
    },
    NoiseRule {
        id: "ceiling",
        title: "events without work that sweat can do",
        unit: "/s",
        value: |l| l.get("ours.ceiling_per_s"),
        bounds: [NEVER, NEVER, NEVER],
        remedy: "",
    },
    NoiseRule {
        id: "lateness",
        title: "sweat's own lateness (p99)",
        unit: "µs",
        value: |l| l.get("ours.late_p99_ns").map(|ns| ns / 1e3),
        bounds: [100.0, 1000.0, NEVER],
        remedy: "events start later than due: latencies below that mean little; --precise, or a \
                 quieter machine",
    },
    NoiseRule {
        id: "saving_governors",
        title: "cores whose governor saves power",
        unit: "cores",
        value: |l| l.get("cpu.saving_governors"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "cpupower frequency-set -g performance",
    },
    NoiseRule {
        id: "turbo",
        title: "turbo",
        unit: "",
        value: |l| l.get("cpu.turbo"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "the clock depends on heat and on how many cores work: turn it off for comparisons",
    },
    NoiseRule {
        id: "virtual",
        title: "virtual machine",
        unit: "",
        value: |l| l.get("cpu.hypervisor"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "neighbors and clocks are not visible: repeat, in alternating order",
    },
    NoiseRule {
        id: "burst_class",
        title: "machine class with CPU credits",
        unit: "",
        value: |l| l.get("cpu.burst_class"),
        bounds: [NEVER, 0.0, NEVER],
        remedy: "it slows down once its credits are spent: use another class",
    },
    NoiseRule {
        id: "cpu_limited",
        title: "sweat's cores are limited (cgroup)",
        unit: "",
        value: |l| cores_left(l, "cgroup.cpus").map(|share| f64::from(share < 100.0)),
        bounds: [0.0, NEVER, NEVER],
        remedy: "the load has fewer cores than the machine shows",
    },
    NoiseRule {
        id: "server_cpu_limited",
        title: "the server's cores are limited (cgroup)",
        unit: "",
        value: |l| cores_left(l, "server.cgroup.cpus").map(|share| f64::from(share < 100.0)),
        bounds: [0.0, NEVER, NEVER],
        remedy: "the server has fewer cores than the machine shows: it will be throttled",
    },
    NoiseRule {
        id: "huge_always",
        title: "transparent huge pages for all",
        unit: "",
        value: |l| l.get("memory.huge_always"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "compaction may stall the server: set it to madvise",
    },
    NoiseRule {
        id: "numa",
        title: "fullest memory node by the emptiest",
        unit: "x",
        value: |l| {
            let least = l.get("memory.node_least_free_bytes")?.max(1.0);
            Some(l.get("memory.node_most_free_bytes")? / least)
        },
        bounds: [NEVER, 4.0, NEVER],
        remedy: "one node is nearly full, so memory comes from the other: numactl --interleave=all",
    },
    NoiseRule {
        id: "raid",
        title: "arrays being checked or rebuilt",
        unit: "arrays",
        value: |l| l.get("raid.rebuilding"),
        bounds: [NEVER, 0.0, NEVER],
        remedy: "wait until it is done (/proc/mdstat)",
    },
    NoiseRule {
        id: "disk_free",
        title: "disk in use",
        unit: "%",
        value: |l| Some(100.0 * (1.0 - l.get("disk.free_share")?)),
        bounds: [NEVER, 90.0, NEVER],
        remedy: "flash slows down when it is nearly full: make room",
    },
    NoiseRule {
        id: "rotational",
        title: "rotating disk",
        unit: "",
        value: |l| l.get("disk.rotational"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "it can do a few hundred accesses per second; virtual disks often only claim to \
                 rotate",
    },
    NoiseRule {
        id: "cron",
        title: "cron jobs that start within 15 min",
        unit: "jobs",
        value: |l| l.get("cron.due"),
        bounds: [0.0, NEVER, NEVER],
        remedy: "they may fall into the run; timers of systemd are not seen: systemctl list-timers",
    },
];

/// A flush that takes less than this has not reached a medium.
const SYNC_LEAST_NS: f64 = 15_000.0;

/// Percent of the cores' time that nobody knows of: lost, and not used by the server.
pub(super) fn lost_time(look: &NoiseReading<'_>) -> Option<f64> {
    let server = look.get("gap.server_cpu_s").unwrap_or(0.0) * 1e9;
    let span = look.get("gap.span_ns").filter(|span| *span > 0.0)?;
    Some(100.0 * (look.get("gap.lost_ns")? - server).max(0.0) / span)
}

/// Percent of the machine's CPU used by others while we sat still. `/proc/stat` counts hundredths of a second, so
/// short looks say nothing.
fn foreign_cpu(look: &NoiseReading<'_>) -> Option<f64> {
    let seconds = look.get("quiet.seconds").filter(|s| *s >= 1.0)?;
    let server = ["quiet.process.cpu_user_s", "quiet.process.cpu_system_s"];
    let server: f64 = server.iter().filter_map(|name| look.get(name)).sum();
    let others = look.get("quiet.cpu.busy_s")? - server - look.get("quiet.own_cpu_s")?;
    Some(100.0 * others.max(0.0) / (seconds * look.get("gap.cpus")?.max(1.0)))
}

/// MiB per second on the busiest disk that the server did not write.
fn disk_writers(look: &NoiseReading<'_>) -> Option<f64> {
    let seconds = look.get("quiet.seconds").filter(|s| *s >= 1.0)?;
    let sectors = look.values_matching("quiet.disk.", ".sectors_written").reduce(f64::max)?;
    let server = look.get("quiet.process.write_bytes").unwrap_or(0.0);
    Some((sectors * 512.0 - server).max(0.0) / f64::from(1 << 20) / seconds)
}

fn cores_left(look: &NoiseReading<'_>, name: &str) -> Option<f64> {
    Some(100.0 * look.get(name)? / look.get("gap.cpus").filter(|n| *n > 0.0)?)
}
