//! What happened over time: steps, intervals, what probes saw.

use serde::Serialize;

use super::{ClassTimes, LatencySummary, PoolTemperature};
use crate::archive::{CrashRound, DataVerdicts, RecordedStepKind, WarmedRecord};

/// What happened over time.
#[derive(Clone, Debug, Default)]
pub struct RunTimeline {
    /// Where the axis begins: the first step that is not preparation.
    pub began_s: f64,
    /// Where it ends.
    pub ended_s: f64,
    /// Steps, also those before the axis.
    pub phases: Vec<TimelineStep>,
    /// Intervals of all loads.
    pub intervals: Vec<IntervalFinding>,
    /// What probes saw.
    pub series: Vec<ProbeSeries>,
    /// How often which response time was, over time.
    pub heat: Option<LatencyHeatmap>,
}

/// How often which response time was, over time: counts in cells of time and latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyHeatmap {
    /// Length of a column, seconds; the first begins where the axis begins.
    pub column_s: f64,
    /// Lower edge of the lowest row, seconds of latency.
    pub low_s: f64,
    /// Each row's upper edge by its lower one.
    pub factor: f64,
    /// How many rows there are.
    pub rows: usize,
    /// Cells that hold an event: column, row, events; in this order.
    pub cells: Vec<(usize, usize, u64)>,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineStep {
    /// 1-based place.
    pub number: u32,
    /// What it does.
    pub kind: RecordedStepKind,
    /// Its variant; empty if there are none.
    pub variant: String,
    /// In words.
    pub label: String,
    /// When it began, seconds since the origin.
    pub began_s: f64,
    /// When it ended, seconds since the origin; the last known time if it was cut.
    pub ended_s: f64,
    /// Whether it was cut.
    pub cut: bool,
    /// How warm the pool was.
    #[serde(rename = "pool")]
    pub temperature: PoolTemperature,
    /// Its load, as an index into the trials.
    #[serde(skip)]
    pub trial: Option<usize>,
    /// What warming did.
    #[serde(skip)]
    pub warmed: Option<WarmedRecord>,
    /// What was found of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataVerdicts>,
    /// What was left after the server was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashRound>,
    /// Notes of the step.
    pub notes: Vec<String>,
}

/// One interval of a load.
#[derive(Clone, Debug)]
pub struct IntervalFinding {
    /// Its load, as an index into the trials.
    pub trial: usize,
    /// When it began, seconds since the origin.
    pub began_s: f64,
    /// Its real length, seconds.
    pub seconds: f64,
    /// Whether it is less than half as long as the load's longest: its rate says little.
    pub partial: bool,
    /// Good events.
    pub events: u64,
    /// Failed events.
    pub errors: u64,
    /// Good events per second.
    pub events_per_s: Option<f64>,
    /// Response times.
    pub response: LatencySummary,
    /// Response times by class, of loads with an audit.
    pub class_times: Vec<ClassTimes>,
    /// Workers inside an event at its end.
    pub in_flight: u64,
    /// Arrivals due and not begun at its end.
    pub backlog: u64,
}

impl IntervalFinding {
    /// The middle of the interval, seconds since the origin: where its point is drawn.
    pub fn middle_s(&self) -> f64 {
        self.began_s + self.seconds / 2.0
    }
}

/// A series read by probes.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeSeries {
    /// Name in JSON and CSV, with its unit.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// Unit.
    #[serde(skip)]
    pub unit: SeriesUnit,
    /// Counters it was computed from.
    #[serde(rename = "counter")]
    pub source: &'static str,
    /// Time in seconds since the origin, and the value there; `None` is a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// Unit of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesUnit {
    /// A number of things.
    Count,
    /// Things per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// CPU cores.
    Cores,
}
