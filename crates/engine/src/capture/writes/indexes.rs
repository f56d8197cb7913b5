//! The indexes of a server's tables, as its catalog tells.

use std::collections::HashMap;

use crate::client::{Error, ResultSet, Session};

/// An index whose places can be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIndex {
    /// Its name.
    pub name: String,
    /// Its columns in their order, up to the first that is no column but an expression.
    pub columns: Vec<String>,
}

/// A table, as far as look-ups need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedTable {
    /// All columns in their order.
    pub columns: Vec<String>,
    /// Its indexes that are B-trees and may be used; PRIMARY too.
    pub indexes: Vec<TableIndex>,
}

impl IndexedTable {
    /// Columns of the primary key; none if there is none.
    pub fn primary_key(&self) -> &[String] {
        let primary = self.indexes.iter().find(|index| index.name == "PRIMARY");
        primary.map_or(&[], |index| &index.columns)
    }
}

/// The tables of a server, by database and name in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexCatalog {
    tables: HashMap<(String, String), IndexedTable>,
}

/// Whose tables no replay writes.
const SYSTEM: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

impl IndexCatalog {
    /// Asks the catalog, blocking.
    ///
    /// # Errors
    /// As [`crate::client::Error`] tells apart.
    pub fn read_catalog(session: &mut Session) -> Result<IndexCatalog, Error> {
        let columns = session.query_rows(&format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA NOT IN {SYSTEM} ORDER BY 1, 2, ORDINAL_POSITION"
        ))?;
        // All columns: some versions tell whether an index may be used, in columns of their own.
        let parts = session.query_rows(&format!(
            "SELECT * FROM information_schema.STATISTICS WHERE TABLE_SCHEMA NOT IN {SYSTEM} \
             ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
        ))?;
        Ok(IndexCatalog::from_rows(&columns, &parts))
    }

    fn from_rows(columns: &ResultSet, parts: &ResultSet) -> IndexCatalog {
        let mut indexes = IndexCatalog::default();
        let text =
            |rows: &ResultSet, row, name: &str| rows.text_value(row, rows.column_index(name)?);
        for row in 0..columns.rows.len() {
            let of = |column| columns.text_value(row, column);
            if let (Some(database), Some(name), Some(column)) = (of(0), of(1), of(2)) {
                indexes.table_mut(&database, &name).columns.push(column);
            }
        }
        let mut ended = false;
        for row in 0..parts.rows.len() {
            let of = |name: &str| text(parts, row, name);
            let names = (of("TABLE_SCHEMA"), of("TABLE_NAME"), of("INDEX_NAME"));
            let (Some(database), Some(table), Some(name)) = names else { continue };
            let is_first = of("SEQ_IN_INDEX").as_deref() == Some("1");
            let is_usable = of("INDEX_TYPE").as_deref() == Some("BTREE")
                && of("IS_VISIBLE").as_deref() != Some("NO")
                && of("IGNORED").as_deref() != Some("YES");
            ended = !is_usable || (ended && !is_first);
            let Some(column) = of("COLUMN_NAME").filter(|_| !ended) else {
                ended = true;
                continue;
            };
            let table = indexes.table_mut(&database, &table);
            match table.indexes.last_mut().filter(|index| !is_first && index.name == name) {
                Some(index) => index.columns.push(column),
                None => table.indexes.push(TableIndex { name, columns: vec![column] }),
            }
        }
        indexes
    }

    fn table_mut(&mut self, database: &str, name: &str) -> &mut IndexedTable {
        self.tables.entry((database.to_lowercase(), name.to_lowercase())).or_default()
    }

    /// A table by its database and name, whatever their case.
    pub fn table(&self, database: &str, name: &str) -> Option<&IndexedTable> {
        self.tables.get(&(database.to_lowercase(), name.to_lowercase()))
    }

    /// Number of tables.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// With one table more.
    pub fn insert_table(&mut self, database: &str, name: &str, table: IndexedTable) {
        *self.table_mut(database, name) = table;
    }
}
