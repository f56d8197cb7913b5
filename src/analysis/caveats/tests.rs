//! Each doubt: a run that earns it, and one that doesn't.

use super::*;
use crate::analysis::{analyse, recorded};
use crate::archive::{RunState, SampleRecord, UnopenedRecord, VariableRecord};

/// What the run's caveat of this name says; `None` if it has none.
fn found(run: &Run, id: &str) -> Option<Caveat> {
    analyse(run).caveats.into_iter().find(|c| c.id == id)
}

#[track_caller]
fn check(run: &Run, id: &str, level: Level, evidence: &str) {
    let caveat = found(run, id).unwrap_or_else(|| panic!("no {id}"));
    assert_eq!(caveat.level, level, "{caveat:?}");
    assert!(caveat.evidence.contains(evidence), "{caveat:?}");
    assert!(!caveat.remedy.is_empty());
}

#[track_caller]
fn check_none(run: &Run, id: &str) {
    assert_eq!(found(run, id), None);
}

#[test]
fn the_gravest_come_first() {
    let mut run = recorded::bench();
    run.meta.state = RunState::Failed;
    let levels: Vec<_> = analyse(&run).caveats.iter().map(|c| c.level).collect();
    assert!(levels.is_sorted(), "{levels:?}");
}

#[test]
fn what_the_user_allows_is_counted_and_voids_nothing() {
    let mut run = recorded::bench();
    run.trials[0].failed[0].record_n(1000, 200).unwrap();
    let findings = analyse(&run);
    assert!(findings.has_failed() && findings.allowed.is_empty());
    assert_eq!(findings.void_word(), "FAILED");
    run.meta.allow = vec![ERRORS.to_owned(), "CUT".to_owned()];
    let findings = analyse(&run);
    assert!(!findings.has_failed() && findings.void().is_none());
    let ids: Vec<_> = findings.allowed.iter().map(|c| c.id).collect();
    assert_eq!(ids, [ERRORS]);
    assert!(findings.caveats.iter().all(|c| c.id != ERRORS));
}

#[test]
fn each_check_is_listed_by_the_id_of_its_caveat() {
    let mut ids: Vec<&str> = ids().collect();
    for caveat in analyse(&recorded::bench()).caveats {
        assert!(ids.contains(&caveat.id), "{}", caveat.id);
    }
    let known = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), known);
    let docs = include_str!("../../../docs/reading-results.md");
    for id in ids {
        assert!(
            docs.contains(&format!("| `{id}` |")),
            "{id} has no row in docs/reading-results.md"
        );
    }
}

#[test]
fn errors_by_their_share() {
    let mut run = recorded::bench();
    check(&run, "ERRORS", Level::Warn, "7 of 120 007 events failed (0.00583 %)");
    check(&run, "ERRORS", Level::Warn, "1146: Table '");
    run.trials[0].errors[0].code = 1213;
    check(&run, "ERRORS", Level::Note, "1213");
    run.trials[0].failed[0].record_n(1000, 200).unwrap();
    check(&run, "ERRORS", Level::Void, "207 of");
    check_none(&recorded::demo(), "ERRORS");
}

#[test]
fn a_late_or_busy_client() {
    let mut run = recorded::bench();
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].lateness.record_n(90_000, 1000).unwrap();
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].lateness.record_n(250_000, 1000).unwrap();
    check(&run, "CLIENT-BOUND", Level::Warn, "p99 250 us");
    let mut run = recorded::bench();
    let seconds = analyse(&run).trials[0].seconds;
    run.trials[0].cpu_user_ns = (seconds * 0.85e9) as u64;
    run.trials[0].cpu_system_ns = 0;
    check(&run, "CLIENT-BOUND", Level::Warn, "85.0 % of a core");
    run.trials[0].workers = 8;
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].workers = 1;
    run.meta.server = None;
    check_none(&run, "CLIENT-BOUND");
}

#[test]
fn clipped_and_abandoned_events() {
    let mut run = recorded::bench();
    check_none(&run, "CLIPPED");
    check_none(&run, "ABANDONED");
    run.trials[0].clipped = 1;
    run.trials[0].abandoned = 3;
    check(&run, "CLIPPED", Level::Warn, "1 event took");
    check(&run, "ABANDONED", Level::Warn, "3 events had");
}

#[test]
fn workers_without_a_session() {
    let mut run = recorded::bench();
    check_none(&run, "UNOPENED");
    let why = "1040 Too many connections".to_owned();
    run.trials[0].unopened.push(UnopenedRecord { worker: 3, why });
    check(&run, "UNOPENED", Level::Warn, "1 of 1 workers of 01-load could not open");
}

#[test]
fn an_open_loop_is_no_closed_loop() {
    let mut run = recorded::bench();
    check(&run, "CLOSED-LOOP", Level::Note, "waiting hides stalls");
    run.trials[0].arrival = "poisson 4000/s".to_owned();
    check_none(&run, "CLOSED-LOOP");
}

#[test]
fn a_server_elsewhere_is_not_on_this_machine() {
    let mut run = recorded::bench();
    check(&run, "SAME-HOST", Level::Note, "CPU per event: server 30.0 us, sweat 9.00 us");
    run.meta.server.as_mut().unwrap().local = false;
    check_none(&run, "SAME-HOST");
}

#[test]
fn short_runs() {
    let mut run = recorded::bench();
    check(&run, "TOO-SHORT", Level::Warn, "too short");
    let began = run.trials[0].began_ns;
    run.trials[0].ended_ns = began + 30_000_000_000;
    check(&run, "TOO-SHORT", Level::Note, "took 30.0 s");
    run.trials[0].ended_ns = began + 60_000_000_000;
    check_none(&run, "TOO-SHORT");
    check(&recorded::demo(), "TOO-SHORT", Level::Note, "the shortest load took");
}

#[test]
fn data_against_the_pool() {
    let mut run = recorded::demo();
    check(&run, "DATA-SIZE", Level::Note, "512 MiB = 2.00 x pool (256 MiB): I/O-bound");
    let mut sized = |data: u64| {
        run.meta.facts.insert("data_bytes".to_owned(), (data << 20).into());
        run.clone()
    };
    check(&sized(200), "DATA-SIZE", Level::Note, "in memory");
    check(&sized(206), "DATA-SIZE", Level::Warn, "borderline");
    check(&sized(384), "DATA-SIZE", Level::Warn, "borderline");
    check_none(&recorded::bench(), "DATA-SIZE");
}

#[test]
fn cold_must_be_seen_on_the_device() {
    let mut run = recorded::demo();
    check_none(&run, "NOT-COLD");
    let place = run.steps.iter().position(|s| s.kind == "load").unwrap();
    let before = run.steps[place].before["process.read_bytes"];
    run.steps[place].after.insert("process.read_bytes".to_owned(), before + 1e6);
    check(&run, "NOT-COLD", Level::Void, "`none` began cold and read");
    run.steps[place].after.remove("process.read_bytes");
    check(&run, "NOT-COLD", Level::Warn, "no proof");
    check_none(&recorded::bench(), "NOT-COLD");
}

#[test]
fn holes_in_the_samples() {
    let mut run = recorded::bench();
    check(&run, "PROBE-GAP", Level::Note, "innodb 1 of 1 (needs PROCESS)");
    run.samples.retain(|s: &SampleRecord| s.gap.is_none());
    check_none(&run, "PROBE-GAP");
    // While the server is down for a restart nothing else is to be expected.
    let demo = recorded::demo();
    assert!(demo.samples.iter().any(|s| s.gap.is_some()));
    check_none(&demo, "PROBE-GAP");
}

#[test]
fn cut_and_damaged_runs() {
    let mut run = recorded::bench();
    check_none(&run, "CUT");
    check_none(&run, "DAMAGE");
    run.damage = vec!["intervals.jsonl: line 7 is cut".to_owned(), "b".to_owned()];
    check(&run, "DAMAGE", Level::Warn, "line 7 is cut (and 1 more)");
    run.meta.state = RunState::Interrupted;
    run.trials[0].reason = "interrupted".to_owned();
    check(&run, "CUT", Level::Warn, "stopped by the user; 1 of 1 load cut");
    run.meta.state = RunState::Running;
    check(&run, "CUT", Level::Warn, "killed");
    run.damage = vec!["the run was cut, or is still running".to_owned()];
    check_none(&run, "DAMAGE");
}

#[test]
fn relaxed_durability() {
    let mut run = recorded::bench();
    check(&run, "DURABILITY", Level::Note, "innodb_flush_log_at_trx_commit = 2");
    run.variables.clear();
    check_none(&run, "DURABILITY");
    let variable = |name: &str, value: &str| VariableRecord {
        name: name.to_owned(),
        start: value.to_owned(),
        ..VariableRecord::default()
    };
    run.variables = vec![variable("sync_binlog", "0"), variable("log_bin", "OFF")];
    check_none(&run, "DURABILITY");
    run.variables[1].start = "ON".to_owned();
    check(&run, "DURABILITY", Level::Note, "sync_binlog = 0");
}

#[test]
fn cpu_of_others() {
    let mut run = recorded::bench();
    check_none(&run, "FOREIGN-CPU");
    let seconds = {
        let step = &run.steps[0];
        (step.ended_ns.unwrap() - step.began_ns) as f64 / 1e9
    };
    let ours = (run.trials[0].cpu_user_ns + run.trials[0].cpu_system_ns) as f64 / 1e9;
    let server = 120_000.0 * 30e-6;
    let mut busy = |others: f64| {
        let step = &mut run.steps[0];
        step.before.insert("cpu.busy_s".to_owned(), 100.0);
        let busy = 100.0 + ours + server + others * seconds * 2.0;
        step.after.insert("cpu.busy_s".to_owned(), busy);
        run.clone()
    };
    check_none(&busy(0.02), "FOREIGN-CPU");
    check(&busy(0.1), "FOREIGN-CPU", Level::Warn, "10.0 % of the machine");
    check(&busy(0.2), "FOREIGN-CPU", Level::Void, "20.0 % of the machine");
}
