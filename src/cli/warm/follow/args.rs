//! The words of `sweat warm follow`, and what they ask for.

use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, ArgMatches, Command};

use crate::base::units::parse_share;
use crate::base::{Nanos, Secret};
use crate::capture::read_only::AllowList;
use crate::capture::ship::{RemoteAccess, is_url};
use crate::cli::arguments::{ArgReader, switch_flag, text_arg, value_flag, wants_json};
use crate::cli::connection;
use crate::cli::context::CliContext;
use crate::cli::ship::read_token_file;
use crate::cli::warm::is_sandbox;
use crate::client::Target;
use crate::plan::{AddressPlan, Mistake, WritesPlan};
use crate::warm::follow::{FollowPlan, FollowSource, StandbyLimits};

/// What was asked, understood.
pub(super) struct FollowArgs {
    pub(super) plan: FollowPlan,
    pub(super) standby: AddressPlan,
    pub(super) listen: Option<SocketAddr>,
    pub(super) time: Option<Duration>,
    pub(super) interval: Duration,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// The words that say which servers.
fn server_flags() -> Command {
    Command::new(super::NAME).about("Keep a standby's pool as warm as the active server's").args([
        value_flag("from", "URL|LOG|HOST")
            .required(true)
            .help("Statements from a `sweat ship`, a log, -, or the server"),
        value_flag("target", "STANDBY")
            .conflicts_with_all(["host", "port", "socket"])
            .help("The standby: HOST[:PORT] or a socket, like -h and -S"),
        value_flag("active", "HOST").help("The active server, if --from does not name it"),
        value_flag("mirror", "URL|LOG|HOST")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .help("Swap roles when the standby is promoted; read from here"),
        value_flag("allow", "writable")
            .value_parser(["writable"])
            .help("writable: accept a standby that is not read-only"),
        switch_flag("may-write").help("Accept an account on the standby that could write"),
        switch_flag("yes").help("Do so even if a pool is larger than 32 GiB"),
    ])
}

pub(super) fn command() -> Command {
    super::super::add_common_flags(
        server_flags().args([
            value_flag("writes", "drop|where|probe")
                .default_value("drop")
                .value_parser(["drop", "where", "probe"])
                .help("Writes: skip, send their reads, or also probe indexes"),
            value_flag("allow-function", "NAME")
                .action(ArgAction::Append)
                .help("Stored function that may run; may be repeated; *: all"),
            value_flag("window", "TIME")
                .default_value("10s")
                .help("Send the same statement once in this time"),
            value_flag("behind", "TIME")
                .default_value("10s")
                .help("Skip to now when further behind"),
            value_flag("sessions", "N").default_value("8").help("Most statements at once"),
            value_flag("max-lag", "TIME")
                .default_value("5s")
                .help("Pause while the standby lags more"),
            value_flag("max-running", "N")
                .default_value("16")
                .help("Slow down while more other statements run there"),
            value_flag("max-pending-reads", "N")
                .hide_short_help(true)
                .default_value("32")
                .help("Slow down while more reads wait there"),
            value_flag("max-busy", "SHARE")
                .hide_short_help(true)
                .default_value("95%")
                .help("Slow down while its (local) disk is busier"),
            value_flag("max-latency", "TIME")
                .hide_short_help(true)
                .default_value("200ms")
                .help("Slow down while our statements take longer"),
            value_flag("time-limit", "TIME").default_value("5s").help("Longest time per statement"),
            value_flag("token-file", "FILE")
                .help("Token for the `sweat ship` [or $SWEAT_SHIP_TOKEN]"),
            value_flag("ship-ca", "FILE")
                .hide_short_help(true)
                .help("Authorities to trust for https, PEM"),
            value_flag("state", "FILE").help("Remember here how far the source was read"),
            value_flag("gauge-interval", "TIME")
                .hide_short_help(true)
                .default_value("60s")
                .help("Time between looks at the hot set; 0: none"),
            value_flag("budget", "N")
                .default_value("500")
                .help("Extra reads/s after a failover that count as ready"),
            value_flag("listen", "ADDRESS").help("Serve metrics here, as in 127.0.0.1:9740"),
            value_flag("time", "TIME").help("Stop after this time"),
            value_flag("interval", "TIME")
                .default_value("5s")
                .help("Time between lines without a terminal"),
        ]),
    )
    .after_help(
        "Sends the SELECTs of the active server to a standby, each once in 10 s, as fast as the \
         standby can take them. Nothing is written, and nothing is sent to a server that is not \
         read-only.\n\n\
         Examples:\n  \
         sweat warm follow --from https://db1:9700/slow -h db2 -u warm -p\n  \
         sweat warm follow --from /var/log/mysql/slow.log --target db2 -u warm\n  \
         sweat warm follow --from db1 --target db2 --mirror --listen 127.0.0.1:9740",
    )
}

/// Reads the words.
///
/// # Errors
/// All mistakes together.
pub(super) fn parse_args(args: &ArgMatches, context: &CliContext) -> anyhow::Result<FollowArgs> {
    let mut standby = connection::resolve_address(args, context)?;
    if let Some(name) = text_arg(args, "target") {
        standby = standby.with_place(name);
    }
    let mut reader = ArgReader::new(args);
    let access = read_access(args, context)?;
    let from = parse_source(text_arg(args, "from").unwrap_or_default(), &standby, &access)?;
    let active = match (text_arg(args, "active"), &from) {
        (Some(name), _) => Some(Target::new(&standby.with_place(name))?),
        (None, FollowSource::Server(target)) => Some(target.clone()),
        (None, _) => None,
    };
    let mirror = match text_arg(args, "mirror") {
        None => None,
        Some("") => Some(FollowSource::Server(Target::new(&standby)?)),
        Some(name) => Some(parse_source(name, &standby, &access)?),
    };
    if mirror.is_some() && active.is_none() {
        reader.add_mistake(
            Mistake::new("--mirror", "swapping roles needs the active server's address")
                .hint("name it: --active HOST"),
        );
    }
    let limits = read_limits(&mut reader);
    let functions = args.get_many::<String>("allow-function").into_iter().flatten();
    let functions = functions.map(|name| name.to_lowercase()).collect();
    let plan = FollowPlan {
        source: from,
        active,
        mirror,
        writes: text_arg(args, "writes").and_then(WritesPlan::from_word).unwrap_or_default(),
        allowed: AllowList { functions, ..AllowList::default() },
        window: reader.read_time("window").into(),
        behind: reader.read_time("behind").into(),
        limits,
        time_limit: reader.read_time("time-limit"),
        writable_too: args.contains_id("allow"),
        may_write: args.get_flag("may-write") || is_sandbox(&standby),
        state: text_arg(args, "state").map(PathBuf::from),
        database: standby.database.clone().unwrap_or_default(),
        gauge_each: Nanos::from(reader.read_time("gauge-interval")),
        budget_per_s: reader.read_count("budget").unwrap_or_default() as f64,
        large_too: args.get_flag("yes"),
    };
    let time = args.contains_id("time").then(|| reader.read_time("time"));
    let (interval, listen) = (reader.read_time("interval"), read_listen_address(&mut reader));
    reader.finish()?;
    let json = wants_json(args);
    Ok(FollowArgs { plan, standby, listen, time, interval, json, quiet: args.get_flag("quiet") })
}

fn read_listen_address(reader: &mut ArgReader<'_>) -> Option<SocketAddr> {
    reader.read_value("listen", |text| {
        let text = text.trim_start_matches("http://").trim_end_matches("/metrics");
        let why = format!("`{text}` is not an address and port, as in 127.0.0.1:9740");
        text.parse().map_err(|_| why)
    })
}

fn read_limits(reader: &mut ArgReader<'_>) -> StandbyLimits {
    let sessions = reader.read_value("sessions", |text| match text.parse() {
        Ok(sessions @ 1..=256) => Ok(sessions),
        _ => Err(format!("`{text}` is not a number from 1 to 256")),
    });
    StandbyLimits {
        sessions: sessions.unwrap_or(1),
        max_lag_s: reader.read_time("max-lag").as_secs_f64(),
        max_running: reader.read_count("max-running").unwrap_or_default(),
        max_pending_reads: reader.read_count("max-pending-reads").unwrap_or_default(),
        max_busy: reader.read_value("max-busy", parse_share).unwrap_or_default(),
        max_latency_ns: Nanos::from(reader.read_time("max-latency")).0,
    }
}

/// What is needed to open a log behind a URL. Tokens stand in no list of processes.
fn read_access(args: &ArgMatches, context: &CliContext) -> anyhow::Result<RemoteAccess> {
    let token = match text_arg(args, "token-file") {
        Some(path) => Some(read_token_file(Path::new(path), context)?),
        None => std::env::var("SWEAT_SHIP_TOKEN").ok(),
    };
    let token = token.map(|token| Secret::new(token.trim())).filter(|token| !token.is_empty());
    let authority = text_arg(args, "ship-ca").map(PathBuf::from);
    Ok(RemoteAccess { token, authority, is_packed: false })
}

/// What a name stands for: a URL, standard input, a socket, a log, or a host.
fn parse_source(
    name: &str,
    standby: &AddressPlan,
    access: &RemoteAccess,
) -> anyhow::Result<FollowSource> {
    let path = Path::new(name);
    let kind = std::fs::metadata(path).map(|found| found.file_type());
    let is_socket = match &kind {
        Ok(kind) => kind.is_socket(),
        Err(_) => name.contains('/') && name.ends_with(".sock"),
    };
    Ok(if name == "-" {
        FollowSource::Standard
    } else if is_url(name) {
        FollowSource::Url(name.to_owned(), access.clone())
    } else if is_socket || (kind.is_err() && !name.contains('/')) {
        FollowSource::Server(Target::new(&standby.with_place(name))?)
    } else {
        FollowSource::File(path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_form() {
        let plan = AddressPlan { user: Some("warm".to_owned()), ..AddressPlan::default() };
        let of = |name: &str| parse_source(name, &plan, &RemoteAccess::default()).unwrap();
        assert!(matches!(of("-"), FollowSource::Standard));
        assert!(matches!(of("https://db1:9700/slow"), FollowSource::Url(..)));
        assert!(matches!(of("/var/log/no-such-slow.log"), FollowSource::File(_)));
        assert!(matches!(of("Cargo.toml"), FollowSource::File(_)));
        let FollowSource::Server(target) = of("127.0.0.1:3307") else { panic!("a host") };
        assert_eq!((target.plan().port, target.user()), (Some(3307), "warm"));
        let FollowSource::Server(target) = of("/no/such/mysqld.sock") else { panic!("a socket") };
        assert!(target.is_socket());
    }

    #[test]
    fn hosts_have_ports_or_those_of_the_standby() {
        let plan = AddressPlan { port: Some(3310), ..AddressPlan::default() };
        let of = |name: &str| {
            let other = plan.with_place(name);
            (other.host.unwrap(), other.port)
        };
        assert_eq!(of("db2"), ("db2".to_owned(), Some(3310)));
        assert_eq!(of("db2:4000"), ("db2".to_owned(), Some(4000)));
        assert_eq!(of("[::1]:4000"), ("::1".to_owned(), Some(4000)));
    }
}
