//! One load of a run, from the workload's check to its recording in the run folder.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::counter_watch::CounterWatch;
use super::facts;
use super::run_context::{RunContext, RunEnd};
use super::steps::LoadOverrides;
use super::system::SystemUnderTest;
use crate::analysis::SteadyWatcher;
use crate::archive::{
    ArrivalKind, ArrivalRecord, CounterLook, DealtSessions, RunState, SHARE_TEXT, ShareRecord,
    StageRecord, StepRecord, Trial,
};
use crate::base::units::show_time;
use crate::base::{Clock, Nanos, StartSignal, StopReason, kernel};
use crate::driver::{self, SilenceWatch};
use crate::plan::{
    ArrivalPlan, ArrivalSpacing, LoadPlan, LoadShare, Plan, RateStage, WorkloadPlan,
};
use crate::recorder::{DataVerdicts, Interval, Recording, WorkloadFacts};
use crate::server::Settings;
use crate::workload::{self, DataJob, Endpoint, JobProgress, Workload};

/// Which load of a run this is.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialPosition {
    /// The variant it belongs to; empty if there are no variants.
    pub(super) variant: String,
    /// Which run in the variant, from 1.
    pub(super) pass: u32,
    /// Which repeat of the experiment, from 1.
    pub(super) block: u32,
    /// Number of its step.
    pub(super) step: u32,
    /// The settings of its variant.
    pub(super) settings: Settings,
    /// What is not as in the plan's load.
    pub(super) over: LoadOverrides,
    /// The class that runs alone, if one does: its place and its name.
    pub(super) only_class: Option<(usize, String)>,
}

/// Builds the workload of a plan.
///
/// # Errors
/// When there is none of that name, or it doesn't fit the endpoint.
pub(super) fn build_workload(
    plan: &WorkloadPlan,
    endpoint: Endpoint<'_>,
) -> anyhow::Result<Box<dyn Workload>> {
    workload::build_workload(&plan.kind, &plan.options, endpoint)
        .with_context(|| format!("workload {}", plan.kind))
}

/// Makes the workload's data.
///
/// # Errors
/// When the server refuses.
pub(super) fn prepare_data(
    run: &RunContext<'_>,
    plan: &Plan,
    workload: &dyn Workload,
) -> anyhow::Result<()> {
    with_data_job(run, plan, |job| workload.prepare_data(job))
}

/// Holds the workload's data against its rules.
///
/// # Errors
/// When the server refuses.
pub(super) fn check_data(
    run: &RunContext<'_>,
    plan: &Plan,
    workload: &dyn Workload,
) -> anyhow::Result<DataVerdicts> {
    with_data_job(run, plan, |job| workload.check_data(job))
}

fn with_data_job<T>(
    run: &RunContext<'_>,
    plan: &Plan,
    work: impl FnOnce(&mut DataJob<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut progress = |p| run.report_progress(&p);
    work(&mut DataJob {
        threads: plan.load.workers.max(kernel::core_count()),
        seed: plan.seed,
        stop: run.stop,
        progress: &mut progress,
    })
}

/// Runs the load of a plan once and keeps its recording.
///
/// # Errors
/// When no session could be opened. A load that was cut by the user or a lost target is no error: see
/// `Recording::reason`.
pub(super) fn run_trial(
    run: &RunContext<'_>,
    plan: &Plan,
    workload: &dyn Workload,
    place: &TrialPosition,
    environment: &SystemUnderTest,
    watch: &mut Option<CounterWatch>,
) -> anyhow::Result<Recording> {
    // Where there is less than was asked for, the record says how much there was.
    let scale = place.over.scale.map(|scale| workload.set_scale(scale) as f64);
    let load = load_at(plan, place);
    let trial = describe_trial(run, plan, workload, place, &load);
    let classes = trial.classes.clone();
    let dealt = dealt_sessions(&load, environment);
    run.lock_writer().start_trial(Trial { value: scale.or(trial.value), dealt, ..trial });
    // What runs class by class is no load that anybody watches.
    let is_shown = place.only_class.is_none();
    if is_shown {
        run.notify_listener(|listener| listener.load_started(&classes));
    }
    let stop = run.stop.child_stop();
    *run.lock_watcher() = load.until_steady.then(SteadyWatcher::new);
    let mut silence = environment.target().cloned().and_then(|target| {
        let patience = target.control_time();
        SilenceWatch::for_load(&load, patience, &stop, move |stop| target.is_answering(stop))
    });
    let mut on_interval = |interval: &_| {
        silence.iter_mut().for_each(|watch| watch.note_interval(interval));
        run.lock_writer().write_interval(interval);
        if let Some(watch) = watch.as_mut() {
            watch.note_interval(interval);
            write_looks(run, watch.take_looks());
        }
        if is_shown {
            let progress = workload.load_progress();
            run.notify_listener(|listener| {
                progress.iter().for_each(|progress| listener.load_progressed(progress));
                listener.interval_ended(interval);
            });
        }
        let outlook =
            run.lock_watcher().as_mut().and_then(|watcher| watcher.add_interval(interval));
        if let Some(outlook) = outlook {
            run.notify_listener(|listener| listener.outlook_changed(&outlook));
            if outlook.enough {
                stop.set(StopReason::Done);
            }
        }
    };
    // Both ways of a block draw the same numbers, each block others.
    let seed = plan.seed.wrapping_add(u64::from(place.block.max(1) - 1));
    workload.start_load();
    let recording = driver::run_load(&load, seed, workload, run.clock, &stop, &mut on_interval);
    *run.lock_watcher() = None;
    write_looks(run, watch.as_mut().map_or_else(Vec::new, CounterWatch::end_load));
    let mut recording = recording?;
    note_late_start(run, &load, &recording);
    recording.audit = workload.audit_load();
    recording.figures = workload.load_figures();
    run.lock_writer().end_trial(&recording);
    write_replay_totals(run, workload, place, environment)?;
    Ok(recording)
}

/// What is known of a load before it begins, which is now.
pub(super) fn describe_trial(
    run: &RunContext<'_>,
    plan: &Plan,
    workload: &dyn Workload,
    place: &TrialPosition,
    load: &LoadPlan,
) -> Trial {
    let options = recorded_options(&plan.workload, workload);
    let facts = declare_facts(&plan.workload.kind, &options);
    let arrival = arrival_record(load, &facts);
    Trial {
        id: trial_id(place),
        variant: place.variant.clone(),
        pass: place.pass,
        block: place.block,
        value: place.over.value,
        settings: place.settings.iter().cloned().collect(),
        step: place.step,
        only_class: place.only_class.as_ref().map(|(_, name)| name.clone()),
        workload: plan.workload.kind.clone(),
        facts: Some(facts),
        options,
        arrival,
        offered_per_s: offered_rate(load),
        workers: load.own_workers().len(),
        share: share_record(load),
        stages: stage_records(load),
        classes: workload.class_names(),
        event_steps: workload.step_names(),
        began_ns: run.clock.now().0,
        ..Trial::default()
    }
}

/// What a workload that repeats a recording keeps of a load beside its times.
///
/// # Errors
/// What was wrong with its input.
fn write_replay_totals(
    run: &RunContext<'_>,
    workload: &dyn Workload,
    place: &TrialPosition,
    environment: &SystemUnderTest,
) -> anyhow::Result<()> {
    let Some(recorded) = workload.as_recorded() else { return Ok(()) };
    if let Some(replayed) = recorded.replay_totals() {
        run.lock_writer().write_replay(&trial_id(place), &replayed);
        facts::write_round_trip(run, environment);
    }
    recorded.input_mistake().map_or(Ok(()), |mistake| Err(mistake.into()))
}

/// The plan's load as it runs here.
fn load_at(plan: &Plan, place: &TrialPosition) -> LoadPlan {
    let mut load = apply_overrides(&plan.load, &place.over);
    let Some((class, _)) = &place.only_class else { return load };
    load.only_class = Some(*class);
    (load.events, load.until_steady) = (None, false);
    // Enough intervals for a middle.
    load.interval = load.time.map_or(load.interval, |time| load.interval.min(time / 10));
    load
}

fn write_looks(run: &RunContext<'_>, looks: Vec<CounterLook>) {
    let mut writer = run.lock_writer();
    looks.iter().for_each(|look| writer.write_look(look));
}

/// Runs the load of a plan and keeps nothing of it but a note in the step's record.
///
/// # Errors
/// When no session could be opened.
pub(super) fn run_uncounted(
    run: &RunContext<'_>,
    plan: &Plan,
    workload: &dyn Workload,
    over: &LoadOverrides,
    record: &mut StepRecord,
) -> anyhow::Result<Recording> {
    let mut load = apply_overrides(&plan.load, over);
    (load.events, load.until_steady) = (None, false);
    (load.start_at_unix_ns, load.start_signal) = (None, None);
    let total = load.time.map_or(0, |time| time.as_secs());
    let (began, mut events) = (run.clock.now(), 0);
    let stop = run.stop.child_stop();
    let mut on_interval = |interval: &Interval| {
        events += interval.event_count();
        let done = interval.ended.since(began).to_seconds() as u64;
        let label = "not counted".to_owned();
        run.report_progress(&JobProgress { label, done, total, unit: "s" });
    };
    // Other numbers than those of the loads, or the same rows would come twice.
    let seed = !plan.seed;
    let recording = driver::run_load(&load, seed, workload, run.clock, &stop, &mut on_interval)?;
    record.notes.push(format!("{events} events that do not count"));
    Ok(recording)
}

/// The plan's load with what is different in this one.
pub(super) fn apply_overrides(plan: &LoadPlan, over: &LoadOverrides) -> LoadPlan {
    let mut load = plan.clone();
    load.workers = over.workers.unwrap_or(load.workers);
    load.time = over.time.or(load.time);
    load.arrival = match (over.per_second, load.arrival) {
        (None, arrival) => arrival,
        (
            Some(per_second),
            ArrivalPlan::Constant { .. }
            | ArrivalPlan::Stages { spacing: ArrivalSpacing::Constant, .. },
        ) => ArrivalPlan::Constant { per_second },
        (Some(per_second), _) => ArrivalPlan::Poisson { per_second },
    };
    load
}

/// A load that starts later than this after its time says so.
const LATE_START: Nanos = Nanos(5_000_000);

/// Notes that the sessions were not open at the time at which the load was to start.
fn note_late_start(run: &RunContext<'_>, load: &LoadPlan, recording: &Recording) {
    let named = load.start_signal.as_ref().and_then(StartSignal::named_start);
    let Some(at) = named.or(load.start_at_unix_ns) else { return };
    let late = Nanos(run.clock.unix_ns(recording.total.began)).since(Nanos(at));
    if late > LATE_START && recording.workers > recording.unopened.len() {
        let seconds = late.to_seconds();
        run.add_note(&format!("the load started {seconds:.3} s after the time that was set"));
    }
}

/// What of the load this is, if several machines share it.
fn share_record(load: &LoadPlan) -> Option<ShareRecord> {
    let share = load.share.as_ref()?;
    Some(ShareRecord {
        text: share.to_string(),
        number: share.number(),
        weights: share.weights().to_vec(),
        first_worker: load.own_workers().start,
        all_workers: load.workers,
    })
}

/// The servers that the sessions go to, where there are several.
fn dealt_sessions(load: &LoadPlan, environment: &SystemUnderTest) -> Vec<DealtSessions> {
    let all = environment.target().map(|target| target.dealt_sessions(load.own_workers()));
    let one = |(server, sessions)| DealtSessions { server, sessions };
    all.into_iter().flatten().map(one).collect()
}

/// The part of a load that is run here, 0 to 1.
fn own_fraction(load: &LoadPlan) -> f64 {
    load.share.as_ref().map_or(1.0, LoadShare::fraction)
}

/// Events per second that an open loop offers here, over all of the load.
fn offered_rate(load: &LoadPlan) -> Option<f64> {
    let whole = match &load.arrival {
        ArrivalPlan::Closed { .. } => None,
        ArrivalPlan::Constant { per_second } | ArrivalPlan::Poisson { per_second } => {
            Some(*per_second)
        }
        ArrivalPlan::Stages { stages, .. } => Some(stages.mean_rate()),
    };
    whole.map(|rate| rate * own_fraction(load))
}

/// The stages of a rate that changes, for the record.
fn stage_records(load: &LoadPlan) -> Vec<StageRecord> {
    let record = |stage: &RateStage| StageRecord {
        seconds: stage.time.as_secs_f64(),
        from_per_s: stage.from * own_fraction(load),
        to_per_s: stage.to * own_fraction(load),
    };
    load.arrival.stages().map_or_else(Vec::new, |s| s.as_slice().iter().map(record).collect())
}

/// How far a run came whose load ended like this. Events that were given up may have been long ones, or a server that does
/// not answer any more: it is asked.
pub(super) fn confirm_run_end(
    recording: &Recording,
    environment: &SystemUnderTest,
    run: &RunContext<'_>,
) -> RunEnd {
    let reached = run_end(recording);
    let Some(target) = environment.target().filter(|_| recording.abandoned > 0) else {
        return reached;
    };
    let is_known = recording.reason == StopReason::TargetLost && target.is_silent();
    target.mark_silent();
    let answers = !is_known && target.is_answering(run.stop);
    if answers || run.stop.is_set() {
        return reached;
    }
    let given_up = recording.abandoned;
    let why = anyhow::anyhow!("the server no longer answers; {given_up} events were given up");
    (RunState::Failed, Some(why))
}

/// How far a run came whose load ended like this.
pub(super) fn run_end(recording: &Recording) -> RunEnd {
    let lost = || {
        let error = recording.errors.iter().find(|e| e.error.kind.ends_session());
        let text = error.map_or("the connection is gone", |e| e.first_text.as_str());
        anyhow::anyhow!("the server went away during the load: {text}")
    };
    match recording.reason {
        StopReason::Done => (RunState::Done, None),
        StopReason::Interrupted => (RunState::Interrupted, None),
        StopReason::TargetLost => (RunState::Failed, Some(lost())),
        StopReason::Failed => (RunState::Failed, recording.failure.clone().map(anyhow::Error::msg)),
    }
}

/// `01-none-1`; without variants `01-1`.
pub(super) fn trial_id(place: &TrialPosition) -> String {
    let variant =
        if place.variant.is_empty() { String::new() } else { format!("{}-", place.variant) };
    if let Some((_, class)) = &place.only_class {
        return format!("{:02}-alone-{class}-{}", place.step, place.pass);
    }
    format!("{:02}-{variant}{}", place.step, place.pass)
}

/// The workload's options, with what its data were found to be where nothing was told.
fn recorded_options(plan: &WorkloadPlan, workload: &dyn Workload) -> BTreeMap<String, String> {
    let found = workload.data_reach().map(|reach| reach.options).unwrap_or_default();
    let told = plan.options.iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
    found.into_iter().chain(told).collect()
}

/// What the workload of this name declares of itself under these options.
pub(super) fn declare_facts(kind: &str, options: &BTreeMap<String, String>) -> WorkloadFacts {
    workload::declare_facts(kind, options.iter().map(|(name, value)| (&**name, &**value)))
}

/// The load's arrival, for the record.
fn arrival_record(load: &LoadPlan, facts: &WorkloadFacts) -> ArrivalRecord {
    let text = arrival_text(load);
    let kind = match &load.arrival {
        ArrivalPlan::Closed { think } if facts.has_own_pace => {
            return ArrivalRecord::closed(think.as_secs_f64(), "the workload's own pace");
        }
        ArrivalPlan::Closed { think } => return ArrivalRecord::closed(think.as_secs_f64(), &text),
        ArrivalPlan::Constant { .. }
        | ArrivalPlan::Stages { spacing: ArrivalSpacing::Constant, .. } => ArrivalKind::Constant,
        ArrivalPlan::Poisson { .. } | ArrivalPlan::Stages { .. } => ArrivalKind::Poisson,
    };
    ArrivalRecord::new(kind, &text)
}

/// The load's arrival in words: `closed`, `closed, 5ms think time`, `poisson 4000/s`,
/// `poisson, stages 10s:0..500, 1m:500`, `poisson 4000/s, share 2/3`.
pub(super) fn arrival_text(load: &LoadPlan) -> String {
    let share = load.share.as_ref().map(|share| format!("{SHARE_TEXT}{share}"));
    whole_arrival_text(load) + &share.unwrap_or_default()
}

fn whole_arrival_text(load: &LoadPlan) -> String {
    match &load.arrival {
        ArrivalPlan::Closed { think } if think.is_zero() => "closed".to_owned(),
        ArrivalPlan::Closed { think } => format!("closed, {} think time", show_time(*think)),
        ArrivalPlan::Stages { stages, spacing } => {
            format!("{}, stages {stages}", spacing.as_str())
        }
        ArrivalPlan::Constant { per_second } => format!("constant {per_second}/s"),
        ArrivalPlan::Poisson { per_second } => format!("poisson {per_second}/s"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_variant_lays_its_workers_and_its_rate_over_the_load() {
        let plan =
            LoadPlan { workers: 4, time: Some(Duration::from_secs(9)), ..LoadPlan::default() };
        assert_eq!(apply_overrides(&plan, &LoadOverrides::default()).workers, 4);
        assert_eq!(offered_rate(&plan), None);
        let over =
            LoadOverrides { workers: Some(8), per_second: Some(50.0), ..LoadOverrides::default() };
        let laid = apply_overrides(&plan, &over);
        assert_eq!((laid.workers, laid.time), (8, plan.time));
        assert_eq!(laid.arrival, ArrivalPlan::Poisson { per_second: 50.0 });
        assert_eq!(offered_rate(&laid), Some(50.0));
        let share = Some(LoadShare::parse("2/1:3").unwrap());
        let part = LoadPlan { share, ..laid.clone() };
        assert_eq!(offered_rate(&part), Some(37.5));
        assert_eq!(arrival_text(&part), "poisson 50/s, share 2/1:3");
        let record = share_record(&part).unwrap();
        assert_eq!((record.first_worker, record.all_workers, record.number), (2, 8, 2));
        let even = LoadPlan { arrival: ArrivalPlan::Constant { per_second: 1.0 }, ..plan };
        assert_eq!(
            apply_overrides(&even, &over).arrival,
            ArrivalPlan::Constant { per_second: 50.0 }
        );
    }
}
