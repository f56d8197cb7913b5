//! Temporary tables of a session: they are not made in a replay that only reads, so what uses them is left out.

use crate::capture::read_only::{self, table_names, temporary_table};

/// Names kept in mind of one session.
const MOST: usize = 1_000;

/// Names, in lower case.
#[derive(Debug, Default)]
pub(super) struct TemporaryTables(Vec<String>);

impl TemporaryTables {
    /// Takes note of a table that is made or dropped.
    pub(super) fn note_table(&mut self, text: &[u8]) {
        match temporary_table(text) {
            Some(read_only::TemporaryTableChange::Created(name))
                if self.0.len() < MOST && !self.0.contains(&name) =>
            {
                self.0.push(name);
            }
            Some(read_only::TemporaryTableChange::Created(_)) => {}
            Some(read_only::TemporaryTableChange::Dropped(name)) => {
                self.0.retain(|known| *known != name)
            }
            None => {}
        }
    }

    /// A name among them that a statement uses.
    pub(super) fn used_by(&self, text: &[u8]) -> Option<String> {
        if self.0.is_empty() || temporary_table(text).is_some() {
            return None;
        }
        table_names(text).into_iter().find(|name| self.0.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_made_for_itself_is_known_until_it_is_dropped() {
        let mut temporary = TemporaryTables::default();
        let uses = |t: &TemporaryTables, text: &str| t.used_by(text.as_bytes());
        assert_eq!(uses(&temporary, "select * from t1"), None);
        temporary.note_table(b"CREATE TEMPORARY TABLE IF NOT EXISTS db.`T1` (a int)");
        temporary.note_table(b"create table t2 (a int)");
        assert_eq!(uses(&temporary, "select * from t1 join x").as_deref(), Some("t1"));
        assert_eq!(uses(&temporary, "select `t1`.a from `db`.`t1`").as_deref(), Some("t1"));
        assert_eq!(uses(&temporary, "select 't1' from t2"), None);
        assert_eq!(uses(&temporary, "select a from t11"), None);
        temporary.note_table(b"drop temporary table t1");
        assert_eq!(uses(&temporary, "select * from t1"), None);
    }
}
