//! The machine sweat runs on: `/proc` as numbers. It is the server's machine only where the server
//! is local.

pub(super) mod disk;
pub(super) mod parse;

use std::fs::read_to_string;

use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule};
use crate::base::RealClock;

/// Named numbers.
pub(super) type NamedNumbers = Vec<(String, f64)>;

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: "host",
    about: "CPU, memory, disks, network, pressure of this machine",
    schedule: SamplingSchedule::Ticks(1),
    asks_server: false,
    needs_server: false,
    is_default: true,
    needed_grant: None,
    hide_values: None,
    build: || Box::new(HostProbe { clock: RealClock::start_now() }),
};

/// The probe at work.
struct HostProbe {
    clock: RealClock,
}

/// From a file's text to numbers.
type ProcParser = fn(&str) -> NamedNumbers;

/// Files below `/proc` and their readers.
const FILES: &[(&str, ProcParser)] = &[
    ("stat", parse::parse_stat),
    ("loadavg", parse::parse_loadavg),
    ("meminfo", parse::parse_meminfo),
    ("vmstat", parse::parse_vmstat),
    ("diskstats", parse::parse_diskstats),
    ("net/dev", parse::parse_net_dev),
    ("pressure/cpu", |text| parse::parse_pressure("cpu", text)),
    ("pressure/io", |text| parse::parse_pressure("io", text)),
    ("pressure/memory", |text| parse::parse_pressure("memory", text)),
];

impl Probe for HostProbe {
    fn take_sample(&mut self, _subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        let mut numbers = Vec::with_capacity(256);
        for (file, parse) in FILES {
            // A kernel without one of them still has the others.
            if let Ok(text) = read_to_string(format!("/proc/{file}")) {
                numbers.extend(parse(&text));
            }
        }
        if numbers.is_empty() {
            return Err(ProbeError::ForGood("no /proc on this machine".to_owned()));
        }
        numbers.push(("clock.wall_offset_s".to_owned(), self.clock.wall_offset_s()));
        Ok(SampleValues::Numbers(numbers))
    }
}

/// The few numbers of the host that belong beside every step: CPU, swap, pressure, and one disk (all
/// if `None`).
pub(super) fn read_key_numbers(disk: Option<&str>) -> NamedNumbers {
    let read = |file: &str| read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let mut numbers = parse::parse_stat(&read("stat"));
    let memory = parse::parse_vmstat(&read("vmstat"));
    numbers.extend(memory.into_iter().filter(|(name, _)| name.starts_with("vm.swapped")));
    for kind in ["cpu", "io", "memory"] {
        numbers.extend(parse::parse_pressure(kind, &read(&format!("pressure/{kind}"))));
    }
    let prefix = disk.map_or_else(|| "disk.".to_owned(), |name| format!("disk.{name}."));
    let disks = parse::parse_diskstats(&read("diskstats"));
    numbers.extend(disks.into_iter().filter(|(name, _)| name.starts_with(&prefix)));
    numbers
}
