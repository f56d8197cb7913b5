//! An application and the database behind it, measured together: what each page costs, which one repeats a statement, which one
//! waits for a lock.

use serde_json::Value;

use crate::cli::{World, err, expect, out};
use crate::fixture::{self, Fixture};
use crate::page_server::{PAGES, PageServer};

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

fn check_pages(server: &Fixture) {
    let pages = PageServer::start(server);
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", pages.port);
    let world = World::new();
    let words = ["--threads=4", "--time=2s", "--isolate=2", "--isolate-time=800ms"];
    let report = load_pages(&world, server, &PAGES.map(|(path, _)| url(path)), &words);
    assert_eq!(report["server"]["observed"], true, "{}", report["server"]);
    assert_eq!(evidence(&report, "FOREIGN-CPU"), "", "the application's CPU is no noise");
    let cost = &report["server_costs"][0];
    assert_eq!((&cost["method"], &cost["own_taken_off"]), (&"alone".into(), &true.into()));
    for (path, statements) in PAGES {
        let class = find(&cost["by_class"], "class", path).expect("each page is a class");
        assert_eq!(class["rounds"], 2, "{class}");
        let told = class_cost(class, "statements");
        assert!((told - statements as f64).abs() < 0.5, "{path}: {told} of {statements}");
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
    check_pages(&fixture::with(&[("performance_schema", "ON")]));
}

#[test]
fn what_each_page_costs_a_mysql_is_told_by_the_statement() {
    if let Some(server) = fixture::mysql() {
        check_pages(&server);
    }
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
