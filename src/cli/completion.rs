//! `sweat completion`: a small script for a shell, which asks sweat itself what could be typed.
//! So completions never lag behind the program, and know the names of runs and sandboxes.

use std::path::Path;

use clap::{Arg, ArgMatches, Command};

use super::arguments::positional_arg;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::help::named_command;
use super::run_names::LATEST;
use crate::archive;
use crate::plan::DEFAULT_RUNS_DIR;
use crate::server::sandbox;

/// The command.
pub(super) const NAME: &str = "completion";
/// Shells, and what they are told to do on a TAB.
const SHELLS: &[(&str, &str)] = &[
    (
        "bash",
        r#"_sweat() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  [[ $word == = ]] && word=
  local found=$(sweat completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$found" -- "$word"))
}
complete -o default -F _sweat sweat
"#,
    ),
    (
        "zsh",
        r#"#compdef sweat
_sweat() {
  local -a found
  found=("${(@f)$(sweat completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n $found ]] && compadd -- $found || _files
}
compdef _sweat sweat
"#,
    ),
    (
        "fish",
        r#"function __sweat
    set -l found (sweat completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
    test -n "$found"; and printf '%s\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c sweat -f -a '(__sweat)'
"#,
    ),
];
/// Arguments that name runs.
const RUN_ARGS: &[&str] = &["run", "base"];

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Print completions for a shell")
        .args([
            positional_arg("shell", "SHELL")
                .required(true)
                .value_parser(SHELLS.iter().map(|(name, _)| *name).collect::<Vec<_>>())
                .help("Which shell"),
            positional_arg("words", "WORD")
                .last(true)
                .num_args(0..)
                .hide(true)
                .help("What is typed so far: print what may follow"),
        ])
        .after_help(
            "Examples:\n  \
             sweat completion bash > /etc/bash_completion.d/sweat\n  \
             sweat completion zsh > ~/.zfunc/_sweat\n  \
             sweat completion fish > ~/.config/fish/completions/sweat.fish",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    if let Some(words) = args.get_many::<String>("words") {
        let words: Vec<&str> = words.map(String::as_str).collect();
        let found: String = candidates(&words).iter().map(|word| format!("{word}\n")).collect();
        context.print_output(&found)?;
        return Ok(CommandOutcome::Done);
    }
    let shell = args.get_one::<String>("shell").expect("clap asks for it");
    let (_, script) = SHELLS.iter().find(|(name, _)| name == shell).expect("clap knows them all");
    context.print_output(script)?;
    Ok(CommandOutcome::Done)
}

/// What may stand where the last of these words does; nothing where files may.
fn candidates(words: &[&str]) -> Vec<String> {
    let Some((typed, before)) = words.split_last() else { return Vec::new() };
    let program = super::built_program();
    // `help` takes the names of all others.
    let names = before.strip_prefix(&["help"]).unwrap_or(before);
    let (path, command) = named_command(&program, names);
    // Bash hands `--flag=va` over as three words, other shells as one.
    let (flag, prefix, typed) = match (before, typed.split_once('=')) {
        ([.., flag, "="], _) => (Some(*flag), "", *typed),
        ([.., flag], _) if *typed == "=" => (Some(*flag), "", ""),
        (_, Some((flag, value))) if flag.starts_with("--") => (Some(flag), flag, value),
        ([.., flag], None) if flag.starts_with('-') => (Some(*flag), "", *typed),
        _ => (None, "", *typed),
    };
    let found = match flag.and_then(|flag| find_flag(command, flag)) {
        Some(arg) if arg.get_action().takes_values() => argument_values(arg, &path, before),
        _ if typed.starts_with('-') => flag_names(command),
        _ => {
            let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            let positional = command.get_positionals().next();
            let values = positional.map(|arg| argument_values(arg, &path, before));
            let names = subcommands.map(|sub| sub.get_name().to_owned());
            names.chain(values.unwrap_or_default()).collect()
        }
    };
    let found = found.into_iter().filter(|word| word.starts_with(typed));
    match prefix {
        "" => found.collect(),
        prefix => found.map(|word| format!("{prefix}={word}")).collect(),
    }
}

fn find_flag<'c>(command: &'c Command, flag: &str) -> Option<&'c Arg> {
    let name = flag.trim_start_matches('-');
    command.get_arguments().find(|arg| {
        arg.get_long().is_some_and(|long| long == name)
            || arg.get_short().is_some_and(|short| flag == format!("-{short}"))
    })
}

fn flag_names(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect()
}

/// What may be said for an argument, as far as it is known.
fn argument_values(arg: &Arg, path: &[&str], before: &[&str]) -> Vec<String> {
    let name = arg.get_id().as_str();
    if RUN_ARGS.contains(&name) {
        return run_names(before);
    }
    if path.first() == Some(&"sandbox") && name == "name" {
        return sandbox_names();
    }
    let values = arg.get_possible_values();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

/// `latest`, and the runs below the runs folder.
fn run_names(before: &[&str]) -> Vec<String> {
    let joined = before.iter().find_map(|word| word.strip_prefix("--runs-dir="));
    let at = before.iter().position(|word| *word == "--runs-dir");
    let mut after = at.into_iter().flat_map(|at| &before[at + 1..]);
    let apart = after.find(|word| **word != "=").copied();
    let dir = Path::new(joined.or(apart).unwrap_or(DEFAULT_RUNS_DIR));
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| archive::is_run_folder(&entry.path()));
    let mut names: Vec<String> =
        runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.insert(0, LATEST.to_owned());
    names
}

fn sandbox_names() -> Vec<String> {
    let home = sandbox::HomeFolders::find().ok();
    let all = home.map(|home| sandbox::list_sandboxes(&home)).unwrap_or_default();
    all.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> String {
        candidates(&line.split(' ').collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn commands_workloads_flags_and_values_are_completed() {
        assert_eq!(found("rep"), "replay report");
        assert_eq!(found("bench oltp_read_o"), "oltp_read_only");
        assert_eq!(found("bench null --thr"), "--threads");
        assert_eq!(found("bench null --progress j"), "json");
        assert_eq!(found("bench null --progress = j"), "json");
        assert_eq!(found("bench null --progress=j"), "--progress=json");
        assert_eq!(found("bench oltp_read_write pre"), "prepare");
        assert_eq!(found("help sand"), "sandbox");
        assert_eq!(found("completion f"), "fish");
        assert_eq!(found("bench queries --file x"), "", "the shell knows files");
    }

    #[test]
    fn runs_are_completed_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["2026-01-01T00-00-00Z_a", "2026-02-01T00-00-00Z_b", "other"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["2026-01-01T00-00-00Z_a", "2026-02-01T00-00-00Z_b"] {
            std::fs::write(dir.path().join(name).join("meta.json"), "{}").unwrap();
        }
        let place = dir.path().display();
        let all = "latest 2026-02-01T00-00-00Z_b 2026-01-01T00-00-00Z_a";
        assert_eq!(found(&format!("report --runs-dir {place} ")), all);
        assert_eq!(found(&format!("compare latest --runs-dir={place} --base ")), all);
        assert_eq!(found(&format!("report --runs-dir={place} la")), "latest");
    }

    #[test]
    fn the_scripts_are_small() {
        assert!(SHELLS.iter().all(|(_, script)| script.len() < 500));
    }
}
