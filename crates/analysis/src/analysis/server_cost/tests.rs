//! Costs of runs whose events have known costs.

use super::super::findings::{ClassCostMethod, ServerCostFinding};
use super::super::fixture_runs::{COSTED_CLASSES, cost_run, observed_run};
use super::*;

fn only_cost(run: &RunRecord) -> ServerCostFinding {
    let mut found = server_costs(run);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn item(found: &ServerCostFinding, id: &str) -> Option<f64> {
    found.per_event.iter().find(|item| item.id == id).map(|item| item.per_event)
}

/// What an event of the load costs in the mean, by the events of its middle.
fn truth(run: &RunRecord, of: impl Fn(usize) -> f64) -> f64 {
    let trial = &run.trials[0];
    let middle = &trial.intervals[1..trial.intervals.len() - 1];
    let (mut sum, mut events) = (0.0, 0.0);
    for (class, _) in COSTED_CLASSES.iter().enumerate() {
        let count: u64 = middle.iter().map(|i| i.events[class]).sum();
        sum += count as f64 * of(class);
        events += count as f64;
    }
    sum / events
}

#[test]
fn the_middle_of_a_load_is_exact_and_our_own_looks_are_taken_off() {
    let run = cost_run(false);
    let found = only_cost(&run);
    assert!(found.window.middle && found.own_taken_off, "{found:?}");
    assert!((found.window.seconds - 28.0).abs() < 1e-9, "{found:?}");
    let statements = item(&found, "statements").unwrap();
    assert!((statements - truth(&run, |c| COSTED_CLASSES[c].2)).abs() < 1e-9, "{statements}");
    let rows = item(&found, "rows_read").unwrap();
    assert!((rows - truth(&run, |c| COSTED_CLASSES[c].3)).abs() < 1e-9, "{rows}");
    assert_eq!(item(&found, "connections"), None, "sessions are opened before the middle");
    assert_eq!(item(&found, "disk_tables"), None, "what is zero is left out");
    let mut unknown = run;
    unknown.meta.facts.clear();
    let found = only_cost(&unknown);
    assert!(!found.own_taken_off && item(&found, "rows_read").unwrap() > rows + 1.0);
}

#[test]
fn a_load_too_short_for_a_middle_is_looked_at_as_a_whole() {
    let mut run = cost_run(false);
    run.trials[0].workers = 100_000;
    let found = only_cost(&run);
    assert!(!found.window.middle);
    assert!(item(&found, "connections").is_some(), "with its sessions");
    run.trials[0].looks.truncate(30);
    assert!(server_costs(&run).is_empty(), "without an end nothing is known");
}

#[test]
fn a_server_that_was_restarted_meanwhile_tells_nothing() {
    let mut run = cost_run(false);
    for look in &mut run.trials[0].looks[20..] {
        look.numbers.values_mut().for_each(|value| *value *= 0.1);
    }
    assert!(only_cost(&run).per_event.is_empty());
}

#[test]
fn classes_that_ran_alone_are_exact() {
    let run = cost_run(true);
    let found = only_cost(&run);
    assert_eq!(found.method, Some(ClassCostMethod::Alone));
    for (class, known) in found.by_class.iter().zip(COSTED_CLASSES) {
        let cost = |id: &str| class.costs.iter().find(|c| c.id == id).unwrap();
        assert_eq!((&*class.class, class.rounds), (known.0, 3));
        for (id, value) in [
            ("statements", known.2),
            ("rows_read", known.3),
            ("redo_bytes", known.4),
            ("row_lock_wait_us", known.5 * 1e3),
        ] {
            let told = cost(id).per_event;
            assert!((told.value.unwrap() - value).abs() < 1e-6, "{class:?}");
            let (low, high) = told.ci95.unwrap();
            assert!(low <= value + 1e-6 && high >= value - 1e-6 && high - low < 1e-6, "{class:?}");
        }
        assert!(class.costs.iter().all(|c| c.id != "fsyncs" && !c.unsure));
    }
    let list = &found.by_class[1].statements;
    assert!((list[0].calls_per_event - 20.0).abs() < 1e-9 && list[0].repeated, "{list:?}");
    assert!(!list[1].repeated && (list[1].rows_sent_per_call - 20.0).abs() < 1e-9, "{list:?}");
    assert_eq!(list.len(), 2, "only its own");
}

#[test]
fn classes_of_one_load_are_estimated() {
    let found = only_cost(&cost_run(false));
    assert_eq!(found.method, Some(ClassCostMethod::Estimated));
    for (class, known) in found.by_class.iter().zip(COSTED_CLASSES) {
        let told = class.costs.iter().find(|c| c.id == "statements").unwrap();
        assert!((told.per_event.value.unwrap() - known.2).abs() < 1e-6, "{told:?}");
        assert!(!told.unsure, "{told:?}");
    }
}

#[test]
fn classes_that_always_come_together_are_unsure() {
    let mut run = cost_run(false);
    for interval in &mut run.trials[0].intervals {
        interval.events[2] = interval.events[1] + interval.ended_ns / 1_000_000_000 % 2;
    }
    let found = only_cost(&run);
    let all = found.by_class.iter().flat_map(|class| &class.costs);
    assert!(all.clone().count() > 0 && all.into_iter().all(|c| c.unsure), "{found:?}");
    let same = |run: &mut RunRecord| {
        run.trials[0].intervals.iter_mut().for_each(|i| i.events[2] = i.events[1]);
    };
    same(&mut run);
    let found = only_cost(&run);
    assert!(found.by_class.is_empty() && found.no_classes_why.is_some(), "{found:?}");
}

#[test]
fn a_run_without_a_server_has_no_costs() {
    let mut run = cost_run(true);
    run.trials[0].looks.clear();
    assert!(server_costs(&run).is_empty());
}

#[test]
fn what_a_database_behind_an_application_did_is_in_the_answer() {
    let said = |run: &RunRecord| {
        let answer = crate::analysis::analyse_run(run).results.answer;
        answer.iter().find(|one| one.id.starts_with("DATABASE")).map(|one| one.text.clone())
    };
    let run = observed_run();
    let text = said(&run).expect("it was looked at");
    assert!(text.starts_with("Each event cost the database 5.77 statements, "), "{text}");
    assert!(text.ends_with(" and 1.56 ms of waiting for row locks."), "{text}");
    assert_eq!(said(&cost_run(true)), None, "a load that talks to the server itself");
    let mut idle = run;
    for load in idle.trials.iter_mut().chain(&mut idle.class_loads) {
        let first = load.looks[0].numbers.clone();
        load.looks.iter_mut().for_each(|look| look.numbers = first.clone());
    }
    assert_eq!(said(&idle).as_deref(), Some("No statement of these events reached the database."));
}

#[test]
fn the_class_that_waits_longest_for_row_locks_is_named() {
    let said = |run: &RunRecord| {
        let caveats = crate::analysis::analyse_run(run).results.caveats;
        caveats.into_iter().find(|one| one.id == "LOCK-WAITS").map(|one| one.evidence)
    };
    let mut run = observed_run();
    let told = "an event of class hold waits 12.0 ms for row locks, 92.3 % of its time";
    assert_eq!(said(&run).as_deref(), Some(told));
    run.class_loads.clear();
    let text = said(&run).unwrap();
    assert!(text.contains(" hold waits "), "the class is estimated: {text}");
    assert_eq!(said(&cost_run(true)), None, "a load that talks to the server itself");
}
