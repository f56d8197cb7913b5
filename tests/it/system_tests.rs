//! The workloads that load this machine instead of a server.

use std::time::Duration;

use rustix::process::Signal;
use sweat::archive::RecordedEngine;

use crate::cli::{World, end, err, expect, nap, out, signal};

/// What the only load of a run counted under this name.
fn counted(world: &World, name: &str) -> u64 {
    world.record().trials[0].tally.count(name)
}

/// Events of each class, in the order of the classes.
fn class_events(world: &World) -> Vec<u64> {
    world.record().trials[0].response.iter().map(|times| times.len()).collect()
}

#[test]
fn cpu_counts_primes() {
    let world = World::new();
    let words = ["bench", "cpu", "--cpu-max-prime=1000", "--threads=3", "--events=20", "-q"];
    let output = world.run(&words);
    expect(&output, 0);
    assert!(out(&output).contains("events/s"), "{}", out(&output));
    // 168 primes up to 1,000, without 2.
    assert_eq!((class_events(&world), counted(&world, "primes")), (vec![20], 20 * 167));
    assert_eq!(world.record().trials[0].engine, RecordedEngine::Threads);
}

#[test]
fn memory_ends_after_its_total_size() {
    let world = World::new();
    let words = ["bench", "memory", "--memory-block-size=4K", "--memory-total-size=4M"];
    let output = world.run(&[&words[..], &["--threads=3", "--scope=local"]].concat());
    expect(&output, 0);
    assert_eq!((class_events(&world), counted(&world, "bytes")), (vec![1024], 4 << 20));
    // Its speed is shown in units of bytes.
    let speed = out(&output)
        .lines()
        .skip_while(|line| !line.contains("bytes"))
        .nth(1)
        .map(|line| line.contains("iB"));
    assert_eq!(speed, Some(true), "{}", out(&output));
}

#[test]
fn threads_yield_under_locks() {
    let world = World::new();
    let words = ["bench", "threads", "--thread-yields=10", "--locks=2", "--threads=20"];
    let output = world.run(&[&words[..], &["--events=100"]].concat());
    expect(&output, 0);
    assert_eq!((class_events(&world), counted(&world, "yields")), (vec![100], 1_000));
    // More workers than the reactor begins with have threads all the same.
    assert_eq!(world.record().trials[0].engine, RecordedEngine::Threads);
}

#[test]
fn mutex_runs_one_event_per_worker() {
    let world = World::new();
    let words = ["bench", "mutex", "--mutex-num=3", "--mutex-locks=500", "--mutex-loops=10"];
    let output = world.run(&[&words[..], &["--threads=5"]].concat());
    expect(&output, 0);
    assert_eq!((class_events(&world), counted(&world, "locks")), (vec![5], 2_500));
}

/// `fileio` with small files in the world's folder.
fn fileio(world: &World, words: &[&str]) -> std::process::Output {
    let small = ["--dir=.", "--file-total-size=1M", "--file-num=4", "--file-block-size=4K"];
    world.run(&[&["bench", "fileio"], words, &small, &["-q"]].concat())
}

#[test]
fn fileio_reads_writes_and_synchronizes() {
    for access in ["sync", "async", "mmap"] {
        let world = World::new();
        let access = format!("--io-mode={access}");
        expect(&fileio(&world, &["prepare"]), 0);
        let words = ["--mode=rndrw", "--events=312", "--fsync-freq=100", &access];
        expect(&fileio(&world, &words), 0);
        // 3 times 100 requests and 4 files.
        assert_eq!(class_events(&world), [180, 120, 12], "{access}");
        assert_eq!(counted(&world, "bytes_read"), 180 * 4096, "{access}");
        assert_eq!(counted(&world, "bytes_written"), 120 * 4096, "{access}");
        expect(&fileio(&world, &["cleanup"]), 0);
        let left = std::fs::read_dir(world.dir.path()).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("file")), "{left:?}");
    }
}

#[test]
fn every_mode_of_fileio_runs() {
    let world = World::new();
    // Writing anew needs no files.
    for mode in ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"] {
        for access in ["sync", "async", "mmap"] {
            let (mode, access) = (format!("--mode={mode}"), format!("--io-mode={access}"));
            let words = ["--events=300", "--threads=2", "--queue-depth=8", &mode, &access];
            expect(&fileio(&world, &words), 0);
        }
    }
    for flags in ["sync", "dsync", "sync,direct"] {
        let flags = format!("--file-extra-flags={flags}");
        expect(&fileio(&world, &["--events=20", "--mode=rndrw", &flags]), 0);
    }
    let sizes: Vec<_> = (0..4)
        .map(|n| world.dir.path().join(format!("test_file.{n}")).metadata().unwrap().len())
        .collect();
    assert_eq!(sizes, [256 << 10; 4]);
}

#[test]
fn fileio_leaves_files_of_others_alone() {
    let world = World::new();
    let theirs = world.dir.path().join("test_file.2");
    std::fs::write(&theirs, "precious").unwrap();
    for what in [&["prepare"][..], &["run"], &["cleanup"], &["--mode=seqwr"]] {
        let output = fileio(&world, what);
        expect(&output, 2);
        assert!(err(&output).contains("test_file.2: this file has 8 bytes"), "{}", err(&output));
    }
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "precious");
    std::fs::remove_file(&theirs).unwrap();
    let output = fileio(&world, &["run"]);
    expect(&output, 2);
    assert!(err(&output).contains("hint: sweat bench fileio prepare --dir=."), "{}", err(&output));
    assert!(!world.runs().exists());
}

#[test]
fn an_endless_event_ends_with_the_interrupt() {
    let world = World::new();
    for words in [
        ["bench", "cpu", "--max-prime=4G"],
        ["bench", "mutex", "--loops=1000G"],
        ["bench", "threads", "--yields=1000G"],
    ] {
        let child = world.start(&[&words[..], &["--time=60", "--threads=3"]].concat());
        nap(1_500);
        signal(&child, Signal::INT);
        let (output, took) = end(child, Duration::from_secs(10));
        expect(&output, 130);
        assert!(took < Duration::from_secs(5), "{words:?}: {took:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_before_the_run() {
    let world = World::new();
    for (words, why) in [
        (&["cpu", "--max-prime=0"][..], "--max-prime: 0 is out of range"),
        (&["memory", "--block-size=3K"], "3072 bytes is not a power of 2"),
        (&["threads", "--locks=0"], "--locks: 0 is out of range"),
        (&["mutex", "--mutexes=0"], "--mutexes: 0 is out of range"),
        (&["cpu", "--engine=reactor"], "this workload runs on threads only"),
    ] {
        let output = world.run(&[&["bench"], words, &["--events=1"]].concat());
        expect(&output, 2);
        assert!(err(&output).contains(why), "{}", err(&output));
        assert!(!world.runs().exists(), "{words:?} made a run");
    }
}
