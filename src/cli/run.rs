//! `sweat run`: a written plan, from nothing to an answer; or a run that was made, once more.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use super::agents;
use super::arguments::{positional_arg, switch_flag, text_arg, value_flag};
use super::connection::{self, HostRule};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::help::wrap_words;
use super::page::{self, RunPage};
use super::run_names::find_plan;
use super::step_lines::{StepLines, estimate_text};
use super::{plan_file, present, replay};
use crate::analysis;
use crate::archive::RunCommand;
use crate::archive::{self, PlanLock, RunRecord};
use crate::base::RealClock;
use crate::base::units::parse_count;
use crate::experiment::{self, DryRunStep};
use crate::plan::{DEFAULT_RUNS_DIR, LoadPlan, Mistake, Mistakes, Plan, ResetPlan, TargetPlan};
use crate::workload::{self, EndpointKind};

pub(super) fn command() -> Command {
    add_plan_flags(Command::new("run"))
        .args(agents::agents_flags())
        .about("Run a written plan: compare variants in blocks")
        .long_about(
            "Run a written plan: what is compared, on which server and data, how often, and what \
             decides.\n\nA plan is a TOML file; docs/run.md describes it, and \
             docs/plans holds examples. A run folder is a plan, too: the run is repeated, and what \
             has changed since is reported.",
        )
        .after_help(
            "Examples:\n  sweat run docs/plans/flush-log.toml --dry-run\n  \
             sweat run docs/plans/flush-log.toml\n  \
             sweat run docs/plans/flush-log.toml --until-clear 20\n  \
             sweat run plan.toml -h db1 -u bench -p --allow set-global\n  \
             sweat run runs/2026-11-21T07-40-15Z_flush-log",
        )
}

/// Adds the words of every command that runs a written plan.
pub(super) fn add_plan_flags(command: Command) -> Command {
    let command = command.args([
        positional_arg("plan", "PLAN")
            .required(true)
            .help("A plan, its name here or in docs/plans, or a run to repeat"),
        switch_flag("dry-run").help("Print the steps and their statements, and do nothing"),
        switch_flag("quiet").help("Show only the summary").short('q'),
        switch_flag("plain").help("Never overwrite lines, also on a terminal"),
        value_flag("blocks", "N").help("Runs of each variant [default: the plan's]"),
        value_flag("until-clear", "N").help("Add blocks until the answer is clear, N at most"),
        value_flag("name", "TEXT").help("Name of the run [default: the plan's]"),
        value_flag("runs-dir", "DIR").help("Folder for run folders [default: the plan's, or runs]"),
        value_flag("server", "PATH")
            .help("mariadbd or mysqld of the sandbox [default: the plan's]"),
    ]);
    let command = present::add_present_flags(command).args(page::listen_flags());
    connection::add_address_flags(command)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (mut plan, repeats) = plan_from_args(args, context)?;
    if args.get_flag("dry-run") {
        return print_steps(&plan, context);
    }
    apply_workload_workers(&mut plan, context)?;
    replay::consent_on_sandbox(&mut plan)?;
    if agents::wants_agents(args) {
        return agents::lead_agents(&plan, RunCommand::Run, args, context);
    }
    let quiet = args.get_flag("quiet");
    if plan.variants.len() > 1 && !quiet {
        context.print_message(&analysis::detectable_before(plan.blocks, plan.until_clear, None));
    }
    let is_clear = |run: &RunRecord| {
        let clarity = analysis::judge_interim(run);
        if !quiet && !clarity.words.is_empty() {
            context.print_message(&clarity.words);
        }
        clarity.ends
    };
    let page = RunPage::open("run", args, context)?;
    let mut listener = StepLines::new(args, context, &plan, repeats).with_page(&page);
    let mut script = experiment::build_schedule(&plan, &is_clear);
    let finished = experiment::run_schedule(
        &plan,
        &mut *script,
        context.run_origin(RunCommand::Run, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

/// As many workers as the workload asks for by itself, where the plan says nothing: a log knows its sessions.
///
/// # Errors
/// When a log can't be read.
pub(super) fn apply_workload_workers(plan: &mut Plan, context: &CliContext) -> anyhow::Result<()> {
    if plan.load.workers == LoadPlan::default().workers {
        let kind = workload::find_kind(&plan.workload.kind)?;
        if let Some(recorded) = kind.as_recorded() {
            plan.load.workers = recorded.worker_count(&plan.workload.options, &context.stop)?;
        }
    }
    Ok(())
}

/// The plan that words and file name together, and what it came to if it is a run's.
///
/// # Errors
/// All mistakes together.
pub(super) fn plan_from_args(
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<(Plan, Option<PlanLock>)> {
    let given = text_arg(args, "plan").expect("clap asks for it");
    let given =
        find_plan(given, Path::new(text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR)))?;
    let (plan, repeats) = read_plan(&given, context)?;
    let mut plan = apply_args(plan, args, context)?;
    let kind = workload::find_kind(&plan.workload.kind)?;
    let is_whole = plan.load.share.is_none() && !agents::wants_agents(args);
    let by_default = kind.is_checked_by_default() && is_whole;
    plan.check_data = plan.check_data.or(by_default.then_some(true));
    Ok((plan, repeats))
}

/// Prints what would be done, and does nothing.
///
/// # Errors
/// Mistakes of the plan.
pub(super) fn print_steps(plan: &Plan, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    experiment::check_plan(plan)?;
    let mut text = dry_run_text(&experiment::dry_run_steps(plan)?);
    text += &format!("\n{}\n", estimate_text(plan));
    context.print_output(&text)?;
    Ok(CommandOutcome::Done)
}

/// The plan in a file, or of a run that was made, with what it came to then.
///
/// # Errors
/// Mistakes of the plan, or a folder that is no run's.
pub(super) fn read_plan(
    given: &Path,
    context: &CliContext,
) -> anyhow::Result<(Plan, Option<PlanLock>)> {
    if !given.is_dir() {
        return Ok((plan_file::read_user_plan(given, context)?, None));
    }
    // Says what is wrong with a folder that is no run's, or a newer sweat's.
    archive::read_meta(given).map_err(|error| {
        Mistake::new(given.display().to_string(), error.to_string()).hint(error.hint().to_owned())
    })?;
    Ok((plan_file::read_plan(&given.join("plan.toml"))?, archive::read_plan_lock(given)?))
}

/// Lays the words typed over the plan.
fn apply_args(mut plan: Plan, args: &ArgMatches, context: &CliContext) -> anyhow::Result<Plan> {
    let mut mistakes = Vec::new();
    let text = |name: &str| args.get_one::<String>(name);
    let mut count = |name: &str| {
        let read = parse_count(text(name)?);
        let count = read.ok().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        if count.is_none() {
            mistakes.push(
                Mistake::new(format!("--{name}"), "it is not a number of blocks").hint("as in 6"),
            );
        }
        count
    };
    plan.blocks = count("blocks").unwrap_or(plan.blocks);
    plan.until_clear = count("until-clear").or(plan.until_clear);
    if plan.until_clear.is_some_and(|most| most <= plan.blocks) {
        mistakes.push(
            Mistake::new(
                "--until-clear",
                format!("it is not more than the {} blocks of the plan", plan.blocks),
            )
            .hint("the most blocks there may be; or fewer --blocks"),
        );
    }
    if let Some(name) = text("name") {
        plan.name.clone_from(name);
    }
    context.defaults.apply_to_plan(&mut plan, args, false);
    match present::allowed_caveats(args) {
        Ok(ids) => plan.allow.extend(ids),
        Err(list) => mistakes.extend(list),
    }
    let kind = workload::find_kind(&plan.workload.kind)?;
    let ends = plan.load.time.is_some() || plan.load.events.is_some() || kind.ends_by_itself();
    if !ends {
        mistakes.push(
            Mistake::new("load.time", "nothing ends the load").hint("add time = \"30s\" to [load]"),
        );
    }
    Mistakes::check(mistakes)?;
    if plan.seed == 0 && plan.load.share.is_none() {
        plan.seed = RealClock::start_now().origin_unix_ns() / 1000 % 1_000_000_000;
    }
    if kind.endpoint_kind() == EndpointKind::MySql {
        let rule = match kind.takes_several_servers() && is_plain_load(&plan) {
            true => HostRule::Several,
            false => HostRule::One,
        };
        plan.target = connection::overlay_target(args, context, &plan.target, rule)?;
    }
    if let (TargetPlan::Sandbox(sandbox), Some(path)) = (&mut plan.target, text("server")) {
        sandbox.server = Some(PathBuf::from(path));
    }
    plan.prepare |= matches!(plan.target, TargetPlan::Sandbox(_));
    Ok(plan)
}

/// Whether a plan is what `sweat bench` runs: loads, and nothing that is done to a server between them.
fn is_plain_load(plan: &Plan) -> bool {
    let searches = plan.capacity.is_some() || plan.sweep.is_some();
    let touches =
        plan.cold || plan.prepare || plan.reset != ResetPlan::None || plan.waits.is_some();
    plan.variants.len() <= 1 && plan.isolate.is_none() && !searches && !touches
}

/// Columns for what a step would send, beside its indent.
const LINE: usize = 71;

/// Every step, and below it what it would send.
fn dry_run_text(all: &[DryRunStep]) -> String {
    let mut text = String::new();
    for (number, DryRunStep { step, lines }) in all.iter().enumerate() {
        match step {
            Some(step) => text += &format!("{number:>3}  {step}\n"),
            None => text += "     beside all steps\n",
        }
        for line in lines {
            text += &format!("       {}\n", wrap_words(line, LINE).join("\n         "));
        }
    }
    text
}
