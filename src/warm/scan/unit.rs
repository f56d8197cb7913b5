//! What a scan works off: one index of one table (or partition), the statements that read it, and their order.

use std::collections::HashMap;

use super::key::{Key, Kind, range};
use crate::warm::catalog::{Column, HIDDEN, Index, Table};
use crate::warm::names::quote;

/// One B-tree to read.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::warm) struct Unit {
    pub database: String,
    pub table: String,
    /// Empty if the table has none.
    pub partition: String,
    pub index: String,
    pub clustered: bool,
    /// Estimated pages.
    pub pages: u64,
    /// First column and how its values are written, if the index can be cut.
    pub(super) first: Option<(String, Kind)>,
    /// Whether that column may be NULL.
    pub nullable: bool,
    /// Only the first characters of the column are in the index: rows are looked up while it is read.
    pub cut: bool,
    /// The condition that holds the whole index.
    whole: String,
    /// What is counted: reads the index and nothing else.
    measure: String,
    /// FROM with its hints.
    from: String,
}

/// Which columns beside the key the clustered scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warm) enum Blobs {
    /// None: pages outside the rows stay where they are.
    Leave,
    /// All long columns, so that their own pages are read too.
    Read,
}

/// Types whose long values lie outside the row.
const LONG: &[&str] = &[
    "tinyblob",
    "blob",
    "mediumblob",
    "longblob",
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
    "json",
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "geomcollection",
    "vector",
];

impl Unit {
    /// `` `db`.`table`.`index` ``, for people.
    pub(in crate::warm) fn label(&self) -> String {
        let partition = match self.partition.as_str() {
            "" => String::new(),
            name => format!(" partition {name}"),
        };
        format!("{}.{}.{}{partition}", self.database, self.table, self.index)
    }

    /// The statement that reads the part of the index that a condition names; all of it without one.
    pub(in crate::warm) fn statement(&self, condition: &str) -> String {
        let condition = if condition.is_empty() { &self.whole } else { condition };
        let mut sql = format!("SELECT /* sweat warm */ {} FROM {}", self.measure, self.from);
        if !condition.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(condition);
        }
        sql
    }

    /// Asks for smallest and largest value.
    pub(super) fn ends(&self, column: &str, kind: &Kind) -> String {
        let of = |which: &str| kind.expression(&format!("{which}({})", quote(column)));
        format!("SELECT {}, {} FROM {}", of("MIN"), of("MAX"), self.from)
    }

    /// Asks for the first value not below a guess.
    pub(super) fn first_from(&self, column: &str, kind: &Kind, at: &Key) -> String {
        let name = quote(column);
        format!(
            "SELECT {} FROM {} WHERE {name} >= {} ORDER BY {name} LIMIT 1",
            kind.expression(&name),
            self.from,
            kind.literal(at)
        )
    }

    /// Asks how many rows the optimizer expects in a range.
    pub(super) fn estimate(
        &self,
        column: &str,
        kind: &Kind,
        low: Option<&Key>,
        high: Option<&Key>,
    ) -> String {
        format!("EXPLAIN FORMAT=TRADITIONAL {}", self.statement(&range(kind, column, low, high)))
    }
}

/// The units of a table, and what is left out with the reason.
pub(in crate::warm) fn units(table: &Table, blobs: Blobs, notes: &mut Vec<String>) -> Vec<Unit> {
    let clustered = table.clustered().map(|i| i.name.clone());
    let partitions =
        if table.partitions.is_empty() { vec![String::new()] } else { table.partitions.clone() };
    let mut found = Vec::new();
    for partition in &partitions {
        found.push(clustered_unit(table, partition, blobs));
        for index in &table.indexes {
            if Some(&index.name) != clustered.as_ref() {
                match why_not(table, index, blobs) {
                    None => found.push(secondary_unit(table, partition, index)),
                    Some(why) if Some(partition) == partitions.first() => {
                        let (database, name) = (&table.database, &table.name);
                        notes.push(format!("{database}.{name}.{} is left out: {why}", index.name));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    found
}

/// Why an index can't be read by a scan.
fn why_not(table: &Table, index: &Index, blobs: Blobs) -> Option<String> {
    let column = first_column(table, index);
    let long = is_cut(index) && column.is_some_and(|c| LONG.contains(&c.data_type.as_str()));
    match index.kind.as_str() {
        "BTREE" if long && blobs == Blobs::Leave => {
            Some("to read it means to read long values too (--blobs)".to_owned())
        }
        "BTREE" if index.ignored => Some("the optimizer was told to ignore it".to_owned()),
        "BTREE" => None,
        other => Some(format!("no scan reads a {} index", other.to_lowercase())),
    }
}

fn from(table: &Table, partition: &str, hint: &str) -> String {
    let mut from = format!("{}.{}", quote(&table.database), quote(&table.name));
    if !partition.is_empty() {
        from.push_str(&format!(" PARTITION ({})", quote(partition)));
    }
    if table.versioned {
        from.push_str(" FOR SYSTEM_TIME ALL");
    }
    from.push(' ');
    from.push_str(hint);
    from
}

fn clustered_unit(table: &Table, partition: &str, blobs: Blobs) -> Unit {
    let index = table.clustered();
    let name = index.map_or(HIDDEN, |i| i.name.as_str());
    let hint = match index {
        Some(index) => format!("FORCE INDEX ({})", quote(&index.name)),
        None => "USE INDEX ()".to_owned(),
    };
    let first = index.and_then(|i| cuttable(table, i));
    let mut measure = format!("COUNT({})", plain_column(table).map_or("*".to_owned(), quote_name));
    if blobs == Blobs::Read {
        for column in table.columns.iter().filter(|c| is_long(c) && !c.computed) {
            measure.push_str(&format!(", SUM(LENGTH({}))", quote(&column.name)));
        }
    }
    Unit {
        database: table.database.clone(),
        table: table.name.clone(),
        partition: partition.to_owned(),
        index: name.to_owned(),
        clustered: true,
        pages: pages(table, partition, name, true),
        nullable: false,
        first,
        cut: false,
        whole: String::new(),
        measure,
        from: from(table, partition, &hint),
    }
}

fn quote_name(column: &Column) -> String {
    quote(&column.name)
}

fn is_long(column: &Column) -> bool {
    LONG.contains(&column.data_type.as_str())
        || (column.data_type.starts_with("var") && column.bytes > 255)
}

/// A column that only the clustered index has, cheap to read: NOT NULL and short if there is one.
fn plain_column(table: &Table) -> Option<&Column> {
    let in_index = |c: &Column| {
        table
            .indexes
            .iter()
            .any(|i| i.parts.iter().any(|p| p.column.as_deref() == Some(c.name.as_str())))
    };
    table
        .columns
        .iter()
        .filter(|c| !c.computed && !LONG.contains(&c.data_type.as_str()) && !in_index(c))
        .min_by_key(|c| (c.nullable, c.bytes))
}

fn is_cut(index: &Index) -> bool {
    index.parts.iter().any(|p| p.cut)
}

fn first_column<'a>(table: &'a Table, index: &Index) -> Option<&'a Column> {
    table.column(index.parts.first()?.column.as_deref()?)
}

/// First column of an index whose ranges the index alone can answer.
fn cuttable(table: &Table, index: &Index) -> Option<(String, Kind)> {
    let whole = index.parts.first().is_some_and(|p| !p.cut);
    let column = first_column(table, index).filter(|_| whole)?;
    Some((column.name.clone(), Kind::of(column)?))
}

fn secondary_unit(table: &Table, partition: &str, index: &Index) -> Unit {
    let column = first_column(table, index);
    let nullable = column.is_some_and(|c| c.nullable);
    let cut = is_cut(index);
    // An index of first characters is never read by itself; a range has it read, with the rows.
    let whole = match column.filter(|_| index.parts.first().is_some_and(|p| p.cut)) {
        Some(c) if nullable => format!("{0} >= '' OR {0} IS NULL", quote(&c.name)),
        Some(c) => format!("{} >= ''", quote(&c.name)),
        None => String::new(),
    };
    let counted = column.filter(|_| !cut).map_or("*".to_owned(), quote_name);
    Unit {
        database: table.database.clone(),
        table: table.name.clone(),
        partition: partition.to_owned(),
        index: index.name.clone(),
        clustered: false,
        pages: pages(table, partition, &index.name, false),
        nullable,
        first: cuttable(table, index),
        cut,
        whole,
        measure: format!("COUNT({counted})"),
        from: from(table, partition, &format!("FORCE INDEX ({})", quote(&index.name))),
    }
}

/// Estimated pages of an index: from InnoDB's statistics, or a share of the table's lengths. Where the files are
/// much larger than statistics say, those are old, and the index may be as large as the file.
fn pages(table: &Table, partition: &str, index: &str, clustered: bool) -> u64 {
    const PAGE_BYTES: u64 = 16 * 1024;
    let leaves = table.partitions.len().max(1) as u64;
    let known = table.pages.get(&(partition.to_owned(), index.to_owned())).copied();
    let guess = || {
        let others = table.indexes.iter().filter(|i| i.kind == "BTREE").count() as u64;
        let others = others.saturating_sub(u64::from(table.clustered().is_some())).max(1);
        let bytes = if clustered { table.data_bytes } else { table.index_bytes / others };
        bytes / leaves / PAGE_BYTES
    };
    let estimate = known.unwrap_or_else(guess).max(1);
    let counted: u64 = table.pages.values().sum();
    match table.file_pages {
        Some(file) if file / 2 > counted.max(64) => {
            let trees = (table.indexes.len().max(1)) as u64 * leaves;
            estimate.max(file / trees)
        }
        _ => estimate,
    }
}

/// Which index comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Most read per page first, where the server counts reads; else as `Size`.
    Use,
    /// Secondary indexes before the rows, small ones first.
    Size,
    /// By database and table; the rows, then the other indexes.
    Name,
}

/// Reads by database, table and index, as far as the server counted them.
pub(super) type Reads = HashMap<(String, String, String), u64>;

/// Puts units in order of priority; those that look up rows come when the rows are there.
pub(super) fn arrange(units: &mut [Unit], order: Order, reads: &Reads) {
    let size = |u: &Unit| (u.cut, u.clustered, u.pages);
    let name = |u: &Unit| {
        let (database, table, partition) = (&u.database, &u.table, &u.partition);
        let place = (u.cut, !u.clustered, u.index.clone());
        (database.clone(), table.clone(), partition.clone(), place)
    };
    match order {
        Order::Name => units.sort_by_key(name),
        Order::Size => units.sort_by_key(|u| (size(u), name(u))),
        Order::Use => units.sort_by(|a, b| {
            let heat = |u: &Unit| {
                let key = (u.database.clone(), u.table.clone(), u.index.clone());
                reads.get(&key).copied().unwrap_or(0) as f64 / u.pages.max(1) as f64
            };
            let by_heat = heat(b).total_cmp(&heat(a));
            let by_heat = a.cut.cmp(&b.cut).then(by_heat);
            by_heat.then_with(|| (size(a), name(a)).cmp(&(size(b), name(b))))
        }),
    }
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
