//! Runs a plan: a pure list of steps, and the one loop over them. bench, warm and demo are all plans run by this.
//! Never knows: clap, formats, colours.
//! Start reading at `steps`, then `run`. To add a step: a `StepKind`, its line in `run::StepRunner::run_step`.

mod bare_load;
mod capacity;
mod change;
mod counter_watch;
mod crash;
pub mod doctor;
mod dry_run;
mod error_log;
mod estimate;
mod facts;
mod isolate;
mod machine;
mod monitor;
mod noise;
mod order;
mod pool_instances;
mod preflight;
mod resolved;
mod run;
mod run_context;
mod schedule;
mod settings;
mod settle;
mod share;
mod slap;
mod statement_log;
mod steps;
mod sweep;
mod system;
mod trial;
mod waits;
mod watch;
mod watch_cost;

pub use bare_load::{LoadListener, NoSessionError, run_bare_load};
pub use capacity::find_scale;
pub use change::SET_GLOBAL;
pub use crash::{CrashPlan, run_crashes};
pub use dry_run::{DryRunStep, dry_run_steps};
pub use estimate::{RemainingTime, TimeEstimate, estimate_time};
pub use order::variant_order;
pub use pool_instances::least_pool_bytes;
pub use preflight::raise_file_limit;
pub use run::{build_schedule, check_plan, run_plan, run_schedule};
pub use run_context::{AgentOrigin, FinishedRun, RunOrigin, describe_run};
pub use schedule::{BlockSchedule, ClearPredicate, RunSoFar, StepSchedule};
pub use slap::{
    AroundRounds, QueryCount, RoundData, SlapArchive, SlapEngine, SlapEvent, SlapFailure,
    SlapObserver, SlapPlan, run_archived_slap, run_slap,
};
pub use steps::{
    LoadOverrides, PlanStep, StepKind, block_count, block_steps, first_steps, plan_steps,
};
pub use watch::{FinishedWatch, WatchCost, WatchListener, run_watch};
pub use watch_cost::WatchCostSchedule;

use std::path::Path;

use crate::analysis::SteadyOutlook;
use crate::archive::{PlanLock, ServerRecord};
use crate::probe::ProbeSample;
use crate::recorder::Interval;
use crate::workload::JobProgress;

/// How far an agent is that runs a share of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentProgress {
    /// Its name.
    pub name: String,
    /// Good events per second of the last interval that it has told.
    pub events_per_s: f64,
    /// Their p99, seconds; `None` if there was no event.
    pub p99_s: Option<f64>,
    /// How many intervals it has told less than the first of all.
    pub behind: u64,
    /// Why it is lost; `None` while it takes part.
    pub lost: Option<String>,
}

impl AgentProgress {
    /// Whether it is further behind than by the interval that one is always the first to tell.
    pub fn is_late(&self) -> bool {
        self.behind > 1
    }
}

/// Told what goes on while a plan runs; `cli` shows it. All methods may be left out.
pub trait RunListener: Send {
    /// The run has this folder.
    fn run_started(&mut self, _folder: &Path) {}
    /// The server is known.
    fn server_known(&mut self, _server: &ServerRecord) {}
    /// What the plan came to is known.
    fn plan_resolved(&mut self, _lock: &PlanLock) {}
    /// A step begins; `number` counts from 1.
    fn step_started(&mut self, _step: &PlanStep, _number: usize, _of: usize) {}
    /// A step is through.
    fn step_ended(&mut self, _step: &PlanStep, _seconds: f64) {}
    /// How far a longer step is.
    fn step_progressed(&mut self, _progress: &JobProgress) {}
    /// A load begins with these classes.
    fn load_started(&mut self, _classes: &[String]) {}
    /// How far the load is, and with what, just before an interval of it is over.
    fn load_progressed(&mut self, _progress: &JobProgress) {}
    /// An interval of the load is over.
    fn interval_ended(&mut self, _interval: &Interval) {}
    /// Agents run the load, and one of them has told more or is lost.
    fn agents_changed(&mut self, _agents: &[AgentProgress]) {}
    /// The load is to run until it is steady, and this is how it looks.
    fn outlook_changed(&mut self, _outlook: &SteadyOutlook) {}
    /// A probe has looked.
    fn sample_taken(&mut self, _sample: &ProbeSample) {}
    /// Something worth a line.
    fn note_added(&mut self, _text: &str) {}
}

/// A listener that listens to nothing.
pub struct NullListener;

impl RunListener for NullListener {}
