//! What of a hot set can be brought to a server, and how: which of its indexes are there, whether their pages have the
//! same numbers, and the statements that read the rest, the hottest first. Pure.

use std::collections::HashMap;

use super::super::range::{leaf_condition, range_condition};
use super::super::{HotIndex, HotSet, KeyRange};
use crate::warm::catalog::{CatalogColumn, CatalogIndex, CatalogTable, HIDDEN};
use crate::warm::scan::{BlobPolicy, ReadTask, ScanUnit, table_units};

/// How an index is brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::warm::hotset) enum ReadScope {
    /// By its ranges of keys.
    Keys,
    /// By a scan of the whole index, and why.
    Whole(String),
}

/// An index of the hot set that the server has.
pub(in crate::warm::hotset) struct IndexMatch<'a> {
    pub hot: &'a HotIndex,
    pub unit: ScanUnit,
    pub way: ReadScope,
    /// Its pages are where they were in the origin, as far as numbers tell.
    pub is_same: bool,
}

/// Where an index lies: number of its tablespace, its own, pages of the file.
pub(in crate::warm::hotset) type IndexLocations = HashMap<(u32, u64), IndexLocation>;

/// What the server says of an index with these numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::warm::hotset) struct IndexLocation {
    /// The index's name.
    pub index: String,
    /// `database/table`, as InnoDB writes it.
    pub table: String,
    /// Pages of the tablespace's file; 0 if not told.
    pub file_pages: u64,
}

/// Finds the indexes of a hot set among the tables of a server; what is not there is noted.
pub(in crate::warm::hotset) fn match_indexes<'a>(
    hot: &'a HotSet,
    tables: &[CatalogTable],
    layout: &IndexLocations,
    page_bytes: u64,
    notes: &mut Vec<String>,
) -> Vec<IndexMatch<'a>> {
    let same_pages = u64::from(hot.origin.page_bytes) == page_bytes;
    let mut found = Vec::new();
    for index in &hot.indexes {
        let Some(table) = tables.iter().find(|t| is_same_table(t, index)) else {
            notes.push(format!("{} is left out: there is no such table", index_label(index)));
            continue;
        };
        let all = table_units(table, BlobPolicy::Leave, &mut Vec::new());
        let unit = all
            .into_iter()
            .find(|u| u.index == index.index && u.partition.eq_ignore_ascii_case(&index.partition));
        let Some(unit) = unit else {
            notes.push(format!(
                "{} is left out: there is no such index to read",
                index_label(index)
            ));
            continue;
        };
        let way = match whole_scan_reason(table, index) {
            Some(why) => ReadScope::Whole(why),
            None => ReadScope::Keys,
        };
        let is_same = same_pages && has_same_location(index, layout);
        found.push(IndexMatch { hot: index, unit, way, is_same });
    }
    found
}

fn is_same_table(table: &CatalogTable, index: &HotIndex) -> bool {
    table.database == index.database && table.name == index.table
}

/// `db.table.index`, for people.
pub(super) fn index_label(index: &HotIndex) -> String {
    let partition = match index.partition.as_str() {
        "" => String::new(),
        partition => format!(" partition {partition}"),
    };
    format!("{}.{}.{}{partition}", index.database, index.table, index.index)
}

/// Why the ranges of an index are of no use here; `None` if they are.
fn whole_scan_reason(table: &CatalogTable, hot: &HotIndex) -> Option<String> {
    if let Some(why) = &hot.whole {
        return Some(why.clone());
    }
    let clustered = table.clustered_index();
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
        let Some(own) = table.find_column(name) else { continue };
        if let Some(why) = collation_mismatch(own, column.collation.as_deref()) {
            return Some(why);
        }
    }
    None
}

/// Text is in another order where its collation is another one.
fn collation_mismatch(own: &CatalogColumn, collation: Option<&str>) -> Option<String> {
    let (here, there) = (own.collation.as_deref()?, collation?);
    let plain = |name: &str| name.replace("utf8mb3_", "utf8_");
    (plain(here) != plain(there))
        .then(|| format!("{} is ordered by {here} here, by {there} in the hot set", own.name))
}

/// Columns of an index in order, those of the rows' key behind them.
fn key_columns(index: &CatalogIndex, clustered: Option<&CatalogIndex>) -> Vec<String> {
    let own =
        |i: &CatalogIndex| i.parts.iter().filter_map(|p| p.column.clone()).collect::<Vec<_>>();
    let mut columns = own(index);
    for column in clustered.map(own).unwrap_or_default() {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// Whether the server has the same index under the same numbers, in a file that is no shorter as far as it tells.
fn has_same_location(hot: &HotIndex, layout: &IndexLocations) -> bool {
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
pub(super) fn build_tasks(matches: &[&IndexMatch<'_>], largest_piece: u64) -> Vec<ReadTask> {
    let mut all: Vec<(u64, usize, &KeyRange)> = Vec::new();
    for (unit, found) in matches.iter().enumerate() {
        all.extend(found.hot.ranges.iter().map(|range| (range.heat, unit, range)));
    }
    all.sort_by_key(|(heat, unit, _)| (*heat, *unit));
    let pages: u64 = all.iter().map(|(_, _, range)| range.pages.max(1)).sum();
    let slice = (pages / SLICES).max(64);
    let most = PAGES.min(largest_piece);
    let mut tasks = Vec::new();
    let (mut open, mut of_slice) = (HashMap::<usize, RangeBatch>::new(), 0);
    for (_, unit, range) in all {
        let found = matches[unit];
        let chunk = open.entry(unit).or_default();
        chunk.add_range(found, range);
        if chunk.conditions.len() >= RANGES || chunk.pages >= most {
            let chunk = std::mem::take(chunk);
            tasks.push(chunk.into_task(unit));
            open.remove(&unit);
        }
        of_slice += range.pages.max(1);
        if of_slice >= slice {
            flush_batches(&mut open, &mut tasks);
            of_slice = 0;
        }
    }
    flush_batches(&mut open, &mut tasks);
    for task in &mut tasks {
        task.mark = Some(text_hash(&matches[task.unit].unit.read_statement(&task.condition)));
    }
    tasks
}

/// Ranges of one index that go into one statement.
#[derive(Default)]
struct RangeBatch {
    conditions: Vec<String>,
    pages: u64,
}

impl RangeBatch {
    fn add_range(&mut self, found: &IndexMatch<'_>, range: &KeyRange) {
        let touch = if found.is_same { leaf_condition(&found.hot.key, range) } else { None };
        self.conditions.push(touch.unwrap_or_else(|| range_condition(&found.hot.key, range)));
        self.pages += range.pages.max(1);
    }

    fn into_task(self, unit: usize) -> ReadTask {
        let condition = match self.conditions.as_slice() {
            [one] => one.clone(),
            many => many.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" OR "),
        };
        ReadTask { unit, condition, pages: self.pages, mark: None }
    }
}

fn flush_batches(open: &mut HashMap<usize, RangeBatch>, tasks: &mut Vec<ReadTask>) {
    let mut left: Vec<_> = open.drain().collect();
    left.sort_by_key(|(unit, _)| *unit);
    tasks.extend(left.into_iter().map(|(unit, chunk)| chunk.into_task(unit)));
}

/// Places that are looked at to see whether a load did what it should.
const SAMPLES: usize = 24;

/// Statements that each read one row of the hot set, evenly over these indexes and over their heat.
pub(in crate::warm::hotset) fn sample_statements<'a>(
    matches: impl Iterator<Item = &'a IndexMatch<'a>>,
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // Ranges of columns that the index does not have here say nothing.
    for found in matches.filter(|found| found.way == ReadScope::Keys) {
        let ranges = &found.hot.ranges;
        let one = |range: &KeyRange| {
            let low = KeyRange { last: range.low.clone(), ..range.clone() };
            leaf_condition(&found.hot.key, &low).map(|row| found.unit.read_statement(&row))
        };
        let step = ranges.len().div_ceil(SAMPLES).max(1);
        all.extend(ranges.iter().step_by(step).filter_map(one));
    }
    let step = all.len().div_ceil(SAMPLES).max(1);
    all.into_iter().step_by(step).collect()
}

/// A number for a text, the same on every machine and in every version: FNV-1a.
pub(super) fn text_hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
