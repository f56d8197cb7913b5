//! `sweat explain` and `sweat runs`: what a report means, and a way back to older runs.

use std::path::Path;
use std::process::Output;

use crate::cli::{err, out, program};

fn sweat(dir: &Path, words: &[&str]) -> Output {
    program(dir, words).output().unwrap()
}

/// A run that takes no server.
fn bench(dir: &Path, more: &[&str]) -> Output {
    let words = ["bench", "null", "--events=1000", "--quiet", "--threads=1"];
    let output = sweat(dir, &[&words, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    output
}

fn assert_narrow(text: &str) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn caveats_are_explained_offline() {
    let dir = tempfile::tempdir().unwrap();
    let all = sweat(dir.path(), &["explain"]);
    assert!(out(&all).contains("\nNOISE ") && out(&all).contains("\nTLS "), "{}", out(&all));
    let one = sweat(dir.path(), &["explain", "noise"]);
    assert_eq!(one.status.code(), Some(0));
    assert!(out(&one).starts_with("NOISE: ") && out(&one).contains("\nTo do "), "{}", out(&one));
    let wrong = sweat(dir.path(), &["explain", "NOIZE"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("did you mean NOISE?"), "{}", err(&wrong));
    let allow = sweat(dir.path(), &["bench", "null", "--allow=NOSUCH"]);
    assert_eq!(allow.status.code(), Some(2));
    assert!(err(&allow).contains("CUT DAMAGE MACHINES-PART"), "{}", err(&allow));
    for text in [out(&all), out(&one), err(&wrong), err(&allow)] {
        assert_narrow(&text);
    }
}

#[test]
fn runs_are_listed_found_named_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let none = sweat(dir, &["runs"]);
    assert_eq!((none.status.code(), out(&none).as_str()), (Some(0), ""), "{}", err(&none));
    bench(dir, &["--name=before", "--save-baseline=main"]);
    bench(dir, &["--name=after", "-pSecret1"]);
    bench(dir, &["--name=third"]);
    let listed = out(&sweat(dir, &["runs"]));
    assert_narrow(&listed);
    let at = |name: &str| listed.find(name).unwrap_or_else(|| panic!("{name}: {listed}"));
    assert!(at("_before  bench, ") < at("_after  bench, ") && at("_after") < at("_third"));
    assert!(listed.contains("baseline main") && listed.contains("events/s"), "{listed}");
    let json = sweat(dir, &["runs", "--format", "json", "--limit", "2"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[0]["workloads"][0], "null");
    let typed = json[0]["command_line"].as_str().unwrap();
    assert!(typed.ends_with("--name=after -p"), "{typed}");

    let latest = out(&sweat(dir, &["runs", "latest"]));
    assert!(latest.trim_end().ends_with("_third") && dir.join(latest.trim_end()).is_dir());
    for name in ["main", "before", "runs"] {
        let shown = sweat(dir, &["runs", "show", name, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        let wanted = if name == "runs" { "third" } else { "before" };
        assert_eq!(report["run"]["name"], wanted, "{name}");
        assert!(report["run"]["command_line"].as_str().unwrap().starts_with("sweat bench null "));
    }
    let compared = sweat(dir, &["compare", "after", "--base", "main", "--force"]);
    assert!(matches!(compared.status.code(), Some(0 | 1)), "{}", err(&compared));
    let wrong = sweat(dir, &["report", "nosuch"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("_third") && err(&wrong).contains("baselines: main"));
    let held = out(&sweat(dir, &["report", "after", "-v"]));
    assert!(held.contains("sweat bench null") && !held.contains("Secret1"), "{held}");

    let mine = dir.join("runs/notes");
    std::fs::create_dir(&mine).unwrap();
    let unasked = sweat(dir, &["runs", "prune", "--keep", "1"]);
    assert_eq!(unasked.status.code(), Some(2), "{}", err(&unasked));
    assert!(out(&unasked).contains("_after") && out(&unasked).contains("baseline main"));
    let look = sweat(dir, &["runs", "prune", "--keep", "1", "--dry-run"]);
    assert!(err(&look).contains("would remove 1 run,"), "{}", err(&look));
    let young = sweat(dir, &["runs", "prune", "--older", "1d", "--yes"]);
    assert!(err(&young).contains("nothing to remove"), "{}", err(&young));
    let done = sweat(dir, &["runs", "prune", "--keep", "1", "--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let left = out(&sweat(dir, &["runs"]));
    assert!(left.contains("_before") && left.contains("_third") && !left.contains("_after"));
    assert!(mine.is_dir());
    assert_eq!(sweat(dir, &["runs", "forget", "main"]).status.code(), Some(0));
    assert_eq!(sweat(dir, &["report", "main"]).status.code(), Some(2));
    let renamed = sweat(dir, &["runs", "save", "other", "before"]);
    assert!(err(&renamed).contains("baseline other is "), "{}", err(&renamed));
}

#[test]
fn a_plan_is_found_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::create_dir_all(dir.join("docs/plans")).unwrap();
    let plan = "name = \"p\"\nblocks = 1\n[workload]\nkind = \"null\"\n[load]\ntime = \"1s\"\n";
    std::fs::write(dir.join("docs/plans/mine.toml"), plan).unwrap();
    std::fs::write(dir.join("here.toml"), plan).unwrap();
    for name in ["mine", "here", "here.toml"] {
        let output = sweat(dir, &["run", name, "--dry-run"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
    }
    let wrong = sweat(dir, &["run", "mime", "--dry-run"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("did you mean mine?"), "{}", err(&wrong));
}

#[test]
fn defaults_hold_where_nothing_is_typed_and_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let config = dir.join(".config/sweat");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "threads = 2\nruns-dir = \"mine\"\n").unwrap();
    let words = ["bench", "null", "--events=100", "--quiet", "--format=json"];
    let report = |more: &[&str], threads: &str| {
        let mut command = program(dir, &[&words, more].concat());
        let output = command.env("SWEAT_THREADS", threads).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let by_file = report(&[], "");
    assert_eq!(by_file["trials"][0]["workers"], 2);
    assert!(dir.join("mine").is_dir() && !dir.join("runs").exists());
    let told = by_file["run"]["defaults"].to_string();
    assert!(told.contains("threads = 2 (") && told.contains("runs-dir = mine"), "{told}");
    let by_variable = report(&[], "3");
    assert_eq!(by_variable["trials"][0]["workers"], 3);
    assert!(by_variable["run"]["defaults"].to_string().contains("threads = 3 (SWEAT_THREADS)"));
    let by_flag = report(&["--threads=1"], "3");
    assert_eq!(by_flag["trials"][0]["workers"], 1);
    assert!(!by_flag["run"]["defaults"].to_string().contains("threads"));
    assert!(out(&sweat(dir, &["runs", "latest"])).starts_with("mine/"));
    std::fs::write(config.join("config.toml"), "\nthreds = 2\n").unwrap();
    let wrong = sweat(dir, &["runs"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("config.toml line 2: threds"), "{}", err(&wrong));
}

#[test]
fn a_plan_to_start_from_is_written_once_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert_eq!(sweat(dir, &["init", "first"]).status.code(), Some(0));
    let twice = sweat(dir, &["init", "first"]);
    assert_eq!(twice.status.code(), Some(2), "{}", err(&twice));
    assert!(err(&twice).contains("--force"), "{}", err(&twice));
    assert_eq!(sweat(dir, &["init", "first", "--force"]).status.code(), Some(0));
    let looked = sweat(dir, &["run", "first", "--dry-run"]);
    assert_eq!(looked.status.code(), Some(0), "{}", err(&looked));
    let told = out(&looked);
    assert!(
        told.contains("\ntakes 3 min 20 s of loads, at most 1 min 40 s of settling\n"),
        "{told}"
    );
}

#[test]
fn a_warm_up_counts_in_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["bench", "null", "--time=1", "--warmup=2", "--format=json"];
    let output = sweat(dir.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1);
    assert!(trials[0]["seconds"].as_f64().unwrap() < 1.5, "{}", trials[0]["seconds"]);
    assert_eq!(report["run"]["phases"][0]["kind"], "warm_up", "{}", report["run"]["phases"]);
    assert!(err(&output).contains("warm-up, 2s: 2.0"), "{}", err(&output));
    let wrong = sweat(dir.path(), &["capacity", "null", "--slo", "p99<1s", "--warmup=1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
}
