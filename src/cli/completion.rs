//! `sweat completion`: completions for the shell.

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;

use super::context::CliContext;
use super::exit::CommandOutcome;

pub(super) fn command() -> Command {
    Command::new("completion")
        .about("Print completions for a shell")
        .arg(
            Arg::new("shell")
                .required(true)
                .value_parser(clap::value_parser!(Shell))
                .help("Which shell"),
        )
        .after_help(
            "Examples:\n  \
             sweat completion bash > /etc/bash_completion.d/sweat\n  \
             sweat completion zsh > ~/.zfunc/_sweat\n  \
             sweat completion fish > ~/.config/fish/completions/sweat.fish",
        )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let shell = *args.get_one::<Shell>("shell").expect("clap asks for it");
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::root_command(), "sweat", &mut text);
    context.print_output(&String::from_utf8_lossy(&text))?;
    Ok(CommandOutcome::Done)
}
