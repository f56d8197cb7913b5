//! `sweat micro`: what single operations cost. The workload of this name, as a command of its own.

use clap::{ArgMatches, Command};

use super::arguments::switch_flag;
use super::bench;
use super::connection;
use super::context::CliContext;
use super::exit::CommandOutcome;
use crate::plan::Options;
use crate::workload::find_kind;
use crate::workload::micro::list_operations;

/// The workload.
const KIND: &str = "micro";
/// Its options that are called otherwise here, and how: among those of all loads these names have another meaning.
const RENAMED: [(&str, &str, &str); 2] =
    [("mysql-storage-engine", "engine", "ENGINE"), ("count-scale", "scale", "N")];
/// Flags of a load that have no meaning here: operations run one by one, and end by themselves.
const NOT_HERE: &[&str] = &[
    "threads",
    "rate",
    "events",
    "until-steady",
    "stages",
    "plan",
    "arrival",
    "think",
    "warmup",
    "grace",
    "check-data",
    "reconnect",
    "engine",
    "precise",
    "interval",
    "openmetrics",
];
/// Width of a name in the list.
const NAME_WIDTH: usize = 22;

pub(super) fn command() -> Command {
    let specs = find_kind(KIND).map(|kind| kind.option_specs()).unwrap_or_default();
    let mut command = bench::workload_command(Command::new(KIND), &specs)
        .about("Time single operations: connect, insert, join ..")
        .mut_arg("engine", |arg| arg.long("load-engine"))
        .mut_arg("time", |arg| arg.help("Stop after this time [default: after all rounds]"))
        .arg(
            switch_flag("list")
                .help("List operations, groups and statements, and do nothing")
                .help_heading("Workload"),
        )
        .after_help(
            "Examples:\n  \
             sweat micro --sandbox\n  \
             sweat micro --only=key,range,insert* -h db1 -u bench -p\n  \
             sweat micro --list --only=join\n  \
             sweat compare RUN --base RUN",
        );
    for (option, name, value) in RENAMED {
        command = command.mut_arg(bench::option_id(option), |arg| {
            arg.long(name).alias(option).hide_short_help(false).value_name(value)
        });
    }
    command.mut_args(|arg| match NOT_HERE.contains(&arg.get_id().as_str()) {
        true => arg.hide(true),
        false => arg,
    })
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    if args.get_flag("list") {
        return print_list(args, context);
    }
    let mut plan = bench::plan_of(Some(KIND), args, context)?;
    if !args.contains_id("threads") {
        // Not what is right for other loads: there is one session.
        plan.load.workers = 1;
    }
    // An operation that ends its session is told by name, and the others still run.
    plan.load.reconnect = true;
    let typed = connection::typed_flags(args, context);
    bench::run_load(&plan, args, context).map_err(|error| bench::with_typed_server(error, &typed))
}

/// The operations that would run, each with its statements.
fn print_list(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let value = |name: &str| {
        let given = args.get_many::<String>(&bench::option_id(name));
        given.and_then(Iterator::last).map(|value| (name.to_owned(), value.clone()))
    };
    let given: Vec<_> = ["only", "skip"].into_iter().filter_map(value).collect();
    let specs = find_kind(KIND)?.option_specs();
    let options = Options::from_given(&specs, &given).map_err(crate::plan::Mistakes)?;
    let (mut text, mut group) = (String::new(), "");
    for (operation, statements) in list_operations(&options)? {
        if operation.group != group {
            group = operation.group;
            text += &format!("{group}\n");
        }
        let indent = NAME_WIDTH + 3;
        text += &format!("  {:<NAME_WIDTH$} ", operation.name);
        text += &wrap_statement(&statements, indent);
        text.push('\n');
    }
    context.print_output(&text)?;
    Ok(CommandOutcome::Done)
}

/// A statement in lines, those behind the first indented.
fn wrap_statement(text: &str, indent: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > 80 {
            out += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}
