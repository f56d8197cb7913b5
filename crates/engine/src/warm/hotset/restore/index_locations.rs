//! What the server has of a hot set's tables: their columns and indexes, and where their pages lie.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use super::plan::{IndexLocation, IndexLocations};
use crate::client::{Error, ServerProduct, Session};
use crate::warm::catalog::{self, CatalogTable};
use crate::warm::hotset::HotSet;
use crate::warm::names::{TableChoice, text_literal};
use crate::warm::pool_status::column_text;

/// Names or numbers in one statement.
const AT_ONCE: usize = 1_000;

/// The tables of a hot set that are there.
pub(in crate::warm::hotset) fn read_tables(
    session: &mut Session,
    hot: &HotSet,
) -> anyhow::Result<Vec<CatalogTable>> {
    let mut wanted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for index in &hot.indexes {
        wanted.entry(&index.database).or_default().insert(text_literal(&index.table));
    }
    let mut there = Vec::new();
    let lists = wanted.into_iter().flat_map(|(database, names)| {
        let names: Vec<String> = names.into_iter().collect();
        names.chunks(AT_ONCE).map(|some| (database, some.join(","))).collect::<Vec<_>>()
    });
    for (database, names) in lists {
        let sql = format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {} AND TABLE_NAME IN ({}) AND ENGINE = 'InnoDB'",
            text_literal(database),
            names
        );
        let rows = session.query_rows(&sql).context("look for the tables of the hot set")?;
        let choice = |row: &Vec<_>| {
            Some(TableChoice { database: column_text(row, 0)?, table: column_text(row, 1) })
        };
        there.extend(rows.rows.iter().filter_map(choice));
    }
    if there.is_empty() {
        return Ok(Vec::new());
    }
    Ok(catalog::read_catalog(session, &there)?.tables)
}

/// Where the server has indexes of these numbers. Without the privilege to see it nothing is the same.
pub(in crate::warm::hotset) fn read_index_locations(
    session: &mut Session,
    hot: &HotSet,
    notes: &mut Vec<String>,
) -> anyhow::Result<IndexLocations> {
    let mut ids: Vec<String> = hot.indexes.iter().map(|i| i.index_id.to_string()).collect();
    ids.sort();
    ids.dedup();
    // Names of tables are written as those of files here, those of their tablespaces are not.
    let (own, name) = match session.identity().product {
        ServerProduct::MariaDb => ("INNODB_SYS_", "t.NAME"),
        _ => ("INNODB_", "COALESCE(IF(s.SPACE_TYPE = 'Single', s.NAME, NULL), t.NAME)"),
    };
    let mut found = IndexLocations::new();
    for some in ids.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT i.SPACE, i.INDEX_ID, i.NAME, {name}, \
             COALESCE(s.FILE_SIZE DIV s.PAGE_SIZE, 0) FROM information_schema.{own}INDEXES i \
             JOIN information_schema.{own}TABLES t ON t.TABLE_ID = i.TABLE_ID \
             LEFT JOIN information_schema.{own}TABLESPACES s ON s.SPACE = i.SPACE \
             WHERE i.INDEX_ID IN ({})",
            some.join(",")
        );
        let rows = match session.query_rows(&sql) {
            Ok(rows) => rows,
            Err(Error::Server { text, .. }) => {
                notes.push(format!(
                    "the location of pages is not visible, so they are read by their keys: {text}"
                ));
                return Ok(IndexLocations::new());
            }
            Err(error) => return Err(error).context("look where indexes lie"),
        };
        for row in &rows.rows {
            let number = |at| column_text(row, at).and_then(|v: String| v.parse::<u64>().ok());
            let (Some(space), Some(id)) = (number(0), number(1)) else { continue };
            let Ok(space) = u32::try_from(space) else { continue };
            let place = IndexLocation {
                index: column_text(row, 2).unwrap_or_default(),
                table: column_text(row, 3).unwrap_or_default(),
                file_pages: number(4).unwrap_or(0),
            };
            found.insert((space, id), place);
        }
    }
    Ok(found)
}
