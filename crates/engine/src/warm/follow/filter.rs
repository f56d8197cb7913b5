//! Which records go on to the standby, and as what. Pure.

use super::dedup_window::DedupWindow;
use super::send_queue::QueuedStatement;
use super::status::FollowCounts;
use super::throttle::AgeFilter;
use crate::base::Nanos;
use crate::capture::read_only::{AllowList, FilterDecision, filter_statement};
use crate::capture::{Confidence, DefaultDatabase, EventKind, LogRecord};
use crate::plan::WritesPlan;

/// The read half of a write, and look-ups for the indexes that it changes: by its text and database.
pub(super) type ReadHalfFn = Box<dyn FnMut(&[u8], &[u8]) -> Vec<Vec<u8>> + Send>;

/// What records go through.
pub(super) struct StatementFilter {
    pub writes: WritesPlan,
    pub allowed: AllowList,
    pub halves: ReadHalfFn,
    /// How often the standby was lost or found: it may have forgotten what it was sent.
    pub openings: u64,
    pub window: DedupWindow,
    pub behind: AgeFilter,
    /// The database of sessions whose own is not known.
    pub database: Vec<u8>,
}

impl StatementFilter {
    /// What of a record goes to the standby: nothing, a statement, or some of a write. `now` is by our clock, `wall_ns`
    /// the same as nanoseconds since 1970.
    pub(super) fn filter_record(
        &mut self,
        recorded: &LogRecord<'_>,
        now: Nanos,
        wall_ns: u64,
        counts: &mut FollowCounts,
    ) -> Vec<QueuedStatement> {
        counts.records += 1;
        let is_statement = matches!(recorded.kind, EventKind::Statement | EventKind::Execute);
        let failed = recorded.errno.is_some_and(|errno| errno != 0);
        if !is_statement || recorded.is_inner || failed {
            counts.others += 1;
            return Vec::new();
        }
        let took_us = recorded.took_us.unwrap_or(0);
        let ended = recorded.began_us.map(|began| (began + took_us).saturating_mul(1_000));
        let age = self.behind.statement_age(wall_ns, ended);
        if self.behind.is_too_old(age) {
            counts.skipped += 1;
            return Vec::new();
        }
        if is_uncertain(recorded.confidence) {
            counts.doubtful += 1;
            return Vec::new();
        }
        let database = match recorded.database {
            DefaultDatabase::Named(name) => name,
            DefaultDatabase::None => &[],
            DefaultDatabase::Unknown => self.database.as_slice(),
        };
        if !self.window.is_new(now, database, recorded.text) {
            counts.deduplicated += 1;
            return Vec::new();
        }
        let item = |text: &[u8]| QueuedStatement {
            text: text.into(),
            database: database.into(),
            arrived: now,
            age,
        };
        match filter_statement(recorded.text, &self.allowed) {
            FilterDecision::Read(text) if !reads_user_rows(&text, database) => {
                counts.others += 1;
                Vec::new()
            }
            FilterDecision::Read(text) => vec![item(&text)],
            FilterDecision::Write if self.writes == WritesPlan::Drop => {
                counts.writes += 1;
                Vec::new()
            }
            FilterDecision::Write => {
                let found = (self.halves)(recorded.text, database);
                *(if found.is_empty() { &mut counts.writes } else { &mut counts.halved }) += 1;
                // Each passes the filter by itself: what we made is trusted no more than what we read.
                let ruled =
                    found.iter().filter_map(|half| match filter_statement(half, &self.allowed) {
                        FilterDecision::Read(text) => Some(item(&text)),
                        _ => None,
                    });
                ruled.collect()
            }
            FilterDecision::Refused(refusal) => {
                counts.count_refusal(&refusal);
                Vec::new()
            }
            FilterDecision::Set(_)
            | FilterDecision::Begin { .. }
            | FilterDecision::End
            | FilterDecision::Use(_) => {
                counts.sessions_own += 1;
                Vec::new()
            }
        }
    }
}

/// Whether the text may not be what was sent.
fn is_uncertain(confidence: Confidence) -> bool {
    !matches!(confidence, Confidence::Clean | Confidence::Early)
}

/// Databases without rows of users.
const CATALOGS: [&[u8]; 2] = [b"information_schema", b"performance_schema"];

/// Whether a statement can read rows of users: SHOW and its like, and what asks the catalog (as we do ourselves for the
/// hot set) warm nothing.
fn reads_user_rows(text: &[u8], database: &[u8]) -> bool {
    let is_select = [&b"SELECT"[..], b"WITH", b"(", b"TABLE"]
        .into_iter()
        .any(|word| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)));
    let is_catalog = |name: &[u8]| CATALOGS.into_iter().any(|c| name.eq_ignore_ascii_case(c));
    // All of their names end so.
    const END: &[u8] = b"_schema";
    let names_one = memchr::memchr_iter(b'_', text).any(|at| {
        let end = at + END.len();
        text.get(at..end).is_some_and(|part| part.eq_ignore_ascii_case(END))
            && CATALOGS.into_iter().any(|name| {
                end.checked_sub(name.len()).is_some_and(|from| is_catalog(&text[from..end]))
            })
    });
    is_select && !names_one && !is_catalog(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn sieve() -> StatementFilter {
        StatementFilter {
            writes: WritesPlan::Drop,
            allowed: AllowList::default(),
            halves: Box::new(|_, _| {
                vec![b"SELECT 1 FROM t WHERE id = 3".to_vec(), b"DROP TABLE t".to_vec()]
            }),
            openings: 0,
            window: DedupWindow::new(Nanos(10 * S)),
            behind: AgeFilter::new(Nanos(10 * S)),
            database: b"default".to_vec(),
        }
    }

    fn statement(text: &str) -> LogRecord<'_> {
        LogRecord {
            text: text.as_bytes(),
            database: DefaultDatabase::Named(b"shop"),
            ..LogRecord::default()
        }
    }

    fn pass(
        filter: &mut StatementFilter,
        recorded: &LogRecord<'_>,
        counts: &mut FollowCounts,
    ) -> Vec<String> {
        let items = filter.filter_record(recorded, Nanos(0), 1_000 * S, counts);
        let text = |item: QueuedStatement| {
            let database = String::from_utf8_lossy(&item.database).into_owned();
            format!("{database}: {}", String::from_utf8_lossy(&item.text))
        };
        items.into_iter().map(text).collect()
    }

    #[test]
    fn reads_go_on_and_all_else_is_counted() {
        let (mut filter, mut counts) = (sieve(), FollowCounts::default());
        let mut of = |recorded: &LogRecord<'_>| pass(&mut filter, recorded, &mut counts);
        assert_eq!(of(&statement("SELECT a FROM t")), ["shop: SELECT a FROM t"]);
        assert!(of(&statement("SELECT a FROM t")).is_empty());
        let unknown =
            LogRecord { database: DefaultDatabase::Unknown, ..statement("SELECT b FROM t") };
        assert_eq!(of(&unknown), ["default: SELECT b FROM t"]);
        let none = LogRecord { database: DefaultDatabase::None, ..statement("SELECT b FROM x.t") };
        assert_eq!(of(&none), [": SELECT b FROM x.t"]);
        assert_eq!(of(&statement("SELECT c FROM t FOR UPDATE")).len(), 1, "without its lock");
        for text in [
            "UPDATE t SET a = 1",
            "SELECT GET_LOCK('a', 1)",
            "SHOW TABLES",
            "SELECT * FROM information_schema.TABLES",
            "SELECT * FROM `Performance_Schema`.threads",
            "SET @a = 1",
            "COMMIT",
            "DROP TABLE t",
        ] {
            assert!(of(&statement(text)).is_empty(), "{text}");
        }
        assert!(of(&LogRecord { errno: Some(1064), ..statement("SELECT 7 FROM t") }).is_empty());
        assert!(of(&LogRecord { is_inner: true, ..statement("SELECT 8 FROM t") }).is_empty());
        assert!(of(&LogRecord { kind: EventKind::Quit, ..statement("") }).is_empty());
        assert!(
            of(&LogRecord { confidence: Confidence::Unbalanced, ..statement("SELECT 9") })
                .is_empty()
        );
        assert_eq!((counts.records, counts.deduplicated, counts.writes), (17, 1, 1));
        assert_eq!((counts.others, counts.doubtful, counts.refused), (6, 1, 2));
        assert_eq!(counts.sessions_own, 2);
        assert_eq!(counts.reasons.len(), 2);
    }

    #[test]
    fn what_we_made_of_a_write_passes_the_filter_too() {
        let (mut filter, mut counts) = (sieve(), FollowCounts::default());
        filter.writes = WritesPlan::Where;
        let found = pass(&mut filter, &statement("DELETE FROM t WHERE id = 3"), &mut counts);
        assert_eq!(found, ["shop: SELECT 1 FROM t WHERE id = 3"]);
        assert_eq!((counts.halved, counts.writes), (1, 0));
    }

    #[test]
    fn what_is_old_is_skipped_until_the_source_is_at_its_end() {
        let (mut filter, mut counts) = (sieve(), FollowCounts::default());
        let at = |second: u64| LogRecord {
            began_us: Some((1_000 - second) * 1_000_000),
            ..statement("SELECT a FROM t")
        };
        assert!(pass(&mut filter, &at(60), &mut counts).is_empty());
        assert!(pass(&mut filter, &at(8), &mut counts).is_empty());
        assert_eq!(counts.skipped, 2);
        filter.behind.mark_caught_up();
        assert_eq!(pass(&mut filter, &at(8), &mut counts).len(), 1, "that is its now");
    }
}
