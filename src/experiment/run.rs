//! The one loop over a plan's steps.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use anyhow::Context;

use super::eyes::Eyes;
use super::ground::Ground;
use super::keeper::{Finished, Keeper, Reached};
use super::steps::{Step, steps};
use super::trial::{self, Place};
use super::{Listener, facts, preflight};
use crate::archive::{RunState, StepRecord, WarmedRecord};
use crate::base::{Stop, StopReason};
use crate::plan::{Plan, WarmPlan};
use crate::server::{Control, restart_cold};
use crate::warm::{self, DumpPlan, STRATEGIES, Scene, Warmed};
use crate::workload::{Progress, Workload};

/// Runs a plan to its end, its interruption or its failure; what was measured is in the run folder in all cases.
/// `command` is the word typed: `bench`, `demo`.
///
/// # Errors
/// What is wrong before the first step (no server, no data): no run folder is left then. Later errors are in the
/// folder and in what is returned.
pub fn run(
    plan: &Plan,
    command: &str,
    stop: &Stop,
    listener: &mut dyn Listener,
) -> anyhow::Result<Finished> {
    let ground = Ground::reach(plan, stop)?;
    preflight::check(plan, &ground, stop)?;
    let record = facts::server(&ground, stop)?;
    let workload = trial::build(&plan.workload, ground.target())?;
    if !plan.prepare {
        workload.check()?;
    }
    let keeper = Keeper::begin(plan, command, stop, listener)?;
    if let Some(server) = &record {
        keeper.tell(|listener| listener.server(server));
    }
    keeper.writer().update(|meta| meta.server = record);
    if !plan.prepare {
        facts::write_data(&keeper, plan, &ground);
    }
    let result = std::thread::scope(|scope| {
        let eyes = Eyes::open(scope, plan, &ground, &keeper)?;
        let mut walk = Walk { plan, keeper: &keeper, ground, workload: &*workload, eyes };
        let result = walk.all();
        walk.eyes.close();
        result
    });
    Ok(keeper.end(result))
}

/// The file of a load's statements in the run folder.
const STATEMENTS: &str = "load.sql";
/// A dump of the whole pool, of a server that is ours.
const DUMP_ALL: DumpPlan = DumpPlan { pct: Some(100), allowed: false };

/// A walk through the steps.
struct Walk<'a, 'k, 'scope> {
    plan: &'a Plan,
    keeper: &'a Keeper<'k>,
    ground: Ground,
    workload: &'a dyn Workload,
    eyes: Eyes<'scope>,
}

impl Walk<'_, '_, '_> {
    /// All steps, until one says that it goes no further.
    fn all(&mut self) -> anyhow::Result<Reached> {
        let keeper = self.keeper;
        let steps = steps(self.plan);
        for (index, step) in steps.iter().enumerate() {
            let reached = keeper
                .step(step, index + 1, steps.len(), |record| self.watched(step, record))
                .with_context(|| step.to_string())?;
            if reached.0 != RunState::Done {
                return Ok(reached);
            }
            if keeper.stop.is_set() {
                break;
            }
        }
        Ok(match keeper.stop.reason() {
            Some(StopReason::Interrupted) => (RunState::Interrupted, None),
            _ => (RunState::Done, None),
        })
    }

    /// One step, with a raw look at server and host before and after.
    fn watched(&mut self, step: &Step, record: &mut StepRecord) -> anyhow::Result<Reached> {
        record.before = self.eyes.look(&self.ground, self.keeper);
        let result = self.perform(step, record);
        record.after = self.eyes.look(&self.ground, self.keeper);
        result
    }

    fn perform(&mut self, step: &Step, record: &mut StepRecord) -> anyhow::Result<Reached> {
        let through = (RunState::Done, None);
        match step {
            Step::Prepare => self.prepare(),
            Step::RestartCold { .. } => self.restart_cold(record),
            Step::Warm { plan, .. } => self.warm(plan, record),
            Step::Dump { .. } => self.dump(record),
            Step::Load { way, pass } => {
                let place = Place { way: way.clone(), pass: *pass, step: record.number };
                let recording = trial::run(self.keeper, self.plan, self.workload, &place)?;
                return Ok(trial::reached(&recording));
            }
        }?;
        Ok(through)
    }

    fn prepare(&mut self) -> anyhow::Result<()> {
        trial::prepare(self.keeper, self.plan, self.workload)?;
        if self.keeper.stop.is_set() {
            return Ok(());
        }
        facts::write_data(self.keeper, self.plan, &self.ground);
        self.workload.check()?;
        self.write_statements()
    }

    /// Keeps the statements of the load beside the run, where it has a list of them, for other tools to run.
    fn write_statements(&self) -> anyhow::Result<()> {
        let path = self.keeper.dir().join(STATEMENTS);
        let file = File::create(&path).with_context(|| format!("make {}", path.display()))?;
        let mut out = BufWriter::new(file);
        let any =
            self.workload.write_statements(&mut out).context("write the load's statements")?;
        out.flush().with_context(|| format!("write {}", path.display()))?;
        if !any {
            std::fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Stops the server, empties the caches below it, starts it, and notes what proves that it is cold.
    fn restart_cold(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        self.eyes.look_away();
        let stop = self.keeper.stop.clone();
        let control =
            self.ground.control().context("only a server that sweat started is restarted")?;
        let restart = restart_cold(control, &Vec::new(), &stop)?;
        record.notes.extend(restart.words());
        self.eyes.look_again(&self.ground);
        Ok(())
    }

    fn warm(&mut self, plan: &WarmPlan, record: &mut StepRecord) -> anyhow::Result<()> {
        let strategy = STRATEGIES.iter().find(|s| s.name() == plan.strategy);
        let strategy =
            strategy.with_context(|| format!("there is no strategy {:?}", plan.strategy))?;
        let warmed = self.scene(|scene| strategy.warm(&plan.options, scene))?;
        for note in &warmed.notes {
            self.keeper.note(note);
        }
        record.warmed = Some(warmed_record(&plan.strategy, warmed));
        Ok(())
    }

    /// Has the server write down which pages its pool holds, all of them.
    fn dump(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let dumped = self.scene(|scene| warm::dump(&DUMP_ALL, scene))?;
        record.notes.extend(dumped.pages.map(|pages| format!("{pages} pages written down")));
        record.notes.extend(dumped.notes);
        Ok(())
    }

    /// What the room `warm` works with.
    fn scene<T>(
        &mut self,
        work: impl FnOnce(&mut Scene<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let target = self.ground.target().context("there is no server to warm")?.clone();
        let keeper = self.keeper;
        let mut progress = |p: Progress| keeper.progress(&p);
        let control = self.ground.control().map(|control| control as &mut dyn Control);
        let (clock, stop, progress) = (keeper.clock, keeper.stop, &mut progress);
        work(&mut Scene { target: &target, control, clock, stop, progress })
    }
}

fn warmed_record(strategy: &str, warmed: Warmed) -> WarmedRecord {
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
