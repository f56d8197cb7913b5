//! A replay for tests: made by arithmetic, nothing random that a seed doesn't repeat.

use crate::archive::RunRecord;
use crate::base::random::Rng;
use crate::recorder::{
    LeftOut, ReplayFacts, ReplayTiming, ReplayTotals, ReplayedClass, SparseHistogram, WorkloadFacts,
};

use super::super::fixture_runs;

/// Statements in a batch.
const BATCH: u64 = 50;

/// A class whose statements take `times` as long as recorded.
pub fn replayed_class(
    digest: &str,
    count: u64,
    recorded_ns: f64,
    times: f64,
    seed: u64,
) -> ReplayedClass {
    let mut rng = Rng::new(seed, 0, 0);
    let mut made = ReplayedClass {
        digest: digest.to_owned(),
        example: digest.replace('?', "42"),
        count,
        rows_compared: count,
        ..ReplayedClass::default()
    };
    let mut open = (0, 0.0);
    for _ in 0..count {
        let before = recorded_ns * (0.5 + rng.uniform_fraction());
        let after = before * times * (0.8 + 0.4 * rng.uniform_fraction());
        made.recorded_ns.record(before as u64);
        made.replayed_ns.record(after as u64);
        open = (open.0 + 1, open.1 + (after / before).ln());
        if open.0 == BATCH {
            made.batches.push(std::mem::take(&mut open));
        }
    }
    if open.0 > 0 {
        made.batches.push(open);
    }
    made
}

/// One of each: slower, faster, the same, one of which too few were sent, one that fails, one without times.
pub fn replayed_log() -> ReplayTotals {
    let mut failing = replayed_class("insert into log values(?+)", 90, 300_000.0, 1.0, 4);
    failing.errors_new = 40;
    failing.errors_in_both = 2;
    failing.first_error = Some((1146, format!("Table '{}' doesn't exist", fixture_runs::HOSTILE)));
    let mut moved = replayed_class("select c from t where id=?", 4000, 2_000_000.0, 1.0, 3);
    moved.rows_differing = 12;
    let mut lag = SparseHistogram::default();
    lag.record_n(60_000, 4_000);
    lag.record_n(900_000, 3_000);
    lag.record_n(40_000_000, 200);
    lag.record_n(1_800_000_000, 40);
    let mut bare = replayed_class(fixture_runs::HOSTILE, 30, 1_000.0, 1.0, 6);
    bare.recorded_ns = SparseHistogram::default();
    bare.batches.clear();
    bare.rows_compared = 0;
    ReplayTotals {
        sessions: 40,
        sessions_at_once: 12,
        records: 10_000,
        sent: 7_240,
        ends_inferred: 3,
        uncertainty_us: 1_000_000,
        span_us: 60_000_000,
        lag_ns: lag,
        lag_by_second_ns: (0..60)
            .map(|s| if (20..26).contains(&s) { 1_800_000_000 } else { 900_000 })
            .collect(),
        classes: vec![
            replayed_class(
                "select * from orders where customer=? order by at limit ?",
                2000,
                4e6,
                3.0,
                1,
            ),
            replayed_class(
                "select sum(price) from items where order_id in (?+)",
                1100,
                9e6,
                0.6,
                2,
            ),
            moved,
            failing,
            replayed_class("select ?", 20, 5e6, 2.0, 5),
            bare,
        ],
        left_out: vec![
            LeftOut {
                reason: "a write".to_owned(),
                count: 2_700,
                example: Some((17, "update t set c=1 where id=7".to_owned())),
            },
            LeftOut { reason: "can't be read".to_owned(), count: 60, example: None },
        ],
        notes: vec!["two clocks differ by 3 s".to_owned()],
    }
}

/// The run of such a replay.
pub fn replay_run() -> RunRecord {
    let mut run = fixture_runs::bench_run();
    run.meta.command = "replay".into();
    run.meta.name = "replay".to_owned();
    run.meta.facts.insert("round_trip_us".to_owned(), 40.into());
    let trial = &mut run.trials[0];
    trial.workload = "replay".to_owned();
    trial.options.clear();
    for (name, value) in [("log", "slow.log"), ("timing", "recorded"), ("writes", "drop")] {
        trial.options.insert(name.to_owned(), value.to_owned());
    }
    let timing = ReplayTiming::Recorded { speed: 1.0 };
    let replay = Some(ReplayFacts { timing, writes: "drop".to_owned() });
    trial.facts = Some(WorkloadFacts { replay, ..WorkloadFacts::default() });
    trial.replayed = Some(replayed_log());
    run
}

/// Two classes, of which one takes so many times as long as otherwise.
pub fn slowed_replay(by: f64, seed: u64) -> ReplayTotals {
    let one = |digest: &str, times, seed| replayed_class(digest, 1500, 1e6, times, seed);
    ReplayTotals {
        sent: 3000,
        classes: vec![one("select a", 1.4 * by, seed), one("select b", 1.2, seed + 50)],
        ..ReplayTotals::default()
    }
}

/// Two variants in six blocks: in `b` one class takes half as long again.
pub fn two_variant_run() -> RunRecord {
    let mut run = replay_run();
    let only = run.trials.remove(0);
    for block in 1..=6u32 {
        for (variant, by) in [("a", 1.0), ("b", 1.5)] {
            let mut trial = only.clone();
            trial.id = format!("{block}-{variant}");
            variant.clone_into(&mut trial.variant);
            trial.block = block;
            trial.replayed = Some(slowed_replay(by, u64::from(block) * 7));
            run.trials.push(trial);
        }
    }
    run
}
