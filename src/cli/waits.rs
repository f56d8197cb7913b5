//! `sweat waits`: what a server waits for during a load, by instrument, and what looking costs.

use crate::archive::RunCommand;

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};

use super::arguments::{switch_flag, value_flag};
use super::bench::{self, TerminalListener};
use super::connection::{self, HostRule};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::page::RunPage;
use crate::base::units::ByteSize;
use crate::experiment::{self, WatchCostSchedule};
use crate::plan::{
    ArrivalPlan, Mistake, Mistakes, Options, Plan, SandboxPlan, SweepPlan, TargetPlan, WarmPlan,
};
use crate::warm::STRATEGIES;

/// The setting whose sweep needs some care.
const INSTANCES: &str = "innodb_buffer_pool_instances";
/// The workload that asks the server for nothing.
const NOTHING: &str = "null";
/// Its pause: where there is no load of ours it only keeps the time.
const THINK: Duration = Duration::from_secs(1);
/// Blocks of a sweep: fewer give no interval.
const BLOCKS: u32 = 3;
/// Most blocks.
const MOST_BLOCKS: u32 = 1000;

pub(super) fn command() -> Command {
    bench::with_workloads(Command::new("waits"), add_waits_flags, |name| {
        format!("sweat waits {name} --instrument LOCK_table_cache --sandbox")
    })
    .about("Show what a server waits for during a load")
    .override_usage("sweat waits --instrument PATTERN [WORKLOAD] [OPTIONS]")
    .long_about(
        "Show what a server waits for: switches on only the instruments you name, for the time \
         of a load, and restores them. Without a workload it watches a running server and adds \
         no load.",
    )
    .after_help(
        "In a PATTERN, % stands for anything.\n\n\
         Examples:\n  \
         sweat waits oltp_read_write --instrument LOCK_table_cache --sandbox\n  \
         sweat waits oltp_read_only --instrument hash_table_locks --sandbox \\\n    \
         --sweep innodb_buffer_pool_instances=1,2,4\n  \
         sweat waits --instrument buf_pool_mutex -h db1 -u root -p --allow ps-setup",
    )
}

fn add_waits_flags(command: Command) -> Command {
    let with = |arg: Arg| arg.help_heading("Waits");
    command.args(
        [
            value_flag("instrument", "PATTERN")
                .required(true)
                .help("Instrument of performance_schema, or part of its name"),
            value_flag("sweep", "SETTING=A,B,..")
                .help("Repeat at each value of a setting, threads or rate"),
            value_flag("blocks", "N").help("Runs of each value [default: 3 with --sweep, else 1]"),
            switch_flag("no-cost").help("Do not measure the cost of looking (saves 20 s)"),
        ]
        .map(with),
    )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (workload, args) = match args.subcommand() {
        Some((name, args)) => (Some(name), args),
        None => (None, args),
    };
    let plan = plan_from_args(workload, args, context)?;
    let page = RunPage::open("waits", args, context)?;
    let mut listener = TerminalListener::new(&plan, args, context).with_page(&page);
    let mut script = WatchCostSchedule::new(&plan, !args.get_flag("no-cost"));
    let finished = experiment::run_schedule(
        &plan,
        &mut script,
        context.run_origin(RunCommand::Waits, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

/// The plan that the words make.
fn plan_from_args(
    workload: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Plan> {
    let from_file = args.contains_id("plan");
    let mut plan = match workload {
        None if !from_file => plan_without_load(args, context)?,
        named => bench::plan_of(named, args, context)?,
    };
    plan.waits = args.get_one::<String>("instrument").cloned().or(plan.waits);
    let mut mistakes = Vec::new();
    if let Some(text) = args.get_one::<String>("sweep") {
        match parse_sweep(text, &plan) {
            Ok(sweep) => apply_sweep(&mut plan, sweep, context)?,
            Err(mistake) => mistakes.push(mistake),
        }
        plan.blocks = BLOCKS;
    }
    if let Some(text) = args.get_one::<String>("blocks") {
        match text.parse::<u32>() {
            Ok(blocks) if (1..=MOST_BLOCKS).contains(&blocks) => plan.blocks = blocks,
            _ => mistakes
                .push(Mistake::new("--blocks", "is not a number of blocks").hint("1 to 1000")),
        }
    }
    if mistakes.is_empty() { Ok(plan) } else { Err(Mistakes(mistakes).into()) }
}

/// A look at a running server.
fn plan_without_load(args: &ArgMatches, context: &CliContext) -> anyhow::Result<Plan> {
    let mut plan = bench::plan_of(Some(NOTHING), args, context)?;
    plan.target = connection::resolve_target(args, context, &TargetPlan::None, HostRule::One)?;
    if matches!(plan.target, TargetPlan::Sandbox(_)) {
        let hint = "name a workload, as in `sweat waits oltp_read_write --sandbox`";
        return Err(Mistake::new("--sandbox", "a throw-away server has no load of its own")
            .hint(hint)
            .into());
    }
    plan.load.workers = 1;
    plan.load.arrival = ArrivalPlan::Closed { think: THINK };
    if !args.contains_id("name") {
        plan.name = "waits".to_owned();
    }
    Ok(plan)
}

/// `innodb_buffer_pool_instances=1,2,4`
fn parse_sweep(text: &str, plan: &Plan) -> Result<SweepPlan, Mistake> {
    let hint = "as in --sweep innodb_buffer_pool_instances=1,2,4";
    let wrong = |why: &str| Mistake::new("--sweep", why).hint(hint);
    let (axis, values) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
    let values = values.split(',').map(|value| value.trim().to_owned()).collect();
    let axis = axis.trim().replace('-', "_");
    let sweep = SweepPlan { axis, values, ..SweepPlan::default() };
    let template = plan.variants.first().cloned().unwrap_or_default();
    sweep.to_variants(&template).map_err(|why| wrong(&why.join("; ")))?;
    Ok(sweep)
}

/// Makes the plan's variants those of a sweep. A server of our own is restarted for each value of a setting, and filled again.
fn apply_sweep(plan: &mut Plan, sweep: SweepPlan, context: &CliContext) -> anyhow::Result<()> {
    let mut template = plan.variants.first().cloned().unwrap_or_default();
    let is_setting = !matches!(sweep.axis.as_str(), "threads" | "rate");
    if let (TargetPlan::Sandbox(sandbox), true) = (&mut plan.target, is_setting) {
        if template.warm.is_empty() {
            template.warm.push(scan_plan()?);
        }
        if sweep.axis == INSTANCES {
            for said in pin_pool_settings(sandbox, &sweep.values) {
                context.print_note(&said);
            }
        }
    }
    let variants = sweep.to_variants(&template);
    plan.variants =
        variants.map_err(|why| Mistake::new("--sweep", why.join("; ")).hint("see --help"))?;
    plan.sweep = Some(sweep);
    Ok(())
}

/// Reading everything, with its usual options.
fn scan_plan() -> anyhow::Result<WarmPlan> {
    let name = "scan";
    let specs =
        STRATEGIES.iter().find(|s| s.name() == name).map_or_else(Vec::new, |s| s.option_specs());
    let options = Options::from_given(&specs, &[]).map_err(Mistakes)?;
    Ok(WarmPlan { strategy: name.to_owned(), options })
}

/// Settings that would change with the number of instances are pinned, where the user has not: the pool is rounded up to
/// whole chunks per instance, and each instance has a page cleaner. Says what it did.
fn pin_pool_settings(sandbox: &mut SandboxPlan, values: &[String]) -> Vec<String> {
    let mut said = Vec::new();
    let most = values.iter().filter_map(|v| v.parse::<u64>().ok()).max().unwrap_or(1);
    let is_set = |sandbox: &SandboxPlan, name: &str| {
        sandbox.settings.iter().any(|(given, _)| given.replace('-', "_") == name)
    };
    if sandbox.pool.is_none() && !is_set(sandbox, "innodb_buffer_pool_size") {
        let bytes = experiment::least_pool_bytes(most);
        let pool = ByteSize::Bytes(bytes);
        said.push(format!(
            "the pool is {pool}: below 1 GiB there is only one instance, and a pool that is not a \
             multiple of {most} chunks would grow with the instances"
        ));
        sandbox.pool = Some(pool);
    }
    if !is_set(sandbox, "innodb_page_cleaners") {
        said.push("innodb_page_cleaners is 1: it would follow the instances".to_owned());
        sandbox.settings.push(("innodb_page_cleaners".to_owned(), "1".to_owned()));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_an_axis_and_its_values() {
        let plan = Plan::default();
        let found = parse_sweep("innodb-buffer-pool-instances=1, 2,4", &plan).unwrap();
        assert_eq!(found.axis, INSTANCES);
        assert_eq!(found.values, ["1", "2", "4"]);
        assert!(parse_sweep("threads", &plan).unwrap_err().why.contains("no `=`"));
        assert!(parse_sweep("threads=1,none", &plan).unwrap_err().why.contains("none"));
    }

    #[test]
    fn what_follows_the_instances_is_pinned_unless_it_is_given() {
        let values = ["1".to_owned(), "6".to_owned()];
        let mut sandbox = SandboxPlan::default();
        assert_eq!(pin_pool_settings(&mut sandbox, &values).len(), 2);
        assert_eq!(sandbox.pool, Some(ByteSize::Bytes(1536 << 20)));
        assert_eq!(sandbox.settings, [("innodb_page_cleaners".to_owned(), "1".to_owned())]);
        assert!(pin_pool_settings(&mut sandbox, &values).is_empty(), "all is given now");
    }
}
