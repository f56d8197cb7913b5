//! `sweat digest`: what it says of odd logs, and that it ends when it is told to; what a replay would make of one.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::cli::{World, end, err, expect, out, signal};

const BANNER: &str = "/usr/sbin/mysqld, Version: 9.7.4 (x). started with:\n\
    Tcp port: 3306  Unix socket: /s\nTime                 Id Command    Argument\n";
const HEAD: &str = "# User@Host: a[a] @ localhost []  Id: 1\n\
    # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
    SET timestamp=1795255200;\n";

fn digest(world: &World, text: &str) -> Output {
    let path = world.dir.path().join("slow.log");
    std::fs::write(&path, text).unwrap();
    let output = world.command(&["digest", path.to_str().unwrap()]).output().unwrap();
    expect(&output, 0);
    output
}

#[test]
fn a_log_that_was_just_opened_is_an_empty_log() {
    let text = out(&digest(&World::new(), BANNER));
    assert!(text.starts_with("0 statements in 0 classes, "), "{text}");
    assert!(text.contains("note: no record in it\n"), "{text}");
}

#[test]
fn a_folder_without_a_log_is_wrong_input() {
    let world = World::new();
    let folder = world.dir.path().join("logs");
    std::fs::create_dir(&folder).unwrap();
    for text in [None, Some("root:x:0:0:root:/root:/bin/sh\n")] {
        text.iter().for_each(|text| std::fs::write(folder.join("passwd"), text).unwrap());
        let output = world.run(&["digest", "logs"]);
        expect(&output, 2);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("logs: there is no slow log and no general log in it"), "{said}");
    }
}

#[test]
fn a_slow_log_of_nothing_but_commands_is_no_general_log() {
    let log = format!("{BANNER}{HEAD}# administrator command: Quit;\n");
    let text = out(&digest(&World::new(), &log));
    assert!(text.contains("1 records are commands"), "{text}");
    assert!(!text.contains("general log"), "{text}");
}

#[test]
fn heads_of_a_short_log_are_read_and_odd_ones_are_said() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs/dialects");
    let of = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        out(&digest(&World::new(), &text))
    };
    let text = of("mysql9_short.slow.log");
    assert!(text.starts_with("47 statements in "), "{text}");
    assert!(of("bad_time.slow.log").contains("6 records have a head that is not as servers"));
}

#[test]
fn what_may_be_no_statement_is_said_to_be_only_possible() {
    let forged = format!("select 'x;\n{HEAD}drop table t;\n';\n");
    let log = format!("{BANNER}{HEAD}do 1;\n{HEAD}{forged}{HEAD}do 2;\n");
    let text = out(&digest(&World::new(), &log));
    assert!(text.contains("of them only possible) in "), "{text}");
}

#[test]
fn a_pipe_that_nobody_writes_to_is_left_when_told() {
    let world = World::new();
    let pipe = world.dir.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for which in [Signal::INT, Signal::TERM] {
        let mut command = world.command(&["digest", pipe.to_str().unwrap()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        // The handlers are there once the signals are caught.
        crate::cli::until("the handlers", || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
            mask.and_then(|m| u64::from_str_radix(m, 16).ok()).is_some_and(|m| m & 2 != 0)
        });
        signal(&child, which);
        let (output, _) = end(child, Duration::from_secs(5));
        expect(&output, 130);
        assert!(out(&output).contains("interrupted"), "{}", err(&output));
    }
}

#[test]
fn a_pipe_without_an_end_takes_no_more_memory_than_a_record_may() {
    let world = World::new();
    let mut command = world.command(&["digest", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(format!("{HEAD}do 1;\n{HEAD}").as_bytes()).unwrap();
    let piece = "x\n".repeat(1 << 19);
    for _ in 0..160 {
        pipe.write_all(piece.as_bytes()).unwrap();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    pipe.write_all(format!(";\n{HEAD}do 2;\n").as_bytes()).unwrap();
    drop(pipe);
    let (output, _) = end(child, Duration::from_secs(60));
    expect(&output, 0);
    let text = out(&output);
    assert!(text.starts_with("2 statements"), "{text}");
    assert!(text.contains("1 record of more than 64.0 MiB left out, first on line 5"), "{text}");
    assert!(kib < 130 << 10, "{kib} KiB");
}

#[test]
fn a_session_that_greets_the_server_began_in_the_log() {
    let world = World::new();
    let log = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/logs/mdb_pool.slow.log");
    let output = world.command(&["replay", log.to_str().unwrap(), "--dry-run"]).output().unwrap();
    expect(&output, 0);
    assert!(!out(&output).contains("started before the log"), "{}", out(&output));
}
