//! The kinds of words that a command line has, each made in one way.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Str;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::base::units::{ByteSize, UnitError, parse_count, parse_time};
use crate::plan::{Mistake, Mistakes};

/// Heading of the flags that say what is shown and where it is kept.
pub(super) const OUTPUT_HEADING: &str = "Output";

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

/// A command whose words another program's manual explains.
pub(super) fn words_command(name: &'static str, about: &'static str) -> Command {
    let words = Arg::new("words")
        .value_name("WORDS")
        .num_args(0..)
        .action(ArgAction::Append)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .help(format!("The words of that program; `sweat {name} --help` lists them"));
    Command::new(name).about(about).disable_help_flag(true).arg(words)
}

/// The words of such a command.
pub(super) fn given_words(args: &ArgMatches) -> Vec<String> {
    args.get_many::<String>("words").into_iter().flatten().cloned().collect()
}

/// The text of a flag, if it was given or has a default.
pub(super) fn text_arg<'a>(args: &'a ArgMatches, name: &str) -> Option<&'a str> {
    args.get_one::<String>(name).map(String::as_str)
}

/// Whether the result is wanted as JSON.
pub(super) fn wants_json(args: &ArgMatches) -> bool {
    text_arg(args, "format") == Some("json")
}

/// Reads the values of flags, and keeps what is wrong with them.
pub(super) struct ArgReader<'a> {
    args: &'a ArgMatches,
    mistakes: Vec<Mistake>,
}

impl<'a> ArgReader<'a> {
    pub(super) fn new(args: &'a ArgMatches) -> ArgReader<'a> {
        ArgReader { args, mistakes: Vec::new() }
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        text_arg(self.args, name)
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    pub(super) fn add_mistake(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    /// Reads a value. None is one that is wrong.
    pub(super) fn read_value<T, E: ToString>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let read = read(self.text(name)?);
        let wrong = |why: E| self.mistakes.push(Mistake::new(format!("--{name}"), why.to_string()));
        read.map_err(wrong).ok()
    }

    pub(super) fn read_time(&mut self, name: &str) -> Duration {
        self.read_value(name, parse_time).unwrap_or_default()
    }

    pub(super) fn read_count(&mut self, name: &str) -> Option<u64> {
        self.read_value(name, parse_count)
    }

    /// Reads a number of bytes; `why` it can't be a multiple of a pool.
    pub(super) fn read_bytes(&mut self, name: &str, why: &str) -> Option<u64> {
        self.read_value(name, |text| match text.parse() {
            Ok(ByteSize::Bytes(bytes)) => Ok(bytes),
            Ok(ByteSize::TimesPool(_)) => Err(why.to_owned()),
            Err(e) => Err(UnitError::to_string(&e)),
        })
    }

    /// Goes on where nothing was wrong.
    ///
    /// # Errors
    /// All mistakes together.
    pub(super) fn finish(self) -> Result<(), Mistakes> {
        Mistakes::check(self.mistakes)
    }
}
