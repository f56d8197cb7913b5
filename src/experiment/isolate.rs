//! Each class of events alone: rounds of short loads, in each round every class once, in random order. What an event of a
//! class costs the server is then what the load cost, divided by its events.

use super::run::StepRunner;
use super::run_context::RunEnd;
use super::steps::{LoadOverrides, PlanStep, StepKind};
use super::trial::{self, TrialPosition};
use crate::archive::{RunState, StepRecord};
use crate::base::random::Rng;
use crate::plan::{ArrivalPlan, IsolatePlan, LoadPlan, Mistake, Plan};
use crate::workload::Workload;

/// Stream of random numbers that orders the classes of a round.
const ORDER_STREAM: u64 = 0x150_1A7E;

/// Before anything is done: whether the workload can run its classes alone, if the plan asks for it.
///
/// # Errors
/// A mistake with what to do.
pub(super) fn check_isolation(plan: &Plan, workload: &dyn Workload) -> anyhow::Result<()> {
    if plan.isolate.is_none() || workload.can_run_class_alone() {
        return Ok(());
    }
    let (why, hint) = match workload.class_names().len() {
        0 | 1 => (
            "has one class of events, which runs alone anyway",
            "leave it out: the report says what an event costs the server",
        ),
        _ => (
            "can't run one class of events alone",
            "leave it out: the report estimates the cost of each class",
        ),
    };
    let why = format!("the workload {} {why}", plan.workload.kind);
    Err(Mistake::new("isolate", why).hint(hint).into())
}

/// The classes of one round, in random order.
fn round_order(classes: &[usize], round: u32, seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed, u64::from(round), ORDER_STREAM);
    let mut order = classes.to_vec();
    for at in (1..order.len()).rev() {
        order.swap(at, rng.uniform_below(at as u64 + 1) as usize);
    }
    order
}

/// The load of one class: in an open loop at the rate that it has in the whole load.
fn class_overrides(load: &LoadPlan, isolate: IsolatePlan, share: f64) -> LoadOverrides {
    let whole = match &load.arrival {
        ArrivalPlan::Closed { .. } => None,
        ArrivalPlan::Constant { per_second } | ArrivalPlan::Poisson { per_second } => {
            Some(*per_second)
        }
        ArrivalPlan::Stages { stages, .. } => Some(stages.mean_rate()),
    };
    LoadOverrides {
        time: Some(isolate.time),
        per_second: whole.map(|rate| rate * share),
        ..LoadOverrides::default()
    }
}

impl StepRunner<'_, '_, '_> {
    /// After the last step: all rounds, if the plan asks for them. Classes of which the load had no event are left out.
    pub(super) fn run_classes_alone(&mut self, steps_before: usize) -> anyhow::Result<RunEnd> {
        let done = (RunState::Done, None);
        let Some(isolate) = self.plan.isolate else { return Ok(done) };
        let names = self.workload.class_names();
        let seen: Vec<usize> = (0..names.len())
            .filter(|class| self.class_events.get(*class).is_some_and(|events| *events > 0))
            .collect();
        let (mut number, of) = (steps_before, steps_before + seen.len() * isolate.rounds as usize);
        for round in 1..=isolate.rounds {
            for class in round_order(&seen, round, self.plan.seed) {
                if self.run.stop.is_set() {
                    return Ok(done);
                }
                number += 1;
                let name = names[class].clone();
                let step = PlanStep::without_variant(StepKind::ClassLoad { class, name, round });
                let reached = self.run.record_step(&step, number, of, |record| {
                    self.run_measured_step(&step, record)
                })?;
                if reached.0 != RunState::Done {
                    return Ok(reached);
                }
            }
        }
        Ok(done)
    }

    /// One class in one round.
    pub(super) fn run_class_alone(
        &mut self,
        class: usize,
        round: u32,
        record: &StepRecord,
    ) -> anyhow::Result<RunEnd> {
        let all: u64 = self.class_events.iter().sum();
        let share = self.class_events[class] as f64 / all.max(1) as f64;
        let isolate = self.plan.isolate.unwrap_or_default();
        let place = TrialPosition {
            variant: String::new(),
            pass: round,
            // Another round draws other numbers.
            block: round,
            step: record.number,
            settings: self.settings.clone(),
            over: class_overrides(&self.plan.load, isolate, share),
            only_class: Some((class, self.workload.class_names()[class].clone())),
        };
        let recording = self.run_watched_trial(&place)?;
        Ok(trial::confirm_run_end(&recording, &self.environment, self.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_round_holds_every_class_once_in_an_order_of_its_own() {
        let classes = [0, 2, 3, 5];
        let orders: Vec<_> = (1..=6).map(|round| round_order(&classes, round, 7)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, classes);
        }
        assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
        assert_eq!(orders, (1..=6).map(|r| round_order(&classes, r, 7)).collect::<Vec<_>>());
    }

    #[test]
    fn a_class_alone_comes_as_often_as_in_the_mix() {
        let isolate = IsolatePlan { rounds: 2, time: Duration::from_secs(3) };
        let open =
            LoadPlan { arrival: ArrivalPlan::Poisson { per_second: 200.0 }, ..LoadPlan::default() };
        assert_eq!(class_overrides(&open, isolate, 0.25).per_second, Some(50.0));
        let closed = class_overrides(&LoadPlan::default(), isolate, 0.25);
        assert_eq!((closed.per_second, closed.time), (None, Some(isolate.time)));
    }
}
