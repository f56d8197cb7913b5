//! `sweat bench WORKLOAD ACTION`: what some workloads can do with their data beside making, loading and removing them.

use clap::{ArgMatches, Command};

use super::super::arguments::{switch_flag, value_flag};
use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::present;
use super::args::parse_count_flag;
use super::{build_workload, flags, job_threads};
use crate::archive::RunCommand;
use crate::base::{Clock as _, RealClock};
use crate::experiment::{self, CrashPlan};
use crate::plan::{Mistake, Mistakes, Plan, TargetPlan};
use crate::recorder::{CrashRound, DataVerdicts};
use crate::report;
use crate::workload::{DataAction, DataDeed, DataJob, JobProgress, find_kind};

/// What the help says of the words that may follow a workload with these actions.
pub(super) fn deeds_help(actions: &[DataAction]) -> String {
    let mut text = "Make the data, run the load (the default), or remove the data".to_owned();
    for action in actions {
        let help = action.help;
        let first = help.chars().next().unwrap_or_default().to_lowercase();
        let rest = help.get(1..).unwrap_or_default();
        text += &format!("; {}: {first}{rest}", action.name);
    }
    text
}

/// The action of this name, if the workload has it.
pub(super) fn find_action(kind: Option<&str>, what: &str) -> Option<&'static DataAction> {
    find_kind(kind?).ok()?.data_actions().iter().find(|action| action.name == what)
}

/// Does it, and shows what was found.
pub(super) fn run_action(
    action: &DataAction,
    plan: &Plan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let format = present::report_format(args).name;
    if !["text", "json"].contains(&format) {
        let why = format!("{} is shown as text or json", action.name);
        return Err(Mistake::new(format!("--format {format}"), why).hint("leave it out").into());
    }
    if action.deed == DataDeed::Crash {
        return run_crash(action, plan, args, context);
    }
    let workload = build_workload(action.name, plan)?;
    let mut line = flags::progress_line(args, context);
    let mut progress = |p: JobProgress| line.show(&p);
    let (threads, seed, stop) = (job_threads(plan, args), plan.seed, &context.stop);
    let clock = RealClock::start_now();
    let began = clock.now();
    let mut job = DataJob { threads, seed, stop, progress: &mut progress };
    let result = match action.deed {
        DataDeed::Check => workload.check_data(&mut job),
        DataDeed::Isolation | DataDeed::Crash => workload.test_isolation(&mut job),
    };
    let seconds = clock.now().since(began).to_seconds();
    line.finish();
    let verdicts = result?;
    if context.stop.is_set() {
        return Ok(CommandOutcome::Interrupted);
    }
    let title = format!("{} {}", plan.workload.kind, action.name);
    print_verdicts(&title, &verdicts, seconds, args, context)
}

/// The variable that `--sweep` goes through, with the values that keep least first.
const SWEPT: (&str, [&str; 3]) = ("innodb_flush_log_at_trx_commit", ["0", "2", "1"]);
/// Most kills of one setting.
const MOST_KILLS: u64 = 1000;

/// Adds the flags of the actions that need some.
pub(super) fn add_action_flags(command: Command, actions: &[DataAction]) -> Command {
    if actions.iter().all(|action| action.deed != DataDeed::Crash) {
        return command;
    }
    let flags = [
        value_flag("kills", "N").help("crash: how often the server is killed [default: 1]"),
        switch_flag("sweep").help("crash: for innodb_flush_log_at_trx_commit = 0, 2 and 1"),
    ];
    command.args(flags.map(|arg| arg.hide_short_help(true).help_heading("Workload")))
}

/// Kills the server of a sandbox in a load; exit code 3 where data are broken or lost against its word.
fn run_crash(
    action: &DataAction,
    plan: &Plan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    if !matches!(plan.target, TargetPlan::Sandbox(_)) {
        let why = "only the server of a sandbox may be killed";
        return Err(Mistake::new(action.name, why).hint("add --sandbox").into());
    }
    let mut mistakes = Vec::new();
    let kills = parse_count_flag(args, "kills", 1, MOST_KILLS, &mut mistakes).unwrap_or(1) as u32;
    Mistakes::check(mistakes)?;
    let swept = |value: &&str| vec![(SWEPT.0.to_owned(), (*value).to_owned())];
    let settings = match args.get_flag("sweep") {
        true => SWEPT.1.iter().map(swept).collect(),
        false => vec![Vec::new()],
    };
    let mut line = flags::progress_line(args, context);
    let mut progress = |p: JobProgress| line.show(&p);
    let crash = CrashPlan { kills, settings };
    let origin = context.run_origin(RunCommand::Other(action.name.to_owned()), args);
    let result = experiment::run_crashes(plan, &crash, origin, &context.stop, &mut progress);
    line.finish();
    let (rounds, run) = result?;
    context.print_note(&format!("kept in {}", run.dir.display()));
    let is_cut = run.error.is_some() || context.stop.is_set();
    let title = format!("{} {}", plan.workload.kind, action.name);
    let text = match present::report_format(args).name {
        "json" => serde_json::to_string_pretty(&report::crash_rounds_json(&title, &rounds))? + "\n",
        _ => report::crash_rounds_text(&title, &rounds),
    };
    // What was cut short still tells of the kills before.
    if !is_cut || !rounds.is_empty() {
        context.print_output(&text)?;
    }
    if let Some(error) = run.error {
        return Err(error);
    }
    if is_cut {
        return Ok(CommandOutcome::Interrupted);
    }
    let is_kept = rounds.iter().all(CrashRound::is_kept);
    Ok(if is_kept { CommandOutcome::Done } else { CommandOutcome::Failed })
}

/// Shows verdicts in the format asked for; exit code 3 where a rule is broken.
fn print_verdicts(
    title: &str,
    verdicts: &DataVerdicts,
    seconds: f64,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let text = match (present::report_format(args).name, args.get_flag("quiet")) {
        ("json", _) => {
            let value = report::data_verdicts_json(title, verdicts, seconds);
            serde_json::to_string_pretty(&value)? + "\n"
        }
        (_, true) => format!("{title}: {}\n", verdicts.answer_text()),
        _ => report::data_verdicts_text(title, verdicts, seconds),
    };
    context.print_output(&text)?;
    Ok(if verdicts.all_hold() { CommandOutcome::Done } else { CommandOutcome::Failed })
}
