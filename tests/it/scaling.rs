//! Sweeps and searches for capacity as people run them, on a real server.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use sweat::analysis::{RunFindings, analyse_run};
use sweat::archive;

use crate::fixture;

/// The program in a folder of its own.
fn run(dir: &tempfile::TempDir, words: &[&str]) -> Output {
    let home = fixture::home(dir.path());
    #[expect(clippy::disallowed_methods, reason = "the test runs the program itself")]
    let output = Command::new(env!("CARGO_BIN_EXE_sweat"))
        .args(words)
        .current_dir(dir.path())
        .env_clear()
        .env("HOME", dir.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SWEAT_HOME", dir.path().join("home"))
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    drop(home);
    output
}

fn world() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("sweat-scaling-").tempdir().unwrap()
}

fn runs(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("runs")
}

fn findings(dir: &tempfile::TempDir) -> RunFindings {
    let run = archive::read_run(&archive::latest_run(&runs(dir)).expect("there is a run")).unwrap();
    analyse_run(&run)
}

#[track_caller]
fn expect(output: &Output, codes: &[i32]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(codes.contains(&output.status.code().unwrap_or(-1)), "{out}\n{err}");
    out + &err
}

const LOAD: &[&str] = &["oltp_point_select", "--sandbox", "--table-size=1000", "--interval=200ms"];

#[test]
fn a_sweep_over_threads_measures_each_level_and_the_first_again() {
    let dir = world();
    let words = [&["sweep", "threads=1,2,4", "--time=1", "-v"], LOAD].concat();
    let text = expect(&run(&dir, &words), &[0, 1]);
    assert!(text.contains("no law is fitted: 3 levels of load"), "{text}");
    let findings = findings(&dir);
    let workers: Vec<usize> = findings.results.trials.iter().map(|t| t.workers).collect();
    assert_eq!((workers.len(), workers[3]), (4, 1), "{workers:?}");
    let scaling = findings.scaling.as_ref().expect("a sweep has a scaling");
    assert_eq!(scaling.axis, "threads");
    let values: Vec<f64> = scaling.points.iter().map(|p| p.value).collect();
    assert_eq!((values, scaling.law), (vec![1.0, 2.0, 4.0], None));
    for point in &scaling.points {
        // All sessions are busy nearly all the time.
        let load = point.concurrency.unwrap();
        assert!(load > 0.7 * point.value && load < 1.02 * point.value, "{point:?}");
        assert!(point.events_per_s.value.unwrap() > 0.0 && point.threads_running.is_some());
    }
    // A machine that is not quiet leaves what was measured, and no more.
    let first = if findings.results.void_caveat().is_some() {
        "Not reliable: "
    } else {
        "The highest rate is "
    };
    assert!(findings.results.answer[0].starts_with(first), "{:?}", findings.results.answer);
}

#[test]
fn an_open_sweep_finds_its_levels_and_ends_by_itself() {
    let dir = world();
    // Room for 16 sessions and our own: 32 would not fit.
    let settings = ["--set", "max_connections=25"];
    let words = [&["sweep", "threads=1..", "--time=0.4"], LOAD, &settings].concat();
    expect(&run(&dir, &words), &[0, 1]);
    let findings = findings(&dir);
    let workers: Vec<usize> = findings.results.trials.iter().map(|t| t.workers).collect();
    // On a busy machine two sessions may do no more than one: then it ends there.
    assert!(workers.starts_with(&[1, 2]) && workers.last() == Some(&1), "{workers:?}");
    assert!(workers.iter().all(|n| *n <= 16) && workers.len() >= 3, "{workers:?}");
}

#[test]
fn a_search_for_capacity_confirms_a_rate_with_a_loose_objective() {
    let dir = world();
    let search =
        ["capacity", "--slo", "p99<10s", "--settle=0.1s", "--step-time=1s", "--confirm=1s"];
    let words = [&search, LOAD, &["--threads=8", "-v"]].concat();
    let text = expect(&run(&dir, &words), &[0, 1]);
    let findings = findings(&dir);
    let capacity = findings.capacity.expect("a search has a capacity");
    let phases: Vec<&str> = capacity.steps.iter().map(|s| s.phase.as_str()).collect();
    assert!(phases.starts_with(&["burst", "unloaded", "curve"]), "{phases:?}\n{text}");
    assert_eq!(phases.last(), Some(&"confirm"), "{phases:?}\n{text}");
    assert_eq!(capacity.objectives, ["p99 < 10s"]);
    // What is above the server's rate fails: not done, or done later and later, whatever the latency.
    assert!(capacity.why.is_some_and(|why| !why.is_empty()), "{text}");
    for step in capacity.steps.iter().skip(1) {
        assert!(step.offered_per_s.is_some() && !step.why.is_empty(), "{step:?}");
    }
    if let Some(rate) = capacity.confirmed_per_s {
        assert!(rate < capacity.first_failing_per_s.unwrap(), "{text}");
        assert!(text.contains("confirmed over 1.00 s only"), "{text}");
    }
}

#[test]
fn an_objective_below_the_unloaded_latency_is_ill_posed_and_exits_with_1() {
    let dir = world();
    let search =
        ["capacity", "--slo", "mean<1us", "--settle=0.1s", "--step-time=1s", "--confirm=1s"];
    let words = [&search, LOAD, &["--threads=4"]].concat();
    let text = expect(&run(&dir, &words), &[1]);
    // A microsecond is less than our own lateness too: then the steps are void, and no rate follows either.
    let is_told = text.contains("ILL-POSED") || text.contains("load generator is the limit");
    assert!(is_told, "{text}");
}

#[test]
fn wrong_words_start_nothing() {
    let dir = world();
    for (words, told) in [
        (&["sweep", "thread=1,2", "null"][..], "did you mean threads?"),
        (&["sweep", "threads=0", "null"], "`0` is not a number of threads"),
        (&["sweep", "threads=2,2", "null"], "twice"),
        (&["sweep", "null"], "nothing is varied"),
        (&["sweep", "threads=1,2"], "no workload is named"),
        (&["sweep", "threads=1,2", "null", "--blocks=0"], "not a number of blocks"),
        (&["capacity", "null"], "no objective is named"),
        (&["capacity", "--slo", "p9 9<5ms", "null"], "did you mean p99?"),
        (&["capacity", "--slo", "tps>5", "null"], "is what the search finds"),
        (&["capacity", "--slo", "p99<5ms", "--rate=5", "null"], "the search sets it"),
    ] {
        let text = expect(&run(&dir, words), &[2]);
        assert!(text.contains(told), "{words:?}: {text}");
    }
    assert!(!runs(&dir).exists());
}
