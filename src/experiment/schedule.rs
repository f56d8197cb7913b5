//! Which step comes next: a list, or an answer to what was measured so far.
//! To add one: a type with `StepSchedule`, given to `run_script`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::steps::{PlanStep, block_count, block_steps, first_steps};
use crate::archive::{self, RunRecord};
use crate::plan::Plan;

/// Says which step comes next.
pub trait StepSchedule: Send {
    /// How many steps there are in all, as far as can be said now.
    fn expected_steps(&self) -> usize;
    /// The next step; `None` at the end.
    ///
    /// # Errors
    /// When what was measured can't be read or doesn't allow to go on.
    fn next_step(&mut self, so_far: &RunSoFar) -> anyhow::Result<Option<PlanStep>>;
}

/// What was measured so far.
#[derive(Clone, Debug)]
pub struct RunSoFar {
    dir: PathBuf,
}

impl RunSoFar {
    /// Of the run in this folder.
    pub fn from_dir(dir: PathBuf) -> RunSoFar {
        RunSoFar { dir }
    }

    /// The run folder.
    pub fn run_dir(&self) -> &Path {
        &self.dir
    }

    /// The run as its folder tells it now. The step under way, if any, is still open in it; the samples of the last
    /// seconds may be missing.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn read_run(&self) -> anyhow::Result<RunRecord> {
        archive::read_run(&self.dir).with_context(|| format!("read {}", self.dir.display()))
    }
}

/// The blocks of a plan; with `until_clear` more of them until the answer is clear.
pub struct BlockSchedule<'a> {
    plan: &'a Plan,
    /// Steps that come next.
    next: VecDeque<PlanStep>,
    /// Blocks begun so far.
    block: u32,
    /// Steps given away so far.
    given: usize,
    is_clear: ClearPredicate<'a>,
}

/// Whether a run that has come to the end of a block answers the plan's question.
pub type ClearPredicate<'a> = &'a (dyn Fn(&RunRecord) -> bool + Sync);

impl<'a> BlockSchedule<'a> {
    /// The script of a plan. `is_clear` is asked after each block from the plan's last on, if there is `until_clear`.
    pub fn new(plan: &'a Plan, is_clear: ClearPredicate<'a>) -> BlockSchedule<'a> {
        BlockSchedule { plan, next: first_steps(plan).into(), block: 0, given: 0, is_clear }
    }

    /// Whether there is a block after those that have begun.
    fn has_more(&self, so_far: &RunSoFar) -> anyhow::Result<bool> {
        if self.block < block_count(self.plan) {
            return Ok(true);
        }
        match self.plan.until_clear {
            Some(most) if self.block < most => Ok(!(self.is_clear)(&so_far.read_run()?)),
            _ => Ok(false),
        }
    }
}

impl StepSchedule for BlockSchedule<'_> {
    fn expected_steps(&self) -> usize {
        let to_come: usize = (self.block + 1..=block_count(self.plan))
            .map(|block| block_steps(self.plan, block).len())
            .sum();
        self.given + self.next.len() + to_come
    }

    fn next_step(&mut self, so_far: &RunSoFar) -> anyhow::Result<Option<PlanStep>> {
        if self.next.is_empty() && self.has_more(so_far)? {
            self.block += 1;
            self.next = block_steps(self.plan, self.block).into();
        }
        let step = self.next.pop_front();
        self.given += usize::from(step.is_some());
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::experiment::steps::plan_steps;
    use crate::plan::VariantPlan;

    fn plan(blocks: u32, until_clear: Option<u32>) -> Plan {
        let variant = |name: &str| VariantPlan { name: name.to_owned(), ..VariantPlan::default() };
        let variants = vec![variant("a"), variant("b")];
        Plan { prepare: true, variants, passes: 1, blocks, until_clear, ..Plan::default() }
    }

    fn walked(schedule: &mut dyn StepSchedule, so_far: &RunSoFar) -> Vec<PlanStep> {
        std::iter::from_fn(|| schedule.next_step(so_far).unwrap()).collect()
    }

    /// A run folder to ask, with nothing in it.
    fn so_far(dir: &Path) -> RunSoFar {
        let meta = archive::RunMeta { name: "x".to_owned(), ..archive::RunMeta::default() };
        let writer = archive::RunWriter::create(dir, meta, "").unwrap();
        RunSoFar::from_dir(writer.dir().to_owned())
    }

    #[test]
    fn without_a_question_all_blocks_are_walked_and_nobody_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(3, None);
        let mut schedule = BlockSchedule::new(&plan, &|_| panic!("nobody asks"));
        assert_eq!(schedule.expected_steps(), 7);
        let all = walked(&mut schedule, &so_far(dir.path()));
        assert_eq!(all, plan_steps(&plan));
        assert_eq!(schedule.expected_steps(), 7);
    }

    #[test]
    fn blocks_are_added_until_the_answer_is_clear_or_there_are_enough() {
        let dir = tempfile::tempdir().unwrap();
        let so_far = so_far(dir.path());
        let asked = AtomicU32::new(0);
        let third = |_: &RunRecord| asked.fetch_add(1, Ordering::Relaxed) == 2;
        let plan = plan(2, Some(9));
        let last = |steps: &[PlanStep]| steps.last().map(|s| s.block);
        assert_eq!(last(&walked(&mut BlockSchedule::new(&plan, &third), &so_far)), Some(4));
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        let never = |_: &RunRecord| false;
        assert_eq!(last(&walked(&mut BlockSchedule::new(&plan, &never), &so_far)), Some(9));
        let at_once = |_: &RunRecord| true;
        assert_eq!(last(&walked(&mut BlockSchedule::new(&plan, &at_once), &so_far)), Some(2));
    }
}
