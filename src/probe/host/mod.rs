//! The machine sweat runs on: `/proc` as numbers. It is the server's machine only where the server
//! is local.

pub(super) mod disk;
pub(super) mod parse;

use std::fs::read_to_string;

use super::{Kind, Missed, Probe, Subject, Values};
use crate::base::RealClock;

/// Named numbers.
pub(super) type Numbers = Vec<(String, f64)>;

/// The kind.
pub struct Host;

impl Kind for Host {
    fn name(&self) -> &'static str {
        "host"
    }
    fn about(&self) -> &'static str {
        "CPU, memory, disks, network, pressure of this machine"
    }
    fn asks_server(&self) -> bool {
        false
    }
    fn build(&self) -> Box<dyn Probe> {
        Box::new(Watch { clock: RealClock::start() })
    }
}

/// The probe at work.
struct Watch {
    clock: RealClock,
}

/// From a file's text to numbers.
type Reader = fn(&str) -> Numbers;

/// Files below `/proc` and their readers.
const FILES: &[(&str, Reader)] = &[
    ("stat", parse::stat),
    ("loadavg", parse::loadavg),
    ("meminfo", parse::meminfo),
    ("vmstat", parse::vmstat),
    ("diskstats", parse::diskstats),
    ("net/dev", parse::net_dev),
    ("pressure/cpu", |text| parse::pressure("cpu", text)),
    ("pressure/io", |text| parse::pressure("io", text)),
    ("pressure/memory", |text| parse::pressure("memory", text)),
];

impl Probe for Watch {
    fn sample(&mut self, _subject: &mut Subject) -> Result<Values, Missed> {
        let mut numbers = Vec::with_capacity(256);
        for (file, parse) in FILES {
            // A kernel without one of them still has the others.
            if let Ok(text) = read_to_string(format!("/proc/{file}")) {
                numbers.extend(parse(&text));
            }
        }
        if numbers.is_empty() {
            return Err(Missed::ForGood("no /proc on this machine".to_owned()));
        }
        numbers.push(("clock.wall_offset_s".to_owned(), self.clock.wall_offset_s()));
        Ok(Values::Numbers(numbers))
    }
}

/// The few numbers of the host that belong beside every step: CPU, swap, pressure, and one disk (all
/// if `None`).
pub(super) fn brief(disk: Option<&str>) -> Numbers {
    let read = |file: &str| read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let mut numbers = parse::stat(&read("stat"));
    let memory = parse::vmstat(&read("vmstat"));
    numbers.extend(memory.into_iter().filter(|(name, _)| name.starts_with("vm.swapped")));
    for kind in ["cpu", "io", "memory"] {
        numbers.extend(parse::pressure(kind, &read(&format!("pressure/{kind}"))));
    }
    let prefix = disk.map_or_else(|| "disk.".to_owned(), |name| format!("disk.{name}."));
    let disks = parse::diskstats(&read("diskstats"));
    numbers.extend(disks.into_iter().filter(|(name, _)| name.starts_with(&prefix)));
    numbers
}
