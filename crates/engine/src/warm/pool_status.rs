//! How warm the pool is, from the server's own counters: one cheap statement.

use anyhow::Context;

use crate::client::{Error, Session};

/// What the buffer pool holds, and what was read into it since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Pages of the pool.
    pub pages_total: u64,
    /// Pages that hold data.
    pub pages_data: u64,
    /// Pages on the free list.
    pub pages_free: u64,
    /// Pages changed and not yet written.
    pub pages_dirty: u64,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Pages read from disk since the start, by whatever way.
    pub pages_read: u64,
    /// Those of them that were read ahead, before any statement needed them.
    pub pages_ahead: u64,
    /// Bytes read from disk since the start.
    pub bytes_read: u64,
    /// Sessions that run a statement, ours included.
    pub threads_running: u64,
}

impl PoolStatus {
    /// Share of the pool that holds data, 0 to 1.
    pub fn data_share(&self) -> f64 {
        if self.pages_total == 0 { 0.0 } else { self.pages_data as f64 / self.pages_total as f64 }
    }
    /// Bytes of data in the pool.
    pub fn data_bytes(&self) -> u64 {
        self.pages_data * self.page_bytes
    }
    /// Bytes of the pool.
    pub fn total_bytes(&self) -> u64 {
        self.pages_total * self.page_bytes
    }
}

const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_pages_total',\
    'Innodb_buffer_pool_pages_data','Innodb_buffer_pool_pages_free',\
    'Innodb_buffer_pool_pages_dirty','Innodb_page_size','Innodb_pages_read',\
    'Innodb_buffer_pool_read_ahead','Innodb_buffer_pool_read_ahead_rnd','Innodb_data_read',\
    'Threads_running')";

/// Asks the server how warm its pool is.
///
/// # Errors
/// When the server does not answer, or has no InnoDB.
pub fn read_pool_status(session: &mut Session) -> anyhow::Result<PoolStatus> {
    let rows = session.query_rows(STATUS).context("read the buffer pool's counters")?;
    let pairs =
        rows.rows.iter().filter_map(|row| Some((column_text(row, 0)?, column_text(row, 1)?)));
    let warmth = parse_status(pairs);
    anyhow::ensure!(warmth.pages_total > 0, "the server has no InnoDB buffer pool");
    Ok(warmth)
}

/// One of the server's status variables.
pub(super) fn read_status_text(session: &mut Session, name: &str) -> Result<String, Error> {
    let rows = session.query_rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(rows.rows.first().and_then(|row| column_text(row, 1)).unwrap_or_default())
}

/// Pages in use of an index that has `leaves` of them and holds `size` in reserve: those that can be read.
pub(super) fn pages_in_use(size: u64, leaves: u64) -> u64 {
    // Of small indexes MariaDB often knows one leaf only.
    if leaves * 4 < size { size } else { size.min(leaves + leaves / 100 + 1) }
}

/// Pages of indexes by InnoDB's persistent statistics, as `pages_in_use`: database, table as the statistics write
/// it, index, pages. `condition` follows a WHERE that is there already.
pub(super) fn read_index_pages(
    session: &mut Session,
    condition: &str,
) -> Result<Vec<(String, String, String, u64)>, Error> {
    let rows = session.query_rows(&format!(
        "SELECT database_name, table_name, index_name, \
         MAX(IF(stat_name = 'size', stat_value, 0)), \
         MAX(IF(stat_name = 'n_leaf_pages', stat_value, 0)) \
         FROM mysql.innodb_index_stats WHERE stat_name IN ('size', 'n_leaf_pages') {condition} \
         GROUP BY database_name, table_name, index_name"
    ))?;
    let number = |row: &[_], at| column_text(row, at).and_then(|v| v.parse().ok()).unwrap_or(0);
    let line = |row: &Vec<Option<Vec<u8>>>| {
        let pages = pages_in_use(number(row, 3), number(row, 4));
        Some((column_text(row, 0)?, column_text(row, 1)?, column_text(row, 2)?, pages))
    };
    Ok(rows.rows.iter().filter_map(line).collect())
}

/// A value of a row as text.
pub(super) fn column_text(row: &[Option<Vec<u8>>], column: usize) -> Option<String> {
    Some(String::from_utf8_lossy(row.get(column)?.as_ref()?).into_owned())
}

fn parse_status(pairs: impl Iterator<Item = (String, String)>) -> PoolStatus {
    let mut warmth = PoolStatus::default();
    for (name, value) in pairs {
        let Ok(value) = value.parse::<u64>() else { continue };
        match name.to_ascii_lowercase().as_str() {
            "innodb_buffer_pool_pages_total" => warmth.pages_total = value,
            "innodb_buffer_pool_pages_data" => warmth.pages_data = value,
            "innodb_buffer_pool_pages_free" => warmth.pages_free = value,
            "innodb_buffer_pool_pages_dirty" => warmth.pages_dirty = value,
            "innodb_page_size" => warmth.page_bytes = value,
            "innodb_pages_read" => warmth.pages_read = value,
            "innodb_buffer_pool_read_ahead" | "innodb_buffer_pool_read_ahead_rnd" => {
                warmth.pages_ahead += value;
            }
            "innodb_data_read" => warmth.bytes_read = value,
            "threads_running" => warmth.threads_running = value,
            _ => {}
        }
    }
    warmth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_pages_do_not_count() {
        assert_eq!(pages_in_use(549, 430), 435);
        assert_eq!(pages_in_use(1, 1), 1);
        assert_eq!(pages_in_use(97, 0), 97, "no leaves known");
        assert_eq!(pages_in_use(33, 1), 33);
    }

    #[test]
    fn counters_are_read_by_name() {
        let pairs = [
            ("Innodb_buffer_pool_pages_total", "1024"),
            ("Innodb_buffer_pool_pages_data", "256"),
            ("Innodb_page_size", "16384"),
            ("Innodb_buffer_pool_load_status", "not a number"),
            ("Threads_running", "3"),
        ];
        let warmth = parse_status(pairs.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!(warmth.pages_total, 1024);
        assert!((warmth.data_share() - 0.25).abs() < 1e-9);
        assert_eq!(warmth.data_bytes(), 4 << 20);
        assert_eq!(warmth.threads_running, 3);
    }
}
