//! What the keys of an index look like in its pages, from the catalog.

use super::kind::{StoredColumn, ValueKind};
use super::record::{FieldLength, KeyField, RecordLayout};
use crate::warm::catalog::{CatalogColumn, CatalogIndex, CatalogTable, HIDDEN, IndexPart};
use crate::warm::hotset::KeyColumn;

/// The keys of an index.
#[derive(Clone, Debug)]
pub(in crate::warm::hotset) struct KeyShape {
    /// Columns of the key as they are saved.
    pub columns: Vec<KeyColumn>,
    pub(super) kinds: Vec<ValueKind>,
    pub(super) layout: RecordLayout,
}

impl KeyShape {
    /// The keys of an index. `rows`: the index that holds the rows, `None` where InnoDB made one of its own.
    ///
    /// # Errors
    /// Why its keys can't be read, in words.
    pub(in crate::warm::hotset) fn from_index(
        table: &CatalogTable,
        name: &str,
        rows: Option<&CatalogIndex>,
    ) -> Result<KeyShape, String> {
        if name == HIDDEN {
            return Err("its rows have no key of their own".to_owned());
        }
        let index = table.indexes.iter().find(|i| i.name == name);
        let index = index.ok_or("the catalog does not know it")?;
        if index.kind != "BTREE" {
            return Err(format!("it is a {} index", index.kind.to_lowercase()));
        }
        let mut shape = KeyShape {
            columns: Vec::new(),
            kinds: Vec::new(),
            layout: RecordLayout { fields: Vec::new(), null_bytes: 0 },
        };
        for part in &index.parts {
            shape.add_part(table, part)?;
        }
        let nullable = if rows.is_some_and(|rows| rows.name == name) {
            table.columns.iter().filter(|c| c.nullable && !c.computed).count()
        } else {
            shape.add_row_key(table, rows)?;
            shape.layout.fields.iter().filter(|f| f.nullable).count()
        };
        shape.layout.null_bytes = nullable.div_ceil(8);
        match shape.kinds.first() {
            Some(ValueKind::Unwritten(why)) => Err(format!("its first column is of type {why}")),
            Some(_) => Ok(shape),
            None => Err("it has no columns".to_owned()),
        }
    }

    /// The key of the row stands behind that of a secondary index, but for the columns that it has already.
    fn add_row_key(
        &mut self,
        table: &CatalogTable,
        rows: Option<&CatalogIndex>,
    ) -> Result<(), String> {
        let Some(rows) = rows else {
            // The number of the row, which means nothing elsewhere.
            self.layout.fields.push(KeyField { length: FieldLength::Fixed(6), nullable: false });
            return Ok(());
        };
        for part in &rows.parts {
            let there = |c: &KeyColumn| part.column.as_ref() == Some(&c.name);
            if !self.columns.iter().any(there) {
                self.add_part(table, part)?;
            }
        }
        Ok(())
    }

    fn add_part(&mut self, table: &CatalogTable, part: &IndexPart) -> Result<(), String> {
        let name = part.column.as_deref().ok_or("it holds an expression")?;
        if part.cut {
            return Err(format!("it holds only the first characters of {name}"));
        }
        let column = table.find_column(name).ok_or_else(|| format!("{name} is not a column"))?;
        let stored =
            StoredColumn::from_column(column).map_err(|what| format!("{name} has {what}"))?;
        self.columns.push(key_column(column, part.descending));
        self.kinds.push(stored.kind);
        self.layout.fields.push(KeyField { length: stored.length, nullable: column.nullable });
        Ok(())
    }
}

fn key_column(column: &CatalogColumn, descending: bool) -> KeyColumn {
    KeyColumn {
        name: column.name.clone(),
        sql_type: column.full_type.clone(),
        collation: column.collation.clone(),
        nullable: column.nullable,
        descending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, data_type: &str, nullable: bool) -> CatalogColumn {
        CatalogColumn {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            full_type: data_type.to_owned(),
            nullable,
            ..CatalogColumn::default()
        }
    }

    fn index(name: &str, kind: &str, columns: &[&str]) -> CatalogIndex {
        let part = |c: &&str| IndexPart { column: Some((*c).to_owned()), ..IndexPart::default() };
        CatalogIndex {
            name: name.to_owned(),
            kind: kind.to_owned(),
            parts: columns.iter().map(part).collect(),
            ..CatalogIndex::default()
        }
    }

    fn table() -> CatalogTable {
        let mut columns = vec![column("id", "int", false), column("t", "bigint", false)];
        columns.extend((0..9).map(|i| column(&format!("n{i}"), "int", true)));
        columns.push(column("e", "enum", false));
        let mut cut = index("cut", "BTREE", &["n0"]);
        cut.parts[0].cut = true;
        CatalogTable {
            columns,
            indexes: vec![
                index("PRIMARY", "BTREE", &["t", "id"]),
                index("k", "BTREE", &["n1", "id"]),
                index("e", "BTREE", &["e"]),
                index("body", "FULLTEXT", &["n0"]),
                cut,
            ],
            ..CatalogTable::default()
        }
    }

    #[test]
    fn keys_lie_as_innodb_lays_them() {
        let table = table();
        let rows = table.clustered_index();
        let names = |shape: &KeyShape| {
            shape.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(",")
        };
        let shape = KeyShape::from_index(&table, "PRIMARY", rows).unwrap();
        assert_eq!((names(&shape).as_str(), shape.layout.null_bytes), ("t,id", 2));
        let shape = KeyShape::from_index(&table, "k", rows).unwrap();
        assert_eq!((names(&shape).as_str(), shape.layout.null_bytes), ("n1,id,t", 1));
        let shape = KeyShape::from_index(&table, "k", None).unwrap();
        assert_eq!((names(&shape).as_str(), shape.layout.fields.len()), ("n1,id", 3));
    }

    #[test]
    fn what_has_no_ranges_says_why() {
        let table = table();
        let why =
            |name: &str| KeyShape::from_index(&table, name, table.clustered_index()).unwrap_err();
        assert_eq!(why(HIDDEN), "its rows have no key of their own");
        assert_eq!(why("body"), "it is a fulltext index");
        assert_eq!(why("cut"), "it holds only the first characters of n0");
        assert!(why("e").contains("enum"));
        assert_eq!(why("none"), "the catalog does not know it");
    }
}
