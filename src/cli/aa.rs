//! `sweat aa`: a plan against itself. What differs between a variant and itself is what this machine can't tell apart.

use crate::archive::RunCommand;

use clap::{ArgMatches, Command};

use super::context::CliContext;
use super::exit::CommandOutcome;
use super::page::RunPage;
use super::run;
use super::run::{add_plan_flags, plan_from_args};
use super::step_lines::StepLines;
use crate::experiment::{self, BlockSchedule};
use crate::plan::{Plan, VariantPlan};

/// Blocks unless plan or words say more: four differences of freedom are few, ten blocks take twice as long.
const BLOCKS: u32 = 5;
/// Names of the variant and its double.
const NAMES: [&str; 2] = ["a", "a-again"];

pub(super) fn command() -> Command {
    add_plan_flags(Command::new("aa"))
        .about("Run a plan against itself: what is just noise?")
        .long_about(
            "Run a plan against itself: its base variant twice, as two variants, in \
             blocks.\n\nThe answer should be `same`. If it is `unsure`, this machine can't \
             resolve the plan's margin in this many blocks; if it is `better` or `worse` (1 in 20 \
             by chance), something other than the server decides.",
        )
        .after_help(
            "Examples:\n  sweat aa docs/plans/flush-log.toml\n  \
             sweat aa docs/plans/flush-log.toml --blocks 10",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (plan, repeats) = plan_from_args(args, context)?;
    let plan = with_doubled_base(plan);
    if args.get_flag("dry-run") {
        return run::print_steps(&plan, context);
    }
    let page = RunPage::open("aa", args, context)?;
    let mut listener = StepLines::new(args, context, &plan, repeats).with_page(&page);
    let mut script = BlockSchedule::new(&plan, &|_| false);
    let finished = experiment::run_schedule(
        &plan,
        &mut script,
        context.run_origin(RunCommand::Aa, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

/// The same plan with its base variant and the same once more.
fn with_doubled_base(mut plan: Plan) -> Plan {
    let base = plan.variants.first().cloned().unwrap_or_default();
    plan.variants = NAMES.map(|name| VariantPlan { name: name.to_owned(), ..base.clone() }).into();
    plan.sweep = None;
    plan.until_clear = None;
    plan.checks.clear();
    plan.question = Some("What differs between a variant and itself?".to_owned());
    if plan.blocks < 2 {
        plan.blocks = BLOCKS;
    }
    if !plan.name.ends_with("-aa") {
        plan.name += "-aa";
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SweepPlan;

    #[test]
    fn the_base_runs_against_its_double() {
        let variant = |name: &str, value: &str| VariantPlan {
            name: name.to_owned(),
            settings: vec![("innodb_io_capacity".to_owned(), value.to_owned())],
            ..VariantPlan::default()
        };
        let plan = Plan {
            name: "io".to_owned(),
            variants: vec![variant("200", "200"), variant("2000", "2000")],
            sweep: Some(SweepPlan::default()),
            checks: vec!["p99 < 1ms".to_owned()],
            ..Plan::default()
        };
        let doubled = with_doubled_base(plan);
        let names: Vec<&str> = doubled.variants.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, NAMES);
        assert_eq!(doubled.variants[0].settings, doubled.variants[1].settings);
        assert_eq!(doubled.variants[0].settings[0].1, "200");
        assert_eq!((doubled.blocks, doubled.name.as_str()), (BLOCKS, "io-aa"));
        assert!(doubled.sweep.is_none() && doubled.checks.is_empty());
        assert_eq!(super::with_doubled_base(Plan { blocks: 3, ..Plan::default() }).blocks, 3);
    }
}
