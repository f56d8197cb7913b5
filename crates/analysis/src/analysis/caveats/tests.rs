//! Each caveat: a run that earns it, and one that doesn't.

use super::*;
use crate::analysis::{analyse_run, fixture_runs};
use crate::archive::{
    ArrivalKind, ArrivalRecord, LoadRequest, RecordedStepKind, RunState, SampleRecord, TrialEnding,
    UnopenedRecord, VariableRecord,
};
use crate::recorder::{KeyChoice, StatementRepeats, WorkloadFacts};

/// What the run's caveat of this name says; `None` if it has none.
fn found(run: &RunRecord, id: &str) -> Option<Caveat> {
    analyse_run(run).results.caveats.into_iter().find(|c| c.id == id)
}

#[track_caller]
fn check(run: &RunRecord, id: &str, level: CaveatLevel, evidence: &str) {
    let caveat = found(run, id).unwrap_or_else(|| panic!("no {id}"));
    assert_eq!(caveat.level, level, "{caveat:?}");
    assert!(caveat.evidence.contains(evidence), "{caveat:?}");
    assert!(!caveat.remedy.is_empty());
}

#[track_caller]
fn check_none(run: &RunRecord, id: &str) {
    assert_eq!(found(run, id), None);
}

#[test]
fn the_gravest_come_first() {
    let mut run = fixture_runs::bench_run();
    run.meta.state = RunState::Failed;
    let levels: Vec<_> = analyse_run(&run).results.caveats.iter().map(|c| c.level).collect();
    assert!(levels.is_sorted(), "{levels:?}");
}

#[test]
fn what_the_user_allows_is_counted_and_voids_nothing() {
    let mut run = fixture_runs::bench_run();
    run.trials[0].failed[0].record_n(1000, 200).unwrap();
    let findings = analyse_run(&run);
    assert!(findings.results.has_failed() && findings.results.allowed.is_empty());
    assert_eq!(findings.results.void_word(), "FAILED");
    run.meta.allow = vec![ERRORS.to_owned(), "CUT".to_owned()];
    let findings = analyse_run(&run);
    assert!(!findings.results.has_failed() && findings.results.void_caveat().is_none());
    let ids: Vec<_> = findings.results.allowed.iter().map(|c| c.id).collect();
    assert_eq!(ids, [ERRORS]);
    assert!(findings.results.caveats.iter().all(|c| c.id != ERRORS));
}

#[test]
fn what_was_due_and_never_began_is_a_doubt() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "BACKLOG");
    let events: u64 = run.trials[0].response.iter().map(|h| h.len()).sum();
    // A few that were due just before the end hardly matter.
    run.trials[0].unbegun.record_n(2_000_000, 5).unwrap();
    check_none(&run, "BACKLOG");
    run.trials[0].unbegun.record_n(900_000_000, events / 200).unwrap();
    check(&run, "BACKLOG", CaveatLevel::Warn, "never began");
    run.trials[0].unbegun.record_n(3_000_000_000, events).unwrap();
    check(&run, "BACKLOG", CaveatLevel::Void, "50.1 % of what was due never began: ");
    let findings = analyse_run(&run);
    assert!(findings.results.void_caveat().is_some());
    let trial = &findings.results.trials[0];
    assert_eq!(trial.events, events, "what never began is no event");
    assert!((trial.response.p99_s.unwrap() - 3.0).abs() < 0.01, "{:?}", trial.response);
    assert!(
        findings.results.answer[0].contains("response time at least "),
        "{}",
        findings.results.answer[0]
    );
    // A search for capacity offers too much on purpose, and judges each step by what it left.
    run.meta.asked.capacity = Some(crate::archive::CapacityRequest::default());
    check_none(&run, "BACKLOG");
}

#[test]
fn each_check_is_listed_by_the_id_of_its_caveat() {
    let mut ids: Vec<&str> = caveat_ids().collect();
    for caveat in analyse_run(&fixture_runs::bench_run()).results.caveats {
        assert!(ids.contains(&caveat.id), "{}", caveat.id);
    }
    let known = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), known);
    let docs = include_str!("../../../../../docs/reading-results.md");
    for id in ids {
        assert!(
            docs.contains(&format!("| `{id}` |")),
            "{id} has no row in docs/reading-results.md"
        );
    }
}

#[test]
fn each_caveat_is_explained_and_documented_once() {
    let mut ids: Vec<&str> = caveat_explanations().iter().map(|one| one.id).collect();
    ids.sort_unstable();
    // Only comparisons of runs have it, which no check sees.
    let mut known: Vec<&str> = caveat_ids().chain(["MIXED"]).collect();
    known.sort_unstable();
    assert_eq!(ids, known);
    let docs = include_str!("../../../../../docs/reading-results.md");
    let (_, table) = docs.split_once("\n## Caveats\n").unwrap();
    let mut rows: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(id, _)| id)
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, ids, "docs/reading-results.md lists other ids than the program");
    for one in caveat_explanations() {
        assert!(one.title.len() <= 62 && !one.title.ends_with('.'), "{}", one.id);
        assert!(!one.triggers().is_empty(), "{} is never raised", one.id);
        for text in [one.meaning, one.reason, one.remedy] {
            assert!(text.len() <= 300 && text.ends_with(['.', '"', '`']), "{}: {text}", one.id);
        }
    }
}

#[test]
fn data_that_break_their_rules_void_the_run() {
    use crate::archive::{BrokenRow, DataState, DataVerdict, DataVerdicts};
    let mut run = fixture_runs::demo_run();
    let verdict = |state, examples| DataVerdict {
        id: "C1".to_owned(),
        state,
        examples,
        ..DataVerdict::default()
    };
    let data = |state, examples| {
        let list = vec![verdict(state, examples), verdict(DataState::Holds, Vec::new())];
        Some(DataVerdicts { list, ..DataVerdicts::default() })
    };
    run.steps[0].data = data(DataState::Holds, Vec::new());
    check_none(&run, "BROKEN-DATA");
    let [key, found, expected] = ["w 1", "3.00", "2.00"].map(str::to_owned);
    let row = BrokenRow { key, found, expected };
    run.steps.last_mut().unwrap().data = data(DataState::Broken, vec![row]);
    let text = "after a load, 1 of 2 rules broken: C1; C1 w 1: 3.00, expected 2.00";
    check(&run, "BROKEN-DATA", CaveatLevel::Void, text);
}

#[test]
fn settings_that_move_others_with_them_are_told_once() {
    let mut run = fixture_runs::demo_run();
    check_none(&run, "SIDE-EFFECT");
    for step in &mut run.steps {
        for effect in ["cleaners is 4, and 1", "pages is 8, and 2"] {
            step.side_effects.push(format!("{effect} in the variant that started first"));
        }
    }
    check(
        &run,
        "SIDE-EFFECT",
        CaveatLevel::Warn,
        "cleaners is 4, and 1 in the variant that started first, and 1 more",
    );
}

#[test]
fn errors_by_their_share() {
    let mut run = fixture_runs::bench_run();
    check(&run, "ERRORS", CaveatLevel::Warn, "7 of 120 007 events failed (0.00583 %)");
    check(&run, "ERRORS", CaveatLevel::Warn, "1146: Table '");
    run.trials[0].errors[0].code = 1213;
    check(&run, "ERRORS", CaveatLevel::Note, "1213");
    run.trials[0].failed[0].record_n(1000, 200).unwrap();
    check(&run, "ERRORS", CaveatLevel::Void, "207 of");
    check_none(&fixture_runs::demo_run(), "ERRORS");
}

#[test]
fn a_late_or_busy_client() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].lateness.record_n(90_000, 1000).unwrap();
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].lateness.record_n(250_000, 1000).unwrap();
    check(&run, "CLIENT-BOUND", CaveatLevel::Warn, "p99 250 µs");
    let mut run = fixture_runs::bench_run();
    let seconds = analyse_run(&run).results.trials[0].seconds;
    run.trials[0].cpu_user_ns = (seconds * 0.85e9) as u64;
    run.trials[0].cpu_system_ns = 0;
    check(&run, "CLIENT-BOUND", CaveatLevel::Warn, "85.0 % of a core");
    run.trials[0].workers = 8;
    check_none(&run, "CLIENT-BOUND");
    run.trials[0].workers = 1;
    run.meta.server = None;
    check_none(&run, "CLIENT-BOUND");
}

#[test]
fn clipped_and_abandoned_events() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "CLIPPED");
    check_none(&run, "ABANDONED");
    run.trials[0].clipped = 1;
    run.trials[0].abandoned = 3;
    check(&run, "CLIPPED", CaveatLevel::Warn, "1 event took");
    check(&run, "ABANDONED", CaveatLevel::Warn, "3 events had");
    assert!(!analyse_run(&run).results.has_failed());
}

#[test]
fn a_server_that_answers_nothing_fails_the_run() {
    let mut run = fixture_runs::bench_run();
    let trial = &mut run.trials[0];
    trial.response.iter_mut().for_each(crate::recorder::Histogram::reset);
    trial.failed.iter_mut().for_each(crate::recorder::Histogram::reset);
    // That nothing was asked for is no failure.
    assert!(!analyse_run(&run).results.has_failed());
    run.trials[0].abandoned = 2;
    check(&run, "ABANDONED", CaveatLevel::Void, "no event ended well, and 2 events had not");
    let findings = analyse_run(&run);
    assert!(findings.results.has_failed());
    let answer = findings.results.answer[0].to_string();
    assert!(answer.contains("; 2 events were under way at its end."), "{answer}");
    run.meta.state = RunState::Interrupted;
    check(&run, "ABANDONED", CaveatLevel::Warn, "2 events had not");
}

#[test]
fn workers_without_a_session() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "UNOPENED");
    let why = "1040 Too many connections".to_owned();
    run.trials[0].unopened.push(UnopenedRecord { worker: 3, why });
    check(&run, "UNOPENED", CaveatLevel::Warn, "1 of 1 worker of the load could not open");
}

#[test]
fn an_open_loop_is_no_closed_loop() {
    let mut run = fixture_runs::bench_run();
    check(&run, "CLOSED-LOOP", CaveatLevel::Note, "waiting hides stalls");
    run.trials[0].arrival = ArrivalRecord::new(ArrivalKind::Poisson, "poisson 4000/s");
    check_none(&run, "CLOSED-LOOP");
}

#[test]
fn a_server_elsewhere_is_not_on_this_machine() {
    let mut run = fixture_runs::bench_run();
    check(&run, "SAME-HOST", CaveatLevel::Note, "CPU per event: server 30.0 µs, sweat 9.00 µs");
    run.meta.server.as_mut().unwrap().local = false;
    check_none(&run, "SAME-HOST");
}

#[test]
fn short_runs() {
    let mut run = fixture_runs::bench_run();
    check(&run, "TOO-SHORT", CaveatLevel::Warn, "too short");
    let began = run.trials[0].began_ns;
    run.trials[0].ended_ns = began + 30_000_000_000;
    check(&run, "TOO-SHORT", CaveatLevel::Note, "took 30.0 s");
    run.trials[0].ended_ns = began + 60_000_000_000;
    check(&run, "TOO-SHORT", CaveatLevel::Note, "too short to tell whether it is steady");
    check(&fixture_runs::demo_run(), "TOO-SHORT", CaveatLevel::Note, "the shortest load took");
}

#[test]
fn data_against_the_pool() {
    let mut run = fixture_runs::demo_run();
    check(&run, "DATA-SIZE", CaveatLevel::Note, "512 MiB = 2.00 x pool (256 MiB): I/O-bound");
    let mut sized = |data: u64| {
        run.meta.facts.insert("data_bytes".to_owned(), (data << 20).into());
        run.clone()
    };
    check(&sized(200), "DATA-SIZE", CaveatLevel::Note, "in memory");
    check(&sized(206), "DATA-SIZE", CaveatLevel::Warn, "borderline");
    check(&sized(384), "DATA-SIZE", CaveatLevel::Warn, "borderline");
    check_none(&fixture_runs::bench_run(), "DATA-SIZE");
}

#[test]
fn cold_must_be_seen_on_the_device() {
    let mut run = fixture_runs::demo_run();
    check_none(&run, "NOT-COLD");
    let place = run.steps.iter().position(|s| s.kind == RecordedStepKind::Load).unwrap();
    let before = run.steps[place].before["process.read_bytes"];
    run.steps[place].after.insert("process.read_bytes".to_owned(), before + 1e6);
    check(&run, "NOT-COLD", CaveatLevel::Void, "`none` began cold and read");
    run.steps[place].after.remove("process.read_bytes");
    check(&run, "NOT-COLD", CaveatLevel::Warn, "no proof");
    check_none(&fixture_runs::bench_run(), "NOT-COLD");
}

#[test]
fn holes_in_the_samples() {
    let mut run = fixture_runs::bench_run();
    check(&run, "PROBE-GAP", CaveatLevel::Note, "innodb 1 of 1 (needs PROCESS)");
    run.samples.retain(|s: &SampleRecord| s.gap.is_none());
    check_none(&run, "PROBE-GAP");
    // While the server is down for a restart nothing else is to be expected.
    let demo = fixture_runs::demo_run();
    assert!(demo.samples.iter().any(|s| s.gap.is_some()));
    check_none(&demo, "PROBE-GAP");
}

#[test]
fn cut_and_damaged_runs() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "CUT");
    check_none(&run, "DAMAGE");
    run.damage = vec!["intervals.jsonl: line 7 is cut".to_owned(), "b".to_owned()];
    check(&run, "DAMAGE", CaveatLevel::Warn, "line 7 is cut (and 1 more)");
    run.meta.state = RunState::Interrupted;
    run.trials[0].reason = TrialEnding::Interrupted;
    check(&run, "CUT", CaveatLevel::Warn, "stopped by the user; 1 of 1 load cut");
    run.meta.state = RunState::Running;
    check(&run, "CUT", CaveatLevel::Warn, "killed");
}

#[test]
fn relaxed_durability() {
    let mut run = fixture_runs::bench_run();
    check(&run, "DURABILITY", CaveatLevel::Note, "innodb_flush_log_at_trx_commit = 2");
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
    check(&run, "DURABILITY", CaveatLevel::Note, "sync_binlog = 0");
}

#[test]
fn cpu_of_others() {
    let mut run = fixture_runs::bench_run();
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
    check(&busy(0.1), "FOREIGN-CPU", CaveatLevel::Warn, "10.0 % of the machine");
    check(&busy(0.2), "FOREIGN-CPU", CaveatLevel::Void, "20.0 % of the machine");
}

/// The run with this rise of a counter over its first load.
fn with_rise(run: &RunRecord, name: &str, rise: f64) -> RunRecord {
    let mut run = run.clone();
    let step = run.trials[0].step;
    let step = run.steps.iter_mut().find(|s| s.number == step).unwrap();
    let from = *step.before.entry(name.to_owned()).or_insert(10.0);
    step.after.insert(name.to_owned(), from + rise);
    run
}

/// The run with a workload that declares this.
fn with_facts(run: &RunRecord, facts: WorkloadFacts) -> RunRecord {
    let mut run = run.clone();
    run.trials[0].facts = Some(facts);
    run
}

fn with_variable(run: &RunRecord, name: &str, start: &str, end: &str, origin: &str) -> RunRecord {
    let mut run = run.clone();
    run.variables.retain(|v| v.name != name);
    run.variables.push(VariableRecord {
        name: name.to_owned(),
        start: start.to_owned(),
        end: Some(end.to_owned()),
        origin: Some(origin.to_owned()),
    });
    run
}

#[test]
fn a_noisy_machine() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "NOISE");
    let step = &mut run.steps[0].noise;
    step.insert("before.gap.span_ns".to_owned(), 4e8);
    step.insert("before.gap.lost_ns".to_owned(), 1e6);
    step.insert("before.cpu.hypervisor".to_owned(), 1.0);
    check_none(&run, "NOISE");
    run.steps[0].noise.insert("before.gap.lost_ns".to_owned(), 8e6);
    check(&run, "NOISE", CaveatLevel::Warn, "time lost on the cores 2.00 % before the load");
    run.steps[0].noise.insert("before.gap.lost_ns".to_owned(), 80e6);
    check(&run, "NOISE", CaveatLevel::Void, "20.0 %");
}

#[test]
fn memory_limits_and_clocks_of_the_machine() {
    let run = fixture_runs::bench_run();
    for id in ["SWAP", "THROTTLED", "NTP-STEP"] {
        check_none(&run, id);
    }
    let swapping =
        with_rise(&with_rise(&run, "vm.swapped_in_pages", 0.0), "vm.swapped_out_pages", 9.0);
    check(&swapping, "SWAP", CaveatLevel::Warn, "9.00 pages during the load");
    check(&with_rise(&run, "cgroup.throttled_s", 1.0), "THROTTLED", CaveatLevel::Warn, "CPU limit");
    let mut stepped = run.clone();
    for (at, offset) in [(0, 0.0), (1_000_000_000, -2.0)] {
        stepped.samples.push(SampleRecord {
            began_ns: run.trials[0].began_ns + at,
            numbers: [("clock.wall_offset_s".to_owned(), offset)].into(),
            ..SampleRecord::default()
        });
    }
    check(&stepped, "NTP-STEP", CaveatLevel::Warn, "2 000 ms");
}

#[test]
fn keys_that_come_equally_often() {
    let run = fixture_runs::bench_run();
    check_none(&run, "DATA-DIST");
    let keys = |keys| with_facts(&run, WorkloadFacts { keys: Some(keys), ..Default::default() });
    let drawn = |distribution: &str| {
        let distribution = distribution.to_owned();
        keys(KeyChoice::Drawn { distribution, shape: Default::default(), rows: 10_000 })
    };
    check(&drawn("uniform"), "DATA-DIST", CaveatLevel::Note, ": uniform");
    let special = found(&drawn("special"), "DATA-DIST").unwrap().evidence;
    assert!(special.contains("7") && !special.contains("uniform"), "{special}");
    check(&keys(KeyChoice::Even), "DATA-DIST", CaveatLevel::Note, "take 1.00 %");
}

#[test]
fn a_load_that_touches_few_keys() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "PARAM-DIST");
    run.meta.facts.insert("rows".to_owned(), 1_200_000.into());
    check(&run, "PARAM-DIST", CaveatLevel::Note, "at most 9.52 %");
    run.meta.facts.insert("rows".to_owned(), 100_000.into());
    check_none(&run, "PARAM-DIST");
    run.meta.facts.remove("rows");
    let declared = WorkloadFacts { rows: Some(1_200_000), ..WorkloadFacts::default() };
    check(&with_facts(&run, declared), "PARAM-DIST", CaveatLevel::Note, "at most 9.52 %");
}

#[test]
fn one_session_for_many_users() {
    let mut run = fixture_runs::bench_run();
    check(&run, "ONE-USER", CaveatLevel::Note, "one session");
    run.trials[0].workers = 2;
    check_none(&run, "ONE-USER");
    run.trials[0].workers = 1;
    run.trials[0].arrival = ArrivalRecord::new(ArrivalKind::Poisson, "poisson 5/s");
    check_none(&run, "ONE-USER");
}

#[test]
fn workers_are_rate_by_time() {
    let mut run = fixture_runs::bench_run();
    run.trials[0].failed = vec![crate::recorder::new_histogram(); 2];
    run.trials[0].ended_ns = run.trials[0].began_ns + 100_000_000_000;
    let (events, mean) = {
        let trial = &analyse_run(&run).results.trials[0];
        (trial.events as f64, trial.response.mean_s.unwrap())
    };
    // A think time that makes up for the rest of the hundred seconds.
    let think = 100.0 / events - mean;
    let closed = |s: f64| ArrivalRecord::closed(s, "closed, with think time");
    run.trials[0].arrival = closed(think);
    check(&run, "THINK", CaveatLevel::Note, "N = X (R + Z): 1 worker,");
    run.trials[0].arrival = closed(think * 0.5);
    check(&run, "THINK", CaveatLevel::Warn, "N = X (R + Z)");
    run.trials[0].arrival = ArrivalRecord::new(ArrivalKind::Poisson, "poisson 5/s");
    check_none(&run, "THINK");
}

#[test]
fn the_same_order_in_every_block() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "ORDER");
    let first = run.trials[0].clone();
    let trial = |block, variant: &str| crate::archive::Trial {
        block,
        variant: variant.to_owned(),
        ..first.clone()
    };
    run.trials = vec![trial(1, "a"), trial(1, "b"), trial(2, "a"), trial(2, "b")];
    check(&run, "ORDER", CaveatLevel::Warn, "a, b in each of 2 blocks");
    run.trials.swap(2, 3);
    check_none(&run, "ORDER");
}

#[test]
fn variables_that_change_meanwhile() {
    let run = fixture_runs::bench_run();
    check_none(&run, "VARS-CHANGED");
    let changed = with_variable(&run, "innodb_io_capacity", "200", "2000", "sql");
    check(&changed, "VARS-CHANGED", CaveatLevel::Warn, "innodb_io_capacity from 200 to 2000");
    let mut ours = changed.clone();
    ours.trials[0].settings.insert("innodb-io-capacity".to_owned(), "2000".to_owned());
    check_none(&ours, "VARS-CHANGED");
    check_none(&with_variable(&run, "gtid_binlog_pos", "1", "2", "auto"), "VARS-CHANGED");
}

#[test]
fn encrypted_sessions() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "TLS");
    run.meta.server.as_mut().unwrap().cipher = Some("TLSv1.3 AES".to_owned());
    check(&run, "TLS", CaveatLevel::Note, "TLSv1.3 AES");
}

#[test]
fn defaults_that_decide() {
    let run = fixture_runs::bench_run();
    check_none(&run, "DEFAULTS");
    let pool =
        with_variable(&run, "innodb_buffer_pool_size", "134217728", "134217728", "compile-time");
    check(
        &pool,
        "DEFAULTS",
        CaveatLevel::Note,
        "innodb_buffer_pool_size = 128 MiB on a machine of 8",
    );
    let redo = with_variable(&run, "innodb_log_file_size", "100663296", "100663296", "COMPILED");
    check_none(&redo, "DEFAULTS");
    let writes = with_rise(&redo, "Innodb_os_log_written", 500e6);
    check(&writes, "DEFAULTS", CaveatLevel::Note, "innodb_log_file_size = 96.0 MiB, filled in");
    let io = with_variable(&run, "innodb_io_capacity", "200", "200", "compile-time");
    check(&with_rise(&io, "Innodb_pages_written", 90e3), "DEFAULTS", CaveatLevel::Note, "pages/s");
}

#[test]
fn answers_from_caches() {
    let run = fixture_runs::bench_run();
    check_none(&run, "SAME-QUERY");
    check_none(&run, "QUERY-CACHE");
    let on = with_variable(&run, "query_cache_size", "1048576", "1048576", "compile-time");
    check_none(&with_variable(&on, "query_cache_type", "OFF", "OFF", "x"), "QUERY-CACHE");
    let on = with_variable(&on, "query_cache_type", "ON", "ON", "config");
    check(&on, "QUERY-CACHE", CaveatLevel::Note, "query_cache_type = ON");
    check_none(&with_rise(&on, "Qcache_hits", 100.0), "SAME-QUERY");
    let cached = with_rise(&on, "Qcache_hits", 60_000.0);
    check(&cached, "SAME-QUERY", CaveatLevel::Warn, "50.0 % of the reads of the load");
    let repeats = Some(StatementRepeats { passes: Some(7), shared: false });
    let repeated = with_facts(&run, WorkloadFacts { repeats, ..WorkloadFacts::default() });
    check(&repeated, "SAME-QUERY", CaveatLevel::Note, "ran 7 times, with");
    let read = with_rise(&with_rise(&run, "Innodb_data_read", 200e6), "process.read_bytes", 10e6);
    check(&read, "PAGE-CACHE", CaveatLevel::Warn, "the page cache served the rest");
    let device = with_rise(&with_rise(&run, "Innodb_data_read", 2e8), "process.read_bytes", 2e8);
    check_none(&device, "PAGE-CACHE");
}

#[test]
fn reads_that_find_nothing() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "EMPTY");
    run.trials[0].facts =
        Some(WorkloadFacts { one_row_per_read: true, ..WorkloadFacts::default() });
    check_none(&run, "EMPTY");
    *run.trials[0].tally.count_mut("rows") /= 2;
    check(&run, "EMPTY", CaveatLevel::Warn, "50.0 % of 120 000 reads");
    run.trials[0].facts = None;
    check_none(&run, "EMPTY");
    *run.trials[0].tally.count_mut("rows") = 0;
    check(&run, "EMPTY", CaveatLevel::Warn, "100 % of");
}

#[test]
fn errors_faster_than_answers() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "SUDDENLY-FAST");
    run.trials[0].failed[0].record_n(3_000, 2_000).unwrap();
    check(
        &run,
        "SUDDENLY-FAST",
        CaveatLevel::Warn,
        "class point_select in the load failed after 3.00 µs",
    );
    let mut slow = fixture_runs::bench_run();
    slow.trials[0].failed[0].record_n(300_000, 2_000).unwrap();
    check_none(&slow, "SUDDENLY-FAST");
}

#[test]
fn a_pool_that_still_fills() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "COLD");
    run.samples.clear();
    let mut filled = |each: [f64; 9]| {
        let mut reads = 0.0;
        run.samples.clear();
        run.trials[0].ended_ns = run.trials[0].began_ns + 9_000_000_000;
        for (place, more) in each.into_iter().enumerate() {
            reads += more;
            run.samples.push(SampleRecord {
                began_ns: run.trials[0].began_ns + place as u64 * 1_000_000_000,
                numbers: [("Innodb_buffer_pool_reads".to_owned(), reads)].into(),
                ..SampleRecord::default()
            });
        }
        run.clone()
    };
    let filling = filled([0.0, 900.0, 800.0, 500.0, 300.0, 100.0, 50.0, 10.0, 10.0]);
    check(&filling, "COLD", CaveatLevel::Warn, "began with 850 page reads/s and ended with 10.0");
    check_none(&filled([0.0, 900.0, 800.0, 900.0, 900.0, 900.0, 800.0, 900.0, 900.0]), "COLD");
}

#[test]
fn lines_in_the_error_log() {
    let mut run = fixture_runs::bench_run();
    check_none(&run, "ERRLOG");
    let line = "2026-11-21 12:00:00 5 [Warning] Aborted connection 5";
    run.meta.facts.insert("error_log".to_owned(), serde_json::json!([line]));
    check(&run, "ERRLOG", CaveatLevel::Note, "0 new errors and 1 new warning");
    let grave = "2026-11-21 12:00:01 0 [ERROR] InnoDB: Operating system error";
    run.meta.facts.insert("error_log".to_owned(), serde_json::json!([line, grave]));
    check(
        &run,
        "ERRLOG",
        CaveatLevel::Warn,
        "1 new error and 1 new warning: 2026-11-21 12:00:01 0 [ERROR]",
    );
}

#[test]
fn one_level_says_nothing_about_scaling() {
    let mut run = fixture_runs::bench_run();
    run.trials[0].value = Some(4.0);
    check(&run, "ONE-USER", CaveatLevel::Note, "one session");
    run.meta.asked.axis = Some("threads".to_owned());
    check(&run, "ONE-USER", CaveatLevel::Void, "one level only, threads=4");
    let mut other = run.trials[0].clone();
    other.value = Some(8.0);
    other.workers = 8;
    run.trials.push(other);
    check_none(&run, "ONE-USER");
}

#[test]
fn loads_that_never_settle() {
    let steady = |verdict| crate::analysis::SteadyState {
        verdict,
        drift: Some(-0.2),
        why: vec!["drift -20 %".to_owned()],
        ..crate::analysis::SteadyState::default()
    };
    let run = fixture_runs::bench_run();
    let mut findings = analyse_run(&run);
    let mut level = |verdict, until_steady: bool| {
        let mut run = run.clone();
        run.meta.load = Some(LoadRequest { until_steady, ..LoadRequest::default() });
        findings.results.trials[0].steady = Some(steady(verdict));
        let (trials, data) = (&findings.results.trials, &findings.data);
        let input = CaveatInput { run: &run, trials, variants: &[], data, noise: &[], costs: &[] };
        run_state::not_steady(&input).map(|c| (c.level, c.evidence))
    };
    use crate::analysis::SteadyVerdict::{Slowing, Steady, TooShort};
    let slowing = "slowing: drift -20 %".to_owned();
    assert_eq!(level(Slowing, false), Some((CaveatLevel::Warn, slowing.clone())));
    assert_eq!(level(Slowing, true), Some((CaveatLevel::Void, slowing)));
    assert_eq!(level(Steady, false), None);
    assert_eq!(level(TooShort, false), None);
    findings.results.trials[0].seconds = 90.0;
    let (trials, data) = (&findings.results.trials, &findings.data);
    let input = CaveatInput { run: &run, trials, variants: &[], data, noise: &[], costs: &[] };
    let short = run_state::too_short(&input).map(|c| (c.level, c.evidence));
    let evidence = "too short to tell whether it is steady: drift -20 %".to_owned();
    assert_eq!(short, Some((CaveatLevel::Note, evidence)));
    findings.results.trials[0].steady = Some(steady(Steady));
    let (trials, data) = (&findings.results.trials, &findings.data);
    let input = CaveatInput { run: &run, trials, variants: &[], data, noise: &[], costs: &[] };
    assert_eq!(run_state::too_short(&input), None);
}
