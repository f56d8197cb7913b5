//! What is shipped is a log, and of each session all or nothing.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use super::super::watcher::LogWatcher;
use super::*;
use crate::capture::source;

/// What a log holds: session, database, statement.
type Told = Vec<(Option<u64>, Option<Vec<u8>>, Vec<u8>)>;

fn told(text: &[u8]) -> Told {
    let mut found = Vec::new();
    let mut log = LogParser::default();
    log.read_source(&mut &*text, &mut |r| {
        let database = match r.database {
            DefaultDatabase::Named(name) => Some(name.to_vec()),
            _ => None,
        };
        found.push((r.session, database, r.text.to_vec()));
        LogFlow::Continue(())
    })
    .unwrap();
    found
}

fn ship(path: &Path, sessions: SessionSample) -> (Vec<u8>, ShipStats) {
    let watch = LogWatcher::open(path, 1 << 30).unwrap();
    let mut stream = LogStream::open(&watch.log_handle(), &StartPosition::Begin, sessions).unwrap();
    while stream.read_records().unwrap() {}
    stream.flush_quiet().unwrap();
    (std::mem::take(stream.text_mut()), stream.ship_stats())
}

fn samples() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/logs");
    let found = source::expand_paths(&[folder]).unwrap();
    let slow = |p: &std::path::PathBuf| p.to_string_lossy().contains("slow");
    let found: Vec<_> = found.into_iter().filter(slow).collect();
    assert!(found.len() > 8);
    found
}

fn text_of(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    source::open_source(path).unwrap().read_to_end(&mut text).unwrap();
    text
}

#[test]
fn what_is_shipped_of_real_logs_is_what_is_in_them() {
    for path in samples() {
        let whole = text_of(&path);
        let want = told(&whole);
        let plain = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(plain.path(), &whole).unwrap();
        let (text, shipped) = ship(plain.path(), SessionSample::All);
        let found = told(&text);
        let want: Told = want
            .into_iter()
            .map(|(session, database, text)| (session, database, hide_secrets(&text).into_owned()))
            .collect();
        let missing = want.len() - found.len();
        assert_eq!(missing as u64, shipped.dropped, "{}", path.display());
        let differs = found.iter().zip(&want).position(|(a, b)| a != b);
        assert_eq!(
            differs,
            None,
            "{}: {:?}",
            path.display(),
            differs.map(|at| (&found[at], &want[at]))
        );
    }
}

#[test]
fn a_sample_keeps_whole_sessions_and_their_databases() {
    for path in samples() {
        let whole = text_of(&path);
        if told(&whole).iter().any(|(session, ..)| session.is_none()) {
            continue;
        }
        let plain = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(plain.path(), &whole).unwrap();
        let all = told(&ship(plain.path(), SessionSample::All).0);
        for sessions in
            [SessionSample::OneOf(2), SessionSample::OneOf(3), SessionSample::Share(0.5)]
        {
            let (text, shipped) = ship(plain.path(), sessions);
            let found = if text.is_empty() { Vec::new() } else { told(&text) };
            let mut by_session: HashMap<u64, Told> = HashMap::new();
            for record in found {
                by_session.entry(record.0.unwrap()).or_default().push(record);
            }
            for (session, records) in by_session {
                let whole: Told = all.iter().filter(|r| r.0 == Some(session)).cloned().collect();
                let left = whole.len() - records.len();
                assert!(left as u64 <= shipped.dropped, "{}: {session}", path.display());
                if left == 0 {
                    assert_eq!(records, whole, "{} {sessions:?}", path.display());
                }
            }
        }
    }
}

#[test]
fn the_sample_has_the_size_that_was_asked_for() {
    for (sessions, want) in [(SessionSample::OneOf(4), 0.25), (SessionSample::Share(0.1), 0.1)] {
        let kept = (0..20_000).filter(|session| sessions.includes_session(*session)).count();
        let share = kept as f64 / 20_000.0;
        assert!((share - want).abs() < 0.02, "{sessions:?}: {share}");
    }
}

const LOG: &str = "# Time: 261121  7:12:04\n# User@Host: a[a] @ h []\n\
    # Thread_id: 1  Schema: one  QC_hit: No\n\
    # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 0\n\
    use `one`;\nSET timestamp=1;\nselect 1;\n";

fn record(session: u64, text: &str) -> String {
    format!(
        "# User@Host: a[a] @ h []\n# Thread_id: {session}  Schema: one  QC_hit: No\n\
         # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 0\n\
         SET timestamp=1;\n{text};\n"
    )
}

#[test]
fn a_record_that_is_kept_brings_the_time_and_the_database_of_those_left_out() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let is_kept = |n: &u64| SessionSample::OneOf(2).includes_session(*n);
    let first = (1..99).find(|n| !is_kept(n)).unwrap();
    let second = (1..99).find(is_kept).unwrap();
    let log = LOG.replace("Thread_id: 1", &format!("Thread_id: {first}"));
    let mut text = log + &record(second, "select 2") + &record(second, "set password = 'hunter2'");
    text += &record(second, "select 3");
    std::fs::write(file.path(), &text).unwrap();
    let (found, shipped) = ship(file.path(), SessionSample::OneOf(2));
    let found = String::from_utf8(found).unwrap();
    let wanted = record(second, "select 2").replace("SET t", "use one;\nSET t");
    assert!(found.starts_with(&format!("# Time: 261121  7:12:04\n{wanted}")), "{found}");
    assert!(!found.contains("hunter2") && found.matches("use one").count() == 1, "{found}");
    assert_eq!((shipped.records, shipped.left_out, shipped.redacted), (3, 1, 1));
}

#[test]
fn a_stream_from_now_on_knows_the_database_and_goes_on_at_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.log");
    let slow = |n: u32| {
        format!(
            "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: r[r] @ h []  Id: 4\n\
         # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
         SET timestamp=1;\nselect {n};\n"
        )
    };
    let begin = slow(0).replace("SET t", "use old;\nSET t");
    std::fs::write(&path, format!("{begin}{}", slow(1))).unwrap();
    let mut watch = LogWatcher::open(&path, 1 << 30).unwrap();
    let mut stream =
        LogStream::open(&watch.log_handle(), &StartPosition::Now, SessionSample::All).unwrap();
    while stream.read_records().unwrap() {}
    let early = stream.end_mark().to_string();
    let add = |text: &str| {
        use std::io::Write as _;
        std::fs::File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    };
    add(&slow(2));
    // Half a record is no record.
    add(&slow(3)[..50]);
    watch.poll_files().unwrap();
    while stream.read_records().unwrap() {}
    let expected = vec![(Some(4), Some(b"old".to_vec()), b"select 2".to_vec())];
    assert_eq!(told(stream.text_mut()), expected);
    let mark = stream.end_mark().to_string();
    add(&slow(3)[50..]);
    for (mark, count) in [(early, 2), (mark, 1)] {
        let from = StartPosition::Mark(mark.parse().unwrap());
        let mut stream = LogStream::open(&watch.log_handle(), &from, SessionSample::All).unwrap();
        while stream.read_records().unwrap() {}
        stream.flush_quiet().unwrap();
        let found = told(stream.text_mut());
        assert_eq!(found.len(), count);
        assert_eq!(found[count - 1], (Some(4), Some(b"old".to_vec()), b"select 3".to_vec()));
        assert_eq!(found[0].1, Some(b"old".to_vec()));
    }
}
