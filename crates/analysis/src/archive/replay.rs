//! `replay.json` of a load: what a replay has to tell beyond its events. Times are nanoseconds unless named otherwise.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::recorder::{LeftOut, ReplayTotals, ReplayedClass, SparseHistogram};

/// Name of the file in a load's folder.
pub(super) const FILE: &str = "replay.json";
/// Version of the file; a reader leaves newer ones alone.
const VERSION: u32 = 1;

/// Highest value of a cell of a histogram in nanoseconds, and how many fell into it; lowest first.
type CellCounts = Vec<(u64, u64)>;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReplayFile {
    version: u32,
    sessions: u64,
    sessions_at_once: u64,
    records: u64,
    sent: u64,
    ends_inferred: u64,
    uncertainty_us: u64,
    span_us: u64,
    lag: CellCounts,
    lag_by_second_ns: Vec<u64>,
    classes: Vec<ClassEntry>,
    left_out: Vec<LeftOutEntry>,
    notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ClassEntry {
    digest: String,
    example: String,
    count: u64,
    errors_in_both: u64,
    errors_new: u64,
    errors_gone: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<(u16, String)>,
    rows_compared: u64,
    rows_differing: u64,
    recorded: CellCounts,
    replayed: CellCounts,
    batches: Vec<(u64, f64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct LeftOutEntry {
    reason: String,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<(u64, String)>,
}

fn to_cell_counts(histogram: &SparseHistogram) -> CellCounts {
    histogram.cells().to_vec()
}

impl From<&ReplayTotals> for ReplayFile {
    fn from(r: &ReplayTotals) -> ReplayFile {
        ReplayFile {
            version: VERSION,
            sessions: r.sessions,
            sessions_at_once: r.sessions_at_once,
            records: r.records,
            sent: r.sent,
            ends_inferred: r.ends_inferred,
            uncertainty_us: r.uncertainty_us,
            span_us: r.span_us,
            lag: to_cell_counts(&r.lag_ns),
            lag_by_second_ns: r.lag_by_second_ns.clone(),
            classes: r.classes.iter().map(Into::into).collect(),
            left_out: r.left_out.iter().map(Into::into).collect(),
            notes: r.notes.clone(),
        }
    }
}

impl From<&ReplayedClass> for ClassEntry {
    fn from(c: &ReplayedClass) -> ClassEntry {
        ClassEntry {
            digest: c.digest.clone(),
            example: c.example.clone(),
            count: c.count,
            errors_in_both: c.errors_in_both,
            errors_new: c.errors_new,
            errors_gone: c.errors_gone,
            first_error: c.first_error.clone(),
            rows_compared: c.rows_compared,
            rows_differing: c.rows_differing,
            recorded: to_cell_counts(&c.recorded_ns),
            replayed: to_cell_counts(&c.replayed_ns),
            // JSON has no number for what is none.
            batches: c.batches.iter().copied().filter(|batch| batch.1.is_finite()).collect(),
        }
    }
}

impl From<&LeftOut> for LeftOutEntry {
    fn from(l: &LeftOut) -> LeftOutEntry {
        LeftOutEntry { reason: l.reason.clone(), count: l.count, example: l.example.clone() }
    }
}

impl From<ReplayFile> for ReplayTotals {
    fn from(f: ReplayFile) -> ReplayTotals {
        ReplayTotals {
            sessions: f.sessions,
            sessions_at_once: f.sessions_at_once,
            records: f.records,
            sent: f.sent,
            ends_inferred: f.ends_inferred,
            uncertainty_us: f.uncertainty_us,
            span_us: f.span_us,
            lag_ns: f.lag.into(),
            lag_by_second_ns: f.lag_by_second_ns,
            classes: f.classes.into_iter().map(Into::into).collect(),
            left_out: f.left_out.into_iter().map(Into::into).collect(),
            notes: f.notes,
        }
    }
}

impl From<ClassEntry> for ReplayedClass {
    fn from(c: ClassEntry) -> ReplayedClass {
        ReplayedClass {
            digest: c.digest,
            example: c.example,
            count: c.count,
            errors_in_both: c.errors_in_both,
            errors_new: c.errors_new,
            errors_gone: c.errors_gone,
            first_error: c.first_error,
            rows_compared: c.rows_compared,
            rows_differing: c.rows_differing,
            recorded_ns: c.recorded.into(),
            replayed_ns: c.replayed.into(),
            batches: c.batches,
        }
    }
}

impl From<LeftOutEntry> for LeftOut {
    fn from(l: LeftOutEntry) -> LeftOut {
        LeftOut { reason: l.reason, count: l.count, example: l.example }
    }
}

/// What a replay told, where the load was one.
pub(super) fn read_replay(dir: &Path, note: &mut impl FnMut(String)) -> Option<ReplayTotals> {
    let text = std::fs::read(dir.join(FILE)).ok()?;
    match serde_json::from_slice::<ReplayFile>(&text) {
        Ok(file) if file.version > VERSION => {
            note(format!("{FILE}: written by a newer sweat (version {})", file.version));
            None
        }
        Ok(file) => Some(file.into()),
        Err(e) => {
            note(format!("{FILE}: {e}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> ReplayTotals {
        let mut times = SparseHistogram::default();
        times.record_n(1_000_000, 7);
        times.record(3_600_000_000_000);
        ReplayTotals {
            sessions: 3,
            sessions_at_once: 2,
            records: 20,
            sent: 8,
            ends_inferred: 1,
            uncertainty_us: 1_000_000,
            span_us: 60_000_000,
            lag_ns: times.clone(),
            lag_by_second_ns: vec![0, 5, 7],
            classes: vec![ReplayedClass {
                digest: "select ?".to_owned(),
                example: "select '\u{1f600}\u{0}'".to_owned(),
                count: 8,
                first_error: Some((1146, "no table".to_owned())),
                recorded_ns: times,
                batches: vec![(5, -0.25), (3, 0.125)],
                ..ReplayedClass::default()
            }],
            left_out: vec![LeftOut {
                reason: "a write".to_owned(),
                count: 12,
                example: Some((7, "delete from t".to_owned())),
            }],
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let told = some();
        let text = serde_json::to_vec(&ReplayFile::from(&told)).unwrap();
        let file: ReplayFile = serde_json::from_slice(&text).unwrap();
        assert_eq!(ReplayTotals::from(file), told);
    }

    #[test]
    fn a_newer_or_broken_file_is_told_and_an_old_folder_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut notes = Vec::new();
        assert_eq!(read_replay(dir.path(), &mut |n| notes.push(n)), None);
        assert!(notes.is_empty());
        for text in [&b"{\"version\": 99}"[..], b"{"] {
            std::fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(read_replay(dir.path(), &mut |n| notes.push(n)), None);
        }
        assert!(notes[0].contains("newer sweat (version 99)"), "{notes:?}");
        assert_eq!(notes.len(), 2);
        // Fields that come later are no reason to read nothing.
        let later = "{\"version\": 1, \"sent\": 3, \"more\": []}";
        std::fs::write(dir.path().join(FILE), later).unwrap();
        assert_eq!(read_replay(dir.path(), &mut |n| notes.push(n)).unwrap().sent, 3);
    }
}
