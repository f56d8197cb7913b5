//! Help of the program and of each test.

use super::option_table::{ArgKind, OptionGroup, OptionSource, SysbenchOption, all_options};
use super::script_options::ONE_SCRIPT_ONLY;
use crate::report::sysbench::SysbenchStyle;

/// `--help`. What is newer than 1.0, or ours, is listed for the style 1.1 only.
pub(super) fn program_help(style: SysbenchStyle) -> String {
    let list = |group| option_lines(&group_options(style, |other| other == group));
    format!(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n\
         General options:\n{}\n\
         Pseudo-Random Numbers Generator options:\n{}\n\
         Log options:\n{}\n{}\n\
         General database options:\n\n{}\n\n\
         Compiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n\
         mysql options:\n{}\n\
         pgsql options:\n{}\n\
         Compiled-in tests:\n  \
         fileio - File I/O test\n  \
         cpu - CPU performance test\n  \
         memory - Memory functions speed test\n  \
         threads - Threads subsystem performance test\n  \
         mutex - Mutex performance test\n\n\
         See 'sysbench <testname> help' for a list of options for each test.\n\n",
        list(OptionGroup::General),
        list(OptionGroup::Random),
        list(OptionGroup::Log),
        list(OptionGroup::Latency),
        list(OptionGroup::Database),
        list(OptionGroup::Mysql),
        list(OptionGroup::Pgsql),
    )
}

/// The options of a test built into sysbench.
pub(super) fn test_help(test: &'static str, style: SysbenchStyle) -> String {
    let options = group_options(style, |group| group == OptionGroup::Test(test));
    format!("{test} options:\n{}\n", option_lines(&options))
}

/// The options of one of the OLTP scripts.
pub(super) fn oltp_help(name: &str, style: SysbenchStyle) -> String {
    let mut options = group_options(style, |group| group == OptionGroup::Oltp);
    options.retain(|option| {
        let owner = ONE_SCRIPT_ONLY.iter().find(|(own, _)| *own == option.name);
        owner.is_none_or(|(_, script)| *script == name)
    });
    format!("{name} options:\n{}\n", option_lines(&options))
}

fn group_options(
    style: SysbenchStyle,
    wanted: impl Fn(OptionGroup) -> bool,
) -> Vec<&'static SysbenchOption> {
    let is_shown = |option: &&SysbenchOption| {
        wanted(option.group)
            && (option.source == OptionSource::V1_0 || style == SysbenchStyle::V1_1)
    };
    all_options().filter(is_shown).collect()
}

/// The options that a script declares.
#[cfg(feature = "lua")]
pub(super) fn script_help(name: &str, options: &[crate::workload::lua::ScriptOption]) -> String {
    use crate::workload::lua::ScriptOptionType;
    let row = |option: &crate::workload::lua::ScriptOption| {
        let kind = match option.kind {
            ScriptOptionType::Bool => ArgKind::Bool,
            ScriptOptionType::Int | ScriptOptionType::Double => ArgKind::Int,
            ScriptOptionType::Size => ArgKind::Size,
            ScriptOptionType::List => ArgKind::List,
            ScriptOptionType::File => ArgKind::File,
            ScriptOptionType::Text | ScriptOptionType::Null => ArgKind::Text,
        };
        let help = option.description.clone();
        (flag_words(&option.name, kind), help, option.default.clone())
    };
    format!("{name} options:\n{}\n", help_rows(options.iter().map(row).collect()))
}

/// A line for each option, their texts below each other.
fn option_lines(options: &[&SysbenchOption]) -> String {
    let row = |option: &&SysbenchOption| {
        let words = flag_words(option.name, option.kind);
        (words, option.help.to_owned(), option.default.map(str::to_owned))
    };
    help_rows(options.iter().map(row).collect())
}

/// Words, help and default of options in columns.
fn help_rows(rows: Vec<(String, String, Option<String>)>) -> String {
    let width = rows.iter().map(|(words, ..)| words.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (words, help, default) in rows {
        let default = default.map_or_else(String::new, |value| format!(" [{value}]"));
        text += &format!("  {words:<width$} {help}{default}\n");
    }
    text
}

fn flag_words(name: &str, kind: ArgKind) -> String {
    let value = match kind {
        ArgKind::Bool => "[=on|off]",
        ArgKind::Int | ArgKind::IntOrMore | ArgKind::SizeNumber | ArgKind::Double => "=N",
        ArgKind::Size => "=SIZE",
        ArgKind::Text => "=STRING",
        ArgKind::List => "=[LIST,...]",
        ArgKind::File => "=FILENAME",
    };
    format!("--{name}{value}")
}
