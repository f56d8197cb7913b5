//! The room `probe` against a real server.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start servers and wait for them"
)]

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sweat::base::{Clock, RealClock, Stop};
use sweat::client::Target;
use sweat::plan::{AddressPlan, ProbePlan};
use sweat::probe::{ProbeCost, ProbeSample, SampleValues, Sampler, counters_now};
use sweat::server::ServerControl;

use crate::fixture::{self, Fixture};

fn pid(server: &Fixture) -> u32 {
    server.sandbox.pid().expect("the server runs")
}

fn signal(server: &Fixture, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid(server)).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Through a session of its own, as the workers of a load have.
fn command(server: &Fixture, sql: &str) {
    server.target().connect(&Stop::new()).unwrap().run_command(sql).unwrap();
}

fn target_of(server: &Fixture, user: &str) -> Target {
    let plan = AddressPlan { user: Some(user.to_owned()), ..server.target().plan().clone() };
    Target::new(&plan).unwrap()
}

/// Samples of one run of the sampler, while `work` runs.
struct Taken {
    clock: RealClock,
    samples: Vec<ProbeSample>,
    costs: Vec<ProbeCost>,
    pid: Option<u32>,
    stopped_in: Duration,
}

const TICK: Duration = Duration::from_millis(100);

fn sample(target: &Target, names: &[&str], work: impl FnOnce(RealClock)) -> Taken {
    let clock = RealClock::start_now();
    let names = names.iter().map(|n| (*n).to_owned()).collect();
    let plan = ProbePlan { names, interval: TICK };
    let (out, samples) = mpsc::channel();
    let sampler = Sampler::start(&plan, Some(target), None, clock, &out).unwrap();
    work(clock);
    let pid = sampler.pid();
    let began = Instant::now();
    let costs = sampler.stop();
    drop(out);
    let samples = samples.iter().collect();
    let stopped_in = began.elapsed();
    Taken { clock, samples, costs, pid, stopped_in }
}

impl Taken {
    fn of(&self, probe: &str) -> Vec<&ProbeSample> {
        self.samples.iter().filter(|s| s.probe == probe).collect()
    }

    fn numbers(&self, probe: &str) -> Vec<BTreeMap<String, f64>> {
        let numbers = |s: &&ProbeSample| match &s.values {
            SampleValues::Numbers(n) | SampleValues::Mixed(n, _) => {
                Some(n.iter().cloned().collect())
            }
            _ => None,
        };
        self.of(probe).iter().filter_map(numbers).collect()
    }

    fn gaps(&self, probe: &str) -> Vec<&str> {
        let gaps =
            self.samples.iter().filter(|s| s.probe == probe).filter_map(|s| match &s.values {
                SampleValues::Gap(why) => Some(why.as_str()),
                _ => None,
            });
        gaps.collect()
    }
}

fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn every_probe_delivers_on_whole_ticks() {
    all_deliver(&fixture::mariadb());
}

#[test]
fn every_probe_delivers_on_mysql_too() {
    if let Some(server) = fixture::mysql() {
        all_deliver(&server);
    }
}

fn all_deliver(server: &Fixture) {
    let taken = sample(server.target(), &[], |_| {
        let mut session = server.target().connect(&Stop::new()).unwrap();
        session.run_command("DO SLEEP(0.6)").unwrap();
        pause(500);
    });

    let interval = TICK.as_nanos() as u64;
    for sample in taken.samples.iter().filter(|s| s.probe != "variables") {
        assert_eq!(taken.clock.unix_ns(sample.planned) % interval, 0, "{}", sample.probe);
        assert!(sample.began >= sample.planned && sample.ended >= sample.began);
    }
    // Two cores, other tests beside this one: most looks are on time, all are soon after.
    let status = taken.of("status");
    let mut late: Vec<u64> = status.iter().map(|s| s.began.since(s.planned).0).collect();
    late.sort_unstable();
    assert!(late[late.len() / 2] < 50_000_000, "late by {late:?} ns");
    for probe in ["status", "host", "process", "processlist"] {
        let good = taken.of(probe).len() - taken.gaps(probe).len();
        assert!(good >= 4, "{probe}: {good} of {:?}", taken.gaps(probe));
    }

    let questions: Vec<f64> = taken.numbers("status").iter().map(|n| n["Questions"]).collect();
    assert!(questions.windows(2).all(|w| w[0] < w[1]), "{questions:?}");
    assert_eq!(taken.pid, Some(pid(server)));
    let process = taken.numbers("process");
    let last = process.last().unwrap();
    assert_eq!(last["process.pid"], f64::from(pid(server)));
    for name in ["process.read_bytes", "process.cpu_user_s", "process.threads_ran_s"] {
        assert!(last.contains_key(name), "{name}");
    }
    assert!(last["process.resident_bytes"] > 1e7);
    assert!(taken.numbers("host").iter().all(|n| n["cpu.busy_s"] > 0.0));
    match &taken.of("innodb")[0].values {
        SampleValues::Text(text) => assert!(text.contains("END OF INNODB MONITOR OUTPUT")),
        other => panic!("{other:?}"),
    }
    let lists = taken.of("processlist");
    let sleeper = lists.iter().any(|s| match &s.values {
        SampleValues::Table(columns, rows) => {
            assert_eq!(columns.last().unwrap(), "INFO");
            rows.iter().any(|row| row.last().unwrap().contains("SLEEP(0.6)"))
        }
        _ => false,
    });
    assert!(sleeper, "{lists:?}");
    for list in lists {
        if let SampleValues::Table(_, rows) = &list.values {
            assert!(rows.iter().all(|row| !row.last().unwrap().contains("processlist")));
        }
    }
}

#[test]
fn variables_are_taken_at_both_ends_with_their_origin() {
    let server = fixture::with(&[("innodb_buffer_pool_size", "33554432")]);
    let taken = sample(server.target(), &["variables"], |_| {
        command(&server, "SET GLOBAL innodb_io_capacity = 345");
    });
    let tables = taken.of("variables");
    assert_eq!(tables.len(), 2);
    let end = sweat::archive::join_variables(&tables[0].values, Some(&tables[1].values));
    let find = |name: &str| end.iter().find(|v| v.name == name).unwrap();
    let pool = find("innodb_buffer_pool_size");
    assert_eq!((pool.start.as_str(), pool.origin.as_deref()), ("33554432", Some("command-line")));
    assert_eq!(pool.end.as_deref(), Some("33554432"));
    assert_eq!(find("innodb_io_capacity").end.as_deref(), Some("345"));
    assert_eq!(find("innodb_io_capacity").origin.as_deref(), Some("compile-time"));
}

#[test]
fn without_a_privilege_there_is_one_gap_and_no_error() {
    gaps_of_the_poor(&fixture::mariadb());
    if let Some(server) = fixture::mysql() {
        gaps_of_the_poor(&server);
    }
}

fn gaps_of_the_poor(server: &Fixture) {
    command(server, "CREATE USER poor@localhost");
    let taken = sample(&target_of(server, "poor"), &[], |_| pause(550));
    for probe in ["innodb", "processlist"] {
        assert_eq!(taken.gaps(probe), ["needs PROCESS"], "{probe}");
        assert_eq!(taken.of(probe).len(), 1);
    }
    assert!(taken.numbers("status").len() >= 2);
    assert_eq!(taken.pid, Some(pid(server)));
    assert!(taken.gaps("variables").is_empty());
}

#[test]
fn a_restart_leaves_a_gap_and_sampling_goes_on() {
    let mut server = fixture::mariadb();
    let target = server.target().clone();
    let mut pids = Vec::new();
    let taken = sample(&target, &["status", "process", "host"], |_| {
        pause(350);
        pids.push(pid(&server));
        signal(&server, Signal::KILL);
        pause(350);
        server.sandbox.start(&Vec::new()).unwrap();
        pids.push(pid(&server));
        pause(450);
    });
    // Ticks missed on a busy machine are gaps too, but of another kind.
    let seen = |s: &&ProbeSample| match &s.values {
        SampleValues::Gap(why) if why.contains("connection") => Some(false),
        SampleValues::Gap(_) => None,
        _ => Some(true),
    };
    let words: Vec<bool> = taken.of("status").iter().filter_map(seen).collect();
    let turns = words.windows(2).filter(|w| w[0] != w[1]).count();
    assert_eq!((words[0], words[words.len() - 1], turns), (true, true, 2), "{words:?}");
    assert_eq!(taken.pid, Some(pids[1]));
    let seen = taken.numbers("process");
    assert_eq!(seen[0]["process.pid"], f64::from(pids[0]));
    assert_eq!(seen.last().unwrap()["process.pid"], f64::from(pids[1]));
    let host = taken.gaps("host");
    assert!(host.iter().all(|why| why.contains("missed")), "{host:?}");
}

#[test]
fn a_server_that_hangs_holds_up_neither_the_host_nor_the_end() {
    let server = fixture::mariadb();
    let mut hung = 0;
    let taken = sample(server.target(), &[], |clock| {
        pause(250);
        signal(&server, Signal::STOP);
        hung = clock.now().0;
        pause(700);
    });
    signal(&server, Signal::CONT);
    assert!(taken.stopped_in < Duration::from_secs(10), "{:?}", taken.stopped_in);
    let after = |probe: &str| {
        taken
            .of(probe)
            .iter()
            .filter(|s| s.planned.0 > hung && !matches!(s.values, SampleValues::Gap(_)))
            .count()
    };
    assert!(after("host") >= 3, "{}", after("host"));
    assert_eq!(after("status"), 0);
    let names: Vec<&str> = taken.costs.iter().map(|c| c.probe).collect();
    assert!(names.contains(&"status"), "what it cost is known all the same: {names:?}");
}

#[test]
fn cost_is_recorded_and_small() {
    let server = fixture::mariadb();
    let taken = sample(server.target(), &[], |_| pause(1000));
    let names: Vec<&str> = taken.costs.iter().map(|c| c.probe).collect();
    assert_eq!(
        names,
        ["status", "innodb", "processlist", "variables", "host", "process"],
        "{:?}",
        taken.costs
    );
    for cost in &taken.costs {
        let counted = taken.of(cost.probe).len() as u64;
        let sum: u64 = taken.of(cost.probe).iter().map(|s| s.ended.since(s.began).0).sum();
        assert!(cost.samples > 0 && cost.samples <= counted, "{cost:?}");
        assert_eq!(cost.total_ns, sum, "{cost:?}");
    }
}

#[test]
fn counters_of_now_hold_server_process_and_disk() {
    let server = fixture::mariadb();
    let mut session = server.target().connect(&Stop::new()).unwrap();
    let peer = session.peer_pid();
    assert_eq!(peer, Some(pid(&server)));
    let before = counters_now(Some(&mut session), peer).unwrap();
    session.run_command("CREATE DATABASE d").unwrap();
    session.run_command("CREATE TABLE d.t (a LONGBLOB)").unwrap();
    session.run_command("INSERT INTO d.t VALUES (REPEAT('x', 8000000))").unwrap();
    session.run_command("FLUSH TABLES d.t FOR EXPORT").unwrap();
    let after = counters_now(Some(&mut session), peer).unwrap();
    let rise = |name: &str| after[name] - before[name];
    assert!(rise("Com_insert") == 1.0 && rise("Uptime") >= 0.0);
    assert!(rise("process.write_bytes") > 8e6, "{}", rise("process.write_bytes"));
    assert!(rise("cpu.busy_s") >= 0.0);
    let disks: std::collections::BTreeSet<&str> =
        after.keys().filter_map(|k| k.strip_prefix("disk.")?.split('.').next()).collect();
    assert!(!disks.is_empty());
    let alone = counters_now(None, None).unwrap();
    assert!(alone.contains_key("cpu.user_s") && !alone.contains_key("Uptime"));
}
