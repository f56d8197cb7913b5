//! Words typed: flags, option files, the live terminal, exit codes. The only room that knows clap.
//! Never knows: arithmetic.
//! Start reading at `COMMANDS`. To add a command: a file here with `command` (its words) and `run` (what it does),
//! and its line in `COMMANDS`. A command reads its words into a plan and lets the rooms below do the work.

mod aa;
mod ab;
mod agents;
mod arguments;
mod argv;
mod bench;
mod capacity;
mod check;
mod closed_stdout;
mod compare;
mod completion;
mod connection;
mod context;
mod defaults;
mod demo;
mod digest;
mod doctor;
mod exchange_load;
mod exit;
mod explain;
mod foreign;
mod help;
mod hotset;
mod hotset_save;
mod http_load;
mod init;
#[cfg(feature = "live-view")]
mod live;
mod load_display;
mod login_path;
mod man_page;
mod merge;
mod micro;
mod mix;
mod mysql_warmup;
#[cfg(not(feature = "live-view"))]
mod no_live_view;
mod option_file;
mod page;
mod plan_file;
mod present;
mod progress;
mod prompt;
mod readiness;
mod repeated;
mod replay;
mod report;
mod restore;
mod run;
mod run_names;
mod runs;
mod sandbox;
mod ship;
mod signals;
mod slap;
mod step_lines;
mod sweep;
mod sysbench;
mod tpcc_mysql;
mod translated;
mod waits;
mod warm;
mod watch;
mod watch_looks;
mod watch_report;
mod ycsb;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::server::journal::RestoreError;
use context::CliContext;
use defaults::UserDefaults;
use exit::CommandOutcome;
use tpcc_mysql::ProgramCall;
use translated::TranslatedCall;

use CommandRun::{Own, Translated};

/// All commands, in the order of `sweat --help`: their names, their words, and what they do.
const COMMANDS: &[CommandEntry] = &[
    ("demo", demo::command, Own(demo::run)),
    ("bench", bench::command, Own(bench::run)),
    ("run", run::command, Own(run::run)),
    ("init", init::command, Own(init::run)),
    ("sweep", sweep::command, Own(sweep::run)),
    ("capacity", capacity::command, Own(capacity::run)),
    ("aa", aa::command, Own(aa::run)),
    ("doctor", doctor::command, Own(doctor::run)),
    ("sysbench", sysbench::command, Own(sysbench::run)),
    ("micro", micro::command, Own(micro::run)),
    ("mix", mix::command, Own(mix::run)),
    ("slap", slap::command, Own(slap::run)),
    ("ycsb", ycsb::command, Translated(ycsb::translate_call)),
    ("mysql-warmup", mysql_warmup::command, Translated(mysql_warmup::translate_call)),
    ("http_load", http_load::command, Own(http_load::run)),
    ("ab", ab::command, Own(ab::run)),
    ("tpcc_load", tpcc_mysql::load_command, Own(tpcc_mysql::load)),
    ("tpcc_start", tpcc_mysql::start_command, Own(tpcc_mysql::start)),
    ("warm", warm::command, Own(warm::run)),
    ("waits", waits::command, Own(waits::run)),
    ("watch", watch::command, Own(watch::run)),
    ("replay", replay::command, Own(replay::run)),
    ("report", report::command, Own(report::run)),
    ("runs", runs::command, Own(runs::run)),
    ("compare", compare::command, Own(compare::run)),
    ("merge", merge::command, Own(merge::run)),
    ("agent", agents::agent_command, Own(agents::serve_as_agent)),
    ("agents", agents::agents_command, Own(agents::collect_loads)),
    ("explain", explain::command, Own(explain::run)),
    ("digest", digest::command, Own(digest::run)),
    ("ship", ship::command, Own(ship::run)),
    ("sandbox", sandbox::command, Own(sandbox::run)),
    ("restore", restore::command, Own(restore::run)),
    ("completion", completion::command, Own(completion::run)),
    ("help", help::command, Own(help::run)),
];

/// The version; of a build from a checkout with its commit and that commit's date.
const VERSION: &str = env!("SWEAT_VERSION");

/// A command: its name, its words for clap, and what it does.
type CommandEntry = (&'static str, fn() -> Command, CommandRun);

/// What a command does.
enum CommandRun {
    /// Its own work, with the words that clap has read.
    Own(fn(&ArgMatches, &CliContext) -> anyhow::Result<CommandOutcome>),
    /// The work of another command, whose words it gives; `None` if the program is not called like that.
    Translated(fn(&[OsString]) -> Option<TranslatedCall>),
}

/// Runs the program.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    if let Some(exit) = run_other_program(&args) {
        return exit;
    }
    let args = match translate_call(args) {
        Ok(args) => args,
        Err(exit) => return exit.into(),
    };
    let mut words = argv::parse_command_line(args);
    let program = called_command(&words.args);
    let takes_value = |flag: &str| takes_value(&program, flag);
    bench::move_workload_first(&mut words.args, &takes_value);
    bench::name_bare_word(&mut words.args, &takes_value);
    bench::name_set_words(&mut words.args);
    let (defaults, wrong) = match UserDefaults::read() {
        Ok(defaults) => (defaults, None),
        Err(error) => (UserDefaults::default(), Some(error)),
    };
    let context = CliContext::from_process(words.password, words.typed, defaults);
    if let Some(text) = help::requested_help(&program, &words.args) {
        let told = context.print_output(&text).map(|()| CommandOutcome::Done);
        return exit::report_result(told, &context).into();
    }
    let result = signals::watch_signals(&context.stop).map_err(Into::into).and_then(|()| {
        wrong.map_or(Ok(()), Err)?;
        let program = bench::add_declared_options(program, &words.args);
        let mut program = context.defaults.apply_to(program);
        let matches = program
            .try_get_matches_from_mut(&words.args)
            .map_err(|error| exit::explain_usage(error, &words.args))?;
        for note in repeated::repeated_flags(&program, &words.args) {
            context.print_note(&note);
        }
        run_command(&matches, &context)
    });
    let told = result.as_ref().err().and_then(|error| error.downcast_ref::<RestoreError>());
    let told = told.map(|left| left.path.clone());
    let exit = exit::report_result(result, &context);
    let left = sandbox::report_left_changes(told.as_deref(), &context);
    (if left && exit == CommandOutcome::Done { CommandOutcome::Failed } else { exit }).into()
}

/// Does what a program of another name does, if sweat is called so; first takes the secrets of all of them out of the list of
/// processes.
fn run_other_program(args: &[OsString]) -> Option<ExitCode> {
    let (tpcc_call, ab_call) = (ProgramCall::from_args(args), ab::own_call(args));
    let mut secrets = tpcc_call.as_ref().map(ProgramCall::password_places).unwrap_or_default();
    secrets.extend(ycsb::password_places(args));
    secrets.extend(ab_call.iter().flat_map(ab::secret_places));
    argv::wipe_passwords(&secrets);
    let exit = tpcc_call.map(|call| call.run());
    let exit = exit.or_else(|| ab_call.map(|call| ab::run_program(&call)));
    let exit = exit.or_else(|| http_load::own_call(args).map(|call| http_load::run_program(&call)));
    let exit = exit.or_else(|| sysbench::own_words(args).map(sysbench::run_program));
    exit.or_else(|| slap::own_words(args).map(|called| slap::run_program(&called)))
}

/// The words of a program whose work a command of sweat's does, as that command's own; any others as they are.
///
/// # Errors
/// How it ends, if all was said.
fn translate_call(args: Vec<OsString>) -> Result<Vec<OsString>, CommandOutcome> {
    let translated = COMMANDS.iter().find_map(|(name, _, run)| match run {
        Translated(translate) => translate(&args).map(|call| (name, call)),
        Own(_) => None,
    });
    match translated {
        Some((name, call)) => call.take_words(name),
        None => Ok(args),
    }
}

/// Names of all commands, for the test that the documentation mentions each.
pub fn command_names() -> Vec<&'static str> {
    COMMANDS.iter().map(|(name, ..)| *name).collect()
}

/// The whole command line.
fn root_command() -> Command {
    let commands = COMMANDS.iter().map(|(_, command, _)| with_help(command()));
    bare_program().subcommands(commands)
}

/// The command line with the words of the command that is called, and no more than the names of the others: the words of all
/// take 30 ms and 10 MiB.
fn called_command(args: &[OsString]) -> Command {
    let named = |name: &str| args.get(1).is_some_and(|word| word == name);
    if !COMMANDS.iter().any(|(name, ..)| named(name)) {
        return root_command();
    }
    let commands = COMMANDS.iter().map(|(name, command, _)| match named(name) {
        true => with_help(command()),
        false => Command::new(*name),
    });
    bare_program().subcommands(commands)
}

fn bare_program() -> Command {
    Command::new("sweat")
        .version(VERSION)
        .about("Load tester, warmer and replayer for MySQL and MariaDB")
        .override_usage("sweat COMMAND [OPTIONS]")
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .infer_long_args(true)
        .arg(help_flag())
}

/// The whole command line, with all that clap adds to it.
fn built_program() -> Command {
    let mut program = root_command();
    program.build();
    program
}

/// Gives a command and those below it what all have: our flag for help, and examples.
fn with_help(command: Command) -> Command {
    let has_one = command.get_arguments().any(|arg| arg.get_id() == "help");
    // As in every mysql client, of a flag given twice the last one stands; `repeated` tells it.
    let command = command
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .infer_long_args(true)
        .args_override_self(true);
    let command = if has_one { command } else { command.arg(help_flag()) };
    let (name, help) = (command.get_name().to_owned(), command.get_after_help().cloned());
    let help = help.map(|text| text.to_string()).unwrap_or_default();
    command.mut_subcommands(|sub| {
        if sub.get_after_help().is_some() {
            return with_help(sub);
        }
        let examples = examples_of(&help, &format!("sweat {name} {}", sub.get_name()));
        with_help(sub.after_help(examples))
    })
}

/// The examples of the command above that begin with these words; the words themselves if there is none.
fn examples_of(help: &str, words: &str) -> String {
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with(words));
    let found: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    let found = if found.is_empty() { vec![format!("  {words}")] } else { found };
    format!("Examples:\n{}", found.join("\n"))
}

/// Whether the word after a flag of a command that runs loads is its value: `-u bob`, but not `--user=bob`.
fn takes_value(program: &Command, flag: &str) -> bool {
    let name = flag.trim_start_matches('-');
    let takes = |command: &Command| {
        command.get_arguments().any(|arg| {
            let named = arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
                || arg.get_short().is_some_and(|c| name == c.to_string());
            named && arg.get_action().takes_values() && !arg.is_require_equals_set()
        })
    };
    let is_load = |command: &&Command| bench::COMMANDS.contains(&command.get_name());
    let loads = program.get_subcommands().filter(is_load);
    loads.into_iter().any(|load| takes(load) || load.get_subcommands().any(takes))
}

/// `-h` is the host, as in every mysql client, so help is `--help` and `-?`.
fn help_flag() -> Arg {
    Arg::new("help").short('?').long("help").action(ArgAction::Help).help("Print help")
}

fn run_command(matches: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (name, args) = matches.subcommand().expect("clap asks for a command");
    let (.., run) = COMMANDS
        .iter()
        .find(|(known, ..)| *known == name)
        .expect("clap knows only the commands in the list");
    let Own(run) = run else { anyhow::bail!("`{name}` has to be the first word") };
    check::check_args(args)?;
    // A completion is asked for at every TAB: it looks, and leaves all as it is.
    if name != completion::NAME {
        sandbox::clean_up_killed(name, context);
    }
    run(args, context)
}

#[cfg(test)]
mod tests;
