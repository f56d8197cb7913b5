//! Loads whose sessions are dealt to several servers, each with an account of its own.

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::cli::{err, expect, out, program};
use crate::fixture::{self, Fixture};

/// Two servers with a database each. The first knows `load`, the second `other`; the option file has both.
struct TwoServers {
    servers: [Fixture; 2],
    home: tempfile::TempDir,
}

impl TwoServers {
    fn start() -> TwoServers {
        let servers = [fixture::listening(&[]), fixture::listening(&[])];
        let home = tempfile::tempdir().unwrap();
        for (server, (user, password)) in servers.iter().zip([("load", "one"), ("other", "two")]) {
            server.sql(&format!(
                "CREATE DATABASE dealt; \
                 CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}'; \
                 GRANT ALL ON *.* TO '{user}'@'127.0.0.1'; \
                 CREATE TABLE dealt.marks (session INT)"
            ));
        }
        let [first, second] = servers.each_ref().map(port);
        let text = format!(
            "[client]\nuser=load\npassword=wrong\n[client-127.0.0.1:{first}]\nuser=load\n\
             password=one\n[client-127.0.0.1:{second}]\nuser=other\npassword=two\n"
        );
        std::fs::write(home.path().join(".my.cnf"), text).unwrap();
        TwoServers { servers, home }
    }

    fn hosts(&self) -> [String; 2] {
        self.servers.each_ref().map(|server| format!("127.0.0.1:{}", port(server)))
    }

    fn run(&self, words: &[&str], input: &str) -> Output {
        let hosts = self.hosts().join(",");
        let words: Vec<&str> =
            words.iter().map(|w| if *w == "$HOSTS" { &hosts } else { *w }).collect();
        let mut child = program(self.home.path(), &words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn counts(&self, sql: &str) -> [u64; 2] {
        self.servers.each_ref().map(|server| server.sql(sql).trim().parse().unwrap())
    }
}

fn port(server: &Fixture) -> u16 {
    server.sandbox.meta().port.expect("it listens")
}

fn trial_file(runs: &Path) -> Value {
    let mut found = Vec::new();
    for run in std::fs::read_dir(runs).unwrap().flatten() {
        let trials = run.path().join("trials");
        found.extend(std::fs::read_dir(trials).unwrap().flatten().map(|t| t.path()));
    }
    let text = std::fs::read(found[0].join("trial.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn sessions_are_dealt_to_hosts_with_their_own_accounts() {
    let world = TwoServers::start();
    for host in &world.hosts() {
        let words =
            ["bench", "oltp_insert", "prepare", "-h", host, "-D", "dealt", "--table-size=10"];
        expect(&world.run(&words, ""), 0);
    }
    let load =
        ["bench", "oltp_insert", "-h", "$HOSTS", "-D", "dealt", "--threads=3", "--events=300"];
    let ran =
        world.run(&[&load[..], &["--format=json", "--quiet", "--runs-dir=runs"]].concat(), "");
    expect(&ran, 0);
    let found: Value = serde_json::from_str(&out(&ran)).unwrap();
    let [first, second] = world.hosts();
    let dealt = json!([
        {"server": format!("tcp {first}"), "sessions": 2},
        {"server": format!("tcp {second}"), "sessions": 1},
    ]);
    assert_eq!(found["trials"][0]["servers"], dealt);
    assert_eq!(trial_file(&world.home.path().join("runs"))["servers"], dealt);
    let rows = world.counts("SELECT COUNT(*) - 10 FROM dealt.sbtest1");
    assert!(rows[0] + rows[1] == 300 && rows.iter().all(|rows| *rows > 0), "{rows:?}");
    let told = world.run(&["report", "--runs-dir=runs"], "");
    assert!(out(&told).contains("Hosts    2 sessions on tcp 127.0.0.1:"), "{}", out(&told));
    // The plan that was kept names both.
    let plan = std::fs::read_dir(world.home.path().join("runs")).unwrap().flatten().next().unwrap();
    let again = world.run(&["run", &plan.path().display().to_string(), "--quiet"], "");
    expect(&again, 0);
    assert!(world.counts("SELECT COUNT(*) FROM dealt.sbtest1")[1] > rows[1] + 10);
}

#[test]
fn threads_of_a_script_from_a_pipe_are_dealt_to_hosts() {
    let world = TwoServers::start();
    let script = "function thread_init()\n\
                    con = sysbench.sql.driver():connect()\n\
                    again = sysbench.sql.driver():connect()\n\
                    con:query('INSERT INTO marks VALUES (CONNECTION_ID())')\n\
                  end\n\
                  function event() con:query('INSERT INTO marks VALUES (CONNECTION_ID())') end\n";
    let words = ["bench", "lua", "-", "-h", "$HOSTS", "-D", "dealt", "--threads=4", "--events=400"];
    let ran = world.run(&[&words[..], &["--format=json", "--quiet"]].concat(), script);
    expect(&ran, 0);
    let found: Value = serde_json::from_str(&out(&ran)).unwrap();
    assert_eq!(found["trials"][0]["servers"][1]["sessions"], 2);
    assert_eq!(world.counts("SELECT COUNT(DISTINCT session) FROM dealt.marks"), [2, 2]);
}

#[test]
fn what_works_on_one_server_refuses_a_list() {
    let world = TwoServers::start();
    for words in [
        &["bench", "oltp_insert", "prepare", "-h", "$HOSTS", "-D", "dealt"][..],
        &["bench", "tpcc", "-h", "$HOSTS", "-D", "dealt"],
        &["capacity", "oltp_read_only", "--slo=p99<1s", "-h", "$HOSTS", "-D", "dealt"],
        &["warm", "status", "-h", "$HOSTS"],
        &["doctor", "-h", "$HOSTS"],
        &["waits", "--instrument=x", "-h", "$HOSTS"],
        &["bench", "oltp_read_only", "-h", "db1,,db2"],
    ] {
        let refused = world.run(words, "");
        expect(&refused, 2);
        let said = err(&refused);
        assert!(said.contains("--host ") && said.contains("hint: "), "{words:?}: {said}");
    }
    let missing =
        world.run(&["bench", "oltp_read_only", "-h", "$HOSTS", "-D", "dealt", "--time=1"], "");
    expect(&missing, 2);
    assert!(err(&missing).contains("prepare --tables=1"), "{}", err(&missing));
}

#[test]
fn hosts_of_sysbench_have_accounts_of_their_own() {
    let world = TwoServers::start();
    let ports = world.servers.each_ref().map(|server| port(server).to_string());
    let address = "--mysql-host=127.0.0.1";
    let database = "--mysql-db=dealt";
    for port in &ports {
        let port = format!("--mysql-port={port}");
        let words = ["sysbench", "oltp_insert", "--native", address, &port, database, "prepare"];
        expect(&world.run(&words, ""), 0);
    }
    let port = format!("--mysql-port={}", ports.join(","));
    for native in ["--native", "--native=off"] {
        let load = ["oltp_insert", native, "--threads=4", "--events=100", "run"];
        let words = [&["sysbench", address, &port, database][..], &load].concat();
        expect(&world.run(&words, ""), 0);
        // What is typed holds for all hosts.
        let typed = world.run(&[&words[..], &["--mysql-password=wrong"]].concat(), "");
        expect(&typed, 1);
        let strict = world.run(&[&words[..], &["--strict-compat"]].concat(), "");
        expect(&strict, 1);
        assert!(out(&strict).contains("sbtest"), "{}", out(&strict));
    }
    let rows = world.counts("SELECT COUNT(*) - 10000 FROM dealt.sbtest1");
    assert!(rows[0] + rows[1] == 200 && rows.iter().all(|rows| *rows > 0), "{rows:?}");
}
