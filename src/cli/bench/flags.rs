//! The flags of a load, of its output, and those that a workload brings along.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::super::arguments::{OUTPUT_HEADING, switch_flag, value_flag};
use super::super::context::CliContext;
use super::super::progress::ProgressLine;
use super::super::{page, present};
use crate::plan::{OptionKind, OptionSpec};

/// What the id of a workload's option begins with, to keep it apart from our own.
pub(super) const OWN: &str = "workload.";

/// Heading of the flags of a load.
const HEADING: &str = "Load";

/// Adds the flags of a load, those that are used most first.
pub(super) fn add_load_flags(command: Command) -> Command {
    let daily = [
        value_flag("threads", "N")
            .visible_aliases(["workers", "sessions"])
            .help("Connections that run events in parallel [default: 1]"),
        value_flag("time", "TIME").help("Stop after this time; 0: no limit [default: 10s]"),
        value_flag("rate", "RATE").help("Open loop: events per second, as 500 or 20k/s"),
        value_flag("events", "N").help("Stop after this many events [default: 0, no limit]"),
        switch_flag("until-steady").help("Stop once the load is steady; --time is the limit"),
        value_flag("stages", "LIST").help("Rates in turn, as '10s:0..500, 1m:500, 10s:500..0'"),
        value_flag("plan", "PLAN").help("Read the plan from this file or run; flags override it"),
    ];
    let rare = [
        value_flag("arrival", "KIND")
            .help("With --rate: poisson or constant gaps [default: poisson]"),
        value_flag("think", "TIME").help("Without --rate: pause between events of a session"),
        value_flag("warmup", "TIME").help("Run the load this long before it counts"),
        value_flag("interval", "TIME")
            .visible_aliases(["report-interval"])
            .help("Length of a reporting interval [default: 1s]"),
        value_flag("grace", "TIME")
            .help("Time for running events to end after the load [default: 10s]"),
        value_flag("seed", "N").help("Seed of all random numbers [default: 0, a new one]"),
        value_flag("share", "N/OF")
            .help("Run one share of the load, as 2/3; other machines run the rest"),
        value_flag("start-at", "TIME")
            .help("Start the load then: @SECONDS since 1970, or 2026-11-22T21:30:00Z"),
        switch_flag("check-data").help("Check the data before and after, if the workload can"),
        switch_flag("reconnect").help("Reopen lost connections and go on"),
        value_flag("engine", "ENGINE").help("auto, threads or reactor [default: auto]"),
        switch_flag("precise").help("Open loop: spin instead of sleeping until events are due"),
        value_flag("probes", "LIST")
            .help("Probes to sample, comma-separated [default: all that work]"),
        value_flag("probe-interval", "TIME")
            .help("Time between samples of probes [default: as --interval]"),
        // sysbench has these too; they say nothing that we don't know.
        Arg::new("db-driver").long("db-driver").hide(true).value_parser(["mysql"]),
        Arg::new("percentile").long("percentile").hide(true),
        Arg::new("histogram").long("histogram").hide(true).num_args(0..=1),
    ];
    let rare = rare.map(|arg| arg.hide_short_help(true));
    command.args(daily.into_iter().chain(rare).map(|arg| arg.help_heading(HEADING)))
}

/// The flags that have each class run alone.
pub(super) fn isolate_flags() -> [Arg; 2] {
    let rounds = value_flag("isolate", "ROUNDS")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("5")
        .help("Afterwards run each class alone, so often: its cost to the server");
    let time = value_flag("isolate-time", "TIME")
        .requires("isolate")
        .help("Time of a class in a round of --isolate [default: 2s]");
    [rounds, time].map(|arg| arg.hide_short_help(true).help_heading(HEADING))
}

/// The flag that shows what would be done.
pub(super) fn dry_run_flag() -> Arg {
    switch_flag("dry-run")
        .help("Print the steps and their statements, and do nothing")
        .help_heading(HEADING)
}

/// Adds the flags of the output.
pub(super) fn add_output_flags(command: Command) -> Command {
    let command = command.args(
        [
            value_flag("name", "TEXT").help("Name of the run [default: the workload's]"),
            value_flag("runs-dir", "DIR")
                .hide_short_help(true)
                .help("Folder for run folders [default: runs]"),
            switch_flag("quiet").short('q').help("Show only the summary"),
            switch_flag("plain")
                .hide_short_help(true)
                .help("One line per interval, also on a terminal"),
            value_flag("progress", "FORMAT")
                .value_parser(["auto", "json"])
                .default_value("auto")
                .hide_short_help(true)
                .help("json: one object per interval on standard error"),
        ]
        .map(|arg| arg.help_heading(OUTPUT_HEADING)),
    );
    present::add_present_flags(command).args(page::listen_flags())
}

/// Options of workloads that few need.
const RARE: &[&str] = &[
    "secondary",
    "create-secondary",
    "mysql-storage-engine",
    "create-table-options",
    "table-name",
    "mysql-dry-run",
    "rand-seed",
    "rand-spec-iter",
    "rand-spec-pct",
    "rand-spec-res",
    "rand-pareto-h",
    "rand-zipfian-exp",
    "from-start",
    "allow-functions",
    "now",
    "statement-limit",
    "trust-log-clients",
    "classes",
    "once",
    "order",
    "body-file",
    "max-body",
    "connect-to",
    "unix-socket",
    "ca",
    "insecure",
];
/// What the workloads named so begin with, and options that only they use.
const RANDOM_SELECTS: &str = "select_random";
const OF_RANDOM_SELECTS: &[&str] = &["random-points", "number-of-ranges", "random-ranges", "delta"];
/// Options that all the others use.
const OF_TRANSACTIONS: &[&str] = &[
    "point-selects",
    "simple-ranges",
    "sum-ranges",
    "order-ranges",
    "distinct-ranges",
    "index-updates",
    "non-index-updates",
    "delete-inserts",
    "range-selects",
    "skip-trx",
];

/// Adds a workload's own options.
pub(super) fn add_workload_flags(mut command: Command, specs: &[OptionSpec]) -> Command {
    for spec in specs {
        let long = spec.name.replace('_', "-");
        let foreign = match command.get_name().starts_with(RANDOM_SELECTS) {
            true => OF_TRANSACTIONS,
            false => OF_RANDOM_SELECTS,
        };
        let is_rare = [RARE, foreign].iter().any(|names| names.contains(&long.as_str()));
        let mut arg = Arg::new(format!("{OWN}{}", spec.name))
            .long(long)
            .help(option_help(spec))
            .value_name(value_name(&spec.kind))
            .action(ArgAction::Append)
            .hide_short_help(is_rare)
            .help_heading("Workload");
        if let Some(alias) = spec.alias {
            arg = arg.alias(alias);
        }
        if let Some(short) = spec.short {
            arg = arg.short(short);
        }
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
        OptionKind::Text | OptionKind::Lines => "TEXT",
        OptionKind::Choice(_) => "WORD",
    }
}

/// A progress line as the flags want it.
pub(super) fn progress_line(args: &ArgMatches, context: &CliContext) -> ProgressLine {
    ProgressLine::new(context.terminal, args.get_flag("quiet"), args.get_flag("plain"))
}
