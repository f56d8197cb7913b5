//! Which tables a statement names, and whether it makes or drops a temporary one. Pure.

use super::statement::Statement;
use super::tokens::{Escapes, Kind, Tokens};

/// What a statement does with a temporary table; its name in lower case, without its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Temporary {
    /// CREATE TEMPORARY TABLE.
    Created(String),
    /// DROP TEMPORARY TABLE.
    Dropped(String),
}

impl Temporary {
    /// The table's name.
    pub fn into_name(self) -> String {
        match self {
            Temporary::Created(name) | Temporary::Dropped(name) => name,
        }
    }
}

/// What a statement does with a temporary table, if anything.
pub fn temporary(statement: &[u8]) -> Option<Temporary> {
    temporary_of(&plain(statement)?)
}

/// Names of tables that a statement touches, in lower case, without their database, each once: what follows FROM, JOIN,
/// INTO, UPDATE, TABLE, and commas between such. Rather one too many than one too few.
pub fn tables(statement: &[u8]) -> Vec<String> {
    let Some(s) = plain(statement) else { return Vec::new() };
    let mut found = Vec::new();
    // Whether a comma at some depth parts tables; one place for each parenthesis around.
    let mut lists = vec![false];
    let mut is_next = false;
    for at in 0..s.len() {
        if s.is_sign(at, b'(') {
            lists.push(is_next);
        } else if s.is_sign(at, b')') {
            lists.pop();
            is_next = false;
        } else if s.is_sign(at, b',') {
            is_next = lists.last().copied().unwrap_or(false);
        } else if s.is_any(at, BEFORE_TABLES) && !s.is_member(at) {
            is_next = true;
            if let Some(list) = lists.last_mut() {
                *list = true;
            }
        } else if s.is_any(at, BEHIND_TABLES) && !s.is_member(at) {
            is_next = false;
            if let Some(list) = lists.last_mut() {
                *list = false;
            }
        } else if s.is_any(at, BETWEEN) {
        } else if is_next && s.is_name(at) {
            // With its database, it is the next but one.
            let is_database = s.is_sign(at + 1, b'.') && s.is_name(at + 2);
            if !is_database {
                found.push(s.name(at));
                is_next = false;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Words behind which a table's name follows.
const BEFORE_TABLES: &[&str] = &[
    "FROM",
    "JOIN",
    "STRAIGHT_JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "TABLES",
    "DELETE",
    "INSERT",
    "REPLACE",
    "USING",
];
/// Words that end a list of tables.
const BEHIND_TABLES: &[&str] = &[
    "WHERE", "SET", "ON", "GROUP", "ORDER", "HAVING", "LIMIT", "SELECT", "VALUES", "VALUE",
    "UNION", "WINDOW",
];
/// Words that may stand before the name.
const BETWEEN: &[&str] =
    &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE", "IF", "EXISTS", "NOT"];

/// One reading is enough where only names are wanted.
fn plain(statement: &[u8]) -> Option<Statement<'_>> {
    let tokens = Tokens::read(statement, Escapes::Both).ok()?;
    Statement::new(statement, tokens.variants().pop()?).ok()
}

pub(super) fn temporary_of(s: &Statement<'_>) -> Option<Temporary> {
    let is_created = s.is(0, "CREATE");
    let mut at = 1;
    if is_created && s.are(1, &["OR", "REPLACE"]) {
        at += 2;
    }
    if !(is_created || s.is(0, "DROP")) || !s.is(at, "TEMPORARY") {
        return None;
    }
    at += 1;
    if !s.is_any(at, &["TABLE", "TABLES", "SEQUENCE"]) {
        return None;
    }
    at += 1;
    while s.is_any(at, &["IF", "NOT", "EXISTS"]) {
        at += 1;
    }
    if s.is_sign(at + 1, b'.') {
        at += 2;
    }
    let is_name = matches!(s.kind(at), Some(Kind::Word | Kind::Name | Kind::Double));
    let of = if is_created { Temporary::Created } else { Temporary::Dropped };
    is_name.then(|| of(s.name(at)))
}
