//! What must be known of a server before statements of the past are sent to it: whether the account could write, whether
//! it is the very server that they come from, whether others use it.
//! Never knows: statements, load. Gathering is `PreflightFacts::from_session`; judging is `find_caveats`, pure.
//! To add a caveat: its case of `PreflightCaveatKind`, and its lines in `find_caveats`.

mod connections;
mod grants;

use std::path::{Path, PathBuf};

pub use connections::{ConnectionLimits, OWN_SESSIONS};
pub use grants::{AccountGrants, reader_account};

use super::{Error, ServerIdentity, Session};
use crate::plan::Mistake;

/// Names of variables that tell a server from others.
const NAMES: &str = "'server_uuid', 'server_uid', 'hostname', 'port', 'datadir', 'read_only', \
    'super_read_only', 'slow_query_log_file', 'general_log_file'";
/// Commands of sessions that are no clients of ours to disturb.
const SERVANTS: &str = "'Daemon', 'Binlog Dump', 'Binlog Dump GTID', 'Slave_IO', 'Slave_SQL', \
    'Slave_worker'";

/// What was found out about a server and our account there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightFacts {
    /// Product and version.
    pub identity: ServerIdentity,
    /// The account that we are, as `name@host`.
    pub account: String,
    /// What it may do.
    pub grants: AccountGrants,
    /// The server's own identifier, where it has one.
    pub uuid: Option<String>,
    /// What it calls its host.
    pub hostname: String,
    /// Its port.
    pub port: String,
    /// Its data directory.
    pub datadir: PathBuf,
    /// Files that it logs statements into.
    pub logs: Vec<PathBuf>,
    /// Whether it takes writes of ordinary accounts.
    pub is_writable: bool,
    /// Client sessions besides the one that asked.
    pub clients: u64,
    /// Whether the server runs on this machine, as far as its address tells.
    pub is_here: bool,
}

impl PreflightFacts {
    /// Asks the server, blocking.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn from_session(session: &mut Session) -> Result<PreflightFacts, Error> {
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({NAMES})");
        let variables = session.query_rows(&sql)?;
        let value = |name: &str| {
            let is_it = |row: &usize| variables.text_value(*row, 0).as_deref() == Some(name);
            let row = (0..variables.rows.len()).find(is_it)?;
            variables.text_value(row, 1).filter(|value| !value.is_empty())
        };
        let is_on = |name| matches!(value(name).as_deref(), Some("ON" | "1"));
        let datadir = PathBuf::from(value("datadir").unwrap_or_default());
        let log = |name| value(name).map(|file| datadir.join(file));
        let logs = [log("slow_query_log_file"), log("general_log_file")];
        let facts = PreflightFacts {
            identity: session.identity().clone(),
            account: session.query_scalar("SELECT CURRENT_USER()")?.unwrap_or_default(),
            grants: AccountGrants::from_session(session)?,
            uuid: value("server_uuid").or_else(|| value("server_uid")),
            hostname: value("hostname").unwrap_or_default(),
            port: value("port").unwrap_or_default(),
            logs: logs.into_iter().flatten().collect(),
            datadir: datadir.clone(),
            is_writable: !is_on("read_only") && !is_on("super_read_only"),
            clients: 0,
            is_here: session.target().is_local(),
        };
        let clients = count_clients(session, &facts.grants)?;
        Ok(PreflightFacts { clients, ..facts })
    }

    /// Whether two servers are one. A server says the same of itself however it is reached; its identifier alone tells
    /// too little: a copy of a data folder has that of its origin, and MariaDB makes it of machine and port only.
    pub fn is_same_server(&self, other: &PreflightFacts) -> bool {
        let differ = |one: &Option<String>, another: &Option<String>| {
            one.as_ref().zip(another.as_ref()).is_some_and(|(one, another)| one != another)
        };
        self.hostname == other.hostname
            && self.port == other.port
            && self.datadir == other.datadir
            && !differ(&self.uuid, &other.uuid)
    }

    /// Whether these words name this server: its identifier, its host's name, or that with the port.
    pub fn is_named(&self, words: &str) -> bool {
        let with_port = format!("{}:{}", self.hostname, self.port);
        let names = [self.uuid.as_deref(), Some(self.hostname.as_str()), Some(with_port.as_str())];
        let mut names = names.into_iter().flatten().filter(|name| !name.is_empty());
        names.any(|name| name.eq_ignore_ascii_case(words))
    }

    /// A name that `is_named` takes.
    fn own_name(&self) -> &str {
        self.uuid.as_deref().unwrap_or(&self.hostname)
    }
}

/// Client sessions besides ours.
fn count_clients(session: &mut Session, grants: &AccountGrants) -> Result<u64, Error> {
    let number = |text: Option<String>| text.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    if grants.has_privilege("PROCESS") {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() \
             AND COMMAND NOT IN ({SERVANTS}) AND USER NOT IN ('system user', 'event_scheduler')"
        );
        return Ok(number(session.query_scalar(&sql)?));
    }
    // Who may not see the others may still count them.
    let rows = session.query_rows("SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
    Ok(number(rows.text_value(0, 1)).saturating_sub(1))
}

/// What is about to be done, and what of it the user said is all right.
#[derive(Clone, Debug, Default)]
pub struct PreflightIntent<'a> {
    /// The server that the statements come from, where we can talk to it.
    pub source: Option<&'a PreflightFacts>,
    /// The files that they are read from.
    pub logs: &'a [PathBuf],
    /// Whether writes are sent as they are.
    pub executes: bool,
    /// The words by which the user named the server as one to write to.
    pub owned: Option<&'a str>,
    /// An account that could write is all right.
    pub may_write: bool,
    /// Other sessions on a writable server are all right.
    pub may_disturb: bool,
}

/// What kind of caveat it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreflightCaveatKind {
    /// The account could write.
    CanWrite,
    /// The target is the server that the statements come from.
    IsSource,
    /// The target writes the log that is read: what is sent would come back.
    IsOwnLog,
    /// The target takes writes, and others use it.
    InUse,
    /// Writes shall be sent, and the server was not named.
    NotNamed,
}

/// A reason not to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightCaveat {
    /// Its kind.
    pub kind: PreflightCaveatKind,
    /// What it is, in words.
    pub words: String,
    /// What to do about it.
    pub hint: String,
}

impl PreflightCaveat {
    /// As a mistake in what was asked of `place`, with the word of consent where there is one.
    pub fn into_mistake(self, place: &str) -> Mistake {
        let hint = match self.kind {
            PreflightCaveatKind::CanWrite => format!("{}\nor say --may-write", self.hint),
            PreflightCaveatKind::InUse => format!("{}: --may-disturb", self.hint),
            _ => self.hint,
        };
        Mistake::new(place, self.words).hint(hint)
    }
}

/// All reasons not to begin; none if there are none.
pub fn find_caveats(facts: &PreflightFacts, intent: &PreflightIntent<'_>) -> Vec<PreflightCaveat> {
    let mut all = Vec::new();
    let mut put =
        |kind, words: String, hint: String| all.push(PreflightCaveat { kind, words, hint });
    if intent.source.is_some_and(|source| facts.is_same_server(source)) {
        put(
            PreflightCaveatKind::IsSource,
            format!("the target is the server that the statements came from: {}", facts.own_name()),
            "name another server as the target".to_owned(),
        );
    }
    if let Some(log) = intent.logs.iter().find(|log| is_own_log(facts, log)) {
        put(
            PreflightCaveatKind::IsOwnLog,
            format!(
                "{} is the target's own log: sent statements would be read again",
                log.display()
            ),
            "name another server as the target, or replay a copy of the log".to_owned(),
        );
    }
    let writing = facts.grants.write_privileges();
    if !intent.executes && !intent.may_write && !writing.is_empty() {
        let shown = writing.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
        let more = writing.len().saturating_sub(5);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        put(
            PreflightCaveatKind::CanWrite,
            format!("the account {} could write: {shown}{more}", facts.account),
            format!("use one that can't: {}", reader_account(&facts.identity)),
        );
    }
    if facts.is_writable && facts.clients > 0 && !intent.may_disturb {
        let sessions = if facts.clients == 1 { "session is" } else { "sessions are" };
        put(
            PreflightCaveatKind::InUse,
            format!("the target is not read_only, and {} other {sessions} there", facts.clients),
            "choose a standby, or allow this one to be disturbed".to_owned(),
        );
    }
    if intent.executes && !intent.owned.is_some_and(|words| facts.is_named(words)) {
        let words = match intent.owned {
            Some(words) => format!("the target is not `{words}`, and writes would be sent to it"),
            None => "writes would be sent to the target, and it was not named as yours to write to"
                .to_owned(),
        };
        let hint = format!("if it is yours to write to: --i-own-this-server={}", facts.own_name());
        put(PreflightCaveatKind::NotNamed, words, hint);
    }
    all
}

/// Whether a file on this machine is one that the server writes.
fn is_own_log(facts: &PreflightFacts, log: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    facts.is_here && facts.logs.iter().any(|own| real(own) == real(log))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> PreflightFacts {
        let grants = ["GRANT SELECT, SHOW VIEW ON *.* TO `r`@`%`".to_owned()];
        PreflightFacts {
            identity: ServerIdentity::from_greeting("10.11.6-MariaDB"),
            account: "r@%".to_owned(),
            grants: AccountGrants::from_lines(&grants),
            uuid: None,
            hostname: "box".to_owned(),
            port: "3306".to_owned(),
            datadir: PathBuf::from("/data"),
            logs: vec![PathBuf::from("/data/slow.log")],
            is_writable: false,
            clients: 3,
            is_here: true,
        }
    }

    fn kinds(facts: &PreflightFacts, intent: &PreflightIntent<'_>) -> Vec<PreflightCaveatKind> {
        find_caveats(facts, intent).into_iter().map(|caveat| caveat.kind).collect()
    }

    #[test]
    fn a_standby_and_an_account_that_reads_are_no_danger() {
        assert_eq!(find_caveats(&facts(), &PreflightIntent::default()), []);
    }

    #[test]
    fn the_source_is_no_target() {
        let (target, source) = (facts(), facts());
        let intent = PreflightIntent { source: Some(&source), ..PreflightIntent::default() };
        assert_eq!(kinds(&target, &intent), [PreflightCaveatKind::IsSource]);
        let elsewhere = PreflightFacts { port: "3307".to_owned(), ..facts() };
        assert_eq!(kinds(&elsewhere, &intent), []);
        // A copy has the identifier of its origin, and another place.
        let one = PreflightFacts { uuid: Some("a".to_owned()), ..facts() };
        let copy = PreflightFacts { datadir: PathBuf::from("/copy"), ..one.clone() };
        let other = PreflightFacts { uuid: Some("b".to_owned()), ..facts() };
        assert!(one.is_same_server(&one.clone()) && !one.is_same_server(&copy));
        assert!(!one.is_same_server(&other) && one.is_same_server(&facts()));
    }

    #[test]
    fn the_targets_own_log_is_not_replayed_there() {
        let logs = [PathBuf::from("/data/slow.log")];
        let intent = PreflightIntent { logs: &logs, ..PreflightIntent::default() };
        assert_eq!(kinds(&facts(), &intent), [PreflightCaveatKind::IsOwnLog]);
        let away = PreflightFacts { is_here: false, ..facts() };
        assert_eq!(kinds(&away, &intent), []);
    }

    #[test]
    fn an_account_that_could_write_needs_the_users_word() {
        let grants =
            AccountGrants::from_lines(&["GRANT SELECT, INSERT ON `d`.* TO `r`@`%`".to_owned()]);
        let writer = PreflightFacts { grants, ..facts() };
        let caveats = find_caveats(&writer, &PreflightIntent::default());
        assert_eq!(caveats[0].words, "the account r@% could write: INSERT ON `d`.*");
        assert!(caveats[0].hint.contains("GRANT SELECT, SHOW VIEW"), "{}", caveats[0].hint);
        let forced = PreflightIntent { may_write: true, ..PreflightIntent::default() };
        assert_eq!(kinds(&writer, &forced), []);
    }

    #[test]
    fn a_writable_server_in_use_needs_it_too() {
        let active = PreflightFacts { is_writable: true, ..facts() };
        assert_eq!(kinds(&active, &PreflightIntent::default()), [PreflightCaveatKind::InUse]);
        assert_eq!(
            kinds(&active, &PreflightIntent { may_disturb: true, ..PreflightIntent::default() }),
            []
        );
        let idle = PreflightFacts { clients: 0, ..active };
        assert_eq!(kinds(&idle, &PreflightIntent::default()), []);
    }

    #[test]
    fn writes_go_only_to_a_server_named_in_words() {
        let named = |owned| PreflightIntent { executes: true, owned, ..PreflightIntent::default() };
        assert_eq!(kinds(&facts(), &named(None)), [PreflightCaveatKind::NotNamed]);
        assert_eq!(kinds(&facts(), &named(Some("other"))), [PreflightCaveatKind::NotNamed]);
        assert_eq!(kinds(&facts(), &named(Some("BOX"))), []);
        assert_eq!(kinds(&facts(), &named(Some("box:3306"))), []);
        let nameless = PreflightFacts { hostname: String::new(), ..facts() };
        assert_eq!(kinds(&nameless, &named(Some(""))), [PreflightCaveatKind::NotNamed]);
    }
}
