//! What kind of machine this is, as far as files tell: virtual or not, how its cores are clocked, memory, disks,
//! faults that the kernel has counted. Numbers only; 1 for yes.

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor, stat, statvfs};

use crate::probe::host::NamedNumbers;

/// Where the kernel shows devices.
const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Everything that files say about the machine; what they don't is left out.
pub(super) fn read_facts() -> NamedNumbers {
    let mut out = read_cpus();
    out.extend(read_memory());
    out.extend(read_faults());
    let busy = read_text("/proc/mdstat").map(|mdstat| count_rebuilding(&mdstat) as f64);
    out.extend(busy.map(|n| ("raid.rebuilding".to_owned(), n)));
    out
}

fn read_text(path: impl AsRef<Path>) -> Option<String> {
    read_to_string(path).ok()
}

fn read_number(path: impl AsRef<Path>) -> Option<f64> {
    read_text(path)?.trim().parse().ok()
}

/// Folders whose name is `start` and a number.
fn numbered_folders(dir: &str, start: &str) -> Vec<PathBuf> {
    let entries = read_dir(dir).into_iter().flatten().flatten();
    let fits = |name: &str| {
        let rest = name.strip_prefix(start).unwrap_or("x");
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
    };
    entries.filter(|e| fits(&e.file_name().to_string_lossy())).map(|e| e.path()).collect()
}

fn read_cpus() -> NamedNumbers {
    let mut out = Vec::new();
    let mut push = |name: &str, value: f64| out.push((name.to_owned(), value));
    let cpuinfo = read_text("/proc/cpuinfo").unwrap_or_default();
    push("cpu.hypervisor", f64::from(u8::from(is_virtual(&cpuinfo))));
    let model = read_text("/sys/class/dmi/id/product_name").unwrap_or_default();
    push("cpu.burst_class", f64::from(u8::from(is_burst(&model))));
    let cores = numbered_folders(CPUS, "cpu");
    let governors = cores.iter().filter_map(|c| read_text(c.join("cpufreq/scaling_governor")));
    let governors: Vec<String> = governors.collect();
    if !governors.is_empty() {
        let saving = governors.iter().filter(|g| g.trim() != "performance").count();
        push("cpu.saving_governors", saving as f64);
    }
    let turbo = read_number(format!("{CPUS}/cpufreq/boost"))
        .or_else(|| read_number(format!("{CPUS}/intel_pstate/no_turbo")).map(|off| 1.0 - off));
    turbo.into_iter().for_each(|on| push("cpu.turbo", on));
    let throttles = |core: &PathBuf| read_number(core.join("thermal_throttle/core_throttle_count"));
    let counts: Vec<f64> = cores.iter().filter_map(throttles).collect();
    if !counts.is_empty() {
        push("cpu.thermal_throttles", counts.iter().sum());
    }
    out
}

/// The flag that every hypervisor sets on x86.
fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

/// Classes of cloud machines that run at full speed only while they have credits.
fn is_burst(model: &str) -> bool {
    ["t2.", "t3.", "t3a.", "t4g.", "Standard_B", "e2-micro", "e2-small", "e2-medium", "f1-micro"]
        .iter()
        .any(|class| model.trim().starts_with(class))
}

fn read_memory() -> NamedNumbers {
    let mut out = Vec::new();
    let pages = read_text("/sys/kernel/mm/transparent_hugepage/enabled");
    out.extend(pages.map(|t| ("memory.huge_always".to_owned(), f64::from(t.contains("[always]")))));
    let nodes = numbered_folders(NODES, "node");
    if nodes.len() > 1 {
        let free = |node: &PathBuf| node_free_bytes(&read_text(node.join("meminfo"))?);
        let free: Vec<f64> = nodes.iter().filter_map(free).collect();
        out.push(("memory.nodes".to_owned(), nodes.len() as f64));
        let least = free.iter().copied().reduce(f64::min);
        let most = free.iter().copied().reduce(f64::max);
        out.extend(least.map(|v| ("memory.node_least_free_bytes".to_owned(), v)));
        out.extend(most.map(|v| ("memory.node_most_free_bytes".to_owned(), v)));
    }
    out
}

/// `Node 0 MemFree:   123 kB`.
fn node_free_bytes(meminfo: &str) -> Option<f64> {
    let line = meminfo.lines().find(|line| line.contains("MemFree:"))?;
    let kib: f64 = line.split_ascii_whitespace().rev().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}

/// Counters of what should never happen: file system errors, memory errors, processes killed for memory.
fn read_faults() -> NamedNumbers {
    let entries = |dir: &str| read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let errors = entries("/sys/fs/ext4").filter_map(|fs| read_number(fs.join("errors_count")));
    let memory = entries("/sys/devices/system/edac/mc").flat_map(|mc| {
        [read_number(mc.join("ue_count")), read_number(mc.join("ce_count"))].into_iter().flatten()
    });
    let kills = read_text("/proc/vmstat").and_then(|vmstat| {
        vmstat.lines().find_map(|l| l.strip_prefix("oom_kill ")?.trim().parse::<f64>().ok())
    });
    let mut out = vec![
        ("fault.file_system_errors".to_owned(), errors.sum()),
        ("fault.memory_errors".to_owned(), memory.sum()),
    ];
    out.extend(kills.map(|n| ("fault.out_of_memory_kills".to_owned(), n)));
    out
}

/// Arrays that are being checked or rebuilt, by `/proc/mdstat`.
fn count_rebuilding(mdstat: &str) -> usize {
    let works = ["resync", "recovery", "check", "reshape", "repair"];
    let under_way = |line: &&str| works.iter().any(|w| line.contains(&format!("{w} =")));
    mdstat.lines().filter(under_way).count()
}

/// The disk below a folder.
pub(super) fn read_disk(dir: &Path) -> NamedNumbers {
    let mut out = Vec::new();
    if let Ok(space) = statvfs(dir) {
        let free = space.f_bavail as f64 / (space.f_blocks as f64).max(1.0);
        out.push(("disk.free_share".to_owned(), free));
    }
    let Ok(at) = stat(dir) else { return out };
    let device = format!("/sys/dev/block/{}:{}", major(at.st_dev), minor(at.st_dev));
    let Ok(device) = std::fs::canonicalize(device) else { return out };
    // A partition has no queue of its own, its disk has.
    let queue = [device.join("queue"), device.join("../queue")].into_iter().find(|q| q.exists());
    let Some(queue) = queue else { return out };
    let rotational = read_number(queue.join("rotational"));
    out.extend(rotational.map(|v| ("disk.rotational".to_owned(), v)));
    let cache = read_text(queue.join("write_cache"));
    out.extend(cache.map(|t| ("disk.write_back".to_owned(), f64::from(t.trim() == "write back"))));
    let discard = read_number(queue.join("discard_max_bytes"));
    out.extend(discard.map(|v| ("disk.discards".to_owned(), f64::from(v > 0.0))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_told_by_what_they_say() {
        assert!(is_virtual("processor: 0\nflags\t\t: fpu sse hypervisor lm\n"));
        assert!(!is_virtual("flags\t\t: fpu sse\nmodel name: hypervisor\n"));
        assert!(is_burst("t3.medium\n") && is_burst("t4g.nano"));
        assert!(!is_burst("m5.large") && !is_burst(""));
        let nodes = "Node 0 MemTotal: 8 kB\nNode 0 MemFree:        2 kB\n";
        assert_eq!(node_free_bytes(nodes), Some(2048.0));
        let mdstat = "md0 : active raid1 sdb1[1] sda1[0]\n      [==>..]  resync = 12.6% (1/2)\n\
                      md1 : active raid1 a b\n";
        assert_eq!(count_rebuilding(mdstat), 1);
        assert_eq!(count_rebuilding("Personalities :\nunused devices: <none>\n"), 0);
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = read_facts();
        assert!(facts.iter().any(|(name, _)| name == "cpu.hypervisor"));
        assert!(facts.iter().all(|(_, value)| value.is_finite()));
        let disk = read_disk(Path::new("/"));
        assert!(disk.iter().any(|(name, v)| name == "disk.free_share" && *v <= 1.0), "{disk:?}");
    }
}
