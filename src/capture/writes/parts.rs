//! A write cut into its clauses, outside of parentheses. Pure.

use std::ops::Range;

use crate::capture::read_only::behind_with;
use crate::capture::read_only::statement::Statement;

/// A write's clauses, as ranges of tokens; empty where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// UPDATE, of one table or several.
    Update {
        /// WITH and its tables.
        with: Range<usize>,
        /// What stands between UPDATE and SET.
        refs: Range<usize>,
        /// Behind SET.
        set: Range<usize>,
        /// WHERE, ORDER BY, LIMIT.
        tail: Range<usize>,
    },
    /// DELETE in all its forms.
    Delete {
        /// WITH and its tables.
        with: Range<usize>,
        /// What stands behind FROM, or USING where that names what is read.
        refs: Range<usize>,
        /// WHERE, ORDER BY, LIMIT.
        tail: Range<usize>,
        /// Whether `refs` is one table.
        is_single: bool,
    },
    /// INSERT and REPLACE.
    Insert {
        /// The table's name.
        table: Range<usize>,
        /// The columns' names, if they are given.
        columns: Option<Vec<usize>>,
        /// A SELECT whose rows go in.
        select: Option<Range<usize>>,
        /// Rows behind VALUES.
        values: Option<Range<usize>>,
        /// Assignments behind SET.
        set: Option<Range<usize>>,
    },
}

const MODIFIERS: &[&str] = &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE"];

impl Parts {
    /// Cuts a statement; `None` where it is no write that we know in full.
    pub(super) fn of(s: &Statement<'_>) -> Option<Parts> {
        let verb = if s.is(0, "WITH") { behind_with(s, 0)? } else { 0 };
        let mut at = verb + 1;
        while s.is_any(at, MODIFIERS) {
            at += 1;
        }
        let with = 0..verb;
        if s.is(verb, "UPDATE") {
            return update(s, with, at);
        }
        if s.is(verb, "DELETE") {
            return delete(s, with, at);
        }
        if verb == 0 && s.is_any(0, &["INSERT", "REPLACE"]) { insert(s, at) } else { None }
    }
}

/// Where the first of some words stands from a token on, outside of parentheses; the end where none does.
fn find(s: &Statement<'_>, from: usize, words: &[&str]) -> usize {
    let mut at = from;
    while at < s.len() {
        if s.is_any(at, words) && !s.is_member(at) {
            break;
        }
        at = if s.is_sign(at, b'(') { s.pair(at) + 1 } else { at + 1 };
    }
    at
}

/// WHERE, ORDER, LIMIT from a token on, without RETURNING.
fn tail(s: &Statement<'_>, from: usize) -> (usize, Range<usize>) {
    let end = find(s, from, &["RETURNING"]);
    let begin = find(s, from, &["WHERE", "ORDER", "LIMIT"]).min(end);
    (begin, begin..end)
}

/// Whether tables stand there that a SELECT takes too: MariaDB's `FOR PORTION OF` it does not.
fn are_tables(s: &Statement<'_>, refs: &Range<usize>) -> bool {
    let is_portion = |at| s.is(at, "FOR") && s.is(at + 1, "PORTION");
    !refs.is_empty() && !refs.clone().any(is_portion)
}

fn update(s: &Statement<'_>, with: Range<usize>, at: usize) -> Option<Parts> {
    let set = find(s, at, &["SET"]);
    let refs = at..set;
    if set >= s.len() || !are_tables(s, &refs) {
        return None;
    }
    let (begin, tail) = tail(s, set + 1);
    (begin > set + 1).then_some(Parts::Update { with, refs, set: set + 1..begin, tail })
}

fn delete(s: &Statement<'_>, with: Range<usize>, at: usize) -> Option<Parts> {
    let mut refs_at = at + 1;
    let mut is_single = false;
    if s.is(at, "FROM") {
        // `DELETE FROM a, b.* USING ..`, or one table.
        let behind = targets(s, at + 1)?;
        if s.is(behind, "USING") {
            refs_at = behind + 1;
        } else {
            is_single = true;
        }
    } else {
        let from = targets(s, at)?;
        if !s.is(from, "FROM") {
            return None;
        }
        refs_at = from + 1;
    }
    let (begin, tail) = tail(s, refs_at);
    let refs = refs_at..begin;
    are_tables(s, &refs).then_some(Parts::Delete { with, refs, tail, is_single })
}

/// Behind a list of tables, each with or without `.*`.
fn targets(s: &Statement<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        if !s.is_name(at) {
            return None;
        }
        at += 1;
        while s.is_sign(at, b'.') {
            if !(s.is_name(at + 1) || s.is_sign(at + 1, b'*')) {
                return None;
            }
            at += 2;
        }
        if !s.is_sign(at, b',') {
            return Some(at);
        }
        at += 1;
    }
}

fn insert(s: &Statement<'_>, from: usize) -> Option<Parts> {
    let from = from + usize::from(s.is(from, "INTO"));
    let mut at = s.behind_name(from)?;
    let table = from..at;
    if s.is(at, "PARTITION") && s.is_sign(at + 1, b'(') {
        at = s.pair(at + 1) + 1;
    }
    let mut columns = None;
    let is_empty = s.is_sign(at, b'(') && s.pair(at) == at + 1;
    if s.is_sign(at, b'(') && (s.is_name_list(at) || is_empty) {
        let close = s.pair(at);
        columns = Some((at + 1..close).step_by(2).filter(|at| s.is_name(*at)).collect());
        at = close + 1;
    }
    let end = behind_rows(s, at);
    let (mut select, mut values, mut set) = (None, None, None);
    let mut inner = at;
    while s.is_sign(inner, b'(') {
        inner += 1;
    }
    if s.is_any(at, &["VALUES", "VALUE"]) {
        values = Some(at + 1..end);
    } else if s.is(at, "SET") {
        set = Some(at + 1..end);
    } else if s.is_any(inner, &["SELECT", "WITH", "TABLE", "VALUES"]) {
        select = Some(at..end);
    } else {
        return None;
    }
    Some(Parts::Insert { table, columns, select, values, set })
}

/// Where ON DUPLICATE KEY or RETURNING begins.
fn behind_rows(s: &Statement<'_>, from: usize) -> usize {
    let mut at = from;
    loop {
        at = find(s, at, &["ON", "RETURNING"]);
        if at >= s.len() || s.is(at, "RETURNING") || s.is(at + 1, "DUPLICATE") {
            return at;
        }
        at += 1;
    }
}
