use proptest::prelude::*;

use super::*;
use crate::base::{Nanos, StopReason};

fn ending(ended: Nanos) -> LoadEnding {
    LoadEnding {
        step_labels: Vec::new(),
        worker_totals: Vec::new(),
        ended,
        unbegun: SparseHistogram::default(),
        reason: StopReason::Done,
        workers: 1,
        unopened: Vec::new(),
        failure: None,
        failure_count: 0,
        engine: "threads",
        cpu_user_ns: 0,
        cpu_system_ns: 0,
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("class{n}")).collect()
}

fn record(class: u16, error: Option<EventError>, response: u64, service: u64) -> EventRecord {
    let ended = Nanos(1 << 50);
    let outcome = EventOutcome { class: ClassId(class), error };
    EventRecord {
        outcome,
        intended: ended - Nanos(response),
        started: ended - Nanos(service),
        ended,
    }
}

fn server(code: u16) -> EventError {
    EventError { kind: EventErrorKind::Server, code }
}

/// What the library counted.
fn filled_cells(histogram: Histogram) -> SparseHistogram {
    SparseHistogram::from(&histogram)
}

/// What a test does: an event on a lane, or a look of the collector.
#[derive(Clone, Debug)]
enum Act {
    Event { shard: usize, class: u16, failed: bool, response: u64, service: u64 },
    Late { shard: usize, by: u64 },
    Collect,
}

fn act() -> impl Strategy<Value = Act> {
    let time = || prop_oneof![0..3000u64, 0..10_000_000_000u64, any::<u64>().prop_map(|t| t >> 14)];
    prop_oneof![
        8 => (0..3usize, 0..2u16, any::<bool>(), time(), time()).prop_map(
            |(shard, class, failed, response, service)| {
                Act::Event { shard, class, failed, response, service }
            }
        ),
        2 => (0..3usize, time()).prop_map(|(shard, by)| Act::Late { shard, by }),
        1 => Just(Act::Collect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn intervals_add_up_to_the_total_and_both_to_what_the_crate_counts(
        acts in prop::collection::vec(act(), 0..200)
    ) {
        let (mut recorder, writers) = Recorder::new(names(2), &[], 3);
        let expected = || [new_histogram(), new_histogram(), new_histogram()];
        let mut expected = [expected(), expected()];
        let (mut lateness, mut clipped, mut failures) = (new_histogram(), 0, 0);
        let mut intervals = Vec::new();
        for (n, act) in acts.iter().enumerate() {
            match *act {
                Act::Event { shard, class, failed, response, service } => {
                    let error = failed.then(|| server(response as u16));
                    let tally = Tally { counts: [service, 0, 0, 0, 0, 0], ..Tally::default() };
                    writers[shard].start_event();
                    writers[shard].end_event(&record(class, error, response, service), &tally);
                    let of = &mut expected[usize::from(class)];
                    if failed {
                        of[2].saturating_record(response.min(HIGHEST_NS));
                    } else {
                        of[0].saturating_record(response.min(HIGHEST_NS));
                        of[1].saturating_record(service.min(HIGHEST_NS));
                    }
                    clipped += u64::from(response > HIGHEST_NS);
                    failures += u64::from(failed);
                }
                Act::Late { shard, by } => {
                    writers[shard].note_lateness(Nanos(by));
                    lateness.saturating_record(by.min(HIGHEST_NS));
                }
                Act::Collect => intervals.push(recorder.collect_interval(Nanos(n as u64), 0)),
            }
        }
        let (last, recording) = recorder.finish_recording(ending(Nanos(acts.len() as u64)));
        intervals.push(last);
        let total = &recording.total;
        for (class, expected) in expected.iter().enumerate() {
            let of = |i: &Interval| {
                let c = &i.classes[class];
                [c.response.clone(), c.service.clone(), c.failed.clone()]
            };
            prop_assert_eq!(&of(total), &expected.clone().map(filled_cells));
            let mut sums: [SparseHistogram; 3] = Default::default();
            for interval in &intervals {
                for (sum, part) in sums.iter_mut().zip(of(interval)) {
                    sum.add(&part);
                }
            }
            prop_assert_eq!(sums, expected.clone().map(filled_cells));
        }
        let lateness = filled_cells(lateness);
        prop_assert_eq!(&total.lateness, &lateness);
        let mut late = SparseHistogram::default();
        intervals.iter().for_each(|i| late.add(&i.lateness));
        prop_assert_eq!(late, lateness);
        let rows: u64 = intervals.iter().map(|i| i.tally.counts[0]).sum();
        prop_assert_eq!(rows, total.tally.counts[0]);
        prop_assert_eq!(recording.clipped, clipped);
        prop_assert_eq!(recording.errors.iter().map(|e| e.count).sum::<u64>(), failures);
        let slots: u64 = intervals.iter().flat_map(|i| &i.slots).map(|n| u64::from(*n)).sum();
        prop_assert_eq!(slots, total.event_count() + total.error_count());
        prop_assert_eq!(intervals[0].began, total.began);
        prop_assert!(intervals.windows(2).all(|w| w[0].ended == w[1].began));
        prop_assert_eq!(intervals[intervals.len() - 1].ended, total.ended);
    }
}

#[test]
fn a_thread_that_writes_while_another_reads_loses_nothing() {
    const EVENTS: u64 = 300_000;
    let (mut recorder, writers) = Recorder::new(names(1), &[], 2);
    let (mut events, mut slots) = (0, 0);
    std::thread::scope(|scope| {
        let lives: Vec<_> = writers
            .into_iter()
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..EVENTS {
                        writer.start_event();
                        writer.end_event(
                            &record(0, None, n, n),
                            &Tally { counts: [1, 0, 0, 0, 0, 0], ..Tally::default() },
                        );
                    }
                })
            })
            .collect();
        while !lives.iter().all(|life| life.is_finished()) {
            let interval = recorder.collect_interval(Nanos(0), 0);
            assert!(interval.in_flight <= 2);
            events += interval.event_count();
            slots += interval.slots.iter().sum::<u32>();
        }
    });
    let (last, recording) = recorder.finish_recording(ending(Nanos(1)));
    assert_eq!(events + last.event_count(), 2 * EVENTS);
    assert_eq!(u64::from(slots + last.slots.iter().sum::<u32>()), 2 * EVENTS);
    assert_eq!(recording.total.event_count(), 2 * EVENTS);
    assert_eq!(recording.total.tally.counts[0], 2 * EVENTS);
}

#[test]
fn the_first_text_of_each_code_is_kept_up_to_a_hundred() {
    let (recorder, writers) = Recorder::new(names(2), &[], 2);
    for (shard, writer) in writers.iter().enumerate() {
        for class in 0..2 {
            for repeat in 0..3 {
                writer.end_event(&record(class, Some(server(1213)), 5, 5), &Tally::default());
                writer.error_text(server(1213), &format!("lane {shard} {class} {repeat}"));
            }
        }
    }
    for code in 2000..2120 {
        writers[0].end_event(&record(0, Some(server(code)), 5, 5), &Tally::default());
        writers[0].error_text(server(code), "text");
    }
    let (_, recording) = recorder.finish_recording(ending(Nanos(1)));
    let of = |class, code| {
        let found = |e: &&ErrorCount| e.class == ClassId(class) && e.error == server(code);
        recording.errors.iter().find(found).unwrap()
    };
    for class in 0..2 {
        assert_eq!(of(class, 1213).count, 6);
        assert_eq!(of(class, 1213).first_text, "lane 0 0 0");
    }
    assert_eq!(recording.errors.iter().filter(|e| !e.first_text.is_empty()).count(), 101);
}

#[test]
fn more_codes_than_the_table_holds_are_still_counted() {
    let (recorder, writers) = Recorder::new(names(1), &[], 1);
    for code in 1..=1000 {
        writers[0].end_event(&record(0, Some(server(code)), 5, 5), &Tally::default());
    }
    let (_, recording) = recorder.finish_recording(ending(Nanos(1)));
    assert_eq!(recording.errors.iter().map(|e| e.count).sum::<u64>(), 1000);
    let rest = recording.errors.iter().find(|e| e.error == server(0)).unwrap();
    assert_eq!(rest.count, 1000 - 127);
}

#[test]
fn untouched_lanes_and_classes_take_no_memory() {
    fn resident_kib() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
    let Some(before) = resident_kib() else { return };
    // 2,000 lanes of 2 classes: 3.4 GiB of cells, if they were used.
    let (mut recorder, writers) = Recorder::new(names(2), &[], 2000);
    for writer in &writers {
        writer.start_event();
        writer.end_event(&record(0, None, 100_000, 100_000), &Tally::default());
    }
    assert_eq!(recorder.collect_interval(Nanos(1), 0).event_count(), 2000);
    let grown = resident_kib().unwrap().saturating_sub(before);
    // Other tests of this process take memory at the same time, a few hundred MiB at most.
    assert!(grown < 1024 * 1024, "{grown} KiB");
}

#[test]
fn an_event_under_way_is_in_flight_and_at_the_end_abandoned() {
    let (mut recorder, writers) = Recorder::new(names(1), &[], 1);
    writers[0].start_event();
    writers[0].start_event();
    writers[0].end_event(&record(0, None, 1, 1), &Tally::default());
    assert_eq!(
        (recorder.collect_interval(Nanos(1), 0).in_flight, recorder.started_events()),
        (1, 2)
    );
    writers[0].start_event();
    writers[0].note_abandoned();
    let (last, recording) = recorder.finish_recording(ending(Nanos(2)));
    assert_eq!((last.in_flight, recording.abandoned), (0, 2));
}

#[test]
fn steps_inside_events_have_histograms_of_their_own_and_are_no_events() {
    let steps = vec!["statement".to_owned(), "commit".to_owned()];
    let (mut recorder, writers) = Recorder::with_steps(names(1), steps, &[], 2);
    let step = |step, ns, failed| StepLatency { step: StepId(step), time: Nanos(ns), failed };
    let run_event = |shard: usize, steps: &[StepLatency]| {
        writers[shard].start_event();
        writers[shard].end_event(&record(0, None, 1000, 1000), &Tally::default());
        writers[shard].note_steps(steps);
    };
    run_event(0, &[step(0, 100, false), step(0, 300, true), step(1, 50, false)]);
    run_event(1, &[step(0, 200, false)]);
    let first = recorder.collect_interval(Nanos(1), 0);
    run_event(0, &[step(1, u64::MAX, false)]);
    let (last, recording) = recorder.finish_recording(ending(Nanos(2)));
    let counts = |i: &Interval| -> Vec<(u64, u64)> {
        i.steps.iter().map(|s| (s.latency.len(), s.failed.len())).collect()
    };
    assert_eq!(counts(&first), [(2, 1), (1, 0)]);
    assert_eq!(counts(&last), [(0, 0), (1, 0)]);
    assert_eq!(counts(&recording.total), [(2, 1), (2, 0)]);
    assert_eq!(recording.total.steps[0].latency.max_ns(), 200);
    assert_eq!(recording.step_names, ["statement", "commit"]);
    // Of events there are three, none failed, and all took 1,000 ns.
    let total = &recording.total;
    assert_eq!((total.event_count(), total.error_count(), recording.clipped), (3, 0, 0));
    let response = total.response_times();
    assert_eq!((response.len(), response.min_ns(), response.max_ns()), (3, 1000, 1000));
    assert!(recording.errors.is_empty());
}
