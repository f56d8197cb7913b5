//! Temporary tables of a session: they are not made in a replay that only reads, so what uses them is left out.

use crate::capture::read_only::{self, tables, temporary};

/// Names kept in mind of one session.
const MOST: usize = 1_000;

/// Names, in lower case.
#[derive(Debug, Default)]
pub(super) struct Temporary(Vec<String>);

impl Temporary {
    /// Takes note of a table that is made or dropped.
    pub(super) fn note(&mut self, text: &[u8]) {
        match temporary(text) {
            Some(read_only::Temporary::Created(name))
                if self.0.len() < MOST && !self.0.contains(&name) =>
            {
                self.0.push(name);
            }
            Some(read_only::Temporary::Created(_)) => {}
            Some(read_only::Temporary::Dropped(name)) => self.0.retain(|known| *known != name),
            None => {}
        }
    }

    /// A name among them that a statement uses.
    pub(super) fn used_by(&self, text: &[u8]) -> Option<String> {
        if self.0.is_empty() || temporary(text).is_some() {
            return None;
        }
        tables(text).into_iter().find(|name| self.0.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_made_for_itself_is_known_until_it_is_dropped() {
        let mut temporary = Temporary::default();
        let uses = |t: &Temporary, text: &str| t.used_by(text.as_bytes());
        assert_eq!(uses(&temporary, "select * from t1"), None);
        temporary.note(b"CREATE TEMPORARY TABLE IF NOT EXISTS db.`T1` (a int)");
        temporary.note(b"create table t2 (a int)");
        assert_eq!(uses(&temporary, "select * from t1 join x").as_deref(), Some("t1"));
        assert_eq!(uses(&temporary, "select `t1`.a from `db`.`t1`").as_deref(), Some("t1"));
        assert_eq!(uses(&temporary, "select 't1' from t2"), None);
        assert_eq!(uses(&temporary, "select a from t11"), None);
        temporary.note(b"drop temporary table t1");
        assert_eq!(uses(&temporary, "select * from t1"), None);
    }
}
