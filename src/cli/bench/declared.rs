//! Options that a script declares: the words are looked at once for the script, then read by clap with its options.

use std::ffi::OsString;

use clap::Command;

use super::args::COMMANDS;
use super::flags::add_workload_flags;
use crate::plan::OptionSpec;
use crate::workload::{KINDS, WorkloadKind};

/// Gives the workload that the words name, with its name in front, the options that it has only because of other words. A
/// script that can't be read adds none: that is told when the options are checked.
pub(in super::super) fn add_declared_options(program: Command, args: &[OsString]) -> Command {
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    let [_, command, workload, rest @ ..] = &words[..] else { return program };
    let Some(kind) = KINDS.iter().find(|kind| kind.name() == workload.as_ref()) else {
        return program;
    };
    if !COMMANDS.contains(&command.as_ref()) {
        return program;
    }
    let declared = declared_options(*kind, rest);
    if declared.is_empty() {
        return program;
    }
    program.mut_subcommand(command.as_ref(), |command| {
        command.mut_subcommand(kind.name(), |command| {
            let known: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
            let is_new = |spec: &OptionSpec| !known.contains(&spec.name.replace('_', "-").as_str());
            let added: Vec<_> = declared.iter().filter(|spec| is_new(spec)).cloned().collect();
            add_workload_flags(command, &added)
        })
    })
}

/// Gives a value that is set by `--set NAME=VALUE` its own flag, where NAME is an option that a file declares. Others are
/// settings of a throw-away server.
pub(in super::super) fn name_set_words(args: &mut Vec<OsString>) {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [_, command, workload, rest @ ..] = &words[..] else { return };
    let Some(kind) = KINDS.iter().find(|kind| kind.name() == workload) else { return };
    if !COMMANDS.contains(&command.as_str()) {
        return;
    }
    let declared = declared_options(*kind, rest);
    let is_declared = |pair: &str| {
        let name = pair.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| declared.iter().any(|spec| spec.name == name))
    };
    let flag_of = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        OsString::from(format!("--{}={value}", name.replace('_', "-")))
    };
    let mut at = 0;
    while at < args.len() {
        let word = args[at].to_string_lossy().into_owned();
        let next = args.get(at + 1).map(|next| next.to_string_lossy().into_owned());
        if let Some(pair) = word.strip_prefix("--set=").filter(|pair| is_declared(pair)) {
            args[at] = flag_of(pair);
        } else if let Some(pair) = next.filter(|next| word == "--set" && is_declared(next)) {
            args[at] = flag_of(&pair);
            args.remove(at + 1);
        }
        at += 1;
    }
}

/// The options of a kind that it has only because of these words.
fn declared_options(kind: &dyn WorkloadKind, words: &[impl AsRef<str>]) -> Vec<OptionSpec> {
    let own = kind.option_specs();
    let all = kind.option_specs_for(&typed_options(&own, words)).unwrap_or_default();
    all.into_iter().filter(|spec| own.iter().all(|known| known.name != spec.name)).collect()
}

/// Those of the options that stand among the words: `--name=value`, or the value in the next word.
fn typed_options(specs: &[OptionSpec], words: &[impl AsRef<str>]) -> Vec<(String, String)> {
    let mut given = Vec::new();
    let mut words = words.iter().map(AsRef::as_ref).peekable();
    while let Some(word) = words.next().filter(|word| *word != "--") {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let (name, value) = flag.split_once('=').map_or((flag, None), |(n, v)| (n, Some(v)));
        let Some(spec) = specs.iter().find(|spec| spec.name.replace('_', "-") == name) else {
            continue;
        };
        let value = value.or_else(|| words.next_if(|next| !next.starts_with('-')));
        given.push((spec.name.clone(), value.unwrap_or_default().to_owned()));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Mistake, OptionKind, Options};
    use crate::workload::{Endpoint, Workload, check_options};

    /// A kind whose script, here the text itself, names the options that it takes.
    struct ScriptKind;

    impl WorkloadKind for ScriptKind {
        fn name(&self) -> &'static str {
            "script"
        }
        fn help_line(&self) -> &'static str {
            "runs a script"
        }
        fn option_specs(&self) -> Vec<OptionSpec> {
            vec![OptionSpec::new("script", OptionKind::Text, "", "the script")]
        }
        fn option_specs_for(&self, given: &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake> {
            let names = given.iter().flat_map(|(_, script)| script.split(','));
            let declared = names.map(|name| OptionSpec::new(name, OptionKind::Count, "7", ""));
            Ok(self.option_specs().into_iter().chain(declared).collect())
        }
        fn build_workload(
            &self,
            _: &Options,
            _: Endpoint<'_>,
        ) -> anyhow::Result<Box<dyn Workload>> {
            anyhow::bail!("it is only asked for options")
        }
    }

    #[test]
    fn a_value_of_a_file_is_set_by_its_name() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let auth = concat!("--file=", env!("CARGO_MANIFEST_DIR"), "/docs/mix/auth.toml");
        let mut args =
            words(&format!("sweat bench mix {auth} --set rows=9 --set=rows=8 --set a=1"));
        name_set_words(&mut args);
        let expected = words(&format!("sweat bench mix {auth} --rows=9 --rows=8 --set a=1"));
        assert_eq!(args, expected);
        let mut other = words("sweat bench null --set rows=9");
        name_set_words(&mut other);
        assert_eq!(other, words("sweat bench null --set rows=9"));
    }

    #[test]
    fn a_script_declares_options_of_its_own() {
        for words in [&["run", "--script=a,b"][..], &["--script", "a,b", "--", "--script=c"]] {
            let declared = declared_options(&ScriptKind, words);
            let names: Vec<_> = declared.iter().map(|spec| spec.name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
        }
        assert!(declared_options(&ScriptKind, &["--other=a"]).is_empty());
        let given = [("script", "size"), ("size", "1k")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(check_options(&ScriptKind, &given).unwrap().count("size"), 1_000);
        assert_eq!(check_options(&ScriptKind, &given[..1]).unwrap().count("size"), 7);
        assert!(check_options(&ScriptKind, &given[1..]).is_err());
    }
}
