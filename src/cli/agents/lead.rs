//! `--agents N`: has agents run a load, makes one run of their folders, and shows it.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::ArgMatches;

use super::super::arguments::ArgReader;
use super::super::bench::TerminalListener;
use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::{merge, present};
use crate::agents::{self, AgentsRequest, CollectedLoad, Coordinator, LONGEST_LEASE, LinkOptions};
use crate::archive::{MergeInput, MergeOptions, MergeOutput, merge_runs};
use crate::base::units::{parse_count, parse_time};
use crate::experiment::{self, FinishedRun};
use crate::plan::{LoadShare, Mistake, Mistakes, Plan};
use crate::server::NatsServer;

/// Most agents.
const MOST_AGENTS: u64 = 1000;
/// How long agents are waited for.
const JOIN_TIME: Duration = Duration::from_secs(60);
/// Shortest lease: messages have to come in time.
const LEAST_LEASE: Duration = Duration::from_secs(1);

/// Runs one load on agents, then shows what it felt like.
///
/// # Errors
/// Why it was not begun, or what stopped it.
pub(in crate::cli) fn lead_agents(
    plan: &Plan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let (count, join_time, lease) = read_request(args)?;
    check_load(plan, args, count)?;
    let (mut link, server) = read_link(args)?;
    if let Some(server) = &server {
        server.url().clone_into(&mut link.url);
    }
    let invitation = format!(
        "start agents with: sweat agent --nats {} --allow-target HOST --name NAME",
        link.url
    );
    if server.is_some() {
        context.print_message(&invitation);
    }
    let own = format!("coordinator of {}", plan.workload.kind);
    let subjects = vec![agents::coordinator_subject()];
    let connection = agents::open_link(&link, own, subjects)?;
    let request = AgentsRequest { count, join_time, lease, invitation };
    let mut listener = TerminalListener::new(plan, args, context);
    let mut coordinator = Coordinator::new(connection, request, &context.stop, &mut listener)?;
    let led = coordinator.run_load(plan);
    // Agents hear that all is over before the server of our own goes.
    drop(coordinator);
    drop(listener);
    drop(server);
    let finished = fold_load(&led?, plan, context)?;
    present::present_run(finished, args, context)
}

fn read_request(args: &ArgMatches) -> Result<(usize, Duration, Duration), Mistakes> {
    let mut reader = ArgReader::new(args);
    let count = reader.read_value("agents", |text| match parse_count(text) {
        Ok(count) if (1..=MOST_AGENTS).contains(&count) => Ok(count as usize),
        Ok(count) => Err(format!("{count} is not from 1 to {MOST_AGENTS}")),
        Err(e) => Err(e.to_string()),
    });
    let join_time = reader.read_value("join-time", parse_time);
    let lease = reader.read_value("lease", |text| match parse_time(text) {
        Ok(lease) if (LEAST_LEASE..=LONGEST_LEASE).contains(&lease) => Ok(lease),
        Ok(_) => Err("it is not from 1s to 15s".to_owned()),
        Err(e) => Err(e.to_string()),
    });
    reader.finish()?;
    let (join_time, lease) = (join_time.unwrap_or(JOIN_TIME), lease.unwrap_or(LONGEST_LEASE));
    Ok((count.unwrap_or(1), join_time, lease))
}

/// What can be found wrong before anybody is asked.
fn check_load(plan: &Plan, args: &ArgMatches, count: usize) -> anyhow::Result<()> {
    let mut mistakes = Vec::new();
    for flag in ["share", "start-at", "listen", "isolate"] {
        if matches!(args.try_contains_id(flag), Ok(true)) {
            let why = "it does not go together with --agents";
            mistakes.push(Mistake::new(format!("--{flag}"), why).hint("leave one of them out"));
        }
    }
    if plan.load.workers < count {
        let why = format!("{} sessions are fewer than {count} agents", plan.load.workers);
        mistakes.push(Mistake::new("--threads", why).hint("at least one for each agent"));
    }
    Mistakes::check(mistakes)?;
    agents::portable_plan(plan)?;
    let mut shared = plan.clone();
    shared.load.share = LoadShare::new(1, vec![1; count]).ok();
    experiment::check_plan(&shared)
}

/// Where NATS is; a server of our own where none is named.
fn read_link(args: &ArgMatches) -> anyhow::Result<(LinkOptions, Option<NatsServer>)> {
    let link = super::serve::link_options(args);
    let server = if link.url.is_empty() { Some(NatsServer::start()?) } else { None };
    Ok((link, server))
}

/// Makes one run of what came back.
fn fold_load(
    load: &CollectedLoad,
    plan: &Plan,
    context: &CliContext,
) -> anyhow::Result<FinishedRun> {
    let inputs = load.shares.iter().map(|share| merge::read_input(share.dir.clone()));
    let inputs = inputs.collect::<anyhow::Result<Vec<MergeInput>>>();
    let lost =
        load.lost.iter().map(|lost| (lost.number, format!("agent {}: {}", lost.agent, lost.why)));
    let lost: BTreeMap<usize, String> = lost.collect();
    let options = MergeOptions {
        name: Some(plan.name.clone()),
        incomplete: !lost.is_empty(),
        command_line: Some(context.command_line.clone()),
        lost,
    };
    let output = MergeOutput::Below(plan.runs_dir.clone());
    let merged =
        inputs.and_then(|inputs| merge_runs(&inputs, &output, &options).map_err(merge::refuse));
    let (dir, state) = merged.map_err(|error| {
        error.context(format!("the agents' folders are in {}", load.scratch.display()))
    })?;
    let _ = std::fs::remove_dir_all(&load.scratch);
    let lost = load.lost.iter().map(|lost| format!("agent {}: {}", lost.agent, lost.why));
    let lost: Vec<String> = lost.collect();
    let error = (!lost.is_empty()).then(|| {
        anyhow::anyhow!("shares of the load are missing: {}\nhint: {LOST}", lost.join("; "))
    });
    Ok(FinishedRun { dir, state, error })
}

/// What to do about agents that were lost.
const LOST: &str = "the run holds the other shares; what a lost agent measured may be in a run \
                    folder on its machine: `sweat merge` adds it to those below machines/";
