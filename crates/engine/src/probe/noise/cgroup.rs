//! Limits that a container puts on a process: CPUs and memory that `/proc` does not show, and how often they hurt.
//! Both hierarchies: v2 (`cpu.max`) and v1 (`cpu.cfs_quota_us`).

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::probe::host::NamedNumbers;

/// Where the hierarchies are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The tightest limits of a process and the groups above it: `cgroup.cpus`, `cgroup.memory_bytes`. `who` is a process
/// id or `self`.
pub(super) fn read_limits(who: &str, prefix: &str) -> NamedNumbers {
    let groups = group_folders(who);
    let least =
        |read: fn(&Path) -> Option<f64>| groups.iter().filter_map(|dir| read(dir)).reduce(f64::min);
    let cpus = least(cpu_limit).map(|v| (format!("{prefix}cgroup.cpus"), v));
    let memory = least(memory_limit).map(|v| (format!("{prefix}cgroup.memory_bytes"), v));
    cpus.into_iter().chain(memory).collect()
}

/// How long a process's group was kept from running by its limit so far: `cgroup.throttled_s`.
pub(in crate::probe) fn read_throttled_time(pid: u32) -> NamedNumbers {
    let groups = group_folders(&pid.to_string());
    let found = groups
        .iter()
        .filter_map(|dir| parse_throttled_s(&read_to_string(dir.join("cpu.stat")).ok()?));
    found.reduce(f64::max).map(|s| ("cgroup.throttled_s".to_owned(), s)).into_iter().collect()
}

/// The folders of a process's groups and those above, in both hierarchies.
fn group_folders(who: &str) -> Vec<PathBuf> {
    let text = read_to_string(format!("/proc/{who}/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for (hierarchy, path) in parse_memberships(&text) {
        let root = Path::new(ROOT).join(hierarchy);
        let mut below = Some(Path::new(path.trim_start_matches('/')));
        while let Some(dir) = below {
            found.push(root.join(dir));
            below = dir.parent();
        }
    }
    found
}

/// `0::/a/b` is v2; `4:cpu,cpuacct:/a` and `5:memory:/a` are v1. Folder of the hierarchy, path in it.
fn parse_memberships(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        match kinds {
            "" => found.extend([(String::new(), path), ("unified".to_owned(), path)]),
            kinds if kinds.split(',').any(|k| k == "cpu" || k == "memory") => {
                found.push((kinds.to_owned(), path));
            }
            _ => {}
        }
    }
    found
}

fn cpu_limit(dir: &Path) -> Option<f64> {
    let text = |name: &str| read_to_string(dir.join(name)).ok();
    text("cpu.max").and_then(|t| parse_quota(&t)).or_else(|| {
        let (quota_us, period) = (text("cpu.cfs_quota_us")?, text("cpu.cfs_period_us")?);
        parse_quota(&format!("{} {}", quota_us.trim(), period.trim()))
    })
}

/// `max 100000`, `50000 100000`, `-1 100000`.
fn parse_quota(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace().map(str::parse::<f64>);
    let (quota, period) = (words.next()?.ok()?, words.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn memory_limit(dir: &Path) -> Option<f64> {
    /// v1 says no limit with a number near 2^63.
    const NONE: f64 = 9e18;
    let text = ["memory.max", "memory.limit_in_bytes"]
        .iter()
        .find_map(|name| read_to_string(dir.join(name)).ok())?;
    text.trim().parse().ok().filter(|bytes| *bytes < NONE)
}

/// `throttled_usec 5` (v2) or `throttled_time 5000` (v1, nanoseconds): seconds.
fn parse_throttled_s(text: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: f64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value / 1e6),
            "throttled_time" => Some(value / 1e9),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hierarchies_are_read() {
        let text = "4:cpu,cpuacct:/a\n5:memory:/a/b\n6:pids:/x\n0::/user/1\njunk\n";
        let found = parse_memberships(text);
        let names: Vec<(&str, &str)> = found.iter().map(|(h, p)| (h.as_str(), *p)).collect();
        let v2 = [("", "/user/1"), ("unified", "/user/1")];
        assert_eq!(names, [&[("cpu,cpuacct", "/a"), ("memory", "/a/b")][..], &v2[..]].concat());
        assert_eq!(parse_quota("50000 100000\n"), Some(0.5));
        assert_eq!(parse_quota("max 100000\n"), None);
        assert_eq!(parse_quota("-1 100000"), None);
        assert_eq!(parse_throttled_s("nr_throttled 2\nthrottled_usec 1500000\n"), Some(1.5));
        assert_eq!(parse_throttled_s("throttled_time 2000000000\n"), Some(2.0));
        assert_eq!(parse_throttled_s("usage_usec 3\n"), None);
    }

    #[test]
    fn the_tightest_limit_of_the_groups_above_counts() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cpu.max"), "150000 100000\n").unwrap();
        std::fs::write(dir.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(cpu_limit(dir.path()), Some(1.5));
        assert_eq!(memory_limit(dir.path()), None);
        std::fs::write(dir.path().join("memory.max"), "1048576\n").unwrap();
        assert_eq!(memory_limit(dir.path()), Some(1_048_576.0));
    }
}
