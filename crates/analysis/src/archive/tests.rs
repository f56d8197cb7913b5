//! What is written is read again; what is cut or broken is read as far as it goes.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::base::{Nanos, StopReason};
use crate::probe::{ProbeSample, SampleValues};
use crate::recorder::{
    ClassId, ClassTotals, CounterSpec, ErrorCount, EventError, EventErrorKind, Histogram, Interval,
    LoadAudit, MeasuredFigures, Recording, SparseHistogram, StepTotals, Tally, UnopenedWorker,
};

fn histogram(values: &[u64]) -> SparseHistogram {
    let mut histogram = SparseHistogram::default();
    values.iter().for_each(|ns| histogram.record(*ns));
    histogram
}

const COUNTERS: &[CounterSpec] = &[
    CounterSpec { name: "reads", unit: "statements" },
    CounterSpec { name: "pages", unit: "pages" },
];

pub(super) fn interval(second: u64, classes: &[[Vec<u64>; 3]], late: &[u64]) -> Interval {
    let class = |[response, service, failed]: &[Vec<u64>; 3]| ClassTotals {
        response: histogram(response),
        service: histogram(service),
        failed: histogram(failed),
    };
    Interval {
        began: Nanos(second * 1_000_000_007),
        ended: Nanos((second + 1) * 1_000_000_007),
        classes: classes.iter().map(class).collect(),
        steps: Vec::new(),
        lateness: histogram(late),
        counters: COUNTERS,
        tally: Tally { counts: [second, 2, 0, 0, 0, 0], bytes_received: 5, bytes_sent: 6 },
        reconnects: second,
        in_flight: 7,
        backlog: 8,
        unbegun: histogram(late),
        slots: vec![3, 0, 4],
        worker_totals: Vec::new(),
    }
}

/// Sums intervals as the driver does.
pub(super) fn recording(names: &[&str], intervals: &[Interval]) -> Recording {
    let empty = names.iter().map(|_| [vec![], vec![], vec![]]).collect::<Vec<_>>();
    let mut total = interval(0, &empty, &[]);
    total.tally = Tally::default();
    for i in intervals {
        total.ended = i.ended;
        for (sum, part) in total.classes.iter_mut().zip(&i.classes) {
            sum.response.add(&part.response);
            sum.service.add(&part.service);
            sum.failed.add(&part.failed);
        }
        total.lateness.add(&i.lateness);
        total.unbegun.add(&i.unbegun);
        total.tally.add(&i.tally);
        total.reconnects += i.reconnects;
    }
    Recording {
        class_names: names.iter().map(|n| (*n).to_owned()).collect(),
        step_names: Vec::new(),
        step_labels: Vec::new(),
        total,
        errors: vec![ErrorCount {
            class: ClassId(1),
            error: EventError { kind: EventErrorKind::Server, code: 1213 },
            count: 3,
            first_text: "Deadlock found, \"try\" again\n".to_owned(),
        }],
        reason: StopReason::Interrupted,
        restarts: 0,
        longest_outage_ns: 0,
        clipped: 1,
        abandoned: 2,
        workers: 4,
        unopened: vec![UnopenedWorker { worker: 3, why: "Too many connections".to_owned() }],
        failure: Some("broken".to_owned()),
        failure_count: 1,
        engine: "threads",
        cpu_user_ns: 11,
        cpu_system_ns: 12,
        audit: Some(LoadAudit { header: "like".to_owned(), ..LoadAudit::default() }),
        figures: Some(MeasuredFigures { header: "each".to_owned(), ..MeasuredFigures::default() }),
    }
}

pub(super) const NAMES: [&str; 2] = ["point select, 100%", "new/order"];

pub(super) fn head() -> Trial {
    Trial {
        id: "01-none-1".to_owned(),
        variant: "none".to_owned(),
        pass: 2,
        step: 3,
        workload: "oltp".to_owned(),
        options: BTreeMap::from([("tables".to_owned(), "4".to_owned())]),
        arrival: ArrivalRecord::closed(0.0, "closed"),
        classes: NAMES.map(str::to_owned).to_vec(),
        ..Trial::default()
    }
}

fn meta() -> RunMeta {
    RunMeta {
        name: "demo run".to_owned(),
        command: RunCommand::Bench,
        command_line: Some("sweat bench null -p".to_owned()),
        defaults: vec!["threads = 8 (SWEAT_THREADS)".to_owned()],
        load: Some(LoadRequest { until_steady: true, fixed_work: false }),
        origin_unix_ns: 1_795_246_815_123_456_789,
        seed: u64::MAX,
        facts: BTreeMap::from([("rows".to_owned(), serde_json::json!(1_000_000))]),
        ..RunMeta::default()
    }
}

fn step(number: u32, ended: Option<u64>) -> StepRecord {
    StepRecord {
        number,
        kind: RecordedStepKind::Load,
        began_ns: 5,
        ended_ns: ended,
        before: Counters::from([("Uptime".to_owned(), 3.0), ("disk.vda.busy_ms".to_owned(), 0.1)]),
        ..StepRecord::default()
    }
}

fn sample(second: u64, values: SampleValues) -> SampleRecord {
    let at = |ms: u64| Nanos(second * 1_000_000_000 + ms * 1_000_000);
    let sample =
        ProbeSample { probe: "status", planned: at(0), began: at(1), ended: at(3), values };
    SampleRecord::from(&sample)
}

/// Writes a small run; gives what a loader must find.
fn write(runs: &Path, intervals: &[Interval]) -> (std::path::PathBuf, RunRecord) {
    let mut writer = RunWriter::create(runs, meta(), "[load]\nworkers = 4\n").unwrap();
    let dir = writer.dir().to_owned();
    let variables = join_variables(
        &SampleValues::Table(
            vec!["name".to_owned(), "value".to_owned(), "origin".to_owned()],
            vec![vec!["innodb_buffer_pool_size".to_owned(), "1".to_owned(), "config".to_owned()]],
        ),
        None,
    );
    writer.write_variables(&variables);
    writer.write_step(&step(1, None));
    let samples = vec![
        sample(
            1,
            SampleValues::Numbers(vec![("Uptime".to_owned(), 12.0), ("x".to_owned(), 0.1 + 0.2)]),
        ),
        sample(2, SampleValues::Text("=====\nLATEST\n".to_owned())),
        sample(3, SampleValues::Table(vec!["Id".to_owned()], vec![vec!["7".to_owned()]])),
        sample(9, SampleValues::Gap("needs PROCESS".to_owned())),
    ];
    samples.iter().for_each(|s| writer.write_sample(s));
    writer.start_trial(head());
    intervals.iter().for_each(|i| writer.write_interval(i));
    let recording = recording(&NAMES, intervals);
    writer.end_trial(&recording);
    let mut trial = Trial { intervals: intervals.iter().map(Into::into).collect(), ..head() };
    // The load has an audit, so times by class are read back.
    for (record, interval) in trial.intervals.iter_mut().zip(intervals) {
        let classes = interval.classes.iter().map(|class| class.response.clone());
        record.class_response = classes.enumerate().collect::<Vec<(usize, SparseHistogram)>>();
        record.class_response.retain(|(_, times)| !times.is_empty());
    }
    trial.fill_totals(&recording);
    writer.write_step(&step(1, Some(9)));
    writer.write_note(Nanos(1_500_000_000), "two\nlines");
    writer.update_meta(|m| m.host = BTreeMap::from([("cpus".to_owned(), "2".to_owned())]));
    let meta = RunMeta {
        state: RunState::Failed,
        why: Some("server lost".to_owned()),
        ended_ns: Some(77),
        ..writer.meta().clone()
    };
    writer.close(RunState::Failed, Some("server lost".to_owned()), Nanos(77)).unwrap();
    let run = RunRecord {
        merged: None,
        meta,
        plan: "[load]\nworkers = 4\n".to_owned(),
        steps: vec![step(1, Some(9))],
        trials: vec![trial],
        class_loads: Vec::new(),
        samples,
        variables,
        damage: Vec::new(),
    };
    (dir, run)
}

fn three() -> Vec<Interval> {
    (0..3)
        .map(|s| {
            let a = [vec![1_000, 2_000 + s], vec![900], vec![]];
            let b = [vec![], vec![], vec![5_000_000_000_000]];
            interval(s, &[a, b], &[50])
        })
        .collect()
}

#[test]
fn saved_is_loaded_the_same() {
    let runs = tempfile::tempdir().unwrap();
    let (dir, run) = write(runs.path(), &three());
    assert_eq!(dir.file_name().unwrap(), "2026-11-21T07-40-15Z_demo-run");
    assert_eq!(read_run(&dir).unwrap(), run);
    let names = ["meta.json", "trial.json", "intervals.jsonl", "histograms.hlog", "manifest.json"];
    for name in names {
        let path = if dir.join(name).exists() {
            dir.join(name)
        } else {
            dir.join("trials/01-none-1").join(name)
        };
        assert!(path.exists(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_intervals_come_back(
        values in proptest::collection::vec(
            proptest::collection::vec(0u64..4_000_000_000_000, 0..20), 0..8)
    ) {
        let runs = tempfile::tempdir().unwrap();
        let intervals: Vec<Interval> = values
            .iter()
            .enumerate()
            .map(|(s, v)| {
                let half = v.len() / 2;
                let a = [v.clone(), v[half..].to_vec(), v[..half].to_vec()];
                let b = [v[..half].to_vec(), vec![], v.clone()];
                interval(s as u64, &[a, b], v)
            })
            .collect();
        let (dir, run) = write(runs.path(), &intervals);
        prop_assert_eq!(read_run(&dir).unwrap(), run);
    }
}

#[test]
fn the_log_follows_the_format_of_other_tools() {
    let runs = tempfile::tempdir().unwrap();
    let (dir, _) = write(runs.path(), &three());
    let log = std::fs::read_to_string(dir.join("trials/01-none-1/histograms.hlog")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[2], "#[StartTime: 1795246815.123 (seconds since epoch)]");
    assert_eq!(lines[3], "#[BaseTime: 1795246815.123 (seconds since epoch)]");
    assert!(
        lines[5]
            .starts_with("Tag=point%20select%2C%20100%25/response,0.000,1.000,2000.000,HISTFAAA"),
        "{}",
        lines[5]
    );
    assert_eq!(lines.len(), 5 + 3 * 5);
}

#[test]
fn two_runs_of_one_second_have_two_folders_and_the_latest_is_found() {
    let runs = tempfile::tempdir().unwrap();
    assert!(matches!(latest_run(runs.path()), Err(ArchiveError::NoRuns { .. })));
    assert!(matches!(latest_run(&runs.path().join("none")), Err(ArchiveError::NoRuns { .. })));
    let (first, _) = write(runs.path(), &[]);
    let (second, _) = write(runs.path(), &[]);
    assert_ne!(first, second);
    std::fs::create_dir(runs.path().join("other")).unwrap();
    assert_eq!(latest_run(runs.path()).unwrap(), second);
    assert_eq!(list_runs(runs.path()).unwrap().len(), 2);
}

#[test]
fn a_killed_run_is_read_up_to_its_last_interval() {
    let runs = tempfile::tempdir().unwrap();
    let intervals = three();
    let mut writer = RunWriter::create(runs.path(), meta(), "").unwrap();
    let dir = writer.dir().to_owned();
    writer.write_step(&step(1, None));
    for second in 1..20 {
        writer
            .write_sample(&sample(second, SampleValues::Numbers(vec![("Uptime".to_owned(), 1.0)])));
    }
    writer.start_trial(head());
    intervals.iter().for_each(|i| writer.write_interval(i));
    // As kill -9 does: nothing is closed or flushed any more.
    std::mem::forget(writer);
    let run = read_run(&dir).unwrap();
    let sum = recording(&NAMES, &intervals).total;
    let trial = &run.trials[0];
    assert_eq!(trial.reason, TrialEnding::Cut);
    assert_eq!(trial.intervals.len(), 3);
    assert_eq!(trial.response[0], sum.classes[0].response.to_histogram());
    assert_eq!(trial.failed[1], sum.classes[1].failed.to_histogram());
    assert_eq!(trial.lateness, sum.lateness.to_histogram());
    assert_eq!(trial.tally, (&sum).into());
    assert_eq!(trial.ended_ns, sum.ended.0);
    assert_eq!(run.steps, [step(1, None)]);
    // Flushed every three seconds of the run: at most the last three samples are lost.
    assert!(run.samples.len() >= 16, "{}", run.samples.len());
    assert_eq!(run.meta.state, RunState::Running);
    assert_eq!(run.meta.state, RunState::Running);
    assert!(
        run.damage.iter().any(|d| d.contains("trial 01-none-1: was interrupted")),
        "{:?}",
        run.damage
    );
}

/// Cuts one file at each of its bytes and loads; `check` sees the length left and the run.
fn cut_everywhere(dir: &Path, file: &str, check: impl Fn(usize, Result<RunRecord, ArchiveError>)) {
    let path = dir.join(file);
    let whole = std::fs::read(&path).unwrap();
    // The last byte is a line end that says nothing.
    for left in 0..whole.len() - 1 {
        std::fs::write(&path, &whole[..left]).unwrap();
        check(left, read_run(dir));
    }
    std::fs::write(&path, &whole).unwrap();
}

#[test]
fn a_file_cut_anywhere_is_damage_and_the_rest_is_read() {
    let runs = tempfile::tempdir().unwrap();
    let (dir, whole) = write(runs.path(), &three()[..1]);
    let files = [
        "steps.jsonl",
        "variables.json",
        "raw/status.jsonl.gz",
        "trials/01-none-1/trial.json",
        "trials/01-none-1/intervals.jsonl",
        "trials/01-none-1/histograms.hlog",
        "manifest.json",
    ];
    for file in files {
        cut_everywhere(&dir, file, |left, run| {
            let run = run.unwrap();
            assert!(!run.damage.is_empty(), "{file} cut to {left}");
            assert_eq!(run.meta, whole.meta);
            for trial in &run.trials {
                let counted: u64 =
                    trial.intervals.iter().map(|i| i.events.iter().sum::<u64>()).sum();
                let held: u64 = trial.response.iter().map(Histogram::len).sum();
                assert_eq!(counted, held, "{file} cut to {left}");
            }
            if file != "raw/status.jsonl.gz" {
                assert_eq!(run.samples, whole.samples);
            }
        });
    }
    cut_everywhere(&dir, "meta.json", |left, run| {
        assert!(matches!(run, Err(ArchiveError::NotARun { .. })), "meta.json cut to {left}");
    });
    assert_eq!(read_run(&dir).unwrap(), whole);
}

#[test]
fn nobody_else_may_read_a_run() {
    use std::os::unix::fs::MetadataExt as _;
    fn check(path: &Path) {
        let meta = path.metadata().unwrap();
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.mode() & 0o777, wanted, "{}", path.display());
        if meta.is_dir() {
            std::fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path()));
        }
    }
    let runs = tempfile::tempdir().unwrap();
    check(&write(runs.path(), &three()).0);
}

#[test]
fn a_stream_that_unpacks_to_too_much_is_damage() {
    use std::io::Write as _;
    let runs = tempfile::tempdir().unwrap();
    let (dir, whole) = write(runs.path(), &three());
    let path = dir.join("raw/bomb.jsonl.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut pack = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    let blanks = vec![b' '; 1 << 20];
    (0..200).for_each(|_| pack.write_all(&blanks).unwrap());
    pack.finish().unwrap();
    let run = read_run(&dir).unwrap();
    assert!(run.damage.iter().any(|d| d.contains("it unpacks to more than")), "{:?}", run.damage);
    assert_eq!(run.samples, whole.samples);
}

#[test]
fn changed_files_are_told() {
    let runs = tempfile::tempdir().unwrap();
    let (dir, _) = write(runs.path(), &three());
    let path = dir.join("plan.toml");
    std::fs::write(&path, "[load]\nworkers = 5\n").unwrap();
    assert_eq!(read_run(&dir).unwrap().damage, ["plan.toml: was changed after the run ended"]);
    std::fs::remove_file(dir.join("trials/01-none-1/histograms.hlog")).unwrap();
    let damage = read_run(&dir).unwrap().damage;
    assert!(damage.iter().any(|d| d.contains("histograms.hlog")), "{damage:?}");
}

#[test]
fn totals_that_no_load_can_have_are_damage() {
    let runs = tempfile::tempdir().unwrap();
    let (dir, _) = write(runs.path(), &three());
    let path = dir.join(TRIAL);
    let mut trial: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    trial["totals"]["events"] = serde_json::json!([u64::MAX, u64::MAX]);
    std::fs::write(&path, trial.to_string()).unwrap();
    let damage = read_run(&dir).unwrap().damage;
    let told = format!("its totals say {} and", u64::MAX);
    assert!(damage.iter().any(|why| why.contains(&told)), "{damage:?}");
}

#[test]
fn what_is_no_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(read_run(dir.path()), Err(ArchiveError::NotARun { .. })));
    assert!(matches!(read_run(&dir.path().join("none")), Err(ArchiveError::NotARun { .. })));
    std::fs::write(dir.path().join("meta.json"), "{\"format\": 99, \"future\": []}").unwrap();
    let error = read_run(dir.path()).unwrap_err();
    assert!(matches!(error, ArchiveError::Newer { format: 99, .. }), "{error}");
    for junk in ["[]", "null", "{\"format\": -1}", "{\"format\": 1}", "\u{0}\u{1}"] {
        std::fs::write(dir.path().join("meta.json"), junk).unwrap();
        assert!(matches!(read_run(dir.path()), Err(ArchiveError::NotARun { .. })), "{junk}");
    }
}

#[test]
fn a_folder_that_cant_be_made_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = RunWriter::create(&file.join("runs"), meta(), "").unwrap_err();
    assert!(error.to_string().contains("file/runs"), "{error}");
    assert!(error.hint().contains("--runs-dir"));
}

/// `/dev/full` takes opens and refuses writes: the disk that fills up in the middle.
#[test]
fn a_full_disk_is_told_at_the_end_and_what_was_written_stays() {
    let runs = tempfile::tempdir().unwrap();
    let intervals = three();
    let mut writer = RunWriter::create(runs.path(), meta(), "").unwrap();
    let dir = writer.dir().to_owned();
    writer.start_trial(head());
    writer.write_interval(&intervals[0]);
    writer.fill_disk(true);
    writer.write_interval(&intervals[1]);
    assert!(writer.first_error().is_some());
    writer.fill_disk(false);
    writer.write_interval(&intervals[2]);
    writer.end_trial(&recording(&NAMES, &intervals));
    let error = writer.close(RunState::Done, None, Nanos(9)).unwrap_err();
    assert!(error.to_string().contains("intervals.jsonl"), "{error}");
    let run = read_run(&dir).unwrap();
    assert!(run.meta.why.unwrap().contains("not complete"));
    assert_eq!(run.trials[0].intervals.len(), 2);
    assert_eq!(run.trials[0].response[0].len(), 4);
    assert!(run.damage.iter().any(|d| d.contains("hold 4 good")), "{:?}", run.damage);
}

#[test]
fn steps_inside_events_and_stages_are_kept() {
    let runs = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(runs.path(), meta(), "").unwrap();
    let stage = StageRecord { seconds: 2.5, from_per_s: 0.0, to_per_s: 100.0 };
    writer.start_trial(Trial {
        event_steps: vec!["new/order, 2".to_owned()],
        stages: vec![stage],
        ..head()
    });
    let none = [vec![], vec![], vec![]];
    let mut intervals = [1, 2].map(|second| interval(second, &[none.clone(), none.clone()], &[]));
    for (n, interval) in intervals.iter_mut().enumerate() {
        let latency = histogram(&[1000 * (n as u64 + 1), 7]);
        interval.steps = vec![StepTotals { latency, failed: histogram(&[5]) }];
        writer.write_interval(interval);
    }
    let mut whole = recording(&NAMES, &intervals);
    whole.step_names = vec!["new/order, 2".to_owned()];
    let latency = histogram(&[1000, 7, 2000, 7]);
    whole.total.steps = vec![StepTotals { latency: latency.clone(), failed: histogram(&[5, 5]) }];
    let dir = writer.dir().to_owned();
    // Before the end, and after it.
    for ended in [false, true] {
        if ended {
            writer.end_trial(&whole);
        }
        let trial = &read_run(&dir).unwrap().trials[0];
        assert_eq!(
            (&trial.event_steps[..], &trial.stages[..]),
            (&["new/order, 2".to_owned()][..], &[stage][..])
        );
        assert_eq!(trial.step_latency, [latency.to_histogram()]);
        assert_eq!(trial.step_failed[0].len(), 2);
        assert_eq!(trial.response.iter().map(|h| h.len()).sum::<u64>(), 0, "steps are no events");
    }
}

/// A copy of a folder that an earlier version wrote, with texts of its files replaced.
fn older_run(changes: &[(&str, &str, &str)]) -> RunRecord {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/runs/demo-v1");
    let to = tempfile::tempdir().unwrap();
    copy_folder(&from, to.path());
    for (file, old, new) in changes {
        let path = to.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file}: {old}");
        std::fs::write(&path, text.replacen(old, new, 1)).unwrap();
    }
    let mut run = read_run(to.path()).unwrap();
    run.damage.retain(|why| !why.ends_with("the run ended"));
    assert_eq!(run.damage, Vec::<String>::new());
    run
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

const TRIAL: &str = "trials/01-none-1/trial.json";

#[test]
fn what_an_older_folder_says_in_words_is_read_as_data() {
    let run = older_run(&[]);
    assert_eq!(run.meta.command, RunCommand::Demo);
    assert_eq!(run.meta.load, Some(LoadRequest { until_steady: false, fixed_work: true }));
    assert_eq!(run.steps[0].kind, RecordedStepKind::Prepare);
    let trial = &run.trials[0];
    assert_eq!((&trial.reason, &trial.engine), (&TrialEnding::Done, &RecordedEngine::Threads));
    assert_eq!(trial.arrival, ArrivalRecord::closed(0.0, "closed"));
    let words = "closed, 5ms think time";
    let run = older_run(&[
        (TRIAL, "\"closed\"", &format!("\"{words}\"")),
        ("plan.toml", "[load]\n", "[load]\ntime = \"1h\"\nuntil-steady = true\n"),
        ("steps.jsonl", "\"notes\":[\"cold", "\"notes\":[\"side effect: pages is 8\",\"cold"),
    ]);
    assert_eq!(run.trials[0].arrival, ArrivalRecord::closed(0.005, words));
    assert_eq!(run.meta.load, Some(LoadRequest { until_steady: true, fixed_work: false }));
    assert!(run.steps.iter().any(|step| step.side_effects == ["pages is 8"]));
}

#[test]
fn names_of_a_newer_version_are_kept_and_no_damage() {
    let run = older_run(&[
        (
            TRIAL,
            "\"arrival\": \"closed\"",
            "\"arrival\": \"bursts of 5\", \"arrival_kind\": \"bursts\"",
        ),
        (TRIAL, "\"engine\": \"threads\"", "\"engine\": \"fibres\""),
        (TRIAL, "\"reason\": \"done\"", "\"reason\": \"paused\""),
        ("meta.json", "\"command\": \"demo\"", "\"command\": \"explore\""),
        ("steps.jsonl", "\"kind\":\"prepare\"", "\"kind\":\"clone\""),
    ]);
    let trial = &run.trials[0];
    let words = [trial.engine.as_str(), trial.reason.as_str(), trial.arrival.kind.as_str()];
    assert_eq!(words, ["fibres", "paused", "bursts"]);
    assert_eq!(
        (trial.arrival.text.as_str(), trial.arrival.closed_think_s()),
        ("bursts of 5", None)
    );
    assert_eq!(run.meta.command, RunCommand::Other("explore".to_owned()));
    assert!(run.steps.iter().any(|step| step.kind == RecordedStepKind::Other("clone".to_owned())));
}

#[test]
fn what_was_found_of_the_data_stands_in_the_loads_between() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(dir.path(), meta(), "").unwrap();
    let look = |number, state| {
        let verdict = DataVerdict { id: "C1".to_owned(), state, ..DataVerdict::default() };
        let data = Some(DataVerdicts { subject: String::new(), list: vec![verdict] });
        StepRecord { data, variant: "none".to_owned(), ..step(number, Some(9)) }
    };
    writer.write_step(&look(1, DataState::Holds));
    writer.start_trial(head());
    writer.end_trial(&recording(&NAMES, &[]));
    let other = StepRecord { variant: "other".to_owned(), ..look(2, DataState::Holds) };
    writer.write_step(&other);
    writer.write_step(&look(3, DataState::Broken));
    let path = writer.dir().join("trials").join(head().id).join("trial.json");
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(file["data_before"]["all_hold"], true);
    assert_eq!(file["data_after"]["answer"], "the rule is broken: C1");
    assert_eq!(file["data_after"]["verdicts"]["list"][0]["state"], "broken");
    assert!(file["totals"].is_object());
}
