//! `sweat doctor` and `sweat aa`, as people run them.

use std::path::Path;
use std::process::{Command, Output};

#[expect(clippy::disallowed_methods, reason = "the test runs the program itself")]
fn sweat(dir: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sweat"))
        .args(words)
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SWEAT_HOME", dir.join("home"))
        .output()
        .expect("the program runs")
}

fn private() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("sweat-doctor-").tempdir().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_doctor_sees_machine_and_server_and_leaves_nothing() {
    let dir = private();
    let output = sweat(dir.path(), &["doctor", "--quick", "--sandbox", "--json"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let found: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
    assert!(found["raw"]["gap.span_ns"].as_f64().unwrap() > 1e8);
    assert!(found["raw"]["ours.ceiling_per_s"].as_f64().unwrap() > 1000.0);
    // More blocks tell smaller differences.
    let shares: Vec<f64> = found["resolves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["share"].as_f64().unwrap())
        .collect();
    assert!(shares.len() > 1 && shares.iter().all(|share| *share > 0.0), "{shares:?}");
    assert!(shares.windows(2).all(|pair| pair[1] <= pair[0]), "{shares:?}");
    let items = found["server"]["items"].as_array().unwrap();
    let ids: Vec<&str> = items.iter().map(|i| i["id"].as_str().unwrap()).collect();
    for id in ["max_connections", "max_prepared_stmt_count", "durability", "pool", "probe"] {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
    let mut names = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name());
    assert!(names.all(|name| name == "home"), "flushed files are gone");
    // Where others take what there is of the processors, nothing can be measured.
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let strict = std::thread::scope(|scope| {
        for _ in 0..4 * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let strict = sweat(dir.path(), &["doctor", "--quick", "--strict"]);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        strict
    });
    assert!(text(&strict).starts_with("VOID: "), "{}", text(&strict));
    assert_eq!(strict.status.code(), Some(4));
    let wrong = sweat(dir.path(), &["doctor", "--dir", "nowhere"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// Blocks are too few and loads too short to prove anything, so chance may show a difference once in twenty.
#[test]
fn a_variant_against_itself_is_compared() {
    let dir = private();
    let plan = "name = \"idle\"\nseed = 1\npasses = 1\n\n[workload]\nkind = \"null\"\n\n\
                [load]\nworkers = 1\ntime = \"300ms\"\ninterval = \"50ms\"\n";
    std::fs::write(dir.path().join("idle.toml"), plan).unwrap();
    let words = ["aa", "idle.toml", "--blocks", "3", "--quiet", "--format", "json"];
    let output = sweat(dir.path(), &words);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    let found: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(found["trials"].as_array().unwrap().len(), 6);
    let answer = found["answer"][0].as_str().unwrap();
    assert!(answer.to_lowercase().contains("a variant against itself"), "{answer}");
    let decides = &found["comparisons"][0];
    assert_eq!(
        (decides["base"].as_str(), decides["variant"].as_str()),
        (Some("a"), Some("a-again"))
    );
    println!("{answer}");
}
