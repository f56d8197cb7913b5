//! `sweat bench`: a load on a server, and what it felt like.
//! The options of each workload come from the workload itself; they stand in its own `--help`.

mod flags;
mod lines;
mod listener;
pub(super) mod live;
mod stream;
mod words;

use clap::{Arg, ArgMatches, Command};

use super::desk::Desk;
use super::fault::{Exit, Hinted};
use super::{connection, present};
use crate::plan::{OptionSpec, Plan, TargetPlan};
use crate::workload::{Job, KINDS, Kind};
use crate::{experiment, target, workload};

pub(super) use listener::Show;
pub(super) use words::{plan as plan_of, workload_first};

pub(super) fn command() -> Command {
    let mut command = everything(Command::new("bench"))
        .about("Run a load and measure it")
        .override_usage("sweat bench WORKLOAD [prepare|run|cleanup] [OPTIONS]")
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .after_help(
            "Each workload has options of its own: `sweat bench WORKLOAD --help` lists them.\n\n\
             Examples:\n  \
             sweat bench oltp_read_write --sandbox --tables=4 --threads=8 --time=30\n  \
             sweat bench oltp_point_select prepare -h db1 -u bench -p -D sbtest --table-size=1M\n  \
             sweat bench oltp_point_select -h db1 -u bench -p -D sbtest --rate=5000 --time=1m\n  \
             sweat bench null --threads=2 --time=5",
        );
    for kind in KINDS.iter().filter(|kind| !kind.has_command()) {
        command = command.subcommand(words_of(*kind));
    }
    command
}

/// Gives another command that runs loads the words of `bench`: its flags, and each workload with its options. `own` adds
/// the command's own flags.
pub(super) fn with_loads(
    command: Command,
    own: fn(Command) -> Command,
    example: fn(&str) -> String,
) -> Command {
    let mut command = own(everything(command))
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true);
    for kind in KINDS.iter().filter(|kind| !kind.has_command()) {
        let sub = Command::new(kind.name()).about(kind.about());
        let sub = everything(flags::workload(sub, &kind.options()));
        let words = format!("Examples:\n  {}", example(kind.name()));
        command = command.subcommand(own(sub).after_help(words));
    }
    command
}

/// The words of a command for one workload: those of `bench`, and of the workload's options these.
pub(super) fn own_command(command: Command, specs: &[OptionSpec]) -> Command {
    everything(flags::workload(command, specs))
        .mut_arg("think", |arg| arg.hide(true))
        .mut_arg("until-steady", |arg| arg.hide(true))
}

/// The id of a workload's option among the words.
pub(super) fn own_id(option: &str) -> String {
    format!("{}{option}", flags::OWN)
}

/// Everything but the workload's own options.
fn everything(command: Command) -> Command {
    let command = flags::load(command);
    let command = flags::output(command);
    connection::sandbox_flags(connection::address_flags(command))
}

/// The workload named, if any, and the words that belong to it.
pub(super) fn workload_of(args: &ArgMatches) -> (Option<&str>, &ArgMatches) {
    match args.subcommand() {
        Some((name, args)) => (Some(name), args),
        None => (None, args),
    }
}

fn words_of(kind: &dyn Kind) -> Command {
    let name = kind.name();
    let command = Command::new(name).about(kind.about()).arg(
        Arg::new("what")
            .value_name("prepare|run|cleanup")
            .value_parser(["prepare", "run", "cleanup"])
            .default_value("run")
            .hide_possible_values(true)
            .help("Make the data, run the load, or remove the data"),
    );
    let examples = if kind.needs_target() {
        format!(
            "Examples:\n  \
             sweat bench {name} --sandbox --threads=4 --time=10\n  \
             sweat bench {name} prepare -S /run/mysqld/mysqld.sock -u root -D sbtest\n  \
             sweat bench {name} -S /run/mysqld/mysqld.sock -u root -D sbtest --threads=16"
        )
    } else {
        format!("Examples:\n  sweat bench {name} --threads=2 --time=5")
    };
    everything(flags::workload(command, &kind.options())).after_help(examples)
}

pub(super) fn run(args: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let (kind, args) = workload_of(args);
    let plan = words::plan(kind, args, desk)?;
    let what = kind.and_then(|_| args.get_one::<String>("what")).map_or("run", String::as_str);
    match what {
        "run" => measure(&plan, args, desk),
        what => arrange(what, &plan, args, desk),
    }
}

/// Runs the load, then shows what it felt like.
fn measure(plan: &Plan, args: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let mut listener = listener::Show::new(plan, args, desk);
    let finished = experiment::run(plan, "bench", &desk.stop, &mut listener);
    drop(listener);
    present::conclude(finished?, args, desk)
}

/// `prepare` and `cleanup`: work on the data alone, without a run folder.
fn arrange(what: &str, plan: &Plan, args: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let target = match &plan.target {
        TargetPlan::Address(address) => Some(target::Target::new(address)?),
        TargetPlan::None => None,
        TargetPlan::Sandbox(_) => {
            return Err(Hinted {
                why: format!("{what} in a throw-away server would be lost with it"),
                hint: "leave out --sandbox, or run the load, which prepares by itself".to_owned(),
            }
            .into());
        }
    };
    let workload = workload::build(&plan.workload.kind, &plan.workload.options, target.as_ref())?;
    let mut line = flags::progress_line(args, desk);
    let mut progress = |p| line.show(&p);
    // Unless told how many, as many sessions as there are cores: that is what makes tables fastest.
    let threads = match args.get_one::<String>("threads") {
        Some(_) => plan.load.workers,
        None => crate::base::kernel::cores(),
    };
    let mut job = Job { threads, seed: plan.seed, stop: &desk.stop, progress: &mut progress };
    let result = match what {
        "prepare" => workload.prepare(&mut job),
        _ => workload.cleanup(&mut job),
    };
    line.finish();
    result?;
    if desk.stop.is_set() {
        return Ok(Exit::Interrupted);
    }
    if !args.get_flag("quiet") {
        desk.say(&format!("{}: {what} done", plan.workload.kind));
    }
    Ok(Exit::Done)
}
