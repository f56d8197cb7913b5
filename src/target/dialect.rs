//! Differences between servers, as data: one word, and a row for each product and range of versions.
//! Never knows: sessions. Nobody else compares versions.
//! To add a server version: a row. To add a difference: a word with its kind, and its rows. `tests/it/target.rs`
//! asks every word of a real server.

use super::identity::{Identity, Product, Version};
use crate::plan::Refused;

/// Something that servers name differently, or only some have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// How a replica is doing.
    ShowReplicaStatus,
    /// Its column with the lag in seconds.
    ReplicaLag,
    /// Which replicas are attached.
    ShowReplicas,
    /// Where the binary log is.
    ShowBinaryLogStatus,
    /// Variables as rows of name, value, origin, file; the last two may be NULL.
    VariablesWithOrigin,
    /// Limits each SELECT of the session; `{seconds}` or `{milliseconds}` stands for the time.
    LimitStatements,
    /// Lets a session only read, from its next transaction on.
    ReadOnlySession,
    /// What stands before a statement to run and explain it.
    ExplainAnalyze,
    /// Transaction isolation of a session.
    IsolationVariable,
    /// Size of the redo log, in bytes, all files together.
    RedoSizeVariable,
    /// Log position written last, bytes.
    CurrentLsn,
    /// Log position of the last checkpoint, bytes.
    CheckpointLsn,
    /// Distance of the two, bytes, where the server tells it; else subtract.
    CheckpointAge,
    /// Distance at which writers are held back, bytes.
    CheckpointAgeMax,
    /// Old row versions not yet purged, as a status counter.
    HistoryList,
    /// The same as a counter of INNODB_METRICS.
    HistoryListMetric,
    /// Deadlocks, as a status counter.
    Deadlocks,
    /// The same as a counter of INNODB_METRICS.
    DeadlocksMetric,
    /// Rows read by statements.
    RowsRead,
    /// Pages read from files.
    PagesRead,
    /// Pages that had to be read because the pool lacked them.
    PoolMisses,
    /// Pages asked of the pool.
    PoolAsked,
    /// Pages that read-ahead fetched.
    ReadAhead,
    /// Pages flushed out of the pool.
    PagesFlushed,
    /// Dirty pages in the pool.
    PagesDirty,
    /// Flushes of data files to the device.
    DataFsyncs,
    /// Flushes of the redo log to the device.
    LogFsyncs,
    /// Bytes read from data files.
    DataRead,
    /// Bytes written to data files.
    DataWritten,
    /// Table of InnoDB's tables.
    InnodbTables,
    /// Table of InnoDB's indexes.
    InnodbIndexes,
    /// Table of InnoDB's tablespaces.
    InnodbTablespaces,
    /// Table of pages cached by index: cheap, unlike looking at every page.
    CachedIndexes,
    /// Table of who waits for whose row lock.
    LockWaits,
    /// Table of sessions.
    Processlist,
    /// Into how many parts the buffer pool is cut; none where it is one.
    PoolInstances,
    /// Condition that picks the counters of INNODB_METRICS that are on.
    MetricIsOn,
}

/// What a word is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A statement.
    Statement,
    /// A column of the statement's rows.
    Column,
    /// What stands before a SELECT.
    Prefix,
    /// A variable.
    Variable,
    /// A counter of SHOW GLOBAL STATUS.
    Status,
    /// A counter of INNODB_METRICS.
    Metric,
    /// A table, with its schema.
    Table,
    /// A condition for WHERE.
    Condition,
}

/// Whose row it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Makers {
    All,
    /// MariaDB.
    Maria,
    /// MySQL and Percona Server.
    Oracle,
    /// Percona Server only.
    Percona,
}

use Makers::{All, Maria, Oracle, Percona};

impl Makers {
    /// Whether a server is one of theirs.
    pub(super) fn fits(self, identity: &Identity) -> bool {
        match self {
            All => true,
            Maria => identity.product == Product::MariaDb,
            Oracle => identity.product != Product::MariaDb,
            Percona => identity.product == Product::Percona,
        }
    }
}
use WordKind::{Column, Condition, Metric, Prefix, Statement, Status, Table, Variable};

/// Word, kind, makers, first version, name. Of the rows that fit, the last counts; an empty name
/// says that the server has it no more.
type Row = (Word, WordKind, Makers, Version, &'static str);

const fn row(
    word: Word,
    kind: WordKind,
    makers: Makers,
    since: (u16, u16, u16),
    name: &'static str,
) -> Row {
    (word, kind, makers, Version(since.0, since.1, since.2), name)
}

/// From the first version on.
const EVER: (u16, u16, u16) = (0, 0, 0);

const MARIA_ORIGIN: &str = "SELECT VARIABLE_NAME, GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN, \
    GLOBAL_VALUE_PATH FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL";
const ORACLE_ORIGIN: &str = "SELECT v.VARIABLE_NAME, v.VARIABLE_VALUE, i.VARIABLE_SOURCE, \
    i.VARIABLE_PATH FROM performance_schema.global_variables v \
    LEFT JOIN performance_schema.variables_info i USING (VARIABLE_NAME)";
const OLD_ORIGIN: &str = "SELECT VARIABLE_NAME, VARIABLE_VALUE, NULL, NULL \
    FROM performance_schema.global_variables";

const ORACLE_LIMIT: &str = "SET SESSION max_execution_time = {milliseconds}";
const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";
const MARIA_LIMIT: &str = "SET SESSION max_statement_time = {seconds}";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(Word::ShowReplicaStatus, Statement, Oracle, EVER, "SHOW SLAVE STATUS"),
    row(Word::ShowReplicaStatus, Statement, Oracle, (8, 0, 22), "SHOW REPLICA STATUS"),
    row(Word::ShowReplicaStatus, Statement, Maria, EVER, "SHOW ALL SLAVES STATUS"),
    row(Word::ReplicaLag, Column, All, EVER, "Seconds_Behind_Master"),
    row(Word::ReplicaLag, Column, Oracle, (8, 0, 22), "Seconds_Behind_Source"),
    row(Word::ShowReplicas, Statement, All, EVER, "SHOW SLAVE HOSTS"),
    row(Word::ShowReplicas, Statement, Oracle, (8, 0, 22), "SHOW REPLICAS"),
    row(Word::ShowBinaryLogStatus, Statement, All, EVER, "SHOW MASTER STATUS"),
    row(Word::ShowBinaryLogStatus, Statement, Oracle, (8, 2, 0), "SHOW BINARY LOG STATUS"),
    row(Word::VariablesWithOrigin, Statement, Oracle, EVER, OLD_ORIGIN),
    row(Word::VariablesWithOrigin, Statement, Oracle, (8, 0, 0), ORACLE_ORIGIN),
    row(Word::VariablesWithOrigin, Statement, Maria, EVER, MARIA_ORIGIN),
    row(Word::LimitStatements, Statement, Oracle, (5, 7, 8), ORACLE_LIMIT),
    row(Word::LimitStatements, Statement, Maria, EVER, MARIA_LIMIT),
    row(Word::ReadOnlySession, Statement, Oracle, (5, 6, 5), READ_ONLY),
    row(Word::ReadOnlySession, Statement, Maria, (10, 0, 0), READ_ONLY),
    row(Word::ExplainAnalyze, Prefix, Oracle, (8, 0, 18), "EXPLAIN ANALYZE"),
    row(Word::ExplainAnalyze, Prefix, Maria, EVER, "ANALYZE"),
    row(Word::IsolationVariable, Variable, All, EVER, "tx_isolation"),
    row(Word::IsolationVariable, Variable, Oracle, (5, 7, 20), "transaction_isolation"),
    row(Word::IsolationVariable, Variable, Maria, (11, 1, 1), "transaction_isolation"),
    row(Word::RedoSizeVariable, Variable, Maria, EVER, "innodb_log_file_size"),
    row(Word::RedoSizeVariable, Variable, Oracle, (8, 0, 30), "innodb_redo_log_capacity"),
    row(Word::CurrentLsn, Status, Maria, EVER, "Innodb_lsn_current"),
    row(Word::CurrentLsn, Status, Oracle, (8, 0, 30), "Innodb_redo_log_current_lsn"),
    row(Word::CheckpointLsn, Status, Maria, EVER, "Innodb_lsn_last_checkpoint"),
    row(Word::CheckpointLsn, Status, Oracle, (8, 0, 30), "Innodb_redo_log_checkpoint_lsn"),
    row(Word::CheckpointAge, Status, Maria, EVER, "Innodb_checkpoint_age"),
    row(Word::CheckpointAgeMax, Status, Maria, EVER, "Innodb_checkpoint_max_age"),
    row(Word::CheckpointAgeMax, Status, Oracle, (8, 0, 30), "Innodb_redo_log_capacity_resized"),
    row(Word::HistoryList, Status, Maria, EVER, "Innodb_history_list_length"),
    row(Word::HistoryListMetric, Metric, All, EVER, "trx_rseg_history_len"),
    row(Word::Deadlocks, Status, Maria, EVER, "Innodb_deadlocks"),
    row(Word::Deadlocks, Status, Percona, EVER, "Innodb_deadlocks"),
    row(Word::DeadlocksMetric, Metric, All, EVER, "lock_deadlocks"),
    row(Word::RowsRead, Status, Oracle, EVER, "Innodb_rows_read"),
    row(Word::RowsRead, Status, Maria, EVER, "Rows_read"),
    row(Word::PagesRead, Status, All, EVER, "Innodb_pages_read"),
    row(Word::PoolMisses, Status, All, EVER, "Innodb_buffer_pool_reads"),
    row(Word::PoolAsked, Status, All, EVER, "Innodb_buffer_pool_read_requests"),
    row(Word::ReadAhead, Status, All, EVER, "Innodb_buffer_pool_read_ahead"),
    row(Word::PagesFlushed, Status, All, EVER, "Innodb_buffer_pool_pages_flushed"),
    row(Word::PagesDirty, Status, All, EVER, "Innodb_buffer_pool_pages_dirty"),
    row(Word::DataFsyncs, Status, All, EVER, "Innodb_data_fsyncs"),
    row(Word::LogFsyncs, Status, Oracle, EVER, "Innodb_os_log_fsyncs"),
    row(Word::DataRead, Status, All, EVER, "Innodb_data_read"),
    row(Word::DataWritten, Status, All, EVER, "Innodb_data_written"),
    row(Word::InnodbTables, Table, All, EVER, "information_schema.INNODB_SYS_TABLES"),
    row(Word::InnodbTables, Table, Oracle, (8, 0, 0), "information_schema.INNODB_TABLES"),
    row(Word::InnodbIndexes, Table, All, EVER, "information_schema.INNODB_SYS_INDEXES"),
    row(Word::InnodbIndexes, Table, Oracle, (8, 0, 0), "information_schema.INNODB_INDEXES"),
    row(Word::InnodbTablespaces, Table, All, EVER, "information_schema.INNODB_SYS_TABLESPACES"),
    row(Word::InnodbTablespaces, Table, Oracle, (8, 0, 0), "information_schema.INNODB_TABLESPACES"),
    row(Word::CachedIndexes, Table, Oracle, (8, 0, 0), "information_schema.INNODB_CACHED_INDEXES"),
    row(Word::LockWaits, Table, All, EVER, "information_schema.INNODB_LOCK_WAITS"),
    row(Word::LockWaits, Table, Oracle, (8, 0, 1), "performance_schema.data_lock_waits"),
    row(Word::Processlist, Table, All, EVER, "information_schema.PROCESSLIST"),
    row(Word::Processlist, Table, Oracle, (8, 0, 22), "performance_schema.processlist"),
    row(Word::PoolInstances, Variable, All, EVER, "innodb_buffer_pool_instances"),
    row(Word::PoolInstances, Variable, Maria, (10, 5, 0), ""),
    row(Word::MetricIsOn, Condition, Oracle, EVER, "STATUS = 'enabled'"),
    row(Word::MetricIsOn, Condition, Maria, EVER, "STATUS = 'enabled'"),
    row(Word::MetricIsOn, Condition, Maria, (10, 5, 0), "ENABLED"),
];

impl Word {
    /// All words, each once.
    pub fn all() -> Vec<Word> {
        let mut words: Vec<Word> = ROWS.iter().map(|row| row.0).collect();
        words.dedup();
        words
    }

    /// What it is the name of.
    pub fn kind(self) -> WordKind {
        ROWS.iter().find(|row| row.0 == self).map_or(Statement, |row| row.1)
    }
}

impl Identity {
    /// Whether rows with an AUTO_INCREMENT column go into one table no faster by several sessions: MariaDB writes
    /// down the counter with each row, under the latch of the table's root page.
    pub fn inserts_one_by_one(&self) -> bool {
        self.product == Product::MariaDb
    }

    /// The privileges of an account that may see everything and change nothing.
    pub fn reader_privileges(&self) -> &'static str {
        match (self.product, self.version) {
            (Product::MariaDb, Version(10, 5, 9..) | Version(10, 6.., _) | Version(11.., ..)) => {
                "SELECT, SHOW VIEW, PROCESS, SLAVE MONITOR"
            }
            _ => "SELECT, SHOW VIEW, PROCESS, REPLICATION CLIENT",
        }
    }

    /// What speaks against warming a server or replaying to it that is so old that it lacks what both are made of:
    /// read-only transactions, EXPLAIN in a chosen format, lists of the pool's pages, tables of InnoDB's indexes.
    pub fn too_old_for(&self, deed: &str) -> Option<Refused> {
        let oldest = match self.product {
            Product::MariaDb => Version(10, 0, 0),
            Product::MySql | Product::Percona => Version(5, 6, 5),
        };
        let name = self.product.name();
        (self.version < oldest).then(|| {
            Refused(format!(
                "this server is {self}: {deed} takes {name} {oldest} or later\n\
                 hint: bench, digest, doctor and `warm status` work with this version too"
            ))
        })
    }

    /// How this server says it; `None` where it has no such thing.
    pub fn word(&self, word: Word) -> Option<&'static str> {
        let fits = |row: &&Row| row.0 == word && row.2.fits(self) && row.3 <= self.version;
        let found = ROWS.iter().rfind(fits);
        found.map(|row| row.4).filter(|name| !name.is_empty())
    }

    /// The statement that limits every further SELECT of a session to a time; `None` where there is none.
    pub fn limit_statements(&self, time: std::time::Duration) -> Option<String> {
        let text = self.word(Word::LimitStatements)?;
        let seconds = format!("{:.3}", time.as_secs_f64());
        let milliseconds = time.as_millis().max(1).to_string();
        Some(text.replace("{seconds}", &seconds).replace("{milliseconds}", &milliseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_old_to_be_warmed_is_named_with_what_it_takes() {
        let too_old = |text: &str| Identity::from_greeting(text).too_old_for("warming");
        let words = too_old("5.5.9-log").unwrap().to_string();
        assert!(words.contains("MySQL 5.5.9: warming takes MySQL 5.6.5 or later"), "{words}");
        assert!(too_old("5.5.68-MariaDB").is_some());
        for young in ["5.6.5", "9.7.0", "26.7", "5.5.5-10.2.11-MariaDB", "11.8.3-MariaDB"] {
            assert_eq!(too_old(young), None, "{young}");
        }
    }

    fn says(text: &str, comment: &str, word: Word) -> Option<&'static str> {
        Identity::from_greeting(text).with_comment(comment).word(word)
    }

    #[test]
    fn the_last_row_that_fits_counts() {
        let word = Word::ShowBinaryLogStatus;
        assert_eq!(says("8.0.36", "MySQL", word), Some("SHOW MASTER STATUS"));
        assert_eq!(says("8.4.0", "MySQL", word), Some("SHOW BINARY LOG STATUS"));
        assert_eq!(says("26.7", "MySQL", word), Some("SHOW BINARY LOG STATUS"));
        assert_eq!(says("10.11.14-MariaDB", "", word), Some("SHOW MASTER STATUS"));
        assert_eq!(says("5.7.44", "MySQL", Word::CurrentLsn), None);
        assert_eq!(says("8.0.36", "MySQL", Word::Deadlocks), None);
        assert_eq!(says("8.0.36-28", "Percona Server", Word::Deadlocks), Some("Innodb_deadlocks"));
        assert_eq!(
            says("11.8.3-MariaDB", "", Word::IsolationVariable),
            Some("transaction_isolation")
        );
    }

    #[test]
    fn rows_of_a_word_stand_together_and_in_order_of_version() {
        let words = Word::all();
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word), "{word:?} stands in two places");
            let rows: Vec<&Row> = ROWS.iter().filter(|row| row.0 == *word).collect();
            assert!(rows.iter().all(|row| row.1 == rows[0].1), "{word:?} has two kinds");
            for makers in [All, Maria, Oracle, Percona] {
                let own: Vec<_> = rows.iter().filter(|row| row.2 == makers).collect();
                assert!(own.windows(2).all(|pair| pair[0].3 < pair[1].3), "{word:?}");
            }
        }
    }

    #[test]
    fn a_time_limit_in_the_units_of_the_product() {
        let time = std::time::Duration::from_millis(1500);
        let of = |text: &str| Identity::from_greeting(text).limit_statements(time);
        assert_eq!(of("11.4.2-MariaDB").as_deref(), Some("SET SESSION max_statement_time = 1.500"));
        assert_eq!(of("8.4.0").as_deref(), Some("SET SESSION max_execution_time = 1500"));
        assert_eq!(of("5.6.51"), None);
    }
}
