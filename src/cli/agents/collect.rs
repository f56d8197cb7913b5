//! `sweat agents`: who is there, and the loads whose folders nobody has fetched.

use std::path::Path;
use std::time::Duration;

use clap::ArgMatches;

use super::super::arguments::text_arg;
use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::present;
use super::lead::fold_load;
use super::serve::link_options;
use crate::agents::{self, AgentsRequest, Coordinator, HeldLoad, LONGEST_LEASE, short_run};
use crate::archive::{RunState, read_run};
use crate::base::calendar::format_utc;
use crate::experiment::RunListener;
use crate::plan::{DEFAULT_RUNS_DIR, Mistake};

/// Prints what is noted.
struct NoteLines<'a> {
    context: &'a CliContext,
}

impl RunListener for NoteLines<'_> {
    fn note_added(&mut self, text: &str) {
        self.context.print_note(text);
    }
}

/// Lists agents, or collects a load.
///
/// # Errors
/// When NATS can't be reached, or nothing came back.
pub(in crate::cli) fn collect_loads(
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let Some((what, args)) = args.subcommand() else { return Ok(CommandOutcome::Failed) };
    let link = link_options(args);
    if link.url.is_empty() {
        let mistake = Mistake::new("--nats", "no NATS server is named");
        return Err(mistake.hint("as in --nats nats://127.0.0.1:4222").into());
    }
    let subjects = vec![agents::coordinator_subject()];
    let connection = agents::open_link(&link, format!("agents {what}"), subjects)?;
    let request = AgentsRequest {
        count: 1,
        join_time: Duration::ZERO,
        lease: LONGEST_LEASE,
        invitation: String::new(),
    };
    let mut listener = NoteLines { context };
    let mut coordinator = Coordinator::new(connection, request, &context.stop, &mut listener)?;
    let held = coordinator.list_held()?;
    if what == "list" {
        let lines: String = held.iter().map(|(agent, loads)| agent_lines(agent, loads)).collect();
        context.print_output(if lines.is_empty() { "no agent is there\n" } else { &lines })?;
        return Ok(CommandOutcome::Done);
    }
    let runs_dir = Path::new(text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR));
    let load = text_arg(args, "load").unwrap_or_default();
    let (collected, held) = coordinator.collect_held(load, runs_dir)?;
    drop(coordinator);
    let name = text_arg(args, "name").map_or(held.name, str::to_owned);
    let mut finished = fold_load(&collected, Some(name), runs_dir, true, context)?;
    if finished.error.is_none() {
        let missing = read_run(&finished.dir)?.merged.map(|merged| merged.missing);
        let missing = missing.filter(|missing| !missing.is_empty());
        finished.error = missing.map(|missing| {
            anyhow::anyhow!(
                "shares of the load are missing: {}\nhint: no agent that is there keeps them; \
                 `sweat merge` adds them from a machine's run folder",
                missing.join(", ")
            )
        });
    }
    present::present_run(finished, args, context)
}

/// An agent, and the loads that it keeps.
fn agent_lines(agent: &str, loads: &[HeldLoad]) -> String {
    let mut text = format!("{agent}\n");
    for load in loads {
        let state = match load.state {
            RunState::Done => "done",
            RunState::Failed => "failed",
            RunState::Interrupted => "interrupted",
            RunState::Running => "running, or killed",
        };
        let (run, began) = (short_run(&load.run), format_utc(load.began_unix_ns));
        let HeldLoad { share, name, .. } = load;
        text += &format!("  {run}  {began}  share {share} of {name}, {state}\n");
    }
    if loads.is_empty() {
        text += "  keeps no load\n";
    }
    text
}
