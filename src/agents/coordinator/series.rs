//! Several loads, one after the other, by the same agents: each is a step of one run, to which the folders of its shares are
//! added before the next begins.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;

use super::super::member::{Member, MemberFate};
use super::super::progress::ProgressSum;
use super::super::wire::{AgentOrder, AgentPhase};
use super::{AGAIN, CollectedLoad, Coordinator};
use crate::archive::{LoadPlace, MergeError, MergeInput, MergedSeries, RunState, StepRecord};
use crate::base::token::random_token;
use crate::base::{Clock as _, Nanos};
use crate::experiment::{
    FinishedRun, PlanStep, RunOrigin, RunSoFar, StepKind, StepSchedule, describe_run,
};
use crate::plan::{self, Plan};

/// How long agents may take to be free again after a load.
const FREE: Nanos = Nanos(15_000_000_000);

/// Reads a share's run folder, to be merged.
pub type ShareReader<'a> = &'a dyn Fn(PathBuf) -> anyhow::Result<MergeInput>;

/// What it takes to lead the loads of a plan.
pub struct SeriesRequest<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its steps. Those that are no loads are the agents' own: each warms up, and waits for rest, before its share.
    pub schedule: &'a mut dyn StepSchedule,
    /// What it was asked by.
    pub origin: RunOrigin,
    /// How shares are read.
    pub read_share: ShareReader<'a>,
    /// How it is told that shares can't be merged.
    pub refuse: fn(MergeError) -> anyhow::Error,
}

impl Coordinator<'_> {
    /// Runs all loads of a plan, from the agents' joining to the run folder.
    ///
    /// # Errors
    /// Why no load was run; later errors are in what is returned.
    pub fn run_series(&mut self, mut request: SeriesRequest<'_>) -> anyhow::Result<FinishedRun> {
        self.gather_agents()?;
        let plan = request.plan;
        let meta = describe_run(plan, request.origin.clone(), self.clock);
        let mut series = MergedSeries::create(&plan.runs_dir, meta, &plan::to_toml(plan))?;
        self.listener.run_started(series.dir());
        let mut loads = 0;
        let led = self.lead_steps(&mut request, &mut series, &mut loads);
        self.rejoin_team();
        self.tell_all(&|run| AgentOrder::Release { run, more: false });
        let (state, error) = match led {
            Ok((RunState::Interrupted, Some(why))) if !self.stop.is_set() => {
                let error = anyhow::anyhow!("an agent stopped before the end of a load: {why}");
                (RunState::Failed, Some(error))
            }
            Ok((state, why)) => (state, why.map(anyhow::Error::msg)),
            Err(error) if loads == 0 => {
                let _ = std::fs::remove_dir_all(series.dir());
                return Err(error);
            }
            Err(_) if self.stop.is_set() => (RunState::Interrupted, None),
            Err(error) => (RunState::Failed, Some(error)),
        };
        let why = error.as_ref().map(|error| format!("{error:#}"));
        let dir = series.dir().to_owned();
        series.close(state, why, self.clock.now())?;
        Ok(FinishedRun { dir, state, error: error.filter(|_| state == RunState::Failed) })
    }

    fn lead_steps(
        &mut self,
        request: &mut SeriesRequest<'_>,
        series: &mut MergedSeries,
        loads: &mut usize,
    ) -> anyhow::Result<(RunState, Option<String>)> {
        let so_far = RunSoFar::from_dir(series.dir().to_owned());
        let mut number = 0;
        while let Some(step) = request.schedule.next_step(&so_far)? {
            number += 1;
            let Some(id) = step.load_id(number) else { continue };
            let of = request.schedule.expected_steps().max(number as usize);
            self.listener.step_started(&step, number as usize, of);
            let began = self.clock.now();
            let record = StepRecord {
                number,
                kind: step.recorded_kind(),
                variant: step.variant.clone(),
                label: step.to_string(),
                began_ns: began.0,
                ..StepRecord::default()
            };
            series.write_step(&record);
            let load = self.lead_step(request.plan, &step).with_context(|| step.to_string())?;
            *loads += 1;
            let added = add_load(&load, request, series, &load_place(id, &step), &record);
            let _ = std::fs::remove_dir_all(&load.scratch);
            let end = added.with_context(|| step.to_string())?;
            self.listener.step_ended(&step, self.clock.now().since(began).to_seconds());
            if end.0 != RunState::Done {
                return Ok(end);
            }
            if self.stop.is_set() {
                return Ok((RunState::Interrupted, None));
            }
        }
        Ok((RunState::Done, None))
    }

    /// One load, by as many of those who have joined as it has sessions for.
    fn lead_step(&mut self, plan: &Plan, step: &PlanStep) -> anyhow::Result<CollectedLoad> {
        let load = step.planned_load(plan).context("a step without a load")?;
        // As without agents: each block draws other numbers.
        let seed = plan.seed.wrapping_add(u64::from(step.block.max(1) - 1));
        let plan = Plan { load, seed, ..plan.clone() };
        self.rejoin_team();
        self.wait_until_free()?;
        let busy = self.team.len().min(plan.load.workers.max(1));
        self.resting = self.team.split_off(busy);
        let led = self.lead_load(&plan);
        self.tell_all(&|run| AgentOrder::Release { run, more: true });
        led
    }

    /// Calls all together again who have joined, for another load.
    fn rejoin_team(&mut self) {
        let resting = std::mem::take(&mut self.resting);
        self.team.extend(resting);
    }

    /// Waits until the load before is over for all, and gives the next one a name.
    fn wait_until_free(&mut self) -> anyhow::Result<()> {
        // From now on nobody can leave the load before.
        self.run = random_token().context("make a name for the load")?.reveal().to_owned();
        let limit = self.clock.now() + FREE;
        loop {
            let now = self.clock.now();
            for member in &self.team {
                let name = &member.name;
                match &member.fate {
                    MemberFate::Present => {}
                    MemberFate::Lost(why) | MemberFate::Refused(why) => {
                        anyhow::bail!("agent {name} is lost: {why}")
                    }
                }
                if now > limit {
                    let is_late = !is_free(member, now);
                    anyhow::ensure!(!is_late, "agent {name} is busy, or nothing is heard of it");
                }
            }
            if self.team.iter().all(|member| is_free(member, now)) {
                break;
            }
            self.take_next_event();
            self.stop_early()?;
        }
        (self.progress, self.start_unix_ns) = (ProgressSum::default(), None);
        self.told_agents.clear();
        for member in &mut self.team {
            (member.folder, member.asked) = (None, None);
        }
        Ok(())
    }
}

fn is_free(member: &Member, now: Nanos) -> bool {
    member.state.phase == AgentPhase::Free && now.since(member.heard) < Nanos(6 * AGAIN.0)
}

fn load_place(id: String, step: &PlanStep) -> LoadPlace {
    let (pass, value) = match &step.kind {
        StepKind::Load { pass, over } => (*pass, over.value),
        _ => (1, None),
    };
    LoadPlace { id, variant: step.variant.clone(), pass, block: step.block, value }
}

/// Adds a load to the run; one of which shares are missing is left out, and ends the run.
fn add_load(
    load: &CollectedLoad,
    request: &SeriesRequest<'_>,
    series: &mut MergedSeries,
    place: &LoadPlace,
    record: &StepRecord,
) -> anyhow::Result<(RunState, Option<String>)> {
    if !load.lost.is_empty() {
        let lost: BTreeMap<usize, String> = load.lost_words().collect();
        let dirs: Vec<PathBuf> = load.shares.iter().map(|share| share.dir.clone()).collect();
        series.leave_out(&place.id, &dirs, &lost)?;
        let all: Vec<String> = lost.into_values().collect();
        anyhow::bail!(
            "the load is left out, as shares of it are missing: {}\nhint: the loads before it are \
             whole; what agents measured of this one is below machines/ and in folders on their \
             machines",
            all.join("; ")
        );
    }
    let dirs = load.shares.iter().map(|share| share.dir.clone());
    let inputs: Vec<MergeInput> = dirs.map(request.read_share).collect::<Result<_, _>>()?;
    series.add_load(&inputs, place, record).map_err(request.refuse)
}
