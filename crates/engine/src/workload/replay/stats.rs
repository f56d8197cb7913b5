//! What comes of each class of statements, and what is left out: the account of a replay. Memory does not grow with the
//! log.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capture::CompactTimes;
use crate::capture::digest::write_digest;
use crate::capture::redact::{redacted_digest, redacted_text};
use crate::recorder::{EventError, HIGHEST_NS, LeftOut, ReplayedClass, SparseHistogram};

/// Longest example, bytes.
const LONGEST_EXAMPLE: usize = 1_000;
/// Batches of a class; when there are more, two and two become one.
const MOST_BATCHES: usize = 40;
/// Reasons told apart.
const MOST_REASONS: usize = 200;
/// Statements kept in mind to know them again; beyond, all are forgotten.
const MOST_SEEN: usize = 2_000_000;

fn to_histogram(times: &CompactTimes) -> SparseHistogram {
    let mut all = SparseHistogram::default();
    times.counted_times().into_iter().for_each(|(time, count)| all.record_n(time, count));
    all
}

/// What is counted of a class.
#[derive(Clone, Debug, Default)]
struct DigestStats {
    count: u64,
    recorded_total_ns: u64,
    errors_in_both: u64,
    errors_new: u64,
    errors_gone: u64,
    first_error: Option<(u16, String)>,
    rows_compared: u64,
    rows_differing: u64,
    recorded: CompactTimes,
    replayed: CompactTimes,
    batches: Vec<(u64, f64)>,
    /// Statements in a full batch.
    batch: u64,
}

/// One class of statements.
pub(super) struct DigestClass {
    digest: String,
    example: String,
    /// Whether its statements give the same rows for the same data.
    is_comparable: bool,
    /// Whether one of its statements ended in an error when it was recorded.
    has_failed: AtomicBool,
    figures: Mutex<DigestStats>,
}

/// What a log tells of a statement's outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordedOutcome {
    /// Nanoseconds; `None` where the log has no times.
    pub(super) took_ns: Option<u64>,
    pub(super) rows: Option<u64>,
    pub(super) errno: Option<u64>,
}

impl DigestClass {
    fn new(digest: &str, example: &[u8]) -> DigestClass {
        DigestClass {
            is_comparable: is_comparable(digest.as_bytes()),
            digest: digest.to_owned(),
            example: redacted_text(example, LONGEST_EXAMPLE),
            has_failed: AtomicBool::new(false),
            figures: Mutex::new(DigestStats { batch: 1, ..DigestStats::default() }),
        }
    }

    fn lock_stats(&self) -> MutexGuard<'_, DigestStats> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log says how a statement of this class ended, whether it is sent or not.
    fn note_recorded_error(&self, errno: Option<u64>) {
        if errno.is_some_and(|code| code != 0) {
            self.has_failed.store(true, Relaxed);
        }
    }

    /// Counts a statement of the log without sending it.
    pub(super) fn note_recorded(&self, before: &RecordedOutcome) {
        let mut figures = self.lock_stats();
        figures.count += 1;
        if let Some(took_ns) = before.took_ns {
            figures.recorded_total_ns += took_ns;
            figures.recorded.add_time(took_ns.clamp(1, HIGHEST_NS));
        }
    }

    /// Counts a statement that was sent. `rows` is what it gave, if they may be compared.
    pub(super) fn note_sent(
        &self,
        before: &RecordedOutcome,
        took_ns: u64,
        rows: Option<u64>,
        error: Option<(EventError, &str)>,
    ) {
        self.note_recorded(before);
        let figures = &mut *self.lock_stats();
        let failed_before = before.errno.filter(|code| *code != 0);
        if let Some((error, text)) = error {
            let is_known = match before.errno {
                Some(code) => code == u64::from(error.code),
                None => self.has_failed.load(Relaxed),
            };
            if is_known {
                figures.errors_in_both += 1;
            } else {
                figures.errors_new += 1;
                figures.first_error.get_or_insert_with(|| (error.code, text.to_owned()));
            }
            return;
        }
        figures.errors_gone += u64::from(failed_before.is_some());
        figures.replayed.add_time(took_ns.clamp(1, HIGHEST_NS));
        if let (true, None, Some(recorded_ns)) = (took_ns > 0, failed_before, before.took_ns) {
            // Logs know microseconds; half of one is what "none" is on average.
            figures.add_ratio((took_ns as f64 / recorded_ns.max(500) as f64).ln());
        }
        if let (true, None, Some(then), Some(now)) =
            (self.is_comparable, failed_before, before.rows, rows)
        {
            figures.rows_compared += 1;
            figures.rows_differing += u64::from(then != now);
        }
    }

    fn replayed_class(&self) -> (u64, ReplayedClass) {
        let figures = self.lock_stats().clone();
        let class = ReplayedClass {
            digest: self.digest.clone(),
            example: self.example.clone(),
            count: figures.count,
            errors_in_both: figures.errors_in_both,
            errors_new: figures.errors_new,
            errors_gone: figures.errors_gone,
            first_error: figures.first_error,
            rows_compared: figures.rows_compared,
            rows_differing: figures.rows_differing,
            recorded_ns: to_histogram(&figures.recorded),
            replayed_ns: to_histogram(&figures.replayed),
            batches: figures.batches,
        };
        (figures.recorded_total_ns, class)
    }
}

impl DigestStats {
    /// Adds to the batches; `ratio` is ln(replayed / recorded).
    fn add_ratio(&mut self, ratio: f64) {
        match self.batches.last_mut() {
            Some((count, sum)) if *count < self.batch => {
                *count += 1;
                *sum += ratio;
            }
            _ => self.batches.push((1, ratio)),
        }
        if self.batches.len() > MOST_BATCHES {
            let merged = self
                .batches
                .chunks(2)
                .map(|two| two.iter().fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1)));
            self.batches = merged.collect();
            self.batch *= 2;
        }
    }
}

/// Whether statements of this digest give the same number of rows as long as the data are the same.
fn is_comparable(digest: &[u8]) -> bool {
    const MOVING: &[&[u8]] = &[
        b"now(",
        b"rand(",
        b"uuid",
        b"sysdate",
        b"curdate",
        b"curtime",
        b"current_",
        b"utc_",
        b"localtime",
        b"unix_timestamp()",
        b"found_rows",
        b"row_count",
        b"last_insert_id",
        b"connection_id",
        b"information_schema",
        b"performance_schema",
        b"@",
        b" into ",
        b"sample",
    ];
    let holds = |word: &[u8]| memchr::memmem::find(digest, word).is_some();
    digest.starts_with(b"select")
        && !MOVING.iter().any(|word| holds(word))
        && (!holds(b" limit ?") || holds(b" order by "))
}

/// Statements left out, by reason.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOutCounts {
    reasons: HashMap<String, LeftOut>,
}

impl LeftOutCounts {
    /// Leaves one out.
    pub(super) fn add_statement(&mut self, reason: &str, line: u64, statement: &[u8]) {
        if let Some(left) = self.reasons.get_mut(reason) {
            left.count += 1;
            return;
        }
        // What comes behind a colon is a name of the log's, of which there may be any number.
        let reason = match reason.split_once(": ") {
            Some((words, _)) if self.reasons.len() >= MOST_REASONS => words,
            _ => reason,
        };
        let left = self.reasons.entry(reason.to_owned()).or_insert_with(|| LeftOut {
            reason: reason.to_owned(),
            count: 0,
            example: Some((line, redacted_text(statement, LONGEST_EXAMPLE))),
        });
        left.count += 1;
    }

    /// Leaves out so many of which there is no example.
    pub(super) fn add_count(&mut self, reason: &str, count: u64) {
        if count > 0 {
            let new = || LeftOut { reason: reason.to_owned(), ..LeftOut::default() };
            self.reasons.entry(reason.to_owned()).or_insert_with(new).count += count;
        }
    }

    /// All, most first.
    pub(super) fn sorted_by_count(&self) -> Vec<LeftOut> {
        let mut all: Vec<LeftOut> = self.reasons.values().cloned().collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
        all
    }
}

/// All classes.
#[derive(Default)]
pub(super) struct DigestClasses {
    most: usize,
    places: HashMap<Box<[u8]>, Arc<DigestClass>>,
    rest: Option<Arc<DigestClass>>,
    scratch: Vec<u8>,
}

impl DigestClasses {
    /// For at most so many.
    pub(super) fn new(most: usize) -> DigestClasses {
        DigestClasses { most, ..DigestClasses::default() }
    }

    /// The class of a statement, which ended so when it was recorded.
    pub(super) fn class_of(&mut self, statement: &[u8], errno: Option<u64>) -> Arc<DigestClass> {
        write_digest(statement, &mut self.scratch);
        let class = match self.places.get(self.scratch.as_slice()) {
            Some(class) => class.clone(),
            None if self.places.len() < self.most => {
                let class = Arc::new(DigestClass::new(&redacted_digest(statement), statement));
                self.places.insert(self.scratch.as_slice().into(), class.clone());
                class
            }
            None => {
                let words = format!("(beyond {} classes)", self.most);
                self.rest.get_or_insert_with(|| Arc::new(DigestClass::new(&words, b""))).clone()
            }
        };
        class.note_recorded_error(errno);
        class
    }

    /// A statement that is not sent ended so when it was recorded.
    pub(super) fn note_recorded_error(&mut self, statement: &[u8], errno: Option<u64>) {
        if errno.is_some_and(|code| code != 0) {
            self.class_of(statement, errno);
        }
    }

    /// All, those that took most time first.
    pub(super) fn sorted_by_time(&self) -> Vec<ReplayedClass> {
        let all = self.places.values().chain(&self.rest);
        let mut all: Vec<_> = all.map(|class| class.replayed_class()).collect();
        all.retain(|(_, class)| class.count > 0);
        all.sort_by(|(a_ns, a), (b_ns, b)| {
            (b_ns, b.count).cmp(&(a_ns, a.count)).then_with(|| a.digest.cmp(&b.digest))
        });
        all.into_iter().map(|(_, class)| class).collect()
    }
}

/// Statements seen before, by their bytes and database.
#[derive(Default)]
pub(super) struct SeenStatements {
    keys: HashSet<u64>,
    hasher: std::hash::RandomState,
}

impl SeenStatements {
    /// Whether this one is new.
    pub(super) fn is_new(&mut self, database: &[u8], statement: &[u8]) -> bool {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(database);
        hasher.write_u8(0xff);
        hasher.write(statement);
        if self.keys.len() >= MOST_SEEN {
            self.keys.clear();
        }
        self.keys.insert(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::EventErrorKind;

    fn before(took_ns: u64, rows: u64, errno: Option<u64>) -> RecordedOutcome {
        RecordedOutcome { took_ns: Some(took_ns), rows: Some(rows), errno }
    }

    const ERROR: EventError = EventError { kind: EventErrorKind::Server, code: 1146 };

    #[test]
    fn a_class_tells_before_and_after() {
        let mut classes = DigestClasses::new(10);
        let class = classes.class_of(b"SELECT 1 FROM t WHERE id = 5", Some(0));
        class.note_sent(&before(1000, 3, Some(0)), 2000, Some(3), None);
        class.note_sent(&before(1000, 3, Some(0)), 500, Some(4), None);
        class.note_sent(&before(1000, 0, Some(0)), 500, None, Some((ERROR, "no such table")));
        class.note_sent(&before(1000, 0, Some(1146)), 500, None, Some((ERROR, "no such table")));
        class.note_sent(&before(1000, 0, Some(1146)), 500, Some(7), None);
        let found = classes.sorted_by_time().remove(0);
        assert_eq!(found.digest, "select ? from t where id=?");
        assert_eq!(
            (found.count, found.errors_new, found.errors_in_both, found.errors_gone),
            (5, 1, 1, 1)
        );
        assert_eq!(found.first_error, Some((1146, "no such table".to_owned())));
        assert_eq!((found.rows_compared, found.rows_differing), (2, 1));
        assert_eq!((found.recorded_ns.len(), found.replayed_ns.len()), (5, 3));
        let (count, sum) = found.batches.iter().fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert_eq!(count, 2);
        assert!(sum.abs() < 1e-9, "twice and half as long: {sum}");
    }

    #[test]
    fn an_error_that_the_log_does_not_tell_is_new_unless_its_class_failed_before() {
        let mut classes = DigestClasses::new(10);
        let class = classes.class_of(b"select a", None);
        class.note_sent(&RecordedOutcome::default(), 1, None, Some((ERROR, "x")));
        classes.class_of(b"select a", Some(1146));
        class.note_sent(&RecordedOutcome::default(), 1, None, Some((ERROR, "x")));
        let found = classes.sorted_by_time().remove(0);
        assert_eq!((found.errors_new, found.errors_in_both), (1, 1));
    }

    #[test]
    fn batches_stay_few_and_keep_their_sums() {
        let class = DigestClass::new("select ?", b"select 1");
        for n in 1..=1000u64 {
            class.note_sent(&before(1000, 0, None), 1000 + n, None, None);
        }
        let (_, found) = class.replayed_class();
        assert!((20..=MOST_BATCHES).contains(&found.batches.len()), "{}", found.batches.len());
        assert_eq!(found.batches.iter().map(|b| b.0).sum::<u64>(), 1000);
        let sum: f64 = found.batches.iter().map(|b| b.1).sum();
        let expected: f64 = (1..=1000).map(|n| f64::from(1000 + n) / 1000.0).map(f64::ln).sum();
        assert!((sum - expected).abs() < 1e-6);
        let size = found.batches[0].0;
        assert!(found.batches[..found.batches.len() - 1].iter().all(|b| b.0 == size));
        assert_eq!(found.replayed_ns.len(), 1000);
        let median = found.replayed_ns.value_at_quantile(0.5) as f64;
        assert!((median / 1500.0 - 1.0).abs() < 0.02, "{median}");
    }

    #[test]
    fn only_what_gives_the_same_rows_again_is_compared() {
        let comparable = |text: &str| is_comparable(text.as_bytes());
        assert!(comparable("select c from t where id=?"));
        assert!(comparable("select c from t order by id limit ?"));
        assert!(!comparable("select c from t limit ?"));
        assert!(!comparable("select c from t where d<now()"));
        assert!(!comparable("select @a"));
        assert!(!comparable("show tables"));
    }

    #[test]
    fn beyond_so_many_classes_and_reasons_all_are_one() {
        let mut classes = DigestClasses::new(2);
        for name in ["a", "b", "c", "d"] {
            classes.class_of(name.as_bytes(), None).note_recorded(&RecordedOutcome::default());
        }
        let names: Vec<_> =
            classes.sorted_by_time().into_iter().map(|c| (c.count, c.digest)).collect();
        let expected = [(2, "(beyond 2 classes)"), (1, "a"), (1, "b")];
        assert!(names.iter().map(|(n, d)| (*n, d.as_str())).eq(expected), "{names:?}");
        let mut left = LeftOutCounts::default();
        (0..1000)
            .for_each(|n| left.add_statement(&format!("unknown function: f{n}"), n, b"select f()"));
        assert_eq!(left.sorted_by_count().len(), MOST_REASONS + 1);
        assert_eq!(left.sorted_by_count()[0].count, 800);
        assert_eq!(left.sorted_by_count()[0].reason, "unknown function");
    }

    #[test]
    fn the_same_statement_is_new_once_in_each_database() {
        let mut seen = SeenStatements::default();
        assert!(seen.is_new(b"a", b"select 1") && seen.is_new(b"b", b"select 1"));
        assert!(!seen.is_new(b"a", b"select 1"));
    }
}
