//! Differences between servers, as data: one word, and a row for each product and range of versions.
//! Never knows: sessions. Nobody else compares versions.
//! To add a server version: a row. To add a difference: a word with its kind, and its rows. `tests/it/target.rs`
//! asks every word of a real server.

use super::identity::{ServerIdentity, ServerProduct, ServerVersion};
use crate::plan::RefusedError;

/// Something that servers name differently, or only some have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
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
    /// Number of the server's thread that runs this session, as its operating system counts threads.
    SessionThread,
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
    /// How many settings say that each table must have a primary key.
    KeyRequired,
    /// How many servers replicate as a group, whose tables must have primary keys, too.
    GroupMembers,
}

/// What a word is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
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
pub(super) enum ProductSet {
    All,
    /// MariaDB.
    Maria,
    /// MySQL and Percona Server.
    Oracle,
    /// Percona Server only.
    Percona,
}

use ProductSet::{All, Maria, Oracle, Percona};

impl ProductSet {
    /// Whether a server is one of theirs.
    pub(super) fn includes_server(self, identity: &ServerIdentity) -> bool {
        match self {
            All => true,
            Maria => identity.product == ServerProduct::MariaDb,
            Oracle => identity.product != ServerProduct::MariaDb,
            Percona => identity.product == ServerProduct::Percona,
        }
    }
}
use FeatureKind::{Column, Condition, Metric, Prefix, Statement, Status, Table, Variable};

/// Word, kind, makers, first version, name. Of the rows that fit, the last counts; an empty name
/// says that the server has it no more.
type FeatureRow = (Feature, FeatureKind, ProductSet, ServerVersion, &'static str);

const fn row(
    word: Feature,
    kind: FeatureKind,
    makers: ProductSet,
    since: (u16, u16, u16),
    name: &'static str,
) -> FeatureRow {
    (word, kind, makers, ServerVersion(since.0, since.1, since.2), name)
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

const MARIA_THREAD: &str =
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
const ORACLE_THREAD: &str = "SELECT THREAD_OS_ID FROM performance_schema.threads \
    WHERE PROCESSLIST_ID = CONNECTION_ID()";

const MARIA_KEY: &str = "SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES \
    WHERE VARIABLE_NAME IN ('WSREP_ON', 'INNODB_FORCE_PRIMARY_KEY') AND VARIABLE_VALUE = 'ON'";
const ORACLE_KEY: &str = "SELECT COUNT(*) FROM performance_schema.global_variables \
    WHERE VARIABLE_NAME IN ('wsrep_on', 'sql_require_primary_key') AND VARIABLE_VALUE = 'ON'";
const GROUP_MEMBERS: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
    WHERE MEMBER_STATE <> 'OFFLINE'";

#[rustfmt::skip]
const ROWS: &[FeatureRow] = &[
    row(Feature::ShowReplicaStatus, Statement, Oracle, EVER, "SHOW SLAVE STATUS"),
    row(Feature::ShowReplicaStatus, Statement, Oracle, (8, 0, 22), "SHOW REPLICA STATUS"),
    row(Feature::ShowReplicaStatus, Statement, Maria, EVER, "SHOW ALL SLAVES STATUS"),
    row(Feature::ReplicaLag, Column, All, EVER, "Seconds_Behind_Master"),
    row(Feature::ReplicaLag, Column, Oracle, (8, 0, 22), "Seconds_Behind_Source"),
    row(Feature::ShowReplicas, Statement, All, EVER, "SHOW SLAVE HOSTS"),
    row(Feature::ShowReplicas, Statement, Oracle, (8, 0, 22), "SHOW REPLICAS"),
    row(Feature::ShowBinaryLogStatus, Statement, All, EVER, "SHOW MASTER STATUS"),
    row(Feature::ShowBinaryLogStatus, Statement, Oracle, (8, 2, 0), "SHOW BINARY LOG STATUS"),
    row(Feature::VariablesWithOrigin, Statement, Oracle, EVER, OLD_ORIGIN),
    row(Feature::VariablesWithOrigin, Statement, Oracle, (8, 0, 0), ORACLE_ORIGIN),
    row(Feature::VariablesWithOrigin, Statement, Maria, EVER, MARIA_ORIGIN),
    row(Feature::LimitStatements, Statement, Oracle, (5, 7, 8), ORACLE_LIMIT),
    row(Feature::LimitStatements, Statement, Maria, EVER, MARIA_LIMIT),
    row(Feature::SessionThread, Statement, Oracle, (5, 7, 9), ORACLE_THREAD),
    row(Feature::SessionThread, Statement, Maria, (10, 0, 5), MARIA_THREAD),
    row(Feature::ReadOnlySession, Statement, Oracle, (5, 6, 5), READ_ONLY),
    row(Feature::ReadOnlySession, Statement, Maria, (10, 0, 0), READ_ONLY),
    row(Feature::ExplainAnalyze, Prefix, Oracle, (8, 0, 18), "EXPLAIN ANALYZE"),
    row(Feature::ExplainAnalyze, Prefix, Maria, EVER, "ANALYZE"),
    row(Feature::IsolationVariable, Variable, All, EVER, "tx_isolation"),
    row(Feature::IsolationVariable, Variable, Oracle, (5, 7, 20), "transaction_isolation"),
    row(Feature::IsolationVariable, Variable, Maria, (11, 1, 1), "transaction_isolation"),
    row(Feature::RedoSizeVariable, Variable, Maria, EVER, "innodb_log_file_size"),
    row(Feature::RedoSizeVariable, Variable, Oracle, (8, 0, 30), "innodb_redo_log_capacity"),
    row(Feature::CurrentLsn, Status, Maria, EVER, "Innodb_lsn_current"),
    row(Feature::CurrentLsn, Status, Oracle, (8, 0, 30), "Innodb_redo_log_current_lsn"),
    row(Feature::CheckpointLsn, Status, Maria, EVER, "Innodb_lsn_last_checkpoint"),
    row(Feature::CheckpointLsn, Status, Oracle, (8, 0, 30), "Innodb_redo_log_checkpoint_lsn"),
    row(Feature::CheckpointAge, Status, Maria, EVER, "Innodb_checkpoint_age"),
    row(Feature::CheckpointAgeMax, Status, Maria, EVER, "Innodb_checkpoint_max_age"),
    row(Feature::CheckpointAgeMax, Status, Oracle, (8, 0, 30), "Innodb_redo_log_capacity_resized"),
    row(Feature::HistoryList, Status, Maria, EVER, "Innodb_history_list_length"),
    row(Feature::HistoryListMetric, Metric, All, EVER, "trx_rseg_history_len"),
    row(Feature::Deadlocks, Status, Maria, EVER, "Innodb_deadlocks"),
    row(Feature::Deadlocks, Status, Percona, EVER, "Innodb_deadlocks"),
    row(Feature::DeadlocksMetric, Metric, All, EVER, "lock_deadlocks"),
    row(Feature::RowsRead, Status, Oracle, EVER, "Innodb_rows_read"),
    row(Feature::RowsRead, Status, Maria, EVER, "Rows_read"),
    row(Feature::PagesRead, Status, All, EVER, "Innodb_pages_read"),
    row(Feature::PoolMisses, Status, All, EVER, "Innodb_buffer_pool_reads"),
    row(Feature::PoolAsked, Status, All, EVER, "Innodb_buffer_pool_read_requests"),
    row(Feature::ReadAhead, Status, All, EVER, "Innodb_buffer_pool_read_ahead"),
    row(Feature::PagesFlushed, Status, All, EVER, "Innodb_buffer_pool_pages_flushed"),
    row(Feature::PagesDirty, Status, All, EVER, "Innodb_buffer_pool_pages_dirty"),
    row(Feature::DataFsyncs, Status, All, EVER, "Innodb_data_fsyncs"),
    row(Feature::LogFsyncs, Status, Oracle, EVER, "Innodb_os_log_fsyncs"),
    row(Feature::DataRead, Status, All, EVER, "Innodb_data_read"),
    row(Feature::DataWritten, Status, All, EVER, "Innodb_data_written"),
    row(Feature::InnodbTables, Table, All, EVER, "information_schema.INNODB_SYS_TABLES"),
    row(Feature::InnodbTables, Table, Oracle, (8, 0, 0), "information_schema.INNODB_TABLES"),
    row(Feature::InnodbIndexes, Table, All, EVER, "information_schema.INNODB_SYS_INDEXES"),
    row(Feature::InnodbIndexes, Table, Oracle, (8, 0, 0), "information_schema.INNODB_INDEXES"),
    row(Feature::InnodbTablespaces, Table, All, EVER, "information_schema.INNODB_SYS_TABLESPACES"),
    row(
        Feature::InnodbTablespaces, Table, Oracle, (8, 0, 0),
        "information_schema.INNODB_TABLESPACES",
    ),
    row(
        Feature::CachedIndexes, Table, Oracle, (8, 0, 0),
        "information_schema.INNODB_CACHED_INDEXES",
    ),
    row(Feature::LockWaits, Table, All, EVER, "information_schema.INNODB_LOCK_WAITS"),
    row(Feature::LockWaits, Table, Oracle, (8, 0, 1), "performance_schema.data_lock_waits"),
    row(Feature::Processlist, Table, All, EVER, "information_schema.PROCESSLIST"),
    row(Feature::Processlist, Table, Oracle, (8, 0, 22), "performance_schema.processlist"),
    row(Feature::PoolInstances, Variable, All, EVER, "innodb_buffer_pool_instances"),
    row(Feature::PoolInstances, Variable, Maria, (10, 5, 0), ""),
    row(Feature::MetricIsOn, Condition, Oracle, EVER, "STATUS = 'enabled'"),
    row(Feature::MetricIsOn, Condition, Maria, EVER, "STATUS = 'enabled'"),
    row(Feature::MetricIsOn, Condition, Maria, (10, 5, 0), "ENABLED"),
    row(Feature::KeyRequired, Statement, Oracle, (5, 7, 9), ORACLE_KEY),
    row(Feature::KeyRequired, Statement, Maria, EVER, MARIA_KEY),
    row(Feature::GroupMembers, Statement, Oracle, (5, 7, 17), GROUP_MEMBERS),
];

impl Feature {
    /// All words, each once.
    pub fn list_all() -> Vec<Feature> {
        let mut words: Vec<Feature> = ROWS.iter().map(|row| row.0).collect();
        words.dedup();
        words
    }

    /// What it is the name of.
    pub fn kind(self) -> FeatureKind {
        ROWS.iter().find(|row| row.0 == self).map_or(Statement, |row| row.1)
    }
}

impl ServerIdentity {
    /// Whether rows with an AUTO_INCREMENT column go into one table no faster by several sessions: MariaDB writes
    /// down the counter with each row, under the latch of the table's root page.
    pub fn inserts_one_by_one(&self) -> bool {
        self.product == ServerProduct::MariaDb
    }

    /// Whether long texts come into a table cheaper by prepared INSERTs than by LOAD DATA: MariaDB takes a fifth to a quarter
    /// less CPU for them, MySQL a third more.
    pub fn inserts_texts_cheaper(&self) -> bool {
        self.product == ServerProduct::MariaDb
    }

    /// The privileges of an account that may see everything and change nothing.
    pub fn reader_privileges(&self) -> &'static str {
        match (self.product, self.version) {
            (
                ServerProduct::MariaDb,
                ServerVersion(10, 5, 9..) | ServerVersion(10, 6.., _) | ServerVersion(11.., ..),
            ) => "SELECT, SHOW VIEW, PROCESS, SLAVE MONITOR",
            _ => "SELECT, SHOW VIEW, PROCESS, REPLICATION CLIENT",
        }
    }

    /// What speaks against warming a server or replaying to it that is so old that it lacks what both are made of:
    /// read-only transactions, EXPLAIN in a chosen format, lists of the pool's pages, tables of InnoDB's indexes.
    pub fn too_old_for(&self, deed: &str) -> Option<RefusedError> {
        let oldest = match self.product {
            ServerProduct::MariaDb => ServerVersion(10, 0, 0),
            ServerProduct::MySql | ServerProduct::Percona => ServerVersion(5, 6, 5),
        };
        let name = self.product.name();
        (self.version < oldest).then(|| {
            RefusedError(format!(
                "this server is {self}: {deed} needs {name} {oldest} or later\nhint: bench, \
                 digest, doctor and `warm status` work with this version too"
            ))
        })
    }

    /// How this server says it; `None` where it has no such thing.
    pub fn feature_text(&self, word: Feature) -> Option<&'static str> {
        let fits = |row: &&FeatureRow| {
            row.0 == word && row.2.includes_server(self) && row.3 <= self.version
        };
        let found = ROWS.iter().rfind(fits);
        found.map(|row| row.4).filter(|name| !name.is_empty())
    }

    /// The statement that limits every further SELECT of a session to a time; `None` where there is none.
    pub fn limit_statement(&self, time: std::time::Duration) -> Option<String> {
        let text = self.feature_text(Feature::LimitStatements)?;
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
        let too_old = |text: &str| ServerIdentity::from_greeting(text).too_old_for("warming");
        let words = too_old("5.5.9-log").unwrap().to_string();
        assert!(words.contains("MySQL 5.5.9: warming needs MySQL 5.6.5 or later"), "{words}");
        assert!(too_old("5.5.68-MariaDB").is_some());
        for young in ["5.6.5", "9.7.0", "26.7", "5.5.5-10.2.11-MariaDB", "11.8.3-MariaDB"] {
            assert_eq!(too_old(young), None, "{young}");
        }
    }

    fn says(text: &str, comment: &str, word: Feature) -> Option<&'static str> {
        ServerIdentity::from_greeting(text).with_comment(comment).feature_text(word)
    }

    #[test]
    fn the_last_row_that_fits_counts() {
        let word = Feature::ShowBinaryLogStatus;
        assert_eq!(says("8.0.36", "MySQL", word), Some("SHOW MASTER STATUS"));
        assert_eq!(says("8.4.0", "MySQL", word), Some("SHOW BINARY LOG STATUS"));
        assert_eq!(says("26.7", "MySQL", word), Some("SHOW BINARY LOG STATUS"));
        assert_eq!(says("10.11.14-MariaDB", "", word), Some("SHOW MASTER STATUS"));
        assert_eq!(says("5.7.44", "MySQL", Feature::CurrentLsn), None);
        assert_eq!(says("8.0.36", "MySQL", Feature::Deadlocks), None);
        assert_eq!(
            says("8.0.36-28", "Percona Server", Feature::Deadlocks),
            Some("Innodb_deadlocks")
        );
        assert_eq!(
            says("11.8.3-MariaDB", "", Feature::IsolationVariable),
            Some("transaction_isolation")
        );
    }

    #[test]
    fn rows_of_a_word_stand_together_and_in_order_of_version() {
        let words = Feature::list_all();
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word), "{word:?} stands in two places");
            let rows: Vec<&FeatureRow> = ROWS.iter().filter(|row| row.0 == *word).collect();
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
        let of = |text: &str| ServerIdentity::from_greeting(text).limit_statement(time);
        assert_eq!(of("11.4.2-MariaDB").as_deref(), Some("SET SESSION max_statement_time = 1.500"));
        assert_eq!(of("8.4.0").as_deref(), Some("SET SESSION max_execution_time = 1500"));
        assert_eq!(of("5.6.51"), None);
    }
}
