//! The steps of a search for capacity: the search itself is `analysis::capacity_record`, replayed from what was measured.

use std::collections::VecDeque;

use super::schedule::{RunSoFar, StepSchedule};
use super::steps::{LoadOverrides, PlanStep, StepKind, first_steps};
use crate::analysis::capacity::{SearchGoal, SearchStep, replay_search};
use crate::plan::{CapacityPlan, Plan, VariantPlan};

/// Steps of a usual search, to tell how far one is.
const USUAL: usize = 18;

/// The steps of a search.
pub(super) struct CapacitySchedule {
    goal: SearchGoal,
    first: VecDeque<PlanStep>,
    given: usize,
}

impl CapacitySchedule {
    /// The script of a plan that searches.
    pub(super) fn new(plan: &Plan, capacity: &CapacityPlan) -> CapacitySchedule {
        let mut first: VecDeque<PlanStep> = first_steps(plan).into();
        let variant = plan.variants.first().cloned().unwrap_or_default();
        first.extend(warm_steps(&variant));
        CapacitySchedule { goal: search_goal(capacity), first, given: 0 }
    }
}

/// The pool is warmed once, before the first step.
fn warm_steps(variant: &VariantPlan) -> impl Iterator<Item = PlanStep> {
    variant.warm.iter().map(|warm| PlanStep::without_variant(StepKind::Warm { plan: warm.clone() }))
}

fn search_goal(plan: &CapacityPlan) -> SearchGoal {
    SearchGoal {
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
        let ask = SearchStep { phase: SearchPhase::Curve, per_second: Some(400.0), seconds: 13.0 };
        let step = load_step(&ask, 3);
        assert_eq!(
            (step.recorded_kind(), step.variant.as_str()),
            (RecordedStepKind::Load, "curve")
        );
        let StepKind::Load { pass: 3, over } = step.kind else { panic!("{step:?}") };
        assert_eq!((over.per_second, over.time.map(|t| t.as_secs())), (Some(400.0), Some(13)));
    }
}
