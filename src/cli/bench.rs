//! `sweat bench`: a load on a server, and what it felt like.
//! The options of each workload come from the workload itself; they stand in its own `--help`.

mod args;
mod data_action;
mod declared;
mod flags;
mod lines;
mod listener;
mod stream;

use std::collections::BTreeSet;

use crate::archive::RunCommand;
use clap::{Arg, ArgMatches, Command};

use super::agents;
use super::arguments::positional_arg;
use super::connection::{self, HostRule};
use super::context::CliContext;
use super::exit::{CommandOutcome, HintedError};
use super::page::RunPage;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Plan, TargetPlan, WorkloadPlan};
use crate::workload::{DataJob, EndpointKind, JobProgress, KINDS, Workload, WorkloadKind};
use crate::{client, experiment, workload};

pub(super) use args::{COMMANDS, move_workload_first, name_bare_word};
pub(super) use declared::{add_declared_options, name_set_words};
pub(super) use lines::work_text;
pub(super) use listener::TerminalListener;

pub(super) fn command() -> Command {
    let mut command = add_all_flags(Command::new("bench"))
        .args(flags::isolate_flags())
        .args(agents::agents_flags())
        .about("Run a load and measure it")
        .override_usage("sweat bench WORKLOAD [prepare|run|cleanup] [OPTIONS]")
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading(
            "Workloads, with their own options in `sweat bench WORKLOAD --help`",
        )
        .disable_help_subcommand(true)
        .after_help(
            "Examples:\n  \
             sweat bench oltp_read_write --sandbox --tables=4 --threads=8 --time=30\n  \
             sweat bench oltp_point_select prepare -h db1 -D sbtest --table-size=1M\n  \
             sweat bench oltp_read_only -h db1,db2:3307 -D sbtest --rate=5000 --time=1m",
        );
    for kind in KINDS.iter().filter(|kind| kind.as_recorded().is_none()) {
        command = command.subcommand(workload_subcommand(*kind));
    }
    command
}

/// Gives another command that runs loads the words of `bench`: its flags, and each workload with its options. `own` adds
/// the command's own flags.
pub(super) fn with_workloads(
    command: Command,
    own: fn(Command) -> Command,
    example: fn(&str) -> String,
) -> Command {
    let mut command = own(add_all_flags(command))
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true);
    for kind in KINDS.iter().filter(|kind| kind.as_recorded().is_none()) {
        let sub = Command::new(kind.name()).about(kind.help_line());
        let sub = add_all_flags(flags::add_workload_flags(sub, &kind.option_specs()));
        let words = format!("Examples:\n  {}", example(kind.name()));
        command = command.subcommand(own(sub).after_help(words));
    }
    command
}

/// The words of a command for one workload: those of `bench`, and of the workload's options these.
pub(super) fn workload_command(command: Command, specs: &[OptionSpec]) -> Command {
    add_all_flags(flags::add_workload_flags(command, specs))
        .mut_arg("think", |arg| arg.hide(true))
        .mut_arg("until-steady", |arg| arg.hide(true))
}

/// Whether a flag is a workload's option of which, given twice, the last value stands.
pub(super) fn is_own_option(arg: &Arg) -> bool {
    let keeps_all = |name: &str| {
        let specs = KINDS.iter().flat_map(|kind| kind.option_specs());
        specs.into_iter().any(|spec| spec.name == name && spec.kind == OptionKind::Lines)
    };
    arg.get_id().as_str().strip_prefix(flags::OWN).is_some_and(|name| !keeps_all(name))
}

/// The id of a workload's option among the words.
pub(super) fn option_id(option: &str) -> String {
    format!("{}{option}", flags::OWN)
}

/// Everything but the workload's own options.
fn add_all_flags(command: Command) -> Command {
    add_endpoint_flags(add_own_flags(command), EndpointKind::MySql)
}

fn add_own_flags(command: Command) -> Command {
    flags::add_output_flags(flags::add_load_flags(command))
}

/// Adds the flags that say where the endpoint is. Who needs none may be given some all the same, so that one line of words
/// does for several workloads, but does not show them.
fn add_endpoint_flags(command: Command, endpoint: EndpointKind) -> Command {
    let own: Vec<_> = command.get_arguments().map(|arg| arg.get_id().clone()).collect();
    let command = connection::add_sandbox_flags(connection::add_address_flags(command));
    let is_shown = endpoint == EndpointKind::MySql;
    command.mut_args(|arg| match own.contains(arg.get_id()) {
        true => arg,
        false => arg.hide(!is_shown),
    })
}

/// The workload named, if any, and the words that belong to it.
pub(super) fn split_workload(args: &ArgMatches) -> (Option<&str>, &ArgMatches) {
    match args.subcommand() {
        Some((name, args)) => (Some(name), args),
        None => (None, args),
    }
}

fn workload_subcommand(kind: &dyn WorkloadKind) -> Command {
    let name = kind.name();
    let actions = kind.data_actions();
    let deeds = ["prepare", "run", "cleanup"].into_iter().chain(actions.iter().map(|a| a.name));
    let command = Command::new(name).about(kind.help_line()).arg(
        positional_arg("what", if actions.is_empty() { "prepare|run|cleanup" } else { "ACTION" })
            .value_parser(deeds.collect::<Vec<_>>())
            .default_value("run")
            .hide_possible_values(true)
            .help(data_action::deeds_help(actions)),
    );
    let has_server = kind.endpoint_kind() == EndpointKind::MySql;
    let own = kind.example_args();
    let examples = if !own.is_empty() {
        let lines: Vec<_> = own.iter().map(|args| format!("  sweat bench {name} {args}")).collect();
        format!("Examples:\n{}", lines.join("\n"))
    } else if has_server {
        format!(
            "Examples:\n  \
             sweat bench {name} --sandbox --threads=4 --time=10\n  \
             sweat bench {name} prepare -h db1 -u bench -p -D sbtest\n  \
             sweat bench {name} -h db1 -u bench -p -D sbtest --threads=16"
        )
    } else {
        format!("Examples:\n  sweat bench {name} --threads=2 --time=5")
    };
    let command = data_action::add_action_flags(command, actions);
    let command = add_own_flags(flags::add_workload_flags(command, &kind.option_specs()));
    let command = command.args(flags::isolate_flags()).args(agents::agents_flags());
    // Those who run a file want to see what is in it; the help of the others is long enough.
    let command = command.arg(flags::dry_run_flag().hide(kind.bare_word_option().is_none()));
    add_endpoint_flags(command, kind.endpoint_kind()).after_help(examples)
}

/// The plan that the words of a command name which runs the loads of `bench`, on one server.
///
/// # Errors
/// All mistakes together.
pub(super) fn plan_of(
    kind: Option<&str>,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Plan> {
    args::plan_from_args(kind, args, context, HostRule::One)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (kind, args) = split_workload(args);
    let what = kind.and_then(|_| args.get_one::<String>("what")).map_or("run", String::as_str);
    let hosts = if what == "run" { HostRule::Several } else { HostRule::One };
    let plan = args::plan_from_args(kind, args, context, hosts)?;
    if let Some(action) = data_action::find_action(kind, what) {
        return data_action::run_action(action, &plan, args, context);
    }
    if kind.is_some() && args.get_flag("dry-run") {
        return super::run::print_steps(&plan, context);
    }
    match what {
        "run" if agents::wants_agents(args) => {
            agents::lead_agents(&plan, RunCommand::Bench, args, context)
        }
        "run" => run_load(&plan, args, context)
            .map_err(|error| with_typed_server(error, &connection::typed_flags(args, context))),
        what => prepare_or_cleanup(what, &plan, args, context),
    }
}

/// Advice to make data, with the flags that say where: it can be pasted as it stands.
pub(super) fn with_typed_server(mut error: anyhow::Error, flags: &str) -> anyhow::Error {
    let add = |mistake: &mut Mistake| {
        let advice = mistake.hint.as_mut().filter(|hint| hint.starts_with("sweat bench "));
        advice.into_iter().for_each(|hint| *hint += flags);
    };
    if let Some(Mistakes(list)) = error.downcast_mut::<Mistakes>() {
        list.iter_mut().for_each(add);
    } else if let Some(mistake) = error.downcast_mut::<Mistake>() {
        add(mistake);
    }
    error
}

/// Runs the load, then shows what it felt like.
pub(super) fn run_load(
    plan: &Plan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let page = RunPage::open("bench", args, context)?;
    let mut listener = listener::TerminalListener::new(plan, args, context).with_page(&page);
    let finished = experiment::run_plan(
        plan,
        context.run_origin(RunCommand::Bench, args),
        &context.stop,
        &mut listener,
    );
    drop(listener);
    page.present_run(finished?, args, context)
}

/// Whether a job that makes data had anything to make: what it makes it reports on again, what is there only once.
#[derive(Debug, Default)]
struct SeenProgress {
    labels: BTreeSet<String>,
    reports: usize,
    is_all: bool,
}

impl SeenProgress {
    fn note(&mut self, progress: &JobProgress) {
        self.labels.insert(progress.label.clone());
        self.reports += 1;
        self.is_all = progress.done == progress.total;
    }

    fn was_all_there(&self) -> bool {
        self.reports > 0 && self.reports == self.labels.len() && self.is_all
    }
}

/// `prepare` and `cleanup`: work on the data alone, without a run folder.
fn prepare_or_cleanup(
    what: &str,
    plan: &Plan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let workload = build_workload(what, plan)?;
    let mut line = flags::progress_line(args, context);
    let mut seen = SeenProgress::default();
    let mut progress = |p: JobProgress| {
        seen.note(&p);
        line.show(&p);
    };
    let threads = job_threads(plan, args);
    let mut job =
        DataJob { threads, seed: plan.seed, stop: &context.stop, progress: &mut progress };
    let result = match what {
        "prepare" => workload.prepare_data(&mut job),
        _ => workload.cleanup_data(&mut job),
    };
    line.finish();
    let notes: String = workload.data_notes().iter().map(|note| format!("{note}\n")).collect();
    context.print_output(&notes)?;
    result?;
    if context.stop.is_set() {
        return Ok(CommandOutcome::Interrupted);
    }
    if !args.get_flag("quiet") {
        let kind = &plan.workload.kind;
        context.print_message(&match what == "prepare" && seen.was_all_there() {
            true => format!("{kind}: the data was already there"),
            false => format!("{kind}: {what} done"),
        });
    }
    Ok(CommandOutcome::Done)
}

/// The plan's workload for work on its data alone.
fn build_workload(what: &str, plan: &Plan) -> anyhow::Result<Box<dyn Workload>> {
    let target = match &plan.target {
        TargetPlan::Address(address) => Some(client::Target::new(address)?),
        TargetPlan::None => None,
        TargetPlan::Sandbox(_) => {
            return Err(HintedError {
                why: format!("a throw-away server would take this with it: {what}"),
                hint: "leave out --sandbox, or run the load, which prepares by itself".to_owned(),
            }
            .into());
        }
    };
    let WorkloadPlan { kind, options } = &plan.workload;
    workload::build_workload(kind, options, target.as_ref().into())
}

/// Sessions that work on the data: unless told how many, as many as there are cores, which makes tables fastest.
fn job_threads(plan: &Plan, args: &ArgMatches) -> usize {
    match args.get_one::<String>("threads") {
        Some(_) => plan.load.workers,
        None => crate::base::kernel::core_count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_is_there_is_told_from_data_that_is_made() {
        let all = |reports: &[(&str, u64)]| {
            let mut seen = SeenProgress::default();
            for (label, done) in reports {
                let label = (*label).to_owned();
                seen.note(&JobProgress { label, done: *done, total: 20, unit: "rows" });
            }
            seen.was_all_there()
        };
        assert!(all(&[("t1", 10), ("t2", 20)]));
        assert!(!all(&[("t1", 0), ("t2", 10), ("t2", 20)]));
        assert!(!all(&[("t1", 10)]) && !all(&[]));
    }

    #[test]
    fn advice_to_make_data_can_be_pasted() {
        let missing = || Mistake::new("table sbtest1", "does not exist");
        let advice = "sweat bench oltp_read_only prepare --tables=1";
        let all = vec![missing().hint(advice), missing().hint("look for it")];
        for error in [Mistakes(all.clone()).into(), anyhow::Error::new(Mistakes(all)).context("x")]
        {
            let error = with_typed_server(error, " -h db1 -p");
            let list = &error.downcast_ref::<Mistakes>().unwrap().0;
            assert_eq!(list[0].hint.as_deref(), Some(&*format!("{advice} -h db1 -p")));
            assert_eq!(list[1].hint.as_deref(), Some("look for it"));
        }
    }
}
