//! Due times where the rate changes: the n-th arrival is due when the integral of the rate reaches n. Within a stage the rate
//! is a straight line, its integral a parabola, and the time a root of that; nothing is summed up step by step.

use std::sync::Arc;

use crate::base::Nanos;
use crate::plan::RateStages;

/// The integral of a rate that changes in stages, and its inverse.
#[derive(Clone)]
pub(in crate::driver) struct RateIntegral {
    stages: Arc<[StageIntegral]>,
}

/// One stage, from its begin on.
struct StageIntegral {
    began_ns: u64,
    /// Arrivals that were due before it, and until its end.
    before: f64,
    until: f64,
    seconds: f64,
    from: f64,
    to: f64,
}

impl RateIntegral {
    pub(super) fn new(stages: &RateStages) -> RateIntegral {
        let (mut began_ns, mut before) = (0u64, 0.0);
        let integrals = stages.as_slice().iter().map(|stage| {
            let until = before + stage.due_events();
            let (seconds, from, to) = (stage.time.as_secs_f64(), stage.from, stage.to);
            let integral = StageIntegral { began_ns, before, until, seconds, from, to };
            began_ns = (Nanos(began_ns) + stage.time.into()).0;
            before = until;
            integral
        });
        RateIntegral { stages: integrals.collect() }
    }

    /// When so many arrivals were due: never, beyond the last stage.
    pub(super) fn time_of(&self, arrivals: f64) -> Nanos {
        // A stage at rate 0 has no arrival of its own: what is due at its begin belongs to the next one.
        let at = self.stages.partition_point(|stage| stage.until <= arrivals);
        self.stages.get(at).map_or(Nanos(u64::MAX), |stage| {
            let seconds = stage.seconds_until(arrivals - stage.before);
            Nanos(stage.began_ns + (seconds * 1e9).round() as u64)
        })
    }

    /// Arrivals that were due until then, at the end of the last stage or before.
    fn arrivals_by(&self, time: Nanos) -> f64 {
        let at = self.stages.partition_point(|stage| stage.began_ns <= time.0);
        let stage = &self.stages[at.saturating_sub(1)];
        let seconds = (time.since(Nanos(stage.began_ns)).to_seconds()).min(stage.seconds);
        let slope = (stage.to - stage.from) / stage.seconds;
        stage.before + (stage.from + slope * seconds / 2.0) * seconds
    }
}

impl StageIntegral {
    /// Seconds from its begin until so many of its arrivals were due.
    fn seconds_until(&self, arrivals: f64) -> f64 {
        if arrivals <= 0.0 {
            return 0.0;
        }
        // from * t + slope / 2 * t^2 = arrivals, in the form that loses no digits where the slope is little.
        let slope = (self.to - self.from) / self.seconds;
        let root = (self.from * self.from + 2.0 * slope * arrivals).max(0.0).sqrt();
        (2.0 * arrivals / (self.from + root)).min(self.seconds)
    }
}

/// Due times that are spaced evenly by the integral of the rate.
#[derive(Clone)]
pub(in crate::driver) struct StagedSchedule(pub(super) RateIntegral);

impl StagedSchedule {
    pub(super) fn due_time(&self, ticket: u64) -> Nanos {
        self.0.time_of(ticket as f64)
    }

    pub(super) fn tickets_due_by(&self, time: Nanos) -> u64 {
        // Beyond the last stage nothing is due, however late it is.
        let time = time.min(Nanos(u64::MAX - 1));
        let about = self.0.arrivals_by(time) as u64 + 1;
        super::count_due(about, time, |ticket| self.due_time(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged(text: &str) -> StagedSchedule {
        StagedSchedule(RateIntegral::new(&RateStages::parse(text).unwrap()))
    }

    #[test]
    fn a_ramp_is_a_parabola() {
        // 2 more events per second with each second: n are due after sqrt(n) seconds.
        let up = staged("10s:0..20");
        for (ticket, ns) in [(0, 0), (1, 1_000_000_000), (2, 1_414_213_562), (81, 9_000_000_000)] {
            assert_eq!(up.due_time(ticket), Nanos(ns));
        }
        assert_eq!((up.due_time(99).0 / 1_000_000, up.due_time(100).0), (9949, u64::MAX));
        // The same backwards: 100 - n are left when sqrt(100 - n) seconds are.
        let down = staged("10s:20..0");
        for (ticket, ns) in [(0, 0), (19, 1_000_000_000), (75, 5_000_000_000), (99, 9_000_000_000)]
        {
            assert_eq!(down.due_time(ticket), Nanos(ns));
        }
        let even = staged("2s:3");
        assert_eq!((even.due_time(1).0, even.due_time(3).0), (333_333_333, 1_000_000_000));
    }

    #[test]
    fn stages_follow_each_other_and_a_pause_has_none() {
        let schedule = staged("2s:0..10, 1s:10, 3s:0, 2s:5");
        let due: Vec<f64> = (0..30).map(|n| schedule.due_time(n).to_seconds()).collect();
        let in_time = |from: f64, to: f64| due.iter().filter(|t| (from..to).contains(*t)).count();
        assert_eq!([in_time(0.0, 2.0), in_time(2.0, 3.0), in_time(3.0, 6.0)], [10, 10, 0]);
        assert_eq!((in_time(6.0, 8.0), due[20], due[21]), (10, 6.0, 6.2));
        assert_eq!(schedule.due_time(30), Nanos(u64::MAX));
        assert!(due.is_sorted());
    }

    #[test]
    fn counting_what_is_due_agrees_with_the_times() {
        for text in ["2s:0..1000, 1s:1000, 1s:0, 2s:1000..0", "3s:7", "1s:0.3..0.5, 9s:2..0.1"] {
            let schedule = staged(text);
            let mut ticket = 0;
            while schedule.due_time(ticket) < Nanos(u64::MAX) {
                let due = schedule.due_time(ticket);
                assert!(schedule.tickets_due_by(due) > ticket, "{text} {ticket}");
                assert!(due.0 == 0 || schedule.tickets_due_by(Nanos(due.0 - 1)) <= ticket);
                ticket += 1;
            }
            for late in [8_000_000_000_000, u64::MAX - 1, u64::MAX] {
                assert_eq!(schedule.tickets_due_by(Nanos(late)), ticket, "{text}");
            }
        }
    }

    #[test]
    fn days_of_stages_lose_no_event() {
        let schedule = staged("1d:0..1000, 7d:1000, 1d:1000..0");
        let day = 86_400u64 * 1_000_000_000;
        assert_eq!(schedule.tickets_due_by(Nanos(day - 1)), 43_200_000);
        assert_eq!(schedule.due_time(43_200_000), Nanos(day));
        assert_eq!(schedule.tickets_due_by(Nanos(8 * day - 1)), 648_000_000);
        assert_eq!(schedule.tickets_due_by(Nanos(9 * day)), 691_200_000);
    }
}
