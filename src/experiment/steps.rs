//! From plan to steps, without touching anything: what `--dry-run` prints.

use crate::archive::RecordedStepKind;

use std::fmt;
use std::time::Duration;

use super::order::variant_order;
use super::trial::{self, TrialPosition};
use crate::base::units::show_time;
use crate::plan::{LoadPlan, Plan, ResetPlan, TargetPlan, VariantPlan, WarmPlan};
use crate::server::Settings;

/// One step of an experiment: a deed, for a variant, in a block.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    /// Which repeat of the experiment it belongs to, from 1; 0 if there is but one, or it belongs to none.
    pub block: u32,
    /// The variant it belongs to; empty for none.
    pub variant: String,
    /// What is done.
    pub kind: StepKind,
}

/// What is done in a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// Make the data.
    Prepare,
    /// Hold the data against the rules of the workload.
    CheckData {
        /// Whether the loads of the variant have run.
        is_after: bool,
    },
    /// Stop the server and keep a copy of its data.
    Snapshot,
    /// Stop the server and put the kept copy back.
    Restore,
    /// Remove the data and make them anew.
    Reload,
    /// Stop the server, if it runs, and start it.
    Restart {
        /// What it is started with, beside its own settings.
        settings: Settings,
        /// Whether its files are evicted in between, and the start is proven to be cold.
        cold: bool,
    },
    /// Set variables of a server that we did not start; those of the variant before get their old values first.
    Set {
        /// The variables.
        settings: Settings,
    },
    /// Fill the pool.
    Warm {
        /// How.
        plan: WarmPlan,
    },
    /// Wait until the server has come to rest.
    Settle {
        /// For so long at most.
        most: Duration,
    },
    /// Run the load and count nothing.
    WarmUp {
        /// What is not as in the plan's load, among it the time.
        over: LoadOverrides,
    },
    /// Run the load.
    Load {
        /// From 1: which run since the variant began.
        pass: u32,
        /// What is not as in the plan's load.
        over: LoadOverrides,
    },
    /// Run one class of events alone.
    ClassLoad {
        /// Its place in the workload's list.
        class: usize,
        /// Its name.
        name: String,
        /// Which round, from 1.
        round: u32,
    },
    /// Have the server write down which pages its pool holds.
    Dump,
    /// Run the load once more, and look what gathering waits costs.
    WatchCost,
}

/// What a load does not take from the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOverrides {
    /// Sessions.
    pub workers: Option<usize>,
    /// Open loop: events per second. A closed load becomes an open one with exponential gaps.
    pub per_second: Option<f64>,
    /// How much of its data the workload uses, in its own steps.
    pub scale: Option<u64>,
    /// How long it runs.
    pub time: Option<Duration>,
    /// Its value along the axis of a sweep, for the record.
    pub value: Option<f64>,
}

impl PlanStep {
    /// The load that this step of a plan runs; none if it runs none.
    pub fn planned_load(&self, plan: &Plan) -> Option<LoadPlan> {
        match &self.kind {
            StepKind::Load { over, .. } | StepKind::WarmUp { over } => {
                Some(trial::apply_overrides(&plan.load, over))
            }
            _ => None,
        }
    }

    /// The name of its load's folder in a run where it has this number; none if it runs none.
    pub fn load_id(&self, number: u32) -> Option<String> {
        let StepKind::Load { pass, .. } = self.kind else { return None };
        let variant = self.variant.clone();
        Some(trial::trial_id(&TrialPosition { variant, pass, step: number, ..Default::default() }))
    }

    /// A step that belongs to no variant.
    pub fn without_variant(kind: StepKind) -> PlanStep {
        PlanStep { block: 0, variant: String::new(), kind }
    }

    /// The step's kind, as the run folder names it.
    pub fn recorded_kind(&self) -> RecordedStepKind {
        match &self.kind {
            StepKind::Prepare => RecordedStepKind::Prepare,
            StepKind::CheckData { .. } => RecordedStepKind::CheckData,
            StepKind::Snapshot => RecordedStepKind::Snapshot,
            StepKind::Restore => RecordedStepKind::Restore,
            StepKind::Reload => RecordedStepKind::Reload,
            StepKind::Restart { cold: true, .. } => RecordedStepKind::RestartCold,
            StepKind::Restart { cold: false, .. } => RecordedStepKind::Restart,
            StepKind::Set { .. } => RecordedStepKind::Set,
            StepKind::Warm { .. } => RecordedStepKind::Warm,
            StepKind::Settle { .. } => RecordedStepKind::Settle,
            StepKind::WarmUp { .. } => RecordedStepKind::WarmUp,
            StepKind::Load { .. } => RecordedStepKind::Load,
            StepKind::ClassLoad { .. } => RecordedStepKind::ClassLoad,
            StepKind::Dump => RecordedStepKind::Dump,
            StepKind::WatchCost => RecordedStepKind::WatchCost,
        }
    }

    /// Whether it runs a load.
    pub fn is_load(&self) -> bool {
        matches!(self.kind, StepKind::Load { .. })
    }
}

impl fmt::Display for PlanStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.block, self.variant.as_str()) {
            (0, "") => {}
            (0, variant) => write!(f, "{variant}: ")?,
            (block, "") => write!(f, "block {block}: ")?,
            (block, variant) => write!(f, "block {block}, {variant}: ")?,
        }
        match &self.kind {
            StepKind::Prepare => f.write_str("make the data"),
            StepKind::CheckData { is_after: false } => f.write_str("check the data"),
            StepKind::CheckData { is_after: true } => f.write_str("check the data again"),
            StepKind::Snapshot => f.write_str("keep a snapshot of the data"),
            StepKind::Restore => f.write_str("put the snapshot back"),
            StepKind::Reload => f.write_str("make the data again"),
            StepKind::Restart { settings, cold } => {
                f.write_str(if *cold { "restart cold" } else { "restart" })?;
                write_settings(f, " with ", settings)
            }
            StepKind::Set { settings } if settings.is_empty() => {
                f.write_str("put the variables back")
            }
            StepKind::Set { settings } => write_settings(f, "set ", settings),
            StepKind::Warm { plan } => write!(f, "warm by {}", plan.strategy),
            StepKind::Settle { most } => write!(f, "settle, {} at most", show_time(*most)),
            StepKind::WarmUp { over } => {
                write!(f, "warm-up, {}", show_time(over.time.unwrap_or_default()))
            }
            StepKind::Load { pass, over } => {
                write!(f, "load, pass {pass}")?;
                write_overrides(f, over)
            }
            StepKind::ClassLoad { name, round, .. } => write!(f, "{name} alone, round {round}"),
            StepKind::Dump => f.write_str("save the list of pages in the pool"),
            StepKind::WatchCost => f.write_str("measure the overhead"),
        }
    }
}

/// What a search asks of a load; levels of a sweep have it in their variant's name.
fn write_overrides(f: &mut fmt::Formatter<'_>, over: &LoadOverrides) -> fmt::Result {
    let Some(time) = over.time else { return Ok(()) };
    if let Some(per_second) = over.per_second {
        write!(f, ", {per_second:.0} events/s")?;
    }
    if let Some(scale) = over.scale {
        write!(f, ", scale {scale}")?;
    }
    write!(f, ", {:.1} s", time.as_secs_f64())
}

fn write_settings(f: &mut fmt::Formatter<'_>, word: &str, settings: &Settings) -> fmt::Result {
    for (n, (name, value)) in settings.iter().enumerate() {
        write!(f, "{}{name}={value}", if n == 0 { word } else { ", " })?;
    }
    Ok(())
}

/// The steps of a plan, in order; with `until_clear` those that are walked in any case.
pub fn plan_steps(plan: &Plan) -> Vec<PlanStep> {
    let mut steps = first_steps(plan);
    for block in 1..=block_count(plan) {
        steps.extend(block_steps(plan, block));
    }
    steps
}

/// How many blocks a plan has; with `until_clear` at least.
pub fn block_count(plan: &Plan) -> u32 {
    plan.blocks.max(1)
}

/// What comes before the first block.
pub fn first_steps(plan: &Plan) -> Vec<PlanStep> {
    let mut steps = Vec::new();
    if plan.prepare {
        steps.push(PlanStep::without_variant(StepKind::Prepare));
    }
    if plan.reset == ResetPlan::Snapshot {
        steps.push(PlanStep::without_variant(StepKind::Snapshot));
    }
    steps
}

/// The steps of one block, from 1: each variant once.
pub fn block_steps(plan: &Plan, block: u32) -> Vec<PlanStep> {
    let shown = if block_count(plan) > 1 || plan.until_clear.is_some() { block } else { 0 };
    let order = match plan.variants.len() {
        0 | 1 => (0..plan.variants.len()).collect(),
        variants => variant_order(plan.order, variants, block, plan.seed),
    };
    order
        .into_iter()
        .flat_map(|variant| variant_steps(plan, &plan.variants[variant], shown))
        .collect()
}

/// From the same state to the end of the variant's loads.
pub(super) fn variant_steps(plan: &Plan, variant: &VariantPlan, block: u32) -> Vec<PlanStep> {
    let mut deeds = Vec::new();
    match plan.reset {
        ResetPlan::None => {}
        ResetPlan::Snapshot => deeds.push(StepKind::Restore),
        ResetPlan::Reload => deeds.push(StepKind::Reload),
    }
    // Before a restart, so that what it read is gone from a cold server.
    let is_checked = plan.check_data == Some(true);
    deeds.extend(is_checked.then_some(StepKind::CheckData { is_after: false }));
    let settings = variant.settings.clone();
    // The base too is restarted, or set back, so that all variants have the same past.
    let any_has_settings = plan.variants.iter().any(|variant| !variant.settings.is_empty());
    let is_ours = matches!(plan.target, TargetPlan::Sandbox(_));
    if plan.cold || plan.reset == ResetPlan::Snapshot || (is_ours && any_has_settings) {
        deeds.push(StepKind::Restart { settings, cold: plan.cold });
    } else if any_has_settings {
        deeds.push(StepKind::Set { settings });
    }
    deeds.extend(variant.warm.iter().map(|warm| StepKind::Warm { plan: warm.clone() }));
    deeds.extend(plan.settle.map(|most| StepKind::Settle { most }));
    let over = LoadOverrides {
        workers: variant.workers,
        per_second: variant.per_second,
        value: variant.value,
        ..LoadOverrides::default()
    };
    deeds.extend(
        plan.warmup.map(|time| StepKind::WarmUp {
            over: LoadOverrides { time: Some(time), ..over.clone() },
        }),
    );
    deeds.extend((1..=plan.passes).map(|pass| StepKind::Load { pass, over: over.clone() }));
    if variant.dump_after {
        deeds.push(StepKind::Dump);
    }
    deeds.extend(is_checked.then_some(StepKind::CheckData { is_after: true }));
    deeds.into_iter().map(|kind| PlanStep { block, variant: variant.name.clone(), kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, SandboxPlan, VariantPlan};

    fn variant(name: &str, strategy: &str, dump_after: bool) -> VariantPlan {
        let warm = WarmPlan { strategy: strategy.to_owned(), ..WarmPlan::default() };
        let warm = if strategy.is_empty() { Vec::new() } else { vec![warm] };
        VariantPlan { name: name.to_owned(), warm, dump_after, ..VariantPlan::default() }
    }

    fn with_settings(name: &str, settings: &[(&str, &str)]) -> VariantPlan {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        VariantPlan { name: name.to_owned(), settings, ..VariantPlan::default() }
    }

    fn printed(plan: &Plan) -> Vec<String> {
        plan_steps(plan).iter().map(PlanStep::to_string).collect()
    }

    #[test]
    fn a_plain_load_is_one_step() {
        let plan = Plan { variants: vec![VariantPlan::default()], passes: 1, ..Plan::default() };
        assert_eq!(printed(&plan), ["load, pass 1"]);
    }

    #[test]
    fn a_warm_up_comes_right_before_the_loads() {
        let mut plan =
            Plan { variants: vec![VariantPlan::default()], passes: 2, ..Plan::default() };
        plan.settle = Some(Duration::from_secs(9));
        plan.warmup = Some(Duration::from_secs(5));
        let expected = ["settle, 9s at most", "warm-up, 5s", "load, pass 1", "load, pass 2"];
        assert_eq!(printed(&plan), expected);
    }

    #[test]
    fn data_are_checked_before_the_restart_and_after_all_loads() {
        let variants = vec![variant("", "", true)];
        let check_data = Some(true);
        let plan = Plan { check_data, cold: true, variants, passes: 1, ..Plan::default() };
        let expected = [
            "check the data",
            "restart cold",
            "load, pass 1",
            "save the list of pages in the pool",
            "check the data again",
        ];
        assert_eq!(printed(&plan), expected);
    }

    #[test]
    fn each_variant_begins_cold_and_the_list_of_pages_is_made_before_it_is_loaded() {
        let variants = vec![variant("none", "", true), variant("load", "load", false)];
        let plan = Plan { prepare: true, cold: true, variants, passes: 2, ..Plan::default() };
        let expected = [
            "make the data",
            "none: restart cold",
            "none: load, pass 1",
            "none: load, pass 2",
            "none: save the list of pages in the pool",
            "load: restart cold",
            "load: warm by load",
            "load: load, pass 1",
            "load: load, pass 2",
        ];
        assert_eq!(printed(&plan), expected);
    }

    #[test]
    fn variants_with_settings_alternate_and_the_base_is_restarted_too() {
        let variants = vec![
            with_settings("safe", &[]),
            with_settings("fast", &[("innodb_flush_log_at_trx_commit", "2")]),
        ];
        let plan = Plan {
            prepare: true,
            target: TargetPlan::Sandbox(SandboxPlan::default()),
            reset: ResetPlan::Snapshot,
            settle: Some(Duration::from_secs(30)),
            variants,
            passes: 1,
            blocks: 2,
            ..Plan::default()
        };
        let expected = [
            "make the data",
            "keep a snapshot of the data",
            "block 1, safe: put the snapshot back",
            "block 1, safe: restart",
            "block 1, safe: settle, 30s at most",
            "block 1, safe: load, pass 1",
            "block 1, fast: put the snapshot back",
            "block 1, fast: restart with innodb_flush_log_at_trx_commit=2",
            "block 1, fast: settle, 30s at most",
            "block 1, fast: load, pass 1",
            "block 2, fast: put the snapshot back",
            "block 2, fast: restart with innodb_flush_log_at_trx_commit=2",
            "block 2, fast: settle, 30s at most",
            "block 2, fast: load, pass 1",
            "block 2, safe: put the snapshot back",
            "block 2, safe: restart",
            "block 2, safe: settle, 30s at most",
            "block 2, safe: load, pass 1",
        ];
        assert_eq!(printed(&plan), expected);
    }

    #[test]
    fn a_server_that_is_not_ours_is_set_and_never_restarted() {
        let variants = vec![with_settings("a", &[]), with_settings("b", &[("x", "1"), ("y", "2")])];
        let plan = Plan {
            target: TargetPlan::Address(crate::plan::AddressPlan::default()),
            variants,
            passes: 1,
            ..Plan::default()
        };
        let expected =
            ["a: put the variables back", "a: load, pass 1", "b: set x=1, y=2", "b: load, pass 1"];
        assert_eq!(printed(&plan), expected);
    }
}
