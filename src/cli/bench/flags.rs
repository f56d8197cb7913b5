//! The flags of a load, of its output, and those that a workload brings along.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::super::context::CliContext;
use super::super::present;
use super::super::progress::ProgressLine;
use crate::plan::{OptionKind, OptionSpec};

/// What the id of a workload's option begins with, to keep it apart from our own.
pub(super) const OWN: &str = "workload.";

/// Flags with a value: name, other names, value, help.
const LOAD: &[(&str, &[&str], &str, &str)] = &[
    (
        "threads",
        &["workers", "sessions"],
        "N",
        "Workers that run events, each in a session of its own [default: 1]",
    ),
    (
        "time",
        &[],
        "TIME",
        "Ends it after this time; 0 for never [default: 10s, if nothing else ends it]",
    ),
    ("events", &[], "N", "Ends it after this many events; 0 for never [default: 0]"),
    (
        "rate",
        &[],
        "RATE",
        "Events per second, as 500 or 20k/s, whether the server keeps up or not (open loop)",
    ),
    (
        "stages",
        &[],
        "LIST",
        "Open loop whose rate changes, as '10s:0..500, 1m:500, 10s:500..0': up, steady, down",
    ),
    ("arrival", &[], "KIND", "With --rate or --stages: poisson or constant [default: poisson]"),
    ("think", &[], "TIME", "Without --rate: pause between two events of a session"),
    ("interval", &["report-interval"], "TIME", "Length of an interval [default: 1s]"),
    ("engine", &[], "ENGINE", "auto, threads or reactor [default: auto]"),
    ("grace", &[], "TIME", "Time for events under way at the end [default: 10s]"),
    ("seed", &[], "N", "Seed of all random numbers; 0 for a new one [default: 0]"),
    ("probe-interval", &[], "TIME", "Time between two samples [default: as --interval]"),
    ("probes", &[], "LIST", "Probes to sample, with commas [default: all that work]"),
];

/// Adds the flags of a load.
pub(super) fn add_load_flags(mut command: Command) -> Command {
    for (name, others, value, help) in LOAD {
        command = command.arg(
            Arg::new(*name)
                .long(*name)
                .visible_aliases(others.to_vec())
                .value_name(*value)
                .help(*help)
                .help_heading("Load"),
        );
    }
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help).help_heading("Load")
    };
    command
        .arg(switch(
            "until-steady",
            "Ends it once it is steady, twice in a row 10 s apart; --time is then the longest it \
             may take [default: 30m]",
        ))
        .arg(switch("reconnect", "Open lost sessions again, and go on"))
        .arg(switch("precise", "Spin before due times instead of sleeping through (open loop)"))
        .arg(
            Arg::new("plan")
                .long("plan")
                .value_name("FILE")
                .help("Read the plan from this file; flags stand over it")
                .help_heading("Load"),
        )
        // sysbench has these too; they say nothing that we don't know.
        .arg(Arg::new("db-driver").long("db-driver").hide(true).value_parser(["mysql"]))
        .arg(Arg::new("percentile").long("percentile").hide(true))
        .arg(Arg::new("histogram").long("histogram").hide(true).num_args(0..=1))
}

/// Adds the flags of the output.
pub(super) fn add_output_flags(command: Command) -> Command {
    let command = command
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("TEXT")
                .help("Name of the run [default: the workload's]"),
        )
        .arg(
            Arg::new("runs-dir")
                .long("runs-dir")
                .value_name("DIR")
                .help("Where the run's folder goes [default: runs]"),
        )
        .arg(
            Arg::new("quiet")
                .short('q')
                .long("quiet")
                .action(ArgAction::SetTrue)
                .help("Show nothing but the summary"),
        )
        .arg(
            Arg::new("plain")
                .long("plain")
                .action(ArgAction::SetTrue)
                .help("A line per interval, also on a terminal"),
        );
    let command = command.arg(
        Arg::new("progress")
            .long("progress")
            .value_name("FORMAT")
            .value_parser(["auto", "json"])
            .default_value("auto")
            .help("json: an object per interval on standard error, for programs"),
    );
    present::add_present_flags(command)
}

/// Adds a workload's own options.
pub(super) fn add_workload_flags(mut command: Command, specs: &[OptionSpec]) -> Command {
    for spec in specs {
        let long = spec.name.replace('_', "-");
        let mut arg = Arg::new(format!("{OWN}{}", spec.name))
            .long(long)
            .help(option_help(spec))
            .value_name(value_name(&spec.kind))
            .action(ArgAction::Append)
            .help_heading("Workload");
        if spec.kind == OptionKind::Switch {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("on");
        }
        command = command.arg(arg);
    }
    command
}

fn option_help(spec: &OptionSpec) -> String {
    let mut text = spec.help.clone();
    if let OptionKind::Choice(choices) = &spec.kind {
        text += &format!(" ({})", choices.join(", "));
    }
    if !spec.default.is_empty() {
        text += &format!(" [default: {}]", spec.default);
    }
    text
}

fn value_name(kind: &OptionKind) -> &'static str {
    match kind {
        OptionKind::Switch => "on|off",
        OptionKind::Count | OptionKind::Number => "N",
        OptionKind::Size => "SIZE",
        OptionKind::Time => "TIME",
        OptionKind::Rate => "RATE",
        OptionKind::Text => "TEXT",
        OptionKind::Choice(_) => "WORD",
    }
}

/// A progress line as the flags want it.
pub(super) fn progress_line(args: &ArgMatches, context: &CliContext) -> ProgressLine {
    ProgressLine::new(context.terminal, args.get_flag("quiet"), args.get_flag("plain"))
}
