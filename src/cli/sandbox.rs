//! `sweat sandbox`: throw-away servers for people, not only for runs.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::base::{Clock, Nanos, RealClock};
use crate::plan::{Mistake, Mistakes, SandboxPlan};
use crate::server::Control;
use crate::server::journal;
use crate::server::sandbox::{self, Home, Life, Meta, Sandbox, Terms};

use super::connection;
use super::desk::Desk;
use super::fault::{Exit, Hinted};

/// Time between two looks whether the server still runs.
const LOOK: Nanos = Nanos(100_000_000);

pub(super) fn command() -> Command {
    Command::new("sandbox")
        .about("Start, list and end throw-away servers")
        .long_about(
            "A sandbox is a MariaDB or MySQL server of your own in a private folder: on a \
             socket that \
             only you can use, without option files, ready in a moment. Without a name it \
             ends with \
             Ctrl-C and leaves nothing; with --name or --detach it keeps its data until it is \
             destroyed.",
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
        .subcommand(named("stop", "Stop a sandbox's server cleanly and keep its data"))
        .subcommand(Command::new("list").about("Show all sandboxes").visible_alias("ls"))
        .subcommand(
            named("connect", "Open the mariadb or mysql client on a sandbox").arg(
                Arg::new("more")
                    .value_name("CLIENT ARGUMENTS")
                    .last(true)
                    .num_args(0..)
                    .value_parser(clap::value_parser!(OsString))
                    .help("Passed on to the client"),
            ),
        )
        .subcommand(
            named("destroy", "End a sandbox and remove its data").arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("name")
                    .help("All of them"),
            ),
        )
}

fn start_command() -> Command {
    let switch = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let text = |name, value, help| Arg::new(name).long(name).value_name(value).help(help);
    Command::new("start")
        .about("Start a server of your own")
        .arg(text("server", "PATH", "A mariadbd or mysqld [default: the one installed]"))
        .arg(
            text("set", "NAME=VALUE", "One of its settings; may be repeated")
                .action(ArgAction::Append),
        )
        .arg(text("pool", "SIZE", "Its buffer pool, as in 256M"))
        .arg(text("name", "NAME", "Its name; its data stays, and start brings it back"))
        .arg(switch("tcp", "Also listen on a free loopback port, with an account of its own"))
        // Nobody chooses the port: who tries is told what there is.
        .arg(
            text("port", "PORT", "The same as --tcp")
                .hide(true)
                .num_args(0..=1)
                .default_missing_value(""),
        )
        .arg(switch("detach", "Come back at once and let it run until it is stopped"))
        .after_help(
            "Examples:\n  sweat sandbox start --pool 256M\n  \
             sweat sandbox start --name shop --tcp --detach",
        )
}

fn named(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(
        Arg::new("name").value_name("NAME").help("Which one; not needed where there is just one"),
    )
}

pub(super) fn run(args: &ArgMatches, desk: &Desk) -> anyhow::Result<Exit> {
    let (name, args) = args.subcommand().expect("clap asks for one");
    let home = Home::find()?;
    match name {
        "start" => start(args, home, desk),
        "list" => list(&home, desk),
        "connect" => {
            let name = choose(args, &home)?;
            let more: Vec<OsString> =
                args.get_many::<OsString>("more").into_iter().flatten().cloned().collect();
            sandbox::connect(&name, &more, &home).map(|()| Exit::Done)
        }
        "stop" => {
            let name = choose(args, &home)?;
            let ran = sandbox::stop(&name, &terms(home, None, Life::Detached, desk))?;
            desk.say(&format!("{name} {}", if ran { "is stopped" } else { "was stopped already" }));
            Ok(Exit::Done)
        }
        _ => destroy(args, home, desk),
    }
}

/// Ends the servers that a killed sweat left behind; says so, and what it left changed elsewhere. Called at the start
/// of every command.
pub(super) fn sweep(command: &str, desk: &Desk) {
    for home in Home::present() {
        for name in sandbox::sweep(&home) {
            desk.say(&format!("cleaned up after a sweat that was killed: sandbox {name}"));
        }
        let pending = journal::pending(&home);
        for left in pending.iter().filter(|_| command != "restore") {
            let (what, path) = (&left.what, left.path.display());
            desk.say(&format!(
                "an earlier sweat left this changed on a server: {what}\n\
                 hint: run `sweat restore {path}`"
            ));
        }
    }
}

/// Says what this sweat leaves changed on a server, but for what `told` names, which was said. Called at the end of every
/// command; says whether there was anything.
pub(super) fn tell_left(told: Option<&Path>, desk: &Desk) -> bool {
    let homes = Home::present();
    let mut left: Vec<_> = homes.iter().flat_map(journal::pending).collect();
    left.retain(|left| left.is_ours && told != Some(&left.path));
    for left in &left {
        let (what, path) = (&left.what, left.path.display());
        desk.say(&format!(
            "error: this stays changed on the server, which did not answer: {what}\n\
             hint: run `sweat restore {path}` once it does"
        ));
    }
    !left.is_empty()
}

fn terms(home: Home, name: Option<String>, life: Life, desk: &Desk) -> Terms {
    Terms { home, name, life, stop: desk.stop.clone() }
}

/// The sandbox that is meant: the one named, or the only one.
fn choose(args: &ArgMatches, home: &Home) -> anyhow::Result<String> {
    if let Some(name) = args.get_one::<String>("name") {
        return Ok(name.clone());
    }
    let mut names: Vec<String> = sandbox::list(home).into_iter().map(|(name, _)| name).collect();
    if names.len() == 1 {
        return Ok(names.remove(0));
    }
    let hint = if names.is_empty() {
        "there is none; start one with `sweat sandbox start`".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    let why = "say which sandbox".to_owned();
    Err(Mistake { place: "NAME".to_owned(), why, hint: Some(hint) }.into())
}

fn start(args: &ArgMatches, home: Home, desk: &Desk) -> anyhow::Result<Exit> {
    let mut plan = connection::sandbox(args)?;
    plan.tcp = args.get_flag("tcp") || has_port(args)?;
    let name = args.get_one::<String>("name").cloned();
    let life = match (args.get_flag("detach"), &name) {
        (true, _) => Life::Detached,
        (false, Some(_)) => Life::Kept,
        (false, None) => Life::ThrowAway,
    };
    let all = sandbox::list(&home);
    let known = name.as_ref().and_then(|name| all.iter().find(|(known, _)| known == name));
    check_settings(&plan, known.map(|(_, meta)| meta))?;
    let mut sandbox = match known {
        Some((name, _)) => Sandbox::resume(name, &plan, &terms(home, None, life, desk))?,
        None => Sandbox::create(&plan, &terms(home, name, life, desk))?,
    };
    desk.print(&describe(&sandbox, life))?;
    if life == Life::Detached {
        return Ok(Exit::Done);
    }
    let clock = RealClock::start();
    while !desk.stop.is_set() {
        if !sandbox.is_running() {
            let words = sandbox.error_log_tail(8).join("\n  | ");
            let how = sandbox.death().unwrap_or_else(|| "has ended by itself".to_owned());
            anyhow::bail!("the server {how}; its last words:\n  | {words}");
        }
        clock.sleep_until(clock.now() + LOOK);
    }
    let end = if life == Life::ThrowAway { "removed" } else { "stopped, its data is kept" };
    let name = sandbox.name().to_owned();
    drop(sandbox);
    desk.say(&format!("{name} is {end}"));
    Ok(Exit::Done)
}

/// Whether `--port` was typed for `--tcp`.
fn has_port(args: &ArgMatches) -> anyhow::Result<bool> {
    let Some(port) = args.get_one::<String>("port") else { return Ok(false) };
    if port.is_empty() {
        return Ok(true);
    }
    Err(Mistake {
        place: format!("--port {port}"),
        why: "the port of a sandbox can't be chosen: a free one is".to_owned(),
        hint: Some(
            "say --tcp; what is printed, and `sweat sandbox list`, shows the port".to_owned(),
        ),
    }
    .into())
}

/// Asks the program what it makes of the settings, before anything is made.
fn check_settings(plan: &SandboxPlan, known: Option<&Meta>) -> anyhow::Result<()> {
    let program = known.map(|meta| meta.program.clone());
    let plan = SandboxPlan { server: program.or(plan.server.clone()), ..plan.clone() };
    let mut mistakes =
        if plan.settings.is_empty() { Vec::new() } else { sandbox::validate(&plan, &[])? };
    for mistake in &mut mistakes {
        mistake.place = mistake.place.replacen("sandbox.set.", "--set ", 1);
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Mistakes(mistakes).into()) }
}

/// What one needs to know to use it.
fn describe(sandbox: &Sandbox, life: Life) -> String {
    let program = sandbox.program();
    let name = sandbox.name();
    let words = sandbox::client_words(sandbox.dir(), sandbox.meta());
    let client: Vec<String> = words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
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
    text += &format!("  client   mariadb {}\n", client.join(" "));
    text += &format!("           sweat sandbox connect {name}\n");
    text +=
        &format!("  sweat    -u root -S {}\n", quoted(&sandbox.meta().socket.to_string_lossy()));
    text += &format!("  data     {}\n", sandbox.datadir().display());
    text += &match life {
        Life::ThrowAway => "Ctrl-C ends it and removes its data.\n".to_owned(),
        Life::Kept => {
            format!("Ctrl-C stops it; `sweat sandbox destroy {name}` removes its data.\n")
        }
        Life::Detached => format!("`sweat sandbox destroy {name}` ends it and removes its data.\n"),
    };
    text
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn list(home: &Home, desk: &Desk) -> anyhow::Result<Exit> {
    let found = sandbox::list(home);
    if found.is_empty() {
        desk.say("there is no sandbox; start one with `sweat sandbox start`");
        return Ok(Exit::Done);
    }
    let head = ["NAME", "STATE", "PID", "PORT", "LIVES", "SERVER", "SOCKET"].map(str::to_owned);
    let rows: Vec<[String; 7]> =
        std::iter::once(head).chain(found.iter().map(|(name, meta)| row(name, meta))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths).take(6) {
            text += &format!("{cell:width$}  ");
        }
        text += &row[6];
        text.push('\n');
    }
    desk.print(&text).map(|()| Exit::Done)
}

fn row(name: &str, meta: &Meta) -> [String; 7] {
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
        meta.socket.display().to_string(),
    ]
}

fn destroy(args: &ArgMatches, home: Home, desk: &Desk) -> anyhow::Result<Exit> {
    let names = if args.get_flag("all") {
        sandbox::list(&home).into_iter().map(|(name, _)| name).collect()
    } else {
        vec![choose(args, &home)?]
    };
    let terms = terms(home, None, Life::Detached, desk);
    let mut failed = Vec::new();
    for name in names {
        match sandbox::destroy(&name, &terms) {
            Ok(()) => desk.say(&format!("{name} is removed")),
            Err(e) if failed.is_empty() && !args.get_flag("all") => return Err(e),
            Err(e) => failed.push(format!("{name}: {e:#}")),
        }
    }
    if failed.is_empty() {
        return Ok(Exit::Done);
    }
    let hint = "see `sweat sandbox list`".to_owned();
    Err(Hinted { why: failed.join("; "), hint }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_blanks_are_quoted_for_the_shell() {
        assert_eq!(quoted("--socket=/tmp/s"), "--socket=/tmp/s");
        assert_eq!(quoted("/tmp/my folder/s"), "'/tmp/my folder/s'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
