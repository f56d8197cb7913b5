//! `sweat capacity`: the highest rate, or the most of a quantity that the workload names, at which objectives hold.
//! The flags are those of `bench`, but for those that say when events begin.

use crate::archive::RunCommand;

use std::time::Duration;

use clap::{ArgAction, ArgMatches, Command};

use super::agents;
use super::arguments::value_flag;
use super::bench;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::page::RunPage;
use super::step_lines::StepLines;
use crate::base::units::parse_time;
use crate::experiment;
use crate::plan::{CapacityPlan, Metric, Mistake, Mistakes, Objective, Plan};
use crate::workload::find_kind;

/// Sessions if nothing else is said: enough that the server is the limit and not their number.
const THREADS: usize = 32;
/// Flags of a load that the search sets itself.
const OWN: &[&str] = &["rate", "stages", "arrival", "think", "time", "events"];
/// A step shorter than this is one interval.
const SHORTEST: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "Examples:\n  \
    sweat capacity --slo 'p99<20ms' oltp_read_write --sandbox\n  \
    sweat capacity --slo 'p99<20ms' oltp_read_only -h db1 -D sbtest\n  \
    sweat capacity --slo 'p99<5ms' --confirm 20s oltp_point_select --sandbox";

pub(super) fn command() -> Command {
    bench::with_workloads(Command::new("capacity"), add_search_flags, |name| {
        format!("sweat capacity {name} --slo 'p99<20ms' --sandbox")
    })
    .about("Find the highest rate at which objectives hold")
    .override_usage("sweat capacity --slo 'p99<20ms' WORKLOAD [OPTIONS]")
    .after_help(format!(
        "Rates rise until an objective fails; a bisection closes in, and a long step confirms. \
         Exit code 0: a rate is confirmed; 1: none is.\n\n{EXAMPLES}"
    ))
}

fn add_search_flags(command: Command) -> Command {
    let command = command.args(agents::agents_flags());
    let time = |name: &'static str, help: &'static str| {
        value_flag(name, "TIME").help_heading("Search").help(help)
    };
    // They are told as wrong if they are typed, and not offered.
    let command = command.mut_args(|arg| match OWN.contains(&arg.get_id().as_str()) {
        true => arg.hide(true),
        false => arg,
    });
    command.args([
        value_flag("slo", "OBJECTIVE")
            .action(ArgAction::Append)
            .help_heading("Required")
            .help("What must hold, as 'p99<20ms' or 'errors<0.1%'"),
        value_flag("search", "QUANTITY")
            .help_heading("Search")
            .help("What rises: rate, or what the workload names, as warehouses [default: rate]"),
        time("confirm", "Length of the last step, which confirms [default: 5m]"),
        time("step-time", "Longest step of the search [default: 60s]"),
        time("settle", "Start of each step that does not count [default: 3s]"),
    ])
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (kind, args) = bench::split_workload(args);
    let plan = plan_from_args(kind, args, context)?;
    if agents::wants_agents(args) {
        return agents::lead_agents(&plan, RunCommand::Capacity, args, context);
    }
    let page = RunPage::open("capacity", args, context)?;
    let mut listener = StepLines::new(args, context, &plan, None).with_page(&page);
    let finished = experiment::run_plan(
        &plan,
        context.run_origin(RunCommand::Capacity, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

fn plan_from_args(
    kind: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Plan> {
    let mut mistakes = Vec::new();
    let given = OWN.iter().filter(|name| args.get_one::<String>(name).is_some());
    mistakes.extend(given.map(|name| {
        Mistake::new(format!("--{name}"), "the search sets it")
            .hint(format!("leave out --{name}; --step-time and --confirm say how long"))
    }));
    let mut capacity = CapacityPlan::default();
    let mut slo: Vec<&str> =
        args.get_many::<String>("slo").into_iter().flatten().map(String::as_str).collect();
    if slo.is_empty() {
        let kind = kind.and_then(|name| find_kind(name).ok());
        slo.extend(kind.and_then(|kind| kind.default_objective()));
    }
    let is_none = slo.is_empty();
    for text in slo {
        match parse_objective(text) {
            Ok(objective) => capacity.objectives.push(objective),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let mut time = |name: &str, least: Duration, default: Duration| {
        let Some(text) = args.get_one::<String>(name) else { return default };
        let read = parse_time(text).ok().filter(|time| *time >= least);
        if read.is_none() {
            mistakes.push(
                Mistake::new(
                    format!("--{name}"),
                    format!("`{text}` is not a time of at least {} s", least.as_secs()),
                )
                .hint("as in 20s"),
            );
        }
        read.unwrap_or(default)
    };
    capacity.confirm = time("confirm", SHORTEST, capacity.confirm);
    capacity.step_time = time("step-time", SHORTEST, capacity.step_time);
    capacity.settle = time("settle", Duration::ZERO, capacity.settle);
    if is_none {
        mistakes
            .push(Mistake::new("--slo", "no objective is named").hint("as in --slo 'p99<20ms'"));
    }
    Mistakes::check(mistakes)?;
    let mut plan = bench::plan_of(kind, args, context)?;
    if plan.load.arrival.stages().is_some() {
        let why = "the search sets the rate itself";
        let hint = Some("leave out load.stages in the plan".to_owned());
        return Err(Mistake::new("--plan", why).maybe_hint(hint).into());
    }
    if plan.warmup.is_some() {
        let hint = "use --settle, which each step begins with";
        return Err(Mistake::new("--warmup", "a search has no load to warm up for")
            .hint(hint)
            .into());
    }
    if args.get_one::<String>("threads").is_none() {
        plan.load.workers = THREADS;
    }
    // Steps have times of their own.
    (plan.load.time, plan.load.events) = (None, None);
    capacity.quantity =
        args.get_one::<String>("search").filter(|name| name.as_str() != "rate").cloned();
    if let Some(name) = &capacity.quantity {
        let scale = experiment::find_scale(&plan.workload, name)?;
        if args.get_one::<String>("settle").is_none() {
            capacity.settle = capacity.settle.max(scale.settle);
        }
    }
    plan.capacity = Some(capacity);
    plan.blocks = 1;
    Ok(plan)
}

fn parse_objective(text: &str) -> Result<Objective, Mistake> {
    let objective = Objective::parse("--slo", text)?;
    if objective.metric == Metric::Rate || !objective.is_upper_bound() {
        return Err(Mistake::new(
            format!("--slo {text}"),
            "the highest rate is what the search finds",
        )
        .hint("name what must stay low, as in 'p99<20ms' or 'errors<0.1%'"));
    }
    Ok(objective)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_what_shall_stay_low() {
        assert!(parse_objective("p99<20ms").is_ok() && parse_objective("errors<=0.1%").is_ok());
        for text in ["tps>500", "p99>20ms", "p99<20", "p9x<1ms"] {
            assert!(parse_objective(text).unwrap_err().hint.is_some(), "{text}");
        }
    }
}
