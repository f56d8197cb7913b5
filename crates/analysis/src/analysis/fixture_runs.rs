//! Runs for tests, generated step by step: a small server with a pool, a disk and counters, repeated by a seed.

mod costed;
mod written;

pub use costed::{COSTED_CLASSES, cost_run, observed_run};
pub use written::write_run;

use super::findings::{ComparisonVerdict, Estimate, MetricComparison};
use crate::archive::{
    ArrivalRecord, Counters, ErrorRecord, IntervalRecord, LoadRequest, MachineRecord, MergeRecord,
    RecordedEngine, RecordedErrorKind, RunMeta, RunRecord, RunState, SampleRecord, ServerRecord,
    ShareRecord, StepRecord, TallyRecord, Trial, TrialEnding, VariableRecord, WarmedRecord,
};
use crate::recorder::Histogram;
pub use crate::recorder::new_histogram;

const PAGE: f64 = 16_384.0;
const SECOND: u64 = 1_000_000_000;
/// A class name and an error text that would break a page which doesn't escape.
pub const HOSTILE: &str = r#""><script>alert('x')</script><img src=x onerror=alert(1)>"#;

/// The experiment `demo_run`: four variants, data twice the pool.
pub fn demo_run() -> RunRecord {
    let mut world = ServerSimulator::new();
    world.run_step("prepare", "", "fill test_data", |w| w.run_for(21 * SECOND, 0.0, 0));
    for (variant, seconds, pages) in [
        ("none", 0.0, 0),
        ("scan", 3.9, 16_000),
        ("scan-classic", 6.8, 99_000),
        ("load", 0.76, 15_000),
    ] {
        world.restart_cold(variant);
        if pages > 0 {
            world.warm_pool(variant, seconds, pages);
        }
        let useful = match variant {
            "scan" => 0.75,
            "scan-classic" => 0.4,
            "load" => 0.97,
            _ => 0.0,
        };
        world.run_load(variant, 1, 20_000, useful);
        world.run_load(variant, 2, 20_000, f64::max(useful, 0.9));
    }
    let mut run = world.into_run("demo");
    let facts = &mut run.meta.facts;
    facts.insert("data_bytes".to_owned(), (512u64 << 20).into());
    facts.insert("pool_bytes".to_owned(), (256u64 << 20).into());
    facts.insert("rows".to_owned(), 1_400_000.into());
    facts.insert("lookups".to_owned(), 20_000.into());
    run
}

/// A plain load with a hostile class name, errors, a stall and a probe that lacks a privilege.
pub fn bench_run() -> RunRecord {
    let mut world = ServerSimulator::new();
    world.classes = vec!["point_select".to_owned(), HOSTILE.to_owned()];
    world.interval = SECOND;
    world.stall_every = 5;
    world.run_load("", 1, 120_000, 0.9);
    let at = world.now / 2;
    world.run.samples.push(SampleRecord {
        probe: "innodb".to_owned(),
        planned_ns: at,
        began_ns: at,
        ended_ns: at,
        gap: Some("needs PROCESS".to_owned()),
        ..SampleRecord::default()
    });
    let trial = &mut world.run.trials[0];
    trial.failed[1].record_n(900_000, 7).expect("a run made by hand");
    trial.intervals[2].errors[1] = 7;
    trial.errors.push(ErrorRecord {
        class: HOSTILE.to_owned(),
        kind: RecordedErrorKind::Server,
        code: 1146,
        count: 7,
        first_text: format!("Table '{HOSTILE}' doesn't exist"),
    });
    let mut run = world.into_run("bench");
    run.plan += "time = \"10s\"\n";
    run.meta.load = Some(LoadRequest::default());
    run
}

/// An hour of load with an interval and a sample each second.
pub fn hour_run() -> RunRecord {
    let mut world = ServerSimulator::new();
    world.interval = SECOND;
    world.stall_every = 61;
    world.batch = 40;
    world.run_load("", 1, 3600 * 40, 0.9);
    world.into_run("bench")
}

/// The same load as that of `bench_run`, shared by two machines.
pub fn merged_run() -> RunRecord {
    let mut run = bench_run();
    let trial = &run.trials[0];
    let machine = |number: usize, name: &str| MachineRecord {
        name: name.to_owned(),
        share: ShareRecord {
            text: format!("{number}/2"),
            number,
            weights: vec![1, 1],
            first_worker: number - 1,
            all_workers: 2,
        },
        run: format!("2026-11-21T07-40-15Z_{name}"),
        folder: format!("machines/{number}"),
        host: [("cpus".to_owned(), "8".to_owned())].into(),
        state: RunState::Done,
        began_ns: trial.began_ns + number as u64 * 700_000,
        ended_ns: trial.ended_ns,
        workers: 1,
        events: 60_000,
        intervals: trial.intervals.len(),
        cpu_user_ns: 500_000_000,
        response: vec![(80_000, 59_000 - number as u64 * 500), (900_000, 1_500)].into(),
        lateness: vec![(2_000, 100)].into(),
        ..MachineRecord::default()
    };
    let machines = vec![machine(1, "load1"), machine(2, "load2")];
    run.merged = Some(MergeRecord { machines, missing: Vec::new() });
    run
}

struct ServerSimulator {
    run: RunRecord,
    now: u64,
    random: u64,
    counters: Counters,
    classes: Vec<String>,
    /// Length of an interval, nanoseconds.
    interval: u64,
    /// Every so many intervals the server stalls; 0 is never.
    stall_every: u64,
    /// About how many events an interval has; 0 is as many as fit. The server is then busy with more than that.
    batch: u64,
}

impl ServerSimulator {
    fn new() -> ServerSimulator {
        let mut world = ServerSimulator {
            run: RunRecord::default(),
            now: SECOND / 4,
            random: 42,
            counters: Counters::new(),
            classes: vec!["lookup".to_owned()],
            interval: SECOND / 5,
            stall_every: 0,
            batch: 0,
        };
        world.reset_counters();
        world
    }

    fn reset_counters(&mut self) {
        self.counters.clear();
        for (name, value) in [
            ("Innodb_buffer_pool_pages_total", 16_384.0),
            ("Innodb_buffer_pool_pages_data", 310.0),
            ("Innodb_buffer_pool_pages_dirty", 0.0),
            ("Innodb_buffer_pool_reads", 300.0),
            ("Innodb_buffer_pool_read_ahead", 0.0),
            ("Innodb_data_read", 300.0 * PAGE),
            ("Innodb_pages_read", 300.0),
            ("Innodb_pages_written", 10.0),
            ("Innodb_data_fsyncs", 3.0),
            ("Innodb_os_log_written", 4096.0),
            ("Questions", 12.0),
            ("Bytes_sent", 9000.0),
            ("Threads_running", 1.0),
            ("process.read_bytes", 320.0 * PAGE),
            ("process.cpu_user_s", 0.2),
            ("process.cpu_system_s", 0.1),
        ] {
            self.counters.insert(name.to_owned(), value);
        }
    }

    /// xorshift64*, 0 to 1.
    fn next_random(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn add_to_counter(&mut self, name: &str, amount: f64) {
        *self.counters.entry(name.to_owned()).or_default() += amount;
    }

    fn read_pages(&mut self, pages: f64, ahead: bool) {
        self.add_to_counter(
            if ahead { "Innodb_buffer_pool_read_ahead" } else { "Innodb_buffer_pool_reads" },
            pages,
        );
        self.add_to_counter("Innodb_pages_read", pages);
        self.add_to_counter("Innodb_data_read", pages * PAGE);
        self.add_to_counter("process.read_bytes", pages * PAGE);
        let full = self.counters["Innodb_buffer_pool_pages_total"] - 200.0;
        let held = (self.counters["Innodb_buffer_pool_pages_data"] + pages).min(full);
        self.counters.insert("Innodb_buffer_pool_pages_data".to_owned(), held);
    }

    /// Moves on, sampling on each whole second; pages are read and events served evenly meanwhile.
    fn run_for(&mut self, length: u64, pages: f64, events: u64) {
        let end = self.now + length;
        while self.now < end {
            let next = (self.now / SECOND + 1) * SECOND;
            let until = next.min(end);
            let share = (until - self.now) as f64 / length as f64;
            self.read_pages(pages * share, events == 0);
            self.add_to_counter("Questions", events as f64 * share);
            self.add_to_counter("Bytes_sent", events as f64 * share * 330.0);
            self.add_to_counter("process.cpu_user_s", events as f64 * share * 21e-6);
            self.add_to_counter("process.cpu_system_s", events as f64 * share * 9e-6);
            self.now = until;
            if self.batch > 0 {
                self.move_all_counters();
            }
            if self.now == next {
                self.run.samples.push(SampleRecord {
                    probe: "status".to_owned(),
                    planned_ns: next,
                    began_ns: next + 40_000,
                    ended_ns: next + 900_000,
                    numbers: self.counters.clone(),
                    ..SampleRecord::default()
                });
            }
        }
    }

    /// Moves everything that a busy server moves, so that a page of it is as large as a real one.
    fn move_all_counters(&mut self) {
        for (name, most) in [
            ("Innodb_os_log_written", 3e6),
            ("Innodb_data_fsyncs", 60.0),
            ("Innodb_row_lock_waits", 9.0),
            ("Innodb_rows_read", 4e4),
            ("Innodb_buffer_pool_read_ahead", 300.0),
            ("process.write_bytes", 9e6),
            ("process.read_bytes", 5e6),
            ("cpu.busy_s", 2.0),
        ] {
            let rise = self.next_random() * most;
            self.add_to_counter(name, rise);
        }
        for (name, most) in [
            ("Innodb_buffer_pool_pages_dirty", 9e3),
            ("Innodb_checkpoint_age", 9e7),
            ("Innodb_history_list_length", 5e3),
            ("Threads_running", 16.0),
        ] {
            let value = (self.next_random() * most).ceil();
            self.counters.insert(name.to_owned(), value);
        }
    }

    fn run_step(
        &mut self,
        kind: &str,
        variant: &str,
        label: &str,
        work: impl FnOnce(&mut ServerSimulator),
    ) {
        let number = self.run.steps.len() as u32 + 1;
        let (began_ns, before) = (self.now, self.counters.clone());
        work(self);
        self.run.steps.push(StepRecord {
            number,
            kind: kind.into(),
            variant: variant.to_owned(),
            label: label.to_owned(),
            began_ns,
            ended_ns: Some(self.now),
            before,
            after: self.counters.clone(),
            ..StepRecord::default()
        });
    }

    fn restart_cold(&mut self, variant: &str) {
        self.run_step("restart_cold", variant, "restart cold", |world| {
            let down = world.now + 1_100_000_000;
            while world.now / SECOND < down / SECOND {
                world.now = (world.now / SECOND + 1) * SECOND;
                world.run.samples.push(SampleRecord {
                    probe: "status".to_owned(),
                    planned_ns: world.now,
                    began_ns: world.now,
                    ended_ns: world.now,
                    gap: Some("no connection".to_owned()),
                    ..SampleRecord::default()
                });
            }
            world.now = down;
            world.reset_counters();
        });
        let step = self.run.steps.last_mut().expect("a run made by hand");
        step.notes.push("cold: 4.9 MiB read from the block device at start".to_owned());
    }

    fn warm_pool(&mut self, variant: &str, seconds: f64, pages: u64) {
        let before = self.counters["Innodb_buffer_pool_pages_data"] as u64;
        self.run_step("warm", variant, "warm", |w| {
            w.run_for((seconds * 1e9) as u64, pages as f64, 0)
        });
        let after = self.counters["Innodb_buffer_pool_pages_data"] as u64;
        self.run.steps.last_mut().expect("a run made by hand").warmed = Some(WarmedRecord {
            strategy: variant.to_owned(),
            seconds,
            pages_before: before,
            pages_after: after,
            pages_read: pages,
            bytes_read: pages * PAGE as u64,
            notes: Vec::new(),
        });
    }

    fn run_load(&mut self, variant: &str, pass: u32, events: u64, warm: f64) {
        let number = self.run.trials.len() + 1;
        let label = if variant.is_empty() { "load".to_owned() } else { format!("run {pass}") };
        let mut trial = self.empty_trial(number, variant, pass);
        self.run_step("load", variant, &label, |world| {
            trial.began_ns = world.now;
            let mut done = 0;
            while done < events {
                // Reading fills the pool: misses thin out as the work goes on.
                let cold = (1.0 - warm) * (1.0 - 0.55 * done as f64 / events as f64);
                done += world.run_interval(&mut trial, events - done, cold);
            }
            trial.ended_ns = world.now;
        });
        trial.step = self.run.steps.len() as u32;
        trial.cpu_user_ns = events * 700;
        trial.cpu_system_ns = events * 8_300;
        self.run.trials.push(trial);
    }

    fn run_interval(&mut self, trial: &mut Trial, most: u64, cold: f64) -> u64 {
        let place = trial.intervals.len() as u64 + 1;
        let stalled = self.stall_every > 0 && place % self.stall_every == 0;
        let (began_ns, class) = (self.now, place as usize % self.classes.len());
        let mut response = new_histogram();
        let (mut busy, mut misses, mut events) = (0u64, 0.0, 0);
        let batch = match (self.batch, stalled) {
            (0, _) => u64::MAX,
            (_, true) => 2,
            (batch, false) => batch / 2 + (self.next_random() * batch as f64) as u64,
        };
        while busy < self.interval && events < most.min(batch) {
            let miss = self.next_random() < cold;
            let tail = if self.next_random() < 0.002 { 9.0 } else { 1.0 };
            let stall = if stalled && events == 5 { 0.6 * self.interval as f64 } else { 0.0 };
            let us = if miss {
                180.0 + 260.0 * self.next_random()
            } else {
                34.0 + 11.0 * self.next_random()
            };
            let ns = (us * tail * 1000.0 + stall) as u64;
            response.record(ns).expect("a run made by hand");
            trial.response[class].record(ns).expect("a run made by hand");
            trial.service[class].record(ns - ns / 50).expect("a run made by hand");
            misses += f64::from(u8::from(miss)) * 1.4;
            busy += ns;
            events += 1;
        }
        let length = if events == most { busy.min(self.interval) } else { self.interval };
        self.run_for(length, misses, events);
        let mut by_class = vec![0; self.classes.len()];
        by_class[class] = events;
        let mut tally = TallyRecord::default();
        for name in ["reads", "rows"] {
            *tally.count_mut(name) = events;
            *trial.tally.count_mut(name) += events;
        }
        *trial.tally.count_mut("bytes_received") += events * 330;
        *trial.tally.count_mut("bytes_sent") += events * 52;
        trial.intervals.push(IntervalRecord {
            began_ns,
            ended_ns: self.now,
            errors: vec![0; by_class.len()],
            events: by_class,
            response: (&response).into(),
            tally,
            reconnects: 0,
            in_flight: 1,
            backlog: 0,
            ..IntervalRecord::default()
        });
        events
    }

    fn empty_trial(&self, number: usize, variant: &str, pass: u32) -> Trial {
        let empty = || -> Vec<Histogram> { self.classes.iter().map(|_| new_histogram()).collect() };
        Trial {
            id: match variant {
                "" => format!("{number:02}-load"),
                variant => format!("{number:02}-{variant}-{pass}"),
            },
            variant: variant.to_owned(),
            pass,
            step: 0,
            workload: "queries".to_owned(),
            options: [("file".to_owned(), "lookups.sql".to_owned())].into(),
            arrival: ArrivalRecord::closed(0.0, "closed"),
            workers: 1,
            engine: RecordedEngine::Threads,
            began_ns: self.now,
            ended_ns: self.now,
            reason: TrialEnding::Done,
            classes: self.classes.clone(),
            response: empty(),
            service: empty(),
            failed: empty(),
            lateness: new_histogram(),
            ..Trial::default()
        }
    }

    fn into_run(mut self, command: &str) -> RunRecord {
        self.run.meta = RunMeta {
            asked: Default::default(),
            load: Some(LoadRequest { fixed_work: true, ..LoadRequest::default() }),
            format: 1,
            tool_version: "0.1.0".to_owned(),
            id: format!("2026-11-21T07-40-15Z_{command}"),
            name: command.to_owned(),
            command: command.into(),
            command_line: Some(format!("sweat {command} --sandbox")),
            defaults: Vec::new(),
            origin_unix_ns: 1_795_246_815 * SECOND,
            ended_ns: Some(self.now),
            state: RunState::Done,
            why: None,
            seed: 42,
            server: Some(ServerRecord {
                product: "MariaDB".to_owned(),
                version: "10.11.14-MariaDB".to_owned(),
                address: "unix /tmp/sandbox/s.sock".to_owned(),
                cipher: None,
                local: true,
                sandbox: true,
                observed: false,
            }),
            host: [("cpus", "2"), ("kernel", "Linux 6.12"), ("memory_bytes", "8589934592")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            allow: Vec::new(),
            facts: Default::default(),
        };
        self.run.plan = "name = \"demo\"\nseed = 42\n\n[load]\nworkers = 1\n".to_owned();
        self.run.variables = [
            ("innodb_buffer_pool_size", "268435456", Some("command-line")),
            ("innodb_flush_log_at_trx_commit", "2", Some("config")),
            ("innodb_flush_method", "O_DIRECT", Some("compile-time")),
            ("innodb_page_size", "16384", Some("compile-time")),
            ("init_connect", HOSTILE, Some("config")),
            ("sort_buffer_size", "2097152", Some("compile-time")),
        ]
        .map(|(name, start, origin)| VariableRecord {
            name: name.to_owned(),
            start: start.to_owned(),
            end: Some(start.to_owned()),
            origin: origin.map(str::to_owned),
        })
        .into();
        self.run
    }
}

/// A configuration measured again, against itself.
pub fn repeated_comparison(
    verdict: ComparisonVerdict,
    runs: u32,
    more_blocks: Option<u32>,
) -> MetricComparison {
    MetricComparison {
        variant: "again".to_owned(),
        base: "a".to_owned(),
        metric: "events_per_s".to_owned(),
        decides: true,
        more_is_better: true,
        ratio: Estimate { value: Some(1.0), ci95: Some((0.99, 1.01)), runs },
        verdict,
        paired: true,
        margin: 0.02,
        detectable: Some(0.035),
        more_blocks,
        ..MetricComparison::default()
    }
}
