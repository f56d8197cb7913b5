//! Life and death of sandboxes, seen from outside: the built program, its signals, its orphans.
#![expect(clippy::disallowed_methods, reason = "tests start programs and wait for them")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sweat::base::Stop;
use sweat::plan::SandboxPlan;
use sweat::server::ServerControl as _;
use sweat::server::sandbox::{
    HomeFolders, Lifetime, ProcessId, Sandbox, SandboxMeta, SandboxOptions, list_sandboxes,
    remove_orphans,
};

use crate::fixture;

/// A home of this test's own; templates are those of all tests.
fn home() -> (tempfile::TempDir, HomeFolders) {
    let dir = tempfile::Builder::new().prefix("sweat-it-").tempdir().unwrap();
    let shared = fixture::home(dir.path());
    std::fs::create_dir_all(&shared.templates).unwrap();
    std::os::unix::fs::symlink(&shared.templates, dir.path().join("template")).unwrap();
    let home = HomeFolders::from_root(dir.path());
    assert_eq!(home.sandboxes, shared.sandboxes);
    (dir, home)
}

fn sweat(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweat"));
    command.args(words).env("SWEAT_HOME", dir);
    command
}

fn run(dir: &Path, words: &[&str]) -> Output {
    sweat(dir, words).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// `sweat sandbox start` in the foreground, once it has said that its server is ready.
fn foreground(dir: &Path, words: &[&str]) -> Child {
    let mut child = sweat(dir, &[&["sandbox", "start"], words].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    while out.read_line(&mut first).unwrap() > 0 && !first.contains("  data ") {}
    if !first.contains("is ready") {
        panic!("no server: {first} {}", text(&child.wait_with_output().unwrap()));
    }
    // Nobody reads on: what it says at its end must not matter.
    child
}

fn only(home: &HomeFolders) -> (String, SandboxMeta) {
    let mut found = list_sandboxes(home);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn ctrl_c_leaves_nothing() {
    let (dir, home) = home();
    let mut tool = foreground(dir.path(), &[]);
    let (_, meta) = only(&home);
    let server = meta.server.unwrap();
    assert!(server.is_alive());
    assert_eq!(fixture::sql(&meta.socket, "select 1"), "1");
    let begin = Instant::now();
    signal(&tool, "-INT");
    assert_eq!(tool.wait().unwrap().code(), Some(0));
    println!("ended {:.3} s after Ctrl-C", begin.elapsed().as_secs_f64());
    assert!(!server.is_alive());
    assert_eq!(entries(&home.sandboxes), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_sweat_takes_its_server_with_it_and_the_next_one_cleans_up() {
    let (dir, home) = home();
    let mut tool = foreground(dir.path(), &[]);
    let (name, meta) = only(&home);
    signal(&tool, "-KILL");
    tool.wait().unwrap();
    let server = meta.server.unwrap();
    wait_for("the server has died with its parent", || !server.is_alive());
    assert!(home.sandboxes.join(&name).exists(), "who removed it?");
    let next = run(dir.path(), &["sandbox", "list"]);
    assert!(text(&next).contains(&name), "{}", text(&next));
    assert_eq!(entries(&home.sandboxes), Vec::<PathBuf>::new());
}

/// Writes into a sandbox's registration that it belongs to a process that is no more.
fn orphan(home: &HomeFolders, name: &str, keep: bool) {
    let path = home.sandboxes.join(name).join("meta.json");
    let mut meta: SandboxMeta = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let own = ProcessId::own_process().unwrap();
    meta.tool = Some(ProcessId { started: "1".to_owned(), ..own });
    meta.keep = keep;
    std::fs::write(&path, serde_json::to_vec(&meta).unwrap()).unwrap();
}

fn detached(home: &HomeFolders, name: &str) -> (PathBuf, ProcessId) {
    let terms = SandboxOptions {
        home: home.clone(),
        name: Some(name.to_owned()),
        life: Lifetime::Detached,
        stop: Stop::new(),
    };
    let sandbox = Sandbox::create(&SandboxPlan::default(), &terms).unwrap();
    (sandbox.dir().to_owned(), ProcessId::from_pid(sandbox.pid().unwrap()).unwrap())
}

#[test]
fn an_orphan_that_still_runs_is_ended_but_nobody_else() {
    let (_dir, home) = home();
    let (gone, orphaned) = detached(&home, "orphan");
    let (kept, keeper) = detached(&home, "kept");
    let (_, bystander) = detached(&home, "bystander");
    assert_eq!(remove_orphans(&home), Vec::<String>::new(), "a detached server is nobody's orphan");
    assert!(orphaned.is_alive() && keeper.is_alive());
    orphan(&home, "orphan", false);
    orphan(&home, "kept", true);
    let mut swept = remove_orphans(&home);
    swept.sort();
    assert_eq!(swept, ["kept", "orphan"]);
    assert!(!orphaned.is_alive() && !gone.exists());
    assert!(!keeper.is_alive() && kept.join("data/ibdata1").exists());
    assert!(bystander.is_alive());

    // A registration whose process number now belongs to somebody else: that one must live.
    let path = home.sandboxes.join("kept/meta.json");
    let mut meta: SandboxMeta = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    meta.server = Some(ProcessId { started: "1".to_owned(), ..bystander.clone() });
    std::fs::write(&path, serde_json::to_vec(&meta).unwrap()).unwrap();
    orphan(&home, "kept", false);
    assert_eq!(remove_orphans(&home), ["kept"]);
    assert!(bystander.is_alive(), "a process was ended by its number alone");
    let terms = SandboxOptions {
        stop: Stop::new(),
        life: Lifetime::Detached,
        name: None,
        home: home.clone(),
    };
    sweat::server::sandbox::destroy_named("bystander", &terms).unwrap();
    assert!(!bystander.is_alive());
}

#[test]
fn a_sandbox_of_a_living_sweat_is_not_swept() {
    let (_dir, home) = home();
    let terms = SandboxOptions {
        home: home.clone(),
        name: None,
        life: Lifetime::ThrowAway,
        stop: Stop::new(),
    };
    let mut sandbox = Sandbox::create(&SandboxPlan::default(), &terms).unwrap();
    assert_eq!(remove_orphans(&home), Vec::<String>::new());
    // Even where its process can't be seen, as from another container, its lock can.
    orphan(&home, sandbox.name(), false);
    assert_eq!(remove_orphans(&home), Vec::<String>::new());
    assert!(sandbox.is_running());
}

#[test]
fn a_named_sandbox_is_started_stopped_found_again_and_destroyed() {
    let (dir, home) = home();
    let started = run(
        dir.path(),
        &["sandbox", "start", "--name", "mine", "--tcp", "--detach", "--pool", "40M"],
    );
    assert_eq!(started.status.code(), Some(0), "{}", text(&started));
    let (_, meta) = only(&home);
    let server = meta.server.clone().unwrap();
    assert!(server.is_alive(), "a detached server ended with its parent");
    fixture::sql(&meta.socket, "create database d; create table d.t select 42 as answer");

    let connected = run(
        dir.path(),
        &["sandbox", "connect", "mine", "--", "-N", "-B", "-e", "select answer from d.t"],
    );
    assert_eq!(text(&connected).trim(), "42");
    let port = meta.port.unwrap().to_string();
    let over = |words: &[&str]| Command::new("mariadb").args(words).output().unwrap();
    let option_file = format!("--defaults-file={}/sandbox/mine/client.cnf", dir.path().display());
    let good = over(&[&option_file, "-N", "-B", "-e", "select current_user()"]);
    assert_eq!(text(&good).trim(), "sweat@127.0.0.1");
    let bad = over(&["--no-defaults", "-h127.0.0.1", "-P", &port, "-uroot", "-e", "select 1"]);
    assert!(text(&bad).contains("1045"), "root got in over the port: {}", text(&bad));

    // It is ours to change, whichever way we come.
    let socket = meta.socket.to_str().unwrap();
    for way in
        [["-u", "root", "-S", socket].as_slice(), &["--allow", "dump", "-u", "root", "-S", socket]]
    {
        let dumped = run(dir.path(), &[&["warm", "dump"], way].concat());
        assert_eq!(dumped.status.code(), Some(0), "{}", text(&dumped));
    }
    let elsewhere = run(&dir.path().join("other"), &["warm", "dump", "-u", "root", "-S", socket]);
    assert_eq!(elsewhere.status.code(), Some(2), "{}", text(&elsewhere));

    let twice = run(dir.path(), &["sandbox", "start", "--name", "mine", "--detach"]);
    assert_eq!(twice.status.code(), Some(2), "{}", text(&twice));
    assert!(server.is_alive(), "a second start ended the first");
    let stopped = run(dir.path(), &["sandbox", "stop"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", text(&stopped));
    assert!(!server.is_alive());
    let listed = run(dir.path(), &["sandbox", "list"]);
    assert!(text(&listed).contains("stopped"), "{}", text(&listed));

    let again = foreground(dir.path(), &["--name", "mine"]);
    let (_, meta) = only(&home);
    assert_eq!(fixture::sql(&meta.socket, "select answer from d.t"), "42");
    let server = meta.server.unwrap();
    // Its own sweat is asked to end.
    let destroyed = run(dir.path(), &["sandbox", "destroy", "mine"]);
    assert_eq!(destroyed.status.code(), Some(0), "{}", text(&destroyed));
    assert!(!server.is_alive());
    assert_eq!(again.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(entries(&home.sandboxes), Vec::<PathBuf>::new());
    let missing = run(dir.path(), &["sandbox", "stop", "mine"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
}

#[test]
fn mistakes_are_told_before_anything_is_made() {
    let (dir, home) = home();
    let check = |words: &[&str], code: i32, says: &str| {
        let output = run(dir.path(), &[&["sandbox", "start"], words].concat());
        let text = text(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains(says), "{words:?}: {text}");
        assert!(text.contains("\nhint: "), "{words:?}: {text}");
        let left = std::fs::read_dir(&home.sandboxes).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{words:?} left something");
    };
    check(&["--pool", "900T"], 2, "is larger than");
    check(&["--set", "datadir=/var/lib/mysql"], 2, "chooses this itself");
    check(&["--set", "innodb_bogus=1", "--set", "inodb_io_capacity=7"], 2, "--set innodb_bogus");
    check(&["--set", "inodb_io_capacity=7"], 2, "did you mean innodb_io_capacity?");
    check(&["--set", "inodb_io_capacity=7", "--set", "port=3"], 2, "--set port");
    check(&["--port=3311"], 2, "use --tcp");
    check(&["--server", "/bin/true"], 2, "is not a database server");
    check(&["--name", "../x"], 2, "is not a valid name");
}

/// A script in a folder of this test's own.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_version_that_can_not_be_a_sandbox_is_named() {
    let (dir, home) = home();
    let says = "echo 'mysqld  Ver 10.2.11-MariaDB for Linux on x86_64 (MariaDB Server)'";
    let old = script(dir.path(), "mysqld", says);
    let output = run(dir.path(), &["sandbox", "start", "--server", old.to_str().unwrap()]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("MariaDB 10.2.11 can't be a sandbox"), "{said}");
    assert!(said.contains("MariaDB 10.4.0 or later"), "{said}");
    assert!(!home.sandboxes.exists() || entries(&home.sandboxes).is_empty());
}

#[test]
fn where_too_few_files_may_be_open_no_server_is_started() {
    let (dir, _) = home();
    for words in ["sandbox start", "bench null --sandbox --time=1"] {
        let line = format!("ulimit -n 20; exec \"$0\" {words}");
        let output = Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_sweat")])
            .current_dir(dir.path())
            .env("SWEAT_HOME", dir.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("open files"), "{}", text(&output));
        assert!(text(&output).contains("ulimit"), "{}", text(&output));
    }
}

#[test]
fn the_server_does_not_see_what_is_secret_in_our_environment() {
    let (dir, home) = home();
    let with_secrets = |words: &[&str]| {
        let mut command = sweat(dir.path(), words);
        command.env("MYSQL_PWD", "geheim").env("SWEAT_SHIP_TOKEN", "geheim").env("LANG", "C");
        command.output().unwrap()
    };
    let started = with_secrets(&["sandbox", "start", "--name", "x", "--detach"]);
    assert_eq!(started.status.code(), Some(0), "{}", text(&started));
    let (_, meta) = only(&home);
    let environ = format!("/proc/{}/environ", meta.server.unwrap().pid);
    let environ = String::from_utf8_lossy(&std::fs::read(environ).unwrap()).into_owned();
    assert!(environ.contains("LANG=C"), "{environ}");
    assert!(!environ.contains("geheim") && !environ.contains("SWEAT_"), "{environ}");
    // Nor does a password for elsewhere keep the client out.
    let connected = with_secrets(&["sandbox", "connect", "x", "--", "-N", "-e", "select 42"]);
    assert_eq!(text(&connected).trim(), "42");
    run(dir.path(), &["sandbox", "destroy", "x"]);
}

#[test]
fn a_stopped_sandbox_starts_again_with_the_same_words() {
    let (dir, home) = home();
    let server = std::fs::canonicalize("/usr/sbin/mariadbd").unwrap_or_else(|_| "none".into());
    if !server.exists() {
        return fixture::record_skipped_test("/usr/sbin/mariadbd");
    }
    let words = |server: &Path| {
        let words = ["sandbox", "start", "--name", "x", "--detach", "--server"];
        run(dir.path(), &[&words[..], &[server.to_str().unwrap()]].concat())
    };
    let other = script(dir.path(), "other", "exec /usr/sbin/mariadbd \"$@\"");
    let (first, _) = (words(&server), run(dir.path(), &["sandbox", "stop"]));
    assert_eq!(first.status.code(), Some(0), "{}", text(&first));
    let refused = words(&other);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("it runs /usr/sbin/mariadbd"), "{}", text(&refused));
    let again = words(&server);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert!(only(&home).1.is_running());
    run(dir.path(), &["sandbox", "destroy"]);
}

#[test]
fn a_server_that_crashes_under_a_load_is_told_and_its_log_kept() {
    let (dir, home) = home();
    let runs = dir.path().join("runs");
    let mut tool = sweat(dir.path(), &["bench", "oltp_point_select", "--sandbox", "--time=60"]);
    let tool = tool.arg("--table-size=1000").arg("--runs-dir").arg(&runs);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let under_way = || {
        let dir = sweat::archive::latest_run(&runs).ok()?;
        let trial = std::fs::read_dir(dir.join("trials")).ok()?.next()?.ok()?;
        std::fs::metadata(trial.path().join("intervals.jsonl")).ok().filter(|m| m.len() > 0)
    };
    wait_for("the load is under way", || under_way().is_some());
    let (_, meta) = only(&home);
    meta.server.unwrap().send_signal(rustix::process::Signal::SEGV);
    let output = tool.wait_with_output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("killed by signal"), "{said}");
    let log = sweat::archive::latest_run(&runs).unwrap().join("server.err");
    assert!(said.contains(log.to_str().unwrap()), "{said}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("ready for connections") && log.contains("signal 11"), "{log}");
}

/// The tables of another version, installed in the usual place, must not be taken for the program's own.
#[test]
fn a_script_around_another_version_gets_its_own_tables_and_makes_no_keys() {
    let Some(program) = fixture::mariadb11() else { return };
    let (dir, home) = home();
    let wrapper = script(dir.path(), "wrapper", &format!("exec {} \"$@\"", program.display()));
    let start = |more: &[&str]| {
        let words = ["sandbox", "start", "--name", "x", "--detach", "--server"];
        let all = [&words[..], &[wrapper.to_str().unwrap()], more].concat();
        let started = run(dir.path(), &all);
        assert_eq!(started.status.code(), Some(0), "{}", text(&started));
        let (_, meta) = only(&home);
        let asked = "select @@version; show status like 'Ssl_server_not_after'; \
                     select count(*) from sys.version";
        let said = fixture::sql(&meta.socket, asked);
        run(dir.path(), &["sandbox", "destroy"]);
        said
    };
    let said = start(&[]);
    let mut lines = said.lines();
    assert!(lines.next().is_some_and(|version| version.contains("MariaDB")), "{said}");
    assert_eq!(lines.next().map(str::trim), Some("Ssl_server_not_after"), "{said}");
    assert!(start(&["--set", "ssl=1"]).contains("GMT"));
}

#[test]
fn a_path_too_long_for_a_socket_is_got_round_or_told() {
    let (dir, _) = home();
    let long = dir.path().join("a".repeat(100));
    let short = dir.path().join("t");
    std::fs::create_dir(&short).unwrap();
    std::fs::create_dir(&long).unwrap();
    std::os::unix::fs::symlink(dir.path().join("template"), long.join("template")).unwrap();
    let start = |temporary: &Path| {
        sweat(&long, &["sandbox", "start", "--name", "x", "--detach"])
            .env("TMPDIR", temporary)
            .output()
            .unwrap()
    };
    let told = start(&long);
    assert_eq!(told.status.code(), Some(2), "{}", text(&told));
    assert!(text(&told).contains("the path of the server's socket would be too long"));
    let started = start(&short);
    assert_eq!(started.status.code(), Some(0), "{}", text(&started));
    let (_, meta) = only(&HomeFolders::from_root(&long));
    assert!(meta.socket.starts_with(&short), "{}", meta.socket.display());
    assert_eq!(fixture::sql(&meta.socket, "select 1"), "1");
    let destroyed = run(&long, &["sandbox", "destroy"]);
    assert_eq!(destroyed.status.code(), Some(0), "{}", text(&destroyed));
    assert_eq!(entries(&short), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_that_can_not_be_used_is_told() {
    let output = run(Path::new("/dev/null/x"), &["sandbox", "start"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("make the folder /dev/null/x") && said.contains("SWEAT_HOME"), "{said}");
}

#[test]
fn where_no_server_is_installed_the_package_is_named() {
    // The usual folders have a server on this machine, so the program is run where they are empty.
    let (dir, _) = home();
    let script = "mount -t tmpfs none /usr/sbin && mount -t tmpfs none /usr/libexec && \
                  exec env PATH=/nowhere \"$0\" sandbox start";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_sweat"))
        .env("SWEAT_HOME", dir.path())
        .output();
    let Ok(output) = output else { return fixture::record_skipped_test("unshare") };
    let said = text(&output);
    if said.contains("unshare:") || said.contains("mount:") {
        return fixture::record_skipped_test("namespaces that a user may make");
    }
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no MariaDB or MySQL server is installed"), "{said}");
    assert!(said.contains("mariadb-server"), "{said}");
}

#[test]
fn a_user_who_is_not_root_may_have_one() {
    if !rustix::process::geteuid().is_root() {
        return println!("not root: all other tests have shown it");
    }
    // The program and the folder must be within everybody's reach.
    let dir = tempfile::Builder::new().prefix("sweat-it-").tempdir().unwrap();
    let program = dir.path().join("sweat");
    std::fs::copy(env!("CARGO_BIN_EXE_sweat"), &program).unwrap();
    let home = dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    for path in [dir.path(), &home] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let as_nobody = |words: &[&str]| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(words)
            .env("SWEAT_HOME", &home)
            .env("HOME", "/nonexistent")
            .output()
    };
    let Ok(started) = as_nobody(&["sandbox", "start", "--name", "n", "--detach"]) else {
        return fixture::record_skipped_test("setpriv");
    };
    assert_eq!(started.status.code(), Some(0), "{}", text(&started));
    let asked = as_nobody(&["sandbox", "connect", "--", "-N", "-B", "-e", "select user()"]);
    let destroyed = as_nobody(&["sandbox", "destroy"]).unwrap();
    assert_eq!(text(&asked.unwrap()).trim(), "root@localhost");
    assert_eq!(destroyed.status.code(), Some(0), "{}", text(&destroyed));
}
