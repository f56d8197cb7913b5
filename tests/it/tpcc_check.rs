//! The rules that data of TPC-C are held against, on a small database made by statements: one row spoiled per rule.

use sweat::base::Stop;
use sweat::client::{Session, Target};
use sweat::plan::{AddressPlan, Options};
use sweat::recorder::{DataState, DataVerdict, DataVerdicts};
use sweat::workload::{DataJob, Endpoint, Workload, find_kind};

use crate::cli::{self, World};
use crate::fixture::{self, Fixture};

/// Names of the tables that differ between programs: what each name ends with, and the table of new orders.
#[derive(Clone, Copy)]
struct TableNames {
    suffix: &'static str,
    new_order: &'static str,
}

const OWN: TableNames = TableNames { suffix: "", new_order: "new_order" };

/// One warehouse as the load leaves it, with five lines per order, and only the columns that rules are about.
fn small_database(database: &str, names: TableNames) -> Vec<String> {
    let TableNames { suffix, new_order } = names;
    let mut all: Vec<String> = [
        "CREATE DATABASE DB",
        "CREATE TABLE DB.ten (n INT PRIMARY KEY)",
        "INSERT INTO DB.ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
        "CREATE TABLE DB.numbers (n INT PRIMARY KEY)",
        "INSERT INTO DB.numbers SELECT a.n + 10*b.n + 100*c.n + 1000*d.n + 10000*e.n + 1 FROM \
         DB.ten a, \
         DB.ten b, DB.ten c, DB.ten d, DB.ten e",
        "CREATE TABLE DB.warehouse? (w_id INT PRIMARY KEY, w_ytd DECIMAL(12,2))",
        "CREATE TABLE DB.district? (d_w_id INT, d_id INT, d_ytd DECIMAL(12,2), d_next_o_id INT, \
         PRIMARY KEY (d_w_id, d_id))",
        "CREATE TABLE DB.customer? (c_w_id INT, c_d_id INT, c_id INT, c_balance DECIMAL(12,2), \
         c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_credit CHAR(2), \
         PRIMARY KEY (c_w_id, c_d_id, c_id))",
        "CREATE TABLE DB.history? (h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, \
         h_amount DECIMAL(6,2))",
        "CREATE TABLE DB.orders? (o_w_id INT, o_d_id INT, o_id INT, o_c_id INT, o_carrier_id INT \
         NULL, \
         o_ol_cnt INT, o_entry_d DATETIME NULL, o_all_local INT NULL, PRIMARY KEY (o_w_id, \
         o_d_id, o_id))",
        "CREATE TABLE DB.NEW? (no_w_id INT, no_d_id INT, no_o_id INT, \
         PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
        "CREATE TABLE DB.order_line? (ol_w_id INT, ol_d_id INT, ol_o_id INT, ol_number INT, \
         ol_i_id INT, \
         ol_supply_w_id INT, ol_delivery_d DATETIME NULL, ol_quantity INT, ol_amount DECIMAL(6,2), \
         PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
        "CREATE TABLE DB.stock? (s_w_id INT, s_i_id INT, s_ytd INT, s_order_cnt INT, \
         s_remote_cnt INT, \
         s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))",
        "CREATE TABLE DB.item? (i_id INT PRIMARY KEY, i_data VARCHAR(50), i_price DECIMAL(5,2) \
         DEFAULT 5)",
        "INSERT INTO DB.warehouse? VALUES (1, 300000)",
        "INSERT INTO DB.district? SELECT 1, n, 30000, 3001 FROM DB.numbers WHERE n <= 10",
        "INSERT INTO DB.customer? SELECT 1, d.d_id, n, -10, 10, 1, 0, IF(n % 10, 'GC', 'BC') \
         FROM DB.district? d, DB.numbers WHERE n <= 3000",
        "INSERT INTO DB.history? SELECT c_id, c_d_id, 1, c_d_id, 1, 10 FROM DB.customer?",
        "INSERT INTO DB.orders? (o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt) SELECT 1, \
         c_d_id, c_id, 3001 - c_id, IF(c_id < 2101, 1, NULL), 5 \
         FROM DB.customer?",
        "INSERT INTO DB.NEW? SELECT 1, o_d_id, o_id FROM DB.orders? WHERE o_id >= 2101",
        "INSERT INTO DB.order_line? SELECT 1, o_d_id, o_id, n, o_id + n, 1, \
         IF(o_id < 2101, '2026-01-01', NULL), 5, IF(o_id < 2101, 0, 1.23) \
         FROM DB.orders?, DB.numbers WHERE n <= 5",
        "INSERT INTO DB.stock? SELECT 1, n, 0, 0, 0, IF(n % 10, 'x', 'xORIGINALx') FROM DB.numbers",
        "INSERT INTO DB.item? (i_id, i_data) SELECT n, IF(n % 10, 'x', 'ORIGINAL') FROM DB.numbers",
    ]
    .map(str::to_owned)
    .into();
    for statement in &mut all {
        *statement = statement.replace('?', suffix).replace("DB.NEW", &format!("DB.{new_order}"));
        *statement = statement.replace("DB", database);
    }
    all
}

/// A new order of five lines, a payment, and a delivery, as the profiles of clause 2 want them.
const TRANSACTIONS: &str = "
    INSERT INTO orders VALUES (1, 1, 3001, 7, NULL, 5, NULL, 1);
    INSERT INTO new_order VALUES (1, 1, 3001);
    INSERT INTO order_line SELECT 1, 1, 3001, n, 100 * n, 1, NULL, n, 2.50 FROM numbers WHERE n < 6;
    UPDATE district SET d_next_o_id = 3002 WHERE d_id = 1;
    UPDATE stock SET s_ytd = s_i_id / 100, s_order_cnt = 1 WHERE s_i_id IN (100,200,300,400,500);
    UPDATE warehouse SET w_ytd = w_ytd + 99.99;
    UPDATE district SET d_ytd = d_ytd + 99.99 WHERE d_id = 2;
    UPDATE customer SET c_balance = c_balance - 99.99, c_ytd_payment = c_ytd_payment + 99.99,
        c_payment_cnt = 2 WHERE c_d_id = 3 AND c_id = 9;
    INSERT INTO history VALUES (9, 3, 1, 2, 1, 99.99);
    DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 2101;
    UPDATE orders SET o_carrier_id = 4 WHERE o_d_id = 1 AND o_id = 2101;
    UPDATE order_line SET ol_delivery_d = '2026-01-02' WHERE ol_d_id = 1 AND ol_o_id = 2101;
    UPDATE customer SET c_balance = c_balance + 6.15, c_delivery_cnt = 1
        WHERE c_d_id = 1 AND c_id = 900";

/// What is spoiled, how it is put right, the rules that break, and the row that the first of them names.
type SpoiledRow = (&'static str, &'static str, &'static str, &'static str);

const SPOILED: &[SpoiledRow] = &[
    (
        "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 4",
        "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 4",
        "C1 C9",
        "w 1: 300099.99, expected 300100.99",
    ),
    (
        "UPDATE district SET d_next_o_id = 3003 WHERE d_id = 1",
        "UPDATE district SET d_next_o_id = 3002 WHERE d_id = 1",
        "C2",
        "w 1, d 1: 3001 / 3001, expected 3002",
    ),
    (
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2500",
        "INSERT INTO new_order VALUES (1, 2, 2500)",
        "C3 C5 X11",
        "w 1, d 2: 899, expected 900",
    ),
    (
        "UPDATE orders SET o_ol_cnt = 6 WHERE o_d_id = 5 AND o_id = 8",
        "UPDATE orders SET o_ol_cnt = 5 WHERE o_d_id = 5 AND o_id = 8",
        "C4 C6",
        "w 1, d 5: 15001, expected 15000",
    ),
    (
        "INSERT INTO new_order VALUES (1, 2, 3002)",
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 3002",
        "C2 C3 C5 X11",
        "w 1, d 2: 3000 / 3002, expected 3000",
    ),
    (
        "DELETE FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 5",
        "INSERT INTO order_line VALUES (1, 3, 7, 5, 12, 1, '2026-01-01', 5, 0)",
        "C4 C6",
        "w 1, d 3: 15000, expected 14999",
    ),
    (
        "INSERT INTO order_line VALUES (1, 3, 4000, 1, 12, 1, NULL, 0, 0)",
        "DELETE FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 4000",
        "C4 C6 X15",
        "w 1, d 3: 15000, expected 15001",
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 3 AND ol_o_id = 7 AND \
         ol_number = 5",
        "UPDATE order_line SET ol_delivery_d = '2026-01-01' WHERE ol_d_id = 3 AND ol_o_id = 7",
        "C7",
        "w 1, d 3, o 7: 1, expected 0",
    ),
    (
        "UPDATE warehouse SET w_ytd = w_ytd + 1; UPDATE district SET d_ytd = d_ytd + 1 WHERE \
         d_id = 3",
        "UPDATE warehouse SET w_ytd = w_ytd - 1; UPDATE district SET d_ytd = d_ytd - 1 WHERE \
         d_id = 3",
        "C8 C9",
        "w 1: 300100.99, expected 300099.99",
    ),
    (
        "UPDATE district SET d_ytd = d_ytd + IF(d_id = 3, 1, -1) WHERE d_id IN (3, 4)",
        "UPDATE district SET d_ytd = d_ytd - IF(d_id = 3, 1, -1) WHERE d_id IN (3, 4)",
        "C9",
        "w 1, d 3: 30001.00, expected 30000.00",
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 1 AND c_id = 900",
        "UPDATE customer SET c_balance = c_balance - 1 WHERE c_d_id = 1 AND c_id = 900",
        "C10 C12",
        "w 1, d 1, c 900: -2.85, expected -3.85",
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 6 AND c_id = 5",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 6 AND c_id = 5",
        "C12 X14",
        "w 1, d 6, c 5: 1.00, expected 0.00",
    ),
    (
        "UPDATE customer SET c_delivery_cnt = 0 WHERE c_d_id = 1 AND c_id = 900",
        "UPDATE customer SET c_delivery_cnt = 1 WHERE c_d_id = 1 AND c_id = 900",
        "X11",
        "w 1, d 1: 2101, expected 2100",
    ),
    (
        "UPDATE customer SET c_payment_cnt = 9 WHERE c_d_id = 6 AND c_id = 5",
        "UPDATE customer SET c_payment_cnt = 1 WHERE c_d_id = 6 AND c_id = 5",
        "X13",
        "w 1, d 6, c 5: 9, expected 1",
    ),
    (
        "UPDATE stock SET s_ytd = 7 WHERE s_i_id = 100",
        "UPDATE stock SET s_ytd = 1 WHERE s_i_id = 100",
        "X15",
        "w 1, i 100: 7, 1, 0, expected 1, 1, 0",
    ),
    (
        "UPDATE stock SET s_ytd = 0, s_order_cnt = 0 WHERE s_i_id = 500",
        "UPDATE stock SET s_ytd = 5, s_order_cnt = 1 WHERE s_i_id = 500",
        "X15",
        "w 1, i 500: 0, 0, 0, expected 5, 1, 0",
    ),
    (
        "DELETE FROM stock WHERE s_i_id = 77",
        "INSERT INTO stock VALUES (1, 77, 0, 0, 0, 'x')",
        "R1",
        "w 1: s: 99999, expected 100000",
    ),
    (
        "DELETE FROM customer WHERE c_d_id = 6 AND c_id = 5",
        "INSERT INTO customer VALUES (1, 6, 5, -10, 10, 1, 0, 'GC')",
        "X13 R1",
        "w 1, d 6, c 5: no such customer, expected one",
    ),
    (
        "DELETE FROM district WHERE d_id = 4",
        "INSERT INTO district VALUES (1, 4, 30000, 3001)",
        "C1 C2 R1",
        "w 1: 300099.99, expected 270099.99",
    ),
    (
        "DELETE FROM warehouse",
        "INSERT INTO warehouse VALUES (1, 300099.99)",
        "C1",
        "w 1: no such warehouse, expected 300099.99",
    ),
];

fn connect(server: &Fixture, database: &str) -> (Target, Session) {
    let database = Some(database.to_owned());
    let plan = AddressPlan { database, ..server.target().plan().clone() };
    let target = Target::new(&plan).expect("a socket needs no name resolved");
    let session = target.connect(&Stop::new()).expect("a session");
    (target, session)
}

fn run_all(session: &mut Session, statements: &str) {
    for statement in statements.split(';') {
        session.run_command(statement.trim()).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
}

fn tpcc(target: &Target, given: &[(&str, &str)]) -> Box<dyn Workload> {
    let kind = find_kind("tpcc").expect("the kind is listed");
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).expect("the options exist");
    kind.build_workload(&options, Endpoint::MySql(target)).expect("the workload is built")
}

fn check(target: &Target, given: &[(&str, &str)]) -> anyhow::Result<DataVerdicts> {
    let stop = Stop::new();
    let mut job = DataJob { threads: 2, seed: 1, stop: &stop, progress: &mut |_| {} };
    tpcc(target, given).check_data(&mut job)
}

fn broken_ids(verdicts: &DataVerdicts) -> String {
    verdicts.broken().map(|verdict| verdict.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn first_row(verdict: &DataVerdict) -> String {
    let row = verdict.examples.first().expect("a broken rule names a row");
    format!("{}: {}, expected {}", row.key, row.found, row.expected)
}

fn one<'a>(verdicts: &'a DataVerdicts, id: &str) -> &'a DataVerdict {
    verdicts.list.iter().find(|verdict| verdict.id == id).expect("the rule is listed")
}

fn checks_name_what_is_spoiled(mut server: Fixture, spoiled: &[SpoiledRow]) {
    let statements = small_database("tpcc", OWN);
    server.filled_with("tpcc-small", statements.iter().map(String::as_str));
    let (target, mut session) = connect(&server, "tpcc");
    let own = [("schema", "own")];
    let verdicts = check(&target, &own).unwrap();
    assert_eq!((broken_ids(&verdicts).as_str(), verdicts.list.len()), ("", 17));
    assert_eq!(one(&verdicts, "C11").state, DataState::Holds, "nothing has run");
    // The oldest new order: no gap follows from its loss.
    let oldest = "no_d_id = 3 AND no_o_id = 2101";
    run_all(&mut session, &format!("DELETE FROM new_order WHERE {oldest}"));
    let verdicts = check(&target, &own).unwrap();
    assert_eq!(broken_ids(&verdicts), "C5 C11 X11");
    assert_eq!(first_row(one(&verdicts, "C11")), "w 1, d 3: 2101, expected 2100");
    run_all(&mut session, "INSERT INTO new_order VALUES (1, 3, 2101)");
    run_all(&mut session, TRANSACTIONS);
    let verdicts = check(&target, &own).unwrap();
    assert_eq!(broken_ids(&verdicts), "", "{:?}", verdicts.broken().collect::<Vec<_>>());
    assert_eq!(one(&verdicts, "C11").state, DataState::NotApplicable, "a load has run");
    for (spoil, repair, ids, row) in spoiled {
        run_all(&mut session, spoil);
        let verdicts = check(&target, &own).unwrap();
        assert_eq!(broken_ids(&verdicts), *ids, "{spoil}");
        let first = verdicts.broken().next().expect("something is broken");
        assert_eq!(first_row(first), *row, "{spoil}");
        run_all(&mut session, repair);
    }
    assert!(check(&target, &own).unwrap().all_hold(), "everything was put right");
}

#[test]
fn each_rule_names_the_row_that_breaks_it() {
    checks_name_what_is_spoiled(fixture::mariadb(), SPOILED);
}

#[test]
fn each_rule_names_the_row_that_breaks_it_on_mysql() {
    let Some(server) = fixture::mysql() else { return };
    checks_name_what_is_spoiled(server, &SPOILED[..3]);
}

/// Findings of tables that others made: the small database is that of no run, so nothing is said of its run.
#[test]
fn tables_of_other_programs_are_found_and_judged() {
    let server = fixture::mariadb();
    let numbered = TableNames { suffix: "1", new_order: "new_orders" };
    let plural = TableNames { suffix: "", new_order: "new_orders" };
    let makers = [
        (numbered, "sysbench-tpcc"),
        (plural, "tpcc-mysql"),
        (OWN, "go-tpc, HammerDB or another program"),
    ];
    for (at, (names, maker)) in makers.into_iter().enumerate() {
        let database = format!("other{at}");
        let statements = small_database(&database, names).join(";\n");
        server.sql(&statements);
        let (target, mut session) = connect(&server, &database);
        let verdicts = check(&target, &[]).unwrap();
        assert_eq!(verdicts.subject, format!("1 warehouse, made by {maker}"));
        assert_eq!(broken_ids(&verdicts), "");
        let states =
            |verdicts: &DataVerdicts| ["D1", "D2", "D3", "D4"].map(|id| one(verdicts, id).state);
        let (holds, none) = (DataState::Holds, DataState::NotApplicable);
        assert_eq!(states(&verdicts), [none, holds, holds, none], "30,000 customers are too few");
        let suffix = names.suffix;
        run_all(
            &mut session,
            &format!(
                "UPDATE customer{suffix} SET c_credit = IF(c_id % 2, 'BC', 'GC'); \
                 UPDATE stock{suffix} SET s_data = LOWER(s_data); \
                 UPDATE orders{suffix} SET o_c_id = 1 WHERE o_id = 2 AND o_d_id = 3"
            ),
        );
        let verdicts = check(&target, &[]).unwrap();
        assert_eq!(broken_ids(&verdicts), "D1 D2 D3");
        assert_eq!(one(&verdicts, "D1").note, "50.00 % of 30000");
        assert_eq!(one(&verdicts, "D2").note, "5.00 % of 200000");
        assert_eq!(one(&verdicts, "D3").note, "in 9 of 10 districts");
    }
    let (target, _) = connect(&server, "other0");
    let why = check(&target, &[("schema", "hammerdb")]).unwrap_err();
    assert_eq!(why.to_string(), "table item: does not exist");
}

/// Everything from the command line: a load of one warehouse, killed twice, looked at each time.
fn kill_twice(server: &[&str]) {
    let world = World::new();
    let words = "bench tpcc crash --sandbox --warehouses=1 --threads=4 --time=1 --kills=2 --seed=5 \
                 --format=json";
    let output = world.run(&words.split(' ').chain(server.iter().copied()).collect::<Vec<_>>());
    cli::expect(&output, 0);
    let told: serde_json::Value = serde_json::from_str(&cli::out(&output)).unwrap();
    assert_eq!(told["all_hold"], true);
    let rounds = told["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert!(round["ledger"]["acknowledged"].as_u64() > Some(0), "{round}");
        assert_eq!(round["ledger"]["lost"], 0, "{round}");
        assert_eq!(round["data"]["subject"], "1 warehouse");
    }
    // The run folder keeps the same.
    let run = world.record();
    let kept: Vec<_> = run.steps.iter().filter_map(|step| step.crash.as_ref()).collect();
    assert_eq!((run.steps.len(), kept.len()), (3, 2));
    assert_eq!(serde_json::to_value(&kept[1].ledger).unwrap(), rounds[1]["ledger"]);
    assert!(kept.iter().all(|round| round.is_kept() && round.data.list.len() > 15));
    assert_eq!(run.meta.state, sweat::archive::RunState::Done);
    let shown = world.run(&["report", "--format=json"]);
    cli::expect(&shown, 0);
    let shown: serde_json::Value = serde_json::from_str(&cli::out(&shown)).unwrap();
    assert_eq!(shown["run"]["phases"][2]["crash"]["ledger"], rounds[1]["ledger"]);
    for (words, is_report) in
        [(vec!["report"], true), (vec!["report", "-v"], true), (vec!["runs"], false)]
    {
        let shown = cli::out(&world.run(&words));
        let answer = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(answer.contains("2 kills, the data are whole, 0 of "), "{shown}");
        assert_eq!(shown.contains("a clean start takes"), is_report, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}

#[test]
fn what_paced_terminals_or_no_load_can_keep_is_refused_before_anything_starts() {
    let world = World::new();
    for (words, why) in [
        ("bench tpcc --sandbox --paced --rate=5 --time=1", "--paced: the workload keeps a pace"),
        ("bench tpcc --sandbox --paced --stages=1s:5", "--paced: the workload keeps a pace"),
        ("bench tpcc --sandbox --paced --think=1s --time=1", "--paced: the workload keeps a pace"),
        ("sweep rate=1,2 tpcc --sandbox --paced --time=1", "--paced: the workload keeps a pace"),
        ("capacity tpcc --sandbox --paced", "another quantity (--search)"),
        ("bench tpcc --sandbox --rate=1e300 --time=1", "a rate of 1e300 events per second"),
    ] {
        let output = world.run(&words.split(' ').collect::<Vec<_>>());
        cli::expect(&output, 2);
        assert!(cli::err(&output).contains(why), "{words}: {}", cli::err(&output));
    }
    assert!(!world.dir.path().join("runs").exists());
}

#[test]
fn acknowledged_commits_survive_a_kill() {
    kill_twice(&[]);
    let world = World::new();
    let refused = world.run(&["bench", "tpcc", "crash", "-h", "127.0.0.1"]);
    cli::expect(&refused, 2);
    assert!(cli::err(&refused).contains("only the server of a sandbox may be killed"));
}

#[test]
fn acknowledged_commits_survive_a_kill_of_mysql() {
    let Some(program) = fixture::mysqld() else { return };
    kill_twice(&["--server", &program.display().to_string()]);
}

#[test]
fn isolation_tests_tell_the_case_and_leave_the_data_as_they_were() {
    tell_isolation_cases(fixture::mariadb());
}

#[test]
fn isolation_tests_tell_the_same_cases_on_mysql() {
    if let Some(server) = fixture::mysql() {
        tell_isolation_cases(server);
    }
}

/// InnoDB's levels differ in the reads that repeat: cases are what its locks and snapshots make of them.
fn tell_isolation_cases(mut server: Fixture) {
    let statements = small_database("tpcc", OWN);
    server.filled_with("tpcc-small", statements.iter().map(String::as_str));
    let (target, _session) = connect(&server, "tpcc");
    let stop = Stop::new();
    let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
    let verdicts = tpcc(&target, &[]).test_isolation(&mut job).unwrap();
    assert_eq!(verdicts.list.len(), 33);
    let of_level = |level: &str| {
        let rules = verdicts.list.iter().filter(|verdict| verdict.rule.starts_with(level));
        let broken = rules.clone().filter(|verdict| verdict.state == DataState::Broken);
        let broken: Vec<&str> = broken.map(|verdict| verdict.id.as_str()).collect();
        let cases = rules.filter_map(|verdict| verdict.note.strip_prefix("case "));
        (broken.join(" "), cases.filter_map(|note| note.chars().next()).collect::<String>())
    };
    let told = || format!("{:#?}", verdicts.list);
    assert_eq!(of_level("RC: "), ("I7 I8 I9".to_owned(), "DDD".to_owned()), "{}", told());
    assert_eq!(of_level("RR: "), (String::new(), "DAD".to_owned()), "{}", told());
    assert_eq!(of_level("SER: "), (String::new(), "AAA".to_owned()), "{}", told());
    assert!(check(&target, &[("schema", "own")]).unwrap().all_hold(), "all was put back");
}

/// A written plan looks at the data before and after each variant's loads; reports have it beside the loads.
#[test]
fn a_plan_checks_its_data_before_and_after_its_loads() {
    let world = World::new();
    let plan = "[sandbox]\npool = \"128M\"\n[workload]\nkind = \"tpcc\"\n\
                options = { warehouses = 1 }\n[load]\nworkers = 2\ntime = \"1s\"\n";
    std::fs::write(world.dir.path().join("plan.toml"), plan).unwrap();
    let output = world.run(&["run", "plan.toml", "--format=json"]);
    cli::expect(&output, 0);
    let told: serde_json::Value = serde_json::from_str(&cli::out(&output)).unwrap();
    let kinds: Vec<_> =
        told["run"]["phases"].as_array().unwrap().iter().map(|step| &step["kind"]).collect();
    assert_eq!(kinds, ["prepare", "check_data", "load", "check_data"]);
    let checks = told["trials"][0]["data_checks"].as_array().unwrap();
    let whens: Vec<_> = checks.iter().map(|check| &check["when"]).collect();
    assert_eq!(whens, ["before", "after"], "{checks:#?}");
    for check in checks {
        assert_eq!((&check["all_hold"], &check["subject"]), (&true.into(), &"1 warehouse".into()));
    }
    assert_eq!(told["run"]["phases"][3]["data"]["list"], checks[1]["list"]);
    // Without it, nothing is read.
    let plan = format!("check-data = false\n{plan}");
    std::fs::write(world.dir.path().join("plan.toml"), plan).unwrap();
    let output = world.run(&["run", "plan.toml", "--dry-run"]);
    cli::expect(&output, 0);
    assert!(!cli::out(&output).contains("check the data"), "{}", cli::out(&output));
}

/// The most warehouses of which paced terminals are served in time: here all that are loaded.
#[test]
fn a_search_raises_the_number_of_warehouses() {
    let world = World::new();
    let search = "capacity tpcc --sandbox --warehouses=2 --search=warehouses --threads=4 \
                  --step-time=1s --confirm=1s --time-scale=0.02 --format=json";
    let mut words: Vec<&str> = search.split(' ').collect();
    let refused = world.run(&words);
    cli::expect(&refused, 2);
    assert!(cli::err(&refused).contains("add --paced"), "{}", cli::err(&refused));
    words.push("--paced");
    let output = world.run(&words);
    cli::expect(&output, 0);
    let told: serde_json::Value = serde_json::from_str(&cli::out(&output)).unwrap();
    let found = &told["capacity"];
    let mut values: Vec<_> =
        found["steps"].as_array().unwrap().iter().map(|s| s["value"].as_f64()).collect();
    // Those after the second asked for four, and confirmed two; a step of so few events may be repeated.
    assert!(values.len() >= 4, "{found:#}");
    values.dedup();
    assert_eq!(values, [1.0, 2.0].map(Some), "{found:#}");
    assert_eq!((&found["quantity"], &found["confirmed"]), (&"warehouses".into(), &2.0.into()));
    let notes = found["notes"].to_string();
    assert!(notes.contains("2 warehouses is all there is"), "{notes}");
    let last = told["trials"].as_array().unwrap().last().unwrap();
    assert!(last["audit"]["rates"][0]["efficiency"].as_f64().unwrap() > 0.1, "{last:#}");
}

#[test]
fn the_command_names_broken_rules_and_exits_with_3() {
    let mut server = fixture::mariadb();
    let statements = small_database("tpcc", OWN);
    server.filled_with("tpcc-small", statements.iter().map(String::as_str));
    let (_, mut session) = connect(&server, "tpcc");
    let world = World::new();
    let socket = server.sandbox.meta().socket.display().to_string();
    let words = ["bench", "tpcc", "check", "-uroot", "-Dtpcc", "--schema=own", "-S", &socket];
    let output = world.run(&words);
    cli::expect(&output, 0);
    let text = cli::out(&output);
    assert!(text.starts_with("tpcc check: all 17 rules hold\n1 warehouse, "), "{text}");
    // Progress is told in parts: each warehouse is read in two of them.
    assert!(!cli::err(&output).contains(" warehouses ("), "{}", cli::err(&output));
    run_all(&mut session, "UPDATE district SET d_next_o_id = 3003 WHERE d_id = 7");
    let output = world.run(&words);
    cli::expect(&output, 3);
    let text = cli::out(&output);
    assert!(text.contains("\n      w 1, d 7: 3000 / 3000, expected 3002\n"), "{text}");
    let last = "\n\ntpcc check: 1 of 16 rules broken: C2\n";
    assert!(text.ends_with(last) && text.lines().all(|line| line.len() <= 80), "{text}");
}
