//! What a replay is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::capture::read_only::AllowList;
use crate::capture::source;
use crate::capture::writes::IndexCatalog;
use crate::client::SessionLimits;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options, WritesPlan};
use crate::recorder::{ReplayFacts, ReplayTiming};

/// Seats for a log whose end is not known.
const STREAM_SEATS: u64 = 1_000;
/// Most seats that a log may ask for by itself.
const MOST_SEATS: u64 = 20_000;
/// Most classes told apart.
const MOST_CLASSES: u64 = 10_000;

/// Longest wait for a lock where writes are executed: the servers' own default.
const LOCK_WAIT: Duration = Duration::from_secs(50);

/// What the user says about the target.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetClaims {
    /// The name by which it may be written to.
    pub(super) owned: Option<String>,
    /// The server that the log comes from.
    pub(super) source: Option<String>,
    pub(super) may_write: bool,
    pub(super) may_disturb: bool,
}

/// All that a replay can be told.
#[derive(Clone, Debug)]
pub(super) struct ReplaySetup {
    /// Logs, in order.
    pub(super) logs: Vec<PathBuf>,
    pub(super) when: ReplayTiming,
    pub(super) writes: WritesPlan,
    /// Seats asked for; `None` for as many as the log needs.
    pub(super) sessions: Option<u64>,
    /// The log begins where its sessions do.
    pub(super) from_start: bool,
    /// Default database where the log does not tell.
    pub(super) database: Option<Vec<u8>>,
    pub(super) allowed: AllowList,
    /// Indexes of the target's tables, for look-ups beside writes.
    pub(super) indexes: IndexCatalog,
    /// Whether statements are told that it is the time at which they were recorded.
    pub(super) recorded_now: bool,
    pub(super) classes: usize,
    /// What sessions are held to.
    pub(super) guard: SessionLimits,
    pub(super) words: TargetClaims,
    /// Whether a statement is left out that was sent before with the same literals.
    pub(super) once: bool,
}

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Number, Switch, Text, Time};
    let spec = OptionSpec::new;
    let choice = OptionKind::one_of;
    vec![
        spec("log", Text, "", "logs: files, folders, or - for standard input"),
        spec(
            "timing",
            choice(&["recorded", "fast", "arrival"]),
            "recorded",
            "when statements are sent",
        ),
        spec("speed", Number, "1", "times as fast as recorded"),
        spec("writes", choice(WritesPlan::WORDS), "drop", "what becomes of statements that write"),
        spec("sessions", Count, "0", "sessions at once; 0: as many as the log has"),
        spec("from-start", Switch, "off", "the log starts where its sessions start"),
        spec("database", Text, "", "default database where the log names none"),
        spec("allow-functions", Text, "", "stored functions that may run, by commas; *: all"),
        spec("now", choice(&["actual", "recorded"]), "actual", "what NOW() returns"),
        spec("statement-limit", Time, "60s", "longest time per statement; 0: no limit"),
        spec("i-own-this-server", Text, "", "server name: allows --writes execute there"),
        spec("trust-log-clients", Switch, "off", "clients of the logged server may cause writes"),
        spec("source", Text, "", "the log's server, never a target: HOST:PORT, /SOCKET"),
        spec("may-write", Switch, "off", "accept an account that could write"),
        spec("may-disturb", Switch, "off", "accept a target that others write to"),
        spec("classes", Count, "10000", "most statement classes told apart"),
        spec("once", Switch, "off", "send each statement with its literals only once"),
    ]
}

fn replay_timing(options: &Options) -> ReplayTiming {
    match options.text("timing") {
        Some("fast") => ReplayTiming::Fast,
        Some("arrival") => ReplayTiming::Arrival,
        _ => ReplayTiming::Recorded { speed: options.number("speed") },
    }
}

/// What findings must know of a replay under these options.
pub(super) fn replay_facts(options: &Options) -> ReplayFacts {
    let writes = options.text("writes").unwrap_or_default().to_owned();
    ReplayFacts { timing: replay_timing(options), writes }
}

impl ReplaySetup {
    /// Reads the options.
    ///
    /// # Errors
    /// All mistakes together.
    pub(super) fn new(options: &Options) -> Result<ReplaySetup, Mistakes> {
        let mut mistakes = Vec::new();
        let mut wrong = |place: &str, why: &str, hint: &str| {
            mistakes.push(Mistake::new(place, why).hint(hint));
        };
        let logs: Vec<PathBuf> = split_list(options, "log").map(PathBuf::from).collect();
        if logs.is_empty() {
            wrong(
                "--log",
                "there is no log to replay",
                "name a file, a folder, or - to read a pipe",
            );
        }
        let speed = options.number("speed");
        if speed <= 0.0 {
            wrong("--speed", "must be above 0", "as in 2 for twice as fast");
        }
        let when = replay_timing(options);
        if !matches!(when, ReplayTiming::Recorded { .. })
            && options.text("speed").is_some_and(|s| s != "1")
        {
            wrong("--speed", "works only with --timing recorded", "leave one of them out");
        }
        let classes = options.count("classes");
        if classes == 0 || classes > MOST_CLASSES {
            wrong("--classes", "must be 1 to 10,000", "as in 1000");
        }
        let writes = options.text("writes").and_then(WritesPlan::from_word).unwrap_or_default();
        mistakes.extend(trust_mistake(options, writes));
        Mistakes::check(mistakes)?;
        let functions =
            split_list(options, "allow-functions").map(str::to_ascii_lowercase).collect();
        let guard = session_guard(options, writes);
        Ok(ReplaySetup {
            logs,
            when,
            writes,
            sessions: Some(options.count("sessions")).filter(|count| *count > 0),
            from_start: options.switch("from-start"),
            database: options.text("database").map(|name| name.as_bytes().to_vec()),
            allowed: AllowList { functions, ..AllowList::default() },
            indexes: IndexCatalog::default(),
            recorded_now: options.text("now") == Some("recorded"),
            classes: classes as usize,
            guard,
            words: TargetClaims {
                owned: options.text("i-own-this-server").map(str::to_owned),
                source: options.text("source").map(str::to_owned),
                may_write: options.switch("may-write"),
                may_disturb: options.switch("may-disturb"),
            },
            once: options.switch("once"),
        })
    }

    /// Looks whether the logs can be opened.
    ///
    /// # Errors
    /// Names the first that can't.
    pub(super) fn check_logs(&self) -> Result<(), Mistake> {
        let wrong = |place: &Path, why: std::io::Error| {
            Mistake::new(place.display().to_string(), why.to_string())
                .hint("is the path right, and may it be read?")
        };
        let is_here = |log: &&PathBuf| log.as_os_str() != "-" && source::as_url(log).is_none();
        for log in self.logs.iter().filter(is_here) {
            if log.is_dir() {
                std::fs::read_dir(log).map(drop).map_err(|e| wrong(log, e))?;
            } else if log.is_file() {
                std::fs::File::open(log).map(drop).map_err(|e| wrong(log, e))?;
            } else {
                // A named pipe must not be opened twice.
                std::fs::metadata(log).map(drop).map_err(|e| wrong(log, e))?;
            }
        }
        Ok(())
    }

    /// Whether the end of the log can't be known before it is there.
    pub(super) fn is_stream(&self) -> bool {
        self.logs.iter().any(|log| {
            log.as_os_str() == "-"
                || source::as_url(log).is_some()
                || std::fs::metadata(log).is_ok_and(|m| !m.is_file() && !m.is_dir())
        })
    }

    /// Seats for a log that has so many sessions at once; `None` where that is not known.
    pub(super) fn worker_count(&self, at_once: Option<u64>) -> usize {
        let own = at_once.map_or(STREAM_SEATS, |at_once| at_once.clamp(1, MOST_SEATS));
        self.sessions.unwrap_or(own) as usize
    }
}

/// What is wrong with executing writes, where nobody has said that the log's clients are trusted.
fn trust_mistake(options: &Options, writes: WritesPlan) -> Option<Mistake> {
    let is_wrong = writes == WritesPlan::Execute && !options.switch("trust-log-clients");
    is_wrong.then(|| {
        Mistake::new(
            "--writes execute",
            "would trust every client of the logged server: even a client that may only read can \
             make a log show writes",
        )
        .hint("if all of them may write there: --trust-log-clients; or --writes where")
    })
}

/// What sessions are held to.
fn session_guard(options: &Options, writes: WritesPlan) -> SessionLimits {
    let time_limit = options.time("statement-limit").filter(|limit| !limit.is_zero());
    let mut guard = SessionLimits { time_limit, ..SessionLimits::default() };
    if writes == WritesPlan::Execute {
        guard.is_read_only = false;
        guard.lock_wait = LOCK_WAIT;
    }
    guard
}

fn split_list<'o>(options: &'o Options, name: &str) -> impl Iterator<Item = &'o str> {
    options.text(name).unwrap_or("").split(',').map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(given: &[(&str, &str)]) -> Result<ReplaySetup, Mistakes> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ReplaySetup::new(&Options::from_given(&option_specs(), &given).unwrap())
    }

    #[test]
    fn what_is_not_said_is_safe() {
        let setup = setup(&[("log", "a.log, b.log")]).unwrap();
        assert_eq!(setup.logs, [PathBuf::from("a.log"), PathBuf::from("b.log")]);
        assert_eq!(setup.writes, WritesPlan::Drop);
        assert_eq!(setup.when, ReplayTiming::Recorded { speed: 1.0 });
        assert!(setup.allowed.functions.is_empty() && !setup.from_start && !setup.recorded_now);
        assert_eq!((setup.worker_count(Some(7)), setup.worker_count(None)), (7, 1000));
        assert!(!setup.is_stream());
    }

    #[test]
    fn what_makes_no_sense_is_named_together() {
        let given = [("speed", "0"), ("classes", "0")];
        let places: Vec<_> = setup(&given).unwrap_err().0.into_iter().map(|m| m.place).collect();
        assert_eq!(places, ["--log", "--speed", "--classes"]);
        assert!(setup(&[("log", "-"), ("timing", "fast"), ("speed", "2")]).is_err());
        assert!(setup(&[("log", "-")]).unwrap().is_stream());
    }

    #[test]
    fn writes_are_executed_only_where_the_clients_of_the_log_are_trusted() {
        let execute = [("log", "a.log"), ("writes", "execute")];
        let wrong = setup(&execute).unwrap_err();
        assert_eq!(wrong.0[0].place, "--writes execute");
        let trusted = [&execute[..], &[("trust-log-clients", "on")]].concat();
        assert_eq!(setup(&trusted).unwrap().writes, WritesPlan::Execute);
    }
}
