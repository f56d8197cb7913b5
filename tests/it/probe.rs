//! The room `probe` against a real server.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start servers and wait for them"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sweat::base::{RealClock, Stop};
use sweat::plan::{AddressPlan, ProbePlan};
use sweat::probe::{Cost, Sample, Sampler, Values, counters_now};
use sweat::target::Target;

/// A private server that can be killed and started again on the same data.
struct Server {
    dir: tempfile::TempDir,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start() -> Server {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", dir.path().join("data").display()))
            .arg("--user=root")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("mariadb-install-db is installed");
        assert!(made.success());
        let child = spawn(dir.path());
        let server = Server { dir, child };
        server.wait();
        server
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    fn wait(&self) {
        let began = Instant::now();
        while self.target("root").connect(&Stop::new()).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "the server doesn't answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = spawn(self.dir.path());
        self.wait();
    }

    fn target(&self, user: &str) -> Target {
        let plan = AddressPlan {
            socket: Some(self.socket()),
            user: Some(user.to_owned()),
            ..AddressPlan::default()
        };
        Target::new(&plan).unwrap()
    }

    fn command(&self, sql: &str) {
        self.target("root").connect(&Stop::new()).unwrap().command(sql).unwrap();
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(name).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }
}

fn spawn(dir: &Path) -> Child {
    Command::new("mariadbd")
        .args(["--no-defaults", "--user=root", "--skip-networking"])
        .args(["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0"])
        .arg(format!("--datadir={}", dir.join("data").display()))
        .arg(format!("--socket={}", dir.join("s").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mariadbd is installed")
}

/// Samples of one run of the sampler, while `work` runs.
struct Taken {
    clock: RealClock,
    samples: Vec<Sample>,
    costs: Vec<Cost>,
    pid: Option<u32>,
    stopped_in: Duration,
}

const TICK: Duration = Duration::from_millis(100);

fn sample(target: &Target, names: &[&str], work: impl FnOnce()) -> Taken {
    let clock = RealClock::start();
    let names = names.iter().map(|n| (*n).to_owned()).collect();
    let plan = ProbePlan { names, interval: TICK };
    let (out, samples) = mpsc::channel();
    let sampler = Sampler::start(&plan, Some(target), None, clock, &out).unwrap();
    work();
    let pid = sampler.pid();
    let began = Instant::now();
    let costs = sampler.stop();
    let stopped_in = began.elapsed();
    drop(out);
    Taken { clock, samples: samples.iter().collect(), costs, pid, stopped_in }
}

impl Taken {
    fn of(&self, probe: &str) -> Vec<&Sample> {
        self.samples.iter().filter(|s| s.probe == probe).collect()
    }

    fn numbers(&self, probe: &str) -> Vec<BTreeMap<String, f64>> {
        let numbers = |s: &&Sample| match &s.values {
            Values::Numbers(n) | Values::Mixed(n, _) => Some(n.iter().cloned().collect()),
            _ => None,
        };
        self.of(probe).iter().filter_map(numbers).collect()
    }

    fn gaps(&self, probe: &str) -> Vec<&str> {
        let gaps =
            self.samples.iter().filter(|s| s.probe == probe).filter_map(|s| match &s.values {
                Values::Gap(why) => Some(why.as_str()),
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
    let server = Server::start();
    let taken = sample(&server.target("root"), &[], || {
        let mut session = server.target("root").connect(&Stop::new()).unwrap();
        session.command("DO SLEEP(0.6)").unwrap();
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
    assert!(late[late.len() / 2] < 20_000_000, "late by {late:?} ns");
    for probe in ["status", "host", "process", "processlist"] {
        let good = taken.of(probe).len() - taken.gaps(probe).len();
        assert!(good >= 6, "{probe}: {good} of {:?}", taken.gaps(probe));
    }

    let questions: Vec<f64> = taken.numbers("status").iter().map(|n| n["Questions"]).collect();
    assert!(questions.windows(2).all(|w| w[0] < w[1]), "{questions:?}");
    assert_eq!(taken.pid, Some(server.child.id()));
    let process = taken.numbers("process");
    let last = process.last().unwrap();
    assert_eq!(last["process.pid"], f64::from(server.child.id()));
    for name in ["process.read_bytes", "process.cpu_user_s", "process.threads_ran_s"] {
        assert!(last.contains_key(name), "{name}");
    }
    assert!(last["process.resident_bytes"] > 1e7);
    assert!(taken.numbers("host").iter().all(|n| n["cpu.busy_s"] > 0.0));
    match &taken.of("innodb")[0].values {
        Values::Text(text) => assert!(text.contains("END OF INNODB MONITOR OUTPUT")),
        other => panic!("{other:?}"),
    }
    let lists = taken.of("processlist");
    let sleeper = lists.iter().any(|s| match &s.values {
        Values::Table(columns, rows) => {
            assert_eq!(columns.last().unwrap(), "INFO");
            rows.iter().any(|row| row.last().unwrap().contains("SLEEP(0.6)"))
        }
        _ => false,
    });
    assert!(sleeper, "{lists:?}");
    for list in lists {
        if let Values::Table(_, rows) = &list.values {
            assert!(rows.iter().all(|row| !row.last().unwrap().contains("processlist")));
        }
    }
}

#[test]
fn variables_are_taken_at_both_ends_with_their_origin() {
    let server = Server::start();
    let taken = sample(&server.target("root"), &["variables"], || {
        server.command("SET GLOBAL innodb_io_capacity = 345");
    });
    let tables = taken.of("variables");
    assert_eq!(tables.len(), 2);
    let end = sweat::archive::variables(&tables[0].values, Some(&tables[1].values));
    let find = |name: &str| end.iter().find(|v| v.name == name).unwrap();
    let pool = find("innodb_buffer_pool_size");
    assert_eq!((pool.start.as_str(), pool.origin.as_deref()), ("33554432", Some("command-line")));
    assert_eq!(pool.end.as_deref(), Some("33554432"));
    assert_eq!(find("innodb_io_capacity").end.as_deref(), Some("345"));
    assert_eq!(find("innodb_io_capacity").origin.as_deref(), Some("compile-time"));
}

#[test]
fn without_a_privilege_there_is_one_gap_and_no_error() {
    let server = Server::start();
    server.command("CREATE USER poor@localhost");
    let taken = sample(&server.target("poor"), &[], || pause(550));
    for probe in ["innodb", "processlist"] {
        assert_eq!(taken.gaps(probe), ["needs PROCESS"], "{probe}");
        assert_eq!(taken.of(probe).len(), 1);
    }
    assert!(taken.numbers("status").len() >= 3);
    assert_eq!(taken.pid, Some(server.child.id()));
    assert!(taken.gaps("variables").is_empty());
}

#[test]
fn a_restart_leaves_a_gap_and_sampling_goes_on() {
    let mut server = Server::start();
    let target = server.target("root");
    let mut pids = Vec::new();
    let taken = sample(&target, &["status", "process", "host"], || {
        pause(350);
        pids.push(server.child.id());
        server.kill();
        pause(350);
        server.start_again();
        pids.push(server.child.id());
        pause(450);
    });
    let words: Vec<bool> =
        taken.of("status").iter().map(|s| !matches!(s.values, Values::Gap(_))).collect();
    let turns = words.windows(2).filter(|w| w[0] != w[1]).count();
    assert_eq!((words[0], *words.last().unwrap(), turns), (true, true, 2), "{words:?}");
    assert!(taken.gaps("status").iter().all(|why| why.contains("connection")));
    assert_eq!(taken.pid, Some(pids[1]));
    let seen = taken.numbers("process");
    assert_eq!(seen[0]["process.pid"], f64::from(pids[0]));
    assert_eq!(seen.last().unwrap()["process.pid"], f64::from(pids[1]));
    assert!(taken.gaps("host").is_empty(), "{:?}", taken.gaps("host"));
}

#[test]
fn a_server_that_hangs_holds_up_neither_the_host_nor_the_end() {
    let server = Server::start();
    let taken = sample(&server.target("root"), &[], || {
        pause(250);
        server.signal("-STOP");
        pause(700);
    });
    server.signal("-CONT");
    assert!(taken.stopped_in < Duration::from_millis(200), "{:?}", taken.stopped_in);
    let good = taken.of("host").len() - taken.gaps("host").len();
    assert!(good >= 7, "{good}");
    assert!(taken.of("status").len() <= 4);
}

#[test]
fn cost_is_recorded_and_small() {
    let server = Server::start();
    let taken = sample(&server.target("root"), &[], || pause(1000));
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
    let server = Server::start();
    let mut session = server.target("root").connect(&Stop::new()).unwrap();
    let pid = session.peer_pid();
    assert_eq!(pid, Some(server.child.id()));
    let before = counters_now(Some(&mut session), pid).unwrap();
    session.command("CREATE DATABASE d").unwrap();
    session.command("CREATE TABLE d.t (a LONGBLOB)").unwrap();
    session.command("INSERT INTO d.t VALUES (REPEAT('x', 8000000))").unwrap();
    session.command("FLUSH TABLES d.t FOR EXPORT").unwrap();
    let after = counters_now(Some(&mut session), pid).unwrap();
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
