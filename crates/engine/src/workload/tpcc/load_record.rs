//! What a database remembers of its load: the seed that its rows come from, and the constants of clause 2.1.6, which load and
//! run must agree on.

use super::nonuniform::NonUniformConstants;
use crate::client::{Error, Session};

/// The table that holds it: one row.
pub(super) const RECORD_TABLE: &str = "tpcc_load";

/// What the database remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadRecord {
    /// Seed of all rows.
    pub(super) seed: u64,
    pub(super) constants: NonUniformConstants,
}

impl LoadRecord {
    /// The record of a new database.
    pub(super) fn from_seed(seed: u64) -> LoadRecord {
        LoadRecord { seed, constants: NonUniformConstants::from_seed(seed) }
    }

    /// Statements that keep it.
    pub(super) fn save_sql(&self) -> [String; 2] {
        let NonUniformConstants { last_name_load, last_name_run, customer, item } = self.constants;
        [
            format!(
                "CREATE TABLE IF NOT EXISTS {RECORD_TABLE} (id TINYINT UNSIGNED PRIMARY KEY, \
                 seed BIGINT UNSIGNED NOT NULL, c_last_load INT UNSIGNED NOT NULL, \
                 c_last_run INT UNSIGNED NOT NULL, c_id INT UNSIGNED NOT NULL, \
                 c_item INT UNSIGNED NOT NULL)"
            ),
            format!(
                "INSERT INTO {RECORD_TABLE} VALUES \
                 (1, {}, {last_name_load}, {last_name_run}, {customer}, {item})",
                self.seed
            ),
        ]
    }

    /// The record of the default database; `None` where there is none, as in a database that another program has loaded.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub(super) fn read(session: &mut Session) -> Result<Option<LoadRecord>, Error> {
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() \
             AND table_name = '{RECORD_TABLE}'"
        );
        if session.query_scalar(&there)?.as_deref() != Some("1") {
            return Ok(None);
        }
        let sql = format!(
            "SELECT seed, c_last_load, c_last_run, c_id, c_item FROM {RECORD_TABLE} WHERE id = 1"
        );
        let rows = session.query_rows(&sql)?;
        let number =
            |column| rows.text_value(0, column).and_then(|text: String| text.parse::<u64>().ok());
        let small = |column| number(column).map(|n| n as u32);
        Ok((|| {
            Some(LoadRecord {
                seed: number(0)?,
                constants: NonUniformConstants {
                    last_name_load: small(1)?,
                    last_name_run: small(2)?,
                    customer: small(3)?,
                    item: small(4)?,
                },
            })
        })())
    }
}
