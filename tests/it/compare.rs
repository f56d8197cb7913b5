//! `sweat compare`: what can't be compared is refused before anything is said.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::cli::{err, out};
use crate::fixture;

#[expect(clippy::disallowed_methods, reason = "a test of the program itself")]
fn sweat(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sweat")).current_dir(dir).args(args).output().unwrap()
}

/// Runs of `null`, which needs no server, by their names.
fn runs(loads: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, threads) in loads {
        let args = ["bench", "null", "--events", "200", "--threads", threads, "--name", name, "-q"];
        let done = sweat(dir.path(), &args);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    }
    dir
}

fn folder(dir: &TempDir, name: &str) -> String {
    let mut entries = std::fs::read_dir(dir.path().join("runs")).unwrap();
    let found = entries.find_map(|e| {
        let name_of = e.unwrap().file_name().to_string_lossy().into_owned();
        name_of.ends_with(&format!("_{name}")).then_some(name_of)
    });
    found.unwrap()
}

#[test]
fn finished_runs_are_compared_in_words_and_json() {
    let dir = runs(&[("a1", "1"), ("a2", "1"), ("b1", "1"), ("b2", "1")]);
    let [a1, a2, b1, b2] = ["a1", "a2", "b1", "b2"].map(|name| folder(&dir, name));
    let args = ["compare", &b1, &b2, "--base", &a1, &a2, "--margin", "90%"];
    let text = sweat(dir.path(), &args);
    assert!(matches!(text.status.code(), Some(0 | 1)), "{}", err(&text));
    assert!(out(&text).contains("events/s"), "{}", out(&text));
    let text = sweat(dir.path(), &[&args[..], &["-v"]].concat());
    assert!(out(&text).contains("events_per_s"), "{}", out(&text));
    assert!(out(&text).contains("can see: the difference"), "{}", out(&text));
    let json = sweat(dir.path(), &[&args[..], &["--paired", "--format", "json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let first = &report["comparisons"][0];
    assert_eq!(first["decides"], true);
    assert_eq!(first["paired"], true);
    assert_eq!(first["pairs"].as_array().unwrap().len(), 2);
    assert_eq!(report["trials"].as_array().unwrap().len(), 4);
    let one = sweat(dir.path(), &["compare", &b1, "--base", &a1, "--strict"]);
    assert!(matches!(one.status.code(), Some(4 | 5)), "{}", out(&one));
    assert!(out(&one).contains("ONE-RUN"), "{}", out(&one));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let dir = runs(&[("a", "1"), ("b", "2")]);
    let (a, b) = (folder(&dir, "a"), folder(&dir, "b"));
    let refused = |args: &[&str], why: &str| {
        let done = sweat(dir.path(), &[&["compare"], args].concat());
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", out(&done));
        assert!(err(&done).contains(why), "{args:?}: {}", err(&done));
        assert!(err(&done).contains("hint: "), "{args:?}: {}", err(&done));
        assert!(done.stdout.is_empty());
    };
    refused(&[&b, "--base", &a], "load workers: the base has 1, the other 2");
    refused(&[&a, "--base", &a], "named twice");
    refused(&[&b, "--base", "elsewhere"], "there is no run `elsewhere`");
    refused(&[&b, "--base", &a, "--metric", "p97"], "there is no metric p97");
    refused(&[&b, "--base", &a, "--margin", "200%"], "not a share below 100 %");
    let forced = sweat(dir.path(), &["compare", &b, "--base", &a, "--force"]);
    assert_eq!(forced.status.code(), Some(0), "{}", err(&forced));
    assert!(out(&forced).contains("load workers: 1 -> 2"), "{}", out(&forced));

    let meta = dir.path().join("runs").join(&b).join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("\"format\": 1", "\"format\": 99")).unwrap();
    refused(&[&b, "--base", &a], "has layout 99");
    std::fs::write(&meta, text).unwrap();
    std::fs::remove_file(meta.with_file_name("steps.jsonl")).unwrap();
    refused(&[&b, "--base", &a], "is not whole");
}

/// The base and the other side ran on servers of different versions: each is told with its own.
#[test]
fn two_servers_of_different_versions_are_both_told() {
    let first = fixture::mariadb();
    let others = [fixture::mariadb11_listening(), fixture::mysql()];
    for (number, second) in others.into_iter().flatten().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        for (name, server, allow) in
            [("a", &first, &["--allow", "SAME-HOST"][..]), ("b", &second, &[])]
        {
            let socket = server.sandbox.meta().socket.display().to_string();
            let login = ["-S", &socket, "-u", "root"];
            let load =
                ["bench", "queries", "--queries=select 1", "--events=200", "--name", name, "-q"];
            let done = sweat(dir.path(), &[&load[..], &login, allow].concat());
            assert_eq!(done.status.code(), Some(0), "{number}: {}", err(&done));
        }
        let (a, b) = (folder(&dir, "a"), folder(&dir, "b"));
        let shown = |format: &str| {
            let args = ["compare", &b, "--base", &a, "--format", format, "--force", "-v"];
            out(&sweat(dir.path(), &args))
        };
        let report: serde_json::Value = serde_json::from_str(&shown("json")).unwrap();
        let run = |side: usize| &report["sides"][side]["runs"][0];
        let version = |side: usize| run(side)["server"]["version"].as_str().unwrap();
        assert_eq!(version(0), first.sql("select version()").trim());
        assert_eq!(version(1), second.sql("select version()").trim());
        assert_ne!(version(0), version(1));
        assert_eq!(run(0)["allowed"][0]["id"], "SAME-HOST");
        assert_eq!(run(1)["allowed"].as_array().map(Vec::len), Some(0));
        for (format, other) in
            [("text", "\nOther  "), ("markdown", "\n**Other** "), ("html", "<h3>Other: ")]
        {
            let text = shown(format);
            let base = other.replace("Other", "Base");
            let sides = text.split_once(&base).and_then(|(_, sides)| sides.split_once(other));
            let (ours, theirs) = sides.unwrap_or_else(|| panic!("{text}"));
            // Plots behind this part name both.
            let theirs = theirs.split("</section>").next().unwrap();
            assert!(ours.contains(version(0)) && !ours.contains(version(1)), "{text}");
            assert!(theirs.contains(version(1)) && !theirs.contains(version(0)), "{text}");
            assert!(ours.contains("SAME-HOST") && !theirs.contains("SAME-HOST"), "{text}");
        }
    }
}
