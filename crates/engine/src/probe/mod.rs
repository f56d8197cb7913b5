//! What server and host felt: raw samples on clock-aligned ticks, with their own cost. Never knows:
//! load, deltas, what a value means. Start reading at `Sampler`. To add one: a folder here with a
//! `ProbeKind`, its line in `PROBES`, a page in docs/probes.md.

mod classic_look;
pub mod digests;
pub mod host;
mod incident_look;
pub mod innodb;
mod log_digests;
pub mod noise;
mod own_cost;
mod probed_server;
pub mod process;
pub mod processlist;
#[cfg(test)]
mod recorded;
mod redact;
mod sampler;
mod sampling_loop;
mod snapshot;
pub mod statement_times;
pub mod status;
mod ticks;
pub mod variables;
pub mod waits;

pub use classic_look::{CLASSIC_PROBES, ClassicLook, ClassicLooker, ClassicTable};
pub use incident_look::IncidentLooker;
pub use log_digests::LogDigests;
pub use own_cost::{LOOK, cost_counters, measure_own_cost};
pub use probed_server::{ProbeError, ProbedServer};
pub use process::process_cpu_s;
pub use sampler::{Sampler, find_probes};
pub use sampling_loop::ProbeCost;
pub use snapshot::counters_now;
pub use ticks::TickGrid;

use crate::base::Nanos;
use crate::client::Session;

/// Process id of the server at the other end of a session; `None` if it is on another machine, or can't be told for
/// certain.
pub fn server_pid(session: &mut Session, local: bool) -> Option<u32> {
    process::find_server_pid(session, local)
}

/// What probes need that look at all sessions: see [`ProbeKind`].
const PROCESS_GRANT: (&str, &str) = ("grant PROCESS", "SHOW ENGINE INNODB STATUS");

/// All probes.
pub const PROBES: &[ProbeKind] = &[
    status::KIND,
    innodb::KIND,
    processlist::KIND,
    variables::KIND,
    host::KIND,
    process::KIND,
    statement_times::KIND,
];

/// A kind of probe.
pub struct ProbeKind {
    /// Name in plans and run folders.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// When it looks.
    pub schedule: SamplingSchedule,
    /// Whether it asks the server. Those that don't have a thread of their own, so that a stalled
    /// server doesn't hide what its host felt.
    pub asks_server: bool,
    /// Whether it is about the server: left out where there is none.
    pub needs_server: bool,
    /// Whether it looks where no probes are named.
    pub is_default: bool,
    /// What must be granted for it to see all it can see, in words, and a statement that fails without; `None` where a
    /// session is enough.
    pub needed_grant: Option<(&'static str, &'static str)>,
    /// Hides values in the statements of others that it sees; `None` where it sees none.
    hide_values: Option<fn(&mut SampleValues)>,
    /// Builds it, on the thread that will sample it.
    build: fn() -> Box<dyn Probe>,
}

impl ProbeKind {
    /// Whether a list of names asks for it; an empty one asks for all that look by default.
    pub fn is_asked_by(&self, names: &[String]) -> bool {
        if names.is_empty() { self.is_default } else { names.iter().any(|name| name == self.name) }
    }

    /// The kind that took a sample; `None` for notes of the sampler itself.
    pub fn of_sample(sample: &ProbeSample) -> Option<&'static ProbeKind> {
        PROBES.iter().find(|kind| kind.name == sample.probe)
    }
}

/// A probe, ready to look.
pub trait Probe {
    /// One look.
    ///
    /// # Errors
    /// Says whether it is worth trying again.
    fn take_sample(&mut self, subject: &mut ProbedServer) -> Result<SampleValues, ProbeError>;
}

/// When a probe looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingSchedule {
    /// Every so many ticks.
    Ticks(u64),
    /// When sampling starts, and when it stops.
    Ends,
}

/// One look of one probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSample {
    /// Name of the probe; `sampler` for notes of the sampler itself.
    pub probe: &'static str,
    /// When it should have been taken (on the grid of wall-clock ticks), on the run's clock.
    pub planned: Nanos,
    /// When it began.
    pub began: Nanos,
    /// When it ended: the difference is its own cost.
    pub ended: Nanos,
    /// What it saw, raw.
    pub values: SampleValues,
}

/// Why a sample is missing, as far as it is not for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapKind {
    /// There is no session: the server is away, or refuses.
    NoConnection,
    /// The look before took longer than an interval.
    MissedTicks,
    /// What is looked at can't be seen, this time or at all.
    NotSeen,
}

impl ProbeSample {
    /// Why there is nothing; `None` where there is something.
    pub fn gap_kind(&self) -> Option<GapKind> {
        let SampleValues::Gap(why) = &self.values else { return None };
        Some(match why {
            why if why.starts_with(probed_server::NO_CONNECTION) => GapKind::NoConnection,
            why if why.contains(sampling_loop::TICKS_MISSED) => GapKind::MissedTicks,
            _ => GapKind::NotSeen,
        })
    }

    /// The value of a number that was seen.
    pub fn number(&self, name: &str) -> Option<f64> {
        let (SampleValues::Numbers(numbers) | SampleValues::Mixed(numbers, _)) = &self.values
        else {
            return None;
        };
        numbers.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Hides values in the statements of others: quoted texts and numbers become `?`.
    pub fn hide_values(&mut self) {
        if let Some(hide) = ProbeKind::of_sample(self).and_then(|kind| kind.hide_values) {
            hide(&mut self.values);
        }
    }
}

/// Raw values.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleValues {
    /// Counters and gauges by the server's own names.
    Numbers(Vec<(String, f64)>),
    /// Counters and gauges, and beside them what the same source says in words.
    Mixed(Vec<(String, f64)>, Vec<(String, String)>),
    /// A raw text.
    Text(String),
    /// Rows of a table: column names, then rows.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Not sampled, and why: `needs PROCESS`.
    Gap(String),
}
