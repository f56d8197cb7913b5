//! The one loop over a plan's steps.

use std::io::{BufWriter, Write as _};

use anyhow::Context;

use super::capacity::CapacitySchedule;
use super::error_log::{self, ErrorLogBaseline};
use super::monitor::RunMonitor;
use super::run_context::{FinishedRun, RunContext, RunEnd, RunOrigin};
use super::schedule::{BlockSchedule, ClearPredicate, RunSoFar, StepSchedule};
use super::settings::FirstStart;
use super::steps::{LoadOverrides, PlanStep, StepKind};
use super::sweep::SweepSchedule;
use super::system::SystemUnderTest;
use super::trial::{self, TrialPosition};
use super::waits::{self, WaitsWatch};
use super::{
    RunListener, counter_watch, facts, isolate, noise, pool_instances, preflight, resolved,
    settings, share,
};
use crate::analysis;
use crate::archive::{RunState, StepRecord, WarmedRecord};
use crate::base::{Clock as _, Stop, StopReason, private};
use crate::client::Target;
use crate::driver;
use crate::plan::{Mistakes, Plan, WarmPlan};
use crate::probe::noise::NoiseChecks;
use crate::recorder::Recording;
use crate::server::journal::Journal;
use crate::server::{ServerControl, Settings};
use crate::warm::{self, DumpPlan, WarmContext, WarmOutcome};
use crate::workload::{JobProgress, Workload};

/// Runs a plan to its end, its interruption or its failure; what was measured is in the run folder in all cases.
///
/// # Errors
/// What is wrong before the first step (no server, no data): no run folder is left then. Later errors are in the
/// folder and in what is returned.
pub fn run_plan(
    plan: &Plan,
    origin: impl Into<RunOrigin>,
    stop: &Stop,
    listener: &mut dyn RunListener,
) -> anyhow::Result<FinishedRun> {
    run_schedule(
        plan,
        &mut *build_schedule(plan, &|run| analysis::judge_interim(run).ends),
        origin,
        stop,
        listener,
    )
}

/// The script that a plan asks for. `is_clear` is for plans of variants, see `BlockSchedule`.
pub fn build_schedule<'a>(
    plan: &'a Plan,
    is_clear: ClearPredicate<'a>,
) -> Box<dyn StepSchedule + 'a> {
    if let Some(capacity) = &plan.capacity {
        return Box::new(CapacitySchedule::new(plan, capacity));
    }
    match &plan.sweep {
        Some(sweep) if sweep.is_load_axis() => Box::new(SweepSchedule::new(plan)),
        _ => Box::new(BlockSchedule::new(plan, is_clear)),
    }
}

/// What can be found wrong with a plan before any server is started or reached.
///
/// # Errors
/// All mistakes together; or when the sandbox's program can't be asked.
pub fn check_plan(plan: &Plan) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for checked in [
        preflight::check_plan_limits(plan),
        preflight::check_arrivals(plan),
        pool_instances::check_pool_instances(plan),
        settings::check_settings(plan),
        share::check_share(plan),
    ] {
        let Err(error) = checked else { continue };
        match error.downcast() {
            Ok(Mistakes(mistakes)) => all.extend(mistakes),
            Err(other) => return Err(other),
        }
    }
    if all.is_empty() { Ok(()) } else { Err(Mistakes(all).into()) }
}

/// The same with steps that a script names, one after the other.
///
/// # Errors
/// As `run_plan`.
pub fn run_schedule(
    plan: &Plan,
    schedule: &mut dyn StepSchedule,
    origin: impl Into<RunOrigin>,
    stop: &Stop,
    listener: &mut dyn RunListener,
) -> anyhow::Result<FinishedRun> {
    check_plan(plan)?;
    let environment = SystemUnderTest::from_plan(plan, stop)?;
    preflight::check_server_limits(plan, &environment, stop)?;
    waits::check_pattern(plan, &environment, stop)?;
    let record = facts::server_record(plan, &environment, stop)?;
    let workload = trial::build_workload(&plan.workload, environment.target().into())?;
    share::check_workload(plan, &*workload)?;
    isolate::check_isolation(plan, &*workload)?;
    driver::check_engine(&plan.load, &*workload)?;
    if !plan.prepare {
        workload.check_ready(stop)?;
    }
    let origin = origin.into();
    let care = noise::choose_noise_checks(plan, &origin.command);
    let run = RunContext::start_run(plan, origin, stop, listener)?;
    let dir = run.run_dir();
    run.notify_listener(|listener| listener.run_started(&dir));
    if let Some(note) = workload.load_note() {
        run.add_note(&note);
    }
    if let Some(server) = &record {
        run.notify_listener(|listener| listener.server_known(server));
    }
    if plan.blocks > 0 {
        let lock =
            resolved::resolve_plan(plan, &environment, record.as_ref(), &run.run_dir(), stop);
        run.lock_writer().write_plan_lock(&lock);
        run.notify_listener(|listener| listener.plan_resolved(&lock));
    }
    run.lock_writer().update_meta(|meta| meta.server = record);
    if !plan.prepare {
        facts::write_data_sizes(&run, plan, &environment);
        facts::write_reach(&run, &*workload);
        facts::write_load_place(&run, &*workload);
    }
    let result = std::thread::scope(|scope| {
        counter_watch::record_own_cost(plan, &environment, &run);
        let monitoring = RunMonitor::start_sampling(scope, plan, &environment, &run)?;
        let workload = &*workload;
        let mut walk = StepRunner {
            plan,
            run: &run,
            environment,
            workload,
            monitoring,
            settings: Settings::new(),
            first_start: None,
            journal: None,
            care,
            class_events: Vec::new(),
        };
        let complaints = ErrorLogBaseline::from_server(&mut walk.environment);
        let result = walk.run_steps(schedule);
        let result = error_log::explain_failure(result, &mut walk.environment, &run);
        if let Err(left) = workload.end_run() {
            run.add_note(&format!("{left:#}"));
        }
        complaints.save_new_lines(&mut walk.environment, &run);
        let back = walk.restore_variables();
        walk.monitoring.close();
        combine_results(result, back, &run)
    });
    Ok(run.end_run(result))
}

/// What a run came to, and whether everything was put back after it. What is left changed on a server stays in its journal,
/// of which whoever ends the program tells; it must not hide what stopped the run.
fn combine_results(
    result: anyhow::Result<RunEnd>,
    back: anyhow::Result<()>,
    run: &RunContext<'_>,
) -> anyhow::Result<RunEnd> {
    let Err(left) = back else { return result };
    run.add_note(&format!("{left:#}"));
    match result {
        Ok((RunState::Done, None)) => Err(left),
        stopped => stopped,
    }
}

/// The file of a load's statements in the run folder.
const STATEMENTS: &str = "load.sql";
/// A dump of the whole pool, of a server that is ours.
const DUMP_ALL: DumpPlan = DumpPlan { pct: Some(100), allowed: false };

/// A walk through the steps.
pub(super) struct StepRunner<'a, 'k, 'scope> {
    pub(super) plan: &'a Plan,
    pub(super) run: &'a RunContext<'k>,
    pub(super) environment: SystemUnderTest,
    pub(super) workload: &'a dyn Workload,
    pub(super) monitoring: RunMonitor<'scope>,
    /// The settings of the variant under way.
    pub(super) settings: Settings,
    /// What the server ran with when it was first restarted.
    pub(super) first_start: Option<FirstStart>,
    /// What was changed on a server that is not ours.
    pub(super) journal: Option<Journal>,
    /// How closely to look at the machine beside each load.
    pub(super) care: Option<NoiseChecks>,
    /// Good events of the last load, by class.
    pub(super) class_events: Vec<u64>,
}

impl StepRunner<'_, '_, '_> {
    /// All steps, until one says that it goes no further.
    fn run_steps(&mut self, schedule: &mut dyn StepSchedule) -> anyhow::Result<RunEnd> {
        let run = self.run;
        let so_far = RunSoFar::from_dir(run.run_dir());
        let mut number = 0;
        while let Some(step) = schedule.next_step(&so_far)? {
            number += 1;
            let of = schedule.expected_steps().max(number);
            let reached = run
                .record_step(&step, number, of, |record| self.run_measured_step(&step, record))
                .with_context(|| step.to_string())?;
            if reached.0 != RunState::Done {
                return Ok(reached);
            }
            if run.stop.is_set() {
                break;
            }
        }
        let alone = self.run_classes_alone(number)?;
        if alone.0 != RunState::Done {
            return Ok(alone);
        }
        Ok(match run.stop.reason() {
            Some(StopReason::Interrupted) => (RunState::Interrupted, None),
            _ => (RunState::Done, None),
        })
    }

    /// One step, with a raw look at server and host before and after.
    pub(super) fn run_measured_step(
        &mut self,
        step: &PlanStep,
        record: &mut StepRecord,
    ) -> anyhow::Result<RunEnd> {
        let noise = self.care.filter(|_| matches!(step.kind, StepKind::Load { .. }));
        let clock = self.run.clock;
        if let Some(care) = &noise {
            let pid = self.monitoring.server_pid(&self.environment);
            noise::record_noise(&mut record.noise, "before.", care, pid, self.run);
            record.began_ns = clock.now().0;
        }
        record.before = self.monitoring.read_counters(&self.environment, self.run);
        let result = self.run_step(step, record);
        // One that was just found silent is not asked again.
        let is_over = matches!(&result, Ok((RunState::Failed, _))) || self.run.stop.is_set();
        let is_gone = is_over && self.environment.target().is_some_and(Target::is_silent);
        if !is_gone {
            record.after = self.monitoring.read_counters(&self.environment, self.run);
        }
        if let Some(care) = noise.filter(|_| result.is_ok()) {
            record.ended_ns = Some(clock.now().0);
            let pid = self.monitoring.server_pid(&self.environment);
            noise::record_noise(&mut record.noise, "after.", &care, pid, self.run);
        }
        result
    }

    fn run_step(&mut self, step: &PlanStep, record: &mut StepRecord) -> anyhow::Result<RunEnd> {
        match &step.kind {
            StepKind::Prepare => self.prepare_data(),
            StepKind::CheckData { .. } => self.check_data(record),
            StepKind::Snapshot => self.take_snapshot(record),
            StepKind::Restore => self.restore_snapshot(record),
            StepKind::Reload => self.reload_data(),
            StepKind::Restart { settings, cold } => self.restart_server(settings, *cold, record),
            StepKind::Set { settings } => self.set_variables(settings, record),
            StepKind::Warm { plan } => self.warm_pool(plan, record),
            StepKind::Settle { most } => self.wait_until_settled(*most, record),
            StepKind::Dump => self.dump_pool(record),
            StepKind::WatchCost => self.measure_watch_cost(record),
            StepKind::WarmUp { over } => {
                let (run, plan) = (self.run, self.plan);
                let recording = trial::run_uncounted(run, plan, self.workload, over, record)?;
                return Ok(trial::confirm_run_end(&recording, &self.environment, run));
            }
            StepKind::Load { pass, over } => {
                return self.run_load(step, *pass, over, record.number);
            }
            StepKind::ClassLoad { class, round, .. } => {
                return self.run_class_alone(*class, *round, record);
            }
        }?;
        Ok((RunState::Done, None))
    }

    fn run_load(
        &mut self,
        step: &PlanStep,
        pass: u32,
        over: &LoadOverrides,
        number: u32,
    ) -> anyhow::Result<RunEnd> {
        let place = TrialPosition {
            variant: step.variant.clone(),
            block: step.block.max(1),
            pass,
            step: number,
            settings: self.settings.clone(),
            over: over.clone(),
            only_class: None,
        };
        let watch = WaitsWatch::start_planned(self.plan, self.run, &self.environment)?;
        let recording = self.run_watched_trial(&place)?;
        self.class_events = recording.total.classes.iter().map(|c| c.response.len()).collect();
        let reached = trial::confirm_run_end(&recording, &self.environment, self.run);
        let ended = watch
            .map_or(Ok(()), |watch| watch.write_and_restore(self.run, &trial::trial_id(&place)));
        combine_results(Ok(reached), ended, self.run)
    }

    /// A load while somebody looks at what it costs the server.
    pub(super) fn run_watched_trial(&mut self, place: &TrialPosition) -> anyhow::Result<Recording> {
        let (run, plan, workload) = (self.run, self.plan, self.workload);
        let mut watch = self.monitoring.start_cost_watch(&self.environment, run);
        let counters = &mut watch.counters;
        let result = trial::run_trial(run, plan, workload, place, &self.environment, counters);
        let back = self.monitoring.end_cost_watch(watch, run, &trial::trial_id(place));
        let recording = result?;
        if let Err(left) = back {
            // What cut the load must not be hidden.
            if recording.reason == StopReason::Done {
                return Err(left);
            }
            run.add_note(&format!("{left:#}"));
        }
        Ok(recording)
    }

    pub(super) fn prepare_data(&mut self) -> anyhow::Result<()> {
        trial::prepare_data(self.run, self.plan, self.workload)?;
        if self.run.stop.is_set() {
            return Ok(());
        }
        facts::write_data_sizes(self.run, self.plan, &self.environment);
        let before = self.workload.load_note();
        self.workload.check_ready(self.run.stop)?;
        // Some is known only once the data are there.
        if let Some(note) = self.workload.load_note().filter(|note| before.as_ref() != Some(note)) {
            self.run.add_note(&note);
        }
        facts::write_reach(self.run, self.workload);
        self.write_statements()
    }

    fn check_data(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let found = trial::check_data(self.run, self.plan, self.workload)?;
        record.notes.push(found.answer_text());
        record.data = Some(found);
        Ok(())
    }

    /// Keeps the statements of the load beside the run, where it has a list of them, for other tools to run.
    fn write_statements(&self) -> anyhow::Result<()> {
        let path = self.run.run_dir().join(STATEMENTS);
        // Those of an earlier prepare of this run.
        let _ = std::fs::remove_file(&path);
        let file =
            private::create_file(&path).with_context(|| format!("make {}", path.display()))?;
        let mut out = BufWriter::new(file);
        let any =
            self.workload.write_statements(&mut out).context("write the load's statements")?;
        out.flush().with_context(|| format!("write {}", path.display()))?;
        if !any {
            std::fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
        Ok(())
    }

    fn warm_pool(&mut self, plan: &WarmPlan, record: &mut StepRecord) -> anyhow::Result<()> {
        let strategy = warm::find_strategy(&plan.strategy)?;
        let warmed = self.with_warm_context(|scene| strategy.warm(&plan.options, scene))?;
        for note in &warmed.notes {
            self.run.add_note(note);
        }
        record.warmed = Some(warmed_record(&plan.strategy, warmed));
        Ok(())
    }

    /// Has the server write down which pages its pool holds, all of them.
    fn dump_pool(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let dumped = self.with_warm_context(|scene| warm::request_pool_dump(&DUMP_ALL, scene))?;
        record.notes.extend(dumped.pages.map(|pages| format!("{pages} pages saved")));
        record.notes.extend(dumped.notes);
        Ok(())
    }

    /// What the room `warm_pool` works with.
    fn with_warm_context<T>(
        &mut self,
        work: impl FnOnce(&mut WarmContext<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let target = self.environment.target().context("there is no server to warm")?.clone();
        let run = self.run;
        let mut progress = |p: JobProgress| run.report_progress(&p);
        let control = self.environment.control().map(|control| control as &mut dyn ServerControl);
        let (clock, stop, progress) = (run.clock, run.stop, &mut progress);
        work(&mut WarmContext { target: &target, control, clock, stop, progress })
    }
}

fn warmed_record(strategy: &str, warmed: WarmOutcome) -> WarmedRecord {
    WarmedRecord {
        strategy: strategy.to_owned(),
        seconds: warmed.seconds,
        pages_before: warmed.pages_before,
        pages_after: warmed.pages_after,
        pages_read: warmed.pages_read,
        bytes_read: warmed.bytes_read,
        notes: warmed.notes,
    }
}
