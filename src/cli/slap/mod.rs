//! `sweat slap`, and sweat called `mysqlslap` or `mariadb-slap`: the command line of both programs, their texts and exit codes,
//! and what they never had. Its words are not clap's.
//! To add an option: its line in `option_table`, what it means in `settings`.

mod connect_text;
mod help_text;
mod option_table;
mod printer;
mod reader;
mod settings;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Command};

use super::arguments::{given_words, words_command};
use super::argv;
use super::context::CliContext;
use super::exit::CommandOutcome;
use crate::base::{Stop, StopReason};
use crate::client::Target;
use crate::experiment::{
    RunOrigin, SlapArchive, SlapFailure, SlapObserver, run_archived_slap, run_slap,
};
use crate::plan::RefusedError;
use printer::SlapPrinter;
use reader::SlapWords;
use settings::{SettingsError, SlapSettings};

/// The command, and the names by which the program is called in its place.
const NAME: &str = "slap";
const CALLED: [&str; 2] = ["mysqlslap", "mariadb-slap"];
/// Exit codes beside those of all commands.
const OK: u8 = 0;
const FAILED: u8 = 1;

/// How the program was called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlapCall {
    /// What messages begin with.
    program: String,
    words: Vec<String>,
    /// The whole line, for a page; without passwords.
    line: String,
}

pub(super) fn command() -> Command {
    words_command(NAME, "Run mysqlslap's command line on sweat's engines")
        .override_usage("sweat slap [OPTIONS]")
        .after_help(
            "Examples:\n  \
             sweat slap -a -c 1,8,64 --number-of-queries=1000 -S /run/mysqld/mysqld.sock\n  \
             sweat slap -q queries.sql --create-schema=shop -c 8 -i 3 -v\n  \
             sweat slap -q 'select 1' --create-schema=shop --rate=500 --time=30s\n  \
             sweat slap -q queries.sql --create-schema=shop -c 8 --runs-dir=runs",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let words = given_words(args);
    let call = SlapCall { program: NAME.to_owned(), words, line: context.command_line.clone() };
    Ok(match run_call(&call, &context.stop) {
        OK => CommandOutcome::Done,
        _ => CommandOutcome::Failed,
    })
}

/// How the program was called if it is to be mysqlslap: by one of its names, or with our word for it.
pub(super) fn own_words(args: &[OsString]) -> Option<SlapCall> {
    let name = |word: &OsString| Path::new(word).file_name()?.to_str().map(str::to_owned);
    let (program, words) = match args {
        [program, rest @ ..] if name(program).is_some_and(|name| CALLED.contains(&&*name)) => {
            (program.to_string_lossy().into_owned(), rest)
        }
        [_, first, rest @ ..] if *first == *NAME => ("sweat slap".to_owned(), rest),
        _ => return None,
    };
    let words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = argv::parse_command_line(args.to_vec()).typed;
    let line = match program.starts_with("sweat") {
        true => line,
        false => line.replacen("sweat", &program, 1),
    };
    Some(SlapCall { program, words, line })
}

/// Runs the program as mysqlslap.
pub(super) fn run_program(call: &SlapCall) -> ExitCode {
    let stop = Stop::new();
    if let Err(error) = super::signals::watch_signals(&stop) {
        print_complaint(&format!("{}: {error}", call.program));
        return ExitCode::from(FAILED);
    }
    ExitCode::from(run_call(call, &stop))
}

/// All flags, for the test that the documentation names no other.
#[cfg(test)]
pub(super) fn flag_names() -> impl Iterator<Item = String> {
    let names = option_table::OPTIONS.iter().map(|option| option.name);
    names.chain(option_table::FILE_OPTIONS.iter().copied()).map(|name| format!("--{name}"))
}

fn print_complaint(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Does what the words say; gives the exit code.
fn run_call(call: &SlapCall, stop: &Stop) -> u8 {
    let program = call.program.as_str();
    let words = match SlapWords::from_args(&call.words, program) {
        Ok(words) => words,
        Err(error) => {
            print_complaint(&error.text);
            return error.code;
        }
    };
    words.complaints.iter().for_each(|complaint| print_complaint(complaint));
    if let Some(words) = &words.printed {
        printer::print_now(&format!(
            "{program} would have been started with the following arguments:\n{words}\n"
        ));
        return OK;
    }
    if words.is_on("help") {
        printer::print_now(&help_text::program_help());
        return OK;
    }
    if words.is_on("version") {
        printer::print_now(&help_text::version_line(program));
        return OK;
    }
    let settings = match SlapSettings::from_words(&words, program, stop) {
        Ok(settings) => settings,
        Err(SettingsError { text, code, is_signed }) => {
            print_complaint(&if is_signed { format!("{program}: {text}") } else { text });
            return code;
        }
    };
    run_settings(settings, call, stop)
}

fn run_settings(settings: SlapSettings, call: &SlapCall, stop: &Stop) -> u8 {
    let program = call.program.as_str();
    let target = match settings.address.as_ref().map(Target::new).transpose() {
        Ok(target) => target,
        Err(error) => {
            print_complaint(&format!("{program}: Error when connecting to server: {error}"));
            return FAILED;
        }
    };
    let SlapSettings { plan, output, kept, .. } = settings;
    let is_classic = plan.is_classic;
    let printer = Arc::new(SlapPrinter::new(output, program));
    printer.print_start(&plan);
    let observer: SlapObserver = {
        let printer = printer.clone();
        Arc::new(move |event| printer.print_event(event))
    };
    let ran = match (target.as_ref(), kept) {
        (Some(target), Some((runs_dir, name))) => {
            let origin = RunOrigin {
                command: NAME.into(),
                command_line: Some(call.line.clone()),
                ..RunOrigin::default()
            };
            let archive = SlapArchive { runs_dir, name, origin };
            run_archived_slap(&plan, target, archive, &observer, stop).and_then(|finished| {
                let dir = finished.dir.display();
                print_complaint(&format!("{program}: kept in {dir}; sweat report {dir} shows it"));
                finished.error.map_or(Ok(()), Err)
            })
        }
        (target, _) => run_slap(&plan, target, &observer, stop),
    };
    let code = match &ran {
        Ok(()) if stop.reason() == Some(StopReason::Interrupted) => {
            CommandOutcome::Interrupted.exit_code()
        }
        Ok(()) if printer.has_errors() && !is_classic => CommandOutcome::Failed.exit_code(),
        Ok(()) => OK,
        Err(error) => {
            print_complaint(&format!("{program}: {}", failure_text(error, target.as_ref())));
            failure_code(error)
        }
    };
    printer.print_end(&call.line);
    code
}

fn failure_text(error: &anyhow::Error, target: Option<&Target>) -> String {
    match error.downcast_ref::<SlapFailure>() {
        Some(SlapFailure::Connect(error)) => {
            let why = connect_text::connect_error_text(target, error);
            format!("Error when connecting to server: {why}")
        }
        _ => format!("{error:#}"),
    }
}

fn failure_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<SlapFailure>() {
        // As MariaDB's program, which is the only one that ends at an error of the load.
        Some(SlapFailure::Load(_)) => OK,
        None if error.is::<RefusedError>() => CommandOutcome::Usage.exit_code(),
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_answers_to_three_names() {
        let call = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            own_words(&args).map(|call| (call.program, call.words.len(), call.line))
        };
        let text =
            |program: &str, words, line: &str| Some((program.to_owned(), words, line.to_owned()));
        assert_eq!(
            call("/bin/mysqlslap -a -phush"),
            text("/bin/mysqlslap", 2, "/bin/mysqlslap -a -p")
        );
        assert_eq!(call("mariadb-slap"), text("mariadb-slap", 0, "mariadb-slap"));
        assert_eq!(call("sweat slap -a"), text("sweat slap", 1, "sweat slap -a"));
        assert_eq!(call("sweat bench null"), None);
    }
}
