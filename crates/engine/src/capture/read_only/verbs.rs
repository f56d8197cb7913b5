//! What a statement's first word leads to. Pure.
//! To let a kind of statement through: its arm in `classify_reading`.

use super::statement::TokenizedStatement;
use super::token_scan::{CutRange, TokenScan, hint_cuts};
use super::tokens::TokenKind;
use super::{AllowList, RefusalReason, sets};

/// What a statement is found to be, in one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// Reads; with the bytes to leave out.
    Read(Vec<CutRange>),
    /// Sets what is harmless.
    Set,
    /// Begins a transaction.
    Begin {
        /// With a consistent snapshot.
        is_snapshot: bool,
    },
    /// Ends one.
    End,
    /// Changes the default database.
    Use(Vec<u8>),
    /// Changes rows.
    Write,
}

/// Second words of SHOW.
#[rustfmt::skip]
const SHOWN: &[&str] = &[
    "AUTHORS", "BINARY", "BINLOG", "CHARACTER", "CHARSET", "CLIENT_STATISTICS", "COLLATION",
    "COLUMNS", "CONTRIBUTORS", "COUNT", "CREATE", "DATABASES", "ENGINE", "ENGINES", "ERRORS",
    "EVENTS", "EXPLAIN", "EXTENDED", "FIELDS", "FULL", "FUNCTION", "GLOBAL", "GRANTS", "INDEX",
    "INDEXES", "INDEX_STATISTICS", "KEYS", "LOCAL", "LOCALES", "MASTER", "OPEN", "PACKAGE",
    "PLUGINS", "PRIVILEGES", "PROCEDURE", "PROCESSLIST", "PROFILE", "PROFILES", "REPLICA",
    "REPLICAS", "SCHEMAS", "SESSION", "SLAVE", "STATUS", "STORAGE", "TABLE", "TABLES",
    "TABLE_STATISTICS", "TRIGGERS", "USER_STATISTICS", "VARIABLES", "WARNINGS",
];

/// Judges one reading; gives the statement without what stands behind its end.
pub(super) fn classify_reading<'t>(
    s: &TokenizedStatement<'t>,
    allowed: &AllowList,
) -> Result<(StatementKind, &'t [u8]), RefusalReason> {
    let text = s.text();
    let words = |judged| Ok((judged, text));
    if s.is_sign(0, b'(') || s.is_any_word(0, &["SELECT", "WITH", "VALUES", "TABLE"]) {
        return words(check_select(s, 0, allowed)?);
    }
    if s.token_kind(0) != Some(TokenKind::Word) {
        return Err(RefusalReason::Unreadable);
    }
    let verb = s.display_word(0);
    match verb.as_str() {
        "SET" => sets::check_set(s, allowed).and_then(|()| words(StatementKind::Set)),
        "BEGIN" if s.len() == 1 || (s.is_word(1, "WORK") && s.len() == 2) => {
            words(StatementKind::Begin { is_snapshot: false })
        }
        "START" if s.is_word(1, "TRANSACTION") => words(check_start_transaction(s)?),
        "COMMIT" | "ROLLBACK" if is_transaction_end(s) => words(StatementKind::End),
        "ROLLBACK" | "SAVEPOINT" | "RELEASE" if is_savepoint(s) => {
            words(StatementKind::Read(Vec::new()))
        }
        "USE" if s.is_name(1) && s.len() == 2 => words(StatementKind::Use(s.unquoted_bytes(1))),
        "SHOW" => words(check_show(s, allowed)?),
        "DESC" | "DESCRIBE" | "EXPLAIN" => words(check_explain(s, allowed)?),
        "ANALYZE" => words(check_analyze(s, allowed)?),
        "DO" => words(check_read(s, 1, allowed)?),
        "INSERT" | "REPLACE" | "UPDATE" | "DELETE" => check_write(s, 0, allowed).and_then(words),
        "PREPARE" => Err(RefusalReason::Prepared),
        "EXECUTE" if s.is_name(1) && (s.len() == 2 || s.is_word(2, "USING")) => {
            Err(RefusalReason::Prepared)
        }
        "DEALLOCATE" => Err(RefusalReason::Prepared),
        "DROP" if s.is_word(1, "PREPARE") => Err(RefusalReason::Prepared),
        "CREATE" | "DROP" | "ALTER" => Err(definition_refusal(s, verb)),
        _ => Err(RefusalReason::Verb(verb)),
    }
}

/// Everything from a token on only reads.
fn check_read(
    s: &TokenizedStatement<'_>,
    from: usize,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let mut scan = TokenScan { statement: s, allowed, may: &[], cuts: Vec::new() };
    scan.check_tokens(from, s.len())?;
    let mut cuts = scan.cuts;
    cuts.extend(hint_cuts(s));
    cuts.sort_unstable();
    Ok(StatementKind::Read(cuts))
}

/// SELECT, VALUES, TABLE, also in parentheses; WITH, followed to its verb.
fn check_select(
    s: &TokenizedStatement<'_>,
    from: usize,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let mut at = from;
    while s.is_sign(at, b'(') {
        at += 1;
    }
    if s.is_word(at, "WITH") {
        at = with_clause_end(s, at).ok_or(RefusalReason::Unreadable)?;
        if at > 0
            && s.is_any_word(at, &["UPDATE", "DELETE"])
            && s.is_word(from, "WITH")
            && from == 0
        {
            return check_write(s, at, allowed);
        }
        while s.is_sign(at, b'(') {
            at += 1;
        }
    }
    if s.is_any_word(at, &["SELECT", "VALUES"]) || (s.is_word(at, "TABLE") && s.is_name(at + 1)) {
        return check_read(s, from, allowed);
    }
    match s.token_kind(at) {
        Some(TokenKind::Word) => Err(RefusalReason::Verb(s.display_word(at))),
        _ => Err(RefusalReason::Unreadable),
    }
}

/// The token behind `WITH a AS (..), b (c) AS (..)`.
pub(in crate::capture) fn with_clause_end(s: &TokenizedStatement<'_>, at: usize) -> Option<usize> {
    let mut at = at + 1 + usize::from(s.is_word(at + 1, "RECURSIVE"));
    loop {
        if !s.is_name(at) {
            return None;
        }
        at += 1;
        if s.is_sign(at, b'(') {
            at = s.matching_paren(at) + 1;
        }
        if !(s.is_word(at, "AS") && s.is_sign(at + 1, b'(')) {
            return None;
        }
        at = s.matching_paren(at + 1) + 1;
        // MariaDB: CYCLE columns RESTRICT
        if s.is_word(at, "CYCLE") {
            at += 1;
            while s.is_name(at) && !s.is_word(at, "RESTRICT") {
                at += 1 + usize::from(s.is_sign(at + 1, b','));
            }
            at += 1;
        }
        if !s.is_sign(at, b',') {
            return Some(at);
        }
        at += 1;
    }
}

/// START TRANSACTION: what it says of reading and writing does not matter, as it is sent in our words.
fn check_start_transaction(s: &TokenizedStatement<'_>) -> Result<StatementKind, RefusalReason> {
    let mut is_snapshot = false;
    let mut at = 2;
    while at < s.len() {
        if s.are_words(at, &["WITH", "CONSISTENT", "SNAPSHOT"]) {
            is_snapshot = true;
            at += 3;
        } else if s.are_words(at, &["READ", "ONLY"]) || s.are_words(at, &["READ", "WRITE"]) {
            at += 2;
        } else {
            return Err(RefusalReason::Verb("START TRANSACTION".to_owned()));
        }
        if at < s.len() && !s.is_sign(at, b',') {
            return Err(RefusalReason::Verb("START TRANSACTION".to_owned()));
        }
        at += 1;
    }
    Ok(StatementKind::Begin { is_snapshot })
}

/// COMMIT and ROLLBACK, with WORK, CHAIN, RELEASE.
fn is_transaction_end(s: &TokenizedStatement<'_>) -> bool {
    (1..s.len()).all(|at| s.is_any_word(at, &["WORK", "AND", "NO", "CHAIN", "RELEASE"]))
}

/// SAVEPOINT a; ROLLBACK TO SAVEPOINT a, with WORK or without SAVEPOINT; RELEASE SAVEPOINT a.
fn is_savepoint(s: &TokenizedStatement<'_>) -> bool {
    let mut at = 1;
    if s.is_word(0, "ROLLBACK") {
        at += usize::from(s.is_word(at, "WORK"));
        if !s.is_word(at, "TO") {
            return false;
        }
        at += 1;
        // A savepoint may have this name.
        at += usize::from(s.is_word(at, "SAVEPOINT") && at + 1 < s.len());
    } else if s.is_word(0, "RELEASE") {
        if !s.is_word(at, "SAVEPOINT") {
            return false;
        }
        at += 1;
    }
    s.is_name(at) && at + 1 == s.len()
}

fn check_show(
    s: &TokenizedStatement<'_>,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let mut at = 1;
    if s.is_sign(at, b'@') {
        return Err(RefusalReason::Verb("SHOW".to_owned()));
    }
    if !s.is_any_word(at, SHOWN) {
        return match s.is_word(at, "ALL") && s.is_any_word(at + 1, &["SLAVES", "REPLICAS"]) {
            true => check_read(s, at + 2, allowed),
            false => Err(RefusalReason::Verb(format!("SHOW {}", s.display_word(at)))),
        };
    }
    if s.is_word(at, "COUNT") {
        return check_read(s, at + 1, allowed);
    }
    if s.is_word(at, "CREATE") {
        // Kind and name, and nothing else.
        at += 1 + usize::from(s.is_word(at + 1, "PACKAGE") && s.is_word(at + 2, "BODY"));
        let from = if s.are_words(at + 1, &["IF", "NOT", "EXISTS"]) { at + 4 } else { at + 1 };
        let is_name = |at| s.is_name(at) || s.is_sign(at, b'.') || s.is_sign(at, b'@');
        let is_plain =
            (from..s.len()).all(|at| is_name(at) || s.token_kind(at) == Some(TokenKind::Text));
        return match s.token_kind(at) == Some(TokenKind::Word) && is_plain {
            true => Ok(StatementKind::Read(Vec::new())),
            false => Err(RefusalReason::Verb("SHOW CREATE".to_owned())),
        };
    }
    // SHOW [FULL|PROCEDURE|..] what ..: the words before the name are no others.
    at += 1 + usize::from(s.is_word(at, "PROCEDURE"));
    check_read(s, at, allowed)
}

/// EXPLAIN of a table or a SELECT.
fn check_explain(
    s: &TokenizedStatement<'_>,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let mut at = 1;
    loop {
        if s.is_any_word(at, &["EXTENDED", "PARTITIONS"]) && at + 1 < s.len() {
            at += 1;
        } else if s.is_word(at, "FORMAT") && s.is_sign(at + 1, b'=') {
            at += 3;
        } else if s.is_word(at, "ANALYZE") && at + 1 < s.len() {
            // It runs the SELECT that must follow.
            at += 1;
        } else {
            break;
        }
    }
    if s.is_sign(at, b'(') || s.is_any_word(at, &["SELECT", "WITH", "VALUES", "TABLE"]) {
        return match check_select(s, at, allowed)? {
            StatementKind::Read(cuts) => Ok(StatementKind::Read(cuts)),
            _ => Err(RefusalReason::Verb("EXPLAIN".to_owned())),
        };
    }
    // A table, and one of its columns or a pattern; INTO is neither's name without quotes.
    let verbs =
        ["INTO", "INSERT", "REPLACE", "UPDATE", "DELETE", "FOR", "ANALYZE", "CONNECTION", "CALL"];
    let is_column =
        |at| !s.is_word(at, "INTO") && (s.is_name(at) || s.token_kind(at) == Some(TokenKind::Text));
    let is_table = at == 1
        && !s.is_any_word(1, &verbs)
        && s.name_end(1)
            .is_some_and(|end| end == s.len() || (end + 1 == s.len() && is_column(end)));
    if !is_table {
        return Err(RefusalReason::Verb(format!("{} {}", s.display_word(0), s.display_word(at))));
    }
    Ok(StatementKind::Read(Vec::new()))
}

/// MariaDB's ANALYZE of a SELECT runs it and tells its plan; of anything else it does that, too.
fn check_analyze(
    s: &TokenizedStatement<'_>,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let at = if s.is_word(1, "FORMAT") && s.is_sign(2, b'=') { 4 } else { 1 };
    if !s.is_any_word(at, &["SELECT", "WITH"]) {
        return Err(RefusalReason::Verb(format!("ANALYZE {}", s.display_word(at))));
    }
    match check_select(s, at, allowed)? {
        StatementKind::Read(cuts) => Ok(StatementKind::Read(cuts)),
        _ => Err(RefusalReason::Verb("ANALYZE".to_owned())),
    }
}

/// What changes definitions is refused; of a temporary table the caller wants to know the name.
fn definition_refusal(s: &TokenizedStatement<'_>, verb: String) -> RefusalReason {
    match super::tables::find_temporary_table(s) {
        Some(temporary) => RefusalReason::Temporary(temporary.into_name()),
        None => RefusalReason::Verb(format!("{verb} {}", s.display_word(1))),
    }
}

/// INSERT, REPLACE, UPDATE, DELETE from a token on; what stands before is a WITH.
fn check_write(
    s: &TokenizedStatement<'_>,
    verb: usize,
    allowed: &AllowList,
) -> Result<StatementKind, RefusalReason> {
    let mut scan = TokenScan { statement: s, allowed, may: &["SET"], cuts: Vec::new() };
    scan.check_tokens(0, verb)?;
    let mut at = verb + 1;
    while s.is_any_word(at, &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE"]) {
        at += 1;
    }
    let refused =
        |at| Err(RefusalReason::Verb(format!("{} {}", s.display_word(verb), s.display_word(at))));
    if s.is_any_word(verb, &["INSERT", "REPLACE"]) {
        at += usize::from(s.is_word(at, "INTO"));
        let Some(behind) = s.name_end(at) else { return refused(at) };
        at = behind;
        if s.is_word(at, "PARTITION") && s.is_sign(at + 1, b'(') {
            at = s.matching_paren(at + 1) + 1;
        }
        if s.is_sign(at, b'(') && s.is_name_list(at) {
            at = s.matching_paren(at) + 1;
        }
        // ON DUPLICATE KEY UPDATE
        scan.may = &["SET", "UPDATE"];
    } else if s.is_word(verb, "DELETE") {
        if s.is_word(at, "HISTORY") {
            return refused(at);
        }
        scan.may = &[];
    }
    if !s.is_name(at) && !s.is_sign(at, b'(') {
        return refused(at);
    }
    // A row's alias: `VALUES (1, 2) AS new (a, b)` is known to the scan.
    scan.check_tokens(at, s.len())?;
    Ok(StatementKind::Write)
}
