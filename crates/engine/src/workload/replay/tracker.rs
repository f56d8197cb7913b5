//! Which session a record belongs to, and what is to be played of it. Knows of a session what decides that: whether its
//! transaction was cut, its default database, its temporary tables.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::prescan::LogPrescan;
use super::setup::ReplaySetup;
use super::statement::ReplayEventKind;
use super::temporary_tables::TemporaryTables;
use crate::capture::read_only::{FilterDecision, RefusalReason, filter_statement};
use crate::capture::{Confidence, DefaultDatabase, EventKind, LogRecord};
use crate::plan::WritesPlan;

/// Longest statement that a server takes, bytes (max_allowed_packet at its most). What stands so far behind a statement
/// whose end is a guess is no part of it.
const LONGEST_STATEMENT: u64 = 1 << 30;
/// Why a write is not executed.
const NO_OUTCOME: &str = "writes that the log does not show as done";
const BEHIND_GUESS: &str = "writes after a statement whose end is a guess";

/// Sessions kept in mind whose end was not seen.
const MOST_OPEN: usize = 100_000;

/// A session that has not ended as far as we know.
struct OpenSession {
    number: u64,
    /// Of account and host, where the log tells.
    account: Option<u64>,
    database: Option<Arc<[u8]>>,
    /// Whether nothing of it was seen yet.
    is_new: bool,
    /// Whether nothing of a transaction that began before the log can be left of it.
    is_settled: bool,
    /// Whether it has set its own clock.
    has_own_clock: bool,
    /// Whether it has said which character set its statements are in.
    has_names: bool,
    temporary: TemporaryTables,
    last_record: u64,
}

/// What becomes of a record.
#[derive(Debug)]
pub(super) enum ReplayDecision<'t> {
    /// It is no statement, and nothing is missing without it.
    Nothing,
    /// Its session opens.
    Opens,
    /// It is left out.
    Left(Cow<'static, str>),
    /// It is sent, in this form.
    Sent(ReplayEventKind, Cow<'t, [u8]>),
}

/// What a record means.
#[derive(Debug)]
pub(super) struct TrackedRecord<'t> {
    /// Its session's number among the log's sessions.
    pub(super) session: u64,
    /// A session before, of the same number in its server, that has ended.
    pub(super) before_ended: Option<u64>,
    pub(super) fate: ReplayDecision<'t>,
    /// Whether it ends a transaction that began before the log.
    pub(super) is_cut: bool,
    /// Whether its session ends with it.
    pub(super) is_last: bool,
    pub(super) database: Option<Arc<[u8]>>,
    pub(super) has_own_clock: bool,
    /// Whether its bytes are in the character set that sessions begin with.
    pub(super) is_default_names: bool,
}

/// Sessions of a log.
pub(super) struct Tracker<'a> {
    setup: &'a ReplaySetup,
    /// Where sessions end, if the log was looked through before.
    ends: Option<&'a LogPrescan>,
    /// This is that look: what becomes of statements is not asked.
    only_looks: bool,
    open: HashMap<u64, OpenSession>,
    sessions: u64,
    records: u64,
    newest: u64,
    pub(super) ends_inferred: u64,
    has_forgotten: bool,
    /// Where the log is out of what a statement whose end is a guess may hold, bytes from its begin.
    sure_from: u64,
}

impl<'a> Tracker<'a> {
    pub(super) fn new(setup: &'a ReplaySetup, ends: Option<&'a LogPrescan>) -> Tracker<'a> {
        Tracker {
            setup,
            ends,
            only_looks: false,
            open: HashMap::new(),
            sessions: 0,
            records: 0,
            newest: 0,
            ends_inferred: 0,
            has_forgotten: false,
            sure_from: 0,
        }
    }

    /// Another log follows: no statement goes on from one file to the next.
    pub(super) fn next_log(&mut self) {
        self.sure_from = 0;
    }

    /// For a first look through.
    pub(super) fn for_prescan(setup: &'a ReplaySetup) -> Tracker<'a> {
        Tracker { only_looks: true, ..Tracker::new(setup, None) }
    }

    /// Records seen.
    pub(super) fn record_count(&self) -> u64 {
        self.records
    }

    /// Sessions seen.
    pub(super) fn session_count(&self) -> u64 {
        self.sessions
    }

    /// Sessions whose end was not seen.
    pub(super) fn open_count(&self) -> u64 {
        self.open.len() as u64
    }

    /// Whether sessions were forgotten as there were too many.
    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// Takes the next record of the log.
    pub(super) fn track_record<'t>(&mut self, recorded: &LogRecord<'t>) -> TrackedRecord<'t> {
        self.records += 1;
        if matches!(recorded.confidence, Confidence::Unbalanced | Confidence::Suspect) {
            self.sure_from = recorded.offset.saturating_add(LONGEST_STATEMENT);
        }
        let (id, before_ended) = self.find_session(recorded);
        let open = self.open.get_mut(&id).expect("it was just put there");
        open.last_record = self.records;
        let session = open.number;
        open.note_database(recorded, self.setup);
        // What drivers say when they connect is said outside of transactions.
        open.is_settled |= open.is_new && is_statement(recorded) && is_greeting(recorded.text);
        open.is_new = false;
        let was_settled = open.is_settled;
        let boundary = open.note_boundary(recorded);
        let is_cut = !was_settled && boundary == Some(TransactionBoundary::End);
        let fate = match () {
            () if self.only_looks => {
                open.note_clock(recorded.text);
                ReplayDecision::Nothing
            }
            () if is_cut && is_statement(recorded) => ReplayDecision::Left(CUT.into()),
            () => open.decide_record(recorded, self.setup, self.ends.is_some()),
        };
        let fate = match fate {
            ReplayDecision::Sent(ReplayEventKind::Write, _) if recorded.offset < self.sure_from => {
                ReplayDecision::Left(BEHIND_GUESS.into())
            }
            fate => fate,
        };
        let mut seen = TrackedRecord {
            session,
            before_ended,
            fate,
            is_cut,
            is_last: false,
            database: open.database.clone(),
            has_own_clock: open.has_own_clock,
            is_default_names: !open.has_names,
        };
        let is_quit = recorded.kind == EventKind::Quit || is_reset(recorded);
        let is_inferred = self.ends.is_some_and(|ends| ends.is_last(session, self.records));
        if is_quit || is_inferred {
            self.ends_inferred += u64::from(!is_quit);
            self.open.remove(&id);
            seen.is_last = true;
        }
        seen
    }

    /// The session of a record, opened if it is new; and the one that had its number before.
    fn find_session(&mut self, recorded: &LogRecord<'_>) -> (u64, Option<u64>) {
        let account = account_hash(recorded);
        // Logs of old tell no session: then an account is one.
        let id = recorded.session.or(account).unwrap_or(0);
        let connects = recorded.kind == EventKind::Connect;
        let is_other = |open: &OpenSession| {
            connects || matches!((open.account, account), (Some(then), Some(now)) if then != now)
        };
        let mut before_ended = None;
        if self.open.get(&id).is_some_and(is_other) {
            before_ended = self.open.remove(&id).map(|open| open.number);
            self.ends_inferred += 1;
        }
        let open = self.open.entry(id).or_insert_with(|| {
            let number = self.sessions;
            self.sessions += 1;
            // A number above all that the log has told so far was given out after it began.
            let is_young = self.newest > 0 && id > self.newest;
            let is_cut = self.ends.is_some_and(|ends| ends.is_cut(number));
            OpenSession {
                number,
                account,
                database: None,
                is_new: true,
                is_settled: self.setup.from_start
                    || connects
                    || is_young
                    || self.ends.is_some() && !is_cut,
                has_own_clock: false,
                has_names: false,
                temporary: TemporaryTables::default(),
                last_record: self.records,
            }
        });
        open.account = open.account.or(account);
        self.newest = self.newest.max(id);
        if self.open.len() > MOST_OPEN && self.ends.is_none() && !self.only_looks {
            self.forget_oldest();
        }
        (id, before_ended)
    }

    /// Forgets the half of the sessions that have not spoken for longest.
    fn forget_oldest(&mut self) {
        let mut last: Vec<u64> = self.open.values().map(|open| open.last_record).collect();
        self.has_forgotten = true;
        let middle = last.len() / 2;
        let (_, median, _) = last.select_nth_unstable(middle);
        let median = *median;
        self.open.retain(|_, open| open.last_record >= median);
    }
}

/// A number for account and host, where the log tells both.
fn account_hash(recorded: &LogRecord<'_>) -> Option<u64> {
    if recorded.user.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (recorded.user, recorded.host).hash(&mut hasher);
    Some(hasher.finish())
}

fn is_statement(recorded: &LogRecord<'_>) -> bool {
    matches!(recorded.kind, EventKind::Statement | EventKind::Execute)
        && !recorded.is_inner
        && matches!(recorded.confidence, Confidence::Clean | Confidence::Early)
}

/// Whether a session begins anew with it, on the connection that it has.
fn is_reset(recorded: &LogRecord<'_>) -> bool {
    recorded.kind == EventKind::Other
        && matches!(recorded.text, b"Reset Connection" | b"Change user")
}

impl OpenSession {
    fn note_database(&mut self, recorded: &LogRecord<'_>, setup: &ReplaySetup) {
        match recorded.database {
            DefaultDatabase::Named(name) => {
                if self.database.as_deref() != Some(name) {
                    self.database = Some(name.into());
                }
            }
            DefaultDatabase::None => self.database = None,
            DefaultDatabase::Unknown => {
                if let (None, Some(name)) = (&self.database, &setup.database) {
                    self.database = Some(name.as_slice().into());
                }
            }
        }
    }

    /// Takes note of what begins or ends a transaction.
    fn note_boundary(&mut self, recorded: &LogRecord<'_>) -> Option<TransactionBoundary> {
        let boundary = transaction_boundary(recorded.text).filter(|_| is_statement(recorded))?;
        self.is_settled = true;
        Some(boundary)
    }

    fn decide_record<'t>(
        &mut self,
        recorded: &LogRecord<'t>,
        setup: &ReplaySetup,
        is_known: bool,
    ) -> ReplayDecision<'t> {
        match recorded.kind {
            EventKind::Statement | EventKind::Execute => {}
            EventKind::Connect => return ReplayDecision::Opens,
            EventKind::Prepare => {
                return ReplayDecision::Left("text of a prepared statement".into());
            }
            EventKind::InitDb | EventKind::Quit | EventKind::Other => {
                return ReplayDecision::Nothing;
            }
        }
        if recorded.is_inner {
            return ReplayDecision::Left("inside a stored program".into());
        }
        match recorded.confidence {
            Confidence::Clean | Confidence::Early => {}
            confidence => {
                return ReplayDecision::Left(format!("doubtful: {}", confidence.as_str()).into());
            }
        }
        if is_known && !self.is_settled {
            return ReplayDecision::Left(CUT.into());
        }
        self.decide_statement(recorded, setup)
    }

    fn decide_statement<'t>(
        &mut self,
        recorded: &LogRecord<'t>,
        setup: &ReplaySetup,
    ) -> ReplayDecision<'t> {
        let text = recorded.text;
        let executes = setup.writes == WritesPlan::Execute;
        if let Some(name) = self.temporary.used_by(text).filter(|_| !executes) {
            return ReplayDecision::Left(format!("uses a temporary table: {name}").into());
        }
        self.temporary.note_table(text);
        let fate = match filter_statement(text, &setup.allowed) {
            FilterDecision::Read(sent) => ReplayDecision::Sent(
                ReplayEventKind::Read,
                if executes { Cow::Borrowed(text) } else { sent },
            ),
            FilterDecision::Set(sent) => {
                self.note_names(text);
                self.note_clock(text);
                return ReplayDecision::Sent(ReplayEventKind::Set, sent);
            }
            FilterDecision::Begin { is_snapshot } => {
                let begin = setup.guard.transaction_start(is_snapshot).as_bytes();
                return ReplayDecision::Sent(ReplayEventKind::Transaction, Cow::Borrowed(begin));
            }
            FilterDecision::End => {
                let is_commit =
                    statement_words(text).next().is_some_and(|w| w.eq_ignore_ascii_case(b"commit"));
                let end: &[u8] = if is_commit { b"COMMIT" } else { b"ROLLBACK" };
                return ReplayDecision::Sent(ReplayEventKind::Transaction, Cow::Borrowed(end));
            }
            FilterDecision::Use(name) => {
                self.database = Some(name.into());
                return ReplayDecision::Nothing;
            }
            FilterDecision::Write => self.decide_write(recorded, setup),
            FilterDecision::Refused(_) if executes && is_temporary(text) => {
                ReplayDecision::Sent(ReplayEventKind::Write, Cow::Borrowed(text))
            }
            FilterDecision::Refused(_) if executes && is_call(text) => decide_executed(recorded),
            FilterDecision::Refused(refusal) => ReplayDecision::Left(refusal_reason(&refusal)),
        };
        match fate {
            ReplayDecision::Sent(..)
                if recorded.database == DefaultDatabase::Unknown && self.database.is_none() =>
            {
                ReplayDecision::Left("its default database is not known (--database)".into())
            }
            fate => fate,
        }
    }

    /// What becomes of a statement that would write.
    fn decide_write<'t>(
        &self,
        recorded: &LogRecord<'t>,
        setup: &ReplaySetup,
    ) -> ReplayDecision<'t> {
        let text = recorded.text;
        match setup.writes {
            WritesPlan::Execute if !self.is_settled => ReplayDecision::Left(CUT.into()),
            WritesPlan::Execute => decide_executed(recorded),
            WritesPlan::Drop => ReplayDecision::Left("writes".into()),
            WritesPlan::Where | WritesPlan::Probe => {
                ReplayDecision::Sent(ReplayEventKind::ReadHalf, Cow::Borrowed(text))
            }
        }
    }

    /// Takes note of a session that says which character set its statements are in.
    fn note_names(&mut self, text: &[u8]) {
        let says = |word: &[u8]| {
            word.eq_ignore_ascii_case(b"names")
                || word.eq_ignore_ascii_case(b"character_set_client")
        };
        self.has_names |= statement_words(text).take(8).any(says);
    }

    /// Takes note of a session that sets its clock, or stops to.
    fn note_clock(&mut self, text: &[u8]) {
        let mut words = statement_words(text).take(8);
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"set")) {
            return;
        }
        if words.any(|word| word.eq_ignore_ascii_case(b"timestamp")) {
            let value = words.next().unwrap_or_default();
            self.has_own_clock = !(value.eq_ignore_ascii_case(b"default") || value == b"0");
        }
    }
}

const CUT: &str = "its transaction started before the log";

/// What begins or ends a transaction, or tells that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionBoundary {
    Begin,
    End,
}

/// Whether a statement is one, by its first words.
pub(super) fn transaction_boundary(text: &[u8]) -> Option<TransactionBoundary> {
    let mut words = statement_words(text);
    let first = words.next()?;
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let second = words.next().unwrap_or_default();
    if is(first, "begin") || is(first, "start") && is(second, "transaction") {
        Some(TransactionBoundary::Begin)
    } else if is(first, "commit") || is(first, "rollback") && !is(second, "to") {
        Some(TransactionBoundary::End)
    } else if is(first, "set") {
        let mut all = std::iter::once(second).chain(words.take(3));
        all.any(|word| is(word, "autocommit")).then_some(TransactionBoundary::Begin)
    } else {
        None
    }
}

/// Whether a statement is one of those that clients and drivers send first when they have connected.
fn is_greeting(text: &[u8]) -> bool {
    let mut words = statement_words(text);
    let mut next =
        |name: &str| words.next().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()));
    match text.trim_ascii_start().first() {
        Some(b's' | b'S' | b'/') if next("set") => next("names"),
        _ => text.trim_ascii().eq_ignore_ascii_case(b"select @@version_comment limit 1"),
    }
}

/// Why a statement is refused, with the name that tells which.
fn refusal_reason(refusal: &RefusalReason) -> Cow<'static, str> {
    match refusal.name() {
        Some(name) => format!("{}: {name}", refusal.reason_text()).into(),
        None => refusal.reason_text().into(),
    }
}

/// A write is executed where the log tells that it was done: one that was denied, or could not be parsed, stands in logs
/// like any other.
fn decide_executed<'t>(recorded: &LogRecord<'t>) -> ReplayDecision<'t> {
    let was_done = match recorded.errno {
        Some(errno) => errno == 0,
        None => recorded.rows_affected.is_some_and(|rows| rows > 0),
    };
    if !recorded.confidence.is_certain() {
        return ReplayDecision::Left(format!("doubtful: {}", recorded.confidence.as_str()).into());
    }
    if was_done {
        ReplayDecision::Sent(ReplayEventKind::Write, Cow::Borrowed(recorded.text))
    } else {
        ReplayDecision::Left(NO_OUTCOME.into())
    }
}

/// Whether a statement is about temporary tables, which only its own session feels.
fn is_temporary(text: &[u8]) -> bool {
    let mut words = statement_words(text).map(<[u8]>::to_ascii_lowercase);
    let first = words.next().unwrap_or_default();
    matches!(first.as_slice(), b"create" | b"drop")
        && words.next().is_some_and(|word| word == b"temporary")
}

/// Whether a statement calls a stored procedure.
fn is_call(text: &[u8]) -> bool {
    statement_words(text).next().is_some_and(|word| word.eq_ignore_ascii_case(b"call"))
}

/// Words of a statement, without comments at its begin.
pub(super) fn statement_words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text.trim_ascii_start();
    while rest.starts_with(b"/*") && !rest.starts_with(b"/*!") {
        let end = memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
        rest = rest[end..].trim_ascii_start();
    }
    rest.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;
