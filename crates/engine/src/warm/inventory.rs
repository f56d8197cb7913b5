//! How warm each index is: cached pages of all its pages. Cheap on MySQL; on MariaDB the server has to look at
//! every page of its pool, so that is asked for only when told to.

use std::collections::HashMap;

use anyhow::Context;
use serde::Serialize;

use super::PoolStatus;
use super::catalog::split_partition;
use super::pool_status::{column_text, read_index_pages};
use crate::client::{Error, Session};

/// One index in the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CachedIndex {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The partition; empty if the table has none.
    pub partition: String,
    /// The index.
    pub index: String,
    /// Pages of it in the pool.
    pub pages_cached: u64,
    /// Pages it has, by InnoDB's statistics, where they may be read.
    pub pages_total: Option<u64>,
}

impl CachedIndex {
    /// Whether more of it is in the pool than there is of it: one of the two numbers is wrong. Statistics are always a
    /// little late, so a little more is nothing.
    pub fn is_inconsistent(&self) -> bool {
        self.pages_total.is_some_and(|total| self.pages_cached > total + total / 10 + 8)
    }
}

/// What could be found out about the indexes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolInventory {
    /// Indexes with pages in the pool, those with most first.
    pub lines: Vec<CachedIndex>,
    /// Pages of all users' indexes, by InnoDB's statistics, where they may be read.
    pub pages_of_data: Option<u64>,
    /// What it would cost to find out more, in seconds of the server's time; `None` if there is nothing more.
    pub dearer_seconds: Option<f64>,
    /// What could not be found out, in words.
    pub notes: Vec<String>,
}

/// What a look at one page of the pool costs the server.
const SECONDS_PER_PAGE: f64 = 2e-6;

/// What a look at every page of this pool costs the server, in seconds.
pub fn estimate_seconds(warmth: &PoolStatus) -> f64 {
    warmth.pages_total as f64 * SECONDS_PER_PAGE
}

/// Looks at the indexes. With `pay` it may look at every page of the pool, where there is no cheaper way.
///
/// # Errors
/// When the server is gone; what it refuses is noted instead.
pub fn read_inventory(
    session: &mut Session,
    warmth: &PoolStatus,
    pay: bool,
) -> anyhow::Result<PoolInventory> {
    let mut found = PoolInventory::default();
    let sizes = read_sizes(session, &mut found)?;
    let looked = match pay {
        true => count_buffer_pages(session).map(|(lines, ownerless)| {
            found.notes.extend(ownerless_note(&lines, ownerless));
            lines
        }),
        false => read_cached_indexes(session),
    };
    match looked {
        Ok(lines) => found.lines = lines,
        Err(Error::Server { code: 1109, .. }) if !pay => {
            found.dearer_seconds = Some(estimate_seconds(warmth));
        }
        Err(error) => {
            let view = if pay { "INNODB_BUFFER_PAGE" } else { "INNODB_CACHED_INDEXES" };
            found.notes.push(refusal_note(view, error)?);
        }
    }
    let partitioned = sizes.keys().any(|(_, _, partition, _)| !partition.is_empty());
    if !pay && !found.lines.is_empty() && partitioned {
        found.dearer_seconds = Some(estimate_seconds(warmth));
        found.notes.push("this server doesn't count pages of partitions".to_owned());
    }
    for line in &mut found.lines {
        let name = |partition: &str| {
            let key = (&line.database, &line.table, partition, &line.index);
            (key.0.clone(), key.1.clone(), key.2.to_lowercase(), key.3.clone())
        };
        line.pages_total = sizes.get(&name(&line.partition)).copied();
    }
    found.notes.extend(inconsistency_note(&found.lines, pay));
    found.lines.sort_by(|a, b| {
        b.pages_cached.cmp(&a.pages_cached).then_with(|| index_key(a).cmp(&index_key(b)))
    });
    Ok(found)
}

/// What to say where there is more in the pool of an index than there is of it.
fn inconsistency_note(lines: &[CachedIndex], pay: bool) -> Option<String> {
    const NAMED: usize = 4;
    let all: Vec<&CachedIndex> = lines.iter().filter(|line| line.is_inconsistent()).collect();
    let name = |line: &&CachedIndex| format!("{}.{}.{}", line.database, line.table, line.index);
    let mut names = all.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        names += &format!(" and {} more", all.len() - NAMED);
    }
    let drifted = "or the server's own count of cached pages has drifted (--per-index counts them)";
    let other = if pay { "and the size of all data is too small as well" } else { drifted };
    (!all.is_empty()).then(|| {
        format!(
            "more pages of {names} are cached than exist: the index statistics are old (ANALYZE \
             TABLE renews them), {other}"
        )
    })
}

/// What to say about pages of indexes that the server names no index for.
fn ownerless_note(lines: &[CachedIndex], ownerless: u64) -> Option<String> {
    let named: u64 = lines.iter().map(|line| line.pages_cached).sum();
    (ownerless > named / 100 + 8).then(|| {
        format!(
            "{ownerless} more index pages are in the pool: the server does not say which tables \
             they belong to until the tables are used, as after a restart or `sweat warm load`"
        )
    })
}

fn index_key(line: &CachedIndex) -> (&str, &str, &str, &str) {
    (&line.database, &line.table, &line.partition, &line.index)
}

/// A refusal in words; anything worse is passed on.
fn refusal_note(what: &str, error: Error) -> anyhow::Result<String> {
    match error {
        Error::Server { code: 1227 | 1142, text, .. } => {
            Ok(format!("pages by index are not shown: {what} needs the privilege PROCESS ({text})"))
        }
        Error::Server { code, text, .. } => {
            Ok(format!("pages by index are not shown: {what}: {code} {text}"))
        }
        other => Err(other).context("look at the pages by index"),
    }
}

type IndexSizes = HashMap<(String, String, String, String), u64>;

/// Pages of every index; names of partitions in lower case.
fn read_sizes(session: &mut Session, found: &mut PoolInventory) -> anyhow::Result<IndexSizes> {
    let rows = match read_index_pages(session, "") {
        Ok(rows) => rows,
        Err(Error::Server { text, .. }) => {
            found.notes.push(format!(
                "sizes of indexes are not shown: mysql.innodb_index_stats can't be read ({text})"
            ));
            return Ok(IndexSizes::new());
        }
        Err(error) => return Err(error).context("read the sizes of indexes"),
    };
    let mut sizes = IndexSizes::new();
    let mut of_data = 0;
    for (database, name, index, pages) in rows {
        if database != "mysql" && database != "sys" {
            of_data += pages;
        }
        let (table, partition) = split_partition(&name);
        sizes.insert((database, table.to_owned(), partition.to_lowercase(), index), pages);
    }
    found.pages_of_data = Some(of_data);
    Ok(sizes)
}

/// MySQL's own count.
fn read_cached_indexes(session: &mut Session) -> Result<Vec<CachedIndex>, Error> {
    let rows = session.query_rows(
        // Names of tables are written as those of files here, those of their tablespaces are not.
        "SELECT COALESCE(s.NAME, t.NAME) AS NAME, i.NAME, SUM(c.N_CACHED_PAGES) \
         FROM information_schema.INNODB_CACHED_INDEXES c \
         JOIN information_schema.INNODB_INDEXES i ON i.INDEX_ID = c.INDEX_ID \
         JOIN information_schema.INNODB_TABLES t ON t.TABLE_ID = i.TABLE_ID \
         LEFT JOIN information_schema.INNODB_TABLESPACES s \
         ON s.SPACE = t.SPACE AND s.SPACE_TYPE = 'Single' \
         GROUP BY 1, i.NAME",
    )?;
    let line = |row: &Vec<Option<Vec<u8>>>| {
        let name = column_text(row, 0)?;
        let (database, table) = name.split_once('/')?;
        let (table, partition) = split_partition(table);
        Some(CachedIndex {
            database: database.to_owned(),
            table: table.to_owned(),
            partition: partition.to_owned(),
            index: column_text(row, 1)?,
            pages_cached: column_text(row, 2)?.parse().ok()?,
            pages_total: None,
        })
    };
    Ok(rows.rows.iter().filter_map(line).collect())
}

/// Every page of the pool, counted by index; and pages of indexes that have no name there.
fn count_buffer_pages(session: &mut Session) -> Result<(Vec<CachedIndex>, u64), Error> {
    let rows = session.query_rows(
        "SELECT TABLE_NAME, INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE \
         WHERE PAGE_TYPE IN ('INDEX', 'RTREE_INDEX') OR INDEX_NAME IS NOT NULL \
         GROUP BY TABLE_NAME, INDEX_NAME",
    )?;
    let ownerless = |row: &&Vec<Option<Vec<u8>>>| {
        column_text(row, 0).is_none() || column_text(row, 1).is_none()
    };
    let count = |row: &Vec<_>| column_text(row, 2).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let nameless = rows.rows.iter().filter(ownerless).map(count).sum();
    let line = |row: &Vec<Option<Vec<u8>>>| {
        let (database, table, partition) = parse_quoted_name(&column_text(row, 0)?)?;
        let (index, pages_cached) = (column_text(row, 1)?, column_text(row, 2)?.parse().ok()?);
        Some(CachedIndex { database, table, partition, index, pages_cached, pages_total: None })
    };
    Ok((rows.rows.iter().filter_map(line).collect(), nameless))
}

/// Reads `` `db`.`t` /* Partition `p0`, Subpartition `s1` */ ``; InnoDB's own tables have no database.
pub(super) fn parse_quoted_name(name: &str) -> Option<(String, String, String)> {
    let (name, partition) = match name.split_once(" /* ") {
        None => (name, String::new()),
        Some((name, rest)) => {
            let last = rest.rsplit('`').nth(1).unwrap_or_default();
            (name, last.to_owned())
        }
    };
    let choice = super::parse_choices(name).ok()?.into_iter().next()?;
    Some((choice.database, choice.table?, partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_buffer_pages_are_read() {
        let name = |d: &str, t: &str, p: &str| Some((d.to_owned(), t.to_owned(), p.to_owned()));
        assert_eq!(parse_quoted_name("`x`.`tä-b#x$`"), name("x", "tä-b#x$", ""));
        assert_eq!(parse_quoted_name("`x`.`a``b.c`"), name("x", "a`b.c", ""));
        assert_eq!(parse_quoted_name("`x`.`p` /* Partition `p0` */"), name("x", "p", "p0"));
        let sub = "`x`.`p` /* Partition `p0`, Subpartition `p0s1` */";
        assert_eq!(parse_quoted_name(sub), name("x", "p", "p0s1"));
        assert_eq!(parse_quoted_name("`SYS_TABLES`"), None);
    }

    fn line(cached: u64, total: u64) -> CachedIndex {
        let index = format!("k_{cached}");
        CachedIndex {
            index,
            pages_cached: cached,
            pages_total: Some(total),
            ..CachedIndex::default()
        }
    }

    #[test]
    fn more_in_the_pool_than_there_is_is_said() {
        assert_eq!(inconsistency_note(&[line(100, 98), line(48, 48), line(8, 0)], false), None);
        let said = inconsistency_note(&[line(561, 48), line(100, 100)], false).unwrap();
        assert!(said.contains("of ..k_561 are cached") && said.contains("--per-index"), "{said}");
        let paid = inconsistency_note(&[line(561, 48)], true).unwrap();
        assert!(paid.contains("ANALYZE TABLE") && !paid.contains("--per-index"), "{paid}");
        let unknown = CachedIndex { pages_total: None, ..line(561, 0) };
        assert!(!unknown.is_inconsistent());
    }

    #[test]
    fn pages_of_nobody_are_said() {
        assert_eq!(ownerless_note(&[line(2_000, 2_000)], 28), None);
        let said = ownerless_note(&[line(20, 20)], 1_500).unwrap();
        assert!(said.starts_with("1500 more index pages are in the pool"), "{said}");
    }

    #[test]
    fn the_cost_is_told_from_the_pool() {
        let warmth = PoolStatus { pages_total: 1_000_000, ..PoolStatus::default() };
        assert!((estimate_seconds(&warmth) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_refusal_is_words_and_a_lost_session_is_an_error() {
        let error = |code| Error::Server { code, state: String::new(), text: "no".to_owned() };
        assert!(refusal_note("X", error(1227)).unwrap().contains("PROCESS"));
        assert!(refusal_note("X", Error::Lost { why: String::new(), code: 0 }).is_err());
    }
}
