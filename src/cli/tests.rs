//! The command line as a whole.

use super::*;

fn commands(command: &Command, path: &str, see: &mut dyn FnMut(&str, &Command)) {
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        see(&path, sub);
        commands(sub, &path, see);
    }
}

#[test]
fn clap_finds_no_contradiction() {
    root_command().debug_assert();
}

#[test]
fn commands_have_the_names_in_the_list() {
    for (name, command, _) in COMMANDS {
        assert_eq!(command().get_name(), *name);
    }
}

#[test]
fn the_words_of_a_call_are_those_of_the_whole_command_line() {
    let call = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    for words in [&["sweat", "bench", "null", "--threads=2"][..], &["sweat", "nosuch"], &["sweat"]]
    {
        let read = |program: Command| match program.try_get_matches_from(call(words)) {
            Ok(matches) => format!("{:?}", matches.subcommand_name()),
            Err(error) => format!("{:?} {error}", error.kind()),
        };
        assert_eq!(read(called_command(&call(words))), read(root_command()), "{words:?}");
    }
}

#[test]
fn every_help_ends_with_examples() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut program = root_command();
    program.build();
    commands(&program, "sweat", &mut |path, command| {
        seen += 1;
        let words: Vec<&str> = path.split(' ').skip(1).collect();
        let help = help::help_text(&words, command, help::HelpExtent::All);
        let Some((_, examples)) = help.split_once("\nExamples:\n") else {
            wrong.push(format!("{path} --help has no examples"));
            return;
        };
        if !examples.lines().any(|line| line.trim_start().starts_with(path)) {
            wrong.push(format!("no example under {path} --help begins with `{path}`"));
        }
    });
    assert!(seen >= 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Flags of other programs that the documentation names.
const FOREIGN: &[&str] = &[
    "--log-short-format",
    "--release",
    "--help",
    "--man",
    "--version",
    "--print-defaults",
    "--twice",
    "--rm",
];
/// Flags that are taken away before clap reads the words.
const TAKEN: &[&str] = &["--mysql-password", "--skip-password"];

#[test]
fn every_flag_in_the_documentation_exists() {
    let mut known: Vec<String> =
        FOREIGN.iter().chain(TAKEN).map(|flag| (*flag).to_owned()).collect();
    known.extend(sysbench::flag_names());
    known.extend(slap::flag_names());
    let mut program = root_command();
    program.build();
    let mut take = |command: &Command| {
        for arg in command.get_arguments() {
            let names = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
            known.extend(names.map(|name| format!("--{name}")));
        }
    };
    commands(&program, "sweat", &mut |_, command| take(command));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    pages.extend(std::fs::read_dir(root.join("docs")).unwrap().map(|e| e.unwrap().path()));
    // A page about flags that do not exist here.
    pages.retain(|page| !page.ends_with("coming-from.md"));
    let mut wrong = Vec::new();
    let mut seen = 0;
    let explanations = crate::analysis::caveat_explanations().iter();
    let explained: String =
        explanations.map(|one| format!("{} {}\n", one.reason, one.remedy)).collect();
    let pages = pages.iter().filter(|p| p.extension().is_some_and(|e| e == "md"));
    let pages = pages.map(|page| (page.as_path(), std::fs::read_to_string(page)));
    let explained = (std::path::Path::new("sweat explain"), Ok(explained));
    for (page, text) in pages.chain([explained]) {
        let text = text.unwrap_or_default();
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let flag = word.trim_end_matches('-');
            if !flag.starts_with("--") || flag.len() < 4 {
                continue;
            }
            seen += 1;
            if !known.iter().any(|name| name == flag) {
                wrong.push(format!("{}: {flag}", page.display()));
            }
        }
    }
    assert!(seen > 20, "the documentation was not found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
