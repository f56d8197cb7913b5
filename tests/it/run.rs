//! Written plans: compared variants on a real server, wrong plans, runs that were killed.

use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::Signal;
use sweat::archive::{self, RunState};

use crate::cli::{World, err, expect, out, signal, until};
use crate::fixture::{self, Fixture};

/// A plan in the world's folder.
fn written(world: &World, text: &str) -> String {
    let path = world.dir.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Two variants that differ in what a commit flushes, on a small table, for a second each.
const FLUSH: &str = r#"
name = "flush"
question = "what does a flush at each commit cost?"
seed = 7
reset = "snapshot"
settle = "1s"
blocks = 2
[sandbox]
pool = "32M"
[workload]
kind = "oltp_update_non_index"
options = { table_size = 1000 }
[load]
time = "1s"
workers = 2
[[variant]]
name = "safe"
[[variant]]
name = "fast"
workers = 3
[variant.set]
innodb_flush_log_at_trx_commit = 2
"#;

#[test]
fn two_variants_alternate_on_the_same_data_and_everything_is_kept() {
    let world = World::new();
    let output = world.run(&["run", &written(&world, FLUSH)]);
    expect(&output, 0);
    assert!(err(&output).contains("2 blocks can resolve"), "{}", err(&output));
    let run = world.record();
    assert_eq!(run.meta.state, RunState::Done);
    assert_eq!(run.damage, Vec::<String>::new());
    let variants: Vec<_> =
        run.trials.iter().map(|t| (t.block, t.variant.as_str(), t.workers)).collect();
    assert_eq!(variants, [(1, "safe", 2), (1, "fast", 3), (2, "fast", 3), (2, "safe", 2)]);
    assert!(run.trials[0].settings.is_empty());
    assert_eq!(run.trials[1].settings["innodb_flush_log_at_trx_commit"], "2");
    assert_eq!(run.meta.asked.variants, ["safe", "fast"]);
    let kinds: Vec<&str> = run.steps.iter().map(|s| s.kind.as_str()).collect();
    assert_eq!(kinds[..6], ["prepare", "snapshot", "restore", "restart", "settle", "load"]);
    let notes: Vec<&String> = run.steps.iter().flat_map(|s| &s.notes).collect();
    assert!(notes.iter().any(|n| n.starts_with("put back ")), "{notes:?}");
    assert!(notes.iter().any(|n| n.contains("rest after")), "{notes:?}");

    let dir = archive::latest_run(&world.runs()).unwrap();
    let lock = archive::read_plan_lock(&dir).unwrap().expect("there is a plan.lock");
    assert_eq!((lock.seed, lock.program_sha256.map(|s| s.len())), (7, Some(64)));
    assert!(lock.server.unwrap().contains('.'));
    assert!(lock.variables.iter().any(|v| v.name == "innodb_buffer_pool_size"));
    assert!(lock.machine.contains_key("kernel"));

    // Once more, from its folder, and shorter: whatever is not as then is told.
    let again = world.run(&["run", &dir.display().to_string(), "--blocks", "1", "--name", "again"]);
    expect(&again, 0);
    let said = err(&again);
    assert!(said.contains("not as then: plan: "), "{said}");
    assert!(!said.contains("not as then: variable"), "{said}");
    assert_eq!(archive::list_runs(&world.runs()).unwrap().len(), 2);
}

/// Runs a plan that is wrong; gives what is said. Nothing may have been started or left.
fn refused(text: &str, words: &[&str]) -> String {
    let world = World::new();
    let path = written(&world, text);
    let output = world.run(&[&["run", path.as_str()], words].concat());
    expect(&output, 2);
    assert!(!world.runs().exists(), "there is a run folder");
    let home = world.dir.path().join("home/sandbox");
    assert!(!home.exists(), "a sandbox was made in {}", home.display());
    err(&output)
}

#[test]
fn wrong_settings_are_all_told_before_anything_is_started() {
    let said = refused(
        &FLUSH.replace(
            "innodb_flush_log_at_trx_commit = 2",
            "innodb_flush_log_at_trx_comit = 2\ninnodb_io_capacity = 1\n\
             innodb_flush_method = \"O_SYNC\"\ninnodb_thread_concurrency = 4",
        ),
        &[],
    );
    assert!(
        said.contains("variant fast: innodb_flush_log_at_trx_comit: this server has no such"),
        "{said}"
    );
    assert!(said.contains("did you mean innodb_flush_log_at_trx_commit?"), "{said}");
    assert!(
        said.contains("innodb_io_capacity: 1 is out of range: the server changes it to 100"),
        "{said}"
    );
    assert!(said.contains("the server doesn't accept the value `O_SYNC`"), "{said}");
    assert!(
        said.contains("innodb_thread_concurrency: the server accepts this setting but ignores"),
        "{said}"
    );
    let removed =
        FLUSH.replace("innodb_flush_log_at_trx_commit = 2", "innodb_buffer_pool_instances = 4");
    let said = refused(&removed, &[]);
    assert!(said.contains("since MariaDB 10.5 all values are the same server"), "{said}");
}

#[test]
fn wrong_plans_are_told_with_line_and_hint() {
    let said =
        refused(&FLUSH.replace("blocks = 2", "blocs = 2\n[decide]\nmetric = \"p99_ms\""), &[]);
    assert!(
        said.contains("plan.toml line 7: blocs: no such key\nhint: did you mean blocks?"),
        "{said}"
    );
    assert!(said.contains("line 9: decide.metric: `p99_ms` is not known"), "{said}");
    let said = refused(&FLUSH.replace("time = \"1s\"", ""), &[]);
    assert!(said.contains("nothing ends the load"), "{said}");
    let said = refused(FLUSH, &["--until-clear", "2"]);
    assert!(said.contains("--until-clear: it is not more than the 2 blocks"), "{said}");
    let said = refused(&FLUSH.replace("[sandbox]\npool = \"32M\"\n", ""), &[]);
    assert!(said.contains("sweat stops only servers that it started"), "{said}");
}

#[test]
fn mysql_is_asked_too() {
    let Some(program) = fixture::mysqld() else { return };
    let server = program.display().to_string();
    let with = |setting: &str| FLUSH.replace("innodb_flush_log_at_trx_commit = 2", setting);
    let refuse = |setting: &str| refused(&with(setting), &["--server", &server]);
    let said = refuse("innodb_io_capacity = 1\nquery_cache_size = \"1M\"");
    assert!(said.contains("innodb_io_capacity: 1 is out of range"), "{said}");
    assert!(said.contains("query_cache_size: this server has no such setting"), "{said}");
    let said = refuse("innodb_buffer_pool_instances = 4");
    assert!(said.contains("it takes 1 GiB"), "{said}");
}

#[test]
fn a_dry_run_tells_every_statement_and_does_nothing() {
    let world = World::new();
    let output = world.run(&["run", &written(&world, FLUSH), "--dry-run"]);
    expect(&output, 0);
    for word in [
        "CREATE TABLE sbtest1 (",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES ..., 1000 rows",
        "block 2, fast: restart with innodb_flush_log_at_trx_commit=2",
        "start it --innodb-flush-log-at-trx-commit=2",
        "UPDATE sbtestN SET c=? WHERE id=?",
        "SHOW GLOBAL STATUS",
    ] {
        assert!(out(&output).contains(word), "{word} is not in\n{}", out(&output));
    }
    assert!(!world.runs().exists());
}

/// A plan for a server that sweat did not start.
fn foreign(setting: &str) -> String {
    format!(
        "name = \"foreign\"\nblocks = 2\n[workload]\nkind = \"oltp_point_select\"\n\
         options = {{ table_size = 100 }}\n[load]\ntime = \"1s\"\n[target]\ndatabase = \"test\"\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n[variant.set]\n{setting}\n"
    )
}

fn words(fixture: &Fixture) -> Vec<String> {
    let socket = fixture.sandbox.meta().socket.display().to_string();
    ["--no-defaults", "-uroot", "-S"].iter().map(|w| (*w).to_owned()).chain([socket]).collect()
}

/// The server with the table of the plan on it, and the words that lead there.
fn prepared(fixture: Fixture) -> (Fixture, Vec<String>) {
    fixture.sql("create database if not exists test");
    let words = words(&fixture);
    let world = World::new();
    let mut prepare =
        vec!["bench", "oltp_point_select", "prepare", "--table-size=100", "-D", "test"];
    prepare.extend(words.iter().map(String::as_str));
    expect(&world.run(&prepare), 0);
    (fixture, words)
}

const LOOK: &str = "select @@global.innodb_io_capacity";

fn check_foreign(fixture: Fixture) {
    let (fixture, words) = prepared(fixture);
    let before = fixture.sql(LOOK);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let allowed = [words.as_slice(), &["--allow", "set-global"]].concat();
    let wrong = "innodb_flush_neighbors = 1\ninnodb_flush_method = \"fsync\"\nno_such = 1";
    let said = refused(&foreign(wrong), &allowed);
    let read_only = "innodb_flush_method: it can only be set at the start";
    assert!(said.contains(read_only), "{said}");
    assert!(said.contains("no_such: this server has no such variable"), "{said}");
    assert!(!said.contains("innodb_flush_neighbors"), "{said}");
    let said = refused(&foreign("innodb_io_capacity = 1"), &allowed);
    assert!(said.contains("variant b: innodb_io_capacity: "), "{said}");
    let good = foreign("innodb_io_capacity = \"1k\"");
    let said = refused(&good, &words);
    assert!(said.contains("add --allow set-global"), "{said}");
    assert_eq!(fixture.sql(LOOK), before, "a check has set it");

    let world = World::new();
    let path = written(&world, &good);
    let output = world.run(&[&["run", path.as_str()], allowed.as_slice()].concat());
    expect(&output, 0);
    let run = world.record();
    let notes: Vec<&String> = run.steps.iter().flat_map(|s| &s.notes).collect();
    let note = format!("innodb_io_capacity was {before}, is 1k");
    assert!(notes.iter().any(|n| **n == note), "{notes:?}");
    let settings =
        |variant: &str| run.trials.iter().find(|t| t.variant == variant).unwrap().settings.clone();
    assert!(settings("a").is_empty());
    assert_eq!(settings("b")["innodb_io_capacity"], "1k");
    assert_eq!(fixture.sql(LOOK), before);
    // What was allowed by word of mouth is not in the folder.
    assert!(!run.plan.contains("set-global"), "{}", run.plan);
}

#[test]
fn a_server_that_is_not_ours_is_set_with_consent_and_put_back() {
    check_foreign(fixture::mariadb());
    if let Some(fixture) = fixture::mysql() {
        check_foreign(fixture);
    }
}

/// Starts a long run that sets the variable, and waits until its load is under way.
fn under_way(world: &World, fixture: &Fixture, words: &[&str]) -> Child {
    let long = foreign("innodb_io_capacity = 1234").replace("\"1s\"", "\"20s\"");
    let path = written(world, &long.replace("[[variant]]\nname = \"a\"\n", ""));
    let child = world.start(&[&["run", path.as_str(), "--allow", "set-global"], words].concat());
    until("the variable is set", || fixture.sql(LOOK) == "1234");
    let has_intervals = || -> Option<bool> {
        let run = archive::read_run(&archive::latest_run(&world.runs()).ok()?).ok()?;
        Some(!run.trials.first()?.intervals.is_empty())
    };
    until("the load runs", || has_intervals() == Some(true));
    child
}

#[test]
fn a_killed_run_can_be_reported_and_its_server_restored() {
    let (fixture, words) = prepared(fixture::mariadb());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let world = World::new();
    let mut child = under_way(&world, &fixture, &words);
    signal(&child, Signal::KILL);
    child.wait().unwrap();

    let dir = archive::latest_run(&world.runs()).unwrap().display().to_string();
    let report = world.run(&["report", &dir]);
    expect(&report, 0);
    assert!(out(&report).starts_with("Cut off: "), "{}", out(&report));
    assert_eq!(fixture.sql(LOOK), "1234");
    let restored = world.run(&["restore", &dir]);
    expect(&restored, 0);
    assert!(err(&restored).contains("innodb_io_capacity has its old value"), "{}", err(&restored));
    assert_eq!(fixture.sql(LOOK), "200");
}

#[test]
fn ctrl_c_puts_the_variables_back() {
    let (fixture, words) = prepared(fixture::mariadb());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let world = World::new();
    let child = under_way(&world, &fixture, &words);
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    expect(&output, 130);
    assert_eq!(fixture.sql(LOOK), "200");
    let run = world.record();
    assert_eq!((run.meta.state, run.trials.len()), (RunState::Interrupted, 1));
}

#[test]
fn every_example_plan_is_read_and_rehearsed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/plans");
    let mut plans: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    plans.sort();
    assert!(plans.len() >= 6, "{plans:?}");
    for plan in plans {
        let path = plan.display().to_string();
        let mut words = vec!["run", path.as_str(), "--dry-run"];
        let text = std::fs::read_to_string(&plan).unwrap();
        let program = if text.contains("# needs: MySQL") { fixture::mysqld() } else { None };
        let program = program.map(|program| program.display().to_string());
        if text.contains("--allow set-global") {
            words.extend(["--allow", "set-global"]);
        }
        if let Some(program) = &program {
            words.extend(["--server", program.as_str()]);
        }
        let output = World::new().run(&words);
        if text.contains("# needs: MySQL") && program.is_none() {
            expect(&output, 2);
            assert!(err(&output).contains("has one buffer pool"), "{}", err(&output));
            continue;
        }
        expect(&output, 0);
        assert!(out(&output).contains("load, pass 1"), "{path}: {}", out(&output));
    }
}
