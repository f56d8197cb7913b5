//! A run whose events have known costs: three kinds of pages, one of which reads its rows one by one, and one that waits for a
//! lock. sweat's own looks cost something, too.

use super::SECOND;
use crate::archive::{
    ArrivalRecord, CounterLook, Counters, DigestCounts, DigestsRecord, IntervalRecord,
    RecordedEngine, RecordedStepKind, RunMeta, RunRecord, RunState, SampleRecord, ServerRecord,
    StepRecord, Trial, TrialEnding,
};
use crate::base::random::Rng;
use crate::recorder::new_histogram;

/// Each class: its name, its events per second in the mix, its statements, rows read and redo bytes per event, and the time
/// it waits for row locks, milliseconds.
pub const COSTED_CLASSES: [(&str, f64, f64, f64, f64, f64); 3] = [
    ("one", 300.0, 1.0, 1.0, 0.0, 0.0),
    ("list", 100.0, 21.0, 20.0, 0.0, 0.0),
    ("hold", 60.0, 4.0, 2.0, 900.0, 12.0),
];
/// Statements, rows and bytes sent of one look of sweat's own.
const OWN: [(&str, f64); 3] =
    [("Questions", 1.0), ("Handler_read_rnd_next", 562.0), ("Bytes_sent", 19_000.0)];

struct CostWorld {
    now: u64,
    counters: Counters,
    rng: Rng,
    run: RunRecord,
}

impl CostWorld {
    fn add(&mut self, name: &str, by: f64) {
        *self.counters.entry(name.to_owned()).or_insert(0.0) += by;
    }

    fn run_events(&mut self, class: usize, events: u64) {
        let (_, _, statements, rows, redo, waits_ms) = COSTED_CLASSES[class];
        let n = events as f64;
        self.add("Questions", n * statements);
        self.add("Com_select", n * statements.min(21.0));
        self.add("Handler_read_key", n * rows);
        self.add("Bytes_sent", n * 100.0 * statements);
        self.add("Innodb_os_log_written", n * redo);
        self.add("Innodb_row_lock_time", n * waits_ms);
        self.add("Innodb_row_lock_waits", if waits_ms > 0.0 { n } else { 0.0 });
        self.add("process.cpu_user_s", n * 20e-6 * statements);
    }

    /// A look costs what is told after it.
    fn look(&mut self, interval_ended_ns: u64, trial: &mut Trial) {
        trial.looks.push(CounterLook {
            interval_ended_ns,
            began_ns: self.now,
            ended_ns: self.now,
            numbers: self.counters.clone(),
        });
        OWN.iter().for_each(|(name, by)| self.add(name, *by));
    }

    fn sample(&mut self) {
        OWN.iter().for_each(|(name, by)| self.add(name, *by));
        self.run.samples.push(SampleRecord {
            probe: "status".to_owned(),
            planned_ns: self.now,
            began_ns: self.now,
            ended_ns: self.now,
            ..SampleRecord::default()
        });
    }

    /// A load of these classes, so many events per interval in the mean.
    fn run_load(&mut self, means: [f64; 3], intervals: u64, only: Option<(usize, u32)>) {
        let number = self.run.steps.len() as u32 + 1;
        let before = self.counters.clone();
        let mut trial = empty_trial(number, only);
        self.look(self.now, &mut trial);
        // Sessions are opened.
        self.add("Questions", 10.0);
        self.add("Connections", 2.0);
        self.now += SECOND / 100;
        trial.began_ns = self.now;
        for _ in 0..intervals {
            let began_ns = self.now;
            self.now += SECOND / 2;
            self.sample();
            let mut events = Vec::new();
            for (class, mean) in means.iter().enumerate() {
                // Their square root, as of arrivals that know nothing of each other.
                let spread = 3.46 * mean.sqrt() * (self.rng.uniform_fraction() - 0.5);
                let count = (mean + spread).round().max(0.0) as u64;
                self.run_events(class, count);
                let took = 1_000_000 + (COSTED_CLASSES[class].5 * 1e6) as u64;
                trial.response[class].record_n(took, count).expect("a run made by hand");
                trial.service[class].record_n(took, count).expect("a run made by hand");
                events.push(count);
            }
            self.now = began_ns + SECOND;
            let mut response = new_histogram();
            response.record_n(1_000_000, events.iter().sum()).expect("a run made by hand");
            trial.intervals.push(IntervalRecord {
                began_ns,
                ended_ns: self.now,
                errors: vec![0; events.len()],
                events,
                response: (&response).into(),
                in_flight: 2,
                ..IntervalRecord::default()
            });
            self.look(self.now, &mut trial);
        }
        trial.ended_ns = self.now;
        self.now += SECOND / 100;
        self.look(self.now, &mut trial);
        trial.digests = Some(digests_of(&trial));
        self.run.steps.push(StepRecord {
            number,
            kind: match only {
                Some(_) => RecordedStepKind::ClassLoad,
                None => RecordedStepKind::Load,
            },
            label: "load".to_owned(),
            began_ns: trial.began_ns,
            ended_ns: Some(self.now),
            before,
            after: self.counters.clone(),
            ..StepRecord::default()
        });
        match only {
            Some(_) => self.run.class_loads.push(trial),
            None => self.run.trials.push(trial),
        }
    }
}

fn empty_trial(number: u32, only: Option<(usize, u32)>) -> Trial {
    let none = COSTED_CLASSES.map(|_| new_histogram());
    Trial {
        id: format!("{number:02}-load"),
        step: number,
        pass: only.map_or(1, |(_, round)| round),
        workload: "mix".to_owned(),
        arrival: ArrivalRecord::closed(0.0, "closed"),
        workers: 2,
        engine: RecordedEngine::Threads,
        reason: TrialEnding::Done,
        classes: COSTED_CLASSES.map(|class| class.0.to_owned()).into(),
        only_class: only.map(|(class, _)| COSTED_CLASSES[class].0.to_owned()),
        response: none.clone().into(),
        service: none.clone().into(),
        failed: none.into(),
        ..Trial::default()
    }
}

/// The same with classes alone, of an application whose database is only looked at.
pub fn observed_run() -> RunRecord {
    let mut run = cost_run(true);
    run.meta.server = Some(ServerRecord {
        product: "MariaDB".to_owned(),
        version: "10.11.14-MariaDB".to_owned(),
        address: "unix /run/mysqld/mysqld.sock".to_owned(),
        local: true,
        observed: true,
        ..ServerRecord::default()
    });
    run
}

fn own_counters() -> Counters {
    OWN.into_iter().map(|(name, by)| (name.to_owned(), by)).collect()
}

/// What the pages issue.
fn digests_of(trial: &Trial) -> DigestsRecord {
    let events = |class: usize| trial.response[class].len();
    let of = |text: &str, calls: u64, rows: u64| DigestCounts {
        schema: "shop".to_owned(),
        text: text.to_owned(),
        calls,
        rows_sent: calls * rows,
        rows_examined: calls * rows,
        seconds: calls as f64 * 50e-6,
        ..DigestCounts::default()
    };
    let list = events(1);
    let mut statements = vec![
        of("SELECT * FROM `item` WHERE `id` = ?", list * 20, 1),
        of("SELECT `id` FROM `item` LIMIT ?", list, 20),
        of("SELECT * FROM `page` WHERE `id` = ?", events(0), 1),
        of("UPDATE `stock` SET `n` = `n` - ? WHERE `id` = ?", events(2), 0),
    ];
    statements.retain(|one| one.calls > 0);
    DigestsRecord {
        source: "events_statements_summary_by_digest".to_owned(),
        why_not: None,
        statements,
    }
}

/// A load of 30 s of all three, and with `isolated` three rounds of each alone.
pub fn cost_run(isolated: bool) -> RunRecord {
    let mut world = CostWorld {
        now: SECOND,
        counters: Counters::new(),
        rng: Rng::new(3, 1, 4),
        run: RunRecord::default(),
    };
    let idle = ["Connections", "Created_tmp_disk_tables", "process.cpu_system_s"];
    idle.iter().for_each(|name| world.add(name, 7.0));
    let means = COSTED_CLASSES.map(|class| class.1);
    world.run_load(means, 30, None);
    let rounds: &[[usize; 3]] = if isolated { &[[0, 1, 2], [2, 0, 1], [1, 2, 0]] } else { &[] };
    for (round, classes) in (1..).zip(rounds) {
        for class in *classes {
            let mut alone = [0.0; 3];
            alone[class] = means[class];
            world.run_load(alone, 5, Some((class, round)));
        }
    }
    let own = serde_json::json!({
        "status": own_counters(),
        "look": own_counters(),
    });
    let mut run = world.run;
    run.meta = RunMeta {
        format: 1,
        id: "2026-11-22T20-00-00Z_cost".to_owned(),
        name: "cost".to_owned(),
        command: "bench".into(),
        origin_unix_ns: 1_795_246_815 * SECOND,
        ended_ns: Some(world.now),
        state: RunState::Done,
        seed: 3,
        facts: [("own_cost".to_owned(), own)].into(),
        ..RunMeta::default()
    };
    run
}
