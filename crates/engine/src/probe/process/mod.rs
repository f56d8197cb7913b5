//! The server's own process, where it runs on this machine: `/proc/PID`. Found by what the server
//! itself says and what the kernel confirms, never by a name.

mod find;
mod parse;
mod thread_cpu;

use std::fs::read_to_string;
use std::path::Path;

pub(super) use find::find_server_pid;
pub(super) use thread_cpu::ThreadCpu;

use super::host::NamedNumbers;
use super::{Probe, ProbeError, ProbeKind, ProbedServer, SampleValues, SamplingSchedule};

/// The probe.
struct ProcessProbe;

/// The kind.
pub(super) const KIND: ProbeKind = ProbeKind {
    name: "process",
    about: "CPU, memory and I/O of the server's process, if it runs on this machine",
    schedule: SamplingSchedule::Ticks(1),
    asks_server: false,
    needs_server: true,
    is_default: true,
    needed_grant: None,
    hide_values: None,
    build: || Box::new(ProcessProbe),
};

impl Probe for ProcessProbe {
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError> {
        if !subject.is_local() {
            return Err(ProbeError::ForGood("the server runs on another machine".to_owned()));
        }
        let Some(pid) = subject.pid() else {
            return Err(ProbeError::Now("the server's process is not known".to_owned()));
        };
        let mut numbers = read_counters(pid);
        if numbers.is_empty() {
            return Err(ProbeError::Now(format!("process {pid} is gone")));
        }
        numbers.extend(read_thread_counters(pid));
        let refused = !numbers.iter().any(|(name, _)| name == "process.read_bytes");
        if refused {
            let why = "needs root or the server's account";
            return Ok(SampleValues::Mixed(
                numbers,
                vec![("process.read_bytes".to_owned(), why.to_owned())],
            ));
        }
        Ok(SampleValues::Numbers(numbers))
    }
}

/// Whether there is such a process.
pub(super) fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/stat")).exists()
}

/// What the kernel counts for the whole process; empty if it is gone, without `io` where that is
/// refused.
pub(super) fn read_counters(pid: u32) -> NamedNumbers {
    let file = |name: &str| read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let stat = file("stat");
    let mut numbers = parse::parse_stat(&stat);
    if numbers.is_empty() {
        return numbers;
    }
    numbers.push(("process.pid".to_owned(), f64::from(pid)));
    numbers.extend(parse::parse_io(&file("io")));
    numbers.extend(parse::parse_status(&file("status")));
    numbers
}

/// CPU time that a process on this machine has used, seconds: finely as the sum of its threads where there are few,
/// else in the kernel's ticks; `None` if it is gone. Only differences over a time in which no thread ended make sense.
pub fn process_cpu_s(pid: u32) -> Option<f64> {
    let of = |numbers: &NamedNumbers, names: &[&str]| -> Option<f64> {
        let of = numbers.iter().filter(|(name, _)| names.contains(&name.as_str()));
        of.map(|(_, value)| *value).reduce(|a, b| a + b)
    };
    of(&read_thread_counters(pid), &["process.threads_ran_s"])
        .or_else(|| of(&read_counters(pid), &["process.cpu_user_s", "process.cpu_system_s"]))
}

/// Above this many threads their sum costs too much for a sample.
const MOST_THREADS: usize = 256;

/// Time on the CPU and time waiting for one, and context switches, summed over the threads alive. Ended threads take
/// theirs along, so the sums can fall.
pub(super) fn read_thread_counters(pid: u32) -> NamedNumbers {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let tasks: Vec<_> = tasks.filter_map(Result::ok).take(MOST_THREADS + 1).collect();
    if tasks.len() > MOST_THREADS {
        return Vec::new();
    }
    let sum = |read: &dyn Fn(&Path) -> Option<(f64, f64)>| {
        let pairs = tasks.iter().filter_map(|task| read(&task.path()));
        pairs.fold((0.0, 0.0), |sum, t| (sum.0 + t.0, sum.1 + t.1))
    };
    let text = |path: &Path, name: &str| read_to_string(path.join(name)).ok();
    let (ran, waited) = sum(&|path| parse::parse_schedstat(&text(path, "schedstat")?));
    let (gave, lost) = sum(&|path| parse::parse_switches(&text(path, "status")?));
    vec![
        ("process.threads_ran_s".to_owned(), ran),
        ("process.threads_waited_for_cpu_s".to_owned(), waited),
        ("process.voluntary_switches".to_owned(), gave),
        ("process.involuntary_switches".to_owned(), lost),
    ]
}
