//! Replays on real servers: what was recorded on one is what another gets, session by session.
#![expect(clippy::disallowed_methods, reason = "tests wait for what other threads do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sweat::base::{RealClock, Stop, StopReason};
use sweat::capture::{DefaultDatabase, EventKind, LogFlow, LogParser, LogRecord};
use sweat::client::{Session, Target};
use sweat::driver;
use sweat::plan::{ArrivalPlan, EnginePlan, LoadPlan, Options};
use sweat::recorder::{Recording, ReplayTotals};
use sweat::server::ServerControl as _;
use sweat::workload::{Endpoint, WorkloadKind as _, replay};

use crate::fixture::{self, Fixture};

const LOGGING: &[(&str, &str)] = &[
    ("slow_query_log", "ON"),
    ("long_query_time", "0"),
    ("general_log", "ON"),
    ("slow_query_log_file", "slow.log"),
    ("general_log_file", "general.log"),
    ("log_output", "FILE"),
];

/// Both servers have these.
const TABLES: &str = "create database a; create database b; \
     create table a.t (id int primary key, c varchar(20)); \
     create table b.t like a.t; \
     insert into a.t values (1, 'a1'), (2, 'a2'), (3, 'a3'); \
     insert into b.t values (1, 'b1'), (2, 'b2')";

/// What one session did: its database with each statement.
type Deeds = Vec<(String, String)>;

fn options(given: &[(&str, &str)]) -> Options {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Options::from_given(&replay::ReplayKind.option_specs(), &given).expect("the options exist")
}

struct Played {
    recording: Recording,
    replayed: ReplayTotals,
}

/// Replays a log on as many seats as it asks for, on the reactor.
fn play(log: &Path, given: &[(&str, &str)], target: &Target, plan: &LoadPlan) -> Played {
    play_until(log, given, target, plan, &Stop::new())
}

fn play_until(
    log: &Path,
    given: &[(&str, &str)],
    target: &Target,
    plan: &LoadPlan,
    stop: &Stop,
) -> Played {
    let mut all = vec![("log", log.to_str().unwrap()), ("may-write", "on")];
    all.extend(given);
    let options = options(&all);
    let workers = replay::worker_count(&options, stop).unwrap();
    let workload = replay::ReplayKind.build_workload(&options, Endpoint::MySql(target)).unwrap();
    workload.check_ready(&Stop::new()).unwrap();
    let plan = LoadPlan { workers, ..plan.clone() };
    let clock = RealClock::start_now();
    let recording = driver::run_load(&plan, 1, &*workload, clock, stop, &mut |_| {}).unwrap();
    Played {
        recording,
        replayed: workload
            .as_recorded()
            .unwrap()
            .replay_totals()
            .expect("a replay tells of itself"),
    }
}

fn reactor() -> LoadPlan {
    LoadPlan { engine: EnginePlan::Reactor, ..LoadPlan::default() }
}

/// What each session of a log did, by the session's number in its server.
fn deeds(path: &Path) -> BTreeMap<u64, Deeds> {
    let mut file = std::fs::File::open(path).unwrap();
    let mut all: BTreeMap<u64, Deeds> = BTreeMap::new();
    let mut log = LogParser::default();
    log.read_source(&mut file, &mut |r: &LogRecord<'_>| {
        if matches!(r.kind, EventKind::Statement | EventKind::Execute | EventKind::Connect) {
            let database = match r.database {
                DefaultDatabase::Named(name) => String::from_utf8_lossy(name).into_owned(),
                DefaultDatabase::None | DefaultDatabase::Unknown => String::new(),
            };
            let deeds = all.entry(r.session.unwrap()).or_default();
            if r.kind != EventKind::Connect {
                deeds.push((database, String::from_utf8_lossy(r.text).into_owned()));
            }
        }
        LogFlow::Continue(())
    })
    .unwrap();
    all
}

/// Statements of ours that hold a session to reading, or tell a server which database.
fn is_ours(text: &str) -> bool {
    // The control plane asks the last one when it connects, also in the log.
    let asks = text == "SELECT @@version_comment";
    asks || text.starts_with("SET SESSION ") && !text.contains("/* theirs */")
}

/// Sessions that a replay opened on a server, without what it sends by itself: those that were held to reading.
fn received(server: &Fixture) -> Vec<Deeds> {
    let mut all = Vec::new();
    for deeds in deeds(&server.sandbox.datadir().join("general.log")).into_values() {
        if deeds.iter().any(|(_, text)| text == "SET SESSION TRANSACTION READ ONLY") {
            all.push(deeds.into_iter().filter(|(_, text)| !is_ours(text)).collect());
        }
    }
    all
}

/// Five sessions in turns on two databases, with transactions, settings and writes. Gives what a replay that drops
/// writes sends, by session.
fn record(server: &Fixture) -> Vec<Deeds> {
    let open = || server.target().connect(&Stop::new()).unwrap();
    let mut sessions: Vec<Session> = (0..5).map(|_| open()).collect();
    let mut sent: Vec<Deeds> = vec![Vec::new(); 5];
    let mut databases = vec![String::new(); 5];
    let mut run = |at: usize, text: &str, expected: Option<&str>| {
        let said = sessions[at].query_rows(text);
        said.unwrap_or_else(|e| panic!("`{text}` is right: {e}"));
        if let Some(name) = text.strip_prefix("use ") {
            databases[at] = name.to_owned();
        }
        if let Some(expected) = expected {
            sent[at].push((databases[at].clone(), expected.to_owned()));
        }
    };
    for at in 0..5 {
        run(at, if at % 2 == 0 { "use a" } else { "use b" }, None);
    }
    for turn in 0..12 {
        for at in 0..5 {
            let text = format!("select c from t where id = {turn} /* session {at} */");
            match (turn, at) {
                (2, 0 | 1) => run(at, "begin", Some("START TRANSACTION READ ONLY")),
                (3, 0) => run(at, "update t set c = 'x' where id = 1", None),
                (4, 2) => run(at, "use b", None),
                (5, 1) => run(at, "rollback", Some("ROLLBACK")),
                (6, 3) => {
                    let set = "set /* theirs */ @@session.sql_mode = 'ANSI'";
                    run(at, set, Some(set));
                }
                (7, 0) => run(at, "commit", Some("COMMIT")),
                (8, 4) => run(at, "insert into t values (100, ';\n# Time: 1')", None),
                _ => run(at, &text, Some(&text)),
            }
        }
    }
    sent
}

/// A log as it is now, which the server goes on to write.
fn copy(server: &Fixture, name: &str, to: &Path) -> PathBuf {
    let copy = to.join(name);
    // A server logs when it has answered.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::copy(server.sandbox.datadir().join(name), &copy).unwrap();
    copy
}

/// Each recorded session has arrived whole, in order, in its database, on a connection of its own, and nothing else has.
fn compare(sent: &[Deeds], received: &[Deeds], what: &str) {
    let mine = |deeds: &&Deeds| deeds.iter().any(|(_, text)| text.contains("/* session"));
    let mut received: Vec<Deeds> = received.iter().filter(mine).cloned().collect();
    let mut sent = sent.to_vec();
    sent.sort();
    received.sort();
    for (sent, received) in sent.iter().zip(&received) {
        assert_eq!(sent, received, "{what}");
    }
    assert_eq!(sent.len(), received.len(), "{what}: one connection for each session");
}

fn what_was_recorded_arrives(source: &Fixture, target: &Fixture) {
    source.sql(TABLES);
    target.sql(TABLES);
    let sums = "checksum table a.t, b.t";
    let before = target.sql(sums);
    let sent = record(source);
    let dir = tempfile::tempdir().unwrap();
    let logs = ["slow.log", "general.log"].map(|name| copy(source, name, dir.path()));
    let known = deeds(&target.sandbox.datadir().join("general.log"));
    for (log, timing) in [(0, "fast"), (1, "recorded"), (1, "arrival"), (0, "recorded")] {
        let arrival = match timing {
            "arrival" => ArrivalPlan::Constant { per_second: 2000.0 },
            _ => ArrivalPlan::default(),
        };
        let plan = LoadPlan { arrival, ..reactor() };
        let already = received(target).len();
        let given = [("timing", timing), ("database", "a")];
        let played = play(&logs[log], &given, target.target(), &plan);
        let what = format!("{} {timing}", logs[log].display());
        assert_eq!(played.recording.errors, [], "{what}");
        let all = received(target);
        compare(&sent, &all[already..], &what);
        let replayed = &played.replayed;
        let out = |reason: &str| {
            let left = replayed.left_out.iter().find(|left| left.reason == reason);
            left.map_or(0, |left| left.count)
        };
        assert!(out("writes") >= 2, "{what}: {:?}", replayed.left_out);
        assert_eq!(replayed.classes.iter().map(|c| c.errors_new).sum::<u64>(), 0, "{what}");
        let differing: u64 = replayed.classes.iter().map(|c| c.rows_differing).sum();
        assert_eq!(differing, 0, "{what}");
        if log == 0 {
            let compared: u64 = replayed.classes.iter().map(|c| c.rows_compared).sum();
            assert!(compared >= 50, "{what}: {compared}");
        }
        if timing == "recorded" {
            assert_eq!(replayed.lag_ns.len(), replayed.sent, "{what}");
        }
    }
    assert_eq!(target.sql(sums), before, "nothing has changed");
    assert!(!known.is_empty());
}

#[test]
fn what_was_recorded_on_one_mariadb_arrives_at_another() {
    what_was_recorded_arrives(&fixture::with(LOGGING), &fixture::with(LOGGING));
}

#[test]
fn what_was_recorded_on_one_mysql_arrives_at_another() {
    let extra = [LOGGING, &[("log_slow_extra", "ON")]].concat();
    if let (Some(source), Some(target)) =
        (fixture::mysql_with(&extra), fixture::mysql_with(LOGGING))
    {
        what_was_recorded_arrives(&source, &target);
    }
}

/// A statement of a log made by hand: session, when it began in milliseconds, its text.
type Line = (u64, u64, String);

/// A log as MySQL writes it, each statement having taken a tenth of a millisecond.
fn log_of(lines: impl IntoIterator<Item = Line>, to: &Path) -> PathBuf {
    use std::fmt::Write as _;
    let mut text = String::new();
    for (session, at_ms, statement) in lines {
        let end_us = at_ms * 1000 + 100;
        let (s, us) = (end_us / 1_000_000, end_us % 1_000_000);
        let time = format!("{:02}:{:02}:{:02}.{us:06}", s / 3600 % 24, s / 60 % 60, s % 60);
        let _ = write!(
            text,
            "# Time: 2026-11-21T{time}Z\n# User@Host: u[u] @ localhost []  Id: {session:5}\n\
             # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1 \
             Errno: 0\n\
             use a;\nSET timestamp=1795248000;\n{statement};\n"
        );
    }
    let path = to.join("made.log");
    std::fs::write(&path, text).unwrap();
    path
}

fn read(at: u64) -> String {
    format!("select c from t where id = {}", at % 3 + 1)
}

/// A target of its own for each test; MariaDB, as the protocol is the same.
fn target_with(settings: &[(&str, &str)]) -> Fixture {
    let server = fixture::with(settings);
    server.sql(TABLES);
    server
}

#[test]
fn ten_thousand_sessions_need_few_connections_and_threads() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    // All are open at once by the log; 100 seats play them one after the other.
    let lines = (0..20_000).map(|at| (10 + at % 10_000, at / 10, read(at)));
    let log = log_of(lines, dir.path());
    let before = resident_kib();
    let given = [("sessions", "100"), ("timing", "fast")];
    let played = play(&log, &given, server.target(), &reactor());
    assert_eq!(played.recording.errors, []);
    assert_eq!((played.replayed.sessions, played.replayed.sent), (10_000, 20_000));
    assert_eq!(played.recording.total.classes[0].response.len(), 10_000, "one connect each");
    let rows = played.replayed.classes.iter().map(|c| (c.rows_compared, c.rows_differing));
    assert_eq!(rows.collect::<Vec<_>>(), [(20_000, 0)]);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 200_000, "{grown} KiB for 20,000 statements");
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[test]
fn a_target_that_dies_ends_the_replay_and_what_was_measured_is_kept() {
    let mut server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let log = log_of((0..300).map(|at| (10 + at % 4, at * 10, read(at))), dir.path());
    let target = server.target().clone();
    let played = std::thread::scope(|scope| {
        let replay = scope.spawn(|| play(&log, &[], &target, &reactor()));
        std::thread::sleep(Duration::from_millis(800));
        server.sandbox.kill();
        replay.join().unwrap()
    });
    assert_eq!(played.recording.reason, StopReason::TargetLost);
    let sent = played.replayed.sent;
    assert!((10..250).contains(&sent), "{sent}");
    let left = &played.replayed.left_out;
    let out: u64 = left.iter().map(|left| left.count).sum();
    assert_eq!(sent + out, 300, "every statement is accounted for: {left:?}");
}

#[test]
fn with_reconnect_a_replay_goes_on_after_a_restart() {
    let mut server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let mut lines: Vec<Line> = (0..200).map(|at| (10 + at % 4, at * 10, read(at))).collect();
    lines[1] = (11, 10, "set @@session.sql_mode = 'ANSI'".to_owned());
    lines[199] = (11, 1990, "select \"c\" from t where id = 1 and \"c\" = 'a1'".to_owned());
    let log = log_of(lines, dir.path());
    let target = server.target().clone();
    let plan = LoadPlan { reconnect: true, ..reactor() };
    let played = std::thread::scope(|scope| {
        let replay = scope.spawn(|| play(&log, &[], &target, &plan));
        std::thread::sleep(Duration::from_millis(500));
        server.sandbox.kill();
        server.sandbox.start(&Vec::new()).unwrap();
        replay.join().unwrap()
    });
    assert_eq!(played.recording.reason, StopReason::Done);
    assert!(played.recording.total.reconnects >= 1);
    assert_eq!(played.replayed.sent, 200, "{:?}", played.replayed.left_out);
    let failed: u64 = played.replayed.classes.iter().map(|c| c.errors_new).sum();
    assert!(failed <= 8, "only what was under way: {failed}");
    let settings = played.replayed.classes.iter().find(|c| c.digest.contains("?=?"));
    let differing = settings.map(|c| (c.rows_compared, c.rows_differing));
    assert_eq!(differing, Some((1, 0)), "what the session had set is set again");
}

#[test]
fn a_stream_is_played_as_it_comes_and_ends_when_told() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from(0o600)).unwrap();
    let whole =
        std::fs::read(log_of((0..90).map(|at| (at % 3, at * 5, read(at))), dir.path())).unwrap();
    let stop = Stop::new();
    let played = std::thread::scope(|scope| {
        let (pipe, stop) = (&pipe, &stop);
        scope.spawn(move || {
            use std::io::Write as _;
            let mut into = std::fs::File::options().write(true).open(pipe).unwrap();
            for piece in whole.chunks(whole.len() / 6 + 1) {
                into.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
            // The pipe stays open: nobody says that it was the last.
            std::thread::sleep(Duration::from_millis(600));
            stop.set(StopReason::Interrupted);
            std::thread::sleep(Duration::from_millis(400));
        });
        play_until(pipe, &[], server.target(), &reactor(), stop)
    });
    assert_eq!(played.recording.reason, StopReason::Interrupted);
    assert_eq!(played.recording.errors, []);
    assert_eq!(played.replayed.sent, 90, "{:?}", played.replayed.left_out);
    assert_eq!(played.replayed.sessions, 3);
}

#[test]
fn a_log_cut_meanwhile_is_played_to_where_it_ends_and_that_is_said() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let log = log_of((0..200).map(|at| (at % 3, at, read(at))), dir.path());
    let given = [("log", log.to_str().unwrap()), ("timing", "fast"), ("may-write", "on")];
    let options = options(&given);
    let workload =
        replay::ReplayKind.build_workload(&options, Endpoint::MySql(server.target())).unwrap();
    workload.check_ready(&Stop::new()).unwrap();
    let length = std::fs::metadata(&log).unwrap().len();
    std::fs::File::options().write(true).open(&log).unwrap().set_len(length / 2 + 70).unwrap();
    let plan = LoadPlan { workers: 3, ..reactor() };
    let run = || {
        let clock = RealClock::start_now();
        let recording =
            driver::run_load(&plan, 1, &*workload, clock, &Stop::new(), &mut |_| {}).unwrap();
        (recording.reason, workload.as_recorded().unwrap().replay_totals().unwrap())
    };
    let (reason, replayed) = run();
    assert_eq!(reason, StopReason::Done);
    assert!((90..=105).contains(&replayed.sent), "{}", replayed.sent);
    assert!(
        replayed.notes.iter().any(|n| n.contains("when it was replayed")),
        "{:?}",
        replayed.notes
    );
    std::fs::remove_file(&log).unwrap();
    let (reason, replayed) = run();
    assert_eq!((reason, replayed.sent), (StopReason::Done, 0));
    assert!(replayed.notes.iter().any(|n| n.contains("No such file")), "{:?}", replayed.notes);
}

#[test]
fn a_statement_of_nearly_the_longest_record_is_sent_whole() {
    let server = target_with(&[("max_allowed_packet", "128M"), ("innodb_buffer_pool_size", "64M")]);
    let dir = tempfile::tempdir().unwrap();
    let long = format!("select length('{}')", "x".repeat(63 << 20));
    let lines = [(7, 0, read(0)), (7, 1, long), (8, 2, read(1)), (7, 3, read(2))];
    let log = log_of(lines, dir.path());
    let played = play(&log, &[("timing", "fast")], server.target(), &reactor());
    assert_eq!(played.recording.errors, [], "{:?}", played.replayed.left_out);
    assert_eq!(played.replayed.sent, 4, "{:?}", played.replayed.left_out);
    assert!(played.recording.total.tally.bytes_sent > 63 << 20);
}

/// Passes bytes on between clients and a server; holds them all back while told to.
fn proxy(socket: PathBuf, holds: &'static std::sync::atomic::AtomicBool) -> u16 {
    use std::os::unix::net::UnixStream;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = UnixStream::connect(&socket) else { return };
            let mut ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (mut client, mut server) = (client, server);
            let pass = move |from: &mut dyn std::io::Read, to: &mut dyn std::io::Write| {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    while holds.load(std::sync::atomic::Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
            };
            std::thread::spawn(move || {
                pass(&mut client, &mut server);
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
            std::thread::spawn(move || {
                pass(&mut ends.1, &mut ends.0);
                let _ = ends.0.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn a_network_that_is_cut_for_a_while_makes_a_replay_late_and_loses_nothing() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static HOLDS: AtomicBool = AtomicBool::new(false);
    let server = target_with(&[]);
    let port = proxy(server.sandbox.meta().socket.clone(), &HOLDS);
    let plan = sweat::plan::AddressPlan {
        host: Some("127.0.0.1".to_owned()),
        port: Some(port),
        socket: None,
        protocol: Some(sweat::plan::Protocol::Tcp),
        ..server.target().plan().clone()
    };
    let target = Target::new(&plan).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let log = log_of((0..150).map(|at| (10 + at % 4, at * 10, read(at))), dir.path());
    let cut = |stop: &Stop, ends: bool| {
        std::thread::scope(|scope| {
            let replay = scope.spawn(|| play_until(&log, &[], &target, &reactor(), stop));
            std::thread::sleep(Duration::from_millis(500));
            HOLDS.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(700));
            if ends {
                stop.set(StopReason::Interrupted);
                std::thread::sleep(Duration::from_millis(700));
                assert!(replay.is_finished(), "Ctrl-C ends it though nothing answers");
            }
            HOLDS.store(false, Ordering::Relaxed);
            replay.join().unwrap()
        })
    };
    let healed = cut(&Stop::new(), false);
    assert_eq!((healed.recording.reason, healed.replayed.sent), (StopReason::Done, 150));
    assert_eq!(healed.recording.errors, []);
    let late = healed.replayed.lag_ns.max_ns();
    assert!(late > 300_000_000, "it says how late it was: {late} ns");
    let ended = cut(&Stop::new(), true);
    assert_eq!(ended.recording.reason, StopReason::Interrupted);
    assert!((10..140).contains(&ended.replayed.sent), "{}", ended.replayed.sent);
}

#[test]
fn what_was_due_and_never_began_is_told_with_its_age() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    // The statements of one session wait for its first, which waits for a lock; the other goes on.
    let blocked = (0..8)
        .map(|n| (10, 50 + 100 * n, if n == 0 { "select c from b.t".to_owned() } else { read(n) }));
    let free = (0..8).map(|n| (11, 60 + 100 * n, read(n)));
    let mut lines: Vec<Line> = blocked.chain(free).collect();
    lines.sort_by_key(|(_, at_ms, _)| *at_ms);
    let log = log_of(lines, dir.path());
    let mut blocker = server.target().connect(&Stop::new()).unwrap();
    blocker.run_command("LOCK TABLES b.t WRITE").unwrap();
    for engine in [EnginePlan::Reactor, EnginePlan::Threads] {
        let (time, grace) = (Some(Duration::from_millis(600)), Duration::from_millis(200));
        let plan = LoadPlan { engine, time, grace, ..LoadPlan::default() };
        let played = play(&log, &[("may-disturb", "on")], server.target(), &plan);
        let ages = &played.recording.total.unbegun;
        // Due at 100, 200 .. 500 ms behind the first of the session that waits.
        let seen = (ages.len(), played.recording.total.backlog, played.recording.abandoned);
        assert_eq!(seen, (5, 5, 1), "{engine:?}: {:?}", played.replayed.left_out);
        let oldest_ms = ages.max_ns() / 1_000_000;
        assert!((490..=510).contains(&oldest_ms), "{oldest_ms} ms");
    }
    drop(blocker);
    let whole = play(&log, &[("may-disturb", "on")], server.target(), &reactor());
    assert_eq!(whole.recording.total.unbegun.len(), 0, "late, and all begun");
}

#[test]
fn a_pool_is_warmed_by_what_a_log_read() {
    use sweat::warm::{WarmContext, WarmStrategy as _, replay::ReplayStrategy};
    let server = target_with(&[("general_log", "ON"), ("general_log_file", "general.log")]);
    let dir = tempfile::tempdir().unwrap();
    let log = log_of((0..300).map(|at| (10 + at % 4, at * 1000, read(at))), dir.path());
    let given = [("log", log.to_str().unwrap()), ("may-write", "on")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options::from_given(&ReplayStrategy.option_specs(), &given).unwrap();
    let stop = Stop::new();
    let mut scene = WarmContext {
        target: server.target(),
        control: None,
        clock: RealClock::start_now(),
        stop: &stop,
        progress: &mut |_| {},
    };
    let warmed = ReplayStrategy.warm(&options, &mut scene).unwrap();
    assert_eq!((warmed.failed, warmed.cut), (0, false));
    assert!(warmed.seconds < 20.0, "as fast as it goes, not as slow as it was");
    let sent: usize = received(&server).iter().map(Vec::len).sum();
    assert_eq!(sent, 3, "each statement once: {:?}", warmed.notes);
    assert!(
        warmed.notes.iter().any(|note| note.starts_with("left out: 297 ")),
        "{:?}",
        warmed.notes
    );
}

/// What is wrong with sending a log to a server, in words.
fn why(log: &Path, given: &[(&str, &str)], target: &Target) -> String {
    let all = [&[("log", log.to_str().unwrap())], given].concat();
    let workload =
        replay::ReplayKind.build_workload(&options(&all), Endpoint::MySql(target)).unwrap();
    workload.check_ready(&Stop::new()).err().map(|error| format!("{error:#}")).unwrap_or_default()
}

#[test]
fn a_server_that_could_be_hurt_is_refused_before_anything_is_sent() {
    let server = target_with(LOGGING);
    let dir = tempfile::tempdir().unwrap();
    let log = log_of([(7, 0, read(0))], dir.path());
    let target = server.target();
    assert!(why(&log, &[], target).contains("could write"));
    assert_eq!(why(&log, &[("may-write", "on")], target), "");
    let socket = server.sandbox.meta().socket.to_str().unwrap().to_owned();
    let same = [("may-write", "on"), ("source", &socket)];
    assert!(why(&log, &same, target).contains("the statements came from"));
    let own = server.sandbox.datadir().join("slow.log");
    assert!(why(&own, &[("may-write", "on")], target).contains("own log"));
    let trusted = [("writes", "execute"), ("trust-log-clients", "on")];
    assert!(why(&log, &trusted, target).contains("it was not named"));
    let other = [&trusted[..], &[("i-own-this-server", "elsewhere")]].concat();
    assert!(why(&log, &other, target).contains("is not `elsewhere`"));
    let _client = target.connect(&Stop::new()).unwrap();
    assert!(why(&log, &[("may-write", "on")], target).contains("other session"));
    assert_eq!(why(&log, &[("may-write", "on"), ("may-disturb", "on")], target), "");
}

#[test]
fn writes_are_read_probed_or_executed_as_asked() {
    let server = target_with(&[("general_log", "ON"), ("general_log_file", "general.log")]);
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        (7, 0, "begin".to_owned()),
        (7, 1, "update t set c = 'new' where id = 1".to_owned()),
        (7, 2, "insert into t values (50, 'fifty')".to_owned()),
        (7, 3, "commit".to_owned()),
        (7, 4, "delete from t where id = 2".to_owned()),
    ];
    let log = log_of(lines, dir.path());
    let sums = server.sql("checksum table a.t");
    let counts = |writes: &str| {
        let played =
            play(&log, &[("timing", "fast"), ("writes", writes)], server.target(), &reactor());
        assert_eq!(played.recording.errors, [], "{writes}");
        let classes = played.recording.total.classes.iter().map(|c| c.response.len());
        classes.collect::<Vec<_>>()
    };
    // connect, read, set, transaction, read_half, probe, write
    assert_eq!(counts("drop"), [1, 0, 0, 2, 0, 0, 0]);
    assert_eq!(counts("where"), [1, 0, 0, 2, 2, 0, 0]);
    let probed = counts("probe");
    assert!(probed[4] == 2 && probed[5] >= 1 && probed[6] == 0, "{probed:?}");
    assert_eq!(server.sql("checksum table a.t"), sums, "nothing has changed");
    let name = server.sql("select @@hostname");
    let given = [
        ("timing", "fast"),
        ("writes", "execute"),
        ("trust-log-clients", "on"),
        ("i-own-this-server", name.as_str()),
    ];
    let played = play(&log, &given, server.target(), &reactor());
    assert_eq!(played.recording.errors, []);
    let rows = server.sql("select group_concat(id, c order by id) from a.t");
    assert_eq!(rows, "1new,3a3,50fifty");
}

/// A `sweat replay` of what comes through a pipe.
fn replay_pipe(server: &Fixture, dir: &Path, text: &[u8], words: &[&str]) -> (i32, String) {
    use std::io::Write as _;
    use std::process::Stdio;
    let socket = server.sandbox.meta().socket.display().to_string();
    let words = [&["replay", "-", "-S", &socket, "-u", "root"], words].concat();
    let mut child = crate::cli::program(dir, &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that refuses does not read it.
    let _ = child.stdin.take().unwrap().write_all(text);
    let output = child.wait_with_output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_pipe_is_replayed_on_a_server_with_its_usual_number_of_connections() {
    let server = target_with(&[("max_connections", "151")]);
    let dir = tempfile::tempdir().unwrap();
    let log = log_of((0..60).map(|at| (10 + at % 5, at, read(at))), dir.path());
    let text = std::fs::read(&log).unwrap();
    let (code, said) = replay_pipe(&server, dir.path(), &text, &["--may-write", "--may-disturb"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && said.contains("of 5 sessions"), "{code}: {said}");
}

#[test]
fn what_is_no_log_is_refused_with_words() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    std::fs::write(&other, "root:x:0:0:root:/root:/bin/bash\n".repeat(100)).unwrap();
    let socket = server.sandbox.meta().socket.display().to_string();
    let path = other.display().to_string();
    let server_words = ["-S", &socket, "-u", "root", "--may-write", "--may-disturb"];
    for words in [
        vec!["replay", &path, "--dry-run"],
        [&["replay", &path][..], &server_words].concat(),
        [&["warm", "replay", &path][..], &server_words].concat(),
    ] {
        let output = crate::cli::program(dir.path(), &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("it is neither a slow log nor a general log"), "{words:?}: {said}");
    }
    let text = std::fs::read(&other).unwrap();
    for words in [&["--dry-run"][..], &["--may-write", "--may-disturb"]] {
        let (code, said) = replay_pipe(&server, dir.path(), &text, words);
        assert!(
            code == 2 && said.contains("it is neither a slow log"),
            "{words:?}: {code}: {said}"
        );
    }
}

#[test]
fn a_warming_says_which_statements_failed() {
    let server = target_with(&[]);
    let dir = tempfile::tempdir().unwrap();
    let lines = [(7, 0, read(0)), (7, 1, "select c from gone where id = 1".to_owned())];
    let log = log_of(lines, dir.path()).display().to_string();
    let socket = server.sandbox.meta().socket.display().to_string();
    let words =
        ["warm", "replay", &log, "-S", &socket, "-u", "root", "--may-write", "--may-disturb"];
    let output = crate::cli::program(dir.path(), &words).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("failed: 1 of `select c from gone where id=?`: error 1146"), "{said}");
}
