use super::cost::WINDOWS;
use super::*;
use crate::archive::Counters;

const TICK: u64 = 10_036;

fn part(name: &str, cells: &[(u64, u64)]) -> OperationRecord {
    OperationRecord {
        name: name.to_owned(),
        rows: cells.iter().map(|c| c.1).sum(),
        sum_ps: cells.iter().map(|c| c.0 * c.1).sum(),
        max_ps: cells.iter().map(|c| c.0).max().unwrap_or(0),
        cells: cells.to_vec(),
    }
}

/// Waits of one lock: so many counted, and these rows.
fn instrument(count: u64, parts: &[OperationRecord]) -> InstrumentRecord {
    let sum: u64 = parts.iter().map(|p| p.sum_ps).sum();
    InstrumentRecord {
        name: "wait/synch/mutex/sql/LOCK_x".to_owned(),
        count,
        sum_ps: sum,
        max_ps: None,
        objects: 4,
        busiest: count / 2,
        operations: parts.to_vec(),
    }
}

fn trial(variant: &str, block: u32, instrument: InstrumentRecord) -> Trial {
    Trial {
        id: format!("{variant}-{block}"),
        variant: variant.to_owned(),
        block,
        began_ns: 0,
        ended_ns: 10_000_000_000,
        waits: Some(WaitsRecord {
            instruments: vec![instrument],
            drains: 10,
            drains_with_rows: 10,
            ring_rows: Some(1000),
            tick_ps: Some(TICK),
            calibration_s: Some((8.0, 8.04, 0.2)),
            ..WaitsRecord::default()
        }),
        ..Trial::default()
    }
}

fn run(trials: Vec<Trial>) -> RunRecord {
    RunRecord { trials, ..RunRecord::default() }
}

fn only(instrument: InstrumentRecord) -> Vec<WaitFinding> {
    wait_findings(&run(vec![trial("", 1, instrument)]))
}

#[test]
fn rows_give_percentiles_no_finer_than_the_tick() {
    // 900 of one tick, 90 of three, 9 of sixteen, and one of a millisecond.
    let cells = [(TICK, 900), (3 * TICK, 90), (16 * TICK, 9), (1_000_000_000, 1)];
    let found = only(instrument(1000, &[part("lock", &cells)]));
    assert_eq!(found.len(), 1, "one operation needs no line of its own");
    let f = &found[0];
    assert_eq!((f.source, f.coverage, f.count), (WaitSource::Rows, Some(1.0), 1000));
    let ns = |s: Option<f64>| s.map(|s| (s * 1e9 * 1e3).round() / 1e3);
    assert_eq!(ns(f.p50_s), Some(10.0));
    assert_eq!(ns(f.p90_s), Some(10.0));
    assert_eq!(ns(f.p99_s), Some(30.0));
    assert_eq!(ns(f.max_s), Some(1_000_000.0));
    // (900 + 270 + 144) ticks and a millisecond over 1000 waits.
    assert_eq!(ns(f.average_s), Some(1010.0));
    let top = f.top_share.unwrap();
    assert!((top - 1e9 / (1e9 + 1314.0 * TICK as f64)).abs() < 1e-9, "{top}");
    assert_eq!(f.objects, Some(4));
    assert_eq!(f.busiest, Some(2.0));
    assert!(f.notes[0].contains("the mean is above the 99th percentile"), "{:?}", f.notes);
    assert!((f.clock.unwrap().0 - 0.995).abs() < 0.001);
    assert_eq!(f.notes.len(), 1, "a clock that is right needs no note: {:?}", f.notes);
}

#[test]
fn operations_are_shown_beside_their_sum() {
    let parts = [part("shared_lock", &[(TICK, 985)]), part("exclusive_lock", &[(5 * TICK, 15)])];
    let found = only(instrument(1000, &parts));
    let operations: Vec<&str> = found.iter().map(|f| f.operation.as_str()).collect();
    assert_eq!(operations, ["", "shared_lock", "exclusive_lock"]);
    assert_eq!(found.iter().map(|f| f.count).collect::<Vec<_>>(), [1000, 985, 15]);
    assert_eq!(found[2].p99_s, None, "fifteen rows have no 99th percentile");
    assert!(found[2].p90_s.is_some());
}

#[test]
fn rows_that_do_not_suffice_are_not_used() {
    // A fifth, but all over the load.
    let sample = only(instrument(10_000, &[part("lock", &[(TICK, 2000)])]));
    assert_eq!(sample[0].source, WaitSource::Sample);
    assert!(sample[0].p99_s.is_some());
    assert!(sample[0].notes[0].contains("20.0 %"), "{:?}", sample[0].notes);
    // The same from one moment of it.
    let mut one = trial("", 1, instrument(10_000, &[part("lock", &[(TICK, 2000)])]));
    if let Some(waits) = &mut one.waits {
        waits.drains_with_rows = 1;
    }
    let found = wait_findings(&run(vec![one]));
    assert_eq!(found[0].source, WaitSource::Summary);
    assert_eq!((found[0].p50_s, found[0].p99_s, found[0].top_share), (None, None, None));
    assert!(found[0].average_s.is_some() && found[0].notes[0].contains("no percentiles"));
    // Nothing at all.
    let none = only(instrument(0, &[]));
    assert_eq!((none[0].average_s, none[0].coverage), (None, None));
    assert!(none[0].notes[0].contains("no waits"), "{:?}", none[0].notes);
}

#[test]
fn a_clock_that_does_not_tell_picoseconds_is_said_so() {
    let mut cycles = trial("", 1, instrument(1000, &[part("lock", &[(TICK, 1000)])]));
    if let Some(waits) = &mut cycles.waits {
        waits.calibration_s = Some((8.0 * 0.0026, 8.0, 0.1));
    }
    let found = wait_findings(&run(vec![cycles]));
    assert!(found[0].notes.iter().any(|n| n.contains("picoseconds")), "{:?}", found[0].notes);
}

/// Waits of this mean, in ticks.
fn of_mean(ticks: u64) -> InstrumentRecord {
    instrument(1000, &[part("lock", &[(ticks * TICK, 1000)])])
}

#[test]
fn variants_are_paired_by_block() {
    // Each block is slower than the last, and the second variant always halves it.
    let mut trials = Vec::new();
    for (block, ticks) in [(1, 100), (2, 200), (3, 400)] {
        trials.push(Trial { value: Some(2.0), ..trial("x=2", block, of_mean(ticks / 2)) });
        trials.push(Trial { value: Some(1.0), ..trial("x=1", block, of_mean(ticks)) });
    }
    let run = run(trials);
    let found = wait_groups(&run, &wait_findings(&run));
    let variants: Vec<&str> = found.iter().map(|g| g.variant.as_str()).collect();
    assert_eq!(variants, ["x=1", "x=2"], "by value, not as they ran");
    assert_eq!((found[0].ratio, found[0].words.as_str()), (None, ""));
    let ratio = found[1].ratio.unwrap();
    assert!((ratio.value.unwrap() - 0.5).abs() < 1e-9 && ratio.runs == 3);
    assert!(found[1].words.ends_with("shorter"), "{}", found[1].words);
    let average = found[0].average.unwrap();
    assert!((average.0 * 1e9 - 2010.0).abs() < 1.0, "{average:?}");
    assert_eq!(found[0].waits_per_s, Some(100.0));
}

#[test]
fn blocks_that_disagree_show_no_difference() {
    let mut trials = Vec::new();
    for (block, one, two) in [(1, 100, 50), (2, 100, 210), (3, 100, 99)] {
        trials.push(trial("a", block, of_mean(one)));
        trials.push(trial("b", block, of_mean(two)));
    }
    let run = run(trials);
    let found = wait_groups(&run, &wait_findings(&run));
    assert!(found[1].words.ends_with("no difference is seen"), "{}", found[1].words);
    // One block decides nothing.
    let run = super::tests::run(run.trials[..2].to_vec());
    let found = wait_groups(&run, &wait_findings(&run));
    assert!(found[1].words.contains("1 block can't"), "{}", found[1].words);
    // A single load is no group.
    let run = super::tests::run(run.trials[..1].to_vec());
    assert!(wait_groups(&run, &wait_findings(&run)).is_empty());
}

fn windows(cpu_us: &[(f64, f64)]) -> RunRecord {
    let sample = |(on, cpu): &(f64, f64)| SampleRecord {
        probe: WINDOWS.to_owned(),
        numbers: Counters::from([
            ("on".to_owned(), *on),
            ("server_cpu_s".to_owned(), cpu * 1e-6 * 1000.0),
            ("statements".to_owned(), 1000.0),
        ]),
        ..SampleRecord::default()
    };
    RunRecord { samples: cpu_us.iter().map(sample).collect(), ..RunRecord::default() }
}

#[test]
fn the_cost_comes_from_pairs_of_windows() {
    let steady = windows(&[
        (0.0, 40.0),
        (1.0, 44.1),
        (1.0, 47.9),
        (0.0, 44.0),
        (0.0, 50.0),
        (1.0, 54.9),
        (1.0, 60.2),
        (0.0, 55.0),
    ]);
    let found = tracing_cost(&steady).unwrap();
    assert_eq!(found.pairs, 4);
    let share = found.share.value.unwrap();
    assert!((share - 0.096).abs() < 0.005, "{share}");
    assert!(found.words.starts_with('+') && !found.words.contains("noise"), "{}", found.words);
    assert!((found.bare_s.unwrap() - 47e-6).abs() < 1e-9);
    let noisy =
        windows(&[(0.0, 40.0), (1.0, 50.0), (1.0, 40.0), (0.0, 55.0), (0.0, 40.0), (1.0, 41.0)]);
    assert!(tracing_cost(&noisy).unwrap().words.ends_with("within noise"));
    let few = windows(&[(0.0, 40.0), (1.0, 50.0)]);
    assert!(tracing_cost(&few).unwrap().words.contains("too few"));
    assert_eq!(tracing_cost(&windows(&[])), None);
}

#[test]
fn what_is_only_looked_at_has_no_rate_and_no_response_time() {
    let answer = |workload: &str| {
        let mut run = run(vec![trial("", 1, of_mean(100))]);
        run.meta.command = crate::archive::RunCommand::Waits;
        run.trials[0].workload = workload.to_owned();
        let answer = crate::analysis::analyse_run(&run).results.answer;
        answer.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    let alone = answer("null");
    assert!(alone.len() == 1 && alone[0].contains("LOCK_x: 1 000 waits"), "{alone:?}");
    assert!(answer("oltp_read_only").len() > 1);
}

#[test]
fn the_answer_names_the_instrument() {
    let found = only(of_mean(100));
    let answer = wait_sentences(&found, &[]);
    assert_eq!(answer, ["LOCK_x: 1 000 waits, mean 1.00 µs, p99 1.00 µs, longest 1.00 µs."]);
}
