//! `sweat bench WORKLOAD ACTION`: what some workloads can do with their data beside making, loading and removing them.

use clap::ArgMatches;

use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::present;
use super::{build_workload, flags, job_threads};
use crate::base::{Clock as _, RealClock};
use crate::plan::{Mistake, Plan};
use crate::recorder::DataVerdicts;
use crate::report;
use crate::workload::{DataAction, DataDeed, DataJob, JobProgress, find_kind};

/// What the help says of the words that may follow a workload with these actions.
pub(super) fn deeds_help(actions: &[DataAction]) -> String {
    let mut text = "Make the data, run the load (the default), or remove the data".to_owned();
    for action in actions {
        text += &format!("\n{}: {}", action.name, action.help);
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
    let workload = build_workload(action.name, plan)?;
    let mut line = flags::progress_line(args, context);
    let mut progress = |p: JobProgress| line.show(&p);
    let (threads, seed, stop) = (job_threads(plan, args), plan.seed, &context.stop);
    let clock = RealClock::start_now();
    let began = clock.now();
    let mut job = DataJob { threads, seed, stop, progress: &mut progress };
    let result = match action.deed {
        DataDeed::Check => workload.check_data(&mut job),
        DataDeed::Isolation => workload.test_isolation(&mut job),
        DataDeed::Crash => anyhow::bail!("not yet"),
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
