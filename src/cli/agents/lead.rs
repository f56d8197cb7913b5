//! `--agents N`: has agents run loads, makes one run of their folders, and shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgMatches;

use super::super::arguments::ArgReader;
use super::super::bench::TerminalListener;
use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::merge;
use super::super::page::RunPage;
use super::super::step_lines::StepLines;
use super::page_folder::PageFolder;
use crate::agents::{
    self, AgentsRequest, CollectedLoad, Coordinator, LONGEST_LEASE, LinkOptions, SeriesRequest,
};
use crate::archive::{MergeInput, MergeOptions, MergeOutput, RunCommand, RunState, merge_runs};
use crate::base::RealClock;
use crate::base::units::{parse_count, parse_time};
use crate::experiment::{self, FinishedRun};
use crate::plan::{LoadShare, Mistake, Mistakes, Plan, THREADS, VariantPlan};
use crate::server::NatsServer;

/// Most agents.
const MOST_AGENTS: u64 = 1000;
/// How long agents are waited for.
const JOIN_TIME: Duration = Duration::from_secs(60);
/// Shortest lease: messages have to come in time.
const LEAST_LEASE: Duration = Duration::from_secs(1);

/// Runs the loads of a plan on agents, then shows what they felt like.
///
/// # Errors
/// Why it was not begun, or what stopped it.
pub(in crate::cli) fn lead_agents(
    plan: &Plan,
    command: RunCommand,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let (count, join_time, lease) = read_request(args)?;
    let is_series = plan.sweep.is_some() || plan.capacity.is_some();
    check_load(plan, args, count, is_series)?;
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
    let page = RunPage::open(page_title(&command), args, context)?;
    let finished = match is_series {
        true => {
            let mut listener = StepLines::new(args, context, plan, None).with_page(&page);
            let new = Coordinator::new(connection, request, &context.stop, &mut listener);
            let mut schedule = experiment::build_schedule(plan, &|_| true);
            let series = SeriesRequest {
                plan,
                schedule: &mut *schedule,
                origin: context.run_origin(command, args),
                read_share: &read_share,
                refuse: merge::refuse,
            };
            new.and_then(|mut coordinator| coordinator.run_series(series))
        }
        false => {
            let shown = TerminalListener::new(plan, args, context).with_page(&page);
            let meta = experiment::describe_run(
                plan,
                context.run_origin(command, args),
                RealClock::start_now(),
            );
            let mut listener = PageFolder::new(shown, plan, page.feed().map(|_| meta));
            let new = Coordinator::new(connection, request, &context.stop, &mut listener);
            let led = new.and_then(|mut coordinator| coordinator.run_load(plan));
            let finished = led.and_then(|load| {
                let name = Some(plan.name.clone());
                fold_load(&load, name, &plan.runs_dir, false, context)
            });
            if let (Ok(finished), Some(feed)) = (&finished, page.feed()) {
                feed.run_started(&finished.dir);
            }
            finished
        }
    };
    // Agents have heard that all is over before the server of our own goes.
    drop(server);
    page.present_run(finished?, args, context)
}

/// What the run itself judges of each load of a sweep or search: one that is beyond the server's capacity is no fault.
const JUDGED: &[&str] = &["BACKLOG:", "ERRORS:", "ABANDONED:"];

/// A share of one of several loads.
fn read_share(dir: PathBuf) -> anyhow::Result<MergeInput> {
    let mut input = merge::read_input(dir)?;
    input.voids.retain(|void| !JUDGED.iter().any(|id| void.starts_with(id)));
    Ok(input)
}

/// What the page of a run calls it.
fn page_title(command: &RunCommand) -> &'static str {
    match command {
        RunCommand::Sweep => "sweep",
        RunCommand::Capacity => "capacity",
        RunCommand::Run => "run",
        _ => "bench",
    }
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
fn check_load(plan: &Plan, args: &ArgMatches, count: usize, is_series: bool) -> anyhow::Result<()> {
    let mut mistakes = Vec::new();
    for flag in ["share", "start-at", "isolate"] {
        if matches!(args.try_contains_id(flag), Ok(true)) {
            let why = "it does not go together with --agents";
            mistakes.push(Mistake::new(format!("--{flag}"), why).hint("leave one of them out"));
        }
    }
    let is_axis = plan.sweep.as_ref().is_some_and(|sweep| sweep.axis == THREADS);
    if plan.load.workers < count && !is_axis {
        let why = format!("{} sessions are fewer than {count} agents", plan.load.workers);
        mistakes.push(Mistake::new("--threads", why).hint("at least one for each agent"));
    }
    if plan.capacity.as_ref().is_some_and(|capacity| capacity.quantity.is_some()) {
        let why = "agents search for a rate only";
        mistakes.push(Mistake::new("--search", why).hint("leave it out, or --agents"));
    }
    Mistakes::check(mistakes)?;
    agents::portable_plan(plan)?;
    let mut shared = if is_series { one_load(plan, count) } else { plan.clone() };
    shared.load.share = LoadShare::new(1, vec![1; count]).ok();
    experiment::check_plan(&shared)
}

/// One of several loads, with all that would be done to the server before it.
fn one_load(plan: &Plan, count: usize) -> Plan {
    let touches = |variant: &&VariantPlan| {
        !variant.settings.is_empty() || !variant.warm.is_empty() || variant.dump_after
    };
    let touched = plan.variants.iter().find(touches).cloned();
    let variant = VariantPlan { workers: None, ..touched.unwrap_or_default() };
    let mut one = Plan { variants: vec![variant], blocks: 1, passes: 1, ..plan.clone() };
    (one.sweep, one.capacity, one.until_clear) = (None, None, None);
    one.load.workers = one.load.workers.max(count);
    one
}

/// Where NATS is; a server of our own where none is named.
fn read_link(args: &ArgMatches) -> anyhow::Result<(LinkOptions, Option<NatsServer>)> {
    let link = super::serve::link_options(args);
    let server = if link.url.is_empty() { Some(NatsServer::start()?) } else { None };
    Ok((link, server))
}

/// Makes one run of what came back. Shares may be missing that nobody has named.
pub(super) fn fold_load(
    load: &CollectedLoad,
    name: Option<String>,
    runs_dir: &Path,
    may_miss: bool,
    context: &CliContext,
) -> anyhow::Result<FinishedRun> {
    let inputs = load.shares.iter().map(|share| merge::read_input(share.dir.clone()));
    let inputs = inputs.collect::<anyhow::Result<Vec<MergeInput>>>();
    let stopped = inputs.as_ref().map(|inputs| stopped_agents(load, inputs)).unwrap_or_default();
    let lost: BTreeMap<usize, String> = load.lost_words().collect();
    let options = MergeOptions {
        name,
        incomplete: may_miss || !lost.is_empty(),
        command_line: Some(context.command_line.clone()),
        lost,
    };
    let output = MergeOutput::Below(runs_dir.to_owned());
    let merged =
        inputs.and_then(|inputs| merge_runs(&inputs, &output, &options).map_err(merge::refuse));
    let (dir, state) = merged.map_err(|error| {
        error.context(format!("the agents' folders are in {}", load.scratch.display()))
    })?;
    let _ = std::fs::remove_dir_all(&load.scratch);
    let lost: Vec<String> = options.lost.into_values().collect();
    // Whoever stops a load here, or collects one that was stopped, knows of it.
    let is_known = may_miss || context.stop.is_set();
    let error = match stopped.as_str() {
        _ if !lost.is_empty() => {
            let lost = lost.join("; ");
            Some(anyhow::anyhow!("shares of the load are missing: {lost}\nhint: {LOST}"))
        }
        "" => None,
        _ if is_known => None,
        names => {
            Some(anyhow::anyhow!("{names} stopped before the end of the load\nhint: {STOPPED}"))
        }
    };
    Ok(FinishedRun { dir, state, error })
}

/// The agents whose runs were stopped, in words.
fn stopped_agents(load: &CollectedLoad, inputs: &[MergeInput]) -> String {
    let is_stopped = |input: &MergeInput| input.run.meta.state == RunState::Interrupted;
    let both = load.shares.iter().zip(inputs).filter(|(_, input)| is_stopped(input));
    let names: Vec<&str> = both.map(|(share, _)| share.agent.as_str()).collect();
    match names[..] {
        [] => String::new(),
        [name] => format!("agent {name}"),
        _ => format!("agents {}", names.join(", ")),
    }
}

/// Why agents stop by themselves.
const STOPPED: &str = "an agent stops on Ctrl-C, and when it hears nothing of its coordinator for \
                       as long as a lease, 15 s: look at its last lines";
/// What to do about agents that were lost.
const LOST: &str = "the run holds the other shares; what a lost agent measured may be in a run \
                    folder on its machine: `sweat agents collect` makes one run of all of them \
                    while the agents are there, `sweat merge` where they are not";
