//! Instruments of waits that versions no longer have, as data: what came in their place.

use super::dialect::ProductSet::{self, Maria, Oracle};
use super::{ServerIdentity, ServerVersion};

/// Why an instrument is not there, and what is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedInstrument {
    /// Since when and why, in words.
    pub why: &'static str,
    /// What to look at instead, as patterns.
    pub offers: &'static [&'static str],
}

/// Names of instruments as a list in SQL.
pub fn quote_instruments(names: &[String]) -> String {
    let quoted = names.iter().map(|n| format!("'{}'", n.replace('\\', "").replace('\'', "''")));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Name, makers, first version without it, what to say.
type RemovalRow = (&'static str, ProductSet, ServerVersion, RemovedInstrument);

const fn row(
    name: &'static str,
    makers: ProductSet,
    since: (u16, u16, u16),
    why: &'static str,
    offers: &'static [&'static str],
) -> RemovalRow {
    (name, makers, ServerVersion(since.0, since.1, since.2), RemovedInstrument { why, offers })
}

const ROWS: &[RemovalRow] = &[
    row(
        "hash_table_locks",
        Maria,
        (10, 5, 0),
        "since MariaDB 10.5 there is one buffer pool, and the latches of its page hash are the \
         server's own and have no instrument",
        &["buf_pool_mutex", "index_tree_rw_lock", "LOCK_table_cache"],
    ),
    row(
        "buf_pool_mutex",
        Oracle,
        (8, 0, 0),
        "since MySQL 8.0 each list of the buffer pool has a mutex of its own",
        &["buf_pool_LRU_list_mutex", "buf_pool_free_list_mutex", "hash_table_locks"],
    ),
    row(
        "log_sys_mutex",
        Oracle,
        (8, 0, 11),
        "since MySQL 8.0.11 the redo log is written without one mutex for all",
        &["log_writer_mutex", "log_write_notifier_mutex", "log_flusher_mutex"],
    ),
    row(
        "lock_mutex",
        Oracle,
        (8, 0, 21),
        "since MySQL 8.0.21 the table of locks is parted into shards",
        &["lock_sys_global_rw_lock", "lock_sys_page_mutex", "lock_sys_table_mutex"],
    ),
    row(
        "lock_mutex",
        Maria,
        (10, 6, 0),
        "since MariaDB 10.6 the table of locks has a latch in its place",
        &["lock_latch", "lock_wait_mutex"],
    ),
    row(
        "kernel_mutex",
        Oracle,
        (5, 6, 0),
        "since MySQL 5.6 it is parted by purpose",
        &["trx_sys_mutex", "lock_mutex", "lock_sys_global_rw_lock"],
    ),
    row(
        "structure_guard_mutex",
        Oracle,
        (8, 0, 3),
        "since MySQL 8.0.3 there is no query cache",
        &[],
    ),
];

impl ServerIdentity {
    /// What became of an instrument that this server no longer has, by the last part of its name; `None` where we don't
    /// know.
    pub fn removed_instrument(&self, name: &str) -> Option<RemovedInstrument> {
        let short = name.rsplit("::").next().unwrap_or(name);
        let fits = |row: &&RemovalRow| {
            row.0.eq_ignore_ascii_case(short)
                && row.1.includes_server(self)
                && row.2 <= self.version
        };
        ROWS.iter().rev().find(fits).map(|row| row.3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_without_it_say_so() {
        let gone =
            |text: &str, name: &str| ServerIdentity::from_greeting(text).removed_instrument(name);
        assert!(gone("10.11.6-MariaDB", "hash_table_locks").is_some());
        assert!(gone("10.4.30-MariaDB", "hash_table_locks").is_none());
        assert!(gone("9.7.0", "hash_table_locks").is_none());
        assert!(gone("8.4.0", "lock_mutex").unwrap().why.contains("8.0.21"));
        assert!(gone("8.0.20", "lock_mutex").is_none());
        assert!(gone("8.0.36", "Query_cache::structure_guard_mutex").is_some());
    }
}
