//! The slow log switched on for a while: which variables, with consent and a journal, what it costs, and who is not
//! logged. Never knows: what the log is used for. Start reading at [`EnabledSlowLog::switch_on`].

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::journal::{Consent, Journal, UndoReport, VariableRefusal, find_refusal};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{ResultSet, Session, Target};
use crate::plan::Mistake;

/// The word of consent: `--allow logging`.
pub const ALLOW: &str = "logging";
/// Variables that make the log whole, and their values; what a server does not know is left out. The log itself comes
/// last: the first statement in it is already written as asked.
const WHOLE: &[(&str, &str)] = &[
    ("min_examined_row_limit", "0"),
    ("log_slow_rate_limit", "1"),
    ("log_slow_extra", "ON"),
    ("log_throttle_queries_not_using_indexes", "0"),
];
/// Statements by which the cost is measured, before and after.
const PROBES: usize = 200;
/// Commands of sessions that send nothing.
const SILENT: &[&str] = &["Daemon", "Binlog Dump", "Binlog Dump GTID", "Slave_IO", "Slave_SQL"];

/// Where a server writes its slow log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowLogOutput {
    /// The file.
    pub file: PathBuf,
    /// Whether it writes it at all.
    pub is_on: bool,
    /// Whether it goes into the file.
    pub is_file: bool,
    /// Whether it goes into the table.
    pub is_table: bool,
    /// From which time on a statement is logged, seconds.
    pub long_query_time: String,
}

/// Asks a server where it writes its slow log.
///
/// # Errors
/// When it doesn't answer.
pub fn read_slow_log_output(session: &mut Session) -> anyhow::Result<SlowLogOutput> {
    let rows = session
        .query_rows(
            "SELECT @@GLOBAL.slow_query_log_file, @@GLOBAL.datadir, @@GLOBAL.slow_query_log, \
             @@GLOBAL.log_output, @@GLOBAL.long_query_time",
        )
        .context("ask the server where its slow log is")?;
    let text = |column| rows.text_value(0, column).unwrap_or_default();
    let output = text(3).to_ascii_uppercase();
    Ok(SlowLogOutput {
        file: Path::new(&text(1)).join(text(0)),
        is_on: matches!(text(2).as_str(), "1" | "ON"),
        is_file: output.contains("FILE"),
        is_table: output.contains("TABLE"),
        long_query_time: text(4),
    })
}

/// How the log is to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowLogRequest {
    /// Variables and their values, `long_query_time` among them.
    pub variables: Vec<(String, String)>,
    /// Whether it goes into the table, not into the file.
    pub is_table: bool,
    /// Another file than the server's usual one.
    pub file: Option<PathBuf>,
    /// Where it is written down what was changed; a journal apart from runs otherwise.
    pub journal: Option<PathBuf>,
}

/// Variables that may be named.
const NAMED: &[&str] = &[
    "long_query_time",
    "log_slow_verbosity",
    "log_slow_extra",
    "log_slow_rate_limit",
    "log_slow_admin_statements",
    "min_examined_row_limit",
    "log_queries_not_using_indexes",
];

impl SlowLogRequest {
    /// Whether a variable is one of logging; the names of those that are, if not.
    ///
    /// # Errors
    /// A [`Mistake`] that names them.
    pub fn check_names(&self) -> Result<(), Mistake> {
        let strange = self.variables.iter().find(|(name, _)| !NAMED.contains(&name.as_str()));
        strange.map_or(Ok(()), |(name, _)| {
            Err(Mistake::new(format!("--turn-on {name}"), "is not a variable of the slow log")
                .hint(format!("for=TIME, {}", NAMED.join(", "))))
        })
    }
}

/// A log that is on. Dropping it puts everything back.
#[derive(Debug)]
pub struct EnabledSlowLog {
    journal: Journal,
    /// Whether the log was on before, and so stays on when all is put back.
    pub was_on: bool,
    /// What is to be said: what was changed, and what it costs.
    pub notes: Vec<String>,
    /// Sessions of clients that were open before: these are not logged as asked.
    pub open_sessions: usize,
}

impl EnabledSlowLog {
    /// Switches the log on.
    ///
    /// # Errors
    /// When the server can't be reached or refuses. Nothing stays changed then.
    pub fn switch_on(
        target: &Target,
        consent: &Consent,
        asked: &SlowLogRequest,
        stop: &Stop,
    ) -> anyhow::Result<EnabledSlowLog> {
        let before = measure_probe(target, stop)?;
        let mut journal = match &asked.journal {
            Some(path) => Journal::open(path, target, consent, stop)?,
            None => Journal::open_standalone(target, consent, stop)?,
        };
        let open_sessions = count_clients(&journal.session().query_rows("SHOW PROCESSLIST")?);
        let mut logging =
            EnabledSlowLog { journal, was_on: false, notes: Vec::new(), open_sessions };
        logging.set_variables(asked)?;
        let after = measure_probe(target, stop)?;
        logging.notes.push(format!(
            "an empty statement takes {} µs; it took {} µs before (median of {PROBES})",
            after.0 / 1000,
            before.0 / 1000
        ));
        Ok(logging)
    }

    fn set_variables(&mut self, asked: &SlowLogRequest) -> anyhow::Result<()> {
        let output = self.choose_output(asked.is_table)?;
        let file = asked.file.as_ref().map(|path| path.display().to_string());
        let file = file.iter().map(|path| ("slow_query_log_file", path.as_str()));
        let is_named = |name: &str| asked.variables.iter().any(|(own, _)| own == name);
        let whole = WHOLE.iter().filter(|(name, _)| !is_named(name));
        for (name, value) in whole.chain(&[("log_output", output)]) {
            self.set_unless_equal(name, value, false)?;
        }
        let named = asked.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in file.chain(named) {
            self.set_unless_equal(name, value, true)?;
        }
        self.was_on = !self.set_unless_equal("slow_query_log", "ON", true)?;
        Ok(())
    }

    /// Where the log is to go. The general log goes there, too: one that is being written stays where it is.
    fn choose_output(&mut self, is_table: bool) -> anyhow::Result<&'static str> {
        let mut is_on = |sql: &str| -> anyhow::Result<bool> {
            Ok(self.journal.session().query_scalar(sql)?.is_some_and(|found| found != "0"))
        };
        let (wanted, other) = if is_table { ("TABLE", "FILE") } else { ("FILE", "TABLE") };
        let both = format!("SELECT @@GLOBAL.general_log AND FIND_IN_SET('{other}', @@log_output)");
        Ok(if is_on(&both)? { "FILE,TABLE" } else { wanted })
    }

    /// Sets a variable unless it has that value; whether it did. One that is not known to the server is left out, unless
    /// it must be.
    fn set_unless_equal(&mut self, name: &str, value: &str, must: bool) -> anyhow::Result<bool> {
        let session = self.journal.session();
        match find_refusal(session, name, value)? {
            Some(VariableRefusal::Unknown) if !must => return Ok(false),
            Some(VariableRefusal::Denied) => anyhow::bail!(
                "set {name}: our account may not\nhint: it needs SYSTEM_VARIABLES_ADMIN (MySQL) or \
                 SUPER (MariaDB)"
            ),
            Some(refusal) => anyhow::bail!("set {name} to {value}: {refusal:?}"),
            None => {}
        }
        let now = session.query_scalar(&format!("SELECT @@GLOBAL.{name}"))?.unwrap_or_default();
        let is_same = now.eq_ignore_ascii_case(value)
            || matches!((now.as_str(), value), ("1", "ON") | ("0", "OFF"))
            || now.parse::<f64>().is_ok_and(|now| value.parse() == Ok(now));
        if !is_same {
            let old = self.journal.set_variable(name, value)?;
            self.notes.push(format!("{name} is {value}, it was {}", old.unwrap_or_default()));
        }
        Ok(!is_same)
    }

    /// Where it is written down what was changed.
    pub fn journal_path(&self) -> &Path {
        self.journal.path()
    }

    /// Puts everything back. Gives what is to be said.
    ///
    /// # Errors
    /// When the server can't be reached; `sweat restore` with the journal does it later.
    pub fn switch_off(self) -> anyhow::Result<Vec<String>> {
        let undone = self.put_back()?;
        let back = undone.back.into_iter().map(|name| format!("{name} has its old value"));
        Ok(back.chain(undone.left).collect())
    }

    /// The same, in parts.
    ///
    /// # Errors
    /// As `switch_off`.
    pub fn put_back(self) -> anyhow::Result<UndoReport> {
        self.journal.undo()
    }
}

/// The median time of a statement that does nothing, in a new session.
fn measure_probe(target: &Target, stop: &Stop) -> anyhow::Result<Nanos> {
    let mut session = target.connect(stop)?;
    let clock = RealClock::start_now();
    let mut times = Vec::with_capacity(PROBES);
    for _ in 0..PROBES {
        let began = clock.now();
        session.run_command("DO 0 /* sweat probe */")?;
        times.push(clock.now().since(began));
    }
    times.sort();
    Ok(times[PROBES / 2])
}

/// Sessions of clients in a list of processes, without our own.
fn count_clients(rows: &ResultSet) -> usize {
    let (Some(user), Some(command)) = (rows.column_index("User"), rows.column_index("Command"))
    else {
        return 0;
    };
    let is_client = |at: &usize| {
        let text = |column| rows.text_value(*at, column).unwrap_or_default();
        !matches!(text(user).as_str(), "system user" | "event_scheduler")
            && !SILENT.contains(&text(command).as_str())
    };
    (0..rows.rows.len()).filter(is_client).count().saturating_sub(1)
}

/// Bytes that are free where a file is.
///
/// # Errors
/// When the system does not tell.
pub fn free_bytes(file: &Path) -> std::io::Result<u64> {
    let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
    let space = rustix::fs::statvfs(folder.unwrap_or(Path::new(".")))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_without_ourselves_and_the_servers_own_threads() {
        let row = |user: &str, command: &str| vec![Some(user.into()), Some(command.into())];
        let rows = ResultSet {
            columns: vec!["User".to_owned(), "Command".to_owned()],
            rows: vec![
                row("root", "Query"),
                row("app", "Sleep"),
                row("app", "Query"),
                row("repl", "Binlog Dump"),
                row("system user", "Connect"),
                row("event_scheduler", "Daemon"),
            ],
        };
        assert_eq!(count_clients(&rows), 2);
    }

    #[test]
    fn only_variables_of_the_log_may_be_named() {
        let of = |name: &str| SlowLogRequest {
            variables: vec![(name.into(), "1".into())],
            ..SlowLogRequest::default()
        };
        assert!(of("long_query_time").check_names().is_ok());
        assert!(
            of("max_connections").check_names().unwrap_err().hint.unwrap().contains("for=TIME")
        );
    }

    #[test]
    fn a_disk_has_some_room() {
        assert!(free_bytes(Path::new("/tmp/x")).unwrap() > 0);
    }
}
