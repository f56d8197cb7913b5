//! `sweat agent`: runs shares of loads for other machines.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ArgMatches;

use super::super::arguments::{ArgReader, text_arg};
use super::super::connection;
use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::plan_file::known_plugins;
use crate::agents::{self, Agent, AgentOptions, AllowedTarget, LinkOptions};
use crate::archive::RunState;
use crate::base::units::{parse_count, parse_time};
use crate::base::{kernel, private};
use crate::client::NkeySeed;
use crate::plan::{DEFAULT_RUNS_DIR, Mistake};

/// Serves as an agent until told to end.
///
/// # Errors
/// When the words are wrong, or NATS can't be reached.
pub(in crate::cli) fn serve_as_agent(
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    if let Some(path) = text_arg(args, "make-key") {
        return make_key(path.into(), context);
    }
    let options = read_options(args, context)?;
    let link = link_options(args);
    if link.url.is_empty() {
        let mistake = Mistake::new("--nats", "no NATS server is named");
        return Err(mistake.hint("as in --nats nats://127.0.0.1:4222").into());
    }
    let subjects = vec![agents::agent_subject(&options.name)];
    let connection = agents::open_link(&link, format!("agent {}", options.name), subjects)?;
    let targets: Vec<String> = options.allowed.iter().map(ToString::to_string).collect();
    let targets = if targets.is_empty() { "no server".to_owned() } else { targets.join(", ") };
    let name = options.name.clone();
    context.print_message(&format!("agent {name} waits at {}; may load {targets}", link.url));
    let mut say = |text: &str| context.print_message(&format!("agent {name}: {text}"));
    let ended = Agent::new(connection, options, &context.stop, &mut say).serve_loads();
    Ok(match ended {
        _ if context.stop.is_set() => CommandOutcome::Interrupted,
        None | Some(RunState::Done) => CommandOutcome::Done,
        Some(_) => CommandOutcome::Failed,
    })
}

/// How to reach NATS; without an address if none is named.
pub(super) fn link_options(args: &ArgMatches) -> LinkOptions {
    let path = |name| text_arg(args, name).map(PathBuf::from);
    LinkOptions {
        url: text_arg(args, "nats").unwrap_or_default().to_owned(),
        nkey_file: path("nkey"),
        tls_ca: path("tls-ca"),
        insecure: args.get_flag("insecure-nats"),
    }
}

fn read_options(args: &ArgMatches, context: &CliContext) -> anyhow::Result<AgentOptions> {
    let mut reader = ArgReader::new(args);
    let name = match reader.text("name") {
        Some(name) => name.to_owned(),
        None => agent_name(),
    };
    if let Err(why) = agents::check_agent_name(&name) {
        reader.add_mistake(Mistake::new("--name", why).hint("as in --name a1"));
    }
    let mut allowed = Vec::new();
    for text in args.get_many::<String>("allow-target").into_iter().flatten() {
        match AllowedTarget::parse(text) {
            Ok(target) => allowed.push(target),
            Err(why) => reader.add_mistake(
                Mistake::new("--allow-target", why).hint("as in --allow-target db1:3306"),
            ),
        }
    }
    let most_sessions = reader.read_value("most-sessions", parse_count).unwrap_or_default();
    let most_time = reader.read_value("most-time", parse_time);
    reader.finish()?;
    let is_typed = |name: &str| args.contains_id(name);
    Ok(AgentOptions {
        name,
        allowed,
        address: connection::resolve_address(args, context)?,
        is_way_named: ["host", "port", "socket"].into_iter().any(is_typed),
        runs_dir: text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR).into(),
        most_sessions: usize::try_from(most_sessions).unwrap_or(usize::MAX),
        most_time,
        once: args.get_flag("once"),
        known: known_plugins(),
    })
}

/// The host's name as an agent's: what no such name can hold becomes a dash.
fn agent_name() -> String {
    let name = kernel::host_name();
    let first = name.split('.').next().unwrap_or_default();
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = first.chars().take(40).map(fit).collect();
    if name.is_empty() { "agent".to_owned() } else { name }
}

fn make_key(path: PathBuf, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let key = NkeySeed::generate().context("make a key")?;
    let write = || {
        let mut file = private::create_file(&path)?;
        writeln!(file, "{}", key.seed_text().reveal())
    };
    write().with_context(|| format!("write {}", path.display()))?;
    context.print_output(&format!("{}\n", key.public_key()))?;
    Ok(CommandOutcome::Done)
}
