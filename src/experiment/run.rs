//! The one loop over a plan's steps.

use std::io::{BufWriter, Write as _};

use anyhow::Context;

use super::capacity::Capacity;
use super::complaints::{self, Complaints};
use super::eyes::Eyes;
use super::ground::Ground;
use super::keeper::{Finished, Keeper, Reached};
use super::script::{Blocks, Clear, Script, SoFar};
use super::settings::FirstStart;
use super::steps::{Deed, Overrides, Step};
use super::sweep::Sweep;
use super::trial::{self, Place};
use super::waits::{self, Watch};
use super::{Listener, facts, instances, preflight, quiet, resolved, settings};
use crate::analysis;
use crate::archive::{RunState, StepRecord, WarmedRecord};
use crate::base::{Clock as _, Stop, StopReason, private};
use crate::plan::{Mistakes, Plan, WarmPlan};
use crate::probe::noise::Care;
use crate::server::journal::Journal;
use crate::server::{Control, Settings};
use crate::target::Target;
use crate::warm::{self, DumpPlan, Scene, Warmed};
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
    run_script(plan, &mut *script(plan, &|run| analysis::clear(run).ends), command, stop, listener)
}

/// The script that a plan asks for. `is_clear` is for plans of ways, see `Blocks`.
pub fn script<'a>(plan: &'a Plan, is_clear: Clear<'a>) -> Box<dyn Script + 'a> {
    if let Some(capacity) = &plan.capacity {
        return Box::new(Capacity::new(plan, capacity));
    }
    match &plan.sweep {
        Some(sweep) if sweep.is_load() => Box::new(Sweep::new(plan)),
        _ => Box::new(Blocks::new(plan, is_clear)),
    }
}

/// What can be found wrong with a plan before any server is started or reached.
///
/// # Errors
/// All mistakes together; or when the sandbox's program can't be asked.
pub fn check(plan: &Plan) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for checked in
        [preflight::check_plan(plan), instances::check(plan), settings::check_before(plan)]
    {
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
/// As `run`.
pub fn run_script(
    plan: &Plan,
    script: &mut dyn Script,
    command: &str,
    stop: &Stop,
    listener: &mut dyn Listener,
) -> anyhow::Result<Finished> {
    check(plan)?;
    let ground = Ground::reach(plan, stop)?;
    preflight::check(plan, &ground, stop)?;
    waits::check(plan, &ground, stop)?;
    let record = facts::server(&ground, stop)?;
    let workload = trial::build(&plan.workload, ground.target())?;
    if !plan.prepare {
        workload.check(stop)?;
    }
    let keeper = Keeper::begin(plan, command, stop, listener)?;
    if let Some(server) = &record {
        keeper.tell(|listener| listener.server(server));
    }
    if plan.blocks > 0 {
        let lock = resolved::resolve(plan, &ground, record.as_ref(), &keeper.dir(), stop);
        keeper.writer().lock(&lock);
        keeper.tell(|listener| listener.lock(&lock));
    }
    keeper.writer().update(|meta| meta.server = record);
    if !plan.prepare {
        facts::write_data(&keeper, plan, &ground);
        facts::write_reach(&keeper, &*workload);
    }
    let result = std::thread::scope(|scope| {
        let eyes = Eyes::open(scope, plan, &ground, &keeper)?;
        let workload = &*workload;
        let mut walk = Walk {
            plan,
            keeper: &keeper,
            ground,
            workload,
            eyes,
            settings: Settings::new(),
            first_start: None,
            journal: None,
            care: quiet::care(plan, command),
        };
        let complaints = Complaints::so_far(&mut walk.ground);
        let result = walk.all(script);
        let result = complaints::told(result, &mut walk.ground, &keeper);
        complaints.keep_new(&mut walk.ground, &keeper);
        let back = walk.put_back();
        walk.eyes.close();
        with_ending(result, back, &keeper)
    });
    Ok(keeper.end(result))
}

/// What a run came to, and whether everything was put back after it. What is left changed on a server stays in its journal,
/// of which whoever ends the program tells; it must not hide what stopped the run.
fn with_ending(
    result: anyhow::Result<Reached>,
    back: anyhow::Result<()>,
    keeper: &Keeper<'_>,
) -> anyhow::Result<Reached> {
    let Err(left) = back else { return result };
    keeper.note(&format!("{left:#}"));
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
pub(super) struct Walk<'a, 'k, 'scope> {
    pub(super) plan: &'a Plan,
    pub(super) keeper: &'a Keeper<'k>,
    pub(super) ground: Ground,
    pub(super) workload: &'a dyn Workload,
    pub(super) eyes: Eyes<'scope>,
    /// The settings of the way under way.
    pub(super) settings: Settings,
    /// What the server ran with when it was first restarted.
    pub(super) first_start: Option<FirstStart>,
    /// What was changed on a server that is not ours.
    pub(super) journal: Option<Journal>,
    /// How closely to look at the machine beside each load.
    pub(super) care: Option<Care>,
}

impl Walk<'_, '_, '_> {
    /// All steps, until one says that it goes no further.
    fn all(&mut self, script: &mut dyn Script) -> anyhow::Result<Reached> {
        let keeper = self.keeper;
        let so_far = SoFar::of(keeper.dir());
        let mut number = 0;
        while let Some(step) = script.next(&so_far)? {
            number += 1;
            let of = script.expected().max(number);
            let reached = keeper
                .step(&step, number, of, |record| self.watched(&step, record))
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
        let noise = self.care.filter(|_| matches!(step.deed, Deed::Load { .. }));
        let clock = self.keeper.clock;
        if let Some(care) = &noise {
            let pid = self.eyes.pid(&self.ground);
            quiet::note(&mut record.noise, "before.", care, pid, self.keeper);
            record.began_ns = clock.now().0;
        }
        record.before = self.eyes.look(&self.ground, self.keeper);
        let result = self.perform(step, record);
        // One that was just found silent is not asked again.
        let is_over = matches!(&result, Ok((RunState::Failed, _))) || self.keeper.stop.is_set();
        let is_gone = is_over && self.ground.target().is_some_and(Target::is_silent);
        if !is_gone {
            record.after = self.eyes.look(&self.ground, self.keeper);
        }
        if let Some(care) = noise.filter(|_| result.is_ok()) {
            record.ended_ns = Some(clock.now().0);
            let pid = self.eyes.pid(&self.ground);
            quiet::note(&mut record.noise, "after.", &care, pid, self.keeper);
        }
        result
    }

    fn perform(&mut self, step: &Step, record: &mut StepRecord) -> anyhow::Result<Reached> {
        match &step.deed {
            Deed::Prepare => self.prepare(),
            Deed::Snapshot => self.snapshot(record),
            Deed::Restore => self.restore(record),
            Deed::Reload => self.reload(),
            Deed::Restart { settings, cold } => self.restart(settings, *cold, record),
            Deed::Set { settings } => self.set(settings, record),
            Deed::Warm { plan } => self.warm(plan, record),
            Deed::Settle { most } => self.settle(*most, record),
            Deed::Dump => self.dump(record),
            Deed::WatchCost => self.watch_cost(record),
            Deed::Load { pass, over } => return self.load(step, *pass, over, record.number),
        }?;
        Ok((RunState::Done, None))
    }

    fn load(
        &mut self,
        step: &Step,
        pass: u32,
        over: &Overrides,
        number: u32,
    ) -> anyhow::Result<Reached> {
        let place = Place {
            way: step.way.clone(),
            block: step.block.max(1),
            pass,
            step: number,
            settings: self.settings.clone(),
            over: over.clone(),
        };
        let watch = Watch::begin(self.plan, self.keeper, &self.ground)?;
        let recording = trial::run(self.keeper, self.plan, self.workload, &place, &self.ground)?;
        let reached = trial::asked(&recording, &self.ground, self.keeper);
        let ended = watch.map_or(Ok(()), |watch| watch.end(self.keeper, &trial::name(&place)));
        with_ending(Ok(reached), ended, self.keeper)
    }

    pub(super) fn prepare(&mut self) -> anyhow::Result<()> {
        trial::prepare(self.keeper, self.plan, self.workload)?;
        if self.keeper.stop.is_set() {
            return Ok(());
        }
        facts::write_data(self.keeper, self.plan, &self.ground);
        self.workload.check(self.keeper.stop)?;
        facts::write_reach(self.keeper, self.workload);
        self.write_statements()
    }

    /// Keeps the statements of the load beside the run, where it has a list of them, for other tools to run.
    fn write_statements(&self) -> anyhow::Result<()> {
        let path = self.keeper.dir().join(STATEMENTS);
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

    fn warm(&mut self, plan: &WarmPlan, record: &mut StepRecord) -> anyhow::Result<()> {
        let strategy = warm::strategy(&plan.strategy)?;
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
