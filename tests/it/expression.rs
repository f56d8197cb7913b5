//! What expressions cost, against real servers. No test depends on how long anything took.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use sweat::base::{RealClock, Stop};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{AddressPlan, LoadPlan, Mistake, Options};
use sweat::recorder::{MeasuredFigures, Recording};
use sweat::workload::{Endpoint, KINDS, Workload};

use crate::cli::{World, err, expect, nap, out, signal};
use crate::fixture::{self, Fixture};

/// Our statements under way, as the server lists them.
const OURS: &str = "SELECT ID FROM information_schema.PROCESSLIST \
    WHERE INFO LIKE '/* sweat %BENCHMARK(%' AND ID <> CONNECTION_ID()";

/// A target whose default database holds a table of 100 rows.
fn database(server: &Fixture) -> Target {
    let mut text =
        "CREATE DATABASE e; CREATE TABLE e.t (id INT PRIMARY KEY); INSERT INTO e.t VALUES"
            .to_owned();
    (0..100).for_each(|id| text += &format!("{}({id})", if id == 0 { " " } else { "," }));
    server.sql(&text);
    let plan = AddressPlan { database: Some("e".to_owned()), ..server.target().plan().clone() };
    Target::new(&plan).expect("a socket needs no name resolved")
}

fn build(target: &Target, given: &[(&str, &str)]) -> anyhow::Result<Box<dyn Workload>> {
    let kind = KINDS.iter().find(|kind| kind.name() == "expression").expect("the kind is listed");
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target))
}

/// The workload, looked at.
fn ready(target: &Target, given: &[(&str, &str)]) -> anyhow::Result<Box<dyn Workload>> {
    let workload = build(target, given)?;
    workload.check_ready(&Stop::new())?;
    Ok(workload)
}

fn run(workload: &dyn Workload) -> (Recording, MeasuredFigures) {
    workload.start_load();
    let (clock, stop) = (RealClock::start_now(), Stop::new());
    let plan = LoadPlan { time: None, ..LoadPlan::default() };
    let recording =
        driver::run_load(&plan, 1, workload, clock, &stop, &mut |_| {}).expect("it runs");
    (recording, workload.load_figures().expect("it measures"))
}

/// What is wrong, in words.
fn why(target: &Target, given: &[(&str, &str)]) -> String {
    format!("{:#}", ready(target, given).err().expect("this must be refused"))
}

fn samples<'a>(figures: &'a MeasuredFigures, name: &str) -> &'a [f64] {
    let found = figures.series.iter().find(|series| series.name == name);
    &found.unwrap_or_else(|| panic!("no {name} in {figures:#?}")).samples
}

fn has_note(figures: &MeasuredFigures, tag: &str) -> bool {
    figures.notes.iter().any(|note| note.starts_with(tag))
}

/// Waits until the server runs none of our statements.
fn assert_none_left(target: &Target) {
    let mut session = target.connect(&Stop::new()).unwrap();
    for _ in 0..240 {
        if session.query_rows(OURS).unwrap().rows.is_empty() {
            return;
        }
        nap(50);
    }
    panic!("a statement is left");
}

/// What holds on both products.
fn assert_measures(target: &Target) {
    let given = [("expr", "sha2(@x, 256)"), ("expr", "crc32(@x)"), ("passes", "3"), ("per", "5ms")];
    let (recording, figures) = run(&*ready(target, &given).unwrap());
    // A baseline of text, one of whole numbers, two expressions.
    assert_eq!((recording.total.event_count(), recording.total.error_count()), (12, 0));
    assert!(figures.header.contains("CPU time of the server's thread"), "{}", figures.header);
    for name in ["sha2(@x, 256)", "crc32(@x)", "sha2(@x, 256), wall", "baseline 1", "baseline 'x'"]
    {
        assert_eq!(samples(&figures, name).len(), 3, "{name}");
    }

    let rows = ("through-rows", "1000");
    let given = [("expr", "sha2(n, 256)"), ("expr", "n + 1"), rows, ("passes", "2")];
    let (recording, figures) = run(&*ready(target, &given).unwrap());
    assert_eq!((recording.total.event_count(), recording.total.error_count()), (8, 0));
    assert!(figures.header.starts_with("cost of a row, "), "{}", figures.header);
    assert_eq!(samples(&figures, "sha2(n, 256)").len(), 2);
    let of_table = ("through-rows", "e.t");
    let figures = run(&*ready(target, &[("expr", "id"), of_table, ("passes", "1")]).unwrap()).1;
    assert_eq!(samples(&figures, "id").len(), 1);
    assert!(why(target, &[("expr", "n"), of_table]).contains("1054"));
    assert!(why(target, &[("expr", "1"), ("through-rows", "nosuch")]).contains("1146"));

    let given = [("expr", "(select count(*) from t)"), ("passes", "1"), ("per", "2ms")];
    assert!(has_note(&run(&*ready(target, &given).unwrap()).1, "[CACHED] (select count"));
    let given = [("expr", "(select count(*) from t where id < rand() * 50)"), ("passes", "1")];
    assert!(has_note(&run(&*ready(target, &given).unwrap()).1, "[READS] (select count"));

    let mut session = target.connect(&Stop::new()).unwrap();
    session
        .run_command("CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a")
        .unwrap();
    let given = [("expr", "abs(twice(4))"), ("passes", "1"), ("per", "2ms")];
    let note = "[UDF] abs(twice(4)): twice is a stored function";
    assert!(has_note(&run(&*ready(target, &given).unwrap()).1, note));

    assert!(why(target, &[("expr", "nosuch(1)")]).contains("[MISSING] 1305"));
    assert!(why(target, &[("expr", "1 +")]).contains("1064"));
    assert!(why(target, &[("expr", "1, 2")]).contains("1, 2"));
    assert!(why(target, &[("expr", "@y := 1")]).contains("[EFFECTS]"));
    assert!(why(target, &[("expr", "1"), ("assign", "nonsense")]).contains("SET nonsense"));
    assert_cuts_are_seen(target);
    assert_none_left(target);
}

/// A statement that hangs is ended by the server, and is no number.
fn assert_cuts_are_seen(target: &Target) {
    let given = [("expr", "get_lock('e', 1000)"), ("passes", "1"), ("per", "2ms")];
    let workload = ready(target, &given).unwrap();
    let mut other = target.connect(&Stop::new()).unwrap();
    assert_eq!(other.query_scalar("SELECT GET_LOCK('e', 10)").unwrap().as_deref(), Some("1"));
    let (recording, figures) = run(&*workload);
    let errors = &recording.errors;
    assert!(has_note(&figures, "[CUT] 1 statement "), "{figures:#?} {errors:?}");
    assert_eq!(samples(&figures, "get_lock('e', 1000)"), [] as [f64; 0]);
    other.run_command("DO RELEASE_LOCK('e')").unwrap();
}

#[test]
fn expressions_are_measured_on_mariadb() {
    let server = fixture::mariadb();
    let target = database(&server);
    assert_measures(&target);
    // Whoever kills statements from outside makes them end early, and no number comes of it.
    let given = [("expr", "md5(@x)"), ("passes", "3"), ("per", "400ms")];
    let workload = ready(&target, &given).unwrap();
    let over = Stop::new();
    let figures = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = target.connect(&Stop::new()).unwrap();
            while !over.is_set() {
                for row in session.query_rows(OURS).unwrap().rows {
                    let id = String::from_utf8(row[0].clone().unwrap()).unwrap();
                    // It may have ended by itself.
                    let _ = session.query_rows(&format!("KILL QUERY {id}"));
                }
                nap(5);
            }
        });
        let (_, figures) = run(&*workload);
        over.set(sweat::base::StopReason::Done);
        figures
    });
    assert!(has_note(&figures, "[CUT] "), "{:?}", figures.notes);
    assert!(samples(&figures, "md5(@x)").len() < 3);
    assert_none_left(&target);
}

#[test]
fn expressions_are_measured_on_mysql() {
    let Some(server) = fixture::mysql() else { return };
    let target = database(&server);
    assert_measures(&target);
    // MySQL 9.6 moved these into a component.
    for target in [&target, server.target()] {
        let error = ready(target, &[("expr", "md5(@x)")]).err().expect("it is refused");
        let mistake = error.downcast_ref::<Mistake>().expect("it is the user's");
        assert!(mistake.to_string().contains("[MISSING]"), "{mistake}");
        let hint = mistake.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("component_classic_hashing"), "{hint}");
    }
}

/// The figures of a run as JSON, by name.
fn figures(world: &World, words: &[&str]) -> Vec<Value> {
    let output = world.run(&[words, &["--format=json"]].concat());
    expect(&output, 0);
    let value: Value = serde_json::from_str(&out(&output)).expect("it is JSON");
    value["trials"][0]["figures"]["figures"].as_array().expect("there are figures").clone()
}

#[test]
fn figures_reach_the_report() {
    let server = fixture::mariadb();
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let base = ["bench", "expression", "-u", "root", &socket, "--per=10ms", "-q"];
    let world = World::new();
    let found = figures(&world, &[&base[..], &["md5(@x)", "sha1(@x)"]].concat());
    let named = |name: &str| found.iter().find(|f| f["name"] == name).expect("it is there");
    for name in ["md5(@x)", "sha1(@x)", "md5(@x) / sha1(@x)"] {
        assert!(named(name)["value"].as_f64() > Some(0.0), "{found:#?}");
        assert!(named(name)["low"].as_f64() <= named(name)["high"].as_f64(), "{found:#?}");
    }
    assert_eq!(named("md5(@x)")["samples"], 20);
    let text = world.run(&["report", "latest"]);
    assert!(out(&text).contains("md5(@x) / sha1(@x)"), "{}", out(&text));
    assert!(out(&text).lines().all(|line| line.chars().count() <= 80), "{}", out(&text));

    // An interval of 95 % is right in 19 of 20 runs.
    let same = [&base[..], &["crc32(@x)", "--baseline=crc32(@x)"]].concat();
    let is_same = || {
        let found = figures(&World::new(), &same);
        let own = found.iter().find(|f| f["name"] == "crc32(@x)").expect("it is there");
        own["is_told_apart"] == false
    };
    assert!((0..4).any(|_| is_same()), "an expression differs from itself");
}

#[test]
fn an_interrupt_ends_the_statement_under_way() {
    let server = fixture::mariadb();
    let target = database(&server);
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let words = ["bench", "expression", "-u", "root", &socket, "sha1(@x)", "--per=5s", "-q"];
    let world = World::new();
    let mut child = world.start(&words);
    let mut session = target.connect(&Stop::new()).unwrap();
    while session.query_rows(OURS).unwrap().rows.is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it runs");
        nap(20);
    }
    signal(&child, Signal::INT);
    assert_none_left(&target);
    expect(&child.wait_with_output().unwrap(), 130);
}

/// A server does not notice that its client was killed.
#[test]
fn nothing_runs_on_after_a_kill() {
    let server = fixture::mariadb();
    let target = database(&server);
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let words = ["bench", "expression", "-u", "root", &socket, "sha1(@x)", "--per=500ms", "-q"];
    let world = World::new();
    let mut child = world.start(&words);
    let mut session = target.connect(&Stop::new()).unwrap();
    while session.query_rows(OURS).unwrap().rows.is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it runs");
        nap(20);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_none_left(&target);

    // What another has left is named.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = target.connect(&Stop::new()).unwrap();
            // Should the test fail, it shall end all the same.
            other.run_command("SET SESSION max_statement_time = 60").unwrap();
            other.allow_long_statements();
            let _ = other.query_rows("/* sweat gone */ SELECT BENCHMARK(1000000000000, 1)");
        });
        let id = loop {
            if let Some(id) = session.query_scalar(OURS).unwrap() {
                break id;
            }
            nap(20);
        };
        let workload = ready(&target, &[("expr", "1 + 1"), ("per", "2ms")]);
        target.kill_statement(id.parse().unwrap()).unwrap();
        let note = workload.unwrap().load_note().unwrap_or_default();
        assert!(note.starts_with("[LEFTOVER]") && note.contains(&format!("session {id} ")));
    });
}

#[test]
fn several_sessions_are_refused() {
    let server = fixture::mariadb();
    let workload = ready(server.target(), &[("expr", "1"), ("per", "2ms")]).unwrap();
    let plan = LoadPlan { workers: 2, time: Some(Duration::from_secs(1)), ..LoadPlan::default() };
    let (clock, stop) = (RealClock::start_now(), Stop::new());
    let refused = driver::run_load(&plan, 1, &*workload, clock, &stop, &mut |_| {});
    assert!(format!("{:#}", refused.expect_err("one session measures")).contains("one session"));
    let world = World::new();
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let output = world.run(&["bench", "expression", "-u", "root", &socket]);
    assert!(err(&output).contains("nothing to measure"), "{}", err(&output));
}
