//! What mysqlslap runs: lists of statements with a count for each session, COMMITs in between, new sessions in between, and
//! statements made up by it. Built from plain data: `sweat slap` has words of its own for them.
//! Never knows: rounds, schemas, what is printed.

mod generated;
mod libc_random;
mod statement_list;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use generated::{GeneratedShape, GeneratedSql, GeneratedStatement, LoadMix, PrimaryColumn};
pub use statement_list::{SplitRule, StatementList};

use super::{BoxedWorker, WorkerContext, Workload};
use crate::client::Target;
use worker::SlapWorker;

/// In which order sessions take the statements of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementOrder {
    /// Each from the start, again and again.
    #[default]
    Each,
    /// All together once through, again and again.
    Shared,
    /// Each draws.
    Random,
}

/// How many statements are run, COMMITs and connects apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryLimit {
    /// The load ends by its time.
    None,
    /// So many by each session, and one more by the first few.
    PerSession {
        /// By each.
        each: u64,
        /// Sessions that run one more.
        extra: u64,
    },
}

impl QueryLimit {
    fn of_session(self, session: usize) -> u64 {
        match self {
            QueryLimit::None => u64::MAX,
            QueryLimit::PerSession { each, extra } => each + u64::from((session as u64) < extra),
        }
    }

    fn of_all(self, sessions: usize) -> u64 {
        match self {
            QueryLimit::None => u64::MAX,
            QueryLimit::PerSession { each, extra } => each * sessions as u64 + extra,
        }
    }
}

/// When a session is closed and another opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetachRule {
    /// Never.
    #[default]
    Never,
    /// After so many statements.
    Queries(u64),
    /// As mysqlslap does: before each statement whose place in the list is a multiple of this, so also before the first.
    Places(u64),
}

/// What sessions do, told as they do it.
#[derive(Clone, Copy, Debug)]
pub enum SessionNote<'a> {
    /// The first connection of a session is there.
    Connected,
    /// It sends this.
    Statement(&'a [u8]),
}

/// Is told what sessions do.
pub type SessionListener = Arc<dyn Fn(SessionNote<'_>) + Send + Sync>;

/// The load of one round.
#[derive(Clone)]
pub struct SlapLoad {
    /// What is run.
    pub list: Arc<StatementList>,
    /// Keys to choose from, for statements that take one.
    pub keys: Arc<Vec<String>>,
    /// How many.
    pub limit: QueryLimit,
    /// In which order.
    pub order: StatementOrder,
    /// COMMIT after so many statements, and at the end; 0 for none.
    pub commit_every: u64,
    /// When sessions are closed and opened.
    pub detach: DetachRule,
    /// Run by each session as it connects.
    pub init_command: Option<String>,
    /// Whether the first error ends the load, as in MariaDB's program.
    pub ends_at_error: bool,
    /// Told each statement; slow.
    pub listener: Option<SessionListener>,
}

impl std::fmt::Debug for SlapLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlapLoad").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl SlapLoad {
    fn is_ascii(&self) -> bool {
        let init_command = self.init_command.as_deref().unwrap_or_default();
        self.list.is_ascii()
            && init_command.is_ascii()
            && self.keys.iter().all(|key| key.is_ascii())
    }

    /// Tells what sessions would do, one after the other, with place holders for keys.
    pub fn describe_sessions(&self, sessions: usize, tell: &mut dyn FnMut(SessionNote<'_>)) {
        let shared = AtomicU64::new(0);
        for session in 0..sessions {
            worker::describe_session(self, &shared, session, sessions, tell);
        }
    }
}

/// The load of one round and where it goes.
#[derive(Debug)]
pub struct SlapWorkload {
    load: SlapLoad,
    target: Target,
    /// Statements begun by all sessions together, if they share.
    begun: AtomicU64,
}

impl SlapWorkload {
    /// A load on a target, which names the database.
    pub fn new(load: SlapLoad, target: Target) -> SlapWorkload {
        let target = target.with_multi_statements();
        let target = if load.is_ascii() { target.with_ascii_statements() } else { target };
        SlapWorkload { load, target, begun: AtomicU64::new(0) }
    }

    /// How many of the classes are those of statements: the first ones. COMMITs and connects are behind them.
    pub fn query_classes(&self) -> usize {
        self.load.list.classes().len()
    }

    fn commit_class(&self) -> u16 {
        self.query_classes() as u16
    }

    fn connect_class(&self) -> u16 {
        self.commit_class() + 1
    }
}

impl Workload for SlapWorkload {
    fn class_names(&self) -> Vec<String> {
        let mut names = self.load.list.classes().to_vec();
        names.extend(["commit (--commit)", "connect (--detach)"].map(str::to_owned));
        names
    }

    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        if part.worker == 0 {
            self.begun.store(0, Ordering::Relaxed);
        }
        Ok(Box::new(SlapWorker::new(self, part)))
    }
}
