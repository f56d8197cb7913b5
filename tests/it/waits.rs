//! Waits of real servers: gathered, counted right, and the server left as it was.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sweat::analysis::{RunFindings, WaitFinding, WaitSource, analyse_run};
use sweat::archive;

use crate::cli::program;
use crate::fixture::{self, Fixture};

/// All switches of performance_schema that sweat ever touches. Threads by name: a thread may come and go.
const SETUP: &str = "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments \
    ORDER BY NAME; SELECT NAME, ENABLED FROM performance_schema.setup_consumers ORDER BY NAME; \
    SELECT DISTINCT NAME, INSTRUMENTED FROM performance_schema.threads WHERE TYPE = 'BACKGROUND' \
    ORDER BY NAME, INSTRUMENTED";
/// The one of MySQL alone.
const KINDS: &str = "SELECT NAME, ENABLED FROM performance_schema.setup_threads ORDER BY NAME";

const ON: &[(&str, &str)] =
    &[("performance_schema", "ON"), ("performance_schema_events_waits_history_long_size", "50000")];

fn setup(fixture: &Fixture) -> String {
    let kinds = "SELECT COUNT(*) FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = 'setup_threads'";
    let has_kinds = fixture.sql(kinds) == "1";
    fixture.sql(SETUP) + &if has_kinds { fixture.sql(KINDS) } else { String::new() }
}

fn sweat(dir: &Path, words: &[&str], code: i32) -> String {
    let output: Output = program(dir, words).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

/// Words that look at a server that sweat did not start.
fn foreign<'a>(socket: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["waits"];
    words.extend(more);
    words.extend(["-S", socket, "-u", "root", "-D", "bench", "--quiet", "--no-cost"]);
    words
}

fn socket(fixture: &Fixture) -> String {
    fixture.sandbox.meta().socket.display().to_string()
}

fn prepare(fixture: &Fixture) {
    fixture.sql("CREATE DATABASE bench");
    let socket = socket(fixture);
    let words = ["bench", "oltp_point_select", "prepare", "--table-size=2000", "--quiet"];
    let words = [&words[..], &["-S", &socket, "-u", "root", "-D", "bench"]].concat();
    sweat(fixture.dir.path(), &words, 0);
}

fn findings(dir: &Path) -> RunFindings {
    let run = archive::latest_run(&dir.join("runs")).unwrap();
    let run = archive::read_run(&run).unwrap();
    assert_eq!(run.damage, Vec::<String>::new());
    analyse_run(&run)
}

/// Counted by the server and read row by row, with times that make sense.
fn check(findings: &RunFindings, instrument: &str) -> WaitFinding {
    let whole: Vec<&WaitFinding> =
        findings.waits.iter().filter(|w| w.operation.is_empty()).collect();
    assert_eq!(whole.len(), 1, "{:?}", findings.waits);
    let wait = whole[0].clone();
    assert!(wait.instrument.ends_with(instrument), "{wait:?}");
    assert!(wait.count > 100, "{wait:?}");
    let (mean, max) = (wait.average_s.unwrap(), wait.max_s.unwrap());
    assert!(mean > 0.0 && mean < 0.1 && max >= mean && max < 10.0, "{wait:?}");
    assert!(wait.total_s / wait.count as f64 <= max + wait.tick_s.unwrap(), "{wait:?}");
    let tick = wait.tick_s.unwrap();
    assert!((1e-10..1e-6).contains(&tick), "a tick of {tick} s");
    wait
}

fn foreign_server_is_left_as_it_was(fixture: &Fixture, instrument: &str) {
    prepare(fixture);
    let before = setup(fixture);
    let (dir, socket) = (fixture.dir.path(), socket(fixture));
    let load = ["oltp_point_select", "--instrument", instrument, "--time=3", "--threads=2"];

    let words = foreign(&socket, &load);
    let said = sweat(dir, &words, 2);
    assert!(said.contains("--allow ps-setup"), "{said}");
    assert!(!dir.join("runs").exists(), "something was begun without consent");
    assert_eq!(setup(fixture), before, "without consent");

    let words = [&words[..], &["--table-size=2000", "--allow", "ps-setup"]].concat();
    let said = sweat(dir, &words, 0);
    assert!(said.contains(instrument), "{said}");
    assert_eq!(setup(fixture), before, "after a load");
    let wait = check(&findings(dir), instrument);
    assert!(wait.coverage.is_some_and(|c| c > 0.0), "{wait:?}");
    let (ratio, slack) = wait.clock.expect("two reads of the ring");
    assert!((ratio - 1.0).abs() < slack + 0.3, "its seconds are {ratio} of ours");

    // Again without a load of ours, and nothing to wait for.
    let words = foreign(&socket, &["--instrument", instrument, "--time=1"]);
    sweat(dir, &[&words[..], &["--allow", "ps-setup"]].concat(), 0);
    assert_eq!(setup(fixture), before, "after a look");
}

#[test]
fn a_foreign_mariadb_is_left_as_it_was() {
    foreign_server_is_left_as_it_was(&fixture::with(ON), "LOCK_table_cache");
}

#[test]
fn a_foreign_mysql_is_left_as_it_was() {
    if let Some(fixture) = fixture::mysql_with(ON) {
        foreign_server_is_left_as_it_was(&fixture, "hash_table_locks");
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let fixture = fixture::with(ON);
    let (dir, socket) = (fixture.dir.path(), socket(&fixture));
    fixture.sql("CREATE DATABASE bench");
    let look = |pattern: &str| {
        sweat(dir, &foreign(&socket, &["--instrument", pattern, "--allow", "ps-setup"]), 2)
    };
    let said = look("hash_table_locks");
    assert!(said.contains("since MariaDB 10.5") && said.contains("buf_pool_mutex"), "{said}");
    let said = look("LOCK_table_cahce");
    assert!(said.contains("wait/synch/mutex/sql/LOCK_table_cache"), "{said}");
    let said = look("%");
    assert!(said.contains("at most 16"), "{said}");

    let off = fixture::with(&[("performance_schema", "OFF")]);
    let socket = off.sandbox.meta().socket.display().to_string();
    off.sql("CREATE DATABASE bench");
    let said = sweat(dir, &foreign(&socket, &["--instrument", "buf_pool_mutex"]), 2);
    assert!(said.contains("performance_schema=ON"), "{said}");
    assert!(!dir.join("runs").exists());
}

#[test]
fn instances_that_make_no_difference_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = ["waits", "oltp_read_only", "--instrument", "mutex", "--sandbox", "--sweep"];
    let sweep = [&sweep[..], &["innodb_buffer_pool_instances=1,2,4"]].concat();
    let said = sweat(dir.path(), &sweep, 2);
    assert!(said.contains("since MariaDB 10.5 all values are the same server"), "{said}");
    if let Some(program) = fixture::mysqld() {
        let program = program.display().to_string();
        let small = [&sweep[..], &["--server", &program, "--pool=512M"]].concat();
        assert!(sweat(dir.path(), &small, 2).contains("takes 1 GiB"));
        let uneven = [&sweep[..], &["--server", &program, "--pool=1200M"]].concat();
        assert!(sweat(dir.path(), &uneven, 2).contains("--pool 1536M"));
    }
    assert!(!dir.path().join("home/sandbox").exists(), "a server was started");
}

/// Starts a long look and waits until the server is changed.
fn begun(fixture: &Fixture, instrument: &str, before: &str) -> Child {
    let socket = socket(fixture);
    let words = foreign(&socket, &["--instrument", instrument, "--time=60"]);
    let words = [&words[..], &["--allow", "ps-setup"]].concat();
    let mut command = program(fixture.dir.path(), &words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.expect("the program runs");
    let until = now() + Duration::from_secs(60);
    while fixture.sql(SETUP_CONSUMER) != "YES" {
        assert!(now() < until, "the consumer never goes on");
        nap(50);
    }
    assert_ne!(setup(fixture), before);
    child
}

const SETUP_CONSUMER: &str = "SELECT ENABLED FROM performance_schema.setup_consumers \
    WHERE NAME = 'events_waits_history_long'";

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

fn killed_and_restored(fixture: &Fixture, instrument: &str) {
    fixture.sql("CREATE DATABASE bench");
    let before = setup(fixture);
    let dir = fixture.dir.path();

    let mut child = begun(fixture, instrument, &before);
    kill_process(pid(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(setup(fixture), before, "after Ctrl-C");

    let mut child = begun(fixture, instrument, &before);
    kill_process(pid(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_ne!(setup(fixture), before, "a killed sweat puts nothing back");
    let run: PathBuf = archive::latest_run(&dir.join("runs")).unwrap();
    let run = run.display().to_string();
    let said = sweat(dir, &["restore", &run], 0);
    assert!(said.contains("performance_schema.setup_instruments"), "{said}");
    assert_eq!(setup(fixture), before, "after sweat restore");
    assert!(sweat(dir, &["restore", &run], 0).contains("nothing is left"));
    // A run that was cut can be reported.
    sweat(dir, &["report", &run], 0);
}

#[test]
fn ctrl_c_and_a_kill_leave_nothing_behind_on_mariadb() {
    killed_and_restored(&fixture::with(ON), "LOCK_table_cache");
}

#[test]
fn ctrl_c_and_a_kill_leave_nothing_behind_on_mysql() {
    if let Some(fixture) = fixture::mysql_with(ON) {
        killed_and_restored(&fixture, "hash_table_locks");
    }
}

#[test]
fn a_sandbox_tells_every_wait_and_what_looking_costs() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "waits",
        "oltp_point_select",
        "--instrument=LOCK_table_cache",
        "--sandbox",
        "--table-size=2000",
        "--rate=1000",
        "--threads=2",
        "--time=4",
        "--quiet",
    ];
    sweat(dir.path(), &words, 0);
    let findings = findings(dir.path());
    let wait = check(&findings, "LOCK_table_cache");
    // At this rate the ring holds all of a second, so that every wait is read, and none twice.
    assert_eq!(wait.source, WaitSource::Rows, "{wait:?}");
    assert!(wait.coverage.is_some_and(|c| c > 0.999), "{wait:?}");
    assert!(wait.p50_s.is_some() && wait.p99_s.is_some() && wait.top_share.is_some(), "{wait:?}");
    let parts: u64 =
        findings.waits.iter().filter(|w| !w.operation.is_empty()).map(|w| w.count).sum();
    // Rows and summary are read one after the other, while the server goes on.
    let all = (parts as f64 / wait.count as f64 - 1.0).abs() < 0.01;
    assert!(parts == 0 || all, "{:?}", findings.waits);
    // A point select opens its table once: waits go with events, so nothing but the load was counted.
    let events = findings.results.trials[0].events;
    assert!(wait.count >= events && wait.count < 4 * events, "{} for {events}", wait.count);
    let cost = findings.watch_cost.expect("it was looked at");
    assert_eq!(cost.pairs, 8);
    assert!(cost.share.ci95.is_some() && !cost.words.is_empty(), "{cost:?}");
}

#[expect(clippy::disallowed_methods, reason = "the test waits for another process")]
fn nap(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[expect(clippy::disallowed_methods, reason = "the test times another process")]
fn now() -> Instant {
    Instant::now()
}
