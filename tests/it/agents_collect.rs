//! Loads whose coordinator is gone: their folders are listed, fetched from the agents and merged.

use rustix::process::Signal;
use sweat::archive::{self, RunState};

use crate::agents::{Nats, kept_run, kill_now, start_agents, wait_for, wait_for_load, words_of};
use crate::cli::{World, err, expect, out, signal};

const NULL: &[&str] = &["bench", "null", "--rate=2000", "--seed=7", "--quiet", "--interval=100ms"];

#[test]
fn a_load_whose_coordinator_was_killed_is_collected_from_its_agents() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let url = nats.url();
    let start = |name: &str| {
        let dir = format!("--runs-dir=of-{name}");
        world.start(&["agent", "--no-defaults", "--nats", &url, "--name", name, &dir])
    };
    let mut agents = vec![start("a1"), start("a2")];
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=10m", "--lease=2s"];
    let mut coordinator = world.start(&[NULL, &words].concat());
    ["a1", "a2"].iter().for_each(|name| wait_for_load(&world, name));
    kill_now(&mut coordinator);
    agents.push(start("a3"));
    let list = ["agents", "list", "--nats", &url];
    wait_for("the end of the lease", || {
        let output = world.run(&list);
        expect(&output, 0);
        out(&output).matches(", interrupted").count() == 2
    });
    let text = out(&world.run(&list));
    for expected in ["a1\n", "share 1/2 of null, inter", "share 2/2 of null", "a3\n  keeps no load"]
    {
        assert!(text.contains(expected), "{text}");
    }
    let load = text.split_whitespace().nth(1).unwrap().to_owned();
    let output = world.run(&["agents", "collect", &load, "--nats", &url]);
    // As `sweat merge` of runs that were stopped.
    expect(&output, 130);
    let run = world.record();
    assert_eq!((run.meta.state, run.meta.name.as_str()), (RunState::Interrupted, "null"));
    let kept = ["a1", "a2"].map(|name| archive::read_run(&kept_run(&world, name)).unwrap());
    let mut sum = kept[0].trials[0].response[0].clone();
    sum.add(&kept[1].trials[0].response[0]).unwrap();
    assert_eq!(run.trials[0].response[0], sum, "every cell");
    let left = std::fs::read_dir(world.runs()).unwrap().count();
    assert_eq!(left, 1, "the run alone");

    // One that is gone meanwhile is named, the other's share is there.
    kill_now(&mut agents[1]);
    let output = world.run(&["agents", "collect", "--nats", &url, "--name=half"]);
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("shares of the load are missing: 2/2"), "{text}");
    let runs = archive::list_runs(&world.runs()).unwrap();
    let (half, _) = runs.into_iter().find(|(_, meta)| meta.name == "half").unwrap();
    assert_eq!(archive::read_run(&half).unwrap().merged.unwrap().missing, ["2/2"]);
    let output = world.run(&["agents", "collect", "ffffffff", "--nats", &url]);
    expect(&output, 3);
    assert!(err(&output).contains("no agent keeps a folder of load ffffffff"), "{}", err(&output));
    kill_now(&mut agents[0]);
    kill_now(&mut agents[2]);
}

#[test]
fn a_load_that_an_agent_stopped_is_no_whole_one() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=6"];
    let load = world.start(&[NULL, &words].concat());
    ["a1", "a2"].iter().for_each(|name| wait_for_load(&world, name));
    signal(&agents[1], Signal::INT);
    let output = load.wait_with_output().unwrap();
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("agent a2 stopped before the end of the load"), "{text}");
    for (agent, code) in agents.into_iter().zip([0, 130]) {
        expect(&agent.wait_with_output().unwrap(), code);
    }
    let run = world.record();
    assert_eq!((run.meta.state, run.merged.unwrap().machines.len()), (RunState::Interrupted, 2));
}

#[test]
fn a_folder_without_a_load_is_a_missing_share() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let url = nats.url();
    let start = |name: &str| {
        let dir = format!("--runs-dir=of-{name}");
        world.start(&["agent", "--no-defaults", "--nats", &url, "--name", name, &dir])
    };
    let mut agents = ["a1", "a2"].map(start);
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=500ms", "--lease=2s"];
    expect(&world.run(&[NULL, &words].concat()), 0);
    let cut = kept_run(&world, "a2").join("trials/01-1/trial.json");
    std::fs::write(&cut, "{").unwrap();
    let output = world.run(&["agents", "collect", "--nats", &url, "--name=rest"]);
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("agent a2: its folder is damaged: trial 01-1: trial.json"), "{text}");
    let runs = archive::list_runs(&world.runs()).unwrap();
    let (rest, _) = runs.into_iter().find(|(_, meta)| meta.name == "rest").unwrap();
    let rest = archive::read_run(&rest).unwrap();
    assert_eq!(rest.merged.unwrap().missing.len(), 1);
    let kept = archive::read_run(&kept_run(&world, "a1")).unwrap();
    assert_eq!(rest.trials[0].response[0], kept.trials[0].response[0], "every cell");
    agents.iter_mut().for_each(kill_now);
}
