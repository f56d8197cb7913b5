use super::super::findings::{ComparisonVerdict, RunFindings};
use super::super::{ComparisonOptions, analyse_run, compare_runs};
use super::*;
use crate::recorder::{Histogram, ReplayedClass, SparseHistogram};

fn found() -> RunFindings {
    analyse_run(&fixture_replays::replay_run())
}

fn verdict_of(class: &super::super::ReplayClassFinding) -> &'static str {
    class.change.as_ref().map_or("none", |change| change.verdict.as_str())
}

#[test]
fn classes_are_judged_and_stand_by_the_time_they_took() {
    let findings = found();
    let [replay] = &findings.replays[..] else { panic!("one replay") };
    let classes: Vec<_> = replay
        .classes
        .iter()
        .map(|c| (c.digest.split(' ').nth(1).unwrap_or(""), verdict_of(c)))
        .collect();
    assert_eq!(
        classes,
        [
            ("*", "worse"),
            ("c", "same"),
            ("sum(price)", "better"),
            ("?", "unsure"),
            ("into", "unsure"),
            ("src=x", "none")
        ]
    );
    let worst = replay.classes[0].change.as_ref().unwrap();
    assert!((worst.ratio.value.unwrap() - 3.0).abs() < 0.1, "{worst:?}");
    assert_eq!((worst.base.as_str(), worst.variant.as_str()), ("recorded", "replayed"));
    assert_eq!(replay.errors, [2, 40, 0]);
    assert_eq!((replay.rows_compared, replay.rows_differing), (7_210, 12));
    assert_eq!(replay.left_out, 2_760);
    assert_eq!(replay.reasons[0].example.as_ref().unwrap().0, 17);
    let shares: f64 = replay.classes.iter().filter_map(|c| c.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn the_answer_says_what_changed_whether_it_was_on_time_and_what_was_left_out() {
    let answer = found().results.answer.join(" ");
    for words in [
        "Of 5 classes of statements, replayed against recorded: 1 slower, 1 faster, 1 the same, 2 \
         unsure (7 240 statements of 40 sessions); 40 new errors in 1 class, 2 as recorded; \
         12 of 7 210 statements gave another number of rows.",
        "Most time was lost in `select * from orders where customer=? order by at limit ?`: 2.98x \
         (95 % interval 2.96 .. 3.00x), p95 5.82 ms",
        "It was behind its schedule (as recorded) from 20.0 s on by up to 1.80 s, 0.552 % of its \
         statements: lag p50 60.",
        "2 760 of 10 000 records were left out (27.6 %), most of all for this: a write (2 700).",
    ] {
        assert!(answer.contains(words), "{words}\n{answer}");
    }
    assert!(answer.starts_with("Of 5 classes"), "{answer}");
}

#[test]
fn the_schedule_is_a_histogram_and_the_moment_it_was_left() {
    let findings = found();
    let replay = &findings.replays[0];
    let sum: u64 = replay.lag_bins.iter().map(|bin| bin.1).sum();
    assert_eq!((sum, replay.lag.events), (7_240, 7_240));
    assert_eq!(replay.lag_bins.first().unwrap(), &(Some(0.0001), 4_000));
    assert_eq!(replay.lag_bins.last().unwrap(), &(Some(2.0), 40));
    let behind = replay.behind.unwrap();
    assert_eq!(
        (behind.from_s, behind.seconds, behind.of_seconds, behind.at_end),
        (20.0, 6, 60, false)
    );
    assert!((behind.share - 40.0 / 7240.0).abs() < 1e-9);
    assert_eq!(findings.results.trials[0].arrival, "as recorded");
    let mut run = fixture_replays::replay_run();
    let facts = run.trials[0].facts.as_mut().unwrap();
    facts.replay.as_mut().unwrap().timing = ReplayTiming::Recorded { speed: 2.0 };
    let told = run.trials[0].replayed.as_mut().unwrap();
    told.lag_ns = SparseHistogram::default();
    told.lag_ns.record_n(100_000_000, 5);
    told.lag_by_second_ns = vec![100_000_000; 3];
    let replay = analyse_run(&run).replays.remove(0);
    assert_eq!((replay.behind, replay.timing.as_str()), (None, "as recorded, 2x"));
}

#[test]
fn what_the_way_to_the_server_may_take_is_no_change_for_the_worse() {
    let told = |recorded_ns, times| ReplayTotals {
        sent: 2000,
        classes: vec![fixture_replays::replayed_class("select ?", 2000, recorded_ns, times, 9)],
        ..ReplayTotals::default()
    };
    // Thrice as long, but by 80 µs.
    let quick = classes::replayed_class_findings(&told(40_000.0, 3.0), 0.02, None, 0.0);
    assert_eq!(verdict_of(&quick[0]), "unsure");
    assert!(quick[0].change.as_ref().unwrap().notes[0].contains("the round trip to the server"));
    let slow = classes::replayed_class_findings(&told(400_000.0, 3.0), 0.02, None, 0.0);
    assert_eq!(verdict_of(&slow[0]), "worse");
    // A round trip of 300 µs excuses that too.
    let far = classes::replayed_class_findings(&told(400_000.0, 3.0), 0.02, Some(300e-6), 0.0);
    assert_eq!(verdict_of(&far[0]), "unsure");
    // So does a client that began events late by as much.
    let busy = classes::replayed_class_findings(&told(400_000.0, 3.0), 0.02, None, 1e-3);
    assert_eq!(verdict_of(&busy[0]), "unsure");
    // Being faster needs no excuse.
    let better = classes::replayed_class_findings(&told(40_000.0, 0.5), 0.02, Some(300e-6), 0.0);
    assert_eq!(verdict_of(&better[0]), "better");
}

#[test]
fn variants_are_compared_class_by_class_over_their_blocks() {
    let findings = analyse_run(&fixture_replays::two_variant_run());
    assert_eq!(findings.replays.len(), 2);
    assert_eq!((findings.replays[0].sent, findings.replays[1].trials.len()), (18_000, 6));
    let changes: Vec<_> = findings
        .results
        .replay_changes
        .iter()
        .map(|c| (c.digest.as_str(), c.change.verdict, c.change.ratio.runs))
        .collect();
    assert_eq!(
        changes,
        [("select a", ComparisonVerdict::Worse, 6), ("select b", ComparisonVerdict::Same, 6)]
    );
    let answer = findings.results.answer.join(" ");
    assert!(
        answer.contains(
            "Of 2 classes of statements replayed in both, with `b` against `a`: 1 slower, 1 the \
             same."
        ),
        "{answer}"
    );
}

#[test]
fn finished_replays_are_compared_too() {
    let run = |id: &str, by, seed| {
        let mut run = fixture_replays::replay_run();
        run.meta.id = id.to_owned();
        run.trials[0].replayed = Some(fixture_replays::slowed_replay(by, seed));
        run
    };
    let how = ComparisonOptions { paired: false, metric: "p99_s".to_owned(), margin: 0.02 };
    let one = compare_runs(&[run("x", 1.0, 1)], &[run("y", 2.0, 1)], &how);
    assert_eq!(one.results.replay_changes[0].change.verdict, ComparisonVerdict::Worse);
    assert!(one.results.replay_changes[0].change.paired, "the same statements in the same batches");
    assert!(one.results.replay_changes[0].change.notes[0].contains("batches of one run each"));
    let runs = |from: u64, by| -> Vec<_> {
        (from..from + 4).map(|n| run(&n.to_string(), by, n * 3)).collect()
    };
    let several = compare_runs(&runs(0, 1.0), &runs(10, 2.0), &how);
    assert_eq!(several.results.replay_changes[0].change.verdict, ComparisonVerdict::Worse);
    assert_eq!(several.results.replay_changes[0].change.ratio.runs, 4);
}

#[test]
fn an_empty_replay_and_a_load_that_is_none() {
    let mut run = fixture_replays::replay_run();
    run.trials[0].replayed = Some(ReplayTotals { records: 3, ..ReplayTotals::default() });
    let findings = analyse_run(&run);
    assert!(
        findings.results.answer[0]
            .starts_with("No statement was sent: all of 3 records were left out.")
    );
    run.trials[0].replayed = None;
    assert!(analyse_run(&run).replays.is_empty());
    assert!(lag_histogram(&SparseHistogram::default()).is_empty());
}

#[test]
fn errors_that_were_recorded_fail_no_run() {
    let mut run = fixture_replays::replay_run();
    let failing = |both| ReplayedClass { errors_in_both: both, ..ReplayedClass::default() };
    run.trials[0].failed[0].record_n(1000, 2000).unwrap();
    run.trials[0].replayed.as_mut().unwrap().classes = vec![failing(2007)];
    assert!(!analyse_run(&run).results.has_failed());
    run.trials[0].replayed.as_mut().unwrap().classes = vec![failing(1)];
    assert!(analyse_run(&run).results.has_failed());
    let _: &Histogram = &run.trials[0].lateness;
}
