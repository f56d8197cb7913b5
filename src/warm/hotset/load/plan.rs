//! What of a hot set can be brought to a server, and how: which of its indexes are there, whether their pages have the
//! same numbers, and the statements that read the rest, the hottest first. Pure.

use std::collections::HashMap;

use super::super::range::{condition, touching};
use super::super::{HotIndex, HotSet, KeyRange};
use crate::warm::catalog::{Column, HIDDEN, Index, Table};
use crate::warm::scan::{Blobs, Task, Unit, units};

/// How an index is brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::warm::hotset) enum Way {
    /// By its ranges of keys.
    Keys,
    /// By a scan of the whole index, and why.
    Whole(String),
}

/// An index of the hot set that the server has.
pub(in crate::warm::hotset) struct Match<'a> {
    pub hot: &'a HotIndex,
    pub unit: Unit,
    pub way: Way,
    /// Its pages are where they were in the origin, as far as numbers tell.
    pub is_same: bool,
}

/// Where an index lies: number of its tablespace, its own, pages of the file.
pub(in crate::warm::hotset) type Layout = HashMap<(u32, u64), Place>;

/// What the server says of an index with these numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::warm::hotset) struct Place {
    /// The index's name.
    pub index: String,
    /// `database/table`, as InnoDB writes it.
    pub table: String,
    /// Pages of the tablespace's file; 0 if not told.
    pub file_pages: u64,
}

/// Finds the indexes of a hot set among the tables of a server; what is not there is noted.
pub(in crate::warm::hotset) fn matches<'a>(
    hot: &'a HotSet,
    tables: &[Table],
    layout: &Layout,
    page_bytes: u64,
    notes: &mut Vec<String>,
) -> Vec<Match<'a>> {
    let same_pages = u64::from(hot.origin.page_bytes) == page_bytes;
    let mut found = Vec::new();
    for index in &hot.indexes {
        let Some(table) = tables.iter().find(|t| same_name(t, index)) else {
            notes.push(format!("{} is left out: there is no such table", name(index)));
            continue;
        };
        let all = units(table, Blobs::Leave, &mut Vec::new());
        let unit = all
            .into_iter()
            .find(|u| u.index == index.index && u.partition.eq_ignore_ascii_case(&index.partition));
        let Some(unit) = unit else {
            notes.push(format!("{} is left out: there is no such index to read", name(index)));
            continue;
        };
        let way = match why_whole(table, index) {
            Some(why) => Way::Whole(why),
            None => Way::Keys,
        };
        let is_same = same_pages && lies_the_same(index, layout);
        found.push(Match { hot: index, unit, way, is_same });
    }
    found
}

fn same_name(table: &Table, index: &HotIndex) -> bool {
    table.database == index.database && table.name == index.table
}

/// `db.table.index`, for people.
pub(super) fn name(index: &HotIndex) -> String {
    let partition = match index.partition.as_str() {
        "" => String::new(),
        partition => format!(" partition {partition}"),
    };
    format!("{}.{}.{}{partition}", index.database, index.table, index.index)
}

/// Why the ranges of an index are of no use here; `None` if they are.
fn why_whole(table: &Table, hot: &HotIndex) -> Option<String> {
    if let Some(why) = &hot.whole {
        return Some(why.clone());
    }
    let clustered = table.clustered();
    if hot.index == HIDDEN {
        return Some("its key is InnoDB's own".to_owned());
    }
    let index = table.indexes.iter().find(|i| i.name == hot.index)?;
    let here = key_columns(index, clustered);
    if !hot.key.is_empty() && here.len() < hot.key.len() {
        return Some("its key has other columns here".to_owned());
    }
    for (column, name) in hot.key.iter().zip(&here) {
        if !column.name.eq_ignore_ascii_case(name) {
            return Some(format!("its key has other columns here: {name}, not {}", column.name));
        }
        let Some(own) = table.column(name) else { continue };
        if let Some(why) = other_order(own, column.collation.as_deref()) {
            return Some(why);
        }
    }
    None
}

/// Text is in another order where its collation is another one.
fn other_order(own: &Column, collation: Option<&str>) -> Option<String> {
    let (here, there) = (own.collation.as_deref()?, collation?);
    let plain = |name: &str| name.replace("utf8mb3_", "utf8_");
    (plain(here) != plain(there))
        .then(|| format!("{} is ordered by {here} here, by {there} in the hot set", own.name))
}

/// Columns of an index in order, those of the rows' key behind them.
fn key_columns(index: &Index, clustered: Option<&Index>) -> Vec<String> {
    let own = |i: &Index| i.parts.iter().filter_map(|p| p.column.clone()).collect::<Vec<_>>();
    let mut columns = own(index);
    for column in clustered.map(own).unwrap_or_default() {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// Whether the server has the same index under the same numbers, in a file that is no shorter as far as it tells.
fn lies_the_same(hot: &HotIndex, layout: &Layout) -> bool {
    let Some(place) = layout.get(&(hot.space, hot.index_id)) else { return false };
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let (database, table) = place.table.split_once('/').unwrap_or_default();
    let table = table.split(['#']).next().unwrap_or_default();
    // InnoDB writes other names in ways of its own; the numbers have to do for those.
    let same_table = !plain(&hot.database)
        || !plain(&hot.table)
        || (database == hot.database && table == hot.table);
    let long_enough = place.file_pages == 0 || place.file_pages >= hot.file_pages;
    same_table && place.index == hot.index && long_enough
}

/// Ranges in one statement: enough that sending it does not matter, few enough that the optimizer looks at them in no
/// time and that the order of heat is kept.
const RANGES: usize = 32;
/// The order of heat is kept by slices of this part of all pages; within a slice ranges of an index go together.
const SLICES: u64 = 64;
/// Pages of a statement.
const PAGES: u64 = 512;

/// The statements that read the ranges of these indexes, the hottest first. `unit_of` is the place of each match's unit
/// on the board.
pub(super) fn tasks(matches: &[&Match<'_>], largest_piece: u64) -> Vec<Task> {
    let mut all: Vec<(u64, usize, &KeyRange)> = Vec::new();
    for (unit, found) in matches.iter().enumerate() {
        all.extend(found.hot.ranges.iter().map(|range| (range.heat, unit, range)));
    }
    all.sort_by_key(|(heat, unit, _)| (*heat, *unit));
    let pages: u64 = all.iter().map(|(_, _, range)| range.pages.max(1)).sum();
    let slice = (pages / SLICES).max(64);
    let most = PAGES.min(largest_piece);
    let mut tasks = Vec::new();
    let (mut open, mut of_slice) = (HashMap::<usize, Piece>::new(), 0);
    for (_, unit, range) in all {
        let found = matches[unit];
        let piece = open.entry(unit).or_default();
        piece.add(found, range);
        if piece.conditions.len() >= RANGES || piece.pages >= most {
            let piece = std::mem::take(piece);
            tasks.push(piece.task(unit));
            open.remove(&unit);
        }
        of_slice += range.pages.max(1);
        if of_slice >= slice {
            close(&mut open, &mut tasks);
            of_slice = 0;
        }
    }
    close(&mut open, &mut tasks);
    for task in &mut tasks {
        task.mark = Some(mark(&matches[task.unit].unit.statement(&task.condition)));
    }
    tasks
}

/// Ranges of one index that go into one statement.
#[derive(Default)]
struct Piece {
    conditions: Vec<String>,
    pages: u64,
}

impl Piece {
    fn add(&mut self, found: &Match<'_>, range: &KeyRange) {
        let touch = if found.is_same { touching(&found.hot.key, range) } else { None };
        self.conditions.push(touch.unwrap_or_else(|| condition(&found.hot.key, range)));
        self.pages += range.pages.max(1);
    }

    fn task(self, unit: usize) -> Task {
        let condition = match self.conditions.as_slice() {
            [one] => one.clone(),
            many => many.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" OR "),
        };
        Task { unit, condition, pages: self.pages, mark: None }
    }
}

fn close(open: &mut HashMap<usize, Piece>, tasks: &mut Vec<Task>) {
    let mut left: Vec<_> = open.drain().collect();
    left.sort_by_key(|(unit, _)| *unit);
    tasks.extend(left.into_iter().map(|(unit, piece)| piece.task(unit)));
}

/// Places that are looked at to see whether a load did what it should.
const SAMPLES: usize = 24;

/// Statements that each read one row of the hot set, evenly over these indexes and over their heat.
pub(in crate::warm::hotset) fn samples<'a>(
    matches: impl Iterator<Item = &'a Match<'a>>,
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // Ranges of columns that the index does not have here say nothing.
    for found in matches.filter(|found| found.way == Way::Keys) {
        let ranges = &found.hot.ranges;
        let one = |range: &KeyRange| {
            let low = KeyRange { last: range.low.clone(), ..range.clone() };
            touching(&found.hot.key, &low).map(|row| found.unit.statement(&row))
        };
        let step = ranges.len().div_ceil(SAMPLES).max(1);
        all.extend(ranges.iter().step_by(step).filter_map(one));
    }
    let step = all.len().div_ceil(SAMPLES).max(1);
    all.into_iter().step_by(step).collect()
}

/// A number for a text, the same on every machine and in every version: FNV-1a.
pub(super) fn mark(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
