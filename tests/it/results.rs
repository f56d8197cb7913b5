//! What a load says of itself that only a real server shows: the part of the table it reached, what it left undone, and
//! the exit codes of both.

use sweat::analysis::{CaveatLevel, analyse_run};

use crate::cli::{World, err, expect, out};
use crate::fixture::{self, Fixture};

fn socket(fixture: &Fixture) -> String {
    format!("--socket={}", fixture.sandbox.meta().socket.display())
}

/// Runs `sweat bench` on a server's database `results`.
fn bench(world: &World, server: &Fixture, words: &[&str]) -> std::process::Output {
    let login = [&socket(server)[..], "-uroot", "-Dresults", "--quiet", "--threads=2"];
    world.run(&[&["bench"], words, &login[..]].concat())
}

#[test]
fn a_load_uses_the_whole_table_unless_told_a_part() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE results");
    let world = World::new();
    expect(&bench(&world, &server, &["oltp_point_select", "prepare", "--table-size=5000"]), 0);
    let load = ["oltp_point_select", "--events=2000"];
    expect(&bench(&world, &server, &load), 0);
    let whole = world.record();
    assert_eq!(whole.trials[0].options["table-size"], "5000", "taken from the table");
    let found = analyse_run(&whole);
    assert!(
        found.results.caveats.iter().all(|c| c.id != "PART-TABLE"),
        "{:?}",
        found.results.caveats
    );
    let data = found.data.data_bytes.expect("the server tells");

    let output = bench(&world, &server, &[&load[..], &["--table-size=500"]].concat());
    expect(&output, 0);
    assert!(out(&output).contains("PART-TABLE"), "{}", out(&output));
    let part = analyse_run(&world.record());
    let caveat = part.results.caveats.iter().find(|c| c.id == "PART-TABLE").expect("a part");
    assert_eq!(caveat.level, CaveatLevel::Warn);
    assert!(caveat.evidence.contains("10.0 %") && caveat.evidence.contains("500"), "{caveat:?}");
    let reached = part.data.data_bytes.unwrap() / data;
    assert!((reached - 0.1).abs() < 0.02, "DATA-SIZE counts what is reached: {reached}");
}

#[test]
fn what_an_overload_leaves_is_said_and_has_exit_codes() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE results");
    let world = World::new();
    expect(&bench(&world, &server, &["oltp_point_select", "prepare", "--table-size=1000"]), 0);
    let load = ["oltp_point_select", "--rate=1000000", "--time=2"];
    let output = bench(&world, &server, &load);
    expect(&output, 0);
    let text = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("VOID") && text.contains("BACKLOG"), "{text}");
    assert!(text.contains("p50 > ") && text.contains("p99 > "), "{text}");
    let run = world.record();
    let found = analyse_run(&run);
    let left = found.results.trials[0].unbegun.expect("no server does a million a second here");
    let due = left.arrivals + found.results.trials[0].events + found.results.trials[0].failed;
    assert!(due.abs_diff(2_000_000) < 20_000, "a Poisson count of what was due: {due}");
    assert!(left.oldest_s > 0.5 && left.oldest_s <= 2.0, "{left:?}");
    assert!(
        found.results.trials[0].response.p99_s.unwrap() > 0.5,
        "{:?}",
        found.results.trials[0].response
    );
    assert_eq!(run.trials[0].unbegun.len(), left.arrivals, "it is in the run folder, raw");
    // The same run, looked at again.
    expect(&world.run(&["report", "latest"]), 0);
    expect(&world.run(&["report", "latest", "--strict"]), 4);
    let json = world.run(&["report", "latest", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!(json["trials"][0]["unbegun"]["arrivals"], left.arrivals);
    let csv = out(&world.run(&["report", "latest", "--csv-summary"]));
    assert!(csv.lines().next().unwrap().contains(",unbegun,"), "{csv}");
    assert!(csv.contains(&format!(",{},", left.arrivals)), "{csv}");
    let rows = out(&world.run(&["report", "latest", "--csv-summary", "--no-header"]));
    assert_eq!(csv.split_once('\n').unwrap().1, rows, "a row to add to a file");
    expect(&world.run(&["report", "latest", "--no-header"]), 2);
    // A check that only what never began could break.
    let check = |text: &str| world.run(&["report", "latest", "--check", text]);
    expect(&check("p99 < 100ms"), 1);
    expect(&check("p99 < 30s"), 5);
    expect(&check("tps > 1"), 5 * i32::from(out(&check("tps > 1")).contains("unsure")));
}

#[test]
fn a_check_that_a_short_load_cannot_show_is_unsure() {
    let world = World::new();
    let words = ["bench", "null", "--time=1", "--quiet", "--check", "stalls == 0"];
    let output = world.run(&words);
    expect(&output, 5);
    assert!(out(&output).contains("unsure"), "{}", out(&output));
    let output = world.run(&["bench", "null", "--time=1", "--quiet", "--check", "max < 1h"]);
    expect(&output, 0);
    for wrong in ["--percentile=97", "--histogram"] {
        let output = world.run(&["bench", "null", "--time=1", wrong]);
        expect(&output, 2);
        assert!(err(&output).contains("--format json"), "{}", err(&output));
    }
    expect(&world.run(&["bench", "null", "--events=10", "--quiet", "--percentile=99"]), 0);
}

#[test]
fn a_file_of_statements_runs_as_long_as_it_was_told() {
    let server = fixture::mariadb();
    server.sql("CREATE DATABASE results");
    let world = World::new();
    expect(&bench(&world, &server, &["queries", "--queries=select 1", "--events=100"]), 0);
    let events = |run: &sweat::archive::RunRecord| -> u64 {
        run.trials[0].response.iter().map(|h| h.len()).sum()
    };
    assert_eq!(events(&world.record()), 100);
    expect(&bench(&world, &server, &["queries", "--queries=select 1"]), 0);
    assert_eq!(events(&world.record()), 2, "once by each worker");
}
