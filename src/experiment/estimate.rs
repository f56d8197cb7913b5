//! How long a plan takes, as far as it says so itself; and how long is left, from what its steps took so far.

use std::collections::BTreeMap;
use std::time::Duration;

use super::steps::{PlanStep, StepKind, plan_steps};
use crate::archive::RecordedStepKind;
use crate::plan::Plan;

/// How long the steps of a plan take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeEstimate {
    /// Time of all loads that say how long they take.
    pub loads: Duration,
    /// Most that waiting for the server to come to rest may add.
    pub settling: Duration,
    /// Steps that don't say how long they take, by kind, and how many there are.
    pub unknown: BTreeMap<RecordedStepKind, usize>,
}

/// How long a plan takes; with `until_clear` the blocks that are run in any case.
pub fn estimate_time(plan: &Plan) -> TimeEstimate {
    let mut found = TimeEstimate::default();
    for step in plan_steps(plan) {
        match (&step.kind, planned_time(plan, &step)) {
            (StepKind::Settle { .. }, Some(most)) => found.settling += most,
            (_, Some(time)) => found.loads += time,
            (_, None) => *found.unknown.entry(step.recorded_kind()).or_insert(0) += 1,
        }
    }
    found
}

/// The time that a step has by the plan; the longest for one that ends when the server is at rest.
fn planned_time(plan: &Plan, step: &PlanStep) -> Option<Duration> {
    match &step.kind {
        StepKind::Settle { most } => Some(*most),
        _ => step.planned_load(plan)?.time,
    }
}

/// How long is left of a plan under way. Steps that have no time by the plan count with what those of their kind took.
#[derive(Clone, Debug, Default)]
pub struct RemainingTime {
    /// Kind and planned seconds of each step.
    steps: Vec<(RecordedStepKind, Option<f64>)>,
    /// Seconds that steps of a kind took, and how many of them have ended.
    seen: BTreeMap<RecordedStepKind, (f64, u32)>,
}

impl RemainingTime {
    /// Of a plan that has not begun.
    pub fn from_plan(plan: &Plan) -> RemainingTime {
        let time = |step: &PlanStep| planned_time(plan, step).map(|time| time.as_secs_f64());
        let steps = plan_steps(plan).iter().map(|s| (s.recorded_kind(), time(s))).collect();
        RemainingTime { steps, seen: BTreeMap::new() }
    }

    /// Notes how long a step took.
    pub fn add_ended(&mut self, step: &PlanStep, seconds: f64) {
        let (sum, count) = self.seen.entry(step.recorded_kind()).or_default();
        *sum += seconds;
        *count += 1;
    }

    /// Seconds from the beginning of this step, counted from 1, to the end; `None` where it is not known.
    pub fn seconds_from(&self, number: usize) -> Option<f64> {
        let to_come = self.steps.get(number.checked_sub(1)?..).filter(|steps| !steps.is_empty())?;
        let took = |(kind, planned): &(RecordedStepKind, Option<f64>)| match self.seen.get(kind) {
            Some((sum, count)) => sum / f64::from(*count),
            None => planned.unwrap_or(0.0),
        };
        Some(to_come.iter().map(took).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ResetPlan, SandboxPlan, TargetPlan, VariantPlan};

    fn plan() -> Plan {
        let mut plan = Plan {
            prepare: true,
            target: TargetPlan::Sandbox(SandboxPlan::default()),
            reset: ResetPlan::Snapshot,
            settle: Some(Duration::from_secs(10)),
            variants: vec![VariantPlan::default(); 2],
            passes: 1,
            blocks: 2,
            ..Plan::default()
        };
        plan.load.time = Some(Duration::from_secs(8));
        plan
    }

    #[test]
    fn what_is_planned_is_added_up() {
        let found = estimate_time(&plan());
        assert_eq!((found.loads.as_secs(), found.settling.as_secs()), (32, 40));
        let unknown: Vec<(&str, usize)> =
            found.unknown.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        assert_eq!(unknown, [("prepare", 1), ("snapshot", 1), ("restore", 4), ("restart", 4)]);
    }

    #[test]
    fn what_steps_took_says_how_long_the_others_take() {
        let plan = plan();
        let steps = plan_steps(&plan);
        let mut left = RemainingTime::from_plan(&plan);
        assert_eq!(left.seconds_from(1), Some(72.0));
        // The first load, and settling before it.
        left.add_ended(&steps[4], 2.0);
        left.add_ended(&steps[5], 9.0);
        assert_eq!(steps[5].to_string(), "block 1: load, pass 1");
        assert_eq!(left.seconds_from(7), Some(3.0 * (2.0 + 9.0)));
        left.add_ended(&steps[3], 1.0);
        assert_eq!(left.seconds_from(7), Some(3.0 * (2.0 + 9.0 + 1.0)));
        assert_eq!(left.seconds_from(steps.len() + 1), None);
    }
}
