//! Loads on agents, with a real NATS server: exact, whoever dies, and nothing travels that must not.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use sweat::analysis::{CaveatLevel, analyse_run};
use sweat::archive::{self, RunRecord, RunState};
use sweat::base::{Clock as _, Nanos, RealClock};
use sweat::client::{NatsAddress, NatsConnection, NatsEvent, NatsOptions, NkeySeed};

use crate::cli::{World, err, expect, out, signal};
use crate::fixture::{self, Fixture};

/// The program, where the machine has it.
pub(crate) fn nats_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join("nats-server")).find(|p| p.is_file());
    if found.is_none() {
        fixture::record_skipped_test("nats-server");
    }
    found
}

/// A NATS server of a test.
pub(crate) struct Nats {
    child: Child,
    port: u16,
}

impl Nats {
    /// On a free port; `config` beside it.
    pub(crate) fn start(dir: &Path, config: &str) -> Option<Nats> {
        let program = nats_program()?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Some(Nats::start_at(&program, dir, config, port))
    }

    #[expect(clippy::disallowed_methods, reason = "the test runs a server of its own")]
    pub(crate) fn start_at(program: &Path, dir: &Path, config: &str, port: u16) -> Nats {
        let path = dir.join("nats.conf");
        std::fs::write(&path, format!("listen: \"127.0.0.1:{port}\"\n{config}")).unwrap();
        let mut command = Command::new(program);
        command.arg("-c").arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        wait_for("NATS", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Nats { child, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let clock = RealClock::start_now();
    while !done() {
        assert!(clock.now() < Nanos(60_000_000_000), "{what} did not come in a minute");
        clock.sleep_until(clock.now() + Nanos(10_000_000));
    }
}

/// Kills a process of ours at once.
pub(crate) fn kill_now(child: &mut Child) {
    signal(child, Signal::KILL);
    child.wait().unwrap();
}

/// Starts agents of these names, each with a folder of its own.
pub(crate) fn start_agents(
    world: &World,
    nats: &Nats,
    names: &[&str],
    words: &[&str],
) -> Vec<Child> {
    let url = nats.url();
    let start = |name: &&str| {
        let dir = format!("--runs-dir=of-{name}");
        let own = ["agent", "--once", "--no-defaults", "--nats", &url, "--name", name, &dir];
        world.start(&[&own[..], words].concat())
    };
    names.iter().map(start).collect()
}

pub(crate) fn agent_runs(world: &World, name: &str) -> PathBuf {
    world.runs().parent().unwrap().join(format!("of-{name}"))
}

/// The folder that an agent keeps.
pub(crate) fn kept_run(world: &World, name: &str) -> PathBuf {
    archive::latest_run(&agent_runs(world, name)).unwrap()
}

/// Waits until an agent's load is under way.
pub(crate) fn wait_for_load(world: &World, name: &str) {
    let runs = agent_runs(world, name);
    wait_for("an interval", || {
        let Ok(dir) = archive::latest_run(&runs) else { return false };
        let trials = std::fs::read_dir(dir.join("trials")).into_iter().flatten().flatten();
        trials.into_iter().any(|trial| {
            let lines = std::fs::metadata(trial.path().join("intervals.jsonl"));
            lines.is_ok_and(|lines| lines.len() > 0)
        })
    });
}

pub(crate) fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A server with an account `bench` for an empty database `shop`, and its port.
pub(crate) fn start_shop() -> (Fixture, String) {
    let server = fixture::listening(&[]);
    server.sql(
        "CREATE DATABASE shop; CREATE USER bench@'127.0.0.1' IDENTIFIED BY 'hush-hush-7'; \
         GRANT ALL ON shop.* TO bench@'127.0.0.1'",
    );
    let port = server.sql("SELECT @@port").trim().to_owned();
    (server, port)
}

const NULL: &[&str] = &["bench", "null", "--rate=2000", "--seed=7", "--quiet", "--interval=100ms"];

/// What two runs of the same intervals must have in common.
fn same_load(one: &RunRecord, other: &RunRecord) {
    let (one, other) = (&one.trials[0], &other.trials[0]);
    assert_eq!(one.response, other.response, "every cell");
    assert_eq!((&one.failed, &one.lateness), (&other.failed, &other.lateness));
    assert_eq!(one.intervals, other.intervals);
    assert_eq!((one.began_ns, one.ended_ns), (other.began_ns, other.ended_ns));
}

#[test]
fn two_agents_run_what_one_machine_would_and_nothing_secret_travels() {
    let world = World::new();
    let home = world.runs().parent().unwrap().to_owned();
    let Some(nats) = Nats::start(&home, "") else { return };
    let (_server, port) = start_shop();
    let (number, place) = (format!("-P{port}"), format!("127.0.0.1:{port}"));
    let login = ["-h127.0.0.1", &number, "-ubench", "-phush-hush-7", "-Dshop", "--no-defaults"];
    let load = ["bench", "oltp_point_select", "--table-size=1000", "--quiet"];
    expect(&world.run(&[&load[..], &["prepare"], &login[..]].concat()), 0);

    // All that is said is heard here, too.
    let address = NatsAddress::parse(&nats.url()).unwrap();
    let subjects = vec![">".to_owned()];
    let options =
        NatsOptions { address, name: "ear".to_owned(), nkey: None, tls_ca: None, subjects };
    let ear = NatsConnection::open(options).unwrap();
    let account = ["-ubench", "-phush-hush-7", "--allow-target", &place];
    let agents = start_agents(&world, &nats, &["a1", "a2"], &account);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=5", "--events=2001", "--time=50"];
    let output = world.run(&[&load[..], &login[..], &words[..]].concat());
    expect(&output, 0);
    let text = out(&output);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 0);
    }
    let mut heard = Vec::new();
    while let Some(event) = ear.next_event(Duration::from_millis(100)) {
        if let NatsEvent::Message(message) = event {
            heard.extend_from_slice(&message.payload);
        }
    }
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains("oltp_point_select") && heard.contains("\"order\":\"start\""));
    assert!(!heard.contains("hush-hush-7"), "a password travels");

    // It is what `sweat merge` makes of the folders that the agents have kept.
    let run = world.record();
    assert_eq!((run.meta.state, run.damage.len()), (RunState::Done, 0), "{:?}", run.damage);
    let good: u64 = run.trials[0].response.iter().map(|h| h.len()).sum();
    assert_eq!((good, run.trials[0].workers), (2001, 5));
    let whole = home.join("by-hand");
    let kept = ["a1", "a2"].map(|name| kept_run(&world, name));
    let folders = kept.iter().map(|dir| dir.to_str().unwrap());
    let merge: Vec<&str> =
        ["merge"].into_iter().chain(folders).chain(["-o", whole.to_str().unwrap()]).collect();
    expect(&world.run(&merge), 0);
    same_load(&run, &archive::read_run(&whole).unwrap());
    let findings = analyse_run(&run);
    let found: Vec<_> = findings.machines.iter().map(|m| (&*m.name, &*m.share)).collect();
    assert_eq!(found, [("a1", "1/2"), ("a2", "2/2")]);
    assert!(findings.machines.iter().all(|m| m.clock_bound_s.is_some_and(|bound| bound > 0.0)));
    let left = std::fs::read_dir(world.runs()).unwrap().count();
    assert_eq!(left, 1, "the run alone");
}

#[test]
fn a_server_of_our_own_is_started_and_ends_with_the_load() {
    if nats_program().is_none() {
        return;
    }
    let world = World::new();
    let mut load = world.start(&[NULL, &["--agents=2", "--threads=4", "--events=1001"]].concat());
    let mut lines = std::io::BufReader::new(load.stderr.take().unwrap());
    let mut text = String::new();
    wait_for("the invitation", || {
        std::io::BufRead::read_line(&mut lines, &mut text).unwrap();
        text.contains("--nats nats://")
    });
    let port = text.split("nats://127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next());
    let port: u16 = port.unwrap().parse().unwrap();
    let url = format!("nats://127.0.0.1:{port}");
    let agents: Vec<Child> = ["a1", "a2"]
        .map(|name| {
            let dir = format!("--runs-dir=of-{name}");
            world.start(&["agent", "--once", "--nats", &url, "--name", name, &dir])
        })
        .into();
    // Its words go on while nobody reads them.
    let reader = std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    assert!(load.wait().unwrap().success());
    reader.join().unwrap().unwrap();
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 0);
    }
    let run = world.record();
    assert_eq!(run.trials[0].response[0].len(), 1001);
    wait_for("the end of the server", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
    });
}

#[test]
fn agents_stop_by_themselves_when_the_coordinator_is_gone() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=10m", "--lease=4s"];
    let mut coordinator = world.start(&[NULL, &words].concat());
    ["a1", "a2"].iter().for_each(|name| wait_for_load(&world, name));
    kill_now(&mut coordinator);
    let killed = RealClock::start_now();
    for agent in agents {
        let output = agent.wait_with_output().unwrap();
        expect(&output, 3);
        let text = words_of(&err(&output));
        assert!(text.contains("until the lease was over"), "{text}");
    }
    assert!(killed.now() < Nanos(60_000_000_000), "far less than ten minutes");
    // What they measured is made one run by hand.
    let kept = ["a1", "a2"].map(|name| kept_run(&world, name));
    let folders: Vec<&str> = kept.iter().map(|dir| dir.to_str().unwrap()).collect();
    expect(&world.run(&[&["merge", "--strict"], &folders[..]].concat()), 130);
}

#[test]
fn a_lost_agent_is_named_and_the_rest_is_exact() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let mut agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=8", "--lease=5s"];
    let load = world.start(&[NULL, &words].concat());
    ["a1", "a2"].iter().for_each(|name| wait_for_load(&world, name));
    kill_now(&mut agents[1]);
    let output = load.wait_with_output().unwrap();
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("agent a2: nothing was heard of it"), "{text}");
    let run = world.record();
    let part = analyse_run(&run).results.caveats.into_iter().find(|c| c.id == "MACHINES-PART");
    let part = part.unwrap();
    assert_eq!(part.level, CaveatLevel::Void);
    assert!(part.evidence.contains("2/2 (agent a2:"), "{part:?}");
    let kept = archive::read_run(&kept_run(&world, "a1")).unwrap();
    assert_eq!(run.trials[0].response, kept.trials[0].response, "every cell");
    expect(&agents.remove(0).wait_with_output().unwrap(), 0);
}

#[test]
fn without_nats_agents_end_and_what_they_have_stays() {
    let world = World::new();
    let Some(mut nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1"], &[]);
    let url = nats.url();
    let words = ["--agents=1", "--nats", &url, "--threads=2", "--time=10m", "--lease=4s"];
    let load = world.start(&[NULL, &words].concat());
    wait_for_load(&world, "a1");
    nats.kill();
    let output = load.wait_with_output().unwrap();
    expect(&output, 3);
    let text = words_of(&err(&output));
    assert!(text.contains("there is no connection to NATS"), "{text}");
    assert!(text.contains("`sweat merge`"), "{text}");
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 3);
    }
    assert_eq!(
        archive::read_run(&kept_run(&world, "a1")).unwrap().meta.state,
        RunState::Interrupted
    );
}

#[test]
fn nats_may_come_back_within_the_lease() {
    let world = World::new();
    let home = world.runs().parent().unwrap().to_owned();
    let Some(mut nats) = Nats::start(&home, "") else { return };
    let agents = start_agents(&world, &nats, &["a1"], &[]);
    let url = nats.url();
    let words = ["--agents=1", "--nats", &url, "--threads=2", "--time=5"];
    let load = world.start(&[NULL, &words].concat());
    wait_for_load(&world, "a1");
    nats.kill();
    let again = Nats::start_at(&nats_program().unwrap(), &home, "", nats.port);
    expect(&load.wait_with_output().unwrap(), 0);
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 0);
    }
    let kept = archive::read_run(&kept_run(&world, "a1")).unwrap();
    assert_eq!(world.record().trials[0].response, kept.trials[0].response, "every cell");
    drop(again);
}

#[test]
fn the_user_s_stop_reaches_agents_and_keeps_what_was_measured() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=10m"];
    let load = world.start(&[NULL, &words].concat());
    ["a1", "a2"].iter().for_each(|name| wait_for_load(&world, name));
    signal(&load, Signal::INT);
    expect(&load.wait_with_output().unwrap(), 130);
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 3);
    }
    let run = world.record();
    assert_eq!(run.meta.state, RunState::Interrupted);
    assert!(!run.trials[0].response[0].is_empty());
}

#[test]
fn agents_refuse_what_their_owner_does_not_allow() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let url = nats.url();
    let refused: [(&[&str], &[&str], &str); 4] = [
        (
            &["--allow-target", "db1:3306", "--allow-target=db2"],
            &["oltp_point_select", "-hdb1", "-P3307", "-Dx"],
            "it may not load db1:3307; its --allow-target: db1:3306, db2",
        ),
        (&[], &["oltp_point_select", "-hdb1"], "its --allow-target: is empty"),
        (&["--most-sessions=1"], &["null", "--threads=2"], "more than its --most-sessions 1"),
        (&["--most-time=1s"], &["null", "--time=2"], "no end within its --most-time of 1s"),
    ];
    for (agent, load, why) in refused {
        let mut agents = start_agents(&world, &nats, &["a1"], agent);
        let words = ["--agents=1", "--nats", &url, "--quiet", "--no-defaults"];
        let output = world.run(&[&["bench"], load, &words].concat());
        expect(&output, 3);
        let text = words_of(&err(&output));
        assert!(text.contains("agent a1 refuses the load") && text.contains(why), "{text}");
        kill_now(&mut agents[0]);
    }
    assert!(!world.runs().exists() && !agent_runs(&world, "a1").exists(), "no load ran");
    let wrong: [(&[&str], &str); 7] = [
        (&["bench", "null", "--threads=2", "--agents=3"], "2 sessions are fewer than 3 agents"),
        (&["bench", "null", "--agents=1", "--share=1/2"], "does not go together"),
        (&["bench", "http", "--agents=1"], "MySQL and MariaDB servers only"),
        (&["bench", "oltp_read_only", "--agents=1", "--sandbox"], "a server of its own"),
        (&["bench", "null", "--agents=1", "--nats=nats://192.0.2.1"], "needs a key and TLS"),
        (&["sweep", "sort_buffer_size=1M,2M", "null", "--agents=1"], "change the server"),
        (&["agent", "--nats=nats://192.0.2.1", "--name=a1"], "needs a key and TLS"),
    ];
    for (words, why) in wrong {
        let output = world.run(words);
        assert_ne!(output.status.code(), Some(0), "{words:?}");
        let text = words_of(&err(&output));
        assert!(text.contains(why), "{words:?}: {text}");
    }
}

#[test]
fn hostile_orders_leave_an_agent_at_work() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1"], &[]);
    let address = NatsAddress::parse(&nats.url()).unwrap();
    let subjects = vec!["sweat.v1.from.*".to_owned()];
    let options =
        NatsOptions { address, name: "foe".to_owned(), nkey: None, tls_ca: None, subjects };
    let foe = NatsConnection::open(options).unwrap();
    wait_for("the agent", || foe.next_event(Duration::from_secs(1)).is_some());
    let long = vec![b'x'; 300 << 10];
    let plan = r#"{"order":"prepare","run":"r","version":"?","plan":"","target":null,
        "clock_offset_ns":0,"clock_bound_ns":0,"until_unix_ns":0}"#;
    let orders: [&[u8]; 6] = [
        b"",
        b"\xff\n\0",
        b"{\"order\":\"fetch\",\"run\":\"r\",\"offset\":-1}",
        b"{\"order\":\"start\",\"run\":\"r\",\"at_unix_ns\":1}",
        &long,
        plan.as_bytes(),
    ];
    orders.iter().for_each(|order| foe.publish("sweat.v1.to.a1", order).unwrap());
    // Reports of others are nobody's concern either.
    foe.publish("sweat.v1.from.a9", b"{}").unwrap();
    foe.publish("sweat.v1.from.x.y", b"[[[[").unwrap();
    let url = nats.url();
    let words = ["--agents=1", "--nats", &url, "--threads=2", "--events=100"];
    expect(&world.run(&[NULL, &words].concat()), 0);
    for agent in agents {
        let output = agent.wait_with_output().unwrap();
        expect(&output, 0);
        assert!(err(&output).contains("ignored an order"), "{}", err(&output));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test makes a certificate")]
fn keys_and_tls_hold_others_off() {
    let world = World::new();
    let home = world.runs().parent().unwrap().to_owned();
    if nats_program().is_none() {
        return;
    }
    let key = |name: &str| {
        let output = world.run(&["agent", "--make-key", name]);
        expect(&output, 0);
        let public = out(&output).trim().to_owned();
        assert_eq!(NkeySeed::read_file(&home.join(name)).unwrap().public_key(), public);
        public
    };
    let (coordinator, agent, _) = (key("c.nk"), key("a1.nk"), key("other.nk"));
    let config = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=nats"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(&home)
        .stderr(Stdio::null())
        .status();
    assert!(config.unwrap().success());
    let config = format!(
        "tls {{ cert_file: \"{0}/cert.pem\", key_file: \"{0}/key.pem\" }}\n\
         authorization {{ users: [\n\
           {{ nkey: {coordinator}, permissions: {{ publish: \"sweat.v1.to.*\", \
              subscribe: \"sweat.v1.from.*\" }} }}\n\
           {{ nkey: {agent}, permissions: {{ publish: \"sweat.v1.from.a1\", \
              subscribe: \"sweat.v1.to.a1\" }} }}\n] }}\n",
        home.display()
    );
    let Some(nats) = Nats::start(&home, &config) else { return };
    let url = nats.url().replace("nats:", "tls:");
    let ca = ["--tls-ca=cert.pem"];
    let secure =
        ["agent", "--once", "--nats", &url, "--name=a1", "--nkey=a1.nk", "--runs-dir=of-a1"];
    let good = world.start(&[&secure[..], &ca].concat());
    let words = ["--agents=1", "--nats", &url, "--threads=2", "--events=100", "--nkey=c.nk"];
    expect(&world.run(&[NULL, &words, &ca].concat()), 0);
    expect(&good.wait_with_output().unwrap(), 0);
    for (key, why) in
        [("--nkey=other.nk", "Authorization Violation"), ("--name=a1", "Authorization")]
    {
        let output = world.run(&["agent", "--nats", &url, "--tls-ca=cert.pem", key]);
        expect(&output, 3);
        assert!(err(&output).contains(why), "{}", err(&output));
    }
    let output = world.run(&["agent", "--nats", &url, "--nkey=a1.nk"]);
    assert!(err(&output).contains("TLS"), "{}", err(&output));
    assert_ne!(output.status.code(), Some(0));
}
