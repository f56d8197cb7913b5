//! Words typed: flags, option files, the live terminal, exit codes. The only room that knows clap.
//! Never knows: arithmetic.
//! Start reading at `COMMANDS`. To add a command: a file here with `command` (its words) and `run` (what it does),
//! and its line in `COMMANDS`. A command reads its words into a plan and lets the rooms below do the work.

mod argv;
mod completion;
mod connection;
mod desk;
mod fault;
mod login_path;
mod option_file;
mod progress;
mod prompt;
mod report;
mod signals;
mod warm;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

use desk::Desk;
use fault::Exit;

/// All commands, in the order of `sweat --help`: their words, and what they do.
const COMMANDS: &[Entry] = &[
    (warm::command, warm::run),
    (report::command, report::run),
    (completion::command, completion::run),
];

/// A command: its words for clap, and its deed.
type Entry = (fn() -> Command, fn(&ArgMatches, &Desk) -> anyhow::Result<Exit>);

/// Runs the program.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let words = argv::read(args.collect());
    argv::wipe();
    let desk = Desk::open(words.password);
    let result = signals::watch(&desk.stop).map_err(Into::into).and_then(|()| {
        let matches = program().try_get_matches_from(words.args)?;
        dispatch(&matches, &desk)
    });
    fault::settle(result, &desk).into()
}

/// The whole command line.
fn program() -> Command {
    let mut program = Command::new("sweat")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Brings a MySQL or MariaDB server to temperature, and measures it honestly")
        .disable_help_flag(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .infer_long_args(true)
        .max_term_width(100)
        .arg(help_flag());
    for (command, _) in COMMANDS {
        program = program
            .subcommand(command().disable_help_flag(true).infer_long_args(true).arg(help_flag()));
    }
    program
}

/// `-h` is the host, as in every mysql client, so help is `--help` and `-?`.
fn help_flag() -> Arg {
    Arg::new("help").short('?').long("help").action(ArgAction::Help).help("Print help")
}

fn dispatch(matches: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let (name, args) = matches.subcommand().expect("clap asks for a command");
    let (_, run) = COMMANDS
        .iter()
        .find(|(command, _)| command().get_name() == name)
        .expect("clap knows only the commands in the list");
    run(args, desk)
}

#[cfg(test)]
mod tests;
