//! How the load of a round is run: by itself, or as a trial of a run folder.

use std::path::PathBuf;

use super::super::bare_load::{LoadListener, run_bare_load};
use super::super::monitor::RunMonitor;
use super::super::run_context::{FinishedRun, RunContext, RunOrigin};
use super::super::steps::{LoadOverrides, PlanStep, StepKind};
use super::super::system::SystemUnderTest;
use super::super::trial::{self, TrialPosition};
use super::super::{NullListener, counter_watch, facts};
use super::{SlapFailure, SlapObserver, SlapPlan, run_rounds};
use crate::archive::{CounterLook, RunState};
use crate::base::{Clock as _, RealClock, Stop, StopReason};
use crate::client::{self, Target};
use crate::driver;
use crate::plan::{LoadPlan, Plan, THREADS, TargetPlan, WorkloadPlan};
use crate::recorder::{Interval, Recording};
use crate::workload::slap::SlapWorkload;

/// What the record calls the workload: no kind has this name, as no plan can hold its rounds.
const WORKLOAD: &str = "slap";
/// Stands in place of a plan.
const NO_PLAN: &str =
    "# Rounds of `sweat slap`, which no plan file holds: meta.json has the command line.\n";

/// Where a run is kept.
#[derive(Clone, Debug)]
pub struct SlapArchive {
    /// Folder of run folders.
    pub runs_dir: PathBuf,
    /// What it is called.
    pub name: String,
    /// What it was asked by.
    pub origin: RunOrigin,
}

/// Which round it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundPlace<'a> {
    /// The engine's name; empty if none was named.
    pub(super) engine: &'a str,
    pub(super) clients: usize,
    /// Of this engine and these clients, from 1.
    pub(super) pass: u32,
}

/// The load of a round: how long it took from before the first connect to behind the last close, seconds, and what came of it.
pub(super) struct RoundLoad {
    pub(super) seconds: f64,
    pub(super) ran: anyhow::Result<Recording>,
}

/// Runs the loads of rounds.
pub(super) trait RoundLoader {
    fn run_load(
        &mut self,
        place: RoundPlace<'_>,
        load: &LoadPlan,
        workload: &SlapWorkload,
        stop: &Stop,
    ) -> RoundLoad;
}

/// Keeps nothing.
pub(super) struct BareLoader;

impl RoundLoader for BareLoader {
    fn run_load(
        &mut self,
        _place: RoundPlace<'_>,
        load: &LoadPlan,
        workload: &SlapWorkload,
        stop: &Stop,
    ) -> RoundLoad {
        let clock = RealClock::start_now();
        let listener = LoadListener { started: &mut || (), interval: &mut |_| () };
        let began = clock.now();
        let ran = run_bare_load(load, clock.origin_unix_ns(), workload, stop, listener);
        RoundLoad { seconds: clock.now().since(began).to_seconds(), ran }
    }
}

/// Runs all rounds as `run_slap` does, and keeps them in a run folder, with samples of server and host meanwhile.
///
/// # Errors
/// When the server does not answer, or there is no folder. What stopped the rounds is in the result.
pub fn run_archived_slap(
    plan: &SlapPlan,
    target: &Target,
    archive: SlapArchive,
    observer: &SlapObserver,
    stop: &Stop,
) -> anyhow::Result<FinishedRun> {
    let server = facts::target_record(target, stop).map_err(connect_failure)?;
    let run_plan = run_plan(plan, target, &archive);
    let environment = SystemUnderTest::from_plan(&run_plan, stop)?;
    let mut listener = NullListener;
    let run = RunContext::start_with_text(&run_plan, NO_PLAN, archive.origin, stop, &mut listener)?;
    run.lock_writer().update_meta(|meta| {
        meta.server = Some(server);
        meta.asked.axis = is_sweep(plan).then(|| THREADS.to_owned());
    });
    facts::write_data_sizes(&run, &run_plan, &environment);
    let ran = std::thread::scope(|scope| {
        counter_watch::record_own_cost(&run_plan, &environment, &run);
        let monitor = RunMonitor::start_sampling(scope, &run_plan, &environment, &run)?;
        let mut loader = ArchivedLoader {
            run: &run,
            plan: run_plan.clone(),
            environment: &environment,
            monitor,
            names_engines: plan.engines.len() > 1,
            names_clients: plan.clients.len() > 1,
            is_sweep: is_sweep(plan),
            number: 0,
        };
        let ran = run_rounds(plan, Some(target), &mut loader, observer, stop);
        loader.monitor.close();
        ran
    });
    let state = match &ran {
        Ok(()) if stop.reason() == Some(StopReason::Interrupted) => RunState::Interrupted,
        Ok(()) => RunState::Done,
        Err(_) => RunState::Failed,
    };
    Ok(run.end_run(Ok((state, ran.err()))))
}

/// The plan of a run whose steps are not a plan's.
fn run_plan(plan: &SlapPlan, target: &Target, archive: &SlapArchive) -> Plan {
    Plan {
        name: archive.name.clone(),
        seed: RealClock::start_now().origin_unix_ns(),
        target: TargetPlan::Address(target.plan().clone()),
        workload: WorkloadPlan { kind: WORKLOAD.to_owned(), ..WorkloadPlan::default() },
        load: plan.pace.clone(),
        runs_dir: archive.runs_dir.clone(),
        ..Plan::default()
    }
}

/// Whether the rounds differ in nothing but their clients.
fn is_sweep(plan: &SlapPlan) -> bool {
    plan.clients.len() > 1 && plan.engines.len() < 2
}

fn connect_failure(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<client::Error>() {
        Ok(error) => SlapFailure::Connect(error).into(),
        Err(other) => other,
    }
}

/// Keeps each round as a trial, and looks at server and host before and after it.
struct ArchivedLoader<'r, 'k, 'scope> {
    run: &'r RunContext<'k>,
    plan: Plan,
    environment: &'r SystemUnderTest,
    monitor: RunMonitor<'scope>,
    names_engines: bool,
    names_clients: bool,
    is_sweep: bool,
    /// Of the last round.
    number: u32,
}

impl ArchivedLoader<'_, '_, '_> {
    /// What tells a round from those with another engine or number of clients.
    fn variant_name(&self, place: RoundPlace<'_>) -> String {
        let clients = match place.clients {
            1 => "1 client".to_owned(),
            clients => format!("{clients} clients"),
        };
        match (self.names_engines, self.names_clients) {
            (true, true) => format!("{}, {clients}", place.engine),
            (true, false) => place.engine.to_owned(),
            (false, true) => clients,
            (false, false) => String::new(),
        }
    }

    /// The load itself, as the open trial.
    fn run_trial(
        &mut self,
        load: &LoadPlan,
        workload: &SlapWorkload,
        stop: &Stop,
        id: &str,
    ) -> RoundLoad {
        let run = self.run;
        let mut watch = self.monitor.start_cost_watch(self.environment, run);
        let write_looks = |looks: Vec<CounterLook>| {
            let mut writer = run.lock_writer();
            looks.iter().for_each(|look| writer.write_look(look));
        };
        let began = run.clock.now();
        let ran = {
            let mut on_interval = |interval: &Interval| {
                run.lock_writer().write_interval(interval);
                if let Some(watch) = &mut watch.counters {
                    watch.note_interval(interval);
                    write_looks(watch.take_looks());
                }
            };
            driver::run_load(load, self.plan.seed, workload, run.clock, stop, &mut on_interval)
        };
        let seconds = run.clock.now().since(began).to_seconds();
        if let Some(counters) = &mut watch.counters {
            write_looks(counters.end_load());
        }
        match &ran {
            Ok(recording) => run.lock_writer().end_trial(recording),
            Err(error) => run.add_note(&format!("{error:#}")),
        }
        let back = self.monitor.end_cost_watch(watch, run, id);
        back.unwrap_or_else(|left| run.add_note(&format!("{left:#}")));
        RoundLoad { seconds, ran }
    }
}

impl RoundLoader for ArchivedLoader<'_, '_, '_> {
    fn run_load(
        &mut self,
        place: RoundPlace<'_>,
        load: &LoadPlan,
        workload: &SlapWorkload,
        stop: &Stop,
    ) -> RoundLoad {
        self.number += 1;
        let variant = self.variant_name(place);
        let over = LoadOverrides {
            workers: Some(place.clients),
            value: self.is_sweep.then_some(place.clients as f64),
            ..LoadOverrides::default()
        };
        let position = TrialPosition {
            variant: variant.clone(),
            pass: place.pass,
            block: 1,
            step: self.number,
            over: over.clone(),
            ..TrialPosition::default()
        };
        let kind = StepKind::Load { pass: place.pass, over };
        let step = PlanStep { block: 0, variant, kind };
        let (run, number) = (self.run, self.number as usize);
        let trial = trial::describe_trial(run, &self.plan, workload, &position, load);
        // Each round draws other keys.
        self.plan.seed = self.plan.seed.wrapping_add(1);
        let id = trial.id.clone();
        let ran = run.record_step(&step, number, number, |record| {
            record.before = self.monitor.read_counters(self.environment, run);
            run.lock_writer().start_trial(trial);
            let ran = self.run_trial(load, workload, stop, &id);
            record.after = self.monitor.read_counters(self.environment, run);
            Ok(ran)
        });
        ran.unwrap_or_else(|error| RoundLoad { seconds: 0.0, ran: Err(error) })
    }
}
