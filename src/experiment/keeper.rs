//! A run under way: keeps its record in the run folder and tells the listener, from whatever thread.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Listener, Step};
use crate::archive::{Meta, RunState, StepRecord, Writer};
use crate::base::{Clock, RealClock, Stop, StopReason};
use crate::plan::{self, Plan};
use crate::probe::Sample;
use crate::workload::Progress;

/// The record of a run under way, and who listens.
pub struct Keeper<'a> {
    /// The run's clock.
    pub clock: RealClock,
    /// Set on Ctrl-C.
    pub stop: &'a Stop,
    writer: Mutex<Writer>,
    listener: Mutex<&'a mut dyn Listener>,
}

/// How far a run came, and why not further.
pub type Reached = (RunState, Option<String>);

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The run folder.
    pub dir: PathBuf,
    /// How far it came.
    pub state: RunState,
    /// Why it did not come further, in words.
    pub why: Option<String>,
}

impl<'a> Keeper<'a> {
    /// Makes the run folder. `command` is the word typed: `bench`, `demo`.
    ///
    /// # Errors
    /// When the folder can't be made, or the disk is as good as full.
    pub fn begin(
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
            host: super::machine::facts(),
            ..Meta::default()
        };
        let writer = Writer::create(&plan.runs_dir, meta, &plan::write(plan))?;
        Ok(Keeper { clock, stop, writer: Mutex::new(writer), listener: Mutex::new(listener) })
    }

    /// The run folder.
    pub fn dir(&self) -> PathBuf {
        self.writer().dir().to_owned()
    }

    /// The record. Never ask for it while holding the listener.
    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the listener.
    pub fn tell(&self, tell: impl FnOnce(&mut dyn Listener)) {
        tell(&mut **self.listener.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes something in words.
    pub fn note(&self, text: &str) {
        self.writer().note(self.clock.now(), text);
        self.tell(|listener| listener.note(text));
    }

    /// How far a longer step is.
    pub fn progress(&self, progress: &Progress) {
        self.tell(|listener| listener.progress(progress));
    }

    /// Keeps a sample.
    pub fn sample(&self, sample: &Sample) {
        self.writer().sample(&sample.into());
        self.tell(|listener| listener.sample(sample));
    }

    /// Runs one step between its two notes in the record. `work` fills in what it learned.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn step<T>(
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
            way: step.way().to_owned(),
            label: step.to_string(),
            began_ns: began.0,
            ..StepRecord::default()
        };
        self.writer().step(&record);
        self.tell(|listener| listener.step_began(step, number, of));
        let result = work(&mut record);
        let ended = self.clock.now();
        record.ended_ns = result.is_ok().then_some(ended.0);
        self.writer().step(&record);
        self.tell(|listener| listener.step_ended(step, ended.since(began).seconds()));
        result
    }

    /// Closes the run folder. An error of the run is kept in it as the reason it did not come further.
    ///
    /// # Errors
    /// That of the run; or the first write to the run folder that failed.
    pub fn end(self, result: anyhow::Result<Reached>) -> anyhow::Result<Ended> {
        let dir = self.dir();
        let interrupted = self.stop.reason() == Some(StopReason::Interrupted);
        let (state, why) = match &result {
            Ok(reached) => reached.clone(),
            Err(_) if interrupted => (RunState::Interrupted, Some("interrupted".to_owned())),
            Err(error) => (RunState::Failed, Some(format!("{error:#}"))),
        };
        let writer = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let closed = writer.close(state, why.clone(), self.clock.now());
        result?;
        closed?;
        Ok(Ended { dir, state, why })
    }
}
