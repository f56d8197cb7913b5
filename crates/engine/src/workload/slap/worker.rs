//! One session: which statement comes next, and when it commits or connects again.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use super::{DetachRule, SessionNote, SlapLoad, SlapWorkload, StatementOrder};
use crate::base::random::Rng;
use crate::base::{Nanos, reactor};
use crate::client::Session;
use crate::recorder::{ClassId, EventError, EventErrorKind, EventOutcome, Tally};
use crate::workload::{ErrorPolicy, OpenError, Worker, WorkerContext, sql};

/// Attempts to connect.
const TRIES: u32 = 10;
/// Between two of them: so many looks, each after so long.
const LOOKS: u32 = 5;
const LOOK: Nanos = Nanos(20_000_000);
/// What a session that commits by itself sends first, and then.
const BEGIN: &[u8] = b"SET AUTOCOMMIT=0";
const COMMIT: &[u8] = b"COMMIT";
/// Which of the run's random numbers are ours.
const STREAM: u64 = 0x51a9;

/// What a session does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionStep {
    /// The statement at this place of the list.
    Query(usize),
    Commit,
    Connect,
}

/// One session's life.
pub(super) struct SlapWorker<'a> {
    workload: &'a SlapWorkload,
    part: WorkerContext,
    session: Option<Session>,
    turns: TurnCounter<'a>,
    next: SessionStep,
    random: Rng,
    /// A statement with its key.
    text: Vec<u8>,
    error_text: String,
}

/// Decides what comes next.
struct TurnCounter<'a> {
    load: &'a SlapLoad,
    /// Statements begun by all sessions together, if they share.
    shared: &'a AtomicU64,
    limit: u64,
    /// Statements of this session that have begun.
    begun: u64,
    /// A COMMIT is due before the next statement.
    commits: bool,
    /// The connection is new for the next statement.
    is_fresh: bool,
    /// The COMMIT at the end has begun.
    is_over: bool,
}

impl<'a> TurnCounter<'a> {
    fn new(
        load: &'a SlapLoad,
        shared: &'a AtomicU64,
        session: usize,
        sessions: usize,
    ) -> TurnCounter<'a> {
        let limit = match load.order {
            StatementOrder::Shared => load.limit.of_all(sessions),
            StatementOrder::Each | StatementOrder::Random => load.limit.of_session(session),
        };
        let limit = if load.list.statement_count() == 0 { 0 } else { limit };
        let (begun, commits, is_fresh, is_over) = (0, false, false, false);
        TurnCounter { load, shared, limit, begun, commits, is_fresh, is_over }
    }

    /// What is next; `None` at the end.
    fn next_step(&mut self, random: &mut Rng) -> Option<SessionStep> {
        let load = self.load;
        if std::mem::take(&mut self.commits) {
            return Some(SessionStep::Commit);
        }
        let is_shared = load.order == StatementOrder::Shared;
        let is_last = match is_shared {
            true => self.shared.load(Ordering::Relaxed) >= self.limit,
            false => self.begun >= self.limit,
        };
        if is_last {
            return self.last_step();
        }
        let statements = load.list.statement_count() as u64;
        let is_due = match load.detach {
            DetachRule::Never => false,
            DetachRule::Queries(every) => self.begun > 0 && self.begun % every == 0,
            DetachRule::Places(every) => self.begun % statements % every == 0,
        };
        if is_due && !std::mem::replace(&mut self.is_fresh, true) {
            return Some(SessionStep::Connect);
        }
        self.is_fresh = false;
        let number = match load.order {
            StatementOrder::Each => self.begun,
            StatementOrder::Random => random.uniform_below(statements),
            StatementOrder::Shared => match self.shared.fetch_add(1, Ordering::Relaxed) {
                number if number >= self.limit => return self.last_step(),
                number => number,
            },
        };
        self.begun += 1;
        self.commits = load.commit_every > 0 && self.begun % load.commit_every == 0;
        Some(SessionStep::Query((number % statements) as usize))
    }

    /// The COMMIT at the end, which comes even right after another.
    fn last_step(&mut self) -> Option<SessionStep> {
        let commits = self.load.commit_every > 0;
        (commits && !std::mem::replace(&mut self.is_over, true)).then_some(SessionStep::Commit)
    }

    /// Whether statements wait for a COMMIT that will not come any more.
    fn is_uncommitted(&self) -> bool {
        self.load.commit_every > 0 && !self.is_over && self.begun > 0
    }
}

impl<'a> SlapWorker<'a> {
    pub(super) fn new(workload: &'a SlapWorkload, part: WorkerContext) -> SlapWorker<'a> {
        SlapWorker {
            turns: TurnCounter::new(&workload.load, &workload.begun, part.worker, part.workers),
            random: Rng::new(part.seed, part.worker as u64, STREAM),
            workload,
            part,
            session: None,
            next: SessionStep::Commit,
            text: Vec::new(),
            error_text: String::new(),
        }
    }

    fn tell(&self, note: SessionNote<'_>) {
        if let Some(listener) = &self.workload.load.listener {
            listener(note);
        }
    }

    async fn connect(&mut self) -> Result<(), OpenError> {
        self.session = None;
        let mut tries = 1;
        let mut session = loop {
            match self.workload.target.open_session(&self.part.abandon).await {
                Ok(session) => break session,
                Err(error) if tries == TRIES || self.part.abandon.is_set() => {
                    return Err(error.into());
                }
                Err(_) => tries += 1,
            }
            let mut looks = 0;
            poll_fn(|_| {
                looks += 1;
                if looks > LOOKS {
                    return Poll::Ready(());
                }
                if reactor::is_running() {
                    reactor::wake_in(LOOK);
                }
                Poll::Pending
            })
            .await;
        };
        if let Some(command) = &self.workload.load.init_command {
            run_text(&mut session, command.as_bytes()).await?;
        }
        self.session = Some(session);
        Ok(())
    }
}

/// Tells what a session would do, with place holders for keys.
pub(super) fn describe_session(
    load: &SlapLoad,
    shared: &AtomicU64,
    session: usize,
    sessions: usize,
    tell: &mut dyn FnMut(SessionNote<'_>),
) {
    let mut turns = TurnCounter::new(load, shared, session, sessions);
    let mut random = Rng::new(0, session as u64, STREAM);
    tell(SessionNote::Connected);
    if load.commit_every > 0 {
        tell(SessionNote::Statement(BEGIN));
    }
    while let Some(step) = turns.next_step(&mut random) {
        match step {
            SessionStep::Query(place) => {
                tell(SessionNote::Statement(load.list.statement_text(place)));
            }
            SessionStep::Commit => tell(SessionNote::Statement(COMMIT)),
            SessionStep::Connect => {}
        }
    }
}

/// Runs what makes a session ready.
async fn run_text(session: &mut Session, text: &[u8]) -> Result<(), OpenError> {
    match session.execute(&mut Tally::default(), text).await {
        Ok(_) => Ok(()),
        Err(EventError { kind, code }) => {
            Err(OpenError { kind, code, text: format!("{code} {}", session.error_text()) })
        }
    }
}

impl Worker for SlapWorker<'_> {
    async fn open(&mut self) -> Result<(), OpenError> {
        self.connect().await?;
        self.tell(SessionNote::Connected);
        if self.workload.load.commit_every > 0 {
            self.tell(SessionNote::Statement(BEGIN));
            if let Some(session) = &mut self.session {
                run_text(session, BEGIN).await?;
            }
        }
        Ok(())
    }

    async fn next_event_time(&mut self, now: Nanos) -> Option<Nanos> {
        self.next = self.turns.next_step(&mut self.random)?;
        Some(now)
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        let workload = self.workload;
        let (class, reads) = match self.next {
            SessionStep::Query(place) => {
                let statement = workload.load.list.statement(place);
                (statement.class, statement.reads)
            }
            SessionStep::Commit => (workload.commit_class(), false),
            SessionStep::Connect => (workload.connect_class(), false),
        };
        let class = ClassId(class);
        let text: &[u8] = match self.next {
            SessionStep::Connect => {
                let error = self.connect().await.err().map(|error| {
                    self.error_text = error.text;
                    // Without a session nothing can follow.
                    EventError { kind: EventErrorKind::Lost, code: error.code }
                });
                return EventOutcome { class, error };
            }
            SessionStep::Commit => COMMIT,
            SessionStep::Query(place) => match workload.load.list.text_before_key(place) {
                None => workload.load.list.statement_text(place),
                Some(before) => {
                    let keys = &workload.load.keys;
                    self.text.clear();
                    self.text.extend_from_slice(before);
                    if !keys.is_empty() {
                        let key = self.random.uniform_below(keys.len() as u64) as usize;
                        self.text.extend_from_slice(keys[key].as_bytes());
                    }
                    self.text.push(b'\'');
                    &self.text
                }
            },
        };
        if let Some(listener) = &workload.load.listener {
            listener(SessionNote::Statement(text));
        }
        let session = self.session.as_mut().expect("open comes before any event");
        let error = match session.execute(tally, text).await {
            Ok(reply) => {
                let counter = match reads {
                    true => sql::READS,
                    false if reply.affected > 0 => sql::WRITES,
                    false => sql::OTHER,
                };
                tally.counts[counter] += 1;
                None
            }
            Err(error) => {
                self.error_text.clear();
                self.error_text.push_str(session.error_text());
                Some(error)
            }
        };
        EventOutcome { class, error }
    }

    fn error_policy(&self, _error: EventError) -> ErrorPolicy {
        match self.workload.load.ends_at_error {
            true => ErrorPolicy::FailLoad,
            false => ErrorPolicy::CountEvent,
        }
    }

    fn failure_text(&self, _error: EventError) -> String {
        let list = &self.workload.load.list;
        let text = match self.next {
            SessionStep::Query(place) if list.text_before_key(place).is_some() => &self.text[..],
            SessionStep::Query(place) => list.statement_text(place),
            SessionStep::Commit | SessionStep::Connect => COMMIT,
        };
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches('\0');
        format!("Cannot run query {text} ERROR : {}", self.error_text)
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }

    async fn close(&mut self) {
        let is_uncommitted = self.turns.is_uncommitted();
        if let Some(mut session) = self.session.take() {
            if is_uncommitted && session.is_usable() {
                // A load that ends by its time leaves no work behind that the server would undo.
                let _ = session.execute(&mut Tally::default(), COMMIT).await;
            }
            session.quit().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{QueryLimit, SlapLoad, SplitRule, StatementList};
    use super::*;
    use crate::base::Stop;
    use crate::client::Target;
    use crate::plan::AddressPlan;

    fn load(text: &str, limit: QueryLimit) -> SlapLoad {
        let list = StatementList::from_text(text.as_bytes(), b';', SplitRule::Quoted, "-q");
        SlapLoad {
            list: Arc::new(list.unwrap()),
            keys: Arc::default(),
            limit,
            order: StatementOrder::Each,
            commit_every: 0,
            detach: DetachRule::Never,
            init_command: None,
            ends_at_error: false,
            listener: None,
        }
    }

    fn each(each: u64, extra: u64) -> QueryLimit {
        QueryLimit::PerSession { each, extra }
    }

    /// What the sessions do in turn: places, `C` for COMMIT, `R` for connect.
    fn steps(load: SlapLoad, sessions: usize) -> Vec<String> {
        let plan = AddressPlan { host: Some("127.0.0.1".to_owned()), ..AddressPlan::default() };
        let workload = SlapWorkload::new(load, Target::new(&plan).unwrap());
        let part = |worker| WorkerContext {
            worker,
            workers: sessions,
            seed: 1,
            shares_thread: false,
            only_class: None,
            abandon: Stop::new(),
        };
        let mut workers: Vec<_> =
            (0..sessions).map(|worker| SlapWorker::new(&workload, part(worker))).collect();
        let mut told = vec![String::new(); sessions];
        loop {
            let mut is_over = true;
            for (worker, told) in workers.iter_mut().zip(&mut told) {
                let Some(step) = worker.turns.next_step(&mut worker.random) else { continue };
                is_over = false;
                match step {
                    SessionStep::Query(place) => *told += &place.to_string(),
                    SessionStep::Commit => told.push('C'),
                    SessionStep::Connect => told.push('R'),
                }
            }
            if is_over {
                return told;
            }
        }
    }

    #[test]
    fn each_session_runs_the_list_again_until_its_count() {
        assert_eq!(steps(load("a;b", each(2, 0)), 2), ["01", "01"]);
        assert_eq!(steps(load("a;b", each(3, 1)), 2), ["0101", "010"], "7 over 2 sessions");
        assert_eq!(steps(load("", each(3, 1)), 2), ["", ""]);
    }

    #[test]
    fn shared_statements_are_run_once_by_all_together() {
        let mut shared = load("a;b;c;d", each(2, 1));
        shared.order = StatementOrder::Shared;
        assert_eq!(steps(shared, 2), ["020", "13"]);
    }

    #[test]
    fn commits_come_after_so_many_and_at_the_end() {
        let mut two = load("a;b;c", each(5, 0));
        two.commit_every = 2;
        assert_eq!(steps(two.clone(), 1), ["01C20C1C"]);
        two.limit = each(2, 0);
        assert_eq!(steps(two, 1), ["01CC"], "one more at the end, as mysqlslap");
    }

    #[test]
    fn sessions_detach_by_statements_or_by_places() {
        let mut two = load("a;b;c", each(7, 0));
        two.detach = DetachRule::Queries(2);
        assert_eq!(steps(two.clone(), 1), ["01R20R12R0"]);
        two.detach = DetachRule::Places(2);
        assert_eq!(steps(two.clone(), 1), ["R01R2R01R2R0"]);
        two.list = load("a", each(0, 0)).list;
        two.limit = each(2, 0);
        assert_eq!(steps(two, 1), ["R0R0"], "with one statement before each");
    }

    #[test]
    fn random_order_draws_from_the_list() {
        let mut random = load("a;b;c", each(300, 0));
        random.order = StatementOrder::Random;
        let told = steps(random, 1).remove(0);
        for place in ["0", "1", "2"] {
            let times = told.matches(place).count();
            assert!((60..140).contains(&times), "{place} came {times} times");
        }
    }
}
