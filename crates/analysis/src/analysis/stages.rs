//! What was offered and what was done in each stage of an open loop whose rate changes. An interval belongs to the stage in
//! which its middle lies.

use std::ops::Range;
use std::time::Duration;

use super::findings::StageFinding;
use super::latency;
use crate::archive::{IntervalRecord, StageRecord, Trial};
use crate::plan::RateStage;
use crate::recorder::new_histogram;

/// The stages of a load in their order.
pub(super) fn stage_findings(trial: &Trial) -> Vec<StageFinding> {
    let mut from_s = 0.0;
    let found = trial.stages.iter().map(|stage| {
        let span_s = from_s..from_s + stage.seconds;
        from_s = span_s.end;
        stage_finding(trial, stage, &span_s)
    });
    found.collect()
}

fn stage_finding(trial: &Trial, stage: &StageRecord, span_s: &Range<f64>) -> StageFinding {
    let since_s = |ns: u64| (ns as f64 - trial.began_ns as f64) / 1e9;
    let middle_s = |i: &IntervalRecord| (since_s(i.began_ns) + since_s(i.ended_ns)) / 2.0;
    let (mut response, mut seconds, mut failed) = (new_histogram(), 0.0, 0);
    for interval in trial.intervals.iter().filter(|i| span_s.contains(&middle_s(i))) {
        interval.response.add_to(&mut response);
        seconds += since_s(interval.ended_ns) - since_s(interval.began_ns);
        failed += interval.errors.iter().sum::<u64>();
    }
    let time = Duration::try_from_secs_f64(stage.seconds).unwrap_or_default();
    let (from, to) = (stage.from_per_s, stage.to_per_s);
    StageFinding {
        name: RateStage { time, from, to }.to_string(),
        offered_per_s: (from + to) / 2.0,
        events_per_s: (seconds > 0.0).then(|| response.len() as f64 / seconds),
        response: latency::summarize_histogram(&response),
        failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_belongs_to_one_stage() {
        let interval = |second: u64, events: u64| IntervalRecord {
            began_ns: second * 1_000_000_000 + 700,
            ended_ns: (second + 1) * 1_000_000_000 + 700,
            events: vec![events],
            errors: vec![second],
            response: vec![(second * 1_000_000, events)].into(),
            ..IntervalRecord::default()
        };
        let stage = |seconds, from_per_s, to_per_s| StageRecord { seconds, from_per_s, to_per_s };
        let mut trial = Trial {
            began_ns: 5_000_000_700,
            stages: vec![stage(2.0, 0.0, 100.0), stage(3.0, 100.0, 100.0), stage(9.0, 5.0, 5.0)],
            intervals: (5..10).map(|second| interval(second, second * 10)).collect(),
            ..Trial::default()
        };
        let found = stage_findings(&trial);
        let names: Vec<&str> = found.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["2s:0..100", "3s:100", "9s:5"]);
        let offered: Vec<f64> = found.iter().map(|stage| stage.offered_per_s).collect();
        assert_eq!(offered, [50.0, 100.0, 5.0]);
        let done: Vec<Option<f64>> = found.iter().map(|stage| stage.events_per_s).collect();
        assert_eq!(done, [Some(55.0), Some(80.0), None], "the last stage was cut before it began");
        assert_eq!([found[0].failed, found[1].failed], [5 + 6, 7 + 8 + 9]);
        assert_eq!(found[1].response.events, 240);
        trial.stages[0].seconds = f64::NAN;
        assert_eq!(stage_findings(&trial).len(), 3);
    }
}
