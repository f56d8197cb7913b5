//! The read-only filter: an allow-list over our own tokens. What it does not know is refused.
//! Never knows: sessions, servers.
//! Executable comments are code here; a WITH is followed to its verb. Where sql_mode or a server's version decides how a
//! statement is read, it is judged in every reading, and all must agree.
//! Start reading at `filter_statement`; the tokens are in `tokens.rs`, what a statement's first word leads to in `verbs.rs`.
//! To let more through: a name in `functions.rs` or `sets.rs`, a verb in `verbs.rs`, and its case in `tests.rs`.

mod functions;
mod sets;
pub(super) mod statement;
mod tables;
mod target_objects;
#[cfg(test)]
mod tests;
mod token_scan;
pub(super) mod tokens;
mod verbs;

use std::borrow::Cow;

pub use tables::{TemporaryTableChange, table_names, temporary_table};
pub use target_objects::read_target_objects;
use tokens::{EscapedQuotes, TokenError, Tokens};
pub(super) use verbs::with_clause_end;
use verbs::{StatementKind, classify_reading};

/// What the user allows beyond the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    /// Stored functions that may be called, in lower case, as `name` or `database.name`; `*` for all.
    pub functions: Vec<String>,
    /// Views of the target that call what is not allowed, in lower case, without their database: statements that name
    /// one are refused. `learn` finds them.
    pub views: Vec<String>,
    /// Stored functions of the target, in lower case, that bear the name of a built-in one. `learn` finds them.
    pub shadows: Vec<String>,
}

/// What the filter says of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterDecision<'t> {
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
    Refused(RefusalReason),
}

/// Why a statement is not sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefusalReason {
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
    /// It reads a view that calls a function that was not allowed, or whose text we may not see; the name.
    View(String),
    /// It is longer than what is looked at.
    Long,
}

impl RefusalReason {
    /// The reason in words without names, for counting.
    pub fn reason_text(&self) -> &'static str {
        match self {
            RefusalReason::Empty => "nothing but comments",
            RefusalReason::Verb(_) => "not on the list of read-only statements",
            RefusalReason::Function(_) => "calls a function with side effects",
            RefusalReason::UnknownFunction(_) => "calls a function that was not allowed",
            RefusalReason::Into => "writes a file or a variable",
            RefusalReason::Setting(_) => "sets something that is not on the list",
            RefusalReason::Several => "several statements in one text",
            RefusalReason::Unreadable => "can't be read",
            RefusalReason::Secret => "a secret was taken out of it",
            RefusalReason::Temporary(_) => "uses a temporary table",
            RefusalReason::Prepared => "text of a prepared statement",
            RefusalReason::View(_) => "reads a view that calls a function",
            RefusalReason::Long => "too long to check",
        }
    }

    /// The name it is about, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            RefusalReason::Verb(name)
            | RefusalReason::Function(name)
            | RefusalReason::UnknownFunction(name)
            | RefusalReason::Setting(name)
            | RefusalReason::Temporary(name)
            | RefusalReason::View(name) => Some(name),
            _ => None,
        }
    }
}

/// Rules on one statement.
pub fn filter_statement<'t>(statement: &'t [u8], allowed: &AllowList) -> FilterDecision<'t> {
    match classify_statement(statement, allowed) {
        Ok((StatementKind::Read(cuts), text)) if cuts.is_empty() => {
            FilterDecision::Read(Cow::Borrowed(text))
        }
        Ok((StatementKind::Read(cuts), text)) => {
            let text = remove_cuts(text, cuts);
            // What is left must be a statement that reads, by itself.
            match classify_statement(&text, allowed) {
                Ok((StatementKind::Read(more), rest)) if more.is_empty() && rest == text => {
                    FilterDecision::Read(Cow::Owned(text))
                }
                Err(refusal) => FilterDecision::Refused(refusal),
                Ok(_) => FilterDecision::Refused(RefusalReason::Unreadable),
            }
        }
        Ok((StatementKind::Set, text)) => FilterDecision::Set(Cow::Borrowed(text)),
        Ok((StatementKind::Begin { is_snapshot }, _)) => FilterDecision::Begin { is_snapshot },
        Ok((StatementKind::End, _)) => FilterDecision::End,
        Ok((StatementKind::Use(name), _)) => FilterDecision::Use(name),
        Ok((StatementKind::Write, _)) => FilterDecision::Write,
        Err(refusal) => FilterDecision::Refused(refusal),
    }
}

/// Judges a statement in every reading that differs; gives it without what stands behind its end.
fn classify_statement<'t>(
    text: &'t [u8],
    allowed: &AllowList,
) -> Result<(StatementKind, &'t [u8]), RefusalReason> {
    let mut found: Option<(StatementKind, &'t [u8])> = None;
    let mut is_empty = false;
    for variant in tokenize_all_modes(text)? {
        match statement::TokenizedStatement::new(text, variant)
            .and_then(|s| classify_reading(&s, allowed))
        {
            // For servers that skip its comments there is nothing to do.
            Err(RefusalReason::Empty) => is_empty = true,
            Err(refusal) => return Err(refusal),
            Ok(one) => match &found {
                None => found = Some(one),
                Some(other) if *other == one => {}
                Some(_) => return Err(RefusalReason::Unreadable),
            },
        }
    }
    found.ok_or(if is_empty { RefusalReason::Empty } else { RefusalReason::Unreadable })
}

/// Most tokens of all readings of a statement together: some 40 MB.
const MOST_VARIANT_TOKENS: usize = 2 << 20;

/// Every way in which servers may read a statement, by sql_mode and version. Where a server would only say that it
/// can't, the way is left out.
pub(super) fn tokenize_all_modes(text: &[u8]) -> Result<Vec<Vec<tokens::Token>>, RefusalReason> {
    let modes: &[EscapedQuotes] = if memchr::memchr(b'\\', text).is_some() {
        &[EscapedQuotes::Both, EscapedQuotes::Single, EscapedQuotes::None]
    } else {
        &[EscapedQuotes::Both]
    };
    let mut different: Vec<Tokens> = Vec::new();
    for mode in modes {
        match Tokens::from_statement(text, *mode) {
            Ok(tokens) if different.iter().any(|other| other.is_same(&tokens)) => {}
            Ok(tokens) => different.push(tokens),
            Err(TokenError::Invalid) => {}
            Err(TokenError::Unclear) => return Err(RefusalReason::Unreadable),
            Err(TokenError::Long) => return Err(RefusalReason::Long),
        }
    }
    if different.iter().map(Tokens::variants_size).sum::<usize>() > MOST_VARIANT_TOKENS {
        return Err(RefusalReason::Long);
    }
    Ok(different.into_iter().flat_map(Tokens::into_readings).collect())
}

/// A text without some of its bytes. Cuts may overlap: a hint may be inside of a locking clause.
fn remove_cuts(text: &[u8], mut cuts: Vec<token_scan::CutRange>) -> Vec<u8> {
    cuts.sort_unstable();
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for (from, to) in cuts {
        if to > at {
            out.extend_from_slice(&text[at..from.max(at)]);
            out.push(b' ');
            at = to;
        }
    }
    out.extend_from_slice(&text[at..]);
    out.truncate(out.trim_ascii_end().len());
    out
}
