//! The load: cut, gone on with, verified, grown, and what it refuses.
#![expect(clippy::disallowed_methods, reason = "a program is started and killed")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sweat::base::{Stop, StopReason};

use super::{SEED, cleanup, database, prepare, prepare_telling, tpcc, why};
use crate::fixture::{self, Fixture};

/// The checksum of one warehouse with all items: the rows of a seed never change.
const ONE_WAREHOUSE: &str = "all                599209  8fe50b7295d29d96";

const VERIFIED: (&str, &str) = ("verify", "on");

/// Starts a load with the program, and kills it in the middle.
fn kill_a_load(server: &Fixture, name: &str) {
    let socket = server.sandbox.meta().socket.clone();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sweat"))
        .args(["bench", "tpcc", "prepare", "-u", "root", "-D", name, "--threads=2", "--quiet"])
        .arg(format!("--data-seed={SEED}"))
        .arg("-S")
        .arg(socket)
        .stderr(Stdio::null())
        .spawn()
        .expect("sweat runs");
    let begun = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{name}' \
         AND table_name = 'stock'"
    );
    let finished = format!("SELECT COUNT(*) FROM {name}.tpcc_units WHERE finished = 1");
    let began = Instant::now();
    while server.sql(&begun) == "0" || server.sql(&finished) == "0" {
        assert!(began.elapsed() < Duration::from_secs(60), "no unit is loaded");
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
}

/// How many rows have this in a column of a table of information_schema, in this database.
fn count(server: &Fixture, table: &str, name: &str, condition: &str) -> String {
    server.sql(&format!(
        "SELECT COUNT(*) FROM information_schema.{table} WHERE table_schema = '{name}' {condition}"
    ))
}

#[test]
fn a_load_that_was_cut_goes_on_to_the_same_rows_and_grows() {
    let server = fixture::mariadb();
    let target = database(&server, "cut");
    kill_a_load(&server, "cut");
    // Stopped, too, once some more rows are there; something is left to load even if the kill came late.
    server.sql("UPDATE cut.tpcc_units SET finished = 0 WHERE table_name = 'stock'");
    let stop = Stop::new();
    let mut first = None;
    let cut = prepare_telling(&*tpcc(&[], &target), 3, &stop, &mut |p| {
        if p.done > *first.get_or_insert(p.done) {
            stop.set(StopReason::Interrupted);
        }
    });
    assert!(why(cut).contains("stopped"));
    let said = why(tpcc(&[], &target).check_ready(&Stop::new()));
    assert!(said.contains("there are no warehouses") || said.contains("not finished"), "{said}");
    // Rows of a unit that was begun, as an engine without transactions leaves them.
    server.sql("UPDATE cut.tpcc_units SET finished = 0 WHERE table_name IN ('orders', 'history')");
    let notes = prepare(&*tpcc(&[VERIFIED], &target), 8).unwrap();
    assert_eq!(notes.last().map(String::as_str), Some(ONE_WAREHOUSE), "{notes:#?}");
    tpcc(&[], &target).check_ready(&Stop::new()).expect("a load can begin");
    server.sql("DROP INDEX customer_name ON cut.customer");
    let said = why(tpcc(&[], &target).check_ready(&Stop::new()));
    assert!(said.contains("table customer: its index customer_name is missing"), "{said}");
    prepare(&*tpcc(&[], &target), 1).unwrap();
    assert_ne!(count(&server, "statistics", "cut", "AND index_name = 'customer_name'"), "0");
    let mut reports = Vec::new();
    prepare_telling(&*tpcc(&[], &target), 2, &Stop::new(), &mut |p| reports.push(p)).unwrap();
    assert_eq!(reports.len(), 1, "nothing is left to do: {reports:#?}");
    assert_eq!(reports[0].done, reports[0].total);

    let grown = tpcc(&[("warehouses", "2"), ("foreign-keys", "on")], &target);
    prepare(&*grown, 1).unwrap();
    let keys = "AND constraint_type = 'FOREIGN KEY'";
    assert_eq!(count(&server, "table_constraints", "cut", keys), "10");

    server.sql(
        "UPDATE cut.stock SET s_quantity = 1000 WHERE s_w_id = 2 AND s_i_id = 77; \
         DELETE FROM cut.new_order WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 2500; \
         UPDATE cut.history SET h_amount = 11 WHERE h_w_id = 2 AND h_d_id = 1 AND h_c_id = 5",
    );
    let verified = tpcc(&[VERIFIED], &target);
    let said = why(prepare(&*verified, 2));
    let notes = verified.data_notes();
    let orders = notes.iter().find(|note| note.starts_with("orders "));
    assert!(orders.is_some_and(|note| note.contains(" 60000 ")), "all that is there: {notes:#?}");
    for part in [
        "3 rows are not as loaded",
        "table stock of warehouse 2: 1\n    s_w_id 2, s_i_id 77: s_quantity is 1000, not ",
        "no_w_id 1, no_d_id 3, no_o_id 2500: missing",
        "h_c_id 5, h_c_d_id 1, h_c_w_id 2: h_amount is 11.00, not 10.00",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    server.sql("UPDATE cut.district SET d_next_o_id = 3002 WHERE d_id = 4");
    let said = why(prepare(&*verified, 2));
    assert!(said.contains("a run has changed the rows"), "{said}");

    refuse_rows_of_others(&server);
    server.sql(
        "CREATE TABLE cut.kept (a INT); CREATE PROCEDURE cut.tpcc_delivery() SELECT 1; \
         CREATE PROCEDURE cut.tpccx() SELECT 1",
    );
    cleanup(&*grown).unwrap();
    assert_eq!(server.sql("SHOW TABLES FROM cut"), "kept");
    let names = "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'cut'";
    assert_eq!(server.sql(names), "tpccx");
    cleanup(&*grown).expect("nothing is left to do");
}

/// Another seed, rows that nobody has recorded, tables of other columns: nothing is touched.
fn refuse_rows_of_others(server: &Fixture) {
    let target = database(server, "theirs");
    server.sql(
        "CREATE TABLE theirs.tpcc_load LIKE cut.tpcc_load; \
         INSERT INTO theirs.tpcc_load SELECT id, 6, 1, 70, 0, 0 FROM cut.tpcc_load",
    );
    let said = why(prepare(&*tpcc(&[], &target), 1));
    assert!(said.contains("come from seed 6, not 7"), "{said}");
    server.sql(
        "DROP TABLE theirs.tpcc_load; CREATE TABLE theirs.warehouse LIKE cut.warehouse; \
         INSERT INTO theirs.warehouse SELECT * FROM cut.warehouse LIMIT 1",
    );
    let said = why(prepare(&*tpcc(&[], &target), 1));
    assert!(said.contains("table warehouse: has rows that sweat did not load"), "{said}");
    server.sql("CREATE TABLE theirs.stock (s_i_id INT, s_w_id INT)");
    let said = why(prepare(&*tpcc(&[], &target), 1));
    assert!(said.contains("table stock: has other columns: s_i_id int, s_w_id int, not"), "{said}");
    assert_eq!(server.sql("SHOW TABLES FROM theirs"), "stock\nwarehouse", "nothing was begun");
    let said = why(cleanup(&*tpcc(&[], &target)));
    assert!(said.contains("some tables were left unchanged"), "{said}");
    assert_eq!(server.sql("SHOW TABLES FROM theirs"), "stock");
}

#[test]
fn mysql_gets_the_same_rows_in_partitions_and_without_local_files() {
    // As in a group of servers, every table needs a key.
    let settings = [("local-infile", "0"), ("sql-require-primary-key", "ON")];
    let Some(server) = fixture::mysql_with(&settings) else { return };
    let target = database(&server, "parts");
    let given = [("partitions", "3"), VERIFIED];
    let notes = prepare(&*tpcc(&given, &target), 2).unwrap();
    assert!(notes[0].starts_with("table history has a key h_id"), "{notes:#?}");
    assert_eq!(notes.last().map(String::as_str), Some(ONE_WAREHOUSE), "{notes:#?}");
    assert_eq!(count(&server, "partitions", "parts", "AND table_name = 'stock'"), "3");
    assert_eq!(server.sql("SELECT COUNT(DISTINCT h_id) FROM parts.history"), "30000");
    let forced = tpcc(&[("load-with", "load-data"), ("warehouses", "2")], &target);
    let said = why(prepare(&*forced, 1));
    assert!(said.contains("load table stock of warehouse 2"), "{said}");
}

/// A tablespace that may not grow stands for a full disk.
#[test]
fn a_full_disk_is_told_with_the_unit_that_did_not_fit() {
    let server = fixture::with(&[
        ("innodb-data-file-path", "ibdata1:12M:autoextend:max:40M"),
        ("innodb-file-per-table", "0"),
    ]);
    let target = database(&server, "small");
    let said = why(prepare(&*tpcc(&[], &target), 1));
    assert!(
        said.contains("load table stock of warehouse 1: the server has no room left"),
        "{said}"
    );
    assert!(said.contains("\nhint: make room, then run prepare again"), "{said}");
    let finished = "SELECT table_name FROM small.tpcc_units WHERE finished = 1";
    assert_eq!(server.sql(finished), "item", "what was whole is kept");
    assert_eq!(server.sql("SELECT COUNT(*) FROM small.stock"), "0");
}
