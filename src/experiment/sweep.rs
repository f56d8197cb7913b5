//! The steps of a sweep over threads or rates: the plan's blocks, and the first level once more at the end, so that
//! drift shows. With `doubles` the first block finds its levels: they double until more threads bring no more.

use std::collections::VecDeque;

use super::order::variant_order;
use super::schedule::{RunSoFar, StepSchedule};
use super::steps::{PlanStep, StepKind, block_count, block_steps, first_steps, variant_steps};
use crate::archive::{RunRecord, Trial};
use crate::plan::{MOST_WORKERS, Plan, THREADS, VariantPlan};

/// A level whose rate is below this share of the highest shows the fall.
const FALLEN: f64 = 0.95;
/// So many of them are enough.
const FALLEN_ENOUGH: usize = 2;
/// A p99 so many times that of the first level ends the growth.
const SLOWEST: f64 = 10.0;
/// Sessions beside those of the load: sampler, control, and one to look what is wrong.
const OWN_SESSIONS: f64 = 5.0;

/// The steps of a sweep.
pub(super) struct SweepSchedule<'a> {
    plan: &'a Plan,
    next: VecDeque<PlanStep>,
    block: u32,
    given: usize,
    /// Levels of the first block of a sweep that finds them itself.
    levels: Option<LevelSearch>,
}

impl<'a> SweepSchedule<'a> {
    /// The script of a plan whose variants are levels of load.
    pub(super) fn new(plan: &'a Plan) -> SweepSchedule<'a> {
        let doubles = plan.sweep.as_ref().is_some_and(|sweep| sweep.doubles);
        let listed = plan.variants.iter().filter_map(|variant| variant.workers).collect();
        let levels = doubles.then(|| LevelSearch::new(listed));
        SweepSchedule { plan, next: first_steps(plan).into(), block: 0, given: 0, levels }
    }

    /// The next level of the first block, if it finds them itself.
    fn plan_next_level(&mut self, so_far: &RunSoFar) -> anyhow::Result<()> {
        let Some(levels) = &mut self.levels else { return Ok(()) };
        let run = so_far.read_run()?;
        let level = levels.next_level(&run);
        self.next = match level {
            Some(workers) => level_steps(self.plan, workers, self.shown_block(1)).into(),
            None => VecDeque::new(),
        };
        Ok(())
    }

    /// The number of a block as steps carry it: none if there is but one.
    fn shown_block(&self, block: u32) -> u32 {
        if block_count(self.plan) > 1 { block } else { 0 }
    }

    /// All levels of a block in its order.
    fn ordered_block_steps(&self) -> Vec<PlanStep> {
        let shown = self.shown_block(self.block);
        let Some(levels) = &self.levels else {
            return block_steps(self.plan, self.block);
        };
        let found = levels.tried_levels();
        let order = variant_order(self.plan.order, found.len(), self.block, self.plan.seed);
        order.into_iter().flat_map(|n| level_steps(self.plan, found[n], shown)).collect()
    }

    /// The first level once more.
    fn repeat_first_level(&self) -> Vec<PlanStep> {
        let shown = self.shown_block(self.block.max(1));
        let mut steps = match (&self.levels, &self.plan.variants[..]) {
            (Some(levels), _) => match levels.tried_levels().first() {
                Some(first) => level_steps(self.plan, *first, shown),
                None => Vec::new(),
            },
            (None, [first, _, ..]) => variant_steps(self.plan, first, shown),
            (None, _) => Vec::new(),
        };
        for step in &mut steps {
            if let StepKind::Load { pass, .. } = &mut step.kind {
                *pass += self.plan.passes;
            }
        }
        steps
    }
}

/// What is done at a level of threads that the plan may not list.
fn level_steps(plan: &Plan, workers: usize, block: u32) -> Vec<PlanStep> {
    let variant = VariantPlan {
        name: format!("{THREADS}={workers}"),
        workers: Some(workers),
        value: Some(workers as f64),
        ..plan.variants.first().cloned().unwrap_or_default()
    };
    variant_steps(plan, &variant, block)
}

impl StepSchedule for SweepSchedule<'_> {
    fn expected_steps(&self) -> usize {
        let per_block = match &self.levels {
            Some(levels) => levels.tried_levels().len().max(self.plan.variants.len()),
            None => block_steps(self.plan, 1).len(),
        };
        let to_come = block_count(self.plan).saturating_sub(self.block) as usize * per_block;
        let again = usize::from(self.block <= block_count(self.plan));
        self.given + self.next.len() + to_come + again
    }

    fn next_step(&mut self, so_far: &RunSoFar) -> anyhow::Result<Option<PlanStep>> {
        if self.next.is_empty() && self.block <= 1 && self.levels.is_some() {
            self.block = 1;
            self.plan_next_level(so_far)?;
        }
        if self.next.is_empty() && self.block < block_count(self.plan) {
            self.block += 1;
            self.next = self.ordered_block_steps().into();
        }
        if self.next.is_empty() && self.block == block_count(self.plan) {
            self.next = self.repeat_first_level().into();
            self.block += 1;
        }
        let step = self.next.pop_front();
        self.given += usize::from(step.is_some());
        Ok(step)
    }
}

/// Finds levels of threads: those listed, then twice the last one until it is enough, then two around the best.
struct LevelSearch {
    listed: VecDeque<usize>,
    /// Levels that have been asked for, in order.
    asked: Vec<usize>,
    /// What is left to try around the best; `None` while it grows.
    around: Option<VecDeque<usize>>,
}

/// What a level came to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LevelResult {
    workers: usize,
    rate: f64,
    p99_ns: u64,
}

impl LevelSearch {
    fn new(listed: Vec<usize>) -> LevelSearch {
        LevelSearch { listed: listed.into(), asked: Vec::new(), around: None }
    }

    /// The levels asked for so far, the smallest first.
    fn tried_levels(&self) -> Vec<usize> {
        let mut levels = self.asked.clone();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    fn next_level(&mut self, run: &RunRecord) -> Option<usize> {
        let seen: Vec<LevelResult> = run.trials.iter().map(level_result).collect();
        self.level_after(&seen, most_sessions(run))
    }

    /// The next level after these were seen, if no more than `most` sessions may be opened.
    fn level_after(&mut self, seen: &[LevelResult], most: usize) -> Option<usize> {
        let level = self.choose_level(seen, most)?;
        self.asked.push(level);
        Some(level)
    }

    fn choose_level(&mut self, seen: &[LevelResult], most: usize) -> Option<usize> {
        if let Some(listed) = self.listed.pop_front() {
            return Some(listed);
        }
        if self.around.is_none() {
            let doubled = self.asked.last()?.saturating_mul(2);
            if doubled <= most && !is_saturated(seen) {
                return Some(doubled);
            }
            self.around = Some(levels_around_best(seen));
        }
        let around = self.around.as_mut()?;
        std::iter::from_fn(|| around.pop_front()).find(|n| !self.asked.contains(n))
    }
}

/// Whether more threads bring no more.
fn is_saturated(seen: &[LevelResult]) -> bool {
    let best = seen.iter().map(|l| l.rate).fold(0.0, f64::max);
    let at = seen.iter().position(|l| l.rate >= best).unwrap_or(0);
    let fallen = seen[at.min(seen.len())..].iter().filter(|l| l.rate < FALLEN * best).count();
    let (first, last) = (seen.first(), seen.last());
    let slow = first.zip(last).is_some_and(|(first, last)| {
        first.p99_ns > 0 && last.p99_ns as f64 > SLOWEST * first.p99_ns as f64
    });
    fallen >= FALLEN_ENOUGH || slow
}

/// The geometric means between the best level and its neighbours.
fn levels_around_best(seen: &[LevelResult]) -> VecDeque<usize> {
    let mut sorted = seen.to_vec();
    sorted.sort_by_key(|l| l.workers);
    let by_rate =
        |(_, a): &(usize, &LevelResult), (_, b): &(usize, &LevelResult)| a.rate.total_cmp(&b.rate);
    let Some((at, best)) = sorted.iter().enumerate().max_by(by_rate) else {
        return VecDeque::new();
    };
    let below = at.checked_sub(1).and_then(|n| sorted.get(n));
    let neighbours = below.into_iter().chain(sorted.get(at + 1));
    neighbours.map(|l| ((l.workers * best.workers) as f64).sqrt().round() as usize).collect()
}

fn level_result(trial: &Trial) -> LevelResult {
    let seconds = trial.ended_ns.saturating_sub(trial.began_ns) as f64 / 1e9;
    let events: u64 = trial.response.iter().map(|h| h.len()).sum();
    let slowest = trial.response.iter().map(|h| h.value_at_quantile(0.99)).max();
    LevelResult {
        workers: trial.workers,
        rate: if seconds > 0.0 { events as f64 / seconds } else { 0.0 },
        p99_ns: slowest.unwrap_or(0),
    }
}

/// Sessions that the server allows a load.
fn most_sessions(run: &RunRecord) -> usize {
    let allowed = run.variables.iter().find(|v| v.name == "max_connections");
    let allowed = allowed.and_then(|v| v.start.parse::<f64>().ok()).map(|n| n - OWN_SESSIONS);
    allowed.map_or(MOST_WORKERS as usize, |n| n.max(1.0) as usize).min(MOST_WORKERS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{OrderPlan, SweepPlan, VariantPlan};

    fn value(step: &PlanStep) -> f64 {
        match &step.kind {
            StepKind::Load { over, .. } => over.value.expect("each level has its value"),
            _ => panic!("{step} is no load"),
        }
    }

    /// Levels asked for of a server whose rate at n threads is `rate(n)` and whose p99 is by Little's law.
    fn grown(listed: &[usize], most: usize, rate: impl Fn(f64) -> f64) -> Vec<usize> {
        let mut levels = LevelSearch::new(listed.to_vec());
        let mut seen = Vec::new();
        while let Some(workers) = levels.level_after(&seen, most) {
            let rate = rate(workers as f64);
            let p99_ns = (workers as f64 / rate * 1e9) as u64;
            seen.push(LevelResult { workers, rate, p99_ns });
            assert!(seen.len() < 40, "{seen:?}");
        }
        levels.asked
    }

    #[test]
    fn threads_double_until_the_rate_has_fallen_twice() {
        // The published points' law, with its peak at 35.6.
        let law = |n: f64| 995.65 * n / (1.0 + 0.0267 * (n - 1.0) + 0.000_769 * n * (n - 1.0));
        // At 64 threads 6 % below the best; p99 there is 5.5 times that of one. At 128 both rules say enough.
        let asked = grown(&[1, 2, 4], 10_000, law);
        assert_eq!(asked, [1, 2, 4, 8, 16, 32, 64, 128, 23, 45]);
    }

    #[test]
    fn threads_stop_at_what_the_server_allows_or_when_they_only_wait() {
        assert_eq!(grown(&[1, 2], 40, |n| 100.0 * n), [1, 2, 4, 8, 16, 32, 23]);
        // A ceiling from 4 on: p99 grows with the threads.
        let asked = grown(&[1], 10_000, |n: f64| 100.0 * n.min(4.0));
        assert_eq!(asked[..7], [1, 2, 4, 8, 16, 32, 64]);
        assert!(asked.len() <= 9, "{asked:?}");
    }

    fn plan(values: &[&str], blocks: u32) -> Plan {
        let texts: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        let sweep = SweepPlan::parse_values("threads", &texts).unwrap();
        let variants = sweep.to_variants(&VariantPlan::default()).unwrap();
        let order = OrderPlan::Shuffled;
        Plan { sweep: Some(sweep), variants, passes: 1, blocks, order, seed: 3, ..Plan::default() }
    }

    #[test]
    fn the_first_level_comes_again_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let so_far = RunSoFar::from_dir(dir.path().to_owned());
        let plan = plan(&["1", "2", "4"], 2);
        let mut schedule = SweepSchedule::new(&plan);
        assert_eq!(schedule.expected_steps(), 7);
        let steps: Vec<PlanStep> =
            std::iter::from_fn(|| schedule.next_step(&so_far).unwrap()).collect();
        let values: Vec<f64> = steps.iter().map(value).collect();
        assert_eq!(values.len(), 7);
        for block in [&values[..3], &values[3..6]] {
            let mut sorted = block.to_vec();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, [1.0, 2.0, 4.0]);
        }
        assert_eq!(values[6], 1.0);
        assert_eq!(steps[6].to_string(), "block 2, threads=1: load, pass 2");
        assert_eq!(schedule.expected_steps(), 7);
    }
}
