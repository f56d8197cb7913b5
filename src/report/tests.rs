//! Recorded runs through each format, against golden files. `UPDATE=1 cargo test report` rewrites them.

use super::*;
use crate::analysis::{analyse, recorded};
use crate::archive::Run;

fn written(name: &str, run: &Run) -> String {
    let mut out = Vec::new();
    let mut findings = analyse(run);
    findings.folder = Some(format!("runs/{}", run.meta.id));
    format(name).expect("a known format").write(&findings, Look::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Compares with the golden file, or rewrites it if asked.
#[track_caller]
fn check_golden(format: &str, run: &Run, file: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/golden/report")
        .join(file);
    let found = written(format, run);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {file}; UPDATE=1 rewrites it", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{file}; UPDATE=1 rewrites it");
}

#[test]
fn text_is_golden() {
    check_golden("text", &recorded::demo(), "demo.txt");
    check_golden("text", &recorded::bench(), "bench.txt");
}

#[test]
fn text_fits_the_page_and_steers_no_terminal() {
    let mut run = recorded::bench();
    run.trials[0].errors[0].first_text = "\x1b[2Jgone\r\n".to_owned();
    for text in [written("text", &recorded::demo()), written("text", &run)] {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn colour_only_if_asked() {
    let findings = analyse(&recorded::bench());
    let mut out = Vec::new();
    format("text").unwrap().write(&findings, Look { colour: true }, &mut out).unwrap();
    let coloured = String::from_utf8(out).unwrap();
    assert!(coloured.contains("\x1b["));
    // The words stay when the colours go.
    let mut bare = coloured;
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"] {
        bare = bare.replace(code, "");
    }
    let mut out = Vec::new();
    format("text").unwrap().write(&findings, Look::default(), &mut out).unwrap();
    assert_eq!(bare, String::from_utf8(out).unwrap());
}

#[test]
fn a_void_run_says_so_first() {
    let mut run = recorded::bench();
    run.meta.state = crate::archive::RunState::Failed;
    assert!(written("text", &run).starts_with("VOID: the target or server failed"));
}
