//! Flags that were given twice. As in every mysql client the last one stands, so that aliases and scripts can hold defaults;
//! but not silently: a run with other threads than meant looks like a result.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use super::bench;
use super::help::named_command;

/// A line for each flag that was given with several values where one stands.
pub(super) fn repeated_flags(program: &Command, words: &[OsString]) -> Vec<String> {
    let texts: Vec<String> =
        words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let own = texts.iter().position(|word| word == "--").unwrap_or(texts.len());
    let words: Vec<&str> = texts[..own].iter().map(String::as_str).collect();
    let (_, command) = named_command(program, &words);
    let mut given: Vec<(&Arg, Vec<&str>)> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some((arg, joined)) = flag_of(command, word) else { continue };
        let value = match joined {
            Some(value) => value,
            None if arg.is_require_equals_set() => continue,
            None => rest.next().copied().unwrap_or_default(),
        };
        match given.iter_mut().find(|(known, _)| known.get_id() == arg.get_id()) {
            Some((_, values)) => values.push(value),
            None => given.push((arg, vec![value])),
        }
    }
    given.iter().filter_map(|(arg, values)| repeated_text(arg, values)).collect()
}

/// `--threads was given as 4 and 8; 8 is used`; nothing for a flag that may be repeated.
fn repeated_text(arg: &Arg, values: &[&str]) -> Option<String> {
    let is_list = matches!(arg.get_action(), ArgAction::Append) && !bench::is_own_option(arg);
    let last = values.last()?;
    if is_list || values.iter().all(|value| value == last) {
        return None;
    }
    let name = arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"));
    Some(format!("{name} was given as {}; {last} is used", values.join(" and ")))
}

/// The flag with a value that a word is, and the value if it is part of the word.
fn flag_of<'c, 'w>(command: &'c Command, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
    let takes = |arg: &&Arg| arg.get_action().takes_values() && !arg.is_positional();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let names = |arg: &Arg| -> Vec<String> {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            let all = arg.get_long().into_iter().chain(aliases);
            all.map(str::to_owned).collect()
        };
        let find = |fits: &dyn Fn(&str) -> bool| {
            command.get_arguments().find(|arg| names(arg).iter().any(|name| fits(name)))
        };
        // clap has checked that a shortened name means one flag only.
        let arg = find(&|known| known == name).or_else(|| find(&|known| known.starts_with(name)));
        return arg.filter(takes).map(|arg| (arg, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let arg = letters
        .next()
        .and_then(|letter| command.get_arguments().find(|arg| arg.get_short() == Some(letter)))?;
    let joined = letters.as_str();
    let joined = joined.strip_prefix('=').unwrap_or(joined);
    takes(&arg).then_some((arg, Some(joined).filter(|value| !value.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        repeated_flags(&super::super::built_program(), &words)
    }

    #[test]
    fn a_flag_given_twice_is_told_with_both_values() {
        assert_eq!(
            told("sweat bench null --threads 4 --time=5 --threads=8"),
            ["--threads was given as 4 and 8; 8 is used"]
        );
        assert_eq!(
            told("sweat bench oltp_read_only -h a --tables=1 --host=b --tables=2 --thr=3"),
            ["--host was given as a and b; b is used", "--tables was given as 1 and 2; 2 is used"]
        );
        for line in [
            "sweat bench null --threads=4 --threads=4",
            "sweat bench null --check a --check b --allow NOISE --allow CUT",
            "sweat bench null -q --quiet",
            "sweat bench null --name --threads=4 --threads=8",
            "sweat sandbox connect my97 -- -P 1 -P 2",
            "sweat explain CUT NOISE",
        ] {
            assert_eq!(told(line), [""; 0], "{line}");
        }
    }
}
