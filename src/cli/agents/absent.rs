//! Stands for agents in a build without the feature `agents`: says so.

use clap::ArgMatches;

use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use crate::archive::RunCommand;
use crate::plan::{Mistake, Plan};

fn refuse() -> anyhow::Result<CommandOutcome> {
    let mistake = Mistake::new("agents", "this build has none");
    Err(mistake.hint("build with --features agents").into())
}

pub(in crate::cli) fn lead_agents(
    _: &Plan,
    _: RunCommand,
    _: &ArgMatches,
    _: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    refuse()
}

pub(in crate::cli) fn collect_loads(
    _: &ArgMatches,
    _: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    refuse()
}

pub(in crate::cli) fn serve_as_agent(
    _: &ArgMatches,
    _: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    refuse()
}
