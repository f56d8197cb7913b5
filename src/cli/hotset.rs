//! `sweat warm hotset`: what is hot in a pool, brought to a server.

use clap::{ArgMatches, Command};

use crate::warm;

use super::context::CliContext;
use super::exit::CommandOutcome;
use super::hotset_save;
use super::warm::{strategy_command, warm_pool as fill};

/// Name of the group, and of the strategy behind `load`.
pub(super) const NAME: &str = "hotset";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Save the hot pages of a pool, and load them elsewhere")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(
            "Examples:\n  \
             sweat warm hotset save hot.zst -S /run/mysqld/mysqld.sock\n  \
             sweat warm hotset load hot.zst -S /run/mysqld/mysqld.sock\n  \
             sweat warm hotset load hot.zst -h standby --rate 100MiB --max-running 8\n  \
             sweat warm hotset load hot.zst --resume",
        )
        .subcommand(hotset_save::command())
        .subcommand(
            strategy_command(&warm::hotset::HotSetStrategy)
                .name("load")
                .about("Load a saved hot set into a server, the hottest first")
                .after_help(
                    "Examples:\n  \
                     sweat warm hotset load hot.zst -S /run/mysqld/mysqld.sock\n  \
                     sweat warm hotset load hot.zst --allow load\n  \
                     sweat warm hotset load hot.zst -h standby --rate 100MiB --resume",
                ),
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    match args.subcommand().expect("clap asks for one") {
        ("save", args) => hotset_save::run(args, context),
        (_, args) => fill(&warm::hotset::HotSetStrategy, args, context),
    }
}
