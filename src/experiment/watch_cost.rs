//! What gathering waits costs the server: one load, in which windows with and without alternate.
//!
//! Each window gives the CPU time of the server's process and the statements that it ran; the reading of the ring belongs
//! to the windows with it. Windows come in pairs, by turns this and that first, so that drift falls on both alike.

use anyhow::Context as _;

use super::run::StepRunner;
use super::schedule::{BlockSchedule, RunSoFar, StepSchedule};
use super::steps::{PlanStep, StepKind};
use super::trial;
use super::waits::{WaitsTarget, WatchStart};
use crate::archive::StepRecord;
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::client::{Session, Target};
use crate::driver;
use crate::plan::{LoadPlan, Plan};
use crate::probe::{ProbeSample, SampleValues, process_cpu_s};

/// Name of its samples in the run folder.
const PROBE: &str = "watch_cost";
/// Length of a window.
const WINDOW: Nanos = Nanos(1_000_000_000);
/// Time before the first window: sessions open, caches fill.
const BEFORE: Nanos = Nanos(1_000_000_000);
/// Pairs of windows.
const PAIRS: u32 = 8;

/// The blocks of a plan, and after them what gathering waits cost.
pub struct WatchCostSchedule<'a> {
    blocks: BlockSchedule<'a>,
    is_through: bool,
}

impl<'a> WatchCostSchedule<'a> {
    /// The script of a plan; without the cost if it is not `wanted`.
    pub fn new(plan: &'a Plan, wanted: bool) -> WatchCostSchedule<'a> {
        WatchCostSchedule { blocks: BlockSchedule::new(plan, &|_| false), is_through: !wanted }
    }
}

impl StepSchedule for WatchCostSchedule<'_> {
    fn expected_steps(&self) -> usize {
        self.blocks.expected_steps() + usize::from(!self.is_through)
    }

    fn next_step(&mut self, so_far: &RunSoFar) -> anyhow::Result<Option<PlanStep>> {
        let step = self.blocks.next_step(so_far)?;
        if step.is_some() || self.is_through {
            return Ok(step);
        }
        self.is_through = true;
        Ok(Some(PlanStep::without_variant(StepKind::WatchCost)))
    }
}

impl StepRunner<'_, '_, '_> {
    /// Runs the load once more, without keeping its latencies, and looks what gathering costs.
    pub(super) fn measure_watch_cost(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let run = self.run;
        let Some(pid) = self.monitoring.server_pid(&self.environment) else {
            record.notes.push("the server's process is not on this machine".to_owned());
            return Ok(());
        };
        let place = WaitsTarget::from_plan(self.plan, &self.environment, &run.run_dir(), run.stop)?;
        let Some(place) = place.filter(WaitsTarget::may_change) else {
            record.notes.push("nothing can be switched off to compare with".to_owned());
            return Ok(());
        };
        let target = self.environment.target().context("there is no server")?.clone();
        let load =
            LoadPlan { time: None, events: None, until_steady: false, ..self.plan.load.clone() };
        let (stop, clock) = (Stop::new(), run.clock);
        let out = |sample: ProbeSample| run.record_sample(&sample);
        let windows = CostWindows { place: &place, target: &target, pid, clock, stop: run.stop };
        let (result, ran) = std::thread::scope(|scope| {
            let (plan, workload, stop) = (self.plan, self.workload, &stop);
            let runner = scope.spawn(move || {
                driver::run_load(&load, plan.seed, workload, clock, stop, &mut |_| {})
            });
            let is_over = || run.stop.is_set() || runner.is_finished();
            let result = windows.measure_pairs(&is_over, &out);
            stop.set(run.stop.reason().unwrap_or(StopReason::Done));
            (result, runner.join())
        });
        let recording = ran.map_err(|_| anyhow::anyhow!("the load failed"))??;
        let reached = trial::run_end(&recording);
        reached.1.map_or(result, Err)
    }
}

/// Where windows look.
struct CostWindows<'a> {
    place: &'a WaitsTarget,
    target: &'a Target,
    pid: u32,
    clock: RealClock,
    stop: &'a Stop,
}

impl CostWindows<'_> {
    /// All pairs, unless `is_over` says that it is enough.
    fn measure_pairs(
        &self,
        is_over: &dyn Fn() -> bool,
        out: &dyn Fn(ProbeSample),
    ) -> anyhow::Result<()> {
        // Sessions of our own are opened before instruments go on, so that they are left out.
        let mut session = self.target.connect(self.stop)?;
        self.sleep(BEFORE, is_over);
        for pair in 0..PAIRS {
            for second in [false, true] {
                if is_over() {
                    return Ok(());
                }
                // A B, B A, A B, ...
                let on = (pair % 2 == 1) != second;
                let sample = self.measure_window(on, &mut session, is_over)?;
                out(sample);
            }
        }
        Ok(())
    }

    fn measure_window(
        &self,
        on: bool,
        session: &mut Session,
        is_over: &dyn Fn() -> bool,
    ) -> anyhow::Result<ProbeSample> {
        let ours = [session.id()];
        let watch = || self.place.start_watch(self.clock, self.stop, WatchStart::UnderLoad(&ours));
        let watch = on.then(watch).transpose()?;
        let began = self.clock.now();
        let before = (self.cpu_s()?, read_statement_count(session)?);
        self.sleep(WINDOW, is_over);
        let gathered = watch.map(super::waits::WaitsWatch::into_gathered).transpose()?;
        let after = (self.cpu_s()?, read_statement_count(session)?);
        let ended = self.clock.now();
        let mut numbers = vec![
            ("on".to_owned(), f64::from(u8::from(on))),
            ("seconds".to_owned(), ended.since(began).to_seconds()),
            ("server_cpu_s".to_owned(), after.0 - before.0),
            ("statements".to_owned(), after.1 - before.1),
        ];
        if let Some((waits, instruments)) = gathered {
            let rows = waits.instruments.iter().flat_map(|i| &i.operations).map(|o| o.rows);
            numbers.push(("rows".to_owned(), rows.sum::<u64>() as f64));
            instruments.restore_at_once()?;
        }
        let values = SampleValues::Numbers(numbers);
        Ok(ProbeSample { probe: PROBE, planned: began, began, ended, values })
    }

    fn cpu_s(&self) -> anyhow::Result<f64> {
        process_cpu_s(self.pid).with_context(|| format!("process {} is gone", self.pid))
    }

    fn sleep(&self, time: Nanos, is_over: &dyn Fn() -> bool) {
        let until = self.clock.now() + time;
        while self.clock.now() < until && !is_over() {
            let step = until.since(self.clock.now()).min(Nanos(50_000_000));
            self.clock.sleep_until(self.clock.now() + step);
        }
    }
}

/// Statements that the server ran so far.
fn read_statement_count(session: &mut Session) -> anyhow::Result<f64> {
    let rows = session.query_rows("SHOW GLOBAL STATUS LIKE 'Questions'")?;
    let text =
        rows.text_value(0, 1).context("the server does not report how many statements it ran")?;
    text.parse().context("the number of statements")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::VariantPlan;

    #[test]
    fn the_cost_comes_after_all_loads_and_only_if_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let so_far = RunSoFar::from_dir(dir.path().to_owned());
        let plan = Plan { variants: vec![VariantPlan::default()], passes: 1, ..Plan::default() };
        let kinds = |wanted| {
            let mut schedule = WatchCostSchedule::new(&plan, wanted);
            let expected = schedule.expected_steps();
            let steps = std::iter::from_fn(|| schedule.next_step(&so_far).unwrap());
            let kinds: Vec<String> = steps.map(|step| step.recorded_kind().into()).collect();
            assert_eq!(kinds.len(), expected);
            kinds
        };
        assert_eq!(kinds(true), ["load", "watch_cost"]);
        assert_eq!(kinds(false), ["load"]);
    }
}
