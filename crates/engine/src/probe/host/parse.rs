//! Texts of `/proc` to numbers. Pure; lines that make no sense are passed over.

use super::NamedNumbers;

/// Times in `/proc` are hundredths of a second on every Linux that user space sees (`USER_HZ`).
pub(in crate::probe) const TICKS_PER_S: f64 = 100.0;

/// `/proc/stat`: CPU time in seconds over all CPUs, and a few counters.
pub(in crate::probe) fn parse_stat(text: &str) -> NamedNumbers {
    const MODES: [&str; 8] =
        ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let mut out = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let values: Vec<f64> = words.map_while(|w| w.parse().ok()).collect();
        let known = match name {
            "cpu" => {
                let seconds = |i: usize| values.get(i).map_or(0.0, |v| v / TICKS_PER_S);
                out.extend(
                    MODES.iter().enumerate().map(|(i, m)| (format!("cpu.{m}_s"), seconds(i))),
                );
                let busy = [0, 1, 2, 5, 6].into_iter().map(seconds).sum();
                out.push(("cpu.busy_s".to_owned(), busy));
                continue;
            }
            "ctxt" => "cpu.context_switches",
            "processes" => "cpu.forks",
            "procs_running" => "cpu.procs_running",
            "procs_blocked" => "cpu.procs_blocked",
            "btime" => "cpu.boot_unix_s",
            _ => continue,
        };
        if let Some(value) = values.first() {
            out.push((known.to_owned(), *value));
        }
    }
    out
}

/// `/proc/loadavg`.
pub(in crate::probe) fn parse_loadavg(text: &str) -> NamedNumbers {
    let names = ["load.over_1_min", "load.over_5_min", "load.over_15_min"];
    let values = text.split_ascii_whitespace().map_while(|w| w.parse().ok());
    names.into_iter().map(str::to_owned).zip(values).collect()
}

/// `/proc/meminfo`: bytes, and numbers of huge pages.
pub(in crate::probe) fn parse_meminfo(text: &str) -> NamedNumbers {
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_ascii_whitespace();
        let value: f64 = words.next()?.parse().ok()?;
        let name = to_snake_case(name);
        Some(match words.next() {
            Some("kB") => (format!("memory.{name}_bytes"), value * 1024.0),
            _ => (format!("memory.{name}"), value),
        })
    };
    text.lines().filter_map(line).collect()
}

/// `MemTotal` to `mem_total`, `Active(anon)` to `active_anon`.
fn to_snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            if !out.ends_with('_') {
                out.push('_');
            }
            lower = false;
            continue;
        }
        if c.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_ascii_lowercase();
        out.push(c.to_ascii_lowercase());
    }
    out.trim_matches('_').to_owned()
}

/// `/proc/vmstat`: what tells of paging and of memory running out.
pub(in crate::probe) fn parse_vmstat(text: &str) -> NamedNumbers {
    const KEPT: &[(&str, &str)] = &[
        ("pgpgin", "vm.paged_in_kib"),
        ("pgpgout", "vm.paged_out_kib"),
        ("pswpin", "vm.swapped_in_pages"),
        ("pswpout", "vm.swapped_out_pages"),
        ("pgfault", "vm.faults"),
        ("pgmajfault", "vm.major_faults"),
        ("nr_dirty", "vm.dirty_pages"),
        ("nr_writeback", "vm.writeback_pages"),
        ("workingset_refault_file", "vm.refaulted_file_pages"),
        ("allocstall_normal", "vm.allocation_stalls"),
        ("oom_kill", "vm.oom_kills"),
    ];
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let (_, ours) = KEPT.iter().find(|(theirs, _)| *theirs == name)?;
        Some(((*ours).to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Fields of `/proc/diskstats` after the device's name; a sector is 512 bytes.
const DISK: [&str; 17] = [
    "reads",
    "reads_merged",
    "sectors_read",
    "read_ms",
    "writes",
    "writes_merged",
    "sectors_written",
    "write_ms",
    "in_flight",
    "busy_ms",
    "waited_ms",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "discard_ms",
    "flushes",
    "flush_ms",
];

/// `/proc/diskstats`: devices and partitions that ever did something, without memory and loop
/// devices.
pub(in crate::probe) fn parse_diskstats(text: &str) -> NamedNumbers {
    let mut out = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(device) = words.next() else { continue };
        let values: Vec<f64> = words.map_while(|w| w.parse().ok()).collect();
        let memory = ["loop", "ram", "zram"].iter().any(|kind| device.starts_with(kind));
        if memory || values.iter().all(|v| *v == 0.0) {
            continue;
        }
        out.extend(DISK.iter().zip(values).map(|(name, v)| (format!("disk.{device}.{name}"), v)));
    }
    out
}

/// `/proc/net/dev`.
pub(in crate::probe) fn parse_net_dev(text: &str) -> NamedNumbers {
    const FIELDS: [(usize, &str); 8] = [
        (0, "received_bytes"),
        (1, "received_packets"),
        (2, "received_errors"),
        (3, "received_drops"),
        (8, "sent_bytes"),
        (9, "sent_packets"),
        (10, "sent_errors"),
        (11, "sent_drops"),
    ];
    let mut out = Vec::new();
    for line in text.lines() {
        let Some((device, rest)) = line.split_once(':') else { continue };
        let values: Vec<f64> =
            rest.split_ascii_whitespace().map_while(|w| w.parse().ok()).collect();
        if values.iter().all(|v| *v == 0.0) {
            continue;
        }
        let device = device.trim();
        let named = FIELDS.iter().filter_map(|(at, name)| values.get(*at).map(|v| (name, *v)));
        out.extend(named.map(|(name, v)| (format!("net.{device}.{name}"), v)));
    }
    out
}

/// `/proc/pressure/<kind>`: total time in microseconds that some or all tasks waited.
pub(in crate::probe) fn parse_pressure(kind: &str, text: &str) -> NamedNumbers {
    let line = |line: &str| {
        let (who, rest) = line.split_once(' ')?;
        let total = rest.split_ascii_whitespace().find_map(|w| w.strip_prefix("total="))?;
        let known = matches!(who, "some" | "full");
        known.then_some(())?;
        Some((format!("pressure.{kind}.{who}_us"), total.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::recorded::{assert_number, data};
    use proptest::prelude::*;

    #[test]
    fn a_whole_line_of_each() {
        let text = "cpu  100 20 300 4000 50 6 7 8 0 0\ncpu0 1 2\nctxt 77\nbtime 5\n";
        let numbers = parse_stat(text);
        assert_number(&numbers, "cpu.user_s", 1.0);
        assert_number(&numbers, "cpu.steal_s", 0.08);
        assert_number(&numbers, "cpu.busy_s", 4.33);
        assert_number(&numbers, "cpu.context_switches", 77.0);
        assert_number(&parse_loadavg("0.50 1.25 2.00 1/106 10355\n"), "load.over_15_min", 2.0);
        let numbers = parse_meminfo("MemTotal:  8 kB\nActive(anon): 2 kB\nHugePages_Total:  3\n");
        assert_number(&numbers, "memory.mem_total_bytes", 8192.0);
        assert_number(&numbers, "memory.active_anon_bytes", 2048.0);
        assert_number(&numbers, "memory.huge_pages_total", 3.0);
        assert_number(&parse_vmstat("pgmajfault 9\npswpin 1\n"), "vm.major_faults", 9.0);
        let numbers = parse_diskstats(
            " 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n\
             7 0 loop0 1 1 1 1\n 8 0 sda 0 0\n",
        );
        assert_number(&numbers, "disk.vda.sectors_read", 3.0);
        assert_number(&numbers, "disk.vda.flush_ms", 17.0);
        assert_eq!(numbers.len(), 17);
        let numbers =
            parse_net_dev("Inter-| x\n face |y\n eth0: 1 2 3 4 0 0 0 0 9 10 11 12 0 0 0 0\n");
        assert_number(&numbers, "net.eth0.received_bytes", 1.0);
        assert_number(&numbers, "net.eth0.sent_drops", 12.0);
        let text = "some avg10=0.36 avg60=0.25 avg300=0.60 total=17442271\nfull avg10=0 total=9\n";
        assert_number(&parse_pressure("io", text), "pressure.io.some_us", 17_442_271.0);
        assert_number(&parse_pressure("io", text), "pressure.io.full_us", 9.0);
    }

    #[test]
    fn a_real_machine_is_read() {
        assert_eq!(parse_stat(data!("host-stat.txt")).len(), 14);
        assert_eq!(parse_loadavg(data!("host-loadavg.txt")).len(), 3);
        assert_eq!(
            parse_meminfo(data!("host-meminfo.txt")).len(),
            data!("host-meminfo.txt").lines().count()
        );
        assert!(parse_vmstat(data!("host-vmstat.txt")).len() >= 10);
        assert_eq!(parse_diskstats(data!("host-diskstats.txt")).len(), 17);
        assert_eq!(parse_net_dev(data!("host-net-dev.txt")).len(), 16);
        assert_eq!(parse_pressure("io", data!("host-pressure-io.txt")).len(), 2);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(
            text in "(cpu|ctxt|some|full|a:| 1 2 x|pgfault)?[ -~\n:=]{0,200}",
        ) {
            for read in [parse_stat, parse_loadavg, parse_meminfo, parse_vmstat, parse_diskstats,
            parse_net_dev] {
                let _ = read(&text);
            }
            let _ = parse_pressure("cpu", &text);
        }
    }
}
