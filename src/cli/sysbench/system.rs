//! The tests built into sysbench: `cpu`, `memory`, `threads`, `mutex`, `fileio`.

use super::lookup::SYSTEM_TESTS;
use super::option_table::OptionGroup;
use super::reader::{SysbenchWords, WordsError};
use super::settings::CommonSettings;
use super::{FAILED, OK, fail_words, help_text};
use crate::base::Stop;

/// Does what the command says. `values` are options that the name of the test stands for.
pub(super) fn run_system(
    name: &'static str,
    words: &SysbenchWords,
    values: &[(String, String)],
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    let Some(command) = words.command.as_deref() else {
        return fail_words(&WordsError(format!(
            "The '{name}' test requires a command argument. See 'sysbench {name} help'"
        )));
    };
    let options = match words.take_test_options(|group| group == OptionGroup::Test(name)) {
        Ok(options) => options,
        Err(error) => return fail_words(&error),
    };
    let has_data = SYSTEM_TESTS.iter().any(|(test, has_data)| *test == name && *has_data);
    match command {
        "help" => {
            settings.console.print_notice(&help_text::test_help(name, settings.style));
            return OK;
        }
        "run" => {}
        "prepare" | "cleanup" if has_data => {}
        "prepare" | "cleanup" => {
            return fail_words(&WordsError(format!(
                "'{name}' test does not implement the '{command}' command."
            )));
        }
        _ => return fail_words(&WordsError(format!("Unknown command: {command}"))),
    }
    let _ = (values, stop, options);
    settings.console.print_fatal(&format!("the test '{name}' is not part of this build"));
    FAILED
}
