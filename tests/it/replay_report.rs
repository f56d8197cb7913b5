//! What `sweat replay` reports is what was done to the target since the log was written: a table dropped, rows removed,
//! an index lost.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sweat::base::Stop;
use sweat::server::ServerControl as _;

use crate::cli::{World, err, expect, out};
use crate::fixture::{self, Fixture};

const LOGGING: &[(&str, &str)] =
    &[("slow_query_log", "ON"), ("long_query_time", "0"), ("slow_query_log_file", "slow.log")];

/// Statements of each kind, all sessions together.
const BY_KEY: u64 = 300;
const GONE: u64 = 60;
const FEWER: u64 = 90;
const WRITES: u64 = 30;
const WRONG: u64 = 15;
const SESSIONS: u64 = 3;

/// Tables, and an account that can only read.
const DATA: &str = "create database shop; use shop; \
     create table t (id int primary key, k int, c varchar(100), key (k)); \
     create table gone (id int primary key); insert into gone values (1); \
     create table fewer (id int primary key); \
     create table digits (d int primary key); \
     insert into digits values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9); \
     insert into t select a.d + b.d * 10 + c.d * 100 + d.d * 1000, a.d + b.d * 10, repeat('x', 90) \
     from digits a, digits b, digits c, digits d; \
     insert into fewer select a.d + b.d * 10 from digits a, digits b; \
     create user reader@localhost; grant select on shop.* to reader@localhost; flush logs";

/// What is done to the data after the log was written.
const CHANGES: &str = "set global slow_query_log = 0; drop table shop.gone; \
     delete from shop.fewer where id >= 50; alter table shop.t drop key k; analyze table shop.t";

/// Sends known traffic from three sessions, and copies the log.
fn record(server: &Fixture, to: &Path) -> PathBuf {
    let log = server.sandbox.datadir().join("slow.log");
    server.sql(DATA);
    let mut sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let mut session = server.target().connect(&Stop::new()).unwrap();
            session.run_command("use shop").unwrap();
            session
        })
        .collect();
    let each = |all: u64| all / SESSIONS;
    for session in &mut sessions {
        for n in 0..each(BY_KEY) {
            session.query_rows(&format!("select count(c) from t where k = {}", n % 100)).unwrap();
        }
        for n in 0..each(GONE) {
            session.query_rows(&format!("select * from gone where id = {n}")).unwrap();
        }
        for n in 0..each(FEWER) {
            session.query_rows(&format!("select id from fewer where id > {}", n % 40)).unwrap();
        }
        for n in 0..each(WRITES) {
            session.run_command(&format!("update t set c = 'y' where id = {n}")).unwrap();
        }
        for _ in 0..each(WRONG) {
            session.query_rows("select * from never").unwrap_err();
        }
    }
    // A server logs when it has answered: what a session did is in the log for sure when it has done another thing.
    for session in &mut sessions {
        session.run_command("do 0").unwrap();
    }
    drop(sessions);
    let copy = to.join("copy.log");
    std::fs::copy(log, &copy).unwrap();
    copy
}

fn class<'r>(replay: &'r Value, part: &str) -> &'r Value {
    let classes = replay["classes"].as_array().unwrap();
    let found = classes.iter().find(|class| class["digest"].as_str().unwrap().contains(part));
    found.unwrap_or_else(|| panic!("no class of {part}: {classes:#?}"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a count: {value}"))
}

/// Words of a replay by the account that can only read.
fn words<'w>(log: &'w str, socket: &'w str) -> Vec<&'w str> {
    vec!["replay", log, "-S", socket, "-u", "reader", "-q", "--timing", "fast"]
}

fn what_was_done_is_reported(server: &Fixture, tells_errors: bool) {
    let world = World::new();
    let log = record(server, world.dir.path());
    let log = log.to_str().unwrap();
    server.sql(CHANGES);
    let socket = server.sandbox.meta().socket.display().to_string();
    let mut json = words(log, &socket);
    json.extend(["--format", "json", "--allow", "ERRORS"]);
    // What else runs on the machine of a test is not what is looked at here.
    json.extend(["--allow", "NOISE", "--allow", "FOREIGN-CPU"]);
    let output = world.run(&json);
    expect(&output, 0);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let replay = &report["replays"][0];

    let dry = world.run(&["replay", log, "--dry-run", "--format", "json"]);
    let dry: Value = serde_json::from_slice(&dry.stdout).unwrap();
    assert_eq!(count(&replay["sent"]), count(&dry["sent"]), "{replay:#}");
    // A client may ask for things of its own when it opens.
    assert!((ours()..ours() + 10).contains(&count(&replay["sent"])), "{replay:#}");
    assert_eq!(count(&class(replay, "from t where")["sent"]), BY_KEY);
    assert_eq!(class(replay, "from t where")["change"]["verdict"], "worse", "{replay:#}");
    let slower = class(replay, "from t where")["change"]["ratio"]["value"].as_f64().unwrap();
    assert!(slower > 3.0, "{slower}");

    let gone = class(replay, "from gone");
    assert_eq!(count(&gone["errors"]["new"]), GONE);
    assert_eq!(count(&gone["first_error_code"]), 1146);
    assert_eq!(count(&gone["errors"]["as_recorded"]), 0);

    let fewer = class(replay, "from fewer");
    assert_eq!((count(&fewer["rows_compared"]), count(&fewer["rows_differing"])), (FEWER, FEWER));
    let same = class(replay, "from t where");
    assert_eq!((count(&same["rows_compared"]), count(&same["rows_differing"])), (BY_KEY, 0));

    let why = replay["left_out_why"].as_array().unwrap();
    let writes = why.iter().find(|one| one["reason"].as_str().unwrap().contains("writes"));
    assert!(count(&writes.unwrap()["records"]) >= WRITES, "{why:#?}");
    let ids: Vec<&str> =
        report["caveats"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert!(["PART-LOAD", "OTHER-ROWS", "TWO-CLOCKS"].iter().all(|id| ids.contains(id)), "{ids:?}");
    let answer = report["answer"][0].as_str().unwrap();
    assert!(answer.contains("new errors in"), "{answer}");
    // MariaDB's log does not tell of errors: those of a class that never failed before count as new.
    let wrong = &class(replay, "from never")["errors"];
    let known = count(if tells_errors { &wrong["as_recorded"] } else { &wrong["new"] });
    assert_eq!(known, WRONG, "{wrong}");
    // Nothing was written.
    assert_eq!(
        server.sql("select count(*) from shop.t where c = 'y'"),
        (WRITES / SESSIONS).to_string()
    );

    again_and_compared(&world, log, &socket);
}

/// Statements of ours that are sent.
fn ours() -> u64 {
    BY_KEY + GONE + FEWER + WRONG
}

/// The run folder shows the same; two replays of one log are compared class by class; errors fail a run.
fn again_and_compared(world: &World, log: &str, socket: &str) {
    let text = world.run(&["report"]);
    expect(&text, 0);
    assert!(out(&text).contains("1146") && out(&text).contains("worse"), "{}", out(&text));
    let first = std::fs::read_dir(world.runs()).unwrap().next().unwrap().unwrap().path();
    let first = first.display().to_string();
    assert!(Path::new(&first).join("report.html").exists());
    let second = world.run(&words(log, socket));
    expect(&second, 1);
    assert!(out(&second).starts_with("FAILED"), "{}", out(&second));
    let compared =
        world.run(&["compare", "latest", "--base", first.as_str(), "--format", "json", "--force"]);
    assert!(matches!(compared.status.code(), Some(0 | 1)), "{}", err(&compared));
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let changes = compared["replay_changes"].as_array().unwrap();
    let one = changes.iter().find(|c| c["digest"].as_str().unwrap().contains("from t where"));
    let ratio = one.unwrap()["change"]["ratio"]["value"].as_f64().unwrap();
    assert!((0.2..5.0).contains(&ratio), "the same server twice: {ratio}");
    let both = world.run(&["report", "latest", first.as_str()]);
    expect(&both, 0);
}

#[test]
fn what_was_done_to_a_mariadb_is_reported() {
    what_was_done_is_reported(&fixture::with(LOGGING), false);
}

#[test]
fn what_was_done_to_a_mysql_is_reported() {
    let mut settings = LOGGING.to_vec();
    settings.push(("log_slow_extra", "ON"));
    let Some(server) = fixture::mysql_with(&settings) else { return };
    what_was_done_is_reported(&server, true);
}

#[test]
fn a_dry_run_needs_no_server_and_wrong_words_are_named() {
    let world = World::new();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs");
    let log = log.join("mysql9.7_extra.slow.log").display().to_string();
    let text = world.run(&["replay", &log, "--dry-run"]);
    expect(&text, 0);
    assert!(out(&text).contains("would be sent") && out(&text).contains("left out"));
    let json = world.run(&["replay", &log, "--dry-run", "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let sum = |list: &str, key: &str| -> u64 {
        json[list].as_array().unwrap().iter().map(|one| count(&one[key])).sum()
    };
    assert_eq!(sum("classes", "statements"), count(&json["sent"]));
    assert_eq!(sum("left_out_why", "records"), count(&json["left_out"]));
    assert!(!world.runs().exists(), "nothing was run");
    for (words, part) in [
        (vec!["replay", "none.log", "--dry-run"], "none.log"),
        (vec!["replay", &log, "--dry-run", "--format", "csv"], "--format csv"),
        (vec!["replay", &log, "--dry-run", "--rate=5", "--timing", "fast"], "--timing fast"),
        (vec!["replay", &log, "--dry-run", "--speed", "x0"], "--speed"),
        (vec!["replay", &log, "--dry-run", "--writes", "all"], "--writes"),
    ] {
        let output = world.run(&words);
        expect(&output, 2);
        assert!(err(&output).contains(part) && err(&output).contains("hint: "), "{}", err(&output));
    }
}
