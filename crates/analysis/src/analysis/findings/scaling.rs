//! How a server scales, and what it holds.

use serde::Serialize;

use super::super::number_format::{format_count, format_number, number_or_dash};

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
    /// How much of what was searched for, where that is not the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
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
    /// What was searched for, where that is not the rate: `warehouses`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// How much of it was confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<f64>,
    /// The least of it that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failing: Option<f64>,
    /// Events per second confirmed; of a search for something else those that it brought.
    pub confirmed_per_s: Option<f64>,
    /// The lowest rate that failed; of a search for something else the rate where it failed.
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

impl CapacityStep {
    /// How much was offered, in words: an amount of what was searched for, or events per second.
    pub fn amount_text(&self) -> String {
        match self.value {
            Some(amount) => format_count(amount as u64),
            None => number_or_dash(self.offered_per_s),
        }
    }
}

impl CapacityFinding {
    /// What was confirmed, in words: `4 700 events/s`, `12 warehouses (57.1 events/s)`.
    pub fn confirmed_text(&self) -> Option<String> {
        self.amount_text(self.confirmed, self.confirmed_per_s)
    }

    /// The least that failed, in words.
    pub fn failing_text(&self) -> Option<String> {
        self.amount_text(self.first_failing, self.first_failing_per_s)
    }

    fn amount_text(&self, amount: Option<f64>, rate: Option<f64>) -> Option<String> {
        let rate = rate.map(|rate| format!("{} events/s", format_number(rate)));
        let Some(quantity) = &self.quantity else { return rate };
        let name = if amount == Some(1.0) { quantity.trim_end_matches('s') } else { quantity };
        let amount = format!("{} {name}", format_count(amount? as u64));
        Some(rate.map_or_else(|| amount.clone(), |rate| format!("{amount} ({rate})")))
    }
}
