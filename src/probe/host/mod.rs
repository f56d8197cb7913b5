//! The machine sweat runs on: `/proc` as numbers. It is the server's machine only where the server
//! is local.

pub(super) mod disk;
pub(super) mod parse;

use std::fs::read_to_string;

use super::{Kind, Missed, Probe, Subject, Values};

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
        Box::new(Host)
    }
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

impl Probe for Host {
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
        Ok(Values::Numbers(numbers))
    }
}

/// The few numbers of the host that belong beside every step: CPU, pressure, and one disk (all if
/// `None`).
pub(super) fn brief(disk: Option<&str>) -> Numbers {
    let read = |file: &str| read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let mut numbers = parse::stat(&read("stat"));
    for kind in ["cpu", "io", "memory"] {
        numbers.extend(parse::pressure(kind, &read(&format!("pressure/{kind}"))));
    }
    let prefix = disk.map_or_else(|| "disk.".to_owned(), |name| format!("disk.{name}."));
    let disks = parse::diskstats(&read("diskstats"));
    numbers.extend(disks.into_iter().filter(|(name, _)| name.starts_with(&prefix)));
    numbers
}
