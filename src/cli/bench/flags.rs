//! The flags of a load, of its output, and those that a workload brings along.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::super::arguments::{switch_flag, value_flag};
use super::super::context::CliContext;
use super::super::present;
use super::super::progress::ProgressLine;
use crate::plan::{OptionKind, OptionSpec};

/// What the id of a workload's option begins with, to keep it apart from our own.
pub(super) const OWN: &str = "workload.";

/// Adds the flags of a load.
pub(super) fn add_load_flags(command: Command) -> Command {
    command.args(
        [
            value_flag("threads", "N")
                .visible_aliases(["workers", "sessions"])
                .help("Workers that run events, each in a session of its own [default: 1]"),
            value_flag("time", "TIME")
                .help("Stop after this time; 0 for never [default: 10s, if nothing else ends it]"),
            value_flag("events", "N").help("Stop after this many events; 0 for never [default: 0]"),
            value_flag("rate", "RATE").help(
                "Events per second, as 500 or 20k/s, whether the server keeps up or not \
                 (open loop)",
            ),
            value_flag("stages", "LIST").help(
                "Open loop with a changing rate, as '10s:0..500, 1m:500, 10s:500..0': up, steady, \
                 down",
            ),
            value_flag("arrival", "KIND")
                .help("With --rate or --stages: poisson or constant [default: poisson]"),
            value_flag("think", "TIME")
                .help("Without --rate: pause between two events of a session"),
            value_flag("interval", "TIME")
                .visible_aliases(["report-interval"])
                .help("Length of an interval [default: 1s]"),
            value_flag("engine", "ENGINE").help("auto, threads or reactor [default: auto]"),
            value_flag("grace", "TIME").help(
                "Extra time at the end for events still running \
                                              [default: 10s]",
            ),
            value_flag("seed", "N")
                .help("Seed of all random numbers; 0 for a new one [default: 0]"),
            value_flag("probe-interval", "TIME")
                .help("Time between two samples [default: as --interval]"),
            value_flag("probes", "LIST")
                .help("Probes to sample, separated by commas [default: all that work]"),
            switch_flag("until-steady").help(
                "Stop once the load is steady, twice in a row 10 s apart; --time is then the \
                 longest time [default: 30m]",
            ),
            switch_flag("reconnect").help("Reopen lost sessions and continue"),
            switch_flag("precise").help("Spin before due times instead of sleeping (open loop)"),
            value_flag("plan", "FILE").help("Read the plan from this file; flags override it"),
            // sysbench has these too; they say nothing that we don't know.
            Arg::new("db-driver").long("db-driver").hide(true).value_parser(["mysql"]),
            Arg::new("percentile").long("percentile").hide(true),
            Arg::new("histogram").long("histogram").hide(true).num_args(0..=1),
        ]
        .map(|arg| arg.help_heading("Load")),
    )
}

/// Adds the flags of the output.
pub(super) fn add_output_flags(command: Command) -> Command {
    let command = command.args([
        value_flag("name", "TEXT").help("Name of the run [default: the workload's]"),
        value_flag("runs-dir", "DIR").help("Where the run's folder goes [default: runs]"),
        switch_flag("quiet").short('q').help("Show only the summary"),
        switch_flag("plain").help("Print a line per interval, also on a terminal"),
    ]);
    let command = command.arg(
        value_flag("progress", "FORMAT")
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
