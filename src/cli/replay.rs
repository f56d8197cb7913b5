//! `sweat replay`: recorded traffic sent again, and what came of it against what was recorded.

mod prescan;

use clap::{ArgAction, ArgMatches, Command};

use super::arguments::{positional_arg, switch_flag, value_flag};
use super::bench::{self, TerminalListener};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::page::RunPage;
use super::warm;
use crate::client::Target;
use crate::experiment;
use crate::plan::{ArrivalPlan, Mistake, Mistakes, OptionSpec, Plan, TargetPlan};
use crate::workload::{self, replay};

/// The workload.
const KIND: &str = "replay";
/// Options of the workload that the command has words of its own for.
const OWN: &[&str] = &["log", "sessions", "database", "speed"];
/// When statements begin at the rate of the load.
const AT_RATE: &str = "arrival";

/// What need not be said of a server that sweat started.
pub(super) const CONSENTS: &[&str] = &["may-write", "may-disturb", "trust-log-clients"];

pub(super) fn command() -> Command {
    let command = Command::new(KIND)
        .about("Send recorded traffic again, and compare")
        .long_about(
            "Send the traffic of slow or general logs again, session by session, in the recorded \
             order and at the recorded times. By default only reads are sent, in read-only \
             transactions.",
        )
        .args([
            positional_arg("log", "LOG")
                .action(ArgAction::Append)
                .required_unless_present("plan")
                .help("Log files (also .gz, .zst), folders, or - for standard input"),
            switch_flag("dry-run").help("Show what would be sent and what not; needs no server"),
            value_flag("speed", "xN").help("Times as fast as recorded, as in x2 [default: x1]"),
        ])
        .after_help(
            "What is sent, and what protects a server: docs/safety.md. Capturing, and reading the \
             result: docs/replay.md.\n\n\
             Examples:\n  \
             sweat replay slow.log --dry-run\n  \
             sweat replay slow.log -h copy1 -u replay -p\n  \
             sweat replay logs/ --speed x2 --writes where --source db1 -h copy1\n  \
             sweat replay slow.log --timing fast --sessions 32 -S /run/mysqld/mysqld.sock\n  \
             sweat replay slow.log --rate 2000 --arrival constant -h copy1\n  \
             ssh db1 tail -F slow.log | sweat replay - -h copy1 --time 10m",
        );
    bench::workload_command(command, &flag_specs())
        .mut_arg("threads", |arg| arg.help("Sessions at once [default: as many as in the log]"))
}

/// Options of the workload that are flags as they are.
fn flag_specs() -> Vec<OptionSpec> {
    let all = workload::find_kind(KIND).map(|kind| kind.option_specs()).unwrap_or_default();
    all.into_iter().filter(|spec| !OWN.contains(&spec.name.as_str())).collect()
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let only_looks = args.get_flag("dry-run");
    let mut plan = bench::plan_of(Some(KIND), args, context)?;
    add_options(&mut plan, args)?;
    if only_looks {
        return prescan::print_prescan(&plan.workload.options, args, context);
    }
    consent_on_sandbox(&mut plan)?;
    set_workers(&mut plan, args, context)?;
    experiment::check_plan(&plan)?;
    let page = RunPage::open("replay", args, context)?;
    let mut listener = TerminalListener::new(&plan, args, context).with_page(&page);
    let finished =
        experiment::run_plan(&plan, context.run_origin(KIND, args), &context.stop, &mut listener);
    drop(listener);
    page.present_run(finished?, args, context)
}

/// Adds the options that the command has words of its own for.
///
/// # Errors
/// All mistakes together.
fn add_options(plan: &mut Plan, args: &ArgMatches) -> anyhow::Result<()> {
    let mut mistakes = Vec::new();
    let kind = workload::find_kind(KIND)?;
    let mut given: Vec<(String, String)> =
        plan.workload.options.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let logs: Vec<&String> = args.get_many("log").into_iter().flatten().collect();
    for log in &logs {
        if log.contains(',') {
            mistakes.push(
                Mistake::new((*log).clone(), "a comma in a log's name would split it in two")
                    .hint("name its folder, or a link to it"),
            );
        }
    }
    let mut give = |name: &str, value: String| given.push((name.to_owned(), value));
    if !logs.is_empty() {
        let logs: Vec<&str> = logs.iter().map(|log| log.as_str()).collect();
        give("log", logs.join(","));
    }
    if let Some(speed) = args.get_one::<String>("speed") {
        give("speed", speed.trim_matches('x').to_owned());
    }
    if let Some(database) = args.get_one::<String>("database") {
        give("database", database.clone());
    }
    if let Some(sessions) = args.get_one::<String>("threads") {
        give("sessions", sessions.clone());
    }
    let is_open = !matches!(plan.load.arrival, ArrivalPlan::Closed { .. });
    let timing = args.get_one::<String>(&bench::option_id("timing"));
    match (is_open, timing.map(String::as_str)) {
        (true, None | Some(AT_RATE)) => give("timing", AT_RATE.to_owned()),
        (true, Some(timing)) => mistakes.push(
            Mistake::new(
                format!("--timing {timing}"),
                "--rate already decides when statements are sent",
            )
            .hint("leave out --rate or --stages, or --timing"),
        ),
        (false, Some(AT_RATE)) => mistakes
            .push(Mistake::new("--timing arrival", "there is no rate").hint("add --rate=1000")),
        (false, _) => {}
    }
    match workload::check_options(kind, &given) {
        Ok(options) => plan.workload.options = options,
        Err(list) => mistakes.extend(list),
    }
    Ok(Mistakes::check(mistakes)?)
}

/// Says what need not be asked of a server that sweat started: nobody else is there, and what breaks is thrown away.
///
/// # Errors
/// When the options were wrong before.
pub(super) fn consent_on_sandbox(plan: &mut Plan) -> anyhow::Result<()> {
    let kind = workload::find_kind(&plan.workload.kind)?;
    let specs = kind.option_specs();
    let words = CONSENTS.iter().filter(|word| specs.iter().any(|spec| spec.name == **word));
    let words: Vec<(String, String)> =
        words.map(|word| ((*word).to_owned(), "on".to_owned())).collect();
    if words.is_empty() || !is_own_target(&plan.target) {
        return Ok(());
    }
    let given = plan.workload.options.iter().map(|(k, v)| (k.to_owned(), v.to_owned()));
    let given: Vec<(String, String)> = given.chain(words).collect();
    plan.workload.options = workload::check_options(kind, &given).map_err(Mistakes)?;
    Ok(())
}

/// Whether sweat started the target.
fn is_own_target(target: &TargetPlan) -> bool {
    match target {
        TargetPlan::Sandbox(_) => true,
        TargetPlan::Address(address) => warm::is_sandbox(address),
        TargetPlan::None => false,
    }
}

/// Sessions that a server of ours, which nobody else uses, allows unless told otherwise.
const OWN_SERVER_SEATS: usize = 140;

/// As many workers as the log has sessions at once, unless told how many. Of a stream that is not known: then as many as
/// the server allows.
///
/// # Errors
/// When a log can't be read, or is none.
fn set_workers(plan: &mut Plan, args: &ArgMatches, context: &CliContext) -> anyhow::Result<()> {
    if args.contains_id("threads") {
        return Ok(());
    }
    if !args.get_flag("quiet") {
        context.print_message("reading the log");
    }
    let (options, stop) = (&plan.workload.options, &context.stop);
    plan.load.workers = match &plan.target {
        TargetPlan::Address(address) => {
            replay::worker_count_on(options, &Target::new(address)?, stop)?
        }
        _ if replay::is_stream(options)? => {
            replay::worker_count(options, stop)?.min(OWN_SERVER_SEATS)
        }
        _ => replay::worker_count(options, stop)?,
    };
    Ok(())
}
