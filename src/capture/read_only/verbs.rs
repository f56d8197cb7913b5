//! What a statement's first word leads to. Pure.
//! To let a kind of statement through: its arm in `judge`.

use super::reads::{Cut, Scan, hint_cuts};
use super::statement::Statement;
use super::tokens::Kind;
use super::{Allowed, Refusal, sets};

/// What a statement is found to be, in one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Reads; with the bytes to leave out.
    Read(Vec<Cut>),
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
pub(super) fn judge<'t>(
    s: &Statement<'t>,
    allowed: &Allowed,
) -> Result<(Judged, &'t [u8]), Refusal> {
    let text = s.text();
    let words = |judged| Ok((judged, text));
    if s.is_sign(0, b'(') || s.is_any(0, &["SELECT", "WITH", "VALUES", "TABLE"]) {
        return words(select(s, 0, allowed)?);
    }
    if s.kind(0) != Some(Kind::Word) {
        return Err(Refusal::Unreadable);
    }
    let verb = s.shown(0);
    match verb.as_str() {
        "SET" => sets::judge(s, allowed).and_then(|()| words(Judged::Set)),
        "BEGIN" if s.len() == 1 || (s.is(1, "WORK") && s.len() == 2) => {
            words(Judged::Begin { is_snapshot: false })
        }
        "START" if s.is(1, "TRANSACTION") => words(start(s)?),
        "COMMIT" | "ROLLBACK" if is_end(s) => words(Judged::End),
        "ROLLBACK" | "SAVEPOINT" | "RELEASE" if is_savepoint(s) => words(Judged::Read(Vec::new())),
        "USE" if s.is_name(1) && s.len() == 2 => words(Judged::Use(s.plain(1))),
        "SHOW" => words(show(s, allowed)?),
        "DESC" | "DESCRIBE" | "EXPLAIN" => words(explain(s, allowed)?),
        "ANALYZE" => words(analyze(s, allowed)?),
        "DO" => words(read(s, 1, allowed)?),
        "INSERT" | "REPLACE" | "UPDATE" | "DELETE" => write(s, 0, allowed).and_then(words),
        "PREPARE" => Err(Refusal::Prepared),
        "EXECUTE" if s.is_name(1) && (s.len() == 2 || s.is(2, "USING")) => Err(Refusal::Prepared),
        "DEALLOCATE" => Err(Refusal::Prepared),
        "DROP" if s.is(1, "PREPARE") => Err(Refusal::Prepared),
        "CREATE" | "DROP" | "ALTER" => Err(defined(s, verb)),
        _ => Err(Refusal::Verb(verb)),
    }
}

/// Everything from a token on only reads.
fn read(s: &Statement<'_>, from: usize, allowed: &Allowed) -> Result<Judged, Refusal> {
    let mut scan = Scan { statement: s, allowed, may: &[], cuts: Vec::new() };
    scan.look(from, s.len())?;
    let mut cuts = scan.cuts;
    cuts.extend(hint_cuts(s));
    cuts.sort_unstable();
    Ok(Judged::Read(cuts))
}

/// SELECT, VALUES, TABLE, also in parentheses; WITH, followed to its verb.
fn select(s: &Statement<'_>, from: usize, allowed: &Allowed) -> Result<Judged, Refusal> {
    let mut at = from;
    while s.is_sign(at, b'(') {
        at += 1;
    }
    if s.is(at, "WITH") {
        at = behind_with(s, at).ok_or(Refusal::Unreadable)?;
        if at > 0 && s.is_any(at, &["UPDATE", "DELETE"]) && s.is(from, "WITH") && from == 0 {
            return write(s, at, allowed);
        }
        while s.is_sign(at, b'(') {
            at += 1;
        }
    }
    if s.is_any(at, &["SELECT", "VALUES"]) || (s.is(at, "TABLE") && s.is_name(at + 1)) {
        return read(s, from, allowed);
    }
    match s.kind(at) {
        Some(Kind::Word) => Err(Refusal::Verb(s.shown(at))),
        _ => Err(Refusal::Unreadable),
    }
}

/// The token behind `WITH a AS (..), b (c) AS (..)`.
pub(in crate::capture) fn behind_with(s: &Statement<'_>, at: usize) -> Option<usize> {
    let mut at = at + 1 + usize::from(s.is(at + 1, "RECURSIVE"));
    loop {
        if !s.is_name(at) {
            return None;
        }
        at += 1;
        if s.is_sign(at, b'(') {
            at = s.pair(at) + 1;
        }
        if !(s.is(at, "AS") && s.is_sign(at + 1, b'(')) {
            return None;
        }
        at = s.pair(at + 1) + 1;
        // MariaDB: CYCLE columns RESTRICT
        if s.is(at, "CYCLE") {
            at += 1;
            while s.is_name(at) && !s.is(at, "RESTRICT") {
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
fn start(s: &Statement<'_>) -> Result<Judged, Refusal> {
    let mut is_snapshot = false;
    let mut at = 2;
    while at < s.len() {
        if s.are(at, &["WITH", "CONSISTENT", "SNAPSHOT"]) {
            is_snapshot = true;
            at += 3;
        } else if s.are(at, &["READ", "ONLY"]) || s.are(at, &["READ", "WRITE"]) {
            at += 2;
        } else {
            return Err(Refusal::Verb("START TRANSACTION".to_owned()));
        }
        if at < s.len() && !s.is_sign(at, b',') {
            return Err(Refusal::Verb("START TRANSACTION".to_owned()));
        }
        at += 1;
    }
    Ok(Judged::Begin { is_snapshot })
}

/// COMMIT and ROLLBACK, with WORK, CHAIN, RELEASE.
fn is_end(s: &Statement<'_>) -> bool {
    (1..s.len()).all(|at| s.is_any(at, &["WORK", "AND", "NO", "CHAIN", "RELEASE"]))
}

/// SAVEPOINT a; ROLLBACK TO SAVEPOINT a, with WORK or without SAVEPOINT; RELEASE SAVEPOINT a.
fn is_savepoint(s: &Statement<'_>) -> bool {
    let mut at = 1;
    if s.is(0, "ROLLBACK") {
        at += usize::from(s.is(at, "WORK"));
        if !s.is(at, "TO") {
            return false;
        }
        at += 1;
        // A savepoint may have this name.
        at += usize::from(s.is(at, "SAVEPOINT") && at + 1 < s.len());
    } else if s.is(0, "RELEASE") {
        if !s.is(at, "SAVEPOINT") {
            return false;
        }
        at += 1;
    }
    s.is_name(at) && at + 1 == s.len()
}

fn show(s: &Statement<'_>, allowed: &Allowed) -> Result<Judged, Refusal> {
    let mut at = 1;
    if s.is_sign(at, b'@') {
        return Err(Refusal::Verb("SHOW".to_owned()));
    }
    if !s.is_any(at, SHOWN) {
        return match s.is(at, "ALL") && s.is_any(at + 1, &["SLAVES", "REPLICAS"]) {
            true => read(s, at + 2, allowed),
            false => Err(Refusal::Verb(format!("SHOW {}", s.shown(at)))),
        };
    }
    if s.is(at, "COUNT") {
        return read(s, at + 1, allowed);
    }
    if s.is(at, "CREATE") {
        // Kind and name, and nothing else.
        at += 1 + usize::from(s.is(at + 1, "PACKAGE") && s.is(at + 2, "BODY"));
        let from = if s.are(at + 1, &["IF", "NOT", "EXISTS"]) { at + 4 } else { at + 1 };
        let is_name = |at| s.is_name(at) || s.is_sign(at, b'.') || s.is_sign(at, b'@');
        let is_plain = (from..s.len()).all(|at| is_name(at) || s.kind(at) == Some(Kind::Text));
        return match s.kind(at) == Some(Kind::Word) && is_plain {
            true => Ok(Judged::Read(Vec::new())),
            false => Err(Refusal::Verb("SHOW CREATE".to_owned())),
        };
    }
    // SHOW [FULL|PROCEDURE|..] what ..: the words before the name are no others.
    at += 1 + usize::from(s.is(at, "PROCEDURE"));
    read(s, at, allowed)
}

/// EXPLAIN of a table or a SELECT.
fn explain(s: &Statement<'_>, allowed: &Allowed) -> Result<Judged, Refusal> {
    let mut at = 1;
    loop {
        if s.is_any(at, &["EXTENDED", "PARTITIONS"]) && at + 1 < s.len() {
            at += 1;
        } else if s.is(at, "FORMAT") && s.is_sign(at + 1, b'=') {
            at += 3;
        } else if s.is(at, "ANALYZE") && at + 1 < s.len() {
            // It runs the SELECT that must follow.
            at += 1;
        } else {
            break;
        }
    }
    if s.is_sign(at, b'(') || s.is_any(at, &["SELECT", "WITH", "VALUES", "TABLE"]) {
        return match select(s, at, allowed)? {
            Judged::Read(cuts) => Ok(Judged::Read(cuts)),
            _ => Err(Refusal::Verb("EXPLAIN".to_owned())),
        };
    }
    // A table, and one of its columns or a pattern.
    let verbs = ["INSERT", "REPLACE", "UPDATE", "DELETE", "FOR", "ANALYZE", "CONNECTION", "CALL"];
    let is_column = |at| s.is_name(at) || s.kind(at) == Some(Kind::Text);
    let is_table = at == 1
        && !s.is_any(1, &verbs)
        && s.behind_name(1)
            .is_some_and(|end| end == s.len() || (end + 1 == s.len() && is_column(end)));
    if !is_table {
        return Err(Refusal::Verb(format!("{} {}", s.shown(0), s.shown(at))));
    }
    Ok(Judged::Read(Vec::new()))
}

/// MariaDB's ANALYZE of a SELECT runs it and tells its plan; of anything else it does that, too.
fn analyze(s: &Statement<'_>, allowed: &Allowed) -> Result<Judged, Refusal> {
    let at = if s.is(1, "FORMAT") && s.is_sign(2, b'=') { 4 } else { 1 };
    if !s.is_any(at, &["SELECT", "WITH"]) {
        return Err(Refusal::Verb(format!("ANALYZE {}", s.shown(at))));
    }
    match select(s, at, allowed)? {
        Judged::Read(cuts) => Ok(Judged::Read(cuts)),
        _ => Err(Refusal::Verb("ANALYZE".to_owned())),
    }
}

/// What changes definitions is refused; of a temporary table the caller wants to know the name.
fn defined(s: &Statement<'_>, verb: String) -> Refusal {
    match super::tables::temporary_of(s) {
        Some(temporary) => Refusal::Temporary(temporary.into_name()),
        None => Refusal::Verb(format!("{verb} {}", s.shown(1))),
    }
}

/// INSERT, REPLACE, UPDATE, DELETE from a token on; what stands before is a WITH.
fn write(s: &Statement<'_>, verb: usize, allowed: &Allowed) -> Result<Judged, Refusal> {
    let mut scan = Scan { statement: s, allowed, may: &["SET"], cuts: Vec::new() };
    scan.look(0, verb)?;
    let mut at = verb + 1;
    while s.is_any(at, &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE"]) {
        at += 1;
    }
    let refused = |at| Err(Refusal::Verb(format!("{} {}", s.shown(verb), s.shown(at))));
    if s.is_any(verb, &["INSERT", "REPLACE"]) {
        at += usize::from(s.is(at, "INTO"));
        let Some(behind) = s.behind_name(at) else { return refused(at) };
        at = behind;
        if s.is(at, "PARTITION") && s.is_sign(at + 1, b'(') {
            at = s.pair(at + 1) + 1;
        }
        if s.is_sign(at, b'(') && s.is_name_list(at) {
            at = s.pair(at) + 1;
        }
        // ON DUPLICATE KEY UPDATE
        scan.may = &["SET", "UPDATE"];
    } else if s.is(verb, "DELETE") {
        if s.is(at, "HISTORY") {
            return refused(at);
        }
        scan.may = &[];
    }
    if !s.is_name(at) && !s.is_sign(at, b'(') {
        return refused(at);
    }
    // A row's alias: `VALUES (1, 2) AS new (a, b)` is known to the scan.
    scan.look(at, s.len())?;
    Ok(Judged::Write)
}
