//! What events cost the server: of a mix whose classes have known costs, and of a server that is only looked at.

use serde_json::Value;

use crate::cli::{World, expect, out};
use crate::fixture::{self, Fixture};

/// Statements per event of each class of the mix.
const KNOWN: [(&str, f64); 3] = [("one", 1.0), ("list", 21.0), ("hold", 3.0)];

fn mix_file() -> String {
    format!("{}/tests/data/mix/pages.toml", env!("CARGO_MANIFEST_DIR"))
}

fn socket(server: &Fixture) -> String {
    let socket = server.target().plan().socket.clone().expect("sandboxes have a socket");
    socket.display().to_string()
}

/// The last report of this world.
fn report(world: &World) -> Value {
    let output = world.run(&["report", "latest", "--format", "json"]);
    expect(&output, 0);
    serde_json::from_str(&out(&output)).expect("the report is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// One of a list by a key's value.
fn find<'v>(list: &'v Value, key: &str, name: &str) -> &'v Value {
    let found = list.as_array().expect("a list").iter().find(|one| one[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

fn check_isolated(server: &Fixture) {
    let world = World::new();
    server.sql("CREATE DATABASE shop");
    let file = mix_file();
    let socket = socket(server);
    let common = ["bench", "mix", file.as_str()];
    let place = ["-S", socket.as_str(), "-u", "root", "-D", "shop"];
    expect(&world.run(&[&common[..], &["prepare"], &place[..]].concat()), 0);
    let load = ["--time=2s", "--threads=2", "--isolate=2", "--isolate-time=800ms", "-q"];
    expect(&world.run(&[&common[..], &place[..], &load[..]].concat()), 0);
    let report = report(&world);
    let cost = &report["server_costs"][0];
    assert_eq!((&cost["method"], &cost["own_taken_off"]), (&"alone".into(), &true.into()));
    assert_eq!(report["trials"].as_array().unwrap().len(), 1, "classes alone are no loads");
    for (class, statements) in KNOWN {
        let found = find(&cost["by_class"], "class", class);
        assert_eq!(found["rounds"], 2, "{found}");
        let told = number(&find(&found["costs"], "id", "statements")["per_event"]["value"]);
        assert!((told - statements).abs() < 0.5, "{class}: {told} of {statements}");
        // The server counts digests without locks: a few are lost.
        let list = found["statements"].as_array().expect("a list");
        let sum: f64 = list.iter().map(|one| number(&one["calls_per_event"])).sum();
        assert!((sum - statements).abs() < 0.2, "{class}: {sum} of {statements}: {list:?}");
    }
    let list = find(&cost["by_class"], "class", "list");
    let repeated = &list["statements"][0];
    assert_eq!(repeated["repeated"], true, "{repeated}");
    assert!((number(&repeated["calls_per_event"]) - 20.0).abs() < 0.1, "{repeated}");
    assert!((number(&repeated["rows_sent_per_call"]) - 1.0).abs() < 0.01, "{repeated}");
    let caveat = find(&report["caveats"], "id", "N-PLUS-1");
    let evidence = caveat["evidence"].as_str().unwrap();
    let words = "N+1: an event of class list runs one statement ";
    assert!(evidence.starts_with(words), "{evidence}");
    let hold = find(&cost["by_class"], "class", "hold");
    let written = number(&find(&hold["costs"], "id", "rows_written")["per_event"]["value"]);
    assert!((written - 1.0).abs() < 0.3, "{written}");
    let text = out(&world.run(&["report", "latest", "-v"]));
    assert!(text.contains("Each class ran alone, 2 times"), "{text}");
}

#[test]
fn classes_alone_are_right_to_the_statement_on_mariadb() {
    check_isolated(&fixture::with(&[("performance_schema", "ON")]));
}

#[test]
fn classes_alone_are_right_to_the_statement_on_mysql() {
    if let Some(server) = fixture::mysql() {
        check_isolated(&server);
    }
}

#[test]
fn a_load_of_something_else_has_its_server_looked_at() {
    let server = fixture::mariadb();
    let world = World::new();
    let socket = socket(&server);
    let load = ["bench", "cpu", "--events=300", "--rate=100", "--time=20s", "-q"];
    let output = world.run(&[&load[..], &["-S", &socket, "-u", "root"]].concat());
    expect(&output, 0);
    let report = report(&world);
    assert_eq!(report["server"]["product"], "MariaDB");
    let cost = &report["server_costs"][0];
    assert_eq!((&cost["own_taken_off"], &cost["window"]["middle"]), (&true.into(), &true.into()));
    let items = cost["per_event"].as_array().expect("a list");
    let statements = items.iter().find(|one| one["id"] == "statements");
    let told = statements.map_or(0.0, |one| number(&one["per_event"]));
    assert!(told < 0.02, "nobody uses the server but sweat: {cost}");
    assert!(cost["no_statements_why"].as_str().unwrap().contains("performance_schema is off"));
    // Nothing names a server: then none is looked at.
    expect(&world.run(&["bench", "cpu", "--events=3", "-q"]), 0);
    let without = self::report(&world);
    assert_eq!(
        (&without["server"], &without["server_costs"]),
        (&Value::Null, &Value::Array(vec![]))
    );
}

#[test]
fn a_workload_that_cannot_isolate_its_classes_says_so() {
    let world = World::new();
    let output = world.run(&["bench", "cpu", "--isolate", "--time=1s"]);
    expect(&output, 2);
    let said = crate::cli::err(&output);
    assert!(said.contains("has one class of events, which runs alone anyway"), "{said}");
}
