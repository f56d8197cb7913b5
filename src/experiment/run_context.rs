//! A run under way: keeps its record in the run folder and tells the listener, from whatever thread.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;

use super::{PlanStep, RunListener};
use crate::analysis::SteadyWatcher;
use crate::archive::{
    AGENTS_LOAD, AGENTS_SHARE, CLOCK_BOUND, CLOCK_OFFSET, RunCommand, RunMeta, RunState, RunWriter,
    StepRecord,
};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::client::Error;
use crate::plan::{self, Plan};
use crate::probe::ProbeSample;
use crate::workload::JobProgress;

/// The record of a run under way, and who listens.
pub(super) struct RunContext<'a> {
    /// The run's clock.
    pub(super) clock: RealClock,
    /// Set on Ctrl-C.
    pub(super) stop: &'a Stop,
    writer: Mutex<RunWriter>,
    /// Watches the load that runs, if that is to end once it is steady.
    watcher: Mutex<Option<SteadyWatcher>>,
    listener: Mutex<&'a mut dyn RunListener>,
}

/// What a run was asked by.
#[derive(Clone, Debug, Default)]
pub struct RunOrigin {
    /// Which command.
    pub command: RunCommand,
    /// The command line as it was typed, without passwords.
    pub command_line: Option<String>,
    /// What came from the defaults file or from the environment, in words.
    pub defaults: Vec<String>,
    /// Who runs it for another machine, if that is so.
    pub agent: Option<AgentOrigin>,
}

/// An agent that runs a share of another machine's load.
#[derive(Clone, Debug)]
pub struct AgentOrigin {
    /// Its name, which stands for the machine.
    pub name: String,
    /// The load, as its coordinator calls it.
    pub load: String,
    /// The run's clock: it tells the other machine's time.
    pub clock: RealClock,
    /// What that machine's clock was found to be ahead of this one's.
    pub clock_offset_ns: i64,
    /// How far that may be wrong.
    pub clock_bound: Nanos,
}

impl From<RunCommand> for RunOrigin {
    fn from(command: RunCommand) -> RunOrigin {
        RunOrigin { command, ..RunOrigin::default() }
    }
}

/// What is known of a run before it begins.
pub fn describe_run(plan: &Plan, origin: RunOrigin, clock: RealClock) -> RunMeta {
    let (mut host, mut facts) = (super::machine::host_facts(), BTreeMap::new());
    if let Some(agent) = origin.agent {
        host.insert("name".to_owned(), agent.name);
        facts.insert(CLOCK_BOUND.to_owned(), agent.clock_bound.0.into());
        facts.insert(CLOCK_OFFSET.to_owned(), agent.clock_offset_ns.into());
        facts.insert(AGENTS_LOAD.to_owned(), agent.load.into());
        let share = plan.load.share.as_ref().map(ToString::to_string);
        facts.insert(AGENTS_SHARE.to_owned(), share.into());
    }
    RunMeta {
        name: plan.name.clone(),
        command: origin.command,
        command_line: origin.command_line,
        defaults: origin.defaults,
        origin_unix_ns: clock.origin_unix_ns(),
        seed: plan.seed,
        allow: plan.allow.clone(),
        host,
        facts,
        asked: super::facts::asked_record(plan),
        load: Some(super::facts::load_request(&plan.load)),
        ..RunMeta::default()
    }
}

/// How far a run came, and what stopped it, if anything did.
pub(super) type RunEnd = (RunState, Option<anyhow::Error>);

/// How a run ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// The run folder.
    pub dir: PathBuf,
    /// How far it came.
    pub state: RunState,
    /// What stopped it, if anything did.
    pub error: Option<anyhow::Error>,
}

impl<'a> RunContext<'a> {
    /// Makes the run folder.
    ///
    /// # Errors
    /// When the folder can't be made, or the disk is as good as full.
    pub(super) fn start_run(
        plan: &Plan,
        origin: RunOrigin,
        stop: &'a Stop,
        listener: &'a mut dyn RunListener,
    ) -> anyhow::Result<RunContext<'a>> {
        RunContext::start_with_text(plan, &plan::to_toml(plan), origin, stop, listener)
    }

    /// The same with another text where the plan stands.
    ///
    /// # Errors
    /// As `start_run`.
    pub(super) fn start_with_text(
        plan: &Plan,
        text: &str,
        origin: RunOrigin,
        stop: &'a Stop,
        listener: &'a mut dyn RunListener,
    ) -> anyhow::Result<RunContext<'a>> {
        let clock = origin.agent.as_ref().map_or_else(RealClock::start_now, |agent| agent.clock);
        let meta = describe_run(plan, origin, clock);
        let writer = RunWriter::create(&plan.runs_dir, meta, text)?;
        Ok(RunContext {
            clock,
            stop,
            writer: Mutex::new(writer),
            watcher: Mutex::new(None),
            listener: Mutex::new(listener),
        })
    }

    /// The run folder.
    pub(super) fn run_dir(&self) -> PathBuf {
        self.lock_writer().dir().to_owned()
    }

    /// The record. Never ask for it while holding the listener.
    pub(super) fn lock_writer(&self) -> MutexGuard<'_, RunWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who watches the load. Never ask for it while holding the listener.
    pub(super) fn lock_watcher(&self) -> MutexGuard<'_, Option<SteadyWatcher>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the listener.
    pub(super) fn notify_listener(&self, tell: impl FnOnce(&mut dyn RunListener)) {
        tell(&mut **self.listener.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes something in words.
    pub(super) fn add_note(&self, text: &str) {
        self.lock_writer().write_note(self.clock.now(), text);
        self.notify_listener(|listener| listener.note_added(text));
    }

    /// How far a longer step is.
    pub(super) fn report_progress(&self, progress: &JobProgress) {
        self.notify_listener(|listener| listener.step_progressed(progress));
    }

    /// Keeps a sample.
    pub(super) fn record_sample(&self, sample: &ProbeSample) {
        let record = sample.into();
        self.lock_writer().write_sample(&record);
        if let Some(watcher) = &mut *self.lock_watcher() {
            watcher.add_sample(&record);
        }
        self.notify_listener(|listener| listener.sample_taken(sample));
    }

    /// Runs one step between its two notes in the record. `work` fills in what it learned.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn record_step<T>(
        &self,
        step: &PlanStep,
        number: usize,
        of: usize,
        work: impl FnOnce(&mut StepRecord) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let began = self.clock.now();
        let mut record = StepRecord {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            kind: step.recorded_kind(),
            variant: step.variant.clone(),
            label: step.to_string(),
            began_ns: began.0,
            ..StepRecord::default()
        };
        self.lock_writer().write_step(&record);
        self.notify_listener(|listener| listener.step_started(step, number, of));
        let result = work(&mut record);
        let ended = self.clock.now();
        // Work that goes on after what the step is about says itself when that ended.
        record.ended_ns = result.is_ok().then_some(record.ended_ns.unwrap_or(ended.0));
        self.lock_writer().write_step(&record);
        if result.is_ok() {
            let seconds = ended.0.min(record.ended_ns.unwrap_or(ended.0));
            let seconds = Nanos(seconds).since(Nanos(record.began_ns)).to_seconds();
            self.notify_listener(|listener| listener.step_ended(step, seconds));
        }
        result
    }

    /// Closes the run folder. What stopped the run is kept in it; what could not be written ends it as a failure.
    pub(super) fn end_run(self, result: anyhow::Result<RunEnd>) -> FinishedRun {
        let dir = self.run_dir();
        let interrupted = self.stop.reason() == Some(StopReason::Interrupted);
        let (state, error) = match result {
            Ok(reached) => reached,
            Err(error) if interrupted && is_stop_error(&error) => (RunState::Interrupted, None),
            Err(error) => (RunState::Failed, Some(error)),
        };
        let why = match (&error, state) {
            (Some(error), _) => Some(format!("{error:#}")),
            (None, RunState::Interrupted) => Some("interrupted".to_owned()),
            (None, _) => None,
        };
        let writer = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let closed = writer
            .close(state, why, self.clock.now())
            .with_context(|| format!("keep the run in {}", dir.display()));
        let error = error.or(closed.err());
        FinishedRun { dir, state, error }
    }
}

/// Whether an error only says that we were told to stop.
fn is_stop_error(error: &anyhow::Error) -> bool {
    error.chain().any(|e| matches!(e.downcast_ref::<Error>(), Some(Error::Abandoned)))
}
