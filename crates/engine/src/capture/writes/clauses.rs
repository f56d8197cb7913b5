//! A write cut into its clauses, outside of parentheses. Pure.

use std::ops::Range;

use crate::capture::read_only::statement::TokenizedStatement;
use crate::capture::read_only::with_clause_end;

/// A write's clauses, as ranges of tokens; empty where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WriteClauses {
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

impl WriteClauses {
    /// Cuts a statement; `None` where it is no write that we know in full.
    pub(super) fn from_statement(s: &TokenizedStatement<'_>) -> Option<WriteClauses> {
        let verb = if s.is_word(0, "WITH") { with_clause_end(s, 0)? } else { 0 };
        let mut at = verb + 1;
        while s.is_any_word(at, MODIFIERS) {
            at += 1;
        }
        let with = 0..verb;
        if s.is_word(verb, "UPDATE") {
            return parse_update(s, with, at);
        }
        if s.is_word(verb, "DELETE") {
            return parse_delete(s, with, at);
        }
        if verb == 0 && s.is_any_word(0, &["INSERT", "REPLACE"]) {
            parse_insert(s, at)
        } else {
            None
        }
    }
}

/// Where the first of some words stands from a token on, outside of parentheses; the end where none does.
fn find_word(s: &TokenizedStatement<'_>, from: usize, words: &[&str]) -> usize {
    let mut at = from;
    while at < s.len() {
        if s.is_any_word(at, words) && !s.is_member(at) {
            break;
        }
        at = if s.is_sign(at, b'(') { s.matching_paren(at) + 1 } else { at + 1 };
    }
    at
}

/// WHERE, ORDER, LIMIT from a token on, without RETURNING.
fn tail_range(s: &TokenizedStatement<'_>, from: usize) -> (usize, Range<usize>) {
    let end = find_word(s, from, &["RETURNING"]);
    let begin = find_word(s, from, &["WHERE", "ORDER", "LIMIT"]).min(end);
    (begin, begin..end)
}

/// Whether tables stand there that a SELECT takes too: MariaDB's `FOR PORTION OF` it does not.
fn are_tables(s: &TokenizedStatement<'_>, refs: &Range<usize>) -> bool {
    let is_portion = |at| s.is_word(at, "FOR") && s.is_word(at + 1, "PORTION");
    !refs.is_empty() && !refs.clone().any(is_portion)
}

fn parse_update(s: &TokenizedStatement<'_>, with: Range<usize>, at: usize) -> Option<WriteClauses> {
    let set = find_word(s, at, &["SET"]);
    let refs = at..set;
    if set >= s.len() || !are_tables(s, &refs) {
        return None;
    }
    let (begin, tail) = tail_range(s, set + 1);
    (begin > set + 1).then_some(WriteClauses::Update { with, refs, set: set + 1..begin, tail })
}

fn parse_delete(s: &TokenizedStatement<'_>, with: Range<usize>, at: usize) -> Option<WriteClauses> {
    let mut refs_at = at + 1;
    let mut is_single = false;
    if s.is_word(at, "FROM") {
        // `DELETE FROM a, b.* USING ..`, or one table.
        let behind = targets_end(s, at + 1)?;
        if s.is_word(behind, "USING") {
            refs_at = behind + 1;
        } else {
            is_single = true;
        }
    } else {
        let from = targets_end(s, at)?;
        if !s.is_word(from, "FROM") {
            return None;
        }
        refs_at = from + 1;
    }
    let (begin, tail) = tail_range(s, refs_at);
    let refs = refs_at..begin;
    are_tables(s, &refs).then_some(WriteClauses::Delete { with, refs, tail, is_single })
}

/// Behind a list of tables, each with or without `.*`.
fn targets_end(s: &TokenizedStatement<'_>, from: usize) -> Option<usize> {
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

fn parse_insert(s: &TokenizedStatement<'_>, from: usize) -> Option<WriteClauses> {
    let from = from + usize::from(s.is_word(from, "INTO"));
    let mut at = s.name_end(from)?;
    let table = from..at;
    if s.is_word(at, "PARTITION") && s.is_sign(at + 1, b'(') {
        at = s.matching_paren(at + 1) + 1;
    }
    let mut columns = None;
    let is_empty = s.is_sign(at, b'(') && s.matching_paren(at) == at + 1;
    if s.is_sign(at, b'(') && (s.is_name_list(at) || is_empty) {
        let close = s.matching_paren(at);
        columns = Some((at + 1..close).step_by(2).filter(|at| s.is_name(*at)).collect());
        at = close + 1;
    }
    let end = rows_end(s, at);
    let (mut select, mut values, mut set) = (None, None, None);
    let mut inner = at;
    while s.is_sign(inner, b'(') {
        inner += 1;
    }
    if s.is_any_word(at, &["VALUES", "VALUE"]) {
        values = Some(at + 1..end);
    } else if s.is_word(at, "SET") {
        set = Some(at + 1..end);
    } else if s.is_any_word(inner, &["SELECT", "WITH", "TABLE", "VALUES"]) {
        select = Some(at..end);
    } else {
        return None;
    }
    Some(WriteClauses::Insert { table, columns, select, values, set })
}

/// Where ON DUPLICATE KEY or RETURNING begins.
fn rows_end(s: &TokenizedStatement<'_>, from: usize) -> usize {
    let mut at = from;
    loop {
        at = find_word(s, at, &["ON", "RETURNING"]);
        if at >= s.len() || s.is_word(at, "RETURNING") || s.is_word(at + 1, "DUPLICATE") {
            return at;
        }
        at += 1;
    }
}
