//! An application and the database behind it, measured together: what each page costs, which one repeats a statement, which one
//! waits for a lock.

use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use sweat::server::ServerControl as _;

use crate::cli::{World, end, err, expect, is_under_way, out, signal, until};
use crate::fixture::{self, Fixture};
use crate::page_server::{PAGES, PageServer, get_page};

/// One of a list by a key's value.
fn find<'v>(list: &'v Value, key: &str, name: &str) -> Option<&'v Value> {
    list.as_array().expect("a list").iter().find(|one| one[key] == name)
}

/// What an event of a class costs.
fn class_cost(class: &Value, id: &str) -> f64 {
    find(&class["costs"], "id", id).map_or(0.0, |cost| cost["per_event"]["value"].as_f64().unwrap())
}

fn evidence<'v>(report: &'v Value, id: &str) -> &'v str {
    find(&report["caveats"], "id", id).map_or("", |caveat| caveat["evidence"].as_str().unwrap())
}

/// Loads pages of an application with a server behind it; gives the report.
fn load_pages(world: &World, server: &Fixture, urls: &[String], words: &[&str]) -> Value {
    let socket = server.target().plan().socket.clone().expect("sandboxes have a socket");
    let socket = socket.display().to_string();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let place = ["-S", socket.as_str(), "-u", "root", "-q"];
    let output = world.run(&[&["bench", "http"], &urls[..], &place, words].concat());
    expect(&output, 0);
    let output = world.run(&["report", "latest", "--format", "json"]);
    expect(&output, 0);
    serde_json::from_str(&out(&output)).expect("the report is JSON")
}

fn check_pages(server: &Fixture, more: &[&str]) {
    let pages = PageServer::start(server);
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", pages.port);
    let world = World::new();
    let words = ["--threads=4", "--time=2s", "--isolate=2", "--isolate-time=800ms"];
    let words = [&words, more].concat();
    let report = load_pages(&world, server, &PAGES.map(|(path, _)| url(path)), &words);
    assert_eq!(report["server"]["observed"], true, "{}", report["server"]);
    assert_eq!(evidence(&report, "FOREIGN-CPU"), "", "the application's CPU is no noise");
    let cost = &report["server_costs"][0];
    assert_eq!((&cost["method"], &cost["own_taken_off"]), (&"alone".into(), &true.into()));
    for (path, statements) in PAGES {
        let class = find(&cost["by_class"], "class", path).expect("each page is a class");
        assert_eq!(class["rounds"], 2, "{class}");
        let told = class_cost(class, "statements");
        // Counters are read at a moment that is known as exactly as the look at them was short, of loads of 800 ms: what
        // is exact are the statements below.
        assert!((told / statements as f64 - 1.0).abs() < 0.25, "{path}: {told} of {statements}");
        // The server counts digests without locks: a few are lost.
        let list = class["statements"].as_array().expect("a list");
        let sum: f64 = list.iter().map(|one| one["calls_per_event"].as_f64().unwrap()).sum();
        assert!((sum - statements as f64).abs() < 0.3, "{path}: {sum} of {statements}: {list:?}");
        // Four workers want the row that `/hold` keeps for three milliseconds.
        let (waits, us) = ("row_lock_waits", "row_lock_wait_us");
        let (waits, us) = (class_cost(class, waits), class_cost(class, us));
        assert_eq!(path == "/hold", waits > 0.3 && us > 1000.0, "{path}: {waits}, {us}");
    }
    let repeated = evidence(&report, "N-PLUS-1");
    assert!(repeated.starts_with("N+1: an event of class /list runs"), "{repeated}");
    let locked = evidence(&report, "LOCK-WAITS");
    assert!(locked.starts_with("an event of class /hold waits"), "{locked}");
    assert_eq!(evidence(&report, "CONNECT-PER-EVENT"), "", "sessions are kept");
    let answer = report["answer"].to_string();
    assert!(answer.contains("Each event cost the database "), "{answer}");
    let note = cost["statements_note"].as_str().unwrap_or_default();
    assert_eq!(note.starts_with("Statements are from the "), !more.is_empty(), "{note}");
    assert!(!note.contains('%'), "sessions are opened with the load: {note}");
    let text = out(&world.run(&["report", "latest", "-v"]));
    assert!(text.contains("\nDatabase M") && text.contains(", observed"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let words = ["--threads=2", "--time=3s", "--no-keep-alive"];
    let report = load_pages(&world, server, &[url("/one")], &words);
    let connects = evidence(&report, "CONNECT-PER-EVENT");
    assert!(connects.ends_with(" connections to the server per event"), "{report}");
}

#[test]
fn what_each_page_costs_a_mariadb_is_told_by_the_statement() {
    check_pages(&fixture::with(&[("performance_schema", "ON")]), &[]);
}

#[test]
fn what_each_page_costs_a_mysql_is_told_by_the_statement() {
    if let Some(server) = fixture::mysql() {
        check_pages(&server, &[]);
    }
}

/// What logging changes, and whether there is a file of ours.
fn logging_state(server: &Fixture) -> (String, bool) {
    let names = ["slow_query_log", "long_query_time", "log_output", "slow_query_log_file"];
    let list = names.map(|name| format!("@@GLOBAL.{name}")).join(", ");
    let entries = std::fs::read_dir(server.sandbox.datadir()).expect("the data are there");
    let mut names = entries.flatten().map(|entry| entry.file_name());
    let has_file = names.any(|name| name.to_string_lossy().starts_with("sweat-"));
    (server.sql(&format!("SELECT {list}")), has_file)
}

fn check_pages_by_log(server: &Fixture) {
    let before = logging_state(server);
    check_pages(server, &["--allow=logging"]);
    assert_eq!(logging_state(server), before, "all is put back, and no file is left");
}

#[test]
fn the_slow_log_of_a_mariadb_tells_the_statements_of_each_page() {
    check_pages_by_log(&fixture::mariadb());
}

#[test]
fn the_slow_log_of_a_mysql_tells_the_statements_of_each_page() {
    if let Some(server) = fixture::mysql_with(&[("performance_schema", "OFF")]) {
        check_pages_by_log(&server);
    }
}

#[test]
fn a_slow_log_in_the_table_is_read_there() {
    let own = [("log_output", "TABLE"), ("slow_query_log", "ON")];
    check_pages_by_log(&fixture::with(&own));
    let off = ("performance_schema", "OFF");
    if let Some(server) = fixture::mysql_with(&[own[0], own[1], off]) {
        check_pages_by_log(&server);
    }
}

#[test]
fn a_slow_log_that_was_on_keeps_what_it_would_have_had() {
    let server = fixture::with(&[("slow_query_log", "ON"), ("general_log", "ON")]);
    let pages = PageServer::start(&server);
    let url = format!("http://127.0.0.1:{}/one", pages.port);
    let before = logging_state(&server).0;
    let world = World::new();
    let words = ["--threads=1", "--time=1s", "--allow=logging"];
    let report = load_pages(&world, &server, &[url], &words);
    let statements = &report["server_costs"][0]["statements"];
    assert_eq!(statements[0]["text"], "select n from item where id=?", "{statements}");
    assert_eq!(logging_state(&server), (before, true), "the file stays, as it was on");
    let run = sweat::archive::latest_run(&world.runs()).expect("there is a run");
    let text = std::fs::read_to_string(run.join("log.txt")).expect("the run has notes");
    assert!(text.contains("those that your slow log would have"), "{text}");
}

/// A load with the log on, as a process.
fn start_logged_load(world: &World, server: &Fixture) -> (PageServer, Child) {
    let pages = PageServer::start(server);
    let url = format!("http://127.0.0.1:{}/one", pages.port);
    let socket = server.target().plan().socket.clone().expect("sandboxes have a socket");
    let socket = socket.display().to_string();
    let place = ["-S", &socket, "-u", "root", "-q"];
    let words = ["bench", "http", &url, "--threads=1", "--time=60s", "--allow=logging"];
    let child = world.start(&[&words[..], &place].concat());
    until("the load runs", || is_under_way(world));
    assert!(logging_state(server).0.starts_with("1\t0.0"), "the log is on");
    (pages, child)
}

fn check_put_back(server: &Fixture) {
    let before = logging_state(server).0;
    let world = World::new();
    let (pages, child) = start_logged_load(&world, server);
    signal(&child, Signal::INT);
    let (output, _) = end(child, Duration::from_secs(20));
    expect(&output, 130);
    assert_eq!(logging_state(server), (before.clone(), false), "Ctrl-C puts it back");
    drop(pages);
    server.sql("DROP DATABASE shop");

    let world = World::new();
    let (_pages, mut child) = start_logged_load(&world, server);
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert_ne!(logging_state(server).0, before, "nobody could put it back");
    let run = sweat::archive::latest_run(&world.runs()).expect("there is a run");
    let restored = world.run(&["restore", &run.display().to_string()]);
    expect(&restored, 0);
    assert_eq!(logging_state(server).0, before, "{}", out(&restored));
}

#[test]
fn a_log_that_was_switched_on_is_put_back_even_after_a_kill() {
    check_put_back(&fixture::mariadb());
    if let Some(server) = fixture::mysql_with(&[("performance_schema", "OFF")]) {
        check_put_back(&server);
    }
}

#[test]
fn sessions_that_were_open_before_the_load_are_missed_and_it_is_said() {
    let server = fixture::mariadb();
    let pages = PageServer::start(&server);
    let mut link = pages.connect();
    get_page(&mut link, "/one");
    let asks = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while asks.load(Relaxed) {
                get_page(&mut link, "/list");
            }
        });
        let url = format!("http://127.0.0.1:{}/one", pages.port);
        let world = World::new();
        let words = ["--threads=1", "--time=2s", "--allow=logging"];
        let report = load_pages(&world, &server, &[url], &words);
        asks.store(false, Relaxed);
        let note = report["server_costs"][0]["statements_note"].to_string();
        assert!(note.contains(" % of them: sessions that were open before"), "{note}");
    });
}

#[test]
fn a_database_that_does_nothing_for_the_pages_is_called_idle() {
    let server = fixture::mariadb();
    let pages = PageServer::start(&server);
    let world = World::new();
    let url = format!("http://127.0.0.1:{}/none", pages.port);
    let words = ["--threads=1", "--time=3s", "--expect-status=404"];
    let report = load_pages(&world, &server, &[url], &words);
    let answer = report["answer"].to_string();
    assert!(answer.contains("No statement of these events reached the database."), "{answer}");
}

#[test]
fn a_database_that_is_not_there_is_said_before_the_load() {
    let world = World::new();
    let words = ["bench", "http", "http://127.0.0.1:1/", "-S", "/nowhere.sock", "--time=1s"];
    let output = world.run(&words);
    expect(&output, 3);
    assert!(err(&output).contains("/nowhere.sock"), "{}", err(&output));
}
