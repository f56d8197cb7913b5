//! `sweat report` on a recorded run, and its page in a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::cli::{err, out};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/demo-v1")
}

/// A copy that a test may spoil.
fn copy() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("runs/2026-11-21T07-40-15Z_demo");
    copy_tree(&recorded(), &run);
    (dir, run)
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test of the program itself")]
fn sweat(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sweat")).current_dir(dir).args(args).output().unwrap()
}

#[test]
fn every_format_of_a_recorded_run() {
    let (dir, _run) = copy();
    let text = sweat(dir.path(), &["report"]);
    assert_eq!(text.status.code(), Some(0), "{}", err(&text));
    assert!(out(&text).starts_with("A warm buffer pool saves 9"), "{}", out(&text));
    assert!(!out(&text).contains('\x1b'), "no colours into a pipe");
    let json = sweat(dir.path(), &["report", "latest", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["trials"].as_array().unwrap().len(), 8);
    assert!(report["files"].as_array().unwrap().iter().any(|f| f["path"] == "meta.json"));
    let csv = out(&sweat(dir.path(), &["report", "--format", "csv"]));
    assert!(csv.starts_with("ts_unix,t_s,") && csv.lines().count() > 80);
    let summary = out(&sweat(dir.path(), &["report", "--csv-summary"]));
    assert_eq!(summary.lines().count(), 9);
    let file = dir.path().join("x.json");
    let to_file = sweat(dir.path(), &["report", "--format", "json", "-o", "x.json"]);
    assert!(out(&to_file).is_empty() && err(&to_file).contains("wrote x.json"));
    assert_eq!(std::fs::read(file).unwrap(), json.stdout);
}

#[test]
fn wrong_folders_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["report"][..], "no run in runs"),
        (&["report", "nowhere"][..], "there is no run `nowhere`"),
    ] {
        let output = sweat(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert!(
            err(&output).contains(words) && err(&output).contains("hint: "),
            "{}",
            err(&output)
        );
    }
    let (dir, run) = copy();
    let meta = std::fs::read_to_string(run.join("meta.json")).unwrap();
    std::fs::write(run.join("meta.json"), meta.replace("\"format\": 1", "\"format\": 99")).unwrap();
    let newer = sweat(dir.path(), &["report", run.to_str().unwrap()]);
    assert_eq!(newer.status.code(), Some(2));
    assert!(err(&newer).contains("has layout 99"), "{}", err(&newer));
}

#[test]
fn a_cut_folder_is_shown_with_its_damage() {
    let (dir, run) = copy();
    let steps = std::fs::read_to_string(run.join("steps.jsonl")).unwrap();
    std::fs::write(run.join("steps.jsonl"), &steps[..steps.len() / 2]).unwrap();
    std::fs::remove_dir_all(run.join("trials/08-load-2")).unwrap();
    let samples = std::fs::read(run.join("raw/status.jsonl.gz")).unwrap();
    std::fs::write(run.join("raw/status.jsonl.gz"), &samples[..samples.len() / 2]).unwrap();
    for format in ["text", "json", "csv", "csv-summary"] {
        let output = sweat(dir.path(), &["report", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", err(&output));
    }
    let screen = out(&sweat(dir.path(), &["report"]));
    assert!(screen.contains("warn DAMAGE"), "{screen}");
    let text = out(&sweat(dir.path(), &["report", "-v"]));
    assert!(text.contains("warn [DAMAGE] the run folder is not complete: "), "{text}");
}

/// Pages of every kind that needs no server, in one folder.
fn pages_without_server() -> (TempDir, Vec<String>) {
    let (dir, _run) = copy();
    let place = dir.path();
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs");
    let log = logs.join("mariadb10.11_verbose.slow.log").display().to_string();
    let long = "innodb_flush_log_at_trx_commit_after";
    for (args, exits) in [
        (&["bench", "null", "-q", "--time=300ms", "--name=before"][..], &[0][..]),
        (&["bench", "null", "-q", "--time=300ms", "--name", long], &[0]),
        (&["sweep", "threads=1,2,3", "-q", "--time=300ms", "null"], &[0]),
        (&["report", "before", "--format=html", "-o", "bench.html"], &[0]),
        (&["report", "demo", "--format=html", "-o", "demo.html"], &[0]),
        (&["report", "latest", "--format=html", "-o", "sweep.html"], &[0]),
        (&["report", "demo", "before", long, "--format=html", "-o", "sides.html"], &[0]),
        (&["compare", long, "--base=before", "--format=html", "-o", "compare.html"], &[0, 1]),
    ] {
        let output = sweat(place, args);
        let code = output.status.code().unwrap();
        assert!(exits.contains(&code), "{args:?}: {code} {}", err(&output));
    }
    let digest = sweat(place, &["digest", "-q", "--format=html", &log]);
    std::fs::write(place.join("digest.html"), &digest.stdout).unwrap();
    let names = ["bench", "demo", "sweep", "sides", "compare", "digest"];
    (dir, names.map(|name| format!("{name}.html")).to_vec())
}

#[test]
fn pages_fit_a_phone_and_a_table_is_sorted_by_its_heads() {
    let (dir, names) = pages_without_server();
    let frames: String = names
        .iter()
        .map(|name| format!("<iframe src=\"{name}\" style=\"width:400px;height:800px\"></iframe>"))
        .collect();
    // Each page in a frame as wide as a phone's screen; the statements by their count.
    let look = r#"<script>
        addEventListener("load", () => {
          const pages = [...document.querySelectorAll("iframe")].map((f) => f.contentDocument);
          const root = document.documentElement;
          root.dataset.widths = pages.map((page) => page.documentElement.scrollWidth).join(" ");
          const heads = [...pages.at(-1).querySelectorAll("thead th")];
          const head = heads.find((th) => th.textContent === "count");
          head.querySelector("button").click();
          const cells = pages.at(-1).querySelectorAll(`tbody td:nth-child(${head.cellIndex + 1})`);
          root.dataset.counts = [...cells].map((cell) => cell.dataset.value).join(" ");
        });
        </script>"#;
    let path = dir.path().join("frames.html");
    std::fs::write(&path, format!("<!DOCTYPE html>\n<body>{frames}{look}</body>")).unwrap();
    let Some(dom) = browse(&path) else { return };
    let value = |name: &str| -> Vec<u64> {
        let text = dom.split(&format!("data-{name}=\"")).nth(1).unwrap_or_default();
        let text = text.split('"').next().unwrap_or_default();
        text.split(' ').filter_map(|number| number.parse().ok()).collect()
    };
    let widths = value("widths");
    assert_eq!(widths.len(), names.len(), "{dom}");
    for (name, width) in names.iter().zip(widths) {
        assert!(width <= 400, "{name} is {width} pixels wide");
    }
    let counts = value("counts");
    assert!(counts.len() > 5 && counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
}

/// What the browser makes of a page; `None` without a browser.
#[expect(clippy::disallowed_methods, reason = "a test in a browser")]
fn browse(page: &Path) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let result = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--allow-file-access-from-files",
            "--window-size=1200,2400",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            crate::fixture::record_skipped_test("chromium");
            None
        }
        result => {
            let output = result.unwrap();
            assert!(output.status.success(), "{}", err(&output));
            Some(out(&output))
        }
    }
}

/// The page of the recorded run, written by the program where it writes it by itself.
fn page() -> (TempDir, PathBuf, String) {
    let (dir, run) = copy();
    let output = sweat(dir.path(), &["report", "--format", "html"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let path = run.join("report.html");
    let text = std::fs::read_to_string(&path).unwrap();
    (dir, path, text)
}

#[test]
fn the_page_runs_in_a_browser() {
    let (_dir, path, text) = page();
    // Drags across the first plot, points at it, hides a curve of its neighbour, notes errors.
    let play = r#"<script>
        const root = document.documentElement;
        window.addEventListener("error", (e) => { root.dataset.error = e.message; });
        const svg = document.getElementById("plot-throughput");
        svg.setPointerCapture = () => {};
        const area = svg.getBoundingClientRect();
        const send = (name, share) => svg.dispatchEvent(new PointerEvent(name, {
          clientX: area.left + share * area.width, clientY: area.top + 90, button: 0,
        }));
        send("pointerdown", 0.4); send("pointermove", 0.6); send("pointerup", 0.6);
        document.querySelector("[data-plot=latency] [data-curve~='1']").click();
        document.getElementById("theme").click();
        </script></body>"#;
    std::fs::write(&path, text.replace("</body>", play)).unwrap();
    let Some(dom) = browse(&path) else { return };
    let root = &dom[..dom.find("<head").unwrap()];
    assert!(root.contains("data-script=\"on\""), "{root}");
    assert!(!root.contains("data-error"), "{root}");
    assert!(root.contains("data-theme=\"dark\""), "{root}");
    let zoom = root.split("data-zoom=\"").nth(1).unwrap_or_default();
    let (from, to) = zoom.split('"').next().unwrap().split_once('-').expect("zoomed");
    let (from, to): (f64, f64) = (from.parse().unwrap(), to.parse().unwrap());
    assert!(from > 5.0 && to > from + 3.0 && to < 25.0, "{from} to {to} of 31 seconds");
    assert!(dom.contains("aria-pressed=\"false\""), "the hidden curve is marked");
    let tip = dom.split("id=\"tip\"").nth(1).unwrap();
    assert!(tip.contains("at <b>"), "{}", &tip[..200.min(tip.len())]);
    for plot in ["throughput", "latency", "pool", "reads", "bytes", "spectrum"] {
        let svg = dom.split(&format!("<svg id=\"plot-{plot}\"")).nth(1).expect(plot);
        let svg = &svg[..svg.find("</svg>").unwrap()];
        assert!(svg.contains("class=\"curve c"), "{plot} has a curve");
        assert!(!svg.contains("NaN") && !svg.contains("Infinity"), "{plot}");
    }
}

#[test]
fn the_page_reads_without_script_and_style() {
    let (_dir, path, text) = page();
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">";
    std::fs::write(&path, text.replace("<head>", &format!("<head>{policy}"))).unwrap();
    let Some(dom) = browse(&path) else { return };
    assert!(!dom.contains("data-script="), "the policy kept the script from running");
    for plot in ["throughput", "latency", "pool", "reads", "bytes", "spectrum"] {
        let svg = dom.split(&format!("<svg id=\"plot-{plot}\"")).nth(1).expect(plot);
        let svg = &svg[..svg.find("</svg>").unwrap()];
        assert!(svg.contains("stroke=\"#"), "{plot} has colours of its own");
        assert!(!svg.contains("NaN"), "{plot}");
    }
}
