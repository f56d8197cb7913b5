//! Shares are written, merged and read again: what adds must add in every cell, and what is not whole must say so.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::hlog::HistogramLines;
use super::super::tests::{NAMES, head, interval, recording};
use super::super::trial::{IntervalLine, read_interval_lines};
use super::super::{
    IntervalRecord, RunMeta, RunRecord, ServerRecord, ShareRecord, Trial, read_run,
};
use super::*;
use crate::base::StopReason;
use crate::recorder::{Histogram, Interval, Recording, SparseHistogram, UnopenedWorker};

/// A load of three shares of six workers.
fn share(number: usize) -> ShareRecord {
    ShareRecord {
        text: format!("{number}/3"),
        number,
        weights: vec![1; 3],
        first_worker: 2 * (number - 1),
        all_workers: 6,
    }
}

const PLAN: &str = "runs-dir = \"/a\"\n\n[load]\nworkers = 6\nshare = \"1/3\"\n";
const ORIGIN: u64 = 1_795_246_815_123_456_789;

fn share_meta(number: usize) -> RunMeta {
    RunMeta {
        name: "shared".to_owned(),
        // Each machine has a clock of its own.
        origin_unix_ns: ORIGIN + number as u64 * 77_777_777,
        seed: 7,
        host: [("name", format!("load{number}")), ("cpus", "4".to_owned())]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        server: Some(ServerRecord { product: "MariaDB".to_owned(), ..ServerRecord::default() }),
        ..RunMeta::default()
    }
}

/// What may be different in a share.
struct WrittenShare {
    meta: RunMeta,
    trial: Trial,
    plan: String,
    intervals: Vec<Interval>,
    /// Whether it is closed with its totals.
    is_whole: bool,
}

impl WrittenShare {
    fn new(number: usize, seconds: u64) -> WrittenShare {
        let mut trial = head();
        trial.share = Some(share(number));
        trial.workers = 2;
        trial.arrival.text = format!("poisson 400/s, share {number}/3");
        trial.offered_per_s = Some(400.0 / 3.0);
        let n = number as u64;
        let made = |second: u64| {
            let response: Vec<u64> = (1..50).map(|k| k * k * 1_000 * n + second * 7).collect();
            let classes = [
                [response.clone(), response.iter().map(|v| v / 2).collect(), vec![second + n]],
                [vec![900 * n, 5_000_000], vec![800 * n], vec![]],
            ];
            // Slots of a second and of the one that it ends in.
            let slots = (0..101).map(|slot| u32::from(slot % 7 == 0) * number as u32).collect();
            Interval { slots, ..interval(second, &classes, &[n, 5 * n]) }
        };
        WrittenShare {
            meta: share_meta(number),
            trial,
            plan: PLAN.replace("1/3", &format!("{number}/3")).replace("/a", &format!("/{number}")),
            intervals: (0..seconds).map(made).collect(),
            is_whole: true,
        }
    }

    fn recording(&self) -> Recording {
        let number = self.trial.share.as_ref().map_or(1, |share| share.number);
        let unopened = UnopenedWorker { worker: 2 * number - 1, why: "refused".to_owned() };
        Recording {
            reason: StopReason::Done,
            failure: None,
            workers: 2,
            unopened: vec![unopened],
            ..recording(&NAMES, &self.intervals)
        }
    }

    fn write(&self, runs: &Path) -> PathBuf {
        let mut writer = RunWriter::create(runs, self.meta.clone(), &self.plan).unwrap();
        let dir = writer.dir().to_owned();
        let step = |ended_ns| StepRecord {
            number: 1,
            began_ns: 5,
            ended_ns,
            before: Counters::from([("Uptime".to_owned(), 3.0), ("cpu.busy_s".to_owned(), 1.0)]),
            ..StepRecord::default()
        };
        writer.write_step(&step(None));
        for probe in ["status", "host"] {
            let probe = probe.to_owned();
            writer.write_sample(&SampleRecord { probe, began_ns: 9, ..SampleRecord::default() });
        }
        writer.start_trial(self.trial.clone());
        self.intervals.iter().for_each(|i| writer.write_interval(i));
        if !self.is_whole {
            return dir;
        }
        writer.end_trial(&self.recording());
        writer.write_step(&step(Some(8)));
        writer.close(RunState::Done, None, Nanos(4_000_000_000)).unwrap();
        dir
    }
}

fn inputs(shares: &[WrittenShare], runs: &Path) -> Vec<MergeInput> {
    shares.iter().map(|share| input(share.write(runs))).collect()
}

fn input(dir: PathBuf) -> MergeInput {
    let run = read_run(&dir).unwrap();
    MergeInput { dir, run, voids: Vec::new() }
}

fn three(seconds: u64) -> Vec<WrittenShare> {
    // Not in their order, and not all of one length.
    [(2, seconds), (1, seconds), (3, seconds - 1)]
        .map(|(number, seconds)| WrittenShare::new(number, seconds))
        .into()
}

fn merge(inputs: &[MergeInput], runs: &Path) -> RunRecord {
    let output = MergeOutput::Below(runs.to_owned());
    let (dir, _) = merge_runs(inputs, &output, &MergeOptions::default()).unwrap();
    read_run(&dir).unwrap()
}

fn add<'a>(all: impl Iterator<Item = &'a Histogram>) -> Histogram {
    sums::add_all(&all.cloned().collect::<Vec<_>>())
}

/// All histograms of a run folder by tag, as other programs read them: lines of the log.
fn cells(dir: &Path, trial: &Trial) -> Vec<SparseHistogram> {
    let (lines, text) = read_interval_lines(&dir.join("trials").join(&trial.id));
    let kinds = 3 * trial.classes.len() + 2;
    let mut sums = vec![SparseHistogram::default(); kinds];
    let mut read = HistogramLines::new(&trial.classes, &trial.event_steps, &text);
    let wanted: usize = lines.iter().map(|line| line.histogram_lines()).sum();
    for entry in read.by_ref().take(wanted) {
        use super::super::hlog::HistogramKind::{Failed, Lateness, Response, Service, Unbegun};
        let place = match entry.part {
            Response(class) => 3 * class,
            Service(class) => 3 * class + 1,
            Failed(class) => 3 * class + 2,
            Lateness => kinds - 2,
            Unbegun => kinds - 1,
            _ => panic!("there are no steps"),
        };
        sums[place].add(&entry.histogram);
    }
    sums
}

#[test]
fn every_cell_count_and_error_is_the_sum() {
    let runs = tempfile::tempdir().unwrap();
    let inputs = inputs(&three(5), runs.path());
    let merged = merge(&inputs, runs.path());
    assert_eq!(merged.damage, Vec::<String>::new());
    let [trial] = &merged.trials[..] else { panic!("one load") };
    let parts: Vec<&Trial> = inputs.iter().map(|input| &input.run.trials[0]).collect();
    for class in 0..2 {
        assert_eq!(trial.response[class], add(parts.iter().map(|t| &t.response[class])));
        assert_eq!(trial.service[class], add(parts.iter().map(|t| &t.service[class])));
        assert_eq!(trial.failed[class], add(parts.iter().map(|t| &t.failed[class])));
    }
    assert_eq!(trial.lateness, add(parts.iter().map(|t| &t.lateness)));
    assert_eq!(trial.unbegun, add(parts.iter().map(|t| &t.unbegun)));
    let log = cells(&runs.path().join(&merged.meta.id), trial);
    let logs: Vec<Vec<SparseHistogram>> =
        inputs.iter().map(|input| cells(&input.dir, &input.run.trials[0])).collect();
    for (place, sum) in log.iter().enumerate() {
        let mut expected = SparseHistogram::default();
        logs.iter().for_each(|log| expected.add(&log[place]));
        assert_eq!(*sum, expected, "{place}");
    }
    let sum = |of: fn(&Trial) -> u64| parts.iter().map(|t| of(t)).sum::<u64>();
    for of in [
        |t: &Trial| t.tally.count("reads"),
        |t: &Trial| t.tally.count("bytes_received"),
        |t: &Trial| t.reconnects,
        |t: &Trial| t.clipped,
        |t: &Trial| t.abandoned,
        |t: &Trial| t.cpu_user_ns,
        |t: &Trial| t.errors.iter().map(|e| e.count).sum(),
        |t: &Trial| t.intervals.iter().flat_map(|i| &i.slots).map(|s| u64::from(*s)).sum(),
        |t: &Trial| t.intervals.iter().map(|i| i.response.len()).sum(),
        |t: &Trial| t.intervals.iter().map(|i| i.tally.count("pages")).sum(),
        |t: &Trial| t.intervals.iter().flat_map(|i| &i.errors).sum(),
    ] {
        assert_eq!(of(trial), sum(of));
    }
    assert_eq!((trial.workers, trial.errors.len(), trial.share.as_ref()), (6, 1, None));
    let unopened: Vec<usize> = trial.unopened.iter().map(|one| one.worker).collect();
    assert_eq!(unopened, [1, 3, 5]);
    assert_eq!((trial.arrival.text.as_str(), trial.offered_per_s), ("poisson 400/s", Some(400.0)));
    assert_eq!(merged.plan, PLAN.replace("share = \"1/3\"\n", "").replace("/a", "/1"));
}

#[test]
fn seconds_align_and_their_edges_are_chained() {
    let runs = tempfile::tempdir().unwrap();
    let inputs = inputs(&three(5), runs.path());
    let merged = merge(&inputs, runs.path());
    let intervals = &merged.trials[0].intervals;
    assert_eq!(intervals.len(), 5);
    assert!(intervals.windows(2).all(|pair| pair[0].ended_ns == pair[1].began_ns));
    // Clocks are moved in whole slots, or slots would not add.
    let machines = merged.merged.as_ref().unwrap();
    let shifts: Vec<u64> = machines.machines.iter().map(|machine| machine.shift_ns).collect();
    assert_eq!(shifts, [0, 80_000_000, 160_000_000]);
    let waiting: Vec<u64> = intervals.iter().map(|i| i.backlog).collect();
    assert_eq!(waiting, [24, 24, 24, 24, 16], "the third share ended before");
    assert_eq!(intervals[4].events, [98, 4]);
    let text = std::fs::read_to_string(
        runs.path().join(&merged.meta.id).join("trials/01-none-1/intervals.jsonl"),
    );
    let counts: Vec<bool> =
        text.unwrap().lines().map(|line| line.contains("\"machines\":3")).collect();
    assert_eq!(counts, [true, true, true, true, false]);
}

#[test]
fn machines_are_named_and_their_folders_kept_whole() {
    let runs = tempfile::tempdir().unwrap();
    let mut inputs = inputs(&three(5), runs.path());
    inputs[1].voids = vec!["NOISE: busy".to_owned()];
    let merged = merge(&inputs, runs.path());
    let found = merged.merged.as_ref().unwrap();
    assert!(found.missing.is_empty());
    let names: Vec<(&str, &str)> =
        found.machines.iter().map(|m| (m.name.as_str(), m.share.text.as_str())).collect();
    assert_eq!(names, [("load1", "1/3"), ("load2", "2/3"), ("load3", "3/3")]);
    assert_eq!(found.machines[0].voids, ["NOISE: busy"]);
    assert_eq!(found.machines[2].intervals, 4);
    assert_eq!(merged.meta.host["name"], "load1, load2, load3");
    assert_eq!(merged.meta.host["cpus"], "12");
    for (machine, number) in found.machines.iter().zip(1..) {
        let dir = runs.path().join(&merged.meta.id).join(&machine.folder);
        let own = read_run(&dir).unwrap();
        assert_eq!(own.damage, Vec::<String>::new());
        assert_eq!(own.trials[0].share, Some(share(number)));
        let response = sums::add_all(&own.trials[0].response);
        assert_eq!(machine.response, (&response).into());
        // Not rounded to the hundredths of a second by which times are shifted.
        let later_ns = (number as u64 - 1) * 77_777_777;
        assert_eq!(machine.began_ns - found.machines[0].began_ns, later_ns);
    }
    // The server's answers to one machine, and nothing of hosts.
    let probes: Vec<&str> = merged.samples.iter().map(|s| s.probe.as_str()).collect();
    assert_eq!(probes, ["status"]);
    assert_eq!(merged.steps[0].before, Counters::from([("Uptime".to_owned(), 3.0)]));
}

#[test]
fn what_is_no_share_of_the_same_load_is_refused_with_both_values() {
    type Change = fn(&mut WrittenShare);
    let refused: [(Change, &[&str]); 11] = [
        (|s| s.meta.seed = 8, &["the seed differs: 7 in ", "8 in "]),
        (|s| s.plan = s.plan.replace("6", "9"), &["plan: load.workers differs: 6 in ", "9 in "]),
        (|s| s.plan += "grace = \"1s\"\n", &["plan: load.grace differs: nothing in ", "1s"]),
        (|s| s.trial.workload = "null".to_owned(), &["the workload differs: oltp in ", "null"]),
        (
            |s| s.meta.server.as_mut().unwrap().product = "MySQL".to_owned(),
            &["the server differs", "MySQL"],
        ),
        (|s| s.trial.share = None, &["is a whole load"]),
        (|s| s.trial.share = Some(share(1)), &["both hold share 1/3"]),
        (|s| s.trial.share.as_mut().unwrap().first_worker = 1, &["both hold workers 2 to 2"]),
        (
            |s| s.trial.share.as_mut().unwrap().weights = vec![1, 2, 1],
            &["the weight of the shares differs: 1:1:1 in ", "1:2:1 in "],
        ),
        (
            |s| s.trial.share.as_mut().unwrap().all_workers = 7,
            &["the number of workers of all shares differs: 6 in ", "7 in "],
        ),
        (|s| s.trial.share.as_mut().unwrap().number = 9, &["names share 9 of 3"]),
    ];
    for (change, expected) in refused {
        let runs = tempfile::tempdir().unwrap();
        let mut shares: Vec<WrittenShare> = (1..=3).map(|n| WrittenShare::new(n, 1)).collect();
        change(&mut shares[1]);
        let inputs = inputs(&shares, runs.path());
        let before = std::fs::read_dir(runs.path()).unwrap().count();
        let output = MergeOutput::Below(runs.path().to_owned());
        let error = merge_runs(&inputs, &output, &MergeOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, MergeError::Refused(_)), "{text}");
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(std::fs::read_dir(runs.path()).unwrap().count(), before, "nothing is left");
    }
}

#[test]
fn another_version_is_refused() {
    let runs = tempfile::tempdir().unwrap();
    let mut inputs = inputs(&three(2), runs.path());
    inputs[0].run.meta.tool_version = "0.0.9".to_owned();
    let refused = refusal::check_runs(&inputs).err().unwrap().to_string();
    assert!(refused.starts_with("the version of sweat differs: 0.0.9 in "), "{refused}");
}

#[test]
fn a_missing_share_is_named() {
    let runs = tempfile::tempdir().unwrap();
    let mut inputs = inputs(&three(2), runs.path());
    inputs.remove(0);
    let output = MergeOutput::Below(runs.path().to_owned());
    let error = merge_runs(&inputs, &output, &MergeOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "shares of the load are missing: 2/3");
    let options = MergeOptions { incomplete: true, ..MergeOptions::default() };
    let (dir, _) = merge_runs(&inputs, &output, &options).unwrap();
    assert_eq!(read_run(&dir).unwrap().merged.unwrap().missing, ["2/3"]);
}

#[test]
fn loads_of_a_series_are_each_the_sum_at_their_own_times() {
    let dir = tempfile::tempdir().unwrap();
    let all = inputs(&three(2), dir.path());
    let meta = RunMeta { origin_unix_ns: ORIGIN - 5_000_000_000, ..share_meta(1) };
    let mut series = MergedSeries::create(dir.path(), meta, PLAN).unwrap();
    for number in 1..=2 {
        let step = StepRecord { number, label: format!("load {number}"), ..StepRecord::default() };
        series.write_step(&step);
        let id = format!("0{number}-x-1");
        let place = LoadPlace { id, variant: "x".to_owned(), pass: number, ..LoadPlace::default() };
        assert_eq!(series.add_load(&all, &place, &step).unwrap(), (RunState::Done, None));
    }
    // One that lost a share is no load of the run.
    let place = LoadPlace { id: "03-x-1".to_owned(), ..LoadPlace::default() };
    let refused = series.add_load(&all[..2], &place, &StepRecord::default());
    assert!(matches!(refused, Err(MergeError::Refused(MergeRefusal::Missing(_)))));
    let lost = [(3, "agent c: gone\n".to_owned())].into();
    series.leave_out("03-x-1", &[all[0].dir.clone(), all[1].dir.clone()], &lost).unwrap();
    let series = series.close(RunState::Failed, None, Nanos(1)).unwrap();
    let run = read_run(&series).unwrap();
    assert!(run.damage.is_empty(), "{:?}", run.damage);
    let whole = merge(&all, dir.path());
    for (number, trial) in (1..).zip(&run.trials) {
        assert_eq!((&trial.id, trial.step), (&format!("0{number}-x-1"), number));
        assert_eq!((&trial.response, trial.workers), (&whole.trials[0].response, 6));
        assert_eq!(trial.intervals.len(), whole.trials[0].intervals.len());
        // Five seconds and a share of one after the origin of this clock.
        let later = trial.began_ns - whole.trials[0].began_ns;
        assert_eq!(later / 10_000_000, 508, "{later}");
    }
    let merged = run.merged.unwrap();
    assert_eq!((run.trials.len(), merged.machines.len()), (2, 6));
    assert_eq!(merged.missing, ["3/3 of 03-x-1 (agent c: gone )"]);
    for machine in &merged.machines {
        assert_eq!(machine.folder, format!("machines/{}/{}", machine.load, machine.share.number));
        assert!(read_run(&series.join(&machine.folder)).is_ok());
    }
}

#[test]
fn a_machine_that_was_cut_off_is_named_and_what_it_has_counts() {
    let runs = tempfile::tempdir().unwrap();
    let mut shares = three(5);
    shares[0].is_whole = false;
    let inputs = inputs(&shares, runs.path());
    let merged = merge(&inputs, runs.path());
    assert_eq!(merged.meta.state, RunState::Failed);
    let why = merged.meta.why.as_deref().unwrap();
    assert_eq!(why, "share 2/3: its run folder was not closed");
    let machine = &merged.merged.as_ref().unwrap().machines[1];
    assert_eq!(machine.state, RunState::Running);
    assert!(machine.damage.iter().any(|d| d.contains("was interrupted")), "{:?}", machine.damage);
    let parts = inputs.iter().map(|input| &input.run.trials[0].response[0]);
    assert_eq!(merged.trials[0].response[0], add(parts));
}

#[test]
fn a_folder_that_is_there_is_left_as_it_is() {
    let runs = tempfile::tempdir().unwrap();
    let inputs = inputs(&three(2), runs.path());
    let output = MergeOutput::At(inputs[0].dir.clone());
    let error = merge_runs(&inputs, &output, &MergeOptions::default()).unwrap_err();
    assert!(matches!(error, MergeError::Archive(ArchiveError::Create { .. })), "{error}");
    assert_eq!(read_run(&inputs[0].dir).unwrap(), inputs[0].run);
    let output = MergeOutput::At(runs.path().join("mine"));
    let (dir, state) = merge_runs(&inputs, &output, &MergeOptions::default()).unwrap();
    assert_eq!((dir, state), (runs.path().join("mine"), RunState::Done));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever is cut off or changed in a file of one machine: the merge is exact, or says what is wrong, or is refused.
    #[test]
    fn damage_is_never_silent(
        file in prop::sample::select(vec![
            "meta.json", "plan.toml", "steps.jsonl", "trials/01-none-1/trial.json",
            "trials/01-none-1/intervals.jsonl", "trials/01-none-1/histograms.hlog",
        ]),
        place in 0.0f64..1.0,
        byte: Option<u8>,
    ) {
        let runs = tempfile::tempdir().unwrap();
        let whole = inputs(&three(2), runs.path());
        let expected = add(whole.iter().map(|input| &input.run.trials[0].response[0]));
        let path = whole[1].dir.join(file);
        let mut text = std::fs::read(&path).unwrap();
        let at = (place * text.len() as f64) as usize;
        match byte {
            None => text.truncate(at),
            Some(byte) => text[at] = byte,
        }
        std::fs::write(&path, &text).unwrap();
        let Ok(run) = read_run(&whole[1].dir) else { return Ok(()) };
        let mut all = whole;
        all[1].run = run;
        let output = MergeOutput::Below(runs.path().to_owned());
        let made = merge_runs(&all, &output, &MergeOptions::default());
        let Ok((dir, _)) = made else { return Ok(()) };
        let merged = read_run(&dir).unwrap();
        let machine = &merged.merged.as_ref().unwrap().machines[0];
        let is_exact = merged.trials[0].response[0] == expected;
        prop_assert!(is_exact || !machine.damage.is_empty() || !merged.damage.is_empty());
    }
}

#[test]
fn an_interval_in_a_file_of_the_past_has_no_machines() {
    let line = IntervalLine::new(&IntervalRecord::default(), 0, 0);
    assert!(!serde_json::to_string(&line).unwrap().contains("machines"));
}
