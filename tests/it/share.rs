//! A load that several machines share: what is refused, and that all shares together send what one machine would have sent.

use std::path::PathBuf;

use sweat::analysis::{CaveatLevel, analyse_run};
use sweat::archive::{self, RunRecord};
use sweat::base::RealClock;

use crate::cli::{World, err, expect, out};
use crate::fixture;

#[test]
fn what_can_t_be_shared_is_refused_and_leaves_no_run() {
    let world = World::new();
    let refused: [(&[&str], &str); 5] = [
        (&["null", "--share=1/2", "--threads=2"], "needs the seed that the other shares have"),
        (&["null", "--share=2/2", "--seed=7", "--threads=1"], "share 2/2 of 1 worker has none"),
        (&["cpu", "--share=1/2", "--seed=7", "--threads=2"], "measures the machine"),
        (&["null", "--share=1/2", "--seed=7", "--until-steady"], "a time of its own"),
        (&["oltp_insert", "--share=1/2", "--seed=7", "--sandbox"], "a server of its own"),
    ];
    for (words, why) in refused {
        let output = world.run(&[&["bench"], words, &["--events=10", "--quiet"]].concat());
        expect(&output, 2);
        let text = err(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why), "{words:?}: {text}");
    }
    assert!(!world.runs().exists(), "no load ran");
    let words = ["bench", "null", "--share=1/2", "--seed=7", "--events=10", "--quiet"];
    expect(&world.run(&words), 0);
    let run = world.record();
    let share = run.trials[0].share.as_ref().unwrap();
    assert_eq!((share.text.as_str(), share.first_worker, share.all_workers), ("1/2", 0, 1));
    assert_eq!(run.trials[0].arrival.text, "closed, share 1/2");
    assert!(run.plan.contains("share = \"1/2\""), "{}", run.plan);
}

#[test]
fn shares_send_the_statements_of_one_machine() {
    let server = fixture::with(&[("general_log", "1"), ("log_output", "TABLE")]);
    server.sql("CREATE DATABASE shares");
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let world = World::new();
    let bench = |words: &[&str]| {
        let login = [&socket, "-uroot", "-Dshares", "--quiet", "--rows=3000"];
        expect(&world.run(&[&["bench", "lookup"], words, &login[..]].concat()), 0);
    };
    bench(&["prepare"]);
    let sent = |shares: &[&str]| {
        server.sql("TRUNCATE mysql.general_log");
        for share in shares {
            bench(&["--lookups=401", "--threads=5", "--seed=7", share]);
        }
        let log = server.sql(
            "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE argument LIKE 'select * from test_data where random_str =%' \
             AND argument NOT LIKE '%= ?'",
        );
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let whole = sent(&["--share=1/1"]);
    assert_eq!(whole.len(), 401, "{:?}", whole.iter().take(3).collect::<Vec<_>>());
    assert_eq!(sent(&["--share=1/2", "--share=2/2"]), whole);
    assert_eq!(sent(&["--share=1/1:3:1", "--share=2/1:3:1", "--share=3/1:3:1"]), whole);
}

/// Runs shares of a null load one beside the other, as on several machines; gives their folders.
fn run_shares(world: &World, shares: &[&str], words: &[&str]) -> Vec<PathBuf> {
    let start = |share: &&str| {
        let (share, dir) = (format!("--share={share}"), format!("--runs-dir=m{}", &share[..1]));
        let load = ["bench", "null", "--seed=7", "--quiet", "--interval=100ms", &share, &dir];
        world.start(&[&load[..], words].concat())
    };
    let children: Vec<_> = shares.iter().map(start).collect();
    for child in children {
        expect(&child.wait_with_output().unwrap(), 0);
    }
    let home = world.runs().parent().unwrap().to_owned();
    let folder = |share: &&str| archive::latest_run(&home.join(format!("m{}", &share[..1])));
    shares.iter().map(|share| folder(share).unwrap()).collect()
}

fn merge(world: &World, runs: &[PathBuf], words: &[&str]) -> std::process::Output {
    let runs: Vec<&str> = runs.iter().map(|dir| dir.to_str().unwrap()).collect();
    world.run(&[&["merge"], &runs[..], words].concat())
}

fn good_events(run: &RunRecord) -> u64 {
    run.trials[0].response.iter().map(|h| h.len()).sum()
}

#[test]
fn runs_of_three_machines_become_one() {
    let world = World::new();
    let load = ["--threads=7", "--rate=2000", "--events=1501", "--arrival=constant"];
    let shares = run_shares(&world, &["1/3", "2/3", "3/3"], &load);
    let whole = world.runs().parent().unwrap().join("whole");
    let output = merge(&world, &shares, &["-o", whole.to_str().unwrap()]);
    expect(&output, 0);
    let text = out(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("1/3") && text.contains("late p99"), "{text}");
    let merged = archive::read_run(&whole).unwrap();
    assert_eq!(merged.damage, Vec::<String>::new());
    let trial = &merged.trials[0];
    assert_eq!((good_events(&merged), trial.workers), (1501, 7));
    assert_eq!(trial.offered_per_s, Some(2000.0));
    assert_eq!(trial.arrival.text, "constant 2000/s");
    let parts: Vec<RunRecord> = shares.iter().map(|dir| archive::read_run(dir).unwrap()).collect();
    let mut sum = parts[0].trials[0].response[0].clone();
    parts[1..].iter().for_each(|part| sum.add(&part.trials[0].response[0]).unwrap());
    assert_eq!(trial.response[0], sum, "every cell");
    assert_eq!(parts.iter().map(good_events).collect::<Vec<_>>(), [501, 500, 500]);
    let findings = analyse_run(&merged);
    let names: Vec<&str> = findings.machines.iter().map(|m| m.share.as_str()).collect();
    assert_eq!(names, ["1/3", "2/3", "3/3"]);

    // It is a run like any other, and holds those of the machines.
    let again = world.runs().parent().unwrap().join("again");
    expect(&merge(&world, &shares, &["-o", again.to_str().unwrap()]), 0);
    for words in [
        &["report", "whole", "-v"][..],
        &["report", "whole", "--format=json"],
        &["report", "whole/machines/2"],
        &["compare", "whole", "--base", "again"],
    ] {
        expect(&world.run(words), 0);
    }
    // A second time it would be in the way.
    let output = merge(&world, &shares, &["-o", whole.to_str().unwrap()]);
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(archive::read_run(&whole).unwrap(), merged);
}

#[test]
fn what_is_no_share_of_one_load_is_not_merged() {
    let world = World::new();
    let load = ["--threads=2", "--events=20"];
    let shares = run_shares(&world, &["1/2", "2/2"], &load);
    let other = run_shares(&world, &["2/2"], &["--threads=2", "--events=30"]);
    let refused = [
        (vec![shares[0].clone(), other[0].clone()], "plan: load.events differs: 20 in "),
        (vec![shares[0].clone(), shares[0].clone()], "both hold share 1/2"),
        (vec![shares[0].clone()], "shares of the load are missing: 2/2"),
    ];
    for (runs, why) in refused {
        let output = merge(&world, &runs, &[]);
        expect(&output, 2);
        let text = err(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why) && text.contains("hint: "), "{text}");
        assert!(!world.runs().exists(), "nothing is left");
    }
    expect(&merge(&world, &shares[..1], &["--incomplete", "--strict"]), 4);
    let caveats = analyse_run(&world.record()).results.caveats;
    let part = caveats.iter().find(|caveat| caveat.id == "MACHINES-PART").unwrap();
    assert_eq!(part.level, CaveatLevel::Void);
    assert!(part.evidence.contains("2/2"), "{part:?}");
}

#[test]
fn shares_start_at_one_time() {
    let world = World::new();
    let at = RealClock::start_now().origin_unix_ns() / 1_000_000_000 + 3;
    let words = ["--threads=2", "--time=300ms", &format!("--start-at=@{at}")];
    let shares = run_shares(&world, &["1/2", "2/2"], &words);
    for dir in &shares {
        let run = archive::read_run(dir).unwrap();
        let began = run.meta.origin_unix_ns + run.trials[0].began_ns;
        assert!(began + 1_000_000 >= at * 1_000_000_000, "{began}");
    }
    expect(&world.run(&["bench", "null", "--start-at=@7"]), 2);
}
