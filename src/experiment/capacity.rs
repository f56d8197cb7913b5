//! The steps of a search for capacity: the search itself is `analysis::capacity`, replayed from what was measured.

use std::collections::VecDeque;

use super::script::{Script, SoFar};
use super::steps::{Deed, Overrides, Step, first_steps};
use crate::analysis::capacity::{Ask, Goal, search};
use crate::plan::{CapacityPlan, Plan, WayPlan};

/// Steps of a usual search, to tell how far one is.
const USUAL: usize = 18;

/// The steps of a search.
pub(super) struct Capacity {
    goal: Goal,
    first: VecDeque<Step>,
    given: usize,
}

impl Capacity {
    /// The script of a plan that searches.
    pub(super) fn new(plan: &Plan, capacity: &CapacityPlan) -> Capacity {
        let mut first: VecDeque<Step> = first_steps(plan).into();
        let way = plan.ways.first().cloned().unwrap_or_default();
        first.extend(warm_steps(&way));
        Capacity { goal: goal(capacity), first, given: 0 }
    }
}

/// The pool is warmed once, before the first step.
fn warm_steps(way: &WayPlan) -> impl Iterator<Item = Step> {
    way.warm.iter().map(|warm| Step::alone(Deed::Warm { plan: warm.clone() }))
}

fn goal(plan: &CapacityPlan) -> Goal {
    Goal {
        objectives: plan.objectives.clone(),
        settle_s: plan.settle.as_secs_f64(),
        step_s: plan.step_time.as_secs_f64(),
        confirm_s: plan.confirm.as_secs_f64(),
    }
}

impl Script for Capacity {
    fn expected(&self) -> usize {
        USUAL.max(self.given)
    }

    fn next(&mut self, so_far: &SoFar) -> anyhow::Result<Option<Step>> {
        self.given += 1;
        if let Some(step) = self.first.pop_front() {
            return Ok(Some(step));
        }
        let run = so_far.run()?;
        let (search, done) = search(&self.goal, &run.trials);
        Ok(search.next().map(|ask| {
            let of_phase = done.iter().filter(|(_, earlier, _)| earlier.phase == ask.phase);
            step(&ask, of_phase.count() as u32 + 1)
        }))
    }
}

fn step(ask: &Ask, pass: u32) -> Step {
    let over = Overrides {
        per_second: ask.per_second,
        time: Some(std::time::Duration::from_secs_f64(ask.seconds)),
        value: ask.per_second,
        ..Overrides::default()
    };
    let way = ask.phase.words().to_owned();
    Step { block: 0, way, deed: Deed::Load { pass, over } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::capacity::Phase;

    #[test]
    fn a_step_of_the_search_is_a_load_with_its_rate_and_time() {
        let ask = Ask { phase: Phase::Curve, per_second: Some(400.0), seconds: 13.0 };
        let step = step(&ask, 3);
        assert_eq!((step.kind(), step.way.as_str()), ("load", "curve"));
        let Deed::Load { pass: 3, over } = step.deed else { panic!("{step:?}") };
        assert_eq!((over.per_second, over.time.map(|t| t.as_secs())), (Some(400.0), Some(13)));
    }
}
