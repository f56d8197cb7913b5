//! `sweat mix from`: files of other tools as files of a mix.

use std::io::ErrorKind;

use clap::{ArgMatches, Command};

use super::arguments::{positional_arg, text_arg, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use crate::plan::Mistake;
use crate::workload::mix::import_mix;

/// What can be read.
const KINDS_OF_FILES: &str = "A .smack file, a script of pgbench (.sql), or properties of YCSB";

pub(super) fn command() -> Command {
    Command::new("mix")
        .about("Turn files of Super Smack, pgbench, YCSB into mixes")
        .arg(
            positional_arg("from", "from")
                .required(true)
                .value_parser(["from"])
                .hide_possible_values(true)
                .help("The word `from`"),
        )
        .arg(positional_arg("file", "FILE").required(true).help(KINDS_OF_FILES))
        .arg(value_flag("out", "FILE").help("Write it here [default: standard output]"))
        .after_help(
            "Examples:\n  sweat mix from update-select.smack > auth.toml\n  \
             sweat mix from tpcb.sql --out=tpcb.toml\n  sweat bench mix tpcb.toml --dry-run",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let file = text_arg(args, "file").expect("clap asks for it");
    let text = std::fs::read_to_string(file).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            Mistake::new(file, "it is not text in UTF-8").hint(KINDS_OF_FILES)
        }
        _ => Mistake::new(file, error.to_string()).hint("is the path right?"),
    })?;
    let mix = import_mix(file, &text)?;
    for note in &mix.notes {
        context.print_note(&format!("not carried: {note}"));
    }
    match text_arg(args, "out") {
        Some(out) => std::fs::write(out, &mix.text)
            .map_err(|error| Mistake::new(format!("--out {out}"), error.to_string()))?,
        None => context.print_output(&mix.text)?,
    }
    Ok(CommandOutcome::Done)
}
