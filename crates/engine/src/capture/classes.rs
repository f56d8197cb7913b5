//! Statements of a log by class: what they have in common without their literals. Memory does not grow with the log.

use std::collections::HashMap;

use super::compact_times::CompactTimes;
use super::digest::write_digest;
use super::redact::{redacted_digest, redacted_text};
use super::{Confidence, DefaultDatabase, EventKind, LogRecord};

/// Beyond so many classes, new ones count together as the rest.
pub const MOST_CLASSES: usize = 10_000;
/// Longest example, bytes.
const LONGEST_EXAMPLE: usize = 4_096;
/// The class of statements of nothing but comments and blanks.
const EMPTY: &[u8] = b"(empty)";
/// One class of statements.
#[derive(Clone, Debug, Default)]
pub struct ClassStats {
    /// What its statements have in common.
    pub digest: String,
    /// The slowest of them, without secrets, and cut if it is long.
    pub example: String,
    /// Default database of the slowest one.
    pub database: Option<String>,
    /// How many.
    pub count: u64,
    /// How many of them ended in an error, where the log tells.
    pub errors: u64,
    /// Those with a time, and the sum of all times, microseconds.
    pub timed: u64,
    /// Sum of all times, microseconds.
    pub total_us: u64,
    /// The longest, microseconds.
    pub longest_us: u64,
    /// Rows given, all together; `None` where the log does not tell.
    pub rows_sent: Option<u64>,
    /// Rows looked at.
    pub rows_examined: Option<u64>,
    /// Rows changed.
    pub rows_affected: Option<u64>,
    /// When the first one began, microseconds since 1970.
    pub first_us: Option<u64>,
    /// When the last one began.
    pub last_us: Option<u64>,
    /// Microseconds.
    times: CompactTimes,
}

/// All classes of a log.
#[derive(Debug, Default)]
pub struct ClassTable {
    places: HashMap<Box<[u8]>, usize>,
    all: Vec<ClassStats>,
    /// Statements beyond [`MOST_CLASSES`].
    rest: Option<ClassStats>,
    /// What is no statement: commands of the protocol.
    commands: u64,
    /// Statements inside stored programs, which their CALL stands for.
    inner: u64,
    /// Statements that may be text in a literal of another.
    possible: u64,
    scratch: Vec<u8>,
}

impl ClassTable {
    /// Counts something recorded.
    pub fn add_record(&mut self, recorded: &LogRecord<'_>) {
        if !matches!(recorded.kind, EventKind::Statement | EventKind::Execute) {
            self.commands += 1;
            return;
        }
        if recorded.is_inner {
            self.inner += 1;
            return;
        }
        self.possible += u64::from(recorded.confidence == Confidence::Suspect);
        write_digest(recorded.text, &mut self.scratch);
        if self.scratch.is_empty() {
            self.scratch.extend_from_slice(EMPTY);
        }
        let place = match self.places.get(self.scratch.as_slice()) {
            Some(place) => *place,
            None if self.all.len() < MOST_CLASSES => {
                self.places.insert(self.scratch.as_slice().into(), self.all.len());
                let shown = match self.scratch.as_slice() {
                    EMPTY => String::from_utf8_lossy(EMPTY).into_owned(),
                    _ => redacted_digest(recorded.text),
                };
                self.all.push(ClassStats::new(&shown));
                self.all.len() - 1
            }
            None => {
                let words = format!("(beyond {MOST_CLASSES} classes)");
                self.rest.get_or_insert_with(|| ClassStats::new(&words)).add_record(recorded);
                return;
            }
        };
        self.all[place].add_record(recorded);
    }

    /// All classes, those that took most time first; by count where the log has no times.
    pub fn sorted_by_time(&self) -> Vec<&ClassStats> {
        let mut all: Vec<&ClassStats> = self.all.iter().chain(&self.rest).collect();
        all.sort_by(|a, b| {
            (b.total_us, b.count).cmp(&(a.total_us, a.count)).then_with(|| a.digest.cmp(&b.digest))
        });
        all
    }

    /// Commands of the protocol.
    pub fn command_count(&self) -> u64 {
        self.commands
    }

    /// Statements counted that may be none, but text in a literal of another.
    pub fn suspect_count(&self) -> u64 {
        self.possible
    }

    /// Statements inside stored programs.
    pub fn inner_count(&self) -> u64 {
        self.inner
    }
}

impl ClassStats {
    fn new(digest: &str) -> ClassStats {
        ClassStats { digest: digest.to_owned(), ..ClassStats::default() }
    }

    fn add_record(&mut self, recorded: &LogRecord<'_>) {
        let took_us = recorded.took_us.unwrap_or(0);
        if self.count == 0 || took_us > self.longest_us {
            self.longest_us = took_us;
            self.example = redacted_text(recorded.text, LONGEST_EXAMPLE);
            self.database = match recorded.database {
                DefaultDatabase::Named(name) => Some(String::from_utf8_lossy(name).into_owned()),
                DefaultDatabase::None | DefaultDatabase::Unknown => None,
            };
        }
        self.count += 1;
        self.errors += u64::from(recorded.errno.is_some_and(|errno| errno != 0));
        if let Some(us) = recorded.took_us {
            self.timed += 1;
            self.total_us += us;
            self.times.add_time(us.min(LONGEST_US));
        }
        for (sum, part) in [
            (&mut self.rows_sent, recorded.rows_sent),
            (&mut self.rows_examined, recorded.rows_examined),
            (&mut self.rows_affected, recorded.rows_affected),
        ] {
            if let Some(part) = part {
                *sum = Some(sum.unwrap_or(0).saturating_add(part));
            }
        }
        if let Some(us) = recorded.began_us {
            self.first_us = Some(self.first_us.map_or(us, |first| first.min(us)));
            self.last_us = Some(self.last_us.map_or(us, |last| last.max(us)));
        }
    }

    /// The time that this share (0 to 1) of its statements did not exceed, microseconds; 1 % exact from 33 statements
    /// on. `None` where the log has no times.
    pub fn quantile_us(&self, share: f64) -> Option<u64> {
        self.times.quantile(share).map(|us| us.min(self.longest_us))
    }
}

/// Most microseconds that are told apart: a week.
const LONGEST_US: u64 = 7 * 24 * 3_600 * 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str, took_us: u64) -> LogRecord<'_> {
        LogRecord { text: text.as_bytes(), took_us: Some(took_us), ..LogRecord::default() }
    }

    #[test]
    fn statements_that_differ_in_literals_are_one_class() {
        let mut classes = ClassTable::default();
        for n in 1..=100_u64 {
            classes.add_record(&recorded(&format!("SELECT * FROM t WHERE id = {n}"), n * 1_000));
        }
        classes.add_record(&LogRecord {
            rows_sent: Some(7),
            errno: Some(1064),
            ..recorded("do 1", 5)
        });
        classes.add_record(&LogRecord { is_inner: true, ..recorded("do 1", 5) });
        classes.add_record(&LogRecord { kind: EventKind::Quit, ..LogRecord::default() });
        let sorted = classes.sorted_by_time();
        assert_eq!(sorted.len(), 2);
        assert_eq!((sorted[0].count, sorted[0].total_us), (100, 5_050_000));
        assert_eq!(sorted[0].digest, "select * from t where id=?");
        assert_eq!(sorted[0].example, "SELECT * FROM t WHERE id = 100");
        let near = |share: f64, want: f64| {
            let got = sorted[0].quantile_us(share).unwrap() as f64;
            assert!((got / want - 1.0).abs() < 0.01, "{got} is not {want}");
        };
        near(0.5, 50_000.0);
        near(0.95, 95_000.0);
        near(1.0, 100_000.0);
        assert_eq!((sorted[1].rows_sent, sorted[1].errors), (Some(7), 1));
        assert_eq!(sorted[1].quantile_us(0.99), Some(5));
        assert_eq!((classes.command_count(), classes.inner_count()), (1, 1));
    }

    #[test]
    fn memory_has_an_end() {
        let mut classes = ClassTable::default();
        for n in 0..MOST_CLASSES + 5 {
            classes.add_record(&recorded(&format!("select c{n} from t"), 1));
        }
        assert_eq!(classes.sorted_by_time().len(), MOST_CLASSES + 1);
        assert_eq!(classes.sorted_by_time()[0].count, 5, "what is beyond counts together");
    }
}
