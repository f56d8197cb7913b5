//! `sweat restore`: puts back what a killed sweat had changed on a server.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};

use crate::client::Target;
use crate::plan::{AddressPlan, DEFAULT_RUNS_DIR, Protocol, RefusedError};
use crate::server::journal::{self, JournalTrust};
use crate::server::sandbox::HomeFolders;

use super::arguments::{positional_arg, text_arg, value_flag};
use super::connection;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::run_names::find_run;

pub(super) fn command() -> Command {
    let command = Command::new("restore")
        .about("Undo what a killed sweat left changed on a server")
        .long_about(
            "Undo what a killed sweat left changed on a server. Before sweat changes a variable \
             or an instrument, it writes the old value to a journal; this command restores it. \
             What was changed since is not touched. A journal that your own sweat did not write \
             is refused: it could set anything.",
        )
        .args([
            positional_arg("journal", "JOURNAL")
                .required(true)
                .help("A journal, or the run that holds it: a folder, a name or `latest`"),
            value_flag("allow", "journal")
                .value_parser(["journal"])
                .help("journal: accept one that another sweat wrote"),
            value_flag("runs-dir", "DIR")
                .default_value(DEFAULT_RUNS_DIR)
                .help("Folder with run folders"),
        ])
        .after_help(
            "Examples:\n  \
             sweat restore latest\n  \
             sweat restore journal.jsonl -u root -p",
        );
    connection::add_address_flags(command)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let given = args.get_one::<String>("journal").expect("clap asks for it");
    let address = connection::resolve_address(args, context)?;
    let trust = if args.contains_id("allow") { JournalTrust::Any } else { JournalTrust::Own };
    let (mut back, mut left) = (0, 0);
    let place = find_place(given, args)?;
    for path in journal::find_journals(&place) {
        if place.is_dir() && !path.exists() {
            break;
        }
        if !path.exists() {
            // Where sweat keeps journals itself it removes those with nothing left to do.
            if HomeFolders::list_existing().iter().any(|home| path.starts_with(&home.journals)) {
                break;
            }
            let why = format!("there is no journal {given}");
            let hint = "name the run's folder, or the journal that sweat has named";
            return Err(RefusedError(format!("{why}\nhint: {hint}")).into());
        }
        let mut plan = address.clone();
        fill_address(&mut plan, journal::read_server(&path)?, |name| args.contains_id(name));
        let undone = journal::restore_journal(&path, &Target::new(&plan)?, trust)?;
        for variable in &undone.back {
            context.print_message(&format!("{variable} has its old value"));
        }
        for note in &undone.left {
            context.print_message(&format!("left alone: {note}"));
        }
        (back, left) = (back + undone.back.len(), left + undone.left.len());
    }
    if back + left == 0 {
        context.print_message("nothing is left to put back");
    }
    Ok(if left == 0 { CommandOutcome::Done } else { CommandOutcome::Negative })
}

/// The journal or the run folder that is meant; a name that is neither a file nor a run's stands as it is.
fn find_place(given: &str, args: &ArgMatches) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(given);
    let is_name = !given.contains('/') && !given.ends_with(".jsonl");
    if path.exists() || !is_name {
        return Ok(path);
    }
    find_run(given, Path::new(text_arg(args, "runs-dir").unwrap_or(DEFAULT_RUNS_DIR)))
}

/// The journal says which server, unless the words typed do; option files only help with the account.
fn fill_address(
    plan: &mut AddressPlan,
    server: journal::JournalServer,
    is_typed: impl Fn(&str) -> bool,
) {
    if !["host", "port", "socket", "protocol"].iter().any(|name| is_typed(name)) {
        plan.protocol = server.socket.is_some().then_some(Protocol::Socket);
        (plan.host, plan.port, plan.socket) = (server.host, server.port, server.socket);
    }
    if !is_typed("user") {
        plan.user = server.user.or(plan.user.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal_address() -> journal::JournalServer {
        journal::JournalServer {
            socket: Some(PathBuf::from("/x/s")),
            user: Some("root".to_owned()),
            ..journal::JournalServer::default()
        }
    }

    #[test]
    fn the_journal_names_the_server_unless_words_do() {
        let files = AddressPlan { host: Some("elsewhere".to_owned()), ..AddressPlan::default() };
        let mut plan = files.clone();
        fill_address(&mut plan, journal_address(), |_| false);
        assert_eq!(plan.host, None);
        assert_eq!(plan.socket, Some(PathBuf::from("/x/s")));
        assert_eq!(plan.user.as_deref(), Some("root"));
        let mut plan = files;
        fill_address(&mut plan, journal_address(), |name| name == "host");
        assert_eq!(plan.host.as_deref(), Some("elsewhere"));
        assert_eq!(plan.socket, None);
    }
}
