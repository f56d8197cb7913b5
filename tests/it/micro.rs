//! Single operations, against real servers. No test depends on how long anything took.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use sweat::base::{RealClock, Stop};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{LoadPlan, RefusedError};
use sweat::recorder::{EventErrorKind, MeasuredCost, MeasuredFigures, Recording};
use sweat::workload::{DataJob, Endpoint, Workload, check_options, find_kind};

use crate::cli::{World, end, err, expect, is_under_way, out, signal, until};
use crate::fixture::{self, Fixture};

/// Tiny tables, counts and rounds.
const TINY: &[(&str, &str)] = &[("rows", "1000"), ("count-scale", "0.02"), ("rounds", "1")];
const SCHEMAS: &str = "SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA \
    WHERE SCHEMA_NAME LIKE 'sweat%'";

fn build(target: &Target, given: &[(&str, &str)]) -> Box<dyn Workload> {
    let kind = find_kind("micro").expect("the kind is listed");
    let given = TINY.iter().chain(given).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let options = check_options(kind, &given.collect::<Vec<_>>()).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target)).expect("the options fit")
}

fn prepare(workload: &dyn Workload) -> anyhow::Result<()> {
    let stop = Stop::new();
    let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
    workload.prepare_data(&mut job)
}

fn run(workload: &dyn Workload) -> (Recording, MeasuredFigures) {
    workload.start_load();
    let (clock, stop) = (RealClock::start_now(), Stop::new());
    let plan = LoadPlan { time: None, reconnect: true, ..LoadPlan::default() };
    let recording =
        driver::run_load(&plan, 1, workload, clock, &stop, &mut |_| {}).expect("it runs");
    (recording, workload.load_figures().expect("it measures"))
}

fn cost<'f>(figures: &'f MeasuredFigures, name: &str) -> &'f MeasuredCost {
    figures.costs.iter().find(|cost| cost.name == name).expect("it was asked for")
}

/// The schemas with a name like ours.
fn schemas(server: &Fixture) -> String {
    server.sql(SCHEMAS).trim().to_owned()
}

/// Every operation runs, and all rows are as they must be.
fn assert_all_run(server: &Fixture) {
    let workload = build(server.target(), &[]);
    assert!(workload.check_ready(&Stop::new()).is_err(), "its tables are not there");
    prepare(&*workload).expect("the tables are made");
    let (recording, figures) = run(&*workload);
    assert_eq!(recording.errors, [], "{:#?}", figures.notes);
    assert!(figures.costs.len() >= 45);
    let missing: Vec<_> =
        figures.costs.iter().filter(|cost| cost.wall_ns.len() != 1 || cost.count == 0).collect();
    // A server may refuse files.
    assert!(missing.iter().all(|cost| cost.remark == "left out"), "{missing:#?}");
    assert!(missing.len() <= 1, "{missing:#?}");
    assert_eq!(cost(&figures, "connect").cpu_ns.len(), 0, "each has a thread of its own");
    if figures.header.contains("CPU time of the server's thread") {
        assert_eq!(cost(&figures, "select_all").cpu_ns.len(), 1);
    }
    assert_eq!((cost(&figures, "join_2_tables").rows, cost(&figures, "insert").count), (100, 4));
    let tables = server.sql("SHOW TABLES FROM sweat_micro");
    assert_eq!(tables.split_whitespace().collect::<Vec<_>>(), ["_sweat_micro", "m", "t", "u", "w"]);
    workload.end_run().expect("the schema goes");
    assert_eq!(schemas(server), "NULL");
}

#[test]
fn every_operation_runs_on_mariadb() {
    let server = fixture::mariadb();
    assert_all_run(&server);
    // Engines without transactions have the same rows.
    let given = [("mysql-storage-engine", "MyISAM"), ("only", "insert,update,trx")];
    let workload = build(server.target(), &given);
    prepare(&*workload).unwrap();
    let engine = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sweat_micro' \
        AND TABLE_NAME = 'm'";
    assert_eq!(server.sql(engine).trim(), "MyISAM");
    assert_eq!(run(&*workload).0.errors, []);
    workload.end_run().unwrap();
}

#[test]
fn every_operation_runs_on_mysql() {
    let Some(server) = fixture::mysql() else { return };
    assert_all_run(&server);
    server.sql("SET GLOBAL local_infile = OFF");
    let workload = build(server.target(), &[("only", "load_1000_rows,insert")]);
    prepare(&*workload).unwrap();
    let (recording, figures) = run(&*workload);
    assert_eq!(recording.errors, []);
    assert_eq!(cost(&figures, "load_1000_rows").remark, "left out");
    assert_eq!(cost(&figures, "insert").wall_ns.len(), 1);
    assert!(figures.notes[0].contains("local_infile=OFF"), "{:?}", figures.notes);
    workload.end_run().unwrap();
}

#[test]
fn wrong_rows_a_lost_session_and_a_limit_cost_one_operation_its_figure() {
    let server = fixture::mariadb();
    let workload = build(server.target(), &[("only", "select_all,join_2_tables,update_all")]);
    prepare(&*workload).unwrap();
    server.sql("DELETE FROM sweat_micro.t WHERE id = 1");
    let (recording, figures) = run(&*workload);
    assert_eq!(recording.errors.len(), 1);
    assert_eq!(recording.errors[0].error.kind, EventErrorKind::Check);
    assert_eq!(recording.errors[0].first_text, "select_all: 999 rows, there must be 1000");
    assert_eq!(cost(&figures, "select_all").remark, "failed");
    assert!(cost(&figures, "select_all").wall_ns.is_empty());
    assert_eq!(cost(&figures, "update_all").wall_ns.len(), 1, "the others go on");
    assert!(figures.notes[0].starts_with("[FAILED] select_all: "), "{:?}", figures.notes);

    // A statement that waits for a lock until the limit.
    let given = [("only", "update_all,select_key"), ("limit", "500ms")];
    let workload = build(server.target(), &given);
    prepare(&*workload).unwrap();
    let mut other = server.target().connect(&Stop::new()).unwrap();
    other.run_command("BEGIN").unwrap();
    other.run_command("UPDATE sweat_micro.m SET v = 0 WHERE id = 7").unwrap();
    let (_, figures) = run(&*workload);
    other.run_command("ROLLBACK").unwrap();
    assert_eq!(cost(&figures, "update_all").remark, "cut after 0 of 1");
    assert_eq!(cost(&figures, "select_key").wall_ns.len(), 1);

    // A session that is killed in the middle: by then it waits for the same lock.
    let workload = build(server.target(), &[("only", "update_all,select_key")]);
    prepare(&*workload).unwrap();
    other.run_command("BEGIN").unwrap();
    other.run_command("UPDATE sweat_micro.m SET v = 0 WHERE id = 7").unwrap();
    let (recording, figures) = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&*workload));
        let waiting = "SELECT ID FROM information_schema.PROCESSLIST \
            WHERE INFO = 'UPDATE m SET v = v + 1'";
        until("the update waits", || !server.sql(waiting).trim().is_empty());
        server.sql(&format!("KILL {}", server.sql(waiting).trim()));
        running.join().expect("the load ends")
    });
    drop(other);
    assert!(recording.errors.iter().any(|one| one.error.kind == EventErrorKind::Lost));
    assert_eq!(cost(&figures, "update_all").remark, "failed");
    assert_eq!(cost(&figures, "select_key").wall_ns.len(), 1, "{:?}", figures.notes);
    workload.end_run().unwrap();
    assert_eq!(schemas(&server), "NULL");
}

#[test]
fn a_schema_of_others_is_left_alone() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE sweat_micro; CREATE TABLE sweat_micro.mine (id INT)");
    let workload = build(server.target(), &[]);
    let refused = prepare(&*workload).expect_err("it is not ours");
    assert!(refused.downcast_ref::<RefusedError>().is_some(), "{refused:#}");
    workload.end_run().unwrap();
    assert_eq!(server.sql("SHOW TABLES FROM sweat_micro").trim(), "mine");

    // One of ours that is in use, and one that was left behind.
    let (first, second) = (
        build(server.target(), &[("schema", "sweat_two"), ("only", "select_1")]),
        build(server.target(), &[("schema", "sweat_two"), ("only", "select_1")]),
    );
    prepare(&*first).unwrap();
    let mut holder = server.target().connect(&Stop::new()).unwrap();
    let lock = "SELECT GET_LOCK('_sweat_micro.sweat_two', 10)";
    assert_eq!(holder.query_scalar(lock).unwrap().as_deref(), Some("1"));
    let refused = format!("{:#}", prepare(&*second).expect_err("it is in use"));
    assert!(refused.contains("another sweat is measuring"), "{refused}");
    drop(holder);
    until("the lock is gone", || prepare(&*second).is_ok());
    let stop = Stop::new();
    let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
    build(server.target(), &[("schema", "sweat_two")]).cleanup_data(&mut job).unwrap();
    assert_eq!(schemas(&server), "sweat_micro");

    // Without the right to make one.
    server.sql("CREATE USER low@localhost IDENTIFIED BY 'x'");
    let world = World::new();
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let words = ["micro", "-u", "low", "-px", &socket, "--schema=sweat_low", "-q"];
    let output = world.run(&words);
    assert_ne!(output.status.code(), Some(0));
    assert!(err(&output).contains("GRANT ALL ON sweat_low.*"), "{}", err(&output));
    assert_eq!(schemas(&server), "sweat_micro");
}

#[test]
fn a_run_cleans_up_and_two_runs_are_one_table() {
    let server = fixture::mariadb();
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let world = World::new();
    let base = ["micro", "-u", "root", &socket, "--rows=1000", "--scale=0.1", "-q", "--name"];
    let quiet = ["--allow=NOISE", "--allow=FOREIGN-CPU"];
    for name in ["one", "two"] {
        let own = [name, "--only=select_key,range,update_key", "--rounds=6"];
        expect(&world.run(&[&base[..], &own, &quiet].concat()), 0);
    }
    assert_eq!(schemas(&server), "NULL");
    let text = out(&world.run(&["report", "two"]));
    for name in ["select_key ", "range_key2 ", "select_all ", "update_key "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("7 operations measured in 6 rounds each."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let value = |words: &[&str]| -> Value {
        serde_json::from_str(&out(&world.run(words))).expect("it is JSON")
    };
    let found = value(&["report", "two", "--format=json"]);
    let costs = found["trials"][0]["figures"]["costs"].as_array().unwrap().clone();
    let first = (&costs[0]["name"], &costs[0]["rounds"]);
    assert_eq!((costs.len(), first), (7, (&"select_key".into(), &6.into())));
    assert!(costs.iter().all(|cost| cost["time_low_s"].as_f64() <= cost["time_high_s"].as_f64()));
    let found = value(&["compare", "two", "--base", "one", "--format=json"]);
    let changes = found["cost_changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[7]["is_mean"]), (8, &true.into()));
    assert_eq!(found["comparisons"], serde_json::json!([]));
    assert!(changes.iter().all(|one| one["change"]["ratio"]["ci95"].is_array()));
    let text = out(&world.run(&["compare", "two", "--base", "one"]));
    assert!(text.contains("geometric mean of 7"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    // Ctrl-C keeps what was measured, and leaves no schema.
    let world = World::new();
    let own = ["cut", "--only=select_key,update_key", "--rounds=10000"];
    let child = world.start(&[&base[..], &own].concat());
    until("the load is under way", || is_under_way(&world));
    assert_eq!(schemas(&server), "sweat_micro");
    signal(&child, Signal::INT);
    let (output, _) = end(child, Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert_eq!(schemas(&server), "NULL");
    let text = out(&world.run(&["report", "cut"]));
    assert!(text.contains(" measured in "), "{text}");
}

#[test]
fn operations_are_listed_by_choice() {
    let world = World::new();
    let output = world.run(&["micro", "--list", "--only=join*,trx", "--skip=*rollback"]);
    expect(&output, 0);
    let text = out(&output);
    assert!(text.contains("join_3_tables") && text.contains("trx_empty"), "{text}");
    assert!(!text.contains("trx_insert_rollback") && !text.contains("select_key"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let output = world.run(&["micro", "--list", "--only=selekt_key"]);
    expect(&output, 2);
    assert!(err(&output).contains("did you mean select_key?"), "{}", err(&output));
    let output = world.run(&["micro", "--sandbox", "--threads=2", "--only=select_1"]);
    assert!(err(&output).contains("one session"), "{}", err(&output));
}
