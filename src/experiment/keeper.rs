//! A run under way: keeps its record in the run folder and tells the listener, from whatever thread.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;

use super::{Listener, Step};
use crate::analysis::Watcher;
use crate::archive::{Meta, RunState, StepRecord, Writer};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::plan::{self, Plan};
use crate::probe::Sample;
use crate::target::Error;
use crate::workload::Progress;

/// The record of a run under way, and who listens.
pub(super) struct Keeper<'a> {
    /// The run's clock.
    pub(super) clock: RealClock,
    /// Set on Ctrl-C.
    pub(super) stop: &'a Stop,
    writer: Mutex<Writer>,
    /// Watches the load that runs, if that is to end once it is steady.
    watcher: Mutex<Option<Watcher>>,
    listener: Mutex<&'a mut dyn Listener>,
}

/// How far a run came, and what stopped it, if anything did.
pub(super) type Reached = (RunState, Option<anyhow::Error>);

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

impl<'a> Keeper<'a> {
    /// Makes the run folder. `command` is the word typed: `bench`, `demo`.
    ///
    /// # Errors
    /// When the folder can't be made, or the disk is as good as full.
    pub(super) fn begin(
        plan: &Plan,
        command: &str,
        stop: &'a Stop,
        listener: &'a mut dyn Listener,
    ) -> anyhow::Result<Keeper<'a>> {
        let clock = RealClock::start();
        let meta = Meta {
            name: plan.name.clone(),
            command: command.to_owned(),
            origin_unix_ns: clock.origin_unix_ns(),
            seed: plan.seed,
            allow: plan.allow.clone(),
            host: super::machine::facts(),
            asked: super::facts::asked(plan),
            ..Meta::default()
        };
        let writer = Writer::create(&plan.runs_dir, meta, &plan::write(plan))?;
        Ok(Keeper {
            clock,
            stop,
            writer: Mutex::new(writer),
            watcher: Mutex::new(None),
            listener: Mutex::new(listener),
        })
    }

    /// The run folder.
    pub(super) fn dir(&self) -> PathBuf {
        self.writer().dir().to_owned()
    }

    /// The record. Never ask for it while holding the listener.
    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who watches the load. Never ask for it while holding the listener.
    pub(super) fn watcher(&self) -> MutexGuard<'_, Option<Watcher>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the listener.
    pub(super) fn tell(&self, tell: impl FnOnce(&mut dyn Listener)) {
        tell(&mut **self.listener.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes something in words.
    pub(super) fn note(&self, text: &str) {
        self.writer().note(self.clock.now(), text);
        self.tell(|listener| listener.note(text));
    }

    /// How far a longer step is.
    pub(super) fn progress(&self, progress: &Progress) {
        self.tell(|listener| listener.progress(progress));
    }

    /// Keeps a sample.
    pub(super) fn sample(&self, sample: &Sample) {
        let record = sample.into();
        self.writer().sample(&record);
        if let Some(watcher) = &mut *self.watcher() {
            watcher.sample(&record);
        }
        self.tell(|listener| listener.sample(sample));
    }

    /// Runs one step between its two notes in the record. `work` fills in what it learned.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn step<T>(
        &self,
        step: &Step,
        number: usize,
        of: usize,
        work: impl FnOnce(&mut StepRecord) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let began = self.clock.now();
        let mut record = StepRecord {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            kind: step.kind().to_owned(),
            way: step.way.clone(),
            label: step.to_string(),
            began_ns: began.0,
            ..StepRecord::default()
        };
        self.writer().step(&record);
        self.tell(|listener| listener.step_began(step, number, of));
        let result = work(&mut record);
        let ended = self.clock.now();
        // Work that goes on after what the step is about says itself when that ended.
        record.ended_ns = result.is_ok().then_some(record.ended_ns.unwrap_or(ended.0));
        self.writer().step(&record);
        if result.is_ok() {
            let seconds = ended.0.min(record.ended_ns.unwrap_or(ended.0));
            let seconds = Nanos(seconds).since(Nanos(record.began_ns)).seconds();
            self.tell(|listener| listener.step_ended(step, seconds));
        }
        result
    }

    /// Closes the run folder. What stopped the run is kept in it; what could not be written ends it as a failure.
    pub(super) fn end(self, result: anyhow::Result<Reached>) -> Finished {
        let dir = self.dir();
        let interrupted = self.stop.reason() == Some(StopReason::Interrupted);
        let (state, error) = match result {
            Ok(reached) => reached,
            Err(error) if interrupted && is_stop(&error) => (RunState::Interrupted, None),
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
        Finished { dir, state, error }
    }
}

/// Whether an error only says that we were told to stop.
fn is_stop(error: &anyhow::Error) -> bool {
    error.chain().any(|e| matches!(e.downcast_ref::<Error>(), Some(Error::Abandoned)))
}
