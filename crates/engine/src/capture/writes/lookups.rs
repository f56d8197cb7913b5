//! Look-ups in the indexes that a write would change, with the keys it would take out and put in. Pure.
//! Nothing but a real write reads all that it needs: neighbours of pages that split are not among it.

use std::ops::Range;

use super::clauses::WriteClauses;
use super::indexes::{IndexCatalog, IndexedTable, TableIndex};
use super::{filtered_statement, in_every_reading};
use crate::capture::read_only::AllowList;
use crate::capture::read_only::statement::TokenizedStatement;
use crate::capture::read_only::tokens::TokenKind;

/// Most rows of one INSERT that are looked up.
const MOST_ROWS: usize = 64;

/// Look-ups for a write in a session whose default database is known or not: for INSERT and REPLACE of VALUES the places
/// of new rows in every index; for UPDATE and DELETE of one table the places of old entries in the secondary indexes, and
/// for UPDATE those of new ones. The rows themselves are those of `read_half`.
pub fn index_lookups(
    statement: &[u8],
    database: Option<&str>,
    indexes: &IndexCatalog,
    allowed: &AllowList,
) -> Vec<Vec<u8>> {
    let all = in_every_reading(statement, |s| Some(statement_lookups(s, database, indexes)));
    all.unwrap_or_default()
        .into_iter()
        .filter_map(|text| filtered_statement(text, allowed))
        .collect()
}

fn statement_lookups(
    s: &TokenizedStatement<'_>,
    database: Option<&str>,
    indexes: &IndexCatalog,
) -> Vec<Vec<u8>> {
    let table = |refs: &Range<usize>| {
        let is_qualified = s.is_sign(refs.start + 1, b'.');
        let name = s.token_name(refs.start + if is_qualified { 2 } else { 0 });
        let own = is_qualified.then(|| s.token_name(refs.start));
        indexes.table(own.as_deref().or(database)?, &name)
    };
    match WriteClauses::from_statement(s) {
        Some(WriteClauses::Update { refs, set, tail, with })
            if with.is_empty() && is_single_table(s, &refs) =>
        {
            let Some(table) = table(&refs) else { return Vec::new() };
            let Some(set) = parse_assignments(s, set) else { return Vec::new() };
            update_lookups(s, table, &refs, &tail, &set)
        }
        Some(WriteClauses::Delete { refs, tail, with, is_single: true })
            if with.is_empty() && is_single_table(s, &refs) =>
        {
            let Some(table) = table(&refs) else { return Vec::new() };
            let gone = |index: &&TableIndex| index.name != "PRIMARY";
            let indexes = table.indexes.iter().filter(gone);
            indexes.map(|index| old_entry_lookup(s, table, &refs, &tail, index)).collect()
        }
        Some(WriteClauses::Insert { table: refs, columns, values, set, .. }) => {
            let Some(table) = table(&refs) else { return Vec::new() };
            let rows = match (values, set) {
                (Some(values), _) => parse_rows(s, table, columns, values),
                (_, Some(set)) => parse_assignments(s, set).into_iter().collect(),
                _ => Vec::new(),
            };
            rows.iter().flat_map(|row| new_row_lookups(s, table, &refs, row)).collect()
        }
        _ => Vec::new(),
    }
}

/// A column's name in lower case, and the tokens of its value.
type ColumnAssignment = (String, Range<usize>);

/// Whether tables are one, with an alias or without.
fn is_single_table(s: &TokenizedStatement<'_>, refs: &Range<usize>) -> bool {
    let Some(mut at) = s.name_end(refs.start) else { return false };
    at += usize::from(s.is_word(at, "AS"));
    at += usize::from(at < refs.end && s.is_name(at));
    at == refs.end
}

/// `a = 1, b.c = 2`; `None` where it is something else.
fn parse_assignments(
    s: &TokenizedStatement<'_>,
    set: Range<usize>,
) -> Option<Vec<ColumnAssignment>> {
    let mut all = Vec::new();
    for part in split_commas(s, set) {
        let mut at = part.start;
        while s.is_name(at) && s.is_sign(at + 1, b'.') {
            at += 2;
        }
        if !s.is_name(at) || !s.is_sign(at + 1, b'=') || at + 2 >= part.end {
            return None;
        }
        all.push((s.token_name(at), at + 2..part.end));
    }
    Some(all)
}

/// The pieces between commas outside of parentheses.
fn split_commas(s: &TokenizedStatement<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut from, mut at) = (range.start, range.start);
    while at < range.end {
        if s.is_sign(at, b',') {
            all.push(from..at);
            from = at + 1;
        }
        at = if s.is_sign(at, b'(') { s.matching_paren(at) + 1 } else { at + 1 };
    }
    all.push(from..range.end);
    all
}

/// The rows of `(1, 'a'), (2, 'b')`, as far as they have values for known columns.
fn parse_rows(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    columns: Option<Vec<usize>>,
    values: Range<usize>,
) -> Vec<Vec<ColumnAssignment>> {
    let names: Vec<String> = match columns {
        Some(columns) => columns.into_iter().map(|at| s.token_name(at)).collect(),
        None => table.columns.iter().map(|name| name.to_lowercase()).collect(),
    };
    let mut all = Vec::new();
    for row in split_commas(s, values).into_iter().take(MOST_ROWS) {
        let open = row.start + usize::from(s.is_word(row.start, "ROW"));
        if !s.is_sign(open, b'(') {
            break;
        }
        let row = split_commas(s, open + 1..s.matching_paren(open));
        if row.len() == names.len() {
            all.push(names.iter().cloned().zip(row).collect());
        }
    }
    all
}

/// The value of a column in a row, if it is a literal: not NULL, which no unique key holds apart, and no DEFAULT.
fn literal_value<'s>(
    s: &TokenizedStatement<'s>,
    row: &[ColumnAssignment],
    column: &str,
) -> Option<&'s [u8]> {
    let (_, value) = row.iter().find(|(name, _)| *name == column.to_lowercase())?;
    let last = value.end.checked_sub(1)?;
    let is_signed = s.is_sign(value.start, b'-') && value.len() == 2;
    let is_decimal = value.len() == 3 && s.is_sign(value.start + 1, b'.');
    let is_plain = value.len() == 1 || is_signed || is_decimal;
    let is_value = matches!(s.token_kind(last), Some(TokenKind::Number | TokenKind::Text));
    (is_plain && is_value).then(|| s.slice_tokens(value))
}

/// Where a new row would go in every index.
fn new_row_lookups(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    refs: &Range<usize>,
    row: &[ColumnAssignment],
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for index in &table.indexes {
        let mut conditions: Vec<Vec<u8>> = Vec::new();
        // The primary key is the end of every secondary one.
        let rest = table.primary_key().iter().filter(|column| !index.columns.contains(column));
        for column in index.columns.iter().chain(rest) {
            let Some(value) = literal_value(s, row, column) else { break };
            conditions.push([quote_name(column).as_bytes(), b" = ", value].concat());
        }
        if conditions.is_empty() {
            continue;
        }
        all.push(
            [
                b"SELECT 1 FROM ".as_slice(),
                s.slice_tokens(refs),
                format!(" FORCE INDEX ({}) WHERE ", quote_name(&index.name)).as_bytes(),
                &conditions.join(&b" AND "[..]),
                b" LIMIT 1",
            ]
            .concat(),
        );
    }
    all
}

/// What an UPDATE takes out of indexes, and puts into them.
fn update_lookups(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    refs: &Range<usize>,
    tail: &Range<usize>,
    set: &[ColumnAssignment],
) -> Vec<Vec<u8>> {
    let is_set = |column: &String| set.iter().any(|(name, _)| *name == column.to_lowercase());
    // A new primary key is a new entry in each.
    let is_moved = table.primary_key().iter().any(is_set);
    let mut all = Vec::new();
    for index in &table.indexes {
        if !is_moved && !index.columns.iter().any(is_set) {
            continue;
        }
        if index.name != "PRIMARY" {
            all.push(old_entry_lookup(s, table, refs, tail, index));
        }
        all.extend(moved_entry_lookup(s, table, refs, tail, index, set));
    }
    all
}

/// The entries that rows have in an index now.
fn old_entry_lookup(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &TableIndex,
) -> Vec<u8> {
    let own = |column: &String| quote_name(column).into_bytes();
    entry_lookup(s, table, refs, tail, index, own)
}

/// The entries that they would have; `None` where a value is no expression.
fn moved_entry_lookup(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &TableIndex,
    set: &[ColumnAssignment],
) -> Option<Vec<u8>> {
    let value = |column: &String| set.iter().find(|(name, _)| *name == column.to_lowercase());
    let is_default =
        |(_, value): &ColumnAssignment| s.is_word(value.start, "DEFAULT") && value.len() == 1;
    if index.columns.iter().filter_map(value).any(is_default) {
        return None;
    }
    let new = |column: &String| match value(column) {
        Some((_, value)) => [b"(", s.slice_tokens(value), b")"].concat(),
        None => quote_name(column).into_bytes(),
    };
    Some(entry_lookup(s, table, refs, tail, index, new))
}

/// Looks up in an index, for every row that the write finds, the values that `key` gives for its columns.
fn entry_lookup(
    s: &TokenizedStatement<'_>,
    table: &IndexedTable,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &TableIndex,
    key: impl Fn(&String) -> Vec<u8>,
) -> Vec<u8> {
    let rest = table.primary_key().iter().filter(|column| !index.columns.contains(column));
    let columns: Vec<&String> = index.columns.iter().chain(rest).collect();
    let named = |(nth, column): (usize, &&String)| {
        [&key(column)[..], format!(" AS k{nth}").as_bytes()].concat()
    };
    let keys: Vec<Vec<u8>> = columns.iter().enumerate().map(named).collect();
    let same = |(nth, column): (usize, &&String)| format!("n.{} <=> o.k{nth}", quote_name(column));
    let same: Vec<String> = columns.iter().enumerate().map(same).collect();
    [
        b"SELECT COUNT(*) FROM (SELECT ".as_slice(),
        &keys.join(&b", "[..]),
        b" FROM ",
        s.slice_tokens(refs),
        b" ",
        s.slice_tokens(tail),
        b") AS o STRAIGHT_JOIN ",
        s.slice_tokens(&(refs.start..s.name_end(refs.start).unwrap_or(refs.end))),
        format!(" AS n FORCE INDEX ({}) ON {}", quote_name(&index.name), same.join(" AND "))
            .as_bytes(),
    ]
    .concat()
}

fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
