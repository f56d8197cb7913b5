//! `sweat watch` on a real server: stopped, restarted, killed, and read by others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sweat::archive::{SampleRecord, WatchEventKind, WatchReader};
use sweat::server::{ServerControl as _, Settings};

use crate::cli::{World, end, err, expect, nap, out, signal, until};
use crate::fixture::{self, Fixture};

const LONG: Duration = Duration::from_secs(60);

/// The only watch of a world.
fn folder(world: &World) -> PathBuf {
    sweat::archive::latest_run(&world.runs()).expect("there is a watch")
}

fn words<'a>(socket: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["watch", "--no-defaults", "-uroot", "-S", socket][..], more].concat()
}

fn socket(server: &Fixture) -> String {
    server.sandbox.meta().socket.display().to_string()
}

fn server_pid(server: &Fixture) -> Pid {
    let file = server.sql("select @@pid_file");
    let text = std::fs::read_to_string(file.trim()).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// Samples of the status: wall time of the tick in ms, `Queries`.
fn statuses(dir: &Path) -> Vec<(u64, f64)> {
    let mut found = Vec::new();
    let mut reader = WatchReader::open(dir).unwrap().unwrap();
    reader.for_each_sample(&(0..u64::MAX), &mut |segment, sample: SampleRecord| {
        if let Some(queries) = sample.numbers.get("Queries") {
            let unix_ns = segment.origin_unix_ns + sample.planned_ns;
            assert_eq!(unix_ns % 1_000_000, 0, "off the wall clock");
            found.push((unix_ns / 1_000_000, *queries));
        }
    });
    found
}

fn event_kinds(dir: &Path) -> Vec<WatchEventKind> {
    let mut reader = WatchReader::open(dir).unwrap().unwrap();
    reader.read_events(&(0..u64::MAX)).into_iter().map(|event| event.kind).collect()
}

/// The old script's reader, written anew: a row per stamp, and behind it what `Queries` grew by per second.
const AWK: &str = r#"
/^TS/ { split($2, t, "."); load = substr($(NF - 2), 1, length($(NF - 2)) - 1)
        printf "\n%s %s %s %s", t[1], $3, $4, load; now = t[1] }
/Queries/ { printf " %.2f %d", ($2 - last) / (now - before), $2; last = $2; before = now }
END { print "" }
"#;

#[expect(clippy::disallowed_methods, reason = "the test runs awk")]
fn awk(files: &[PathBuf]) -> Vec<Vec<String>> {
    let output = Command::new("awk").arg(AWK).args(files).output().expect("awk runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().filter(|line| !line.is_empty());
    rows.map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn classic_files(dir: &Path, part: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_str().unwrap().ends_with(part)).collect();
    files.sort();
    files
}

#[test]
fn a_server_that_stops_leaves_a_gap_and_no_doubled_sample() {
    let (world, server) = (World::new(), fixture::mariadb());
    let (socket, classic) = (socket(&server), world.dir.path().join("classic"));
    let more = ["--every", "1s", "--for", "12s", "--classic", classic.to_str().unwrap()];
    let child = world.start(&words(&socket, &more));
    let lines = || {
        let files = if classic.exists() { classic_files(&classic, "-status") } else { Vec::new() };
        if files.is_empty() { 0 } else { awk(&files).len() }
    };
    until("two rows", || lines() >= 2);
    let pid = server_pid(&server);
    kill_process(pid, Signal::STOP).unwrap();
    nap(4000);
    kill_process(pid, Signal::CONT).unwrap();
    let (output, _) = end(child, LONG);
    expect(&output, 0);
    assert!(err(&output).contains("s to answer"), "{}", err(&output));
    let text = out(&output);
    assert!(text.starts_with("Watched  ") && text.contains("\nCost     sweat "), "{text}");
    assert!(text.contains("server 0.") && text.lines().all(|line| line.len() <= 200), "{text}");

    let dir = folder(&world);
    let seen = statuses(&dir);
    let gap = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
    assert!(gap >= 3000, "no row is missing: {seen:?}");
    assert!(seen.windows(2).all(|pair| pair[1].0 > pair[0].0 && pair[0].0 % 1000 == 0));
    assert!(event_kinds(&dir).contains(&WatchEventKind::NoAnswer));

    let rows = awk(&classic_files(&classic, "-status"));
    assert!(rows.len() >= 4 && rows.len() <= 10, "{rows:?}");
    assert!(rows.iter().all(|row| row.len() == 6), "two samples in one row: {rows:?}");
    // What the rows say adds up to what the counter grew by.
    let number = |row: &[String], field: usize| row[field].parse::<f64>().unwrap();
    let sum: f64 = rows
        .windows(2)
        .map(|pair| number(&pair[1], 4) * (number(&pair[1], 0) - number(&pair[0], 0)))
        .sum();
    let grown = number(rows.last().unwrap(), 5) - number(&rows[0], 5);
    assert!((sum - grown).abs() <= 0.01 * rows.len() as f64 * 12.0, "{sum} {grown}");
    for part in ["-innodbstatus", "-processlist"] {
        let text = std::fs::read_to_string(&classic_files(&classic, part)[0]).unwrap();
        assert!(text.contains("\n*************************** 1. row"), "{text}");
    }
    assert!(classic.join("mysql-variables").exists());
}

#[test]
fn a_restarted_server_is_waited_for_and_a_killed_watch_can_be_read() {
    let (world, mut server) = (World::new(), fixture::mariadb());
    let socket = socket(&server);
    let child = world.start(&words(&socket, &["--every", "100ms"]));
    until("samples", || world.runs().exists() && !statuses(&folder(&world)).is_empty());
    server.sandbox.stop().unwrap();
    let dir = folder(&world);
    until("the gap is told", || event_kinds(&dir).contains(&WatchEventKind::NoAnswer));
    server.sandbox.start(&Settings::new()).unwrap();
    until("the restart is told", || {
        let kinds = event_kinds(&dir);
        [WatchEventKind::Answered, WatchEventKind::Restarted].iter().all(|k| kinds.contains(k))
    });
    // What is written last is flushed within three seconds.
    let count = statuses(&dir).len();
    until("the samples after it", || statuses(&dir).len() > count);
    signal(&child, Signal::KILL);
    let _ = child.wait_with_output();
    let before = statuses(&dir);
    assert!(before.len() > count);
    let again = world.run(&words(&socket, &["--every", "100ms", "--for", "1s", "-q"]));
    expect(&again, 0);
    assert_eq!(err(&again), "");
    assert_eq!(statuses(&dir), before, "the next watch leaves it alone");
}

/// All that lies below a folder, unpacked.
#[expect(clippy::disallowed_methods, reason = "the test runs gzip")]
fn texts(dir: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all += &texts(&path);
            continue;
        }
        let unpacked = Command::new("gzip").arg("-dcf").arg(&path).output().expect("gzip runs");
        all += &String::from_utf8_lossy(&unpacked.stdout);
    }
    all
}

#[test]
fn values_of_others_stay_out_of_all_files_unless_asked_for() {
    let (world, server) = (World::new(), fixture::mariadb());
    server.sql("create user w identified by 'hushhush'; grant process on *.* to w");
    let socket = socket(&server);
    let classic = world.dir.path().join("classic");
    std::thread::scope(|scope| {
        let sleeper = server.sandbox.meta().socket.clone();
        scope.spawn(move || fixture::sql(&sleeper, "select sleep(4), 'moonstone'"));
        until("the sleeper", || server.sql("show processlist").contains("moonstone'"));
        let watch = |more: &[&str]| {
            let words = ["watch", "--no-defaults", "-uw", "-phushhush", "-S", &socket];
            let common = ["--every", "200ms", "--for", "900ms", "--classic"];
            let classic = [classic.to_str().unwrap()];
            let output = world.run(&[&words[..], &common, &classic, more].concat());
            expect(&output, 0);
            texts(world.dir.path())
        };
        let text = watch(&[]);
        assert!(text.contains("sleep(?), ?"), "the statement is not there at all");
        assert!(!text.contains("moonstone") && !text.contains("hushhush"));
        let text = watch(&["--unredacted"]);
        assert!(text.contains("moonstone") && !text.contains("hushhush"));
    });
}

#[test]
fn a_watch_ends_by_a_file_a_key_or_a_mistake() {
    let (world, server) = (World::new(), fixture::mariadb());
    let socket = socket(&server);
    let file = world.dir.path().join("on");
    std::fs::write(&file, "").unwrap();
    let named = file.to_str().unwrap();
    let child = world.start(&words(&socket, &["--while-file", named, "--probes", "host,status"]));
    until("it began", || world.runs().exists() && folder(&world).join("segments").exists());
    std::fs::remove_file(&file).unwrap();
    let (output, _) = end(child, LONG);
    expect(&output, 0);
    assert!(err(&output).contains(&format!("until {named} is removed")), "{}", err(&output));

    let child = world.start(&words(&socket, &["--name", "typed"]));
    until("it began", || {
        sweat::archive::list_runs(&world.runs()).unwrap().iter().any(|(_, m)| m.name == "typed")
    });
    signal(&child, Signal::INT);
    expect(&end(child, LONG).0, 130);
    assert!(sweat::archive::read_run(&folder(&world)).unwrap().damage.is_empty());

    let wrong = ["--every", "1ms", "--rotate", "1s", "--probes", "stauts", "--while-file", "/no"];
    let output = world.run(&words(&socket, &wrong));
    expect(&output, 2);
    for text in ["--every: 1ms is too short", "--rotate", "no probe `stauts`", "no file /no"] {
        assert!(err(&output).contains(text), "{text}: {}", err(&output));
    }
    let output = world.run(&words("/no/socket", &[]));
    expect(&output, 3);
}
