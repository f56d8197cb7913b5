//! What stands around the program: a closed standard output, the desktop's opener, `man`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::cli::{World, err, expect, out, until};
use crate::fixture;

/// A script that writes down what it is called with, by this name in a folder of its own.
fn fake_opener(world: &World, name: &str, exit: u8) -> PathBuf {
    let dir = world.dir.path().join("openers");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    let seen = world.dir.path().join(format!("{name}.seen"));
    let text = format!("#!/bin/sh\necho \"$@\" > '{}'\nexit {exit}\n", seen.display());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn opened(world: &World, name: &str) -> String {
    let path = world.dir.path().join(format!("{name}.seen"));
    until("the opener", || path.exists());
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// A short load that opens its page, in a place with these variables.
fn run_with(world: &World, words: &[&str], set: &[(&str, &str)]) -> Output {
    let mut command = world.command(words);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
    let path = std::env::var("PATH").unwrap_or_default();
    let openers = world.dir.path().join("openers");
    command.env("PATH", format!("{}:{path}", openers.display()));
    command.envs(set.iter().copied()).output().unwrap()
}

const LOAD: &[&str] = &["bench", "null", "--events=100", "--open"];

#[test]
#[cfg(target_os = "linux")]
fn a_page_is_opened_where_something_can_open_it() {
    let world = World::new();
    fake_opener(&world, "xdg-open", 0);
    let own = fake_opener(&world, "mine", 0);
    let output = run_with(&world, LOAD, &[("DISPLAY", ":9")]);
    expect(&output, 0);
    let page = opened(&world, "xdg-open");
    assert!(page.starts_with('/') && page.ends_with("/report.html"), "{page}");
    assert!(err(&output).contains("opened "), "{}", err(&output));
    assert!(PathBuf::from(&page).exists());

    let browser = format!("/no/such/browser:{} --page=%s", own.display());
    let report = ["report", "latest", "--open"];
    let output = run_with(&world, &report, &[("BROWSER", browser.as_str())]);
    expect(&output, 0);
    assert_eq!(opened(&world, "mine"), format!("--page={page}"));
}

#[test]
#[cfg(target_os = "linux")]
fn where_nothing_can_open_a_page_its_place_is_told_and_the_run_is_good() {
    let world = World::new();
    fake_opener(&world, "xdg-open", 3);
    let failed = "note: --open: xdg-open: failed with exit status: 3; the page is ";
    for (set, why) in [
        (&[][..], "note: --open: there is no display; the page is "),
        (&[("WAYLAND_DISPLAY", "wayland-9")], failed),
        (
            &[("BROWSER", "/no/such")],
            "note: --open: /no/such: there is no such program; the page is ",
        ),
    ] {
        let output = run_with(&world, LOAD, set);
        expect(&output, 0);
        assert!(err(&output).contains(why), "{why}: {}", err(&output));
        assert!(err(&output).trim_end().ends_with("/report.html"), "{}", err(&output));
    }
}

/// Runs the program by a shell with this redirection.
#[expect(clippy::disallowed_methods, reason = "a shell redirects what the program is given")]
fn redirected(world: &World, words: &[&str], how: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_sweat");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$0\" \"$@\" {how}"), program]).args(words);
    shell.current_dir(world.dir.path()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn output_that_can_not_be_written_is_no_success() {
    let world = World::new();
    let output = redirected(&world, &["bench", "null", "--events=100"], ">&-");
    expect(&output, 1);
    assert!(err(&output).contains("write to standard output: it is closed"), "{}", err(&output));
    assert!(err(&output).contains("the run is in runs/"), "{}", err(&output));
    for words in [&["--version"][..], &["help"], &["bench", "--help"]] {
        expect(&redirected(&world, words, ">&-"), 1);
        expect(&redirected(&world, words, ">/dev/null"), 0);
    }
    if cfg!(target_os = "linux") {
        let output = redirected(&world, &["help"], ">/dev/full");
        expect(&output, 1);
        assert!(err(&output).contains("No space left"), "{}", err(&output));
    }
    // Nothing of theirs goes there.
    expect(&redirected(&world, &["bench", "null", "--threads=0"], ">&-"), 2);
}

#[test]
fn a_flag_given_twice_is_told_and_one_of_the_environment_is_not() {
    let world = World::new();
    let words = ["bench", "null", "--events=100", "--threads", "4", "--threads=2"];
    let output = world.command(&words).env("SWEAT_THREADS", "8").output().unwrap();
    expect(&output, 0);
    let text = err(&output);
    assert!(text.contains("note: --threads was given as 4 and 2; 2 is used"), "{text}");
    assert!(!text.contains('8') && out(&output).contains("2 workers"), "{text}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test runs the formatter of manual pages")]
fn manual_pages_are_well_formed() {
    let world = World::new();
    let lint =
        [("mandoc", &["-Tlint", "-Wwarning"][..]), ("groff", &["-man", "-Tutf8", "-ww", "-z"])];
    let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let Some((program, flags)) = lint.into_iter().find(|(name, _)| is_there(name)) else {
        fixture::record_skipped_test("mandoc or groff");
        return;
    };
    for words in [
        &["help", "--man"][..],
        &["help", "--man", "bench"],
        &["help", "--man", "bench", "oltp_read_write"],
        &["help", "--man", "capacity"],
        &["help", "--man", "warm", "scan"],
        &["help", "--man", "replay"],
    ] {
        let page = world.run(words);
        expect(&page, 0);
        let path = world.dir.path().join("page.1");
        std::fs::write(&path, &page.stdout).unwrap();
        let found = Command::new(program).args(flags).arg(&path).output().unwrap();
        let said = format!("{}{}", out(&found), err(&found));
        assert!(found.status.success() && said.is_empty(), "{words:?}: {said}");
    }
}
