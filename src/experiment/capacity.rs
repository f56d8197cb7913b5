//! The steps of a search for capacity: the search itself is `analysis::capacity_record`, replayed from what was measured.

use std::collections::VecDeque;

use super::schedule::{RunSoFar, StepSchedule};
use super::steps::{LoadOverrides, PlanStep, StepKind, first_steps};
use crate::analysis::capacity::{SearchGoal, SearchStep, replay_search};
use crate::plan::{CapacityPlan, Mistake, Plan, VariantPlan, WorkloadPlan};
use crate::workload::{LoadScale, find_kind};

/// Steps of a usual search, to tell how far one is.
const USUAL: usize = 18;

/// The steps of a search.
pub(super) struct CapacitySchedule {
    /// What is wrong with the quantity that is searched for.
    refusal: Option<Mistake>,
    goal: SearchGoal,
    first: VecDeque<PlanStep>,
    given: usize,
}

/// The quantity of this name, if the load of this workload grows with it.
///
/// # Errors
/// When it does not.
pub fn find_scale(workload: &WorkloadPlan, name: &str) -> Result<LoadScale, Mistake> {
    let place = format!("--search {name}");
    match find_kind(&workload.kind)?.load_scale(&workload.options)? {
        Some(scale) if scale.name == name => Ok(scale),
        Some(scale) => Err(Mistake::new(place, "the load does not grow with it")
            .hint(format!("rate, or {}", scale.name))),
        None => Err(Mistake::new(place, "the load of this workload grows with its rate only")
            .hint("leave it out")),
    }
}

impl CapacitySchedule {
    /// The script of a plan that searches. That the workload has no such quantity is told with the first step.
    pub(super) fn new(plan: &Plan, capacity: &CapacityPlan) -> CapacitySchedule {
        let named = capacity.quantity.as_ref();
        let refusal = named.and_then(|name| find_scale(&plan.workload, name).err());
        let mut first: VecDeque<PlanStep> = first_steps(plan).into();
        let variant = plan.variants.first().cloned().unwrap_or_default();
        first.extend(warm_steps(&variant));
        CapacitySchedule { refusal, goal: search_goal(capacity), first, given: 0 }
    }
}

/// The pool is warmed once, before the first step.
fn warm_steps(variant: &VariantPlan) -> impl Iterator<Item = PlanStep> {
    variant.warm.iter().map(|warm| PlanStep::without_variant(StepKind::Warm { plan: warm.clone() }))
}

fn search_goal(plan: &CapacityPlan) -> SearchGoal {
    SearchGoal {
        quantity: plan.quantity.clone(),
        objectives: plan.objectives.clone(),
        settle_s: plan.settle.as_secs_f64(),
        step_s: plan.step_time.as_secs_f64(),
        confirm_s: plan.confirm.as_secs_f64(),
    }
}

impl StepSchedule for CapacitySchedule {
    fn expected_steps(&self) -> usize {
        USUAL.max(self.given)
    }

    fn next_step(&mut self, so_far: &RunSoFar) -> anyhow::Result<Option<PlanStep>> {
        if let Some(mistake) = self.refusal.take() {
            return Err(mistake.into());
        }
        self.given += 1;
        if let Some(step) = self.first.pop_front() {
            return Ok(Some(step));
        }
        let run = so_far.read_run()?;
        let (search, done) = replay_search(&self.goal, &run.trials);
        Ok(search.next().map(|ask| {
            let of_phase = done.iter().filter(|(_, earlier, _)| earlier.phase == ask.phase);
            load_step(&ask, of_phase.count() as u32 + 1)
        }))
    }
}

fn load_step(ask: &SearchStep, pass: u32) -> PlanStep {
    let over = LoadOverrides {
        per_second: ask.per_second,
        time: Some(std::time::Duration::from_secs_f64(ask.seconds)),
        scale: ask.scale.map(|scale| scale as u64),
        value: ask.per_second,
        ..LoadOverrides::default()
    };
    let variant = ask.phase.as_str().to_owned();
    PlanStep { block: 0, variant, kind: StepKind::Load { pass, over } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::capacity::SearchPhase;
    use crate::archive::RecordedStepKind;

    #[test]
    fn a_step_of_the_search_is_a_load_with_its_rate_and_time() {
        let (phase, per_second) = (SearchPhase::Curve, Some(400.0));
        let ask = SearchStep { phase, per_second, scale: None, seconds: 13.0 };
        let step = load_step(&ask, 3);
        assert_eq!(
            (step.recorded_kind(), step.variant.as_str()),
            (RecordedStepKind::Load, "curve")
        );
        let StepKind::Load { pass: 3, over } = step.kind else { panic!("{step:?}") };
        assert_eq!((over.per_second, over.time.map(|t| t.as_secs())), (Some(400.0), Some(13)));
        let wider = SearchStep { per_second: None, scale: Some(7.0), ..ask };
        let StepKind::Load { over, .. } = load_step(&wider, 1).kind else { panic!("no load") };
        assert_eq!((over.per_second, over.scale), (None, Some(7)));
    }
}
