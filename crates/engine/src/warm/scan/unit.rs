//! What a scan works off: one index of one table (or partition), the statements that read it, and their order.

use std::collections::HashMap;

use super::key::{KeyBytes, KeyKind, key_condition};
use crate::warm::catalog::{CatalogColumn, CatalogIndex, CatalogTable, HIDDEN};
use crate::warm::names::quote_identifier;

/// One B-tree to read.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::warm) struct ScanUnit {
    pub database: String,
    pub table: String,
    /// Empty if the table has none.
    pub partition: String,
    pub index: String,
    pub clustered: bool,
    /// Estimated pages.
    pub pages: u64,
    /// First column and how its values are written, if the index can be cut.
    pub(super) first: Option<(String, KeyKind)>,
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
pub(in crate::warm) enum BlobPolicy {
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

impl ScanUnit {
    /// `` `db`.`table`.`index` ``, for people.
    pub(in crate::warm) fn index_label(&self) -> String {
        let partition = match self.partition.as_str() {
            "" => String::new(),
            name => format!(" partition {name}"),
        };
        format!("{}.{}.{}{partition}", self.database, self.table, self.index)
    }

    /// The statement that reads the part of the index that a condition names; all of it without one.
    pub(in crate::warm) fn read_statement(&self, condition: &str) -> String {
        let condition = if condition.is_empty() { &self.whole } else { condition };
        let mut sql = format!("SELECT /* sweat warm */ {} FROM {}", self.measure, self.from);
        if !condition.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(condition);
        }
        sql
    }

    /// Asks for smallest and largest value.
    pub(super) fn min_max_query(&self, column: &str, kind: &KeyKind) -> String {
        let of =
            |which: &str| kind.sql_expression(&format!("{which}({})", quote_identifier(column)));
        format!("SELECT {}, {} FROM {}", of("MIN"), of("MAX"), self.from)
    }

    /// Asks for the first value not below a guess.
    pub(super) fn first_key_query(&self, column: &str, kind: &KeyKind, at: &KeyBytes) -> String {
        let name = quote_identifier(column);
        format!(
            "SELECT {} FROM {} WHERE {name} >= {} ORDER BY {name} LIMIT 1",
            kind.sql_expression(&name),
            self.from,
            kind.sql_literal(at)
        )
    }

    /// Asks how many rows the optimizer expects in a range.
    pub(super) fn row_estimate_query(
        &self,
        column: &str,
        kind: &KeyKind,
        low: Option<&KeyBytes>,
        high: Option<&KeyBytes>,
    ) -> String {
        format!(
            "EXPLAIN FORMAT=TRADITIONAL {}",
            self.read_statement(&key_condition(kind, column, low, high))
        )
    }
}

/// The units of a table, and what is left out with the reason.
pub(in crate::warm) fn table_units(
    table: &CatalogTable,
    blobs: BlobPolicy,
    notes: &mut Vec<String>,
) -> Vec<ScanUnit> {
    let clustered = table.clustered_index().map(|i| i.name.clone());
    let partitions =
        if table.partitions.is_empty() { vec![String::new()] } else { table.partitions.clone() };
    let mut found = Vec::new();
    for partition in &partitions {
        found.push(clustered_unit(table, partition, blobs));
        for index in &table.indexes {
            if Some(&index.name) != clustered.as_ref() {
                match skip_reason(table, index, blobs) {
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
fn skip_reason(table: &CatalogTable, index: &CatalogIndex, blobs: BlobPolicy) -> Option<String> {
    let column = first_column(table, index);
    let long =
        has_prefix_part(index) && column.is_some_and(|c| LONG.contains(&c.data_type.as_str()));
    match index.kind.as_str() {
        "BTREE" if long && blobs == BlobPolicy::Leave => {
            Some("reading it also reads long values (--blobs)".to_owned())
        }
        "BTREE" if index.ignored => Some("the optimizer was told to ignore it".to_owned()),
        "BTREE" => None,
        other => Some(format!("a scan can't read a {} index", other.to_lowercase())),
    }
}

fn from_clause(table: &CatalogTable, partition: &str, hint: &str) -> String {
    let mut from =
        format!("{}.{}", quote_identifier(&table.database), quote_identifier(&table.name));
    if !partition.is_empty() {
        from.push_str(&format!(" PARTITION ({})", quote_identifier(partition)));
    }
    if table.versioned {
        from.push_str(" FOR SYSTEM_TIME ALL");
    }
    from.push(' ');
    from.push_str(hint);
    from
}

fn clustered_unit(table: &CatalogTable, partition: &str, blobs: BlobPolicy) -> ScanUnit {
    let index = table.clustered_index();
    let name = index.map_or(HIDDEN, |i| i.name.as_str());
    let hint = match index {
        Some(index) => format!("FORCE INDEX ({})", quote_identifier(&index.name)),
        None => "USE INDEX ()".to_owned(),
    };
    let first = index.and_then(|i| split_column(table, i));
    let mut measure =
        format!("COUNT({})", plain_column(table).map_or("*".to_owned(), quote_column));
    if blobs == BlobPolicy::Read {
        for column in table.columns.iter().filter(|c| is_long_column(c) && !c.computed) {
            measure.push_str(&format!(", SUM(LENGTH({}))", quote_identifier(&column.name)));
        }
    }
    ScanUnit {
        database: table.database.clone(),
        table: table.name.clone(),
        partition: partition.to_owned(),
        index: name.to_owned(),
        clustered: true,
        pages: estimate_pages(table, partition, name, true),
        nullable: false,
        first,
        cut: false,
        whole: String::new(),
        measure,
        from: from_clause(table, partition, &hint),
    }
}

fn quote_column(column: &CatalogColumn) -> String {
    quote_identifier(&column.name)
}

fn is_long_column(column: &CatalogColumn) -> bool {
    LONG.contains(&column.data_type.as_str())
        || (column.data_type.starts_with("var") && column.bytes > 255)
}

/// A column that only the clustered index has, cheap to read: NOT NULL and short if there is one.
fn plain_column(table: &CatalogTable) -> Option<&CatalogColumn> {
    let in_index = |c: &CatalogColumn| {
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

fn has_prefix_part(index: &CatalogIndex) -> bool {
    index.parts.iter().any(|p| p.cut)
}

fn first_column<'a>(table: &'a CatalogTable, index: &CatalogIndex) -> Option<&'a CatalogColumn> {
    table.find_column(index.parts.first()?.column.as_deref()?)
}

/// First column of an index whose ranges the index alone can answer.
fn split_column(table: &CatalogTable, index: &CatalogIndex) -> Option<(String, KeyKind)> {
    let whole = index.parts.first().is_some_and(|p| !p.cut);
    let column = first_column(table, index).filter(|_| whole)?;
    Some((column.name.clone(), KeyKind::from_column(column)?))
}

fn secondary_unit(table: &CatalogTable, partition: &str, index: &CatalogIndex) -> ScanUnit {
    let column = first_column(table, index);
    let nullable = column.is_some_and(|c| c.nullable);
    let cut = has_prefix_part(index);
    // An index of first characters is never read by itself; a range has it read, with the rows.
    let whole = match column.filter(|_| index.parts.first().is_some_and(|p| p.cut)) {
        Some(c) if nullable => format!("{0} >= '' OR {0} IS NULL", quote_identifier(&c.name)),
        Some(c) => format!("{} >= ''", quote_identifier(&c.name)),
        None => String::new(),
    };
    let counted = column.filter(|_| !cut).map_or("*".to_owned(), quote_column);
    ScanUnit {
        database: table.database.clone(),
        table: table.name.clone(),
        partition: partition.to_owned(),
        index: index.name.clone(),
        clustered: false,
        pages: estimate_pages(table, partition, &index.name, false),
        nullable,
        first: split_column(table, index),
        cut,
        whole,
        measure: format!("COUNT({counted})"),
        from: from_clause(
            table,
            partition,
            &format!("FORCE INDEX ({})", quote_identifier(&index.name)),
        ),
    }
}

/// Estimated pages of an index: from InnoDB's statistics, or a share of the table's lengths. Where the files are
/// much larger than statistics say, those are old, and the index may be as large as the file.
fn estimate_pages(table: &CatalogTable, partition: &str, index: &str, clustered: bool) -> u64 {
    const PAGE_BYTES: u64 = 16 * 1024;
    let leaves = table.partitions.len().max(1) as u64;
    let known = table.pages.get(&(partition.to_owned(), index.to_owned())).copied();
    let guess = || {
        let others = table.indexes.iter().filter(|i| i.kind == "BTREE").count() as u64;
        let others = others.saturating_sub(u64::from(table.clustered_index().is_some())).max(1);
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
pub(super) enum ScanOrder {
    /// Most read per page first, where the server counts reads; else as `ByteSize`.
    Use,
    /// Secondary indexes before the rows, small ones first.
    Size,
    /// By database and table; the rows, then the other indexes.
    Name,
}

/// Reads by database, table and index, as far as the server counted them.
pub(super) type AccessCounts = HashMap<(String, String, String), u64>;

/// Puts units in order of priority; those that look up rows come when the rows are there.
pub(super) fn sort_units(units: &mut [ScanUnit], order: ScanOrder, reads: &AccessCounts) {
    let size = |u: &ScanUnit| (u.cut, u.clustered, u.pages);
    let name = |u: &ScanUnit| {
        let (database, table, partition) = (&u.database, &u.table, &u.partition);
        let place = (u.cut, !u.clustered, u.index.clone());
        (database.clone(), table.clone(), partition.clone(), place)
    };
    match order {
        ScanOrder::Name => units.sort_by_key(name),
        ScanOrder::Size => units.sort_by_key(|u| (size(u), name(u))),
        ScanOrder::Use => units.sort_by(|a, b| {
            let heat = |u: &ScanUnit| {
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
