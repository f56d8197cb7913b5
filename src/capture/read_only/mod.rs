//! The read-only filter: an allow-list over our own tokens. What it does not know is refused.
//! Never knows: sessions, servers.
//! Executable comments are code here; a WITH is followed to its verb.

use std::borrow::Cow;

/// What the user allows beyond the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Stored functions that may be called, in lower case, as `name` or `database.name`; `*` for all.
    pub functions: Vec<String>,
}

/// What the filter says of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling<'t> {
    /// It reads only, and may be sent as given here: locking clauses are taken out.
    Read(Cow<'t, [u8]>),
    /// It sets something of its own session that is on the list; may be sent as given here.
    Set(Cow<'t, [u8]>),
    /// It begins a transaction: to be sent as `START TRANSACTION READ ONLY`, with a consistent snapshot if it says so.
    Begin {
        /// Whether it asks for a consistent snapshot.
        is_snapshot: bool,
    },
    /// It ends a transaction: COMMIT or ROLLBACK, also with CHAIN, which is not sent.
    End,
    /// It changes the default database to this one, without backticks.
    Use(Vec<u8>),
    /// It changes rows: INSERT, REPLACE, UPDATE, DELETE in a form we know. Its read half may be sent.
    Write,
    /// It is not sent.
    Refused(Refusal),
}

/// Why a statement is not sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// Nothing but blanks and comments.
    Empty,
    /// Its verb is on no list; the verb, in capitals, cut.
    Verb(String),
    /// It calls a function that does something; the name.
    Function(String),
    /// It calls a stored function that the user did not allow, or one that we don't know; the name.
    UnknownFunction(String),
    /// It writes a file, or into a variable or table: INTO.
    Into,
    /// It sets something that is not on the list; the name.
    Setting(String),
    /// It has more than one statement.
    Several,
    /// A quote, comment or parenthesis has no end, or its tokens are not those we know.
    Unreadable,
    /// A secret was taken out of it when it was logged, so it is no statement any more.
    Secret,
    /// It names a table that only its own session had: a temporary table.
    Temporary(String),
    /// Its text is not in the log (`PREPARE s FROM ...`), or only the expanded one is wanted.
    Prepared,
}

impl Refusal {
    /// The reason in words without names, for counting.
    pub fn words(&self) -> &'static str {
        match self {
            Refusal::Empty => "nothing but comments",
            Refusal::Verb(_) => "not on the list of what reads only",
            Refusal::Function(_) => "calls a function that does something",
            Refusal::UnknownFunction(_) => "calls a function that was not allowed",
            Refusal::Into => "writes a file or a variable",
            Refusal::Setting(_) => "sets what is not on the list",
            Refusal::Several => "several statements in one",
            Refusal::Unreadable => "can't be read",
            Refusal::Secret => "a secret was taken out of it",
            Refusal::Temporary(_) => "uses a temporary table",
            Refusal::Prepared => "text of a prepared statement",
        }
    }
}

/// Rules on one statement.
pub fn rule<'t>(statement: &'t [u8], _allowed: &Allowed) -> Ruling<'t> {
    // Until the lists are there, nothing is known, so all is refused.
    let verb = statement.split(|b| !b.is_ascii_alphabetic()).next().unwrap_or_default();
    let verb = String::from_utf8_lossy(&verb[..verb.len().min(32)]).to_ascii_uppercase();
    Ruling::Refused(if verb.is_empty() { Refusal::Unreadable } else { Refusal::Verb(verb) })
}
