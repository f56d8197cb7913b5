//! Sweeps and searches on agents, with a real NATS server: each load is whole, or left out and named.

use std::process::Child;

use rustix::process::Signal;
use sweat::analysis::{CaveatLevel, analyse_run};
use sweat::archive::{self, RunCommand, RunState};

use crate::agents::{
    Nats, agent_runs, kill_now, start_agents, start_shop, wait_for, wait_for_load, words_of,
};
use crate::cli::{World, err, expect, out, signal};

#[test]
fn a_sweep_of_threads_is_led_load_by_load_over_the_same_agents() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let (_server, port) = start_shop();
    let (number, place) = (format!("-P{port}"), format!("127.0.0.1:{port}"));
    let login = ["-h127.0.0.1", &number, "-ubench", "-phush-hush-7", "-Dshop", "--no-defaults"];
    let table = ["oltp_point_select", "--table-size=1000"];
    expect(&world.run(&[&["bench"], &table[..], &["prepare", "-q"], &login[..]].concat()), 0);
    let account = ["-ubench", "-phush-hush-7", "--allow-target", &place];
    let agents = start_agents(&world, &nats, &["a1", "a2"], &account);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--events=501", "--time=50", "--seed=7", "--quiet"];
    let sweep = ["sweep", "threads=1,3"];
    let output = world.run(&[&sweep, &table[..], &login[..], &words[..]].concat());
    expect(&output, 0);
    let text = out(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 0);
    }
    let run = world.record();
    assert_eq!((run.meta.state, run.meta.command.clone()), (RunState::Done, RunCommand::Sweep));
    assert!(run.damage.is_empty(), "{:?}", run.damage);
    // Both levels, and the first once more. One session is one agent's.
    let workers: Vec<usize> = run.trials.iter().map(|trial| trial.workers).collect();
    assert_eq!((workers.len(), workers[2]), (3, 1));
    let merged = run.merged.as_ref().unwrap();
    assert_eq!((merged.machines.len(), merged.missing.len()), (4, 0));
    for trial in &run.trials {
        let good: u64 = trial.response.iter().map(|h| h.len()).sum();
        assert_eq!((good, trial.value), (501, Some(trial.workers as f64)));
        // Cell by cell it is the sum of what the agents recorded.
        let own = merged.machines.iter().filter(|machine| machine.load == trial.id);
        let dirs =
            own.map(|machine| archive::latest_run(&world.runs()).unwrap().join(&machine.folder));
        let shares: Vec<_> = dirs.map(|dir| archive::read_run(&dir).unwrap()).collect();
        assert_eq!(shares.len(), trial.workers.min(2));
        let mut sum = shares[0].trials[0].response[0].clone();
        shares[1..].iter().for_each(|share| sum.add(&share.trials[0].response[0]).unwrap());
        assert_eq!(sum, trial.response[0], "every cell");
        let step = run.steps.iter().find(|step| step.number == trial.step).unwrap();
        assert!(step.began_ns <= trial.began_ns && trial.ended_ns <= step.ended_ns.unwrap());
    }
    let ends = run.trials.windows(2).map(|pair| pair[0].ended_ns <= pair[1].began_ns);
    assert!(ends.into_iter().all(|apart| apart), "one after the other");
    let findings = analyse_run(&run);
    assert!(findings.results.caveats.iter().all(|c| !c.id.starts_with("MACHINES-APART")));
    expect(&world.run(&["report", "latest", "--format", "html", "-o", "page.html"]), 0);
}

#[test]
fn a_search_for_a_rate_is_led_on_agents_until_the_user_stops_it() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=4", "--seed=7", "--quiet"];
    let times = ["--step-time=1", "--confirm=1", "--settle=0", "--slo=p99<1us"];
    let search = world.start(&[&["capacity", "null"], &words[..], &times].concat());
    let run = || archive::read_run(&archive::latest_run(&world.runs()).ok()?).ok();
    wait_for("three loads", || run().is_some_and(|run| run.trials.len() > 2));
    signal(&search, Signal::INT);
    let output = search.wait_with_output().unwrap();
    expect(&output, 130);
    // The one that was stopped is theirs.
    for agent in agents {
        let output = agent.wait_with_output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", err(&output));
    }
    let run = world.record();
    assert_eq!(
        (run.meta.state, run.meta.command.clone()),
        (RunState::Interrupted, RunCommand::Capacity)
    );
    let machines = &run.merged.as_ref().unwrap().machines;
    assert_eq!(machines.len(), 2 * run.trials.len());
    assert!(run.trials.iter().all(|trial| trial.workers == 4));
    // The burst comes first, then rates, which both share.
    let rates: Vec<f64> = run.trials.iter().filter_map(|trial| trial.offered_per_s).collect();
    assert!(rates.len() > 1 && run.trials[0].variant == "burst", "{rates:?}");
}

#[test]
fn a_load_that_lost_a_share_is_left_out_and_named() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let mut agents: Vec<Child> = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=4", "--lease=4s"];
    let load = ["sweep", "rate=100,200", "null", "--seed=7", "--interval=100ms"];
    let sweep = world.start(&[&load, &words[..]].concat());
    // The first level is over, the second one under way.
    wait_for("a level", || {
        let dirs = std::fs::read_dir(agent_runs(&world, "a2"));
        dirs.is_ok_and(|dirs| {
            dirs.flatten().filter(|d| archive::is_run_folder(&d.path())).count() > 1
        })
    });
    wait_for_load(&world, "a2");
    kill_now(&mut agents[1]);
    let output = sweep.wait_with_output().unwrap();
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("left out") && text.contains("agent a2: nothing was heard"), "{text}");
    let run = world.record();
    assert_eq!((run.meta.state, run.trials.len()), (RunState::Failed, 1), "the first is whole");
    assert_eq!(run.trials[0].workers, 2);
    let part = analyse_run(&run).results.caveats.into_iter().find(|c| c.id == "MACHINES-PART");
    let part = part.unwrap();
    assert_eq!(part.level, CaveatLevel::Void);
    assert!(part.evidence.contains("2/2 of 02-rate="), "{part:?}");
    assert!(part.evidence.contains("agent a2:"), "{part:?}");
    assert_eq!(agents.remove(0).wait_with_output().unwrap().status.code(), Some(0));
}
