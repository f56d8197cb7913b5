//! One load from several machines: `sweat agent` on each, `--agents N` where it is asked for.

#[cfg(not(feature = "agents"))]
mod absent;
#[cfg(feature = "agents")]
mod collect;
#[cfg(feature = "agents")]
mod lead;
#[cfg(feature = "agents")]
mod page_folder;
#[cfg(feature = "agents")]
mod serve;

#[cfg(not(feature = "agents"))]
pub(super) use absent::{collect_loads, lead_agents, serve_as_agent};
#[cfg(feature = "agents")]
pub(super) use collect::collect_loads;
#[cfg(feature = "agents")]
pub(super) use lead::lead_agents;
#[cfg(feature = "agents")]
pub(super) use serve::serve_as_agent;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::arguments::{positional_arg, switch_flag, value_flag};
use super::{connection, present};
use crate::plan::DEFAULT_RUNS_DIR;

/// Heading of the flags that have agents run a load.
const HEADING: &str = "Agents";

/// The flags that have agents run a load.
pub(super) fn agents_flags() -> impl Iterator<Item = Arg> {
    let own = [
        value_flag("agents", "N").help("Have N agents share the load: see `sweat agent`"),
        value_flag("nats", "URL")
            .requires("agents")
            .help("Their NATS server [default: one of our own on this machine]"),
        value_flag("join-time", "TIME").requires("agents").help("Wait for them [default: 60s]"),
        // For tests, which have no time to wait for the end of a lease.
        value_flag("lease", "TIME").requires("agents").hide(true),
    ];
    own.into_iter().chain(link_flags()).map(|arg| arg.help_heading(HEADING).hide_short_help(true))
}

/// The flags of a NATS server on another machine.
fn link_flags() -> [Arg; 3] {
    [
        value_flag("nkey", "FILE").help("Seed of our key for the NATS server"),
        value_flag("tls-ca", "FILE").help("Authority of the NATS server's certificate, PEM"),
        switch_flag("insecure-nats").help("Do without keys and TLS on another machine's NATS"),
    ]
}

/// Whether agents are asked for.
pub(super) fn wants_agents(args: &ArgMatches) -> bool {
    matches!(args.try_contains_id("agents"), Ok(true))
}

/// `sweat agents`: what can be done without a load.
pub(super) fn agents_command() -> Command {
    let link = || {
        let url = value_flag("nats", "URL").help("Their NATS server, as nats://127.0.0.1:4222");
        std::iter::once(url).chain(link_flags())
    };
    let collect = Command::new("collect")
        .about("Fetch the run folders that agents keep of a load, and merge them")
        .arg(
            positional_arg("load", "LOAD")
                .help("Which, as `list` names it [default: the youngest]"),
        )
        .args([
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder for run folders"),
            value_flag("name", "TEXT").help("Name of the run [default: the load's]"),
            switch_flag("quiet").short('q').help("Show only the answer"),
        ])
        .args(link());
    Command::new("agents")
        .about("List agents and their loads; collect a load that was left")
        .long_about(
            "Agents keep the run folder of each share that they have run. If a coordinator was \
             killed, or a folder did not come, `collect` fetches those of one load and makes one \
             run of them, as `sweat merge` does.",
        )
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(Command::new("list").about("List agents and the loads they keep").args(link()))
        .subcommand(present::add_present_flags(collect))
        .after_help(
            "Examples:\n  \
             sweat agents list --nats nats://127.0.0.1:4222\n  \
             sweat agents collect --nats nats://127.0.0.1:4222\n  \
             sweat agents collect 3fa9c1 --nats tls://nats.example --nkey desk.nk \\\n    \
             --tls-ca ca.pem",
        )
}

pub(super) fn agent_command() -> Command {
    let command = Command::new("agent")
        .about("Run shares of loads for other machines")
        .long_about(
            "Waits on a load machine for `sweat bench ... --agents N` elsewhere, and runs its \
             share of that load. It loads only the servers that --allow-target names, with its own \
             account; passwords, files and commands are never taken from others. A load ends at \
             most 15 s after its coordinator is gone. Run folders stay here, too.",
        )
        .args([
            value_flag("nats", "URL").help("The NATS server: nats://HOST:4222 or tls://HOST:4222"),
            value_flag("name", "NAME").help("Name among the agents [default: the host's]"),
            value_flag("allow-target", "HOST[:PORT]")
                .action(ArgAction::Append)
                .help("A server that may be loaded; may be repeated"),
            value_flag("most-sessions", "N")
                .default_value("10000")
                .help("Refuse shares with more sessions"),
            value_flag("most-time", "TIME").help("Refuse longer loads [default: no limit]"),
            switch_flag("once").help("Leave after one load"),
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder for run folders"),
            value_flag("make-key", "FILE")
                .conflicts_with("nats")
                .help("Write a new key to this file, print its public half, and leave"),
        ])
        .args(link_flags())
        .after_help(
            "Examples:\n  \
             sweat agent --nats nats://127.0.0.1:4222 --allow-target db1 -u bench -p\n  \
             sweat agent --nats tls://nats.example:4222 --nkey a1.nk --tls-ca ca.pem \\\n    \
             --name a1 --allow-target db1:3306 --defaults-file bench.cnf\n  \
             sweat agent --make-key a1.nk",
        );
    connection::add_address_flags(command)
}
