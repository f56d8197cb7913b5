//! `sweat ship`: serves a server's slow log to readers elsewhere, as it is written.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ArgAction, ArgMatches, Command};

use super::arguments::{ArgReader, positional_arg, switch_flag, value_flag};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::{connection, prompt};
use crate::base::units::{parse_time, show_bytes, show_time};
use crate::base::{Clock as _, Nanos, RealClock, Secret};
use crate::capture::ship::{
    LogServer, LogWatcher, ServeOptions, Spool, SpoolError, TOKEN, server_config,
};
use crate::client::{Session, Target};
use crate::plan::{Mistake, RefusedError};
use crate::server::journal::Consent;
use crate::server::logging::{self, EnabledSlowLog, SlowLogRequest};

/// How often the disk and the table are looked at.
const LOOK: Nanos = Nanos(200_000_000);
/// How often it is said that a log can't be looked at.
const AGAIN: Nanos = Nanos(60_000_000_000);

pub(super) fn command() -> Command {
    let command = Command::new("ship")
        .about("Serve a server's slow log over HTTP, as it grows")
        .long_about(
            "Runs on the machine of the active server, follows its slow log through rotations, and \
             serves it over HTTP to `sweat warm follow`, `sweat replay`, or any reader of slow \
             logs. Secrets in statements are hidden. Without a token and a certificate it listens \
             on loopback only.",
        )
        .arg(
            positional_arg("log", "LOG")
                .value_parser(clap::value_parser!(PathBuf))
                .help("The slow log [default: ask the server]"),
        )
        .args([
            value_flag("listen", "ADDRESS:PORT")
                .default_value("127.0.0.1:9700")
                .help("Listen here; port 0: any free port"),
            value_flag("token-file", "FILE")
                .help("Token that readers must send [or $SWEAT_SHIP_TOKEN]"),
            value_flag("tls-cert", "FILE").help("Certificate chain, PEM"),
            value_flag("tls-key", "FILE").help("Key of the certificate, PEM"),
            value_flag("most-readers", "N").default_value("64").help("Most readers at once"),
            value_flag("patience", "TIME")
                .default_value("60s")
                .help("Disconnect a reader that takes nothing for so long"),
            value_flag("hold", "SIZE")
                .default_value("1G")
                .help("Rotated files kept open for slow readers"),
            value_flag("keep-free", "SIZE")
                .default_value("1G")
                .help("Stop logging before less than this is free on disk"),
            switch_flag("ask-token").help("Ask for the token on the terminal"),
            switch_flag("table")
                .conflicts_with("log")
                .help("Read mysql.slow_log over SQL instead of a file"),
            value_flag("turn-on", "for=TIME,NAME=VALUE,..")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Turn the slow log on for a while; needs --allow logging"),
            value_flag("allow", "WORD")
                .value_parser([logging::ALLOW])
                .help("logging: allow --turn-on to change the server"),
        ])
        .after_help(
            "Readers: GET /slow?rate_limit=N (one of N sessions), ?sample=0.1, ?from=MARK, \
             ?zstd=1, ?marks=1;\nGET /status (JSON), GET /metrics (OpenMetrics).\n\n\
             Examples:\n  \
             sweat ship /var/lib/mysql/slow.log\n  \
             sweat ship --turn-on for=10m,long_query_time=0 --allow logging\n  \
             sweat ship --listen 0.0.0.0:9700 --token-file /etc/sweat.token \\\n    \
             --tls-cert cert.pem --tls-key key.pem\n  \
             sweat ship --table -h db1 -u monitor -p",
        );
    connection::add_address_flags(command)
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let words = ShipArgs::from_args(args, context)?;
    let mut shipping = ShipRun::start(args, context, words)?;
    let result = shipping.serve_log(context);
    let ended = shipping.end_shipping(context);
    result?;
    ended?;
    Ok(if context.stop.is_set() { CommandOutcome::Interrupted } else { CommandOutcome::Done })
}

/// What the words say.
struct ShipArgs {
    serving: ServeOptions,
    hold_bytes: u64,
    keep_free_bytes: u64,
    is_table: bool,
    log: Option<PathBuf>,
    turn_on: Option<(Nanos, SlowLogRequest)>,
}

impl ShipArgs {
    fn from_args(args: &ArgMatches, context: &CliContext) -> anyhow::Result<ShipArgs> {
        let mut reader = ArgReader::new(args);
        let no_pool = "there is no pool here";
        let hold = reader.read_bytes("hold", no_pool);
        let keep_free = reader.read_bytes("keep-free", no_pool);
        let listen = reader.read_value("listen", str::parse::<SocketAddr>);
        let patience = Nanos::from(reader.read_time("patience"));
        let most_readers = reader.read_value("most-readers", str::parse::<usize>);
        let turn_on = parse_turn_on(args).unwrap_or_else(|mistake| {
            reader.add_mistake(mistake);
            None
        });
        let (chain, key) = (reader.path("tls-cert"), reader.path("tls-key"));
        reader.finish()?;
        let tls = match (chain, key) {
            (Some(chain), Some(key)) => Some(server_config(&chain, &key)?),
            (None, None) => None,
            _ => {
                return Err(
                    RefusedError("--tls-cert and --tls-key belong together".to_owned()).into()
                );
            }
        };
        let token = read_token(args, context)?;
        let serving = ServeOptions {
            listen: listen.expect("it has a default"),
            token,
            tls,
            most_readers: most_readers.expect("it has a default"),
            patience,
        };
        Ok(ShipArgs {
            serving,
            hold_bytes: hold.expect("it has a default"),
            keep_free_bytes: keep_free.expect("it has a default"),
            is_table: args.get_flag("table"),
            log: args.get_one::<PathBuf>("log").cloned(),
            turn_on,
        })
    }
}

/// The token, from where no list of processes shows it.
fn read_token(args: &ArgMatches, context: &CliContext) -> anyhow::Result<Option<Secret>> {
    let text = if args.get_flag("ask-token") {
        Some(prompt::ask_password(&context.stop)?.reveal().to_owned())
    } else if let Some(path) = args.get_one::<String>("token-file") {
        Some(read_token_file(Path::new(path), context)?)
    } else {
        std::env::var(TOKEN).ok().filter(|text| !text.is_empty())
    };
    let Some(text) = text else { return Ok(None) };
    let text = text.trim();
    let is_good = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if !is_good {
        return Err(RefusedError(
            "a token is one word of letters, digits and punctuation".to_owned(),
        )
        .into());
    }
    Ok(Some(Secret::new(text)))
}

/// The token in a file, as it stands there. Says so where others on this machine can read it too.
///
/// # Errors
/// When it can't be read.
pub(super) fn read_token_file(path: &Path, context: &CliContext) -> anyhow::Result<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let why = || RefusedError(format!("read the token in {}", path.display()));
    let text = std::fs::read_to_string(path).with_context(why)?;
    let mode = std::fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    if mode & 0o007 != 0 {
        let path = path.display();
        context.print_note(&format!("every user of this machine can read {path}: chmod o= {path}"));
    }
    Ok(text)
}

/// `for=10m,long_query_time=0`
fn parse_turn_on(args: &ArgMatches) -> Result<Option<(Nanos, SlowLogRequest)>, Mistake> {
    let wrong = |why: String, hint: &str| Mistake::new("--turn-on", why).hint(hint);
    let Some(words) = args.get_many::<String>("turn-on") else { return Ok(None) };
    let (mut time, mut variables) = (None, Vec::new());
    for word in words {
        let example = "as in --turn-on for=10m,long_query_time=0";
        let Some((name, value)) = word.split_once('=') else {
            return Err(wrong(format!("`{word}` has no `=`"), example));
        };
        if name == "for" {
            time = Some(parse_time(value).map_err(|e| wrong(e.to_string(), example))?);
        } else {
            variables.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    let time = time.ok_or_else(|| {
        let hint = "name a time, as in --turn-on for=10m,long_query_time=0";
        wrong("a log that is never switched off fills the disk".to_owned(), hint)
    })?;
    let asked =
        SlowLogRequest { variables, is_table: args.get_flag("table"), ..SlowLogRequest::default() };
    asked.check_names()?;
    if !args.contains_id("allow") {
        let why = "changes the server's global variables, which needs consent";
        return Err(wrong(why.to_owned(), "add --allow logging"));
    }
    Ok(Some((Nanos::from(time), asked)))
}

/// A table that is read over SQL.
struct LogTable {
    target: Target,
    session: Session,
    spool: Spool,
    gaps: u64,
    /// Goes last, with the file in it.
    folder: PathBuf,
}

/// What runs.
struct ShipRun {
    words: ShipArgs,
    watch: LogWatcher,
    server: LogServer,
    log: PathBuf,
    table: Option<LogTable>,
    logging: Option<(EnabledSlowLog, Nanos)>,
    clock: RealClock,
    looked: Nanos,
    said: Option<Nanos>,
}

impl ShipRun {
    fn start(args: &ArgMatches, context: &CliContext, words: ShipArgs) -> anyhow::Result<ShipRun> {
        let needs_server = words.log.is_none() || words.turn_on.is_some();
        let target = match needs_server {
            true => Some(Target::new(&connection::resolve_address(args, context)?)?),
            false => None,
        };
        // What can fail for want of an address fails before the server is changed.
        let server = LogServer::bind(words.serving.clone())?;
        let clock = RealClock::start_now();
        let mut logging = None;
        let mut asked = None;
        if let Some(target) = &target {
            let mut session = target.connect(&context.stop)?;
            let place = logging::read_slow_log_output(&mut session)?;
            if let Some((time, how)) = &words.turn_on {
                let disk = words.log.as_deref().unwrap_or(&place.file);
                check_free_space(disk, &words)?;
                let consent = Consent::from_flag(&format!("--allow {}", logging::ALLOW));
                let on = EnabledSlowLog::switch_on(target, &consent, how, &context.stop)?;
                on.notes.iter().for_each(|note| context.print_message(note));
                if on.open_sessions > 0 {
                    context.print_message(&format!(
                        "{} sessions were already open: each keeps its old long_query_time until \
                         it reconnects, so their statements may be missing",
                        on.open_sessions
                    ));
                }
                let (time_text, journal) = (show_time((*time).into()), on.journal_path().display());
                let what = match on.was_on {
                    true => format!("the slow log was on and stays on; changed for {time_text}"),
                    false => format!("the slow log is on for {time_text}"),
                };
                context
                    .print_message(&format!("{what}; if sweat is killed: sweat restore {journal}"));
                logging = Some((on, clock.now() + *time));
            } else if words.log.is_none() {
                check_logging_on(&place, words.is_table)?;
            }
            asked = Some((session, place));
        }
        let (log, table) = match (&words.log, asked, target) {
            (Some(log), ..) => (log.clone(), None),
            (None, Some((session, _)), Some(target)) if words.is_table => {
                let table = LogTable::open(target, session, context)?;
                (table.spool_path(), Some(table))
            }
            (None, Some((_, place)), _) => (place.file, None),
            (None, None, _) => anyhow::bail!("no log is named"),
        };
        let watch = LogWatcher::open(&log, words.hold_bytes).with_context(|| {
            RefusedError(format!(
                "follow the log {}\nhint: sweat ship runs on the server's machine, and must be \
                 able to read its log and list the folder; otherwise use --table",
                log.display()
            ))
        })?;
        let looked = clock.now();
        Ok(ShipRun { words, watch, server, log, table, logging, clock, looked, said: None })
    }

    fn serve_log(&mut self, context: &CliContext) -> anyhow::Result<()> {
        let ShipRun { words, watch, server, log, table, logging, clock, looked, said } = self;
        let kind = if words.serving.tls.is_some() { "https" } else { "http" };
        let what =
            if table.is_some() { "mysql.slow_log".to_owned() } else { log.display().to_string() };
        context.print_message(&format!(
            "{what} is served at {kind}://{}/slow",
            server.local_address()?
        ));
        server.run(watch, &context.stop, &mut |_, trouble| {
            let now = clock.now();
            if let Some(e) = trouble {
                if said.is_none_or(|at| now.since(at) > AGAIN) {
                    *said = Some(now);
                    context.print_message(&format!(
                        "can't check {}: {e}; still trying",
                        log.display()
                    ));
                }
            }
            if now.since(*looked) < LOOK {
                return Ok(());
            }
            *looked = now;
            if let Some(table) = table {
                table.read_new_rows(context)?;
            }
            let why = match logging {
                None => None,
                Some((_, until)) if now >= *until => Some("its time is over".to_owned()),
                Some(_) => check_free_space(log, words).err().map(|e| format!("{e:#}")),
            };
            if let (Some(why), Some((on, _))) = (why.clone(), logging.take_if(|_| why.is_some())) {
                let what = if on.was_on { "stays on, as it was" } else { "is switched off" };
                context.print_message(&format!("the slow log {what}: {why}"));
                on.switch_off()?.iter().for_each(|note| context.print_message(note));
            }
            Ok(())
        })
    }

    fn end_shipping(self, context: &CliContext) -> anyhow::Result<()> {
        let (_, shipped) = self.server.ship_totals();
        context.print_message(&format!(
            "{} records shipped, {}; {} outside samples, {} with secrets hidden, {} dropped, \
             {} gaps",
            shipped.records,
            show_bytes(shipped.bytes),
            shipped.left_out,
            shipped.redacted,
            shipped.dropped,
            shipped.gaps
        ));
        if let Some((on, _)) = self.logging {
            on.switch_off()?.iter().for_each(|note| context.print_message(note));
        }
        Ok(())
    }
}

fn check_free_space(log: &Path, words: &ShipArgs) -> anyhow::Result<()> {
    // Where the disk is another machine's, nobody here can tell.
    let Ok(free) = logging::free_bytes(log) else { return Ok(()) };
    if free >= words.keep_free_bytes {
        return Ok(());
    }
    Err(RefusedError(format!(
        "only {} are free where {} is, and {} are to stay free (--keep-free)",
        show_bytes(free),
        log.display(),
        show_bytes(words.keep_free_bytes)
    ))
    .into())
}

fn check_logging_on(place: &logging::SlowLogOutput, is_table: bool) -> anyhow::Result<()> {
    let turn_on = "--turn-on for=10m,long_query_time=0 --allow logging switches it on for a while";
    if !place.is_on {
        return Err(RefusedError(format!("the server writes no slow log\nhint: {turn_on}")).into());
    }
    let goes_there = if is_table { place.is_table } else { place.is_file };
    let other = if is_table { "into a file" } else { "into a table" };
    let flag = if is_table { "leave out --table" } else { "add --table" };
    if !goes_there {
        let why = format!("the server writes its slow log {other}\nhint: {flag}");
        return Err(RefusedError(why).into());
    }
    Ok(())
}

impl LogTable {
    fn open(
        target: Target,
        mut session: Session,
        context: &CliContext,
    ) -> anyhow::Result<LogTable> {
        let folder = std::env::temp_dir().join(format!("sweat-ship-{}", std::process::id()));
        create_private_dir(&folder)?;
        let spool = Spool::open(&mut session, &folder.join("table.log"))?;
        if let Some(caveat) = spool.caveat() {
            context.print_note(caveat);
        }
        Ok(LogTable { target, session, spool, gaps: 0, folder })
    }

    fn spool_path(&self) -> PathBuf {
        self.folder.join("table.log")
    }

    /// Takes what the table has. A server that is gone may come back.
    fn read_new_rows(&mut self, context: &CliContext) -> anyhow::Result<()> {
        match self.spool.poll_table(&mut self.session) {
            Ok(_) => {}
            Err(SpoolError::Io(e)) => return Err(e).context("keep what the table holds"),
            Err(SpoolError::Server(e)) => {
                if self.session.is_usable() {
                    return Err(e).context("read mysql.slow_log");
                }
                if let Ok(session) = self.target.connect(&context.stop) {
                    self.session = session;
                }
            }
        }
        let gaps = self.spool.gap_count();
        if gaps > self.gaps {
            context.print_message(
                "the table was emptied before it was read completely: statements are missing",
            );
            self.gaps = gaps;
        }
        Ok(())
    }
}

impl Drop for LogTable {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A folder that only we can look into.
fn create_private_dir(folder: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
    made.with_context(|| format!("make the folder {}", folder.display()))
}
