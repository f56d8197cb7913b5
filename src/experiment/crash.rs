//! Kills the server of a sandbox in the middle of a load, starts it again, and looks what is left: the rules of the data, and
//! what the clients saw acknowledged.
//! It ends the process, not the machine: what the system had taken and not yet written is not lost.

use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;

use super::run_context::{FinishedRun, RunContext, RunOrigin};
use super::system::SystemUnderTest;
use super::{NullListener, facts, trial};
use crate::archive::{RecordedStepKind, RunState, StepRecord};
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::driver::{self, LoadListener};
use crate::plan::{LoadPlan, Plan};
use crate::recorder::CrashRound;
use crate::server::{ServerControl, Settings};
use crate::workload::{DataJob, JobProgress, Workload};

/// How often, and under which settings.
#[derive(Clone, Debug, Default)]
pub struct CrashPlan {
    /// Kills under each setting.
    pub kills: u32,
    /// The settings in turn; one that is empty for the server's own.
    pub settings: Vec<Settings>,
}

/// How long a load runs beyond the moment of the kill, if that should fail.
const BEYOND: Duration = Duration::from_secs(30);
/// A load is killed after this share of its time at the earliest.
const EARLIEST: f64 = 0.2;
/// How often the time to the kill is looked at.
const STEP: Duration = Duration::from_millis(100);
/// The variable that says when commits reach the log's file, and the value that keeps every one.
const FLUSH: &str = "innodb_flush_log_at_trx_commit";

/// Kills and looks, as often as asked; what was found is told in the end, also where it is bad, and kept in a run folder: a step
/// for each kill.
///
/// # Errors
/// When there is no sandbox, or the run folder can't be made. What stops the test later is told with the run.
pub fn run_crashes(
    plan: &Plan,
    crash: &CrashPlan,
    origin: RunOrigin,
    stop: &Stop,
    progress: &mut (dyn FnMut(JobProgress) + Send),
) -> anyhow::Result<(Vec<CrashRound>, FinishedRun)> {
    let mut environment = SystemUnderTest::from_plan(plan, stop)?;
    let target = environment.target().cloned();
    let workload = trial::build_workload(&plan.workload, target.as_ref().into())?;
    let server = facts::server_record(plan, &environment, stop)?;
    let control = environment.control().context("only the server of a sandbox may be killed")?;
    let mut listener = NullListener;
    let run = RunContext::start_run(plan, origin, stop, &mut listener)?;
    run.lock_writer().update_meta(|meta| meta.server = server);
    let (clock, steps, rounds) = (run.clock, 0, Vec::new());
    let workload = &*workload;
    let run_of = &run;
    let mut test =
        CrashTest { plan, stop, control, workload, clock, progress, run: run_of, steps, rounds };
    let result = match test.run_rounds(crash) {
        // What is cut short fails, too.
        _ if stop.is_set() => (RunState::Interrupted, None),
        Ok(()) => (RunState::Done, None),
        Err(error) => (RunState::Failed, Some(error)),
    };
    let rounds = test.rounds;
    Ok((rounds, run.end_run(Ok(result))))
}

struct CrashTest<'a, 'k> {
    plan: &'a Plan,
    stop: &'a Stop,
    control: &'a mut (dyn ServerControl + 'static),
    workload: &'a dyn Workload,
    clock: RealClock,
    progress: &'a mut (dyn FnMut(JobProgress) + Send),
    run: &'a RunContext<'k>,
    /// Steps in the run folder.
    steps: u32,
    /// Kills whose data were looked at.
    rounds: Vec<CrashRound>,
}

impl CrashTest<'_, '_> {
    /// All kills under all settings.
    fn run_rounds(&mut self, crash: &CrashPlan) -> anyhow::Result<()> {
        let (plan, stop) = (self.plan, self.stop);
        let test = self;
        test.record_step(RecordedStepKind::Prepare, "make the data".to_owned(), |test, _| {
            test.with_job(|workload, job| workload.prepare_data(job))
        })?;
        test.workload.check_ready(stop)?;
        let mut rng = Rng::new(plan.seed, u64::MAX, 0);
        let total = crash.kills as usize * crash.settings.len();
        for settings in &crash.settings {
            let clean_start_s = test.restart_cleanly(settings)?;
            for kill in 1..=crash.kills {
                let label = format!("kill {} of {total}", test.rounds.len() + 1);
                (test.progress)(JobProgress { label: label.clone(), ..JobProgress::default() });
                let round = test.record_step(RecordedStepKind::Crash, label, |test, record| {
                    let mut round = test.run_round(settings, &mut rng)?;
                    (round.kill, round.clean_start_s) = (kill, clean_start_s);
                    record.notes.push(round.data.answer_text());
                    record.crash = Some(round.clone());
                    Ok(round)
                })?;
                test.rounds.push(round);
            }
        }
        Ok(())
    }

    /// Runs one step between its two notes in the record.
    fn record_step<T>(
        &mut self,
        kind: RecordedStepKind,
        label: String,
        work: impl FnOnce(&mut Self, &mut StepRecord) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.steps += 1;
        let (number, began_ns) = (self.steps, self.clock.now().0);
        let mut record = StepRecord { number, kind, label, began_ns, ..StepRecord::default() };
        self.run.lock_writer().write_step(&record);
        let done = work(self, &mut record);
        record.ended_ns = done.is_ok().then(|| self.clock.now().0);
        self.run.lock_writer().write_step(&record);
        done
    }

    fn with_job<T>(
        &mut self,
        work: impl FnOnce(&dyn Workload, &mut DataJob<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let threads = crate::base::kernel::core_count();
        let (seed, stop, progress) = (self.plan.seed, self.stop, &mut *self.progress);
        work(self.workload, &mut DataJob { threads, seed, stop, progress })
    }

    /// Seconds that a start takes after a clean stop.
    fn restart_cleanly(&mut self, settings: &Settings) -> anyhow::Result<f64> {
        self.control.stop()?;
        self.start_timed(settings)
    }

    fn start_timed(&mut self, settings: &Settings) -> anyhow::Result<f64> {
        let began = self.clock.now();
        self.control.start(settings)?;
        Ok(self.clock.now().since(began).to_seconds())
    }

    /// One load, its end, and what came back.
    fn run_round(&mut self, settings: &Settings, rng: &mut Rng) -> anyhow::Result<CrashRound> {
        let mut round = CrashRound {
            setting: settings.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" "),
            sessions: self.plan.load.workers,
            is_durable: self.is_durable()?,
            ..CrashRound::default()
        };
        self.workload.open_ledger(self.stop)?;
        let time = self.plan.load.time.unwrap_or(Duration::from_secs(10)).as_secs_f64();
        let after_s = time * (EARLIEST + (1.0 - EARLIEST) * rng.uniform_fraction());
        round.after_s = self.load_and_kill(after_s, rng.next_u64())?;
        // A round that was not looked at to its end says nothing.
        anyhow::ensure!(!self.stop.is_set(), "interrupted");
        round.recovery_s = self.start_timed(settings).context("start the killed server")?;
        round.ledger = self.workload.balance_ledger(self.stop)?;
        round.data = self.with_job(|workload, job| workload.check_data(job))?;
        anyhow::ensure!(!self.stop.is_set(), "interrupted");
        Ok(round)
    }

    /// Runs the load until its server is killed; seconds that it ran.
    fn load_and_kill(&mut self, after_s: f64, seed: u64) -> anyhow::Result<f64> {
        let after = Duration::from_secs_f64(after_s);
        let time = Some(after + BEYOND);
        let load = LoadPlan { time, reconnect: false, events: None, ..self.plan.load.clone() };
        let (clock, stop) = (self.clock, self.stop.child_stop());
        let (workload, control, is_stopped) = (self.workload, &mut *self.control, self.stop);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<Nanos>();
            let killer = scope.spawn(move || {
                // Hung up on if the load never began.
                let began = receiver.recv().ok()?;
                let due = began + Nanos::from(after);
                while clock.now() < due && !is_stopped.is_set() {
                    clock.sleep_until(due.min(clock.now() + Nanos::from(STEP)));
                }
                control.kill();
                Some(clock.now().since(began).to_seconds())
            });
            let mut started = || {
                let _ = sender.send(clock.now());
            };
            let listener = LoadListener { started: &mut started, interval: &mut |_| {} };
            let recording = driver::run_load_with(&load, seed, workload, clock, &stop, listener);
            drop(sender);
            let killed = killer.join().unwrap_or(None);
            let recording = recording?;
            let is_cut = recording.reason == StopReason::TargetLost;
            anyhow::ensure!(is_cut || self.stop.is_set(), "the load ended before the kill");
            killed.context("the load did not begin")
        })
    }

    /// Whether the server promises to keep what it acknowledged.
    fn is_durable(&self) -> anyhow::Result<bool> {
        let mut session = self.control.target().connect(self.stop)?;
        let value = session.query_scalar(&format!("SELECT @@GLOBAL.{FLUSH}"))?;
        // A kill of the process takes nothing that the system has; the value 2 hands it over at each commit.
        Ok(value.as_deref() != Some("0"))
    }
}
