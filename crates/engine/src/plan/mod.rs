//! What was asked: plain data with defaults in one place, its validation, and the reader of plan files (TOML).
//! Opens nothing. Never knows: clap, sockets, threads.

mod capacity;
mod check;
mod compare;
mod file;
mod isolate;
mod nearest;
mod objective;
mod options;
mod replay;
mod share;
mod stages;
mod trigger;
mod watch;

pub use capacity::CapacityPlan;
pub use check::{Check, CheckCondition, checks_in};
pub use compare::{DecidePlan, OrderPlan, RATE, ResetPlan, SweepPlan, THREADS};
pub use file::{
    CONSENT, DeclareOptions, DefaultSettings, KnownNames, KnownPlugins, defaults_from_toml,
    from_toml, known_format, known_id, to_toml,
};
pub(crate) use file::{PlanSection, read_document};
pub use isolate::IsolatePlan;
pub use nearest::{did_you_mean, nearest_name, nearest_or_all, unknown_name};
pub use objective::{Metric, MetricUnit, Objective, Relation};
pub use options::{LEFT_OUT, OptionKind, OptionSecrecy, OptionSpec, Options, field_secret_at};
pub use replay::{TimingPlan, WritesPlan};
pub use share::LoadShare;
pub use stages::{ArrivalSpacing, RateStage, RateStages};
pub use trigger::{Trigger, TriggerError};
pub use watch::{WatchLimits, WatchPlan};

use std::path::PathBuf;
use std::time::Duration;

use crate::base::host_port::split_host_port;
use crate::base::units::ByteSize;
use crate::base::{Secret, StartSignal};

/// Everything that was asked of one run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Short name; part of the run folder's name.
    pub name: String,
    /// What is to be said of the file that it was read from, in words.
    pub notes: Vec<String>,
    /// The question that the run is to answer, in the user's words.
    pub question: Option<String>,
    /// Seed of every random number in the run.
    pub seed: u64,
    /// Whom to talk to.
    pub target: TargetPlan,
    /// What to do.
    pub workload: WorkloadPlan,
    /// How much of it, and when.
    pub load: LoadPlan,
    /// Whether to make the data first.
    pub prepare: bool,
    /// Whether the data are held against the workload's rules before and after each variant's loads; `None` for what the
    /// command does by default.
    pub check_data: Option<bool>,
    /// How the data come back to the same state before each variant.
    pub reset: ResetPlan,
    /// Whether each variant begins with a restart that leaves pool and page cache cold.
    pub cold: bool,
    /// How long to wait at most, before each load, until the server has come to rest; not at all if absent.
    pub settle: Option<Duration>,
    /// How long the load runs before each load that counts; not at all if absent.
    pub warmup: Option<Duration>,
    /// What is compared. One variant without a name for a plain bench. The first is the base.
    pub variants: Vec<VariantPlan>,
    /// The variants as values along an axis, if that is what they are.
    pub sweep: Option<SweepPlan>,
    /// A search for the highest rate that meets objectives, in place of the variants' loads.
    pub capacity: Option<CapacityPlan>,
    /// Each class of events alone, after the load; not at all if absent.
    pub isolate: Option<IsolatePlan>,
    /// How often the load runs in each variant, one right after the other.
    pub passes: u32,
    /// How often the whole experiment is repeated, each variant once in each block; 0 counts as 1.
    pub blocks: u32,
    /// More blocks until the answer is clear, at most so many in all.
    pub until_clear: Option<u32>,
    /// In which order the variants of a block run.
    pub order: OrderPlan,
    /// What decides.
    pub decide: DecidePlan,
    /// What must hold, as typed after `--check`.
    pub checks: Vec<String>,
    /// Caveats that the user knows of and does not want to hear again.
    pub allow: Vec<String>,
    /// Instruments whose waits are gathered during each load, as a pattern.
    pub waits: Option<String>,
    /// What to sample meanwhile.
    pub probes: ProbePlan,
    /// Where run folders go.
    pub runs_dir: PathBuf,
}

/// Whom to talk to.
#[expect(clippy::large_enum_variant, reason = "there is one of them in a plan")]
#[derive(Clone, Debug, Default)]
pub enum TargetPlan {
    /// No server at all (workload `null`).
    #[default]
    None,
    /// A server that runs already.
    Address(AddressPlan),
    /// A throw-away server of our own.
    Sandbox(SandboxPlan),
}

/// How to reach and log in to a server; the words are those of every mysql client.
#[derive(Clone, Debug, Default)]
pub struct AddressPlan {
    /// Host name or address; `localhost` means the socket unless `protocol` says TCP.
    pub host: Option<String>,
    /// TCP port.
    pub port: Option<u16>,
    /// Unix socket.
    pub socket: Option<PathBuf>,
    /// Forced way, if any.
    pub protocol: Option<Protocol>,
    /// Account; the operating system's user if not given.
    pub user: Option<String>,
    /// Password; `None` means that none was given.
    pub password: Option<Secret>,
    /// Default database.
    pub database: Option<String>,
    /// TLS.
    pub ssl: SslPlan,
    /// Time to wait for a connection.
    pub connect_timeout: Option<Duration>,
    /// Time that a statement of sweat's own may take, apart from the load and from work on data.
    pub control_timeout: Option<Duration>,
    /// Whether the server's RSA key may be fetched over an unencrypted connection.
    pub get_server_public_key: bool,
    /// The server's RSA key in a file.
    pub server_public_key_path: Option<PathBuf>,
    /// Whether a server that asks for the password as it is may have it; only over TLS or a socket even then.
    pub enable_cleartext_plugin: bool,
    /// Other servers that sessions of a load go to in turn, each with its own account; only loads know them.
    pub others: Vec<AddressPlan>,
}

impl AddressPlan {
    /// The hosts as they are typed: `db1`, `db1,db2:3307`.
    pub fn host_text(&self) -> Option<String> {
        if self.others.is_empty() {
            return self.host.clone();
        }
        let one = |plan: &AddressPlan| {
            let host = plan.host.as_deref().unwrap_or("localhost");
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            plan.port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
        };
        let all: Vec<_> = std::iter::once(self).chain(&self.others).map(one).collect();
        Some(all.join(","))
    }

    /// Another server, same account: a path is its socket, all else is `HOST` or `HOST:PORT`. A port that is not named is
    /// this one's.
    #[must_use]
    pub fn with_place(&self, place: &str) -> AddressPlan {
        let mut other = AddressPlan { host: None, port: None, socket: None, ..self.clone() };
        if place.contains('/') {
            (other.socket, other.protocol) = (Some(PathBuf::from(place)), Some(Protocol::Socket));
            return other;
        }
        let (host, port) = split_host_port(place).unwrap_or((place, None));
        other.host = Some(host.to_owned());
        other.port = port.or(self.port);
        other.protocol = Some(Protocol::Tcp);
        other
    }
}

/// `--protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, also to localhost.
    Tcp,
    /// Unix socket.
    Socket,
}

/// `--ssl-*`.
#[derive(Clone, Debug, Default)]
pub struct SslPlan {
    /// How much is asked of TLS; `None` means preferred.
    pub mode: Option<SslMode>,
    /// Certificate authority, PEM.
    pub ca: Option<PathBuf>,
    /// Folder of certificate authorities, PEM.
    pub capath: Option<PathBuf>,
    /// Our certificate, PEM.
    pub cert: Option<PathBuf>,
    /// Our key, PEM.
    pub key: Option<PathBuf>,
}

/// `--ssl-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never.
    Disabled,
    /// If the server offers it.
    Preferred,
    /// Always, whoever the server is.
    Required,
    /// Always, and the certificate must come from the given authority.
    VerifyCa,
    /// The same, and it must name the host.
    VerifyIdentity,
}

/// A throw-away server.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlan {
    /// The server program; found on the machine if not given.
    pub server: Option<PathBuf>,
    /// Settings beyond the product's defaults, `name=value`.
    pub settings: Vec<(String, String)>,
    /// Buffer pool size.
    pub pool: Option<ByteSize>,
    /// Whether it also listens on a loopback port.
    pub tcp: bool,
}

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct WorkloadPlan {
    /// Name of the kind.
    pub kind: String,
    /// Its options.
    pub options: Options,
}

/// How much, and when.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Workers that run events, each in a session of its own.
    pub workers: usize,
    /// When events begin.
    pub arrival: ArrivalPlan,
    /// How far the gaps of a constant arrival may be off, as a part of them. Plan files do not say so.
    pub jitter: f64,
    /// Ends the load after this time.
    pub time: Option<Duration>,
    /// Ends the load after this many events.
    pub events: Option<u64>,
    /// Length of an interval.
    pub interval: Duration,
    /// Which engine runs the workers.
    pub engine: EnginePlan,
    /// Whether a lost session is opened again.
    pub reconnect: bool,
    /// How long events under way may take to end once the load is over.
    pub grace: Duration,
    /// Whether to spin before due times instead of sleeping through (open loop).
    pub precise: bool,
    /// Whether nothing runs unless every worker has its session. Plan files do not say so.
    pub all_sessions: bool,
    /// Ends the load once it is steady; `time` is then the longest it may take.
    pub until_steady: bool,
    /// What of the load is run here, if not all of it. Workers, rate and events are those of the whole load.
    pub share: Option<LoadShare>,
    /// The earliest wall time at which the load that counts starts, nanoseconds since 1970. Plan files do not say so.
    pub start_at_unix_ns: Option<u64>,
    /// Names that time only once all sessions are open. Plan files do not say so.
    pub start_signal: Option<StartSignal>,
    /// Runs events of this class alone, by its place in the workload's list. Plan files do not say so.
    pub only_class: Option<usize>,
}

/// Where run folders are if nobody says otherwise.
pub const DEFAULT_RUNS_DIR: &str = "runs";
/// How long a load may take that is to end once it is steady, if nothing else is said: enough for a warm-up of some
/// minutes and as long again.
pub const LONGEST_UNTIL_STEADY: Duration = Duration::from_secs(30 * 60);

/// Most workers of a load: beyond it one machine runs out of ports and descriptors.
pub const MOST_WORKERS: u64 = 100_000;

impl Default for LoadPlan {
    fn default() -> LoadPlan {
        LoadPlan {
            workers: 1,
            arrival: ArrivalPlan::Closed { think: Duration::ZERO },
            jitter: 0.0,
            time: None,
            events: None,
            interval: Duration::from_secs(1),
            engine: EnginePlan::Auto,
            reconnect: false,
            grace: Duration::from_secs(10),
            precise: false,
            all_sessions: false,
            until_steady: false,
            share: None,
            start_at_unix_ns: None,
            start_signal: None,
            only_class: None,
        }
    }
}

/// When events begin.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalPlan {
    /// Each worker starts its next event when the last has ended and it has thought for a while.
    Closed {
        /// Pause between two events of a worker.
        think: Duration,
    },
    /// Open loop, evenly spaced.
    Constant {
        /// Events per second, all workers together.
        per_second: f64,
    },
    /// Open loop, exponential gaps.
    Poisson {
        /// Events per second, all workers together.
        per_second: f64,
    },
    /// Open loop whose rate changes. The load's `time` is then that of all stages.
    Stages {
        /// Rates, all workers together.
        stages: RateStages,
        /// How events are spread within them.
        spacing: ArrivalSpacing,
    },
}

impl ArrivalPlan {
    /// # Errors
    /// When events can't be offered at such a rate.
    pub fn check(&self) -> Result<(), Mistake> {
        let (lowest, highest) = (stages::LOWEST, stages::HIGHEST);
        match self {
            ArrivalPlan::Constant { per_second } | ArrivalPlan::Poisson { per_second }
                if !(lowest..=highest).contains(per_second) =>
            {
                let why = format!("a rate of {per_second:e} events per second is not possible");
                let hint = format!("a rate must be between {lowest} and {highest} per second");
                Err(Mistake::new("load.rate", why).hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// The stages of a rate that changes.
    pub fn stages(&self) -> Option<&RateStages> {
        match self {
            ArrivalPlan::Stages { stages, .. } => Some(stages),
            _ => None,
        }
    }
}

/// Which engine runs the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnginePlan {
    /// By the number of workers.
    #[default]
    Auto,
    /// One thread per worker.
    Threads,
    /// A few threads, each an epoll loop over many workers.
    Reactor,
}

/// One of the variants that an experiment compares.
#[derive(Clone, Debug, Default)]
pub struct VariantPlan {
    /// Short name; empty if there is only one variant.
    pub name: String,
    /// Settings of the server in this variant, beside those of the sandbox, `name=value`.
    pub settings: Vec<(String, String)>,
    /// Sessions in this variant, if not those of the load.
    pub workers: Option<usize>,
    /// Open loop: events per second in this variant, if not those of the load.
    pub per_second: Option<f64>,
    /// Its value along the axis of a sweep.
    pub value: Option<f64>,
    /// How the pool is warmed before the load, in order; empty for not at all.
    pub warm: Vec<WarmPlan>,
    /// Whether the server writes down afterwards which pages its pool holds, for a later variant that loads them.
    pub dump_after: bool,
}

/// One step of warming.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmPlan {
    /// Name of the strategy.
    pub strategy: String,
    /// Its options.
    pub options: Options,
}

/// What to sample.
#[derive(Clone, Debug)]
pub struct ProbePlan {
    /// Names of probes; all that the target allows if empty.
    pub names: Vec<String>,
    /// Time between two samples.
    pub interval: Duration,
}

impl Default for ArrivalPlan {
    fn default() -> ArrivalPlan {
        ArrivalPlan::Closed { think: Duration::ZERO }
    }
}

impl Default for ProbePlan {
    fn default() -> ProbePlan {
        ProbePlan { names: Vec::new(), interval: Duration::from_secs(1) }
    }
}

/// A mistake in what was asked. All mistakes of a plan are collected and shown together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Mistake {
    /// The flag, or `line 7: load.workers`.
    pub place: String,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Mistake {
    /// A mistake without a hint.
    pub fn new(place: impl Into<String>, why: impl Into<String>) -> Mistake {
        Mistake { place: place.into(), why: why.into(), hint: None }
    }

    /// The same with what to do.
    pub fn hint(self, hint: impl Into<String>) -> Mistake {
        Mistake { hint: Some(hint.into()), ..self }
    }

    /// The same with what to do, if that is known.
    pub fn maybe_hint(self, hint: Option<impl Into<String>>) -> Mistake {
        Mistake { hint: hint.map(Into::into), ..self }
    }
}

/// What was asked is not begun: it is not allowed, or what it names is not there or not fit for it. Ends with the exit
/// code of a mistake, where a server or a disk that fails does not. What to do follows behind `\nhint: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RefusedError(pub String);

/// All mistakes of what was asked, as one error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(Mistake::to_string).collect::<Vec<_>>().join("; "))]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// Goes on where there are none.
    ///
    /// # Errors
    /// All of them.
    pub fn check(list: Vec<Mistake>) -> Result<(), Mistakes> {
        if list.is_empty() { Ok(()) } else { Err(Mistakes(list)) }
    }
}
