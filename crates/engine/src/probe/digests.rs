//! Statements by their digest, as the server's performance schema sums them up: snapshots and what rose between two of them.
//! Nothing is switched on for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::probed_server::cell_text;
use crate::client::Session;

/// The table, without its schema.
pub const SOURCE: &str = "events_statements_summary_by_digest";
/// Characters of a statement that are kept.
const LONGEST_TEXT: usize = 1000;

/// What the server did in statements of one digest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DigestCounts {
    /// Default database of the sessions.
    pub schema: String,
    /// The statement without its values, as the server writes it; empty for the row of all that found no place.
    pub text: String,
    /// Statements.
    pub calls: u64,
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Seconds in the server.
    pub seconds: f64,
    /// Of these, waiting for table and metadata locks.
    pub lock_seconds: f64,
    /// Temporary tables on disk.
    pub disk_tables: u64,
    /// Statements that used no index for a table.
    pub without_index: u64,
}

/// All digests at one moment, by schema and digest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DigestSnapshot(BTreeMap<(String, String), DigestCounts>);

/// Reads the digests of this moment.
///
/// # Errors
/// Says in words why there are none: the performance schema is off, or we may not read it.
pub fn read_digests(session: &mut Session) -> Result<DigestSnapshot, String> {
    match session.query_scalar("SELECT @@performance_schema") {
        Ok(Some(on)) if on != "0" => {}
        Ok(_) => return Err("performance_schema is off".to_owned()),
        Err(e) => return Err(e.to_string()),
    }
    let consumer = "SELECT ENABLED FROM performance_schema.setup_consumers \
                    WHERE NAME = 'statements_digest'";
    match session.query_scalar(consumer) {
        Ok(Some(on)) if on == "YES" => {}
        Ok(_) => return Err("the consumer statements_digest is off".to_owned()),
        Err(e) => return Err(e.to_string()),
    }
    let sql = format!(
        "SELECT COALESCE(SCHEMA_NAME, ''), COALESCE(DIGEST, ''), \
         LEFT(COALESCE(DIGEST_TEXT, ''), {LONGEST_TEXT}), COUNT_STAR, SUM_ROWS_SENT, \
         SUM_ROWS_EXAMINED, SUM_ROWS_AFFECTED, SUM_TIMER_WAIT, SUM_LOCK_TIME, \
         SUM_CREATED_TMP_DISK_TABLES, SUM_NO_INDEX_USED FROM performance_schema.{SOURCE}"
    );
    let rows = session.query_rows(&sql).map_err(|e| e.to_string())?;
    let read = |row: &Vec<Option<Vec<u8>>>| {
        let text = |column: usize| cell_text(row.get(column));
        let count = |column: usize| text(column).parse::<u64>().unwrap_or(0);
        let counts = DigestCounts {
            schema: text(0),
            text: text(2),
            calls: count(3),
            rows_sent: count(4),
            rows_examined: count(5),
            rows_affected: count(6),
            seconds: count(7) as f64 / 1e12,
            lock_seconds: count(8) as f64 / 1e12,
            disk_tables: count(9),
            without_index: count(10),
        };
        ((text(0), text(1)), counts)
    };
    Ok(DigestSnapshot(rows.rows.iter().map(read).collect()))
}

impl DigestSnapshot {
    /// What rose from `before` to this one, without statements that look at the server itself; the most frequent first. A
    /// digest that fell (the table was emptied meanwhile) counts from nothing.
    pub fn rises_since(&self, before: &DigestSnapshot) -> Vec<DigestCounts> {
        let of = |(key, now): (&(String, String), &DigestCounts)| {
            let none = DigestCounts::default();
            let was = before.0.get(key).filter(|was| was.calls <= now.calls).unwrap_or(&none);
            let rise = DigestCounts {
                calls: now.calls - was.calls,
                rows_sent: now.rows_sent.saturating_sub(was.rows_sent),
                rows_examined: now.rows_examined.saturating_sub(was.rows_examined),
                rows_affected: now.rows_affected.saturating_sub(was.rows_affected),
                seconds: (now.seconds - was.seconds).max(0.0),
                lock_seconds: (now.lock_seconds - was.lock_seconds).max(0.0),
                disk_tables: now.disk_tables.saturating_sub(was.disk_tables),
                without_index: now.without_index.saturating_sub(was.without_index),
                ..now.clone()
            };
            (rise.calls > 0).then_some(rise)
        };
        without_looks(self.0.iter().filter_map(of))
    }
}

/// Statements but for those that look at the server itself, the most frequent first.
pub(super) fn without_looks(all: impl Iterator<Item = DigestCounts>) -> Vec<DigestCounts> {
    let mut kept: Vec<DigestCounts> = all.filter(|one| !is_look_at_server(&one.text)).collect();
    kept.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.text.cmp(&b.text)));
    kept
}

/// Whether a statement asks about the server itself, as ours do: `SHOW`, system variables, system schemas.
fn is_look_at_server(text: &str) -> bool {
    let text = text.to_ascii_uppercase().replace('`', "");
    text.starts_with("SHOW ")
        || text.starts_with("SELECT @@")
        || text.contains("PERFORMANCE_SCHEMA")
        || text.contains("INFORMATION_SCHEMA")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(rows: &[(&str, u64, u64)]) -> DigestSnapshot {
        let of = |(text, calls, rows_sent): &(&str, u64, u64)| {
            let counts = DigestCounts {
                text: (*text).to_owned(),
                calls: *calls,
                rows_sent: *rows_sent,
                ..DigestCounts::default()
            };
            ((String::new(), (*text).to_owned()), counts)
        };
        DigestSnapshot(rows.iter().map(of).collect())
    }

    #[test]
    fn what_rose_is_told_and_our_own_looks_are_not() {
        let before = snapshot(&[("SELECT `a` FROM `t`", 5, 50), ("UPDATE `t`", 9, 0)]);
        let after = snapshot(&[
            ("SELECT `a` FROM `t`", 25, 250),
            ("UPDATE `t`", 2, 0),
            ("INSERT INTO `t`", 2, 0),
            ("SHOW GLOBAL STATUS", 7, 3500),
            ("SELECT * FROM `performance_schema` . `threads`", 1, 9),
            ("SELECT @@`datadir`", 1, 1),
        ]);
        let rises = after.rises_since(&before);
        let told: Vec<_> = rises.iter().map(|r| (&*r.text, r.calls, r.rows_sent)).collect();
        let expected =
            [("SELECT `a` FROM `t`", 20, 200), ("INSERT INTO `t`", 2, 0), ("UPDATE `t`", 2, 0)];
        assert_eq!(told, expected);
        assert_eq!(before.rises_since(&before), []);
    }
}
