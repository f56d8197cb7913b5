//! `sweat sweep`: one load at several levels or with several values of a setting.
//! The flags are those of `bench`; what is varied stands before them.

use crate::archive::RunCommand;
use clap::{ArgMatches, Command};

use super::agents;
use super::arguments::{positional_arg, switch_flag, value_flag};
use super::bench;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::page::RunPage;
use super::step_lines::StepLines;
use crate::base::units::parse_count;
use crate::experiment;
use crate::plan::{Mistake, Mistakes, OrderPlan, Plan, RATE, SweepPlan, THREADS, nearest_name};

const EXAMPLES: &str = "Examples:\n  \
    sweat sweep threads=1,2,4.. oltp_point_select --sandbox\n  \
    sweat sweep threads=1..64 oltp_read_write -h db1 -D sbtest --blocks=3\n  \
    sweat sweep rate=1000,2000,4000 oltp_read_only --sandbox --threads=32\n  \
    sweat sweep innodb_flush_log_at_trx_commit=1,2 oltp_write_only --sandbox\n\n\
    `1..64` stands for 1, 2, 4, 8, ... 64. `threads=1..` doubles until more threads bring no more, \
    then tries levels around the best.";

pub(super) fn command() -> Command {
    bench::with_workloads(Command::new("sweep"), add_sweep_flags, |name| {
        format!("sweat sweep {name} threads=1,2,4.. --sandbox")
    })
    .about("Run a load at several levels or settings")
    .override_usage("sweat sweep AXIS=V1,V2,.. WORKLOAD [OPTIONS]")
    .after_help(EXAMPLES)
}

fn add_sweep_flags(command: Command) -> Command {
    command.args(agents::agents_flags()).args([
        positional_arg("axis", "AXIS=V1,V2,..")
            .help("What to vary: threads, rate, or a setting of the server"),
        value_flag("blocks", "N").help("Repeat the sweep, each time in another order [default: 1]"),
        switch_flag("dry-run").help("Print the steps and do nothing"),
    ])
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (kind, args) = bench::split_workload(args);
    let plan = plan_from_args(kind, args, context)?;
    if args.get_flag("dry-run") {
        context.print_output(&steps_text(&plan))?;
        return Ok(CommandOutcome::Done);
    }
    if agents::wants_agents(args) {
        return agents::lead_agents(&plan, RunCommand::Sweep, args, context);
    }
    let page = RunPage::open("sweep", args, context)?;
    let mut listener = StepLines::new(args, context, &plan, None).with_page(&page);
    let finished = experiment::run_plan(
        &plan,
        context.run_origin(RunCommand::Sweep, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

/// The steps, as far as they are known before.
fn steps_text(plan: &Plan) -> String {
    let steps = experiment::plan_steps(plan);
    let lines = steps.iter().enumerate().map(|(n, step)| format!("{:>3}  {step}\n", n + 1));
    let mut text: String = lines.collect();
    if plan.sweep.as_ref().is_some_and(|sweep| sweep.doubles) {
        text +=
            "     then twice the last level until it is enough, and two levels around the best\n";
    }
    if plan.sweep.as_ref().is_some_and(SweepPlan::is_load_axis) {
        text += "     and the first level once more, to see drift\n";
    }
    text
}

fn plan_from_args(
    kind: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Plan> {
    let mut mistakes = Vec::new();
    let mut plan = bench::plan_of(kind, args, context)?;
    match args.get_one::<String>("axis").map(|text| parse_sweep(text)) {
        Some(Ok(sweep)) => plan.sweep = Some(sweep),
        Some(Err(list)) => mistakes.extend(list),
        None if plan.sweep.is_some() => {}
        None => mistakes.push(
            Mistake::new("sweep", "nothing is varied").hint("name an axis, as in threads=1,2,4,8"),
        ),
    }
    mistakes.extend(apply_blocks(&mut plan, args));
    if let Some(sweep) = &plan.sweep {
        let template = plan.variants.first().cloned().unwrap_or_default();
        match sweep.to_variants(&sweep.variant_template(&[template])) {
            Ok(variants) => plan.variants = variants,
            Err(list) => {
                mistakes.extend(list.into_iter().map(|why| axis_mistake(&sweep.axis, why)))
            }
        }
        mistakes.extend(axis_conflict(&sweep.axis, args));
        if sweep.axis == RATE && plan.load.arrival.stages().is_some() {
            mistakes.push(
                Mistake::new("--stages", "rate is what is varied")
                    .hint("leave out the stages, or vary something else"),
            );
        }
    }
    plan.order = OrderPlan::Shuffled;
    if mistakes.is_empty() { Ok(plan) } else { Err(Mistakes(mistakes).into()) }
}

fn apply_blocks(plan: &mut Plan, args: &ArgMatches) -> Option<Mistake> {
    plan.blocks = plan.blocks.max(1);
    let text = args.get_one::<String>("blocks")?;
    let count = parse_count(text).ok().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    plan.blocks = count.unwrap_or(plan.blocks);
    count.is_none().then(|| {
        Mistake::new("--blocks", format!("`{text}` is not a number of blocks")).hint("as in 3")
    })
}

/// The axis can't be fixed by a flag at once.
fn axis_conflict(axis: &str, args: &ArgMatches) -> Option<Mistake> {
    let given = args.get_one::<String>(if axis == RATE { RATE } else { THREADS });
    let is_axis = axis == RATE || axis == THREADS;
    given.filter(|_| is_axis).map(|_| {
        Mistake::new(format!("--{axis}"), format!("{axis} is what is varied"))
            .hint(format!("leave out --{axis}"))
    })
}

fn axis_mistake(axis: &str, why: String) -> Mistake {
    Mistake::new(axis, why).hint("as in threads=1,2,4,8")
}

/// Reads `threads=1,2,4..64`.
fn parse_sweep(text: &str) -> Result<SweepPlan, Vec<Mistake>> {
    let mistake = |why: String, hint: &str| vec![Mistake::new(text, why).hint(hint)];
    let Some((axis, values)) = text.split_once('=') else {
        let hint = "threads, rate or a setting and its values, as in threads=1,2,4,8";
        return Err(mistake("what is varied has no values".to_owned(), hint));
    };
    let axis = axis.trim();
    let is_word = axis.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if axis.is_empty() || !is_word {
        let hint = "threads, rate, or the name of a setting";
        return Err(mistake(format!("`{axis}` is not the name of a setting"), hint));
    }
    if let Some(near) = nearest_name(axis, [THREADS, RATE]).filter(|near| *near != axis) {
        let why = format!("`{axis}` can't be varied");
        return Err(mistake(why, &format!("did you mean {near}?")));
    }
    let axis =
        if [THREADS, RATE].contains(&axis) { axis.to_owned() } else { axis.replace('-', "_") };
    let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
    let values: Vec<String> = values.into_iter().filter(|v| !v.is_empty()).collect();
    SweepPlan::parse_values(&axis, &values)
        .map_err(|list| list.into_iter().map(|why| axis_mistake(&axis, why)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_read_with_its_values() {
        let sweep = parse_sweep("threads=1, 2,4..16").unwrap();
        assert_eq!((sweep.axis.as_str(), sweep.values.len()), ("threads", 5));
        assert!(parse_sweep("threads=1,2,4..").unwrap().doubles);
        assert_eq!(parse_sweep("innodb-io-capacity=200,400").unwrap().axis, "innodb_io_capacity");
    }

    #[test]
    fn what_is_no_axis_is_told_with_what_is() {
        for (text, hint) in [
            ("threads", "as in threads=1,2,4,8"),
            ("thread=1,2", "did you mean threads?"),
            ("=1", "threads, rate, or the name of a setting"),
            ("a;b=1", "threads, rate, or the name of a setting"),
            ("threads=8..4", "as in threads=1,2,4,8"),
            ("rate=100..", "as in threads=1,2,4,8"),
        ] {
            let mistakes = parse_sweep(text).expect_err(text);
            assert!(mistakes[0].hint.as_ref().unwrap().contains(hint), "{text}: {mistakes:?}");
        }
    }
}
