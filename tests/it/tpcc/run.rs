//! The transactions: whatever way they are put into SQL, and however many sessions run them, all rules hold afterwards.

use std::time::Duration;

use sweat::base::{RealClock, Stop};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{ArrivalPlan, LoadPlan};
use sweat::recorder::{DataState, DataVerdict, EventErrorKind, Recording};
use sweat::workload::{DataJob, Workload};

use super::{database, prepare, tpcc};
use crate::fixture::{self, Fixture};

const VARIANTS: [&str; 4] = ["plain", "batched", "pipelined", "procedures"];
/// Errors that contention brings about; their transactions run again.
const RETRIED: [u16; 3] = [1205, 1213, 1020];

fn run(load: &LoadPlan, workload: &dyn Workload) -> Recording {
    workload.check_ready(&Stop::new()).expect("the tables are there");
    workload.start_load();
    let clock = RealClock::start_now();
    let mut recording =
        driver::run_load(load, 3, workload, clock, &Stop::new(), &mut |_| {}).expect("it runs");
    recording.audit = workload.audit_load();
    recording
}

fn events(workers: usize, events: u64) -> LoadPlan {
    LoadPlan { workers, events: Some(events), ..LoadPlan::default() }
}

/// Nothing went wrong that is not the way of transactions.
fn assert_clean(recording: &Recording, what: &str) {
    assert_eq!(recording.failure, None, "{what}");
    for error in &recording.errors {
        let is_retried =
            error.error.kind == EventErrorKind::Server && RETRIED.contains(&error.error.code);
        assert!(is_retried, "{what}: {} {}", error.error.code, error.first_text);
    }
    assert_eq!(recording.total.error_count(), recording.restarts, "{what}: all ran again");
}

/// Every rule holds, but for those that say nothing after a run.
fn assert_rules_hold(workload: &dyn Workload, what: &str) {
    let (stop, progress) = (&Stop::new(), &mut |_| {});
    let job = &mut DataJob { threads: 2, seed: 1, stop, progress };
    let found = workload.check_data(job).expect("the data can be read");
    let broken: Vec<&DataVerdict> =
        found.list.iter().filter(|rule| rule.state == DataState::Broken).collect();
    assert!(broken.is_empty(), "{what}: {broken:#?}");
    let held = found.list.iter().filter(|rule| rule.state == DataState::Holds).count();
    assert!(held >= 15, "{what}: only {held} rules were looked at");
}

fn count(server: &Fixture, sql: &str) -> u64 {
    server.sql(sql).trim().parse().expect("a number")
}

/// New orders and payments in the database are those that were done, and no more.
fn assert_all_is_there(server: &Fixture, name: &str, recordings: &[Recording]) {
    let done = |label: &str| -> u64 {
        let audits = recordings.iter().filter_map(|recording| recording.audit.as_ref());
        let counts = audits.flat_map(|audit| audit.counts.iter().filter(|c| c.label == label));
        counts.map(|count| count.of).sum()
    };
    let audits = recordings.iter().filter_map(|recording| recording.audit.as_ref());
    let committed: u64 =
        audits.flat_map(|a| a.rates.iter().filter(|r| r.name == "NOPM")).map(|r| r.count).sum();
    let orders = format!("SELECT COUNT(*) FROM {name}.orders WHERE o_id > 3000");
    assert_eq!(count(server, &orders), committed);
    let lines = format!("SELECT COUNT(*) FROM {name}.history");
    assert_eq!(count(server, &lines), 60_000 + done("payments by name"));
    // Some of them were for another warehouse.
    let remote = format!("SELECT SUM(h_w_id <> h_c_w_id) FROM {name}.history");
    assert!(count(server, &remote) > 0);
}

fn run_everything(server: &Fixture, name: &str) {
    let target = database(server, name);
    prepare(&*tpcc(&[("warehouses", "2"), ("foreign-keys", "on")], &target), 2).unwrap();
    let mut recordings = Vec::new();
    let mut run_with = |given: &[(&str, &str)], load: &LoadPlan, what: &str| {
        let workload = tpcc(given, &target);
        let recording = run(load, &*workload);
        assert_clean(&recording, what);
        assert!(recording.total.event_count() > 0, "{what}");
        recordings.push(recording);
        workload
    };
    for sql in VARIANTS {
        let what = format!("{name}, {sql}");
        for isolation in ["repeatable-read", "read-committed"] {
            let given = [("sql", sql), ("isolation", isolation)];
            run_with(&given, &events(16, 200), &what);
            // All of them on one warehouse.
            let given = [("sql", sql), ("isolation", isolation), ("warehouses", "1")];
            run_with(&given, &events(16, 200), &what);
        }
        assert_rules_hold(&*tpcc(&[], &target), &what);
    }
    let arrival = ArrivalPlan::Poisson { per_second: 200.0 };
    let open = LoadPlan { arrival, ..events(4, 100) };
    run_with(&[("sql", "batched")], &open, "open");
    let time = Some(Duration::from_secs(2));
    let paced = LoadPlan { workers: 4, time, ..LoadPlan::default() };
    let given = [("paced", "on"), ("time-scale", "0.01"), ("sql", "procedures")];
    let workload = run_with(&given, &paced, "paced");
    assert_rules_hold(&*workload, "open and paced");
    assert_all_is_there(server, name, &recordings);
}

#[test]
fn all_rules_hold_after_any_run_on_mariadb() {
    let server = fixture::mariadb();
    run_everything(&server, "any_run");
}

#[test]
fn all_rules_hold_after_any_run_on_mysql() {
    if let Some(server) = fixture::mysql() {
        run_everything(&server, "any_run");
    }
}

#[test]
fn a_run_says_what_is_missing() {
    let server = fixture::mariadb();
    let target = database(&server, "missing");
    let why = |given: &[(&str, &str)], target: &Target| {
        format!("{:#}", tpcc(given, target).check_ready(&Stop::new()).unwrap_err())
    };
    let text = why(&[], &target);
    assert!(text.contains("there are no warehouses"), "{text}");
    server.sql("CREATE TABLE missing.warehouse (w_id INT)");
    let text = why(&[], &target);
    assert!(text.contains("there are no warehouses"), "{text}");
}
