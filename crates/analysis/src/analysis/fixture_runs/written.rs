//! Runs for tests as run folders.

use std::path::{Path, PathBuf};

use crate::archive::{RunRecord, RunWriter, TallyRecord, Trial};
use crate::base::{Nanos, StopReason};
use crate::recorder::{ClassTotals, CounterSpec, Interval, Recording, Tally};

/// Writes a run of one class as a run folder below `runs`, and says which.
pub fn write_run(run: &RunRecord, runs: &Path) -> PathBuf {
    let mut writer =
        RunWriter::create(runs, run.meta.clone(), &run.plan).expect("a run made by hand");
    writer.write_variables(&run.variables);
    run.samples.iter().for_each(|sample| writer.write_sample(sample));
    for step in &run.steps {
        writer.write_step(step);
        for trial in run.trials.iter().filter(|t| t.step == step.number) {
            write_trial(&mut writer, trial);
        }
    }
    let dir = writer.dir().to_owned();
    let ended = Nanos(run.meta.ended_ns.unwrap_or(0));
    writer.close(run.meta.state, run.meta.why.clone(), ended).expect("a run made by hand");
    dir
}

const COUNTERS: &[CounterSpec] = &[
    CounterSpec { name: "reads", unit: "statements" },
    CounterSpec { name: "rows", unit: "rows" },
];

fn to_tally(record: &TallyRecord) -> Tally {
    let mut tally = Tally {
        bytes_received: record.count("bytes_received"),
        bytes_sent: record.count("bytes_sent"),
        ..Tally::default()
    };
    for (counter, count) in COUNTERS.iter().zip(&mut tally.counts) {
        *count = record.count(counter.name);
    }
    tally
}

fn write_trial(writer: &mut RunWriter, trial: &Trial) {
    let mut begun = trial.clone();
    begun.intervals.clear();
    writer.start_trial(begun);
    let interval = |began, ended, totals| Interval {
        classes: vec![totals],
        counters: COUNTERS,
        in_flight: 1,
        ..Interval::empty(Nanos(began), Nanos(ended))
    };
    for (place, record) in trial.intervals.iter().enumerate() {
        let mut totals =
            ClassTotals { response: record.response.clone(), ..ClassTotals::default() };
        // Service times are kept for the whole load only: the first interval carries them.
        if place == 0 {
            totals.service = (&trial.service[0]).into();
        }
        let mut interval = interval(record.began_ns, record.ended_ns, totals);
        interval.tally = to_tally(&record.tally);
        writer.write_interval(&interval);
    }
    let (response, service) = ((&trial.response[0]).into(), (&trial.service[0]).into());
    let totals = ClassTotals { response, service, ..ClassTotals::default() };
    let mut total = interval(trial.began_ns, trial.ended_ns, totals);
    total.tally = to_tally(&trial.tally);
    writer.end_trial(&Recording {
        class_names: trial.classes.clone(),
        step_names: Vec::new(),
        step_labels: Vec::new(),
        total,
        errors: Vec::new(),
        reason: StopReason::Done,
        restarts: 0,
        longest_outage_ns: 0,
        clipped: 0,
        abandoned: 0,
        workers: trial.workers,
        unopened: Vec::new(),
        failure: None,
        failure_count: 0,
        engine: "threads",
        cpu_user_ns: trial.cpu_user_ns,
        cpu_system_ns: trial.cpu_system_ns,
        audit: None,
        figures: None,
    });
}
