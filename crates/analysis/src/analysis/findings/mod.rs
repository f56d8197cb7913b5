//! What analysis finds in a run. Times are seconds (durations, or since the origin of the run's clock);
//! what is not known is `None`, never NaN.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::archive::{RunCommand, RunState, ServerRecord};

mod caveat;
mod compare;
mod costs;
mod figures;
mod load_audit;
mod machines;
mod replay;
mod scaling;
mod sentence;
mod server_cost;
mod sides;
mod statements;
mod steady;
mod timeline;
mod trial;
mod waits;

pub use caveat::{Caveat, CaveatLevel};
pub use compare::{
    BlockPair, ComparisonVerdict, DifferenceKind, LevelRange, MetricComparison, SetupDifference,
    SignedRank, VariantLevel,
};
pub use costs::{CostChange, CostFinding};
pub use figures::{FiguresFinding, MedianFigure};
pub use load_audit::{AuditClass, AuditFinding, AuditRate, AuditRule, AuditVerdict, ClassTimes};
pub use machines::MachineFinding;
pub use replay::{LeftOutFinding, ReplayChange, ReplayClassFinding, ReplayFinding, ScheduleLag};
pub use scaling::{
    CapacityFinding, CapacityStep, ScalabilityLaw, ScalingFinding, ScalingPoint, ScalingShape,
    StepOutcome,
};
pub use sentence::AnswerSentence;
pub use server_cost::{
    ClassCostFinding, ClassCostItem, ClassCostMethod, CostWindow, DigestFinding, ServerCostFinding,
    ServerCostItem,
};
pub use sides::{ComparedRun, ComparedSide, ComparisonFindings};
pub use statements::{StatementClass, StatementFindings};
pub use steady::{
    InsideOutside, Stall, StallCause, StallFindings, StallKind, SteadyState, SteadyVerdict,
};
pub use timeline::{
    IntervalFinding, LatencyHeatmap, ProbeSeries, RunTimeline, SeriesUnit, TimelineStep,
};
pub use trial::{
    ClassFinding, CostItem, DataCheckFinding, LatencyHistogram, StageFinding, TrialFinding,
    UnbegunArrivals, WorkCount,
};
pub use waits::{
    CheckFinding, CheckOutcome, HealthLevel, NoiseItem, WaitFinding, WaitGroup, WaitSource,
    WaitTracingCost,
};

/// What a report shows: one run, or finished runs against others.
#[derive(Clone, Copy, Debug)]
pub enum Findings<'a> {
    /// One run.
    Run(&'a RunFindings),
    /// Finished runs against others.
    Comparison(&'a ComparisonFindings),
}

impl<'a> Findings<'a> {
    /// What was found, of whatever it was found.
    pub fn results(self) -> &'a FindingResults {
        match self {
            Findings::Run(findings) => &findings.results,
            Findings::Comparison(findings) => &findings.results,
        }
    }
}

impl<'a> From<&'a RunFindings> for Findings<'a> {
    fn from(findings: &'a RunFindings) -> Findings<'a> {
        Findings::Run(findings)
    }
}

impl<'a> From<&'a ComparisonFindings> for Findings<'a> {
    fn from(findings: &'a ComparisonFindings) -> Findings<'a> {
        Findings::Comparison(findings)
    }
}

/// What a run and a comparison of runs both have.
#[derive(Clone, Debug, Default)]
pub struct FindingResults {
    /// The answer in sentences; the first one stands alone.
    pub answer: Vec<AnswerSentence>,
    /// Caveats, the gravest first.
    pub caveats: Vec<Caveat>,
    /// Caveats that the user knows of (`--allow`) and that void nothing any more, the gravest first.
    pub allowed: Vec<Caveat>,
    /// One entry per load, in the order they ran; of a comparison all of the base first.
    pub trials: Vec<TrialFinding>,
    /// Each variant against the base, metric by metric; the deciding one first.
    pub comparisons: Vec<MetricComparison>,
    /// The deciding metric in absolute numbers, a level per variant; empty where levels of load are compared.
    pub levels: Vec<VariantLevel>,
    /// What is not the same in what is compared.
    pub differences: Vec<SetupDifference>,
    /// Classes of replayed statements in one variant, or run, against those in the base.
    pub replay_changes: Vec<ReplayChange>,
    /// What things cost in one variant, or run, against the base, where a workload measured them one by one.
    pub cost_changes: Vec<CostChange>,
}

/// Everything there is to say about one run.
#[derive(Clone, Debug)]
pub struct RunFindings {
    /// What a comparison of runs has too.
    pub results: FindingResults,
    /// What ran, when, how it ended.
    pub head: RunHeader,
    /// Size of the data against the pool.
    pub data: DataSize,
    /// The machines that shared the load, by share; empty where one ran all of it.
    pub machines: Vec<MachineFinding>,
    /// One entry per group of the experiment, in the order they ran; empty for a plain load.
    pub variants: Vec<VariantFinding>,
    /// How rate grows with load, for a sweep over it.
    pub scaling: Option<ScalingFinding>,
    /// What the server holds under an objective.
    pub capacity: Option<CapacityFinding>,
    /// What came of replays, one entry per variant.
    pub replays: Vec<ReplayFinding>,
    /// What the server waited for.
    pub waits: Vec<WaitFinding>,
    /// The same by variant, where a variant has several loads or there are several variants.
    pub wait_groups: Vec<WaitGroup>,
    /// What gathering waits costs the server.
    pub watch_cost: Option<WaitTracingCost>,
    /// What events cost the server, one entry for each load that was looked at.
    pub server_costs: Vec<ServerCostFinding>,
    /// How quiet the machine was.
    pub noise: Vec<NoiseItem>,
    /// What was asked with `--check`, and what came of it.
    pub checks: Vec<CheckFinding>,
    /// What happened over time.
    pub timeline: RunTimeline,
    /// The server's variables that matter.
    pub settings: Vec<VariableFinding>,
    /// The plan as text.
    pub plan: String,
    /// Where the run lies, if the caller knows.
    pub folder: Option<String>,
    /// Its files, if the caller lists them.
    pub files: Vec<RawFile>,
}

/// What ran, when, how it ended.
#[derive(Clone, Debug)]
pub struct RunHeader {
    /// Name of the run's folder.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// What the plan asks, in the user's words.
    pub question: Option<String>,
    /// `bench`, `demo`, ...
    pub command: RunCommand,
    /// The command line as it was typed, without passwords.
    pub command_line: Option<String>,
    /// What came from the defaults file or the environment, in words.
    pub defaults: Vec<String>,
    /// Version of sweat that measured.
    pub tool_version: String,
    /// Wall time of the clock's origin, nanoseconds since 1970.
    pub origin_unix_ns: u64,
    /// Length of the whole run, seconds.
    pub seconds: Option<f64>,
    /// How far it came.
    pub state: RunState,
    /// Why it did not come further.
    pub why: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The server.
    pub server: Option<ServerRecord>,
    /// The client machine.
    pub host: BTreeMap<String, String>,
    /// Facts of the experiment that have no place of their own, as text.
    pub facts: BTreeMap<String, String>,
}

/// Size of the data against the pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataSize {
    /// Data and indexes, bytes.
    #[serde(rename = "bytes")]
    pub data_bytes: Option<f64>,
    /// Buffer pool, bytes.
    pub pool_bytes: Option<f64>,
    /// Rows.
    pub rows: Option<f64>,
    /// Size of a page, bytes.
    pub page_bytes: f64,
    /// Data by pool.
    #[serde(rename = "ratio_to_pool")]
    pub ratio: Option<f64>,
    /// What the ratio means.
    pub class: Option<SizeClass>,
}

/// What the ratio of data to pool means for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeClass {
    /// Below 0.8: everything stays in the pool once read.
    InMemory,
    /// 0.8 to 1.5: a little growth changes the result a lot.
    Borderline,
    /// Above 1.5: reads go to disk.
    IoBound,
}

impl SizeClass {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            SizeClass::InMemory => "in memory",
            SizeClass::Borderline => "borderline",
            SizeClass::IoBound => "I/O-bound",
        }
    }
}

/// Written as their words.
macro_rules! serialize_words {
    ($($name:ty),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }
    )+};
}

serialize_words!(
    CaveatLevel,
    CheckOutcome,
    ComparisonVerdict,
    DifferenceKind,
    HealthLevel,
    PoolTemperature,
    ScalingShape,
    SizeClass,
    StallKind,
    SteadyVerdict,
    StepOutcome,
    WaitSource
);

/// A number with what is known about its precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: Option<f64>,
    /// 95 % confidence interval; `None` with one run, from which none follows.
    pub ci95: Option<(f64, f64)>,
    /// Runs behind it.
    pub runs: u32,
}

impl Estimate {
    /// A number from a single run.
    pub fn one_run(value: Option<f64>) -> Estimate {
        Estimate { value: value.filter(|v| v.is_finite()), ci95: None, runs: 1 }
    }
}

/// Summary of a histogram, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Events.
    #[serde(rename = "n")]
    pub events: u64,
    /// Mean.
    #[serde(rename = "mean")]
    pub mean_s: Option<f64>,
    /// Shortest.
    #[serde(rename = "min")]
    pub min_s: Option<f64>,
    /// Median.
    #[serde(rename = "p50")]
    pub p50_s: Option<f64>,
    /// 90th percentile.
    #[serde(rename = "p90")]
    pub p90_s: Option<f64>,
    /// 95th percentile.
    #[serde(rename = "p95")]
    pub p95_s: Option<f64>,
    /// 99th percentile.
    #[serde(rename = "p99")]
    pub p99_s: Option<f64>,
    /// 99.9th percentile.
    #[serde(rename = "p999")]
    pub p999_s: Option<f64>,
    /// 99.99th percentile.
    #[serde(rename = "p9999")]
    pub p9999_s: Option<f64>,
    /// Longest.
    #[serde(rename = "max")]
    pub max_s: Option<f64>,
}

/// One point of a percentile spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectrumPoint {
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// Latency at it, seconds.
    pub latency_s: f64,
}

/// Spread of the rates of whole intervals, events per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RateSpread {
    /// Intervals behind it.
    pub intervals: usize,
    /// Slowest.
    pub min: f64,
    /// 1st percentile.
    pub p1: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Fastest.
    pub max: f64,
}

/// A number read from a counter, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountedValue {
    /// How much.
    pub value: f64,
    /// Name of the counter.
    #[serde(rename = "counter")]
    pub source: &'static str,
}

/// How warm the pool was when a step began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolTemperature {
    /// Nobody made it cold or warm.
    AsFound,
    /// Restarted cold, nothing read since.
    Cold,
    /// This step fills it.
    Warming,
    /// Warmed, or run before.
    Warm,
}

impl PoolTemperature {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            PoolTemperature::AsFound => "as found",
            PoolTemperature::Cold => "cold",
            PoolTemperature::Warming => "warming",
            PoolTemperature::Warm => "warm",
        }
    }
}

/// One group of the experiment.
#[derive(Clone, Debug, Serialize)]
pub struct VariantFinding {
    /// Its name.
    pub variant: String,
    /// Seconds spent warming; `None` if it does not warm.
    pub warm_s: Option<f64>,
    /// Bytes read while warming.
    pub warm_bytes: Option<f64>,
    /// Pages in the pool after warming.
    pub warm_pages: Option<u64>,
    /// Its first load, as an index into the trials.
    pub first: Option<usize>,
    /// Its second load.
    pub second: Option<usize>,
    /// Time per event of the cold first run by that of this first run.
    pub times_faster: Estimate,
    /// The same for the second run, still against the cold first run.
    pub second_times_faster: Estimate,
    /// Warming and first run together, seconds.
    pub until_first_done_s: Option<f64>,
    /// Proof of coldness and the like, in words.
    pub notes: Vec<String>,
}

/// One variable of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableFinding {
    /// Name.
    pub name: String,
    /// At the start.
    #[serde(rename = "value")]
    pub start: String,
    /// At the end, if it differs from the start.
    pub changed_to: Option<String>,
    /// Where the value comes from.
    pub origin: Option<String>,
    /// Whether it was set by somebody.
    #[serde(skip)]
    pub non_default: bool,
}

/// One file of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawFile {
    /// Path below the run's folder.
    pub path: String,
    /// Length, bytes.
    pub bytes: u64,
    /// SHA-256 when the run ended, hexadecimal; `None` for files that came later.
    pub sha256: Option<String>,
}
