//! Folders of watches, written and read.

use std::path::Path;

use super::writer::folder_stamp;
use super::*;
use crate::archive::{RunCommand, RunMeta, RunState, SampleRecord};
use crate::base::Nanos;
use crate::probe::ClassicLook;

const HOUR: u64 = 3_600_000_000_000;
/// 2026-11-22 22:00 UTC.
const TEN: u64 = 1_795_384_800_000_000_000;

fn create(dir: &Path) -> WatchWriter {
    let meta = RunMeta {
        name: "watch".to_owned(),
        command: RunCommand::Watch,
        origin_unix_ns: TEN,
        ..RunMeta::default()
    };
    WatchWriter::create(dir, meta, "[watch]\n").unwrap()
}

fn sample(at_s: u64) -> SampleRecord {
    let ns = at_s * 1_000_000_000;
    SampleRecord {
        probe: "status".to_owned(),
        planned_ns: ns,
        began_ns: ns,
        ended_ns: ns + 1,
        numbers: [("Queries".to_owned(), at_s as f64)].into(),
        ..SampleRecord::default()
    }
}

fn read(reader: &mut WatchReader, span: std::ops::Range<u64>) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    reader.for_each_sample(&span, &mut |segment, sample| {
        found.push((segment.name.clone(), sample.planned_ns / 1_000_000_000));
    });
    found
}

#[test]
fn segments_are_read_in_the_order_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut watch = create(dir.path());
    for (name, origin) in [(TEN, TEN), (TEN + HOUR, TEN + HOUR), (TEN, TEN + 5)] {
        watch.start_segment(name, origin).unwrap();
        watch.write_sample(&sample(1)).unwrap();
        watch.write_sample(&sample(2)).unwrap();
        watch.end_segment(Nanos(HOUR)).unwrap().unwrap();
    }
    let kind = WatchEventKind::ClockSet;
    let event = WatchEvent { unix_ns: TEN + 7, kind, text: "set back".to_owned() };
    watch.write_event(&event).unwrap();
    let folder = watch.dir().to_owned();
    watch.close(RunState::Done, None, Nanos(1)).unwrap();
    let mut reader = WatchReader::open(&folder).unwrap().unwrap();
    let names: Vec<&str> = reader.segments.iter().map(|s| s.name.as_str()).collect();
    // The clock was set back: the second of the same hour has a number.
    let first = folder_stamp(TEN);
    assert_eq!(names, [&first, &folder_stamp(TEN + HOUR), &format!("{first}-2")]);
    assert_eq!(read(&mut reader, 0..u64::MAX).len(), 6);
    let late = TEN + HOUR;
    assert_eq!(
        read(&mut reader, late..u64::MAX),
        [(folder_stamp(late), 1), (folder_stamp(late), 2)]
    );
    assert_eq!(reader.read_events(&(0..u64::MAX)), [event]);
    assert!(reader.read_events(&(0..TEN)).is_empty() && reader.damage.is_empty());
    // A segment is a run folder by itself, and its own watch.
    let mut one = WatchReader::open(&reader.segments[1].dir).unwrap().unwrap();
    assert_eq!(read(&mut one, 0..u64::MAX).len(), 2);
    assert!(crate::archive::read_run(&reader.segments[1].dir).unwrap().damage.is_empty());
    // It may be moved away: the rest stays whole.
    std::fs::remove_dir_all(&reader.segments[0].dir).unwrap();
    assert_eq!(read(&mut WatchReader::open(&folder).unwrap().unwrap(), 0..u64::MAX).len(), 4);
    assert!(crate::archive::read_run(&folder).unwrap().damage.is_empty());
}

#[test]
fn a_segment_that_was_cut_is_read_as_far_as_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let mut watch = create(dir.path());
    watch.start_segment(TEN, TEN).unwrap();
    for second in 0..60 {
        watch.write_sample(&sample(second)).unwrap();
    }
    // Killed: nothing is closed, and the last flush was up to 3 s before.
    let folder = watch.dir().to_owned();
    std::mem::forget(watch);
    let mut reader = WatchReader::open(&folder).unwrap().unwrap();
    let found = read(&mut reader, 0..u64::MAX).len();
    assert!((57..=60).contains(&found), "{found}");
    assert!(reader.damage.len() <= 1, "{:?}", reader.damage);
    let file = reader.segments[0].dir.join("raw/status.jsonl.gz");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let mut reader = WatchReader::open(&folder).unwrap().unwrap();
    assert!(!read(&mut reader, 0..u64::MAX).is_empty());
    assert!(reader.damage[0].contains("status.jsonl.gz after"), "{:?}", reader.damage);
}

#[test]
fn other_runs_are_no_watch() {
    let dir = tempfile::tempdir().unwrap();
    let meta = RunMeta { name: "x".to_owned(), ..RunMeta::default() };
    let run = crate::archive::RunWriter::create(dir.path(), meta, "").unwrap();
    assert!(WatchReader::open(run.dir()).unwrap().is_none());
    assert!(WatchReader::open(dir.path()).is_err());
}

/// The reader of such files in a book, written anew: a row per stamp, then what `Queries` grew by per second.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut last) = (Vec::<Vec<String>>::new(), (0.0, 0.0));
    let mut at = 0.0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("TS") {
            let load = fields[fields.len() - 3].strip_suffix(',').unwrap();
            let ts = fields[1].split('.').next().unwrap();
            at = ts.parse().unwrap();
            rows.push([ts, fields[2], fields[3], load].map(str::to_owned).to_vec());
        }
        if line.contains("Queries") {
            let value: f64 = fields[1].parse().unwrap();
            let row = rows.last_mut().expect("a stamp comes first");
            row.push(format!("{:.2}", (value - last.0) / (at - last.1)));
            last = (value, at);
        }
    }
    rows
}

#[test]
fn classic_files_count_hours_to_24_and_are_read_row_by_row() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("classic");
    let files = ClassicFiles::create(&below, 5.0).unwrap();
    let local = crate::base::kernel::local_time(TEN / 1_000_000_000).unwrap();
    let evening = TEN + (22 + 24 - u64::from(local.hour)) % 24 * HOUR;
    let mut paths = Vec::new();
    for (second, queries) in [(3590u64, 1000), (3595, 2000), (3600, 2500)] {
        let look = ClassicLook {
            status: Some(vec![("Queries".to_owned(), queries.to_string())]),
            innodb: None,
            processlist: Some((vec!["Id".to_owned()], vec![vec!["1".to_owned()]])),
        };
        let unix_ns = evening + second * 1_000_000_000 + 17;
        let stamp = ClassicStamp { unix_ns, uptime_s: 60.0, load: [0.5, 0.25, 0.125] };
        files.append_look(&stamp, &look).unwrap();
        paths.extend(files.paths_at(unix_ns));
    }
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name(&paths[0]).contains("_22-status"), "{}", name(&paths[0]));
    assert!(name(&paths[6]).contains("_23-status"), "{}", name(&paths[6]));
    assert!(name(&paths[8]).ends_with("_23-processlist"), "{}", name(&paths[8]));
    assert_eq!(std::fs::read_dir(&below).unwrap().count(), 4, "nobody asked for InnoDB's");
    let text = std::fs::read_to_string(&paths[0]).unwrap();
    let found = rows(&text);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|row| row.len() == 5 && row[3] == "0.50"), "{found:?}");
    assert_eq!(found[1][4], "200.00");
    assert!(text.starts_with(&format!("TS {}.000000017 ", evening / 1_000_000_000 + 3590)));
}
