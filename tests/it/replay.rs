//! Replays on real servers: what was recorded on one is what another gets, session by session.
#![expect(clippy::disallowed_methods, reason = "tests wait for what other threads do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sweat::base::{RealClock, Stop};
use sweat::capture::{Database, Deed, Log, Next, Recorded};
use sweat::driver;
use sweat::plan::{ArrivalPlan, EnginePlan, LoadPlan, Options};
use sweat::recorder::{Recording, Replayed};
use sweat::server::Control as _;
use sweat::target::{Session, Target};
use sweat::workload::{Kind as _, replay};

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
    Options::check(&replay::Replay.options(), &given).expect("the options exist")
}

struct Played {
    recording: Recording,
    replayed: Replayed,
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
    let mut all = vec![("log", log.to_str().unwrap())];
    all.extend(given);
    let options = options(&all);
    let workers = replay::seats(&options, stop).unwrap();
    let workload = replay::Replay.build(&options, Some(target)).unwrap();
    workload.check().unwrap();
    let plan = LoadPlan { workers, ..plan.clone() };
    let clock = RealClock::start();
    let recording = driver::run(&plan, 1, &*workload, clock, stop, &mut |_| {}).unwrap();
    Played { recording, replayed: workload.replayed().expect("a replay tells of itself") }
}

fn reactor() -> LoadPlan {
    LoadPlan { engine: EnginePlan::Reactor, ..LoadPlan::default() }
}

/// What each session of a log did, by the session's number in its server.
fn deeds(path: &Path) -> BTreeMap<u64, Deeds> {
    let mut file = std::fs::File::open(path).unwrap();
    let mut all: BTreeMap<u64, Deeds> = BTreeMap::new();
    let mut log = Log::default();
    log.read(&mut file, &mut |r: &Recorded<'_>| {
        if matches!(r.deed, Deed::Statement | Deed::Execute | Deed::Connect) {
            let database = match r.database {
                Database::Named(name) => String::from_utf8_lossy(name).into_owned(),
                Database::None | Database::Unknown => String::new(),
            };
            let deeds = all.entry(r.session.unwrap()).or_default();
            if r.deed != Deed::Connect {
                deeds.push((database, String::from_utf8_lossy(r.text).into_owned()));
            }
        }
        Next::Continue(())
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
        let said = sessions[at].rows(text);
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
