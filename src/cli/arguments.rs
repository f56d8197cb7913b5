//! The kinds of words that a command line has, each made in one way.

use clap::builder::Str;
use clap::{Arg, ArgAction, ArgMatches};

/// `--name VALUE`
pub(super) fn value_flag(name: impl Into<Str>, value_name: impl Into<Str>) -> Arg {
    let name = name.into();
    Arg::new(name.clone()).long(name).value_name(value_name.into())
}

/// `--name`
pub(super) fn switch_flag(name: impl Into<Str>) -> Arg {
    let name = name.into();
    Arg::new(name.clone()).long(name).action(ArgAction::SetTrue)
}

/// A word without a flag.
pub(super) fn positional_arg(name: &'static str, value_name: &'static str) -> Arg {
    Arg::new(name).value_name(value_name)
}

/// The text of a flag, if it was given or has a default.
pub(super) fn text_arg<'a>(args: &'a ArgMatches, name: &str) -> Option<&'a str> {
    args.get_one::<String>(name).map(String::as_str)
}

/// Whether the result is wanted as JSON.
pub(super) fn wants_json(args: &ArgMatches) -> bool {
    text_arg(args, "format") == Some("json")
}
