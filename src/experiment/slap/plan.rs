//! What a run of mysqlslap is to do, what it tells, and how it fails.

use std::sync::Arc;

use crate::analysis::SlapBlock;
use crate::client;
use crate::plan::LoadPlan;
use crate::workload::slap::{GeneratedSql, SlapLoad, StatementList};

/// A storage engine to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlapEngine {
    /// Its name.
    pub name: String,
    /// What else is said of the table.
    pub options: String,
}

/// What is made before each round.
#[derive(Debug)]
pub enum RoundData {
    /// Nothing: the list runs on what is there.
    None,
    /// By the user's statements.
    Statements(StatementList),
    /// The generated table: its statements, and how many of them are run, CREATE included.
    Generated(GeneratedSql, u64),
}

/// How many statements are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCount {
    /// As many as the list has; those of a generated one are reported as 0.
    List,
    /// So many by each client.
    PerClient(u64),
    /// So many by all together, in all.
    Total(u64),
    /// As many as there is time for.
    Timed,
}

/// What a whole run of mysqlslap is to do.
pub struct SlapPlan {
    /// The schema.
    pub schema: String,
    /// Engines; none for the server's own.
    pub engines: Vec<SlapEngine>,
    /// Numbers of clients.
    pub clients: Vec<usize>,
    /// Rounds of each.
    pub iterations: u64,
    /// What is made before each round.
    pub data: RoundData,
    /// Whether the generated table has a key to choose from.
    pub has_keys: bool,
    /// How many statements.
    pub count: QueryCount,
    /// What a round's sessions do; limit, keys and listener are filled in here.
    pub load: SlapLoad,
    /// Time and rate; workers are filled in here.
    pub pace: LoadPlan,
    /// Run before and after each round.
    pub around: AroundRounds,
    /// Whether the schema stays.
    pub keeps_schema: bool,
    /// Whether a schema may be dropped that no run of ours made.
    pub may_drop: bool,
    /// Whether each statement of the load is told, which takes time.
    pub tells_statements: bool,
    /// Whether what is left of a division is dropped, and no share means no limit, as in mysqlslap.
    pub is_classic: bool,
}

/// What is run before and after each round, outside its time.
#[derive(Debug, Default)]
pub struct AroundRounds {
    /// Statements before.
    pub pre_queries: Option<StatementList>,
    /// Statements after.
    pub post_queries: Option<StatementList>,
    /// A command before.
    pub pre_system: Option<String>,
    /// A command after.
    pub post_system: Option<String>,
}

/// What goes on, as mysqlslap tells it.
#[derive(Clone, Copy, Debug)]
pub enum SlapEvent<'a> {
    /// An engine's rounds begin.
    EngineBegan,
    /// Data are made.
    DataBegan,
    /// The schema is made by this.
    SchemaCreated(&'a str),
    /// The schema is chosen.
    SchemaChosen(&'a str),
    /// Keys are looked up, if there are any.
    KeysBegan,
    /// A statement is sent, by whichever session.
    Statement(&'a [u8]),
    /// A client is connected.
    Connected,
    /// A command ended with another status than 0.
    CommandFailed(&'a str, i32),
    /// Rounds are summed up.
    StatsBegan,
    /// They came to this.
    BlockEnded(&'a SlapBlock),
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum SlapFailure {
    /// No session for what is done between the rounds.
    #[error("{0}")]
    Connect(client::Error),
    /// A statement outside the load failed.
    #[error("Cannot run query {sql} ERROR : {}", server_text(.error))]
    Statement {
        /// The statement.
        sql: String,
        /// What was said of it.
        error: client::Error,
    },
    /// The schema can't be made.
    #[error("Cannot create schema {schema} : {}", server_text(.error))]
    Schema {
        /// The schema.
        schema: String,
        /// What was said of it.
        error: client::Error,
    },
    /// The load ended at its first error.
    #[error("{0}")]
    Load(String),
}

/// A server's words without its number.
fn server_text(error: &client::Error) -> String {
    match error {
        client::Error::Server { text, .. } => text.clone(),
        other => other.to_string(),
    }
}

/// Is told what goes on; from sessions' threads, too.
pub type SlapObserver = Arc<dyn Fn(SlapEvent<'_>) + Send + Sync>;
