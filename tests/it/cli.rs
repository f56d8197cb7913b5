//! The program as people run it: words, exit codes, faults.

use std::io::Read as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sweat::archive::{self, RunState, TrialEnding};
use sweat::server::ServerControl as _;

use crate::fixture::{self, Fixture};

/// The program, in a world of its own: no option files, no home of the user's, its own folder for runs.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::Builder::new().prefix("sweat-cli-").tempdir().unwrap() }
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        program(self.dir.path(), words)
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program runs")
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program runs")
    }

    /// The only run of this world.
    pub(crate) fn record(&self) -> archive::RunRecord {
        archive::read_run(&archive::latest_run(&self.runs()).expect("there is a run")).unwrap()
    }
}

/// The program at home in a folder, with nothing of ours about it.
#[expect(clippy::disallowed_methods, reason = "the test runs the program itself")]
pub(crate) fn program(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweat"));
    command
        .args(words)
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SWEAT_HOME", dir.join("home"))
        .stdin(Stdio::null());
    command
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks the exit code, showing everything if it is another one.
pub(crate) fn expect(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", out(output), err(output));
}

#[expect(clippy::disallowed_methods, reason = "the test waits for another process")]
pub(crate) fn nap(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[expect(clippy::disallowed_methods, reason = "the test times another process")]
fn now() -> Instant {
    Instant::now()
}

/// Long before what a program does would be done, however busy the machine is.
const PROMPT: Duration = Duration::from_secs(15);

/// Waits until a condition holds, at most 20 s.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let began = now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        nap(20);
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_child(child);
    kill_process(pid, signal).expect("the program is there");
}

/// Waits for the end and gives how long it took.
pub(crate) fn end(child: Child, within: Duration) -> (Output, Duration) {
    let began = now();
    let output = child.wait_with_output().expect("the program ends");
    let took = began.elapsed();
    assert!(took < within, "took {took:?}\n{}\n{}", out(&output), err(&output));
    (output, took)
}

/// Whether the load of the world's run has kept an interval yet.
pub(crate) fn is_under_way(world: &World) -> bool {
    let Ok(dir) = archive::latest_run(&world.runs()) else { return false };
    let trials = std::fs::read_dir(dir.join("trials")).into_iter().flatten().flatten();
    trials.into_iter().any(|t| {
        std::fs::metadata(t.path().join("intervals.jsonl")).is_ok_and(|meta| meta.len() > 0)
    })
}

fn socket(fixture: &Fixture) -> String {
    fixture.sandbox.meta().socket.display().to_string()
}

/// A server with the tables of a small point-select load.
fn prepared() -> (World, Fixture) {
    let (world, fixture) = (World::new(), fixture::mariadb());
    fixture.sql("create database sbtest");
    let words = ["bench", "oltp_point_select", "prepare", "-uroot", "-Dsbtest", "-S"];
    let output = world.run(&[&words[..], &[&socket(&fixture), "--table-size=1000"]].concat());
    expect(&output, 0);
    assert_eq!(fixture.sql("select count(*) from sbtest.sbtest1"), "1000");
    (world, fixture)
}

fn point_select<'a>(socket: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words =
        ["bench", "oltp_point_select", "-uroot", "-Dsbtest", "--table-size=1000", "-S", socket];
    [&words[..], more].concat()
}

#[test]
fn a_load_on_nothing_is_summed_up_on_stdout() {
    let world = World::new();
    let output = world.run(&["bench", "null", "--time=1", "--interval=0.5", "--seed=7"]);
    expect(&output, 0);
    let text = out(&output);
    assert!(text.lines().last().unwrap().contains("events/s"), "{text}");
    assert!(text.contains("[  0.5 s]") && text.contains("[    1 s]"), "{text}");
    let run = world.record();
    assert_eq!((run.meta.state, run.meta.seed), (RunState::Done, 7));
    assert_eq!(run.trials[0].intervals.len(), 2);
    assert!(archive::latest_run(&world.runs()).unwrap().join("report.html").exists());
}

#[test]
fn programs_find_nothing_but_json_on_stdout() {
    let world = World::new();
    let output = world.run(&["bench", "null", "--events=1000", "--format=json"]);
    expect(&output, 0);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(value.is_object());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::new();
    let mut child = world.start(&["bench", "null", "--time=1", "--interval=0.1"]);
    let mut first = [0; 1];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let (output, _) = end(child, Duration::from_secs(10));
    expect(&output, 0);
    assert!(!err(&output).contains("error"), "{}", err(&output));
}

#[test]
fn wrong_words_are_told_together_with_what_is_right() {
    let world = World::new();
    let output = world.run(&["bench", "nul"]);
    expect(&output, 2);
    assert!(err(&output).contains("hint:") && err(&output).contains("null"), "{}", err(&output));
    let output = world.run(&["bench", "null", "--threads=0", "--rate=fast", "--engine=steam"]);
    expect(&output, 2);
    assert_eq!(err(&output).matches("error: ").count(), 3, "{}", err(&output));
    let output = world.run(&["bench", "oltp_read_only", "--tabels=4"]);
    expect(&output, 2);
    assert!(err(&output).contains("--tables"), "{}", err(&output));
    std::fs::write(world.dir.path().join("p.toml"), "[workload]\nkind = \"nul\"\n[loud]\n")
        .unwrap();
    let output = world.run(&["bench", "--plan=p.toml"]);
    expect(&output, 2);
    let text = err(&output);
    assert!(text.contains("p.toml line 2") && text.contains("p.toml line 3: loud"), "{text}");
    assert!(!world.runs().exists());
}

#[test]
fn a_plan_file_says_what_flags_may_change() {
    let world = World::new();
    let plan = "name = \"mine\"\nseed = 5\n[workload]\nkind = \"null\"\n[load]\nevents = 2000\n";
    std::fs::write(world.dir.path().join("p.toml"), plan).unwrap();
    expect(&world.run(&["bench", "--plan=p.toml", "--events=3000"]), 0);
    let run = world.record();
    assert_eq!((run.meta.name.as_str(), run.meta.seed), ("mine", 5));
    assert_eq!(run.trials[0].response[0].len(), 3000);
}

#[test]
fn the_process_list_shows_no_password() {
    let world = World::new();
    for given in ["-pgeheim", "--password=geheim", "--mysql-password=geheim"] {
        let child = world.start(&["bench", "null", given, "--time=20"]);
        let path = format!("/proc/{}/cmdline", child.id());
        until("the load", || is_under_way(&world));
        let shown = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        signal(&child, Signal::INT);
        let (output, _) = end(child, PROMPT);
        expect(&output, 130);
        assert!(shown.contains("bench") && !shown.contains("eheim"), "{shown:?}");
        std::fs::remove_dir_all(world.runs()).unwrap();
    }
}

#[test]
fn a_password_that_stands_apart_is_not_shown() {
    let world = World::new();
    let placements: [&[&str]; 4] = [
        &["bench", "null", "-p", "geheim"],
        &["bench", "-p", "geheim", "null"],
        &["-p", "geheim", "doctor"],
        &["warm", "status", "--password", "geheim"],
    ];
    for words in placements {
        let output = world.run(words);
        expect(&output, 2);
        assert!(!err(&output).contains("geheim"), "{words:?}: {}", err(&output));
    }
    assert!(err(&world.run(placements[3])).contains("-pPASSWORD"));
}

#[test]
fn a_log_that_is_still_written_counts_to_its_last_record() {
    let world = World::new();
    let mut command = world.command(&["digest", "-", "--format=json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut log = child.stdin.take().expect("it is a pipe");
    let record = "# User@Host: a[a] @ localhost []  Id: 1\n\
        # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n\
        SET timestamp=1795255200;\nselect 1;\n";
    log.write_all(record.repeat(2).as_bytes()).unwrap();
    nap(900);
    signal(&child, Signal::INT);
    let (output, _) = end(child, PROMPT);
    drop(log);
    expect(&output, 130);
    assert!(out(&output).contains("\"statements\": 2"), "{}", out(&output));
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    for which in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        let child = world.start(&["bench", "null", "--time=60", "--interval=0.2"]);
        until("the load", || is_under_way(&world));
        signal(&child, which);
        let (output, _) = end(child, PROMPT);
        expect(&output, 130);
        assert!(out(&output).contains("events/s"), "{}", out(&output));
        let run = world.record();
        assert_eq!(run.meta.state, RunState::Interrupted);
        assert!(!run.trials[0].intervals.is_empty() && run.damage.is_empty(), "{:?}", run.damage);
    }
}

#[test]
fn a_server_that_can_not_be_used_is_said_before_anything_begins() {
    let (world, fixture) = prepared();
    let socket = socket(&fixture);
    let refused = |words: &[&str], said: &str| {
        let output = world.run(words);
        expect(&output, 3);
        let text = err(&output);
        assert!(
            text.contains("error: ") && text.contains("hint: ") && text.contains(said),
            "{text}"
        );
        assert!(!world.runs().exists(), "{text}");
    };
    fixture.sql("create user bob@localhost identified by 'right'");
    refused(&point_select(&socket, &["-ubob", "-pwrong"])[..], "1045");
    refused(&point_select("/nowhere/s", &[])[..], "/nowhere/s");
    let words = ["bench", "oltp_point_select", "-uroot", "-Dnone", "-S", &socket];
    refused(&words, "1049");
}

#[test]
fn a_folder_that_takes_no_runs_is_said_before_the_load() {
    let world = World::new();
    std::fs::write(world.dir.path().join("file"), "").unwrap();
    let began = now();
    let output = world.run(&["bench", "null", "--time=10", "--runs-dir=file/runs"]);
    expect(&output, 2);
    assert!(
        err(&output).contains("hint: ") && err(&output).contains("--runs-dir"),
        "{}",
        err(&output)
    );
    assert!(began.elapsed() < Duration::from_secs(8), "it did not begin the load");
}

/// A limit of file sizes stands in for a full disk: writes fail in the same way, in the middle of the load.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test runs the program under a limit")]
fn a_disk_that_fills_up_costs_the_rest_and_not_what_was_measured() {
    let world = World::new();
    let limited = "trap '' XFSZ; ulimit -f 60; exec \"$@\"";
    let sweat = env!("CARGO_BIN_EXE_sweat");
    let output = Command::new("sh")
        .args(["-c", limited, "sh", sweat, "bench", "null", "--time=3", "--interval=0.02"])
        .current_dir(world.dir.path())
        .output()
        .expect("a shell runs");
    expect(&output, 3);
    assert!(
        err(&output).contains("error: ") && err(&output).contains("--runs-dir"),
        "{}",
        err(&output)
    );
    assert!(out(&output).contains("events/s"), "{}", out(&output));
    assert!(!world.record().trials[0].intervals.is_empty());
}

#[test]
fn option_files_and_environment_say_who_we_are() {
    let (world, fixture) = prepared();
    fixture.sql("create user anna@localhost identified by 's3cr#t \"x\"'");
    fixture.sql("grant select on sbtest.* to anna@localhost");
    let login = include_bytes!("../data/login/mylogin.cnf");
    let path = world.dir.path().join(".mylogin.cnf");
    std::fs::write(&path, login).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let text = format!("[client]\nsocket={}\n[sweat]\ndatabase=sbtest\n", socket(&fixture));
    std::fs::write(world.dir.path().join("my.cnf"), text).unwrap();
    let words = ["bench", "oltp_point_select", "--table-size=1000", "--events=10"];
    let output = world.run(&[&words[..], &["--defaults-file=my.cnf"]].concat());
    expect(&output, 0);
    let run = world.record();
    assert!(run.plan.contains("user = \"anna\"") && !run.plan.contains("s3cr"), "{}", run.plan);
    // The run's own plan runs again once the password is there, and its flags can be changed.
    let plan = archive::latest_run(&world.runs()).unwrap().join("plan.toml");
    let again = ["bench", "--events=20", "--plan", plan.to_str().unwrap()];
    expect(&world.run(&[&again[..], &["--no-login-paths"]].concat()), 3);
    expect(&world.run(&again), 0);
    let words = [&words[..], &["--defaults-file=my.cnf", "--no-login-paths", "-uanna"]].concat();
    let output = world.command(&words).env("MYSQL_PWD", "s3cr#t \"x\"").output().unwrap();
    expect(&output, 0);
    expect(&world.run(&words), 3);
}

#[test]
fn a_killed_server_ends_the_run_with_what_was_measured() {
    let (world, mut fixture) = prepared();
    let socket = socket(&fixture);
    let child =
        world.start(&point_select(&socket, &["--threads=4", "--time=60", "--interval=0.2"]));
    until("the load", || is_under_way(&world));
    nap(300);
    fixture.sandbox.kill();
    let (output, _) = end(child, PROMPT);
    expect(&output, 3);
    assert!(out(&output).contains("events/s"), "{}", out(&output));
    assert!(err(&output).contains("error: "), "{}", err(&output));
    let run = world.record();
    assert_eq!(run.meta.state, RunState::Failed);
    assert!(!run.trials[0].response[0].is_empty());
    assert_eq!(run.trials[0].reason, TrialEnding::TargetLost);
}

#[test]
fn with_reconnect_the_load_goes_on_after_a_restart() {
    let (world, mut fixture) = prepared();
    let socket = socket(&fixture);
    let words = ["--threads=2", "--time=8", "--interval=0.2", "--reconnect"];
    let child = world.start(&point_select(&socket, &words));
    until("the load", || is_under_way(&world));
    fixture.sandbox.kill();
    fixture.sandbox.start(&Vec::new()).unwrap();
    let (output, _) = end(child, Duration::from_secs(20));
    expect(&output, 0);
    let run = world.record();
    assert_eq!(run.meta.state, RunState::Done);
    assert!(run.trials[0].reconnects >= 2, "{}", run.trials[0].reconnects);
    let last = run.trials[0].intervals.last().unwrap();
    assert!(last.events[0] > 0, "nothing happened after the restart");
}

#[test]
fn a_probe_without_its_privilege_is_a_gap_and_no_abort() {
    let (world, fixture) = prepared();
    fixture.sql(
        "create user poor@localhost identified by 'geheim'; \
         grant select on sbtest.* to poor@localhost",
    );
    let socket = socket(&fixture);
    let output = world.run(&point_select(&socket, &["-upoor", "-pgeheim", "--time=2"]));
    expect(&output, 0);
    let run = world.record();
    let gaps: Vec<_> = run.samples.iter().filter_map(|s| s.gap.as_deref()).collect();
    assert!(gaps.iter().any(|gap| gap.contains("PROCESS")), "{gaps:?}");
    assert!(out(&output).contains("PROBE-GAP"), "{}", out(&output));
    assert!(!folder_contains(&world.runs(), "geheim"));
}

#[test]
fn an_account_that_may_only_read_is_refused_before_a_run_is_made() {
    let (world, fixture) = prepared();
    fixture.sql(
        "create user reader@localhost; grant select on sbtest.* to reader@localhost; \
         create user writer@localhost; grant all on sbtest.* to writer@localhost",
    );
    let socket = socket(&fixture);
    let load = |user: &str| {
        let words = ["bench", "oltp_read_write", "-Dsbtest", "--table-size=1000", "--time=1"];
        world.run(&[&words[..], &["-S", &socket, "-u", user]].concat())
    };
    let output = load("reader");
    expect(&output, 2);
    for word in ["reader@localhost", "UPDATE, DELETE, INSERT", "hint: grant it"] {
        assert!(err(&output).contains(word), "{}", err(&output));
    }
    assert!(!world.runs().exists(), "a run folder was made");
    fixture.sql("set global read_only = 1");
    let output = load("writer");
    expect(&output, 2);
    assert!(err(&output).contains("read_only is on"), "{}", err(&output));
    assert!(!world.runs().exists(), "a run folder was made");
    fixture.sql("set global read_only = 0");
    expect(&load("writer"), 0);
}

fn folder_contains(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return folder_contains(&path, text);
        }
        std::fs::read(&path).is_ok_and(|b| b.windows(text.len()).any(|w| w == text.as_bytes()))
    })
}

#[test]
fn ctrl_c_while_data_are_made_stops_within_a_second() {
    let (world, fixture) = (World::new(), fixture::mariadb());
    fixture.sql("create database sbtest");
    let socket = socket(&fixture);
    let words = ["bench", "oltp_read_write", "prepare", "-uroot", "-Dsbtest", "--tables=2", "-S"];
    let child = world.start(&[&words[..], &[&socket, "--table-size=2000000"]].concat());
    let count = "select count(*) from information_schema.tables where table_name like 'sbtest%'";
    until("a table", || fixture.sql(count) != "0");
    nap(300);
    signal(&child, Signal::INT);
    let (output, _) = end(child, PROMPT);
    expect(&output, 130);
}

#[test]
fn a_throw_away_server_goes_with_the_run_also_when_it_is_cut() {
    let world = World::new();
    let words = ["bench", "oltp_point_select", "--sandbox", "--table-size=1000", "--time=60"];
    let child = world.start(&words);
    until("the load", || is_under_way(&world));
    let servers =
        || std::fs::read_dir(world.dir.path().join("home/sandbox")).map_or(0, Iterator::count);
    assert_eq!(servers(), 1);
    signal(&child, Signal::INT);
    let (output, took) = end(child, PROMPT);
    expect(&output, 130);
    assert_eq!(servers(), 0, "after {took:?}");
    assert_eq!(world.record().meta.state, RunState::Interrupted);
}

#[test]
fn the_second_ctrl_c_leaves_at_once_and_leaves_no_server() {
    let world = World::new();
    let words = ["bench", "oltp_point_select", "--sandbox", "--table-size=1000", "--time=60"];
    let child = world.start(&words);
    until("the load", || is_under_way(&world));
    let server = children(child.id());
    assert_eq!(server.len(), 1, "{server:?}");
    signal(&child, Signal::INT);
    nap(30);
    signal(&child, Signal::INT);
    let (output, _) = end(child, PROMPT);
    expect(&output, 130);
    until("the server's end", || !Path::new(&format!("/proc/{}", server[0])).exists());
}

/// Processes started by this one that are servers.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists =
        tasks.map(|t| std::fs::read_to_string(t.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|l| l.split_whitespace().map(|p| p.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn more_sessions_than_the_server_takes_are_refused_before_the_load() {
    let fixture = fixture::with(&[("max_connections", "12")]);
    let world = World::new();
    fixture.sql("create database sbtest");
    let socket = socket(&fixture);
    let words = ["bench", "oltp_point_select", "prepare", "-uroot", "-Dsbtest", "-S", &socket];
    expect(&world.run(&words), 0);
    let words = ["bench", "oltp_point_select", "-uroot", "-Dsbtest", "--threads=50", "-S", &socket];
    let output = world.run(&words);
    expect(&output, 2);
    let text = err(&output);
    assert!(text.contains("--threads") && text.contains("max_connections"), "{text}");
}
