//! Mixes that a file declares, against real servers.

use std::path::PathBuf;
use std::time::Duration;

use sweat::base::{RealClock, Stop, StopReason};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{AddressPlan, EnginePlan, LoadPlan};
use sweat::recorder::{EventErrorKind, Recording};
use sweat::server::ServerControl as _;
use sweat::workload::{DataJob, Endpoint, Workload, check_options, find_kind, sql};

use crate::cli::until;
use crate::fixture::{self, Fixture};

/// The counter of transactions that ran again.
const RETRIES: usize = sql::COUNTERS.len();

fn database(server: &Fixture, name: &str) -> Target {
    server.sql(&format!("CREATE DATABASE {name}"));
    let plan = AddressPlan { database: Some(name.to_owned()), ..server.target().plan().clone() };
    Target::new(&plan).expect("a socket needs no name resolved")
}

/// The workload of a file under these options.
fn build(file: &str, given: &[(&str, &str)], target: &Target) -> anyhow::Result<Box<dyn Workload>> {
    let kind = find_kind("mix").expect("the kind is listed");
    let mut all = vec![("file".to_owned(), file.to_owned())];
    all.extend(given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    let options = check_options(kind, &all).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target))
}

/// The path of an example.
fn example(name: &str) -> String {
    format!("{}/docs/mix/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// A file with this text, in the folder of the test.
fn write_file(server: &Fixture, name: &str, text: &str) -> String {
    let path: PathBuf = server.dir.path().join(name);
    std::fs::write(&path, text).expect("the test's folder takes files");
    path.to_string_lossy().into_owned()
}

fn prepare(workload: &dyn Workload, threads: usize, seed: u64) -> anyhow::Result<()> {
    let stop = Stop::new();
    workload.prepare_data(&mut DataJob { threads, seed, stop: &stop, progress: &mut |_| {} })
}

fn cleanup(workload: &dyn Workload) -> anyhow::Result<()> {
    let stop = Stop::new();
    let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
    workload.cleanup_data(&mut job)
}

fn run(workload: &dyn Workload, plan: &LoadPlan) -> Recording {
    workload.check_ready(&Stop::new()).expect("the workload fits the server");
    driver::run_load(plan, 7, workload, RealClock::start_now(), &Stop::new(), &mut |_| {})
        .expect("the load runs")
}

fn events(workers: usize, events: u64, engine: EnginePlan) -> LoadPlan {
    LoadPlan { workers, events: Some(events), engine, ..LoadPlan::default() }
}

fn why<T>(result: anyhow::Result<T>) -> String {
    format!("{:#}", result.err().expect("this must be refused"))
}

/// Both products, where MySQL is there.
fn servers() -> Vec<Fixture> {
    std::iter::once(fixture::mariadb()).chain(fixture::mysql()).collect()
}

#[test]
fn the_account_example_reads_and_changes_by_name() {
    for server in servers() {
        let target = database(&server, "auth");
        let workload = build(&example("auth"), &[("rows", "5000")], &target).unwrap();
        assert!(why(workload.check_ready(&Stop::new())).contains("http_auth: does not exist"));
        prepare(&*workload, 2, 7).unwrap();
        prepare(&*workload, 2, 7).expect("nothing is left to do");
        let facts = "SELECT COUNT(*), COUNT(DISTINCT username), MAX(uid) FROM auth.http_auth";
        assert_eq!(server.sql(facts), "5000\t5000\t5000");
        for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
            let record = run(&*workload, &events(4, 4000, engine));
            let counts: Vec<u64> =
                record.total.classes.iter().map(|class| class.response.len()).collect();
            // Half of 4,000 each, within 4 sigma; a deadlock of two updates is no surprise.
            assert!(counts.iter().all(|count| count.abs_diff(2000) < 127), "{counts:?}");
            let odd: Vec<_> = record.errors.iter().filter(|e| e.error.code != 1213).collect();
            assert!(odd.is_empty(), "{odd:?}");
            assert_eq!(record.total.tally.counts[sql::READS], counts[0]);
            assert_eq!(record.total.tally.counts[sql::ROWS], counts[0], "each name is there");
        }
        cleanup(&*workload).unwrap();
        assert_eq!(server.sql("SHOW TABLES FROM auth"), "");
    }
}

/// Four sums that agree as long as each transfer is done whole or not at all.
fn balances(server: &Fixture) -> Vec<String> {
    let sums = "SELECT COALESCE(SUM(abalance), 0) FROM bank.accounts; \
                SELECT COALESCE(SUM(tbalance), 0) FROM bank.tellers; \
                SELECT COALESCE(SUM(bbalance), 0) FROM bank.branches; \
                SELECT COALESCE(SUM(delta), 0) FROM bank.history";
    server.sql(sums).lines().map(str::to_owned).collect()
}

#[test]
fn transfers_are_done_whole_or_not_at_all() {
    for server in servers() {
        let target = database(&server, "bank");
        let workload = build(&example("tpcb"), &[], &target).unwrap();
        prepare(&*workload, 2, 7).unwrap();
        let record = run(&*workload, &events(4, 600, EnginePlan::Threads));
        assert!(record.errors.is_empty(), "{:?}", record.errors);
        let steps = workload.step_names();
        assert_eq!(steps, ["account", "balance", "teller", "branch", "history", "commit"]);
        let timed: Vec<u64> = record.total.steps.iter().map(|step| step.latency.len()).collect();
        assert!(timed.iter().all(|count| *count >= 600), "{timed:?}");
        assert_eq!(server.sql("SELECT COUNT(*) FROM bank.history"), "600");
        let sums = balances(&server);
        assert!(sums.iter().all(|sum| *sum == sums[0]) && sums[0] != "0", "{sums:?}");
        cleanup(&*workload).unwrap();
        assert_eq!(server.sql("SHOW TABLES FROM bank"), "");
    }
}

#[test]
fn transfers_stay_whole_when_the_load_or_the_server_is_cut() {
    let mut server = fixture::mariadb();
    let target = database(&server, "bank");
    let workload = build(&example("tpcb"), &[], &target).unwrap();
    prepare(&*workload, 2, 7).unwrap();
    workload.check_ready(&Stop::new()).unwrap();
    let long = LoadPlan {
        time: Some(Duration::from_secs(60)),
        ..events(4, 1_000_000, EnginePlan::Threads)
    };
    let transfers = |server: &Fixture| -> u64 {
        server.sql("SELECT COUNT(*) FROM bank.history").parse().unwrap()
    };
    // Ctrl-C.
    let stop = Stop::new();
    let record = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let clock = RealClock::start_now();
            driver::run_load(&long, 7, &*workload, clock, &stop, &mut |_| {})
        });
        until("some transfers", || transfers(&server) > 50);
        stop.set(StopReason::Interrupted);
        load.join().unwrap().unwrap()
    });
    assert!(record.total.event_count() > 0);
    let sums = balances(&server);
    assert!(sums.iter().all(|sum| *sum == sums[0]) && sums[0] != "0", "{sums:?}");
    // kill -9 of the server.
    let before = transfers(&server);
    let stop = Stop::new();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let clock = RealClock::start_now();
            let _ = driver::run_load(&long, 8, &*workload, clock, &stop, &mut |_| {});
        });
        until("some more", || transfers(&server) > before + 50);
        server.sandbox.kill();
        stop.set(StopReason::Interrupted);
        load.join().unwrap();
    });
    server.sandbox.start(&Vec::new()).unwrap();
    let sums = balances(&server);
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    assert!(transfers(&server) > before);
}

#[test]
fn names_may_be_reserved_words_and_sizes_multiples_of_the_pool() {
    for server in servers() {
        let target = database(&server, "names");
        let text = r#"
format = 1
[table.order]
rows = "0.01x-pool"
key = "primary key (`group`)"
[table.order.columns]
group = {type = "int not null", expr = ":row"}
select = {type = "varchar(100) not null", text = {length = 100}}
[value]
id = {int = [1, "rows(order)"]}
[transaction.x]
steps = [ {sql = "select `select` from `order` where `group` = :id", expect = {rows = "1"}} ]
"#;
        let file = write_file(&server, "names.toml", text);
        let workload = build(&file, &[], &target).unwrap();
        prepare(&*workload, 1, 7).unwrap();
        let record = run(&*workload, &events(2, 100, EnginePlan::Threads));
        assert!(record.errors.is_empty(), "{:?}", record.errors);
        let size =
            "SELECT @@innodb_buffer_pool_size / 100; SELECT COUNT(*) * 133 FROM names.`order`";
        let size: Vec<f64> = server.sql(size).lines().map(|line| line.parse().unwrap()).collect();
        assert!((0.9..1.1).contains(&(size[1] / size[0])), "{size:?}");
        // A second time changes nothing.
        prepare(&*workload, 1, 7).unwrap();
        cleanup(&*workload).unwrap();
        assert_eq!(server.sql("SHOW TABLES FROM names"), "");
    }
}

#[test]
fn statements_that_read_whole_tables_are_named_before_the_load() {
    for server in servers() {
        let target = database(&server, "scans");
        let text = r#"
format = 1
[table.t]
rows = 5000
key = "primary key (a)"
[table.t.columns]
a = {type = "int not null", expr = ":row"}
b = {type = "int not null", expr = ":row"}
[value]
id = {int = [1, 5000]}
fresh = {unique = {from = "stored(t) + 1", step = "shared"}}
[transaction.x]
begin = false
steps = [
  {sql = "select * from t where a = :id"},
  {sql = "select count(b) from t where b = :id"},
  {sql = "insert into t values (:fresh, 0)"},
  {sql = "update t set b = 1 where b = :fresh"} ]
"#;
        let file = write_file(&server, "scans.toml", text);
        let workload = build(&file, &[], &target).unwrap();
        prepare(&*workload, 1, 7).unwrap();
        server.sql("ANALYZE TABLE scans.t");
        assert_eq!(workload.load_note(), None, "nobody was asked yet");
        run(&*workload, &events(1, 1, EnginePlan::Threads));
        let note = workload.load_note().unwrap();
        for part in
            ["[FULL-SCAN] line 16: transaction.x.steps[1] reads all of t, about ", "steps[3]"]
        {
            assert!(note.contains(part), "{part} is not in {note}");
        }
        assert_eq!(note.matches("FULL-SCAN").count(), 2, "{note}");
        // What was drawn to explain them is not lost.
        assert_eq!(server.sql("SELECT MAX(a) FROM scans.t"), "5001");
    }
}

#[test]
fn kinds_of_sessions_log_in_as_others() {
    let server = fixture::mariadb();
    let target = database(&server, "users");
    server.sql(
        "CREATE USER reader@localhost IDENTIFIED BY 'x'; \
         GRANT SELECT ON users.* TO reader@localhost; \
         CREATE TABLE users.seen (who VARCHAR(80), n INT)",
    );
    let text = |variable: &str| {
        format!(
            r#"
format = 1
[transaction.look]
steps = [ {{sql = "select current_user()", expect = {{value = "reader@localhost"}}}} ]
[transaction.note]
steps = [ {{sql = "insert into seen values (current_user(), 1)"}} ]
[session.reader]
user = "reader"
password-env = "{variable}"
mix = {{look = 1}}
[session.writer]
mix = {{note = 1}}
"#
        )
    };
    let said = build(&write_file(&server, "a.toml", &text("SWEAT_NOT_SET")), &[], &target);
    assert!(why(said).contains("SWEAT_NOT_SET is not set"));
    // The harness sets this one, and a wrong password is a password.
    let file = write_file(&server, "b.toml", &text("PATH"));
    let workload = build(&file, &[], &target).unwrap();
    let said = why(workload.check_ready(&Stop::new()));
    assert!(said.contains("session.reader") && said.contains("1045"), "{said}");
    let path = std::env::var("PATH").unwrap();
    server.sql(&format!("ALTER USER reader@localhost IDENTIFIED BY '{path}'"));
    let record = run(&*workload, &events(4, 100, EnginePlan::Threads));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    assert_eq!(server.sql("SELECT DISTINCT who LIKE 'reader%' FROM users.seen"), "0");
}

#[test]
fn a_shop_has_sessions_of_two_kinds() {
    for server in servers() {
        let target = database(&server, "shop");
        let given = [("products", "500"), ("customers", "100")];
        let workload = build(&example("shop"), &given, &target).unwrap();
        prepare(&*workload, 2, 7).unwrap();
        let time = Some(Duration::from_millis(2500));
        let plan = LoadPlan { workers: 40, time, ..LoadPlan::default() };
        let record = run(&*workload, &plan);
        let odd: Vec<_> =
            record.errors.iter().filter(|e| ![1213, 1205].contains(&e.error.code)).collect();
        assert!(odd.is_empty(), "{odd:?}");
        let classes = workload.class_names();
        assert_eq!(classes, ["browse", "order", "report"]);
        let count = |at: usize| record.total.classes[at].response.len();
        assert!(count(0) >= 38, "each shopper begins with a look around: {}", count(0));
        // 0.2 reports a second of both together: the first at once.
        assert!((1..=3).contains(&count(2)), "{}", count(2));
        let said = why(build(&example("shop"), &given, &target).and_then(|few| {
            few.check_ready(&Stop::new())?;
            let plan = events(2, 10, EnginePlan::Threads);
            let clock = RealClock::start_now();
            driver::run_load(&plan, 7, &*few, clock, &Stop::new(), &mut |_| {})
        }));
        assert!(said.contains("2 sessions are too few for shopper, back-office"), "{said}");
    }
}

#[test]
fn data_of_one_seed_is_the_same_on_both_products_and_with_any_number_of_sessions() {
    let mut sums = Vec::new();
    for (number, server) in servers().into_iter().enumerate() {
        for threads in [1, 3] {
            let name = format!("data_{threads}");
            let target = database(&server, &name);
            let given = [("products", "20000"), ("customers", "500")];
            let workload = build(&example("shop"), &given, &target).unwrap();
            prepare(&*workload, threads, 7).unwrap();
            let of = |columns: &str, table: &str| {
                format!(
                    "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', {columns}))) FROM {name}.{table};"
                )
            };
            let sum = server.sql(&format!(
                "{} {} {}",
                of("id, name, price, stock", "product"),
                of("id, since, phone", "customer"),
                of("id, product_id, stars, COALESCE(words, 'none')", "review"),
            ));
            sums.push((number, threads, sum));
        }
    }
    assert!(sums.iter().all(|(.., sum)| *sum == sums[0].2), "{sums:?}");
}

#[test]
fn a_reply_that_is_not_as_expected_is_an_error_and_the_load_goes_on() {
    let server = fixture::mariadb();
    let target = database(&server, "odd");
    server.sql("CREATE TABLE odd.t (a INT PRIMARY KEY, b INT); INSERT INTO odd.t VALUES (1, 5)");
    let text = r#"
format = 1
[value]
a = {int = [1, 2]}
[transaction.look]
begin = true
steps = [
  {sql = "select b as found from t where a = :a", keep = {b = "found"}},
  {sql = "update t set b = b + 1 where a = :a", when = ":b > 0", expect = {affected = "1"}},
  {sql = "select count(*) from t", expect = {value = "1", rows = "1", columns = "1"}},
  {sql = "select a from t where a = :a", class = "second", expect = {rows = "1"}} ]
"#;
    let file = write_file(&server, "odd.toml", text);
    let workload = build(&file, &[], &target).unwrap();
    let record = run(&*workload, &events(1, 200, EnginePlan::Threads));
    let ended = record.total.classes[0].response.len();
    // An expectation that is not met ends the event, not the session.
    let [error] = &record.errors[..] else { panic!("{:?}", record.errors) };
    assert_eq!((error.error.kind, error.count), (EventErrorKind::Check, 200 - ended));
    let expected = "the result has 0 rows (line 11: transaction.look.steps[3])";
    assert_eq!(error.first_text, expected);
    // Rows that are not there change nothing, as the condition sees NULL.
    let changed: u64 = server.sql("SELECT b - 5 FROM odd.t").parse().unwrap();
    assert_eq!(changed, ended);
    assert!((60..140).contains(&ended), "{ended}");
}

#[test]
fn statements_that_a_server_refuses_are_named_with_their_lines_before_the_load() {
    let server = fixture::mariadb();
    let target = database(&server, "early");
    server.sql("CREATE TABLE early.t (a INT)");
    let text = "format = 1\n[transaction.x]\nsteps = [\n  {sql = \"select nope from t\"},\n  \
                {sql = \"select a from t\", keep = {b = \"c\"}} ]\n";
    let file = write_file(&server, "early.toml", text);
    let said = why(build(&file, &[], &target).unwrap().check_ready(&Stop::new()));
    for part in ["early.toml line 4: transaction.x.steps[0]: 1054", "line 5:", "no column `c`"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn tables_of_others_are_neither_filled_nor_dropped() {
    let server = fixture::mariadb();
    let target = database(&server, "theirs");
    server.sql("CREATE TABLE theirs.http_auth (a INT); INSERT INTO theirs.http_auth VALUES (1)");
    let workload = build(&example("auth"), &[("rows", "10")], &target).unwrap();
    assert!(why(prepare(&*workload, 1, 7)).contains("sweat did not make it"));
    assert!(why(cleanup(&*workload)).contains("sweat did not make it"));
    assert_eq!(server.sql("SELECT a FROM theirs.http_auth"), "1");
}

#[test]
fn a_deadlock_runs_the_transaction_again_and_is_no_error() {
    let server = fixture::mariadb();
    let target = database(&server, "locks");
    server.sql(
        "CREATE TABLE locks.t (a INT PRIMARY KEY, b INT); INSERT INTO locks.t VALUES (1,0),(2,0)",
    );
    let text = r#"
format = 1
[value]
a = {int = [1, 2]}
b = {expr = "3 - :a"}
[transaction.swap]
retry = {on = [1213, 1205], times = 1000, wait = "uniform:1ms..2ms"}
steps = [
  {sql = "update t set b = b + 1 where a = :a"},
  {sleep = "1ms"},
  {sql = "update t set b = b + 1 where a = :b"} ]
"#;
    let file = write_file(&server, "locks.toml", text);
    let workload = build(&file, &[], &target).unwrap();
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        server.sql("UPDATE locks.t SET b = 0");
        let record = run(&*workload, &events(4, 100, engine));
        assert!(record.errors.is_empty(), "{:?}", record.errors);
        assert!(record.total.tally.counts[RETRIES] > 0, "there were deadlocks");
        assert_eq!(server.sql("SELECT GROUP_CONCAT(b) FROM locks.t"), "100,100");
    }
}

#[test]
fn a_server_that_goes_away_ends_the_load_with_its_errors_counted() {
    let server = fixture::mariadb();
    let target = database(&server, "gone");
    let text = "format = 1\n[transaction.x]\nbegin = true\nsteps = [ {sql = \"select 1\"}, \
                {sql = \"kill connection_id()\", chance = 0.5} ]\n";
    let file = write_file(&server, "gone.toml", text);
    let workload = build(&file, &[], &target).unwrap();
    workload.check_ready(&Stop::new()).unwrap();
    let plan = LoadPlan { reconnect: true, ..events(2, 50, EnginePlan::Threads) };
    let clock = RealClock::start_now();
    let record = driver::run_load(&plan, 7, &*workload, clock, &Stop::new(), &mut |_| {}).unwrap();
    let lost: u64 = record.errors.iter().map(|error| error.count).sum();
    assert!(
        record.errors.iter().all(|e| e.error.kind == EventErrorKind::Lost),
        "{:?}",
        record.errors
    );
    assert!((10..40).contains(&lost), "{lost}");
    assert_eq!(record.total.event_count() + record.total.error_count(), 50);
}

/// Records from `insertstart` on, and new ones behind `recordcount`.
fn assert_records_of_a_range(server: &Fixture, target: &Target, keys: &str) {
    let kind = find_kind("ycsb").expect("the kind is listed");
    let build = |letter: &str, more: &str| {
        let property =
            format!("table=ranged,insertstart=500,insertcount=100,recordcount=600{more}");
        let given = [("workload", letter), ("property", &*property), ("keys", keys)];
        let given = given.map(|(k, v)| (k.to_owned(), v.to_owned()));
        kind.build_workload(&check_options(kind, &given).unwrap(), Endpoint::MySql(target))
    };
    let of = |letter: &str| build(letter, "").unwrap();
    prepare(&*of("c"), 2, 7).unwrap();
    assert_eq!(server.sql("SELECT COUNT(*) FROM ycsb.ranged"), "100");
    for letter in ["a", "c", "d"] {
        let record = run(&*of(letter), &events(2, 300, EnginePlan::Threads));
        let odd: Vec<_> = record.errors.iter().filter(|e| e.error.code != 1213).collect();
        assert!(odd.is_empty(), "{letter}: {odd:?}");
    }
    let stop = Stop::new();
    let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
    let judged = of("c").check_data(&mut job).unwrap();
    assert!(judged.all_hold(), "{judged:?}");
    let refused = build("c", "0,insertcount=9999").err().expect("it is refused");
    assert!(refused.to_string().contains("go beyond"), "{refused:#}");
    cleanup(&*of("c")).unwrap();
}

/// Values that follow from key and field: another one is an error.
fn assert_integrity_is_checked(server: &Fixture, target: &Target) {
    let kind = find_kind("ycsb").expect("the kind is listed");
    let build = |letter: &str, more: &str| {
        let property =
            format!("table=checked,recordcount=200,fieldcount=3,dataintegrity=true{more}");
        let given = [("workload", letter), ("property", &*property)];
        let given = given.map(|(k, v)| (k.to_owned(), v.to_owned()));
        kind.build_workload(&check_options(kind, &given).unwrap(), Endpoint::MySql(target))
    };
    prepare(&*build("a", "").unwrap(), 2, 7).unwrap();
    for (letter, more) in [("a", ""), ("f", ",writeallfields=true"), ("d", ",readallfields=false")]
    {
        let record = run(&*build(letter, more).unwrap(), &events(2, 300, EnginePlan::Threads));
        let odd: Vec<_> = record.errors.iter().filter(|e| e.error.code != 1213).collect();
        assert!(odd.is_empty(), "{letter}: {odd:?}");
    }
    server.sql("UPDATE ycsb.checked SET field2 = 'x'");
    let record = run(&*build("c", "").unwrap(), &events(1, 50, EnginePlan::Threads));
    assert_eq!(record.total.error_count(), 50);
    assert!(record.errors.iter().all(|e| e.error.kind == EventErrorKind::Check));
    assert!(record.errors[0].first_text.contains("value 3 of the first row is another"));
    assert!(build("a", ",keys=go").is_ok(), "--keys stands over it");
    assert!(build("a", ",fieldlengthdistribution=uniform").is_err());
    cleanup(&*build("a", "").unwrap()).unwrap();
}

#[test]
fn ycsb_runs_its_workloads_on_keys_of_either_program() {
    for (number, server) in servers().into_iter().enumerate() {
        let keys = if number == 0 { "java" } else { "go" };
        let target = database(&server, "ycsb");
        let kind = find_kind("ycsb").expect("the kind is listed");
        let of = |letter: &str, keys: &str| {
            let given = [("workload", letter), ("records", "2000"), ("keys", keys)];
            let given = given.map(|(k, v)| (k.to_owned(), v.to_owned()));
            let options = check_options(kind, &given).unwrap();
            kind.build_workload(&options, Endpoint::MySql(&target)).unwrap()
        };
        prepare(&*of("a", keys), 2, 7).unwrap();
        let first = if number == 0 { "8517097267634966620" } else { "6284782960179005422" };
        let key = format!("SELECT COUNT(*) FROM ycsb.usertable WHERE ycsb_key = 'user{first}'");
        assert_eq!(server.sql(&key), "1", "the key of the number 1");
        for letter in ["a", "b", "c", "d", "e", "f"] {
            let workload = of(letter, keys);
            let before: u64 = server.sql("SELECT COUNT(*) FROM ycsb.usertable").parse().unwrap();
            let record = run(&*workload, &events(4, 1000, EnginePlan::Threads));
            let odd: Vec<_> = record.errors.iter().filter(|e| e.error.code != 1213).collect();
            assert!(odd.is_empty(), "{letter}: {odd:?}");
            let classes = workload.class_names();
            let count = |class: &str| {
                let at = classes.iter().position(|known| known == class);
                at.map_or(0, |at| record.total.classes[at].response.len())
            };
            let after: u64 = server.sql("SELECT COUNT(*) FROM ycsb.usertable").parse().unwrap();
            assert_eq!(after - before, count("INSERT"), "{letter}: every key is new");
            if letter == "e" {
                let rows = record.total.tally.counts[sql::ROWS] as f64 / count("SCAN") as f64;
                // Uniform over 1 to 100, within 4 sigma of about 950 scans; the table's end cuts a few short.
                assert!((rows - 50.5).abs() < 5.0, "{rows}");
            }
        }
        // Whose keys they are is seen before a load.
        let other = if number == 0 { "go" } else { "java" };
        let found = why(of("c", other).check_ready(&Stop::new()));
        assert!(found.contains("table usertable: it has keys of"), "{found}");
        let judged = |keys: &str| {
            let stop = Stop::new();
            let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
            of("a", keys).check_data(&mut job).unwrap()
        };
        assert!(judged(keys).all_hold(), "{:?}", judged(keys));
        let broken: Vec<_> = judged(other).broken().map(|one| one.id.clone()).collect();
        assert_eq!(broken, ["K1", "K3"]);
        assert_records_of_a_range(&server, &target, keys);
        assert_integrity_is_checked(&server, &target);
        // Rows that are not there are errors.
        server.sql("DELETE FROM ycsb.usertable WHERE ycsb_key NOT LIKE 'user%1'");
        let record = run(&*of("c", keys), &events(2, 200, EnginePlan::Threads));
        assert!(record.total.error_count() > 50, "{}", record.total.error_count());
        assert!(record.errors.iter().all(|e| e.error.kind == EventErrorKind::Check));
        cleanup(&*of("a", keys)).unwrap();
    }
}
