//! `sweat sandbox`: throw-away servers for people, not only for runs.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, ArgMatches, Command};

use crate::base::{Clock, Nanos, RealClock};
use crate::plan::{Mistake, Mistakes, SandboxPlan};
use crate::server::ServerControl;
use crate::server::journal;
use crate::server::sandbox::{self, HomeFolders, Lifetime, Sandbox, SandboxMeta, SandboxOptions};

use super::arguments::{positional_arg, switch_flag, value_flag};
use super::connection;
use super::context::CliContext;
use super::exit::{CommandOutcome, HintedError};

/// Time between two looks whether the server still runs.
const LOOK: Nanos = Nanos(100_000_000);

pub(super) fn command() -> Command {
    Command::new("sandbox")
        .about("Start, list and end throw-away servers")
        .long_about(
            "Start, list and end throw-away servers: MariaDB or MySQL in a private folder, on a \
             socket that only you can use, without option files, ready in a second. Without a \
             name a sandbox ends with Ctrl-C and leaves nothing; with --name or --detach it keeps \
             its data until it is destroyed.",
        )
        .after_help(
            "Examples:\n  \
             sweat sandbox start                             until Ctrl-C\n  \
             sweat sandbox start --pool 1G --set innodb_io_capacity=2000\n  \
             sweat sandbox start --server /opt/mysql/bin/mysqld --name my97 --detach\n  \
             sweat sandbox connect my97 -- -e 'select version()'\n  \
             sweat sandbox stop my97 && sweat sandbox destroy my97\n\n\
             Sandboxes live in $SWEAT_HOME, or in the folder sweat of your cache folder.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(start_command())
        .subcommand(named_command("stop", "Stop a sandbox cleanly, and keep its data"))
        .subcommand(Command::new("list").about("Show all sandboxes").visible_alias("ls"))
        .subcommand(
            named_command("connect", "Open the mariadb or mysql client on a sandbox").arg(
                positional_arg("more", "CLIENT ARGUMENTS")
                    .last(true)
                    .num_args(0..)
                    .value_parser(clap::value_parser!(OsString))
                    .help("Passed on to the client"),
            ),
        )
        .subcommand(
            named_command("destroy", "End a sandbox and remove its data")
                .arg(switch_flag("all").conflicts_with("name").help("All of them")),
        )
}

fn start_command() -> Command {
    Command::new("start")
        .about("Start a server of your own")
        .args([
            value_flag("server", "PATH")
                .help("Its mariadbd or mysqld [default: the one installed]"),
            value_flag("set", "NAME=VALUE")
                .help("A setting of it; may be repeated")
                .action(ArgAction::Append),
            value_flag("pool", "SIZE").help("Size of its buffer pool, as in 256M"),
            value_flag("name", "NAME").help("Name it: data is kept, and start brings it back"),
            switch_flag("tcp").help("Also listen on a free loopback port"),
            // Nobody chooses the port: who tries is told what there is.
            value_flag("port", "PORT")
                .help("The same as --tcp")
                .hide(true)
                .num_args(0..=1)
                .default_missing_value(""),
            switch_flag("detach").help("Return at once; it runs until it is stopped"),
        ])
        .after_help(
            "Examples:\n  sweat sandbox start --pool 256M\n  \
             sweat sandbox start --name shop --tcp --detach",
        )
}

fn named_command(name: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .arg(positional_arg("name", "NAME").help("Which one, if there are several"))
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (name, args) = args.subcommand().expect("clap asks for one");
    let home = HomeFolders::find()?;
    match name {
        "start" => start_sandbox(args, home, context),
        "list" => list_sandboxes(&home, context),
        "connect" => {
            let name = choose_sandbox(args, &home)?;
            let more: Vec<OsString> =
                args.get_many::<OsString>("more").into_iter().flatten().cloned().collect();
            sandbox::exec_client(&name, &more, &home).map(|()| CommandOutcome::Done)
        }
        "stop" => {
            let name = choose_sandbox(args, &home)?;
            let ran = sandbox::stop_named(
                &name,
                &sandbox_options(home, None, Lifetime::Detached, context),
            )?;
            context.print_message(&format!(
                "{name} {}",
                if ran { "is stopped" } else { "was already stopped" }
            ));
            Ok(CommandOutcome::Done)
        }
        _ => destroy_sandboxes(args, home, context),
    }
}

/// Ends the servers that a killed sweat left behind; says so, and what it left changed elsewhere. Called at the start
/// of every command.
pub(super) fn clean_up_killed(command: &str, context: &CliContext) {
    for home in HomeFolders::list_existing() {
        for name in sandbox::remove_orphans(&home) {
            context.print_message(&format!(
                "cleaned up after a sweat that was killed: sandbox {name}"
            ));
        }
        let pending = journal::find_pending_journals(&home);
        for left in pending.iter().filter(|_| command != "restore") {
            let (what, path) = (&left.what, left.path.display());
            context.print_message(&format!(
                "an earlier sweat left this changed on a server: {what}\n\
                 hint: run `sweat restore {path}`"
            ));
        }
    }
}

/// Says what this sweat leaves changed on a server, but for what `told` names, which was said. Called at the end of every
/// command; says whether there was anything.
pub(super) fn report_left_changes(told: Option<&Path>, context: &CliContext) -> bool {
    let homes = HomeFolders::list_existing();
    let mut left: Vec<_> = homes.iter().flat_map(journal::find_pending_journals).collect();
    left.retain(|left| left.is_ours && told != Some(&left.path));
    for left in &left {
        let (what, path) = (&left.what, left.path.display());
        context.print_message(&format!(
            "error: this stays changed on the server, which did not answer: {what}\n\
             hint: run `sweat restore {path}` once it does"
        ));
    }
    !left.is_empty()
}

fn sandbox_options(
    home: HomeFolders,
    name: Option<String>,
    life: Lifetime,
    context: &CliContext,
) -> SandboxOptions {
    SandboxOptions { home, name, life, stop: context.stop.clone() }
}

/// The sandbox that is meant: the one named, or the only one.
fn choose_sandbox(args: &ArgMatches, home: &HomeFolders) -> anyhow::Result<String> {
    if let Some(name) = args.get_one::<String>("name") {
        return Ok(name.clone());
    }
    let mut names: Vec<String> =
        sandbox::list_sandboxes(home).into_iter().map(|(name, _)| name).collect();
    if names.len() == 1 {
        return Ok(names.remove(0));
    }
    let hint = if names.is_empty() {
        "there are none; start one with `sweat sandbox start`".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    let why = "name the sandbox";
    Err(Mistake::new("NAME", why).hint(hint).into())
}

fn start_sandbox(
    args: &ArgMatches,
    home: HomeFolders,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let mut plan = connection::parse_sandbox(args)?;
    plan.tcp = args.get_flag("tcp") || has_port(args)?;
    let name = args.get_one::<String>("name").cloned();
    let life = match (args.get_flag("detach"), &name) {
        (true, _) => Lifetime::Detached,
        (false, Some(_)) => Lifetime::Kept,
        (false, None) => Lifetime::ThrowAway,
    };
    let all = sandbox::list_sandboxes(&home);
    let known = name.as_ref().and_then(|name| all.iter().find(|(known, _)| known == name));
    check_settings(&plan, known.map(|(_, meta)| meta))?;
    let mut sandbox = match known {
        Some((name, _)) => {
            Sandbox::resume(name, &plan, &sandbox_options(home, None, life, context))?
        }
        None => Sandbox::create(&plan, &sandbox_options(home, name, life, context))?,
    };
    context.print_output(&sandbox_text(&sandbox, life))?;
    if life == Lifetime::Detached {
        return Ok(CommandOutcome::Done);
    }
    let clock = RealClock::start_now();
    while !context.stop.is_set() {
        if !sandbox.is_running() {
            let words = sandbox.error_log_tail(8).join("\n  | ");
            let how =
                sandbox.exit_description().unwrap_or_else(|| "has ended by itself".to_owned());
            anyhow::bail!("the server {how}; its last words:\n  | {words}");
        }
        clock.sleep_until(clock.now() + LOOK);
    }
    let end = if life == Lifetime::ThrowAway { "removed" } else { "stopped, its data is kept" };
    let name = sandbox.name().to_owned();
    drop(sandbox);
    context.print_message(&format!("{name} is {end}"));
    Ok(CommandOutcome::Done)
}

/// Whether `--port` was typed for `--tcp`.
fn has_port(args: &ArgMatches) -> anyhow::Result<bool> {
    let Some(port) = args.get_one::<String>("port") else { return Ok(false) };
    if port.is_empty() {
        return Ok(true);
    }
    Err(Mistake::new(
        format!("--port {port}"),
        "the port of a sandbox can't be chosen: sweat uses a free one",
    )
    .hint("use --tcp; the output and `sweat sandbox list` show the port")
    .into())
}

/// Asks the program what it makes of the settings, before anything is made.
fn check_settings(plan: &SandboxPlan, known: Option<&SandboxMeta>) -> anyhow::Result<()> {
    let program = known.map(|meta| meta.program.clone());
    let plan = SandboxPlan { server: program.or(plan.server.clone()), ..plan.clone() };
    let mut mistakes =
        if plan.settings.is_empty() { Vec::new() } else { sandbox::validate_settings(&plan, &[])? };
    for mistake in &mut mistakes {
        mistake.place = mistake.place.replacen("sandbox.set.", "--set ", 1);
    }
    Ok(Mistakes::check(mistakes)?)
}

/// What one needs to know to use it.
fn sandbox_text(sandbox: &Sandbox, life: Lifetime) -> String {
    let program = sandbox.program();
    let name = sandbox.name();
    let words = sandbox::client_arguments(sandbox.dir(), sandbox.meta());
    let client = words.iter().map(|word| shell_quoted(&word.to_string_lossy()));
    let client = shell_lines(std::iter::once("mariadb".to_owned()).chain(client), COMMAND);
    let mut text = format!(
        "{} {} is ready after {:.2} s\n  name     {name}\n  socket   {}\n",
        program.product.name(),
        program.version,
        sandbox.ready_seconds(),
        sandbox.meta().socket.display()
    );
    if let Some(port) = sandbox.meta().port {
        text += &format!("  port     127.0.0.1:{port}\n");
    }
    text += &format!("  client   {}\n", client.join(" \\\n             "));
    text += &format!("           sweat sandbox connect {name}\n");
    text += &format!(
        "  sweat    -u root -S {}\n",
        shell_quoted(&sandbox.meta().socket.to_string_lossy())
    );
    text += &format!("  data     {}\n", sandbox.datadir().display());
    text += &match life {
        Lifetime::ThrowAway => "Ctrl-C ends it and removes its data.\n".to_owned(),
        Lifetime::Kept => {
            format!("Ctrl-C stops it; `sweat sandbox destroy {name}` removes its data.\n")
        }
        Lifetime::Detached => {
            format!("`sweat sandbox destroy {name}` ends it and removes its data.\n")
        }
    };
    text
}

/// Columns for the words of a command beside its indent and the `\` at its end.
const COMMAND: usize = 65;

/// The words of a command in lines that fit; a word that is longer stands alone.
fn shell_lines(words: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                *line += " ";
                *line += &word;
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// As a shell takes it.
fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn list_sandboxes(home: &HomeFolders, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let found = sandbox::list_sandboxes(home);
    if found.is_empty() {
        context.print_message("there is no sandbox; start one with `sweat sandbox start`");
        return Ok(CommandOutcome::Done);
    }
    let head = ["NAME", "STATE", "PID", "PORT", "LIVES", "SERVER"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head)
        .chain(found.iter().map(|(name, meta)| table_row(name, meta)))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let sockets = found.iter().map(|(_, meta)| Some(meta.socket.display()));
    let mut text = String::new();
    for (row, socket) in rows.iter().zip(std::iter::once(None).chain(sockets)) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        text += cells.collect::<String>().trim_end();
        text.push('\n');
        if let Some(socket) = socket {
            text += &format!("  -u root -S {socket}\n");
        }
    }
    context.print_output(&text).map(|()| CommandOutcome::Done)
}

fn table_row(name: &str, meta: &SandboxMeta) -> [String; 6] {
    let running = meta.is_running();
    let none = || "-".to_owned();
    let pid = meta.server.as_ref().filter(|_| running).map_or_else(none, |s| s.pid.to_string());
    let lives = match &meta.tool {
        Some(tool) if tool.is_alive() => format!("with {}", tool.pid),
        _ if running => "detached".to_owned(),
        _ => none(),
    };
    // `mariadbd  Ver 10.11.19-MariaDB-... for ...`
    let version = meta.version.split("Ver ").nth(1).and_then(|rest| rest.split(' ').next());
    [
        name.to_owned(),
        if running { "running" } else { "stopped" }.to_owned(),
        pid,
        meta.port.filter(|_| running).map_or_else(none, |port| port.to_string()),
        lives,
        version.unwrap_or("?").to_owned(),
    ]
}

fn destroy_sandboxes(
    args: &ArgMatches,
    home: HomeFolders,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let names = if args.get_flag("all") {
        sandbox::list_sandboxes(&home).into_iter().map(|(name, _)| name).collect()
    } else {
        vec![choose_sandbox(args, &home)?]
    };
    let terms = sandbox_options(home, None, Lifetime::Detached, context);
    let mut failed = Vec::new();
    for name in names {
        match sandbox::destroy_named(&name, &terms) {
            Ok(()) => context.print_message(&format!("{name} is removed")),
            Err(e) if failed.is_empty() && !args.get_flag("all") => return Err(e),
            Err(e) => failed.push(format!("{name}: {e:#}")),
        }
    }
    if failed.is_empty() {
        return Ok(CommandOutcome::Done);
    }
    let hint = "see `sweat sandbox list`";
    Err(HintedError { why: failed.join("; "), hint: hint.to_owned() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_continues_on_the_next_line() {
        let words = ["mariadb", "--user=root", "--socket=/tmp/long"].map(str::to_owned);
        assert_eq!(
            shell_lines(words.into_iter(), 20),
            ["mariadb --user=root", "--socket=/tmp/long"]
        );
    }

    #[test]
    fn words_with_blanks_are_quoted_for_the_shell() {
        assert_eq!(shell_quoted("--socket=/tmp/s"), "--socket=/tmp/s");
        assert_eq!(shell_quoted("/tmp/my folder/s"), "'/tmp/my folder/s'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }
}
