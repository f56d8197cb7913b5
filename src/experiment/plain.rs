//! The plainest experiment: one load against a server that runs already, or none. The loop over steps takes its place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;

use super::Listener;
use crate::archive::{Meta, RunState, Trial, Writer};
use crate::base::{Clock, RealClock, Stop, StopReason};
use crate::driver;
use crate::plan::{self, ArrivalPlan, LoadPlan, Plan, TargetPlan};
use crate::recorder::{ErrorKind, Recording};
use crate::target::Target;
use crate::workload::KINDS;

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// The run folder.
    pub dir: PathBuf,
    /// How far it came.
    pub state: RunState,
    /// What stopped it, if anything did.
    pub error: Option<anyhow::Error>,
}

/// Runs a plan to its end, its interruption or its failure; in all three cases what was measured is in the folder.
///
/// # Errors
/// For what is wrong before the load. Nothing was measured then.
pub fn run(plan: &Plan, stop: &Stop, listener: &mut dyn Listener) -> anyhow::Result<Finished> {
    let clock = RealClock::start();
    let target = match &plan.target {
        TargetPlan::Address(address) => Some(Target::new(address)?),
        TargetPlan::None | TargetPlan::Sandbox(_) => None,
    };
    let kind = KINDS.iter().find(|k| k.name() == plan.workload.kind);
    let kind = kind.context("there is no workload of that name")?;
    let workload = kind.build(&plan.workload.options, target.as_ref())?;
    workload.check()?;
    let meta = Meta {
        name: plan.name.clone(),
        command: "bench".to_owned(),
        origin_unix_ns: clock.origin_unix_ns(),
        seed: plan.seed,
        host: super::machine::facts(),
        ..Meta::default()
    };
    let mut writer = Writer::create(&plan.runs_dir, meta, &plan::write(plan))?;
    let classes = workload.classes();
    listener.load_began(&classes);
    writer.begin_trial(describe(plan, classes));
    let mut on_interval = |interval: &_| {
        writer.interval(interval);
        listener.interval(interval);
    };
    let result = driver::run(&plan.load, plan.seed, &*workload, clock, stop, &mut on_interval);
    let (state, error) = match result {
        Ok(recording) => {
            writer.end_trial(&recording);
            reached(&recording)
        }
        Err(error) => (RunState::Failed, Some(error)),
    };
    let dir = writer.dir().to_owned();
    writer.close(state, error.as_ref().map(|e| format!("{e:#}")), clock.now())?;
    Ok(Finished { dir, state, error })
}

fn reached(recording: &Recording) -> (RunState, Option<anyhow::Error>) {
    let lost = || {
        let error = recording.errors.iter().find(|e| e.error.kind != ErrorKind::Server);
        let text = error.map_or("the connection is gone", |e| e.first_text.as_str());
        anyhow::anyhow!("the server went away during the load: {text}")
    };
    let failure = || recording.failure.clone().map(anyhow::Error::msg);
    match recording.reason {
        StopReason::Done => (RunState::Done, None),
        StopReason::Interrupted => (RunState::Interrupted, None),
        StopReason::TargetLost => (RunState::Failed, Some(lost())),
        StopReason::Failed => (RunState::Failed, failure()),
    }
}

fn describe(plan: &Plan, classes: Vec<String>) -> Trial {
    let options: BTreeMap<String, String> =
        plan.workload.options.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Trial {
        id: "01-load-1".to_owned(),
        pass: 1,
        step: 1,
        workload: plan.workload.kind.clone(),
        options,
        arrival: arrival(&plan.load),
        workers: plan.load.workers,
        classes,
        ..Trial::default()
    }
}

fn arrival(load: &LoadPlan) -> String {
    match load.arrival {
        ArrivalPlan::Closed { .. } => "closed".to_owned(),
        ArrivalPlan::Constant { per_second } => format!("constant {per_second}/s"),
        ArrivalPlan::Poisson { per_second } => format!("poisson {per_second}/s"),
    }
}
