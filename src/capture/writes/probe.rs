//! Look-ups in the indexes that a write would change, with the keys it would take out and put in. Pure.
//! Nothing but a real write reads all that it needs: neighbours of pages that split are not among it.

use std::ops::Range;

use super::indexes::{Index, Indexes, Table};
use super::parts::Parts;
use super::{checked, in_every_reading};
use crate::capture::read_only::Allowed;
use crate::capture::read_only::statement::Statement;
use crate::capture::read_only::tokens::Kind;

/// Most rows of one INSERT that are looked up.
const MOST_ROWS: usize = 64;

/// Look-ups for a write in a session whose default database is known or not: for INSERT and REPLACE of VALUES the places
/// of new rows in every index; for UPDATE and DELETE of one table the places of old entries in the secondary indexes, and
/// for UPDATE those of new ones. The rows themselves are those of `read_half`.
pub fn probes(
    statement: &[u8],
    database: Option<&str>,
    indexes: &Indexes,
    allowed: &Allowed,
) -> Vec<Vec<u8>> {
    let all = in_every_reading(statement, |s| Some(of(s, database, indexes)));
    all.unwrap_or_default().into_iter().filter_map(|text| checked(text, allowed)).collect()
}

fn of(s: &Statement<'_>, database: Option<&str>, indexes: &Indexes) -> Vec<Vec<u8>> {
    let table = |refs: &Range<usize>| {
        let is_qualified = s.is_sign(refs.start + 1, b'.');
        let name = s.name(refs.start + if is_qualified { 2 } else { 0 });
        let own = is_qualified.then(|| s.name(refs.start));
        indexes.table(own.as_deref().or(database)?, &name)
    };
    match Parts::of(s) {
        Some(Parts::Update { refs, set, tail, with }) if with.is_empty() && is_single(s, &refs) => {
            let Some(table) = table(&refs) else { return Vec::new() };
            let Some(set) = assignments(s, set) else { return Vec::new() };
            changed(s, table, &refs, &tail, &set)
        }
        Some(Parts::Delete { refs, tail, with, is_single: true })
            if with.is_empty() && is_single(s, &refs) =>
        {
            let Some(table) = table(&refs) else { return Vec::new() };
            let gone = |index: &&Index| index.name != "PRIMARY";
            let indexes = table.indexes.iter().filter(gone);
            indexes.map(|index| old_places(s, table, &refs, &tail, index)).collect()
        }
        Some(Parts::Insert { table: refs, columns, values, set, .. }) => {
            let Some(table) = table(&refs) else { return Vec::new() };
            let rows = match (values, set) {
                (Some(values), _) => rows(s, table, columns, values),
                (_, Some(set)) => assignments(s, set).into_iter().collect(),
                _ => Vec::new(),
            };
            rows.iter().flat_map(|row| new_places(s, table, &refs, row)).collect()
        }
        _ => Vec::new(),
    }
}

/// A column's name in lower case, and the tokens of its value.
type Assignment = (String, Range<usize>);

/// Whether tables are one, with an alias or without.
fn is_single(s: &Statement<'_>, refs: &Range<usize>) -> bool {
    let Some(mut at) = s.behind_name(refs.start) else { return false };
    at += usize::from(s.is(at, "AS"));
    at += usize::from(at < refs.end && s.is_name(at));
    at == refs.end
}

/// `a = 1, b.c = 2`; `None` where it is something else.
fn assignments(s: &Statement<'_>, set: Range<usize>) -> Option<Vec<Assignment>> {
    let mut all = Vec::new();
    for part in split(s, set) {
        let mut at = part.start;
        while s.is_name(at) && s.is_sign(at + 1, b'.') {
            at += 2;
        }
        if !s.is_name(at) || !s.is_sign(at + 1, b'=') || at + 2 >= part.end {
            return None;
        }
        all.push((s.name(at), at + 2..part.end));
    }
    Some(all)
}

/// The pieces between commas outside of parentheses.
fn split(s: &Statement<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut from, mut at) = (range.start, range.start);
    while at < range.end {
        if s.is_sign(at, b',') {
            all.push(from..at);
            from = at + 1;
        }
        at = if s.is_sign(at, b'(') { s.pair(at) + 1 } else { at + 1 };
    }
    all.push(from..range.end);
    all
}

/// The rows of `(1, 'a'), (2, 'b')`, as far as they have values for known columns.
fn rows(
    s: &Statement<'_>,
    table: &Table,
    columns: Option<Vec<usize>>,
    values: Range<usize>,
) -> Vec<Vec<Assignment>> {
    let names: Vec<String> = match columns {
        Some(columns) => columns.into_iter().map(|at| s.name(at)).collect(),
        None => table.columns.iter().map(|name| name.to_lowercase()).collect(),
    };
    let mut all = Vec::new();
    for row in split(s, values).into_iter().take(MOST_ROWS) {
        let open = row.start + usize::from(s.is(row.start, "ROW"));
        if !s.is_sign(open, b'(') {
            break;
        }
        let row = split(s, open + 1..s.pair(open));
        if row.len() == names.len() {
            all.push(names.iter().cloned().zip(row).collect());
        }
    }
    all
}

/// The value of a column in a row, if it is a literal: not NULL, which no unique key holds apart, and no DEFAULT.
fn literal<'s>(s: &Statement<'s>, row: &[Assignment], column: &str) -> Option<&'s [u8]> {
    let (_, value) = row.iter().find(|(name, _)| *name == column.to_lowercase())?;
    let last = value.end.checked_sub(1)?;
    let is_signed = s.is_sign(value.start, b'-') && value.len() == 2;
    let is_decimal = value.len() == 3 && s.is_sign(value.start + 1, b'.');
    let is_plain = value.len() == 1 || is_signed || is_decimal;
    let is_value = matches!(s.kind(last), Some(Kind::Number | Kind::Text));
    (is_plain && is_value).then(|| s.slice(value))
}

/// Where a new row would go in every index.
fn new_places(
    s: &Statement<'_>,
    table: &Table,
    refs: &Range<usize>,
    row: &[Assignment],
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for index in &table.indexes {
        let mut conditions: Vec<Vec<u8>> = Vec::new();
        // The primary key is the end of every secondary one.
        let rest = table.primary().iter().filter(|column| !index.columns.contains(column));
        for column in index.columns.iter().chain(rest) {
            let Some(value) = literal(s, row, column) else { break };
            conditions.push([quote(column).as_bytes(), b" = ", value].concat());
        }
        if conditions.is_empty() {
            continue;
        }
        all.push(
            [
                b"SELECT 1 FROM ".as_slice(),
                s.slice(refs),
                format!(" FORCE INDEX ({}) WHERE ", quote(&index.name)).as_bytes(),
                &conditions.join(&b" AND "[..]),
                b" LIMIT 1",
            ]
            .concat(),
        );
    }
    all
}

/// What an UPDATE takes out of indexes, and puts into them.
fn changed(
    s: &Statement<'_>,
    table: &Table,
    refs: &Range<usize>,
    tail: &Range<usize>,
    set: &[Assignment],
) -> Vec<Vec<u8>> {
    let is_set = |column: &String| set.iter().any(|(name, _)| *name == column.to_lowercase());
    // A new primary key is a new entry in each.
    let is_moved = table.primary().iter().any(is_set);
    let mut all = Vec::new();
    for index in &table.indexes {
        if !is_moved && !index.columns.iter().any(is_set) {
            continue;
        }
        if index.name != "PRIMARY" {
            all.push(old_places(s, table, refs, tail, index));
        }
        all.extend(moved_places(s, table, refs, tail, index, set));
    }
    all
}

/// The entries that rows have in an index now.
fn old_places(
    s: &Statement<'_>,
    table: &Table,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &Index,
) -> Vec<u8> {
    let own = |column: &String| quote(column).into_bytes();
    places(s, table, refs, tail, index, own)
}

/// The entries that they would have; `None` where a value is no expression.
fn moved_places(
    s: &Statement<'_>,
    table: &Table,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &Index,
    set: &[Assignment],
) -> Option<Vec<u8>> {
    let value = |column: &String| set.iter().find(|(name, _)| *name == column.to_lowercase());
    let is_default = |(_, value): &Assignment| s.is(value.start, "DEFAULT") && value.len() == 1;
    if index.columns.iter().filter_map(value).any(is_default) {
        return None;
    }
    let new = |column: &String| match value(column) {
        Some((_, value)) => [b"(", s.slice(value), b")"].concat(),
        None => quote(column).into_bytes(),
    };
    Some(places(s, table, refs, tail, index, new))
}

/// Looks up in an index, for every row that the write finds, the values that `key` gives for its columns.
fn places(
    s: &Statement<'_>,
    table: &Table,
    refs: &Range<usize>,
    tail: &Range<usize>,
    index: &Index,
    key: impl Fn(&String) -> Vec<u8>,
) -> Vec<u8> {
    let rest = table.primary().iter().filter(|column| !index.columns.contains(column));
    let columns: Vec<&String> = index.columns.iter().chain(rest).collect();
    let named = |(nth, column): (usize, &&String)| {
        [&key(column)[..], format!(" AS k{nth}").as_bytes()].concat()
    };
    let keys: Vec<Vec<u8>> = columns.iter().enumerate().map(named).collect();
    let same = |(nth, column): (usize, &&String)| format!("n.{} <=> o.k{nth}", quote(column));
    let same: Vec<String> = columns.iter().enumerate().map(same).collect();
    [
        b"SELECT COUNT(*) FROM (SELECT ".as_slice(),
        &keys.join(&b", "[..]),
        b" FROM ",
        s.slice(refs),
        b" ",
        s.slice(tail),
        b") AS o STRAIGHT_JOIN ",
        s.slice(&(refs.start..s.behind_name(refs.start).unwrap_or(refs.end))),
        format!(" AS n FORCE INDEX ({}) ON {}", quote(&index.name), same.join(" AND ")).as_bytes(),
    ]
    .concat()
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
