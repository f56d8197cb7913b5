//! How a server scales, and what it holds.

use serde::Serialize;

use super::Estimate;

/// One point of a sweep: all loads with this value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScalingPoint {
    /// The value, sessions for instance.
    pub value: f64,
    /// Mean number of events under way: rate times response time.
    pub concurrency: Option<f64>,
    /// Events per second.
    pub events_per_s: Estimate,
    /// 99th percentile of the response time, seconds.
    pub p99_s: Option<f64>,
    /// Mean of the server's running threads, without our own.
    pub threads_running: Option<f64>,
    /// Rate by that of one, over the value: 1 for linear.
    pub efficiency: Option<f64>,
}

/// The universal scalability law: X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalabilityLaw {
    /// Events per second of one.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherence.
    pub kappa: f64,
    /// Share of the variance explained.
    pub r2: f64,
}

/// How rate grows with load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScalingFinding {
    /// What was varied: `threads`.
    pub axis: String,
    /// In the order of the value.
    pub points: Vec<ScalingPoint>,
    /// The law fitted, if it could be.
    pub law: Option<ScalabilityLaw>,
    /// Where the law has its peak, with the interval; absent where the points don't carry it.
    pub peak_n: Option<(f64, f64, f64)>,
    /// The rate at that peak, with its interval.
    #[serde(rename = "peak_per_s")]
    pub peak_rate: Option<(f64, f64, f64)>,
    /// The two-line rival: events per second of one, and the ceiling.
    pub two_lines: Option<(f64, f64)>,
    /// Which describes the points better.
    pub better: ScalingShape,
    /// Why no peak is given, and other caveats, in words.
    pub notes: Vec<String>,
}

/// What describes how a rate grows with the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScalingShape {
    /// The universal scalability law.
    Law,
    /// Two lines: in proportion, then level.
    TwoLines,
    /// None of them so much better that it can be said.
    #[default]
    Neither,
}

impl ScalingShape {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ScalingShape::Law => "law",
            ScalingShape::TwoLines => "two lines",
            ScalingShape::Neither => "neither",
        }
    }
}

/// What a step of a search for capacity came to; called the same wherever it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepOutcome {
    /// The objectives were met.
    Pass,
    /// They were not.
    Fail,
    /// It did not tell: the interval holds the bound.
    #[default]
    Unsure,
    /// sweat and not the server was the limit, so it says nothing.
    Void,
    /// A closed loop that sets the scale, of which nothing is asked.
    Unjudged,
}

impl StepOutcome {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StepOutcome::Pass => "pass",
            StepOutcome::Fail => "fail",
            StepOutcome::Unsure => "unsure",
            StepOutcome::Void => "void",
            StepOutcome::Unjudged => "closed loop",
        }
    }
}

/// One step of a search for capacity.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CapacityStep {
    /// Its load, as an index into the trials.
    pub trial: usize,
    /// `burst`, `unloaded`, `curve`, `bisect`, `confirm`.
    pub phase: String,
    /// Events per second offered; `None` for a closed loop.
    pub offered_per_s: Option<f64>,
    /// Events per second achieved.
    pub achieved_per_s: f64,
    /// 99th percentile of the response time, seconds.
    pub p99_s: Option<f64>,
    /// Whether the objectives were met.
    #[serde(rename = "verdict")]
    pub outcome: StepOutcome,
    /// Why, in words.
    pub why: String,
}

/// What a server holds under an objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CapacityFinding {
    /// The objectives as given.
    pub objectives: Vec<String>,
    /// Events per second confirmed.
    pub confirmed_per_s: Option<f64>,
    /// The lowest rate that failed.
    pub first_failing_per_s: Option<f64>,
    /// Why it failed, in words.
    pub why: Option<String>,
    /// The objective is at the unloaded latency: no number is given.
    pub ill_posed: Option<String>,
    /// All steps in their order.
    pub steps: Vec<CapacityStep>,
    /// Caveats, in words.
    pub notes: Vec<String>,
}
