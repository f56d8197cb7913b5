//! `sweat sysbench`, and sweat called `sysbench`: sysbench's command line, its texts and its exit codes.
//! Its words are not clap's: options stand anywhere, `_` is `-`, and many are known only when the test is.
//! To add an option: its line in `option_table`.

mod console;
mod help_text;
mod legacy;
mod load;
mod lookup;
mod native;
#[cfg(not(feature = "lua"))]
mod no_script;
mod option_table;
mod printer;
mod reader;
#[cfg(feature = "lua")]
mod script;
mod script_options;
mod server;
mod settings;
mod signals;
mod system;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use super::arguments::{given_words, words_command};
use super::context::CliContext;
use super::exit::CommandOutcome;
use crate::base::Stop;
use crate::report::sysbench::{VERSION, banner_text};
use console::{print_complaint, print_now};
use legacy::LegacyTest;
use lookup::Benchmark;
use native::NativeTest;
#[cfg(not(feature = "lua"))]
use no_script as script;
use option_table::OptionGroup;
use reader::{SysbenchWords, WordsError};
use settings::{CommonSettings, DefaultLimits, OutputFormat};

const NAME: &str = "sysbench";
/// Exit codes.
const OK: u8 = 0;
const FAILED: u8 = 1;

pub(super) fn command() -> Command {
    words_command(NAME, "Run sysbench's command line on sweat's engines")
        .override_usage("sweat sysbench [OPTIONS] [TESTNAME] [COMMAND]")
        .after_help(
            "Examples:\n  \
             sweat sysbench oltp_read_write --mysql-db=sbtest --tables=4 prepare\n  \
             sweat sysbench oltp_read_write --mysql-db=sbtest --threads=8 --time=60 run\n  \
             sweat sysbench --test=oltp --oltp-table-size=1000000 --mysql-user=root prepare",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    Ok(match run_words(&given_words(args), &context.stop) {
        OK => CommandOutcome::Done,
        _ => CommandOutcome::Negative,
    })
}

/// The words behind the program's name if the program is to be sysbench: it is called so, or that is its first word.
pub(super) fn own_words(args: &[OsString]) -> Option<&[OsString]> {
    let is_called = |word: &OsString| Path::new(word).file_name().is_some_and(|name| name == NAME);
    match args {
        [program, rest @ ..] if is_called(program) => Some(rest),
        [_, first, rest @ ..] if *first == *NAME => Some(rest),
        _ => None,
    }
}

/// Runs the program as sysbench.
pub(super) fn run_program(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let stop = Stop::new();
    let is_strict = words.iter().any(|word| word.replace('_', "-") == "--strict-compat");
    // Strictly, a signal ends the program at once and without a report.
    if !is_strict {
        let watched = super::signals::watch_signals(&stop).and_then(|()| signals::note_signals());
        if let Err(error) = watched {
            print_complaint(&error.to_string());
            return ExitCode::from(FAILED);
        }
    }
    ExitCode::from(run_words(&words, &stop))
}

/// All flags, for the test that the documentation names no other.
#[cfg(test)]
pub(super) fn flag_names() -> impl Iterator<Item = String> {
    let names = option_table::all_options().map(|option| option.name).chain(["test"]);
    names.map(|name| format!("--{}", name.replace('_', "-")))
}

/// Complains about words; gives the exit code.
fn fail_words(error: &WordsError) -> u8 {
    print_complaint(&error.0);
    FAILED
}

/// Does what the words say; gives the exit code.
fn run_words(words: &[String], stop: &Stop) -> u8 {
    let typed = words;
    let words = match SysbenchWords::from_args(typed) {
        Ok(words) => words,
        Err(error) => return fail_words(&error),
    };
    words.complaints.iter().for_each(|complaint| print_complaint(complaint));
    if words.is_on("help") {
        print_now(&help_text::program_help(words.style()));
        return OK;
    }
    if words.is_on("version") {
        print_now(&format!("sysbench {VERSION}\n"));
        return OK;
    }
    let legacy = legacy::find_legacy(&words);
    let limits = match &legacy {
        Some(test) if test.is_first => DefaultLimits { time_s: 0, events: 10_000 },
        _ => DefaultLimits { time_s: 10, events: 0 },
    };
    let Some(settings) = CommonSettings::from_words(&words, limits) else { return FAILED };
    if settings.format == OutputFormat::Text {
        settings.console.print_notice(&banner_text(settings.style));
    }
    if let Some(test) = legacy {
        return run_legacy(&test, &words, &settings, stop);
    }
    let test = words.test.as_deref();
    let Some(benchmark) = lookup::find_benchmark(test) else {
        let name = test.unwrap_or_default();
        settings.console.print_fatal(&format!(
            "Cannot find benchmark '{name}': no such built-in test, file or module"
        ));
        return FAILED;
    };
    match &benchmark {
        Benchmark::System(name) => system::run_system(name, &words, &[], &settings, stop),
        Benchmark::StandardInput => script::run_input(&words, typed, &settings, stop),
        Benchmark::Native(_, Some(path)) | Benchmark::Script(path)
            if !is_native(&benchmark, &words) =>
        {
            script::run_script(path, &words, typed, &settings, stop)
        }
        Benchmark::Native(name, _) => native::run_native(name, &words, &settings, stop),
        Benchmark::Script(_) => unreachable!("a script without a workload of its name is run"),
    }
}

/// Whether the built-in workload is to run although its script is there.
fn is_native(benchmark: &Benchmark, words: &SysbenchWords) -> bool {
    let has_both = matches!(benchmark, Benchmark::Native(..));
    has_both && (words.is_on("native") || cfg!(not(feature = "lua")))
}

/// A test of 0.4 or 0.5.
fn run_legacy(
    test: &LegacyTest,
    words: &SysbenchWords,
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    if let Benchmark::System(name) = test.benchmark {
        return system::run_system(name, words, &test.values, settings, stop);
    }
    let groups = |group| matches!(group, OptionGroup::Legacy | OptionGroup::Oltp);
    let options = match words.take_test_options(groups) {
        Ok(options) => options,
        Err(error) => return fail_words(&error),
    };
    let (name, given) = test.translate(&options);
    let Some(name) = name else { return FAILED };
    if words.command.is_none() {
        let told = words.test.as_deref().unwrap_or_default();
        return fail_words(&WordsError(format!(
            "The '{told}' test requires a command argument. See 'sysbench {told} help'"
        )));
    }
    NativeTest { name, words, settings, given, stop }.run_command()
}
