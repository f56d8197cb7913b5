//! What every session of a replay is held to by its server: no writes, no long statements, no long waits for locks.
//! Never knows: statements of a log.
//! To add a guard: a field, and its statement in `setup_statements`.

use std::time::Duration;

use super::{Error, Feature, ServerIdentity, Session};

/// Longest wait for a lock: a replay shall not queue up behind whom it might disturb.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// What a session is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The server refuses what writes rows or definitions.
    pub is_read_only: bool,
    /// Longest time a statement may take; MySQL knows it for SELECT only.
    pub time_limit: Option<Duration>,
    /// Most rows that a SELECT without LIMIT gives.
    pub rows_max: Option<u64>,
    /// Longest wait for a lock, whole seconds.
    pub lock_wait: Duration,
}

impl Default for SessionLimits {
    /// Reads only, with no limit of time.
    fn default() -> SessionLimits {
        SessionLimits { is_read_only: true, time_limit: None, rows_max: None, lock_wait: LOCK_WAIT }
    }
}

impl SessionLimits {
    /// The statements that set up a new session, in their order; `None` where the server knows no read-only
    /// transactions, and one was asked for.
    pub fn setup_statements(&self, identity: &ServerIdentity) -> Option<Vec<String>> {
        let mut all = Vec::new();
        if self.is_read_only {
            all.push(identity.feature_text(Feature::ReadOnlySession)?.to_owned());
            all.push("SET SESSION sql_safe_updates = 1".to_owned());
        }
        all.extend(self.time_limit.and_then(|limit| identity.limit_statement(limit)));
        all.extend(self.rows_max.map(|rows| format!("SET SESSION sql_select_limit = {rows}")));
        let seconds = self.lock_wait.as_secs().max(1);
        all.push(format!("SET SESSION lock_wait_timeout = {seconds}"));
        all.push(format!("SET SESSION innodb_lock_wait_timeout = {seconds}"));
        Some(all)
    }

    /// What is sent again after each SET of the log that was let through.
    pub fn read_only_statement(&self, identity: &ServerIdentity) -> Option<&'static str> {
        if self.is_read_only { identity.feature_text(Feature::ReadOnlySession) } else { None }
    }

    /// What begins a transaction, whatever the log's own words were.
    pub fn transaction_start(&self, is_snapshot: bool) -> &'static str {
        match (self.is_read_only, is_snapshot) {
            (true, true) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            (true, false) => "START TRANSACTION READ ONLY",
            (false, true) => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            (false, false) => "START TRANSACTION",
        }
    }

    /// Sets up a new session. One that could not be set up is of no use.
    ///
    /// # Errors
    /// As [`Error`] tells apart; also where the server knows no read-only transactions.
    pub async fn set_up(&self, session: &mut Session) -> Result<(), Error> {
        let Some(all) = self.setup_statements(session.identity()) else {
            let server = session.identity().to_string();
            return Err(Error::Protocol(format!(
                "{server} does not support read-only transactions"
            )));
        };
        for statement in all {
            session.fetch_rows(&statement).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_set_up_in_the_words_of_their_server() {
        let guard = SessionLimits {
            time_limit: Some(Duration::from_secs(10)),
            rows_max: Some(1000),
            ..SessionLimits::default()
        };
        let of = |text: &str| guard.setup_statements(&ServerIdentity::from_greeting(text));
        let maria = of("10.11.6-MariaDB").unwrap();
        assert_eq!(maria[0], "SET SESSION TRANSACTION READ ONLY");
        assert!(maria.contains(&"SET SESSION max_statement_time = 10.000".to_owned()));
        assert!(maria.contains(&"SET SESSION sql_select_limit = 1000".to_owned()));
        let mysql = of("8.4.0").unwrap();
        assert!(mysql.contains(&"SET SESSION max_execution_time = 10000".to_owned()));
        // A server that can't hold a session to reading has none.
        assert_eq!(of("5.5.62"), None);
    }

    #[test]
    fn transactions_begin_in_our_words() {
        let guard = SessionLimits::default();
        assert_eq!(guard.transaction_start(false), "START TRANSACTION READ ONLY");
        assert!(guard.transaction_start(true).ends_with("READ ONLY"));
        let writing = SessionLimits { is_read_only: false, ..guard };
        assert!(!writing.transaction_start(false).contains("ONLY"));
        assert_eq!(writing.read_only_statement(&ServerIdentity::from_greeting("8.4.0")), None);
    }
}
