//! What a run folder holds, as data. Times are nanoseconds since the origin of the run's clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WaitsRecord;
use super::looks::{CounterLook, DigestsRecord};
use super::merge::MergeRecord;
use super::recorded_names::{
    ArrivalRecord, RecordedEngine, RecordedErrorKind, RecordedStepKind, RunCommand, TrialEnding,
};
use super::share::{DealtSessions, ShareRecord};
use super::tally::TallyRecord;
use super::warmed::WarmedRecord;
use crate::recorder::{
    CrashRound, DataVerdicts, Histogram, LoadAudit, MeasuredFigures, ReplayTotals, SparseHistogram,
    WorkloadFacts, empty_histogram,
};

/// Raw counters and gauges by name, as read from server and host at one moment. Names of host values carry a prefix:
/// `process.read_bytes`, `disk.vda.sectors_read`; names without a dot are the server's status variables.
pub type Counters = BTreeMap<String, f64>;

/// Everything in a run folder, loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// `meta.json`.
    pub meta: RunMeta,
    /// `plan.toml`, as text.
    pub plan: String,
    /// `steps.jsonl`.
    pub steps: Vec<StepRecord>,
    /// `trials/`.
    pub trials: Vec<Trial>,
    /// Of these, the loads of one class each, which only tell what the class costs the server.
    pub class_loads: Vec<Trial>,
    /// `raw/`.
    pub samples: Vec<SampleRecord>,
    /// `variables.json`.
    pub variables: Vec<VariableRecord>,
    /// `machines.json`, if several machines ran the load.
    pub merged: Option<MergeRecord>,
    /// What could not be read, in words; empty for a whole folder.
    pub damage: Vec<String>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Still running, or killed without a chance to say so.
    #[default]
    Running,
    /// Through.
    Done,
    /// Stopped by the user.
    Interrupted,
    /// The target or server failed.
    Failed,
}

/// What ran where, when, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Version of the folder's layout.
    pub format: u32,
    /// Version of sweat.
    pub tool_version: String,
    /// The folder's name.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// Which command.
    pub command: RunCommand,
    /// The command line as it was typed, without passwords; absent in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// What came from the defaults file or from variables of the environment: `threads = 8 (SWEAT_THREADS)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<String>,
    /// Wall time of the clock's origin, nanoseconds since 1970.
    pub origin_unix_ns: u64,
    /// When the run ended.
    pub ended_ns: Option<u64>,
    /// How far it came.
    pub state: RunState,
    /// Why it did not come further, in words.
    pub why: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// What the plan asked.
    #[serde(default, skip_serializing_if = "ExperimentRequest::is_plain")]
    pub asked: ExperimentRequest,
    /// What the plan asked of a load; filled in by the reader where the folder is older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRequest>,
    /// The server, once known.
    pub server: Option<ServerRecord>,
    /// The client machine: `kernel`, `cpus`, `memory_bytes`, `cpu`, ...
    pub host: BTreeMap<String, String>,
    /// Caveats that the user knows of and does not want to hear again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Facts about the experiment for the report: `data_bytes`, `pool_bytes`, `rows`, ...
    pub facts: BTreeMap<String, serde_json::Value>,
}

/// What the plan asked, as far as findings need it; empty for a plain load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExperimentRequest {
    /// The question in the user's words.
    pub question: Option<String>,
    /// The variants, the base first; one without a name for a plain load.
    #[serde(alias = "ways")]
    pub variants: Vec<String>,
    /// The metric that decides: `events_per_s`, `p99_s`.
    pub metric: String,
    /// Differences below this share don't matter.
    pub margin: f64,
    /// How many blocks were asked for.
    pub blocks: u32,
    /// More blocks until the answer was clear, at most so many in all.
    pub until_clear: Option<u32>,
    /// In which order the variants of a block ran: `balanced`, `shuffled`, `written`.
    pub order: String,
    /// How the data came back to the same state before each variant: `snapshot`, `reload`, `none`.
    pub reset: String,
    /// What the variants are values of: `threads`, `rate`, the name of a setting.
    pub axis: Option<String>,
    /// What was searched for, if the run is a search for capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRequest>,
    /// What must hold, as typed after `--check`.
    pub checks: Vec<String>,
    /// Caveats that the user does not want to hear again.
    pub allow: Vec<String>,
}

/// What a search for capacity was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacityRequest {
    /// What rises, as the workload names it; absent for the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// What shall hold: `p99 < 20ms`.
    pub objectives: Vec<String>,
    /// Seconds at the begin of each step that don't count.
    pub settle_s: f64,
    /// Longest step, seconds.
    pub step_s: f64,
    /// How long the last step confirms, seconds.
    pub confirm_s: f64,
}

/// What the plan asked of a load, as far as findings need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadRequest {
    /// It was to run until it is steady.
    pub until_steady: bool,
    /// It ends when its work is done, not after a time.
    pub fixed_work: bool,
}

impl ExperimentRequest {
    fn is_plain(&self) -> bool {
        *self == ExperimentRequest::default()
    }
}

/// The server measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// `MariaDB`, `MySQL`, `Percona Server`.
    pub product: String,
    /// Version text.
    pub version: String,
    /// `unix /path`, `tcp host:port`.
    pub address: String,
    /// TLS cipher, if encrypted.
    pub cipher: Option<String>,
    /// Whether it runs on this machine.
    pub local: bool,
    /// Whether sweat started it.
    pub sandbox: bool,
    /// Whether the load talked to something else, an application in front of it, and it was only looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
}

impl ServerRecord {
    /// The version without what is behind its number: `10.11.14` of `10.11.14-MariaDB-log`.
    pub fn version_number(&self) -> &str {
        self.version.split('-').next().unwrap_or_default()
    }
}

/// One step of the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// 1-based place.
    pub number: u32,
    /// What it does.
    pub kind: RecordedStepKind,
    /// The variant it belongs to, `none`, `scan`, ...; empty if there are none.
    #[serde(alias = "way")]
    pub variant: String,
    /// In words, for people.
    pub label: String,
    /// When it began.
    pub began_ns: u64,
    /// When it ended; absent if it was cut.
    pub ended_ns: Option<u64>,
    /// Raw counters just before.
    pub before: Counters,
    /// Raw counters just after.
    pub after: Counters,
    /// What warming did, for warm steps.
    pub warmed: Option<WarmedRecord>,
    /// What was found of the data, for steps that check them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataVerdicts>,
    /// What was left after the server was killed, for steps that do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashRound>,
    /// What else is worth keeping: proof of coldness, what was used to reset.
    pub notes: Vec<String>,
    /// What settings moved beside what was asked, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<String>,
    /// How quiet the machine was just before and just after, raw.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub noise: Counters,
}

/// A stage of an open loop whose rate changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageRecord {
    /// How long it lasts.
    pub seconds: f64,
    /// Events per second at its begin.
    pub from_per_s: f64,
    /// Events per second at its end.
    pub to_per_s: f64,
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Folder name: `01-none-1`.
    pub id: String,
    /// The variant it belongs to; empty if there are none.
    pub variant: String,
    /// Which run of the variant, from 1.
    pub pass: u32,
    /// Which repeat of the whole experiment, from 1.
    pub block: u32,
    /// Its value in a sweep.
    pub value: Option<f64>,
    /// The variant's own server settings.
    pub settings: BTreeMap<String, String>,
    /// Number of its step.
    pub step: u32,
    /// Kind of workload.
    pub workload: String,
    /// The workload's options.
    pub options: BTreeMap<String, String>,
    /// What the workload declares of itself; absent in folders that know no facts yet.
    pub facts: Option<WorkloadFacts>,
    /// When events were due.
    pub arrival: ArrivalRecord,
    /// Open loop: events per second offered, in the mean of the load.
    pub offered_per_s: Option<f64>,
    /// Open loop whose rate changed: its stages in their order.
    pub stages: Vec<StageRecord>,
    /// Workers.
    pub workers: usize,
    /// What of the load this is, if several machines shared it.
    pub share: Option<ShareRecord>,
    /// The servers that the workers' sessions were dealt to, if there were several.
    pub dealt: Vec<DealtSessions>,
    /// What ran the workers.
    pub engine: RecordedEngine,
    /// When the first event could begin.
    pub began_ns: u64,
    /// When the last one ended.
    pub ended_ns: u64,
    /// How it ended.
    pub reason: TrialEnding,
    /// Class names.
    pub classes: Vec<String>,
    /// Per class: response times of good events.
    pub response: Vec<Histogram>,
    /// Per class: service times of good events.
    pub service: Vec<Histogram>,
    /// Per class: response times of failed events.
    pub failed: Vec<Histogram>,
    /// Names of the steps inside events that were timed.
    pub event_steps: Vec<String>,
    /// What the steps turned out to be, if that was not known before; those behind its end were not used.
    pub event_step_labels: Vec<String>,
    /// Per step inside events: how long good ones took.
    pub step_latency: Vec<Histogram>,
    /// Per step inside events: how long failed ones took.
    pub step_failed: Vec<Histogram>,
    /// Lateness of our own making.
    pub lateness: Histogram,
    /// Open loop: how long the arrivals that were due and never began had waited at the end.
    pub unbegun: Histogram,
    /// What was counted.
    pub tally: TallyRecord,
    /// Errors by class and code.
    pub errors: Vec<ErrorRecord>,
    /// Sessions opened anew.
    pub reconnects: u64,
    /// Longest time without a session that was lost and opened again.
    pub longest_outage_ns: u64,
    /// Events longer than the histogram's bound.
    pub clipped: u64,
    /// Attempts that failed and after which the same event was begun again: among those that failed.
    pub restarts: u64,
    /// Events still under way when the load was abandoned.
    pub abandoned: u64,
    /// Workers that could not open their session and ran nothing.
    pub unopened: Vec<UnopenedRecord>,
    /// What broke in sweat itself, if that ended the load.
    pub failure: Option<String>,
    /// Our CPU time, user mode.
    pub cpu_user_ns: u64,
    /// Our CPU time, kernel mode.
    pub cpu_system_ns: u64,
    /// Second by second.
    pub intervals: Vec<IntervalRecord>,
    /// What the server waited for, if that was gathered.
    pub waits: Option<WaitsRecord>,
    /// What a replay has to tell, if it was one.
    pub replayed: Option<ReplayTotals>,
    /// What the workload's own rules ask of it; absent where it has none, and where the load was cut.
    pub audit: Option<LoadAudit>,
    /// What the workload itself measured; absent where it measures nothing, and where the load was cut.
    pub figures: Option<MeasuredFigures>,
    /// The class that ran alone, if one did.
    pub only_class: Option<String>,
    /// The server's counters as intervals ended.
    pub looks: Vec<CounterLook>,
    /// The statements that the server saw.
    pub digests: Option<DigestsRecord>,
}

impl Default for Trial {
    fn default() -> Trial {
        Trial {
            id: String::new(),
            variant: String::new(),
            pass: 1,
            block: 1,
            value: None,
            settings: BTreeMap::new(),
            step: 0,
            workload: String::new(),
            options: BTreeMap::new(),
            facts: None,
            arrival: ArrivalRecord::default(),
            offered_per_s: None,
            stages: Vec::new(),
            workers: 0,
            share: None,
            dealt: Vec::new(),
            engine: RecordedEngine::default(),
            began_ns: 0,
            ended_ns: 0,
            reason: TrialEnding::default(),
            classes: Vec::new(),
            response: Vec::new(),
            service: Vec::new(),
            failed: Vec::new(),
            event_steps: Vec::new(),
            event_step_labels: Vec::new(),
            step_latency: Vec::new(),
            step_failed: Vec::new(),
            lateness: empty_histogram(),
            unbegun: empty_histogram(),
            tally: TallyRecord::default(),
            errors: Vec::new(),
            reconnects: 0,
            longest_outage_ns: 0,
            clipped: 0,
            restarts: 0,
            abandoned: 0,
            unopened: Vec::new(),
            failure: None,
            cpu_user_ns: 0,
            cpu_system_ns: 0,
            intervals: Vec::new(),
            waits: None,
            replayed: None,
            audit: None,
            figures: None,
            only_class: None,
            looks: Vec::new(),
            digests: None,
        }
    }
}

/// One interval of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalRecord {
    /// When it began.
    pub began_ns: u64,
    /// When it really ended.
    pub ended_ns: u64,
    /// Good events per class.
    pub events: Vec<u64>,
    /// Failed events per class.
    pub errors: Vec<u64>,
    /// Response times of good events, all classes together.
    pub response: SparseHistogram,
    /// The same by class, for classes that have any: the class's place, its times. Filled only as a folder is read, and
    /// only of loads with an audit.
    pub class_response: Vec<(usize, SparseHistogram)>,
    /// What was counted.
    pub tally: TallyRecord,
    /// Sessions opened anew.
    pub reconnects: u64,
    /// Workers inside an event at its end.
    pub in_flight: u64,
    /// Arrivals due and not begun at its end.
    pub backlog: u64,
    /// Events that ended, with or without an error, in each hundredth of a second of the run's clock that it touches:
    /// the first is the one that holds `began_ns`, neighbours share one. Empty where a run kept none.
    pub slots: Vec<u32>,
}

/// A worker that could not open its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnopenedRecord {
    /// Which worker, 0-based.
    pub worker: usize,
    /// The cause.
    pub why: String,
}

/// Errors of one class and code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Class name.
    pub class: String,
    /// Where it comes from.
    pub kind: RecordedErrorKind,
    /// Number.
    pub code: u16,
    /// How often.
    pub count: u64,
    /// First text.
    pub first_text: String,
}

/// One raw sample of a probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Name of the probe.
    pub probe: String,
    /// When it should have been taken.
    pub planned_ns: u64,
    /// When it began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Counters and gauges, for probes of numbers.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub numbers: Counters,
    /// Raw text, for probes of texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Rows with the column names first, for probes of tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<Vec<String>>,
    /// Why there is nothing: `needs PROCESS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
}

/// One variable of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableRecord {
    /// Name.
    pub name: String,
    /// At the start.
    pub start: String,
    /// At the end; absent if the run was cut.
    pub end: Option<String>,
    /// Where the value comes from: `COMPILE-TIME`, `CONFIG`, `COMMAND-LINE`, `SQL`, ... in lower
    /// case with dashes.
    pub origin: Option<String>,
}
