//! One load.

use serde::Serialize;

use super::{
    AuditFinding, CountedValue, Estimate, FiguresFinding, LatencySummary, PoolTemperature,
    RateSpread, SpectrumPoint, StallFindings, SteadyState,
};
use crate::analysis::RunExchanges;
use crate::archive::{DataVerdicts, DealtSessions, ErrorRecord, RecordedEngine, TrialEnding};

/// One load.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFinding {
    /// Folder name.
    pub id: String,
    /// What it is called in sentences: `the load`, or its variant with block and run.
    #[serde(skip)]
    pub title: String,
    /// Its variant; empty if there are none.
    pub variant: String,
    /// Which run of the variant, from 1.
    pub pass: u32,
    /// Which repeat of the whole experiment, from 1.
    pub block: u32,
    /// Its value in a sweep.
    pub value: Option<f64>,
    /// Kind of workload.
    pub workload: String,
    /// The load in words.
    pub arrival: String,
    /// Closed loop: think time between two events of a worker, seconds; absent where events are due by themselves.
    #[serde(skip)]
    pub closed_think_s: Option<f64>,
    /// Workers.
    pub workers: usize,
    /// The servers that their sessions were dealt to, if there were several.
    #[serde(rename = "servers", skip_serializing_if = "Vec::is_empty")]
    pub dealt: Vec<DealtSessions>,
    /// What ran the workers.
    pub engine: RecordedEngine,
    /// How it ended.
    pub reason: TrialEnding,
    /// How warm the pool was at its start.
    #[serde(rename = "pool")]
    pub temperature: PoolTemperature,
    /// First start, seconds since the origin.
    pub began_s: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Events that ended without an error.
    pub events: u64,
    /// Good events per second.
    pub events_per_s: Estimate,
    /// What else its good and failed events did, as its workload counts it, queries of SQL first.
    pub counts: Vec<WorkCount>,
    /// Rates of its whole intervals.
    pub rates: Option<RateSpread>,
    /// Response times of good events, all classes, and of arrivals that never began, as long as they waited.
    #[serde(skip)]
    pub response: LatencySummary,
    /// Open loop: what was due and never began.
    pub unbegun: Option<UnbegunArrivals>,
    /// Service times of good events, all classes.
    #[serde(skip)]
    pub service: LatencySummary,
    /// Lateness of our own making.
    #[serde(skip)]
    pub lateness: LatencySummary,
    /// Spectrum of the response times.
    #[serde(skip)]
    pub spectrum: Vec<SpectrumPoint>,
    /// The histogram of the response times itself, nanoseconds: HdrHistogram V2, compressed, base64.
    #[serde(skip)]
    pub response_hdr: String,
    /// By class.
    #[serde(rename = "by_class")]
    pub classes: Vec<ClassFinding>,
    /// What the workload's own rules say of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditFinding>,
    /// What was found of the data before and after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_checks: Vec<DataCheckFinding>,
    /// What the workload itself measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<FiguresFinding>,
    /// Stages of an open loop whose rate changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageFinding>,
    /// Steps inside events, which are no events: `response` is how long they took.
    #[serde(skip)]
    pub steps: Vec<ClassFinding>,
    /// What it comes to for ab, if each event is a request.
    #[serde(skip)]
    pub exchanges: Option<RunExchanges>,
    /// Events that failed.
    pub failed: u64,
    /// Those of them that failed in the recording too; 0 for what is no replay.
    #[serde(skip)]
    pub failed_as_recorded: u64,
    /// Failed by all, 0 to 1.
    pub failed_share: Option<f64>,
    /// Errors by class and code.
    pub errors: Vec<ErrorRecord>,
    /// Sessions opened anew.
    pub reconnects: u64,
    /// Longest time that a worker was without a session that it had lost and then had again, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_outage_s: Option<f64>,
    /// Events longer than the histogram's bound.
    pub clipped: u64,
    /// Attempts that failed and after which the same event ran again; they count in `failed`, too.
    pub restarts: u64,
    /// Events under way when the load was abandoned.
    pub abandoned: u64,
    /// Pages the server read one by one because they were not in the pool.
    pub disk_reads: Option<CountedValue>,
    /// Bytes the server read from disk.
    pub disk_bytes: Option<CountedValue>,
    /// What an event cost.
    #[serde(skip)]
    pub cost: Vec<CostItem>,
    /// Whether it came to a steady state.
    pub steady: Option<SteadyState>,
    /// When it stood still.
    #[serde(skip)]
    pub stalls: Option<StallFindings>,
}

impl TrialFinding {
    /// Whether a percentile of the response time (seconds) is known only from below, as arrivals never began.
    pub fn is_lower_bound(&self, response_s: f64) -> bool {
        self.unbegun.is_some_and(|unbegun| response_s >= unbegun.least_s)
    }

    /// Which servers the sessions were dealt to, in words: `4 sessions on tcp db1:3306, 4 on tcp db2:3306`.
    pub fn dealt_text(&self) -> Option<String> {
        let one = |(place, dealt): (usize, &DealtSessions)| {
            let DealtSessions { server, sessions } = dealt;
            let unit = if place > 0 { "" } else { " sessions" };
            format!("{sessions}{unit} on {server}")
        };
        let all: Vec<_> = self.dealt.iter().enumerate().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Something that a workload counts besides events: statements that read, rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkCount {
    /// Name, such as `reads`.
    pub name: String,
    /// How many in the whole load.
    pub count: u64,
    /// How many per second of the load.
    pub per_s: f64,
}

/// Arrivals of an open loop that were due in a load and never began. Their response times would have been at least as
/// long as they had waited at its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnbegunArrivals {
    /// How many.
    pub arrivals: u64,
    /// Their share of all that was due, 0 to 1.
    pub share: f64,
    /// How long the youngest had waited, seconds: percentiles from there on are lower bounds.
    pub least_s: f64,
    /// How long half of them had waited at least, seconds.
    pub median_s: f64,
    /// How long the oldest had waited, seconds.
    pub oldest_s: f64,
}

/// What was found when the data were held against the rules of the workload, next to a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataCheckFinding {
    /// `before` or `after` the load.
    pub when: &'static str,
    /// Number of the step.
    pub step: u32,
    /// Whether no rule is broken.
    pub all_hold: bool,
    /// The same in words.
    pub answer: String,
    /// What was looked at, and each rule.
    #[serde(flatten)]
    pub verdicts: DataVerdicts,
}

/// One class of events in a load.
#[derive(Clone, Debug, Serialize)]
pub struct ClassFinding {
    /// Its name.
    pub name: String,
    /// Response times of good events.
    pub response: LatencySummary,
    /// Service times of good events; nothing for steps.
    #[serde(skip)]
    pub service: LatencySummary,
    /// Response times of failed events.
    pub failed: LatencySummary,
    /// How often which response time was, of good events.
    #[serde(skip)]
    pub histogram: Option<LatencyHistogram>,
}

/// How many events took how long, in bins of equal width from 0 to four times their 90th percentile: what clause 5.6.1 of
/// TPC-C 5.11 wants drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    /// Width of a bin, seconds.
    pub bin_s: f64,
    /// Events in each bin.
    pub counts: Vec<u64>,
    /// Events that took longer than the last bin reaches.
    pub longer: u64,
}

/// A stage of an open loop whose rate changes.
#[derive(Clone, Debug, Serialize)]
pub struct StageFinding {
    /// As one would type it: `10s:0..500`.
    pub name: String,
    /// Events per second offered, in the mean of the stage.
    pub offered_per_s: f64,
    /// Good events per second; `None` where the load ended before.
    pub events_per_s: Option<f64>,
    /// Response times of good events.
    pub response: LatencySummary,
    /// Events that failed.
    pub failed: u64,
}

/// One cost per event.
#[derive(Clone, Debug, PartialEq)]
pub struct CostItem {
    /// Name in JSON and CSV, with its unit: `server_cpu_us`.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Per event.
    pub per_event: Option<f64>,
    /// The counters it comes from, as this server and machine name them; empty where none was there.
    pub source: String,
}
