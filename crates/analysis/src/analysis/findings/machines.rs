//! What each of several machines measured of a load that they shared.

use serde::Serialize;

use crate::archive::RunState;

/// One machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineFinding {
    /// The host's name.
    pub name: String,
    /// Its share, as typed: `2/3`.
    pub share: String,
    /// The load of a run of several, by its id; empty where the run is one load.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Where its own run folder is, below the merged one.
    pub folder: String,
    /// How far its run came.
    pub state: RunState,
    /// Workers.
    pub workers: usize,
    /// How long after the first machine its load began, seconds.
    pub started_s: f64,
    /// How far its clock may have been from the coordinator's, if it was an agent, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_bound_s: Option<f64>,
    /// Length of its load, seconds.
    pub seconds: f64,
    /// Good events.
    pub events: u64,
    /// Failed events.
    pub failed: u64,
    /// Good events per second.
    pub events_per_s: Option<f64>,
    /// Median response time, seconds.
    pub p50_s: Option<f64>,
    /// 99th percentile, seconds.
    pub p99_s: Option<f64>,
    /// 99th percentile of the lateness of its own making, seconds; the longest where there are too few for one.
    pub lateness_p99_s: Option<f64>,
    /// CPU time by wall time and threads, 0 to 1.
    pub cpu_share: Option<f64>,
}
