//! Which tables a statement names, and whether it makes or drops a temporary one. Pure.

use super::statement::TokenizedStatement;
use super::tokens::{EscapedQuotes, TokenKind, Tokens};

/// What a statement does with a temporary table; its name in lower case, without its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemporaryTableChange {
    /// CREATE TEMPORARY TABLE.
    Created(String),
    /// DROP TEMPORARY TABLE.
    Dropped(String),
}

impl TemporaryTableChange {
    /// The table's name.
    pub fn into_name(self) -> String {
        match self {
            TemporaryTableChange::Created(name) | TemporaryTableChange::Dropped(name) => name,
        }
    }
}

/// What a statement does with a temporary table, if anything.
pub fn temporary_table(statement: &[u8]) -> Option<TemporaryTableChange> {
    find_temporary_table(&tokenize_default(statement)?)
}

/// Names of tables that a statement touches, in lower case, without their database, each once: what follows FROM, JOIN,
/// INTO, UPDATE, TABLE, and commas between such. Rather one too many than one too few.
pub fn table_names(statement: &[u8]) -> Vec<String> {
    let Some(s) = tokenize_default(statement) else { return Vec::new() };
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
        } else if s.is_any_word(at, BEFORE_TABLES) && !s.is_member(at) {
            is_next = true;
            if let Some(list) = lists.last_mut() {
                *list = true;
            }
        } else if s.is_any_word(at, BEHIND_TABLES) && !s.is_member(at) {
            is_next = false;
            if let Some(list) = lists.last_mut() {
                *list = false;
            }
        } else if s.is_any_word(at, BETWEEN) {
        } else if is_next && s.is_name(at) {
            // With its database, it is the next but one.
            let is_database = s.is_sign(at + 1, b'.') && s.is_name(at + 2);
            if !is_database {
                found.push(s.token_name(at));
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
fn tokenize_default(statement: &[u8]) -> Option<TokenizedStatement<'_>> {
    let tokens = Tokens::from_statement(statement, EscapedQuotes::Both).ok()?;
    TokenizedStatement::new(statement, tokens.into_readings().pop()?).ok()
}

pub(super) fn find_temporary_table(s: &TokenizedStatement<'_>) -> Option<TemporaryTableChange> {
    let is_created = s.is_word(0, "CREATE");
    let mut at = 1;
    if is_created && s.are_words(1, &["OR", "REPLACE"]) {
        at += 2;
    }
    if !(is_created || s.is_word(0, "DROP")) || !s.is_word(at, "TEMPORARY") {
        return None;
    }
    at += 1;
    if !s.is_any_word(at, &["TABLE", "TABLES", "SEQUENCE"]) {
        return None;
    }
    at += 1;
    while s.is_any_word(at, &["IF", "NOT", "EXISTS"]) {
        at += 1;
    }
    if s.is_sign(at + 1, b'.') {
        at += 2;
    }
    let is_name =
        matches!(s.token_kind(at), Some(TokenKind::Word | TokenKind::Name | TokenKind::Double));
    let of = if is_created { TemporaryTableChange::Created } else { TemporaryTableChange::Dropped };
    is_name.then(|| of(s.token_name(at)))
}
