//! What there is to warm: tables, their columns, indexes, partitions and sizes, from the server's catalog.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, bail};

use super::names::{TableChoice, text_literal};
use super::pool_status::{column_text, read_index_pages};
use crate::client::{ResultSet, Session};
use crate::plan::RefusedError;

/// Databases that belong to the server itself.
const OWN: &[&str] = &["information_schema", "performance_schema", "mysql", "sys"];

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogColumn {
    pub name: String,
    /// Lower case, without length: `varchar`.
    pub data_type: String,
    /// As the server says it, with length, signs and words: `decimal(10,2) unsigned`.
    pub full_type: String,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub nullable: bool,
    /// Computed when read, in no page of the clustered index.
    pub computed: bool,
    /// `PRI`, `UNI`, `MUL` or empty, as DESCRIBE says.
    pub key: String,
    /// Longest value in bytes, where the catalog says.
    pub bytes: u64,
}

/// A part of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexPart {
    /// `None` for an expression.
    pub column: Option<String>,
    /// Only the first characters are in the index.
    pub cut: bool,
    /// The index runs from the largest to the smallest value.
    pub descending: bool,
}

/// An index of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogIndex {
    pub name: String,
    pub unique: bool,
    /// `BTREE`, `FULLTEXT`, `SPATIAL`, ...
    pub kind: String,
    pub parts: Vec<IndexPart>,
    /// The optimizer leaves it alone (invisible in MySQL, ignored in MariaDB).
    pub ignored: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogTable {
    pub database: String,
    pub name: String,
    pub columns: Vec<CatalogColumn>,
    pub indexes: Vec<CatalogIndex>,
    /// Names of the leaves of its partitioning; empty if not partitioned.
    pub partitions: Vec<String>,
    /// Old row versions are kept as rows (MariaDB).
    pub versioned: bool,
    /// Estimated.
    pub data_bytes: u64,
    /// Estimated, secondary indexes together.
    pub index_bytes: u64,
    /// Pages by partition (empty name if none) and index, from InnoDB's persistent statistics.
    pub pages: HashMap<(String, String), u64>,
    /// Pages of its files, if the server told.
    pub file_pages: Option<u64>,
}

/// Name that InnoDB gives the clustered index of a table without a usable key.
pub(super) const HIDDEN: &str = "GEN_CLUST_INDEX";

impl CatalogTable {
    /// The index whose leaves hold the rows; `None` if InnoDB made one of its own.
    pub(super) fn clustered_index(&self) -> Option<&CatalogIndex> {
        let nullable = |name: &str| self.columns.iter().any(|c| c.name == name && c.nullable);
        self.indexes.iter().find(|i| i.name == "PRIMARY").or_else(|| {
            self.indexes.iter().find(|i| {
                i.unique
                    && i.kind == "BTREE"
                    && i.parts
                        .iter()
                        .all(|p| !p.cut && p.column.as_deref().is_some_and(|name| !nullable(name)))
            })
        })
    }

    /// A column by name.
    pub(super) fn find_column(&self, name: &str) -> Option<&CatalogColumn> {
        self.columns.iter().find(|c| c.name == name)
    }
}

/// What the catalog said, with what it did not.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub tables: Vec<CatalogTable>,
    /// What could not be read and what follows from it, in words.
    pub notes: Vec<String>,
}

/// Reads the catalog for what was chosen; everything of the users if nothing was.
///
/// # Errors
/// When the catalog can't be read, or something chosen does not exist.
pub(super) fn read_catalog(
    session: &mut Session,
    chosen: &[TableChoice],
) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::default();
    let mut wanted: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    for choice in chosen {
        let tables = wanted.entry(choice.database.clone()).or_insert_with(|| Some(Vec::new()));
        match (&choice.table, tables.as_mut()) {
            (Some(table), Some(tables)) => tables.push(table.clone()),
            (None, _) => *tables = None,
            (Some(_), None) => {}
        }
    }
    let all = list_databases(session)?;
    if chosen.is_empty() {
        wanted = all
            .iter()
            .filter(|name| !OWN.contains(&name.to_ascii_lowercase().as_str()))
            .map(|name| (name.clone(), None))
            .collect();
    }
    for (database, tables) in wanted {
        if !all.contains(&database) {
            let hint = "name a database or a table as DATABASE or DATABASE.TABLE";
            bail!(RefusedError(format!("no such database: {database}\nhint: {hint}")));
        }
        read_database(session, &database, tables.as_deref(), &mut catalog)
            .with_context(|| format!("read the catalog of database {database}"))?;
    }
    read_file_sizes(session, &mut catalog);
    Ok(catalog)
}

fn list_databases(session: &mut Session) -> anyhow::Result<Vec<String>> {
    let rows = session
        .query_rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")
        .context("list the databases")?;
    Ok(rows.rows.iter().filter_map(|row| column_text(row, 0)).collect())
}

fn read_database(
    session: &mut Session,
    database: &str,
    only: Option<&[String]>,
    catalog: &mut Catalog,
) -> anyhow::Result<()> {
    let schema = text_literal(database);
    let names =
        only.map(|names| names.iter().map(|n| text_literal(n)).collect::<Vec<_>>().join(","));
    let and = names.map(|n| format!(" AND TABLE_NAME IN ({n})")).unwrap_or_default();
    let of = |what: &str, order: &str| {
        format!("SELECT * FROM information_schema.{what} WHERE TABLE_SCHEMA = {schema}{and}{order}")
    };
    let mut tables = BTreeMap::new();
    let mut seen = Vec::new();
    for row in NamedRow::iter_rows(&session.query_rows(&of("TABLES", ""))?) {
        seen.push(row.text_value("TABLE_NAME"));
        if let Some(table) = table_from_row(database, &row) {
            tables.insert(table.name.clone(), table);
        } else if only.is_some() {
            let (name, kind) =
                (row.text_value("TABLE_NAME"), row.text_value("TABLE_TYPE").to_lowercase());
            let engine = row.text_value("ENGINE");
            let what = if engine.is_empty() { kind } else { format!("{kind}, engine {engine}") };
            catalog
                .notes
                .push(format!("{database}.{name} is not an InnoDB table ({what}): left out"));
        }
    }
    if let Some(missing) = only.unwrap_or_default().iter().find(|name| !seen.contains(name)) {
        bail!(RefusedError(format!("no such table: {database}.{missing}")));
    }
    let columns = of("COLUMNS", " ORDER BY TABLE_NAME, ORDINAL_POSITION");
    for row in NamedRow::iter_rows(&session.query_rows(&columns)?) {
        if let Some(table) = tables.get_mut(&row.text_value("TABLE_NAME")) {
            table.columns.push(column_from_row(&row));
        }
    }
    let indexes = of("STATISTICS", " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX");
    for row in NamedRow::iter_rows(&session.query_rows(&indexes)?) {
        if let Some(table) = tables.get_mut(&row.text_value("TABLE_NAME")) {
            add_index_part(table, &row);
        }
    }
    let partitions = of("PARTITIONS", " AND PARTITION_NAME IS NOT NULL");
    for row in NamedRow::iter_rows(&session.query_rows(&partitions)?) {
        if let Some(table) = tables.get_mut(&row.text_value("TABLE_NAME")) {
            let sub = row.text_value("SUBPARTITION_NAME");
            let name = if sub.is_empty() { row.text_value("PARTITION_NAME") } else { sub };
            table.partitions.push(name);
        }
    }
    read_index_sizes(session, database, &mut tables, &mut catalog.notes);
    catalog.tables.extend(tables.into_values());
    Ok(())
}

fn table_from_row(database: &str, row: &NamedRow<'_>) -> Option<CatalogTable> {
    let kind = row.text_value("TABLE_TYPE");
    let versioned = kind == "SYSTEM VERSIONED";
    if (kind != "BASE TABLE" && !versioned)
        || !row.text_value("ENGINE").eq_ignore_ascii_case("InnoDB")
    {
        return None;
    }
    Some(CatalogTable {
        database: database.to_owned(),
        name: row.text_value("TABLE_NAME"),
        versioned,
        data_bytes: row.number_value("DATA_LENGTH"),
        index_bytes: row.number_value("INDEX_LENGTH"),
        ..CatalogTable::default()
    })
}

fn column_from_row(row: &NamedRow<'_>) -> CatalogColumn {
    let optional = |name| Some(row.text_value(name)).filter(|v| !v.is_empty());
    CatalogColumn {
        name: row.text_value("COLUMN_NAME"),
        data_type: row.text_value("DATA_TYPE").to_lowercase(),
        full_type: row.text_value("COLUMN_TYPE"),
        charset: optional("CHARACTER_SET_NAME"),
        collation: optional("COLLATION_NAME"),
        nullable: row.text_value("IS_NULLABLE") == "YES",
        computed: row.text_value("EXTRA").to_uppercase().contains("VIRTUAL"),
        key: row.text_value("COLUMN_KEY"),
        bytes: row.number_value("CHARACTER_OCTET_LENGTH"),
    }
}

fn add_index_part(table: &mut CatalogTable, row: &NamedRow<'_>) {
    let name = row.text_value("INDEX_NAME");
    if table.indexes.last().is_none_or(|last| last.name != name) {
        table.indexes.push(CatalogIndex {
            name,
            unique: row.text_value("NON_UNIQUE") == "0",
            kind: row.text_value("INDEX_TYPE"),
            parts: Vec::new(),
            ignored: row.text_value("IS_VISIBLE") == "NO" || row.text_value("IGNORED") == "YES",
        });
    }
    let part = IndexPart {
        column: Some(row.text_value("COLUMN_NAME")).filter(|v| !v.is_empty()),
        cut: !row.text_value("SUB_PART").is_empty(),
        descending: row.text_value("COLLATION") == "D",
    };
    table.indexes.last_mut().expect("pushed above if there was none").parts.push(part);
}

/// Pages of every index, as far as the statistics may be read; the table's lengths have to do otherwise.
fn read_index_sizes(
    session: &mut Session,
    database: &str,
    tables: &mut BTreeMap<String, CatalogTable>,
    notes: &mut Vec<String>,
) {
    let condition = format!("AND database_name = {}", text_literal(database));
    let rows = match read_index_pages(session, &condition) {
        Ok(rows) => rows,
        Err(error) => {
            let note = format!(
                "sizes of indexes are guessed from the tables' lengths \
                 (mysql.innodb_index_stats: {error})"
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
            return;
        }
    };
    for (_, name, index, pages) in rows {
        let (name, partition) = split_partition(&name);
        if let Some(table) = tables.get_mut(name) {
            let partition = table.partition_name(partition);
            table.pages.insert((partition, index), pages);
        }
    }
}

impl CatalogTable {
    /// The partition's name as the catalog writes it: statistics may have it in lower case.
    fn partition_name(&self, name: &str) -> String {
        let same = self.partitions.iter().find(|p| p.to_lowercase() == name.to_lowercase());
        same.cloned().unwrap_or_else(|| name.to_owned())
    }
}

/// `t#P#p0#SP#p0s1` is table `t`, leaf `p0s1`.
pub(super) fn split_partition(name: &str) -> (&str, &str) {
    let lower = name.to_ascii_lowercase();
    match lower.find("#p#") {
        None => (name, ""),
        Some(at) => {
            let leaf = lower.rfind("#sp#").map_or(at + 3, |sub| sub + 4);
            (&name[..at], &name[leaf..])
        }
    }
}

/// Sizes of the files, where PROCESS lets us see them: persistent statistics may be older than the data.
fn read_file_sizes(session: &mut Session, catalog: &mut Catalog) {
    let mut found: HashMap<(String, String), u64> = HashMap::new();
    for view in ["INNODB_TABLESPACES", "INNODB_SYS_TABLESPACES"] {
        let sql = format!("SELECT * FROM information_schema.{view} WHERE NAME LIKE '%/%'");
        let Ok(rows) = session.query_rows(&sql) else { continue };
        for row in NamedRow::iter_rows(&rows) {
            let name = row.text_value("NAME");
            let Some((database, table)) = name.split_once('/') else { continue };
            let page_bytes = row.number_value("PAGE_SIZE").max(1024);
            let (table, _) = split_partition(table);
            *found.entry((database.to_owned(), table.to_owned())).or_default() +=
                row.number_value("FILE_SIZE") / page_bytes;
        }
        break;
    }
    for table in &mut catalog.tables {
        table.file_pages = found.get(&(table.database.clone(), table.name.clone())).copied();
    }
}

/// A row whose values are looked up by column name in any case, so that columns one product lacks are empty.
struct NamedRow<'a> {
    columns: &'a [String],
    row: &'a [Option<Vec<u8>>],
}

impl NamedRow<'_> {
    fn iter_rows(rows: &ResultSet) -> impl Iterator<Item = NamedRow<'_>> {
        rows.rows.iter().map(|row| NamedRow { columns: &rows.columns, row })
    }
    fn text_value(&self, name: &str) -> String {
        let at = self.columns.iter().position(|c| c.eq_ignore_ascii_case(name));
        at.and_then(|at| column_text(self.row, at)).unwrap_or_default()
    }
    fn number_value(&self, name: &str) -> u64 {
        self.text_value(name).parse().unwrap_or(0)
    }
}

#[cfg(test)]
impl CatalogIndex {
    /// An index of whole columns, for tests.
    pub(super) fn of_columns(name: &str, columns: &[&str]) -> CatalogIndex {
        let part = |c: &&str| IndexPart { column: Some((*c).to_owned()), ..IndexPart::default() };
        CatalogIndex {
            name: name.to_owned(),
            unique: name == "PRIMARY",
            kind: "BTREE".to_owned(),
            parts: columns.iter().map(part).collect(),
            ignored: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clustered_index_is_found_as_innodb_does() {
        let column = |name: &str, nullable| CatalogColumn {
            name: name.to_owned(),
            nullable,
            ..CatalogColumn::default()
        };
        let unique = |name: &str, columns: &[&str]| CatalogIndex {
            unique: true,
            ..CatalogIndex::of_columns(name, columns)
        };
        let mut table = CatalogTable {
            columns: vec![column("a", true), column("b", false)],
            ..CatalogTable::default()
        };
        assert_eq!(table.clustered_index(), None);
        table.indexes = vec![unique("ua", &["a"]), CatalogIndex::of_columns("kb", &["b"])];
        assert_eq!(table.clustered_index(), None, "a nullable unique key does not order the rows");
        table.indexes.push(unique("ub", &["b"]));
        assert_eq!(table.clustered_index().unwrap().name, "ub");
        table.indexes.push(CatalogIndex::of_columns("PRIMARY", &["b"]));
        assert_eq!(table.clustered_index().unwrap().name, "PRIMARY");
    }

    #[test]
    fn partitions_are_told_from_tables() {
        assert_eq!(split_partition("t"), ("t", ""));
        assert_eq!(split_partition("t#P#p0"), ("t", "p0"));
        assert_eq!(split_partition("t#p#p0#sp#p0s1"), ("t", "p0s1"));
    }

    #[test]
    fn columns_are_looked_up_in_any_case_and_may_be_missing() {
        let rows = ResultSet {
            columns: vec!["Table_Name".to_owned(), "n".to_owned()],
            rows: vec![vec![Some(b"t".to_vec()), None]],
        };
        let row = NamedRow::iter_rows(&rows).next().unwrap();
        assert_eq!(row.text_value("TABLE_NAME"), "t");
        assert_eq!(row.text_value("N"), "");
        assert_eq!(row.number_value("absent"), 0);
    }
}
