//! What a server holds under an objective: the verdict on each step, the search from step to step, and what came of it.
//! The search is replayed from the run's loads, so a report says what the search knew.
//! Never knows: plans, how a step is run.
//! Start reading at [`replay_search()`]; `search.rs` decides the next step, `judge.rs` says whether one was passed.

mod judge;
mod search;
#[cfg(test)]
mod tests;

use super::findings::{
    AnswerSentence, CapacityFinding, CapacityStep, ComparisonVerdict, StepOutcome, TrialFinding,
};
use super::number_format::{format_plural, format_time};
use super::sentences::answer_texts;
use crate::archive::{RunRecord, Trial, TrialEnding};
use crate::plan::{Mistake, Objective};

pub use judge::{LIMIT, StepMeasurement, StepVerdict, judge_step};
pub use search::{CapacitySearch, SearchGoal, SearchPhase, SearchStep};

/// A confirmation shorter than this (seconds) sees no full cycle of flushing, nor of a disk's burst allowance.
const LONG_S: f64 = 300.0;

/// The search as far as these loads brought it, and each of its steps with its load's place.
pub fn replay_search(
    goal: &SearchGoal,
    trials: &[Trial],
) -> (CapacitySearch, Vec<(usize, SearchStep, StepVerdict)>) {
    let mut search = CapacitySearch::new(goal.clone());
    let mut steps = Vec::new();
    for (place, trial) in trials.iter().enumerate() {
        let Some(ask) = search.next() else { break };
        if trial.reason != TrialEnding::Done {
            break;
        }
        let seen = StepMeasurement::from_trial(trial, goal.settle_s, ask.seconds);
        let mut judged = judge_step(&seen, &goal.objectives);
        let told = search.record_verdict(&judged);
        // The search goes on below such a step; of the server it says nothing.
        judged.verdict = if judged.is_void { ComparisonVerdict::Unsure } else { told };
        if ask.phase == SearchPhase::Burst {
            judged.why = "a closed loop, which sets the scale".to_owned();
        }
        steps.push((place, ask, judged));
    }
    (search, steps)
}

/// What the run searched for, if it did.
///
/// # Errors
/// What is wrong with the objectives.
pub fn parse_search_goal(run: &RunRecord) -> Result<Option<SearchGoal>, Mistake> {
    let Some(asked) = &run.meta.asked.capacity else { return Ok(None) };
    let objectives = asked.objectives.iter().map(|text| Objective::parse("--slo", text));
    Ok(Some(SearchGoal {
        quantity: asked.quantity.clone(),
        objectives: objectives.collect::<Result<_, _>>()?,
        settle_s: asked.settle_s,
        step_s: asked.step_s,
        confirm_s: asked.confirm_s,
    }))
}

/// What a run found; `None` for one that searched for nothing.
pub(super) fn find_capacity(run: &RunRecord, trials: &[TrialFinding]) -> Option<CapacityFinding> {
    let goal = parse_search_goal(run).ok().flatten()?;
    let (search, steps) = replay_search(&goal, &run.trials);
    let mut capacity = CapacityFinding {
        objectives: goal.objectives.iter().map(Objective::to_string).collect(),
        quantity: goal.quantity.clone(),
        confirmed_per_s: search.confirmed,
        ill_posed: search.ill_posed.clone(),
        notes: search.notes.clone(),
        ..CapacityFinding::default()
    };
    if let (Some((rate, why)), None) = (&search.failed, &capacity.ill_posed) {
        let is_server = !why.starts_with(LIMIT);
        capacity.first_failing_per_s = is_server.then_some(*rate);
        capacity.why = Some(why.clone());
    }
    if goal.quantity.is_some() {
        name_amounts(&mut capacity, &steps);
        let all = search.exhausted().filter(|_| capacity.confirmed_per_s.is_some());
        capacity.notes.extend(all.map(|all| {
            format!("{} is all there is: load more to find the limit", search.amount_text(all))
        }));
    }
    if search.next().is_some() {
        capacity.notes.push("the search was interrupted".to_owned());
    }
    if capacity.confirmed_per_s.is_some() && goal.confirm_s < LONG_S {
        capacity.notes.push(format!(
            "confirmed over {} only: what lasts for minutes (redo log, burst allowance of a disk) \
             is not in it; --confirm 5m sees more",
            format_time(goal.confirm_s)
        ));
    }
    let void = steps.iter().filter(|(.., judged)| judged.is_void).count();
    if void > 0 {
        capacity.notes.push(format!(
            "the load generator was the limit in {}: the server may hold more than shown here",
            format_plural(void as u64, "step", "steps")
        ));
    }
    capacity.steps = steps
        .into_iter()
        .map(|(trial, ask, judged)| CapacityStep {
            trial,
            phase: ask.phase.as_str().to_owned(),
            value: ask.scale.map(|asked| judged.value.unwrap_or(asked)),
            offered_per_s: judged.offered_per_s,
            achieved_per_s: judged.achieved_per_s,
            p99_s: judged.p99_s.or(trials.get(trial).and_then(|t| t.response.p99_s)),
            outcome: match judged.verdict {
                _ if ask.phase == SearchPhase::Burst => StepOutcome::Unjudged,
                _ if judged.is_void => StepOutcome::Void,
                ComparisonVerdict::Better => StepOutcome::Pass,
                ComparisonVerdict::Worse => StepOutcome::Fail,
                ComparisonVerdict::Same | ComparisonVerdict::Unsure => StepOutcome::Unsure,
            },
            why: judged.why,
        })
        .collect();
    Some(capacity)
}

/// Of a search over a quantity: amounts are of the quantity, and rates are what was done with them.
fn name_amounts(capacity: &mut CapacityFinding, steps: &[(usize, SearchStep, StepVerdict)]) {
    let rate_at = |amount: f64, phase: Option<SearchPhase>| {
        let of = |step: &&(usize, SearchStep, StepVerdict)| {
            step.2.value == Some(amount) && phase.is_none_or(|phase| step.1.phase == phase)
        };
        steps.iter().rfind(of).map(|step| step.2.achieved_per_s)
    };
    capacity.confirmed = capacity.confirmed_per_s.take();
    capacity.first_failing = capacity.first_failing_per_s.take();
    let confirm = Some(SearchPhase::Confirm);
    capacity.confirmed_per_s = capacity.confirmed.and_then(|amount| rate_at(amount, confirm));
    capacity.first_failing_per_s = capacity.first_failing.and_then(|amount| rate_at(amount, None));
}

/// The answer in sentences, the first one alone enough.
pub(super) fn capacity_sentences(capacity: &CapacityFinding) -> Vec<AnswerSentence> {
    let objectives = capacity.objectives.join(" and ");
    let first = match (capacity.confirmed_text(), &capacity.ill_posed) {
        (_, Some(why)) => answer_texts::CAPACITY_ILL_POSED.to_sentence(&[("why", why)]),
        (Some(amount), None) => answer_texts::CAPACITY_HELD
            .to_sentence(&[("amount", &amount), ("objectives", &objectives)]),
        (None, None) => {
            let quantity = match &capacity.quantity {
                None => "rate".to_owned(),
                Some(quantity) => format!("number of {quantity}"),
            };
            answer_texts::CAPACITY_NONE
                .to_sentence(&[("quantity", &quantity), ("objectives", &objectives)])
        }
    };
    let mut all = vec![first];
    match (capacity.failing_text(), &capacity.why) {
        (Some(amount), Some(why)) => {
            all.push(
                answer_texts::CAPACITY_FAILS.to_sentence(&[("amount", &amount), ("why", why)]),
            );
        }
        (None, Some(why)) => all.push(answer_texts::CAPACITY_LIMIT.to_sentence(&[("why", why)])),
        (_, None) => {}
    }
    let unsure = capacity.steps.iter().filter(|s| s.outcome == StepOutcome::Unsure).count();
    if unsure > 0 {
        let steps = format_plural(unsure as u64, "step", "steps");
        all.push(answer_texts::CAPACITY_AGAIN.to_sentence(&[("steps", &steps)]));
    }
    all
}
