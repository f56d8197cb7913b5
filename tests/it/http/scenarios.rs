//! The example of a file of steps, played against a small shop, and what it says of one that errs.

use std::sync::{Arc, Mutex};

use super::output_text;
use super::visits::{field, reply, serve_pages};
use crate::cli::World;

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/http/shop.toml");

/// The shop of the example; a request that it does not understand is status 400.
fn answer_shop(request: &str) -> Vec<u8> {
    let line = request.lines().next().unwrap();
    let body = request.split("\r\n\r\n").nth(1).unwrap();
    let (method, path) = line.strip_suffix(" HTTP/1.1").unwrap().split_once(' ').unwrap();
    let is_json = field(request, "accept").as_deref() == Some("application/json");
    match (method, path) {
        ("GET", "/") if is_json => reply("200 OK", "", b"welcome"),
        ("GET", "/search?q=blue%20shoes" | "/search?q=caf%C3%A9") => {
            reply("200 OK", "", b"2 results")
        }
        ("GET", path) if path.starts_with("/item/") => {
            reply("200 OK", "", br#"{"kind": "item", "price": 3}"#)
        }
        ("POST", "/login") if body == "pass=a%20b%26c&user=ann" => {
            reply("200 OK", "", br#"{"session": {"token": "t-1"}}"#)
        }
        ("POST", "/order") => {
            let order: serde_json::Value = serde_json::from_str(body).unwrap();
            let is_known = field(request, "authorization").as_deref() == Some("Bearer t-1");
            match is_known && order["number"].as_i64().is_some_and(|number| number > 0) {
                true => reply("201 Created", "X-Order: 77\r\n", b"<a href='/a b'>"),
                false => reply("401 Unauthorized", "", b""),
            }
        }
        ("GET", "/orders/77?of=%2Fa%20b") => reply("200 OK", "", b"paid"),
        _ => reply("400 Bad Request", "", request.as_bytes()),
    }
}

#[test]
fn the_example_plays_its_scenarios() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let port = serve_pages(move |request| {
        note.lock().unwrap().push(request.lines().next().unwrap().to_owned());
        answer_shop(request)
    });
    let world = World::new();
    let (file, url) = (format!("--file={SHOP}"), format!("http://127.0.0.1:{port}"));
    let words = ["bench", "http", &file, &url, "--events=60", "--threads=40", "--items=5", "-q"];
    let done = world.run(&words);
    assert!(done.status.success(), "{}", output_text(&done));
    let run = world.record();
    let trial = &run.trials[0];
    assert_eq!(trial.classes, ["browse", "buy"]);
    assert!(trial.event_steps.contains(&"buy: see it".to_owned()), "{:?}", trial.event_steps);
    assert!(trial.errors.is_empty(), "{:?}", trial.errors);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.len(), 180);
    let items: Vec<&String> = seen.iter().filter(|line| line.contains("/item/")).collect();
    let is_low = |line: &&&String| (1..=5).any(|n| line.contains(&format!("/item/{n} ")));
    assert!(!items.is_empty() && items.iter().all(|line| is_low(&line)), "{items:?}");
}

#[test]
fn a_reply_that_is_not_as_expected_ends_the_event() {
    let port = serve_pages(|_| reply("200 OK", "", br#"{"a": 1}"#));
    let world = World::new();
    let path = world.dir.path().join("steps.toml");
    for (step, expected) in [
        ("expect = {text = \"b\"}", "look: `b` is not in the body"),
        ("expect = {json = {\"/a\" = 2}}", "look: another value than 2 is at /a"),
        ("expect = {size = \"9-10\"}", "look: the body has 8 bytes"),
        ("expect = {status = \"201\"}", "look: HTTP 200 OK, which was not expected"),
        ("keep = {x = {header = \"X-No\"}}", "look: the reply has no field x-no"),
        ("keep = {x = {json = \"/b\"}}", "look: the reply has no value at /b"),
    ] {
        let url = format!("url = \"http://127.0.0.1:{port}\"");
        let steps = format!("steps = [{{name = \"look\", get = \"/\", {step}}}, {{get = \"/2\"}}]");
        let text = format!("format = 1\n{url}\n[scenario.a]\n{steps}\n");
        std::fs::write(&path, text).unwrap();
        let file = format!("--file={}", path.display());
        let done = world.run(&["bench", "http", &file, "--events=2"]);
        let text = output_text(&done);
        assert!(done.status.code() == Some(1) && text.contains(expected), "{step}: {text}");
    }
}

#[test]
fn steps_can_be_at_several_servers() {
    // Each answers with its name, and with which secrets it was given.
    let of = |name: &'static str| {
        serve_pages(move |request| {
            let has = |word: &'static str| if request.contains(word) { word } else { "-" };
            let body = [name, has("hush1"), has("hush2"), has("hush3"), has("plain")].join(" ");
            reply("200 OK", "", body.as_bytes())
        })
    };
    let (home, other) = (of("home"), of("other"));
    let world = World::new();
    let path = world.dir.path().join("steps.toml");
    let text = format!(
        "format = 1\nurl = \"http://127.0.0.1:{home}\"\n\
         [headers]\nX-Token = \"hush1\"\nX-Kind = \"plain\"\n\
         [value.n]\nint = [1, 9]\n[scenario.a]\nsteps = [\n\
         {{get = \"/\", expect = {{text = \"home hush1 hush2 - plain\"}}}},\n\
         {{get = \"http://127.0.0.1:{other}/{{{{n}}}}\",\
           expect = {{text = \"other - - - plain\"}}}},\n\
         {{get = \"http://127.0.0.1:{other}\", headers = {{Authorization = \"hush3\"}},\
           expect = {{text = \"other - - hush3 plain\"}}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    let file = format!("--file={}", path.display());
    let done = world.run(&[
        "bench",
        "http",
        &file,
        "--events=6",
        "--threads=2",
        "-q",
        "--header=X-Session: hush2",
    ]);
    assert!(done.status.success(), "{}", output_text(&done));
    let trial = &world.record().trials[0];
    assert!(trial.errors.is_empty(), "{:?}", trial.errors);
    // Connections are kept, one to each server.
    assert_eq!(trial.tally.count("connections"), 4);
    let shown = output_text(&world.run(&["bench", "http", &file, "--dry-run"]));
    assert!(shown.contains(&format!("GET http://127.0.0.1:{other}/")), "{shown}");
}

#[test]
fn a_dry_run_shows_requests_and_mistakes_have_lines() {
    let world = World::new();
    let file = format!("--file={SHOP}");
    let shown = world.run(&["bench", "http", &file, "--dry-run"]);
    let text = output_text(&shown);
    assert!(shown.status.success(), "{text}");
    for line in [
        "-- 2 events of buy",
        "POST http://localhost:8080/login pass=a%20b%26c&user=ann",
        "GET http://localhost:8080/orders/id?of=page",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let path = world.dir.path().join("wrong.toml");
    let wrong = "format = 1\n[value.n]\nint = [1, 9]\n[scenario.a]\nsteps = [\n\
                 {get = \"/{{m}}\"},\n{get = \"x\"},\n\
                 {post = \"/\", keep = {x = {jsn = \"/a\"}}},\n\
                 {get = \"/\", expect = {status = \"ok\"}}]\n";
    for (text, expected) in [
        (
            wrong,
            &[
                "line 7",
                "a path begins with /",
                "line 8",
                "did you mean json?",
                "`ok` is not a status",
            ][..],
        ),
        (&wrong[..73], &["line 6", "`m` is never set"][..]),
        (
            "format = 1\n[scenario.a]\nsteps = []\n",
            &["line 2", "scenario.a", "it has no steps"][..],
        ),
    ] {
        let text = if text.ends_with("}") { format!("{text}]\n") } else { text.to_owned() };
        std::fs::write(&path, text).unwrap();
        let file = format!("--file={}", path.display());
        let done = world.run(&["bench", "http", &file, "http://127.0.0.1:1", "--dry-run"]);
        let text = output_text(&done);
        assert_eq!(done.status.code(), Some(2), "{text}");
        expected.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
    }
}
