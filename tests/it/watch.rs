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

/// Whether its folder is there, with what is read of it.
fn has_begun(world: &World) -> bool {
    sweat::archive::latest_run(&world.runs()).is_ok_and(|dir| dir.join("segments").exists())
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

    // The report says what was missing, as text, JSON and a page, and of any span.
    let output = world.run(&["report", "latest"]);
    expect(&output, 0);
    let text = out(&output);
    assert!(text.contains("in the median of") && text.contains(" s to answer"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let output = world.run(&["report", "latest", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["samples"], seen.len(), "{json:#}");
    assert!(json["missing"].as_u64().unwrap() >= 2, "{json:#}");
    let rows = json["intervals"].as_array().unwrap();
    let sum: f64 = rows
        .iter()
        .map(|row| row["queries_per_s"].as_f64().unwrap() * row["seconds"].as_f64().unwrap())
        .sum();
    let grown = seen.last().unwrap().1 - seen[0].1;
    assert!((sum - grown).abs() < 0.01, "{sum} {grown}");
    let output = world.run(&["report", "latest", "--from", "1999-01-01T00:00", "--to", "00:01"]);
    let text = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no samples of the server's counters"), "{text}");
    expect(&world.run(&["report", "latest", "--format", "html"]), 0);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("id=\"plot-queries\""));
    assert_other_formats(&world, &classic, &seen);
    let output = world.run(&["report", "latest", "--format", "csv", "--from", "25:00"]);
    expect(&output, 2);
    assert!(err(&output).contains("it can't show a watch"), "{}", err(&output));
}

/// A time as it is typed.
fn clock_of(unix_ms: u64) -> String {
    let local = sweat::base::kernel::local_time(unix_ms / 1000).unwrap();
    format!("{:02}:{:02}:{:02}", local.hour, local.minute, local.second)
}

/// What gnuplot, awk and people who want raw looks get of a watch; and the files of a capture script as a report.
fn assert_other_formats(world: &World, classic: &Path, seen: &[(u64, f64)]) {
    let report = |words: &[&str]| {
        let output = world.run(&[&["report"][..], words].concat());
        expect(&output, 0);
        out(&output)
    };
    let plotted = report(&["latest", "--format", "gnuplot"]);
    let rows = plotted.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(rows + 1, seen.len(), "{plotted}");
    let file = world.dir.path().join("span");
    std::fs::write(&file, report(&["latest", "--format", "classic"])).unwrap();
    let rows = awk(&[file]);
    assert_eq!(rows.len(), seen.len(), "{rows:?}");
    let queries: Vec<f64> = rows.iter().map(|row| row[5].parse().unwrap()).collect();
    assert_eq!(queries, seen.iter().map(|(_, queries)| *queries).collect::<Vec<_>>());

    let own = report(&[classic.to_str().unwrap(), "--format", "json"]);
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["samples"], awk(&classic_files(classic, "-status")).len(), "{own:#}");
    assert!(own["server"].as_str().unwrap().starts_with("files of a capture script in "));

    // What was kept goes to hourly files, which are read like those of a script.
    let hourly = world.dir.path().join("hourly/");
    let hourly = hourly.to_str().unwrap();
    report(&["latest", "--format", "classic", "--output", hourly]);
    let again = world.run(&["report", "latest", "--format", "classic", "--output", hourly]);
    expect(&again, 2);
    assert!(err(&again).contains("is there already"), "{}", err(&again));
    assert_eq!(awk(&classic_files(Path::new(hourly), "-status")).len(), seen.len());
    let own = report(&[hourly, "--format", "json"]);
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["samples"], seen.len(), "{own:#}");
    for folder in [hourly, classic.to_str().unwrap()] {
        let clock = clock_of(seen[1].0);
        let text = report(&[folder, "--at", &clock]);
        for kind in ["\ninnodbstatus, ", "\nstatus, ", "\n  Queries ", " 1. row ***"] {
            assert!(text.contains(kind), "{text}");
        }
    }

    let (ms, queries) = seen[1];
    let at = sweat::base::calendar::format_utc(ms * 1_000_000);
    let clock = clock_of(ms);
    let looks = report(&["latest", "--at", &clock, "--format", "json"]);
    let looks: serde_json::Value = serde_json::from_str(&looks).unwrap();
    let looks = looks["looks"].as_array().unwrap().iter();
    let status = looks.clone().find(|look| look["probe"] == "status").unwrap();
    assert_eq!((&status["at"], &status["numbers"]["Queries"]), (&at.into(), &queries.into()));
    let text = report(&["latest", "--at", &clock]);
    assert!(text.starts_with("Looks nearest to ") && text.contains("\nprocesslist, "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    expect(&world.run(&["report", "latest", "--at", "1999-01-01T00:00"]), 2);
}

#[test]
fn sessions_that_wait_begin_an_incident_with_what_was_before() {
    let (world, server) = (World::new(), fixture::mariadb());
    server.sql(
        "create table mysql.t (a int, b char(20)) engine=innodb; insert mysql.t values (1, 'x')",
    );
    let (socket, path) = (socket(&server), server.sandbox.meta().socket.clone());
    let condition = "threads_running > 8 for 1s";
    let more = ["--when", condition, "--after", "2s", "--probes", "status,processlist"];
    let child = world.start(&words(&socket, &more));
    until("it began", || has_begun(&world));
    let dir = folder(&world);
    nap(3000);
    std::thread::scope(|scope| {
        let holder = path.clone();
        let hold = "begin; update mysql.t set b = 'y'; select sleep(6); rollback";
        scope.spawn(move || fixture::sql(&holder, hold));
        nap(300);
        for _ in 0..12 {
            let waiter = path.clone();
            scope.spawn(move || fixture::sql(&waiter, "update mysql.t set b = 'granite'"));
        }
        until("the incident", || event_kinds(&dir).contains(&WatchEventKind::Incident));
    });
    let incidents = || WatchReader::open(&dir).unwrap().unwrap().list_incidents(&(0..u64::MAX));
    until("its end", || incidents().iter().any(|dir| dir.join("manifest.json").exists()));
    signal(&child, Signal::INT);
    let (output, _) = end(child, LONG);
    expect(&output, 130);
    assert!(err(&output).contains(&format!("{condition} (it is ")), "{}", err(&output));
    let incidents = incidents();
    assert_eq!(incidents.len(), 1, "{incidents:?}");
    assert!(incidents[0].to_str().unwrap().ends_with("_threads_running"));
    // A sample a second, from before it began.
    let seen = statuses(&incidents[0]);
    assert!(seen.len() >= 5, "{seen:?}");
    let text = texts(&incidents[0]);
    for part in ["incident.innodb", "incident.transactions", "incident.sessions", "b = ?"] {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(!text.contains("granite"));
    let output = world.run(&["report", incidents[0].to_str().unwrap()]);
    expect(&output, 0);
    assert!(out(&output).contains("threads running"), "{}", out(&output));
}

#[test]
fn a_watch_that_may_not_write_says_so_and_ends_well() {
    let (world, server) = (World::new(), fixture::mariadb());
    let socket = socket(&server);
    // More than any disk has.
    let words = words(&socket, &["--min-free", "99%", "--every", "200ms", "--for", "2s"]);
    let output = world.run(&words);
    expect(&output, 0);
    assert!(err(&output).contains("samples are not written: "), "{}", err(&output));
    assert!(out(&output).contains("Limited  samples are not written: "), "{}", out(&output));
    assert!(statuses(&folder(&world)).len() <= 1);
}

#[test]
fn a_restarted_server_is_waited_for_and_a_killed_watch_can_be_read() {
    let (world, mut server) = (World::new(), fixture::mariadb());
    let socket = socket(&server);
    let child = world.start(&words(&socket, &["--every", "100ms"]));
    until("samples", || has_begun(&world) && !statuses(&folder(&world)).is_empty());
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
fn hourly_files_hold_what_the_probes_are() {
    let (world, server) = (World::new(), fixture::mariadb());
    let (socket, classic) = (socket(&server), world.dir.path().join("classic"));
    let classic = classic.to_str().unwrap();
    let watch = |probes: &str| {
        let more = ["--every", "200ms", "--for", "900ms", "--classic", classic, "--probes", probes];
        world.run(&words(&socket, &more))
    };
    let output = watch("host,process");
    expect(&output, 2);
    assert!(err(&output).contains("status, innodb, processlist"), "{}", err(&output));
    expect(&watch("host,processlist"), 0);
    let names = |part: &str| classic_files(Path::new(classic), part).len();
    assert_eq!((names("-status"), names("-innodbstatus"), names("-processlist")), (0, 0, 1));
    assert_eq!(names("mysql-variables"), 1);
}

#[test]
fn slow_statements_begin_an_incident_where_the_server_tells_their_times() {
    let world = World::new();
    let mariadb = fixture::mariadb();
    let when = ["--when", "p99 > 250ms", "--after", "1s", "--probes", "status"];
    let output = world.run(&words(&socket(&mariadb), &when));
    expect(&output, 2);
    let text = err(&output);
    assert!(text.contains("--when 'p99 > 250 ms'") && text.contains("took_ms"), "{text}");
    let Some(mysql) = fixture::mysql_with(&[("performance_schema", "ON")]) else { return };
    let child = world.start(&words(&socket(&mysql), &when));
    until("it began", || has_begun(&world));
    let dir = folder(&world);
    until("the incident", || {
        mysql.sql("select sleep(0.4)");
        event_kinds(&dir).contains(&WatchEventKind::Incident)
    });
    signal(&child, Signal::INT);
    let (output, _) = end(child, LONG);
    expect(&output, 130);
    let text = err(&output);
    assert!(text.contains("p99 > 250 ms (it is 4") && text.contains("incidents/"), "{text}");
}

/// A process that does nothing for long.
#[expect(clippy::disallowed_methods, reason = "the test needs a process to watch")]
fn fixture_process() -> std::process::Child {
    Command::new("sleep").arg("600").spawn().expect("sleep runs")
}

#[test]
fn a_watch_ends_by_a_file_a_key_or_a_mistake() {
    let (world, server) = (World::new(), fixture::mariadb());
    let socket = socket(&server);
    let file = world.dir.path().join("on");
    std::fs::write(&file, "").unwrap();
    let named = file.to_str().unwrap();
    let child = world.start(&words(&socket, &["--while-file", named, "--probes", "host,status"]));
    until("it began", || has_begun(&world));
    std::fs::remove_file(&file).unwrap();
    let (output, _) = end(child, LONG);
    expect(&output, 0);
    assert!(err(&output).contains(&format!("until {named} is removed")), "{}", err(&output));

    let mut process = fixture_process();
    let pid = process.id().to_string();
    let child = world.start(&words(&socket, &["--name", "bound", "--pid", &pid]));
    until("it began", || {
        sweat::archive::list_runs(&world.runs()).unwrap().iter().any(|(_, m)| m.name == "bound")
    });
    process.kill().unwrap();
    process.wait().unwrap();
    let (output, _) = end(child, LONG);
    expect(&output, 0);
    assert!(err(&output).contains(&format!("until process {pid} ends")), "{}", err(&output));
    let output = world.run(&words(&socket, &["--pid", &pid]));
    expect(&output, 2);
    assert!(err(&output).contains(&format!("there is no process {pid}")), "{}", err(&output));

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
