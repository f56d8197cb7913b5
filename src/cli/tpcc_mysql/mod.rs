//! `tpcc_load` and `tpcc_start`: the command lines of tpcc-mysql's two programs, on the workload of that kind.
//! Their words are not clap's: `-p` takes the password apart, too, and values may be named by their place alone.

mod load;
mod start;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};

use super::arguments::{given_words, words_command};
use super::argv::TypedPassword;
use super::context::CliContext;
use super::defaults::UserDefaults;
use super::exit::{self, CommandOutcome};
use crate::client::{self, Session, Target};
use crate::plan::{Mistake, Options};
use crate::workload::{self, Endpoint, Workload};
use words::{TpccProgram, TpccWords};

/// The workload.
const WORKLOAD: &str = "tpcc";
/// What both print before anything else.
const HEADER: &str = "# TPC-C-like, not audited, not comparable with published results\n";

const LOAD_USAGE: &str = "\
usage: tpcc_load [-h HOST] [-P PORT] [-S SOCKET] -d DATABASE [-u USER]
                 [-p PASSWORD] -w WAREHOUSES [-l PART] [-m FROM] [-n TO]
       tpcc_load HOST DATABASE USER PASSWORD WAREHOUSES
Makes and loads the tables in a database that is there. All parts are loaded
together: -l, -m and -n are taken and change nothing.
";
const START_USAGE: &str = "\
usage: tpcc_start [-h HOST] [-P PORT] [-S SOCKET] -d DATABASE [-u USER]
                  [-p PASSWORD] -w WAREHOUSES -c CONNECTIONS [-r RAMP_UP_S]
                  [-l MEASURED_S] [-i INTERVAL_S] [-f FILE] [-t FILE]
                  [-m DATABASES] [-o FIRST] [-0..-4 LIMIT_S]
       tpcc_start HOST DATABASE USER PASSWORD WAREHOUSES CONNECTIONS
                  RAMP_UP_S MEASURED_S
Default: host localhost, database tpcc, user root, 1 warehouse, 1 connection,
ramp-up 10 s, measured 20 s, a line every 10 s, limits 5, 5, 5, 5 and 20 s for
new-order, payment, order-status, delivery and stock-level.
";

impl TpccProgram {
    fn usage(self) -> &'static str {
        match self {
            TpccProgram::Load => LOAD_USAGE,
            TpccProgram::Start => START_USAGE,
        }
    }
}

pub(super) fn load_command() -> Command {
    let about = "Load the tables of tpcc as tpcc-mysql's tpcc_load does";
    words_command(TpccProgram::Load.name(), about)
        .after_help("Examples:\n  sweat tpcc_load -h db1 -d tpcc5 -u bench -p secret -w 5")
}

pub(super) fn start_command() -> Command {
    let about = "Run tpcc as tpcc-mysql's tpcc_start does";
    words_command(TpccProgram::Start.name(), about).after_help(
        "Examples:\n  \
         sweat tpcc_start -h db1 -d tpcc5 -u bench -p secret -w 5 -c 8 -r 30 -l 60\n  \
         sweat tpcc_start localhost tpcc5 user password 5 5 30 30",
    )
}

pub(super) fn load(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    run_words(TpccProgram::Load, &given_words(args), context)
}

pub(super) fn start(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    run_words(TpccProgram::Start, &given_words(args), context)
}

/// A program that is called by the name it is started with, or by the first word.
pub(super) struct ProgramCall {
    program: TpccProgram,
    words: Vec<String>,
    /// How many arguments stand before the words.
    before: usize,
}

impl ProgramCall {
    /// The call that these arguments make, if they make one.
    pub(super) fn from_args(args: &[OsString]) -> Option<ProgramCall> {
        let text = |args: &[OsString]| -> Vec<String> {
            args.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        };
        TpccProgram::ALL.into_iter().find_map(|program| {
            let name = program.name();
            let is_called =
                |word: &OsString| Path::new(word).file_name().is_some_and(|n| n == name);
            match args {
                [called, rest @ ..] if is_called(called) => {
                    Some(ProgramCall { program, words: text(rest), before: 1 })
                }
                [_, first, rest @ ..] if *first == *name => {
                    Some(ProgramCall { program, words: text(rest), before: 2 })
                }
                _ => None,
            }
        })
    }

    /// Where passwords stand in the process's arguments: in which one, from which byte on.
    pub(super) fn password_places(&self) -> Vec<(usize, usize)> {
        let places = self.program.password_places(&self.words).into_iter();
        places.map(|(argument, at)| (argument + self.before, at)).collect()
    }

    /// Runs the program.
    pub(super) fn run(&self) -> ExitCode {
        let line = self.program.name().to_owned();
        let context =
            CliContext::from_process(TypedPassword::Absent, line, UserDefaults::default());
        let result = super::signals::watch_signals(&context.stop)
            .map_err(Into::into)
            .and_then(|()| run_words(self.program, &self.words, &context));
        exit::report_result(result, &context).into()
    }
}

fn run_words(
    program: TpccProgram,
    words: &[String],
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    if matches!(words, [only] if ["--help", "-?", "help"].contains(&only.as_str())) {
        context.print_output(program.usage())?;
        return Ok(CommandOutcome::Done);
    }
    let read = match words {
        [] => Err(Mistake::new(program.name(), "no database is named")),
        words => TpccWords::from_args(program, words),
    };
    let read = read.inspect_err(|_| eprint_usage(program))?;
    match program {
        TpccProgram::Load => load::load_tables(&read, context),
        TpccProgram::Start => start::run_load(&read, context),
    }
}

/// Writes the usage text to standard error.
fn eprint_usage(program: TpccProgram) {
    use std::io::Write as _;
    let _ = std::io::stderr().lock().write_all(program.usage().as_bytes());
}

/// A session in the database, which must be there.
fn connect(target: &Target, context: &CliContext) -> anyhow::Result<Session> {
    /// The server's number for a database that is not there.
    const UNKNOWN_DATABASE: u16 = 1049;
    target.connect(&context.stop).map_err(|error| {
        let name = target.plan().database.clone().unwrap_or_default();
        match &error {
            client::Error::Login { code, .. } | client::Error::Server { code, .. }
                if *code == UNKNOWN_DATABASE =>
            {
                let hint = format!("`mysqladmin create {name}`, then tpcc_load makes the tables");
                let place = format!("database {name}");
                Mistake::new(place, "there is no such database").hint(hint).into()
            }
            _ => error.into(),
        }
    })
}

/// Refuses tables that tpcc-mysql made: its `new_orders` is `new_order` in the specification.
fn check_own_tables(session: &mut Session) -> anyhow::Result<()> {
    let found = session.query_scalar(
        "SELECT COUNT(*) FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = 'new_orders'",
    )?;
    if found.as_deref() == Some("0") {
        return Ok(());
    }
    let why = "these tables are tpcc-mysql's, whose columns differ from the specification";
    let hint = "use an empty database: tpcc_load makes the tables, create_table.sql is not needed";
    Err(Mistake::new("table new_orders", why).hint(hint).into())
}

/// The workload with these options.
fn build_workload(target: &Target, given: &[(&str, String)]) -> anyhow::Result<Box<dyn Workload>> {
    let kind = workload::find_kind(WORKLOAD)?;
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let options =
        Options::from_given(&kind.option_specs(), &given).map_err(crate::plan::Mistakes)?;
    workload::build_workload(WORKLOAD, &options, Endpoint::MySql(target))
}

/// Where the server is, in lines as tpcc-mysql prints its parameters, without the password.
fn address_text(words: &TpccWords) -> String {
    let address = &words.address;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let server = match &address.socket {
        Some(socket) => format!("     [socket]: {}\n", socket.display()),
        None => format!(
            "     [server]: {}\n     [port]: {}\n",
            text(&address.host),
            address.port.unwrap_or(3306)
        ),
    };
    format!(
        "{HEADER}<Parameters>\n{server}     [DBname]: {}\n       [user]: {}\n  [warehouse]: {}\n",
        text(&address.database),
        text(&address.user),
        words.warehouses
    )
}
