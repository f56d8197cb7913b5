//! The room `workload` against real servers, and against sysbench.
#![expect(clippy::disallowed_methods, reason = "tests start peers and wait for them")]

use std::process::Command;
use std::time::{Duration, Instant};

use sweat::base::{RealClock, Stop, StopReason};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{AddressPlan, EnginePlan, LoadPlan, Options};
use sweat::recorder::Recording;
use sweat::workload::{DataJob, Endpoint, JobProgress, KINDS, Workload, sql};

use crate::fixture::{self, Fixture};

const SEED: u64 = 7;

/// A target whose default database is a new one.
fn database(server: &Fixture, name: &str) -> Target {
    server.sql(&format!("CREATE DATABASE {name}"));
    let plan = AddressPlan { database: Some(name.to_owned()), ..server.target().plan().clone() };
    Target::new(&plan).expect("a socket needs no name resolved")
}

fn build(kind: &str, given: &[(&str, &str)], target: &Target) -> anyhow::Result<Box<dyn Workload>> {
    let kind = KINDS.iter().find(|k| k.name() == kind).expect("the kind is listed");
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target))
}

fn prepare(workload: &dyn Workload, threads: usize) -> anyhow::Result<()> {
    let stop = Stop::new();
    workload.prepare_data(&mut DataJob { threads, seed: SEED, stop: &stop, progress: &mut |_| {} })
}

fn cleanup(workload: &dyn Workload) -> anyhow::Result<()> {
    let stop = Stop::new();
    workload.cleanup_data(&mut DataJob {
        threads: 1,
        seed: SEED,
        stop: &stop,
        progress: &mut |_| {},
    })
}

/// Runs a load of four workers until it ends by itself, or for so long.
fn load(workload: &dyn Workload, time: Option<Duration>, engine: EnginePlan) -> Recording {
    workload.check_ready(&Stop::new()).expect("the workload fits the server");
    let plan = LoadPlan { workers: 4, time, engine, ..LoadPlan::default() };
    driver::run_load(&plan, SEED, workload, RealClock::start_now(), &Stop::new(), &mut |_| {})
        .expect("the load runs")
}

/// What is wrong, in words; panics if nothing is.
fn why<T>(result: anyhow::Result<T>) -> String {
    format!("{:#}", result.err().expect("this must be refused"))
}

fn sysbench(server: &Fixture, database: &str, test: &str, words: &[&str]) -> String {
    let output = Command::new("sysbench")
        .arg(test)
        .arg(format!("--mysql-socket={}", server.sandbox.meta().socket.display()))
        .args(["--mysql-user=root", &format!("--mysql-db={database}")])
        .args(words)
        .output()
        .expect("sysbench is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

const MIXES: [&str; 10] = [
    "oltp_read_only",
    "oltp_point_select",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
];

#[test]
fn tables_of_sysbench_serve_every_mix() {
    let server = fixture::mariadb();
    let target = database(&server, "peer");
    sysbench(&server, "peer", "oltp_read_write", &["--table-size=5000", "prepare"]);
    for (number, name) in MIXES.into_iter().enumerate() {
        let mode = if number % 2 == 0 { "auto" } else { "disable" };
        let given = [("table-size", "5000"), ("db-ps-mode", mode)];
        let workload = build(name, &given, &target).unwrap();
        let engine = if number % 3 == 0 { EnginePlan::Reactor } else { EnginePlan::Threads };
        let record = load(&*workload, Some(Duration::from_millis(600)), engine);
        let events = record.total.event_count();
        assert!(events > 20, "{name}: {events} events");
        // Deadlocks and lock waits belong to transactions that write; anything else does not.
        let odd: Vec<_> =
            record.errors.iter().filter(|e| ![1213, 1205].contains(&e.error.code)).collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
        let tally = record.total.tally;
        match name {
            "oltp_read_only" => {
                assert_eq!(
                    (tally.counts[sql::READS], tally.counts[sql::OTHER], tally.counts[sql::WRITES]),
                    (14 * events, 2 * events, 0)
                );
                assert!(tally.counts[sql::ROWS] > 100 * events, "ranges were read: {tally:?}");
            }
            "oltp_read_write" if record.errors.is_empty() => {
                assert_eq!(
                    tally.counts[sql::READS] + tally.counts[sql::WRITES] + tally.counts[sql::OTHER],
                    20 * events
                );
                assert_eq!(tally.counts[sql::READS], 14 * events);
                // A row that another session is just putting in again may not be found.
                assert!(
                    (38 * events..=40 * events).contains(&(10 * tally.counts[sql::WRITES])),
                    "{tally:?}"
                );
            }
            "oltp_point_select" => {
                assert_eq!(
                    (tally.counts[sql::READS], tally.counts[sql::ROWS]),
                    (events, events),
                    "every id is there"
                );
            }
            "select_random_ranges" => {
                assert_eq!((tally.counts[sql::READS], tally.counts[sql::ROWS]), (events, events))
            }
            "oltp_insert" => assert_eq!(tally.counts[sql::WRITES], events),
            "oltp_update_index" => assert_eq!(tally.counts[sql::WRITES], events),
            _ => {}
        }
    }
    // Others take rows out, so their number says nothing.
    let rows = server.sql("SELECT MAX(id) > 5000 FROM peer.sbtest1");
    assert_eq!(rows, "1", "oltp_insert put rows in");
}

#[test]
fn our_tables_serve_sysbench_and_are_made_alike() {
    let server = fixture::mariadb();
    let variants: [(&str, &[&str]); 4] = [
        ("plain", &[]),
        ("no_auto", &["auto_inc=off"]),
        ("secondary", &["secondary=on"]),
        ("no_index", &["create_secondary=off"]),
    ];
    for (name, options) in variants {
        let ours = database(&server, &format!("ours_{name}"));
        let mut given = vec![("tables", "2"), ("table-size", "3000")];
        given.extend(options.iter().filter_map(|o| o.split_once('=')));
        let workload = build("oltp_read_write", &given, &ours).unwrap();
        prepare(&*workload, 2).unwrap();
        server.sql(&format!("CREATE DATABASE theirs_{name}"));
        let mut words = vec!["--tables=2".to_owned(), "--table-size=3000".to_owned()];
        words.extend(options.iter().map(|o| format!("--{o}")));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let theirs = format!("theirs_{name}");
        sysbench(&server, &theirs, "oltp_read_write", &[&words[..], &["prepare"]].concat());
        for table in 1..=2 {
            let show = |database: &str| {
                let text = server.sql(&format!("SHOW CREATE TABLE {database}.sbtest{table}"));
                text.split(" AUTO_INCREMENT=").next().unwrap_or_default().to_owned()
                    + text.rsplit(" DEFAULT CHARSET").next().unwrap_or_default()
            };
            assert_eq!(show(&format!("ours_{name}")), show(&theirs));
            let facts = |database: &str| {
                server.sql(&format!(
                    "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MAX(LENGTH(pad)), \
                     SUM(c REGEXP '^([0-9]{{11}}-){{9}}[0-9]{{11}}$'), \
                     SUM(pad REGEXP '^([0-9]{{11}}-){{4}}[0-9]{{11}}$'), \
                     SUM(k BETWEEN 1 AND 3000) FROM {database}.sbtest{table}"
                ))
            };
            assert_eq!(facts(&format!("ours_{name}")), facts(&theirs));
        }
        if name == "plain" {
            let words = ["--tables=2", "--table-size=3000", "--threads=4", "--time=1", "run"];
            let said = sysbench(&server, "ours_plain", "oltp_read_write", &words);
            assert!(said.contains("transactions:"), "{said}");
            sysbench(&server, "ours_plain", "oltp_read_write", &["--tables=2", "cleanup"]);
        } else {
            cleanup(&*workload).unwrap();
        }
        assert_eq!(server.sql(&format!("SHOW TABLES FROM ours_{name}")), "");
    }
}

/// Prepares until so many rows are in, then stops; gives what was said and how long stopping took.
fn cut(workload: &dyn Workload, threads: usize, rows: u64) -> (String, Duration) {
    let stop = Stop::new();
    let mut told = None;
    let mut progress = |p: JobProgress| {
        if p.done >= rows {
            stop.set(StopReason::Interrupted);
            told.get_or_insert_with(Instant::now);
        }
    };
    let mut job = DataJob { threads, seed: SEED, stop: &stop, progress: &mut progress };
    let said = why(workload.prepare_data(&mut job));
    (said, told.expect("it came that far").elapsed())
}

#[test]
fn a_cut_preparation_goes_on_and_ends_in_the_same_rows() {
    const ROWS: &str = "100000";
    let server = fixture::with(&[("local-infile", "0")]);
    let mut sums = Vec::new();
    for threads in [1, 3] {
        let name = format!("cut_{threads}");
        let target = database(&server, &name);
        // Without AUTO_INCREMENT, sessions share a table.
        let given = [("table-size", ROWS), ("auto-inc", "off")];
        let workload = build("oltp_read_only", &given, &target).unwrap();
        for rows in [16_000, 48_000] {
            let (said, took) = cut(&*workload, threads, rows);
            assert!(said.contains("stopped"), "{said}");
            assert!(took < Duration::from_secs(15), "{took:?}");
            let there: u64 =
                server.sql(&format!("SELECT COUNT(*) FROM {name}.sbtest1")).parse().unwrap();
            assert!((rows..100_000).contains(&there), "{there}");
            assert!(
                why(workload.check_ready(&Stop::new())).contains("rows, not 100000"),
                "it says what is missing"
            );
        }
        // As if a piece had been committed in part.
        server.sql(&format!("INSERT INTO {name}.sbtest1 VALUES (99001, 1, 'x', 'y')"));
        prepare(&*workload, threads + 1).unwrap();
        workload.check_ready(&Stop::new()).unwrap();
        let index = format!("SHOW INDEX FROM {name}.sbtest1 WHERE key_name = 'k_1'");
        assert_ne!(server.sql(&index), "", "the index was made at the end");
        sums.push(server.sql(&format!("CHECKSUM TABLE {name}.sbtest1")).replace(&name, ""));
        prepare(&*workload, 2).expect("nothing is left to do");
    }
    let whole = database(&server, "whole");
    prepare(&*build("oltp_read_only", &[("table-size", ROWS)], &whole).unwrap(), 2).unwrap();
    sums.push(server.sql("CHECKSUM TABLE whole.sbtest1").replace("whole", ""));
    assert_eq!(sums[0], sums[1], "whatever the number of sessions");
    assert_eq!(sums[0], sums[2], "cut or not");
}

#[test]
fn a_stop_while_an_index_is_made_ends_it_on_the_server_too() {
    let server = fixture::mariadb();
    let target = database(&server, "stopped");
    let workload = build("oltp_read_only", &[("table-size", "300000")], &target).unwrap();
    let stop = Stop::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut progress = |p: JobProgress| {
        if p.label.contains("index") {
            let _ = sender.send(());
        }
    };
    let said = std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            if receiver.recv_timeout(Duration::from_secs(60)).is_ok() {
                std::thread::sleep(Duration::from_millis(60));
            }
            stop.set(StopReason::Interrupted);
        });
        let mut job = DataJob { threads: 2, seed: SEED, stop, progress: &mut progress };
        workload.prepare_data(&mut job)
    });
    drop(why(said));
    let running =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'CREATE INDEX%'";
    let began = Instant::now();
    while server.sql(running) != "0" {
        assert!(began.elapsed() < Duration::from_secs(20), "the server goes on with the index");
    }
    prepare(&*workload, 2).unwrap();
    let index = "SHOW INDEX FROM stopped.sbtest1 WHERE key_name = 'k_1'";
    assert_ne!(server.sql(index), "");
}

#[test]
fn tables_that_are_not_ours_are_left_alone() {
    let server = fixture::mariadb();
    let target = database(&server, "foreign_db");
    server.sql("CREATE TABLE foreign_db.sbtest2 (id INT PRIMARY KEY, mine TEXT)");
    let given = [("tables", "3"), ("table-size", "1000")];
    let workload = build("oltp_read_write", &given, &target).unwrap();
    let said = why(prepare(&*workload, 2));
    assert!(said.contains("table sbtest2: has other columns: id int, mine text"), "{said}");
    assert_eq!(server.sql("SHOW TABLES FROM foreign_db"), "sbtest2", "nothing was begun");
    let said = why(workload.check_ready(&Stop::new()));
    assert!(
        said.contains("sbtest1: does not exist") && said.contains("sbtest2: has other"),
        "{said}"
    );
    server.sql("RENAME TABLE foreign_db.sbtest2 TO foreign_db.kept");
    prepare(&*workload, 2).unwrap();
    server.sql("DROP TABLE foreign_db.sbtest2; RENAME TABLE foreign_db.kept TO foreign_db.sbtest2");
    assert!(why(cleanup(&*workload)).contains("left unchanged"));
    assert_eq!(server.sql("SHOW TABLES FROM foreign_db"), "sbtest2");
}

#[test]
fn what_is_missing_is_said_before_the_load() {
    let server = fixture::with(&[("max-prepared-stmt-count", "30")]);
    let target = database(&server, "lacking");
    let given = [("tables", "2"), ("table-size", "1000")];
    let workload = build("oltp_read_write", &given, &target).unwrap();
    assert!(why(workload.check_ready(&Stop::new())).contains("table sbtest1: does not exist"));
    prepare(&*workload, 2).unwrap();
    workload.check_ready(&Stop::new()).unwrap();
    let more = build("oltp_read_write", &[("table-size", "5000")], &target).unwrap();
    assert!(why(more.check_ready(&Stop::new())).contains("table sbtest1: has 1000 rows, not 5000"));
    // 4 workers x 2 tables x 9 statements are more than 30.
    let plan = LoadPlan { workers: 4, events: Some(10), ..LoadPlan::default() };
    let run = |workload: &dyn Workload| {
        workload.check_ready(&Stop::new()).unwrap();
        driver::run_load(&plan, SEED, workload, RealClock::start_now(), &Stop::new(), &mut |_| {})
    };
    let said = why(run(&*workload));
    assert!(said.contains("72 prepared statements; the server allows 30"), "{said}");
    let text = [&given[..], &[("db-ps-mode", "disable")]].concat();
    run(&*build("oltp_read_write", &text, &target).unwrap()).expect("text needs none");
    // No database at all.
    let nowhere = build("oltp_read_only", &[], server.target()).unwrap();
    assert!(why(prepare(&*nowhere, 1)).contains("no database is chosen"));
}

#[test]
fn an_error_of_the_server_ends_the_transaction_and_the_load_goes_on() {
    let server = fixture::with(&[("innodb-lock-wait-timeout", "1")]);
    let target = database(&server, "locks");
    let given = [("table-size", "100"), ("rand-type", "uniform")];
    let workload = build("oltp_write_only", &given, &target).unwrap();
    prepare(&*workload, 1).unwrap();
    let locked = std::sync::Barrier::new(2);
    let record = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = target.connect(&Stop::new()).unwrap();
            other.run_command("BEGIN").unwrap();
            other.query_rows("SELECT * FROM sbtest1 FOR UPDATE").unwrap();
            locked.wait();
            std::thread::sleep(Duration::from_millis(1500));
            other.run_command("ROLLBACK").unwrap();
        });
        locked.wait();
        load(&*workload, Some(Duration::from_millis(2500)), EnginePlan::Threads)
    });
    let waits =
        record.errors.iter().find(|e| e.error.code == 1205).expect("lock waits are counted");
    assert!(waits.count >= 4 && waits.first_text.contains("Lock wait timeout"), "{waits:?}");
    assert!(record.total.event_count() > 20, "it went on: {} events", record.total.event_count());
}

#[test]
fn new_rows_with_ids_of_our_choice_never_meet() {
    let server = fixture::mariadb();
    let target = database(&server, "ids");
    let workload = build("oltp_insert", &[("auto-inc", "off")], &target).unwrap();
    prepare(&*workload, 1).unwrap();
    assert_eq!(server.sql("SELECT COUNT(*) FROM ids.sbtest1"), "0");
    let record = load(&*workload, Some(Duration::from_millis(500)), EnginePlan::Reactor);
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    assert_eq!(
        server.sql("SELECT COUNT(*) FROM ids.sbtest1"),
        record.total.event_count().to_string()
    );
}

#[test]
fn many_tables_are_cheap_to_begin_with() {
    let server = fixture::mariadb();
    let target = database(&server, "many");
    let given = [("tables", "200"), ("table-size", "10")];
    let workload = build("oltp_point_select", &given, &target).unwrap();
    prepare(&*workload, 4).unwrap();
    let record = load(&*workload, Some(Duration::from_millis(400)), EnginePlan::Threads);
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    assert_eq!(record.total.tally.counts[sql::ROWS], record.total.event_count());
    cleanup(&*workload).unwrap();
    assert_eq!(server.sql("SHOW TABLES FROM many"), "");
}

#[test]
fn bulk_insert_fills_a_table_for_each_worker() {
    let server = fixture::mariadb();
    let target = database(&server, "bulk");
    let workload = build("bulk_insert", &[("statement-size", "16KiB")], &target).unwrap();
    assert!(why(workload.check_ready(&Stop::new())).contains("sbtest1: does not exist"));
    prepare(&*workload, 4).unwrap();
    for round in 1..=2 {
        let record = load(&*workload, Some(Duration::from_millis(300)), EnginePlan::Threads);
        assert!(record.errors.is_empty(), "round {round}: {:?}", record.errors);
        assert_eq!(record.total.tally.counts[sql::WRITES], record.total.event_count());
    }
    for table in 1..=4 {
        let gaps = format!("SELECT COUNT(*) > 1000, MAX(id) - COUNT(*) FROM bulk.sbtest{table}");
        assert_eq!(server.sql(&gaps), "1\t0", "no gap, no row twice");
    }
    // sysbench fills the same tables.
    server.sql("TRUNCATE bulk.sbtest1");
    sysbench(&server, "bulk", "bulk_insert", &["--events=5000", "--time=0", "run"]);
    cleanup(&*workload).unwrap();
    assert_eq!(server.sql("SHOW TABLES FROM bulk"), "");
}

/// A file of statements in the test's own folder.
fn script(server: &Fixture, text: &[u8]) -> String {
    let path = server.dir.path().join("statements.sql");
    std::fs::write(&path, text).expect("the folder can be written to");
    path.display().to_string()
}

#[test]
fn files_that_cannot_be_run_are_refused_before_anything_begins() {
    let server = fixture::mariadb();
    let target = database(&server, "files");
    server.sql("CREATE TABLE files.t (a INT)");
    let refused = |text: &[u8]| {
        let file = script(&server, text);
        let workload = build("queries", &[("file", &file)], &target);
        why(workload.and_then(|workload| workload.check_ready(&Stop::new())))
    };
    let seven = "select 1;\n-- two\ninsert into t values (1);\nselect a\nfrom t;\n\n\
                 selec a from t;\nselect 2;\n";
    let said = refused(seven.as_bytes());
    assert!(said.contains("statements.sql line 7: 1064"), "{said}");
    assert!(refused(b"").contains("holds no statement"));
    assert!(refused(b"  \n-- only this\n").contains("holds no statement"));
    assert!(refused(b"select 1;\n\x7fELF\x02\x01\0\0\0").contains("line 2: is not text"));
    let said = refused(b"select 1;\nselect nothing from t;\nselect * from nowhere");
    assert!(said.contains("line 2: 1054") && said.contains("line 3: 1146"), "{said}");
    assert!(refused(b"select 1;\n\nselect 'a;").contains("line 3: a quote starts here"));
    let missing = build("queries", &[("file", "/nowhere/at/all.sql")], &target);
    assert!(why(missing).contains("/nowhere/at/all.sql: No such file"));
    assert_eq!(server.sql("SELECT COUNT(*) FROM files.t"), "0", "nothing was run");
}

#[test]
fn a_file_runs_as_it_stands() {
    let server = fixture::mariadb();
    let target = database(&server, "runs");
    let text = b"create table if not exists t (a int auto_increment primary key, b varchar(20));\n\
        insert into t (b) values ('a;b'), ('c');\n\
        insert into t (b) values ('d'), ('e');\n\
        DELIMITER //\n\
        create or replace procedure p() begin select 1; select 2, 3; end//\n\
        DELIMITER ;\n\
        call p();\n\
        select * from t where a <= 2; -- done\n";
    let file = script(&server, text);
    let workload = build("queries", &[("file", &file), ("shared", "on")], &target).unwrap();
    let classes = workload.class_names();
    assert_eq!(classes.len(), 5, "{classes:?}");
    assert_eq!(classes[1], "insert into t (b) values (?)");
    workload
        .check_ready(&Stop::new())
        .expect("statements on what the file makes itself can't be judged");
    let plan = LoadPlan { workers: 1, ..LoadPlan::default() };
    let clock = RealClock::start_now();
    let record =
        driver::run_load(&plan, SEED, &*workload, clock, &Stop::new(), &mut |_| {}).unwrap();
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    assert_eq!(record.total.event_count(), 6);
    let inserts = &record.total.classes[1].response;
    assert_eq!(inserts.len(), 2);
    let tally = record.total.tally;
    assert_eq!(
        (tally.counts[sql::READS], tally.counts[sql::WRITES], tally.counts[sql::ROWS]),
        (1, 2, 4),
        "all results of the call too"
    );
    assert_eq!(server.sql("SELECT b FROM runs.t WHERE a = 1"), "a;b");
    // Four workers, each from the start, twice.
    let file = script(&server, b"insert into t (b) values ('x'); select 1");
    let workload = build("queries", &[("file", &file), ("passes", "2")], &target).unwrap();
    let record = load(&*workload, None, EnginePlan::Threads);
    assert_eq!(record.total.event_count(), 16);
    assert_eq!(server.sql("SELECT COUNT(*) FROM runs.t WHERE b = 'x'"), "8");
}

#[test]
fn lookups_find_their_rows() {
    let server = fixture::mariadb();
    for (name, aged) in [("fresh", false), ("aged", true)] {
        let target = database(&server, name);
        let file = server.dir.path().join(name).display().to_string();
        let given = [
            ("rows", "40000"),
            ("data-seed", "5"),
            ("aged", if aged { "on" } else { "off" }),
            ("lookups", "2000"),
            ("lookups-file", &file),
        ];
        let listed = build("lookup", &given, &target).unwrap();
        prepare(&*listed, 2).unwrap();
        let facts = "SELECT COUNT(*), COUNT(DISTINCT random_str), MIN(LENGTH(random_str)), \
                     MIN(LENGTH(random_str2)), MAX(id)";
        let facts = server.sql(&format!("{facts} FROM {name}.test_data"));
        assert_eq!(facts, "40000\t40000\t64\t96\t40000");
        let index = format!("SHOW INDEX FROM {name}.test_data WHERE column_name = 'random_str'");
        assert_eq!(server.sql(&index).lines().count(), 1);
        let workload = build("queries", &[("file", &file), ("shared", "")], &target).unwrap();
        assert_eq!(workload.class_names(), ["select * from test_data where random_str=?"]);
        let record = load(&*workload, None, EnginePlan::Reactor);
        assert_eq!(
            (record.total.event_count(), record.total.tally.counts[sql::ROWS]),
            (2000, 2000)
        );
        let record = load(&*listed, None, EnginePlan::Threads);
        assert_eq!(
            (record.total.event_count(), record.total.tally.counts[sql::ROWS]),
            (2000, 2000)
        );
        let kind = build("lookup", &given[..2], &target).unwrap();
        let record = load(&*kind, Some(Duration::from_millis(200)), EnginePlan::Threads);
        assert_eq!(record.total.tally.counts[sql::ROWS], record.total.event_count());
        let other = build("lookup", &[("rows", "40000"), ("data-seed", "6")], &target).unwrap();
        assert!(why(other.check_ready(&Stop::new())).contains("another --data-seed"));
        cleanup(&*kind).unwrap();
    }
    let sizes = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'test_data'";
    assert_eq!(server.sql(sizes), "0");
}

#[test]
fn mysql_serves_as_well() {
    let Some(server) = fixture::mysql() else { return };
    let target = database(&server, "mysql_db");
    let given = [("tables", "2"), ("table-size", "3000")];
    let workload = build("oltp_read_write", &given, &target).unwrap();
    prepare(&*workload, 2).unwrap();
    let record = load(&*workload, Some(Duration::from_millis(700)), EnginePlan::Threads);
    let odd: Vec<_> =
        record.errors.iter().filter(|e| ![1213, 1205].contains(&e.error.code)).collect();
    assert!(odd.is_empty() && record.total.event_count() > 20, "{odd:?}");
    let said = why(build("queries", &[("queries", "select 1;\nselec 2")], &target)
        .and_then(|workload| workload.check_ready(&Stop::new())));
    assert!(said.contains("--queries line 2: 1064"), "{said}");
    cleanup(&*workload).unwrap();
}
